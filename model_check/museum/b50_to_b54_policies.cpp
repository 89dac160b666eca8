// B50 to B54: policies of a whole scheduler, which show under load. Here the load is a few dozen tasks, time is a number that
// only the tasks move, and what is waited for is counted in tasks: each verdict is exact, and no clock of the machine is asked.
//
// B50: the newest task goes into a slot that is looked at before all else; two that post each other starve the rest.
// B51: a wake for a push into one's own empty slot. The hive wakes a sleeper for such a push as well, since the task that posts may run
//      on for long (A40, B13), but one at a time: none while one that was woken has not looked yet. Without that, one for each.
// B52: timers are asked for once a turn, with the time of its beginning: they are late by the whole turn's tasks.
// B53: work that anybody may run is handed to one worker's inbox, and waits there behind a long task while others sleep.
// B54: a worker that spins counts as looking, so a post wakes nobody; giving up, it sleeps without looking again. The more it spins the rarer.
//
// From: Tokio's LIFO slot (starvation, and a wake per push), its timers behind tasks that compute, round-robin posting; pools that
// "need" a longer spin.
// Seen by: both engines. B50 to B52 need one thread.
// Fixed twins: the shipped hive, under the same detector; of B54 the shipped idle_set and sleeper.
#include <span>

#include "../schedulers/hive/hive_scenario.hpp"

namespace b50_to_b54_policies {
namespace {

using namespace apiary;
using namespace apiary::model;

// Stands still until a task moves it. `Latched`: tells the time at which the turn began.
template <bool Latched>
class work_clock {
public:
    std::int64_t now_ns() const { return told_; }
    std::int64_t exactly() const { return now_; }
    void work(std::int64_t ns) {
        now_ += ns;
        if (!Latched) told_ = now_;
    }
    void turn_begins() { told_ = now_; }
    void set(std::int64_t ns) { told_ = now_ = ns; }

private:
    std::int64_t now_ = 1, told_ = 1;
};

// Never blocks: a wait moves the clock to its deadline. Counts the wakes.
template <class Sync, class Clock>
class counting_driver {
public:
    static constexpr std::int64_t forever = INT64_MAX;
    explicit counting_driver(Clock& c) : clock_(c) {}
    void poll() { clock_.turn_begins(); }
    void wait(std::int64_t deadline_ns) {
        if (std::exchange(token_, false)) return;
        Sync::law(deadline_ns != forever, "the worker sleeps for ever, and the scenario is not at its end");
        if (deadline_ns > clock_.exactly()) clock_.set(deadline_ns);
    }
    void wake() {
        token_ = true;
        ++wakes_;
    }
    unsigned wakes() const { return wakes_; }

private:
    Clock& clock_;
    bool token_ = false;
    unsigned wakes_ = 0;
};

template <class Sync>
struct roomy_limits {
    static constexpr unsigned index_bits = 64;
    static constexpr std::size_t initial_capacity = 8, max_capacity = 64;
};
// In front of the deque a slot for the newest task, which its owner takes first and no thief sees.
template <class Node, class Sync>
class deque_behind_a_slot {
    using inner = chase_lev_deque<Node*, Sync, roomy_limits<Sync>>;

public:
    using limits = roomy_limits<Sync>;
    class owner {
    public:
        explicit owner(inner& d) : deque_(d.own()) {}
        bool try_push(Node* t) {
            std::swap(t, slot_);
            return t == nullptr || deque_.try_push(t);
        }
        bool try_push_all(std::span<Node* const> tasks) { return deque_.try_push_all(tasks); }
        bool try_pop(Node*& out) {
            out = std::exchange(slot_, nullptr);
            return out != nullptr || deque_.try_pop(out);
        }
        std::size_t size() const { return deque_.size() + (slot_ != nullptr ? 1 : 0); }

    private:
        Node* slot_ = nullptr;
        typename inner::owner deque_;
    };
    owner own() { return owner(deque_); }
    auto share() { return deque_.share(); }

private:
    inner deque_;
};

enum class policy { shipped, slot_first, turn_time };

template <class Sync, policy P>
struct policy_parts : hive_parts<Sync> {
    using clock = work_clock<P == policy::turn_time>;
    template <class Node>
    using deque = std::conditional_t<P == policy::slot_first, deque_behind_a_slot<Node, Sync>,
                                     chase_lev_deque<Node*, Sync, roomy_limits<Sync>>>;
};

constexpr hive_parameters parameters_of(policy p) {
    hive_parameters some{};
    some.local_budget = p == policy::turn_time ? 64 : 4;
    some.global_probe_interval = p == policy::slot_first ? SIZE_MAX : 3;
    return some;
}

// Worker 0 of three runs on the one thread; the others never come, so nobody steals.
template <class Sync, policy P>
struct one_thread {
    static constexpr unsigned threads = 1;
    using parts = policy_parts<Sync, P>;
    using driver = counting_driver<Sync, typename parts::clock>;
    using storage = heap_storage<Sync>;
    hive_core<Sync, driver, storage, parts> hive{3, 0, parameters_of(P)};

    auto& worker() { return *hive.io()[0]; }
    template <class Body>
    task<Sync>* make(Body body, std::int64_t deadline_ns = 0) {
        auto* t = storage::make(body);
        t->deadline_ns = deadline_ns;
        return t;
    }
    void must(bool accepted) { Sync::law(accepted, "a post was refused although nobody had asked for a stop"); }
    void end() { hive.request_stop(stop_mode::discard); }
    void thread(unsigned) { worker().run(); }
};

// B50. One old task in the own deque, one in the pool; a task posts its successor, again and again.
template <class Sync, policy P>
struct endless_chain : one_thread<Sync, P> {
    static constexpr unsigned bound = 40;  // tasks of the chain that may run before both others have begun
    bool own_began = false, pooled_began = false;
    void before() {
        auto* first = this->make([this] {
            this->must(this->worker().post_local(this->make([this] { own_began = true; })));
            this->must(this->hive.post(this->make([this] { pooled_began = true; })));
            link(1);
        });
        this->must(this->hive.post_to(0, first));
    }
    void link(unsigned n) {
        this->must(this->worker().post_local(this->make([this, n] {
            if (own_began && pooled_began) return this->end();
            Sync::law(n != bound, "starved: a chain runs on, and tasks that are older never begin");
            link(n + 1);
        })));
    }
};
template <class Sync>
struct b50_slot_starves_the_rest : endless_chain<Sync, policy::slot_first> {
    static constexpr const char* what =
        "the newest task first, always: a chain of posts starves the deque and the pool";
};
APIARY_EXHIBIT(b50_slot_starves_the_rest, "starved");
template <class Sync>
struct b50_fixed : endless_chain<Sync, policy::shipped> {
    static constexpr const char* what = "twin of B50: the hive runs its oldest and probes the pool every few turns";
    static constexpr const char* exhibit = "b50_slot_starves_the_rest";
};
APIARY_CHECK(b50_fixed);

// B51. Workers 1 and 2 are asleep and slow to get up, while worker 0 runs a chain, each link put into its empty slot.
template <class Sync, bool ForEachPush>
struct chain_beside_a_sleeper : one_thread<Sync, policy::shipped> {
    static constexpr unsigned links = 20;
    void before() {
        for (unsigned w : {1U, 2U}) this->hive.io_crew().idle().announce_sleep(w, false);
        this->must(this->hive.post_to(0, this->make([this] { link(1); })));
    }
    void link(unsigned n) {
        this->must(this->worker().post_local(this->make([this, n] { n == links ? this->end() : link(n + 1); })));
        if (ForEachPush) this->hive.io()[1]->driver().wake();
    }
    void after() {
        unsigned wakes = 0;
        for (unsigned w : {1U, 2U}) wakes += this->hive.io()[w]->driver().wakes();
        // One for the chain; the stop wakes both.
        Sync::law(wakes <= 1 + 2, "wakes: a worker that was woken and has not looked yet is woken again for each push");
    }
};
template <class Sync>
struct b51_wake_for_each_push : chain_beside_a_sleeper<Sync, true> {
    static constexpr const char* what = "each push into one's own empty slot wakes a peer, who will find nothing";
};
APIARY_EXHIBIT(b51_wake_for_each_push, "wakes");
template <class Sync>
struct b51_fixed : chain_beside_a_sleeper<Sync, false> {
    static constexpr std::array must_reach{"crew.woke_one"};
    static constexpr const char* what = "twin of B51: the hive wakes one, and none while that one has not looked yet";
};
APIARY_CHECK(b51_fixed);

// B52. Thirty tasks of a millisecond each, and a timer that is due in the fifth.
template <class Sync, policy P>
struct timer_among_tasks : one_thread<Sync, P> {
    static constexpr std::int64_t each = 1'000'000, due = 4'500'000;
    static constexpr unsigned tasks = 30;
    unsigned ran = 0;
    void before() {
        auto* timer = this->make(
            [this] {
                Sync::law(this->hive.clock().exactly() - due <= each,
                          "lateness: the timer fired more than one task's length after it was due");
            },
            due);
        this->must(this->hive.post_to(0, timer));
        for (unsigned i = 0; i < tasks; ++i)
            this->must(this->hive.post_to(0, this->make([this] {
                this->hive.clock().work(each);
                if (++ran == tasks) this->end_when_fired();
            })));
    }
    // By a timer behind the other one, so that the stop does not drop that.
    void end_when_fired() {
        this->must(this->hive.post_to(0, this->make([this] { this->end(); }, this->hive.clock().exactly() + 1)));
    }
};
template <class Sync>
struct b52_timers_once_a_turn : timer_among_tasks<Sync, policy::turn_time> {
    static constexpr const char* what =
        "timers are compared with the time at which the turn began: late by all its tasks";
};
APIARY_EXHIBIT(b52_timers_once_a_turn, "lateness");
template <class Sync>
struct b52_fixed : timer_among_tasks<Sync, policy::shipped> {
    static constexpr const char* what =
        "twin of B52: the hive asks the clock behind every task, so one task is all it is late";
    static constexpr const char* exhibit = "b52_timers_once_a_turn";
};
APIARY_CHECK(b52_fixed);

// B53. A task of worker 0 runs until another one has run, which anybody may run and which is posted meanwhile.
template <class Sync, bool ToAnInbox>
struct post_beside_a_long_task : hive_scenario<Sync, 2, 0, 0, 2> {
    void before() {
        post_beside_a_long_task::hive_scenario::before();
        this->sleeps_first(1);
        auto* lasting = this->make(0, [this] {
            auto* t = this->make(1, [this] { this->open_gate(); });
            this->must([&] { return ToAnInbox ? this->hive.post_to(0, t) : this->hive.post(t); });
            this->wait_for_gate();
        });
        this->must([&] { return this->hive.post_to(0, lasting); });
    }
    void thread(unsigned i) { (void)this->work_thread(i); }
};
template <class Sync>
struct b53_trapped_in_an_inbox : post_beside_a_long_task<Sync, true> {
    static constexpr const char* what =
        "a task for anybody goes to one worker's inbox, behind its long task; the other sleeps";
};
APIARY_EXHIBIT(b53_trapped_in_an_inbox, "deadlock");
template <class Sync>
struct b53_fixed : post_beside_a_long_task<Sync, false> {
    static constexpr std::array must_reach{"crew.woke_one"};
    static constexpr const char* what =
        "twin of B53: what anybody may run goes to the pool, and wakes the one that sleeps";
};
APIARY_CHECK(b53_fixed);

// B54. A worker looks `Spins` times before it sleeps; a post wakes nobody while it spins.
template <class Sync, unsigned Spins, bool LooksAgain>
struct spin_then_sleep {
    static constexpr unsigned threads = 2;
    using driver = parker_driver<Sync, typename Sync::parker>;
    typename Sync::template atomic<unsigned> work{0};
    typename Sync::template atomic<unsigned> spinning{1}, sleeping{0};  // of the one that does not look again
    idle_set<Sync> idle;
    driver block;

    void thread(unsigned i) {
        if (i == 1) {
            work.store(1, std::memory_order_seq_cst);
            if constexpr (LooksAgain) {
                if (idle.claim_any()) block.wake();
            } else if (spinning.load(std::memory_order_seq_cst) == 0) {
                if (sleeping.exchange(0, std::memory_order_seq_cst) == 1) block.wake();
            }
            return;
        }
        sleeper<Sync, driver> self(0, idle, block);
        for (;;) {
            for (unsigned n = 0; n < Spins; ++n)
                if (work.load(std::memory_order_seq_cst) == 1) return (void)self.found_work();
            if constexpr (LooksAgain) {
                self.sleep(driver::forever, [this] { return work.load(std::memory_order_seq_cst) == 1; });
            } else {
                sleeping.store(1, std::memory_order_seq_cst);
                spinning.store(0, std::memory_order_seq_cst);
                block.wait(driver::forever);
                spinning.store(1, std::memory_order_seq_cst);
            }
        }
    }
};
template <class Sync>
struct b54_one_look : spin_then_sleep<Sync, 1, false> {
    static constexpr const char* what = "a post relies on one who spins; that one gives up after one look, and sleeps";
};
APIARY_EXHIBIT(b54_one_look, "deadlock");
template <class Sync>
struct b54_many_looks : spin_then_sleep<Sync, 8, false> {
    static constexpr const char* what = "the same with eight looks: as wrong, and found later at random";
};
APIARY_EXHIBIT(b54_many_looks, "deadlock");
template <class Sync>
struct b54_fixed : spin_then_sleep<Sync, 1, true> {
    static constexpr std::array must_reach{"sleeper.slept", "sleeper.stayed"};
    static constexpr const char* what = "twin of B54: it announces its sleep, then looks once more";
    static constexpr std::array engine_laws{"deadlock"};
};
APIARY_CHECK(b54_fixed);

}  // namespace
}  // namespace b50_to_b54_policies
