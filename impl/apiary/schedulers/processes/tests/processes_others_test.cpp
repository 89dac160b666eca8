// Others that run in the midst of a step (let_others_run).
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <vector>

#include "acting.hpp"

namespace {

using namespace apiary;

// Ends when it has been told so many letters.
std::unique_ptr<process> ends_behind(int letters, std::atomic<int>& told) {
    return on_events([left = letters, &told](event&, step_output& out) mutable {
        ++told;
        if (--left == 0) out.finish();
    });
}

TEST(processes_others, those_that_were_sent_to_run_before_the_step_returns) {
    processes all({.workers = 1});
    std::atomic<int> told = 0;
    bool ran = false, nobody = true;
    (void)all.spawn(std::make_unique<acting>([&](event_batch&, step_output& out) {
        const pid to = out.spawn(ends_behind(3, told)).id;
        for (int n = 1; n != 4; ++n) {
            EXPECT_EQ(out.send(to, n), send_answer::accepted);
            ran |= out.let_others_run();
            EXPECT_EQ(told, n);
        }
        EXPECT_FALSE(all.lives(to)) << "it has ended upon this step";
        nobody = out.let_others_run();
        out.finish();
    }));
    all.join();
    EXPECT_TRUE(ran);
    EXPECT_FALSE(nobody);
}

TEST(processes_others, one_that_runs_upon_a_step_lets_nobody_run) {
    processes all({.workers = 1});
    std::atomic<int> told = 0;
    (void)all.spawn(std::make_unique<acting>([&](event_batch&, step_output& outer) {
        const pid last = outer.spawn(ends_behind(1, told)).id;
        (void)outer.spawn(std::make_unique<acting>([&, last](event_batch&, step_output& out) {
            EXPECT_EQ(out.send(last, 1), send_answer::accepted);
            const int before = told;
            EXPECT_FALSE(out.let_others_run());
            EXPECT_EQ(told, before) << "a third step upon the second";
            out.finish();
        }));
        EXPECT_TRUE(outer.let_others_run());
        EXPECT_EQ(told, 1);
        EXPECT_FALSE(outer.let_others_run()) << "nobody is left";
        outer.finish();
    }));
    all.join();
}

TEST(processes_others, what_a_step_has_called_for_before_is_its_own) {
    processes all({.workers = 1});
    std::vector<std::uint64_t> outer_told, inner_told;
    // Each sleeps under the tags that it has, and waits for all of them.
    const auto sleeper = [](std::vector<std::uint64_t>& told, std::vector<std::uint64_t> tags, bool lets) {
        return std::make_unique<acting>(
            [&told, tags, lets, begun = false](event_batch& batch, step_output& out) mutable {
                while (const event* e = batch.next()) told.push_back(e->tag);
                if (told.size() == tags.size()) return out.finish();
                if (std::exchange(begun, true)) return;
                for (const std::uint64_t tag : tags) {
                    out.sleep(0, tag);
                    if (lets) (void)out.let_others_run();
                }
            });
    };
    (void)all.spawn(std::make_unique<acting>([&](event_batch&, step_output& out) {
        (void)out.spawn(sleeper(inner_told, {1, 2}, false));
        (void)out.spawn(sleeper(outer_told, {1, 2, 3}, true));
        out.finish();
    }));
    all.join();
    EXPECT_EQ(outer_told.size(), 3U);
    EXPECT_EQ(inner_told.size(), 2U);
    EXPECT_EQ(all.counters().late_completions, 0U);
}

TEST(processes_others, a_step_below_is_its_workers_again_and_is_not_stepped_meanwhile) {
    processes all({.workers = 1});
    std::atomic<int> phase = 0, steps = 0;
    const auto made = all.spawn(std::make_unique<acting>([&](event_batch& batch, step_output& out) {
        EXPECT_EQ(steps++ % 2, 0) << "two steps of one process at a time";
        while (batch.next() != nullptr) {
        }
        if (phase == 0) {
            const pid me = out.self();
            (void)out.spawn(std::make_unique<acting>([me](event_batch&, step_output& child) {
                EXPECT_EQ(child.send(me, 1), send_answer::accepted);
                child.finish();
            }));
            EXPECT_TRUE(out.let_others_run());
            phase = 1;
            wait_for([&] { return phase == 2; });
        } else {
            out.finish();
        }
        ++steps;
    }));
    wait_for([&] { return phase == 1; });
    const auto stalled = all.stalled(1'000'000);
    EXPECT_EQ(stalled.size(), 1U);
    for (const stalled_step& s : stalled) EXPECT_EQ(s.id, made.id) << "not the one that ran upon it";
    phase = 2;
    all.join();
    EXPECT_EQ(steps, 4) << "what it was sent meanwhile came to its next step";
}

TEST(processes_others, one_that_throws_upon_a_step_ends_alone) {
    std::atomic<int> threw = 0;
    processes all({.workers = 1, .on_exception = [&](std::exception_ptr) { ++threw; }});
    bool behind = false;
    (void)all.spawn(std::make_unique<acting>([&](event_batch&, step_output& out) {
        (void)out.spawn(std::make_unique<acting>([](event_batch&, step_output&) { throw 1; }));
        EXPECT_TRUE(out.let_others_run());
        behind = true;
        out.finish();
    }));
    all.join();
    EXPECT_EQ(threw, 1);
    EXPECT_TRUE(behind);
}

TEST(processes_others, one_whose_call_is_refused_upon_a_step_takes_nothing_of_it_with_it) {
    processes all({.workers = 1});
    int told = 0;
    (void)all.spawn(std::make_unique<acting>([&, begun = false](event_batch& batch, step_output& out) mutable {
        if (std::exchange(begun, true)) {
            while (const event* e = batch.next()) told += e->type == event_type::completed ? 1 : 0;
            return out.finish();
        }
        (void)out.spawn(std::make_unique<acting>([](event_batch&, step_output& child) {
            child.sleep(0, 1);
            child.sleep(0, 1);  // in use: it ends as misused, and its commands are dropped
        }));
        out.sleep(0, 7);
        EXPECT_TRUE(out.let_others_run());
    }));
    all.join();
    EXPECT_EQ(told, 1);
}

}  // namespace
