// The hive's claims, each in a scenario so small that every behaviour is looked at.
#include "hive_scenario.hpp"

namespace hive_check {
namespace {

using namespace apiary;
using namespace apiary::model;

template <class Sync>
struct hive_one_worker_one_post : hive_scenario<Sync, 1, 0, 1, 1, true> {
    static constexpr const char* what = "one worker that falls asleep, one post, one stop: every behaviour";
    static constexpr std::array must_reach{"sleeper.slept", "sleeper.stayed_and_was_claimed"};
    void thread(unsigned i) {
        if (this->work_thread(i)) return;
        this->must([this] { return this->hive.post(this->make(0)); });
    }
};
APIARY_CHECK(hive_one_worker_one_post);

template <class Sync>
struct hive_one_worker_targeted_post : hive_scenario<Sync, 1, 0, 1, 1, true> {
    static constexpr const char* what =
        "one worker that falls asleep, one post to its inbox, one stop: every behaviour";
    static constexpr std::array must_reach{"crew.post_to_woke", "sleeper.slept", "sleeper.stayed_and_was_claimed"};
    void thread(unsigned i) {
        if (this->work_thread(i)) return;
        this->must([this] { return this->hive.post_to(0, this->make(0)); });
    }
};
APIARY_CHECK(hive_one_worker_targeted_post);

template <class Sync>
struct hive_one_compute_worker_one_post : hive_scenario<Sync, 1, 1, 1, 1> {
    static constexpr const char* what =
        "an IO and a compute worker that fall asleep, one compute post, one stop: every behaviour";
    static constexpr std::array must_reach{"crew.woke_one", "sleeper.stayed_and_was_claimed"};
    void thread(unsigned i) {
        if (this->work_thread(i)) return;
        Sync::law(this->hive.post_compute(this->make(0)), "a post was refused");
    }
};
APIARY_CHECK(hive_one_compute_worker_one_post);

// Tasks stand in an inbox or a pool before the workers start, or one worker is asleep before the others start; the
// rest races.

template <class Sync, unsigned Io, unsigned Compute, unsigned Posters, std::size_t Tasks>
struct small_scenario : hive_scenario<Sync, Io, Compute, Posters, Tasks> {
    using base = hive_scenario<Sync, Io, Compute, Posters, Tasks>;
    void thread(unsigned i) { (void)this->work_thread(i); }
};

template <class Sync, unsigned Sleeper>
struct post_beside_sleeper : small_scenario<Sync, 2, 0, 1, 1> {
    static constexpr std::array must_reach{"crew.woke_one", "sleeper.stayed"};
    void before() {
        post_beside_sleeper::base::before();
        this->sleeps_first(Sleeper);
    }
    void thread(unsigned i) {
        if (this->work_thread(i)) return;
        this->must([this] { return this->hive.post(this->make(0)); });
    }
};
template <class Sync>
struct hive_post_beside_sleeper_0 : post_beside_sleeper<Sync, 0> {
    static constexpr const char* what = "worker 0 sleeps, worker 1 falls asleep, one post, one stop: every behaviour";
};
APIARY_CHECK(hive_post_beside_sleeper_0);
template <class Sync>
struct hive_post_beside_sleeper_1 : post_beside_sleeper<Sync, 1> {
    static constexpr const char* what = "worker 1 sleeps, worker 0 falls asleep, one post, one stop: every behaviour";
};
APIARY_CHECK(hive_post_beside_sleeper_1);

// Worker 0 was woken for a post and lies behind another thread: it comes when the second post has been run.
template <class Sync>
struct hive_post_beside_a_late_searcher : hive_scenario<Sync, 2, 0, 1, 2> {
    static constexpr const char* what =
        "a post that would count on a searcher that does not come wakes the other worker";
    static constexpr std::array must_reach{"crew.woke_one"};
    using base = hive_scenario<Sync, 2, 0, 1, 2>;
    static constexpr hive_parameters at_once_late = [] {
        hive_parameters p = small_parameters;
        p.search_ns = -1;
        return p;
    }();
    hive_post_beside_a_late_searcher() : base(at_once_late) {}
    void before() {
        base::before();
        this->hive.io_crew().idle().announce_sleep(0, false);
        this->must([this] { return this->hive.post(this->make(0)); });
        this->sleeps_first(1);
    }
    void thread(unsigned i) {
        if (i == 0) {
            this->wait_for_gate();
            Sync::law(!this->hive.io_crew().idle().withdraw(0), "worker 0 was not claimed");
            this->hive.io_crew().idle().stop_searching();
        }
        if (this->work_thread(i)) return;
        this->must([this] { return this->hive.post(this->make(1, [this] { this->open_gate(); })); });
    }
};
APIARY_CHECK(hive_post_beside_a_late_searcher);

template <class Sync>
struct hive_waiting_batch_feeds_both : small_scenario<Sync, 2, 0, 0, 2> {
    static constexpr const char* what =
        "a batch of two waits in the pool, its first task for the second: each worker takes one, every behaviour";
    static constexpr std::array must_reach{"crew.woke_one"};
    void before() {
        hive_waiting_batch_feeds_both::base::before();
        fifo_list<task<Sync>> batch;
        batch.push_back(this->make(0, [this] { this->wait_for_gate(); }));
        batch.push_back(this->make(1, [this] { this->open_gate(); }));
        this->must([&] { return this->hive.post_list(batch); }, 2);
    }
};
APIARY_CHECK(hive_waiting_batch_feeds_both);
template <class Sync>
using hive_waiting_batch_feeds_both_half = hive_waiting_batch_feeds_both<on_halves<Sync>>;
APIARY_CHECK(hive_waiting_batch_feeds_both_half);

template <class Sync>
struct hive_batch_wakes_a_sleeper : small_scenario<Sync, 2, 0, 0, 2> {
    static constexpr const char* what =
        "worker 1 sleeps, a task of worker 0 posts a batch (of one) and waits for it: every behaviour";
    static constexpr std::array must_reach{"crew.woke_one"};
    void before() {
        hive_batch_wakes_a_sleeper::base::before();
        this->sleeps_first(1);
        auto* poster = this->make(0, [this] {
            fifo_list<task<Sync>> batch;
            batch.push_back(this->make(1, [this] { this->open_gate(); }));
            this->must([&] { return this->hive.post_list(batch); });
            this->wait_for_gate();
        });
        this->must([&] { return this->hive.post_to(0, poster); });
    }
};
APIARY_CHECK(hive_batch_wakes_a_sleeper);

// Worker 0 has a task that posts a child for anybody and waits for it.
template <class Sync>
struct surplus : small_scenario<Sync, 2, 0, 0, 2> {
    void before() {
        surplus::base::before();
        auto* parent = this->make(0, [this] {
            auto* t = this->make(1, [this] { this->open_gate(); });
            this->must([&] { return this->hive.io()[0]->post_local(t); });
            this->wait_for_gate();
        });
        this->must([&] { return this->hive.post_to(0, parent); });
    }
};
template <class Sync>
struct hive_surplus_against_falling_asleep : surplus<Sync> {
    static constexpr const char* what =
        "a task posts a child and waits for it; the peer that falls asleep meanwhile steals it: every behaviour";
    static constexpr std::array must_reach{"worker.stole", "sleeper.stayed"};
};
APIARY_CHECK(hive_surplus_against_falling_asleep);
template <class Sync>
using hive_surplus_against_falling_asleep_half = hive_surplus_against_falling_asleep<on_halves<Sync>>;
APIARY_CHECK(hive_surplus_against_falling_asleep_half);
template <class Sync>
struct hive_surplus_wakes_a_sleeper : surplus<Sync> {
    static constexpr const char* what =
        "a task posts a child and waits for it; the peer that sleeps is woken and steals it: every behaviour";
    static constexpr std::array must_reach{"worker.stole", "crew.woke_one"};
    void before() {
        surplus<Sync>::before();
        this->sleeps_first(1);
    }
};
APIARY_CHECK(hive_surplus_wakes_a_sleeper);
template <class Sync>
using hive_surplus_wakes_a_sleeper_half = hive_surplus_wakes_a_sleeper<on_halves<Sync>>;
APIARY_CHECK(hive_surplus_wakes_a_sleeper_half);

// The worker that drains for its peer is the only worker that can end this: the peer's task waits for its child.
template <class Sync>
struct hive_drain_helps_a_waiting_task : small_scenario<Sync, 2, 0, 0, 2> {
    static constexpr const char* what =
        "a task posts a child, stops the hive, and waits for the child: the other worker drains it";
    static constexpr std::array must_reach{"worker.stole"};
    void before() {
        hive_drain_helps_a_waiting_task::base::before();
        auto* parent = this->make(0, [this] {
            auto* t = this->make(1, [this] { this->open_gate(); });
            this->must([&] { return this->hive.io()[0]->post_local(t); });
            this->hive.request_stop(stop_mode::drain);
            this->wait_for_gate();
        });
        this->must([&] { return this->hive.post_to(0, parent); });
    }
};
APIARY_CHECK(hive_drain_helps_a_waiting_task);
template <class Sync>
using hive_drain_helps_a_waiting_task_half = hive_drain_helps_a_waiting_task<on_halves<Sync>>;
APIARY_CHECK(hive_drain_helps_a_waiting_task_half);

template <class Sync>
struct hive_targeted_post_beside_sleeper : small_scenario<Sync, 2, 0, 1, 1> {
    static constexpr const char* what =
        "worker 0 sleeps, worker 1 falls asleep, a post to its inbox arrives: every behaviour";
    static constexpr std::array must_reach{"crew.post_to_woke", "sleeper.stayed_and_was_claimed"};
    void before() {
        hive_targeted_post_beside_sleeper::base::before();
        this->sleeps_first(0);
    }
    void thread(unsigned i) {
        if (this->work_thread(i)) return;
        this->must([this] { return this->hive.post_to(1, this->make(0)); });
    }
};
APIARY_CHECK(hive_targeted_post_beside_sleeper);

template <class Sync>
struct hive_waiting_compute_tasks_need_both : small_scenario<Sync, 1, 2, 0, 2> {
    static constexpr const char* what =
        "two compute tasks wait in the pool, the first for the second: both compute workers run, every behaviour";
    static constexpr std::array must_reach{"sleeper.slept"};
    static constexpr unsigned threads = 2;  // worker 0 does nothing
    void before() {
        hive_waiting_compute_tasks_need_both::base::before();
        auto* first = this->make(0, [this] { this->wait_for_gate(); });
        auto* then = this->make(1, [this] { this->open_gate(); });
        Sync::law(this->hive.post_compute(first) && this->hive.post_compute(then), "a post was refused");
    }
    void thread(unsigned i) { (void)this->work_thread(i + 1); }
};
APIARY_CHECK(hive_waiting_compute_tasks_need_both);

template <class Sync>
struct hive_stop_races_a_post : stop_scenario<Sync, 1, 0, 1> {
    static constexpr const char* what = "a post races a draining stop: it is run or refused, every behaviour";
    void thread(unsigned i) {
        if (!this->works_or_stops(i)) this->post(0, [this](auto* t) { return this->hive.post(t); });
    }
};
APIARY_CHECK(hive_stop_races_a_post);

template <class Sync>
struct hive_stop_races_a_targeted_post : stop_scenario<Sync, 1, 0, 1> {
    static constexpr const char* what = "a targeted post races a draining stop: it is run or refused, every behaviour";
    void thread(unsigned i) {
        if (!this->works_or_stops(i)) this->post(0, [this](auto* t) { return this->hive.post_to(0, t); });
    }
};
APIARY_CHECK(hive_stop_races_a_targeted_post);

template <class Sync>
struct hive_stop_races_a_batch : stop_scenario<Sync, 1, 0, 2> {
    static constexpr const char* what = "a batch races a draining stop: all of it is run or refused, every behaviour";
    void thread(unsigned i) {
        if (!this->works_or_stops(i)) this->template post_two<0>();
    }
};
APIARY_CHECK(hive_stop_races_a_batch);

// The IO worker does not run: its thread posts.
template <class Sync>
struct hive_compute_post_needs_the_other : hive_scenario<Sync, 1, 2, 0, 2> {
    static constexpr std::array must_reach{"crew.woke_one", "sleeper.stayed"};
    static constexpr const char* what =
        "a running compute task waits for one that is posted then: the other worker, falling asleep, runs it, every "
        "behaviour";
    void before() {
        hive_scenario<Sync, 1, 2, 0, 2>::before();
        auto* first = this->make(0, [this] {
            this->open_gate(1);
            this->wait_for_gate(2);
        });
        Sync::law(this->hive.post_compute(first), "a post was refused");
    }
    void thread(unsigned i) {
        if (i != 0) return (void)this->work_thread(i);
        this->wait_for_gate(1);
        auto* then = this->make(1, [this] { this->open_gate(2); });
        Sync::law(this->hive.post_compute(then), "a post was refused");
    }
};
APIARY_CHECK(hive_compute_post_needs_the_other);

template <class Sync>
struct hive_stop_races_a_compute_post : stop_scenario<Sync, 1, 1, 1> {
    static constexpr const char* what = "a compute post races a draining stop: it is run or refused, every behaviour";
    static constexpr unsigned threads = 3;  // the IO worker has nothing to do with it
    void thread(unsigned i) {
        if (!this->works_or_stops(i + 1)) this->post(0, [this](auto* t) { return this->hive.post_compute(t); });
    }
};
APIARY_CHECK(hive_stop_races_a_compute_post);

}  // namespace
}  // namespace hive_check
