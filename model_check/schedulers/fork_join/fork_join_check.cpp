// fork_join as it ships, between few workers that look for offers a few times: every job runs once, what a thief did is seen by its
// joiner, a frame is left in peace once its call has returned, and no joiner sleeps for ever.
#include <array>
#include <cstddef>
#include <stdexcept>

#include <apiary/model_check/register.hpp>

#include "fork_scenario.hpp"

namespace fork_join_check {
namespace {

using namespace apiary;
using namespace apiary::model;

template <class Sync>
struct fork_against_thief : forks<Sync, 2, 2> {
    static constexpr const char* what =
        "one fork, one thief that looks once: it has the job, or the owner takes it back";
    static constexpr std::array must_reach{"fork_context.took_back", "fork_context.slept", "fork.stolen"};
    void thread(unsigned i) {
        if (i == 1) {
            if (this->steal(1)) Sync::reach("fork.stolen");
            return;
        }
        const auto [x, y] = fork_join(this->w(0), this->job(0), this->job(1));
        this->joined(0, x), this->joined(1, y);
    }
};
APIARY_CHECK(fork_against_thief);

template <class Sync>
struct fork_against_two_thieves : forks<Sync, 2, 3> {
    static constexpr const char* what = "one fork, two thieves";
    static constexpr std::array must_reach{"fork_context.took_back", "fork.stolen"};
    static constexpr std::array alike{1U, 2U};
    void thread(unsigned i) {
        if (i != 0) {
            if (this->steal(i)) Sync::reach("fork.stolen");
            return;
        }
        const auto [x, y] = fork_join(this->w(0), this->job(0), this->job(1));
        this->joined(0, x), this->joined(1, y);
    }
};
APIARY_CHECK(fork_against_two_thieves);

// A thief's child: its joiner leaps after it, or sleeps and is woken for it or for the end.
template <class Sync>
struct thief_forks : forks<Sync, 2, 2> {
    static constexpr const char* what = "a thief forks in turn: the joiner runs the child, or the thief takes it back";
    static constexpr std::array must_reach{"fork_context.took_back", "fork_context.leapt", "fork_context.slept",
                                           "fork_context.called_its_joiner", "fork_context.stayed"};
    void thread(unsigned i) {
        if (i == 1) {
            (void)this->steal(1);
            return;
        }
        const int sum = fork_join(
                            this->w(0), [] { return 0; },
                            [this](auto& v) {
                                const auto [x, y] = fork_join(v, this->job(0), this->job(1));
                                this->joined(0, x), this->joined(1, y);
                                return x + y;
                            })
                            .second;
        Sync::law(sum == 3, "the result of a branch got lost");
    }
};
APIARY_CHECK(thief_forks);

// S3 of fork_list: the thief's branch ends only when its child has begun, and the joiner alone can take that. Which may be asleep.
template <class Sync>
struct thief_needs_its_joiner : forks<Sync, 1, 2> {
    static constexpr const char* what =
        "a thief offers a child to its joiner, which goes to sleep: it sees it or is woken";
    static constexpr std::array must_reach{"fork_context.leapt", "fork_context.called_its_joiner",
                                           "fork_context.stayed"};
    static constexpr std::array engine_laws{"deadlock"};
    typename Sync::parker begun;
    void thread(unsigned i) {
        if (i == 1) {
            (void)this->steal(1);
            return;
        }
        const auto child = this->job(0);
        fork_join(
            this->w(0), [] {},
            [&](auto& v) {
                if (v.index() == 0) return (void)child(v);
                fork_join(
                    v, [this] { begun.park(); },
                    [&](auto& u) {
                        child(u);
                        begun.unpark();
                    });
            });
    }
};
APIARY_CHECK(thief_needs_its_joiner);

// The thief asks while the owner is between its forks, so that the older one is handed out over the head of the newer.
template <class Sync>
struct oldest_goes_first : forks<Sync, 3, 2> {
    static constexpr const char* what = "two forks, one inside the other; a thief asks at any time and looks again";
    static constexpr std::array must_reach{"fork.both_private", "fork.older_stolen", "fork_context.passed_over"};
    void before() {
        fork_join(this->w(0), [] {}, [] {});
    }  // answers the request that every list begins with
    void thread(unsigned i) {
        if (i == 1) {
            if (!this->steal(1) && this->steal(1)) Sync::reach("fork.older_stolen");
            return;
        }
        const auto outer = fork_join(
            this->w(0),
            [this](auto& v) {
                const auto [x, y] = fork_join(v, this->job(0), this->job(1));
                this->joined(0, x), this->joined(1, y);
                if (!v.jobs().empty()) Sync::reach("fork.both_private");
                return 0;
            },
            this->job(2));
        this->joined(2, outer.second);
    }
};
APIARY_CHECK(oldest_goes_first);

// A thief ends the job and begins work of its own, whose jobs are no concern of the joiner's (fork_list I3).
template <class Sync, class Limits>
struct thief_goes_on : forks<Sync, 3, 2, Limits> {
    void thread(unsigned i) {
        if (i == 0) {
            const auto [x, y] = fork_join(this->w(0), [] { return 0; }, this->job(0));
            this->joined(0, y);
            return;
        }
        if (!this->steal(1)) Sync::reach("fork.not_stolen");
        const auto [x, y] = fork_join(this->w(1), this->job(1), [this, own = this->job(2)](auto& v) {
            Sync::law(v.index() == 1, "a waiting worker ran what is no descendant of the job that it waits for");
            return own(v);
        });
        this->joined(1, x), this->joined(2, y);
    }
};
template <class Sync>
struct joiner_leaves_foreign_jobs : thief_goes_on<Sync, fork_list_limits> {
    static constexpr const char* what = "a thief ends the job and forks for itself: the joiner leaves that alone";
    static constexpr std::array must_reach{"fork_context.slept"};
};
APIARY_CHECK(joiner_leaves_foreign_jobs);

template <class Sync, bool FirstThrows, bool SecondThrows>
struct exceptions : forks<Sync, 2, 2> {
    template <bool Throws>
    auto branch(std::size_t id) {
        return [this, run = this->job(id), id](auto& v) {
            run(v);
            if (Throws) throw std::runtime_error(id == 0 ? "f" : "g");
        };
    }
    void thread(unsigned i) {
        if (i == 1) {
            (void)this->steal(1);
            return;
        }
        char said = '-';
        const auto first = branch<FirstThrows>(0);
        const auto second = branch<SecondThrows>(1);
        bool began = false;
        try {
            fork_join(this->w(0), first, [&](auto& v) {
                began = true;  // a plain variable: published by the end of the job
                second(v);
            });
        } catch (const std::runtime_error& e) {
            said = e.what()[0];
        }
        Sync::law(said == (FirstThrows ? 'f' : 'g'), "the wrong exception came out, or none");
        if (!began) {
            Sync::reach("fork.second_never_began");
            this->ledger.took(0, 1);
        }
        const bool lost = this->w(0).lost_exceptions() != 0;
        if (lost) Sync::reach("fork.lost_one");
        Sync::law(lost == (FirstThrows && SecondThrows && began),
                  "an exception was lost uncounted, or counted and not lost");
        Sync::law(this->w(0).jobs().empty(), "an exception left a job in the list");
    }
};
template <class Sync>
struct second_throws : exceptions<Sync, false, true> {
    static constexpr const char* what = "the second branch throws, on the owner or on a thief";
    static constexpr std::array must_reach{"fork_context.took_back", "fork_context.slept"};
};
APIARY_CHECK(second_throws);
template <class Sync>
struct first_throws : exceptions<Sync, true, false> {
    static constexpr const char* what = "the first branch throws, while a thief has the second or nobody";
    static constexpr std::array must_reach{"fork.second_never_began", "fork_context.slept"};
};
APIARY_CHECK(first_throws);
template <class Sync>
struct both_throw : exceptions<Sync, true, true> {
    static constexpr const char* what = "both branches throw: the first one's exception travels";
    static constexpr std::array must_reach{"fork.second_never_began", "fork.lost_one"};
};
APIARY_CHECK(both_throw);

}  // namespace
}  // namespace fork_join_check
