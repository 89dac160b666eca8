// Spawn, send, receive, end: what processes promise, on real workers.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include <apiary/testing/comes_true.hpp>

#include "acting.hpp"

namespace processes_test {
namespace {

using namespace apiary;

TEST(processes, a_message_is_received_by_the_process_it_was_sent_to) {
    processes all({.workers = 2});
    std::atomic<int> sum = 0;
    const auto made = all.spawn(on_events([&](event& e, step_output& out) {
        EXPECT_EQ(e.type, event_type::message);
        EXPECT_FALSE(e.from());
        sum += *e.data.get<int>();
        if (sum == 42) out.finish();
    }));
    ASSERT_TRUE(made);
    EXPECT_TRUE(all.lives(made.id));
    EXPECT_EQ(all.send(made.id, 40), send_answer::accepted);
    EXPECT_EQ(all.send(made.id, 2), send_answer::accepted);
    all.join();
    EXPECT_EQ(sum, 42);
    EXPECT_FALSE(all.lives(made.id));
    EXPECT_EQ(all.counters().living, 0U);
}

TEST(processes, the_first_step_comes_by_itself_and_init_is_told_what_the_spawn_said) {
    struct child : process {
        init_answer init(context& c, std::string_view method, payload input) override {
            EXPECT_EQ(method, "entry");
            EXPECT_EQ(*input.get<int>(), 7);
            EXPECT_FALSE(c.parent);
            self = c.self;
            return init_answer::ready;
        }
        void step(events& batch, output& out) override {
            EXPECT_TRUE(batch.empty());
            EXPECT_EQ(batch.next(), nullptr);
            EXPECT_EQ(out.self(), self);
            out.finish();
        }
        pid self;
    };
    processes all({.workers = 1});
    EXPECT_TRUE(all.spawn_new<child>("entry", 7));
    all.join();
}

TEST(processes, one_process_has_several_entry_points_and_refuses_what_is_none) {
    static std::atomic<int> closed, destroyed;
    closed = destroyed = 0;
    struct picky : process {
        ~picky() override { ++destroyed; }
        init_answer init(context&, std::string_view method, payload) override {
            if (method == "throws") throw std::runtime_error("no");
            if (method == "fails") return init_answer::failed;
            return method == "one" || method == "two" ? init_answer::ready : init_answer::unknown_method;
        }
        void step(events&, output& out) override { out.finish(); }
        void close() noexcept override { ++closed; }
    };
    processes all({.workers = 1});
    EXPECT_TRUE(all.spawn_new<picky>("one", {}));
    EXPECT_TRUE(all.spawn_new<picky>("two", {}));
    const auto unknown = all.spawn_new<picky>("three", {});
    EXPECT_EQ(unknown.error, spawn_error::unknown_method);
    EXPECT_FALSE(unknown.id);
    EXPECT_EQ(all.spawn_new<picky>("fails", {}).error, spawn_error::failed);
    const auto threw = all.spawn_new<picky>("throws", {});
    EXPECT_EQ(threw.error, spawn_error::failed);
    EXPECT_THROW(std::rethrow_exception(threw.thrown), std::runtime_error);
    EXPECT_EQ(all.spawn(nullptr).error, spawn_error::no_process);
    all.join();
    EXPECT_EQ(closed, 2) << "not of those that were refused";
    EXPECT_EQ(destroyed, 5);
    EXPECT_EQ(all.counters().spawned, 2U);
    EXPECT_EQ(all.spawn_new<picky>("one", {}).error, spawn_error::stopping);
}

TEST(processes, a_message_sent_while_init_runs_is_a_dead_letter_when_init_refuses) {
    static std::atomic<int> letters;
    letters = 0;
    struct refuses : process {
        init_answer init(context& c, std::string_view, payload) override {
            EXPECT_EQ(c.scheduler.send(c.self, 1), send_answer::accepted);
            return init_answer::failed;
        }
        void step(events&, output&) override {}
    };
    processes all(
        {.workers = 1, .on_dead_letter = [](pid, dead_letter why, event&) { letters += why == dead_letter::ended; }});
    EXPECT_FALSE(all.spawn_new<refuses>("", {}));
    EXPECT_EQ(letters, 1);
    EXPECT_EQ(all.counters().dead_letters, 1U);
}

TEST(processes, messages_of_one_sender_come_in_order) {
    constexpr int each = 20'000;
    processes all({.workers = 3});
    std::array<int, 3> next{};
    std::atomic<int> received = 0;
    const auto sink = all.spawn(on_events([&](event& e, step_output& out) {
        const auto [sender, n] = *e.data.get<std::pair<int, int>>();
        EXPECT_EQ(n, next[static_cast<std::size_t>(sender)]++);
        if (++received == 3 * each) out.finish();
    }));
    std::vector<std::thread> senders;
    for (int s = 0; s != 2; ++s)
        senders.emplace_back([&, s] {
            for (int n = 0; n != each; ++n) ASSERT_EQ(all.send(sink.id, std::pair(s, n)), send_answer::accepted);
        });
    int sent = 0;
    (void)all.spawn(std::make_unique<acting>([&](event_batch&, step_output& out) {
        for (int i = 0; i != 100; ++i) EXPECT_EQ(out.send(sink.id, std::pair(2, sent++)), send_answer::accepted);
        sent == each ? out.finish() : out.again();
    }));
    for (std::thread& t : senders) t.join();
    all.join();
    EXPECT_EQ(received, 3 * each);
}

TEST(processes, two_answer_each_other) {
    processes all({.workers = 2});
    constexpr int rounds = 10'000;
    int pongs = 0;
    const auto pong = all.spawn(on_events([](event& e, step_output& out) {
        EXPECT_TRUE(e.from());
        EXPECT_EQ(out.send(e.from(), *e.data.get<int>() + 1), send_answer::accepted);
    }));
    (void)all.spawn(
        std::make_unique<acting>([&, pong = pong.id, begun = false](event_batch& batch, step_output& out) mutable {
            if (!std::exchange(begun, true)) return (void)out.send(pong, 0);
            while (event* e = batch.next()) {
                if (++pongs == rounds) {
                    EXPECT_EQ(*e->data.get<int>(), rounds);
                    EXPECT_EQ(out.scheduler().cancel(pong), send_answer::accepted);
                    return out.finish();
                }
                (void)out.send(pong, *e->data.get<int>());
            }
        }));
    all.join();
    EXPECT_EQ(pongs, rounds);
}

TEST(processes, a_step_never_runs_on_two_workers_and_sees_what_the_last_one_wrote) {
    processes all({.workers = 4});
    std::atomic<int> inside = 0;
    long plain = 0;  // a race detector watches it
    const auto made = all.spawn(on_events([&](event&, step_output& out) {
        EXPECT_EQ(++inside, 1);
        ++plain;
        if (plain == 20'000) out.finish();
        --inside;
    }));
    std::vector<std::thread> senders;
    for (int s = 0; s != 4; ++s)
        senders.emplace_back([&] {
            for (int n = 0; n != 5'000; ++n) ASSERT_EQ(all.send(made.id, n), send_answer::accepted);
        });
    for (std::thread& t : senders) t.join();
    all.join();
    EXPECT_EQ(plain, 20'000);
}

TEST(processes, the_dead_the_unknown_and_the_stale_reach_nobody) {
    processes all({.workers = 1});
    const auto made = all.spawn(on_events([](event&, step_output& out) { out.finish(); }));
    EXPECT_EQ(all.send(made.id, 1), send_answer::accepted);
    wait_for([&] { return all.counters().living == 0; });
    payload kept(5);
    EXPECT_EQ(all.send(made.id, std::move(kept)), send_answer::completing);
    EXPECT_EQ(*kept.get<int>(), 5) << "a refused payload is still there";
    EXPECT_EQ(all.send(pid{}, 1), send_answer::no_such_process);
    EXPECT_EQ(all.send(pid::of(123'456, 1), 1), send_answer::no_such_process);
    EXPECT_EQ(all.send(pid::of(UINT32_MAX, 1), 1), send_answer::no_such_process);
    // The place is given on, newest first: by the same worker.
    std::atomic<bool> told = false;
    std::atomic<int> strays = 0;
    pid next;
    (void)all.spawn(std::make_unique<acting>([&](event_batch&, step_output& out) {
        for (int i = 0; i != 100 && (!next || next.place() != made.id.place()); ++i)
            next = out.spawn(on_events([&](event&, step_output&) { ++strays; })).id;
        told = true;
        out.finish();
    }));
    wait_for([&] { return told.load(); });
    ASSERT_EQ(next.place(), made.id.place());
    EXPECT_GT(next.generation(), made.id.generation());
    EXPECT_EQ(all.send(made.id, 1), send_answer::no_such_process);
    EXPECT_EQ(all.cancel(made.id), send_answer::no_such_process);
    EXPECT_EQ(all.kill(made.id), send_answer::no_such_process);
    EXPECT_EQ(all.complete_yield(made.id, 1), send_answer::no_such_process);
    EXPECT_TRUE(all.stop().over);
    EXPECT_EQ(strays, 0);
}

TEST(processes, a_process_may_send_to_itself) {
    processes all({.workers = 1});
    int left = 1000;
    (void)all.spawn(std::make_unique<acting>([&](event_batch& batch, step_output& out) {
        while (batch.next() != nullptr) {
        }
        if (--left == 0) return out.finish();
        EXPECT_EQ(out.send(out.self(), left), send_answer::accepted);
    }));
    all.join();
    EXPECT_EQ(left, 0);
}

TEST(processes, a_step_that_throws_ends_its_process_and_no_other) {
    std::atomic<int> told = 0, closed = 0, letters = 0;
    processes all({.workers = 2,
                   .on_dead_letter = [&](pid, dead_letter, event&) { ++letters; },
                   .on_exception =
                       [&](const std::exception_ptr& e) {
                           EXPECT_THROW(std::rethrow_exception(e), int);
                           ++told;
                       }});
    const auto other = all.spawn(deaf());
    const auto throws = all.spawn(std::make_unique<acting>(
        [](event_batch& batch, step_output&) {
            if (batch.next() != nullptr) throw 1;
        },
        [&] { ++closed; }));
    EXPECT_EQ(all.send(throws.id, 1), send_answer::accepted);
    wait_for([&] { return all.counters().living == 1; });
    EXPECT_EQ(all.counters().exceptions, 1U);
    EXPECT_EQ(told, 1);
    EXPECT_EQ(closed, 1);
    EXPECT_EQ(letters, 0) << "it had taken the message";
    EXPECT_NE(all.send(throws.id, 1), send_answer::accepted);
    EXPECT_EQ(all.send(other.id, 1), send_answer::accepted);
}

TEST(processes, what_a_step_does_not_take_is_a_dead_letter) {
    std::atomic<int> unread = 0, ended = 0;
    processes all({.workers = 1, .on_dead_letter = [&](pid, dead_letter why, event& e) {
                       EXPECT_NE(e.data.get<int>(), nullptr);
                       ++(why == dead_letter::unread ? unread : ended);
                   }});
    const auto never = all.spawn(std::make_unique<acting>([](event_batch&, step_output&) {}));
    for (int i = 0; i != 10; ++i) EXPECT_EQ(all.send(never.id, i), send_answer::accepted);
    wait_for([&] { return unread == 10; });
    const auto one = all.spawn(std::make_unique<acting>([](event_batch& batch, step_output& out) {
        if (batch.next() != nullptr) out.finish();
    }));
    std::atomic<bool> busy = false, go = false;
    (void)all.spawn(std::make_unique<acting>([&](event_batch&, step_output& out) {
        busy = true;
        wait_for([&] { return go.load(); });
        out.finish();
    }));
    wait_for([&] { return busy.load(); });  // the one worker: the messages come in one batch
    for (int i = 0; i != 10; ++i) EXPECT_EQ(all.send(one.id, i), send_answer::accepted);
    go = true;
    wait_for([&] { return ended == 9; });
    EXPECT_EQ(all.counters().dead_letters, 19U);
    EXPECT_EQ(all.kill(never.id), send_answer::accepted);
}

TEST(processes, the_end_of_a_watched_one_that_a_step_does_not_take_is_a_dead_letter) {
    std::atomic<int> ends = 0;
    processes all({.workers = 1, .on_dead_letter = [&](pid, dead_letter why, event& e) {
                       EXPECT_EQ(why, dead_letter::unread);
                       EXPECT_EQ(e.type, event_type::ended);
                       EXPECT_NE(e.data.get<process_end>(), nullptr);
                       ++ends;
                   }});
    const pid watched = all.spawn(deaf()).id;
    std::atomic<bool> watches = false;
    const pid never = all.spawn(std::make_unique<acting>([&](event_batch&, step_output& out) {
                             if (!watches.exchange(true)) (void)out.watch(watched);
                         }))
                          .id;
    wait_for([&] { return watches.load(); });
    EXPECT_EQ(all.kill(watched), send_answer::accepted);
    wait_for([&] { return ends == 1; });
    EXPECT_EQ(all.counters().dead_letters, 1U);
    EXPECT_EQ(all.kill(never), send_answer::accepted);
}

// Likewise of a step that finishes, or throws, with it unread. One that is killed had it in no batch.
TEST(processes, the_end_of_a_watched_one_that_the_last_step_leaves_is_a_dead_letter) {
    enum last_step { finishes, throws, is_killed };
    for (const last_step how : {finishes, throws, is_killed}) {
        std::atomic<unsigned> ends = 0;
        processes all({.workers = 1, .on_dead_letter = [&](pid, dead_letter why, event& e) {
                           EXPECT_EQ(why, dead_letter::ended);
                           EXPECT_EQ(e.type, event_type::ended);
                           ++ends;
                       }});
        const pid watched = all.spawn(deaf()).id;
        std::atomic<int> steps = 0;
        const pid watcher = all.spawn(std::make_unique<acting>([&](event_batch& batch, step_output& out) {
                                   if (++steps == 1) return void(out.watch(watched));
                                   EXPECT_FALSE(batch.empty());
                                   if (how == throws) throw std::runtime_error("with the end unread");
                                   out.finish();
                               }))
                                .id;
        wait_for([&] { return steps == 1; });
        if (how == is_killed) (void)all.kill(watcher);
        EXPECT_EQ(all.kill(watched), send_answer::accepted);
        all.join();
        const unsigned expected = how == is_killed ? 0 : 1;
        EXPECT_EQ(ends, expected);
        EXPECT_EQ(all.counters().dead_letters, expected);
    }
}

TEST(processes, empty_braces_are_the_usual_configuration) {
    processes named({}), usual, braces{}, config(processes_config{});
    EXPECT_EQ(named.workers(), usual.workers());
    EXPECT_TRUE(named.spawn(on_events([](event&, step_output&) {})));
}

// A18 of the museum: local work first, always, would starve what came from outside.
TEST(processes, one_that_runs_again_and_again_starves_nobody) {
    processes all({.workers = 1});
    std::atomic<bool> over = false;
    for (int i = 0; i != 2; ++i)
        (void)all.spawn(std::make_unique<acting>([&, i](event_batch& batch, step_output& out) {
            while (batch.next() != nullptr) {
            }
            if (over) return out.finish();
            i == 0 ? (void)out.send(out.self(), 1) : out.again();
        }));
    const auto late = all.spawn(on_events([&](event&, step_output& out) {
        over = true;
        out.finish();
    }));
    EXPECT_EQ(all.send(late.id, 1), send_answer::accepted);
    all.join();
    EXPECT_TRUE(over);
}

// More than a worker runs of its own before it looks elsewhere; and more than its queue holds.
TEST(processes, all_that_was_ready_on_a_worker_runs_before_one_that_lets_others_run) {
    constexpr int rounds = 5;
    for (const bool by_a_message : {true, false})
        for (const std::ptrdiff_t others : {2, 60, 200, 1000}) {
            // What its queue does not hold waits in the pool; of a batch from there the old end may have its turn
            // early.
            const std::ptrdiff_t late = others > 256 ? 16 : 0;
            processes all({.workers = 1});
            std::vector<pid> ids;
            std::vector<int> heard(static_cast<std::size_t>(others));
            int steps = 0;
            (void)all.spawn(std::make_unique<acting>([&](event_batch& batch, step_output& out) {
                while (batch.next() != nullptr) {
                }
                for (std::size_t i = ids.size(); i != heard.size(); ++i)
                    ids.push_back(out.spawn(on_events([&, i](event&, step_output& o) {
                                         if (++heard[i] == rounds) o.finish();
                                     }))
                                      .id);
                EXPECT_GE(std::count(heard.begin(), heard.end(), steps) + late, others) << by_a_message;
                if (steps++ == rounds) return out.finish();
                for (const pid id : ids) EXPECT_EQ(out.send(id, 1), send_answer::accepted);
                by_a_message ? (void)out.send(out.self(), 1) : out.again();
            }));
            all.join();
            EXPECT_EQ(steps, rounds + 1);
        }
}

// The first of three that others run before never returns unless that one has a step: a thief takes it, when it has
// the rest.
TEST(processes, one_that_lets_others_run_does_not_wait_for_a_step_that_does_not_return) {
    processes all({.workers = 2});
    std::atomic<bool> had_a_step = false;
    (void)all.spawn(std::make_unique<acting>([&](event_batch& batch, step_output& out) {
        bool again = false;
        while (event* e = batch.next()) again |= e->type == event_type::message;
        if (again) {
            had_a_step = true;
            return out.finish();
        }
        for (int i = 0; i != 3; ++i)
            (void)out.spawn(std::make_unique<acting>([&, i](event_batch&, step_output& o) {
                EXPECT_TRUE(i != 0 || comes_true([&] { return had_a_step.load(); }));
                o.finish();
            }));
        EXPECT_EQ(out.send(out.self(), 1), send_answer::accepted);
    }));
    all.join();
    EXPECT_TRUE(had_a_step);
}

// Its time comes while the first of sixty runs.
TEST(processes, one_that_sleeps_does_not_wait_for_all_that_others_let_run) {
    using clock = std::chrono::steady_clock;
    processes all({.workers = 1});
    int steps = 0, heard = 0, heard_before = -1;
    clock::time_point asleep;
    std::vector<pid> ids;
    (void)all.spawn(std::make_unique<acting>([&](event_batch& batch, step_output& out) {
        while (batch.next() != nullptr) {
        }
        if (steps++ == 0) {
            ids.push_back(out.spawn(on_events([&](event& e, step_output& o) {
                                 if (e.type == event_type::completed) {
                                     heard_before = heard;
                                     return o.finish();
                                 }
                                 o.sleep(1'000'000, 1);
                                 asleep = clock::now();
                                 o.block();
                             }))
                              .id);
            for (int i = 0; i != 60; ++i)
                ids.push_back(out.spawn(on_events([&, i](event&, step_output& o) {
                                     while (i == 0 && clock::now() < asleep + std::chrono::milliseconds(2)) {
                                     }
                                     ++heard;
                                     o.finish();
                                 }))
                                  .id);
        } else if (steps == 2) {
            for (const pid id : ids) EXPECT_EQ(out.send(id, 1), send_answer::accepted);
        } else {
            return out.finish();
        }
        EXPECT_EQ(out.send(out.self(), 1), send_answer::accepted);
    }));
    all.join();
    EXPECT_EQ(heard, 60);
    EXPECT_GE(heard_before, 0);
    EXPECT_LE(heard_before, 10);
}

TEST(processes, a_killed_one_is_not_stepped_any_more_and_is_closed) {
    std::atomic<int> steps = 0, closed = 0;
    processes all({.workers = 2});
    const auto made = all.spawn(on_events([&](event&, step_output&) { ++steps; }, [&] { ++closed; }));
    EXPECT_EQ(all.kill(made.id), send_answer::accepted);
    all.join();
    EXPECT_EQ(steps, 0);
    EXPECT_EQ(closed, 1);
}

TEST(processes, a_cancel_is_told_once_and_reaches_the_idle_and_the_blocked) {
    for (const bool blocked : {false, true}) {
        std::atomic<int> cancels = 0, waits = 0;
        processes all({.workers = 1, .handlers = {{1, [](auto&, process_command&&) {}}}});
        const auto made =
            all.spawn(std::make_unique<acting>([&, begun = false](event_batch& batch, step_output& out) mutable {
                while (event* e = batch.next())
                    if (e->type == event_type::cancel)
                        ++cancels;
                    else
                        out.finish();
                if (!std::exchange(begun, true)) {
                    if (blocked) out.call(1, 1), out.block();
                    ++waits;
                }
            }));
        wait_for([&] { return waits == 1; });
        for (int i = 0; i != 3; ++i) {
            EXPECT_EQ(all.cancel(made.id), send_answer::accepted);
            wait_for([&] { return cancels != 0; });
        }
        EXPECT_EQ(all.send(made.id, 1), send_answer::accepted);
        all.join();
        EXPECT_EQ(cancels, 1) << blocked;
    }
}

// Messages that are queued after it come in one batch.
struct gate {
    std::atomic<bool> busy = false, open = false;
    void shut(processes& one_worker) {
        (void)one_worker.spawn(std::make_unique<acting>([this](event_batch&, step_output& out) {
            busy = true;
            wait_for([this] { return open.load(); });
            out.finish();
        }));
        wait_for([this] { return busy.load(); });
    }
};

TEST(processes, a_step_that_leaves_the_cancel_behind_other_events_is_followed_by_one_that_has_it_alone) {
    for (const bool takes_it : {true, false}) {
        gate g;
        std::vector<event_type> told;
        std::vector<bool> began_empty;
        processes all({.workers = 1});
        const pid id = all.spawn(std::make_unique<acting>([&](event_batch& batch, step_output& out) {
                              began_empty.push_back(batch.empty());
                              if (!takes_it && told.size() == 1) return;
                              event* const e = batch.next();
                              if (e == nullptr) return;
                              told.push_back(e->type);
                              if (told.size() == 2) out.finish();
                          }))
                           .id;
        g.shut(all);
        for (int i = 0; i != 2; ++i) EXPECT_EQ(all.send(id, i), send_answer::accepted);
        EXPECT_EQ(all.cancel(id), send_answer::accepted);
        g.open = true;
        if (takes_it) {
            wait_for([&] { return !all.lives(id); });
        } else {
            wait_for([&] { return all.counters().dead_letters == 1; });
            EXPECT_EQ(all.look(id, real_sync::forever).steps, 3U) << "of itself, the batch, the cancel alone";
            EXPECT_EQ(all.kill(id), send_answer::accepted);
        }
        all.join();
        EXPECT_EQ(told.size(), takes_it ? 2U : 1U);
        EXPECT_EQ(told.back(), takes_it ? event_type::cancel : event_type::message);
        EXPECT_EQ(began_empty, (std::vector<bool>{true, false, false}));
        EXPECT_EQ(all.counters().dead_letters, 1U);
    }
}

TEST(processes, one_that_does_not_look_is_not_stepped_twice_for_a_cancel_that_came_alone) {
    std::atomic<int> steps = 0;
    processes all({.workers = 1});
    const pid id = all.spawn(std::make_unique<acting>([&](event_batch&, step_output&) { ++steps; })).id;
    wait_for([&] { return steps == 1; });
    EXPECT_EQ(all.cancel(id), send_answer::accepted);
    wait_for([&] { return steps == 2; });
    EXPECT_EQ(all.look(id, real_sync::forever).steps, 2U);
    EXPECT_EQ(all.kill(id), send_answer::accepted);
}

TEST(processes, a_watcher_is_told_once_how_it_ended) {
    enum class ends { says, throws, blocks_on_nothing, killed };
    for (const ends how : {ends::says, ends::throws, ends::blocks_on_nothing, ends::killed}) {
        processes all({.workers = 2});
        const auto watched = all.spawn(on_events([&](event&, step_output& out) {
            if (how == ends::throws) throw 1;
            how == ends::says ? out.finish() : out.block();
        }));
        std::atomic<int> told = 0, watching = 0;
        for (int i = 0; i != 2; ++i)
            (void)all.spawn(std::make_unique<acting>([&, begun = false](event_batch& batch, step_output& out) mutable {
                if (!std::exchange(begun, true)) {
                    EXPECT_EQ(out.watch(watched.id), send_answer::accepted);
                    ++watching;
                }
                while (event* e = batch.next()) {
                    EXPECT_EQ(e->type, event_type::ended);
                    EXPECT_EQ(e->from(), watched.id);
                    constexpr std::array as{process_end::finished, process_end::threw, process_end::misused,
                                            process_end::killed};
                    EXPECT_EQ(*e->data.get<process_end>(), as[static_cast<std::size_t>(how)]);
                    EXPECT_NE(out.watch(watched.id), send_answer::accepted) << "it has ended";
                    ++told;
                    out.finish();
                }
            }));
        wait_for([&] { return watching == 2; });
        EXPECT_EQ(how == ends::killed ? all.kill(watched.id) : all.send(watched.id, 1), send_answer::accepted);
        all.join();
        EXPECT_EQ(told, 2);
        EXPECT_EQ(all.counters().dead_letters, 0U);
    }
}

TEST(processes, its_end_is_told_behind_its_close_its_destructor_and_the_message_that_it_was_at) {
    enum class ends { says, throws, blocks_on_nothing, killed };
    enum class went { close, process, message, call, watched };
    struct says_when_it_goes {
        processes& all;
        pid to;
        went what;
        ~says_when_it_goes() { EXPECT_EQ(all.send(to, what), send_answer::accepted); }
    };
    for (const ends how : {ends::says, ends::throws, ends::blocks_on_nothing, ends::killed}) {
        processes all({.workers = 1});  // a second might be late to be told
        std::vector<went> seen;
        (void)all.spawn(std::make_unique<acting>([&, begun = false](event_batch& batch, step_output& out) mutable {
            if (!std::exchange(begun, true)) {
                const auto held = std::make_shared<says_when_it_goes>(all, out.self(), went::process);
                const auto child = out.spawn_watched(on_events(
                    [how, held](event& e, step_output& o) {
                        if (e.type == event_type::request) return;
                        if (how == ends::throws) throw 1;
                        how == ends::says ? o.finish() : o.block();
                    },
                    [&all, me = out.self()] { EXPECT_EQ(all.send(me, went::close), send_answer::accepted); }));
                EXPECT_EQ(out.request(child.id, 1, 0), send_answer::accepted);
                EXPECT_EQ(out.send(child.id, std::make_unique<says_when_it_goes>(all, out.self(), went::message)),
                          send_answer::accepted);
                const bool killed = how == ends::killed && all.kill(child.id) == send_answer::accepted;
                EXPECT_EQ(killed, how == ends::killed);
            }
            while (event* e = batch.next()) {
                if (const went* w = e->data.get<went>()) seen.push_back(*w);
                if (e->type == event_type::completed) seen.push_back(went::call);
                if (e->type == event_type::ended) seen.push_back(went::watched);
            }
            if (seen.size() == 5) out.finish();
        }));
        all.join();
        std::sort(seen.begin(), seen.begin() + 3);
        EXPECT_EQ(seen, (std::vector{went::close, went::process, went::message, went::watched, went::call}));
    }
}

TEST(processes, what_is_sent_to_one_that_is_being_closed_is_a_dead_letter) {
    processes all({.workers = 1});
    pid id;
    bool alive = false;
    const auto made = all.spawn(on_events([](event&, step_output& out) { out.finish(); },
                                          [&] {
                                              alive = all.lives(id);
                                              EXPECT_EQ(all.send(id, 1), send_answer::accepted);
                                          }));
    id = made.id;
    EXPECT_EQ(all.send(id, 0), send_answer::accepted);
    all.join();
    EXPECT_TRUE(alive);
    EXPECT_EQ(all.counters().dead_letters, 1U);
    EXPECT_NE(all.send(id, 1), send_answer::accepted);
}

TEST(processes, a_watcher_that_blocks_is_told_behind_its_block_and_one_that_has_ended_is_not) {
    processes all({.workers = 1, .handlers = {{1, [](auto&, process_command&&) {}}}});
    const auto watched = all.spawn(deaf());
    std::vector<event_type> told;
    const auto watcher = all.spawn(std::make_unique<acting>([&](event_batch& batch, step_output& out) {
        while (event* e = batch.next()) told.push_back(e->type);
        if (!told.empty()) return out.finish();
        (void)out.watch(watched.id);
        out.call(1, 1);
        out.block();
    }));
    (void)all.spawn(std::make_unique<acting>([&](event_batch&, step_output& out) {
        (void)out.watch(watched.id);
        out.finish();
    }));
    wait_for([&] { return all.counters().living == 2; });
    EXPECT_EQ(all.cancel(watched.id), send_answer::accepted);
    wait_for([&] { return all.counters().living == 1; });
    EXPECT_EQ(all.complete_yield(watcher.id, 1), send_answer::accepted);
    all.join();
    EXPECT_EQ(told, (std::vector{event_type::ended, event_type::completed}));
}

TEST(processes, a_child_that_is_watched_from_its_spawn_is_told_once_and_one_that_is_refused_is_not) {
    struct fails : process {
        init_answer init(context&, std::string_view, payload) override { return init_answer::failed; }
        void step(events&, output&) override {}
    };
    constexpr int rounds = 500;
    processes all({.workers = 3});
    int told = 0;
    (void)all.spawn(std::make_unique<acting>([&, begun = 0](event_batch& batch, step_output& out) mutable {
        while (event* e = batch.next()) {
            EXPECT_EQ(e->type, event_type::ended);
            EXPECT_EQ(*e->data.get<process_end>(), process_end::threw);
            ++told;
        }
        if (told != begun) return;
        if (told == rounds) return out.finish();
        EXPECT_EQ(out.spawn_watched(std::make_unique<fails>()).error, spawn_error::failed);
        EXPECT_TRUE(out.spawn_watched(std::make_unique<acting>([](event_batch&, step_output&) { throw 1; })));
        ++begun;
    }));
    all.join();
    EXPECT_EQ(told, rounds);
}

TEST(processes, of_many_that_are_idle_each_is_reached) {
    constexpr std::uint32_t many = 20'000;  // the table grows on the way
    processes all({.workers = 2});
    std::atomic<std::uint32_t> reached = 0;
    std::vector<pid> ids;
    for (std::uint32_t i = 0; i != many; ++i)
        ids.push_back(all.spawn(on_events([&](event&, step_output& out) {
                             ++reached;
                             out.finish();
                         }))
                          .id);
    for (const pid id : ids) EXPECT_EQ(all.send(id, 1), send_answer::accepted);
    all.join();
    EXPECT_EQ(reached, many);
    EXPECT_EQ(all.counters().spawned, many);
}

TEST(processes, wakes_through_the_pool_as_the_seed_has_it) {
    processes all({.workers = 2, .parameters = seed_spinning(), .wakes_into_pool = true});
    int left = 1000;
    pid first;
    std::atomic<bool> ready = false;
    const auto hop = [&](event& e, step_output& out) {
        wait_for([&] { return ready.load(); });
        if (--left <= 0) {
            out.finish();
            return (void)out.scheduler().cancel(e.from());
        }
        (void)out.send(e.from() ? e.from() : first, 1);
    };
    first = all.spawn(on_events(hop)).id;
    const auto second = all.spawn(on_events(hop));
    ready = true;
    (void)all.send(second.id, 1);
    wait_for([&] { return all.counters().living < 2; });
    EXPECT_TRUE(all.stop().over);
    EXPECT_LE(left, 0);
}

TEST(processes, count_the_sleeps_of_their_workers) {
    processes all({.workers = 1});
    EXPECT_TRUE(comes_true([&] { return all.counters().parked != 0; }));
}

TEST(processes, refuses_impossible_numbers) {
    EXPECT_THROW(processes({.workers = 281}), std::invalid_argument);
    EXPECT_THROW(processes({.workers = 1, .stop_ns = -1}), std::invalid_argument);
    for (const double share : {-0.01, 1.01, std::numeric_limits<double>::quiet_NaN()})
        EXPECT_THROW(processes({.workers = 1, .parameters = {.idle_cpu = share}}), std::invalid_argument) << share;
    EXPECT_THROW(processes({.workers = 1, .force_ns = -1}), std::invalid_argument);
    EXPECT_NO_THROW(processes({.workers = 1, .stop_ns = 0, .force_ns = 0}));
    EXPECT_THROW(processes({.workers = 1, .handlers = {{processes::sleep_command, [](auto&, process_command&&) {}}}}),
                 std::invalid_argument);
    EXPECT_THROW(processes({.workers = 1, .handlers = {{1, nullptr}}}), std::invalid_argument);
    EXPECT_EQ(processes({.workers = 280}).workers(), 280U);
    EXPECT_GE(processes().workers(), 1U) << "as many as there are processors";
}

}  // namespace
}  // namespace processes_test
