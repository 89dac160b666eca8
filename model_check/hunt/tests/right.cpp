// Programs in which nothing is wrong: a hunt says nothing of any of them. Each of the first ones was a false alarm
// once.
#include <dirent.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <semaphore.h>
#include <sys/resource.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <cassert>
#include <cerrno>
#include <cfenv>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
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
        // Nothing comes, and it says so.
        if (epoll_wait(epoll_create1(0), &e, 1, 0) != 0 || poll(nullptr, 0, 1) != 0) _exit(9);
        _exit(write(ends[1], "x", 1) == 1 ? 7 : 8);
    }
    char c = 0;
    int status = 0;
    assert(read(ends[0], &c, 1) == 1 && c == 'x');
    assert(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7);
    close(ends[0]);
    close(ends[1]);
}

// What is written before a byte is seen after the select that tells of it; one that nothing comes to ends at its time.
void selects() {
    int ends[2], data = 0;
    [[maybe_unused]] const int made = pipe(ends);
    assert(made == 0);
    std::jthread writer([&] {
        data = 1;
        [[maybe_unused]] const ssize_t put = write(ends[1], "x", 1);
    });
    fd_set some;
    FD_ZERO(&some);
    FD_SET(ends[0], &some);
    [[maybe_unused]] const int ready = select(ends[0] + 1, &some, nullptr, nullptr, nullptr);
    assert(ready == 1 && FD_ISSET(ends[0], &some) && data == 1);
    char c = 0;
    [[maybe_unused]] const ssize_t got = read(ends[0], &c, 1);
    timeval hour{3600, 0};
    const auto begin = std::chrono::steady_clock::now();
    [[maybe_unused]] const int none = select(ends[0] + 1, &some, nullptr, nullptr, &hour);
    assert(none == 0 && !FD_ISSET(ends[0], &some) && std::chrono::steady_clock::now() - begin >= 1h);
    assert(hour.tv_sec == 0 && hour.tv_usec == 0);  // what is left of it
    [[maybe_unused]] const int wrong = select(-1, nullptr, nullptr, nullptr, nullptr);
    assert(wrong == -1 && errno == EINVAL);
    close(ends[0]);
    close(ends[1]);
}

// Nothing is there yet, and nobody waits for it: a flag of the call says so, not the socket's own.
void asks_without_waiting() {
    int ends[2];
    [[maybe_unused]] const int made = socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    char c = 0;
    [[maybe_unused]] const ssize_t got = recv(ends[0], &c, 1, MSG_DONTWAIT);
    assert(made == 0 && got == -1 && errno == EAGAIN);
    close(ends[0]);
    close(ends[1]);
}

// It is no leak.
std::atomic<std::uintptr_t> tagged{0};
void tags_a_pointer() {
    std::jthread a([] { tagged = reinterpret_cast<std::uintptr_t>(new int(1)) | std::uintptr_t{1} << 48 | 1; });
}

// Nor is a block whose only pointer stands in memory that the program mapped; and new memory at an old address is new.
int** mapped_once = nullptr;
void maps_memory() {
    constexpr std::size_t bytes = 1 << 20;
    const auto get = [] {
        return mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    };
    std::atomic<bool> gone{false};
    std::thread a([&] {
        auto* const words = static_cast<int*>(get());
        words[7] = 1;
        munmap(words, bytes);
        gone.store(true, relaxed);
    });
    std::thread b([&] {
        while (!gone.load(relaxed)) std::this_thread::yield();
        auto* const words = static_cast<int**>(get());
        words[3] = new int(1);
        words[4] = nullptr;
        mapped_once = words;
    });
    a.join();
    b.join();
}

// A handler runs in the thread that the signal is sent to, after what its sender did; a wait ends for it, or goes on.
int sent = 0;
std::atomic<int> taken{0};
pthread_t taker;
template <bool Restarts>
void handles() {
    struct sigaction how {};
    how.sa_flags = Restarts ? SA_RESTART : 0;
    how.sa_handler = [](int) {
        assert(sent == 1 && pthread_equal(pthread_self(), taker));
        taken.fetch_add(1);
    };
    sent = 0;
    taken = 0;
    sigaction(SIGUSR1, &how, nullptr);
}
// One signal may come before the wait, so they are sent until it is over.
template <class F>
void signals_one_that(F waits) {
    std::atomic<bool> over{false};
    std::thread a([&] {
        waits();
        over.store(true);
    });
    taker = a.native_handle();
    sent = 1;
    while (!over.load()) {
        [[maybe_unused]] const int done = pthread_kill(taker, SIGUSR1);
        assert(done == 0);  // after its end, too: it is not joined
        std::this_thread::yield();
    }
    a.join();
    assert(taken > 0);
}
void ended([[maybe_unused]] long result) { assert(result == -1 && errno == EINTR); }
void a_signal_ends_waits() {
    sem_t none;
    sem_init(&none, 0, 0);
    int ends[2];
    [[maybe_unused]] const int made = pipe(ends);
    pollfd one{ends[0], POLLIN, 0};
    char c = 0;
    handles<false>();
    signals_one_that([&] { ended(sem_wait(&none)); });
    handles<false>();
    signals_one_that([&] { ended(read(ends[0], &c, 1)); });
    handles<true>();
    signals_one_that([&] { ended(poll(&one, 1, -1)); });
    handles<true>();
    signals_one_that([] {
        timespec hour{3600, 0};
        ended(nanosleep(&hour, &hour));
        assert(hour.tv_sec >= 3590);
    });
    close(ends[0]);
    close(ends[1]);
}
// Blocked but while ppoll waits, one signal is enough.
void a_signal_that_ppoll_lets_through_ends_it() {
    handles<true>();
    std::atomic<bool> blocks{false};
    std::thread a([&] {
        sigset_t mine, old;
        sigemptyset(&mine);
        sigaddset(&mine, SIGUSR1);
        pthread_sigmask(SIG_BLOCK, &mine, &old);
        blocks.store(true);
        std::this_thread::yield();  // it may come before ppoll does
        ended(ppoll(nullptr, 0, nullptr, &old));
    });
    taker = a.native_handle();
    sent = 1;
    while (!blocks.load()) std::this_thread::yield();
    pthread_kill(taker, SIGUSR1);
    a.join();
    assert(taken == 1);
}
void a_signal_is_taken_amid_a_wait_that_goes_on() {
    handles<true>();
    sem_t posted;
    sem_init(&posted, 0, 0);
    std::mutex mutex;
    std::unique_lock held(mutex);
    std::thread a([&] {
        [[maybe_unused]] const int got = sem_wait(&posted);
        assert(got == 0);
        mutex.lock();
        mutex.unlock();
    });
    taker = a.native_handle();
    sent = 1;
    [[maybe_unused]] const int done = tgkill(getpid(), static_cast<pid_t>(getpid() + 1000), SIGUSR1);
    assert(done == -1 && errno == ESRCH);
    pthread_kill(a.native_handle(), SIGUSR1);
    while (taken.load() == 0) std::this_thread::yield();
    pthread_kill(a.native_handle(), SIGURG);  // ignored: no wait ends for it
    sem_post(&posted);
    held.unlock();
    a.join();
}

// A pipe whose other end is gone is no exception: it is poll that tells of it, and select waits until its time.
void select_of_exceptions_waits_until_its_time() {
    int ends[2];
    [[maybe_unused]] const int made = pipe(ends);
    close(ends[1]);
    fd_set some;
    FD_ZERO(&some);
    FD_SET(ends[0], &some);
    timeval hour{3600, 0};
    const auto begin = std::chrono::steady_clock::now();
    [[maybe_unused]] const int none = select(ends[0] + 1, nullptr, nullptr, &some, &hour);
    assert(none == 0 && !FD_ISSET(ends[0], &some) && std::chrono::steady_clock::now() - begin >= 1h);
    close(ends[0]);
}

std::atomic<int> signals_seen{0};
void a_thread_signals_itself() {
    struct sigaction how {};
    how.sa_handler = [](int) { ++signals_seen; };
    sigaction(SIGUSR1, &how, nullptr);
    std::jthread a([] {
        raise(SIGUSR1);
        pthread_kill(pthread_self(), SIGUSR1);
    });
    [[maybe_unused]] const int there = pthread_kill(a.native_handle(), 0);
    assert(there == 0);
    a.join();
    assert(signals_seen == 2);
}

// It waits until they have left, so that its memory may be another's.
void destroys_a_barrier_that_others_leave() {
    pthread_barrier_t both;
    pthread_barrier_init(&both, nullptr, 2);
    std::jthread a([&] { pthread_barrier_wait(&both); });
    pthread_barrier_wait(&both);
    pthread_barrier_destroy(&both);
    std::mutex m;
    const std::lock_guard l(m);
    a.join();
}
void a_mutex_where_a_barrier_was() {
    alignas(16) unsigned char room[sizeof(std::mutex) + sizeof(pthread_barrier_t)];
    auto* const both = new (room) pthread_barrier_t;
    pthread_barrier_init(both, nullptr, 2);
    std::thread a([&] { pthread_barrier_wait(both); });
    pthread_barrier_wait(both);
    a.join();
    auto* const m = new (room) std::mutex;
    const std::lock_guard l(*m);
}

// The time of a handler's own wait is not that of the wait that it interrupts.
void a_handler_waits_amid_a_wait() {
    handles<false>();
    struct sigaction how {};
    how.sa_handler = [](int) {
        const timespec little{0, 1000};
        nanosleep(&little, nullptr);
        taken.fetch_add(1);
    };
    sigaction(SIGUSR1, &how, nullptr);
    sem_t none;
    sem_init(&none, 0, 0);
    std::thread a([&] {
        timespec end{};
        clock_gettime(CLOCK_REALTIME, &end);
        end.tv_sec += 3600;
        [[maybe_unused]] const int got = sem_timedwait(&none, &end);
        assert(got == 0 || errno == EINTR);
    });
    for (int i = 0; i < 3; ++i) {
        pthread_kill(a.native_handle(), SIGUSR1);
        std::this_thread::sleep_for(1ms);
    }
    sem_post(&none);
    a.join();
}
// A signal that comes after the wake-up takes nothing from it.
void a_signal_after_the_wake_up() {
    handles<false>();
    unsigned word = 0;
    std::thread a([&] {
        while (syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0) != 0) assert(errno == EINTR);
    });
    taker = a.native_handle();
    sent = 1;
    while (syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0) != 1) std::this_thread::yield();
    pthread_kill(taker, SIGUSR1);
    a.join();
}
// The kernel's own call, and what its sender did before is seen by a handler that runs only once it may.
void a_signal_that_was_blocked_is_taken_later() {
    handles<false>();
    std::atomic<bool> blocks{false}, was_sent{false};
    std::atomic<pid_t> id{0};
    std::thread a([&] {
        sigset_t mine, old;
        sigemptyset(&mine);
        sigaddset(&mine, SIGUSR1);
        pthread_sigmask(SIG_BLOCK, &mine, &old);
        id.store(gettid(), relaxed);
        blocks.store(true);
        while (!was_sent.load(relaxed)) std::this_thread::yield();
        assert(taken.load(relaxed) == 0);
        pthread_sigmask(SIG_SETMASK, &old, nullptr);
        assert(taken.load(relaxed) == 1);
    });
    taker = a.native_handle();
    while (!blocks.load()) std::this_thread::yield();
    sent = 1;
    [[maybe_unused]] const long done = syscall(SYS_tkill, id.load(relaxed), SIGUSR1);
    assert(done == 0);
    was_sent.store(true, relaxed);
    a.join();
}

// Its end is an operation, too.
void a_signal_comes_before_the_end() {
    handles<false>();
    std::atomic<bool> was_sent{false};
    std::thread a([&] {
        while (!was_sent.load()) std::this_thread::yield();
    });
    taker = a.native_handle();
    sent = 1;
    pthread_kill(taker, SIGUSR1);
    was_sent.store(true);
    a.join();
    assert(taken == 1);
}

// A pointer counts in pages that can only be read, and in a mapping that was moved.
void moves_and_protects_memory() {
    constexpr std::size_t bytes = 1 << 16;
    std::jthread a([] {
        const auto get = [] { return mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); };
        auto** const only_read = static_cast<int**>(get());
        *only_read = new int(1);
        mprotect(only_read, bytes, PROT_READ);
        auto** const moves = static_cast<int**>(get());
        *moves = new int(2);
        [[maybe_unused]] void* const moved = mremap(moves, bytes, bytes << 10, MREMAP_MAYMOVE);
        assert(moved != MAP_FAILED && **static_cast<int**>(moved) == 2);
        auto** const shrinks = static_cast<int**>(get());
        *shrinks = new int(3);
        [[maybe_unused]] void* const same = mremap(shrinks, bytes, bytes / 2, 0);
        assert(same == shrinks);
    });
}

// Nor is it, where the other end goes while select waits.
void select_of_exceptions_waits_though_the_other_end_goes() {
    int ends[2];
    [[maybe_unused]] const int made = pipe(ends);
    std::jthread a([&] { close(ends[1]); });
    fd_set some;
    FD_ZERO(&some);
    FD_SET(ends[0], &some);
    timeval hour{3600, 0};
    const auto begin = std::chrono::steady_clock::now();
    [[maybe_unused]] const int none = select(ends[0] + 1, nullptr, nullptr, &some, &hour);
    assert(none == 0 && !FD_ISSET(ends[0], &some) && std::chrono::steady_clock::now() - begin >= 1h);
    close(ends[0]);
}

// One byte, and two that wait for it.
void two_read_one_pipe() {
    int ends[2];
    [[maybe_unused]] const int made = pipe(ends);
    const auto reads = [&] {
        char c = 0;
        [[maybe_unused]] const ssize_t got = read(ends[0], &c, 1);
        assert(got == 1);
    };
    std::jthread a(reads), b(reads);
    for (int i = 0; i < 2; ++i) {
        [[maybe_unused]] const ssize_t put = write(ends[1], "x", 1);
        std::this_thread::sleep_for(1ms);
    }
    a.join();
    b.join();
    close(ends[0]);
    close(ends[1]);
}

// The count of an iterator's owners is changed by the library, too, which is not instrumented.
void a_library_changes_a_count() {
    const auto descriptors = [] {
        std::ptrdiff_t n = 0;
        for ([[maybe_unused]] const auto& one : std::filesystem::directory_iterator("/proc/self/fd")) ++n;
        return n;
    };
    std::thread([] {}).join();  // with a second thread counts are atomic
    const std::ptrdiff_t before = descriptors();
    for (int i = 0; i < 3; ++i) assert(descriptors() == before);  // each has closed its own
}

// Each run gets the number that the one before it got.
void leaves_a_descriptor() {
    static int calls = 0;
    [[maybe_unused]] const int descriptor = eventfd(0, EFD_CLOEXEC);
    assert(descriptor == dup(descriptor) - 1 && ++calls == 1);
    assert(descriptor < 16);
}

// A thread keeps what is its own while others run.
void keeps_what_is_its_own() {
    const auto works = [](int mode, const char* name) {
        thread_local int mine = 0;
        std::fesetround(mode);
        volatile long double one = 1, divisor = mode == FE_UPWARD ? 0 : 1;
        one = one / divisor;
        pthread_setname_np(pthread_self(), name);
        [[maybe_unused]] const pid_t id = gettid();
        assert((id == getpid()) == (mode == FE_TONEAREST));
        for (int i = 0; i < 5; ++i) {
            errno = 1000 + mode;
            mine = mode;
            std::this_thread::yield();
            char told[16] = "";
            assert((std::fetestexcept(FE_DIVBYZERO) != 0) == (mode == FE_UPWARD));
            assert(errno == 1000 + mode && mine == mode && std::fegetround() == mode && gettid() == id);
            assert(pthread_getname_np(pthread_self(), told, sizeof told) == 0 && std::string(told) == name);
            try {
                throw mode;
            } catch (int thrown) {
                std::this_thread::yield();
                assert(thrown == mode && std::uncaught_exceptions() == 0);
            }
        }
    };
    std::jthread a(works, FE_UPWARD, "up"), b(works, FE_DOWNWARD, "down");
    works(FE_TONEAREST, "nearest");
}

// The kernel has a mask, a stack for handlers and a time of each thread.
void asks_the_kernel_for_its_own() {
    const auto works = [](int signal) {
        alignas(16) static thread_local char room[1 << 14];
        const stack_t given{room, 0, sizeof room};
        sigset_t blocked, told;
        sigemptyset(&blocked);
        sigaddset(&blocked, signal);
        sigaltstack(&given, nullptr);
        pthread_sigmask(SIG_SETMASK, &blocked, nullptr);
        for (int i = 0; i < 3; ++i) {
            std::this_thread::yield();
            stack_t mine;
            sigaltstack(nullptr, &mine);
            pthread_sigmask(SIG_SETMASK, nullptr, &told);
            assert(mine.ss_sp == room && sigismember(&told, signal) == 1 && sigismember(&told, SIGUSR1 + SIGUSR2 - signal) == 0);
        }
        const stack_t none{nullptr, SS_DISABLE, 0};
        sigaltstack(&none, nullptr);
    };
    std::jthread a(works, SIGUSR1), b(works, SIGUSR2);
}

// While the kernel runs a handler it blocks its signal: for the thread that faults, and for no other.
void faults_in_each_thread() {
    constexpr std::size_t page = 4096;
    static char* const pages =
        static_cast<char*>(mmap(nullptr, 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    struct sigaction how {};
    how.sa_flags = SA_SIGINFO;
    how.sa_sigaction = [](int, siginfo_t* info, void*) {
        std::this_thread::yield();
        auto* const at = static_cast<char*>(info->si_addr);
        mprotect(at - (at - pages) % page, page, PROT_READ | PROT_WRITE);
    };
    sigaction(SIGSEGV, &how, nullptr);
    const auto works = [](std::size_t which) { static_cast<volatile char*>(pages)[which * page] = 1; };
    std::jthread a(works, 0), b(works, 1);
}

// The library sends a signal to each other thread, whose handler needs room on its stack.
void sets_its_user() {
    const auto works = [] {
        volatile char kept[6000];
        for (std::size_t i = 0; i < sizeof kept; ++i) kept[i] = static_cast<char>(i);
        for (int i = 0; i < 3; ++i) std::this_thread::yield();
        for (std::size_t i = 0; i < sizeof kept; ++i) assert(kept[i] == static_cast<char>(i));
    };
    std::jthread a(works), b([] {
        for (int i = 0; i < 3; ++i) assert(setuid(getuid()) == 0);
    });
    works();
}

// A mask that is one thread's while it waits, a priority and a policy.
void changes_what_the_kernel_has_of_it() {
    std::jthread a([] {
        sigset_t blocked;
        sigemptyset(&blocked);
        sigaddset(&blocked, SIGUSR2);
        const timespec moment{0, 1'000'000};
        ppoll(nullptr, 0, &moment, &blocked);
    });
    const int before = getpriority(PRIO_PROCESS, 0);
    std::jthread b([] { nice(1); }), c([] {
        const sched_param none{};
        assert(pthread_setschedparam(pthread_self(), SCHED_BATCH, &none) == 0 && sched_getscheduler(0) == SCHED_BATCH);
    });
    for (int i = 0; i < 5; ++i) {
        std::this_thread::yield();
        sigset_t told;
        pthread_sigmask(SIG_SETMASK, nullptr, &told);
        assert(sigismember(&told, SIGUSR2) == 0 && getpriority(PRIO_PROCESS, 0) == before);
        assert(sched_getscheduler(0) == SCHED_OTHER);
    }
}

// The one that files see it as, root alone may choose.
void has_a_user_for_files() {
    const bool may = geteuid() == 0;
    std::jthread a([may] {
        setfsuid(may ? 65534 : geteuid());
        setfsgid(may ? 65534 : getegid());
        std::this_thread::yield();
        assert(!may || (setfsuid(-1u) == 65534 && setfsgid(-1u) == 65534));
    });
    for (int i = 0; i < 5; ++i) {
        std::this_thread::yield();
        assert(setfsuid(-1u) == static_cast<int>(geteuid()));
    }
}

void has_a_directory_of_its_own() {
    char before[4096], now[4096];
    assert(getcwd(before, sizeof before) != nullptr);
    std::jthread a([] { assert(unshare(CLONE_FS) == 0 && chdir("/proc/self") == 0); });
    for (int i = 0; i < 5; ++i) {
        std::this_thread::yield();
        assert(getcwd(now, sizeof now) != nullptr && std::string(now) == before);
    }
}

// Only those of a namespace that it may enter; the kernel refuses this one.
void asks_for_a_namespace() {
    std::jthread a([] { assert(setns(-1, CLONE_NEWUTS) == -1 && errno == EBADF); });
    std::this_thread::yield();
}

void has_a_personality() {
    constexpr unsigned long asks = 0xffffffff, another = STICKY_TIMEOUTS;
    const int before = personality(asks);
    std::jthread a([] {
        personality(static_cast<unsigned long>(personality(asks)) | another);
        std::this_thread::yield();
        assert((static_cast<unsigned long>(personality(asks)) & another) != 0);
    });
    for (int i = 0; i < 5; ++i) {
        std::this_thread::yield();
        assert(personality(asks) == before);
    }
}

// By each call that takes a path: `read` writes what has the thread's number. The library finds it there, unseen, since
// the accesses that are counted would depend on how many digits it has.
template <class Read>
void looks_at_itself(Read read, const char* format = "%d ") {
    const auto works = [read, format] {
        std::this_thread::yield();
        char told[4096] = "";
        read(told);
        int number = 0;
        assert(std::sscanf(told, format, &number) == 1 && number == gettid());
    };
    std::jthread a(works), b(works);
}
void reads(int file, char* to) {
    assert(read(file, to, 20) == 20);
    close(file);
}
constexpr char myself[] = "/proc/thread-self", my_state[] = "/proc/thread-self/stat";
void looks_by_readlink() {
    looks_at_itself([](char* told) { assert(readlink(myself, told, 100) > 0); }, "%*d/task/%d");
}
void looks_by_readlinkat() {
    looks_at_itself([](char* told) { assert(readlinkat(AT_FDCWD, myself, told, 100) > 0); }, "%*d/task/%d");
}
void looks_by_realpath() {
    looks_at_itself([](char* told) { assert(realpath(myself, told) != nullptr); }, "/proc/%*d/task/%d");
}
void looks_by_a_stream() {
    looks_at_itself([](char* told) { std::ifstream(my_state).getline(told, 100); });
}
void looks_by_fopen() {
    looks_at_itself([](char* told) {
        std::FILE* const file = std::fopen(my_state, "r");
        assert(std::fgets(told, 100, file) != nullptr);
        std::fclose(file);
    });
}
void looks_by_opendir() {
    looks_at_itself([](char* told) {
        DIR* const folder = opendir(myself);
        reads(openat(dirfd(folder), "stat", O_RDONLY), told);
        closedir(folder);
    });
}
void looks_by_open() {
    looks_at_itself([](char* told) { reads(open(my_state, O_RDONLY), told); });
}
void looks_by_openat() {
    looks_at_itself([](char* told) { reads(openat(AT_FDCWD, my_state, O_RDONLY), told); });
}

// In a child of the thread that forked, too.
void names_itself_in_a_child() {
    std::jthread a([] {
        const pid_t child = fork();
        if (child == 0) {
            char told[16] = "";
            const bool named = pthread_setname_np(pthread_self(), "child") == 0;
            _exit(named && pthread_getname_np(pthread_self(), told, sizeof told) == 0 && std::string(told) == "child" ? 0 : 1);
        }
        int status = 1;
        waitpid(child, &status, 0);
        assert(status == 0);
    });
}

// What a thread did before its end is seen after a membarrier: the end of a thread is a full barrier.
void a_membarrier_comes_after_an_end() {
    static std::atomic<int> stored{0}, announced{0};
    static int looked = 1;
    syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
    std::jthread a([] {
        stored.store(1, std::memory_order_relaxed);
        std::atomic_signal_fence(std::memory_order_seq_cst);
        looked = announced.load(std::memory_order_relaxed);
    });
    std::jthread b([&a] {
        announced.store(1, std::memory_order_relaxed);
        syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
        const int seen = stored.load(std::memory_order_relaxed);
        a.join();
        assert(looked == 1 || seen == 1);
    });
}

// The main thread ends before the others, of which the last ends the process.
void main_ends_first() {
    static std::atomic<int> left{3};
    for (int i = 0; i < 3; ++i)
        std::thread([] {
            std::this_thread::yield();
            left.fetch_sub(1);
        }).detach();
    pthread_exit(nullptr);
}

// What the callable made is seen through the flag, and through nothing else.
void reads_what_a_once_made() {
    std::once_flag once;
    int made = 0;
    const auto get = [&] {
        std::call_once(once, [&] { made = 7; });
        return made;
    };
    std::jthread a([&] { assert(get() == 7); });
    std::jthread b([&] { assert(get() == 7); });
}
// Small objects that share eight bytes: a wake, a lock and a flag are each that of one of them.
void waits_at_neighbours() {
    struct {
        std::atomic<int> first{0}, second{0};
    } doors;
    const auto waits = [](std::atomic<int>& door) {
        while (door.load() == 0) syscall(SYS_futex, &door, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
    };
    const auto opens = [](std::atomic<int>& door) {
        door.store(1);
        syscall(SYS_futex, &door, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    };
    std::thread a([&] { waits(doors.first); }), b([&] { waits(doors.second); });
    opens(doors.first);
    a.join();
    opens(doors.second);
    b.join();
}
void locks_neighbours() {
    struct {
        pthread_spinlock_t from, to;
    } locks;
    pthread_spin_init(&locks.from, 0);
    pthread_spin_init(&locks.to, 0);
    int sum = 0;
    const auto adds = [&] {
        pthread_spin_lock(&locks.from);
        pthread_spin_lock(&locks.to);
        ++sum;
        pthread_spin_unlock(&locks.to);
        pthread_spin_unlock(&locks.from);
    };
    std::thread a(adds);
    adds();
    a.join();
    assert(sum == 2);
}
void calls_neighbours_once() {
    struct {
        std::once_flag outer, inner;
    } flags;
    int inner = 0, outer = 0;
    const auto get = [&] {
        std::call_once(flags.outer, [&] {
            std::call_once(flags.inner, [&] { inner = 1; });
            outer = inner + 1;
        });
        return outer;
    };
    std::thread a([&] { assert(get() == 2); });
    assert(get() == 2);
    a.join();
}
// A plain write beside a lock leaves the lock as it is.
void writes_beside_a_lock() {
    struct {
        pthread_spinlock_t lock;
        int written = 0;
    } both;
    pthread_spin_init(&both.lock, 0);
    int data = 0;
    std::thread a([&] {
        pthread_spin_lock(&both.lock);
        ++data;
        pthread_spin_unlock(&both.lock);
    });
    both.written = 1;
    pthread_spin_lock(&both.lock);
    ++data;
    pthread_spin_unlock(&both.lock);
    a.join();
    assert(data == 2 && both.written == 1);
}
void asks_a_semaphore() {
    sem_t s;
    sem_init(&s, 0, 2);
    std::thread a([&] { sem_wait(&s); });
    a.join();
    int left = 0;
    sem_getvalue(&s, &left);
    assert(left == 1);
    sem_destroy(&s);
}
void main_ends_as_the_last() {
    std::thread([] { ++counter(); }).join();
    pthread_exit(nullptr);
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
    {"selects", selects},
    {"asks_without_waiting", asks_without_waiting},
    {"tags_a_pointer", tags_a_pointer},
    {"a_thread_signals_itself", a_thread_signals_itself},
    {"a_signal_ends_waits", a_signal_ends_waits},
    {"a_signal_that_ppoll_lets_through_ends_it", a_signal_that_ppoll_lets_through_ends_it},
    {"a_signal_is_taken_amid_a_wait_that_goes_on", a_signal_is_taken_amid_a_wait_that_goes_on},
    {"maps_memory", maps_memory},
    {"select_of_exceptions_waits_until_its_time", select_of_exceptions_waits_until_its_time},
    {"destroys_a_barrier_that_others_leave", destroys_a_barrier_that_others_leave},
    {"a_mutex_where_a_barrier_was", a_mutex_where_a_barrier_was},
    {"a_handler_waits_amid_a_wait", a_handler_waits_amid_a_wait},
    {"a_signal_after_the_wake_up", a_signal_after_the_wake_up},
    {"a_signal_that_was_blocked_is_taken_later", a_signal_that_was_blocked_is_taken_later},
    {"a_signal_comes_before_the_end", a_signal_comes_before_the_end},
    {"moves_and_protects_memory", moves_and_protects_memory},
    {"select_of_exceptions_waits_though_the_other_end_goes", select_of_exceptions_waits_though_the_other_end_goes},
    {"two_read_one_pipe", two_read_one_pipe},
    {"a_library_changes_a_count", a_library_changes_a_count},
    {"leaves_a_descriptor", leaves_a_descriptor},
    {"keeps_what_is_its_own", keeps_what_is_its_own},
    {"asks_the_kernel_for_its_own", asks_the_kernel_for_its_own},
    {"main_ends_first", main_ends_first},
    {"main_ends_as_the_last", main_ends_as_the_last},
    {"asks_a_semaphore", asks_a_semaphore},
    {"reads_what_a_once_made", reads_what_a_once_made},
    {"waits_at_neighbours", waits_at_neighbours},
    {"locks_neighbours", locks_neighbours},
    {"calls_neighbours_once", calls_neighbours_once},
    {"writes_beside_a_lock", writes_beside_a_lock},
    {"a_membarrier_comes_after_an_end", a_membarrier_comes_after_an_end},
    {"faults_in_each_thread", faults_in_each_thread},
    {"sets_its_user", sets_its_user},
    {"changes_what_the_kernel_has_of_it", changes_what_the_kernel_has_of_it},
    {"has_a_user_for_files", has_a_user_for_files},
    {"has_a_directory_of_its_own", has_a_directory_of_its_own},
    {"asks_for_a_namespace", asks_for_a_namespace},
    {"has_a_personality", has_a_personality},
    {"looks_by_readlink", looks_by_readlink},
    {"looks_by_readlinkat", looks_by_readlinkat},
    {"looks_by_realpath", looks_by_realpath},
    {"looks_by_a_stream", looks_by_a_stream},
    {"looks_by_fopen", looks_by_fopen},
    {"looks_by_opendir", looks_by_opendir},
    {"looks_by_open", looks_by_open},
    {"looks_by_openat", looks_by_openat},
    {"names_itself_in_a_child", names_itself_in_a_child},
    {nullptr, nullptr},
};
