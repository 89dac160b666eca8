// What misuse of fork_join the assertions see, which builds with NDEBUG do not have.
#undef NDEBUG
#include <apiary/schedulers/fork_join/pool.hpp>
#include <apiary/schedulers/fork_join/task_scope.hpp>
#include <apiary/testing/comes_true.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

namespace {

using apiary::comes_true;
using apiary::fork_join;
using apiary::fork_join_pool;
using context = fork_join_pool::context;

// f here, and g on a thief, which has begun it before f begins.
template <class F, class G>
void in_parallel(F f, G g) {
    fork_join_pool pool({.workers = 2});
    pool.run([&](context& w) {
        while (!w.asked()) std::this_thread::yield();
        std::atomic<bool> begun = false, f_over = false;
        fork_join(
            w,
            [&] {
                while (!begun) std::this_thread::yield();
                f(w);
                f_over = true;
            },
            [&] {
                begun = true;
                g(w, f_over);
            });
    });
}
void ends(context&, std::atomic<bool>& other_over) {
    (void)comes_true([&] { return other_over.load(); });
}

TEST(fork_join_assertions, see_a_fork_by_the_worker_of_another_thread) {
    EXPECT_DEATH(in_parallel([](context&) {},
                             [](context& foreign, std::atomic<bool>& other_over) {
                                 ends(foreign, other_over);
                                 fork_join(foreign, [] {}, [] {});
                             }),
                 "another worker than its own");
    in_parallel([](context& w) { fork_join(w, [&w] { fork_join(w, [] {}, [] {}); }, [] {}); }, ends);
}

TEST(fork_join_assertions, see_a_pool_that_is_destroyed_by_what_it_runs) {
    EXPECT_DEATH(
        {
            auto pool = std::make_unique<fork_join_pool>(apiary::fork_join_config{.workers = 2});
            auto& runs = *pool;
            runs.run([&] { pool.reset(); });
        },
        "keep an owner outside");
}

// The scope's job is still its worker's at the join, or on offer: `asked` decides.
void adds_below_a_stolen_branch(bool asked) {
    fork_join_pool pool({.workers = 2});
    pool.run([asked](context& w) {
        while (!w.asked()) std::this_thread::yield();
        apiary::task_scope s(w);
        std::atomic<bool> begun = false, over = false;
        fork_join(
            w,
            [&] {
                while (!begun || (asked && !w.asked())) std::this_thread::yield();
                s.run([] {});
            },
            [&](context& thief) {
                if (asked) thief.ask_all();
                begun = true;
                ends(thief, over);  // it takes no other job
            });
    });
}

TEST(fork_join_assertions, see_a_scope_below_a_younger_fork_whose_other_branch_a_thief_has) {
    EXPECT_DEATH(adds_below_a_stolen_branch(false), "a scope, that is younger");
    EXPECT_DEATH(adds_below_a_stolen_branch(true), "a scope, that is younger");
}

}  // namespace
