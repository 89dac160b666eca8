// Threads that wait in loops whose rounds differ: they keep what they saw in memory of others, they count, they pause longer each
// time. And the same with the mistake in it, some of which only a later round makes.
#include <apiary/check.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>

#include "two_threads.hpp"

namespace {

void pause() { __builtin_ia32_pause(); }

// ---- what was seen is kept in memory of others ---------------------------------------------------------------------------

// One producer, one consumer: each keeps what it last saw of the other's index, and blocks.
struct ring {
    std::atomic<unsigned> head{0}, tail{0};
    unsigned head_seen = 0, tail_seen = 0;  // the producer's, the consumer's
    int slot = 0;

    void push(int v, std::memory_order publishes = std::memory_order_release) {
        const unsigned t = tail.load(std::memory_order_relaxed);
        while (t != head_seen) head_seen = head.load(std::memory_order_acquire);
        slot = v;
        tail.store(t + 1, publishes);
    }
    int pop() {
        const unsigned h = head.load(std::memory_order_relaxed);
        while (h == tail_seen) tail_seen = tail.load(std::memory_order_acquire);
        const int v = slot;
        head.store(h + 1, std::memory_order_release);
        return v;
    }
};

void two_pass_on(std::memory_order publishes) {
    const auto q = std::make_unique<ring>();
    two(
        [&] {
            q->push(1, publishes);
            q->push(2, publishes);
        },
        [&] {
            apiary::check(q->pop() == 1, "the first one is first");
            apiary::check(q->pop() == 2, "the second one is second");
        });
}

}  // namespace

APIARY_SCENARIO(index_is_kept_in_the_heap, "index_is_published_relaxed") { two_pass_on(std::memory_order_release); }
APIARY_FAILING_SCENARIO(index_is_published_relaxed, "data race") { two_pass_on(std::memory_order_relaxed); }

APIARY_FAILING_SCENARIO(pops_what_nobody_pushes, "in a loop around load") {
    const auto q = std::make_unique<ring>();
    two([&] { q->push(1); }, [&] { apiary::check(q->pop() + q->pop() == 3, "both"); });
}

// It writes the same value in each round: that is a write, whatever was there.
APIARY_FAILING_SCENARIO(looks_at_anothers_index, "data race") {
    const auto q = std::make_unique<ring>();
    two(
        [&] {
            const unsigned seen = q->tail_seen;
            q->push(static_cast<int>(seen) + 1);
        },
        [&] { (void)q->pop(); });
}

// The same value for three rounds, and then another one.
namespace {
template <class F>
void level_rises_in_the_third_round(F at_level) {
    const auto level = std::make_unique<unsigned>(0);
    std::atomic<bool> go{false}, high{false};
    two(
        [&] {
            for (unsigned n = 0; !go.load(); ++n) {
                *level = n < 6 ? n / 3 : 2;
                if (*level == 2 && !high.load()) high.store(true);
                at_level(*level);
            }
        },
        [&] {
            while (!high.load()) {
            }
            go.store(true);
        });
}
}  // namespace
APIARY_SCENARIO(level_lets_the_other_go, "level_is_too_high") { level_rises_in_the_third_round([](unsigned) {}); }
APIARY_FAILING_SCENARIO(level_is_too_high, "the level is 2") {
    level_rises_in_the_third_round([](unsigned level) { apiary::check(level != 2, "the level is 2"); });
}

// It turns it over and back again in each round, each time under the lock: others may see it.
APIARY_FAILING_SCENARIO(turns_it_over_and_back,
                        "livelock: more than 1000 steps in one thread; a loop that waits is") {
    const auto turned = std::make_unique<bool>(false);
    std::mutex m;
    std::atomic<bool> done{false};
    two(
        [&] {
            while (!done.load()) {
                const auto turn = [&](bool to) {
                    const std::lock_guard held(m);
                    *turned = to;
                };
                turn(true);
                turn(false);
            }
        },
        [&] {
            {
                const std::lock_guard held(m);
                apiary::check(!*turned, "it was turned over");
            }
            done.store(true);
        });
}

// Each store of an atomic is a message of its own, which the other takes away: a round that stores the same changes something.
APIARY_FAILING_SCENARIO(stores_the_same_each_round,
                        "livelock: more than 1000 steps in one thread; a loop that waits is") {
    std::atomic<unsigned> full{1};
    std::atomic<bool> done{false};
    two(
        [&] {
            while (!done.load()) full.store(1);
        },
        [&] {
            for (unsigned n = 0; n < 3; ++n)
                while (full.exchange(0) == 0) {
                }
            done.store(true);
        });
}

// ---- rounds are counted ----------------------------------------------------------------------------------------------------

namespace {

// 1,000 looks, and then it sleeps.
template <class Sleep>
void spins_and_sleeps(const std::atomic<unsigned>& word, Sleep sleep) {
    for (;;) {
        for (unsigned n = 0; n < 1000; ++n) {
            if (word.load(std::memory_order_acquire) != 0) return;
            pause();
        }
        sleep();
    }
}

// Its store is seq_cst: after a release one std::atomic::wait misses a wake (libstdc++ 12).
void spins_and_waits(bool tells) {
    std::atomic<unsigned> word{0};
    int data = 0;
    two(
        [&] {
            spins_and_sleeps(word, [&] { word.wait(0, std::memory_order_acquire); });
            apiary::check(data == 1, "stale");
        },
        [&] {
            data = 1;
            word.store(1);
            if (tells) word.notify_one();
        });
}

void spins_and_waits_for_a_condition(bool under_the_lock) {
    std::atomic<unsigned> word{0};
    std::mutex m;
    std::condition_variable told;
    two(
        [&] {
            spins_and_sleeps(word, [&] {
                std::unique_lock held(m);
                if (word.load(std::memory_order_relaxed) == 0) told.wait(held);
            });
        },
        [&] {
            {
                std::unique_lock held(m, std::defer_lock);
                if (under_the_lock) held.lock();
                word.store(1, std::memory_order_release);
            }
            told.notify_one();
        });
}

}  // namespace

APIARY_SCENARIO(spins_and_then_waits, "spins_and_is_not_woken") { spins_and_waits(true); }
APIARY_FAILING_SCENARIO(spins_and_is_not_woken, "deadlock") { spins_and_waits(false); }

APIARY_SCENARIO(spins_and_then_waits_for_a_condition, "spins_and_misses_the_condition") {
    spins_and_waits_for_a_condition(true);
}
APIARY_FAILING_SCENARIO(spins_and_misses_the_condition, "deadlock") { spins_and_waits_for_a_condition(false); }

APIARY_SCENARIO(spins_and_yields, "spins_and_yields_for_ever") {
    std::atomic<unsigned> word{0};
    two([&] { spins_and_sleeps(word, [] { std::this_thread::yield(); }); }, [&] { word.store(1); });
}
APIARY_FAILING_SCENARIO(spins_and_yields_for_ever, "in a loop around load") {
    std::atomic<unsigned> word{0};
    two([&] { spins_and_sleeps(word, [] { std::this_thread::yield(); }); }, [&] { word.store(0); });
}

// A semaphore that is tried 10,000 times before its waiter says that it sleeps.
namespace {
void tries_a_semaphore(bool gives_early) {
    std::atomic<int> count{0};
    int data = 0;
    const auto try_once = [&] {
        int seen = count.load(std::memory_order_relaxed);
        return seen > 0 && count.compare_exchange_strong(seen, seen - 1, std::memory_order_acquire);
    };
    const auto take = [&] {
        for (unsigned left = 10'000; left-- != 0;)
            if (try_once()) return;
        if (count.fetch_sub(1) > 0) return;
        int seen = 0;
        while ((seen = count.load()) < 0) count.wait(seen);
    };
    const auto give = [&] {
        count.fetch_add(1);
        count.notify_one();
    };
    two(
        [&] {
            take();
            apiary::check(data == 1, "stale");
        },
        [&] {
            if (gives_early) give();
            data = 1;
            if (!gives_early) give();
        });
}
}  // namespace
APIARY_SCENARIO(tries_ten_thousand_times, "tries_what_is_given_early") { tries_a_semaphore(false); }
APIARY_FAILING_SCENARIO(tries_what_is_given_early, "stale") { tries_a_semaphore(true); }

// Stages of a spin lock: a few looks, some with pauses, then many, and others are let in.
namespace {
void two_lock_by_stages(std::memory_order unlocks) {
    std::atomic_flag taken;
    int n = 0;
    const auto try_lock = [&] { return !taken.test_and_set(std::memory_order_acquire); };
    const auto lock = [&] {
        for (int i = 0; i < 5; ++i)
            if (try_lock()) return;
        for (;;) {
            for (int i = 0; i < 3000; ++i) {
                if (try_lock()) return;
                pause();
            }
            std::this_thread::yield();
        }
    };
    const auto add = [&] {
        lock();
        ++n;
        taken.clear(unlocks);
    };
    two(add, add);
    apiary::check(n == 2, "an addition was lost");
}
}  // namespace
APIARY_SCENARIO(locks_by_stages, "unlocks_relaxed_by_stages") { two_lock_by_stages(std::memory_order_release); }
APIARY_FAILING_SCENARIO(unlocks_relaxed_by_stages, "data race") { two_lock_by_stages(std::memory_order_relaxed); }

// It pauses twice as long each time, up to a limit.
namespace {
void backs_off(std::memory_order publishes) {
    std::atomic<unsigned> word{0};
    int data = 0;
    two(
        [&] {
            for (unsigned n = 1; word.load(std::memory_order_acquire) == 0;) {
                for (unsigned i = 0; i < n; ++i) pause();
                if (n < 1U << 12) n *= 2;
            }
            apiary::check(data == 1, "stale");
        },
        [&] {
            data = 1;
            word.store(1, publishes);
        });
}
}  // namespace
APIARY_SCENARIO(pauses_twice_as_long, "pauses_for_what_is_relaxed") { backs_off(std::memory_order_release); }
APIARY_FAILING_SCENARIO(pauses_for_what_is_relaxed, "data race") { backs_off(std::memory_order_relaxed); }

// How often it looks is a local's value, which doubles each time, as far as another local's.
namespace {
void looks_as_often_as(unsigned least, unsigned most, std::memory_order publishes) {
    std::atomic<unsigned> word{0};
    int data = 0;
    two(
        [&, least, most] {
            for (unsigned limit = least;; limit = limit < most ? limit * 2 : limit) {
                for (unsigned n = 0; n != limit; ++n)
                    if (word.load(std::memory_order_acquire) != 0) return apiary::check(data == 1, "stale");
                std::this_thread::yield();
            }
        },
        [&] {
            data = 1;
            word.store(1, publishes);
        });
}
}  // namespace
APIARY_SCENARIO(looks_as_often_as_a_local_says, "looks_for_what_is_relaxed") {
    looks_as_often_as(5, 2000, std::memory_order_release);
}
APIARY_FAILING_SCENARIO(looks_for_what_is_relaxed, "data race") {
    looks_as_often_as(5, 2000, std::memory_order_relaxed);
}

// ---- what a later round does -------------------------------------------------------------------------------------------------

namespace {
// Round `special` of so many adds to what the other thread adds to, too.
void adds_in_round(unsigned special) {
    std::atomic<unsigned> word{0};
    int n = 0;
    two(
        [&] {
            for (unsigned round = 0; round < 1000 && word.load() == 0; ++round)
                if (round == special) ++n;
        },
        [&] {
            ++n;
            word.store(1);
        });
}
}  // namespace
APIARY_FAILING_SCENARIO(adds_in_the_third_round, "data race") { adds_in_round(2); }
APIARY_FAILING_SCENARIO(adds_in_the_five_hundredth_round, "data race") { adds_in_round(499); }
APIARY_SCENARIO(adds_in_no_round, "adds_in_the_five_hundredth_round") { adds_in_round(1000); }

// It gives up after so many rounds.
APIARY_FAILING_SCENARIO(gives_up_after_many_rounds, "it gave up") {
    std::atomic<unsigned> word{0};
    two(
        [&] {
            for (unsigned n = 0; word.load() == 0; ++n) apiary::check(n < 5000, "it gave up");
        },
        [&] { word.store(1); });
}

// It counts for ever, and nobody ends it.
APIARY_FAILING_SCENARIO(spins_and_counts_for_ever, "in a loop around load, more than 100000 times") {
    std::atomic<unsigned> word{0};
    two(
        [&] {
            unsigned long n = 0;
            while (word.load() == 0) ++n;
            apiary::check(n != 1UL << 63, "so often");
        },
        [&] { word.store(0); });
}

// Each of three looks is looked at: few rounds are none that are cut.
APIARY_FAILING_SCENARIO(third_look_is_the_first_that_sees_it, "the third look") {
    std::atomic<unsigned> word{0};
    two(
        [&] {
            for (unsigned n = 0; n < 3; ++n)
                if (word.load() != 0) return apiary::check(n != 2, "the third look");
        },
        [&] { word.store(1); });
}

// From its fifteenth round on it looks elsewhere.
APIARY_FAILING_SCENARIO(looks_elsewhere_later, "the other one is set") {
    std::atomic<unsigned> words[2] = {0, 1};
    two(
        [&] {
            for (unsigned n = 0; n < 30; ++n)
                if (words[n / 15].load() != 0) return apiary::check(n != 15, "the other one is set");
        },
        [&] { words[0].store(0); });
}

// In round 20 it expects what is there.
APIARY_FAILING_SCENARIO(swaps_in_round_twenty, "it swapped") {
    std::atomic<unsigned> word{20};
    two(
        [&] {
            for (unsigned n = 0; n < 30; ++n) {
                unsigned expected = n;
                apiary::check(!word.compare_exchange_strong(expected, 40), "it swapped");
            }
        },
        [&] { (void)word.load(); });
}

// Its own count stands still after ten rounds, and another one in memory of others goes on.
APIARY_FAILING_SCENARIO(counts_on_in_the_heap, "fifty late rounds") {
    const auto late = std::make_unique<unsigned>(0);
    std::atomic<unsigned> word{0};
    two(
        [&] {
            for (unsigned n = 0; word.load() == 0; n += n < 10 ? 1 : 0)
                if (n == 10) apiary::check(++*late != 50, "fifty late rounds");
        },
        [&] { word.store(0); });
}

// What it learns by a fence after its first loop, the second one, in the same place, must not forget.
namespace {
enum class sight { nothing, ready, data };
[[gnu::noinline]] sight look_twenty_times(const std::atomic<unsigned>& data, const std::atomic<unsigned>& ready) {
    unsigned last = 0;
    for (unsigned n = 0; n < 20; ++n) {
        if (data.load(std::memory_order_relaxed) != 0) return sight::data;
        last = ready.load(std::memory_order_relaxed);
    }
    return last != 0 ? sight::ready : sight::nothing;
}
template <class Between>
void looks_and_looks_again(Between between) {
    std::atomic<unsigned> data{0}, ready{0};
    two(
        [&] {
            if (look_twenty_times(data, ready) != sight::ready) return;
            between();
            apiary::check(look_twenty_times(data, ready) == sight::data, "data is stale");
        },
        [&] {
            data.store(1, std::memory_order_relaxed);
            ready.store(1, std::memory_order_release);
        });
}
}  // namespace
APIARY_SCENARIO(fence_between_two_spins, "no_fence_between_two_spins") {
    looks_and_looks_again([] { std::atomic_thread_fence(std::memory_order_acquire); });
}
APIARY_FAILING_SCENARIO(no_fence_between_two_spins, "data is stale") { looks_and_looks_again([] {}); }

// Each look is kept in a place of its own: it is no spin, however many there are.
APIARY_FAILING_SCENARIO(nineteenth_look_is_kept, "two looks have seen it") {
    std::atomic<unsigned> word{0};
    two(
        [&] {
            unsigned seen[20] = {};
            for (unsigned& s : seen) s = word.load();
            unsigned sum = 0;
            for (const unsigned s : seen) sum += s;
            apiary::check(sum != 2, "two looks have seen it");
        },
        [&] { word.store(1); });
}

// Rounds are cut only in executions that are given up, since the loop has no end of its own: the bound says so all the same.
APIARY_SCENARIO(waits_and_counts_its_rounds, "third_look_is_the_first_that_sees_it") {
    std::atomic<unsigned> word{0};
    two(
        [&] {
            unsigned n = 0;
            while (word.load() == 0) ++n;
            apiary::check(n != 20, "the twentieth look");
        },
        [&] { word.store(1); });
}
// It gives up after more rounds than are cut: what comes after that is not seen, and the bound says so.
APIARY_SCENARIO(gives_up_after_two_hundred_thousand, "third_look_is_the_first_that_sees_it") {
    std::atomic<unsigned> word{0};
    two(
        [&] {
            for (unsigned n = 0; n < 200'000; ++n)
                if (word.load() != 0) return;
            apiary::check(false, "it has given up");
        },
        [&] { word.store(1); });
}

// It asks of its count what no round does that is looked at: eight of them are (`--bounds rounds=8`). `rounds=20` finds it.
APIARY_SCENARIO(twentieth_look_is_the_first_that_sees_it, "third_look_is_the_first_that_sees_it") {
    std::atomic<unsigned> word{0};
    two(
        [&] {
            for (unsigned n = 0; n < 30; ++n)
                if (word.load() != 0) return apiary::check(n != 19, "the twentieth look");
        },
        [&] { word.store(1); });
}

// ---- what the loop carries is an argument, and nowhere else ----------------------------------------------------------------
// Two visits of such an operation look alike but for it: they are no waiting loop.

namespace {

// Follows two links by loads alone. Another thread cuts the way at its beginning.
struct chain {
    std::atomic<int> next[2] = {1, -2};

    int follow() {
        int i = 0;
        do i = next[i].load(std::memory_order_acquire);
        while (i >= 0);
        return i;
    }
    void cut() { next[0].store(-1, std::memory_order_release); }
};

struct link {
    std::atomic<std::uintptr_t> next{0};
};
// A list whose links may have a mark in their lowest bit, and which one thread takes apart.
void walks_beside_a_cut(bool gives_back) {
    auto* const last = new link;
    link first;
    first.next.store(reinterpret_cast<std::uintptr_t>(last) | 1, std::memory_order_relaxed);
    two(
        [&] {
            const link* at = &first;
            do at = reinterpret_cast<const link*>(at->next.load(std::memory_order_acquire) & ~std::uintptr_t{1});
            while (at != nullptr);
        },
        [&] {
            first.next.store(0, std::memory_order_release);
            if (gives_back) delete last;
        });
    if (!gives_back) delete last;
}

// The value that it writes depends on what it has read.
void exchanges_until_told(std::atomic<int>& x) {
    int v = 0;
    do v = x.exchange(v) == 0 ? 2 : 0;
    while (v != 0);
}

}  // namespace

APIARY_SCENARIO(chain_ends, "chain_is_followed_before_the_cut") {
    chain c;
    two([&] { apiary::check(c.follow() < 0, "its end"); }, [&] { c.cut(); });
}
APIARY_FAILING_SCENARIO(chain_is_followed_before_the_cut, "it was cut later") {
    chain c;
    two([&] { apiary::check(c.follow() == -1, "it was cut later"); }, [&] { c.cut(); });
}
APIARY_SCENARIO(marked_list_is_walked, "marked_list_is_given_back_meanwhile") { walks_beside_a_cut(false); }
APIARY_FAILING_SCENARIO(marked_list_is_given_back_meanwhile, "freed memory") { walks_beside_a_cut(true); }
APIARY_SCENARIO(value_is_told_by_what_was_read, "value_is_written_before_the_other") {
    std::atomic<int> x{0};
    two([&] { exchanges_until_told(x); }, [&] { x.store(3); });
    apiary::check(x.load() != 1, "a value of one of the two");
}
APIARY_FAILING_SCENARIO(value_is_written_before_the_other, "it had looked before") {
    std::atomic<int> x{0};
    two([&] { exchanges_until_told(x); }, [&] { x.store(3); });
    apiary::check(x.load() != 2, "it had looked before");
}
