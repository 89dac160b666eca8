// The stop of front_end on whole workers, from run() to their end: what was accepted runs, every worker ends, the first
// call decides, and the owner may go as soon as its workers have left.
#include <array>
#include <atomic>

#include "crew_scenario.hpp"

namespace stop_check {
namespace {

using namespace apiary;
using namespace apiary::model;

template <class Sync, unsigned Workers = 1>
struct stop_scenario {
    using owner_type = checked_owner<Sync, Workers>;
    using worker_type = typename owner_type::worker_type;
    std::atomic<unsigned> ran = 0, dropped = 0, stops = 0;  // std::atomic: the oracle is no part of what is checked

    job<Sync>* count() {
        return make_job<Sync>([this](job_end how, auto*) { ++(how == job_end::run ? ran : dropped); });
    }
    // True: it was accepted.
    bool post_to(owner_type& owner) {
        job<Sync>* const t = count();
        if (owner.crew().post(t)) return Sync::reach("stop.accepted"), true;
        Sync::reach("stop.refused");
        t->drop();
        --dropped;
        return false;
    }
    void stop(owner_type& owner, stop_mode how) {
        if (owner.stop(how)) ++stops;
    }
};

template <class Sync>
struct post_meets_the_stop : stop_scenario<Sync> {
    static constexpr const char* what =
        "a post meets a draining stop: accepted, it runs before the worker ends; refused, never";
    static constexpr unsigned threads = 3;
    static constexpr std::array must_reach{"stop.accepted", "stop.refused", "sleeper.slept"};
    static constexpr std::array engine_laws{"deadlock"};
    static constexpr const char* exhibit = "a23_spawn_races_stop";
    typename post_meets_the_stop::owner_type owner;
    bool accepted = false;
    void thread(unsigned i) {
        if (i == 0) return owner.worker(0).run();
        if (i == 1) return this->stop(owner, stop_mode::drain);
        accepted = this->post_to(owner);
    }
    void after() {
        Sync::law(this->ran == (accepted ? 1U : 0U) && this->dropped == 0, "a job was accepted and lost, or refused and run");
    }
};
APIARY_CHECK(post_meets_the_stop);

template <class Sync>
struct stop_wakes_every_worker : stop_scenario<Sync, 2> {
    static constexpr const char* what = "two workers that fall asleep, and a stop: both end";
    static constexpr unsigned threads = 3;
    static constexpr std::array must_reach{"sleeper.slept", "sleeper.stayed"};
    static constexpr std::array engine_laws{"deadlock"};
    static constexpr const char* exhibit = "b37_quit_without_fence";
    typename stop_wakes_every_worker::owner_type owner;
    void thread(unsigned i) {
        if (i == 2) return this->stop(owner, stop_mode::drain);
        owner.worker(i).run();
    }
    void after() { Sync::law(owner.stopping() && this->stops == 1, "the stop did not happen"); }
};
APIARY_CHECK(stop_wakes_every_worker);

template <class Sync>
struct first_stop_decides : stop_scenario<Sync> {
    static constexpr const char* what =
        "one stop drains and one discards, beside a worker with a job: one of them decides for all";
    static constexpr unsigned threads = 3;
    static constexpr std::array must_reach{"stop.ran", "stop.dropped"};
    typename first_stop_decides::owner_type owner;
    void before() { Sync::law(owner.crew().post(this->count()), "refused"); }
    void thread(unsigned i) {
        if (i == 0) return owner.worker(0).run();
        this->stop(owner, i == 1 ? stop_mode::drain : stop_mode::discard);
    }
    void after() {
        Sync::law(this->stops == 1, "two calls were the first, or none");
        Sync::law(this->ran + this->dropped == 1, "a job ended twice, or not at all");
        Sync::law(this->ran == 1 || owner.discarding(), "a draining stop dropped a job");
        Sync::reach(this->ran == 1 ? "stop.ran" : "stop.dropped");
    }
};
APIARY_CHECK(first_stop_decides);

template <class Sync>
struct attach_meets_the_stop : stop_scenario<Sync> {
    static constexpr const char* what = "a worker is attached while the stop comes: it does not begin, or it ends";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"stop.attached", "stop.came_first", "sleeper.slept"};
    static constexpr std::array engine_laws{"deadlock"};
    typename attach_meets_the_stop::owner_type owner;
    void thread(unsigned i) {
        if (i == 1) return this->stop(owner, stop_mode::drain);
        auto* const newcomer = owner.crew().attach();
        Sync::reach(newcomer != nullptr ? "stop.attached" : "stop.came_first");
        if (newcomer != nullptr) newcomer->run();
    }
    void after() { Sync::law(owner.stopping(), "the stop did not happen"); }
};
APIARY_CHECK(attach_meets_the_stop);

// As a pool's destructor does after it has joined, while the thread that has asked for the end is on its way out.
template <class Sync>
struct owner_goes_when_its_workers_have_left : stop_scenario<Sync> {
    static constexpr const char* what =
        "the owner is destroyed when its worker has left, while another thread returns from the stop";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"sleeper.slept", "sleeper.stayed"};
    static constexpr std::array engine_laws{"lifetime"};
    static constexpr const char* exhibit = "b38_finish_pushes_too_late";
    using owner_type = typename owner_goes_when_its_workers_have_left::owner_type;
    owner_type* owner = nullptr;
    void before() { owner = Sync::template create<owner_type>(); }
    void thread(unsigned i) {
        if (i == 1) return this->stop(*owner, stop_mode::drain);
        owner->worker(0).run();
        Sync::destroy(owner);
    }
    void after() { Sync::law(this->stops == 1, "the stop did not happen"); }
};
APIARY_CHECK(owner_goes_when_its_workers_have_left);

}  // namespace
}  // namespace stop_check
