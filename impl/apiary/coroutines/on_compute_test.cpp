// on_compute over a scheduler that runs or drops what was posted when the test says so.
#include <apiary/coroutines/on_compute.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <utility>

#include <apiary/testing/plain_coroutine.hpp>

namespace on_compute_test {
namespace {

using apiary::coroutine_place;
using apiary::plain_coroutine;
using apiary::resume_here;

class keeps_it {
public:
    template <class C>
    bool post_compute(C c) {
        auto kept = std::make_shared<C>(std::move(c));
        run_ = [kept] { (*kept)(); };
        return true;
    }
    void run() { std::exchange(run_, nullptr)(); }
    void drop() { run_ = nullptr; }

private:
    std::function<void()> run_;
};

plain_coroutine<> computes(coroutine_place<>, keeps_it& s, int& n, bool& cancelled) {
    try {
        n = co_await apiary::on_compute(s, [] { return 7; });
    } catch (const apiary::wait_cancelled&) {
        cancelled = true;
    }
}

TEST(on_compute, gives_what_was_computed_or_says_that_it_was_dropped) {
    resume_here<> home;
    keeps_it runs, drops;
    int n = 0, none = 0;
    bool cancelled = false, dropped = false;
    computes({home}, runs, n, cancelled);
    computes({home}, drops, none, dropped);
    EXPECT_EQ(n, 0);
    runs.run();
    drops.drop();
    EXPECT_EQ(n, 7);
    EXPECT_FALSE(cancelled);
    EXPECT_EQ(none, 0);
    EXPECT_TRUE(dropped);
}

plain_coroutine<> computes_nothing(coroutine_place<>, keeps_it& s, int& n) {
    co_await apiary::on_compute(s, [&n] { n = 7; });
}

TEST(on_compute, runs_a_callable_without_a_result) {
    resume_here<> home;
    keeps_it s;
    int n = 0;
    computes_nothing({home}, s, n);
    EXPECT_EQ(n, 0);
    s.run();
    EXPECT_EQ(n, 7);
}

TEST(on_compute, one_that_nobody_awaits_goes_as_it_came) {
    keeps_it s;
    const auto made = apiary::on_compute(s, [] { return 7; });
    EXPECT_FALSE(made.await_ready());
}

TEST(on_compute, a_frame_that_is_destroyed_while_it_waits_ends_the_program) {
    resume_here<> home;
    keeps_it s;
    int n = 0;
    bool cancelled = false;
    EXPECT_DEATH(computes({home}, s, n, cancelled).frame.destroy(), "destroyed while it waits for a computation");
}

}  // namespace
}  // namespace on_compute_test
