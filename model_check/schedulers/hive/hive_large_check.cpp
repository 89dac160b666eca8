// The hive in scenarios too large for every behaviour: hunted through by both engines. hive_handshake_check.cpp and hive_check.cpp
// have the same claims cut small, and exhausted.
//
// What the hunts killed of eight mutants (20,000 executions or 6 s; the handshakes kill all), when compute workers had a loop and so
// a look at their pool of their own: recheck:io_sources.inbox, recheck:worker.{slots,deques,pool}, recheck:sleeper.{last_look,gave_up},
// the light fence of crew::wake_one dropped, and compute.pool, which is worker.pool now.
//   hive_runs_every_post          2 (pool, last_look), Relacy alone
//   hive_targeted_posts_arrive    2 (inbox, last_look), both engines
//   hive_compute_is_woken         2 (compute.pool, last_look), Relacy alone
//   hive_stop_races_posts         0: it is about the doors, not about the last look
#include "hive_scenario.hpp"

namespace hive_large_check {
namespace {

using namespace apiary;
using namespace apiary::model;

template <class Sync>
struct hive_runs_every_post : hive_scenario<Sync, 2, 0, 1, 2> {
    static constexpr std::array must_reach{"crew.woke_one", "idle_set.relied_on_a_searcher"};
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
struct hive_targeted_posts_arrive : hive_scenario<Sync, 2, 0, 1, 3> {
    static constexpr std::array must_reach{"crew.post_to_woke", "idle_set.relied_on_a_searcher"};
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
    static constexpr std::array must_reach{"crew.woke_one"};
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

}  // namespace
}  // namespace hive_large_check
