// engine: runs one program again and again, each time along a given graph and then beyond it.
//
// A run replays the events of its starting graph (operations return what the graph says), in an order that
// respects sb ∪ rf so that plain memory is right too, and then adds events. In exploration the next event
// is always the one of the first thread that can go on, which makes it a function of the graph; whatever else
// could have been (other stores, other places in co, revisits of earlier reads) is left on the stack as a
// graph to start from. In the other modes a decider picks thread and option, and nothing is left behind.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <apiary/model_check/explorer/api.hpp>
#include <apiary/model_check/explorer/context.hpp>
#include <apiary/model_check/explorer/graph.hpp>
#include <apiary/model_check/explorer/memory.hpp>
#include <apiary/model_check/explorer/sites.hpp>
#include <apiary/model_check/trace_table.hpp>

namespace apiary::model::explorer {

// What a thread is about to do.
struct operation {
    event_kind kind = event_kind::fence;
    read_mode mode = read_mode::plain;
    std::uint8_t order = 0, failure_order = 0;
    bool in_rmw = false;  // nothing may be added before it
    std::uint32_t loc = 0;
    std::uint32_t object = 0;  // index into memory::objects
    std::uint32_t site = 0;
    std::uint64_t value = 0;  // write: what is written; release: the address
    std::uint64_t expect = 0, mask = ~std::uint64_t{0};
    std::uint32_t alternatives = 0;  // choice
    predicate done{nullptr, nullptr};
    // Of a read-modify-write, where it is known: what it writes after having read `old`.
    std::uint64_t (*next)(const void* closure, std::uint64_t old) = nullptr;
    const void* closure = nullptr;
    // Of a wait: whether an execution that ends in it is none, so that it is no deadlock either. Null: it is one.
    predicate none{nullptr, nullptr};
    bool stalled = false;       // waits for no location (engine::stall)
    bool for_holders = false;   // waits for a lock: its word says which threads have it
    bool names_thread = false;  // of a blocking primitive: what it writes tells its thread from all others
};

// One way to add an event.
struct option {
    event_id rf = no_event;  // read, alloc
    std::uint8_t flags = 0;
    unsigned place = 0;  // write: place in co; choice: the number chosen
};

// The way to a place in the search tree: which child was taken wherever there were several, or the run ended at one.
using trail = std::vector<std::uint32_t>;

// A graph to start a run from, and where it stands in the search tree.
struct work_item {
    std::unique_ptr<graph> g;
    std::uint64_t path = 0;
    unsigned depth = 0;
    double weight = 1;
    trail way{};  // where ways are kept (keep_ways)
};

// Picks in the modes that follow one line: random, pct, replay of a token, and drawing of a counterexample.
class decider {
public:
    virtual ~decider() = default;
    virtual void start() {}
    // Which of the threads that can go on does so; `pending` gives what each would do.
    virtual unsigned pick_thread(const graph& g, const std::vector<unsigned>& can_go_on,
                                 const std::array<const operation*, max_threads>& pending) = 0;
    virtual unsigned pick_option(const graph& g, const event& e, const std::vector<option>& options) = 0;
};

// Of a lock's word (blocking.cpp), as bits: the writer that has it, and the readers.
std::uint32_t lock_holders(std::uint64_t word);

enum class run_end { complete, blocked, failed, not_mine, nondeterministic };

// One random way down the search tree (Knuth 1975). Over many, the mean of `executions` is their number.
struct probe {
    double executions = 0;
    unsigned runs = 0;  // made for this probe
    run_end end = run_end::complete;
};

struct failure {
    std::string reason;
    int thread = -1;
    graph g;
    unsigned switches = 0;
};

struct run_limits {
    std::array<unsigned, bounded_choices> most{1, 1, 1, 1};
    unsigned steps_per_thread = 1000;
};

class engine {
public:
    engine(const program& p, const run_limits& limits);
    ~engine();
    engine(const engine&) = delete;
    engine& operator=(const engine&) = delete;

    // Exploration: one run from the top of the stack.
    void push_root();
    [[nodiscard]] bool has_work() const { return !stack_.empty(); }
    run_end explore_next();
    // The same from the bottom of the stack, where the largest subtrees are.
    run_end explore_shallowest();
    // The stack, taken out and put in.
    [[nodiscard]] std::size_t work_size() const { return stack_.size(); }
    [[nodiscard]] std::vector<work_item> take_work() { return std::exchange(stack_, {}); }
    void give_work(std::vector<work_item> work) { stack_ = std::move(work); }
    [[nodiscard]] double remaining_weight() const;
    // From here on each piece of work knows its way from the root.
    void keep_ways() { keeps_ways_ = true; }
    // The work at the end of a way, found again from the root. False where this tree has no such place.
    bool push_at(trail way);
    // Leaves the stack as it is. `random` is the state of a generator, not 0.
    probe probe_once(std::uint64_t& random);
    void shard(unsigned index, unsigned count, unsigned depth) {
        shard_ = index, shards_ = count, shard_depth_ = depth;
    }
    // Jobs that share a search: each walks the tree down to the depth of the shards, and the job that comes first to a subtree
    // there (or to a run that ends above) takes it, and with it all that have the same place in the table.
    using claim = std::atomic<std::uint8_t>;
    static constexpr std::size_t claims = std::size_t{1} << 20;
    void take_turns(claim* table, unsigned job) { claims_ = table, job_ = static_cast<std::uint8_t>(job + 1); }

    // The other modes: one run along `d`. With a trace, rows are collected.
    run_end follow(decider& d, std::vector<trace_row>* trace);

    // Whether a run goes on after its end (go_beyond) where only the bound keeps waits with deadlines from giving up.
    void look_beyond(bool on) { looks_beyond_ = on; }
    void allow_timeouts(unsigned n) { limits_.most[timeouts] = std::max(limits_.most[timeouts], n); }

    [[nodiscard]] const graph& current() const { return *g_; }
    [[nodiscard]] const failure& last_failure() const { return failure_; }
    [[nodiscard]] std::string_view outcome() const { return outcome_; }
    std::map<std::string, std::uint64_t>& reached() { return reached_; }
    using law_counts = std::array<std::uint64_t, law_kinds.size()>;
    law_counts& laws() { return laws_; }                          // asked, as reached(): in runs that came to their end
    [[nodiscard]] std::uint32_t acted() const { return acted_; }  // bits: threads with a watched operation
    site_table& sites() { return sites_; }

    // Called by the api, from a fiber.
    static engine* active() { return active_; }
    std::uint64_t read(operation& op, std::uint8_t* flags);
    void write(operation& op);
    void fence(operation& op);
    std::uint32_t choose(operation& op);
    // The thread goes on no more, unless a later store serves one of its reads.
    [[noreturn]] void stall(operation& op);
    void* allocate(std::size_t size, std::size_t alignment, const char* type, storage what);
    const block& before_destroy(void* p, storage what);
    void before_deallocate(void* p, std::size_t size, std::size_t alignment);
    void release(void* p);
    void*& thread_slot(const void* key);
    [[noreturn]] void fail(std::string reason);
    [[nodiscard]] std::string describe(std::uint32_t site) const;
    // The current thread has a lock since `site`: alone, or as one of its readers, once for each time that it reads.
    void takes_lock(std::uint32_t object, std::uint32_t site) { held_[current_].push_back({object, site}); }
    // The lock that the thread took last may be held when the program ends: its thread goes on after that.
    void outlives_the_thread() { held_[current_].back().outlives = true; }
    void gives_lock_back(std::uint32_t object);
    // It must not ask whether it could have a lock that it has.
    void asks_for_lock(std::uint32_t object, const char* operation, const code_place& at);
    // An object in which threads block comes to its end.
    void lock_ends(std::uint32_t object);
    void condition_ends(std::uint32_t object);
    // Threads that have no event yet are alike (symmetry.hpp). The modes that follow one line know nothing of it.
    void are_alike(thread_set threads) {
        if (decider_ == nullptr && g_->count() == 0) g_->are_alike(threads);
    }
    // What came before the threads goes on as thread 0.
    void becomes_thread_0();
    // The current thread stands in a condition variable's queue, and `others` do (bits).
    void waits_with(std::uint32_t queue, std::uint32_t mutex, std::uint32_t others, std::uint32_t site);
    void reach(const char* name);
    // The same, though the execution is given up later.
    void reach_in_any_run(const char* name) { ++reached_[name]; }
    void asked(law_kind law) {
        const bool counts = law == law_kind::check || law == law_kind::lifetime || current_ != main_thread;
        if (counts) ++asked_now_[static_cast<std::size_t>(law)];
    }
    void acts() {
        if (current_ != main_thread) acted_now_ |= 1U << current_;
    }
    [[nodiscard]] bool sequential() const { return phase_ == phase::sequential; }
    [[nodiscard]] bool peeking() const { return peeking_; }
    [[nodiscard]] unsigned current_thread() const { return current_; }
    memory& heap() { return memory_; }
    // Of the current thread; outside the threads all of them are known.
    [[nodiscard]] const vector_clock& knowledge() const {
        if (current_ == main_thread) return all_knowing;
        const unsigned at = position_[current_];
        return at == 0 ? nothing_known : g_->threads[current_][at - 1].hb;
    }
    [[nodiscard]] std::uint16_t next_index() const {  // of the current thread's next event
        return current_ == main_thread ? std::uint16_t{0} : static_cast<std::uint16_t>(position_[current_]);
    }
    // Whether the current thread's next event is a new one.
    [[nodiscard]] bool at_end() const { return position_[current_] >= g_->size(current_); }
    // Of plain data that a front end watches by itself.
    [[nodiscard]] std::string missing_edge(unsigned thread, unsigned index) const;
    [[nodiscard]] bool tracing() const { return trace_ != nullptr; }
    void show_plain(std::uint32_t site, std::uint64_t address, bool writes) {
        if (trace_ != nullptr) trace_cell(site, address, writes, nullptr);
    }
    // The object, after checking that it is alive and that its construction happens before this access.
    location_info& locate(const object& o, std::uint32_t site);
    void constructed(object& o, bool has_value, std::uint64_t value, bool cell);
    void constructed_anew(const object& o, std::uint32_t block);
    void object_ends(object& o);
    [[noreturn]] void is_none(const object& o, std::uint32_t site);
    // The same of an atomic that stands in no object: under a name that is the same in every run, written at `since`.
    void constructed_at(object& o, std::uint32_t name, std::uint64_t address, std::uint64_t value, moment since,
                        std::string (*text_of)(std::uint64_t value) = nullptr);
    void touch_cell(const object& o, bool writes, std::uint32_t site, const std::uint64_t* shown);
    [[nodiscard]] std::uint64_t peek(const object& o);
    // The latest in modification order of the stores that happen before, and of those that a read which does has read.
    [[nodiscard]] std::uint64_t known_value(const location_info& info) const;
    void trace_sequential(const operation& op, const location_info& info);
    void trace_sequential_store(const operation& op, std::uint64_t value, bool in_rmw);
    std::array<std::int64_t, max_threads + 1> clocks{};

private:
    enum class phase { sequential, replay, add };
    enum class state { fresh, runnable, waiting, frontier, blocked, woken, finished };
    struct fiber {
        context where = nullptr;
        char* stack = nullptr;
        state status = state::fresh;
        operation* pending = nullptr;
    };

    static void fiber_main(void* data);
    friend struct fiber_entry;
    void reset();
    void resume(unsigned thread);
    void suspend();  // from a fiber to the scheduler
    run_end run();
    run_end conclude();
    [[nodiscard]] std::uint32_t in_a_circle();  // bits: threads
    run_end go_beyond();
    unsigned let_one_give_up(std::array<unsigned, max_threads>& given_up);
    unsigned serve_one();
    void count_reached(run_end end);
    bool replay_all();
    void add_all();
    bool pick_forward(unsigned& thread);
    unsigned pick_next();
    // Whether the latest store lets it go on.
    [[nodiscard]] bool ends_wait(const operation& op);
    [[nodiscard]] bool can_go_on(const operation& op);
    void step_done();
    void ends_without_locks();
    [[noreturn]] void stop(run_end how);  // from a fiber: ends the run
    void fiber_blocks(operation& op);     // until wake

    // The current thread's event for `op`: replayed, or null when it has to be added.
    event* replay(const operation& op);
    void at_frontier(operation& op);
    event& append(const operation& op);
    bool only_the_latest(const event& e, std::vector<option>& options) const;
    void read_options(event_id id, const operation& op, std::vector<option>& options, bool strict);
    void alloc_options(event& e, std::vector<option>& options);
    void apply(event& e, const option& o);
    void settle_read(event& e) const;
    void branch(event& e, std::vector<option>& options);
    void add_write(event& e);
    [[nodiscard]] event_id waiter_to_wake(const event& unlock) const;
    void wake(event& read, event_id unlock);
    void add_release(event& e);
    void places(const graph& g, const event& write, unsigned least, std::vector<unsigned>& out);
    void revisit(const event& from, event_id target, std::vector<work_item>& out);
    bool conflict_can_resolve(const event& read);
    void resolve_conflict(const operation& op, const option& o);
    void push_children(std::vector<work_item>& children, bool forward);
    void probe_children(std::vector<work_item>& children, bool forward);
    unsigned drawn_child(unsigned children, bool forward);
    void start_from(work_item&& item);
    [[nodiscard]] bool owns(std::uint64_t path) const { return shards_ <= 1 || path % shards_ == shard_; }
    [[nodiscard]] bool takes(std::uint64_t path) const;
    bool descend(unsigned child, unsigned children);
    [[nodiscard]] std::unique_ptr<graph> root() const;
    std::unique_ptr<graph> copy(const graph& g);
    std::uint32_t slot_of(std::uint32_t loc);
    void trace_event(const event& e);
    void trace_cell(std::uint32_t site, std::uint64_t address, bool writes, const std::uint64_t* shown);
    void trace_row_at(std::uint32_t site, std::uint64_t address, std::string text);
    [[nodiscard]] std::string why_stale(const event& read, const event& newer) const;
    void trace_failure(const std::string& reason, int thread);

    static inline engine* active_ = nullptr;
    static constexpr vector_clock nothing_known{};
    static constexpr vector_clock all_knowing = [] {
        vector_clock c{};
        c.fill(0xFFFF);
        return c;
    }();
    const program& program_;
    run_limits limits_;
    unsigned patience_;  // give-ups of waits with deadlines, then nothing else is waited for
    memory memory_;
    site_table sites_;
    std::vector<std::unique_ptr<fiber>> fibers_;  // threads, then the main one
    std::unique_ptr<graph> g_;
    std::vector<work_item> stack_;
    std::vector<std::unique_ptr<graph>> spare_;
    std::vector<option> options_;
    std::vector<unsigned> places_;
    std::vector<work_item> children_;
    struct thread_pointer {
        unsigned thread;
        const void* key;
        void* value;
    };
    std::deque<thread_pointer> thread_slots_;  // an address that was given stays good
    struct held_lock {
        std::uint32_t object, site;
        bool outlives = false;
    };
    std::array<std::vector<held_lock>, max_threads + 1> held_;
    struct queued {
        std::uint32_t queue, mutex;
        std::uint16_t thread, index;  // the event by which it is in the queue
    };
    std::vector<queued> queued_;
    std::array<unsigned, max_threads> position_{};  // events of each thread that this run has passed
    unsigned current_ = main_thread;
    phase phase_ = phase::sequential;
    bool peeking_ = false, stopped_ = false;
    bool looks_beyond_ = true, only_the_bound_ = false;
    run_end end_ = run_end::complete;
    decider* decider_ = nullptr;
    std::vector<trace_row>* trace_ = nullptr;
    void* scheduler_context_ = nullptr;
    void* check_ = nullptr;
    std::uint64_t path_ = 0;
    unsigned depth_ = 0;
    double weight_ = 1;
    unsigned shard_ = 0, shards_ = 1, shard_depth_ = 0;
    claim* claims_ = nullptr;  // null: nobody shares
    std::uint8_t job_ = 0;
    bool keeps_ways_ = false;
    trail way_;                         // of this run
    const trail* guide_ = nullptr;      // of a run that goes a known way
    std::size_t guided_ = 0;            // how much of it is gone
    std::uint64_t* probing_ = nullptr;  // the generator of a probe
    probe probe_;
    work_item probe_next_;
    failure failure_;
    std::string outcome_;
    std::array<char, 128> outcome_buffer_{};
    std::map<std::string, std::uint64_t> reached_;
    std::vector<const char*> reached_now_;
    law_counts laws_{}, asked_now_{};
    std::uint32_t acted_ = 0, acted_now_ = 0;
};

}  // namespace apiary::model::explorer
