// Threads, sleeps, exceptions, memory of the virtual machine; and what it says to bad input.
#include <gtest/gtest.h>

#include <sched.h>
#include <sys/resource.h>

#include <atomic>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "round_prices.hpp"

namespace apiary::virt::test::machine_test {

using S = virtual_sync;
using word = S::atomic<std::uint64_t>;
constexpr auto relaxed = std::memory_order_relaxed;

template <class E>
std::string told_by(const std::function<void()>& f) {
    try {
        f();
    } catch (const E& e) {
        return e.what();
    }
    return "nothing was thrown";
}
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

int ends = 0;
void count_an_end() {
    ++ends;
    EXPECT_EQ((S::local<std::pair<int, int>>().first), 7);
}

// Held to a search through all clocks; few clocks, so that many are equal.
TEST(VirtualTurns, GoToTheEarliestAndOfEqualsToTheLowerNumber) {
    for (const unsigned numbers : {1U, 2U, 5U, 64U, 100U}) {
        turns t(numbers);
        std::vector<picoseconds> clocks(numbers, turns::nobody);
        EXPECT_EQ(t.first_at(), turns::nobody);
        std::uint64_t x = numbers;
        for (int i = 0; i != 500; ++i) {
            x = x * 6364136223846793005U + 1442695040888963407U;
            const auto number = static_cast<unsigned>((x >> 33) % numbers);
            const auto drawn = static_cast<picoseconds>((x >> 20) % 8);
            clocks[number] = drawn == 7 ? turns::nobody : drawn;
            t.set(number, clocks[number]);
            const auto first = std::min_element(clocks.begin(), clocks.end());
            ASSERT_EQ(t.first_at(), *first);
            if (*first == turns::nobody) continue;
            ASSERT_EQ(t.first(), first - clocks.begin());
        }
    }
}

TEST(VirtualMachine, AThreadHasItsOwnObjectsStackAndEnd) {
    ends = 0;
    const int outside = 0;
    const std::function<void()> body = [&] {
        auto& mine = S::local<std::pair<int, int>>();
        EXPECT_EQ(mine.first, 0);
        mine.first = 7;
        S::yield();  // the other one comes
        EXPECT_EQ(mine.first, 7);
        EXPECT_TRUE(!stacks_have_bounds || S::stack().contain(__builtin_frame_address(0)));
        EXPECT_TRUE(!stacks_have_bounds || !S::stack().contain(&outside));
        S::at_thread_exit<&count_an_end>();
        S::at_thread_exit<&count_an_end>();
        EXPECT_EQ(ends, 0);
        S::sleep_ns(1'000'000);
    };
    run({body, body});
    EXPECT_EQ(ends, 2);
    EXPECT_TRUE(S::stack().contain(&outside));
    EXPECT_EQ((S::local<std::pair<int, int>>().first), 0) << "the host has its own, too";
}

TEST(VirtualMachine, AWokenThreadBeginsALatencyAfterTheWake) {
    S::futex f{0};
    double woken = 0;
    const outcome o = run({[&] {
                               while (f.load(relaxed) == 0) (void)f.wait(0, S::forever);
                               woken = now();
                           },
                           [&] {
                               machine::current()->spend(20'000 * ns);
                               f.exchange(1, relaxed);  // 100 for the line, 5 for itself
                               f.wake_one();
                               EXPECT_EQ(now(), 20'000 + 105 + 600);
                               f.wake_all();  // nobody
                               EXPECT_EQ(now(), 20'000 + 105 + 600 + 150);
                           }});
    EXPECT_EQ(woken, 20'705 + 8000 + 100);  // and the line comes back, to be read
    EXPECT_EQ(o.counts.sleeps, 1U);
    EXPECT_EQ(o.counts.wakes, 1U);
}

TEST(VirtualMachine, ATimedWaitEndsAtItsDeadlineAndAWakeComesToNobodyThen) {
    S::futex f{0};
    run({[&] {
             EXPECT_FALSE(f.wait(0, 1'000'000));
             EXPECT_EQ(now(), 1'000'000 + 50'000);
             EXPECT_FALSE(f.wait(0, 5));  // over already
             EXPECT_TRUE(f.wait(7, S::forever));  // another value: at once
         },
         [&] {
             S::current<int>();
             machine::current()->sleep_ns(2'000'000, {});
             const double before = now();
             f.wake_one();
             EXPECT_EQ(now() - before, 150);
         }});
}

TEST(VirtualMachine, AHeavyFenceInterruptsThoseThatRunAndNotThoseThatSleep) {
    S::futex f{0};
    double runs = 0, woken = 0;
    run({[&] {
             S::fence_heavy();
             EXPECT_EQ(now(), 3000);
             machine::current()->spend(100'000 * ns);
             f.wake_one();
             EXPECT_EQ(now(), 103'600);
         },
         [&] {
             machine::current()->spend(5000 * ns);
             machine::current()->spend(0);
             runs = now();
         },
         [&] {
             (void)f.wait(0, S::forever);
             woken = now();
         }});
    EXPECT_EQ(runs, 5000 + 500);
    EXPECT_EQ(woken, 103'600 + 8000);
}

TEST(VirtualMachine, AMagazineIsExchangedOnceInSoManyBlocksAndItsNextBlockIsAskedForAhead) {
    prices p = round_prices();
    p.block = 7 * ns;
    p.depot = 1000 * ns;
    const outcome o = run({[&] {
                               std::vector<word*> all;
                               for (std::size_t i = 0; i != 300; ++i) {
                                   const double before = now();
                                   all.push_back(S::create<word>(1U));
                                   if (i < 2) {
                                       EXPECT_EQ(now() - before, i == 0 ? 7 + 1000 + 100 : 7);
                                   }
                                   all.back()->store(1, relaxed);
                               }
                               double dear = 0;
                               for (word* w : all) {
                                   const double before = now();
                                   S::destroy(w);
                                   dear += now() - before > 7 ? 1 : 0;
                               }
                               // Magazines of 48, 122, 122 came, and 8 of a fourth: 8 fill that, 122 another, then each 122.
                               EXPECT_EQ(dear, 2);
                           },
                           [&] {
                               machine::current()->spend(1'000'000 * ns);
                               (void)S::processor();
                               S::relax();
                               word* const first = S::create<word>(1U);  // of a magazine that the other has put down
                               S::destroy(first);
                           }},
                          p);
    ASSERT_EQ(o.table.size(), 1U);
    EXPECT_EQ(o.table[0].places[0].kind, 'P');
    EXPECT_EQ(o.table[0].count, 1U);
}

TEST(VirtualMachine, MutexAndConditionHoldWhatTheyPromise) {
    S::mutex m;
    S::condvar c;
    std::uint64_t sum = 0;
    unsigned ended = 0;
    bool all = false;
    run_each(9, [&](unsigned me) {
        if (me == 8) {
            S::lock held(m);
            while (ended != 8) c.wait(held);
            all = sum == 800;
            return;
        }
        for (int i = 0; i != 100; ++i) {
            const S::lock held(m);
            const std::uint64_t seen = sum;
            machine::current()->spend(10 * ns);  // others would come in between
            S::relax();
            sum = seen + 1;
        }
        const S::lock held(m);
        ++ended;
        c.notify_one();
    });
    EXPECT_TRUE(all);
    EXPECT_EQ(sum, 800U);
}

TEST(VirtualMachine, EachThreadHasItsOwnExceptionsAndItsOwnCurrent) {
    // Each is in a handler while the others throw: a count for all of them would be taken down in another order.
    run_each(4, [&](unsigned me) {
        int mine = static_cast<int>(me);
        S::set_current(&mine);
        for (int i = 0; i != 20; ++i) {
            try {
                S::relax();
                throw std::to_string(me);
            } catch (const std::string& seen) {
                for (unsigned k = 0; k != me + 1; ++k) S::relax();
                EXPECT_EQ(seen, std::to_string(me));
                try {
                    std::rethrow_exception(std::current_exception());
                } catch (const std::string& again) {
                    S::relax();
                    EXPECT_EQ(again, std::to_string(me));
                }
            }
            EXPECT_EQ(std::current_exception(), nullptr);
        }
        EXPECT_EQ(S::current<int>(), &mine);
        EXPECT_EQ(S::processor(), mine);
    });
    EXPECT_EQ(S::current<int>(), nullptr);
    EXPECT_EQ(std::uncaught_exceptions(), 0);
}

TEST(VirtualMachine, WhatLeavesAThreadComesOutOfRun) {
    EXPECT_EQ(told_by<std::runtime_error>([] { run({[] { throw std::runtime_error("out"); }, [] { S::relax(); }}); }), "out");
    EXPECT_EQ(run({[] { S::relax(); }}).ns, 20);  // and the next machine is as any
}

TEST(VirtualMachine, ADeadlockNamesEachThreadAndThePlaceAtWhichItWaits) {
    S::mutex a, b;
    const auto both = [](S::mutex& first, S::mutex& second) {
        const S::lock one(first);
        S::relax();
        const S::lock two(second);
    };
    const std::string told = told_by<virtual_deadlock>([&] { run({[&] { both(a, b); }, [&] { both(b, a); }, [] {}}); });
    EXPECT_TRUE(has(told, "virtual deadlock")) << told;
    EXPECT_TRUE(has(told, "thread 0 (t0) sleeps at machine_test.cpp:")) << told;
    EXPECT_TRUE(has(told, "thread 1 (t1) sleeps at machine_test.cpp:")) << told;
    EXPECT_FALSE(has(told, "thread 2")) << told;  // it has ended
}

TEST(VirtualMachine, AThreadThatSpinsForEverIsNamedWhenTheTimeIsOver) {
    word never{0};
    const std::string told = told_by<virtual_time_up>([&] {
        machine m(round_prices(), 1, 1'000'000 * ns);
        m.start("spinner", [&] {
            while (never.load(relaxed) == 0) S::relax();
        });
        m.run();
    });
    EXPECT_TRUE(has(told, "no end within 1 virtual ms")) << told;
    EXPECT_TRUE(has(told, "thread 0 (spinner) runs at machine_test.cpp:")) << told;
}

TEST(VirtualMachine, SpinUntilTakesNoOperationsWhileNothingChanges) {
    word x{0};
    const outcome o = run({[&] { S::spin_until(x, [](std::uint64_t v) { return v == 2; }); },
                           [&] {
                               for (int i = 0; i != 2; ++i) {
                                   machine::current()->spend(1'000'000'000 * ns);
                                   x.fetch_add(1, relaxed);
                               }
                           }});
    EXPECT_EQ(o.counts.operations, 3U + 2U);
    EXPECT_EQ(o.counts.sleeps, 0U);
}

TEST(VirtualMachine, ThreadsStartAndJoinOthers) {
    word sum{0};
    machine m(round_prices(), 3);
    m.start("first", [&] {
        auto& child = m.start("second", [&] {
            EXPECT_EQ(now(), 8000);
            sum.fetch_add(1, relaxed);
        });
        m.join(child, S::site::current().where);
        m.join(child, S::site::current().where);  // it has ended
        EXPECT_EQ(sum.load(relaxed), 1U);
        m.start("third", [] {});
        EXPECT_TRUE(has(told_by<std::invalid_argument>([&] { m.start("fourth", [] {}); }), "all 3 have one thread each"));
    });
    m.run();
}

TEST(VirtualMachine, MemoryLiesAtTheSamePlacesInEachRunAndHasItsNames) {
    struct pair_of_words {
        word x{0};
        alignas(64) word y{0};
    };
    const auto addresses = [] {
        std::vector<const void*> seen;
        seen.reserve(64);
        const outcome o = run_each(2, [&](unsigned) {
            for (int i = 0; i != 16; ++i) {
                auto* const p = S::create<pair_of_words>();
                const std::unique_ptr<int> small = std::make_unique<int>(i);
                seen.push_back(p);
                seen.push_back(small.get());
                S::relax();
                S::destroy(p);
            }
        });
        return seen;
    };
    EXPECT_EQ(addresses(), addresses());

    pair_of_words* shared = nullptr;
    const outcome o = run({[&] { shared = S::create<pair_of_words>(); },
                           [&] {
                               machine::current()->spend(5000 * ns);
                               shared->y.fetch_add(1, relaxed);
                           },
                           [&] {
                               machine::current()->spend(10'000 * ns);
                               for (int i = 0; i != 3; ++i) shared->y.fetch_add(1, relaxed);
                               S::destroy(shared);
                           }});
    ASSERT_EQ(o.table.size(), 1U);
    EXPECT_EQ(o.table[0].object, "pair_of_words");
    EXPECT_EQ(o.table[0].offset, 64U);
    EXPECT_EQ(o.table[0].count, 1U);
    ASSERT_EQ(o.table[0].places.size(), 1U);
    EXPECT_TRUE(has(o.table[0].places[0].file, "machine_test.cpp"));
    EXPECT_EQ(o.table[0].places[0].kind, 'X');
}

// A worker's own word, and a counter of all workers that was put on its line.
TEST(VirtualMachine, ACounterOnABusyLineIsTheFirstRowOfTheTable) {
    struct worker_room {
        word mine{0};
        word planted{0};
    };
    struct quiet_room {
        word seldom{0};
    };
    worker_room* room = nullptr;
    quiet_room* quiet = nullptr;
    const outcome o = run_each(4, [&](unsigned me) {
        if (me == 0) {
            room = S::create<worker_room>();
            quiet = S::create<quiet_room>();
        } else {
            machine::current()->spend(1000 * ns);
            S::relax();
        }
        for (int i = 0; i != 50; ++i) {
            if (me == 0)
                room->mine.store(1, relaxed);
            else
                room->planted.fetch_add(1, relaxed);
            if (i == 0) quiet->seldom.fetch_add(1, relaxed);
            machine::current()->spend(300 * ns);
        }
    });
    ASSERT_GE(o.table.size(), 2U);
    EXPECT_EQ(o.table[0].object, "worker_room");
    EXPECT_GT(o.table[0].count, 10 * o.table[1].count);
}

TEST(VirtualMachine, TwoRunsTakeTheSameTime) {
    const auto once = [] {
        word x{0};
        S::mutex m;
        return run_each(16, [&](unsigned me) {
            S::random_source random(me);
            for (int i = 0; i != 200; ++i) {
                if (random.below(4) == 0) {
                    const S::lock held(m);
                    x.fetch_add(1, relaxed);
                } else {
                    (void)x.load(relaxed);
                }
                machine::current()->spend(static_cast<picoseconds>(random.below(100)) * ns);
            }
        });
    };
    const outcome a = once(), b = once();
    EXPECT_EQ(a.ns, b.ns);
    EXPECT_EQ(a.counts.moves, b.counts.moves);
    EXPECT_EQ(a.counts.switches, b.counts.switches);
}

TEST(VirtualMachine, AMachineHas1To1024ProcessorsAndIsAlone) {
    for (const unsigned n : {0U, 5000U})
        EXPECT_TRUE(has(told_by<std::invalid_argument>([n] { machine m(round_prices(), n); }), "a machine has 1 to 1024")) << n;
    EXPECT_EQ(run_each(1024, [](unsigned) { S::relax(); }).ns, 20);
    const machine m(round_prices(), 1);
    EXPECT_TRUE(has(told_by<std::logic_error>([] { machine another(round_prices(), 1); }), "one at a time"));
}

// A pool of real threads in the same program, which yield and allocate by what is replaced.
TEST(VirtualMachine, ThreadsOfTheHostHaveNoPartInIt) {
    const auto once = [] {
        word turn{0};
        const auto player = [&](std::uint64_t mine) {
            for (int i = 0; i != 2000; ++i) {
                while (turn.load(relaxed) % 2 != mine) S::yield();
                const auto block = std::make_unique<std::uint64_t>(mine);
                turn.store(turn.load(relaxed) + 1 + *block - mine, relaxed);
            }
        };
        return run({[&] { player(0); }, [&] { player(1); }}).ns;
    };
    const auto alone = once();
    std::atomic<bool> stop = false;
    std::thread host([&] {
        while (!stop) {
            ::sched_yield();
            (void)std::make_unique<std::uint64_t>(1);
        }
    });
    for (int i = 0; i != 5; ++i) EXPECT_EQ(once(), alone);
    stop = true;
    host.join();
}

TEST(VirtualMachine, NoMemoryForStacksIsBadAlloc) {
    run({[] {}});  // the region is there
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
    rlimit none = before;
    none.rlim_cur = 1;
    ASSERT_EQ(::setrlimit(RLIMIT_AS, &none), 0);
    bool refused = false;
    try {
        const machine m(round_prices(), 1000);
    } catch (const std::bad_alloc&) {
        refused = true;
    }
    ASSERT_EQ(::setrlimit(RLIMIT_AS, &before), 0);
    EXPECT_TRUE(refused);
    run({[] {}});
}

TEST(VirtualMachine, OutsideOfAThreadOperationsAreFreeAndABlockEndsTheProgram) {
    word x{1};
    EXPECT_EQ(x.fetch_add(1, relaxed), 1U);
    EXPECT_EQ(S::now_ns(), 0);
    S::mutex m;
    m.lock();
    EXPECT_DEATH(m.lock(), "outside of the virtual machine would block .*machine_test.cpp");
    m.unlock();
}

}  // namespace apiary::virt::test::machine_test
