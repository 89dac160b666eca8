// A delayed task and its handle, whose threads meet: one of them ends the callable, which sees what came before a call
// that put it off, and the last to let go frees the block.
#include <apiary/schedulers/hive/delayed.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include <apiary/testing/run_together.hpp>

namespace hive_together_test {
namespace {

using apiary::delayed_entry;
using apiary::delayed_handle;
using apiary::job_end;
using apiary::real_sync;

TEST(hive_together, a_cancel_meets_the_deadline_of_its_task) {
    for (int round = 0; round != 6; ++round) {
        std::atomic<int> runs{0};
        bool was_cancelled = false;
        // A block of memory that its callable owns, so that a callable that ends twice is found.
        const auto callable = [&runs, owned = std::make_shared<int>(7)] { runs += *owned; };
        using block_type = apiary::delayed_callable<std::decay_t<decltype(callable)>, real_sync>;
        auto* const block = new block_type(std::int64_t{100}, callable);
        apiary::run_together(
            [entry = std::make_shared<delayed_entry<real_sync>>(block)]() mutable {
                (void)(*entry)(job_end::run);
                entry.reset();
            },
            [&, handle = std::make_shared<delayed_handle<real_sync>>(block)]() mutable {
                was_cancelled = handle->cancel();
                handle.reset();
            });
        EXPECT_EQ(runs, was_cancelled ? 0 : 7);
    }
}

TEST(hive_together, a_timer_that_is_put_off_brings_what_came_before_that) {
    for (int round = 0; round != 6; ++round) {
        int noted = 0, runs = 0;
        bool was_put_off = false;
        const auto callable = [&] {
            if (was_put_off) {
                EXPECT_EQ(noted, 1);
            }
            ++runs;
        };
        auto* const block = new apiary::delayed_callable<decltype(callable), real_sync>(std::int64_t{100}, callable);
        delayed_entry<real_sync> entry(block);
        const delayed_handle<real_sync> handle(block);
        apiary::run_together(
            [&] {
                for (std::int64_t now = 100; (now = block->becomes_due(now)) != 0;) was_put_off = true;
                (void)entry(job_end::run);
            },
            [&] {
                noted = 1;
                (void)handle.block()->put_off(200);
            });
        EXPECT_EQ(runs, 1);
    }
}

}  // namespace
}  // namespace hive_together_test
