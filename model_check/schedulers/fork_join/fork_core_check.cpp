// A fork_join_pool but for its threads: an offer wakes a worker that sleeps, and a thread that waits for its call sees what that did, or
// gets what it threw, and is left in peace behind it.
#include <array>
#include <stdexcept>

#include <apiary/model_check/register.hpp>
#include <apiary/schedulers/fork_join/core.hpp>

#include "../../workers/handshake.hpp"

namespace {

using namespace apiary;
using namespace apiary::model;

template <class Sync>
using core = fork_core<Sync, crew_parts<Sync>>;

// The worker that sleeps has asked before; the branch that it is woken for is one that the other branch waits for.
template <class Sync>
struct fork_wakes_a_sleeper {
    static constexpr const char* what =
        "a worker forks beside one that sleeps: that one takes the branch, while the first is stuck";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"crew.woke_one", "sleeper.slept"};
    static constexpr std::array engine_laws{"deadlock"};
    core<Sync> pool{2U, handshake_parameters};
    typename Sync::template atomic<bool> gate{false};
    typename Sync::template cell<int> written{0};

    // Answers the request that every list begins with.
    void before() {
        pool.worker(1).driver().sleeps_first();
        pool.enter_thread(0);
        fork_join(pool.context_of(0), [] {}, [] {});
    }
    void thread(unsigned i) {
        pool.enter_thread(i);
        if (i == 1) {
            pool.worker(1).sleep_once();
            return Sync::law(pool.worker(1).turn_once(), "it was woken for nothing");
        }
        pool.worker(1).driver().await_sleep();
        fork_join(
            pool.context_of(0), [this] { Sync::spin_until(gate, [](bool open) { return open; }); },
            [this] {
                written.write(1);
                gate.store(true, std::memory_order_relaxed);
            });
        Sync::law(written.read() == 1, "what the branch wrote is not seen behind its join");
    }
    void after() {
        Sync::law(pool.counters().stolen == 1, "nobody took the branch");
        pool.request_stop();
    }
};
APIARY_CHECK(fork_wakes_a_sleeper);

template <class Sync, bool Throws>
struct call_from_outside {
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"thread_latch.waited", "sleeper.slept"};
    static constexpr std::array engine_laws{"deadlock", "lifetime"};
    core<Sync> pool{1U, handshake_parameters};
    typename Sync::template cell<int> written{0};

    void thread(unsigned i) {
        if (i == 0) return pool.run_worker(0, 0);
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
        Sync::law(written.read() == 5, "what the call did is not seen behind it");
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

}  // namespace
