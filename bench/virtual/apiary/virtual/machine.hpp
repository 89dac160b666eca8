// machine: processors that do not exist, threads on them, and a clock for each.
//
// Each thread is a fiber with a processor of its own. The thread with the smallest clock runs, until an operation of it
// would come after one of another thread; ties go to the thread that runs, then to the lower number. So a run is the same
// each time: no host clock, host thread or address that changes has a part in it.
//
// When to use it. For schedulers and structures that are written over a Sync policy, by virtual_sync. When not: for code
// that waits for the outside (epoll, files), or that loops without an operation of the policy: the machine never gets it
// back.
//
// prices.hpp has the cost of an operation, lines.hpp the places of lines. The README of bench/virtual says what is not modelled.
//
// Threads. One thread of the host. One machine at a time.
// Errors.  run throws: the first exception that left a thread; virtual_deadlock; virtual_time_up. After any of these the
//          other threads stand where they were: no destructor of theirs runs, and what they have allocated is gone when
//          the next machine is made.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <apiary/sync/stack_bounds.hpp>
#include <apiary/virtual/arena.hpp>
#include <apiary/virtual/lines.hpp>
#include <apiary/virtual/moves.hpp>
#include <apiary/virtual/prices.hpp>
#include <apiary/virtual/turns.hpp>

namespace apiary::virt {

class static_data;

// No thread can go on; the text names each, and the place at which it waits.
struct virtual_deadlock : std::runtime_error {
    using std::runtime_error::runtime_error;
};
// The virtual time that was granted is over; the text names each thread and its last operation.
struct virtual_time_up : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Exceptions that are thrown or caught on a stack: the run-time library counts them for each thread of the host.
struct exceptions_in_flight {
    void* caught = nullptr;
    unsigned uncaught = 0;
};

class machine {
public:
    static constexpr unsigned max_processors = 1024;
    static constexpr picoseconds never = INT64_MAX;
    static constexpr std::size_t stack_bytes = std::size_t{1} << 20;
    class thread;

    // Throws std::invalid_argument for a number of processors outside of 1 to max_processors, std::logic_error beside another.
    machine(const prices& p, unsigned processors, picoseconds most = 60'000'000'000'000);
    ~machine();
    machine(const machine&) = delete;
    machine& operator=(const machine&) = delete;

    // A thread on the next free processor; by a thread, it begins a wake's latency later. Throws std::invalid_argument where
    // no processor is free, std::bad_alloc where there is no memory for its stack.
    thread& start(std::string name, std::function<void()> body);
    // For threads: returns when t has ended.
    void join(thread& t, const place& at);
    // Until all threads have ended.
    void run();

    // What was counted since the last clear_counts.
    struct counts {
        std::uint64_t operations = 0, blocks = 0, moves = 0, sleeps = 0, wakes = 0, yields = 0, barriers = 0, switches = 0;
    };
    const counts& counted() const { return counts_; }
    const moves& moved() const { return moves_; }
    void clear_counts();

    picoseconds now() const;  // of the thread that runs; outside of one, the last end of a thread
    unsigned processors() const { return processors_; }
    [[gnu::always_inline]] const prices& priced() const { return p_; }

    // The machine that there is, and the thread that runs on it; null where there is none.
    [[gnu::always_inline]] static machine* current() { return current_; }
    [[gnu::always_inline]] static thread* running() { return running_; }
    static unsigned number_of_running();  // 0 outside of a thread

    // Operations, for virtual_sync; each by the thread that runs.
    void touch(const void* p, std::size_t bytes, access kind, picoseconds hit, const place& at);
    // By compiled code, from the call before `pc` (seen_calls.cpp): costs something where the line has to come.
    [[gnu::always_inline]] void touch_plain(const void* p, std::size_t bytes, access kind, const void* pc) {
        if (reinterpret_cast<std::uintptr_t>(p) - own_stack_ >= stack_bytes) touch_plain_lines(p, bytes, kind, pc);
    }
    static place place_of(const void* pc);
    // Basic blocks since the last operation of the thread that runs; each costs its price.
    static inline constinit thread_local std::uint64_t blocks_run = 0;
    void ask_ahead(const void* p);                    // to write it
    void ask_for_copy(const void* p, const place& at);  // to read it; nothing, where that is no memory of the run
    void fence();
    void barrier();
    bool futex_wait(const void* word, std::uint32_t expected, std::int64_t deadline_ns, const place& at);
    void futex_wake(const void* word, bool all);
    void wait_for_change(const void* p, const place& at);  // until another thread writes the line
    void sleep_ns(std::int64_t ns, const place& at);
    void yield();
    void spend(picoseconds t);  // plain work, or a hint
    picoseconds read_clock();
    void* allocate(std::size_t bytes, std::size_t alignment, label what, picoseconds price);
    void release(void* p, picoseconds price);

    // What threads have in place of thread_local, by a key; outside of a thread, the host's.
    static void*& slot(const void* key);
    // An object of the thread's own that costs nothing, T{} at first, for as long as the thread is known.
    template <class T>
    static T& local(const void* key) {
        void*& p = slot(key);
        if (p == nullptr) p = ::new (keep(sizeof(T))) T{};
        return *static_cast<T*>(p);
    }
    // f runs when the running thread's body has ended; said again it changes nothing. Outside of a thread: never.
    static void at_thread_exit(void (*f)());
    // Of the running thread; precondition: there is one.
    static stack_bounds stack();

private:
    using waiters = std::deque<thread*, host_memory<thread*>>;
    template <class Key, class Value>
    using table =
        std::unordered_map<Key, Value, std::hash<Key>, std::equal_to<>, host_memory<std::pair<const Key, Value>>>;

    void make_ready(thread& t, picoseconds at);
    void wake(thread& t, picoseconds at);
    bool block(picoseconds deadline, const void* on, const place& at, const char* what);
    void dispatch();  // away from the thread that runs, which has queued itself, blocked or ended
    void switch_to(thread& to);
    void step();
    void spend_blocks();
    std::uintptr_t of_the_run(const void* p) const;
    std::uintptr_t modelled(const void* p) const;
    void touch_plain_lines(const void* p, std::size_t bytes, access kind, const void* pc);
    void touch_line(std::uintptr_t address, access kind, picoseconds hit, const place& at);
    void account(std::uintptr_t address, access kind, const place& at, picoseconds queued, picoseconds cost);
    void use_depot();
    std::string everybody() const;
    static void body_of(void* argument);
    static void* keep(std::size_t bytes);  // lines of the arena, until the machine ends; the host's outside of a thread

    // The arena is one for the whole process.
    class only_one {
    public:
        only_one();
        ~only_one() { exists_ = false; }
        only_one(const only_one&) = delete;
        only_one& operator=(const only_one&) = delete;

    private:
        static inline std::atomic<bool> exists_ = false;
    };

    const only_one only_;
    const prices p_;
    const unsigned processors_;
    const picoseconds most_;
    lines lines_;
    moves moves_;
    static_data& static_;  // of the program
    counts counts_;
    host_vector<std::unique_ptr<thread>> threads_;
    turns turns_;  // of the threads that run, but for the one that does, and of those that wait with a deadline
    table<const void*, waiters> futexes_;
    table<std::uintptr_t, waiters> watchers_;
    picoseconds horizon_ = never, end_ = 0, barrier_free_ = 0, depot_free_ = 0;
    thread* outside_ = nullptr;  // stands for the caller of run
    std::exception_ptr failure_;
    char* stacks_ = nullptr;
    std::size_t stacks_bytes_ = 0;
    std::uintptr_t own_stack_ = 0;  // of the thread that runs
    exceptions_in_flight* of_the_host_ = nullptr;

    // Of the thread of the host that runs the machine: another one, of a real pool in the same program, yields and allocates
    // as if there were none.
    static inline constinit thread_local machine* current_ = nullptr;
    static inline constinit thread_local thread* running_ = nullptr;
    friend class host_section;
};

// While it lives, what the running thread allocates is the host's: for tables that outlive the machine.
class host_section {
public:
    host_section() : before_(std::exchange(machine::running_, nullptr)) {}
    ~host_section() { machine::running_ = before_; }
    host_section(const host_section&) = delete;
    host_section& operator=(const host_section&) = delete;

private:
    machine::thread* before_;
};

}  // namespace apiary::virt
