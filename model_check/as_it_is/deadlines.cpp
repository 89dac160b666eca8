// Waits with deadlines: woken, timed out, and woken for nothing; and what others wait for meanwhile.
#include <apiary/check.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <semaphore>
#include <thread>

using namespace std::chrono_literals;

namespace {
struct post_box {
    std::mutex m;
    std::condition_variable posted;
    bool is_posted = false;
    void post() {
        const std::lock_guard held(m);
        is_posted = true;
        posted.notify_one();
    }
};
}  // namespace

// ---- gives up, and the clock ----------------------------------------------------------------------------------

namespace {
bool comes_in_time() {
    post_box box;
    std::thread poster([&] { box.post(); });
    bool came = false;
    {
        std::unique_lock held(box.m);
        came = box.posted.wait_for(held, 10ms, [&] { return box.is_posted; });
    }
    poster.join();
    return came;
}
}  // namespace

APIARY_FAILING_SCENARIO(wait_for_gives_up, "nobody came") { apiary::check(comes_in_time(), "nobody came"); }
APIARY_FAILING_SCENARIO(wait_for_is_told, "somebody came") { apiary::check(!comes_in_time(), "somebody came"); }

// More such waits than may give up: none of them sleeps.
APIARY_SCENARIO(deadlines_that_have_passed, "wait_for_gives_up") {
    post_box box;
    std::thread poster([&] { box.post(); });
    const auto long_ago = std::chrono::steady_clock::now() - 1s;
    for (int i = 0; i < 3; ++i) {
        std::unique_lock held(box.m);
        apiary::check(box.posted.wait_until(held, long_ago) == std::cv_status::timeout, "woken from no sleep");
    }
    poster.join();
}

APIARY_SCENARIO(clock_moves_by_what_is_slept, "wait_for_gives_up") {
    std::thread a([] {
        const auto since = std::chrono::system_clock::now();
        std::this_thread::sleep_until(since + 1h);
        apiary::check(std::chrono::system_clock::now() - since >= 1h, "slept for less");
    });
    a.join();
}

// What a thread has slept is behind the thread that has joined it, and what was before its start is behind it.
namespace {
void sleeps_between_two_looks(bool joins) {
    const auto since = std::chrono::steady_clock::now();
    std::thread a([since] {
        apiary::check(std::chrono::steady_clock::now() > since, "started before it was started");
        std::this_thread::sleep_for(1s);
    });
    if (joins) a.join();
    apiary::check(std::chrono::steady_clock::now() - since >= 1s, "slept for less");
    if (!joins) a.join();
}
}  // namespace

APIARY_SCENARIO(clock_follows_starts_and_joins, "clock_does_not_wait_for_a_join") { sleeps_between_two_looks(true); }
APIARY_FAILING_SCENARIO(clock_does_not_wait_for_a_join, "slept for less") { sleeps_between_two_looks(false); }

// ---- woken for nothing ----------------------------------------------------------------------------------------

APIARY_SCENARIO(wait_for_with_predicate, "wait_for_believes_what_it_returns") {
    post_box box;
    std::thread poster([&] { box.post(); });
    std::unique_lock held(box.m);
    const bool told = box.posted.wait_for(held, 10ms, [&] { return box.is_posted; });
    apiary::check(told == box.is_posted, "it said something else than what is");
    held.unlock();
    poster.join();
}
APIARY_FAILING_SCENARIO(wait_for_believes_what_it_returns, "woken for nothing") {
    post_box box;
    std::thread poster([&] { box.post(); });
    std::unique_lock held(box.m);
    if (box.posted.wait_for(held, 10ms) == std::cv_status::no_timeout)
        apiary::check(box.is_posted, "woken for nothing");
    held.unlock();
    poster.join();
}
// Both in one execution: each has a bound of its own.
APIARY_FAILING_SCENARIO(wakes_for_nothing_and_gives_up, "first for nothing, then in vain") {
    post_box box;
    std::thread waiter([&] {
        std::unique_lock held(box.m);
        const auto until = std::chrono::steady_clock::now() + 10ms;
        if (box.posted.wait_until(held, until) == std::cv_status::timeout) return;
        apiary::check(box.posted.wait_until(held, until) == std::cv_status::no_timeout,
                      "first for nothing, then in vain");
    });
    waiter.join();
}

// ---- deadlocks beside a deadline ------------------------------------------------------------------------------

namespace {
// The last to come back tells the scenario's thread; three of them are more than may give up or wake for nothing.
template <bool Told>
void last_to_give_up_tells(unsigned waiters) {
    post_box none;
    std::mutex m;
    std::condition_variable all_back;
    unsigned back = 0;
    const auto wait = [&] {
        {
            std::unique_lock held(none.m);
            none.posted.wait_for(held, 10ms);
        }
        const std::lock_guard held(m);
        ++back;
        if (Told && back == waiters) all_back.notify_one();
    };
    std::thread threads[3];
    for (unsigned i = 0; i != waiters; ++i) threads[i] = std::thread(wait);
    {
        std::unique_lock held(m);
        while (back != waiters) all_back.wait(held);
    }
    for (unsigned i = 0; i != waiters; ++i) threads[i].join();
}
}  // namespace

APIARY_SCENARIO(last_to_give_up_tells_it, "last_to_give_up_tells_nobody") { last_to_give_up_tells<true>(2); }
APIARY_FAILING_SCENARIO(last_to_give_up_tells_nobody, "deadlock: every thread that has not ended") {
    last_to_give_up_tells<false>(3);
}

// What comes behind the give-ups that the bound leaves is looked at, along one line.
APIARY_FAILING_SCENARIO(three_give_up, "none of them was told") {
    post_box box;
    std::atomic<int> in_vain{0};
    const auto wait = [&] {
        std::unique_lock held(box.m);
        in_vain += box.posted.wait_for(held, 10ms) == std::cv_status::timeout ? 1 : 0;
    };
    std::thread a(wait), b(wait), c(wait);
    a.join();
    b.join();
    c.join();
    apiary::check(in_vain != 3, "none of them was told");
}

namespace {
// The scenario's thread asks again and again whether the two others are done.
void two_locks_beside_a_poller(bool other_order) {
    std::mutex m, o, last;
    std::condition_variable over;
    int ended = 0;
    const auto both = [&](std::mutex& first, std::mutex& second) {
        {
            const std::lock_guard held(first);
            const std::lock_guard too(second);
        }
        const std::lock_guard held(last);
        ++ended;
        over.notify_one();
    };
    std::thread a([&] { both(m, o); });
    std::thread b([&] { other_order ? both(o, m) : both(m, o); });
    {
        std::unique_lock held(last);
        while (ended != 2) over.wait_for(held, 10ms);
    }
    a.join();
    b.join();
}
}  // namespace

APIARY_SCENARIO(two_locks_in_one_order_beside_a_poller, "two_locks_in_both_orders_beside_a_poller") {
    two_locks_beside_a_poller(false);
}
APIARY_FAILING_SCENARIO(two_locks_in_both_orders_beside_a_poller, "deadlock: threads wait for ever for a lock") {
    two_locks_beside_a_poller(true);
}

// ---- a bounded queue, as people write it ------------------------------------------------------------------------

namespace {
template <class T, bool LooksAgain>
class bounded_queue {
public:
    explicit bounded_queue(std::size_t most) : most_(most) {}
    void push(T value) {
        {
            std::unique_lock held(m_);
            not_full_.wait(held, [&] { return size_ != most_; });
            items_[(first_ + size_++) % room] = value;
        }
        not_empty_.notify_one();
    }
    std::optional<T> pop_for(std::chrono::milliseconds time) {
        std::optional<T> value;
        {
            std::unique_lock held(m_);
            if constexpr (LooksAgain) {
                if (!not_empty_.wait_for(held, time, [&] { return size_ != 0; })) return {};
            } else {
                if (size_ == 0 && not_empty_.wait_for(held, time) == std::cv_status::timeout) return {};
            }
            apiary::check(size_ != 0, "it takes from an empty queue");
            value = items_[first_];
            first_ = (first_ + 1) % room;
            --size_;
        }
        not_full_.notify_one();
        return value;
    }

private:
    static constexpr std::size_t room = 4;
    std::mutex m_;
    std::condition_variable not_full_, not_empty_;
    T items_[room] = {};
    std::size_t first_ = 0, size_ = 0, most_;
};

template <class Queue>
void three_through_a_queue_of_one() {
    Queue q(1);
    std::thread producer([&] {
        for (int i = 1; i <= 2; ++i) q.push(i);
    });
    int expected = 1;
    while (expected <= 2)
        if (const std::optional<int> x = q.pop_for(10ms)) apiary::check(*x == expected++, "out of order");
    producer.join();
}
}  // namespace

APIARY_SCENARIO(bounded_queue_pops_for_a_while, "bounded_queue_does_not_look_again") {
    three_through_a_queue_of_one<bounded_queue<int, true>>();
}
APIARY_FAILING_SCENARIO(bounded_queue_does_not_look_again, "it takes from an empty queue") {
    three_through_a_queue_of_one<bounded_queue<int, false>>();
}

// ---- std::binary_semaphore, which stands on futexes with deadlines ------------------------------------------------

namespace {
void acquires_for_a_while(bool expected) {
    std::binary_semaphore s(0);
    std::thread poster([&] { s.release(); });
    const bool mine = s.try_acquire_for(10ms);
    poster.join();
    apiary::check(mine == expected, mine ? "had in time" : "gave up");
}
}  // namespace
APIARY_FAILING_SCENARIO(try_acquire_for_gives_up, "gave up") { acquires_for_a_while(true); }
APIARY_FAILING_SCENARIO(try_acquire_for_is_had, "had in time") { acquires_for_a_while(false); }

// ---- a thread that asks again and again ---------------------------------------------------------------------------

// The consumer looks and then sleeps, and the producer may come between: that wake is lost. The scenario's thread asks again
// and again whether the consumer is done.
namespace {
void consumer_beside_a_poller(bool looks_under_the_lock) {
    std::mutex m, n;
    std::condition_variable produced, consumed;
    std::atomic<bool> is_there{false};
    bool done = false;
    std::thread consumer([&] {
        const bool there = !looks_under_the_lock && is_there;
        {
            std::unique_lock held(m);
            if (looks_under_the_lock)
                produced.wait(held, [&] { return is_there.load(); });
            else if (!there)
                produced.wait(held);
        }
        const std::lock_guard held(n);
        done = true;
        consumed.notify_one();
    });
    std::thread producer([&] {
        const std::lock_guard held(m);
        is_there = true;
        produced.notify_one();
    });
    {
        std::unique_lock held(n);
        while (!done) consumed.wait_for(held, 10ms);
    }
    consumer.join();
    producer.join();
}

// It does end, if late: where nothing is posted it asks so many times, and tells all the same.
void asks_and_tells(int times) {
    std::mutex m;
    std::condition_variable posted, told;
    std::atomic<bool> hurry{true};
    bool is_posted = false, is_told = false;
    std::thread waiter([&] {
        std::unique_lock held(m);
        told.wait(held, [&] { return is_told; });
    });
    std::thread poster([&] {
        if (!hurry) return;
        const std::lock_guard held(m);
        is_posted = true;
        posted.notify_one();
    });
    hurry = false;
    {
        std::unique_lock held(m);
        for (int i = 0; i != times && !is_posted; ++i) posted.wait_for(held, 10ms);
        is_told = true;
    }
    told.notify_one();
    waiter.join();
    poster.join();
}
}  // namespace

APIARY_SCENARIO(consumer_looks_beside_a_poller, "consumer_misses_it_beside_a_poller") {
    consumer_beside_a_poller(true);
}
APIARY_FAILING_SCENARIO(consumer_misses_it_beside_a_poller, "deadlock: nothing goes on but waits with deadlines") {
    consumer_beside_a_poller(false);
}
APIARY_SCENARIO(asks_thirty_times_and_tells, "asks_a_hundred_times_and_tells") { asks_and_tells(30); }
// Wrong, and said to be a guess: the bound on steps decides how long a thread is waited for.
APIARY_FAILING_SCENARIO(asks_a_hundred_times_and_tells, "--bounds steps=") { asks_and_tells(100); }
