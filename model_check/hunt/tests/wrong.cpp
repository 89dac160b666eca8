// Programs in which something is wrong. hunt_test.py says what a hunt must say of each.
#include <pthread.h>
#include <semaphore.h>
#include <threads.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <semaphore>
#include <stdexcept>
#include <thread>

#include "small.hpp"

namespace {

using namespace std::chrono_literals;
constexpr auto relaxed = std::memory_order_relaxed, acquire = std::memory_order_acquire,
               release = std::memory_order_release;

// libstdc++ 12 loses a wake-up.
void semaphore() {
    std::counting_semaphore<> s{1};
    int n = 0;
    const auto twice = [&] {
        for (int i = 0; i < 2; ++i) {
            s.acquire();
            ++n;
            s.release();
        }
    };
    std::jthread a(twice), b(twice);
}

// libstdc++ 12 reads the pointer without its lock bit's order.
void atomic_shared_ptr() {
    std::atomic<std::shared_ptr<int>> p{std::make_shared<int>(0)};
    std::jthread a([&] {
        for (int i = 0; i < 3; ++i) p.store(std::make_shared<int>(i));
    });
    std::jthread b([&] {
        for (int i = 0; i < 3; ++i)
            if (*p.load() > 9) std::abort();
    });
}

void passing_plain() {
    int data = 0;
    std::atomic<bool> ready{false};
    std::jthread a([&] {
        data = 42;
        ready.store(true, relaxed);
    });
    std::jthread b([&] {
        if (ready.load(acquire)) assert(data == 42);
    });
}

// No plain data at all: weak memory alone shows it.
void passing_atomic() {
    std::atomic<int> data{0};
    std::atomic<bool> ready{false};
    std::jthread a([&] {
        data.store(42, relaxed);
        ready.store(true, relaxed);
    });
    std::jthread b([&] {
        if (ready.load(acquire)) assert(data.load(relaxed) == 42);
    });
}

void dekker() {
    std::atomic<int> x{0}, y{0}, inside{0};
    const auto enter = [&](std::atomic<int>& mine, std::atomic<int>& other) {
        mine.store(1, release);
        if (other.load(acquire) == 0) assert(inside.fetch_add(1) == 0);
    };
    std::jthread a([&] { enter(x, y); }), b([&] { enter(y, x); });
}

// Where it does not fail it is long.
void dekker_before_long_work() {
    dekker();
    std::atomic<int> n{0};
    while (n.fetch_add(1, relaxed) < 1000) {
    }
}

// Both first stores come last: a modification order against the order of execution.
void two_writes() {
    std::atomic<int> x{0}, y{0};
    {
        std::jthread a([&] {
            x.store(1, relaxed);
            y.store(2, relaxed);
        });
        std::jthread b([&] {
            y.store(1, relaxed);
            x.store(2, relaxed);
        });
    }
    assert(x.load(relaxed) != 1 || y.load(relaxed) != 1);
}

void race_on_a_counter() {
    int n = 0;
    std::jthread a([&] { ++n; }), b([&] { ++n; });
}

void two_locks() {
    std::mutex m, n;
    std::jthread a([&] {
        std::lock_guard first(m);
        std::lock_guard second(n);
    });
    std::jthread b([&] {
        std::lock_guard first(n);
        std::lock_guard second(m);
    });
}

// Told before it waits, it waits for ever: the flag is not under the mutex.
void lost_wake() {
    std::mutex m;
    std::condition_variable c;
    std::atomic<bool> ready{false};
    std::jthread a([&] {
        ready = true;
        c.notify_one();
    });
    std::jthread b([&] {
        std::unique_lock l(m);
        while (!ready) c.wait(l);
    });
}

// The same beside threads that have nothing to do with it.
void lost_wake_amid_others() {
    std::atomic<int> n{0};
    const auto count = [&] {
        for (int i = 0; i < 40; ++i) n.fetch_add(1);
    };
    std::jthread c(count), d(count);
    lost_wake();
}

void spins_for_ever() {
    std::atomic<int> turn{0};
    std::jthread a([&] {
        while (turn.load() != 1) std::this_thread::yield();
    });
}

void forks_and_starts_a_thread() {
    const pid_t child = fork();
    if (child == 0) {
        std::jthread a([] {});
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    assert(status == 0);
}

// Two wait for each other, one by longer and longer pauses.
void wait_for_each_other() {
    std::atomic<int> x{0}, y{0};
    std::jthread a([&] {
        for (int pause = 1; x.load() == 0; pause = std::min(pause * 2, 64))
            for (int i = 0; i < pause; ++i) (void)y.load();
        y = 1;
    });
    std::jthread b([&] {
        while (y.load() == 0) std::this_thread::yield();
        x = 1;
    });
}

void after_free() {
    std::atomic<int*> p{new int(1)};
    std::jthread a([&] { delete p.load(); });
    std::jthread b([&] {
        int* const q = p.load();
        if (*q > 5) std::abort();
    });
}

void freed_twice() {
    int* const p = new int(1);
    std::mutex m;
    const auto end = [&] {
        std::lock_guard l(m);
        delete p;
    };
    std::jthread a(end), b(end);
}

void one_too_far() {
    std::atomic<int> n{0};
    const auto fill = [&] {
        volatile int* const all = new int[3];
        for (int i = n.fetch_add(1); i < 4; ++i) all[i] = i;
        delete[] all;
    };
    std::jthread a(fill), b(fill);
}

// In one access with its last bytes, by the thread that has just allocated it.
void across_its_end() {
    std::jthread a([] {
        int* volatile all = new int[3];
        *reinterpret_cast<volatile long*>(all + 2) = 7;
        delete[] all;
    });
}

// The bytes beside those that the thread has written just before.
void beside_what_was_written() {
    struct alignas(8) {
        volatile int first = 0, second = 0;
    } both;
    std::jthread a([&] {
        both.first = 1;
        both.second = 1;
    });
    std::jthread b([&] {
        if (both.second == 2) std::abort();
    });
}

// What the thread has written before it let the other go on.
void written_once_more() {
    int data = 0;
    std::atomic<bool> there{false};
    std::jthread a([&] {
        data = 1;
        there.store(true);
        data = 2;
    });
    std::jthread b([&] {
        if (there.load() && data == 3) std::abort();
    });
}

// Its stack is that of the second call, not of the first, from which the thread has come back.
[[gnu::noinline]] void writes_to(int& one) {
    one = 1;
    asm volatile("" ::: "memory");
}
[[gnu::noinline]] void the_first_call(int& own) {
    writes_to(own);
    asm volatile("" ::: "memory");
}
[[gnu::noinline]] void the_second_call(int& shared) {
    writes_to(shared);
    asm volatile("" ::: "memory");
}
void in_the_second_call() {
    int shared = 0;
    const auto works = [&] {
        const std::unique_ptr<int> own(new int);
        the_first_call(*own);
        the_second_call(shared);
    };
    std::jthread a(works), b(works);
}

void before_its_beginning() {
    std::atomic<long*> p{new long[2]()};
    std::jthread a([&] {
        long* const q = p.load();
        if (q[-1] == 7) std::abort();
        delete[] q;
    });
}

void uncaught() {
    std::atomic<int> n{0};
    std::jthread a([&] {
        if (n.fetch_add(1) == 1) throw std::runtime_error("second");
    });
    std::jthread b([&] {
        if (n.fetch_add(1) == 1) throw std::runtime_error("second");
    });
}

// "Within 20 ms": true unless a machine is that slow.
void needs_an_odd_time() {
    std::mutex m;
    std::condition_variable c;
    bool ready = false;
    std::jthread a([&] {
        std::lock_guard l(m);
        ready = true;
        c.notify_one();
    });
    std::unique_lock l(m);
    const bool in_time = c.wait_for(l, 1us, [&] { return ready; });
    assert(in_time);
}

void unlocks_what_another_has() {
    static std::mutex m;
    std::jthread a([] { m.lock(); });
    a.join();
    m.unlock();
}

// Sixteen bytes, by the same rules: the second half is not there yet.
void passing_wide() {
    struct alignas(16) two {
        long a, b;
    };
    std::atomic<two> data{two{0, 0}};
    std::atomic<bool> ready{false};
    std::jthread a([&] {
        data.store(two{4, 2}, relaxed);
        ready.store(true, relaxed);
    });
    std::jthread b([&] {
        if (ready.load(acquire)) assert(data.load(relaxed).b == 2);
    });
}

void cancels() {
    std::thread a([] {});
    pthread_cancel(a.native_handle());
    a.join();
}

// Fails, and leaves a child behind that waits for ever.
void leaves_a_child() {
    if (fork() == 0)
        for (;;) pause();
    std::abort();
}

// The store forgets the block that the other thread has put there, unless that was taken before.
void forgets_a_block() {
    struct node {
        int value;
    };
    static std::atomic<node*> shown{nullptr};
    shown = new node{2};
    std::jthread b([] { delete shown.exchange(nullptr); }), c([] { shown = new node{3}; });
    b.join();
    c.join();
    delete shown.load();
    shown = nullptr;
}

void mixes_sizes() {
    union {
        std::uint64_t whole = 0;
        std::uint32_t half;
    } u;
    __atomic_store_n(&u.whole, 1, __ATOMIC_RELAXED);
    std::jthread a([&] { __atomic_store_n(&u.half, 1, __ATOMIC_RELAXED); });
}

// What the handler finds between the two is what no thread would.
std::atomic<int> ordered{0}, delivered{0};
void signal_between_two_stores() {
    struct sigaction how {};
    how.sa_handler = [](int) { assert(ordered.load(relaxed) == delivered.load(relaxed)); };
    sigaction(SIGUSR1, &how, nullptr);
    std::thread a([] {
        ordered.store(1, relaxed);
        delivered.store(1, relaxed);
    });
    pthread_kill(a.native_handle(), SIGUSR1);
    a.join();
}

// Two that come before the handler runs are one.
void counts_signals() {
    struct sigaction how {};
    how.sa_handler = [](int) { delivered.fetch_add(1); };
    sigaction(SIGUSR1, &how, nullptr);
    std::thread a([] {
        while (ordered.load() == 0) std::this_thread::yield();
    });
    for (int i = 0; i < 2; ++i) pthread_kill(a.native_handle(), SIGUSR1);
    ordered.store(1);
    a.join();
    assert(delivered.load() != 1);
}

// The sender's store is no word for a thread that ignores the signal, nor for one that blocks it.
template <bool Blocks>
void a_signal_that_no_handler_took() {
    static int data = 0;
    static std::atomic<bool> is_set{false}, was_sent{false};
    if (!Blocks) signal(SIGUSR1, SIG_IGN);
    std::thread a([] {
        sigset_t mine;
        sigemptyset(&mine);
        sigaddset(&mine, SIGUSR1);
        if (Blocks) pthread_sigmask(SIG_BLOCK, &mine, nullptr);
        is_set.store(true);
        while (!was_sent.load(relaxed)) std::this_thread::yield();
        std::this_thread::yield();  // the signal has come
        if (data != 1) std::abort();
    });
    while (!is_set.load()) std::this_thread::yield();
    data = 1;
    pthread_kill(a.native_handle(), SIGUSR1);
    was_sent.store(true, relaxed);
    a.join();
}

// Of two blocks, the first is pointed to by a mapping, and the second was by one that is gone.
void forgets_a_block_beside_a_mapping() {
    std::thread a([] {
        const auto get = [] {
            return static_cast<char**>(
                mmap(nullptr, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        };
        char **const stays = get(), **const goes = get();
        *stays = new char[3];
        *goes = new char[5];
        munmap(goes, 1 << 16);
    });
    a.join();
}

// The waiter gives the condition back once it has seen the flag; the other has yet to notify.
void notifies_what_is_gone() {
    struct event {
        std::mutex m;
        std::condition_variable c;
        bool done = false;
    };
    auto* const e = new event;
    std::thread a([e] {
        {
            const std::lock_guard held(e->m);
            e->done = true;
        }
        e->c.notify_one();
    });
    {
        std::unique_lock held(e->m);
        e->c.wait(held, [e] { return e->done; });
    }
    delete e;
    a.join();
}
void posts_to_what_is_gone() {
    auto* const s = new sem_t;
    sem_init(s, 0, 0);
    std::thread a([s] {
        sem_post(s);
        sem_post(s);
    });
    sem_wait(s);
    sem_destroy(s);
    delete s;
    a.join();
}
// Not followed, and so refused.
void starts_a_thread_of_c() {
    thrd_t t;
    thrd_create(&t, [](void*) { return 0; }, nullptr);
    thrd_join(t, nullptr);
}
void makes_a_robust_mutex() {
    pthread_mutexattr_t how;
    pthread_mutexattr_init(&how);
    pthread_mutexattr_setrobust(&how, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_t m;
    pthread_mutex_init(&m, &how);
}
// The loop has no operation of the library: plain accesses let the others run, too.
void polls_a_volatile_flag() {
    static volatile bool ready = false;
    std::thread a([] { ready = true; });
    while (!ready) {
    }
    a.join();
}

}  // namespace

const small_program wrong_programs[] = {
    {"semaphore", semaphore},
    {"atomic_shared_ptr", atomic_shared_ptr},
    {"passing_plain", passing_plain},
    {"passing_atomic", passing_atomic},
    {"passing_wide", passing_wide},
    {"dekker", dekker},
    {"dekker_before_long_work", dekker_before_long_work},
    {"two_writes", two_writes},
    {"race_on_a_counter", race_on_a_counter},
    {"two_locks", two_locks},
    {"lost_wake", lost_wake},
    {"lost_wake_amid_others", lost_wake_amid_others},
    {"spins_for_ever", spins_for_ever},
    {"forks_and_starts_a_thread", forks_and_starts_a_thread},
    {"wait_for_each_other", wait_for_each_other},
    {"after_free", after_free},
    {"freed_twice", freed_twice},
    {"one_too_far", one_too_far},
    {"across_its_end", across_its_end},
    {"beside_what_was_written", beside_what_was_written},
    {"written_once_more", written_once_more},
    {"in_the_second_call", in_the_second_call},
    {"before_its_beginning", before_its_beginning},
    {"uncaught", uncaught},
    {"needs_an_odd_time", needs_an_odd_time},
    {"unlocks_what_another_has", unlocks_what_another_has},
    {"forgets_a_block", forgets_a_block},
    {"cancels", cancels},
    {"leaves_a_child", leaves_a_child},
    {"mixes_sizes", mixes_sizes},
    {"signal_between_two_stores", signal_between_two_stores},
    {"counts_signals", counts_signals},
    {"an_ignored_signal", a_signal_that_no_handler_took<false>},
    {"a_blocked_signal", a_signal_that_no_handler_took<true>},
    {"forgets_a_block_beside_a_mapping", forgets_a_block_beside_a_mapping},
    {"notifies_what_is_gone", notifies_what_is_gone},
    {"posts_to_what_is_gone", posts_to_what_is_gone},
    {"polls_a_volatile_flag", polls_a_volatile_flag},
    {"starts_a_thread_of_c", starts_a_thread_of_c},
    {"makes_a_robust_mutex", makes_a_robust_mutex},
    {nullptr, nullptr},
};
