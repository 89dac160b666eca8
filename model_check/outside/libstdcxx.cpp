// Code that nobody here wrote, unchanged: what is true of it is in README.md.
#include <apiary/check.hpp>

#include <atomic>
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <future>
#include <latch>
#include <memory>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <stop_token>
#include <thread>

// libstdc++ 12: load() unlocks its pointer's lock bit with memory_order_relaxed, so that the next store() writes the pointer
// without happens-before.
APIARY_FAILING_SCENARIO(libstdcxx_atomic_shared_ptr, "data race") {
    std::atomic<std::shared_ptr<int>> shared{std::make_shared<int>(1)};
    const auto other = std::make_shared<int>(2);
    std::thread reader([&] {
        const int v = *shared.load();
        apiary::check(v == 1 || v == 2, "neither");
    });
    std::thread writer([&] { shared.store(other); });
    reader.join();
    writer.join();
}

// libstdc++ 12: the waiter reads the count before it spins, and the futex compares with what it read then.
APIARY_FAILING_SCENARIO(libstdcxx_semaphore, "deadlock") {
    std::counting_semaphore<> s{1};
    const auto in_turn = [&] {
        s.acquire();
        s.release();
    };
    std::thread a(in_turn), b(in_turn);
    a.join();
    b.join();
}

APIARY_SCENARIO(libstdcxx_binary_handover, "libstdcxx_semaphore") {
    std::binary_semaphore s{0};
    int data = 0;
    std::thread a([&] {
        data = 1;
        s.release();
    });
    std::thread b([&] {
        s.acquire();
        apiary::check(data == 1, "acquired before the release");
    });
    a.join();
    b.join();
}

APIARY_SCENARIO(libstdcxx_shared_ptr_counts, "libstdcxx_atomic_shared_ptr") {
    auto shared = std::make_shared<int>(1);
    std::thread a([copy = shared] { apiary::check(*copy == 1); });
    std::thread b([copy = std::move(shared)] { apiary::check(*copy == 1); });
    a.join();
    b.join();
}

// Of C++20's model, not of the hardware that we know: arrive_and_wait() stores with release and then looks for waiters; the waiter
// announces itself and then looks at the count. The futex's barrier orders the waiter's look behind its announcement; nothing
// orders the arriver's look after its store, so that both may miss.
APIARY_FAILING_SCENARIO(libstdcxx_latch, "deadlock") {
    std::latch all{2};
    int first = 0, second = 0;
    std::thread a([&] {
        first = 1;
        all.arrive_and_wait();
        apiary::check(second == 1, "passed before the other arrived");
    });
    std::thread b([&] {
        second = 1;
        all.arrive_and_wait();
        apiary::check(first == 1, "passed before the other arrived");
    });
    a.join();
    b.join();
}

namespace {
// One waits for a store and is told of it. notify_one() looks whether anybody waits: nothing orders that look after a store that
// only releases, nor does x86, whose stores wait in a buffer.
void is_told_of_a_store(std::memory_order order) {
    std::atomic<int> word{0};
    std::thread a([&] { word.wait(0); });
    word.store(1, order);
    word.notify_one();
    a.join();
}
}  // namespace
APIARY_FAILING_SCENARIO(libstdcxx_atomic_notify, "deadlock") { is_told_of_a_store(std::memory_order_release); }
APIARY_SCENARIO(libstdcxx_atomic_notify_seq_cst, "libstdcxx_atomic_notify") {
    is_told_of_a_store(std::memory_order_seq_cst);
}

namespace {
// What a callback writes belongs to the thread that registered it, once the callback is gone: its destructor waits.
void stops_while_another_registers(bool looks_after) {
    std::stop_source source;
    std::thread a([&] { source.request_stop(); });
    std::thread b([&] {
        int called = 0;
        {
            const std::stop_callback callback(source.get_token(), [&] { ++called; });
            if (!looks_after) apiary::check(called <= 1, "called twice");
        }
        if (looks_after) apiary::check(called <= 1, "called twice");
    });
    a.join();
    b.join();
}
// Two threads ask: one of them is told that it was the first, and the callback is called once.
template <class Source>
void stops_twice(Source& source, const int& called) {
    bool first[2] = {};
    std::thread a([&] { first[0] = source.request_stop(); }), b([&] { first[1] = source.request_stop(); });
    a.join();
    b.join();
    apiary::check(first[0] != first[1], "both were the first, or neither");
    apiary::check(called == 1, "not called once");
}
// Wrong: it looks and then stores, so that both may be the first.
struct stop_in_two_steps {
    bool request_stop() {
        if (requested.load()) return false;
        requested.store(true);
        calls.fetch_add(1);
        return true;
    }
    std::atomic<bool> requested{false};
    std::atomic<int> calls{0};
};
}  // namespace

APIARY_SCENARIO(libstdcxx_stop_token, "libstdcxx_stop_token_asked_too_early") { stops_while_another_registers(true); }
APIARY_FAILING_SCENARIO(libstdcxx_stop_token_asked_too_early, "data race") { stops_while_another_registers(false); }
APIARY_SCENARIO(libstdcxx_stop_requested_twice, "stop_in_two_steps_requested_twice") {
    std::stop_source source;
    int called = 0;
    const std::stop_callback callback(source.get_token(), [&] { ++called; });
    stops_twice(source, called);
}
APIARY_FAILING_SCENARIO(stop_in_two_steps_requested_twice, "both were the first, or neither") {
    stop_in_two_steps source;
    stops_twice(source, 1);
}

namespace {
void two_meet_at_a_barrier(bool looks_after) {
    int parts[2] = {}, sum = 0;
    std::barrier meet(2, [&]() noexcept { sum = parts[0] + parts[1]; });
    const auto part = [&](int i) {
        parts[i] = i + 1;
        if (!looks_after) apiary::check(parts[1 - i] != 3);
        meet.arrive_and_wait();
        if (looks_after) apiary::check(sum == 3, "passed before the sum was made");
    };
    std::thread a(part, 0), b(part, 1);
    a.join();
    b.join();
}
void polls_a_future(bool waits) {
    std::promise<void> promise;
    const std::future<void> over = promise.get_future();
    int data = 0;
    std::thread a([&] {
        data = 3;
        promise.set_value();
    });
    while (waits && over.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) {
    }
    apiary::check(data == 3 || !waits, "stale");
    a.join();
}
}  // namespace

APIARY_SCENARIO(libstdcxx_barrier, "libstdcxx_barrier_asked_too_early") { two_meet_at_a_barrier(true); }
APIARY_FAILING_SCENARIO(libstdcxx_barrier_asked_too_early, "data race") { two_meet_at_a_barrier(false); }
APIARY_SCENARIO(libstdcxx_future_is_polled, "libstdcxx_future_is_not_asked") { polls_a_future(true); }
APIARY_FAILING_SCENARIO(libstdcxx_future_is_not_asked, "data race") { polls_a_future(false); }

namespace {
// Two writers and two readers; or the writers, too, hold only a reader's lock.
void shared_mutex_of(bool writes_as_reader) {
    std::shared_mutex mutex;
    int n = 0;
    const auto writes = [&] {
        if (writes_as_reader) {
            const std::shared_lock held(mutex);
            ++n;
        } else {
            const std::unique_lock held(mutex);
            ++n;
        }
    };
    const auto reads = [&] {
        const std::shared_lock held(mutex);
        const int seen = n;
        apiary::check(seen == n && seen >= 0 && seen <= 2, "written while it was read");
    };
    std::thread a(writes), b(writes), c(reads), d(reads);
    a.join();
    b.join();
    c.join();
    d.join();
    apiary::check(n == 2, "a count was lost");
}
// Two threads call with one flag, or each with its own.
void called_once(bool of_one_flag) {
    std::once_flag flags[2];
    int calls = 0;
    const auto asks = [&](int i) {
        std::call_once(flags[of_one_flag ? 0 : i], [&] { ++calls; });
        apiary::check(calls == 1, "not called once");
    };
    std::thread a(asks, 0), b(asks, 1);
    a.join();
    b.join();
}
// The first call throws, so that the next one counts: the other thread's, or the same thread's when it tries again.
void call_that_throws(bool tries_again) {
    std::once_flag flag;
    int calls = 0, done = 0;
    const auto asks = [&] {
        for (int left = tries_again ? 2 : 1; left > 0; --left) {
            try {
                std::call_once(flag, [&] {
                    if (++calls == 1) throw 1;
                    ++done;
                });
                break;
            } catch (int) {
            }
        }
        apiary::check(done == 1, "nobody called it");
    };
    std::thread a(asks), b(asks);
    a.join();
    b.join();
    apiary::check(calls == 2, "called again");
}
// The wait is given the token, or its condition asks the token and nobody notifies the waiter.
void waits_until_stopped(bool gives_the_token) {
    std::stop_source source;
    std::mutex mutex;
    std::condition_variable_any changed;
    std::thread waiter([&, token = source.get_token()] {
        std::unique_lock held(mutex);
        if (gives_the_token)
            apiary::check(!changed.wait(held, token, [] { return false; }), "what never comes came");
        else
            changed.wait(held, [&] { return token.stop_requested(); });
        apiary::check(token.stop_requested(), "ended although nobody asked");
    });
    source.request_stop();
    waiter.join();
}
// Whether the notifier holds the lock while it writes.
void waits_with_a_shared_lock(bool locks) {
    std::shared_mutex mutex;
    std::condition_variable_any changed;
    std::atomic<bool> ready{false};
    std::thread waiter([&] {
        std::shared_lock held(mutex);
        changed.wait(held, [&] { return ready.load(); });
    });
    {
        std::unique_lock held(mutex, std::defer_lock);
        if (locks) held.lock();
        ready.store(true);
    }
    changed.notify_one();
    waiter.join();
}
}  // namespace

APIARY_SCENARIO(libstdcxx_shared_mutex, "libstdcxx_shared_mutex_written_as_reader") { shared_mutex_of(false); }
APIARY_FAILING_SCENARIO(libstdcxx_shared_mutex_written_as_reader, "data race") { shared_mutex_of(true); }
APIARY_SCENARIO(libstdcxx_call_once, "libstdcxx_call_once_of_two_flags") { called_once(true); }
APIARY_FAILING_SCENARIO(libstdcxx_call_once_of_two_flags, "data race") { called_once(false); }
APIARY_SCENARIO(libstdcxx_call_once_throws, "libstdcxx_call_once_is_given_up") { call_that_throws(true); }
APIARY_FAILING_SCENARIO(libstdcxx_call_once_is_given_up, "nobody called it") { call_that_throws(false); }
APIARY_SCENARIO(libstdcxx_stop_ends_a_wait, "libstdcxx_stop_without_notice") { waits_until_stopped(true); }
APIARY_FAILING_SCENARIO(libstdcxx_stop_without_notice, "deadlock") { waits_until_stopped(false); }
APIARY_SCENARIO(libstdcxx_condition_of_a_shared_lock, "libstdcxx_condition_written_unlocked") {
    waits_with_a_shared_lock(true);
}
APIARY_FAILING_SCENARIO(libstdcxx_condition_written_unlocked, "deadlock") { waits_with_a_shared_lock(false); }
