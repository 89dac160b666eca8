// What accesses cost, by programs whose moves were counted by hand.
#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "round_prices.hpp"

namespace apiary::virt::test::lines_test {

using S = virtual_sync;
using word = S::atomic<std::uint64_t>;
constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;

struct alignas(64) own_line {
    word w{0};
};

TEST(VirtualLines, OneProcessorAlonePaysForAColdLineOnceAndThenForHits) {
    alignas(64) word x{0};
    const outcome o = run({[&] {
        (void)x.load(relaxed);
        EXPECT_EQ(now(), 10);  // cold
        (void)x.load(relaxed);
        EXPECT_EQ(now(), 11);  // a hit
        x.store(1, relaxed);
        EXPECT_EQ(now(), 12);  // the only copy becomes its own
        x.fetch_add(1, relaxed);
        EXPECT_EQ(now(), 17);
    }});
    EXPECT_EQ(o.counts.moves, 0U);
    EXPECT_EQ(o.counts.operations, 4U);
    EXPECT_EQ(x.load(relaxed), 2U);
}

TEST(VirtualLines, AStoreThatMissesIsWaitedForByTheNextFenceAndNotByItself) {
    alignas(64) word x{0};
    run({[&] {
        x.store(1, relaxed);
        EXPECT_EQ(now(), 1);
        S::fence(std::memory_order_seq_cst);
        EXPECT_EQ(now(), 10 + 8);
        S::fence_light();
        EXPECT_EQ(now(), 18);
    }});
}

TEST(VirtualLines, AReadModifyWriteWaitsForTheStoresBeforeIt) {
    std::array<own_line, 2> x;
    run({[&] {
        x[0].w.store(1, relaxed);
        x[1].w.fetch_add(1, relaxed);
        EXPECT_EQ(now(), 10 + 10 + 5);
    }});
}

TEST(VirtualLines, AProcessorRunsNoFartherAheadOfItsStoresThanTheirBuffer) {
    std::array<own_line, 8> x;
    prices p = round_prices();
    p.cold = 100 * ns;
    p.store_buffer = 60 * ns;
    run({[&] {
        x[0].w.store(1, relaxed);
        EXPECT_EQ(now(), 100 - 60);
    }}, p);
}

// A turn is a load of the line that the other has written (it moves), and a store for which the other's copy goes (it moves).
TEST(VirtualLines, PingPongMovesItsLineTwiceATurn) {
    alignas(64) word x{0};
    constexpr std::uint64_t turns = 100;
    const outcome o = run_each(2, [&](unsigned me) {
        for (std::uint64_t t = me; t < turns; t += 2) {
            S::spin_until(x, [t](std::uint64_t v) { return v == t; });
            x.store(t + 1, release);
        }
    });
    EXPECT_EQ(x.load(relaxed), turns);
    EXPECT_NEAR(static_cast<double>(o.counts.moves) / turns, 2, 0.05);
    EXPECT_NEAR(o.ns / turns, 200, 5);
}

TEST(VirtualLines, TwoCountersMoveOnOneLineAndNotOnTwo) {
    struct alignas(64) both {
        word a{0}, b{0};
    } shared;
    own_line a, b;
    constexpr unsigned times = 200;
    const auto count = [](word& w) {
        for (unsigned i = 0; i != times; ++i) w.fetch_add(1, relaxed);
    };
    const outcome one = run({[&] { count(shared.a); }, [&] { count(shared.b); }});
    const outcome two = run({[&] { count(a.w); }, [&] { count(b.w); }});
    EXPECT_EQ(one.counts.moves, 2 * times - 1);  // each but the first, which is cold
    EXPECT_EQ(two.counts.moves, 0U);
    EXPECT_EQ(two.ns, 10 + 5 * times);
    EXPECT_GT(one.ns, 20 * two.ns);
}

TEST(VirtualLines, ReadersShareALine) {
    alignas(64) word x{0};
    const outcome o = run_each(8, [&](unsigned) {
        for (unsigned i = 0; i != 100; ++i) (void)x.load(relaxed);
    });
    EXPECT_EQ(o.counts.moves, 7U);  // one cold, seven copies of it
}

TEST(VirtualLines, TheFormerOwnerHasTheLineUntilTheRequestIsThere) {
    alignas(64) word x{0};
    prices p = round_prices();
    p.request_permille = 400;
    const outcome o = run({[&] {
                               x.store(1, relaxed);
                               machine::current()->spend(30 * ns);
                               for (int i = 0; i != 3; ++i) x.store(2, relaxed);  // at 31, 32, 33: the request comes at 50
                           },
                           [&] {
                               machine::current()->spend(10 * ns);
                               x.fetch_add(1, relaxed);  // at 10
                           }},
                          p);
    EXPECT_EQ(o.counts.moves, 1U);
}

// A compare-exchange in vain brings the line, and the next one comes before the request of the next in the queue.
TEST(VirtualLines, ThoseThatQueueForALineHaveItForAMomentEach) {
    alignas(64) word x{0};
    prices p = round_prices();
    p.request_permille = 400;
    std::array<unsigned, 6> vain{};
    const outcome o = run_each(6, [&](unsigned me) {
        if (me == 0) return x.store(1, relaxed);
        machine::current()->spend((20 + me) * ns);
        std::uint64_t seen = 0;
        while (!x.compare_exchange_weak(seen, seen + 1, relaxed, relaxed)) ++vain[me];
    }, p);
    EXPECT_EQ(x.load(relaxed), 6U);
    EXPECT_EQ(vain, (std::array<unsigned, 6>{0, 1, 1, 1, 1, 1}));
    EXPECT_EQ(o.counts.moves, 5U);
}

TEST(VirtualLines, AChangeMeetsWhatIsThereWhenItsLineHasCome) {
    alignas(64) word x{0};
    bool first = false;
    run({[&] {
             x.store(1, relaxed);
             machine::current()->spend(20 * ns);
             x.store(2, relaxed);  // at 21, and the request comes at 10 + 40
         },
         [&] {
             machine::current()->spend(10 * ns);
             std::uint64_t seen = 2;
             first = x.compare_exchange_strong(seen, 3, relaxed, relaxed);
         }},
        [] {
            prices p = round_prices();
            p.request_permille = 400;
            return p;
        }());
    EXPECT_TRUE(first);
}

TEST(VirtualLines, ALineOfAnotherClusterIsDearer) {
    prices p = round_prices();
    p.cluster = 2;
    p.far_transfer = 300 * ns;
    alignas(64) word x{0};
    std::array<double, 4> took{};
    run_each(4, [&](unsigned me) {
        machine::current()->spend(me * 10'000 * ns);
        const double before = now();
        x.fetch_add(1, relaxed);
        took[me] = now() - before;
    }, p);
    EXPECT_EQ(took, (std::array<double, 4>{15, 105, 305, 105}));

    std::array<own_line, 1> shared;  // copies in both clusters, and then a store by one of them
    run_each(3, [&](unsigned me) {
        (void)shared[0].w.load(relaxed);
        machine::current()->spend(10'000 * ns);
        if (me != 0) return;
        const double before = now();
        shared[0].w.fetch_add(1, relaxed);
        took[0] = now() - before;
    }, p);
    EXPECT_EQ(took[0], 305);
}

TEST(VirtualLines, AnUpgradeHasAPriceOfItsOwn) {
    prices p = round_prices();
    p.upgrade = 30 * ns;
    alignas(64) word x{0};
    double with_copy = 0, without = 0;
    run({[&] { (void)x.load(relaxed); },
         [&] {
             machine::current()->spend(1000 * ns);
             (void)x.load(relaxed);
             machine::current()->spend(1000 * ns);
             const double before = now();
             x.fetch_add(1, relaxed);  // it has a copy, and so has another
             with_copy = now() - before;
         },
         [&] {
             machine::current()->spend(5000 * ns);
             const double before = now();
             x.fetch_add(1, relaxed);
             without = now() - before;
         }},
        p);
    EXPECT_EQ(with_copy, 30 + 5);
    EXPECT_EQ(without, 100 + 5);
}

TEST(VirtualLines, ALoadTakesAChangedLineWholeWhereTheProfileSaysSo) {
    prices p = round_prices();
    p.load_takes = 1;
    alignas(64) word y{0};
    double reader = 0, writer = 0;
    const outcome one = run({[&] {
                                 y.store(1, relaxed);
                                 machine::current()->spend(2000 * ns);
                                 const double before = now();
                                 (void)y.load(relaxed);  // it went whole, and has not been changed since: now both have it
                                 writer = now() - before;
                             },
                             [&] {
                                 machine::current()->spend(1000 * ns);
                                 (void)y.load(relaxed);
                                 const double before = now();
                                 (void)y.load(relaxed);
                                 reader = now() - before;
                                 machine::current()->spend(2000 * ns);
                                 (void)y.load(relaxed);  // it has kept a copy
                             }},
                            p);
    EXPECT_EQ(reader, 1);
    EXPECT_EQ(writer, 100);
    EXPECT_EQ(one.counts.moves, 2U);
}

TEST(VirtualLines, ALineThatWasAskedForAheadIsThereInTime) {
    alignas(64) word x{0};
    double late = 0, early = 0;
    const outcome o = run({[&] { x.fetch_add(1, relaxed); },
                           [&] {
                               machine::current()->spend(1000 * ns);
                               machine::current()->ask_ahead(&x);
                               double before = now();
                               x.fetch_add(1, relaxed);
                               early = now() - before;  // waits for it
                               before = now();
                               x.fetch_add(1, relaxed);
                               late = now() - before;
                           }});
    EXPECT_EQ(early, 100 + 5);
    EXPECT_EQ(late, 5);
    EXPECT_EQ(o.counts.moves, 1U);
}

TEST(VirtualLines, APrefetchAsksForACopyAndALoadWaitsForTheRest) {
    static own_line x;
    double at_once = 0, again = 0, midway = 0, late = 0;
    const auto load = [] {
        const double before = now();
        (void)x.w.load(relaxed);
        return now() - before;
    };
    const outcome o = run({[&] { x.w.fetch_add(1, relaxed); },
                           [&] {
                               machine::current()->spend(1000 * ns);
                               S::prefetch(&x);
                               EXPECT_EQ(now(), 1000);
                               at_once = load();
                               again = load();
                           },
                           [&] {
                               machine::current()->spend(5000 * ns);
                               S::prefetch(&x);  // others have clean copies
                               machine::current()->spend(30 * ns);
                               midway = load();
                           },
                           [&] {
                               machine::current()->spend(9000 * ns);
                               S::prefetch(&x);
                               S::prefetch(&x);
                               machine::current()->spend(50 * ns);
                               late = load();
                           }});
    EXPECT_EQ(at_once, 100 + 1);
    EXPECT_EQ(again, 1);
    EXPECT_EQ(midway, 20 + 1);
    EXPECT_EQ(late, 1);
    EXPECT_EQ(o.counts.moves, 3U);
    EXPECT_EQ(o.counts.operations, 5U);
    for (const moves::place_row& p : o.table.at(0).places) EXPECT_EQ(p.kind, 'P');
}

TEST(VirtualLines, APrefetchIsInVainWhereAWriterComesBeforeTheLoad) {
    for (const double at : {1060.0, 1300.0}) {  // the store waits until the copy has come, and has the line at 1200
        static own_line x;
        double took = 0;
        std::uint64_t seen = 0;
        const outcome o = run({[&] {
                                   x.w.store(1, relaxed);
                                   machine::current()->spend(1049 * ns);
                                   x.w.store(2, relaxed);  // at 1050
                               },
                               [&] {
                                   machine::current()->spend(1000 * ns);
                                   S::prefetch(&x);
                                   machine::current()->spend(static_cast<picoseconds>(at - 1000) * ns);
                                   seen = x.w.load(relaxed);
                                   took = now() - at;
                               }});
        EXPECT_EQ(took, at == 1300 ? 100 : 1300 - 1060);
        EXPECT_EQ(seen, 2U);
        EXPECT_EQ(o.counts.moves, 3U);
    }
}

TEST(VirtualLines, APrefetchTakesAChangedLineWholeWhereALoadWould) {
    prices p = round_prices();
    p.load_takes = 1;
    static own_line x;
    double read = 0, written = 0;
    const outcome o = run({[&] { x.w.fetch_add(1, relaxed); },
                           [&] {
                               machine::current()->spend(1000 * ns);
                               S::prefetch(&x);
                               machine::current()->spend(40 * ns);
                               const double before = now();
                               (void)x.w.load(relaxed);
                               read = now() - before;
                               x.w.fetch_add(1, relaxed);
                               written = now() - before - read;
                           }},
                          p);
    EXPECT_EQ(read, 60 + 1);
    EXPECT_EQ(written, 5);
    EXPECT_EQ(o.counts.moves, 1U);
}

// Also by what waits for a prefetched line but is no operation of the policy, and by a change.
TEST(VirtualLines, WhateverNeedsAPrefetchedLineWaitsForIt) {
    static std::array<own_line, 2> x;
    run({[&] {
        S::prefetch(nullptr);
        S::prefetch(&x[0]);  // both are cold
        S::prefetch(&x[1]);
        EXPECT_EQ(now(), 0);
        machine::current()->touch_plain(&x[0], 8, access::load, nullptr);
        EXPECT_EQ(now(), 10);
        machine::current()->touch_plain(&x[0], 8, access::load, nullptr);
        EXPECT_EQ(now(), 10);
    }});
    run({[&] {
             S::prefetch(&x[0]);
             x[0].w.fetch_add(1, relaxed);
             EXPECT_EQ(now(), 10 + 5);
         },
         [&] {
             machine::current()->spend(1000 * ns);
             S::prefetch(&x[0]);  // there at 1100; then the other one has to lose its copy
             x[0].w.fetch_add(1, relaxed);
             EXPECT_EQ(now(), 1000 + 100 + 100 + 5);
         }});
    run_each(3, [&](unsigned me) {
        machine::current()->spend((me + 1) * 1000 * ns);
        if (me != 2) return (void)x[0].w.load(relaxed);
        S::prefetch(&x[0]);  // two have clean copies, so this one is there at 3050, and the line takes others from 3020
        x[0].w.fetch_add(1, relaxed);
        EXPECT_EQ(now(), 3000 + 50 + 100 + 5);
    });
    run_each(3, [&](unsigned me) {
        machine::current()->spend((me + 1) * 1000 * ns);
        if (me != 2) return (void)x[0].w.load(relaxed);
        S::prefetch(&x[0]);
        machine::current()->ask_ahead(&x[0]);
        x[0].w.fetch_add(1, relaxed);
        EXPECT_EQ(now(), 3000 + 50 + 100 + 5);
    });
}

TEST(VirtualLines, AProcessorWaitsForSixteenPrefetchedCopiesAtATime) {
    static std::array<own_line, 33> x;
    run({[&] {
        for (unsigned i = 0; i != 17; ++i) S::prefetch(&x[i]);
        machine::current()->spend(10 * ns);
        for (unsigned i = 16; i != 32; ++i) S::prefetch(&x[i]);  // the first ones are there, and so there is room
        machine::current()->spend(10 * ns);
        for (unsigned i = 0; i != 32; ++i) (void)x[i].w.load(relaxed);
        EXPECT_EQ(now(), 20 + 32);
        for (unsigned i = 0; i != 16; ++i) S::prefetch(&x[i]);  // has them
        S::prefetch(&x[32]);
        machine::current()->spend(10 * ns);
        (void)x[32].w.load(relaxed);
        EXPECT_EQ(now(), 62 + 1);
    }});
    run({[&] {
        for (unsigned i = 0; i != 17; ++i) S::prefetch(&x[i]);
        machine::current()->spend(10 * ns);
        for (unsigned i = 0; i != 17; ++i) (void)x[i].w.load(relaxed);
        EXPECT_EQ(now(), 10 + 16 + 10);  // the last one was not asked for
    }});
}

// Two locks of the textbooks (Mellor-Crummey and Scott, 1991).
class ticket_lock {
public:
    void lock() {
        const std::uint64_t mine = next_.w.fetch_add(1, relaxed);
        S::spin_until(serving_.w, [mine](std::uint64_t v) { return v == mine; });
    }
    void unlock() { serving_.w.store(serving_.w.load(relaxed) + 1, release); }

private:
    own_line next_, serving_;
};
struct alignas(64) mcs_node {
    S::atomic<mcs_node*> next{nullptr};
    S::atomic<std::uint32_t> waits{0};
};
class mcs_lock {
public:
    void lock(mcs_node& n) {
        n.next.store(nullptr, relaxed);
        n.waits.store(1, relaxed);
        mcs_node* const before = tail_.exchange(&n, std::memory_order_acq_rel);
        if (before == nullptr) return;
        before->next.store(&n, release);
        S::spin_until(n.waits, [](std::uint32_t v) { return v == 0; });
    }
    void unlock(mcs_node& n) {
        mcs_node* after = n.next.load(acquire);
        if (after == nullptr) {
            mcs_node* expected = &n;
            if (tail_.compare_exchange_strong(expected, nullptr, release, relaxed)) return;
            after = S::spin_until(n.next, [](const mcs_node* p) { return p != nullptr; });
        }
        after->waits.store(0, release);
    }

private:
    alignas(64) S::atomic<mcs_node*> tail_{nullptr};
};

struct cost {
    double moves, ns;
};
constexpr unsigned passes = 40;
cost of_ticket_lock(unsigned processors) {
    ticket_lock l;
    std::uint64_t sum = 0;
    const outcome o = run_each(processors, [&](unsigned) {
        for (unsigned i = 0; i != passes; ++i) {
            l.lock();
            ++sum;
            l.unlock();
        }
    });
    EXPECT_EQ(sum, passes * processors);
    return {static_cast<double>(o.counts.moves) / static_cast<double>(sum), o.ns / static_cast<double>(sum)};
}
cost of_mcs_lock(unsigned processors) {
    mcs_lock l;
    std::vector<mcs_node> nodes(processors);
    std::uint64_t sum = 0;
    const outcome o = run_each(processors, [&](unsigned me) {
        for (unsigned i = 0; i != passes; ++i) {
            l.lock(nodes[me]);
            ++sum;
            l.unlock(nodes[me]);
        }
    });
    EXPECT_EQ(sum, passes * processors);
    return {static_cast<double>(o.counts.moves) / static_cast<double>(sum), o.ns / static_cast<double>(sum)};
}

// A ticket lock's release takes the line from all that spin on it, and each fetches it again; MCS wakes one.
TEST(VirtualLines, ATicketLockCostsMoreWithEachProcessorAndAnMcsLockDoesNot) {
    const cost ticket4 = of_ticket_lock(4), ticket32 = of_ticket_lock(32), mcs4 = of_mcs_lock(4), mcs32 = of_mcs_lock(32);
    EXPECT_NEAR(ticket4.moves, 1 + 1 + 3, 1);
    EXPECT_NEAR(ticket32.moves, 1 + 1 + 31, 2);
    EXPECT_GT(ticket32.ns, 2 * ticket4.ns);
    EXPECT_NEAR(mcs32.moves, mcs4.moves, 0.5);
    EXPECT_NEAR(mcs32.ns, mcs4.ns, 0.1 * mcs4.ns);
}

}  // namespace apiary::virt::test::lines_test
