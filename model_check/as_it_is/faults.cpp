// What ends an execution from within: each must give its verdict, and the other scenarios go on.
#include <apiary/check.hpp>
#include <apiary/specifications.hpp>

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <thread>

namespace {
std::atomic<int> word;
void touched_by_two(void (*first)()) {
    std::thread a([=] {
        word.store(1);
        first();
    });
    std::thread b([] { word.store(2); });
    a.join();
    b.join();
}
volatile int* volatile nowhere = nullptr;
int deep(int n) {
    volatile char room[4096];
    room[0] = static_cast<char>(n);
    return n == 1'000'000'000 ? 0 : deep(n + 1) + room[0];
}
}  // namespace

APIARY_FAILING_SCENARIO(null_is_written, "crash: SIGSEGV at model_check/as_it_is/faults.cpp") {
    touched_by_two([] { *nowhere = 1; });
}
APIARY_FAILING_SCENARIO(recursion_without_end, "the stack of a thread ran over") {
    touched_by_two([] { word.store(deep(0)); });
}
APIARY_FAILING_SCENARIO(aborts, "abort() was called") {
    touched_by_two([] { std::abort(); });
}
APIARY_FAILING_SCENARIO(exits, "exit() was called") {
    touched_by_two([] { std::exit(0); });
}
APIARY_FAILING_SCENARIO(exits_at_once, "_exit() was called") {
    touched_by_two([] { ::_exit(0); });
}
APIARY_FAILING_SCENARIO(forks, "refused: fork") {
    touched_by_two([] { word.store(::fork()); });
}
APIARY_FAILING_SCENARIO(throws_out_of_a_thread, "an exception left the thread: too late") {
    touched_by_two([] { throw std::runtime_error("too late"); });
}
APIARY_FAILING_SCENARIO(leaves_a_joinable_thread, "std::terminate() was called") {
    const std::thread a([] { word.store(1); });
}
APIARY_FAILING_SCENARIO(loops_without_a_word, "seconds of processor time nothing but plain instructions") {
    touched_by_two([] {
        for (volatile int i = 0; i >= 0;) i = 0;
    });
}
APIARY_FAILING_SCENARIO(counts_for_ever, "livelock: more than 1000 steps") {
    touched_by_two([] {
        for (;;) word.fetch_add(1);
    });
}
APIARY_FAILING_SCENARIO(uses_what_was_freed, "access to freed memory") {
    auto* const p = new int(1);
    std::thread a([=] { delete p; });
    std::thread b([=] { word.store(*p); });
    a.join();
    b.join();
}
APIARY_FAILING_SCENARIO(frees_twice, "double free") {
    auto* const p = new int(1);
    std::thread a([=] { delete p; });
    a.join();
    delete p;
}
APIARY_FAILING_SCENARIO(writes_past_the_end, "touches memory that was given to nobody") {
    auto* const p = new int[4];
    std::thread a([=] { p[word.load() + 4] = 1; });
    a.join();
    delete[] p;
}
APIARY_FAILING_SCENARIO(leaks, "memory leak") {
    std::thread a([] { word.store(*new int(1)); });
    a.join();
}
APIARY_FAILING_SCENARIO(two_sizes_at_one_place, "refused: atomic operations of different sizes") {
    alignas(8) static std::uint64_t both;
    std::thread a([] { __atomic_store_n(&both, 1, __ATOMIC_RELAXED); });
    std::thread b([] { word.store(__atomic_load_n(reinterpret_cast<std::uint8_t*>(&both), __ATOMIC_RELAXED)); });
    a.join();
    b.join();
}
namespace {
int* const from_before = new int(3);
}
APIARY_FAILING_SCENARIO(writes_what_is_not_put_back, "refused: a write to memory that is not put back") {
    std::thread a([] { *from_before = word.load(); });
    a.join();
}
APIARY_FAILING_SCENARIO(thread_of_a_thread, "refused: a thread that was started starts another one") {
    std::thread a([] { std::thread([] { word.store(1); }).join(); });
    a.join();
}
APIARY_FAILING_SCENARIO(spin_lock_of_the_c_library, "refused: pthread_spin_trylock") {
    static pthread_spinlock_t l;
    touched_by_two([] { ::pthread_spin_trylock(&l); });
}
APIARY_FAILING_SCENARIO(barrier_of_the_c_library, "refused: pthread_barrier_wait") {
    static pthread_barrier_t b;
    ::pthread_barrier_init(&b, nullptr, 2);
    touched_by_two([] { ::pthread_barrier_wait(&b); });
}
APIARY_FAILING_SCENARIO(thread_leaves_early, "refused: pthread_exit") {
    touched_by_two([] { ::pthread_exit(nullptr); });
}
APIARY_FAILING_SCENARIO(asks_whether_a_thread_ended, "refused: pthread_tryjoin_np") {
    std::thread a([] { word.store(1); });
    (void)::pthread_tryjoin_np(a.native_handle(), nullptr);
    a.join();
}
APIARY_FAILING_SCENARIO(a_page_leaks, "memory leak: block of memory (216 bytes)") {
    std::thread a([] { word.store(*static_cast<int*>(::valloc(200))); });
    a.join();
}
// The same within a call of a generated scenario, which the verdict names.
namespace {
struct stack_that_throws {
    void push(int) { throw std::runtime_error("full"); }
    std::optional<int> pop() { return {}; }
};
struct stack_that_exits {
    void push(int) { std::exit(0); }
    std::optional<int> pop() { return {}; }
};
struct stack_that_crashes {
    void push(int v) { *nowhere = v; }
    std::optional<int> pop() { return {}; }
};
struct stack_that_waits {
    void push(int v) { word.store(v); }
    int pop() {
        while (word.load() == 0) {
        }
        return word.exchange(0);
    }
};
struct stack_without_end {
    void push(int) {
        for (volatile int i = 0; i >= 0;) i = 0;
    }
    std::optional<int> pop() { return {}; }
};
using eight_threads = stack_that_throws;
using too_many = stack_that_throws;
}  // namespace
APIARY_NOT_LINEARIZABLE(stack_that_throws, apiary::stack_spec<int>, "an exception left the thread: full [in push(1)]");
APIARY_NOT_LINEARIZABLE(stack_that_exits, apiary::stack_spec<int>, "exit() was called");
APIARY_NOT_LINEARIZABLE(stack_that_crashes, apiary::stack_spec<int>,
                        "crash: SIGSEGV at model_check/as_it_is/faults.cpp");
APIARY_NOT_LINEARIZABLE(stack_that_waits, apiary::stack_spec<int>, "deadlock");
APIARY_NOT_LINEARIZABLE(stack_without_end, apiary::stack_spec<int>,
                        "seconds of processor time nothing but plain instructions");
APIARY_NOT_LINEARIZABLE(eight_threads, apiary::stack_spec<int>, "refused: there must be one to seven threads",
                        apiary::scenarios{.threads = 8});
APIARY_NOT_LINEARIZABLE(too_many, apiary::stack_spec<int>, "refused: these are more than 100000 scenarios",
                        apiary::scenarios{.threads = 7, .operations = 3});

// The others go on.
APIARY_SCENARIO(nothing_is_wrong_after_all_that, "leaks") {
    touched_by_two([] { word.store(3); });
}
