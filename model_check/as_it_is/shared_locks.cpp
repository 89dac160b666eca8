// Locks that readers share, locks with deadlines, and semaphores of the C library; and the same
// with the mistake in it.
#include <apiary/check.hpp>

#include <semaphore.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <mutex>
#include <shared_mutex>
#include <thread>

using namespace std::chrono_literals;

// ---- std::shared_mutex --------------------------------------------------------------------------------------------

namespace {
template <class Read, class Write>
void two_write_one_reads() {
    std::shared_mutex m;
    int n = 0;
    const auto add = [&] {
        const Write held(m);
        ++n;
    };
    std::thread a(add), b(add);
    std::thread c([&] {
        const Read held(m);
        apiary::check(n >= 0 && n <= 2, "torn");
    });
    a.join();
    b.join();
    c.join();
    apiary::check(n == 2, "an addition was lost");
}
using reads = std::shared_lock<std::shared_mutex>;
using writes = std::unique_lock<std::shared_mutex>;
}  // namespace

APIARY_SCENARIO(shared_mutex_guards, "writers_share_it") { two_write_one_reads<reads, writes>(); }
APIARY_FAILING_SCENARIO(writers_share_it, "data race") { two_write_one_reads<reads, reads>(); }

// Each reader stays until it has met the other one.
namespace {
template <class Held>
void two_meet_inside() {
    std::shared_mutex m;
    std::atomic<int> inside{0};
    const auto meet = [&] {
        const Held held(m);
        inside.fetch_add(1);
        while (inside.load() != 2) {
        }
    };
    std::thread a(meet), b(meet);
    a.join();
    b.join();
    apiary::check(inside == 2);
}
}  // namespace

APIARY_SCENARIO(readers_meet, "writers_never_meet") { two_meet_inside<reads>(); }
APIARY_FAILING_SCENARIO(writers_never_meet, "deadlock") { two_meet_inside<writes>(); }

APIARY_SCENARIO(reader_sees_what_was_written, "reader_does_not_lock") {
    std::shared_mutex m;
    int data = 0;
    bool ready = false;
    std::thread writer([&] {
        const writes held(m);
        data = 7;
        ready = true;
    });
    {
        const reads held(m);
        if (ready) apiary::check(data == 7, "stale");
    }
    writer.join();
}
APIARY_FAILING_SCENARIO(reader_does_not_lock, "data race") {
    std::shared_mutex m;
    int data = 0;
    std::thread writer([&] {
        const writes held(m);
        data = 7;
    });
    apiary::check(data == 0 || data == 7);
    writer.join();
}

// A writer sees what readers have done, by the count alone.
APIARY_SCENARIO(writer_comes_behind_the_readers, "writer_comes_between_the_readers") {
    std::shared_mutex m;
    int seen = 0, data = 1;
    std::thread reader([&] {
        const reads held(m);
        seen = data;
    });
    {
        const writes held(m);
        data = 2;
        apiary::check(seen == 0 || seen == 1, "it read what was not written yet");
    }
    reader.join();
}
APIARY_FAILING_SCENARIO(writer_comes_between_the_readers, "data race") {
    std::shared_mutex m;
    int data = 1;
    std::thread reader([&] {
        reads held(m);
        held.unlock();
        apiary::check(data == 1 || data == 2);
    });
    {
        const writes held(m);
        data = 2;
    }
    reader.join();
}

APIARY_FAILING_SCENARIO(reader_wants_to_write, "deadlock") {
    std::shared_mutex m;
    std::thread a([&] {
        const reads held(m);
        const writes too(m);
    });
    a.join();
}
APIARY_FAILING_SCENARIO(unlocked_by_another_reader, "unlock of a lock that this thread does not hold") {
    std::shared_mutex m;
    m.lock_shared();
    std::thread a([&] { m.unlock_shared(); });
    a.join();
}

APIARY_SCENARIO(try_lock_shared_says_what_is, "tries_while_it_is_written") {
    std::shared_mutex m;
    int n = 0;
    std::thread writer([&] {
        const writes held(m);
        ++n;
    });
    if (m.try_lock_shared()) {
        apiary::check(n == 0 || n == 1);
        m.unlock_shared();
    }
    writer.join();
}
APIARY_FAILING_SCENARIO(tries_while_it_is_written, "it was written") {
    std::shared_mutex m;
    std::thread writer([&] { const writes held(m); });
    const bool mine = m.try_lock_shared();
    if (mine) m.unlock_shared();
    writer.join();
    apiary::check(mine, "it was written");
}

// ---- deadlines ----------------------------------------------------------------------------------------------------

namespace {
template <class Mutex>
void one_holds_it(bool expected) {
    Mutex m;
    std::thread holder([&] { const std::lock_guard held(m); });
    const auto until = std::chrono::steady_clock::now() + 10ms;
    const bool mine = m.try_lock_until(until);
    if (mine) m.unlock();
    if (!mine) apiary::check(std::chrono::steady_clock::now() >= until, "the clock stands still");
    holder.join();
    apiary::check(mine == expected, mine ? "got it" : "gave up");
}
}  // namespace

APIARY_FAILING_SCENARIO(timed_mutex_gives_up, "gave up") { one_holds_it<std::timed_mutex>(true); }
APIARY_FAILING_SCENARIO(timed_mutex_is_had, "got it") { one_holds_it<std::timed_mutex>(false); }
APIARY_FAILING_SCENARIO(shared_timed_mutex_gives_up, "gave up") { one_holds_it<std::shared_timed_mutex>(true); }
APIARY_FAILING_SCENARIO(shared_timed_mutex_is_had, "got it") { one_holds_it<std::shared_timed_mutex>(false); }

APIARY_SCENARIO(timed_mutex_guards, "timed_mutex_does_not_say_whether") {
    std::timed_mutex m;
    int n = 0, had = 0;
    std::thread a([&] {
        const std::lock_guard held(m);
        ++n;
    });
    if (m.try_lock_for(10ms)) {
        ++n;
        ++had;
        m.unlock();
    }
    a.join();
    apiary::check(n == 1 + had, "an addition was lost");
}
APIARY_FAILING_SCENARIO(timed_mutex_does_not_say_whether, "data race") {
    std::timed_mutex m;
    int n = 0;
    std::thread a([&] {
        const std::lock_guard held(m);
        ++n;
    });
    const bool mine = m.try_lock_for(10ms);
    ++n;
    if (mine) m.unlock();
    a.join();
}

APIARY_FAILING_SCENARIO(shared_timed_mutex_is_read_no_more, "gave up") {
    std::shared_timed_mutex m;
    std::thread writer([&] { const std::lock_guard held(m); });
    const bool mine = m.try_lock_shared_for(10ms);
    if (mine) m.unlock_shared();
    writer.join();
    apiary::check(mine, "gave up");
}

// A thread that gives up sees that a writer has it; what a reader did before that writer is not known by that.
APIARY_FAILING_SCENARIO(shared_lock_that_gave_up_orders_nothing, "data race") {
    std::shared_timed_mutex m;
    int data = 0;
    std::atomic<bool> behind{false};
    std::thread a([&] {
        const std::shared_lock held(m);
        data = 1;
    });
    std::thread b([&] {
        const std::lock_guard held(m);
        if (data == 1) behind.store(true, std::memory_order_relaxed);
    });
    const bool mine = m.try_lock_shared_for(10ms);
    if (mine) m.unlock_shared();
    if (!mine && behind.load(std::memory_order_relaxed)) apiary::check(data == 1);
    a.join();
    b.join();
}

// ---- sem_t ----------------------------------------------------------------------------------------------------------

namespace {
class semaphore {
public:
    explicit semaphore(unsigned count) { ::sem_init(&s_, 0, count); }
    ~semaphore() { ::sem_destroy(&s_); }
    void post() { ::sem_post(&s_); }
    void wait() { ::sem_wait(&s_); }
    bool try_wait() { return ::sem_trywait(&s_) == 0; }
    int count() {
        int n = 0;
        ::sem_getvalue(&s_, &n);
        return n;
    }
    sem_t s_;
};

void three_in_a_place_for(unsigned places) {
    semaphore s(places);
    int n = 0;
    const auto add = [&] {
        s.wait();
        ++n;
        s.post();
    };
    std::thread a(add), b(add);
    add();
    a.join();
    b.join();
    apiary::check(n == 3 && s.count() == static_cast<int>(places), "an addition was lost");
}
}  // namespace

APIARY_SCENARIO(semaphore_of_one_is_a_lock, "semaphore_of_two_is_none") { three_in_a_place_for(1); }
APIARY_FAILING_SCENARIO(semaphore_of_two_is_none, "data race") { three_in_a_place_for(2); }

APIARY_SCENARIO(semaphore_hands_over, "semaphore_is_posted_too_early") {
    semaphore s(0);
    int data = 0;
    std::thread a([&] {
        data = 3;
        s.post();
    });
    s.wait();
    apiary::check(data == 3, "stale");
    a.join();
}
APIARY_FAILING_SCENARIO(semaphore_is_posted_too_early, "data race") {
    semaphore s(0);
    int data = 0;
    std::thread a([&] {
        s.post();
        data = 3;
    });
    s.wait();
    apiary::check(data == 3, "stale");
    a.join();
}
APIARY_FAILING_SCENARIO(semaphore_is_posted_once, "deadlock") {
    semaphore s(0);
    std::thread a([&] { s.wait(); }), b([&] { s.wait(); });
    s.post();
    a.join();
    b.join();
}
// Two posts may come before the first wait, and none is lost.
APIARY_SCENARIO(semaphore_counts, "semaphore_is_posted_once") {
    semaphore s(0);
    std::thread a([&] { s.post(); }), b([&] { s.post(); });
    s.wait();
    s.wait();
    apiary::check(!s.try_wait() && errno == EAGAIN, "a post that nobody made");
    a.join();
    b.join();
}

namespace {
void waits_for_a_post(int expected) {
    semaphore s(0);
    std::thread a([&] { s.post(); });
    timespec until{};
    ::clock_gettime(CLOCK_REALTIME, &until);
    ++until.tv_sec;
    const int result = ::sem_timedwait(&s.s_, &until);
    if (result != 0) apiary::check(errno == ETIMEDOUT, "another error");
    a.join();
    apiary::check(result == expected, result == 0 ? "posted in time" : "gave up");
}
}  // namespace

APIARY_FAILING_SCENARIO(semaphore_gives_up, "gave up") { waits_for_a_post(0); }
APIARY_FAILING_SCENARIO(semaphore_is_posted_in_time, "posted in time") { waits_for_a_post(-1); }

// The post was seen, and another thread has taken it: to wait in vain for the next one orders nothing.
// The search comes last to the thread that waits; in the scenario of the shared lock it comes to it first.
APIARY_FAILING_SCENARIO(semaphore_that_gave_up_orders_nothing, "data race") {
    semaphore s(0);
    int data = 0;
    std::thread a([&] {
        data = 1;
        s.post();
    });
    std::thread b([&] { s.try_wait(); });
    std::thread c([&] {
        timespec until{};
        ::clock_gettime(CLOCK_REALTIME, &until);
        ++until.tv_sec;
        if (s.count() == 1 && ::sem_timedwait(&s.s_, &until) != 0) apiary::check(data == 1);
    });
    a.join();
    b.join();
    c.join();
}
