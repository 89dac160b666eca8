// machine: threads, clocks, sleeps and wakes.
#include <apiary/virtual/machine.hpp>

#include <cxxabi.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>
#include <thread>

#include <apiary/model_check/explorer/context.hpp>
#include <apiary/virtual/static_data.hpp>

extern "C" const char __executable_start;  // by the linker

namespace apiary::virt {

namespace {

constexpr std::size_t guard_bytes = 4096;
// Stacks begin at different sets of the caches of the host: else hundreds evict one another at each switch. All begin at a
// multiple of 256 bytes, so that what lies on them is aligned in the same way.
constexpr std::size_t stack_shift(unsigned number) { return number * (4096 + 256) % (std::size_t{64} << 10); }

}  // namespace

class machine::thread : public processor_times {
public:
    thread(machine& m, unsigned n, std::string called, std::function<void()> runs)
        : on(m), number(n), name(std::move(called)), body(std::move(runs)) {}

    machine& on;
    const unsigned number;
    const std::string name;
    std::function<void()> body;
    model::explorer::context where = nullptr;
    exceptions_in_flight exceptions;
    picoseconds owes = 0;  // for interrupts by heavy fences
    bool blocked = false, timed_out = false, done = false;
    bool has_deadline = false;  // blocked, and nobody has woken it
    const void* waits_on = nullptr;
    const char* does = "runs";
    place at;
    host_vector<std::pair<const void*, void*>> slots;
    host_vector<void*> kept;  // behind `slots`, for local: in the arena, each on a line of its own
    host_vector<void (*)()> at_exit;
    host_vector<thread*> joiners;
    arena::shelf shelf;
};

arena& the_arena() {
    // Never destroyed: destructors of static objects may still give memory back.
    alignas(arena) static std::byte room[sizeof(arena)];
    static arena& a = *::new (room) arena;
    return a;
}

namespace {
host_vector<std::pair<const void*, void*>>& host_slots() {
    static host_vector<std::pair<const void*, void*>> slots;
    return slots;
}
const label stack_label = intern("a stack");
static_data& the_static_data() {
    static static_data all;
    return all;
}

// The C++ library counts owners (std::shared_ptr) by plain accesses until the process has had a second thread, and the
// machine's threads would lose some of these counts.
void have_had_a_thread() {
    static const bool once = (std::thread([] {}).join(), true);
    (void)once;
}
}  // namespace

void*& machine::slot(const void* key) {
    auto& slots = running_ != nullptr ? running_->slots : host_slots();
    for (auto& [k, p] : slots)
        if (k == key) return p;
    return slots.emplace_back(key, nullptr).second;
}

void* machine::keep(std::size_t bytes) {
    static host_vector<void*> of_the_host;
    if (running_ == nullptr) return of_the_host.emplace_back(host_get(bytes));
    static const label what = intern("a thread's own");
    return running_->kept.emplace_back(the_arena().allocate(bytes, arena::line, what, running_->shelf).block);
}
void machine::at_thread_exit(void (*f)()) {
    if (running_ == nullptr) return;
    auto& all = running_->at_exit;
    if (std::find(all.begin(), all.end(), f) == all.end()) all.push_back(f);
}
stack_bounds machine::stack() {
    if constexpr (!stacks_have_bounds) return {};
    const char* const lowest = current_->stacks_ + stack_bytes * running_->number + guard_bytes;
    return {reinterpret_cast<std::uintptr_t>(lowest), reinterpret_cast<std::uintptr_t>(lowest + stack_bytes - guard_bytes)};
}

unsigned machine::number_of_running() { return running_ == nullptr ? 0 : running_->number; }

machine::only_one::only_one() {
    if (exists_.exchange(true)) throw std::logic_error("virtual machine: there is one already; one at a time");
}

machine::machine(const prices& p, unsigned processors, picoseconds most)
    : p_(p), processors_(processors), most_(most), lines_(p, processors), static_(the_static_data()),
      turns_(std::min(processors, max_processors)) {
    if (processors == 0 || processors > max_processors)
        throw std::invalid_argument("virtual machine: " + std::to_string(processors) +
                                    " processors\n  cause:  a machine has 1 to 1024\n  remedy: a number within");
    have_had_a_thread();
    if (the_arena().may_begin_anew()) the_arena().begin_anew();
    // At a fixed place, if that is free, so that the addresses of what lies on stacks are the same each time.
    stacks_bytes_ = stack_bytes * processors;
    void* const fixed = reinterpret_cast<void*>(std::uintptr_t{0x2000'0000'0000});
    constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void* s = ::mmap(fixed, stacks_bytes_, PROT_READ | PROT_WRITE, flags | MAP_FIXED_NOREPLACE, -1, 0);
    if (s == MAP_FAILED) s = ::mmap(nullptr, stacks_bytes_, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (s == MAP_FAILED) throw std::bad_alloc();
    stacks_ = static_cast<char*>(s);
    current_ = this;
}

machine::~machine() {
    for (auto& t : threads_) {
        for (void* const p : t->kept) (void)the_arena().release(p, t->shelf);
        the_arena().empty(t->shelf);
    }
    threads_.clear();
    ::munmap(stacks_, stacks_bytes_);
    current_ = nullptr;
}

machine::thread& machine::start(std::string name, std::function<void()> body) {
    const auto number = static_cast<unsigned>(threads_.size());
    if (number == processors_)
        throw std::invalid_argument("virtual machine: thread \"" + name + "\" has no processor\n  cause:  all " +
                                    std::to_string(processors_) + " have one thread each\n  remedy: more processors");
    const picoseconds begin = running_ == nullptr ? 0 : running_->clock + p_.wake_latency;
    const host_section tables;
    char* const stack = stacks_ + stack_bytes * number;
    if (::mprotect(stack, guard_bytes, PROT_NONE) != 0) throw std::bad_alloc();
    thread& t = *threads_.emplace_back(std::make_unique<thread>(*this, number, std::move(name), std::move(body)));
    t.where = model::explorer::make_context(stack + guard_bytes, stack_bytes - guard_bytes - stack_shift(number), &body_of, &t);
    make_ready(t, begin);
    return t;
}

void machine::body_of(void* argument) {
    auto& t = *static_cast<thread*>(argument);
    machine& m = t.on;
    // The body's own frames begin at a multiple of 256 bytes, however this function is compiled: which of its objects share
    // a line does not depend on the machine's code.
    alignas(256) std::byte here[256];
    asm volatile("" : : "r"(here) : "memory");
    try {
        t.body();
    } catch (...) {
        if (!m.failure_) m.failure_ = std::current_exception();
    }
    m.spend_blocks();
    t.body = nullptr;
    for (void (*const f)() : t.at_exit) f();
    t.done = true;
    t.does = "has ended";
    the_arena().empty(t.shelf);
    m.end_ = std::max(m.end_, t.clock);
    for (thread* j : t.joiners) m.wake(*j, t.clock + m.p_.wake_latency);
    m.dispatch();
    std::abort();  // nobody resumes a thread that has ended
}

void machine::join(thread& t, const place& at) {
    if (t.done) return;
    t.joiners.push_back(running_);
    block(never, &t, at, "joins");
}

void machine::run() {
    if (threads_.empty()) return;
    thread outside(*this, processors_, "outside", nullptr);
    running_ = outside_ = &outside;
    of_the_host_ = reinterpret_cast<exceptions_in_flight*>(abi::__cxa_get_globals());
    blocks_run = 0;
    dispatch();
    running_ = outside_ = nullptr;
    if (!failure_) return;
    the_arena().give_up();
    std::rethrow_exception(std::exchange(failure_, nullptr));
}

void machine::clear_counts() {
    counts_ = {};
    moves_.clear();
}

picoseconds machine::now() const { return running_ != nullptr ? running_->clock : end_; }

// The thread that runs next

void machine::make_ready(thread& t, picoseconds at) {
    turns_.set(t.number, at);
    t.has_deadline = false;
    horizon_ = std::min(horizon_, at);
}

void machine::switch_to(thread& to) {
    thread& from = *running_;
    from.exceptions = *of_the_host_;
    *of_the_host_ = to.exceptions;
    running_ = &to;
    own_stack_ = reinterpret_cast<std::uintptr_t>(stacks_) + stack_bytes * to.number;
    model::explorer::switch_context(&from.where, to.where);
}

void machine::dispatch() {
    thread* const from = running_;
    for (;;) {
        const picoseconds at = turns_.first_at();
        if (failure_ || at == turns::nobody) {
            const bool ended = std::all_of(threads_.begin(), threads_.end(), [](const auto& t) { return t->done; });
            if (!failure_ && !ended) {
                const host_section tables;
                failure_ = std::make_exception_ptr(virtual_deadlock("virtual deadlock: no thread can go on" + everybody()));
            }
            return switch_to(*outside_);
        }
        if (at > most_) {
            const host_section tables;
            failure_ = std::make_exception_ptr(virtual_time_up(
                "no end within " + std::to_string(most_ / 1'000'000'000) +
                " virtual ms\n  cause:  a thread that spins for ever, or more work than was thought"
                "\n  remedy: a smaller run, or more virtual time" + everybody()));
            continue;
        }
        thread& t = *threads_[turns_.first()];
        turns_.set(t.number, turns::nobody);
        t.clock = std::max(t.clock, at);
        if (t.blocked) {
            t.blocked = false;
            t.timed_out = std::exchange(t.has_deadline, false);
            if (t.timed_out)
                if (const auto found = futexes_.find(t.waits_on); found != futexes_.end()) std::erase(found->second, &t);
            t.waits_on = nullptr;
            t.does = "runs";
        }
        if (t.owes != 0) {
            t.clock += std::exchange(t.owes, 0);
            make_ready(t, t.clock);
            continue;
        }
        horizon_ = std::min(most_, turns_.first_at());
        ++counts_.switches;
        if (&t != from) switch_to(t);
        return;
    }
}

void machine::spend_blocks() {
    const std::uint64_t n = std::exchange(blocks_run, 0);
    counts_.blocks += n;
    running_->clock += static_cast<picoseconds>(n) * p_.basic_block;
}

void machine::step() {
    thread& t = *running_;
    spend_blocks();
    if (t.clock > horizon_) {
        make_ready(t, t.clock);
        dispatch();
    }
}

// Sleeps and wakes

bool machine::block(picoseconds deadline, const void* on, const place& at, const char* what) {
    thread& t = *running_;
    spend_blocks();
    t.blocked = true;
    t.waits_on = on;
    t.at = at;
    t.does = what;
    ++counts_.sleeps;
    t.has_deadline = deadline != never;
    if (t.has_deadline) turns_.set(t.number, deadline + p_.timer_slack);
    dispatch();
    return !t.timed_out;
}

void machine::wake(thread& t, picoseconds at) { make_ready(t, at); }

bool machine::futex_wait(const void* word, std::uint32_t expected, std::int64_t deadline_ns, const place& at) {
    thread& t = *running_;
    touch(word, sizeof expected, access::load, p_.hit, at);
    t.clock = std::max(t.clock, t.stores_done) + p_.futex_wait;
    step();
    std::uint32_t seen = 0;
    std::memcpy(&seen, word, sizeof seen);
    if (seen != expected) return true;
    // Far deadlines are none: picoseconds hold 106 days.
    const picoseconds deadline = deadline_ns > never / 1000 ? never : deadline_ns * 1000;
    if (deadline <= t.clock) return false;
    futexes_[word].push_back(&t);
    return block(deadline, word, at, "sleeps");
}

void machine::futex_wake(const void* word, bool all) {
    thread& t = *running_;
    step();
    t.clock = std::max(t.clock, t.stores_done);
    const auto found = futexes_.find(word);
    if (found == futexes_.end() || found->second.empty()) {
        t.clock += p_.futex_wake_nobody;
        return;
    }
    do {
        thread& woken = *found->second.front();
        found->second.pop_front();
        ++counts_.wakes;
        t.clock += p_.futex_wake;
        wake(woken, t.clock + p_.wake_latency);
    } while (all && !found->second.empty());
}

void machine::wait_for_change(const void* p, const place& at) {
    const std::uintptr_t address = modelled(p);
    lines_.watch(address);
    watchers_[address / arena::line].push_back(running_);
    block(never, p, at, "spins");
    --counts_.sleeps;  // it had its processor all the time
}

void machine::sleep_ns(std::int64_t ns, const place& at) {
    step();
    block(running_->clock + std::max<std::int64_t>(ns, 0) * 1000, running_, at, "sleeps for a time");
}

void machine::yield() {
    ++counts_.yields;
    spend(p_.yield);
}

void machine::spend(picoseconds t) {
    step();
    running_->clock += t;
}

picoseconds machine::read_clock() {
    spend(p_.clock_read);
    return running_->clock;
}

// Memory

void machine::account(std::uintptr_t address, access kind, const place& at, picoseconds queued, picoseconds cost) {
    ++counts_.moves;
    const void* const p = reinterpret_cast<const void*>(address);
    arena::inside where;
    if (the_arena().contains(p))
        where = the_arena().find(p);
    else if (address - reinterpret_cast<std::uintptr_t>(stacks_) < stacks_bytes_)
        where.what = stack_label;
    else
        where = static_.find(address);
    moves_.add(where, kind, at, queued, cost);
}

void machine::touch_line(std::uintptr_t address, access kind, picoseconds hit, const place& at) {
    const lines::outcome o = lines_.touch(address, kind, running_->number, *running_, hit);
    if (o.moved) account(address, kind, at, o.queued, o.cost);
    // A change meets the value at the time when its line comes. A copy is of the time when it was asked for: stores
    // show at once, too, although they wait for their lines.
    if (o.waited) step();
    if (kind == access::load || !lines_.was_watched(address)) return;
    const auto found = watchers_.find(address / arena::line);
    const waiters told = std::exchange(found->second, {});
    const picoseconds done = std::max(running_->clock, running_->stores_done);
    for (thread* t : told) wake(*t, done);
}

void machine::touch(const void* p, std::size_t bytes, access kind, picoseconds hit, const place& at) {
    step();
    running_->at = at;
    ++counts_.operations;
    const std::uintptr_t first = modelled(p);
    touch_line(first, kind, hit, at);
    for (auto next = first / arena::line * arena::line + arena::line; next < first + bytes; next += arena::line)
        touch_line(next, kind, hit, at);
}

// Code and data of the program lie at a distance from its beginning that is the same each time.
place machine::place_of(const void* pc) {
    static const auto begin = reinterpret_cast<std::uintptr_t>(&__executable_start);
    return {"program", "plain code", static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(pc) - begin)};
}

// The address that stands for this one; 0: no memory of the run. The host's heap and stack are none, and lie elsewhere each
// time: threads' bodies, arguments of the program. Nor are constants.
std::uintptr_t machine::of_the_run(const void* p) const {
    const auto address = reinterpret_cast<std::uintptr_t>(p);
    const bool as_it_is = the_arena().contains(p) || address - reinterpret_cast<std::uintptr_t>(stacks_) < stacks_bytes_;
    return as_it_is ? address : static_.canonical(address);
}
// Operations of the policy cost their price wherever their object lies.
std::uintptr_t machine::modelled(const void* p) const {
    const std::uintptr_t address = of_the_run(p);
    return address != 0 ? address : reinterpret_cast<std::uintptr_t>(p);
}

void machine::touch_plain_lines(const void* from, std::size_t bytes, access kind, const void* pc) {
    const std::uintptr_t first = of_the_run(from);
    if (first == 0) return;
    for (auto p = first; p < first + bytes; p = p / arena::line * arena::line + arena::line) {
        if (lines_.has(p, kind, running_->number)) continue;
        step();
        const place at = place_of(pc);
        running_->at = at;
        touch_line(p, kind, 0, at);
    }
}

void machine::ask_ahead(const void* p) {
    const auto address = reinterpret_cast<std::uintptr_t>(p);
    const lines::outcome o = lines_.ask_ahead(address, access::store, running_->number, *running_);
    if (o.moved) account(address, access::ahead, {"machine", "asked for ahead", 0}, 0, 0);
}

void machine::ask_for_copy(const void* p, const place& at) {
    const std::uintptr_t address = of_the_run(p);
    if (address == 0) return;
    step();
    running_->at = at;
    const lines::outcome o = lines_.ask_ahead(address, access::load, running_->number, *running_);
    if (o.moved) account(address, access::ahead, at, 0, 0);
}

void machine::fence() {
    step();
    running_->clock = std::max(running_->clock, running_->stores_done) + p_.fence;
}

void machine::barrier() {
    step();
    thread& caller = *running_;
    // The kernel does one at a time.
    caller.clock = std::max({caller.clock, caller.stores_done, barrier_free_}) + p_.barrier;
    barrier_free_ = caller.clock;
    ++counts_.barriers;
    for (auto& t : threads_)
        if (t.get() != &caller && !t->blocked && !t->done) t->owes += p_.barrier_interrupt;
}

void machine::use_depot() {
    const picoseconds start = std::max(running_->clock, depot_free_);
    running_->clock = depot_free_ = start + p_.depot + p_.transfer;
}

void* machine::allocate(std::size_t bytes, std::size_t alignment, label what, picoseconds price) {
    spend(price);
    const arena::given g = the_arena().allocate(bytes, alignment, what, running_->shelf);
    if (g.exchanged) use_depot();
    if (g.next != nullptr) ask_ahead(g.next);
    return g.block;
}

void machine::release(void* p, picoseconds price) {
    spend(price);
    if (the_arena().release(p, running_->shelf)) use_depot();
}

// What a failure says

std::string machine::everybody() const {
    std::string s;
    std::size_t shown = 0;
    for (const auto& t : threads_) {
        if (t->done) continue;
        if (++shown > 16) continue;
        const char* const slash = std::strrchr(t->at.file, '/');
        char line[256];
        std::snprintf(line, sizeof line, "\n  thread %u (%s) %s at %s:%u, %s, since %.3f us", t->number, t->name.c_str(), t->does,
                      slash != nullptr ? slash + 1 : t->at.file, t->at.line, t->at.function,
                      static_cast<double>(t->clock) / 1e6);
        s += line;
    }
    if (shown > 16) s += "\n  and " + std::to_string(shown - 16) + " others";
    return s;
}

}  // namespace apiary::virt
