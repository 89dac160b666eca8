// Programs in which nothing is wrong: a hunt says nothing of any of them. Each of the first ones was a false alarm once.
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <cassert>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <future>
#include <latch>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#include "small.hpp"

namespace {

using namespace std::chrono_literals;
constexpr auto relaxed = std::memory_order_relaxed;

// A plain byte lies beside an atomic, in the same eight bytes.
void neighbours() {
    struct {
        std::atomic<std::uint16_t> flag{0};
        char mine = 0;
        std::atomic<std::uint32_t> word{0};
    } s;
    std::jthread a([&] {
        for (int i = 0; i < 3; ++i) s.mine = static_cast<char>(s.mine + 1);
    });
    std::jthread b([&] {
        for (int i = 0; i < 3; ++i) {
            s.flag.fetch_add(1, relaxed);
            s.word.store(static_cast<std::uint32_t>(i), relaxed);
        }
    });
}

// What comes before epoll_ctl comes before the epoll_wait that answers.
void edge_by_epoll_ctl() {
    const int set = epoll_create1(0), ready = eventfd(1, 0);
    int data = 0;
    std::jthread a([&] {
        data = 7;
        epoll_event e{EPOLLIN, {.ptr = &data}};
        epoll_ctl(set, EPOLL_CTL_ADD, ready, &e);
    });
    std::jthread b([&] {
        epoll_event e{};
        const int n = epoll_wait(set, &e, 1, -1);
        assert(n == 1 && *static_cast<int*>(e.data.ptr) == 7);
    });
    a.join();
    b.join();
    close(set);
    close(ready);
}

// A call that fails says why, as it does without a hunt.
void errors_of_calls() {
    epoll_event e{};
    errno = 0;
    assert(epoll_ctl(epoll_create1(0), EPOLL_CTL_ADD, 700, &e) == -1 && errno == EBADF);
    errno = 0;
    assert(close(700) == -1 && errno == EBADF);
    errno = 0;
    assert(timerfd_settime(700, 0, nullptr, nullptr) == -1 && (errno == EBADF || errno == EFAULT));
    errno = 7;
    assert(close(epoll_create1(0)) == 0 && errno == 7);
}

// A thread may run where it was told to, and so may its children.
void processors_of_a_thread() {
    const auto mine = [] {
        cpu_set_t set;
        assert(sched_getaffinity(0, sizeof set, &set) == 0);
        return CPU_COUNT(&set);
    };
    assert(mine() == 4);
    cpu_set_t second;
    CPU_ZERO(&second);
    assert(sched_setaffinity(0, sizeof second, &second) == -1 && errno == EINVAL);
    CPU_SET(1, &second);
    std::jthread a([&] {
        assert(pthread_setaffinity_np(pthread_self(), sizeof second, &second) == 0 && mine() == 1);
        std::jthread b([&] { assert(mine() == 1); });
    });
    a.join();
    assert(mine() == 4);
}

// Two threads use a lock, one after the other.
void never_meets() {
    std::mutex m;
    int n = 0;
    const auto count = [&] {
        const std::lock_guard l(m);
        ++n;
    };
    std::thread(count).join();
    std::thread(count).join();
    assert(n == 2);
}

// Statics end after main, in an order that nobody knows: these use locks and files until then.
struct at_the_end {
    std::mutex m;
    std::vector<std::jthread> threads;
    int ends[2] = {-1, -1};
    ~at_the_end() {
        const std::lock_guard l(m);
        assert(write(ends[1], "x", 1) == 1);
        threads.clear();
        std::atomic<int> n{0};
        for (int i = 0; i < 20; ++i) threads.emplace_back([&] { assert(n.load() == 0); });
        threads.clear();
        close(ends[0]);
        close(ends[1]);
    }
};
at_the_end* made = nullptr;
const struct ends_last {
    ~ends_last() { delete made; }
} last_of_all;
void statics() {
    made = new at_the_end;
    if (pipe(made->ends) != 0) std::abort();
    for (int i = 0; i < 20; ++i) made->threads.emplace_back([] {});
}

// A large block that one thread has freed is another thread's next.
void large_frees() {
    const auto fill = [] {
        for (int i = 0; i < 3; ++i) {
            std::vector<char> v(100'000);
            for (std::size_t at = 0; at < v.size(); at += 4096) v[at] = 1;
        }
    };
    std::jthread a(fill), b(fill);
}

// Long work that changes nothing others see is no livelock, and a spin loop gets its turn.
void long_quiet_work() {
    std::atomic<int> turn{0};
    std::jthread a([&] {
        int unused = 0;
        for (int i = 0; i < 20'000; ++i) unused += turn.load(relaxed);
        assert(unused == 0);
        turn = 1;
    });
    std::jthread b([&] {
        while (turn.load() != 1) {
        }
    });
}

// Threads that hand a turn around: an unfair schedule would never let it go on.
void turns() {
    std::atomic<int> turn{0};
    const auto take = [&](int me) {
        for (int i = 0; i < 20; ++i) {
            while (turn.load() % 3 != me) std::this_thread::yield();
            turn.fetch_add(1);
        }
    };
    std::jthread a(take, 0), b(take, 1), c(take, 2);
}

// One thread sleeps and another spins until it has: time goes on for the sleeper.
void spins_for_a_sleeper() {
    std::atomic<bool> over{false};
    std::jthread a([&] {
        std::this_thread::sleep_for(2s);
        over = true;
    });
    while (!over) std::this_thread::yield();
}

// It polls many times, which ends by a count, as a consumer of a test does after its producers have ended.
void polls_for_long() {
    std::atomic<int> x{0};
    std::jthread a([&] {
        int found = 0;
        for (int i = 0; i < 30'000; ++i) found += x.load(relaxed);
        assert(found == 0);
    });
}

// It polls for long, and so does not wait for the one that sleeps.
void polls_beside_an_hour() {
    std::mutex m;
    std::condition_variable ended;
    bool ends = false;
    std::jthread waits([&] {
        std::unique_lock l(m);
        const bool told = ended.wait_for(l, std::chrono::hours(1), [&] { return ends; });
        assert(told);
    });
    std::atomic<int> x{0};
    int found = 0;
    for (int i = 0; i < 20'000; ++i) found += x.load(relaxed);
    const std::lock_guard l(m);
    ends = found == 0;
    ended.notify_one();
}

// When every thread waits, time goes on to the next deadline, and no further.
void an_hour_beside_moments() {
    std::mutex m;
    std::condition_variable ended;
    bool ends = false;
    std::jthread waits([&] {
        std::unique_lock l(m);
        const bool told = ended.wait_for(l, std::chrono::hours(1), [&] { return ends; });
        assert(told);
    });
    for (int i = 0; i < 20; ++i) std::this_thread::sleep_for(std::chrono::microseconds(50));
    const std::lock_guard l(m);
    ends = true;
    ended.notify_one();
}

// One sleeps for long, and another waits for a little by the clock: it is over first.
void short_wait_beside_a_long_one() {
    std::atomic<bool> over{false};
    std::jthread a([&] {
        for (const auto end = std::chrono::steady_clock::now() + 100us; std::chrono::steady_clock::now() < end;)
            for (int i = 0; i < 32; ++i) (void)over.load(relaxed);
        over = true;
    });
    std::this_thread::sleep_for(20ms);
    assert(over);
}

template <std::memory_order Order, bool Fence>
void dekker() {
    std::atomic<int> x{0}, y{0}, inside{0};
    const auto enter = [&](std::atomic<int>& mine, std::atomic<int>& other) {
        mine.store(1, Order);
        if (Fence) std::atomic_thread_fence(std::memory_order_seq_cst);
        if (other.load(Order == relaxed ? relaxed : std::memory_order_seq_cst) == 0) assert(inside.fetch_add(1) == 0);
    };
    std::jthread a([&] { enter(x, y); }), b([&] { enter(y, x); });
}

// A message by fences: ThreadSanitizer reports a race here.
void passing_by_fences() {
    int data = 0;
    std::atomic<bool> ready{false};
    std::jthread a([&] {
        data = 42;
        std::atomic_thread_fence(std::memory_order_release);
        ready.store(true, relaxed);
    });
    std::jthread b([&] {
        if (!ready.load(relaxed)) return;
        std::atomic_thread_fence(std::memory_order_acquire);
        assert(data == 42);
    });
}

struct noisy {
    std::string s = "a long string that is on the heap";
    ~noisy() { s.clear(); }
};
int& counter() {
    static std::vector<int> v(1);
    return v[0];
}
// Most of what the library has, in one program.
void mixed() {
    std::mutex m;
    std::condition_variable c;
    std::vector<int> queue;
    std::shared_mutex shared;
    std::latch begin(3);
    std::barrier middle(2);
    std::atomic<int> sum{0};
    std::recursive_timed_mutex again;
    std::once_flag once;
    const auto work = [&](int k) {
        thread_local noisy mine;
        mine.s += "x";
        begin.arrive_and_wait();
        {
            std::lock_guard l(m);
            ++counter();
            queue.push_back(k);
        }
        c.notify_one();
        std::call_once(once, [&] { sum += 10; });
        { std::shared_lock l(shared); }
        { std::unique_lock l(shared); }
        middle.arrive_and_wait();
        std::lock_guard l(again), twice(again);
        sum += k;
    };
    std::jthread a(work, 1), b(work, 2);
    begin.arrive_and_wait();
    for (int n = 0; n < 2;) {
        std::unique_lock l(m);
        if (!c.wait_for(l, 1s, [&] { return !queue.empty(); })) continue;
        queue.pop_back();
        ++n;
    }
    auto later = std::async(std::launch::async, [] {
        std::this_thread::sleep_for(20ms);
        return 7;
    });
    auto fails = std::async(std::launch::async, []() -> int { throw std::string("no"); });
    a.join();
    b.join();
    assert(sum == 13 && later.get() == 7);
    try {
        fails.get();
        assert(false);
    } catch (const std::string& s) {
        assert(s == "no");
    }
}

void atomic_wait() {
    std::atomic<int> x{0};
    std::jthread a([&] {
        x.wait(0);
        assert(x == 1);
    });
    x.store(1, std::memory_order_seq_cst);
    x.notify_all();
}

void timers_and_pipes() {
    int ends[2];
    [[maybe_unused]] const int made = pipe(ends);
    assert(made == 0);
    const int timer = timerfd_create(CLOCK_MONOTONIC, 0);
    const itimerspec in{{0, 0}, {5, 0}};
    timerfd_settime(timer, 0, &in, nullptr);
    int data = 0;
    std::jthread a([&] {
        std::uint64_t n = 0;
        assert(read(timer, &n, sizeof n) == sizeof n && n == 1);
        data = 3;
        assert(write(ends[1], "x", 1) == 1);
    });
    char c = 0;
    assert(read(ends[0], &c, 1) == 1 && c == 'x' && data == 3);
    a.join();
    close(timer);
    close(ends[0]);
    close(ends[1]);
}

void hundred_threads() {
    std::vector<std::jthread> all;
    std::atomic<int> n{0};
    for (int i = 0; i < 100; ++i) all.emplace_back([&] { ++n; });
    all.clear();
    assert(n == 100);
}

// As a death test does: a child that ends by itself, and its word through a pipe.
void forks() {
    std::mutex m;
    int ends[2];
    [[maybe_unused]] const int made = pipe(ends);
    assert(made == 0);
    std::jthread a([&] { std::lock_guard l(m); });
    a.join();
    const pid_t child = fork();
    if (child == 0) {
        std::lock_guard l(m);
        epoll_event e{};
        if (epoll_wait(epoll_create1(0), &e, 1, 0) != 0 || poll(nullptr, 0, 1) != 0) _exit(9);  // nothing comes, and it says so
        _exit(write(ends[1], "x", 1) == 1 ? 7 : 8);
    }
    char c = 0;
    int status = 0;
    assert(read(ends[0], &c, 1) == 1 && c == 'x');
    assert(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7);
    close(ends[0]);
    close(ends[1]);
}

}  // namespace

const small_program right_programs[] = {
    {"neighbours", neighbours},
    {"edge_by_epoll_ctl", edge_by_epoll_ctl},
    {"errors_of_calls", errors_of_calls},
    {"processors_of_a_thread", processors_of_a_thread},
    {"never_meets", never_meets},
    {"statics", statics},
    {"large_frees", large_frees},
    {"long_quiet_work", long_quiet_work},
    {"turns", turns},
    {"spins_for_a_sleeper", spins_for_a_sleeper},
    {"short_wait_beside_a_long_one", short_wait_beside_a_long_one},
    {"polls_for_long", polls_for_long},
    {"polls_beside_an_hour", polls_beside_an_hour},
    {"an_hour_beside_moments", an_hour_beside_moments},
    {"dekker_seq_cst", dekker<std::memory_order_seq_cst, false>},
    {"dekker_fences", dekker<relaxed, true>},
    {"passing_by_fences", passing_by_fences},
    {"mixed", mixed},
    {"atomic_wait", atomic_wait},
    {"timers_and_pipes", timers_and_pipes},
    {"hundred_threads", hundred_threads},
    {"forks", forks},
    {nullptr, nullptr},
};
