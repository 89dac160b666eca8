// A23, C06, C13 and C14 on the shipped coroutine pool: calls of it in the wrong order, or without what they need.
//
// From: seed 003 "stop" (A23); L. Baker, "C++ Coroutines: Understanding operator co_await", 2017 (C06); this
// project's own lanes of priority (C13, C14).
// Seen by: both engines, plain interleaving; C06 by the explorer alone, since Relacy found it in none of 2,000,000 executions.
// Fixed twins: the calls as core.hpp, sources.hpp and the awaiters make them.
#include <array>
#include <coroutine>
#include <optional>

#include <apiary/model_check/register.hpp>
#include <apiary/schedulers/coro_pool/coro_pool.hpp>

#include "../workers/handshake.hpp"

namespace a23_to_c14_coro_pool {
namespace {

using namespace apiary;
using namespace apiary::model;

template <class Sync>
using core = co_core<Sync, crew_parts<Sync>>;

// A23. A thread that is no coroutine of the pool begins one by the inner door, which is for what lives.
template <class Sync, bool ByTheOuterDoor>
struct spawn_beside_a_stop {
    static constexpr unsigned threads = 3;
    static constexpr std::array engine_laws{"deadlock", "lifetime"};
    std::optional<core<Sync>> pool;
    std::optional<co_root<Sync>> root;
    co_outcome<void, Sync> outcome;

    spawn_beside_a_stop() {
        pool.emplace(1U, handshake_parameters);
        root.emplace(
            *pool, std::stop_token(), [](co_root<Sync>& r) noexcept { r.host.read()->leave(); },
            [](co_root<Sync>&, std::exception_ptr) noexcept {});
    }
    static co_task<void, Sync> runs() { co_return; }
    void thread(unsigned i) {
        if (i == 0) return pool->run_worker(0);
        if (i == 2) return pool->request_stop(co_stop::drain);
        auto task = runs();
        if constexpr (ByTheOuterDoor) {
            if (!pool->enter()) return;
        } else {
            pool->enter_inside();
        }
        auto& f = task.begin_into(outcome);
        f.root_of(*root);
        pool->resume(f);
    }
};
template <class Sync>
struct a23_spawn_by_the_inner_door : spawn_beside_a_stop<Sync, false> {
    static constexpr const char* what = "a spawn asks nobody whether the pool is stopped: the workers have gone";
};
APIARY_EXHIBIT(a23_spawn_by_the_inner_door, "a coroutine that lives was refused");
template <class Sync>
struct a23_spawn_fixed : spawn_beside_a_stop<Sync, true> {
    static constexpr const char* what = "twin of A23: the outer door refuses after a stop, and counts before it";
    static constexpr const char* exhibit = "a23_spawn_by_the_inner_door";
};
APIARY_CHECK(a23_spawn_fixed);

// C06. Another thread brings the last coroutine back. The awaiter lies in the frame, and the frame ends with it.
enum class touch { none, awaiter };

template <class Sync, touch Touch>
struct waits_once {
    static constexpr unsigned threads = 2;
    static constexpr std::array engine_laws{"lifetime"};
    struct waiting {
        using comes_home = void;
        waits_once& check;
        typename Sync::template cell<int> mine{0};
        explicit waiting(waits_once& c) : check(c) {}
        bool await_ready() const noexcept { return false; }
        template <class P>
        void await_suspend(std::coroutine_handle<P> h) noexcept {
            waits_once& at = check;
            at.waiter = h.promise().suspended_here();
            at.published.store(true, std::memory_order_release);
            if constexpr (Touch == touch::awaiter) mine.write(1);
        }
        void await_resume() const noexcept {}
    };
    std::optional<core<Sync>> pool;
    suspended<Sync> waiter;
    typename Sync::template atomic<bool> published{false};

    waits_once() { pool.emplace(2U, handshake_parameters); }
    co_task<void, Sync> waits() { co_await waiting(*this); }
    void before() {
        (void)pool->spawn(waits());
        pool->request_stop(co_stop::drain);
    }
    void thread(unsigned i) {
        if (i == 1) Sync::spin_until(published, [](bool p) { return p; });
        if (i == 1) waiter.resume();
        pool->run_worker(i);
    }
};
template <class Sync>
struct c06_awaiter_touched_behind_its_hand_over : waits_once<Sync, touch::awaiter> {
    static constexpr const char* what =
        "await_suspend writes into its awaiter when it has told others of the coroutine";
    static constexpr const char* one_engine = "Relacy found it in none of 20,000 executions";
};
APIARY_EXHIBIT(c06_awaiter_touched_behind_its_hand_over, "access to freed memory", model::explorer_only);
template <class Sync>
struct c06_awaiter_fixed : waits_once<Sync, touch::none> {
    static constexpr const char* what = "twin of C06: the hand-over is the last that await_suspend does";
    static constexpr const char* exhibit = "c06_awaiter_touched_behind_its_hand_over";
};
APIARY_CHECK(c06_awaiter_fixed);

// C13. A lane, and the shipped idle set: a worker that finds it empty sleeps, with or without a look behind the announcement.
template <class Sync, bool LooksAgain>
struct lane_beside_a_sleep {
    static constexpr unsigned threads = 2;
    static constexpr std::array engine_laws{"deadlock"};
    using driver = announcing_driver<Sync>;
    struct one : job<Sync> {
        one() : job<Sync>(&end_it) {}
        static bool end_it(job<Sync>&, job_end, any_worker*) { return true; }
    };
    co_lanes<Sync> lanes{true};
    idle_set<Sync> idle;
    driver parks;
    sleeper<Sync, driver> sleeps{0, idle, parks};
    one high;

    void thread(unsigned i) {
        auto& lane = lanes.of(co_priority::high);
        if (i == 1) {
            (void)lane.push(&high);
            if (idle.claim_any()) parks.wake();
            return;
        }
        while (lane.take_one() == nullptr)
            sleeps.sleep(driver::forever, [&] { return LooksAgain && lanes.high_waits(); });
        (void)sleeps.found_work();
    }
};
template <class Sync>
struct c13_lane_not_looked_at_before_a_sleep : lane_beside_a_sleep<Sync, false> {
    static constexpr const char* what =
        "a worker looks at the lane, and sleeps without another look: what came in between waits for ever";
};
APIARY_EXHIBIT(c13_lane_not_looked_at_before_a_sleep, "deadlock");
template <class Sync>
struct c13_lane_fixed : lane_beside_a_sleep<Sync, true> {
    static constexpr const char* what = "twin of C13: the lane is among what the last look sees";
    static constexpr const char* exhibit = "c13_lane_not_looked_at_before_a_sleep";
};
APIARY_CHECK(c13_lane_fixed);

// C14. A hurry is met before the look at the lane, or after it.
template <class Sync, bool MetFirst>
struct hurry_beside_a_look {
    static constexpr unsigned threads = 2;
    struct host final : co_host<Sync> {
        host() : co_host<Sync>(true) {}
        void resume(job<Sync>&) noexcept override {}
        void resume_behind(job<Sync>&) noexcept override {}
        void wake_one() noexcept override {}
        bool enter() noexcept override { return true; }
        void enter_inside() noexcept override {}
        void leave() noexcept override {}
    };
    struct one : job<Sync> {
        one() : job<Sync>(&end_it) {}
        static bool end_it(job<Sync>&, job_end, any_worker*) { return true; }
    };
    host of;
    co_context<Sync> worker;
    one high;

    hurry_beside_a_look() { worker.belongs_to(of, 0); }
    void thread(unsigned i) {
        auto& lane = of.lanes().of(co_priority::high);
        if (i == 1) {
            (void)lane.push(&high);
            worker.hurry();
            return;
        }
        if constexpr (MetFirst) worker.meet_the_hurry();
        (void)lane.take_one();
        if constexpr (!MetFirst) worker.meet_the_hurry();
    }
    void after() {
        Sync::law(worker.hurried() || of.lanes().look_empty(), "one of high priority waits, and nothing hurries");
    }
};
template <class Sync>
struct c14_hurry_met_behind_the_look : hurry_beside_a_look<Sync, false> {
    static constexpr const char* what =
        "a worker looks at the lane and takes back the hurry then: what came in between waits for the whole tree";
};
APIARY_EXHIBIT(c14_hurry_met_behind_the_look, "one of high priority waits, and nothing hurries");
template <class Sync>
struct c14_hurry_fixed : hurry_beside_a_look<Sync, true> {
    static constexpr const char* what = "twin of C14: the hurry is met first, and the look comes after it";
    static constexpr const char* exhibit = "c14_hurry_met_behind_the_look";
};
APIARY_CHECK(c14_hurry_fixed);

}  // namespace
}  // namespace a23_to_c14_coro_pool
