// Whole pools but for their threads: what was accepted ends once, whatever stops, waits or comes back at the same time; nothing leaks,
// and a pool that has gone is left in peace.
#include <array>
#include <coroutine>
#include <optional>

#include <apiary/coroutines/async_event.hpp>
#include <apiary/model_check/register.hpp>
#include <apiary/schedulers/coro_pool/coro_pool.hpp>

#include "../../workers/handshake.hpp"

namespace coro_core_check {
namespace {

using namespace apiary;
using namespace apiary::model;

template <class Sync>
using core = co_core<Sync, crew_parts<Sync>>;

template <class Sync>
struct pool_scenario {
    static constexpr std::array engine_laws{"deadlock", "lifetime"};
    template <class T = void>
    using task = co_task<T, Sync>;

    std::optional<core<Sync>> pool;
    std::atomic<unsigned> accepted = 0, ran = 0;
    typename Sync::template cell<int> done{0};

    explicit pool_scenario(unsigned workers = 1, const co_switches& with = {}) {
        pool.emplace(workers, handshake_parameters, 0, exception_handler(), with);
    }
    task<> runs() {
        ++ran;
        done.write(1);
        co_return;
    }
    bool spawn(task<> t, co_priority p = co_priority::normal) {
        if (!pool->spawn(std::move(t), {.priority = p})) {
            Sync::reach("pool.refused");
            return false;
        }
        Sync::reach("pool.accepted");
        ++accepted;
        return true;
    }
    void after() {
        Sync::law(ran == accepted, "what was accepted did not run, or what was refused did");
        if (!pool) return;
        const coro_report r = pool->report();
        Sync::law(r.living == 0 && r.run == ran, "the books of the pool do not balance");
    }
};

// Exhibit A23, mended.
template <class Sync>
struct co_spawn_against_stop : pool_scenario<Sync> {
    static constexpr const char* what = "a spawn while the stop comes: it runs, or is refused, and the worker ends";
    static constexpr unsigned threads = 3;
    static constexpr std::array must_reach{"pool.accepted", "pool.refused"};
    void thread(unsigned i) {
        if (i == 0) return this->pool->run_worker(0);
        if (i == 1) {
            (void)this->spawn(this->runs());
        } else {
            this->pool->request_stop(co_stop::drain);
        }
    }
};
APIARY_CHECK(co_spawn_against_stop);

template <class Sync>
struct end_is_seen : pool_scenario<Sync> {
    static constexpr const char* what = "a thread that finds the pool ended sees what its coroutines did";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"pool.seen_ended"};
    void before() { (void)this->spawn(this->runs()); }
    void thread(unsigned i) {
        if (i == 0) return this->pool->run_worker(0);
        this->pool->request_stop(co_stop::drain);
        if (!this->pool->stopping()) return;
        Sync::reach("pool.seen_ended");
        Sync::law(this->done.read() == 1, "what a coroutine did is not seen after the end");
    }
};
APIARY_CHECK(end_is_seen);

// A coroutine that lives spawns after the stop.
template <class Sync>
struct continuation_against_stop : pool_scenario<Sync> {
    static constexpr const char* what = "a coroutine spawns another while the stop comes: both run";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"pool.accepted"};
    typename pool_scenario<Sync>::template task<> spawns() {
        ++this->ran;
        Sync::law(this->spawn(this->runs()), "what a living coroutine spawned was refused");
        co_return;
    }
    void before() { (void)this->spawn(spawns()); }
    void thread(unsigned i) {
        if (i == 0) return this->pool->run_worker(0);
        this->pool->request_stop(co_stop::drain);
    }
    void after() {
        pool_scenario<Sync>::after();
        Sync::law(this->ran == 2, "not both have run");
    }
};
APIARY_CHECK(continuation_against_stop);

// A coroutine waits for another thread, which brings it back; its end is the end of the pool, which goes at once.
template <class Sync, co_priority Priority>
struct pool_goes_behind_its_last : pool_scenario<Sync> {
    static constexpr const char* what =
        "another thread brings the last coroutine back: the pool may go while it is still in that call";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"sleeper.slept"};
    using base = pool_scenario<Sync>;
    struct waits {
        using comes_home = void;
        pool_goes_behind_its_last& check;
        bool await_ready() const noexcept { return false; }
        template <class P>
        void await_suspend(std::coroutine_handle<P> h) noexcept {
            const suspended<Sync> me = h.promise().suspended_here();
            auto& at = check;
            at.waiter = me;
            at.published.store(true, std::memory_order_release);
        }
        void await_resume() const noexcept {}
    };
    suspended<Sync> waiter;
    typename Sync::template atomic<bool> published{false};
    pool_goes_behind_its_last() : base(1, {.priorities = Priority != co_priority::normal}) {}

    typename base::template task<> waits_once() {
        co_await waits{*this};
        ++this->ran;
        this->done.write(1);
    }
    void before() {
        (void)this->spawn(waits_once(), Priority);
        this->pool->request_stop(co_stop::drain);
    }
    void thread(unsigned i) {
        if (i == 0) {
            this->pool->run_worker(0);
            this->pool.reset();
            return;
        }
        Sync::spin_until(published, [](bool p) { return p; });
        waiter.resume();
    }
    void after() {
        base::after();
        Sync::law(this->ran == 1, "the coroutine did not go on");
    }
};
template <class Sync>
struct pool_goes_behind_its_last_coroutine : pool_goes_behind_its_last<Sync, co_priority::normal> {};
APIARY_CHECK(pool_goes_behind_its_last_coroutine);
template <class Sync>
struct pool_goes_behind_the_last_of_a_lane : pool_goes_behind_its_last<Sync, co_priority::high> {};
APIARY_CHECK(pool_goes_behind_the_last_of_a_lane);

// The coroutine owns the pool, as the last owner does: it asks for the stop, and the pool goes when the worker has ended.
template <class Sync>
struct pool_goes_during_a_spawn : pool_scenario<Sync> {
    static constexpr const char* what =
        "a spawned coroutine ends its pool: the pool may go while the thread that spawned it is still in that call";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"sleeper.slept"};
    using base = pool_scenario<Sync>;
    typename base::template task<> ends_its_pool() {
        this->pool->request_stop(co_stop::cancel);
        ++this->ran;
        co_return;
    }
    void thread(unsigned i) {
        if (i == 0) {
            this->pool->run_worker(0);
            this->pool.reset();
            return;
        }
        (void)this->spawn(ends_its_pool());
    }
    void after() {
        base::after();
        Sync::law(this->ran == 1, "the coroutine did not run");
    }
};
APIARY_CHECK(pool_goes_during_a_spawn);

// Nothing but the stop ends the wait. It is asked for behind the coroutine's beginning: std::stop_source, which decides whether it
// begins at all, is out of the engines' sight.
template <class Sync>
struct cancel_ends_a_wait : pool_scenario<Sync> {
    static constexpr const char* what =
        "a stop that cancels comes while a coroutine begins to wait: the wait ends, and with it the pool";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"waiter.brought_back", "cancel.came_before"};
    using base = pool_scenario<Sync>;
    async_event<Sync> never;
    typename Sync::template atomic<bool> begun{false};
    typename base::template task<> waits() {
        begun.store(true, std::memory_order_release);
        const awaited how = co_await never.wait();
        Sync::law(how == awaited::cancelled, "it was not cancelled");
        ++this->ran;
    }
    void before() { (void)this->spawn(waits()); }
    void thread(unsigned i) {
        if (i == 0) return this->pool->run_worker(0);
        Sync::spin_until(begun, [](bool b) { return b; });
        this->pool->request_stop(co_stop::cancel);
    }
};
APIARY_CHECK(cancel_ends_a_wait);

// A root with hooks of its own, as one that was spawned with a stop source has them. They go with it, when what asks has returned:
// std::stop_callback waits for that, which the engines do not see.
template <class Sync>
struct own_stop_ends_a_wait : pool_scenario<Sync> {
    static constexpr const char* what =
        "a stop of a coroutine's own comes while it begins to wait: the wait ends, and its hooks with the coroutine";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"waiter.brought_back", "cancel.came_before"};
    using base = pool_scenario<Sync>;
    struct own_root : co_root<Sync> {
        own_stop_ends_a_wait& check;
        explicit own_root(own_stop_ends_a_wait& c)
            : co_root<Sync>(
                  *c.pool, {}, [](co_root<Sync>& r) noexcept { static_cast<own_root&>(r).check.ended(); },
                  [](co_root<Sync>&, std::exception_ptr) noexcept {}),
              check(c) {
            this->stops = Sync::template create<stop_hooks<Sync>>();
        }
    };
    async_event<Sync> never;
    std::optional<own_root> root;
    co_outcome<void, Sync> outcome;
    typename Sync::template atomic<bool> begun{false}, asked{false};
    typename base::template task<> waits() {
        begun.store(true, std::memory_order_release);
        const awaited how = co_await never.wait();
        Sync::law(how == awaited::cancelled, "it was not cancelled");
        ++this->ran;
    }
    void ended() {
        Sync::spin_until(asked, [](bool a) { return a; });
        Sync::destroy(root->stops);
        this->pool->leave();
    }
    void before() {
        root.emplace(*this);
        auto t = waits();
        auto& f = t.begin_into(outcome);
        f.root_of(*root);
        Sync::law(this->pool->enter(), "the door was closed");
        this->pool->resume(f);
        this->pool->request_stop(co_stop::drain);
    }
    void thread(unsigned i) {
        if (i == 0) return this->pool->run_worker(0);
        Sync::spin_until(begun, [](bool b) { return b; });
        (void)root->stops->ask();
        asked.store(true, std::memory_order_release);
    }
    void after() { Sync::law(this->ran == 1 && this->pool->report().living == 0, "the coroutine did not end once"); }
};
APIARY_CHECK(own_stop_ends_a_wait);

// No worker of its own pool has the guest's hook.
template <class Sync>
struct stop_ends_a_guests_wait : pool_scenario<Sync> {
    static constexpr const char* what =
        "a stop of its own pool comes while a coroutine begins to wait in another: the wait ends, and with it both "
        "pools";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"waiter.brought_back", "cancel.came_before"};
    using base = pool_scenario<Sync>;
    std::optional<core<Sync>> other;
    async_event<Sync> never;
    typename Sync::template atomic<bool> arrived{false};
    stop_ends_a_guests_wait() { other.emplace(1U, handshake_parameters); }

    typename base::template task<> asks() {
        Sync::spin_until(arrived, [](bool a) { return a; });
        this->pool->request_stop(co_stop::cancel);
        ++this->ran;
        co_return;
    }
    typename base::template task<> is_a_guest() {
        Sync::law(this->spawn(asks()), "what a living coroutine spawned was refused");
        co_await detail::co_move<Sync>(*other);
        other->request_stop(co_stop::drain);
        arrived.store(true, std::memory_order_release);
        const awaited how = co_await never.wait();
        Sync::law(how == awaited::cancelled, "it was not cancelled");
        Sync::law(co_context<Sync>::here()->host() == &*other, "it went on elsewhere");
        ++this->ran;
    }
    void before() { (void)this->spawn(is_a_guest()); }
    void thread(unsigned i) {
        if (i == 0) return this->pool->run_worker(0);
        other->run_worker(0);
    }
};
APIARY_CHECK(stop_ends_a_guests_wait);

// The thread that waits for it is no worker, and its stack has the root.
template <class Sync>
struct stop_ends_a_sync_wait : pool_scenario<Sync> {
    static constexpr const char* what =
        "a thread waits for a coroutine that waits, and a stop that cancels ends both: its stack is left in peace";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"waiter.brought_back", "thread_latch.waited"};
    using base = pool_scenario<Sync>;
    async_event<Sync> never;
    typename base::template task<> asks() {
        this->pool->request_stop(co_stop::cancel);
        ++this->ran;
        co_return;
    }
    typename base::template task<awaited> waits() {
        Sync::law(this->spawn(asks()), "what a living coroutine spawned was refused");
        const awaited how = co_await never.wait();
        this->done.write(1);
        co_return how;
    }
    void thread(unsigned i) {
        if (i == 0) return this->pool->run_worker(0);
        Sync::law(this->pool->template wait_for<awaited>(waits()) == awaited::cancelled, "it was not cancelled");
        Sync::law(this->done.read() == 1, "what the coroutine did is not seen after the wait");
    }
    void after() { Sync::law(this->ran == 1 && this->pool->report().living == 0, "the coroutines did not end once"); }
};
APIARY_CHECK(stop_ends_a_sync_wait);

// The worker that sleeps has asked before; the branch that it is woken for is one that the other branch waits for.
template <class Sync>
struct offer_wakes_a_sleeper : pool_scenario<Sync> {
    static constexpr const char* what =
        "a worker forks beside one that sleeps: that one takes the branch, while the first is stuck";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"co_context.took_an_offer", "sleeper.slept"};
    using base = pool_scenario<Sync>;
    typename Sync::template atomic<bool> gate{false};
    std::optional<co_root<Sync>> root;
    co_outcome<void, Sync> outcome;
    offer_wakes_a_sleeper() : base(2) {
        root.emplace(
            *this->pool, std::stop_token(), [](co_root<Sync>&) noexcept {},
            [](co_root<Sync>&, std::exception_ptr) noexcept {});
    }
    typename base::template task<> waits() {
        Sync::spin_until(gate, [](bool open) { return open; });
        co_return;
    }
    typename base::template task<> opens() {
        gate.store(true, std::memory_order_release);
        co_return;
    }
    typename base::template task<> parent() {
        co_await when_all(waits(), opens());
        ++this->ran;
    }
    typename base::template task<> nothing() { co_return; }
    typename base::template task<> forks_once() { co_await when_all(nothing(), nothing()); }
    void run(typename base::template task<> t) {
        auto& f = t.begin_into(outcome);
        f.root_of(*root);
        (void)static_cast<job<Sync>&>(f).run();
    }
    // Answers the request that every list begins with; what is offered then is taken back.
    void before() {
        this->pool->worker(1).driver().sleeps_first();
        this->pool->enter_thread(0);
        run(forks_once());
        job<Sync>* offered = nullptr;
        if (this->pool->worker(0).ready().pop(offered)) (void)offered->run();
    }
    void thread(unsigned i) {
        this->pool->enter_thread(i);
        if (i == 0) {
            this->pool->worker(1).driver().await_sleep();
            run(parent());
        } else {
            this->pool->worker(1).sleep_once();
            Sync::law(this->pool->worker(1).turn_once(), "it was woken for nothing");
        }
    }
    void after() {
        Sync::law(this->ran == 1, "the parent did not go on");
        this->pool->request_stop(co_stop::drain);
    }
};
APIARY_CHECK(offer_wakes_a_sleeper);

// The other way round: what was spawned before stands in the deque alone, so only the sleeper's last look finds it.
template <class Sync>
struct last_look_sees_the_deque : offer_wakes_a_sleeper<Sync> {
    static constexpr const char* what =
        "a worker is stuck until what it spawned has run, and nobody slept then: one that falls asleep now takes it";
    static constexpr std::array must_reach{"sleeper.stayed"};
    void before() {
        this->pool->enter_thread(0);
        Sync::law(this->spawn(this->opens()) && this->spawn(this->nothing()), "a worker's spawn was refused");
        (void)this->pool->worker(0).ready().take_slot()->run();
    }
    void thread(unsigned i) {
        this->pool->enter_thread(i);
        if (i == 0) {
            Sync::spin_until(this->gate, [](bool open) { return open; });
            ++this->ran;
        } else {
            this->pool->worker(1).sleep_once();
            Sync::law(this->pool->worker(1).turn_once(), "it stayed awake for nothing");
        }
    }
};
APIARY_CHECK(last_look_sees_the_deque);

template <class Sync>
struct sync_wait_latch : pool_scenario<Sync> {
    static constexpr const char* what =
        "a thread waits for a coroutine: it sees what that did, and its stack is left in peace";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"thread_latch.waited"};
    using base = pool_scenario<Sync>;
    typename base::template task<int> answers() {
        this->done.write(5);
        co_return 6;
    }
    void thread(unsigned i) {
        if (i == 0) return this->pool->run_worker(0);
        Sync::law(this->pool->template wait_for<int>(answers()) == 6, "the result of a root got lost");
        Sync::law(this->done.read() == 5, "what the coroutine did is not seen after the wait");
        this->pool->request_stop(co_stop::drain);
    }
    void after() { Sync::law(this->pool->report().living == 0, "it lives"); }
};
APIARY_CHECK(sync_wait_latch);

// A child moves to another pool; its parent goes on at home, and each pool ends when nobody is there.
template <class Sync>
struct hop_between_pools : pool_scenario<Sync> {
    static constexpr const char* what =
        "a child goes to another pool and ends there: its parent goes on at home, and both pools end";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"sleeper.slept", "crew.woke_one"};
    using base = pool_scenario<Sync>;
    std::optional<core<Sync>> other;
    hop_between_pools() { other.emplace(1U, handshake_parameters); }

    typename base::template task<> hops() {
        co_await detail::co_move<Sync>(*other);
        Sync::law(co_context<Sync>::here()->host() == &*other, "it did not arrive");
        this->done.write(1);
    }
    typename base::template task<> parent() {
        co_await hops();
        Sync::law(co_context<Sync>::here()->host() == &*this->pool, "the parent went on elsewhere");
        Sync::law(this->done.read() == 1, "what the child did is not seen");
        ++this->ran;
        other->request_stop(co_stop::drain);
    }
    void before() {
        (void)this->spawn(parent());
        this->pool->request_stop(co_stop::drain);
    }
    void thread(unsigned i) {
        if (i == 0) return this->pool->run_worker(0);
        other->run_worker(0);
    }
    void after() {
        base::after();
        Sync::law(this->ran == 1, "the parent did not go on");
    }
};
APIARY_CHECK(hop_between_pools);

// A scope forks as a guest, and its parent leaves while the branch waits for that.
template <class Sync>
struct branch_of_a_guest : pool_scenario<Sync> {
    static constexpr const char* what =
        "a guest forks, goes home and joins there: the branch runs where it was forked, its pool waits for it, and the "
        "parent goes on at home";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"waiter.brought_back", "co_context.brought_the_waiter"};
    using base = pool_scenario<Sync>;
    std::optional<core<Sync>> other;
    async_event<Sync> at_home;
    branch_of_a_guest() { other.emplace(1U, handshake_parameters); }

    typename base::template task<> branch() {
        (void)co_await at_home.wait();
        Sync::law(co_context<Sync>::here()->host() == &*other, "the branch ran elsewhere");
        this->done.write(1);
        co_return;
    }
    typename base::template task<> parent() {
        co_scope<Sync> branches(co_await this_frame());
        co_await detail::co_move<Sync>(*other);
        other->request_stop(co_stop::drain);
        branches.fork(branch());
        co_await detail::co_move<Sync>(*this->pool);
        at_home.set();
        co_await branches.join();
        Sync::law(co_context<Sync>::here()->host() == &*this->pool, "the parent went on elsewhere");
        Sync::law(this->done.read() == 1, "what the branch did is not seen");
        ++this->ran;
    }
    void before() {
        (void)this->spawn(parent());
        this->pool->request_stop(co_stop::drain);
    }
    void thread(unsigned i) {
        if (i == 0) return this->pool->run_worker(0);
        other->run_worker(0);
    }
    void after() {
        base::after();
        Sync::law(this->ran == 1 && other->report().living == 0, "the parent did not go on, or the branch lives");
    }
};
APIARY_CHECK(branch_of_a_guest);

// A lane is no queue that the engine knows: workers look at it before they sleep.
template <class Sync, co_priority Priority>
struct lane_and_a_sleeper : pool_scenario<Sync> {
    static constexpr const char* what = "a coroutine of a lane comes while the only worker falls asleep: it runs";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"sleeper.slept", "crew.woke_one"};
    using base = pool_scenario<Sync>;
    lane_and_a_sleeper() : base(1, {.priorities = true}) {}
    void thread(unsigned i) {
        if (i == 0) return this->pool->run_worker(0);
        (void)this->spawn(this->runs(), Priority);
        this->pool->request_stop(co_stop::drain);
    }
};
template <class Sync>
struct high_lane_and_a_sleeper : lane_and_a_sleeper<Sync, co_priority::high> {};
APIARY_CHECK(high_lane_and_a_sleeper);
template <class Sync>
struct background_lane_and_a_sleeper : lane_and_a_sleeper<Sync, co_priority::background> {};
APIARY_CHECK(background_lane_and_a_sleeper);

template <class Sync>
struct tree_stands_back : pool_scenario<Sync> {
    static constexpr const char* what =
        "a coroutine of high priority comes beside one that runs: it goes before that one's next resumption";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"co_context.stood_back"};
    using base = pool_scenario<Sync>;
    typename Sync::template atomic<bool> begun{false}, posted{false};
    int high = 1;  // so many come
    tree_stands_back() : base(1, {.priorities = true}) {}
    typename base::template task<> child() {
        begun.store(true, std::memory_order_release);
        Sync::spin_until(posted, [](bool p) { return p; });
        co_return;
    }
    typename base::template task<> tree() {
        co_await child();
        Sync::law(this->done.read() == 1, "it went on before the one of high priority");
        ++this->ran;
    }
    void before() { (void)this->spawn(tree()); }
    void thread(unsigned i) {
        if (i == 0) return this->pool->run_worker(0);
        Sync::spin_until(begun, [](bool b) { return b; });
        for (int n = 0; n != high; ++n) (void)this->spawn(this->runs(), co_priority::high);
        posted.store(true, std::memory_order_release);
        this->pool->request_stop(co_stop::drain);
    }
};
APIARY_CHECK(tree_stands_back);

// Under a checker a worker takes one of high priority in a row.
template <class Sync>
struct tree_stands_back_for_each_row : tree_stands_back<Sync> {
    static constexpr const char* what =
        "more of high priority come than a worker takes in a row: the tree stands back for those that are left";
    static_assert(co_lanes<Sync>::high_share == 1);
    tree_stands_back_for_each_row() { this->high = 2; }
    // Each call is one resumption, and each row lets it make one.
    typename tree_stands_back<Sync>::template task<> tree() {
        co_await this->child();
        Sync::law(this->ran == 1, "it went on before the first of high priority, or behind more than a row");
        co_await this->child();
        Sync::law(this->ran == 2, "it went on before the second of high priority");
        ++this->ran;
    }
    void before() { (void)this->spawn(tree()); }
};
APIARY_CHECK(tree_stands_back_for_each_row);

// A hurry is taken back before the look at the lane, never after it: what comes in between hurries again.
template <class Sync>
struct hurry_against_look {
    static constexpr const char* what =
        "a hurry while the worker takes back one before and looks at the lane: it is not lost";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"hurry.seen_by_the_look"};
    struct one : job<Sync> {
        one() : job<Sync>(&end_it) {}
        static bool end_it(job<Sync>&, job_end, any_worker*) { return true; }
    };
    core<Sync> pool{1U, handshake_parameters, 0, exception_handler(), {.priorities = true}};
    one high;
    void thread(unsigned i) {
        auto& worker = pool.worker(0).ready();
        auto& lane = pool.lanes().of(co_priority::high);
        if (i == 1) {
            (void)lane.push(&high);
            return worker.hurry();
        }
        worker.meet_the_hurry();
        if (lane.take_one() != nullptr) Sync::reach("hurry.seen_by_the_look");
    }
    void after() {
        Sync::law(pool.worker(0).ready().hurried() || pool.lanes().look_empty(),
                  "one of high priority waits, and nothing hurries");
    }
};
APIARY_CHECK(hurry_against_look);

}  // namespace
}  // namespace coro_core_check
