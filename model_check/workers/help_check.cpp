// A worker that waits at a latch: helps, sleeps, is woken, passes on a search; and the latch, which its waiter takes down as soon
// as it is open.
#include <array>

#include <apiary/workers/thread_latch.hpp>

#include "crew_scenario.hpp"

namespace help_check {
namespace {

using namespace apiary;
using namespace apiary::model;

constexpr auto always = [] { return true; };
constexpr auto never = [] { return false; };

// One or two jobs, each of which writes a cell that the waiter reads after the latch. The latch is an object that the engines
// watch, and is destroyed as the waiter's frame would be.
template <class Sync, unsigned Children>
struct joining : crew_scenario<Sync> {
    using base = crew_scenario<Sync>;
    using latch_type = latch<typename base::worker_type>;
    std::array<typename Sync::template cell<int>, Children> made;

    void before() {
        for (auto& m : made) m.write(0);
    }
    job<Sync>* child(unsigned id, latch_type& l) {
        return make_job<Sync>([this, id, &l](job_end, typename base::worker_type*) {
            made[id].write(made[id].read() + 1);
            l.count_down();
        });
    }
    latch_type* latch_of(unsigned worker) { return Sync::template create<latch_type>(this->worker(worker), Children); }
    template <class MayHelp>
    void join(unsigned worker, latch_type* l, MayHelp may_help) {
        this->worker(worker).help_until(*l, may_help);
        Sync::destroy(l);
        for (auto& m : made) Sync::law(m.read() == 1, "a job that was waited for did not run once");
        this->end();
    }
    void after() {}
};

template <class Sync>
struct help_against_a_thief : joining<Sync, 1> {
    static constexpr const char* what =
        "worker 0 posts a child and waits for it: it runs the child itself, or sleeps until the thief has";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"worker.stole", "sleeper.slept", "sleeper.stayed"};
    void thread(unsigned i) {
        if (i == 1) return this->work(this->worker(1));
        auto* l = this->latch_of(0);
        this->must(this->worker(0).post_local(this->child(0, *l)));
        this->join(0, l, always);
    }
};
APIARY_CHECK(help_against_a_thief);

template <class Sync>
struct last_child_opens_the_latch : joining<Sync, 2> {
    static constexpr const char* what =
        "two children on two workers: whichever comes last opens the latch, and all that both did is seen after it";
    static constexpr unsigned threads = 3;
    static constexpr std::array must_reach{"sleeper.slept"};
    typename joining<Sync, 2>::latch_type* l = nullptr;
    void before() {
        joining<Sync, 2>::before();
        l = this->latch_of(0);
    }
    void thread(unsigned i) {
        if (i == 0) return this->join(0, l, always);
        this->child(i - 1, *l)->run();
    }
};
APIARY_CHECK(last_child_opens_the_latch);

template <class Sync>
struct post_meets_a_waiter_that_falls_asleep : joining<Sync, 1> {
    static constexpr const char* what =
        "what a worker waits for is posted while it falls asleep at the latch: it sees the job, or the post wakes it";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"sleeper.slept", "sleeper.stayed", "crew.woke_one"};
    typename joining<Sync, 1>::latch_type* l = nullptr;
    void before() {
        joining<Sync, 1>::before();
        l = this->latch_of(0);
    }
    void thread(unsigned i) {
        if (i == 0) return this->join(0, l, always);
        this->must(this->owner.crew().post(this->child(0, *l)));
    }
};
APIARY_CHECK(post_meets_a_waiter_that_falls_asleep);

template <class Sync>
struct blocked_waiter_is_woken : joining<Sync, 2> {
    static constexpr const char* what = "a worker that may not help blocks, and the last count wakes it";
    static constexpr unsigned threads = 3;
    static constexpr std::array must_reach{"helping.blocked"};
    typename joining<Sync, 2>::latch_type* l = nullptr;
    void before() {
        joining<Sync, 2>::before();
        l = this->latch_of(0);
    }
    void thread(unsigned i) {
        if (i == 0) return this->join(0, l, never);
        this->child(i - 1, *l)->run();
    }
};
APIARY_CHECK(blocked_waiter_is_woken);

// Worker 1 sleeps from the start, and the post claims worker 0, the first of the sleepers. Its latch opens at the same time; its
// job then waits for the posted one.
template <class Sync>
struct search_at_a_latch_is_passed_on : joining<Sync, 1> {
    static constexpr const char* what =
        "a post claims the worker that sleeps at a latch, and the latch opens: the other worker runs what was posted";
    static constexpr unsigned threads = 4;
    static constexpr std::array must_reach{"helping.passed_the_search_on"};
    typename joining<Sync, 1>::latch_type* l = nullptr;
    typename Sync::template atomic<unsigned> ran;
    void before() {
        joining<Sync, 1>::before();
        l = this->latch_of(0);
        ran.store(0, std::memory_order_relaxed);
        this->worker(0).driver().sleeps_first();
        this->worker(1).driver().sleeps_first();
    }
    void thread(unsigned i) {
        if (i == 0) {
            this->worker(1).driver().await_sleep();
            this->worker(0).help_until(*l, always);
            Sync::destroy(l);
            Sync::spin_until(ran, [](unsigned v) { return v == 1; });  // a long job
            return this->end();
        }
        if (i == 1) return this->work(this->worker(1));
        this->worker(0).driver().await_sleep();
        if (i == 2) return (void)this->child(0, *l)->run();
        this->must(this->owner.crew().post(make_job<Sync>(
            [this](job_end, typename joining<Sync, 1>::worker_type*) { ran.store(1, std::memory_order_release); })));
    }
};
APIARY_CHECK(search_at_a_latch_is_passed_on);

// The waiter leaves its look to worker 1, which a post has woken and which then runs a long job.
template <class Sync>
struct two_posts_need_the_waiter_leaves : joining<on_leaves<Sync>, 1> {
    using base = joining<on_leaves<Sync>, 1>;
    static constexpr const char* what =
        "of two posts the first waits for the second, which opens the latch at which a worker falls asleep: each of "
        "two workers runs one";
    static constexpr unsigned threads = 3;
    static constexpr std::array must_reach{"worker.left_the_look", "crew.woke_one"};
    typename base::latch_type* l = nullptr;
    typename Sync::template atomic<unsigned> ran;
    void before() {
        base::before();
        l = this->latch_of(0);
        ran.store(0, std::memory_order_relaxed);
        this->worker(1).driver().sleeps_first();
    }
    void thread(unsigned i) {
        if (i != 1) this->worker(1).driver().await_sleep();
        if (i == 0) {
            this->worker(0).help_until(*l, always);
            return Sync::destroy(l);
        }
        if (i == 1) {
            while (!this->worker(1).turn_once()) this->worker(1).sleep_once();
            return;
        }
        this->must(this->owner.crew().post(make_job<on_leaves<Sync>>([this](job_end, typename base::worker_type*) {
            Sync::spin_until(ran, [](unsigned v) { return v == 1; });
        })));
        this->must(this->owner.crew().post(make_job<on_leaves<Sync>>([this](job_end, typename base::worker_type*) {
            ran.store(1, std::memory_order_release);
            l->count_down();
        })));
    }
};
APIARY_CHECK(two_posts_need_the_waiter_leaves);

// Whole workers, from run() to its end. The thread of worker 1 asks for the stop first.
template <class Sync, stop_mode How>
struct stop_at_a_latch : crew_scenario<Sync> {
    using base = crew_scenario<Sync>;
    static constexpr unsigned threads = 2;
    typename Sync::template cell<int> joined{0};
    std::array<std::atomic<unsigned>, 2> ends{};  // std::atomic: the oracle is no part of what is checked

    void before() {
        joined.write(0);
        this->must(this->owner.crew().post(make_job<Sync>([this](job_end how, typename base::worker_type* by) {
            ++ends[0];
            if (how == job_end::run) join(*by);
        })));
    }
    void join(typename base::worker_type& here) {
        auto* l = Sync::template create<latch<typename base::worker_type>>(here, 1U);
        auto* c = make_job<Sync>([this, l](job_end, typename base::worker_type*) {
            ++ends[1];
            l->count_down();
        });
        if (!here.post_local(c)) {
            Sync::reach("stop.refused_the_child");
            c->drop();
        }
        here.help_until(*l, always);
        Sync::destroy(l);
        joined.write(1);
    }
    void thread(unsigned i) {
        if (i == 1) this->owner.stop(How);
        this->worker(i).run();
    }
    void after() {
        Sync::law(ends[0] == 1, "the waiting job did not end once");
        Sync::law(ends[1] == static_cast<unsigned>(joined.read()),
                  "a child was lost, or its parent went on without it");
        this->books_balance();
    }
};
template <class Sync>
struct draining_stop_at_a_latch : stop_at_a_latch<Sync, stop_mode::drain> {
    static constexpr const char* what =
        "a draining stop meets a job that waits for its child: both end, and the workers";
    static constexpr std::array must_reach{"stop.refused_the_child", "worker.stole"};
};
APIARY_CHECK(draining_stop_at_a_latch);
template <class Sync>
struct discarding_stop_at_a_latch : stop_at_a_latch<Sync, stop_mode::discard> {
    static constexpr const char* what =
        "a discarding stop meets a job that waits for its child: the child is run or dropped, and the workers end";
    static constexpr std::array must_reach{"stop.refused_the_child"};
};
APIARY_CHECK(discarding_stop_at_a_latch);

// The child lies in the deque of worker 1, which alone may drop it once the stop is seen.
template <class Sync>
struct discarding_stop_with_the_child_elsewhere : joining<Sync, 1> {
    static constexpr const char* what =
        "a discarding stop leaves the awaited job to another worker: the waiter steals it before, or blocks until it "
        "is dropped";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"worker.stole", "helping.blocked"};
    typename joining<Sync, 1>::latch_type* l = nullptr;
    void before() {
        joining<Sync, 1>::before();
        l = this->latch_of(0);
        this->must(this->worker(1).post_local(this->child(0, *l)));
    }
    void thread(unsigned i) {
        if (i == 0) return this->join(0, l, always);
        this->owner.stop(stop_mode::discard);
        this->worker(1).run();
    }
};
APIARY_CHECK(discarding_stop_with_the_child_elsewhere);

template <class Sync>
struct thread_that_is_no_worker_waits {
    static constexpr const char* what =
        "two threads count down, a third that is no worker waits: it sees what both did, and takes the latch down";
    static constexpr unsigned threads = 3;
    static constexpr std::array must_reach{"thread_latch.waited"};
    std::array<typename Sync::template cell<int>, 2> made;
    thread_latch<Sync>* l = nullptr;
    void before() {
        for (auto& m : made) m.write(0);
        l = Sync::template create<thread_latch<Sync>>(2U);
    }
    void thread(unsigned i) {
        if (i < 2) {
            made[i].write(1);
            return l->count_down();
        }
        l->wait();
        Sync::destroy(l);
        for (auto& m : made) Sync::law(m.read() == 1, "a count was not waited for");
    }
    void after() {}
};
APIARY_CHECK(thread_that_is_no_worker_waits);

}  // namespace
}  // namespace help_check
