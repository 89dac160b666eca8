// What comes between two moments of a run, each time (turned.hpp): last before an end, while a process is suspended,
// and in the next process of a place.
#include <gtest/gtest.h>

#include <apiary/schedulers/processes/routine.hpp>
#include <apiary/schedulers/processes/supervisor.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <apiary/testing/comes_true.hpp>

#include "acting.hpp"
#include "turned.hpp"

namespace process_turns_test {
namespace {

using namespace apiary;
using namespace apiary::by_turns;

TEST(process_turns, one_that_ends_lets_those_go_whose_messages_it_never_took) {
    enum class ends { finishes, throws };
    for (const ends how : {ends::finishes, ends::throws}) {
        turned t(2);
        int steps = 0;
        const pid receiver = t.spawn(std::make_unique<bounded>(narrow, [&](event_batch&, step_output& out) {
            EXPECT_TRUE(t.turn(1)) << "the sender runs while this step does";
            if (how == ends::throws) throw 1;
            out.finish();
        }));
        const pid sender = t.spawn(std::make_unique<acting>([&](event_batch& batch, step_output& out) {
                                       ignore(batch);
                                       if (++steps != 1) return;
                                       for (int i = 0; i != 2; ++i) EXPECT_EQ(out.send(receiver, i), send_answer::accepted);
                                       out.again();
                                   }), 1);
        EXPECT_TRUE(t.turn(0));
        EXPECT_FALSE(t.all.lives(receiver));
        t.turns(0);
        EXPECT_EQ(steps, 2) << "nobody would ever take what it waits for";
        EXPECT_EQ(t.state(sender), process_state::idle);
        EXPECT_EQ(t.all.counters().dead_letters, 2U);
    }
}

// Two of one place: of the first a call ends while it is suspended, and then it is killed.
TEST(process_turns, a_call_that_ended_while_one_was_suspended_ends_no_block_of_the_next_in_its_place) {
    turned t(1, with_nothing());
    int steps = 0;
    const pid receiver = t.spawn(full_until_completed());
    t.turns();
    const auto fills = [&](event_batch& batch, step_output& out) {
        ignore(batch);
        if (steps++ != 0) return;
        out.call(nothing, 7);
        while (out.send(receiver, 0) == send_answer::accepted) {
        }
        out.block();
    };
    const pid first = t.spawn(std::make_unique<acting>(fills));
    t.turns();
    EXPECT_EQ(t.all.complete_yield(first, 7), send_answer::accepted);
    t.turns();
    EXPECT_EQ(t.all.kill(first), send_answer::accepted);
    t.turns();
    steps = 0;
    const pid second = t.spawn(std::make_unique<acting>(fills));
    EXPECT_EQ(second.place(), first.place());
    t.turns();
    EXPECT_EQ(t.all.complete_yield(receiver, 1), send_answer::accepted);
    t.turns();
    EXPECT_EQ(steps, 1) << "there is room, and what it blocks for has not come";
    EXPECT_EQ(t.state(second), process_state::blocked);
}

TEST(process_turns, a_call_that_ended_while_one_was_suspended_ends_one_block_of_it) {
    turned t(1, with_nothing());
    int steps = 0, ended = 0;
    const pid receiver = t.spawn(full_until_completed({.most = 1, .then = when_full::suspend_sender}));
    const pid other = t.spawn(full_until_completed());
    t.turns();
    const pid sender = t.spawn(std::make_unique<acting>([&](event_batch& batch, step_output& out) {
        while (event* e = batch.next()) ended += e->type == event_type::completed ? 1 : 0;
        const std::uint64_t tag = 7U + static_cast<unsigned>(steps++);
        if (steps > 2) return;
        out.call(nothing, tag);
        while (out.send(steps == 1 ? receiver : other, 0) == send_answer::accepted) {
        }
        out.block();
    }));
    t.turns();
    EXPECT_EQ(t.all.complete_yield(sender, 7), send_answer::accepted);
    t.turns();
    EXPECT_EQ(steps, 1) << "it waits for room";
    EXPECT_EQ(t.all.complete_yield(receiver, 1), send_answer::accepted);
    t.turns();
    EXPECT_EQ(steps, 2);
    EXPECT_EQ(ended, 1);
    EXPECT_EQ(t.all.complete_yield(other, 1), send_answer::accepted);
    t.turns();
    EXPECT_EQ(steps, 2) << "there is room, and what it blocks for has not come";
}

// The data of a completion that nobody has called for goes when a run has taken what had come, and has made no room
// yet.
std::shared_ptr<void> at_the_look(std::function<void()> f) {
    return {nullptr, [f = std::move(f)](void*) { f(); }};
}

TEST(process_turns, what_is_dropped_makes_room_for_as_many_and_no_more) {
    turned t;
    std::vector<int> got;
    int room = -1;
    const pid receiver = t.spawn(std::make_unique<bounded>(mailbox_limit{.most = 2, .then = when_full::drop_oldest},
                                                           [&](event_batch& batch, step_output& out) {
                                                               if (room != -1) return ignore(batch);
                                                               while (event* e = batch.next())
                                                                   if (const int* n = e->data.get<int>()) got.push_back(*n);
                                                               if (got.empty()) return;
                                                               for (room = 0; out.scheduler().send(out.self(), 9) ==
                                                                              send_answer::accepted;)
                                                                   ++room;
                                                           }));
    t.turns();
    for (int i = 0; i != 3; ++i) EXPECT_EQ(t.all.send(receiver, i), send_answer::accepted);
    (void)t.all.complete_yield(receiver, 5, at_the_look([&] { EXPECT_EQ(t.all.send(receiver, 3), send_answer::accepted); }));
    EXPECT_TRUE(t.turn());
    EXPECT_EQ(got, (std::vector{1, 2}));
    EXPECT_EQ(room, 3) << "one has come meanwhile, of four";
}

// What a step has called for goes with it, when it is not carried out: the next step on that worker has calls of its
// own.
TEST(process_turns, the_calls_of_a_step_that_throws_or_is_misused_are_nobodys) {
    enum class ends { throws, asks_twice, calls_twice };
    for (const ends how : {ends::throws, ends::asks_twice, ends::calls_twice}) {
        std::vector<pid> asked;
        turned t(1, {.handlers = {{nothing, [&](auto&, process_command&& c) { asked.push_back(c.from); }}}});
        const pid bad = t.spawn(std::make_unique<acting>([&](event_batch&, step_output& out) {
            out.call(nothing, 1);
            if (how == ends::throws) throw 1;
            if (how == ends::calls_twice) out.call(nothing, 1);
            for (int i = 0; how == ends::asks_twice && i != 2; ++i) (void)out.request(out.self(), 2, 0);
        }));
        t.turns();
        const pid good = t.spawn(std::make_unique<acting>([&](event_batch& batch, step_output& out) {
            ignore(batch);
            if (asked.empty()) out.call(nothing, 1);
        }));
        t.turns();
        EXPECT_FALSE(t.all.lives(bad));
        EXPECT_EQ(asked, std::vector{good});
    }
}

// A step that ends its process while something comes: it lies in the mailbox when that closes.
struct comes_last : turned {
    comes_last() : turned(2, with_nothing()) {}
    // `last`: in the last step of the one; `throws`: how it ends. The other's first step is before that, and each
    // news a step.
    void play(const std::function<void(pid one, step_output& other)>& early, const std::function<void(pid, step_output&)>& last,
              bool throws = false) {
        bool begun = false;
        one = spawn(std::make_unique<acting>([&, this](event_batch& batch, step_output& out) {
            ignore(batch);
            if (!std::exchange(begun, true)) return;
            in_last = true;
            EXPECT_EQ(all.send(other, 0), send_answer::accepted);
            turns(1);
            in_last = false;
            if (throws) throw 1;
            out.finish();
        }));
        turns(0);
        other = spawn(std::make_unique<acting>([&, this](event_batch& batch, step_output& out) {
                          while (event* e = batch.next()) {
                              if (e->type == event_type::ended) ++told;
                              if (e->type == event_type::completed) errors.push_back(e->error);
                          }
                          if (steps++ == 0) early(one, out);
                          if (in_last) last(one, out);
                      }), 1);
        turns(1);
        turns(0);
        EXPECT_EQ(all.send(one, 0), send_answer::accepted);
        turns(0);
        EXPECT_FALSE(all.lives(one));
        turns(1);
    }
    pid one, other;
    int steps = 0, told = 0;
    bool in_last = false;
    std::vector<yield_error> errors;
};
constexpr auto does_nothing = [](pid, step_output&) {};

TEST(process_turns, a_request_that_comes_last_has_no_answer) {
    comes_last c;
    c.play(does_nothing, [](pid one, step_output& out) { EXPECT_EQ(out.request(one, 3, 0), send_answer::accepted); });
    EXPECT_EQ(c.errors, std::vector{yield_error::no_answer});
    EXPECT_EQ(c.all.counters().dead_letters, 1U);
}
TEST(process_turns, a_completion_that_comes_last_is_late) {
    comes_last c;
    c.play(does_nothing, [](pid one, step_output& out) {
        EXPECT_EQ(out.scheduler().complete_yield(one, 3), send_answer::accepted);
    });
    EXPECT_EQ(c.all.counters().late_completions, 1U);
}
TEST(process_turns, a_watch_that_comes_last_is_told_once_and_one_that_is_taken_back_then_is_not) {
    const auto watches = [](pid one, step_output& out) { EXPECT_EQ(out.watch(one), send_answer::accepted); };
    const auto unwatches = [](pid one, step_output& out) { EXPECT_EQ(out.unwatch(one), send_answer::accepted); };
    {
        comes_last c;
        c.play(does_nothing, watches);
        EXPECT_EQ(c.told, 1);
    }
    {
        comes_last c;
        c.play(watches, unwatches);
        EXPECT_EQ(c.told, 0);
    }
    {
        comes_last c;
        c.play(watches, watches);
        EXPECT_EQ(c.told, 2) << "once for each";
    }
}
TEST(process_turns, a_link_that_comes_last_ends_the_other_also_where_it_blocks_and_one_taken_back_then_does_not) {
    const auto links = [](pid one, step_output& out) { EXPECT_EQ(out.link(one), send_answer::accepted); };
    const auto blocks = [&](pid one, step_output& out) {
        links(one, out);
        out.call(nothing, 1);
        out.block();
    };
    {
        comes_last c;
        c.play(does_nothing, blocks, true);
        EXPECT_FALSE(c.all.lives(c.other));
        EXPECT_EQ(c.told, 0) << "it is no watch";
    }
    {
        comes_last c;
        c.play(links, [](pid one, step_output& out) { EXPECT_EQ(out.unlink(one), send_answer::accepted); }, true);
        EXPECT_TRUE(c.all.lives(c.other));
    }
}
TEST(process_turns, the_end_of_one_that_is_watched_wakes_none_that_blocks) {
    comes_last c;
    c.play(does_nothing, [](pid one, step_output& out) {
        EXPECT_EQ(out.watch(one), send_answer::accepted);
        out.call(nothing, 1);
        out.block();
    });
    EXPECT_EQ(c.state(c.other), process_state::blocked);
    EXPECT_EQ(c.all.counters().runs, 4U) << "two of each";
    EXPECT_EQ(c.all.complete_yield(c.other, 1), send_answer::accepted);
    c.turns(1);
    EXPECT_EQ(c.told, 1);
}
// Else it would be told only what is known at once, and only at its deadline.
TEST(process_turns, a_look_that_comes_last_is_answered) {
    comes_last c;
    process_view seen;
    std::thread looks;
    c.play(does_nothing, [&](pid one, step_output& out) {
        process_core<real_sync>& all = out.scheduler();
        looks = std::thread([&, one] { seen = all.look(one, 10'000'000'000); });
        // As soon as it has come the process is `called`.
        EXPECT_TRUE(comes_true([&] { return all.look(one, 0).state == process_state::called; }));
    });
    looks.join();
    EXPECT_TRUE(seen.told);
    EXPECT_EQ(seen.steps, 2U);
}

TEST(process_turns, one_that_is_forced_is_not_stepped_for_what_has_come) {
    turned t;
    int steps = 0;
    const pid one = t.spawn(std::make_unique<acting>([&](event_batch& batch, step_output&) { ignore(batch), ++steps; }));
    t.turns();
    EXPECT_EQ(t.all.send(one, 0), send_answer::accepted);
    t.all.request_stop();
    t.all.force();
    t.all.request_stop();
    t.turns();
    EXPECT_EQ(steps, 1);
    const auto forced = t.all.report().forced;
    ASSERT_EQ(forced.size(), 1U);
    EXPECT_EQ(forced.front().undelivered, 1U);
}

// What a step begins and is refused is as if it had not begun.
TEST(process_turns, a_refused_request_leaves_its_tag_free) {
    turned t;
    const pid server = t.spawn(std::make_unique<acting>([](event_batch& batch, step_output&) { ignore(batch); }));
    const pid one = t.spawn(std::make_unique<acting>([&](event_batch& batch, step_output& out) {
        if (batch.next() != nullptr) return;
        EXPECT_EQ(out.request(pid::of(99, 1), 3, 0), send_answer::no_such_process);
        EXPECT_EQ(out.request(server, 3, 0), send_answer::accepted);
        out.block();
    }));
    EXPECT_TRUE(t.turn());
    EXPECT_TRUE(t.all.lives(one));
}
TEST(process_turns, a_request_whose_answer_will_be_none_and_whose_asker_is_gone_is_late) {
    turned t;
    const pid server = t.spawn(std::make_unique<acting>([](event_batch& batch, step_output& out) {
        while (event* e = batch.next())
            if (e->type == event_type::message) out.finish();
    }));
    const pid asker = t.spawn(std::make_unique<acting>([&](event_batch&, step_output& out) {
        EXPECT_EQ(out.request(server, 3, 0), send_answer::accepted);
        out.finish();
    }));
    t.turns();
    EXPECT_FALSE(t.all.lives(asker));
    EXPECT_EQ(t.all.send(server, 0), send_answer::accepted);
    t.turns();
    EXPECT_EQ(t.all.counters().late_completions, 1U);
}
TEST(process_turns, a_request_that_is_answered_and_left_unread_has_one_answer) {
    turned t;
    int ends = 0;
    pid asker;
    const pid server = t.spawn(std::make_unique<acting>([&](event_batch& batch, step_output& out) {
        if (batch.empty()) return;
        EXPECT_EQ(out.answer({asker, 3}, 1), send_answer::accepted);
    }));
    t.turns();
    asker = t.spawn(std::make_unique<acting>([&, begun = false](event_batch& batch, step_output& out) mutable {
        while (event* e = batch.next()) ends += e->type == event_type::completed ? 1 : 0;
        if (std::exchange(begun, true)) return;
        EXPECT_EQ(out.request(server, 3, 0), send_answer::accepted);
    }));
    t.turns();
    EXPECT_EQ(ends, 1);
    EXPECT_EQ(t.all.counters().late_completions, 0U);
}

// One that drops its oldest blocks meanwhile, and so has more than its bound when it looks.
TEST(process_turns, of_what_is_dropped_requests_are_told_and_ends_are_kept) {
    turned t(1, with_nothing());
    std::vector<event_type> got;
    std::vector<yield_error> errors;
    const pid dies = t.spawn(std::make_unique<acting>([](event_batch& batch, step_output& out) {
        if (batch.next() != nullptr) out.finish();
    }));
    t.turns();
    const pid one = t.spawn(std::make_unique<bounded>(mailbox_limit{.most = 2, .then = when_full::drop_oldest},
                                                      [&, begun = false](event_batch& batch, step_output& out) mutable {
                                                          if (!std::exchange(begun, true)) {
                                                              EXPECT_EQ(out.watch(dies), send_answer::accepted);
                                                              out.call(nothing, 1);
                                                              return out.block();
                                                          }
                                                          while (event* e = batch.next()) got.push_back(e->type);
                                                      }));
    t.turns();
    EXPECT_EQ(t.all.send(dies, 0), send_answer::accepted);
    t.turns();
    (void)t.spawn(std::make_unique<acting>([&, begun = false](event_batch& batch, step_output& out) mutable {
        while (event* e = batch.next())
            if (e->type == event_type::completed) errors.push_back(e->error);
        if (std::exchange(begun, true)) return;
        EXPECT_EQ(out.request(one, 3, 0), send_answer::accepted);
    }));
    t.turns();
    for (int i = 0; i != 2; ++i) EXPECT_EQ(t.all.send(one, i), send_answer::accepted);
    t.turns();
    EXPECT_EQ(errors, std::vector{yield_error::no_answer});
    EXPECT_EQ(t.all.complete_yield(one, 1), send_answer::accepted);
    t.turns();
    using enum event_type;
    EXPECT_EQ(got, (std::vector{ended, message, message, completed}));
}
TEST(process_turns, the_end_of_one_that_was_watched_makes_no_room) {
    turned t;
    int room = -1;
    const pid dies = t.spawn(std::make_unique<acting>([](event_batch& batch, step_output& out) {
        if (batch.next() != nullptr) out.finish();
    }));
    t.turns();
    const pid one = t.spawn(std::make_unique<bounded>(mailbox_limit{.most = 3}, [&](event_batch& batch, step_output& out) {
        const bool first = batch.empty();
        ignore(batch);
        if (first) return (void)out.watch(dies);
        if (room != -1) return;
        for (room = 0; out.scheduler().send(out.self(), 9) == send_answer::accepted;) ++room;
    }));
    t.turns();
    // The end comes between what one worker finds: its process is ready, and has not run.
    for (int i = 0; i != 2; ++i) EXPECT_EQ(t.all.send(one, i), send_answer::accepted);
    (void)t.all.complete_yield(one, 5, at_the_look([&] { EXPECT_EQ(t.all.send(one, 2), send_answer::accepted); }));
    EXPECT_EQ(t.on(0, [&] { return t.all.send(dies, 0); }), send_answer::accepted);
    t.turns();
    EXPECT_EQ(room, 2) << "of three, one has come meanwhile";
}

// It waits for the first, is cancelled, and waits for the second. The first takes its message; then the second would
// wait for it.
TEST(process_turns, an_old_message_that_is_taken_ends_no_newer_wait) {
    turned t(2, with_nothing());
    pid waits;
    std::vector<send_answer> said;
    const pid first = t.spawn(full_until_completed());
    t.turns(0);
    const pid second = t.spawn(std::make_unique<bounded>(narrow, [&](event_batch& batch, step_output& out) {
        if (batch.next() == nullptr || !said.empty()) return;
        EXPECT_EQ(t.all.cancel(waits), send_answer::accepted);
        t.turns(1);
        EXPECT_EQ(t.all.complete_yield(first, 1), send_answer::accepted);
        t.turns(1);
        EXPECT_EQ(t.state(waits), process_state::blocked) << "its message lies with this one";
        for (int i = 0; i != 2; ++i) said.push_back(out.send(waits, i));
    }));
    t.turns(0);
    waits = t.spawn(std::make_unique<bounded>(narrow, [&](event_batch& batch, step_output& out) {
                        const pid to = batch.empty() ? first : second;
                        ignore(batch);
                        for (int i = 0; said.empty() && i != 2; ++i) EXPECT_EQ(out.send(to, i), send_answer::accepted);
                    }), 1);
    t.turns(1);
    EXPECT_EQ(t.all.send(second, 0), send_answer::accepted);
    t.turns(0);
    EXPECT_EQ(said, (std::vector{send_answer::accepted, send_answer::full}));
    EXPECT_EQ(t.all.counters().full_circles, 1U);
}

// Cancelled while it waits for room, it waits for room in the same mailbox again; `twice`: and again, since its step
// has left the cancel in its batch. Then the messages of the waits before the last are taken.
TEST(process_turns, the_room_of_a_wait_that_a_cancel_has_ended_ends_no_later_one_for_the_same_mailbox) {
    for (const bool twice : {false, true}) {
        turned t(2, with_nothing());
        int steps = 0, taken = 0;
        const pid receiver = t.spawn(std::make_unique<bounded>(
            narrow, [&, tag = std::uint64_t{0}](event_batch& batch, step_output& out) mutable {
                while (const event* e = batch.next()) taken += e->is_mail() ? 1 : 0;
                out.call(nothing, ++tag);
                out.block();
            }));
        t.turns(0);
        const pid sender = t.spawn(std::make_unique<acting>([&](event_batch& batch, step_output& out) {
                                       ++steps;
                                       const event* const e = batch.next();
                                       if (e != nullptr && e->type == event_type::cancel) {
                                           t.on(0, [&] { return t.all.complete_yield(receiver, 1); });
                                           t.turns(0);
                                       }
                                       for (int i = 0; i != 2; ++i) (void)out.send(receiver, i);
                                   }),
                                   1);
        t.turns(1);
        if (twice) {
            EXPECT_EQ(t.all.send(sender, 0), send_answer::accepted);
        }
        EXPECT_EQ(t.all.cancel(sender), send_answer::accepted);
        t.turns(1);
        EXPECT_EQ(steps, twice ? 3 : 2);
        EXPECT_EQ(taken, twice ? 3 : 2) << "what it had sent before its last step";
        EXPECT_EQ(t.state(sender), process_state::blocked) << "its last message lies with the receiver";
        EXPECT_EQ(t.all.send(sender, 0), send_answer::accepted);
        t.turns(1);
        EXPECT_EQ(steps, twice ? 3 : 2);
        t.on(0, [&] { return t.all.complete_yield(receiver, 2); });
        t.turns(0);
        t.turns(1);
        EXPECT_EQ(steps, twice ? 4 : 3) << "there is room";
    }
}

// The same, of one with a bound: its first message is taken when it waits for the second time. If the receiver waits
// for it then, it closes a circle.
TEST(process_turns, an_old_message_that_is_taken_ends_no_newer_wait_for_the_same_mailbox) {
    turned t(2, with_nothing());
    pid waits;
    std::vector<send_answer> said;
    const pid receiver =
        t.spawn(std::make_unique<bounded>(narrow, [&, begun = false](event_batch& batch, step_output& out) mutable {
            ignore(batch);
            if (std::exchange(begun, true)) {
                for (int i = 0; said.size() != 2; ++i) said.push_back(out.send(waits, i));
                return;
            }
            out.call(nothing, 1);
            out.block();
        }));
    t.turns(0);
    waits = t.spawn(std::make_unique<bounded>(narrow,
                                              [&](event_batch& batch, step_output& out) {
                                                  ignore(batch);
                                                  for (int i = 0; said.empty() && i != 2; ++i)
                                                      (void)out.send(receiver, i);
                                              }),
                    1);
    t.turns(1);
    const auto cancelled = [&] {
        EXPECT_EQ(t.all.cancel(waits), send_answer::accepted);
        t.turns(1);
    };
    (void)t.all.complete_yield(receiver, 5, at_the_look(cancelled));
    EXPECT_EQ(t.all.complete_yield(receiver, 1), send_answer::accepted);
    t.turns(0);
    EXPECT_EQ(said, (std::vector{send_answer::accepted, send_answer::full}));
    EXPECT_EQ(t.all.counters().full_circles, 1U);
}

// b would close a circle and is refused: it does not wait, and what waits for it later closes none.
TEST(process_turns, one_that_was_refused_as_a_circle_does_not_wait) {
    turned t(2);
    std::vector<send_answer> of_a, of_b;
    pid a, b;
    b = t.spawn(std::make_unique<bounded>(narrow, [&](event_batch& batch, step_output& out) {
        event* const e = batch.next();
        if (e == nullptr || e->data.get<bool>() == nullptr) return ignore(batch);
        ignore(batch);
        EXPECT_EQ(t.all.send(a, true), send_answer::accepted);
        t.turns(1);
        if (of_b.empty()) of_b = {out.send(a, 0), out.send(a, 1)};
    }));
    a = t.spawn(std::make_unique<bounded>(narrow, [&](event_batch& batch, step_output& out) {
                    event* const e = batch.next();
                    const bool sends = e != nullptr && e->data.get<bool>() != nullptr;
                    ignore(batch);
                    for (int i = 0; sends && i != 2; ++i) of_a.push_back(out.send(b, i));
                }), 1);
    t.turns(1);
    for (int i = 0; i != 2; ++i) {
        EXPECT_EQ(t.all.send(b, true), send_answer::accepted);
        t.turns(0);
        t.turns(1);
    }
    EXPECT_EQ(of_a, std::vector(4, send_answer::accepted));
    EXPECT_EQ(of_b, (std::vector{send_answer::accepted, send_answer::full}));
    EXPECT_EQ(t.all.counters().full_circles, 1U);
}
TEST(process_turns, what_the_listener_of_circles_throws_leaves_the_payload_to_its_sender) {
    turned t(1, {.on_full_circle = [](const std::vector<pid>&) { throw 1; }});
    int kept = 0;
    (void)t.spawn(std::make_unique<bounded>(narrow, [&](event_batch& batch, step_output& out) {
        if (batch.next() != nullptr) return;
        EXPECT_EQ(out.send(out.self(), 1), send_answer::accepted);
        payload mine(7);
        EXPECT_THROW((void)out.send(out.self(), std::move(mine)), int);
        kept = mine.get<int>() != nullptr ? *mine.get<int>() : 0;
    }));
    t.turns();
    EXPECT_EQ(kept, 7);
}

// A place that once had a bounded process keeps its memory, and no other does. The last one there had all that one can
// have, and was killed.
TEST(process_turns, the_next_one_in_a_place_has_nothing_of_the_last) {
    constexpr mailbox_limit wide{.most = 100};
    for (const auto& [last_has, next_is_bounded] : {std::pair{wide, false}, {wide, true}, {mailbox_limit{}, false}}) {
        turned t(1, with_nothing());
        int told_first = 0, told_asker = 0;
        const auto silent = [](event_batch& batch, step_output& out) {
            while (event* e = batch.next())
                if (e->data.get<bool>() != nullptr) out.finish();
        };
        const pid one = t.spawn(std::make_unique<acting>(silent)), two = t.spawn(std::make_unique<acting>(silent));
        const pid linked = t.spawn(std::make_unique<acting>(silent));
        t.turns();
        const pid last = t.spawn(std::make_unique<bounded>(last_has, [&](event_batch& batch, step_output& out) {
            if (batch.next() != nullptr) return;
            for (const std::uint64_t tag : {1U, 2U, 3U}) out.call(nothing, tag);
            EXPECT_EQ(out.request(one, 4, 0), send_answer::accepted);
            EXPECT_EQ(out.link(linked), send_answer::accepted);
        }));
        t.turns();
        const pid knows = t.spawn(std::make_unique<acting>([&, begun = false](event_batch& batch, step_output& out) mutable {
            while (event* e = batch.next()) {
                told_first += e->type == event_type::ended ? 1 : 0;
                told_asker += e->type == event_type::completed ? 1 : 0;
            }
            if (std::exchange(begun, true)) return;
            EXPECT_EQ(out.watch(last), send_answer::accepted);
            EXPECT_EQ(out.request(last, 1, 0), send_answer::accepted);
        }));
        t.turns();
        EXPECT_EQ(t.all.kill(last), send_answer::accepted);
        t.turns();
        EXPECT_EQ(told_first, 1);
        EXPECT_EQ(told_asker, 1);
        EXPECT_FALSE(t.all.lives(linked));
        (void)t.spawn(std::make_unique<acting>(silent));  // in the place of that one, which is the newest
        std::vector<std::uint64_t> ends;
        int steps = 0;
        const auto next = [&](event_batch& batch, step_output& out) {
            while (event* e = batch.next())
                if (e->type == event_type::completed)
                    ends.push_back(e->tag);
                else if (e->type == event_type::message)
                    out.finish();
            if (++steps > 1) return;
            for (const std::uint64_t tag : {5U, 1U, 2U, 3U}) out.call(nothing, tag);
            EXPECT_EQ(out.request(two, 4, 0), send_answer::accepted);
            EXPECT_EQ(out.link(two), send_answer::accepted);
        };
        pid now;
        if (next_is_bounded)
            now = t.spawn(std::make_unique<bounded>(wide, next));
        else
            now = t.spawn(std::make_unique<acting>(next));
        EXPECT_EQ(now.place(), last.place());
        t.turns();
        EXPECT_TRUE(t.all.lives(now)) << "its tags are its own";
        EXPECT_EQ(t.all.send(two, true), send_answer::accepted);
        t.turns();
        EXPECT_EQ(ends, std::vector<std::uint64_t>{4}) << "its request has its own receiver";
        process_view v;
        std::atomic<bool> seen = false;
        std::thread looks([&] { v = t.all.look(now, 10'000'000'000), seen = true; });
        while (!seen) (void)t.turn();
        looks.join();
        EXPECT_EQ(v.steps, 2U);
        EXPECT_EQ(v.calls.size(), 4U);
        EXPECT_TRUE(v.watchers.empty());
        EXPECT_TRUE(v.linked.empty()) << "with one that has finished";
        EXPECT_EQ(t.all.send(now, 0), send_answer::accepted);
        t.turns();
        EXPECT_FALSE(t.all.lives(now));
        EXPECT_TRUE(t.all.lives(knows));
        EXPECT_EQ(told_first, 1) << "it has watched another";
        EXPECT_EQ(t.all.counters().late_completions, 0U) << "the request was told already";
    }
}

TEST(process_turns, an_end_that_is_on_its_way_to_one_that_unlinks_ends_it_not) {
    turned t(2);
    const pid one = t.spawn(std::make_unique<acting>([](event_batch& batch, step_output&) {
        if (batch.next() != nullptr) throw 1;
    }));
    t.turns(0);
    const pid other = t.spawn(std::make_unique<acting>([&](event_batch& batch, step_output& out) {
                                  if (batch.next() == nullptr) return (void)out.link(one);
                                  t.turns(0);
                                  EXPECT_FALSE(t.all.lives(one));
                                  (void)out.unlink(one);
                              }), 1);
    t.turns(1);
    t.turns(0);
    EXPECT_EQ(t.all.send(other, 0), send_answer::accepted);
    EXPECT_EQ(t.all.send(one, 0), send_answer::accepted);
    t.turns(1);
    EXPECT_FALSE(t.all.lives(one));
    EXPECT_TRUE(t.all.lives(other));
}

// The first links again while the second's unlink is on its way to it. Either may have made the first link.
TEST(process_turns, a_link_that_is_made_again_stays_at_both_ends_though_an_unlink_was_on_its_way) {
    enum orders { links, unlinks, waits_and_links, fails };
    for (const int by : {0, 1}) {
        turned t(2);
        std::array<pid, 2> of;
        for (const unsigned i : {0U, 1U})
            of[i] =
                t.spawn(on_events([&, i](event& e, step_output& out) {
                            const orders what = *e.data.get<orders>();
                            const pid other = of[1 - i];
                            if (what == fails) throw 1;
                            if (what == unlinks) return (void)out.unlink(other);
                            if (what == waits_and_links) {
                                EXPECT_EQ(t.on(1, [&] { return t.all.send(other, unlinks); }), send_answer::accepted);
                                t.turns(1);
                            }
                            EXPECT_EQ(out.link(other), send_answer::accepted);
                        }),
                        i);
        const auto order = [&](unsigned i, orders what) {
            EXPECT_EQ(t.on(i, [&] { return t.all.send(of[i], what); }), send_answer::accepted);
            for (const unsigned w : {i, 1 - i}) t.turns(w);
        };
        for (const unsigned w : {0U, 1U}) t.turns(w);
        order(static_cast<unsigned>(by), links);
        order(0, waits_and_links);
        order(1, fails);
        EXPECT_FALSE(t.all.lives(of[0])) << "it was told that it is linked, and lives on";
    }
}
// `unlinks`: it has taken the link back before, and the other does not know that either.
TEST(process_turns, a_link_that_is_made_again_to_one_that_has_ended_is_refused_and_the_one_that_was_there_holds) {
    for (const bool unlinks : {false, true}) {
        turned t(2);
        send_answer said = send_answer::accepted;
        pid one, other;
        one = t.spawn(std::make_unique<acting>([&](event_batch& batch, step_output& out) {
            if (batch.next() == nullptr) return;
            if (unlinks) (void)out.unlink(other);
            throw 1;
        }));
        t.turns(0);
        other = t.spawn(std::make_unique<acting>([&](event_batch& batch, step_output& out) {
                            if (batch.next() == nullptr) return (void)out.link(one);
                            EXPECT_EQ(t.on(0, [&] { return t.all.send(one, 0); }), send_answer::accepted);
                            t.turns(0);
                            EXPECT_FALSE(t.all.lives(one));
                            said = out.link(one);
                        }),
                        1);
        t.turns(1);
        t.turns(0);
        EXPECT_EQ(t.all.send(other, 0), send_answer::accepted);
        t.turns(1);
        EXPECT_EQ(said, send_answer::completing);
        EXPECT_EQ(t.all.lives(other), unlinks);
    }
}

// While their supervisor, on worker 1, makes the third, the first fails and then the second finishes. The supervisor
// hears of both at a time. The second has not ended by the stop of all.
TEST(process_turns, a_child_that_had_finished_before_a_stop_of_all_is_not_started_again) {
    turned t(2, {.wakes_into_pool = true});
    std::array<pid, 3> of;
    std::array<int, 3> starts{};
    std::vector<supervisor::child> children;
    for (const unsigned i : {0U, 1U, 2U})
        children.push_back({[&, i] {
            if (++starts[i] == 1 && i == 2) {
                t.turns(0);
                for (const pid ends : {of[0], of[1]}) {
                    EXPECT_EQ(t.all.send(ends, 0), send_answer::accepted);
                    t.turns(0);
                    EXPECT_FALSE(t.all.lives(ends));
                }
            }
            return std::make_unique<acting>([&, i](event_batch& batch, step_output& out) {
                of[i] = out.self();
                while (const event* e = batch.next()) {
                    if (e->type != event_type::cancel && i == 0) throw 1;
                    out.finish();
                }
            });
        }});
    (void)t.spawn(std::make_unique<supervisor>(std::move(children),
                                               supervisor::options{.strategy = restart_strategy::one_for_all}),
                  1);
    t.turns(1);
    EXPECT_EQ(starts, (std::array{2, 1, 2}));
    EXPECT_EQ(t.all.counters().living, 3U);
}

// A child is in a step, of worker 0, while the other refuses until its supervisor, on worker 1, gives up and kills
// the first.
TEST(process_turns, a_supervisor_that_gives_up_starts_none_again_and_says_so_also_when_it_is_cancelled) {
    struct refuses : process {
        init_answer init(context&, std::string_view, payload) override { return init_answer::failed; }
        void step(events&, output&) override {}
    };
    for (const bool cancelled : {false, true}) {
        constexpr std::int64_t within_ns = 20'000'000;
        turned t(2);
        int starts = 0;
        pid first, second, s;
        using child = supervisor::child;
        const child works{[&] {
            ++starts;
            return std::make_unique<acting>([&](event_batch& batch, step_output& out) {
                first = out.self();
                if (batch.next() == nullptr) return;
                EXPECT_EQ(t.all.send(second, 0), send_answer::accepted);
                t.turns(1);
                if (cancelled) {
                    EXPECT_EQ(t.all.cancel(s), send_answer::accepted);
                    t.turns(1);
                }
                const std::int64_t over = t.all.now_ns() + 2 * within_ns;  // of the failures
                while (t.all.now_ns() < over) {
                }
            });
        }};
        const child fails{[&]() -> std::unique_ptr<process> {
            if (second) return std::make_unique<refuses>();
            return std::make_unique<acting>([&](event_batch& batch, step_output& out) {
                second = out.self();
                if (batch.next() != nullptr) throw 1;
            });
        }};
        s = t.spawn(std::make_unique<supervisor>(std::vector<child>{works, fails},
                                                 supervisor::options{.restarts = 1, .within_ns = within_ns}));
        t.turns(0);
        EXPECT_EQ(t.all.counters().living, 3U);
        EXPECT_EQ(t.all.send(first, 0), send_answer::accepted);
        for (const unsigned w : {0U, 1U, 0U}) t.turns(w);
        EXPECT_EQ(t.all.counters().exceptions, 2U) << "the child's, and that it gave up";
        EXPECT_EQ(t.all.counters().living, 0U);
        EXPECT_EQ(starts, 1);
    }
}

TEST(process_turns, a_routine_whose_limit_was_not_needed_has_all_its_time_in_a_later_wait) {
    turned t;
    std::vector<bool> got;
    const pid r = t.spawn(as_process([&](routine_self& me) -> routine {
        got.push_back((co_await me.receive_for(1'000'000)).has_value());
        (void)co_await me.receive();
        got.push_back((co_await me.receive_for(3'600'000'000'000)).has_value());
    }));
    t.turns();
    EXPECT_EQ(t.all.send(r, 1), send_answer::accepted);
    t.turns();
    if (got.empty() || !got.front()) return;  // the machine stood still for a millisecond
    const std::int64_t fired = t.all.now_ns() + 2'000'000;  // the timer has, by then
    while (t.all.now_ns() < fired) (void)t.turn();
    EXPECT_EQ(t.all.send(r, 2), send_answer::accepted);
    t.turns();
    EXPECT_EQ(got.size(), 1U) << "its time is not over";
    EXPECT_EQ(t.all.send(r, 3), send_answer::accepted);
    t.turns();
    EXPECT_EQ(got, (std::vector{true, true}));
}
TEST(process_turns, a_routine_whose_block_was_cancelled_is_woken_by_a_message_again) {
    enum class waits { sleeps, calls, commands };
    for (const waits how : {waits::sleeps, waits::calls, waits::commands}) {
        std::vector<event> kept;
        bool got = false;
        turned t(1, with_nothing());
        const pid silent = t.spawn(std::make_unique<acting>([&kept](event_batch& batch, step_output&) {
            while (event* e = batch.next()) kept.push_back(std::move(*e));
        }));
        const pid r = t.spawn(as_process([&](routine_self& me) -> routine {
            try {
                if (how == waits::sleeps) co_await me.sleep(3'600'000'000'000);
                if (how == waits::calls) (void)co_await me.call(silent, 1);
                if (how == waits::commands) (void)co_await me.command(nothing);
            } catch (const wait_cancelled&) {
            }
            (void)co_await me.receive();
            got = true;
        }));
        t.turns();
        EXPECT_EQ(t.all.cancel(r), send_answer::accepted);
        t.turns();
        EXPECT_EQ(t.all.send(r, 0), send_answer::accepted);
        t.turns();
        EXPECT_TRUE(got);
    }
}

TEST(process_turns, what_a_killed_routine_holds_goes_before_its_mail_is_buried) {
    struct noting {
        std::vector<int>& in;
        ~noting() { in.push_back(-1); }
    };
    std::vector<int> gone;
    turned t(1, {.on_dead_letter = [&](pid, dead_letter, event& e) { gone.push_back(*e.data.get<int>()); }});
    const pid r = t.spawn(as_process([&](routine_self& me) -> routine {
        const noting held{gone};
        (void)co_await me.receive([](event&) { return false; });
    }));
    EXPECT_EQ(t.all.send(r, 7), send_answer::accepted);
    t.turns();
    EXPECT_EQ(t.all.kill(r), send_answer::accepted);
    t.turns();
    EXPECT_EQ(gone, (std::vector{-1, 7}));
}

TEST(process_turns, a_message_that_comes_last_is_no_late_completion) {
    comes_last c;
    c.play(does_nothing, [](pid one, step_output& out) { EXPECT_EQ(out.send(one, 0), send_answer::accepted); });
    EXPECT_EQ(c.all.counters().dead_letters, 1U);
    EXPECT_EQ(c.all.counters().late_completions, 0U);
}
TEST(process_turns, the_word_that_there_will_be_no_answer_is_late_when_it_comes_last) {
    turned t(2);
    const pid server = t.spawn(std::make_unique<acting>([](event_batch& batch, step_output& out) {
                                   while (event* e = batch.next())
                                       if (e->type == event_type::message) out.finish();
                               }), 1);
    t.turns(1);
    const pid asker = t.spawn(std::make_unique<acting>([&](event_batch& batch, step_output& out) {
        if (batch.next() == nullptr) return (void)out.request(server, 3, 0);
        EXPECT_EQ(t.all.send(server, 0), send_answer::accepted);
        t.turns(1);
        out.finish();
    }));
    t.turns(0);
    t.turns(1);
    EXPECT_EQ(t.all.send(asker, 0), send_answer::accepted);
    t.turns(0);
    EXPECT_FALSE(t.all.lives(server) || t.all.lives(asker));
    EXPECT_EQ(t.all.counters().late_completions, 1U);
}

}  // namespace
}  // namespace process_turns_test
