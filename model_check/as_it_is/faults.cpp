// What ends an execution from within: each must give its verdict, and the other scenarios go on.
#include <apiary/check.hpp>

#include <sys/mman.h>
#include <apiary/specifications.hpp>

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cassert>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

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
APIARY_FAILING_SCENARIO(exits_by_another_name, "_Exit() was called") {
    touched_by_two([] { std::_Exit(0); });
}
APIARY_FAILING_SCENARIO(exits_quickly, "quick_exit() was called") {
    touched_by_two([] { std::quick_exit(0); });
}
APIARY_FAILING_SCENARIO(asserts_what_is_not_so,
                        "the assertion `word.load() == 3' does not hold (model_check/as_it_is/faults.cpp:") {
    touched_by_two([] { assert(word.load() == 3); });
}
APIARY_FAILING_SCENARIO(forks, "refused: fork") {
    touched_by_two([] { word.store(::fork()); });
}

// A handler of the program's in place of ours would lose the verdict: without the refusal this one passes.
APIARY_FAILING_SCENARIO(takes_the_handler_of_crashes, "refused: signal (model_check/as_it_is/faults.cpp:") {
    touched_by_two([] {
        (void)std::signal(SIGSEGV, [](int) { std::_Exit(0); });
        *nowhere = 1;
    });
}
APIARY_FAILING_SCENARIO(takes_the_handler_of_loops, "refused: sigaction") {
    touched_by_two([] {
        struct sigaction mine{};
        mine.sa_handler = SIG_IGN;
        (void)::sigaction(SIGPROF, &mine, nullptr);
    });
}
APIARY_FAILING_SCENARIO(raises, "refused: raise") {
    touched_by_two([] { (void)std::raise(SIGUSR1); });
}
APIARY_FAILING_SCENARIO(kills_itself, "refused: kill") {
    touched_by_two([] { (void)::kill(::getpid(), SIGKILL); });
}
APIARY_FAILING_SCENARIO(blocks_signals, "refused: pthread_sigmask") {
    touched_by_two([] {
        sigset_t all;
        (void)::sigfillset(&all);
        (void)::pthread_sigmask(SIG_BLOCK, &all, nullptr);
    });
}
APIARY_FAILING_SCENARIO(stops_the_timer, "refused: setitimer") {
    touched_by_two([] {
        const itimerval never{};
        (void)::setitimer(ITIMER_PROF, &never, nullptr);
    });
}
APIARY_FAILING_SCENARIO(waits_for_a_signal, "refused: pause") {
    touched_by_two([] { (void)::pause(); });
}

APIARY_FAILING_SCENARIO(forks_for_a_moment, "refused: vfork") {
    touched_by_two([] { word.store(::vfork()); });
}
APIARY_FAILING_SCENARIO(asks_a_shell, "refused: system") {
    touched_by_two([] { word.store(std::system("exit 3")); });
}
APIARY_FAILING_SCENARIO(spawns, "refused: posix_spawn") {
    touched_by_two([] {
        pid_t child = 0;
        std::array<char*, 1> words{};
        word.store(::posix_spawn(&child, "/bin/true", nullptr, nullptr, words.data(), words.data()));
    });
}
APIARY_FAILING_SCENARIO(becomes_another_program, "refused: execve") {
    touched_by_two([] {
        std::array<char*, 1> words{};
        word.store(::execve("/bin/true", words.data(), words.data()));
    });
}
APIARY_FAILING_SCENARIO(becomes_another_by_a_list, "refused: execl") {
    touched_by_two([] { word.store(::execl("/bin/true", "true", nullptr)); });
}
APIARY_FAILING_SCENARIO(waits_for_a_child, "refused: waitpid") {
    touched_by_two([] { word.store(::waitpid(-1, nullptr, 0)); });
}

// Each would block for ever, or answer as it likes.
namespace {
std::array<int, 2> a_pipe() {
    std::array<int, 2> ends{};
    (void)::pipe(ends.data());
    return ends;
}
}  // namespace
APIARY_FAILING_SCENARIO(reads, "refused: read (model_check/as_it_is/faults.cpp:") {
    touched_by_two([] {
        char c = 0;
        word.store(static_cast<int>(::read(a_pipe()[0], &c, 1)));
    });
}
APIARY_FAILING_SCENARIO(reads_a_stream, "refused: getc") {
    touched_by_two([] { word.store(std::cin.get()); });
}
APIARY_FAILING_SCENARIO(receives, "refused: recv") {
    touched_by_two([] {
        char c = 0;
        word.store(static_cast<int>(::recv(0, &c, 1, 0)));
    });
}
APIARY_FAILING_SCENARIO(polls, "refused: poll") {
    touched_by_two([] {
        pollfd one{a_pipe()[0], POLLIN, 0};
        word.store(::poll(&one, 1, -1));
    });
}
APIARY_FAILING_SCENARIO(selects, "refused: select") {
    touched_by_two([] { word.store(::select(0, nullptr, nullptr, nullptr, nullptr)); });
}
APIARY_FAILING_SCENARIO(waits_for_events, "refused: epoll_wait") {
    touched_by_two([] {
        epoll_event one{};
        word.store(::epoll_wait(::epoll_create1(0), &one, 1, -1));
    });
}
APIARY_FAILING_SCENARIO(accepts, "refused: accept") {
    touched_by_two([] { word.store(::accept(0, nullptr, nullptr)); });
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
APIARY_FAILING_SCENARIO(four_bytes_in_eight, "refused: atomic operations of different sizes") {
    alignas(8) static std::uint64_t both;
    auto* const half = reinterpret_cast<std::uint32_t*>(&both) + 1;
    __atomic_store_n(&both, 1, __ATOMIC_RELAXED);  // before the threads, too
    std::thread a([=] { word.store(static_cast<int>(__atomic_load_n(half, __ATOMIC_RELAXED))); });
    a.join();
}
APIARY_FAILING_SCENARIO(eight_bytes_around_four, "refused: atomic operations of different sizes") {
    alignas(8) static std::uint64_t both;
    auto* const half = reinterpret_cast<std::uint32_t*>(&both) + 1;
    std::thread a([=] {
        __atomic_store_n(half, 1U, __ATOMIC_RELEASE);
        word.store(static_cast<int>(__atomic_load_n(&both, __ATOMIC_ACQUIRE)));
    });
    a.join();
}
APIARY_FAILING_SCENARIO(atomic_in_a_lock, "refused: a lock and an atomic") {
    static pthread_mutex_t of_c = PTHREAD_MUTEX_INITIALIZER;
    std::thread a([] {
        pthread_mutex_lock(&of_c);
        word.store(__atomic_load_n(reinterpret_cast<int*>(&of_c), __ATOMIC_RELAXED));
        pthread_mutex_unlock(&of_c);
    });
    a.join();
}
namespace {
int* const of_the_system =
    static_cast<int*>(::mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}
APIARY_FAILING_SCENARIO(writes_what_is_not_put_back, "refused: a write to memory that is not put back") {
    std::thread a([] { *of_the_system = word.load(); });
    a.join();
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
// All threads here are one for the kernel.
APIARY_FAILING_SCENARIO(asks_for_its_number, "refused: gettid") {
    touched_by_two([] { word.store(::gettid()); });
}
APIARY_FAILING_SCENARIO(goes_to_another_stack, "refused: swapcontext") {
    static ucontext_t here, there;
    touched_by_two([] { word.store(::swapcontext(&here, &there)); });
}
APIARY_FAILING_SCENARIO(uses_up_its_heap, "refused: more memory than a thread has") {
    touched_by_two([] {
        for (int i = 0; i < 8; ++i) word.store(std::vector<char>(std::size_t{1} << 20)[3]);
    });
}

// A local larger than a stack: its first bytes, and no page in front of them, lie where another thread's stack is.
namespace {
[[gnu::noinline]] char writes_into_a_large_local(std::size_t at) {
    volatile char large[514 << 10];
    large[at] = 7;
    return large[at];
}
}  // namespace
APIARY_FAILING_SCENARIO(local_is_larger_than_the_stack, "the stack of a thread ran over") {
    touched_by_two([] { word.store(writes_into_a_large_local(100)); });
}

// No other thread is there yet that could end it.
APIARY_FAILING_SCENARIO(waits_before_any_thread, "endless loop") {
    std::atomic<bool> flag{false};
    while (!flag.load()) {
    }
    std::thread a([&] { flag.store(true); });
    a.join();
}
APIARY_FAILING_SCENARIO(asks_for_a_lock_before_any_thread, "endless loop") {
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    ::pthread_mutex_lock(&m);
    while (::pthread_mutex_trylock(&m) != 0) {
    }
    std::thread a([&] { ::pthread_mutex_unlock(&m); });
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

// Its buffer is the C library's own, and no memory of the scenario's.
APIARY_SCENARIO(prints, "leaks") {
    touched_by_two([] {
        std::printf("printed\n");
        std::cout << "printed, too" << std::endl;
    });
}

// The others go on.
APIARY_SCENARIO(nothing_is_wrong_after_all_that, "leaks") {
    touched_by_two([] { word.store(3); });
}
