// runtime: the execution under way of a program that is checked as it is.
//
// The compiler's instrumentation (-fsanitize=thread) calls entry_points.cpp at every access; heap.cpp and threads.cpp
// stand in front of malloc and pthread_*. All of them come here, and from here each shared operation goes to the
// explorer, which decides what happens: there is no second search.
//
// The first thread is the scenario itself. Until it starts another, nothing it does is an event (the explorer's
// before()); from then on it is thread 0. A start is a store, unless no event of thread 0 comes before it, and a join
// waits for another.
//
// Nothing here is compiled with the instrumentation. While the program runs, `in_program` is true; every entry turns it
// off until it goes back, and then the thread-local block is that of the thread which goes on.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <apiary/model_check/as_it_is/run.hpp>
#include <apiary/model_check/as_it_is/shadow.hpp>
#include <apiary/model_check/as_it_is/tls.hpp>
#include <apiary/model_check/explorer/context.hpp>
#include <apiary/model_check/explorer/engine.hpp>

namespace apiary::model::as_it_is {

// What a loop may carry from one operation to the next: the registers that belong to the caller, and its stack, as an
// entry found them (entry_points.cpp); and the arguments, since what the loop carries may be in these alone.
struct registers {
    std::uint64_t rbx, rbp, r12, r13, r14, r15, rsp;
    std::uint64_t address, operands[4];
    // For the entry itself, before anything else. An operand has sixteen bytes at most.
    template <class... T>
    [[nodiscard]] registers with(const volatile void* p, const T&... v) const {
        registers all = *this;
        all.address = reinterpret_cast<std::uintptr_t>(p);
        std::size_t at = 0;
        (std::memcpy(&all.operands[2 * at++], &v, sizeof v), ...);
        return all;
    }
    bool operator==(const registers&) const = default;
};
extern "C" registers apiary_registers;

// Keeps the registers and goes on as apiary_NAME.
#define KEEPS_REGISTERS(name) KEEPS_REGISTERS_OF(__tsan_##name, name)
#define KEEPS_REGISTERS_OF(called, name)                                                       \
    __asm__(".text\n.globl " #called "\n.type " #called ",@function\n" #called                 \
            ":\n"                                                                              \
            "  movq %rbx, apiary_registers(%rip)\n  movq %rbp, apiary_registers+8(%rip)\n"     \
            "  movq %r12, apiary_registers+16(%rip)\n  movq %r13, apiary_registers+24(%rip)\n" \
            "  movq %r14, apiary_registers+32(%rip)\n  movq %r15, apiary_registers+40(%rip)\n" \
            "  movq %rsp, apiary_registers+48(%rip)\n  jmp apiary_" #name                      \
            "\n"                                                                               \
            ".size " #called ",.-" #called "\n");

// The words in which a thread differs from what it was: those of `registers`, then of its live stack. 0 ends them.
using moved_words = std::array<std::uint32_t, 4>;

// A round of a loop: from one visit of an operation to the next.
struct round {
    unsigned from = 0, to = 0;  // its events
    moved_words moved{};
    std::uint64_t written = 0;  // the sum of the places that it wrote
    unsigned alike = 0;           // rounds in a row that were like this one, with it; 0: it did more than read and count
};

// The thread at an operation that may be part of a waiting loop.
struct visit {
    static constexpr std::uint64_t none = UINT64_MAX;
    void* pc = nullptr;
    registers where{};
    std::size_t stack = 0;        // what lives on it, in modelled_thread::kept
    std::uint64_t effects = 0;    // what the thread had changed by then
    std::uint64_t written = 0;  // the sum of the places that it had written
    unsigned index = 0;           // of its next event
    round last;                   // that ended here
};

// Rounds of a loop that counts, once they are cut: each operation reads what it read in the last round that has events.
struct cut_rounds {
    unsigned from = 0, to = 0;  // the events of that round; none: no rounds are cut
    unsigned at = 0;            // the event that the next operation repeats
    unsigned done = 0;          // rounds
    std::uint64_t effects = 0;
    // The state at the beginning of a round, kept anew after 1, 2, 4, 8, … of them: one that comes back is a circle.
    registers where{};
    std::size_t stack = 0;
};

// A plain write under way outside the writer's own stack: what stood in its words. The compiler's call comes before the
// write, so that the runtime's next entry looks whether the same stands there still.
struct write_under_way {
    static constexpr std::size_t most = 8;
    std::uintptr_t at = 0;
    std::size_t words = 0;
    std::array<std::uint64_t, most> before{};
};

// Bytes one after the other; none goes before all do.
class byte_store {
public:
    std::size_t add(const char* from, std::size_t bytes) {
        if (used_ + bytes > all_.size()) all_.resize(2 * (used_ + bytes));
        std::memcpy(at(used_), from, bytes);
        return std::exchange(used_, used_ + bytes);
    }
    [[nodiscard]] char* at(std::size_t where) { return all_.data() + where; }
    void clear() { used_ = 0; }

private:
    std::vector<char> all_;
    std::size_t used_ = 0;
};

// A lock that the thread has.
struct held_lock {
    std::uint32_t object;
    std::uint64_t effects;  // of the thread, before it took the lock
};

struct modelled_thread {
    explorer::context inside = nullptr, outside = nullptr;
    char* stack = nullptr;
    void* (*start)(void*) = nullptr;
    void *argument = nullptr, *result = nullptr;
    int (*start_in_c)(void*) = nullptr;  // in place of `start`: by thrd_create()
    explorer::object started{}, ended{};
    bool starts_at_once = false;  // before thread 0 had any event: it waits for none
    // Which of thread 0's threads that start at once it is, from 1 on; of a thread that another one starts, what that one
    // has.
    unsigned nth = 0;
    unsigned starts = 0;                     // threads that it has started
    explorer::thread_set joined = 0;         // threads whose end it knows by joins
    bool is_joined = false, is_left = false;  // pthread_join or pthread_detach was called for it
    // Symmetry (twins.cpp): those that are alike, with itself; 0: none.
    explorer::thread_set alike = 0;
    std::uintptr_t own_begin = 0, own_end = 0;  // the block of the heap that it was started with
    std::vector<std::pair<unsigned, const void*>> values;  // of keys
    unsigned keys = 0;                                     // that it has made
    std::uint64_t effects = 0, written = 0;
    std::int64_t clock = 0;
    // Return addresses of the functions under way: the outermost ones, where there are more. Kept without any allocation,
    // since the program runs meanwhile.
    std::array<void*, 512> calls{};
    std::size_t depth = 0;
    std::vector<held_lock> held;
    unsigned destroys_counted = 0;
    std::vector<visit> visits;
    byte_store kept;                                        // the stacks of visits
    cut_rounds cut;
    std::vector<std::pair<void (*)(void*), void*>> at_end;  // destructors of thread-local objects
};

inline constexpr std::size_t heap_overrun = 16;  // bytes after each block that nobody owns
// What a byte of the heap or of a stack is before the program writes it.
inline constexpr unsigned char unwritten = 0xA5;

extern constinit bool in_program;
extern constinit std::uint64_t entries;  // from the program into the runtime

// Seconds of processor time that a thread may spend in plain instructions and nothing else.
extern constinit unsigned longest_loop;
// Whether what executions came to is asked for.
extern constinit bool tells_reach;

// Crashes, abort(), exit() and loops without end become verdicts (faults.cpp).
void watch_for_faults();

// Which start of which thread. By this threads are numbered, and not by when they start, which differs from one execution to
// another.
struct thread_start {
    unsigned by = 0, nth = 0;
    bool operator==(const thread_start&) const = default;
};

class runtime {
public:
    static constexpr std::size_t stack_bytes = std::size_t{512} << 10;
    // Plain accesses in a row that a thread may make before it is taken for a loop that ends nowhere.
    static constexpr std::uint64_t most_quiet = 50'000'000;
    // Atomic operations before the first thread is started: nobody answers them.
    static constexpr unsigned most_alone = 100'000;

    runtime();

    // `quietly`: what thread 0 takes from the heap and gives back before its first event is no event (twins.cpp).
    void prepare(const scenario& s, const std::vector<thread_start>& starts, const search_options& options, bool quietly);
    [[nodiscard]] bool is_quiet() const { return quietly_ && engine().current_thread() == 0 && engine().next_index() == 0; }
    void* take_quietly(std::size_t size, std::size_t alignment);
    // The explorer's program, in its phases.
    void before();
    void thread(unsigned i);
    void after();
    std::string_view outcome(std::array<char, 128>& buffer) const;

    // 0 is the scenario.
    [[nodiscard]] unsigned self() const {
        const unsigned t = engine().current_thread();
        return t == explorer::main_thread ? 0 : t;
    }
    // No other thread is, or each has been joined here: what is done now is ordered with all that others do.
    [[nodiscard]] bool is_alone() const { return self() == 0 && threads_[0].joined == started_; }
    [[nodiscard]] modelled_thread& me() { return threads_[self()]; }
    [[nodiscard]] bool concurrent() const { return !engine().sequential(); }
    [[nodiscard]] static explorer::engine& engine() { return *explorer::engine::active(); }
    void effect() { ++me().effects; }
    // The write under way has been made: of what stood there already it is no effect.
    [[gnu::always_inline]] void end_write() {
        const std::size_t words = std::exchange(write_.words, 0);
        if (words == 1)
            writer_->effects += word_at(write_.at) != write_.before.front() ? 1U : 0U;
        else if (words != 0)
            end_write_of(words);
    }
    // A lock is an effect that its unlock takes back, where nothing else was one in between.
    void takes(const explorer::object& lock);
    void gives_back(const explorer::object& lock);
    // An operation of the program that is not followed: the verdict says which, and where.
    [[noreturn]] void refuse(const std::string& what, void* pc);
    [[noreturn]] void fail(const std::string& what, void* pc);

    // A plain access: most of them go no further than here.
    [[gnu::always_inline]] void touches(std::uintptr_t address, std::size_t size, access_kind how, void* pc) {
        const std::size_t offset = address % granule::bytes;
        const shadow::range* const range = shadow_.range_of(address);
        if (size == 2 * granule::bytes && how == access_kind::read && offset == 0 && reads_two(range, address, pc))
            return;
        if (!is_simple_ || offset + size > granule::bytes || range == nullptr || has_been_quiet())
            return touch_bytes(address, size, how, pc);
        const auto mask = static_cast<std::uint8_t>(((1U << size) - 1U) << offset);
        if (!among_threads_ || (how == access_kind::read && knows_all_))
            return touches_alone(*range, address, size, mask, how, pc);
        granule& g = shadow_.in(*range, address);
        take_in(g, range->is_heap, {pc, moment_, mask, how}, how, address);
        if (!g.atomics.empty()) end_atomics(g, address - offset, mask, how);
        note_access(address, size, how);
    }
    // Two whole granules in one range. False: not by this short way.
    [[gnu::always_inline]] bool reads_two(const shadow::range* range, std::uintptr_t address, void* pc) {
        if (!is_simple_ || !among_threads_ || knows_all_ || range == nullptr || !range->has(address + granule::bytes) ||
            has_been_quiet())
            return false;
        for (const std::uintptr_t base : {address, address + granule::bytes}) {
            granule& g = shadow_.in(*range, base);
            take_in(g, range->is_heap, {pc, moment_, 0xFF, access_kind::read}, access_kind::read, base);
            if (!g.atomics.empty()) end_atomics(g, base, 0xFF, access_kind::read);
        }
        note_access(address, 2 * granule::bytes, access_kind::read);
        return true;
    }
    // An atomic of the program, where nothing of the thread was since it went on.
    template <std::size_t size>
    [[gnu::always_inline]] explorer::object& atomic_at(std::uintptr_t address, access_kind how, void* pc) {
        if (const shadow::range* const range = shadow_.range_of(address);
            size <= granule::bytes && address % size == 0 && range != nullptr) {
            granule& g = shadow_.in(*range, address);
            const std::size_t offset = address % granule::bytes;
            const auto mask = static_cast<std::uint8_t>(((1U << size) - 1U) << offset);
            if (among_threads_)
                take_in(g, range->is_heap, {pc, moment_, mask, how}, how, address);
            else
                check_touch_alone(g, range->is_heap, mask, how, pc);
            if (!g.atomics.empty() && g.atomics.front().is(offset, size, role::atomic)) {
                asks_others(pc);
                return *g.atomics.front().at;
            }
        }
        return locate(address, size, role::atomic, how, pc);
    }
    // The program goes on, in the thread that the explorer is in.
    void goes_on() {
        use_block_of(self());
        note_moment();
        in_program = true;
    }
    // For touches() and atomic_at(): where an event of the thread was, or another one goes on.
    void note_moment() {
        const explorer::engine& e = engine();
        is_simple_ = !e.tracing() && !tells_reach && (joining_ == 0 || self() != joiner_);
        among_threads_ = e.current_thread() != explorer::main_thread;
        knows_all_ = among_threads_ && is_alone();
        moment_ = now(0, access_kind::read, nullptr).moment();
    }
    // A plain access, or the beginning or end of memory: looks for races, and keeps memory and graph in step.
    void touch_bytes(std::uintptr_t address, std::size_t size, access_kind how, void* pc);
    // The location of an atomic, made at its first use. Bytes that were written plainly since begin another.
    explorer::object& locate(std::uintptr_t address, std::size_t size, role what, access_kind how, void* pc);
    // A condition variable that stands there is destroyed, or made anew.
    void condition_ends(std::uintptr_t address);
    // Gives up an iteration that changed nothing, reads what it read before, and came back to where it was. Not null: a
    // round of a loop that counts is cut, and the operation may read again what this event has read.
    const explorer::event* may_stall(void* pc, const registers& where, const char* operation,
                                     bool without_events = false);
    // The same of a loop around a volatile read, where no event need be.
    void may_spin(void* pc, const registers& where, const char* operation);
    // Whether it does, by the same operation at the same location; then the next one may.
    [[nodiscard]] bool reads_again(const explorer::event& read, const explorer::object& o, std::uint32_t site);
    // Names of what was reached that a verdict's bound takes the place of.
    static constexpr unsigned most_cut = 100'000;  // rounds of one loop; then it is taken for one that waits
    static constexpr const char* rounds_were_cut = "rounds of a loop were cut";
    static constexpr const char* loop_was_given_up = "a loop was given up";
    // How those parts of the bound begin.
    static constexpr std::string_view bound_of_cuts = "; a loop that only counts is cut";
    static constexpr std::string_view bound_of_given_up = "; one that goes on for more than";

    // Tells the verdict what came to pass in this execution, and where (never_reached.hpp), if it is asked for.
    void came_to(std::string_view what, void* pc) {
        if (tells_reach) tell_came_to(what, pc);
    }
    void tell_came_to(std::string_view what, void* pc);
    // The same of an atomic write over `old`, and of a mutex taken by a thread that knew `knew` when it came.
    void tell_write(std::uintptr_t address, std::uint64_t old, std::uint64_t value, bool adds, void* pc);
    void tell_plain_write(std::uintptr_t address, void* pc);
    void tell_lock(const explorer::vector_clock& knew, void* pc);
    // What the thread's store, its latest event, took the place of: in modification order, not what the thread knew of.
    [[nodiscard]] std::uint64_t replaced_value() const;

    // Whether it is put back before the next execution, or made anew in it. What is not is a library's.
    [[nodiscard]] bool may_be_touched(std::uintptr_t address) const { return shadow_.watches(address); }

    unsigned start_thread(void* (*start)(void*), int (*start_in_c)(void*), void* argument, void* pc);
    // Null: the thread waits for itself.
    void** join(unsigned t, bool asks_result, void* pc);
    void leave(unsigned t, void* pc);
    // Of those that were started, and the first. max_threads: it is none.
    [[nodiscard]] unsigned thread_of(std::uintptr_t pointer) const;
    // The current thread's, in nanoseconds.
    [[nodiscard]] std::int64_t& clock();
    // The program looks at which thread this is.
    void asks_who_it_is();

    // Values of the program's own for each thread, by pthread_key_create() and tss_create().
    static constexpr unsigned first_key = 1U << 16;  // smaller ones are libraries', from before the scenario
    static constexpr unsigned most_keys = 1024;      // of one thread: PTHREAD_KEYS_MAX
    unsigned make_key(void (*destroy)(void*), void* pc);
    void end_key(unsigned key, void* pc);
    const void*& value_of_key(unsigned key, void* pc);

    // Whether it is the page that no stack may grow into.
    [[nodiscard]] bool is_below_a_stack(std::uintptr_t address) const;
    // Whether it is what a thread was started with.
    [[nodiscard]] bool is_of_a_start(const void* p) const;

    // A lock that a library has for what stands at an address: beside those bytes, which it guards.
    struct library_lock {
        std::uintptr_t guards;
        explorer::object* at;  // null: not yet in this execution
    };
    explorer::object& lock_beside(std::uintptr_t address, std::uint8_t& key, void* pc);
    explorer::object& lock_beside(std::uint8_t key) { return *library_locks_[key].at; }
    static constexpr std::uint8_t no_key = UINT8_MAX;

    // A library counts the holders of this object, and the counts are not seen.
    void is_counted(const void* object, void (*destroy)(void*));
    void destroy_counted(void* object);
    // Whether memory goes back by such a count.
    [[nodiscard]] bool goes_by_a_count(const void* p) const;

private:
    static void enter(void* data);
    void go_on_from_before();
    void refuse_own_block(std::uintptr_t address, void* pc);
    [[noreturn]] void refuse_overlap(const located& there, const located& wanted, void* pc);
    void switch_to_program(unsigned t);
    void run_body(unsigned t);
    void end_thread();
    void end_values(modelled_thread& m);
    void start_none_of(unsigned by);
    // twins.cpp
    [[nodiscard]] static bool starts_alike(const modelled_thread& a, const modelled_thread& b);
    void find_alike(unsigned t);
    void may_be_alike(unsigned t);
    [[nodiscard]] bool tells_apart(const touch& x, unsigned t, std::uintptr_t base) const;
    [[noreturn]] void are_told_apart();
    void begins_to_join(unsigned t, bool asks_result);
    void has_joined(unsigned t);
    void look_between_joins(const granule& g);
    void tell_alike();
    // An access of the current thread.
    [[nodiscard]] touch now(std::uint8_t mask, access_kind how, void* pc) const {
        const explorer::engine& e = engine();
        return {pc, e.next_index() + 1U, at_once_, e.current_thread(), mask, how};
    }
    // Of touches(), before the threads begin; and a read after their end, since what it could race with is over.
    void touches_alone(const shadow::range& range, std::uintptr_t address, std::size_t size, unsigned mask,
                       access_kind how, void* pc);
    [[nodiscard]] bool has_been_quiet() const { return entries - quiet_from_ > most_quiet; }
    // An operation that another thread may answer, once there is one.
    [[gnu::always_inline]] void asks_others(void* pc) {
        quiet_from_ = entries;
        if (!among_threads_ && ++asked_alone_ > most_alone) asks_too_often_alone(pc);
    }
    [[noreturn]] void asks_too_often_alone(void* pc);
    void check_touch(granule& g, bool on_heap, touch now, std::uintptr_t base);
    [[gnu::always_inline]] void note_access(std::uintptr_t address, std::size_t size, access_kind how) {
        if (plain_write(how)) begin_write(me(), address, size, how);
        engine().asked(law_kind::race);
    }
    static bool on_stack_of(const modelled_thread& m, std::uintptr_t address) {
        return address - reinterpret_cast<std::uintptr_t>(m.stack) < stack_bytes;
    }
    [[gnu::always_inline]] void begin_write(modelled_thread& m, std::uintptr_t address, std::size_t size,
                                            access_kind how) {
        m.written += address;
        if (on_stack_of(m, address)) return;  // it shows in what is compared
        end_write();
        const std::uintptr_t from = address & ~std::uintptr_t{granule::bytes - 1};
        const std::size_t words = (address + size - from + granule::bytes - 1) / granule::bytes;
        if (how != access_kind::write || words > write_under_way::most) {
            ++m.effects;
            return;
        }
        write_.at = from;
        write_.words = words;
        writer_ = &m;
        if (words == 1)
            write_.before.front() = word_at(from);
        else
            std::memcpy(write_.before.data(), reinterpret_cast<const void*>(from), words * granule::bytes);
    }
    static std::uint64_t word_at(std::uintptr_t address) {
        std::uint64_t word = 0;
        std::memcpy(&word, reinterpret_cast<const void*>(address), sizeof word);
        return word;
    }
    void end_write_of(std::size_t words);
    [[nodiscard]] round round_since(modelled_thread& m, const visit& before, const registers& where,
                                    unsigned index) const;
    const explorer::event* next_of_cut(modelled_thread& m, void* pc, const registers& where, const char* operation);
    // Of thread 0 before it had any event, and this thread was started since, or one that it knows of.
    [[nodiscard]] bool was_before_start(const touch& x, unsigned thread, const explorer::vector_clock& known) const {
        if (x.thread() != 0 || x.when() != 1) return false;
        if (threads_[thread].nth > x.started()) return true;
        for (unsigned u = 1; u < count_; ++u)
            if (known[u] != 0 && threads_[u].nth > x.started()) return true;
        return false;
    }
    // Before the threads begin nothing races, and a location that begins has no other writer than that thread: what gives
    // and takes memory is all that has to be known later.
    void check_touch_alone(granule& g, bool on_heap, std::uint8_t mask, access_kind how, void* pc) {
        if (on_heap && how != access_kind::allocation && (g.given & mask) == 0) belongs_to_nobody(g, mask, how, pc);
        if (is_of_a_life(how)) g.add({pc, 1, 0, explorer::main_thread, mask, how});
    }
    static void belongs_to_nobody(const granule& g, std::uint8_t mask, access_kind how, void* pc);
    static void check_life(const touch* life, access_kind how, void* pc);
    [[nodiscard]] bool may_go_on(const touch& x, access_kind how, void* pc) const;
    [[nodiscard]] bool is_in_question(void* one, void* other) const;
    [[noreturn]] void race(const touch& x, access_kind how, void* pc);
    // Takes in what a thread does; looks for races.
    [[gnu::always_inline]] void take_in(granule& g, bool on_heap, touch what, access_kind how, std::uintptr_t address) {
        if (!g.takes(what, how, on_heap)) check_touch(g, on_heap, what, address);
    }
    explorer::object* at_these_bytes(granule& g, std::uintptr_t base, bool on_heap, const located& wanted, access_kind how, void* pc);
    explorer::object& locate_wide(std::uintptr_t address, std::size_t size, role what, access_kind how, void* pc);
    // The plain write that a location begins with, as its name has it.
    struct plain_origin {
        unsigned name_thread = explorer::main_thread, name_when = 0;
        explorer::moment since{};
    };
    static plain_origin origin_of(const granule& g, unsigned bytes);
    explorer::object& begin_location(std::uintptr_t address, role what, const plain_origin& from, std::uint64_t value,
                                     std::string (*text_of)(std::uint64_t value), void* pc);
    void end_atomics(granule& g, std::uintptr_t base, std::uint8_t mask, access_kind how);
    void write_back(const located& l, std::uintptr_t address);
    [[nodiscard]] bool on_a_stack(std::uintptr_t address) const;
    [[nodiscard]] bool is_private(std::uintptr_t address);
    void become_concurrent();
    void forgive_what_is_reachable();

    const scenario* scenario_ = nullptr;
    // The threads that executions so far have started: number 1 is the first.
    const std::vector<thread_start>* starts_ = nullptr;
    unsigned count_ = 1;
    explorer::thread_set started_ = 0;  // bits
    unsigned at_once_ = 0;              // of them, before thread 0 had any event
    bool looks_for_alike_ = false, quietly_ = false;
    explorer::thread_set joining_ = 0;  // threads that are alike, of which some have been joined, and not all
    unsigned joiner_ = 0, joined_at_ = 0;  // by this thread, the last in front of this event
    bool races_are_relaxed_ = false;
    std::pair<std::string, std::string> race_in_question_;
    bool finished_ = false;         // the scenario's body
    bool is_simple_ = false;        // no trace is asked for
    bool among_threads_ = false;    // the program is in one of them, or else before all
    bool knows_all_ = false;        // in one of them, and is_alone()
    std::uint64_t moment_ = 0;      // what its accesses have in common
    unsigned asked_alone_ = 0;      // atomic operations before the threads
    std::uint64_t quiet_from_ = 0;  // what `entries` was at the last event
    write_under_way write_;
    modelled_thread* writer_ = nullptr;
    unsigned rounds_ = 0;  // of a loop that counts, before they are cut
    shadow shadow_;
    std::vector<std::uintptr_t> atomics_;  // granules in which a location was made
    std::deque<explorer::object> objects_;
    std::vector<void*> begun_at_;  // of each of them: the first operation there
    std::vector<library_lock> library_locks_;
    struct told_write {
        const explorer::code_place* by;
        std::uintptr_t at;
        void* pc;
        std::uint64_t value;
    };
    std::vector<told_write> told_writes_, told_plain_;  // of this execution, while --reach asks
    std::vector<std::uintptr_t> fallen_;   // of those, atomics of which a value was replaced by a smaller one
    struct counted {
        const void *object, *block;
        void (*destroy)(void*);
    };
    std::vector<counted> counted_;
    std::vector<std::pair<unsigned, void (*)(void*)>> keys_;  // with what ends a value
    std::array<modelled_thread, explorer::max_threads> threads_;
};

extern constinit runtime* made_runtime;
runtime& make_runtime();
inline runtime& the_runtime() { return made_runtime != nullptr ? *made_runtime : make_runtime(); }

// While it lives, the explorer's side runs, and another thread may go on meanwhile.
class outside_program {
public:
    [[gnu::always_inline]] outside_program() : was_(std::exchange(in_program, false)) {
        if (!was_) return;
        ++entries;
        made_runtime->end_write();
    }
    [[gnu::always_inline]] ~outside_program() {
        if (!was_) return;
        made_runtime->goes_on();
    }
    outside_program(const outside_program&) = delete;
    outside_program& operator=(const outside_program&) = delete;

private:
    bool was_;
};

// The same for what is over before any other thread goes on: a plain access.
class beside_program {
public:
    beside_program() {
        in_program = false;
        ++entries;
    }
    ~beside_program() { in_program = true; }
    beside_program(const beside_program&) = delete;
    beside_program& operator=(const beside_program&) = delete;
};

// Verdicts that ask for another search: the first is followed by the thread that starts one more, and how many it has
// started.
inline constexpr const char* search_again = "search again: ";
inline constexpr std::string_view one_more_thread = "search again: one more thread, by ",
                                  may_be_alike_quietly = "search again: threads may be alike",
                                  are_not_alike = "search again: threads that seemed alike are told apart";
// How the name begins of what was reached, with the threads that are alike.
inline constexpr std::string_view alike_mark = "symmetry of threads ";

}  // namespace apiary::model::as_it_is
