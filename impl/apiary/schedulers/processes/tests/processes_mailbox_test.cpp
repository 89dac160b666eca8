// Mailboxes with a bound: what a send does that finds one full, for processes and for threads, and that nothing is
// lost by it.
#include <gtest/gtest.h>

#include <apiary/testing/comes_true.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "acting.hpp"

namespace processes_mailbox_test {
namespace {

using namespace apiary;

// Is in a step until the gate opens; then it notes its messages, in order.
struct gated {
    std::atomic<bool> in_step = false, open = false;
    std::vector<int> got;
    std::unique_ptr<process> make(mailbox_limit l) {
        return std::make_unique<bounded>(l, [this](event_batch& batch, step_output& out) {
            in_step = true;
            wait_for([this] { return open.load(); });
            while (event* e = batch.next())
                if (e->type == event_type::cancel)
                    out.finish();
                else if (const int* n = e->data.get<int>())
                    got.push_back(*n);
        });
    }
};

TEST(processes_mailbox, one_that_refuses_takes_as_many_as_its_bound_and_more_when_it_has_looked) {
    gated g;
    processes all({.workers = 1});
    const pid id = all.spawn(g.make({.most = 3})).id;
    wait_for([&] { return g.in_step.load(); });
    for (int i = 0; i != 3; ++i) EXPECT_EQ(all.send(id, i), send_answer::accepted);
    payload kept(7);
    EXPECT_EQ(all.send(id, std::move(kept)), send_answer::full);
    EXPECT_EQ(*kept.get<int>(), 7) << "a refused payload is still there";
    EXPECT_EQ(all.kill(pid{}), send_answer::no_such_process);
    g.open = true;
    while (all.send(id, 3) == send_answer::full) std::this_thread::yield();
    EXPECT_TRUE(all.stop(real_sync::forever).over);
    EXPECT_EQ(g.got, (std::vector{0, 1, 2, 3}));
    EXPECT_EQ(all.counters().dead_letters, 0U);
}

TEST(processes_mailbox, ten_million_to_one_that_does_not_look_take_no_more_memory_than_its_bound) {
    gated g;
    processes all({.workers = 1});
    const pid id = all.spawn(g.make({.most = 1000})).id;
    wait_for([&] { return g.in_step.load(); });
    std::uint64_t accepted = 0, full = 0;
    for (int i = 0; i != 10'000'000; ++i) ++(all.send(id, i) == send_answer::accepted ? accepted : full);
    EXPECT_EQ(accepted, 1000U);
    EXPECT_EQ(full, 9'999'000U);
    g.open = true;
}

TEST(processes_mailbox, one_that_drops_its_oldest_keeps_the_newest_and_buries_the_others) {
    gated g;
    std::vector<int> dropped;
    processes all({.workers = 1, .on_dead_letter = [&](pid, dead_letter why, event& e) {
                       EXPECT_EQ(why, dead_letter::dropped);
                       dropped.push_back(*e.data.get<int>());
                   }});
    const pid id = all.spawn(g.make({.most = 3, .then = when_full::drop_oldest})).id;
    wait_for([&] { return g.in_step.load(); });
    for (int i = 0; i != 6; ++i) EXPECT_EQ(all.send(id, i), send_answer::accepted);
    EXPECT_EQ(all.send(id, 6), send_answer::full) << "twice the bound: it cannot drop while its step runs";
    all.request_stop();
    g.open = true;
    EXPECT_EQ(all.stop(real_sync::forever).undelivered, 3U);
    EXPECT_EQ(g.got, (std::vector{3, 4, 5}));
    EXPECT_EQ(dropped, (std::vector{0, 1, 2}));
}

TEST(processes_mailbox, one_that_blocks_drops_its_oldest_too) {
    std::atomic<bool> blocked = false;
    std::vector<int> got;
    processes all({.workers = 1, .handlers = {{1, [](auto&, process_command&&) {}}}});
    const pid id = all.spawn(std::make_unique<bounded>(mailbox_limit{.most = 2, .then = when_full::drop_oldest},
                                                       [&](event_batch& batch, step_output& out) {
                                                           if (!blocked.exchange(true)) {
                                                               out.call(1, 1);
                                                               return out.block();
                                                           }
                                                           while (event* e = batch.next())
                                                               if (const int* n = e->data.get<int>()) got.push_back(*n);
                                                           out.finish();
                                                       }))
                       .id;
    wait_for([&] { return blocked.load(); });
    for (int i = 0; i != 1000; ++i)
        while (all.send(id, i) == send_answer::full) std::this_thread::yield();
    EXPECT_EQ(all.complete_yield(id, 1), send_answer::accepted);
    all.join();
    EXPECT_EQ(got, (std::vector{998, 999}));
    EXPECT_EQ(all.counters().dead_letters, 998U);
}

TEST(processes_mailbox, one_that_blocks_is_not_woken_until_it_has_something_to_drop) {
    gated g;
    processes all({.workers = 1, .handlers = {{1, [](auto&, process_command&&) {}}}});
    const pid id = all.spawn(std::make_unique<bounded>(mailbox_limit{.most = 2, .then = when_full::drop_oldest},
                                                       [begun = false](event_batch&, step_output& out) mutable {
                                                           if (std::exchange(begun, true)) return out.finish();
                                                           out.call(1, 1);
                                                           out.block();
                                                       }))
                       .id;
    const auto state = [&] { return all.look(id, 0).state; };
    wait_for([&] { return state() == process_state::blocked; });
    (void)all.spawn(g.make({}));  // has the worker: what is woken stays ready
    wait_for([&] { return g.in_step.load(); });
    for (int i = 0; i != 2; ++i) EXPECT_EQ(all.send(id, i), send_answer::accepted);
    EXPECT_EQ(state(), process_state::blocked);
    EXPECT_EQ(all.send(id, 2), send_answer::accepted);
    EXPECT_EQ(state(), process_state::ready);
    g.open = true;
}

TEST(processes_mailbox, the_bound_of_one_that_is_refused_does_not_hold) {
    struct refuses : process {
        ~refuses() override {
            for (int i = 0; i != 2; ++i) EXPECT_EQ(all->send(self, i), send_answer::accepted);
        }
        init_answer init(context& c, std::string_view, payload) override {
            all = &c.scheduler;
            self = c.self;
            c.mailbox = {.most = 1};
            return init_answer::failed;
        }
        void step(events&, output&) override {}
        process_core<real_sync>* all = nullptr;
        pid self;
    };
    processes all({.workers = 1});
    EXPECT_EQ(all.spawn(std::make_unique<refuses>()).error, spawn_error::failed);
    EXPECT_EQ(all.counters().dead_letters, 2U);
}

// By one worker: its newest free place is given out first.
TEST(processes_mailbox, what_a_bounded_one_has_left_is_not_reported_of_the_next_in_its_place) {
    processes all({.workers = 1});
    pid first;
    event left;
    std::atomic<bool> over = false;
    (void)all.spawn(std::make_unique<acting>([&](event_batch& batch, step_output& out) {
        if (batch.next() == nullptr) {
            first = out.spawn_watched(std::make_unique<bounded>(
                                          mailbox_limit{.most = 1},
                                          [&](event_batch& b, step_output& o) {
                                              if (event* const e = b.next()) left = std::move(*e), o.finish();
                                          },
                                          [&] { all.bury(first, std::move(left)); }))
                        .id;
            EXPECT_EQ(out.send(first, 1), send_answer::accepted);
            return;
        }
        EXPECT_EQ(out.spawn(deaf()).id.place(), first.place());
        out.finish();
        over = true;
    }));
    wait_for([&] { return over.load(); });
    const auto report = all.stop(real_sync::forever);
    EXPECT_EQ(all.counters().dead_letters, 1U) << "before the stop";
    EXPECT_EQ(report.undelivered, 0U);
    EXPECT_TRUE(report.with_mail.empty());
}

TEST(processes_mailbox, a_sending_process_is_suspended_until_its_message_is_taken) {
    gated g;
    processes all({.workers = 2});
    const pid id = all.spawn(g.make({.most = 2, .then = when_full::suspend_sender})).id;
    wait_for([&] { return g.in_step.load(); });
    std::atomic<int> steps = 0, sent = 0;
    const pid sender = all.spawn(std::make_unique<acting>([&](event_batch& batch, step_output& out) {
                              ++steps;
                              while (event* e = batch.next())
                                  if (e->type == event_type::cancel) return out.finish();
                              for (;;) {
                                  const send_answer a = out.send(id, sent.load());
                                  if (a == send_answer::full) return out.again();  // it is suspended, by the one before
                                  EXPECT_EQ(a, send_answer::accepted);
                                  if (++sent == 10) return;
                              }
                          }))
                           .id;
    wait_for([&] { return sent == 3; });  // two, and the one that it waits for
    EXPECT_EQ(all.send(sender, 0), send_answer::accepted);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_EQ(steps, 1) << "suspended: no message wakes it";
    EXPECT_EQ(all.look(sender, real_sync::forever).waits_for, std::vector{id});
    g.open = true;
    wait_for([&] { return sent == 10; });
    EXPECT_TRUE(all.stop(real_sync::forever).over);
    std::vector<int> expected(10);
    for (int i = 0; i != 10; ++i) expected[static_cast<std::size_t>(i)] = i;
    EXPECT_EQ(g.got, expected);
}

TEST(processes_mailbox, one_that_is_refused_goes_on_where_there_is_room) {
    constexpr int most = 5, letters = 1000;
    constexpr std::size_t receivers = 3;
    for (const unsigned workers : {1U, 2U}) {
        std::array<std::vector<int>, receivers> got;
        std::array<int, receivers> largest{};
        std::atomic<std::size_t> complete = 0;
        int refused = 0;
        processes all({.workers = workers});
        std::array<pid, receivers> to;
        for (std::size_t r = 0; r != receivers; ++r)
            to[r] = all.spawn(std::make_unique<bounded>(mailbox_limit{.most = most, .then = when_full::suspend_sender},
                                                        [&, r](event_batch& batch, step_output& out) {
                                                            int here = 0;
                                                            for (; event* e = batch.next(); ++here)
                                                                if (const int* n = e->data.get<int>())
                                                                    got[r].push_back(*n);
                                                            largest[r] = std::max(largest[r], here);
                                                            if (got[r].size() != letters) return;
                                                            out.finish();
                                                            ++complete;
                                                        }))
                        .id;
        int next = 0;
        std::size_t at = 0;
        (void)all.spawn(std::make_unique<acting>([&](event_batch& batch, step_output& out) {
            while (batch.next() != nullptr) {
            }
            for (; next != letters; ++next, at = 0)
                for (; at != receivers; ++at)
                    if (out.send(to[at], next) == send_answer::full) {
                        ++refused;
                        return out.again();
                    }
            out.finish();
        }));
        wait_for([&] { return complete == receivers; });
        EXPECT_TRUE(all.stop(real_sync::forever).over);
        EXPECT_GT(refused, 0);
        for (std::size_t r = 0; r != receivers; ++r) {
            EXPECT_LE(largest[r], most + 1);
            ASSERT_EQ(got[r].size(), std::size_t{letters});
            for (int i = 0; i != letters; ++i) ASSERT_EQ(got[r][static_cast<std::size_t>(i)], i);
        }
    }
}

TEST(processes_mailbox, a_suspended_process_is_reached_by_a_cancel_and_ended_by_a_kill) {
    for (const bool kill : {false, true}) {
        gated g;
        processes all({.workers = 2});
        const pid id = all.spawn(g.make({.most = 1, .then = when_full::suspend_sender})).id;
        wait_for([&] { return g.in_step.load(); });
        std::atomic<int> cancels = 0, sent = 0;
        const pid sender = all.spawn(std::make_unique<acting>([&](event_batch& batch, step_output& out) {
                                  while (event* e = batch.next())
                                      if (e->type == event_type::cancel) return (void)++cancels, out.finish();
                                  for (; sent != 2; ++sent) EXPECT_EQ(out.send(id, 0), send_answer::accepted);
                              }))
                               .id;
        wait_for([&] { return sent == 2; });
        EXPECT_EQ(kill ? all.kill(sender) : all.cancel(sender), send_answer::accepted);
        wait_for([&] { return !all.lives(sender); });
        EXPECT_EQ(cancels, kill ? 0 : 1);
        g.open = true;
    }
}

TEST(processes_mailbox, one_that_is_suspended_by_the_step_that_leaves_its_cancel_is_reached_by_it) {
    gated g;
    processes all({.workers = 2});
    const pid id = all.spawn(g.make({.most = 1, .then = when_full::suspend_sender})).id;
    wait_for([&] { return g.in_step.load(); });
    std::atomic<int> cancels = 0;
    std::atomic<bool> begun = false, queued = false;
    const pid sender = all.spawn(std::make_unique<acting>([&](event_batch& batch, step_output& out) {
                              if (!begun.exchange(true)) return wait_for([&] { return queued.load(); });
                              event* const e = batch.next();
                              if (e->type == event_type::cancel) return (void)++cancels;
                              for (int i = 0; i != 2; ++i) EXPECT_EQ(out.send(id, i), send_answer::accepted);
                          }))
                           .id;
    wait_for([&] { return begun.load(); });
    EXPECT_EQ(all.send(sender, 1), send_answer::accepted);
    EXPECT_EQ(all.cancel(sender), send_answer::accepted);
    queued = true;
    wait_for([&] { return cancels == 1; });
    EXPECT_TRUE(all.look(sender, real_sync::forever).waits_for.empty()) << "it waits for room no more";
    g.open = true;
    EXPECT_EQ(all.kill(sender), send_answer::accepted);
}

TEST(processes_mailbox, a_suspended_process_whose_receiver_is_killed_goes_on) {
    gated g;
    processes all({.workers = 2});
    const pid id = all.spawn(g.make({.most = 1, .then = when_full::suspend_sender})).id;
    wait_for([&] { return g.in_step.load(); });
    std::atomic<int> steps = 0, sent = 0;
    (void)all.spawn(std::make_unique<acting>([&](event_batch&, step_output& out) {
        if (++steps == 2) return out.finish();
        for (; sent != 2; ++sent) EXPECT_EQ(out.send(id, 0), send_answer::accepted);
        out.again();
    }));
    wait_for([&] { return sent == 2; });
    EXPECT_EQ(all.kill(id), send_answer::accepted);
    EXPECT_EQ(steps, 1) << "its receiver is in a step yet";
    g.open = true;
    EXPECT_TRUE(comes_true([&] { return all.counters().living == 0; }));
    EXPECT_EQ(steps, 2);
    EXPECT_EQ(all.counters().dead_letters, 2U);
}

TEST(processes_mailbox, an_outside_thread_blocks_until_its_message_is_taken_or_buried) {
    for (const bool ends : {false, true}) {
        gated g;
        std::atomic<int> letters = 0;
        processes all({.workers = 1, .on_dead_letter = [&](pid, dead_letter, event& e) {
                           EXPECT_FALSE(e.from()) << "no process has sent it";
                           ++letters;
                       }});
        const pid id = all.spawn(g.make({.most = 1, .then = when_full::suspend_sender})).id;
        wait_for([&] { return g.in_step.load(); });
        EXPECT_EQ(all.send(id, 0), send_answer::accepted);
        std::atomic<bool> back = false;
        std::size_t accepted = 1;
        std::thread sender([&] {
            const send_answer a = all.send(id, 1);
            accepted += a == send_answer::accepted ? 1U : 0U;
            EXPECT_TRUE(ends || a == send_answer::accepted) << "it may come after the end, and not else";
            back = true;
        });
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        EXPECT_FALSE(back);
        if (ends) {
            EXPECT_EQ(all.kill(id), send_answer::accepted);
        }
        g.open = true;
        sender.join();
        EXPECT_TRUE(all.stop(real_sync::forever).over);
        EXPECT_EQ(g.got.size() + static_cast<std::size_t>(letters), accepted);
    }
}

TEST(processes_mailbox, a_circle_of_full_ones_is_named_and_its_last_send_refused) {
    std::mutex m;
    std::vector<pid> named;
    processes all({.workers = 3, .on_full_circle = [&](const std::vector<pid>& c) {
                       const std::lock_guard held(m);
                       named = c;
                   }});
    std::array<std::atomic<std::uint64_t>, 3> ids{};
    std::atomic<int> in_step = 0, sent = 0, refused = 0;
    for (std::size_t i = 0; i != 3; ++i) {
        const auto made =
            all.spawn(std::make_unique<bounded>(mailbox_limit{.most = 1, .then = when_full::suspend_sender},
                                                [&, i, begun = false](event_batch& batch, step_output& out) mutable {
                                                    while (event* e = batch.next())
                                                        if (e->type == event_type::cancel) return out.finish();
                                                    if (std::exchange(begun, true)) return;
                                                    // All three stand in their steps: nobody takes anything.
                                                    ++in_step;
                                                    wait_for([&] { return in_step == 3 && ids[(i + 1) % 3] != 0; });
                                                    const pid next{ids[(i + 1) % 3]};
                                                    EXPECT_EQ(out.send(next, 1), send_answer::accepted);
                                                    if (out.send(next, 2) == send_answer::full) ++refused;
                                                    ++sent;
                                                    wait_for([&] { return sent == 3; });
                                                }));
        ids[i] = made.id.value;
    }
    wait_for([&] { return sent == 3; });
    EXPECT_EQ(refused, 1) << "the last of them";
    const auto report = all.stop(real_sync::forever);
    EXPECT_TRUE(report.over) << "the others go on";
    EXPECT_EQ(report.forced.size(), 0U);
    EXPECT_EQ(named.size(), 3U);
    for (const auto& id : ids) EXPECT_EQ(std::count(named.begin(), named.end(), pid{id}), 1);
    EXPECT_EQ(all.counters().full_circles, 1U);
}

TEST(processes_mailbox, one_that_sends_to_its_own_full_mailbox_is_refused_and_named) {
    std::vector<pid> named;
    int full = 0;
    processes all({.workers = 1, .on_full_circle = [&](const std::vector<pid>& c) { named = c; }});
    const auto made = all.spawn(std::make_unique<bounded>(mailbox_limit{.most = 1, .then = when_full::suspend_sender},
                                                          [&](event_batch&, step_output& out) {
                                                              EXPECT_EQ(out.send(out.self(), 1), send_answer::accepted);
                                                              full += out.send(out.self(), 2) == send_answer::full;
                                                              out.finish();
                                                          }));
    all.join();
    EXPECT_EQ(full, 1);
    EXPECT_EQ(named, std::vector{made.id});
    EXPECT_EQ(all.counters().full_circles, 1U);
}

TEST(processes_mailbox, one_whose_message_was_taken_and_that_has_not_run_yet_closes_no_circle) {
    constexpr mailbox_limit narrow{.most = 1, .then = when_full::suspend_sender};
    processes all({.workers = 1});
    std::vector<send_answer> back;
    pid a;
    const pid b = all.spawn(std::make_unique<bounded>(narrow,
                                                      [&](event_batch& batch, step_output& out) {
                                                          while (event* e = batch.next())
                                                              if (e->type == event_type::cancel) return out.finish();
                                                          if (!a) return;
                                                          // Both are taken: their sender waits no more, but
                                                          // its worker is this one.
                                                          for (int i = 0; i != 2; ++i) back.push_back(out.send(a, i));
                                                          a = {};
                                                      }))
                      .id;
    std::atomic<int> got = 0;
    (void)all.spawn(std::make_unique<bounded>(narrow, [&, begun = false](event_batch& batch, step_output& out) mutable {
        if (!std::exchange(begun, true)) {
            a = out.self();
            for (int i = 0; i != 2; ++i) EXPECT_EQ(out.send(b, i), send_answer::accepted);
        }
        while (event* e = batch.next())
            if (e->type == event_type::cancel)
                out.finish();
            else
                ++got;
    }));
    wait_for([&] { return got != 0; });
    EXPECT_TRUE(all.stop(real_sync::forever).over);
    EXPECT_EQ(back, (std::vector{send_answer::accepted, send_answer::accepted}));
    EXPECT_EQ(got, 2);
    EXPECT_EQ(all.counters().full_circles, 0U);
}

TEST(processes_mailbox, only_one_that_waits_is_told_that_there_is_room) {
    processes all({.workers = 1});
    const pid named = all.spawn(deaf()).id;
    wait_for([&] { return all.look(named, 0).state == process_state::idle; });
    process_state then = process_state::complete;
    const pid id = all.spawn(std::make_unique<bounded>(mailbox_limit{.most = 1, .then = when_full::suspend_sender},
                                                       [&](event_batch& batch, step_output& out) {
                                                           int n = 0;
                                                           while (event* e = batch.next())
                                                               e->type == event_type::cancel ? out.finish() : (void)++n;
                                                           // This step has the worker: one that is told stays ready.
                                                           if (n == 2) then = out.scheduler().look(named, 0).state;
                                                       }))
                       .id;
    std::atomic<bool> over = false;
    (void)all.spawn(std::make_unique<acting>([&, begun = false](event_batch&, step_output& out) mutable {
        if (std::exchange(begun, true)) return over = true, out.finish();
        EXPECT_EQ(out.scheduler().send_from(named, id, 1), send_answer::accepted);
        EXPECT_EQ(out.send(id, 2), send_answer::accepted);
        out.again();
    }));
    wait_for([&] { return over.load(); });
    EXPECT_TRUE(all.stop(real_sync::forever).over);
    EXPECT_EQ(then, process_state::idle);
}

// A completion that was not called for. Its data goes when the receiver's run has taken what had come, and has not yet
// made room for it: a moment in which another process sends, whose step waits for `go`.
struct meanwhile {
    std::atomic<bool> ready = false, go = false, sent = false;
    void send(step_output& out, pid to) {
        ready = true;
        wait_for([this] { return go.load(); });
        EXPECT_EQ(out.send(to, 0), send_answer::accepted);
        sent = true;
    }
    std::shared_ptr<void> data() {
        return {nullptr, [this](void*) {
                    go = true;
                    wait_for([this] { return sent.load(); });
                }};
    }
};

TEST(processes_mailbox, what_comes_beyond_the_bound_counts_until_it_is_taken) {
    meanwhile m;
    std::atomic<int> steps = 0;
    std::atomic<bool> open = false;
    send_answer more = send_answer::accepted;
    processes all({.workers = 2});
    const pid id = all.spawn(std::make_unique<bounded>(mailbox_limit{.most = 1, .then = when_full::suspend_sender},
                                                       [&](event_batch& batch, step_output& out) {
                                                           if (++steps == 1)
                                                               return wait_for([&] { return open.load(); });
                                                           while (event* e = batch.next())
                                                               if (e->type == event_type::cancel) out.finish();
                                                           if (steps == 2) more = out.scheduler().send(out.self(), 2);
                                                       }))
                       .id;
    wait_for([&] { return steps == 1; });
    (void)all.spawn(std::make_unique<acting>([&](event_batch&, step_output& out) {
        m.send(out, id);
        out.finish();
    }));
    wait_for([&] { return m.ready.load(); });
    EXPECT_EQ(all.send(id, 1), send_answer::accepted);
    EXPECT_EQ(all.complete_yield(id, 1, m.data()), send_answer::accepted);
    open = true;
    wait_for([&] { return steps >= 3; });
    EXPECT_TRUE(all.stop(real_sync::forever).over);
    EXPECT_EQ(more, send_answer::full);
}

TEST(processes_mailbox, one_that_was_killed_while_it_waited_ends_no_wait_of_the_next_in_its_place) {
    constexpr mailbox_limit narrow{.most = 1, .then = when_full::suspend_sender};
    meanwhile m;
    std::atomic<int> steps = 0;
    std::atomic<bool> open = false;
    pid second;
    std::vector<send_answer> back;
    processes all({.workers = 2});
    const pid id = all.spawn(std::make_unique<bounded>(narrow,
                                                       [&](event_batch& batch, step_output& out) {
                                                           const int step = steps + 1;
                                                           if (step == 1) {
                                                               steps = 1;
                                                               return wait_for([&] { return open.load(); });
                                                           }
                                                           while (event* e = batch.next())
                                                               if (e->type == event_type::cancel) out.finish();
                                                           for (int i = 0; step == 2 && i != 2; ++i)
                                                               back.push_back(out.send(second, i));
                                                           steps = step;
                                                       }))
                       .id;
    wait_for([&] { return steps == 1; });
    EXPECT_EQ(all.send(id, 0), send_answer::accepted);
    const pid first =
        all
            .spawn(std::make_unique<bounded>(
                narrow, [&](event_batch&, step_output& out) { EXPECT_EQ(out.send(id, 1), send_answer::accepted); }))
            .id;
    wait_for([&] { return all.look(first, 0).state == process_state::blocked; });
    EXPECT_EQ(all.kill(first), send_answer::accepted);
    wait_for([&] { return !all.lives(first); });
    // By the worker that has ended the first: the newest free place is given out first.
    (void)all.spawn(std::make_unique<acting>([&](event_batch&, step_output& out) {
        second = out.spawn(std::make_unique<bounded>(narrow,
                                                     [&, begun = false](event_batch& batch, step_output& o) mutable {
                                                         while (event* e = batch.next())
                                                             if (e->type == event_type::cancel) o.finish();
                                                         if (!std::exchange(begun, true)) m.send(o, id);
                                                     }))
                     .id;
        out.finish();
    }));
    wait_for([&] { return m.ready.load(); });
    ASSERT_EQ(second.place(), first.place());
    EXPECT_EQ(all.complete_yield(id, 1, m.data()), send_answer::accepted);
    open = true;
    wait_for([&] { return steps >= 2; });
    (void)all.stop();
    EXPECT_EQ(back, (std::vector{send_answer::accepted, send_answer::full})) << "it waits for the one that sends to it";
    EXPECT_EQ(all.counters().full_circles, 1U);
}

TEST(processes_mailbox, what_a_full_circle_throws_leaves_the_send_and_nothing_leaks) {
    const auto weight = std::make_shared<int>(1);
    processes all({.workers = 1, .on_full_circle = [](const std::vector<pid>&) { throw 1; }});
    (void)all.spawn(std::make_unique<bounded>(mailbox_limit{.most = 1, .then = when_full::suspend_sender},
                                              [&](event_batch&, step_output& out) {
                                                  EXPECT_EQ(out.send(out.self(), weight), send_answer::accepted);
                                                  EXPECT_THROW((void)out.send(out.self(), weight), int);
                                                  out.finish();
                                              }));
    all.join();
    EXPECT_EQ(all.counters().dead_letters, 1U);
    EXPECT_EQ(weight.use_count(), 1);
}

TEST(processes_mailbox, a_step_may_not_block_its_worker_by_a_send_that_names_no_sender) {
    gated g;
    processes all({.workers = 2});
    const pid id = all.spawn(g.make({.most = 1, .then = when_full::suspend_sender})).id;
    wait_for([&] { return g.in_step.load(); });
    EXPECT_EQ(all.send(id, 0), send_answer::accepted);
    std::atomic<bool> over = false;
    (void)all.spawn(std::make_unique<acting>([&](event_batch&, step_output& out) {
        EXPECT_EQ(out.scheduler().send(id, 1), send_answer::full);
        over = true;
        out.finish();
    }));
    wait_for([&] { return over.load(); });
    g.open = true;
}

TEST(processes_mailbox, many_senders_and_one_receiver_lose_nothing_under_each_policy) {
    constexpr int each = 3000;
    for (const when_full policy : {when_full::refuse, when_full::suspend_sender, when_full::drop_oldest}) {
        processes all({.workers = 3});
        std::atomic<int> got = 0, accepted = 0, senders = 4;
        const auto sink = all.spawn(std::make_unique<bounded>(mailbox_limit{.most = 4, .then = policy},
                                                              [&](event_batch& batch, step_output& out) {
                                                                  while (event* e = batch.next())
                                                                      if (e->type == event_type::cancel)
                                                                          out.finish();
                                                                      else
                                                                          ++got;
                                                              }));
        for (int s = 0; s != 2; ++s)
            (void)all.spawn(std::make_unique<acting>([&, left = each](event_batch&, step_output& out) mutable {
                for (int n = 0; n != 7 && left != 0; ++n) {
                    if (out.send(sink.id, left) != send_answer::accepted) break;
                    ++accepted;
                    --left;
                }
                if (left != 0) return out.again();
                --senders;
                out.finish();
            }));
        std::vector<std::thread> outside;
        for (int s = 0; s != 2; ++s)
            outside.emplace_back([&] {
                for (int n = 0; n != each;)
                    if (all.send(sink.id, n) == send_answer::accepted)
                        ++accepted, ++n;
                    else
                        std::this_thread::yield();
                --senders;
            });
        for (std::thread& t : outside) t.join();
        wait_for([&] { return senders == 0; });
        EXPECT_TRUE(all.stop(real_sync::forever).over);
        EXPECT_EQ(accepted, 4 * each);
        EXPECT_EQ(static_cast<std::uint64_t>(got) + all.counters().dead_letters, 4U * each);
        EXPECT_EQ(all.counters().dead_letters == 0, policy != when_full::drop_oldest || got == 4 * each);
    }
}

// Tries ten times to send a dead letter again to where it was sent.
struct sends_again {
    processes* to_all = nullptr;
    std::vector<send_answer> answers;
    void operator()(pid to, event& letter) {
        send_answer a = send_answer::full;
        for (int i = 0; i != 10 && a == send_answer::full; ++i) a = to_all->send(to, std::move(letter.data));
        answers.push_back(a);
    }
};
constexpr std::array all_policies{when_full::refuse, when_full::suspend_sender, when_full::drop_oldest};

// The dead letters are told last, so the watcher sends while the place is still that of the ended process.
TEST(processes_mailbox, a_send_after_the_end_of_a_full_one_says_that_it_has_ended) {
    for (const when_full policy : all_policies) {
        std::atomic<bool> watching = false, steps = false, open = false, told = false;
        send_answer of_watcher{};
        sends_again again;
        processes all({.workers = 2, .on_dead_letter = [&](pid to, dead_letter, event& e) {
                           wait_for([&] { return told.load(); });
                           again(to, e);
                       }});
        again.to_all = &all;
        const pid id = all.spawn(std::make_unique<bounded>(mailbox_limit{.most = 1, .then = policy},
                                                           [&](event_batch&, step_output& out) {
                                                               steps = true;
                                                               wait_for([&] { return open.load(); });
                                                               out.finish();
                                                           }))
                           .id;
        (void)all.spawn(std::make_unique<acting>([&](event_batch& batch, step_output& out) {
            if (!watching) {
                EXPECT_EQ(out.watch(id), send_answer::accepted);
                watching = true;
            }
            while (event* e = batch.next()) {
                if (e->type != event_type::ended) continue;
                of_watcher = out.send(e->from(), 1);
                told = true;
                out.finish();
            }
        }));
        // Letters that came before its step would be told as dead before the watcher hears of the end.
        wait_for([&] { return watching && steps; });
        const std::size_t room = policy == when_full::drop_oldest ? 2 : 1;
        for (std::size_t i = 0; i != room; ++i) EXPECT_EQ(all.send(id, 1), send_answer::accepted);
        open = true;
        all.join();
        EXPECT_EQ(of_watcher, send_answer::completing);
        EXPECT_EQ(again.answers, std::vector(room, send_answer::completing));
    }
}

TEST(processes_mailbox, one_that_is_killed_has_room_again_when_its_letters_are_buried) {
    for (const when_full policy : all_policies) {
        gated g;
        sends_again again;
        processes all({.workers = 1, .on_dead_letter = [&](pid to, dead_letter, event& e) { again(to, e); }});
        again.to_all = &all;
        const pid id = all.spawn(g.make({.most = 1, .then = policy})).id;
        wait_for([&] { return g.in_step.load(); });
        EXPECT_EQ(all.send(id, 1), send_answer::accepted);
        EXPECT_EQ(all.kill(id), send_answer::accepted);
        g.open = true;
        all.join();
        EXPECT_EQ(again.answers, (std::vector{send_answer::accepted, send_answer::completing})) << "a dead letter, too";
    }
}

}  // namespace
}  // namespace processes_mailbox_test
