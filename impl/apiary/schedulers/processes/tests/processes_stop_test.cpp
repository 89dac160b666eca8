// How it ends: cancels, the deadline, the report, and what is asked of a scheduler that is about to go.
#include <gtest/gtest.h>
#include <sched.h>

#include <apiary/testing/comes_true.hpp>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <vector>

#include "acting.hpp"

namespace processes_stop_test {
namespace {

using namespace apiary;

TEST(processes, have_a_worker_for_each_processor_that_they_may_use) {
    EXPECT_EQ(processes().workers(), std::min(apiary::default_workers(), 280U));
    // On a thread that may use one alone, which others must not inherit.
    std::thread([] {
        cpu_set_t one{};
        CPU_SET(static_cast<std::size_t>(apiary::usable_processors().back()), &one);
        ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
        EXPECT_EQ(processes().workers(), 1U);
    }).join();
}

TEST(processes_stop, tells_all_to_end_and_reports_that_they_did) {
    processes all({.workers = 2});
    std::atomic<int> closed = 0;
    for (int i = 0; i != 1000; ++i) (void)all.spawn(on_events([](event&, step_output&) {}, [&] { ++closed; }));
    const auto report = all.stop(processes_config{}.stop_ns * 100);
    EXPECT_TRUE(report.over);
    EXPECT_EQ(report.ended, 1000U);
    EXPECT_TRUE(report.forced.empty());
    EXPECT_TRUE(report.with_mail.empty());
    EXPECT_EQ(report.undelivered, 0U);
    EXPECT_EQ(closed, 1000);
    EXPECT_EQ(all.spawn(deaf()).error, spawn_error::stopping);
    EXPECT_TRUE(all.stop().over) << "again";
}

TEST(processes_stop, reaches_the_blocked_and_the_sleeping) {
    std::atomic<int> cancelled = 0;
    processes all({.workers = 2, .handlers = {{1, [](auto&, process_command&&) {}}}});
    for (int i = 0; i != 100; ++i)
        (void)all.spawn(std::make_unique<acting>([&, i](event_batch& batch, step_output& out) {
            if (batch.next() != nullptr) return (void)++cancelled, out.finish();
            i % 2 == 0 ? out.call(1, 1) : out.sleep(INT64_MAX, 1);
            out.block();
        }));
    EXPECT_EQ(all.stop(real_sync::forever).ended, 100U);
    EXPECT_EQ(cancelled, 100);
}

TEST(processes_stop, forces_those_that_do_not_end_and_names_them_with_their_mail) {
    std::atomic<int> closed = 0;
    std::atomic<bool> told = false;
    processes all({.workers = 2, .handlers = {{1, [](auto&, process_command&&) {}}}});
    const auto stubborn = all.spawn(std::make_unique<acting>(
        [&, tag = std::uint64_t{0}](event_batch& batch, step_output& out) mutable {
            out.call(1, ++tag);  // which nobody completes
            out.block();
            while (const auto* e = batch.next())
                if (e->type == event_type::cancel) told = true;
        },
        [&] { ++closed; }));
    const auto willing = all.spawn(deaf());
    all.request_stop();
    wait_for([&] { return told.load(); });  // and it waits again
    for (int i = 0; i != 3; ++i) EXPECT_EQ(all.send(stubborn.id, i), send_answer::accepted);
    const auto report = all.stop(20'000'000);
    EXPECT_TRUE(report.over);
    EXPECT_EQ(report.ended, 1U);
    ASSERT_EQ(report.forced.size(), 1U);
    EXPECT_EQ(report.forced[0].id, stubborn.id);
    EXPECT_EQ(report.forced[0].undelivered, 3U);
    EXPECT_EQ(report.undelivered, 3U);
    EXPECT_EQ(closed, 1);
    EXPECT_NE(all.send(willing.id, 1), send_answer::accepted);
}

TEST(processes_stop, reports_what_steps_left_unread_since_it_began_and_no_more) {
    std::atomic<int> steps = 0;
    std::atomic<bool> stopping = false;
    processes all({.workers = 1});
    const pid reads_nothing =
        all.spawn(std::make_unique<acting>([&](event_batch& batch, step_output& out) {
               if (++steps == 3) wait_for([&] { return stopping.load(); });
               if (steps != 5) return;  // the fourth has three messages and the cancel, this one the cancel alone
               EXPECT_EQ(batch.next()->type, event_type::cancel);
               out.finish();
           }))
            .id;
    wait_for([&] { return steps == 1; });
    for (int step = 2; step <= 3; ++step) {  // the second leaves its message before the stop, the third after it
        EXPECT_EQ(all.send(reads_nothing, 0), send_answer::accepted);
        wait_for([&] { return steps == step; });
    }
    for (int i = 0; i != 3; ++i) EXPECT_EQ(all.send(reads_nothing, i), send_answer::accepted);
    all.request_stop();
    stopping = true;
    const auto report = all.stop(real_sync::forever);
    EXPECT_EQ(steps, 5);
    EXPECT_EQ(report.undelivered, 4U);
    ASSERT_EQ(report.with_mail.size(), 1U);
    EXPECT_EQ(report.with_mail[0].id, reads_nothing);
    EXPECT_EQ(report.with_mail[0].undelivered, 4U);
    EXPECT_EQ(all.counters().dead_letters, 5U);
}

TEST(processes_stop, names_a_step_that_does_not_return_and_goes_on_when_it_has) {
    std::atomic<bool> in_step = false, go = false;
    processes all({.workers = 1, .force_ns = 10'000'000});
    const auto hangs = all.spawn(std::make_unique<acting>([&](event_batch&, step_output& out) {
        in_step = true;
        wait_for([&] { return go.load(); });
        out.finish();
    }));
    wait_for([&] { return in_step.load(); });
    EXPECT_EQ(all.send(hangs.id, 1), send_answer::accepted);
    const auto report = all.stop(0);
    EXPECT_FALSE(report.over);
    EXPECT_EQ(report.in_a_step, std::vector{hangs.id});
    go = true;
    wait_for([&] { return all.over(); });
    const auto later = all.stop(0);
    EXPECT_TRUE(later.over);
    EXPECT_EQ(later.ended, 1U);
    ASSERT_EQ(later.with_mail.size(), 1U);
    EXPECT_EQ(later.with_mail[0].id, hangs.id);
    EXPECT_EQ(later.with_mail[0].undelivered, 1U);
}

TEST(processes_stop, cancels_and_forces_at_its_deadline_though_another_thread_joins) {
    processes all({.workers = 1, .handlers = {{1, [](auto&, process_command&&) {}}}});
    std::atomic<int> cancelled = 0;
    (void)all.spawn(std::make_unique<acting>([&](event_batch& batch, step_output& out) {
        while (batch.next() != nullptr) ++cancelled;
        static std::uint64_t tag = 0;
        out.call(1, ++tag);
        out.block();
    }));
    std::thread joins([&] { all.join(); });
    wait_for([&] {
        const auto made = all.spawn(std::make_unique<acting>([](event_batch&, step_output& out) { out.finish(); }));
        return made.error == spawn_error::stopping;
    });
    all.request_stop();
    wait_for([&] { return cancelled == 1; });
    const auto report = all.stop(10'000'000);
    EXPECT_TRUE(report.over);
    EXPECT_EQ(report.forced.size(), 1U);
    EXPECT_EQ(cancelled, 1);
    joins.join();
}

TEST(processes_stop, names_a_close_that_does_not_return) {
    std::atomic<bool> in_close = false, go = false;
    processes all({.workers = 1, .force_ns = 10'000'000});
    const auto hangs = all.spawn(on_events([](event&, step_output&) {},
                                           [&] {
                                               in_close = true;
                                               wait_for([&] { return go.load(); });
                                           }));
    EXPECT_FALSE(all.stop(0).over);
    wait_for([&] { return in_close.load(); });
    EXPECT_EQ(all.report().in_a_step, std::vector{hangs.id});
    const auto stalled = all.stalled(1);
    ASSERT_EQ(stalled.size(), 1U);
    EXPECT_EQ(stalled[0].id, hangs.id);
    go = true;
    EXPECT_TRUE(all.stop(real_sync::forever).over);
}

TEST(processes_stop, a_close_that_throws_ends_the_program) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            processes all({.workers = 1});
            (void)all.spawn(on_events([](event&, step_output&) {}, [] { throw 1; }));
            (void)all.stop();
        },
        "");
}

TEST(processes_stop, what_lives_may_spawn_and_send_until_it_ends_and_the_child_is_told_too) {
    std::atomic<int> told = 0;
    processes all({.workers = 2});
    (void)all.spawn(on_events(
        [](event&, step_output&) {},
        [&] { EXPECT_TRUE(all.spawn(on_events([](event&, step_output&) {}, [&] { ++told; }))) << "spawn in close"; }));
    EXPECT_EQ(all.stop(real_sync::forever).ended, 2U);
    EXPECT_EQ(told, 1);
}

TEST(processes_stop, what_leaves_a_step_may_spawn_as_it_goes) {
    struct spawns {
        std::shared_ptr<void> at_the_end;
    };
    int spawned = 0;
    processes all({.workers = 1});
    (void)all.spawn(std::make_unique<acting>([&](event_batch& batch, step_output&) {
        if (batch.next() != nullptr)
            throw spawns{{nullptr, [&](void*) { spawned += all.spawn(deaf()).error == spawn_error::none; }}};
    }));
    EXPECT_TRUE(all.stop(real_sync::forever).over);
    EXPECT_EQ(spawned, 1);
}

TEST(processes_stop, a_step_may_ask_for_the_stop_and_may_not_wait_for_it) {
    processes all({.workers = 1});
    (void)all.spawn(deaf());
    (void)all.spawn(std::make_unique<acting>([&](event_batch& batch, step_output& out) {
        if (batch.next() != nullptr) return out.finish();
        EXPECT_THROW((void)all.stop(), std::logic_error);
        EXPECT_THROW(all.join(), std::logic_error);
        out.scheduler().request_stop();
    }));
    all.join();
    EXPECT_EQ(all.report().ended, 2U);
}

TEST(processes_stop, forced_ones_spawn_nothing_more) {
    processes all({.workers = 1, .handlers = {{1, [](auto&, process_command&&) {}}}});
    std::atomic<int> refused = 0;
    const auto made = all.spawn(std::make_unique<acting>(
        [](event_batch& batch, step_output&) {
            while (batch.next() != nullptr) {
            }
        },
        [&] { refused += all.spawn(deaf()).error == spawn_error::stopping; }));
    const auto report = all.stop(10'000'000);
    EXPECT_TRUE(report.over);
    EXPECT_EQ(refused, 1);
    ASSERT_EQ(report.forced.size(), 1U);
    EXPECT_EQ(report.forced[0].id, made.id);
}

TEST(processes_stop, of_nothing_ends_at_once_and_so_does_the_destructor) {
    processes none({.workers = 3});
    EXPECT_TRUE(none.stop(0).over);
    processes left({.workers = 1});
    (void)left.spawn(deaf());
}

// Says when a place has had all its generations, and when the thread that has asked for it waits for ever.
struct observed : real_sync {
    static inline std::function<void()> at_retirement;
    static inline thread_local std::atomic<bool>* waits = nullptr;
    static void reach(const char* what) {
        if (std::string_view(what) == "process_table.retired") at_retirement();
    }
    using system_futex = real_sync::futex;
    struct futex : system_futex {
        using system_futex::system_futex;
        bool wait(std::uint32_t expected, std::int64_t deadline_ns) noexcept {
            if (waits != nullptr && deadline_ns == forever) *waits = true;
            return system_futex::wait(expected, deadline_ns);
        }
    };
};
struct observed_process : basic_process<observed> {
    explicit observed_process(std::function<void(output&)> f, init_answer a = init_answer::ready)
        : step_(std::move(f)), says_(a) {}
    init_answer init(context&, std::string_view, payload) override { return says_; }
    void step(events&, output& out) override { step_(out); }
    std::function<void(output&)> step_;
    init_answer says_;
};

TEST(processes_stop, the_destructor_waits_for_a_step_that_outlasts_its_stop) {
    std::atomic<bool> in_step = false, waits = false, returned = false;
    {
        basic_processes<observed> all({.workers = 1, .stop_ns = 0, .force_ns = 0});
        (void)all.spawn(std::make_unique<observed_process>([&](auto& out) {
            in_step = true;
            wait_for([&] { return waits.load(); });
            returned = true;
            out.finish();
        }));
        wait_for([&] { return in_step.load(); });
        observed::waits = &waits;
    }
    observed::waits = nullptr;
    EXPECT_TRUE(returned);
}

// After the last count the scheduler may be gone.
TEST(processes_stop, a_place_is_given_back_while_its_process_is_counted) {
    basic_processes<observed> all({.workers = 1});
    std::vector<std::uint64_t> living;
    observed::at_retirement = [&] { living.push_back(all.counters().living); };
    // One worker: its newest free place is given out first, and so has all its generations.
    (void)all.spawn(std::make_unique<observed_process>([&, left = 200'000](auto& out) mutable {
        const auto spawn = [&](init_answer a) {
            (void)out.spawn(std::make_unique<observed_process>([](auto& o) { o.finish(); }, a));
        };
        while (living.empty() && --left > 0) spawn(init_answer::failed);
        if (living.size() == 2 || --left < 0) return out.finish();
        spawn(init_answer::ready);
        out.again();
    }));
    all.join();
    observed::at_retirement = nullptr;
    EXPECT_EQ(living, (std::vector<std::uint64_t>{2, 2})) << "this one and its spawner: refused, and ended";
}

// Fewer where a sanitizer gives each message several times its 64 bytes.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t many = 1'000'000;
#else
constexpr std::uint64_t many = 10'000'000;
#endif

TEST(processes_stop, ten_million_messages_to_one_that_does_not_look_are_all_reported) {
    std::atomic<bool> in_step = false, go = false;
    processes all({.workers = 1});
    const auto stopped = all.spawn(std::make_unique<acting>([&](event_batch&, step_output& out) {
        in_step = true;
        wait_for([&] { return go.load(); });
        out.finish();
    }));
    wait_for([&] { return in_step.load(); });
    for (std::uint64_t i = 0; i != many; ++i) ASSERT_EQ(all.send(stopped.id, i), send_answer::accepted);
    all.request_stop();
    go = true;
    const auto report = all.stop(real_sync::forever);
    EXPECT_EQ(report.undelivered, many);
    EXPECT_EQ(all.counters().dead_letters, many);
    ASSERT_EQ(report.with_mail.size(), 1U);
    EXPECT_EQ(report.with_mail[0].undelivered, many);
}

TEST(processes_stop, a_listener_of_dead_letters_that_throws_ends_the_program) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            processes all({.workers = 1, .on_dead_letter = [](pid, dead_letter, event&) { throw 1; }});
            const auto made = all.spawn(std::make_unique<acting>([](event_batch&, step_output&) {}));
            (void)all.send(made.id, 1);
            (void)comes_true([&] { return all.counters().dead_letters == 2; });
            std::_Exit(0);
        },
        "terminate called");
}

TEST(processes_stop, a_handler_of_exceptions_that_throws_ends_the_program_also_if_it_does_so_once) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            int throws = 1;
            processes all({.workers = 1, .on_exception = [&](const std::exception_ptr&) {
                               if (throws-- > 0) throw 2;
                           }});
            (void)all.spawn(std::make_unique<acting>([](event_batch&, step_output&) { throw 1; }));
            (void)comes_true([&] { return all.counters().living == 0; });
            std::_Exit(0);
        },
        "terminate called");
}

}  // namespace
}  // namespace processes_stop_test
