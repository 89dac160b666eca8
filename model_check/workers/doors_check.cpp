// Two doors on whole workers, from run() to its end: what was accepted runs, also what living work posts after the stop; what
// comes from outside after it is refused; and the end is reached, once.
#include <array>

#include <apiary/workers/two_doors.hpp>

#include "crew_scenario.hpp"

namespace doors_check {
namespace {

using namespace apiary;
using namespace apiary::model;

template <class Sync>
struct doors_scenario : crew_scenario<Sync> {
    using base = crew_scenario<Sync>;
    using worker_type = typename base::worker_type;
    two_doors<Sync> doors;
    std::array<std::atomic<unsigned>, 3> ran{};  // std::atomic: the oracle is no part of what is checked
    std::atomic<unsigned> ends = 0;
    bool accepted = false;
    typename Sync::template cell<int> done{0};  // what a job did, read by the thread that ends the crew

    void before() { done.write(0); }
    // The end is told to one thread, which has every job behind it.
    void end_if(bool last) {
        if (!last) return;
        ++ends;
        (void)done.read();
        this->owner.stop(stop_mode::drain);
    }
    // Runs, posts the next as living work, and leaves.
    job<Sync>* link(unsigned id, unsigned last) {
        return make_job<Sync>([this, id, last](job_end how, worker_type* by) {
            if (how == job_end::run) {
                ++ran[id];
                if (id == 0) done.write(1);
                if (id != last) {
                    doors.enter_inside();
                    job<Sync>* next = link(id + 1, last);
                    const bool taken = by->post_local(next);
                    Sync::law(taken, "living work was refused");
                }
            }
            end_if(doors.leave());
        });
    }
    // The outer way in.
    bool post(unsigned id, unsigned last) {
        if (!doors.enter()) {
            Sync::reach("doors.refused");
            return false;
        }
        Sync::reach("doors.accepted");
        Sync::law(this->owner.crew().post(link(id, last)), "the inner door was closed while work lived");
        return true;
    }
    void stop() { end_if(doors.close()); }
    void after() {
        Sync::law(ends == 1, "the end was not reached, or twice");
        Sync::law(doors.living() == 0 && doors.outer_is_closed() && !doors.enter(), "work was accepted after the end");
        this->books_balance();
    }
};

template <class Sync>
struct successor_behind_the_stop : doors_scenario<Sync> {
    static constexpr const char* what =
        "a job posts its successor while the stop comes: both run, and the worker ends behind the last";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"doors.accepted", "sleeper.slept"};
    using base = doors_scenario<Sync>;
    void before() {
        base::before();
        this->post(0, 1);
    }
    void thread(unsigned i) {
        if (i == 0) return this->worker(0).run();
        this->stop();
    }
    void after() {
        base::after();
        Sync::law(this->ran[0] == 1 && this->ran[1] == 1, "accepted work was lost");
    }
};
APIARY_CHECK(successor_behind_the_stop);

template <class Sync>
struct outside_post_races_the_stop : doors_scenario<Sync> {
    static constexpr const char* what =
        "a post from outside races the stop: accepted, it runs before the worker ends; refused, it does not";
    static constexpr unsigned threads = 3;
    static constexpr std::array must_reach{"doors.accepted", "doors.refused", "sleeper.slept"};
    using base = doors_scenario<Sync>;
    void thread(unsigned i) {
        if (i == 0) return this->worker(0).run();
        if (i == 1) return this->stop();
        this->accepted = this->post(0, 0);
    }
    void after() {
        base::after();
        Sync::law(this->ran[0] == (this->accepted ? 1U : 0U), "a job was accepted and lost, or refused and run");
    }
};
APIARY_CHECK(outside_post_races_the_stop);

template <class Sync>
struct two_last_ones_leave : doors_scenario<Sync> {
    static constexpr const char* what =
        "two threads leave while the stop comes: one of the three ends the crew, and sees all";
    static constexpr unsigned threads = 3;
    static constexpr std::array must_reach{"doors.left_last", "doors.stopped_last"};
    using base = doors_scenario<Sync>;
    std::array<typename Sync::template cell<int>, 2> made;
    void before() {
        base::before();
        for (auto& m : made) m.write(0);
        Sync::law(this->doors.enter() && this->doors.enter(), "refused");
    }
    void end(const char* reached) {
        Sync::reach(reached);
        ++this->ends;
        for (auto& m : made) Sync::law(m.read() == 1, "the end came before some work");
    }
    void thread(unsigned i) {
        if (i == 2) {
            if (this->doors.close()) end("doors.stopped_last");
            return;
        }
        made[i].write(1);
        if (this->doors.leave()) end("doors.left_last");
    }
};
APIARY_CHECK(two_last_ones_leave);

// Work that enters on one worker and ends on another, each with a share of its own.
template <class Sync>
struct shares_race_the_stop : doors_scenario<Sync> {
    static constexpr const char* what =
        "work enters on one worker and leaves on two while the stop sums their shares: one of the three ends the crew";
    static constexpr unsigned threads = 3;
    static constexpr std::array must_reach{"doors.left_last", "doors.stopped_last", "two_doors.brought_a_share"};
    using base = doors_scenario<Sync>;
    std::array<typename two_doors<Sync>::share, 2> shares;
    std::array<typename Sync::template cell<int>, 2> made;
    typename Sync::template atomic<std::uint32_t> handed_over;

    auto all_shares() {
        return [this](auto f) {
            for (auto& s : shares) f(s);
        };
    }
    void before() {
        base::before();
        for (auto& m : made) m.write(0);
        handed_over.store(0, std::memory_order_relaxed);
        Sync::law(this->doors.enter(), "refused");
    }
    void end(const char* reached) {
        Sync::reach(reached);
        ++this->ends;
        for (auto& m : made) Sync::law(m.read() == 1, "the end came before some work");
    }
    void thread(unsigned i) {
        if (i == 2) {
            if (this->doors.close(all_shares())) end("doors.stopped_last");
            return;
        }
        if (i == 0) {
            this->doors.enter_inside(shares[0]);
            handed_over.store(1, std::memory_order_release);
        } else {
            Sync::spin_until(handed_over, [](std::uint32_t n) { return n == 1; });
        }
        made[i].write(1);
        if (this->doors.leave(shares[i])) end("doors.left_last");
    }
    void after() {
        Sync::law(this->ends == 1, "the end was not reached, or twice");
        Sync::law(this->doors.living(all_shares()) == 0 && !this->doors.enter(), "work was accepted after the end");
    }
};
APIARY_CHECK(shares_race_the_stop);

}  // namespace
}  // namespace doors_check
