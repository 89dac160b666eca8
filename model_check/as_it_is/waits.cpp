// Threads that wait by trying, by asking under a lock, by writing what is there already; and the same with the mistake in it.
#include <apiary/check.hpp>

#include <atomic>
#include <mutex>
#include <thread>

#include "two_threads.hpp"

// ---- several locks at once ------------------------------------------------------------------------------------------

APIARY_SCENARIO(scoped_locks_in_both_orders, "guards_in_both_orders") {
    std::mutex m, o;
    int n = 0;
    two(
        [&] {
            const std::scoped_lock held(m, o);
            ++n;
        },
        [&] {
            const std::scoped_lock held(o, m);
            ++n;
        });
    apiary::check(n == 2, "an addition was lost");
}

APIARY_FAILING_SCENARIO(guards_in_both_orders, "deadlock") {
    std::mutex m, o;
    two(
        [&] {
            const std::scoped_lock first(m);
            const std::scoped_lock second(o);
        },
        [&] {
            const std::scoped_lock first(o);
            const std::scoped_lock second(m);
        });
}

APIARY_FAILING_SCENARIO(scoped_lock_of_the_wrong_ones, "data race") {
    std::mutex m, o, p, q;
    int n = 0;
    two(
        [&] {
            const std::scoped_lock held(m, o);
            ++n;
        },
        [&] {
            const std::scoped_lock held(p, q);
            ++n;
        });
}

APIARY_SCENARIO(three_locks_in_a_circle, "scoped_lock_of_the_wrong_ones") {
    std::mutex m, o, p;
    int n = 0;
    two(
        [&] {
            const std::scoped_lock held(m, o, p);
            ++n;
        },
        [&] {
            const std::scoped_lock held(o, p, m);
            ++n;
        });
    apiary::check(n == 2, "an addition was lost");
}

// Others hold both for as long as they wait for something.
APIARY_FAILING_SCENARIO(std_lock_of_what_is_held_for_ever, "deadlock") {
    std::mutex m, o;
    std::atomic<bool> go{false};
    two(
        [&] {
            const std::scoped_lock held(m);
            while (!go.load()) {
            }
        },
        [&] {
            const std::scoped_lock held(o, m);
            go.store(true);
        });
}

// ---- try_lock ---------------------------------------------------------------------------------------------------------

APIARY_SCENARIO(tries_until_it_has_the_lock, "tries_what_is_never_unlocked") {
    std::mutex m;
    int n = 0;
    const auto add = [&] {
        while (!m.try_lock()) std::this_thread::yield();
        ++n;
        m.unlock();
    };
    two(add, add);
    apiary::check(n == 2, "an addition was lost");
}

APIARY_FAILING_SCENARIO(tries_what_is_never_unlocked, "in a loop around try_lock") {
    std::mutex m;
    std::atomic<int> had_it{0};
    const auto keep = [&] {
        while (!m.try_lock()) std::this_thread::yield();
        had_it.fetch_add(1);
        while (had_it.load() != 2) {
        }
        m.unlock();
    };
    two(keep, keep);
}

// Its count makes each round another one: it is followed up to a bound, which the verdict states.
namespace {
void two_try_and_count(unsigned most) {
    std::mutex m;
    int n = 0;
    const auto add = [&] {
        unsigned tries = 0;
        while (!m.try_lock()) apiary::check(++tries < most, "it gave up");
        ++n;
        m.unlock();
    };
    two(add, add);
    apiary::check(n == 2, "an addition was lost");
}
}  // namespace

APIARY_SCENARIO(tries_and_counts, "tries_and_gives_up") { two_try_and_count(1000); }
APIARY_FAILING_SCENARIO(tries_and_gives_up, "it gave up") { two_try_and_count(20); }

// ---- a question under a lock ------------------------------------------------------------------------------------------

namespace {
template <class Answer>
void asks_under_a_lock(Answer answer) {
    std::mutex m;
    bool done = false;
    int data = 0;
    std::thread a([&] { answer(m, done, data); });
    for (;;) {
        const std::lock_guard held(m);
        if (done) break;
    }
    apiary::check(data == 3, "stale");
    a.join();
}
}  // namespace

APIARY_SCENARIO(asks_under_a_lock_until_told, "asks_under_a_lock_for_ever") {
    asks_under_a_lock([](std::mutex& m, bool& done, int& data) {
        data = 3;
        const std::lock_guard held(m);
        done = true;
    });
}
APIARY_FAILING_SCENARIO(asks_under_a_lock_for_ever, "in a loop around lock") {
    asks_under_a_lock([](std::mutex& m, bool&, int& data) {
        const std::lock_guard held(m);
        data = 3;
    });
}
APIARY_FAILING_SCENARIO(is_told_without_the_lock, "data race") {
    asks_under_a_lock([](std::mutex&, bool& done, int&) { done = true; });
}

// It looks while it has the lock and gives it away for a moment: one that stopped where it looks would keep it.
namespace {
[[gnu::noinline]] void let_others_in_until(std::atomic<bool>& done, std::mutex& m) {
    while (!done.load()) {
        m.unlock();
        m.lock();
    }
}
}  // namespace
APIARY_SCENARIO(lets_others_in_until_told, "asks_under_a_lock_for_ever") {
    std::mutex m;
    std::atomic<bool> done{false};
    std::thread a([&] {
        const std::lock_guard held(m);
        done.store(true);
    });
    m.lock();
    let_others_in_until(done, m);
    m.unlock();
    a.join();
}

// Each round changes something: it is no waiting loop.
APIARY_FAILING_SCENARIO(turns_it_over_under_a_lock,
                        "livelock: more than 1000 steps in one thread; a loop that waits is") {
    std::mutex m;
    bool done = false, turn = false;
    std::thread a([&] {
        for (;;) {
            const std::lock_guard held(m);
            if (done) break;
            turn = !turn;
        }
    });
    {
        const std::lock_guard held(m);
        done = turn;
    }
    a.join();
}

// ---- a bit that is set already --------------------------------------------------------------------------------------------

namespace {
void two_set_a_bit(std::memory_order unlocks) {
    std::atomic<unsigned> word{0};
    int n = 0;
    const auto add = [&] {
        while ((word.fetch_or(1, std::memory_order_acquire) & 1U) != 0) {
        }
        ++n;
        word.store(0, unlocks);
    };
    two(add, add);
    apiary::check(n == 2, "an addition was lost");
}
}  // namespace

APIARY_SCENARIO(bit_guards, "bit_is_cleared_relaxed") { two_set_a_bit(std::memory_order_release); }
APIARY_FAILING_SCENARIO(bit_is_cleared_relaxed, "data race") { two_set_a_bit(std::memory_order_relaxed); }

APIARY_SCENARIO(adds_nothing_until_told, "ands_everything_for_ever") {
    std::atomic<int> word{0};
    two(
        [&] {
            while (word.fetch_add(0) == 0) {
            }
        },
        [&] { word.store(1); });
}
APIARY_FAILING_SCENARIO(ands_everything_for_ever, "in a loop around fetch_and") {
    std::atomic<unsigned> word{6};
    two(
        [&] {
            while (word.fetch_and(~0U) != 0) {
            }
        },
        [&] { word.store(1); });
}
