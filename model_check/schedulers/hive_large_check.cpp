// The hive in scenarios too large for every behaviour: hunted through by both engines. hive_check.cpp has the same claims
// cut small.
#include "hive_scenario.hpp"

namespace {

using namespace apiary;
using namespace apiary::model;

template <class Sync>
struct hive_two_workers_one_post : hive_scenario<Sync, 2, 0, 1, 1> {
    static constexpr std::array must_reach{"hive.woke_one_io", "sleeper.slept", "sleeper.stayed_and_was_claimed"};
    static constexpr bool too_large_to_exhaust = true;
    // hive_check.cpp has it with one worker asleep at the start; whole, it has millions of graphs.
    static constexpr const char* what = "two workers that fall asleep, one post, one stop";
    void thread(unsigned i) {
        if (this->work_thread(i)) return;
        this->must([this] { return this->hive.post(this->make(0)); });
    }
};
APIARY_CHECK(hive_two_workers_one_post);

template <class Sync>
struct hive_runs_every_post : hive_scenario<Sync, 2, 0, 1, 2> {
    static constexpr std::array must_reach{"hive.woke_one_io", "idle_set.relied_on_a_searcher"};
    static constexpr bool too_large_to_exhaust = true;
    static constexpr const char* what = "two workers that fall asleep, one poster of two tasks: both run, once";
    void thread(unsigned i) {
        if (this->work_thread(i)) return;
        this->must([this] { return this->hive.post(this->make(0)); });
        this->must([this] { return this->hive.post(this->make(1)); });
    }
};
APIARY_CHECK(hive_runs_every_post);

template <class Sync>
struct hive_batch_feeds_both_workers : hive_scenario<Sync, 2, 0, 1, 2> {
    static constexpr std::array must_reach{"hive.woke_one_io"};
    static constexpr bool too_large_to_exhaust = true;
    static constexpr const char* what =
        "a batch of two whose first task waits for the second: the other worker is woken";
    void thread(unsigned i) {
        if (this->work_thread(i)) return;
        fifo_list<task<Sync>> batch;
        batch.push_back(this->make(0, [this] { this->wait_for_gate(); }));
        batch.push_back(this->make(1, [this] { this->open_gate(); }));
        this->must([&] { return this->hive.post_list(batch); }, 2);
    }
};
APIARY_CHECK(hive_batch_feeds_both_workers);

template <class Sync>
struct hive_batch_in_a_deque_against_falling_asleep : hive_scenario<Sync, 2, 0, 0, 4> {
    static constexpr bool too_large_to_exhaust = true;  // about a million graphs
    static constexpr std::array must_reach{"sleeper.slept", "sleeper.stayed"};
    static constexpr const char* what =
        "four tasks wait; one worker takes two, the first for the second; the peer, done with the others, falls "
        "asleep or steals";
    void thread(unsigned i) { (void)this->work_thread(i); }
    void before() {
        hive_scenario<Sync, 2, 0, 0, 4>::before();
        fifo_list<task<Sync>> batch;
        batch.push_back(this->make(0, [this] { this->wait_for_gate(); }));
        batch.push_back(this->make(1, [this] { this->open_gate(); }));
        batch.push_back(this->make(2));
        batch.push_back(this->make(3));
        this->must([&] { return this->hive.post_list(batch); }, 4);
    }
};
APIARY_CHECK(hive_batch_in_a_deque_against_falling_asleep);

template <class Sync>
struct hive_surplus_wakes_a_peer : hive_scenario<Sync, 2, 0, 1, 2> {
    static constexpr std::array must_reach{"hive.stole", "hive.woke_one_io"};
    static constexpr bool too_large_to_exhaust = true;
    static constexpr const char* what =
        "a task posts a child and waits for it: the sleeping peer is woken and steals it";
    void thread(unsigned i) {
        if (this->work_thread(i)) return;
        auto* parent = this->make(0, [this] {
            auto* t = this->make(1, [this] { this->open_gate(); });
            this->must([&] { return this->hive.io()[0]->post_local(t); });
            this->wait_for_gate();
        });
        this->must([&] { return this->hive.post_to(0, parent); });
    }
};
APIARY_CHECK(hive_surplus_wakes_a_peer);

template <class Sync>
struct hive_targeted_posts_arrive : hive_scenario<Sync, 2, 0, 1, 3> {
    static constexpr std::array must_reach{"hive.post_to_woke", "idle_set.relied_on_a_searcher"};
    static constexpr bool too_large_to_exhaust = true;
    static constexpr const char* what = "posts to each worker's inbox wake that worker, beside an untargeted post";
    void thread(unsigned i) {
        if (this->work_thread(i)) return;
        this->must([this] { return this->hive.post_to(1, this->make(0)); });
        this->must([this] { return this->hive.post(this->make(1)); });
        this->must([this] { return this->hive.post_to(0, this->make(2)); });
    }
};
APIARY_CHECK(hive_targeted_posts_arrive);

template <class Sync>
struct hive_compute_is_woken : hive_scenario<Sync, 1, 2, 1, 2> {
    static constexpr std::array must_reach{"hive.woke_one_compute"};
    static constexpr bool too_large_to_exhaust = true;
    static constexpr const char* what =
        "two compute tasks, the first waits for the second: both compute workers are woken";
    void thread(unsigned i) {
        if (this->work_thread(i)) return;
        auto* first = this->make(0, [this] { this->wait_for_gate(); });
        auto* then = this->make(1, [this] { this->open_gate(); });
        Sync::law(this->hive.post_compute(first) && this->hive.post_compute(then), "a post was refused");
    }
};
APIARY_CHECK(hive_compute_is_woken);

template <class Sync>
struct hive_stop_races_posts : stop_scenario<Sync, 2, 0, 4> {
    static constexpr bool too_large_to_exhaust = true;
    static constexpr const char* what =
        "posts and a batch race a draining stop: each is run or refused, and every worker ends";
    void thread(unsigned i) {
        if (this->works_or_stops(i)) return;
        this->post(0, [this](auto* t) { return this->hive.post(t); });
        this->template post_two<1>();
        this->post(3, [this](auto* t) { return this->hive.post_to(1, t); });
    }
};
APIARY_CHECK(hive_stop_races_posts);

template <class Sync>
struct hive_stop_races_compute_posts : stop_scenario<Sync, 1, 1, 2> {
    static constexpr bool too_large_to_exhaust = true;
    static constexpr const char* what = "compute posts race a draining stop: each is run or refused";
    void thread(unsigned i) {
        if (this->works_or_stops(i)) return;
        for (const std::size_t id : {0U, 1U}) this->post(id, [this](auto* t) { return this->hive.post_compute(t); });
    }
};
APIARY_CHECK(hive_stop_races_compute_posts);

}  // namespace
