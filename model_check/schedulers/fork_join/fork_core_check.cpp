// A fork_join_pool but for its threads: an offer wakes a worker that sleeps, and a thread that waits for its call sees what that did, or
// gets what it threw, and is left in peace after it.
#include <array>
#include <stdexcept>

#include <apiary/model_check/register.hpp>
#include <apiary/schedulers/fork_join/core.hpp>

#include "../../workers/handshake.hpp"

namespace fork_core_check {
namespace {

using namespace apiary;
using namespace apiary::model;

template <class Sync>
using core = fork_core<Sync, crew_parts<Sync>>;

// Worker 0 forks, and its first branch waits for the second, which another worker has to take.
template <class Sync>
struct stuck_fork {
    static constexpr std::array engine_laws{"deadlock"};
    core<Sync> pool{2U, handshake_parameters};
    typename Sync::template atomic<bool> gate{false};
    typename Sync::template cell<int> written{0};

    void fork() {
        fork_join(
            pool.context_of(0), [this] { Sync::spin_until(gate, [](bool open) { return open; }); },
            [this] {
                written.write(1);
                gate.store(true, std::memory_order_relaxed);
            });
        Sync::law(written.read() == 1, "what the branch wrote is not seen after its join");
    }
    void sleep_and_take(unsigned i) {
        pool.worker(i).sleep_once();
        Sync::law(pool.worker(i).turn_once(), "it was woken for nothing");
    }
    void after() {
        Sync::law(pool.counters().stolen == 1, "nobody took the branch");
        pool.request_stop();
    }
};

// The worker that sleeps has asked before.
template <class Sync>
struct fork_wakes_a_sleeper : stuck_fork<Sync> {
    static constexpr const char* what =
        "a worker forks beside one that sleeps: that one takes the branch, while the first is stuck";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"crew.woke_one", "sleeper.slept"};

    // Answers the request that every list begins with.
    void before() {
        this->pool.worker(1).driver().sleeps_first();
        this->pool.enter_thread(0);
        fork_join(this->pool.context_of(0), [] {}, [] {});
    }
    void thread(unsigned i) {
        this->pool.enter_thread(i);
        if (i == 1) return this->sleep_and_take(1);
        this->pool.worker(1).driver().await_sleep();
        this->fork();
    }
};
APIARY_CHECK(fork_wakes_a_sleeper);

// The fork answers the request that every list begins with: it offers its second branch. The fences that the worker may share are
// those of a thread that takes nothing, so only the worker can take the branch. If it asks during the first fence it may share the
// second (shared_fence I2).
template <class Sync>
struct sleeper_shares_the_fence_of_another : stuck_fork<Sync> {
    static constexpr const char* what =
        "a worker goes to sleep beside a fork, with a fence of its own or another thread's: it takes the branch, while "
        "the first is stuck";
    static constexpr unsigned threads = 3;
    static constexpr std::array must_reach{"shared_fence.shared", "crew.woke_one", "sleeper.slept", "sleeper.stayed"};

    void thread(unsigned i) {
        if (i == 2) {
            this->pool.pass_fence();
            return this->pool.pass_fence();
        }
        this->pool.enter_thread(i);
        if (i == 1) return this->sleep_and_take(1);
        this->fork();
    }
};
APIARY_CHECK(sleeper_shares_the_fence_of_another);

template <class Sync, bool Throws>
struct call_from_outside {
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"thread_latch.waited", "sleeper.slept"};
    static constexpr std::array engine_laws{"deadlock", "lifetime"};
    core<Sync> pool{1U, handshake_parameters};
    typename Sync::template cell<int> written{0};

    void thread(unsigned i) {
        if (i == 0) return pool.run_worker(0);
        int got = 0;
        try {
            got = pool.run([this] {
                written.write(5);
                if (Throws) throw std::runtime_error("x");
                return 6;
            });
        } catch (const std::runtime_error&) {
            got = -1;
        }
        Sync::law(got == (Throws ? -1 : 6), "a result or an exception got lost");
        Sync::law(written.read() == 5, "what the call did is not seen after it");
        pool.request_stop();
    }
    void after() { Sync::law(pool.counters().roots == 1, "the call ran twice, or not at all"); }
};
template <class Sync>
struct call_returns : call_from_outside<Sync, false> {
    static constexpr const char* what =
        "a thread waits for its call: it sees what that did, and its stack is left in peace";
};
APIARY_CHECK(call_returns);
template <class Sync>
struct call_throws : call_from_outside<Sync, true> {
    static constexpr const char* what = "the same of a call that throws";
};
APIARY_CHECK(call_throws);

// A seat: the caller is a worker of the crew, and its branch one that any worker may take.
template <class Sync>
struct caller_forks_as_a_worker_goes_to_sleep {
    static constexpr const char* what =
        "a caller in a seat forks while the worker goes to sleep: that one takes the branch, and the caller is stuck "
        "else";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"crew.woke_one", "fork_core.stayed_awake", "fork_context.slept"};
    static constexpr std::array engine_laws{"deadlock", "lifetime"};
    core<Sync> pool{1U, handshake_parameters, 0, 1U};
    typename Sync::template atomic<bool> gate{false};
    typename Sync::template cell<int> written{0};

    void thread(unsigned i) {
        if (i == 0) {
            pool.enter_thread(0);
            pool.worker(0).sleep_once();
            return Sync::law(pool.worker(0).turn_once(), "it was woken for nothing");
        }
        const int got = pool.run([this](auto& w) {
            return fork_join(
                       w, [this] { Sync::spin_until(gate, [](bool open) { return open; }); },
                       [this] {
                           gate.store(true, std::memory_order_relaxed);
                           written.write(7);
                           return 7;
                       })
                .second;
        });
        Sync::law(got == 7 && written.read() == 7, "what the branch did is not seen after its join");
    }
    void after() {
        const fork_join_counters all = pool.counters();
        Sync::law(all.stolen == 1 && all.seated == 1 && all.roots == 0,
                  "the caller did not sit, or nobody took its branch");
        if (all.woken == 0) Sync::reach("fork_core.stayed_awake");
        pool.request_stop();
    }
};
APIARY_CHECK(caller_forks_as_a_worker_goes_to_sleep);

// One seat, and two callers: the second finds none, or sits behind the first, in whose list and offer a worker may still look.
template <class Sync>
struct seat_changes_hands {
    static constexpr const char* what =
        "two callers and one seat, and a worker that looks at it: what the first left is seen";
    static constexpr unsigned threads = 3;
    static constexpr std::array must_reach{"fork_core.both_sat", "fork_core.one_sat", "fork_core.stolen"};
    static constexpr std::array engine_laws{"lifetime", "race"};
    static constexpr std::array alike{1U, 2U};
    core<Sync> pool{1U, handshake_parameters, 0, 1U};

    void thread(unsigned i) {
        if (i == 0) {
            if (pool.context_of(0).look_for_offers(1, [] {})) Sync::reach("fork_core.stolen");
            return;
        }
        const typename core<Sync>::seat mine(pool);
        if (!mine) return;
        typename Sync::template scoped<typename Sync::template cell<int>> written;
        fork_join(*mine, [] {}, [&] { written->write(7); });
        Sync::law(written->read() == 7, "what the branch did is not seen after its join");
    }
    void after() {
        const auto seated = pool.counters().seated;
        Sync::law(seated != 0, "nobody sat");
        Sync::reach(seated == 2 ? "fork_core.both_sat" : "fork_core.one_sat");
        pool.request_stop();
    }
};
APIARY_CHECK(seat_changes_hands);

// What is thrown in a seat comes out, and the seat is free after it.
template <class Sync>
struct throw_leaves_the_seat {
    static constexpr const char* what =
        "a call in a seat throws, while a worker has its branch or nobody; the next call sits";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"fork_core.branch_ran", "fork_core.branch_never_began",
                                           "fork_context.slept"};
    static constexpr std::array engine_laws{"deadlock", "lifetime"};
    core<Sync> pool{1U, handshake_parameters, 0, 1U};

    void thread(unsigned i) {
        if (i == 0) {
            (void)pool.context_of(0).look_for_offers(1, [] {});
            return;
        }
        typename Sync::template scoped<typename Sync::template cell<int>> written(0);
        bool thrown = false;
        try {
            pool.run([&](auto& w) { fork_join(w, [] { throw std::runtime_error("x"); }, [&] { written->write(1); }); });
        } catch (const std::runtime_error&) {
            thrown = true;
        }
        Sync::law(thrown, "an exception got lost");
        Sync::reach(written->read() == 1 ? "fork_core.branch_ran" : "fork_core.branch_never_began");
        Sync::law(pool.current() == nullptr, "the caller has left its seat, and is a worker still");
        Sync::law(pool.run([](auto& w) { return w.index(); }) == 1, "the next call found no seat");
    }
    void after() {
        Sync::law(pool.counters().seated == 2, "a call did not sit");
        pool.request_stop();
    }
};
APIARY_CHECK(throw_leaves_the_seat);

}  // namespace
}  // namespace fork_core_check
