// libstdc++ in sizes that `prove` has no time for: what is true of it is in ../README.md.
#include <apiary/check.hpp>

#include <array>
#include <atomic>
#include <barrier>
#include <condition_variable>
#include <future>
#include <latch>
#include <memory>
#include <mutex>
#include <semaphore>
#include <stop_token>
#include <thread>

APIARY_SCENARIO(long_barrier_of_three, "libstdcxx_barrier_asked_too_early") {
    std::array<int, 3> parts{};
    std::barrier meet(3);
    const auto part = [&](unsigned i) {
        parts[i] = 1;
        meet.arrive_and_wait();
        apiary::check(parts[0] + parts[1] + parts[2] == 3, "passed before the others arrived");
    };
    std::thread a(part, 0), b(part, 1), c(part, 2);
    a.join();
    b.join();
    c.join();
}

// The third arrives and goes on.
APIARY_SCENARIO(long_barrier_of_three_two_wait, "libstdcxx_barrier_asked_too_early") {
    std::array<int, 3> parts{};
    std::barrier meet(3);
    const auto part = [&](unsigned i) {
        parts[i] = 1;
        meet.arrive_and_wait();
        apiary::check(parts[0] + parts[1] + parts[2] == 3, "passed before the others arrived");
    };
    std::thread a(part, 0), b(part, 1);
    parts[2] = 1;
    (void)meet.arrive();
    a.join();
    b.join();
}

APIARY_SCENARIO(long_barrier_twice, "libstdcxx_barrier_asked_too_early") {
    int parts[2] = {}, sum = 0;
    std::barrier meet(2, [&]() noexcept { sum += parts[0] + parts[1]; });
    const auto part = [&](int i) {
        for (int round = 1; round <= 2; ++round) {
            parts[i] = i + 1;
            meet.arrive_and_wait();
            apiary::check(sum == 3 * round, "passed before the sum was made");
        }
    };
    std::thread a(part, 0), b(part, 1);
    a.join();
    b.join();
}

APIARY_FAILING_SCENARIO(long_semaphore_two_rounds, "deadlock") {
    std::counting_semaphore<> s{1};
    int held = 0;
    const auto in_turn = [&] {
        for (int round = 0; round < 2; ++round) {
            s.acquire();
            ++held;
            s.release();
        }
    };
    std::thread a(in_turn), b(in_turn);
    a.join();
    b.join();
    apiary::check(held == 4, "two held it at once");
}

APIARY_SCENARIO(long_binary_to_and_fro, "libstdcxx_semaphore") {
    std::binary_semaphore to{0}, fro{0};
    int data = 0;
    std::thread a([&] {
        data = 1;
        to.release();
        fro.acquire();
        apiary::check(data == 2, "no answer");
        data = 3;
        to.release();
    });
    std::thread b([&] {
        to.acquire();
        apiary::check(data == 1, "acquired before the release");
        data = 2;
        fro.release();
        to.acquire();
        apiary::check(data == 3, "acquired before the second release");
    });
    a.join();
    b.join();
}

APIARY_SCENARIO(long_semaphore_releases_two, "libstdcxx_semaphore") {
    std::counting_semaphore<> s{0};
    int data = 0;
    const auto waiter = [&] {
        s.acquire();
        apiary::check(data == 1, "acquired before the release");
    };
    std::thread a(waiter), b(waiter);
    data = 1;
    s.release(2);
    a.join();
    b.join();
}

APIARY_FAILING_SCENARIO(long_latch_counted_down, "deadlock") {
    std::latch all{2};
    int data[2] = {};
    std::thread a([&] {
        data[0] = 1;
        all.count_down();
    });
    std::thread b([&] {
        data[1] = 1;
        all.count_down();
    });
    all.wait();
    apiary::check(data[0] + data[1] == 2, "passed before both had counted");
    a.join();
    b.join();
}

APIARY_SCENARIO(long_atomic_wait_of_two, "libstdcxx_semaphore") {
    std::atomic<int> flag{0};
    int data = 0;
    const auto waiter = [&] {
        flag.wait(0);
        apiary::check(data == 1, "woken before the store");
    };
    std::thread a(waiter), b(waiter);
    data = 1;
    flag.store(1);
    flag.notify_all();
    a.join();
    b.join();
}

APIARY_SCENARIO(long_stop_token_asked_twice, "libstdcxx_stop_token_asked_too_early") {
    std::stop_source source;
    bool first[2] = {};
    std::thread a([&] { first[0] = source.request_stop(); }), b([&] { first[1] = source.request_stop(); });
    int called = 0;
    {
        const std::stop_callback callback(source.get_token(), [&] { ++called; });
    }
    apiary::check(called <= 1, "called twice");
    a.join();
    b.join();
    apiary::check(first[0] != first[1], "both were the first, or neither");
}

APIARY_SCENARIO(long_weak_ptr_locks, "libstdcxx_atomic_shared_ptr") {
    auto shared = std::make_shared<int>(1);
    const std::weak_ptr<int> weak = shared;
    const auto locks = [&] {
        for (int round = 0; round < 2; ++round)
            if (const auto one = weak.lock()) apiary::check(*one == 1, "dead although it is held");
    };
    std::thread a(locks), b(locks);
    shared.reset();
    a.join();
    b.join();
    apiary::check(weak.expired(), "alive although nobody holds it");
}

APIARY_SCENARIO(long_shared_future_of_two, "libstdcxx_future_is_not_asked") {
    std::promise<int> promise;
    const std::shared_future<int> over = promise.get_future().share();
    int data = 0;
    const auto waiter = [&, over] { apiary::check(over.get() == 7 && data == 3, "stale"); };
    std::thread a(waiter), b(waiter);
    data = 3;
    promise.set_value(7);
    a.join();
    b.join();
}

// What the notifier writes ends the wait, or the stop; wait() says which.
APIARY_SCENARIO(long_stop_or_notice_ends_a_wait, "libstdcxx_stop_without_notice") {
    std::stop_source source;
    std::mutex mutex;
    std::condition_variable_any changed;
    bool ready = false;
    std::thread waiter([&, token = source.get_token()] {
        std::unique_lock held(mutex);
        const bool came = changed.wait(held, token, [&] { return ready; });
        apiary::check(came == ready && (came || token.stop_requested()), "ended although nothing came");
    });
    std::thread notifier([&] {
        {
            const std::lock_guard held(mutex);
            ready = true;
        }
        changed.notify_one();
    });
    source.request_stop();
    waiter.join();
    notifier.join();
}
