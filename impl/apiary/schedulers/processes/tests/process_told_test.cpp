// What is told of a process after each moment of a run (turned.hpp): by answers, looks and counters, of links, dead
// letters, late completions and kept mail. Each of these tests was asked for by a mistake that no other test saw.
#include <gtest/gtest.h>

#include <apiary/schedulers/processes/routine.hpp>
#include <apiary/schedulers/processes/supervisor.hpp>
#include <apiary/schedulers/processes/processes.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <coroutine>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <apiary/testing/comes_true.hpp>

#include "acting.hpp"
#include "turned.hpp"

namespace process_told_test {
namespace {

using namespace apiary;
using namespace apiary::by_turns;

// Before the end of a step a look at its worker finds it; after that it finds nothing.
TEST(process_told, a_step_that_has_returned_is_not_said_to_run) {
    turned t;
    bool seen = false;
    (void)t.spawn(std::make_unique<acting>([&](event_batch& batch, step_output&) {
        ignore(batch);
        seen = t.all.stalled(0).size() == 1;
    }));
    t.turns();
    EXPECT_TRUE(seen);
    EXPECT_TRUE(t.all.stalled(0).empty());
}

// Links to another process by order 0, takes the link back by order 1, and fails by order 2.
auto on_order(pid& other) {
    return on_events([&other](event& e, step_output& out) {
        const int order = *e.data.get<int>();
        if (order == 2) throw 1;
        EXPECT_EQ(order == 0 ? out.link(other) : out.unlink(other), send_answer::accepted);
    });
}

// The first links and takes it back; then the second links to the first, which fails.
TEST(process_told, a_link_that_was_taken_back_can_be_made_from_the_other_end) {
    turned t;
    pid first, second;
    first = t.spawn(on_order(second));
    second = t.spawn(on_order(first));
    t.turns();
    const auto order = [&](pid to, int what) {
        EXPECT_EQ(t.all.send(to, what), send_answer::accepted);
        t.turns();
    };
    order(first, 0);
    order(first, 1);
    order(second, 0);
    order(first, 2);
    EXPECT_FALSE(t.all.lives(second)) << "it was told that it is linked, and lives on";
}

TEST(process_told, a_completion_that_a_step_leaves_in_its_batch_is_late) {
    turned t(1, with_nothing());
    const pid p = t.spawn(std::make_unique<acting>([begun = false](event_batch&, step_output& out) mutable {
        if (std::exchange(begun, true)) return;
        out.call(nothing, 1);
        out.block();
    }));
    t.turns();
    EXPECT_EQ(t.all.complete_yield(p, 1), send_answer::accepted);
    t.turns();
    EXPECT_EQ(t.all.counters().late_completions, 1U);
}

TEST(process_told, an_end_that_no_step_has_seen_is_no_dead_letter) {
    turned t(1, with_nothing());
    const pid watched = t.spawn(on_events([](event&, step_output& out) { out.finish(); }));
    const pid watcher = t.spawn(std::make_unique<acting>([&](event_batch& batch, step_output& out) {
        ignore(batch);
        EXPECT_EQ(out.watch(watched), send_answer::accepted);
        out.call(nothing, 1);
        out.block();
    }));
    t.turns();
    EXPECT_EQ(t.all.send(watched, 0), send_answer::accepted);
    t.turns();
    EXPECT_EQ(t.all.kill(watcher), send_answer::accepted);
    t.turns();
    EXPECT_FALSE(t.all.lives(watched) || t.all.lives(watcher));
    EXPECT_EQ(t.all.counters().dead_letters, 0U);
}

TEST(process_told, a_routine_has_the_bound_that_it_was_made_with) {
    turned t;
    const pid p = t.spawn(as_process(
        [](routine_self& me) -> routine {
            for (;;) (void)co_await me.receive();
        },
        {.most = 1}));
    EXPECT_EQ(t.all.send(p, 1), send_answer::accepted);
    EXPECT_EQ(t.all.send(p, 2), send_answer::full);
}

process_view looked_at(turned& t, pid which) {
    process_view v;
    std::atomic<bool> seen = false;
    std::thread looks([&] { v = t.all.look(which, 10'000'000'000), seen = true; });
    while (!seen) (void)t.turn();
    looks.join();
    return v;
}

// A cancel that was told once wakes for nothing: what has come until then is kept.
TEST(process_told, a_cancel_that_comes_again_leaves_the_mail_of_one_that_blocks_in_its_order) {
    turned t(1, with_nothing());
    std::vector<int> got;
    const pid p = t.spawn(std::make_unique<acting>([&, begun = false](event_batch& batch, step_output& out) mutable {
        while (event* e = batch.next())
            if (const int* n = e->data.get<int>()) got.push_back(*n);
        if (!std::exchange(begun, true)) out.call(nothing, 1);
        if (got.empty()) out.block();
    }));
    const auto cancel = [&] {
        EXPECT_EQ(t.all.cancel(p), send_answer::accepted);
        t.turns();
    };
    t.turns();
    cancel();
    EXPECT_EQ(t.all.send(p, 1), send_answer::accepted);
    cancel();
    cancel();
    EXPECT_EQ(t.all.send(p, 2), send_answer::accepted);
    cancel();
    EXPECT_EQ(t.all.send(p, 3), send_answer::accepted);
    EXPECT_EQ(looked_at(t, p).mail, 3U);
    EXPECT_EQ(t.all.complete_yield(p, 1), send_answer::accepted);
    t.turns();
    EXPECT_EQ(got, (std::vector{1, 2, 3}));
}

TEST(process_told, an_end_that_is_kept_is_no_mail_and_no_dead_letter) {
    turned t(1, with_nothing());
    const pid watched = t.spawn(on_events([](event&, step_output& out) { out.finish(); }));
    const pid watcher = t.spawn(std::make_unique<acting>([&, begun = false](event_batch& batch, step_output& out) mutable {
        ignore(batch);
        out.block();
        if (std::exchange(begun, true)) return;
        EXPECT_EQ(out.watch(watched), send_answer::accepted);
        out.call(nothing, 1);
    }));
    t.turns();
    EXPECT_EQ(t.all.cancel(watcher), send_answer::accepted);
    t.turns();
    EXPECT_EQ(t.all.send(watched, 0), send_answer::accepted);
    t.turns();
    EXPECT_FALSE(t.all.lives(watched));
    EXPECT_EQ(t.all.send(watcher, 0), send_answer::accepted);
    EXPECT_EQ(looked_at(t, watcher).mail, 1U);
    EXPECT_EQ(looked_at(t, watcher).mail, 1U) << "of what is kept by now";
    EXPECT_EQ(t.all.kill(watcher), send_answer::accepted);
    t.turns();
    EXPECT_EQ(t.all.counters().dead_letters, 1U);
}

// The first links, once or twice; the second takes that back; the first links again, and fails.
TEST(process_told, a_link_that_the_other_end_has_taken_back_can_be_made_again) {
    for (const int times : {1, 2}) {
        turned t;
        pid first, second;
        first = t.spawn(on_order(second));
        second = t.spawn(on_order(first));
        const auto order = [&](pid to, int what) {
            EXPECT_EQ(t.all.send(to, what), send_answer::accepted);
            t.turns();
        };
        t.turns();
        for (int i = 0; i != times; ++i) order(first, 0);
        EXPECT_EQ(looked_at(t, first).linked, std::vector{second});
        order(second, 1);
        order(first, 0);
        order(first, 2);
        EXPECT_FALSE(t.all.lives(second)) << "the first has said that they are linked";
    }
}

TEST(process_told, what_is_refused_though_its_receiver_lived_a_moment_before_is_destroyed) {
    struct ends_it {
        ends_it(std::function<void()> end, std::shared_ptr<int> what) : ends(std::move(end)), held(std::move(what)) {}
        ends_it(const ends_it& o) : ends(o.ends), held(o.held) { ends(); }
        ends_it(ends_it&&) = default;
        std::function<void()> ends;
        std::shared_ptr<int> held;
    };
    for (const bool completes : {false, true}) {
        turned t;
        const pid p = t.spawn(deaf());
        t.turns();
        const auto held = std::make_shared<int>(0);
        const ends_it what{[&] {
                               (void)t.all.kill(p);
                               t.turns();
                           },
                           held};
        EXPECT_EQ(completes ? t.all.complete_yield(p, 1, what) : t.all.send(p, what), send_answer::completing);
        EXPECT_EQ(held.use_count(), 2) << "here, and in `what`";
        EXPECT_EQ(t.all.counters().late_completions, completes ? 1U : 0U);
    }
}

// As it is moved into the event the receiver ends.
TEST(process_told, the_data_of_a_completion_that_came_too_late_are_still_there) {
    struct ends_it {
        explicit ends_it(std::function<void()>& end) : ends(&end) {}
        ends_it(ends_it&& o) noexcept : ends(o.ends) {
            if (*ends) std::exchange(*ends, {})();
        }
        std::function<void()>* ends;
    };
    turned t;
    const pid p = t.spawn(deaf());
    t.turns();
    std::function<void()> end;
    payload mine{ends_it(end)};
    end = [&] {
        (void)t.all.kill(p);
        t.turns();
    };
    EXPECT_EQ(t.all.complete_yield(p, 1, std::move(mine)), send_answer::completing);
    EXPECT_NE(mine.get<ends_it>(), nullptr);
}

TEST(process_told, a_message_that_is_left_unread_answers_no_request) {
    turned t;
    int answers = 0;
    const pid server = t.spawn(std::make_unique<acting>([asked = false](event_batch& batch, step_output&) mutable {
        if (!asked) asked = batch.next() != nullptr;
    }));
    t.turns();
    const pid asker = t.spawn(std::make_unique<acting>([&, begun = false](event_batch& batch, step_output& out) mutable {
        while (event* e = batch.next()) answers += e->type == event_type::completed ? 1 : 0;
        if (!std::exchange(begun, true)) return (void)out.request(server, 0, 0);
        EXPECT_EQ(out.send(server, 1), send_answer::accepted);
    }));
    t.turns();
    EXPECT_EQ(t.all.send(asker, 0), send_answer::accepted);
    t.turns();
    EXPECT_EQ(t.all.counters().dead_letters, 1U);
    EXPECT_EQ(answers, 0);
}

TEST(process_told, one_that_is_destroyed_is_said_to_run) {
    turned t;
    bool seen = false;
    struct looks : acting {
        looks(turned& where, bool& what)
            : acting([](event_batch& batch, step_output&) { ignore(batch); }), of(where), saw(what) {}
        ~looks() override { saw = of.all.stalled(0).size() == 1; }
        turned& of;
        bool& saw;
    };
    const pid p = t.spawn(std::make_unique<looks>(t, seen));
    t.turns();
    EXPECT_EQ(t.all.kill(p), send_answer::accepted);
    t.turns();
    EXPECT_TRUE(seen);
}

TEST(process_told, one_that_has_ended_and_one_that_never_was_do_not_live) {
    turned t;
    const pid p = t.spawn(on_events([](event&, step_output& out) { out.finish(); }));
    EXPECT_EQ(t.all.send(p, 0), send_answer::accepted);
    t.turns();
    EXPECT_FALSE(t.all.look(p, 0).lives);
    const pid never = pid::of(p.place() + 1, 0);
    EXPECT_FALSE(t.all.look(never, 0).lives);
    EXPECT_EQ(t.all.cancel(never), send_answer::completing) << "of a place that nobody has had";
    EXPECT_NE(t.all.send(never, 0), send_answer::accepted);
}

TEST(process_told, an_end_that_a_routine_has_not_looked_at_is_a_dead_letter_and_a_completion_is_none) {
    turned t;
    const pid watched = t.spawn(on_events([](event&, step_output& out) { out.finish(); }));
    const pid r = t.spawn(as_process([&](routine_self& me) -> routine {
        EXPECT_EQ(me.out().watch(watched), send_answer::accepted);
        (void)co_await me.receive([](event&) { return false; });
    }));
    t.turns();
    EXPECT_EQ(t.all.send(watched, 0), send_answer::accepted);
    t.turns();
    event done;
    done.type = event_type::completed;
    t.all.bury(r, std::move(done));
    EXPECT_EQ(t.all.counters().dead_letters, 0U);
    EXPECT_EQ(t.all.kill(r), send_answer::accepted);
    t.turns();
    EXPECT_EQ(t.all.counters().dead_letters, 1U);
}

TEST(process_told, a_message_wakes_none_that_blocks_also_where_its_sender_waits) {
    for (const mailbox_limit l : {mailbox_limit{}, narrow}) {
        turned t(1, with_nothing());
        const pid receiver = t.spawn(full_until_completed(l));
        t.turns();
        bool sent = false;
        (void)t.spawn(std::make_unique<acting>([&](event_batch& batch, step_output& out) {
            ignore(batch);
            for (int i = 0; i != 2; ++i) {
                EXPECT_EQ(out.send(receiver, i), send_answer::accepted);
                EXPECT_EQ(t.state(receiver), process_state::blocked);
            }
            sent = true;
        }));
        t.turns();
        EXPECT_TRUE(sent);
    }
}

TEST(process_told, what_a_step_says_last_of_its_wait_holds) {
    turned t(1, with_nothing());
    const pid p = t.spawn(std::make_unique<acting>([](event_batch& batch, step_output& out) {
        ignore(batch);
        out.call(nothing, 1);
        out.block();
        out.wait();
    }));
    EXPECT_TRUE(t.turn());
    EXPECT_EQ(t.state(p), process_state::idle);
}

// A message of a thread has the number 0 for its sender.
TEST(process_told, a_message_ends_no_call_whose_tag_is_the_number_of_its_sender) {
    turned t(1, with_nothing());
    int ended = 0;
    const pid p = t.spawn(std::make_unique<acting>([&, begun = false](event_batch& batch, step_output& out) mutable {
        while (event* e = batch.next()) ended += e->type == event_type::completed ? 1 : 0;
        if (!std::exchange(begun, true)) out.call(nothing, 0);
    }));
    t.turns();
    EXPECT_EQ(t.all.send(p, 0), send_answer::accepted);
    EXPECT_EQ(t.all.complete_yield(p, 9), send_answer::accepted);
    t.turns();
    EXPECT_EQ(t.all.complete_yield(p, 0), send_answer::accepted);
    t.turns();
    EXPECT_EQ(ended, 1);
    EXPECT_EQ(t.all.counters().late_completions, 1U);
}

TEST(process_told, a_sleep_ends_also_where_a_turn_fires_one_timer) {
    turned t(1, {.parameters = {.local_budget = 1}});
    bool over = false;
    (void)t.spawn(std::make_unique<acting>([&](event_batch& batch, step_output& out) {
        over = batch.next() != nullptr;
        if (!over) out.sleep(0, 1);
    }));
    EXPECT_TRUE(comes_true([&] { return t.turn(), over; }));
    EXPECT_EQ(t.all.crew().counters().timers_fired, 1U);
}

// A policy whose clock the test sets.
struct still : real_sync {
    static inline std::int64_t now = 1'000;
    static std::int64_t now_ns() { return now; }
};

// The latest deadline is one that is not `no deadline`.
TEST(process_told, a_sleep_is_due_after_its_time_and_the_longest_one_nanosecond_before_for_ever) {
    constexpr std::int64_t longest = INT64_MAX - 1, now = 1'000;
    struct {
        std::int64_t ns, due;
    } const rows[] = {{-5, now},
                      {0, now},
                      {7, now + 7},
                      {longest - now - 1, longest - 1},
                      {longest - now, longest},
                      {INT64_MAX, longest}};
    for (const auto& row : rows) {
        basic_turned<still> t;
        struct sleeper : basic_process<still> {
            explicit sleeper(std::int64_t n) : ns(n) {}
            init_answer init(context&, std::string_view, payload) override { return init_answer::ready; }
            void step(events&, output& out) override { out.sleep(ns, 1); }
            const std::int64_t ns;
        };
        (void)t.spawn(std::make_unique<sleeper>(row.ns));
        EXPECT_TRUE(t.turn());
        EXPECT_EQ(t.all.crew().table()[0]->sources().next_deadline(), row.due) << row.ns;
    }
}

// The question is an event: it makes the process ready.
TEST(process_told, a_look_of_a_nanosecond_asks_the_process_and_one_of_none_does_not) {
    turned t;
    const pid p = t.spawn(deaf());
    t.turns();
    EXPECT_EQ(t.all.look(p, 0).state, process_state::idle);
    EXPECT_EQ(t.state(p), process_state::idle);
    EXPECT_EQ(t.all.look(p, 1).state, process_state::idle);
    EXPECT_EQ(t.state(p), process_state::ready);
    t.turns();
}

// It has the same process in a step each time it looks.
TEST(process_told, one_step_after_the_other_is_no_step_that_stalls) {
    constexpr std::int64_t ns = 30'000'000;
    turned t;
    std::atomic<bool> done = false;
    std::int64_t longest = 0;
    std::vector<stalled_step> found;
    (void)t.spawn(std::make_unique<acting>([&](event_batch& batch, step_output& out) {
        ignore(batch);
        const std::int64_t begin = t.all.now_ns();
        while (!done && t.all.now_ns() - begin < ns / 20) {
        }
        longest = std::max(longest, t.all.now_ns() - begin);
        if (!done) out.again();
    }));
    std::thread looks([&] { found = t.all.stalled(ns), done = true; });
    t.turns();
    looks.join();
    if (longest < ns) {  // else the machine stood still
        EXPECT_TRUE(found.empty());
    }
}

TEST(process_told, a_call_to_nobody_has_no_answer_and_a_child_knows_its_parent) {
    turned t;
    bool done = false;
    pid parent, told;
    (void)t.spawn(std::make_unique<acting>([&](event_batch& batch, step_output& out) {
        ignore(batch);
        if (std::exchange(parent, out.self())) return;
        (void)out.spawn(as_process([&](routine_self& me) -> routine {
            told = me.parent();
            const call_answer a = co_await me.call(pid::of(99, 1), 1);
            EXPECT_FALSE(a);
            done = true;
        }));
    }));
    t.turns();
    EXPECT_TRUE(done);
    EXPECT_EQ(told, parent);
}

TEST(process_told, a_routine_that_awaits_what_no_event_ends_is_there_and_can_be_killed) {
    turned t;
    const pid r = t.spawn(as_process([](routine_self&) -> routine { co_await std::suspend_always(); }));
    EXPECT_EQ(t.all.send(r, 0), send_answer::accepted);
    t.turns();
    EXPECT_EQ(t.state(r), process_state::idle);
    EXPECT_EQ(t.all.kill(r), send_answer::accepted);
    t.turns();
    EXPECT_FALSE(t.all.lives(r));
    EXPECT_EQ(t.all.counters().dead_letters, 1U);
}

// Does once as the test says, when a worker that has posted looks for a sleeper.
struct at_a_wake : real_sync {
    static inline std::function<void()> act;
    static void fence_light(site = {}) noexcept {
        real_sync::fence_light();
        if (const auto once = std::exchange(act, nullptr)) once();
    }
};
struct woken_process : basic_process<at_a_wake> {
    explicit woken_process(std::function<void(events&, output&)> f) : step_(std::move(f)) {}
    init_answer init(context&, std::string_view, payload) override { return init_answer::ready; }
    void step(events& batch, output& out) override { step_(batch, out); }
    std::function<void(events&, output&)> step_;
};

// The asker is woken by the end of the server, and another worker runs it before the call that wakes it returns.
TEST(process_told, an_asker_is_told_at_once_which_of_its_requests_has_no_answer) {
    basic_turned<at_a_wake> t(2);
    std::vector<std::uint64_t> told;
    const pid server = t.spawn(std::make_unique<woken_process>([&](auto& batch, auto& out) {
        if (batch.next() == nullptr) return;
        at_a_wake::act = [&] { EXPECT_TRUE(t.turn(1)); };
        out.finish();
    }));
    t.turns();
    (void)t.spawn(std::make_unique<woken_process>([&, begun = false](auto& batch, auto& out) mutable {
        while (const event* e = batch.next())
            if (e->type == event_type::completed) told.push_back(e->tag);
        if (std::exchange(begun, true)) return;
        EXPECT_EQ(out.request(server, 7, 0), send_answer::accepted);
    }));
    t.turns();
    EXPECT_EQ(at_a_wake::act, nullptr) << "the end of the server has woken nobody";
    EXPECT_EQ(told, std::vector<std::uint64_t>{7});
}

// Nobody lives when its first child fails to start.
TEST(process_told, a_supervisor_of_one_for_all_starts_its_first_child_again_when_that_fails_at_once) {
    struct refuses : process {
        init_answer init(context&, std::string_view, payload) override { return init_answer::failed; }
        void step(events&, output&) override {}
    };
    turned t;
    int starts = 0;
    const supervisor::child c{[&]() -> std::unique_ptr<process> {
        if (starts++ == 0) return std::make_unique<refuses>();
        return deaf();
    }};
    (void)t.spawn(std::make_unique<supervisor>(std::vector<supervisor::child>{c},
                                               supervisor::options{.strategy = restart_strategy::one_for_all}));
    t.turns();
    EXPECT_EQ(starts, 2);
    EXPECT_EQ(t.all.counters().living, 2U);
}

TEST(process_told, what_a_worker_has_stolen_is_counted) {
    turned t(2);
    int steps = 0;
    for (int i = 0; i != 2; ++i)
        (void)t.spawn(std::make_unique<acting>([&](event_batch& batch, step_output&) { ignore(batch), ++steps; }));
    t.turns(1);
    EXPECT_GE(steps, 1);
    EXPECT_GE(t.all.counters().stolen, 1U);
}

TEST(process_told, a_join_by_a_step_is_refused_and_closes_no_door) {
    processes all({.workers = 1});
    std::atomic<bool> tried = false;
    (void)all.spawn(std::make_unique<acting>([&](event_batch&, step_output& out) {
        EXPECT_THROW(all.join(), std::logic_error);
        tried = true;
        out.finish();
    }));
    EXPECT_TRUE(comes_true([&] { return tried.load(); }));
    EXPECT_TRUE(all.spawn(on_events([](event&, step_output& out) { out.finish(); })));
}
TEST(process_told, the_wakes_of_a_worker_that_sleeps_are_counted) {
    processes all({.workers = 1});
    const pid p = all.spawn(deaf()).id;
    EXPECT_TRUE(comes_true([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return all.send(p, 0) == send_answer::accepted && all.counters().woken != 0;
    }));
}

}  // namespace
}  // namespace process_told_test
