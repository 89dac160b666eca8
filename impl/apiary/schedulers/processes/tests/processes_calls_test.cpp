// What processes call for: handlers, sleep, completions that come early, late and twice.
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "acting.hpp"

namespace processes_calls_test {
namespace {

using namespace apiary;

enum : std::uint32_t { echo = 1, later = 2, throws = 3, nothing = 4 };

// Commands that `later` has kept, for the test to complete.
class kept_commands {
public:
    void keep(process_command&& c) {
        const std::lock_guard held(mutex_);
        all_.push_back(std::move(c));
    }
    process_command take() {
        for (;; std::this_thread::yield()) {
            const std::lock_guard held(mutex_);
            if (all_.empty()) continue;
            process_command c = std::move(all_.back());
            all_.pop_back();
            return c;
        }
    }

private:
    std::mutex mutex_;
    std::vector<process_command> all_;
};

processes_config with_handlers(kept_commands& kept, unsigned workers = 2) {
    return {.workers = workers,
            .handlers = {
                {echo, [](auto& all,
                          process_command&& c) { (void)all.complete_yield(c.from, c.tag, std::move(c.arguments)); }},
                {later, [&kept](auto&, process_command&& c) { kept.keep(std::move(c)); }},
                {throws, [](auto&, process_command&&) { throw std::runtime_error("no"); }},
                {nothing, [](auto&, process_command&&) {}}}};
}

// Calls once, records what it is told, and ends after so many events.
struct caller {
    std::vector<std::pair<event_type, std::uint64_t>> told;
    std::vector<yield_error> errors;
    std::atomic<bool> over = false;  // it is closed, and what it was told is here
    std::unique_ptr<process> make(std::function<void(step_output&)> begin, std::size_t events, bool blocks = true) {
        return std::make_unique<acting>(
            [=, this, begun = false](event_batch& batch, step_output& out) mutable {
                while (event* e = batch.next()) {
                    told.emplace_back(e->type, e->type == event_type::completed ? e->tag : 0);
                    errors.push_back(e->error);
                }
                if (!std::exchange(begun, true)) begin(out);
                if (told.size() >= events) return out.finish();
                if (blocks) out.block();
            },
            [this] { over = true; });
    }
};

TEST(processes_calls, a_handler_may_complete_at_once_while_the_step_still_runs) {
    kept_commands kept;
    processes all(with_handlers(kept, 1));
    std::atomic<int> got = 0;
    (void)all.spawn(std::make_unique<acting>([&, begun = false](event_batch& batch, step_output& out) mutable {
        while (event* e = batch.next()) {
            EXPECT_EQ(e->type, event_type::completed);
            EXPECT_EQ(e->tag, 11U);
            EXPECT_FALSE(e->from());
            got = *e->data.get<int>();
            return out.finish();
        }
        EXPECT_FALSE(std::exchange(begun, true));
        out.call(echo, 11, 5);
        out.block();
    }));
    all.join();
    EXPECT_EQ(got, 5);
    EXPECT_EQ(all.counters().late_completions, 0U);
}

TEST(processes_calls, messages_wait_for_the_end_of_a_block_and_come_behind_it_in_order) {
    kept_commands kept;
    processes all(with_handlers(kept));
    caller c;
    const auto made = all.spawn(c.make([](step_output& out) { out.call(later, 3); }, 4));
    const process_command pending = kept.take();
    EXPECT_EQ(all.send(made.id, 1), send_answer::accepted);
    EXPECT_EQ(all.send(made.id, 2), send_answer::accepted);
    // For nothing: a tag that was never called for wakes it, and it waits on with its messages.
    EXPECT_EQ(all.complete_yield(made.id, 999), send_answer::accepted);
    wait_for([&] { return all.counters().late_completions == 1; });
    EXPECT_EQ(all.send(made.id, 3), send_answer::accepted);
    EXPECT_EQ(all.complete_yield(made.id, pending.tag), send_answer::accepted);
    all.join();
    using told = std::pair<event_type, std::uint64_t>;
    const told message{event_type::message, 0}, completed{event_type::completed, 3};
    EXPECT_EQ(c.told, (std::vector<told>{message, message, message, completed}));
}

TEST(processes_calls, of_completions_of_one_tag_the_first_is_told_and_the_others_are_counted) {
    kept_commands kept;
    processes all(with_handlers(kept));
    for (int round = 0; round != 200; ++round) {
        caller c;
        (void)all.spawn(c.make(
            [](step_output& out) {
                out.call(later, 1);
                out.call(nothing, 2);
            },
            1));
        const process_command pending = kept.take();
        std::vector<std::thread> rivals;
        for (int i = 0; i != 2; ++i)
            rivals.emplace_back([&] { (void)all.complete_yield(pending.from, pending.tag, 1); });
        for (std::thread& t : rivals) t.join();
        // It waits for the count itself: no counter orders another one.
        wait_for([&] { return c.over && all.counters().late_completions > static_cast<std::uint64_t>(round); });
        ASSERT_EQ(c.told.size(), 1U);
    }
    all.join();
    EXPECT_EQ(all.counters().late_completions, 200U);
}

TEST(processes_calls, a_second_completion_ends_a_later_call_that_has_the_tag_by_then) {
    kept_commands kept;
    processes all(with_handlers(kept));
    std::vector<int> told;
    (void)all.spawn(std::make_unique<acting>([&](event_batch& batch, step_output& out) {
        while (event* e = batch.next()) told.push_back(*e->data.get<int>());
        if (told.size() == 2) return out.finish();
        out.call(later, 1);
        out.block();
    }));
    const process_command first = kept.take();
    EXPECT_EQ(all.complete_yield(first.from, first.tag, 1), send_answer::accepted);
    const process_command second = kept.take();  // it has called again, by the same tag
    EXPECT_EQ(second.tag, first.tag);
    EXPECT_EQ(all.complete_yield(first.from, first.tag, 2), send_answer::accepted);
    all.join();
    EXPECT_EQ(told, (std::vector{1, 2}));
    EXPECT_EQ(all.counters().late_completions, 0U) << "nothing tells the calls apart but their tags";
    EXPECT_NE(all.complete_yield(second.from, second.tag, 3), send_answer::accepted);
    EXPECT_EQ(all.counters().late_completions, 1U);
}

TEST(processes_calls, a_second_completion_ends_no_call_of_another_tag) {
    kept_commands kept;
    processes all(with_handlers(kept));
    std::vector<int> told;
    (void)all.spawn(std::make_unique<acting>([&](event_batch& batch, step_output& out) {
        while (event* e = batch.next()) told.push_back(*e->data.get<int>());
        if (told.size() == 2) return out.finish();
        out.call(later, told.size());
        out.block();
    }));
    const process_command first = kept.take();
    EXPECT_EQ(all.complete_yield(first.from, first.tag, 1), send_answer::accepted);
    const process_command second = kept.take();
    EXPECT_EQ(all.complete_yield(first.from, first.tag, 2), send_answer::accepted);
    EXPECT_EQ(all.complete_yield(second.from, second.tag, 3), send_answer::accepted);
    all.join();
    EXPECT_EQ(told, (std::vector{1, 3}));
    EXPECT_EQ(all.counters().late_completions, 1U);
}

TEST(processes_calls, a_completion_may_come_before_the_step_that_called_has_returned) {
    processes all({.workers = 2, .handlers = {{nothing, [](auto&, process_command&&) {}}}});
    caller c;
    (void)all.spawn(c.make(
        [](step_output& out) {
            EXPECT_EQ(out.scheduler().complete_yield(out.self(), 5, 1), send_answer::accepted);
            out.call(nothing, 5);
        },
        1));
    all.join();
    EXPECT_EQ(c.told.size(), 1U);
    EXPECT_EQ(all.counters().late_completions, 0U);
}

TEST(processes_calls, completions_after_the_end_are_refused_and_counted) {
    kept_commands kept;
    processes all(with_handlers(kept));
    const auto made = all.spawn(std::make_unique<acting>([](event_batch&, step_output& out) {
        out.call(later, 1);
        out.finish();
    }));
    const process_command pending = kept.take();
    wait_for([&] { return all.counters().living == 0; });
    EXPECT_NE(all.complete_yield(made.id, pending.tag, 1), send_answer::accepted);
    EXPECT_EQ(all.counters().late_completions, 1U);
    EXPECT_EQ(all.counters().dead_letters, 0U);
}

TEST(processes_calls, an_unknown_command_and_a_handler_that_throws_are_told_as_errors) {
    kept_commands kept;
    processes all(with_handlers(kept));
    caller c;
    (void)all.spawn(c.make(
        [](step_output& out) {
            out.call(77, 1);
            out.call(throws, 2);
        },
        2));
    all.join();
    EXPECT_EQ(c.errors, (std::vector<yield_error>{yield_error::unknown_command, yield_error::handler_threw}));
}

TEST(processes_calls, the_id_of_the_sleep_with_other_arguments_is_an_unknown_command) {
    kept_commands kept;
    processes all(with_handlers(kept));
    caller c;
    const auto begin = [](step_output& out) {
        out.call(process_core<real_sync>::sleep_command, 1);
        out.call(process_core<real_sync>::sleep_command, 2, 3);
    };
    (void)all.spawn(c.make(begin, 2));
    all.join();
    EXPECT_EQ(c.errors, (std::vector{yield_error::unknown_command, yield_error::unknown_command}));
}

TEST(processes_calls, a_tag_that_is_in_use_or_a_block_on_nothing_ends_the_process) {
    kept_commands kept;
    std::atomic<int> closed = 0;
    processes all(with_handlers(kept));
    const auto misuse = [&](std::function<void(step_output&)> what) {
        (void)all.spawn(
            std::make_unique<acting>([=](event_batch&, step_output& out) { what(out); }, [&] { ++closed; }));
        wait_for([&] { return all.counters().living == 0; });
    };
    misuse([](step_output& out) { out.block(); });
    EXPECT_EQ(closed, 1);
    misuse([](step_output& out) {
        out.call(nothing, 1);
        out.call(nothing, 1);
        out.block();
    });
    EXPECT_EQ(closed, 2);
}

TEST(processes_calls, several_calls_at_a_time_end_in_any_order) {
    kept_commands kept;
    processes all(with_handlers(kept));
    caller c;
    std::atomic<bool> begun = false;
    const auto made = all.spawn(c.make(
        [&](step_output& out) {
            for (std::uint64_t tag = 0; tag != 5; ++tag) out.call(nothing, tag);
            begun = true;
        },
        5));
    wait_for([&] { return begun.load(); });
    for (const std::uint64_t tag : {3U, 0U, 4U, 1U, 2U})
        EXPECT_EQ(all.complete_yield(made.id, tag), send_answer::accepted);
    all.join();
    ASSERT_EQ(c.told.size(), 5U);
    for (std::size_t i = 0; i != 5; ++i) EXPECT_EQ(c.told[i].second, (std::array{3U, 0U, 4U, 1U, 2U})[i]);
}

TEST(processes_calls, sleeps_end_in_the_order_of_their_deadlines_and_not_early) {
    processes all({.workers = 2});
    caller c;
    const auto from = std::chrono::steady_clock::now();
    (void)all.spawn(c.make(
        [](step_output& out) {
            out.sleep(20'000'000, 1);
            out.sleep(10'000'000, 2);
            out.sleep(-5, 3);
            out.sleep(0, 4);
        },
        4));
    all.join();
    EXPECT_GE(std::chrono::steady_clock::now() - from, std::chrono::milliseconds(20));
    std::vector<std::uint64_t> order;
    for (const auto& [type, tag] : c.told) order.push_back(tag);
    EXPECT_EQ(std::vector(order.begin() + 2, order.end()), (std::vector<std::uint64_t>{2, 1}));
}

TEST(processes_calls, one_that_sleeps_for_ever_can_be_cancelled) {
    processes all({.workers = 1});
    caller c;
    const auto made = all.spawn(c.make([](step_output& out) { out.sleep(INT64_MAX, 1); }, 1));
    EXPECT_EQ(all.cancel(made.id), send_answer::accepted);
    all.join();
    ASSERT_EQ(c.told.size(), 1U);
    EXPECT_EQ(c.told[0].first, event_type::cancel);
}

TEST(processes_calls, many_sleep_at_a_time) {
    processes all({.workers = 2});
    std::atomic<int> awake = 0;
    for (int i = 0; i != 1000; ++i)
        (void)all.spawn(std::make_unique<acting>([&, i, begun = false](event_batch& batch, step_output& out) mutable {
            if (std::exchange(begun, true)) {
                EXPECT_EQ(batch.next()->type, event_type::completed);
                ++awake;
                return out.finish();
            }
            out.sleep(i * 10'000, 1);
            out.block();
        }));
    all.join();
    EXPECT_EQ(awake, 1000);
}

}  // namespace
}  // namespace processes_calls_test
