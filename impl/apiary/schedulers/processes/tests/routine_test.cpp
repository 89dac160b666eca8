// Processes written as coroutines: what they wait for, in which order it comes, how a wait ends early; and the offload.
#include <gtest/gtest.h>

#include <apiary/schedulers/processes/offload.hpp>
#include <apiary/schedulers/processes/routine.hpp>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "acting.hpp"
#include "turned.hpp"

namespace routine_test {
namespace {

using namespace apiary;
using by_turns::turned;

TEST(routine, receives_what_is_sent_to_it_in_order) {
    processes all({.workers = 2});
    std::vector<int> got;
    const auto made = all.spawn(as_process([&](routine_self& me) -> routine {
                                    EXPECT_EQ(me.method(), "collect");
                                    EXPECT_EQ(*me.input().get<int>(), 1000);
                                    for (int left = *me.input().get<int>(); left != 0; --left) {
                                        event e = co_await me.receive();
                                        EXPECT_EQ(e.type, event_type::message);
                                        got.push_back(*e.data.get<int>());
                                    }
                                }),
                                "collect", 1000);
    for (int i = 0; i != 1000; ++i) EXPECT_EQ(all.send(made.id, i), send_answer::accepted);
    all.join();
    ASSERT_EQ(got.size(), 1000U);
    for (int i = 0; i != 1000; ++i) EXPECT_EQ(got[static_cast<std::size_t>(i)], i);
}

TEST(routine, takes_the_messages_it_wants_and_finds_the_others_later_in_order) {
    processes all({.workers = 1});
    std::vector<int> got;
    std::atomic<bool> begun = false;
    const auto made = all.spawn(as_process([&](routine_self& me) -> routine {
        const auto even = [](event& e) { return *e.data.get<int>() % 2 == 0; };
        begun = true;
        for (int i = 0; i != 3; ++i) {
            event e = co_await me.receive(even);
            got.push_back(*e.data.get<int>());
        }
        for (int i = 0; i != 3; ++i) {
            event e = co_await me.receive();
            got.push_back(*e.data.get<int>());
        }
    }));
    wait_for([&] { return begun.load(); });
    for (int i : {1, 3, 2, 5, 4, 6}) EXPECT_EQ(all.send(made.id, i), send_answer::accepted);
    all.join();
    EXPECT_EQ(got, (std::vector{2, 4, 6, 1, 3, 5}));
}

TEST(routine, takes_the_oldest_of_many_that_it_wants_without_moving_the_rest) {
    static constexpr int many = 100'000;
    std::vector<int> got;
    std::atomic<bool> busy = false, go = false;
    processes all({.workers = 1});
    (void)all.spawn(std::make_unique<acting>([&](event_batch&, step_output& out) {
        busy = true;
        wait_for([&] { return go.load(); });
        out.finish();
    }));
    wait_for([&] { return busy.load(); });
    const pid takes = all.spawn(as_process([&](routine_self& me) -> routine {
                             while (got.size() != many) {
                                 event e = co_await me.receive([](event& m) { return *m.data.get<int>() != many / 2; });
                                 got.push_back(*e.data.get<int>());
                             }
                             event e = co_await me.receive();
                             got.push_back(*e.data.get<int>());
                         }))
                          .id;
    for (int i = 0; i <= many; ++i) EXPECT_EQ(all.send(takes, i), send_answer::accepted);
    go = true;
    all.join();
    ASSERT_EQ(got.size(), many + 1U);
    for (int i = 0; i != many / 2; ++i) EXPECT_EQ(got[static_cast<std::size_t>(i)], i);
    for (int i = many / 2; i != many; ++i) EXPECT_EQ(got[static_cast<std::size_t>(i)], i + 1);
    EXPECT_EQ(got.back(), many / 2);
}

// Counts how often a message moves within the mail that the routine has taken.
struct moved {
    static inline int moves = 0;
    int n;
    explicit moved(int i) : n(i) {}
    moved(moved&& other) noexcept : n(other.n) { ++moves; }
};

// What is received moves as often as if it came alone; the rest are moves of what is left.
TEST(routine, moves_what_is_left_when_half_is_consumed_and_the_fewer_where_one_is_taken_from_between) {
    turned t;
    int count = 0, wanted = 0;  // of the messages that come together, and the one that is received first
    const pid p = t.spawn(as_process([&](routine_self& me) -> routine {
        for (;;) {
            (void)co_await me.receive([&](event& e) { return e.data.get<moved>()->n == wanted; });
            for (int i = 1; i < count; ++i) (void)co_await me.receive();
        }
    }));
    t.turns();
    const auto moves = [&](int of, int first) {
        count = of, wanted = first;
        moved::moves = 0;
        for (int i = 0; i != of; ++i) EXPECT_EQ(t.all.send(p, moved(i)), send_answer::accepted);
        t.turns();
        return moved::moves;
    };
    (void)moves(16, 0);  // the memory for them
    const int alone = moves(1, 0);
    EXPECT_EQ(moves(4, 0) - 4 * alone, 3) << "two after the second, and one after the third";
    EXPECT_EQ(moves(5, 0) - 5 * alone, 3) << "two after the third, and one after the fourth";
    EXPECT_EQ(moves(2, 1) - 2 * alone, 0) << "nothing is after it";
    EXPECT_EQ(moves(4, 3) - 4 * alone, 1) << "the last of three when two of them are consumed";
    EXPECT_EQ(moves(3, 1) - 3 * alone, 2) << "one before it, as many as after it: that is moved, and forgotten";
}

TEST(routine, sleeps_not_less_than_it_said_while_its_messages_wait) {
    processes all({.workers = 1});
    std::atomic<bool> begun = false;
    std::int64_t slept = 0;
    int got = 0;
    const auto made = all.spawn(as_process([&](routine_self& me) -> routine {
        const std::int64_t from = me.scheduler().now_ns();
        begun = true;
        co_await me.sleep(5'000'000);
        slept = me.scheduler().now_ns() - from;
        event e = co_await me.receive();
        got = *e.data.get<int>();
    }));
    wait_for([&] { return begun.load(); });
    EXPECT_EQ(all.send(made.id, 7), send_answer::accepted);
    all.join();
    EXPECT_GE(slept, 5'000'000);
    EXPECT_EQ(got, 7);
}

routine adder(routine_self& me) {
    for (int sum = 0;;) {
        event e = co_await me.receive();
        if (const int* n = e.data.get<int>()) sum += *n;
        if (e.type == event_type::request) (void)me.answer(e.reply(), sum);
    }
}

TEST(routine, calls_another_and_gets_its_answer) {
    processes all({.workers = 2});
    const auto server = all.spawn(as_process(adder));
    std::atomic<int> sum = 0, callers = 4;
    for (int c = 0; c != 4; ++c)
        (void)all.spawn(as_process([&](routine_self& me) -> routine {
            for (int i = 0; i != 500; ++i) {
                call_answer a = co_await me.call(server.id, 1);
                EXPECT_TRUE(a);
                if (int* n = a.data.get<int>(); n != nullptr && *n > sum) sum = *n;
            }
            --callers;
        }));
    wait_for([&] { return callers == 0; });
    EXPECT_EQ(sum, 2000);
}

TEST(routine, is_told_when_a_call_will_have_no_answer) {
    processes all({.workers = 2});
    std::vector<yield_error> errors;
    send_answer to_nobody{};
    const pid taken_and_ended = all.spawn(on_events([](event& e, step_output& out) {
                                       EXPECT_EQ(e.type, event_type::request);
                                       out.finish();
                                   }))
                                    .id;
    const pid unread = all.spawn(std::make_unique<acting>([](event_batch&, step_output&) {})).id;
    const pid throws = all.spawn(on_events([](event&, step_output&) { throw 1; })).id;
    (void)all.spawn(as_process([&](routine_self& me) -> routine {
        for (const pid whom : {taken_and_ended, unread, throws}) {
            call_answer a = co_await me.call(whom, 1);
            EXPECT_FALSE(a);
            EXPECT_EQ(a.sent, send_answer::accepted);
            errors.push_back(a.error);
        }
        call_answer a = co_await me.call(pid{}, 1);
        to_nobody = a.sent;
        (void)me.scheduler().kill(unread);
    }));
    all.join();
    EXPECT_EQ(errors, (std::vector{yield_error::no_answer, yield_error::no_answer, yield_error::no_answer}));
    EXPECT_EQ(to_nobody, send_answer::no_such_process);
}

TEST(routine, a_receive_with_a_limit_is_empty_when_nothing_has_come_that_it_wants) {
    processes all({.workers = 1});
    const std::vector<std::int64_t> limits{0, -1, INT64_MIN, 1, 2'000'000};
    std::atomic<int> told = 0;
    const pid made = all.spawn(as_process([&](routine_self& me) -> routine {
                            for (const std::int64_t ns : limits) {
                                const std::int64_t from = me.scheduler().now_ns();
                                EXPECT_FALSE(co_await me.receive_for(ns));
                                EXPECT_GE(me.scheduler().now_ns() - from, ns);
                            }
                            ++told;
                            const auto even = [](event& e) { return *e.data.get<int>() % 2 == 0; };
                            std::optional<event> e = co_await me.receive_for(INT64_MAX, even);
                            EXPECT_EQ(*e->data.get<int>(), 2);
                            EXPECT_FALSE(co_await me.receive_for(1'000'000, even));
                            e = co_await me.receive_for(0);
                            EXPECT_TRUE(e && *e->data.get<int>() == 1) << "what has come counts";
                            EXPECT_FALSE(co_await me.receive_for(0));
                        }))
                         .id;
    wait_for([&] { return told == 1; });
    for (const int i : {1, 2}) EXPECT_EQ(all.send(made, i), send_answer::accepted);
    all.join();
    EXPECT_EQ(all.counters().dead_letters, 0U);
    EXPECT_EQ(all.counters().exceptions, 0U);
}

TEST(routine, what_has_come_counts_though_the_time_is_over) {
    for (int round = 0; round != 20; ++round) {
        processes all({.workers = 1});
        std::atomic<bool> busy = false, go = false;
        bool got = false;
        const pid waits = all.spawn(as_process([&](routine_self& me) -> routine {
                                 got = (co_await me.receive_for(1'000'000)).has_value();
                             }))
                              .id;
        const pid hogs = all.spawn(on_events([&](event&, step_output& out) {
                                busy = true;
                                wait_for([&] { return go.load(); });
                                out.finish();
                            }))
                             .id;
        EXPECT_EQ(all.send(hogs, 0), send_answer::accepted);
        wait_for([&] { return busy.load(); });
        const bool before = all.lives(waits);  // its timer may have fired before the only worker was busy
        EXPECT_EQ(all.send(waits, 1) == send_answer::accepted, before);  // else it is gone, or completing
        (void)all.complete_yield(waits, 1);  // as its timer: both lie in one batch
        const std::int64_t until = all.now_ns() + 2'000'000;
        wait_for([&] { return all.now_ns() >= until; });
        go = true;
        all.join();
        EXPECT_EQ(got, before);
    }
}

TEST(routine, an_earlier_limit_does_not_end_a_later_wait) {
    processes all({.workers = 1});
    std::atomic<bool> last = false;
    const pid made = all.spawn(as_process([&](routine_self& me) -> routine {
                            EXPECT_EQ(me.send(me.self(), 1), send_answer::accepted);
                            EXPECT_TRUE(co_await me.receive_for(2'000'000));
                            const std::int64_t from = me.scheduler().now_ns();
                            // First the timer of the last wait fires.
                            EXPECT_FALSE(co_await me.receive_for(20'000'000));
                            EXPECT_GE(me.scheduler().now_ns() - from, 20'000'000);
                            EXPECT_EQ(me.send(me.self(), 2), send_answer::accepted);
                            EXPECT_TRUE(co_await me.receive_for(1'000'000));
                            last = true;
                            event e = co_await me.receive();
                            EXPECT_EQ(*e.data.get<int>(), 3);
                        }))
                         .id;
    wait_for([&] { return last.load(); });
    wait_for([&] { return all.look(made, real_sync::forever).calls.empty(); });  // until the last timer has fired
    EXPECT_EQ(all.send(made, 3), send_answer::accepted);
    all.join();
    EXPECT_EQ(all.counters().exceptions, 0U);
}

TEST(routine, waits_with_limits_keep_as_many_timers_as_there_are_limits) {
    static constexpr std::int64_t hour = 3'600'000'000'000;
    std::atomic<int> got = 0;
    processes all({.workers = 1});
    const pid made = all.spawn(as_process([&](routine_self& me) -> routine {
                            for (;; ++got) EXPECT_TRUE(co_await me.receive_for(got % 2 == 0 ? 2 * hour : hour));
                        }))
                         .id;
    for (int i = 0; i != 2'000; ++i) {
        EXPECT_TRUE(all.look(made, real_sync::forever).told) << "after its step: it waits, and finds no mail";
        EXPECT_EQ(all.send(made, i), send_answer::accepted);
        wait_for([&] { return got == i + 1; });
    }
    EXPECT_EQ(all.look(made, real_sync::forever).calls.size(), 2U);
    all.stop(real_sync::forever);
}

TEST(routine, a_wait_with_no_time_at_all_lets_others_run_and_sees_what_they_send) {
    processes all({.workers = 1});
    int polls = 0;
    const pid made = all.spawn(as_process([&](routine_self& me) -> routine {
                            for (;; ++polls)
                                if (co_await me.receive_for(0)) co_return;
                        }))
                         .id;
    (void)all.spawn(as_process([&](routine_self& me) -> routine {
        co_await me.sleep(1'000'000);
        EXPECT_EQ(me.send(made, 1), send_answer::accepted);
    }));
    all.join();
    EXPECT_GT(polls, 0);
}

TEST(routine, a_call_with_a_limit_says_so_and_its_late_answer_ends_no_other_wait) {
    processes all({.workers = 2});
    // Answers a request when the next one comes; the first one's asker has given up by then.
    const pid slow = all.spawn(as_process([](routine_self& me) -> routine {
                          event first = co_await me.receive();
                          event second = co_await me.receive();
                          EXPECT_EQ(me.answer(first.reply(), std::string("late")), send_answer::accepted);
                          co_await me.sleep(2'000'000);
                          EXPECT_EQ(me.answer(second.reply(), std::string("in time")), send_answer::accepted);
                      }))
                       .id;
    (void)all.spawn(as_process([&](routine_self& me) -> routine {
        call_answer a = co_await me.call_for(1'000'000, slow, 1);
        EXPECT_FALSE(a);
        EXPECT_EQ(a.sent, send_answer::accepted);
        EXPECT_EQ(a.error, yield_error::timed_out);
        a = co_await me.call_for(INT64_MAX, slow, 2);
        EXPECT_TRUE(a);
        EXPECT_EQ(*a.data.get<std::string>(), "in time");
        a = co_await me.call_for(1'000'000, pid{}, 3);
        EXPECT_EQ(a.sent, send_answer::no_such_process);
        EXPECT_EQ(a.error, yield_error::none) << "refused at once: no time is over";
    }));
    all.join();
    EXPECT_EQ(all.counters().exceptions, 0U);
}

TEST(routine, is_not_told_the_end_of_what_it_began_under_a_tag_of_its_own) {
    processes all({.workers = 1, .handlers = {{1, [](auto& core, process_command&& c) {
                                                   (void)core.complete_yield(c.from, c.tag, std::string(100, 'x'));
                                               }}}});
    const pid server = all.spawn(as_process(adder)).id;
    std::vector<int> got;
    const pid made = all.spawn(as_process([&](routine_self& me) -> routine {
                            me.out().sleep(0, 0);
                            event e = co_await me.receive();
                            got.push_back(*e.data.get<int>());
                            me.out().call(1, 0);
                            e = co_await me.receive();
                            got.push_back(*e.data.get<int>());
                            EXPECT_EQ(me.out().request(server, 0, 1), send_answer::accepted);
                            e = co_await me.receive([](event&) { return true; });
                            got.push_back(*e.data.get<int>());
                        }))
                         .id;
    for (const int i : {1, 2, 3}) {
        wait_for([&] {  // until it has been stepped for the end of what it began
            const process_view v = all.look(made, real_sync::forever);
            return v.calls.empty() && v.steps == 2U * static_cast<unsigned>(i);
        });
        EXPECT_EQ(all.send(made, i), send_answer::accepted);
    }
    all.stop(real_sync::forever);
    EXPECT_EQ(got, (std::vector{1, 2, 3}));
}

TEST(routine, a_cancel_ends_the_wait_it_finds_once_and_the_routine_may_clean_up) {
    enum class waits { receives, selects, sleeps, calls, commands, receives_with_a_limit, calls_with_a_limit };
    static constexpr std::int64_t hour = 3'600'000'000'000;
    for (const waits what : {waits::receives, waits::selects, waits::sleeps, waits::calls, waits::commands,
                             waits::receives_with_a_limit, waits::calls_with_a_limit}) {
        processes all({.workers = 1, .handlers = {{1, [](auto&, process_command&&) {}}}});
        const pid silent = all.spawn(as_process([](routine_self& me) -> routine {
                                  std::vector<event> kept;
                                  for (;;) kept.push_back(co_await me.receive());
                              }))
                               .id;
        std::atomic<bool> begun = false;
        bool cleaned = false, cancelled = false;
        const auto made = all.spawn(as_process([&](routine_self& me) -> routine {
            begun = true;
            try {
                if (what == waits::receives) (void)co_await me.receive();
                if (what == waits::selects) (void)co_await me.receive([](event&) { return false; });
                if (what == waits::sleeps) co_await me.sleep(INT64_MAX);
                if (what == waits::calls) (void)co_await me.call(silent, 1);
                if (what == waits::commands) (void)co_await me.command(1);
                if (what == waits::receives_with_a_limit) (void)co_await me.receive_for(hour);
                if (what == waits::calls_with_a_limit) (void)co_await me.call_for(hour, silent, 1);
            } catch (const wait_cancelled&) {
                cancelled = true;
            }
            co_await me.sleep(1000);
            cleaned = true;
        }));
        wait_for([&] { return begun.load(); });
        EXPECT_EQ(all.cancel(made.id), send_answer::accepted);
        wait_for([&] { return !all.lives(made.id); });
        const auto report = all.stop(real_sync::forever);
        EXPECT_EQ(report.forced.size(), 0U);
        EXPECT_TRUE(cancelled && cleaned) << static_cast<int>(what);
        EXPECT_EQ(all.counters().exceptions, 0U);
    }
}

TEST(routine, one_that_lets_the_cancel_out_finishes_and_one_that_throws_has_thrown) {
    processes all({.workers = 1});
    std::vector<process_end> ends;
    const pid waits = all.spawn(as_process([](routine_self& me) -> routine { (void)co_await me.receive(); })).id;
    (void)all.spawn(as_process([&](routine_self& me) -> routine {
        EXPECT_EQ(me.out().watch(waits), send_answer::accepted);
        EXPECT_EQ(me.scheduler().cancel(waits), send_answer::accepted);
        const auto throws = [](routine_self&) -> routine {
            throw std::runtime_error("no");
            co_return;
        };
        EXPECT_TRUE(me.out().spawn_watched(as_process(throws)));
        for (int i = 0; i != 2; ++i) {
            event e = co_await me.receive();
            EXPECT_EQ(e.type, event_type::ended);
            ends.push_back(*e.data.get<process_end>());
        }
    }));
    all.join();
    std::sort(ends.begin(), ends.end());
    EXPECT_EQ(ends, (std::vector{process_end::finished, process_end::threw}));
}

TEST(routine, one_that_is_killed_where_it_waits_destroys_what_it_holds) {
    processes all({.workers = 1});
    const auto held = std::make_shared<int>(1);
    std::atomic<bool> begun = false;
    const auto made = all.spawn(as_process([&, held](routine_self& me) -> routine {
        const auto mine = held;
        begun = true;
        (void)co_await me.receive();
    }));
    wait_for([&] { return begun.load(); });
    EXPECT_EQ(all.kill(made.id), send_answer::accepted);
    all.join();
    EXPECT_EQ(held.use_count(), 1);
}

TEST(routine, what_a_killed_one_held_may_use_the_scheduler_when_it_goes) {
    struct at_exit {
        routine_self& me;
        pid whom;
        ~at_exit() {
            EXPECT_EQ(me.send(whom, me.self()), send_answer::accepted);
            EXPECT_TRUE(me.scheduler().lives(whom));
            EXPECT_EQ(me.answer(reply_to{whom, 1}), send_answer::accepted) << "and is late";
        }
    };
    std::atomic<std::uint64_t> told = 0;
    std::atomic<bool> begun = false;
    processes all({.workers = 1});
    const pid hears = all.spawn(on_events([&](event& e, step_output&) { told = e.data.get<pid>()->value; })).id;
    const pid dies = all.spawn(as_process([&](routine_self& me) -> routine {
                            const at_exit says{me, hears};
                            begun = true;
                            (void)co_await me.receive();
                        }))
                         .id;
    wait_for([&] { return begun.load(); });
    EXPECT_EQ(all.kill(dies), send_answer::accepted);
    wait_for([&] { return told != 0; });
    EXPECT_EQ(told, dies.value);
    EXPECT_TRUE(all.stop(real_sync::forever).over);
    EXPECT_EQ(all.counters().late_completions, 1U);
}

TEST(routine, what_it_took_and_did_not_receive_is_dead_letters_in_the_report_however_it_ends) {
    enum class ends { returns, throws, killed };
    for (const ends how : {ends::returns, ends::throws, ends::killed}) {
        std::vector<int> letters;
        processes all({.workers = 1, .on_dead_letter = [&](pid, dead_letter why, event& e) {
                           EXPECT_EQ(why, dead_letter::ended);
                           letters.push_back(*e.data.get<int>());
                       }});
        std::atomic<int> passed_over = 0;
        std::atomic<bool> busy = false, go = false;
        const pid takes = all.spawn(as_process([&](routine_self& me) -> routine {
                                 (void)co_await me.receive([&](event& e) {
                                     if (*e.data.get<int>() == 0) return true;
                                     ++passed_over;
                                     return false;
                                 });
                                 if (how == ends::throws) throw std::runtime_error("no");
                             }))
                              .id;
        for (const int i : {1, 2}) EXPECT_EQ(all.send(takes, i), send_answer::accepted);
        (void)all.spawn(as_process([&](routine_self& me) -> routine { (void)co_await me.call(takes, 3); }));
        wait_for([&] { return passed_over == 3; });
        (void)all.spawn(std::make_unique<acting>([&](event_batch&, step_output& out) {
            busy = true;
            wait_for([&] { return go.load(); });
            out.finish();
        }));
        wait_for([&] { return busy.load(); });  // so the stop has begun when it ends
        EXPECT_EQ(how == ends::killed ? all.kill(takes) : all.send(takes, 0), send_answer::accepted);
        all.request_stop();
        go = true;
        const auto report = all.stop(real_sync::forever);
        EXPECT_EQ(letters, (std::vector{1, 2, 3}));
        EXPECT_EQ(all.counters().dead_letters, 3U);
        EXPECT_EQ(report.undelivered, 3U);
        const auto& of = how == ends::returns ? report.with_mail : report.forced;
        ASSERT_EQ(of.size(), 1U);
        EXPECT_EQ(of[0].id, takes);
        EXPECT_EQ(of[0].undelivered, 3U);
    }
}

TEST(routine, one_with_a_bound_lets_its_senders_wait_while_it_blocks) {
    processes all({.workers = 2});
    constexpr int many = 200;
    int got = 0;
    const auto sink = all.spawn(as_process(
        [&](routine_self& me) -> routine {
            for (; got != many; ++got) {
                event e = co_await me.receive();
                EXPECT_EQ(*e.data.get<int>(), got);
                if (got % 50 == 0) co_await me.sleep(1'000'000);
            }
        },
        {.most = 4, .then = when_full::suspend_sender}));
    (void)all.spawn(as_process([&](routine_self& me) -> routine {
        for (int i = 0; i != many;) {
            if (me.send(sink.id, i) == send_answer::accepted)
                ++i;
            else
                co_await me.sleep(0);  // and, suspended, until there is room
        }
    }));
    all.join();
    EXPECT_EQ(got, many);
    EXPECT_EQ(all.counters().dead_letters, 0U);
}

TEST(routine, what_its_choice_of_a_message_throws_leaves_the_wait_also_if_the_message_comes_during_it) {
    for (const bool limited : {false, true})
        for (const bool before : {false, true}) {
            turned t;
            int caught = 0, got = 0;
            const pid r = t.spawn(as_process([&](routine_self& me) -> routine {
                const auto throws = [](event&) -> bool { throw 1; };
                try {
                    if (limited)
                        (void)co_await me.receive_for(3'600'000'000'000, throws);
                    else
                        (void)co_await me.receive(throws);
                } catch (int) {
                    ++caught;
                }
                got = *(co_await me.receive()).data.get<int>();
                (void)co_await me.receive();
            }));
            if (!before) t.turns();
            EXPECT_EQ(t.all.send(r, 7), send_answer::accepted);
            t.turns();
            EXPECT_EQ(caught, 1);
            EXPECT_EQ(got, 7) << "the message is still there";
            EXPECT_TRUE(t.all.lives(r));
            EXPECT_EQ(t.all.counters().exceptions, 0U);
        }
}

// An explicit instantiation may name a private member.
template <auto Member>
struct member_of_a_routine {
    friend std::uint32_t& last_tag(routine_self& r) { return r.*Member; }
};
std::uint32_t& last_tag(routine_self& r);
template struct member_of_a_routine<&routine_self::next_tag_>;

constexpr std::uint32_t crunch = 1;

TEST(routine, goes_on_when_it_has_used_all_its_tags) {
    turned t(1,
             {.handlers = {{crunch, [](auto& all, process_command&& c) { (void)all.complete_yield(c.from, c.tag); }}}});
    int calls = 0;
    (void)t.spawn(as_process([&](routine_self& me) -> routine {
        last_tag(me) = UINT32_MAX - 1;
        for (; calls != 3; ++calls) (void)co_await me.command(crunch);
    }));
    t.turns();
    EXPECT_EQ(calls, 3);
    EXPECT_EQ(t.all.counters().living, 0U);
}

TEST(offload, runs_elsewhere_and_completes_the_call) {
    std::vector<std::thread> elsewhere;
    bool refuse = false;
    processes all({.workers = 1, .handlers = {{crunch, offload_to([&](auto job) {
                                                   if (refuse) return false;
                                                   elsewhere.emplace_back(std::move(job));
                                                   return true;
                                               })}}});
    std::vector<yield_error> errors;
    int answer = 0;
    std::thread::id there;
    (void)all.spawn(as_process([&](routine_self& me) -> routine {
        event e = co_await me.command(crunch, offloaded([&] {
                                          there = std::this_thread::get_id();
                                          return payload(6 * 7);
                                      }));
        answer = *e.data.get<int>();
        for (int i = 0; i != 3; ++i) {
            refuse = i == 1;
            if (i == 2)
                e = co_await me.command(crunch, 5);
            else
                e = co_await me.command(crunch, offloaded([]() -> payload { throw 1; }));
            errors.push_back(e.error);
        }
    }));
    all.join();
    EXPECT_EQ(answer, 42);
    ASSERT_EQ(elsewhere.size(), 2U);
    EXPECT_EQ(there, elsewhere[0].get_id());
    for (std::thread& t : elsewhere) t.join();
    EXPECT_EQ(errors, (std::vector{yield_error::handler_threw, yield_error::failed, yield_error::unknown_command}));
}

TEST(offload, the_end_waits_for_what_runs_elsewhere_though_its_process_has_ended) {
    std::atomic<bool> there = false, go = false;
    std::thread elsewhere;
    {
        processes all({.workers = 1, .force_ns = 1, .handlers = {{crunch, offload_to([&](auto job) {
                                                                      elsewhere = std::thread(std::move(job));
                                                                      return true;
                                                                  })}}});
        const pid asks = all.spawn(as_process([&](routine_self& me) -> routine {
                                (void)co_await me.command(crunch, offloaded([&] {
                                                              there = true;
                                                              wait_for([&] { return go.load(); });
                                                              return payload(1);
                                                          }));
                            }))
                             .id;
        wait_for([&] { return there.load(); });
        EXPECT_EQ(all.cancel(asks), send_answer::accepted);
        wait_for([&] { return !all.lives(asks); });
        EXPECT_FALSE(all.stop(0).over);
        go = true;
    }
    elsewhere.join();
}

// As beside a hive that nobody runs: the report says for which calls the end waits, also when their process has ended.
TEST(offload, the_report_names_the_calls_that_are_outstanding) {
    std::vector<std::function<void()>> accepted;
    std::atomic<bool> called = false;
    processes all({.workers = 1, .force_ns = 1, .handlers = {{crunch, offload_to([&](auto job) {
                                                                  accepted.emplace_back(std::move(job));
                                                                  called = accepted.size() == 2;
                                                                  return true;
                                                              })}}});
    const pid asks = all.spawn(on_events([](event&, step_output& out) {
                            out.call(crunch, 7, payload(offloaded([] { return payload(1); })));
                            out.call(crunch, 8, payload(offloaded([] { return payload(1); })));
                        }))
                         .id;
    EXPECT_EQ(all.send(asks, 0), send_answer::accepted);
    wait_for([&] { return called.load(); });
    const auto outstanding = [&all] {
        std::vector<std::uint64_t> tags;
        const auto report = all.stop(0);
        EXPECT_EQ(report.over, report.offloaded.empty());
        for (const auto& call : report.offloaded) tags.push_back(call.tag);
        return tags;
    };
    EXPECT_EQ(outstanding(), (std::vector<std::uint64_t>{7, 8}));
    EXPECT_EQ(all.stop(0).offloaded.front().from, asks);
    for (int i = 0; i != 2; ++i) accepted.front()();  // run again, it does nothing
    EXPECT_EQ(outstanding(), (std::vector<std::uint64_t>{8}));
    wait_for([&] { return !all.lives(asks); });
    accepted.clear();  // its copy of what has run ends no call again
    EXPECT_TRUE(all.stop(real_sync::forever).over);
    EXPECT_EQ(outstanding(), std::vector<std::uint64_t>{});
}

TEST(offload, a_job_that_was_accepted_and_is_dropped_unrun_ends_its_call) {
    std::vector<std::function<void()>> accepted;
    processes all({.workers = 1, .handlers = {{crunch, offload_to([&](auto job) {
                                                   accepted.emplace_back(std::move(job));
                                                   return true;
                                               })}}});
    bool ran = false;
    std::atomic<bool> waits = false;
    yield_error told{};
    (void)all.spawn(as_process([&](routine_self& me) -> routine {
        waits = true;
        event e = co_await me.command(crunch, offloaded([&] { return ran = true, payload(); }));
        told = e.error;
        (void)co_await me.receive();
    }));
    const pid drops = all.spawn(on_events([&](event&, step_output& out) {
                             accepted.clear();  // as a hive that stops with `discard`
                             out.finish();
                         }))
                          .id;
    wait_for([&] { return waits.load(); });
    EXPECT_EQ(all.send(drops, 0), send_answer::accepted);
    wait_for([&] { return !all.lives(drops); });
    const auto report = all.stop(real_sync::forever);
    EXPECT_TRUE(report.over);
    EXPECT_FALSE(ran);
    EXPECT_EQ(told, yield_error::failed);
    EXPECT_EQ(all.counters().late_completions, 0U);
}

// It may send as it goes. It is run, or dropped unrun.
TEST(offload, the_end_waits_until_what_the_function_holds_is_gone) {
    for (const bool runs : {true, false}) {
        std::function<void()> accepted;
        turned t(1, {.handlers = {{crunch, offload_to([&](auto job) {
                                       accepted = std::move(job);
                                       return true;
                                   })}}});
        bool gone = false;
        const pid asks = t.spawn(std::make_unique<acting>([&](event_batch&, step_output& out) {
            std::shared_ptr<void> held(nullptr, [&](void*) {
                gone = true;
                EXPECT_FALSE(t.all.over()) << "the scheduler may be gone by now";
            });
            out.call(crunch, 7, payload(offloaded([held = std::move(held)] { return payload(1); })));
            out.finish();
        }));
        t.turns();
        EXPECT_FALSE(t.all.lives(asks));
        t.all.request_stop();
        t.turns();
        EXPECT_FALSE(t.all.over() || gone);
        if (runs) accepted();
        accepted = nullptr;
        EXPECT_TRUE(gone);
        EXPECT_TRUE(t.all.over());
    }
}

}  // namespace
}  // namespace routine_test
