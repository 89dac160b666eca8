// scheduler: real threads, of which one runs at a time. It has the baton, and gives it on at an operation that others
// can see.
//
// A thread that waits names what it waits for and until when. Time is virtual: each operation takes a little, and where
// every thread waits it goes on to the next deadline. If there is none, that is a deadlock.
//
// All of it is touched by the thread that has the baton alone, so nothing is locked.
#pragma once

#include <poll.h>
#include <pthread.h>

#include <cstddef>
#include <cstdint>

#include "call_tree.hpp"
#include "contexts.hpp"
#include "decisions.hpp"
#include "heap.hpp"
#include "reach.hpp"
#include "repeats.hpp"
#include "report.hpp"
#include "strategy.hpp"
#include "weak_memory.hpp"

namespace apiary::hunt {

constexpr std::uint64_t second = 1'000'000'000, forever = ~std::uint64_t{0};

// What became of a wait by signals: none came; or they were ignored or blocked; or what the strictest of the handlers
// that ran wants of the call that it interrupts.
enum class handled : char { none, ignored, restarts, ends };

struct sent {
    int signal;
    vector_clock told;  // what its sender knew
};

struct thread {
    static constexpr std::uint32_t most_calls = 64;

    view sees;
    int baton = 0;     // where contexts are swapped: its own kernel's thread goes on
    int is_there = 0;  // and that one has begun
    context here;
    bool inside = false;  // the runtime's own work: it sees nothing of what is done meanwhile
    bool runnable = true, ended = false, joined = false, detached = false, timed_out = false;
    own_vector<sent> signals;  // that other threads have sent it: it takes them where its next operation begins
    vector_clock told;         // what the senders of those knew that it blocked
    unsigned handlers = 0;     // that it is in, one inside of another
    handled signalled = handled::none;
    bool interrupted = false;  // its wait ended for a signal, and not for what it waited for
    std::uint64_t deadline = forever;
    const void* waits_for = nullptr;
    const char* doing = "begins";
    std::uintptr_t doing_at = 0;
    std::uint32_t held_by = 0;  // the thread that has what it waits for, and 1
    std::int64_t priority = 0;
    std::uintptr_t next_object = 0;  // of its operation that comes next
    site* at = nullptr;
    std::uint32_t operations = 0;  // so far
    unsigned processors = 15;      // that it may run on, a bit each
    repeats again;
    std::uint32_t idle = 0;  // operations since it last changed anything
    int rounds = 0;          // of the destructors of thread-specific data
    pollfd* files = nullptr;
    std::uint32_t file_count = 0;

    long kernel_id = 0;
    pthread_t handle{};
    void* (*function)(void*) = nullptr;
    void* argument = nullptr;

    std::uint32_t depth = 0, nodes_known = 0;
    std::uintptr_t calls[most_calls];
    call_tree::node nodes[most_calls + 1]{};  // after each of them; the first is the thread's beginning
    // A function begins or ends. Most are called where the one before at this depth was, so a node is looked up where
    // one is asked for.
    void enters(std::uintptr_t caller) {
        if (depth < most_calls && calls[depth] != caller) {
            calls[depth] = caller;
            if (nodes_known > depth) nodes_known = depth;
        }
        ++depth;
    }
    void leaves() {
        if (depth != 0) --depth;
    }
    call_tree::node node() {
        const std::uint32_t n = depth < most_calls ? depth : most_calls;
        for (; nodes_known < n; ++nodes_known)
            nodes[nodes_known + 1] = the_calls.called(nodes[nodes_known], calls[nodes_known]);
        return nodes[n];
    }

    std::uint32_t id() const { return sees.id; }
};

// A timerfd: an eventfd to which the scheduler writes.
struct file_timer {
    int file;
    std::uint64_t deadline, interval;  // forever: not armed; 0: once
};

// Memory that the program mapped, and may have unmapped again.
struct mapping {
    std::uintptr_t begin, end;
};

class scheduler {
public:
    own_vector<file_timer> timers;
    own_vector<mapping> mappings;
    bool active = false;        // a run is under way
    bool swaps = false;         // one kernel's thread runs all (contexts.hpp)
    bool has_children = false;  // processes that the program forked: they may write what a thread waits for
    std::uint64_t now = 0;  // virtual nanoseconds
    std::uint64_t most_steps = 20'000'000, most_quiet = 3'000'000, stop = 0;
    draws random;
    strategy plan;
    weak_memory memory;
    own_vector<thread*> threads;
    decisions taken;

    // `list`: null, or what the run does instead of what is drawn.
    void begin(std::uint64_t seed, const wanted& w, std::uint64_t length, const decision_list* list = nullptr);
    thread& add_thread(thread* parent);
    void begins(thread& t);
    void ends(thread& t);  // gives the baton on; does not wait for it

    // Before an operation that others can see. May switch.
    void point(thread& t, const char* what, std::uintptr_t place, std::uintptr_t address = 0);
    void changed(thread& t) { quiet_ = 0, ++changes_, looked_at_clock_ = false, t.idle = 0; }
    void looked_at_clock(std::uint64_t for_a_look) { now += for_a_look, looked_at_clock_ = true; }
    void yields(thread& t);
    // Draws, each of them a decision: once in n; whether to look back past the newest store; and how many of n to go
    // back.
    bool happens(thread& t, unsigned n) {
        const bool drawn = plan.how != schedule::quiet && random.one_in(n);
        return taken.decided(t.id(), t.operations, decision::fails, 0, drawn ? 1 : 0) != 0;
    }
    bool looks_back(const thread& t) {
        if (taken.follows()) return taken.has(t.id(), t.operations, decision::reads);
        return plan.stale_one_in != 0 && random.one_in(plan.stale_one_in);
    }
    std::size_t goes_back(const thread& t, std::size_t n) {
        const std::size_t back =
            taken.decided(t.id(), t.operations, decision::reads, 0, static_cast<std::uint32_t>(random.below(n)));
        return back < n ? back : n - 1;
    }
    // One in so many waits ends for no reason, as POSIX lets it: an odd time, too.
    bool ends_for_no_reason(thread& t);
    // To another thread. One that waits is woken.
    void signals(thread& from, thread& to, int signal);
    void take_signals(thread& t);
    void lets_through(thread& t) { weak_memory::acquire(t.sees, t.told); }  // what it had blocked
    // False: the deadline came. A wait also ends where a signal came: t.signalled says so.
    bool wait(thread& t, const void* for_what, std::uint64_t deadline, std::uint32_t held_by = 0);
    // True: they are ready, and `files` says for what.
    bool wait_for_files(thread& t, pollfd* files, std::uint32_t count, std::uint64_t deadline);
    void armed(std::uint64_t deadline) { next_deadline_ = deadline < next_deadline_ ? deadline : next_deadline_; }
    void wake_all(const void* what);
    bool wake_one(const void* what);
    bool waits(const void* for_what) const;
    thread* of(pthread_t handle);
    bool is_last(const thread& t);  // every other one has ended, to the kernel, too
    void tell_threads();
    // The kernel is asked for what it has of this thread. Does not return where it would not be the thread's own.
    void needs_own_threads() const {
        if (swaps && active && threads.size() > 1) found(ending::again);
    }
    void heavy_fence();  // in every thread, where it stands

private:
    thread& pick(thread& me, bool stays = false);  // stays: where nothing is drawn, it runs on
    void switch_to(thread& me, thread& next);
    void give_baton(thread& t);
    void take_baton(thread& t);
    void wait_until_there(thread& t);
    void came();
    static bool is_zombie(const thread& t);
    void wait_for_exit();
    void make_runnable(thread& t);
    void wake_due(bool only_spinning = false);
    void all_spin(thread& t, std::uintptr_t place);
    bool all_repeat(thread& t, std::uintptr_t place);
    bool look_at_files(int milliseconds);
    std::int64_t drawn_priority() { return static_cast<std::int64_t>(random.next() >> 2); }
    void draw_anew(std::uintptr_t object, thread& but);
    void fall(thread& t) { t.priority = --lowest_; }

    static constexpr std::uint64_t longest_turn = 5'000, spinning = 5'000, long_spinning = 200'000;
    static constexpr std::uint64_t between_steps = 1'000, least_step = 1'000;

    std::uint64_t next_deadline_ = forever;
    std::uint64_t quiet_ = 0;       // operations since any thread last changed anything
    std::uint64_t changes_ = 0, repeat_since_ = 0;
    bool looked_at_clock_ = false;  // and whether one has looked at it meanwhile
    thread* exits_ = nullptr;  // its kernel thread is not gone yet
    bool leaves_ = false;      // or even parks
    thread* on_ = nullptr;     // whose kernel's thread runs all
    thread* last_ran_ = nullptr;
    std::uint64_t turn_began_ = 0;
    std::int64_t lowest_ = 0;
    unsigned next_change_ = 0;
    unsigned on_files_ = 0;
};
// It is made before the program's first line and never destroyed: statics of the program end after those of the runtime
// would.
void make_the_scheduler();
extern scheduler the_scheduler asm("apiary_hunt_scheduler");
extern thread_local thread* running __attribute__((tls_model("initial-exec")));

void tell_stack(const thread& t, std::uintptr_t place);

#define CALLER (reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)) - 1)

// One call of the program's into the runtime: false where the runtime itself calls, or no run is under way.
class call {
public:
    call(const char* what, std::uintptr_t place, const volatile void* object = nullptr);
    ~call();
    call(const call&) = delete;
    call& operator=(const call&) = delete;
    explicit operator bool() const { return thread_ != nullptr; }
    // As the library answers, and errno is what the program finds afterwards.
    long answered(long result) const;
    thread& me() const { return *thread_; }
    view& sees() const { return thread_->sees; }

private:
    thread* thread_;
    mutable int error_;
};
[[noreturn]] void refuse(const call& here, const char* what);
// Whether the program itself calls, in a run.
inline thread* program_calls() {
    thread* const t = running;
    return t != nullptr && !t->inside && the_scheduler.active ? t : nullptr;
}
// A call of the program's that asks for what the kernel has of its thread.
inline void program_asks_for_its_own() {
    if (program_calls() != nullptr) the_scheduler.needs_own_threads();
}

}  // namespace apiary::hunt
