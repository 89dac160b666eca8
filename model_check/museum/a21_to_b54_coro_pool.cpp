// A21, A22, B25, B35 to B38, B50 and B54 on the parts of the shipped coroutine pool, one of them wrong. The calls in which
// A22, B25, B37 and B54 put the parts together are copies of the pool's: coro_core_check runs the pool's own.
// From: seed 003 "notify"; rayon #739; taskflow a5151541; o3de #12398; oneTBB 525a38895; stdexec #1746; a scheduler under load.
// Seen by: both engines; B25 by the explorer alone, since Relacy found it in none of 20,000 executions.
// Fixed twins: the parts as the pool puts them together.
#include <array>
#include <coroutine>
#include <optional>
#include <utility>

#include <apiary/model_check/register.hpp>
#include <apiary/schedulers/coro_pool/coro_pool.hpp>

#include "../workers/handshake.hpp"

namespace a21_to_b54_coro_pool {
namespace {

using namespace apiary;
using namespace apiary::model;

template <class Sync, class Driver = announcing_driver<Sync>>
struct small_parts : crew_parts<Sync> {
    using driver = Driver;
};
template <class Sync, class Driver = announcing_driver<Sync>>
using core = co_core<Sync, small_parts<Sync, Driver>>;

// A21. A driver that wakes the worker that blocks, and keeps no wake for one that is about to.
template <class Sync>
class forgetful_driver {
public:
    static constexpr std::int64_t forever = INT64_MAX;
    void poll() {}
    void wait(std::int64_t) {
        typename Sync::lock held(mutex_);
        wake_.wait(held);
    }
    void wake() { wake_.notify_one(); }

private:
    typename Sync::mutex mutex_;
    typename Sync::condvar wake_;
};
template <class Sync, class Driver>
struct spawn_beside_a_sleep {
    static constexpr unsigned threads = 2;
    static constexpr std::array engine_laws{"deadlock", "lifetime"};
    core<Sync, Driver> pool{1U, handshake_parameters};
    static co_task<void, Sync> runs() { co_return; }
    void thread(unsigned i) {
        if (i == 0) return pool.run_worker(0);
        Sync::law(pool.spawn(runs()), "a spawn was refused although nobody had asked for a stop");
        pool.request_stop(co_stop::drain);
    }
};
template <class Sync>
struct a21_pool_wakes_without_a_token : spawn_beside_a_sleep<Sync, forgetful_driver<Sync>> {
    static constexpr const char* what = "a worker has announced its sleep and does not block yet: the wake is gone";
};
APIARY_EXHIBIT(a21_pool_wakes_without_a_token, "deadlock");
template <class Sync>
struct a21_pool_fixed : spawn_beside_a_sleep<Sync, announcing_driver<Sync>> {
    static constexpr const char* what = "twin of A21: the wake is a token, which stays until a block takes it";
    static constexpr const char* exhibit = "a21_pool_wakes_without_a_token";
};
APIARY_CHECK(a21_pool_fixed);

// A22 and B54. One worker offers a branch; the other has looked `Looks` times, and sleeps.
template <class Sync, unsigned Looks, bool Fenced, bool LooksAgain>
struct offer_beside_a_sleep {
    static constexpr unsigned threads = 2;
    static constexpr std::array engine_laws{"deadlock"};
    struct host final : co_host<Sync> {
        void resume(job<Sync>&) noexcept override {}
        void resume_behind(job<Sync>&) noexcept override {}
        bool enter() noexcept override { return true; }
        void enter_inside() noexcept override {}
        void leave() noexcept override {}
        // As crew::wake_one.
        void wake_one() noexcept override {
            if constexpr (Fenced) Sync::fence_light();
            if (idle.claim_any()) parks.wake();
        }
        idle_set<Sync> idle;
        announcing_driver<Sync> parks;
    };
    host pool;
    std::array<co_context<Sync>, 2> workers;
    sleeper<Sync, announcing_driver<Sync>> sleeps{1, pool.idle, pool.parks};
    co_group<Sync> group;
    co_outcome<void, Sync> outcome;

    offer_beside_a_sleep() {
        for (unsigned i : {0U, 1U}) workers[i].belongs_to(pool, i);
    }
    static co_task<void, Sync> branch() { co_return; }
    bool take() {
        const auto stolen = workers[1].steal_from(workers[0], false);
        if (stolen.status != steal_status::taken) return false;
        static_cast<co_frame<Sync>*>(stolen.value)->handle().destroy();
        (void)sleeps.found_work();
        return true;
    }
    void thread(unsigned i) {
        if (i == 0) {
            auto task = branch();
            auto& f = task.begin_into(outcome);
            f.branch_of(group, nullptr);
            return workers[0].fork(f);  // the others have asked: every list begins so
        }
        for (;;) {
            for (unsigned n = 0; n != Looks; ++n)
                if (take()) return;
            sleeps.sleep(announcing_driver<Sync>::forever, [this] {
                if constexpr (Fenced) sleeps.fence_against_pushers([] { return 2U; });
                return LooksAgain && workers[0].offers();
            });
        }
    }
};
template <class Sync>
struct a22_offer_without_a_fence : offer_beside_a_sleep<Sync, 1, false, true> {
    static constexpr const char* what =
        "a branch is offered, and no sleeper seen; the sleeper is announced, and no offer seen";
};
APIARY_EXHIBIT(a22_offer_without_a_fence, "deadlock");
template <class Sync>
struct a22_offer_fixed : offer_beside_a_sleep<Sync, 1, true, true> {
    static constexpr const char* what = "twin of A22: a light fence behind the offer, a heavy one before the look";
    static constexpr const char* exhibit = "a22_offer_without_a_fence";
};
APIARY_CHECK(a22_offer_fixed);

template <class Sync>
struct b54_one_look_for_an_offer : offer_beside_a_sleep<Sync, 1, true, false> {
    static constexpr const char* what = "a worker looks for an offer once, and sleeps: the one that came then waits";
};
APIARY_EXHIBIT(b54_one_look_for_an_offer, "deadlock");
template <class Sync>
struct b54_many_looks_for_an_offer : offer_beside_a_sleep<Sync, 8, true, false> {
    static constexpr const char* what = "the same with eight looks: as wrong, and seldom seen";
};
APIARY_EXHIBIT(b54_many_looks_for_an_offer, "deadlock");
template <class Sync>
struct b54_offer_fixed : offer_beside_a_sleep<Sync, 1, true, true> {
    static constexpr const char* what = "twin of B54: one look, and another behind the announcement";
    static constexpr const char* exhibit = "b54_one_look_for_an_offer";
};
APIARY_CHECK(b54_offer_fixed);

// B25.
template <class Sync, bool LatchLast>
struct root_on_a_stack {
    static constexpr unsigned threads = 2;
    static constexpr std::array engine_laws{"deadlock", "lifetime"};
    struct waited : co_root<Sync> {
        typename Sync::template cell<core<Sync>*> pool;
        thread_latch<Sync> over;
        explicit waited(core<Sync>& p)
            : co_root<Sync>(p, {}, &ended_it, [](co_root<Sync>&, std::exception_ptr) noexcept {}), pool(&p) {}
        static void ended_it(co_root<Sync>& r) noexcept {
            auto& me = static_cast<waited&>(r);
            if constexpr (!LatchLast) me.over.count_down();
            me.pool.read()->leave();
            if constexpr (LatchLast) me.over.count_down();
        }
    };
    core<Sync> pool{1U, handshake_parameters};
    co_outcome<void, Sync> outcome;

    static co_task<void, Sync> runs() { co_return; }
    void waits() {
        typename Sync::template scoped<waited> root(pool);
        Sync::law(pool.enter(), "the door was closed before the stop");
        auto task = runs();
        auto& f = task.begin_into(outcome);
        f.root_of(*root);
        pool.resume(f);
        root->over.wait();
    }
    void thread(unsigned i) {
        if (i == 0) return pool.run_worker(0);
        waits();
        pool.request_stop(co_stop::drain);
    }
};
template <class Sync>
struct b25_root_read_behind_its_latch : root_on_a_stack<Sync, false> {
    static constexpr const char* what =
        "the end of a root opens its latch and then reads it: the waiting thread's stack is gone";
    static constexpr const char* one_engine = "Relacy found it in none of 20,000 executions";
};
APIARY_EXHIBIT(b25_root_read_behind_its_latch, "access to freed memory", model::explorer_only);
template <class Sync>
struct b25_root_fixed : root_on_a_stack<Sync, true> {
    static constexpr const char* what = "twin of B25: the latch is the last that the end of a root touches";
    static constexpr const char* exhibit = "b25_root_read_behind_its_latch";
};
APIARY_CHECK(b25_root_fixed);

// B35 and B36. Two chains of one group, each of which carries a half.
template <class Sync, bool Shipped>
struct chains_meet {
    static constexpr unsigned threads = 2;
    static constexpr auto half = co_group<Sync>::all / 2;
    co_group<Sync> group;
    std::array<typename Sync::template cell<int>, 2> done;
    std::atomic<unsigned> last = 0;
    bool ends() {
        if constexpr (Shipped)
            return group.less(half);
        else
            return group.pending.fetch_sub(half, std::memory_order_release) == half;
    }
    void thread(unsigned i) {
        done[i].write(1);
        if (!ends()) return;
        ++last;
        Sync::law(done[0].read() + done[1].read() == 2, "what a branch did is not seen after the join");
    }
    void after() { Sync::law(last == 1, "not one chain was the last"); }
};
template <class Sync>
struct b35_chain_without_acquire : chains_meet<Sync, false> {
    static constexpr const char* what = "the last chain gives its count back by a release: it does not see the others";
};
APIARY_EXHIBIT(b35_chain_without_acquire, "data race");
template <class Sync>
struct b35_chain_fixed : chains_meet<Sync, true> {
    static constexpr const char* what = "twin of B35: the count of a group";
    static constexpr const char* exhibit = "b35_chain_without_acquire";
};
APIARY_CHECK(b35_chain_fixed);

template <class Sync, bool Shipped>
struct group_goes_with_its_parent {
    static constexpr unsigned threads = 2;
    static constexpr std::array engine_laws{"lifetime"};
    static constexpr auto half = co_group<Sync>::all / 2;
    co_group<Sync>* group = nullptr;
    void before() { group = Sync::template create<co_group<Sync>>(); }
    void thread(unsigned) {
        bool last = group->less(half);
        if constexpr (!Shipped) last = group->pending.load(std::memory_order_acquire) == 0;
        if (last) Sync::destroy(group);
    }
};
template <class Sync>
struct b36_group_read_behind_its_count : group_goes_with_its_parent<Sync, false> {
    static constexpr const char* what = "a chain gives its count back and looks again: the parent has gone on";
};
APIARY_EXHIBIT(b36_group_read_behind_its_count, "access to freed memory");
template <class Sync>
struct b36_group_fixed : group_goes_with_its_parent<Sync, true> {
    static constexpr const char* what = "twin of B36: what the count was says which chain is the last";
    static constexpr const char* exhibit = "b36_group_read_behind_its_count";
};
APIARY_CHECK(b36_group_fixed);

// B37. As core.hpp, end_the_crew.
template <class Sync, bool WakesAll>
struct stop_beside_a_sleep {
    static constexpr unsigned threads = 2;
    static constexpr std::array engine_laws{"deadlock"};
    two_doors<Sync> doors;
    idle_set<Sync> idle;
    announcing_driver<Sync> parks;
    sleeper<Sync, announcing_driver<Sync>> sleeps{0, idle, parks};
    typename Sync::template atomic<bool> stopping{false};
    bool stops() { return stopping.load(std::memory_order_acquire); }
    void thread(unsigned i) {
        if (i == 0) {
            while (!stops()) sleeps.sleep(announcing_driver<Sync>::forever, [this] { return stops(); });
            return;
        }
        Sync::law(doors.close(), "nothing lives, and the stop did not end the crew");
        stopping.store(true, std::memory_order_release);
        if (WakesAll || idle.claim_any()) parks.wake();
    }
};
template <class Sync>
struct b37_stop_wakes_the_sleepers : stop_beside_a_sleep<Sync, false> {
    static constexpr const char* what = "a stop wakes those that it sees asleep; one falls asleep, and sees no stop";
};
APIARY_EXHIBIT(b37_stop_wakes_the_sleepers, "deadlock");
template <class Sync>
struct b37_stop_fixed : stop_beside_a_sleep<Sync, true> {
    static constexpr const char* what = "twin of B37: a stop wakes all, asleep or not, and each wake stays";
    static constexpr const char* exhibit = "b37_stop_wakes_the_sleepers";
};
APIARY_CHECK(b37_stop_fixed);

// B38. The coroutine's end is the pool's, which goes at once.
template <class Sync, bool Counted>
struct last_is_brought_back {
    static constexpr unsigned threads = 2;
    static constexpr std::array engine_laws{"deadlock", "lifetime"};
    struct waits {
        using comes_home = void;
        last_is_brought_back& check;
        bool await_ready() const noexcept { return false; }
        template <class P>
        void await_suspend(std::coroutine_handle<P> h) noexcept {
            auto& at = check;
            at.waiter = h.promise().suspended_here();
            at.published.store(true, std::memory_order_release);
        }
        void await_resume() const noexcept {}
    };
    std::optional<core<Sync>> pool;
    suspended<Sync> waiter;
    typename Sync::template atomic<bool> published{false};
    last_is_brought_back() { pool.emplace(1U, handshake_parameters); }

    co_task<void, Sync> waits_once() { co_await waits{*this}; }
    void before() {
        Sync::law(pool->spawn(waits_once()), "a spawn was refused although nobody had asked for a stop");
        pool->request_stop(co_stop::drain);
    }
    void thread(unsigned i) {
        if (i == 0) {
            pool->run_worker(0);
            return pool.reset();
        }
        Sync::spin_until(published, [](bool p) { return p; });
        if constexpr (Counted)
            waiter.resume();
        else
            (void)pool->the_crew().post(waiter.what);
    }
};
template <class Sync>
struct b38_resume_is_not_counted : last_is_brought_back<Sync, false> {
    static constexpr const char* what =
        "a thread posts the last coroutine, and looks for a sleeper of a pool that is gone";
};
APIARY_EXHIBIT(b38_resume_is_not_counted, "access to freed memory");
template <class Sync>
struct b38_resume_fixed : last_is_brought_back<Sync, true> {
    static constexpr const char* what = "twin of B38: the pool waits until the callers of resume have left it";
    static constexpr const char* exhibit = "b38_resume_is_not_counted";
};
APIARY_CHECK(b38_resume_fixed);

// B50. One that comes back by the slot, again and again, beside one in the deque and one in the pool.
constexpr worker_parameters without_an_interval() {
    worker_parameters p = handshake_parameters;
    p.global_probe_interval = SIZE_MAX;
    return p;
}
template <class Sync, bool Shipped>
struct slot_beside_others {
    static constexpr unsigned threads = 1;
    struct at_once {
        using comes_home = void;
        bool await_ready() const noexcept { return false; }
        template <class P>
        void await_suspend(std::coroutine_handle<P> h) noexcept {
            h.promise().suspended_here().resume();
        }
        void await_resume() const noexcept {}
    };
    core<Sync> pool{1U, Shipped ? handshake_parameters : without_an_interval()};
    unsigned others = 0;

    co_task<void, Sync> comes_back() {
        for (unsigned turns = 0; others != 2; ++turns) {
            Sync::law(turns != 40, "starved: one comes back again and again, and others never begin");
            co_await at_once();
        }
    }
    co_task<void, Sync> other() {
        ++others;
        co_return;
    }
    void before() {
        Sync::law(pool.spawn(comes_back()) && pool.spawn(other()) && pool.spawn(other()), "a spawn was refused");
        pool.request_stop(co_stop::drain);
    }
    void thread(unsigned) { pool.run_worker(0); }
};
template <class Sync>
struct b50_slot_without_an_interval : slot_beside_others<Sync, false> {
    static constexpr const char* what = "what was brought back runs next, always: the deque and the pool starve";
};
APIARY_EXHIBIT(b50_slot_without_an_interval, "starved");
template <class Sync>
struct b50_slot_fixed : slot_beside_others<Sync, true> {
    static constexpr const char* what = "twin of B50: behind an interval the oldest and the pool have their turns";
    static constexpr const char* exhibit = "b50_slot_without_an_interval";
};
APIARY_CHECK(b50_slot_fixed);

}  // namespace
}  // namespace a21_to_b54_coro_pool
