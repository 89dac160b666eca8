// task_scope, parallel_for and parallel_reduce as they ship, on one worker beside a thief that looks a few times: each job and each
// index has its turn once, what a thief did is seen after the wait, and a scope's frame is left in peace once it is gone.
#include <array>
#include <cstddef>
#include <stdexcept>

#include <apiary/model_check/register.hpp>
#include <apiary/schedulers/fork_join/parallel.hpp>
#include <apiary/schedulers/fork_join/task_scope.hpp>

#include "fork_scenario.hpp"

namespace fork_scope_check {
namespace {

using namespace apiary;
using namespace apiary::model;

// Thread 0 has a scope; thread 1 looks for offers.
template <class Sync, std::size_t Ids, std::size_t Room, unsigned Looks>
struct scopes : forks<Sync, Ids, 2> {
    using context = typename forks<Sync, Ids, 2>::context;
    using scope = task_scope<context, Room>;
    using on_stack = typename Sync::template scoped<scope>;

    void thief_looks() {
        for (unsigned n = 0; n != Looks; ++n)
            if (this->steal(1)) Sync::reach("scope.stolen");
    }
    void waited(scope& s) {
        Sync::law(s.wait(), "a scope says that a job had no turn");
        for (std::size_t id = 0; id != Ids; ++id) this->seen(id);
        Sync::law(this->w(0).jobs().empty(), "a scope left a job in the list");
    }
};

template <class Sync>
struct scope_against_thief : scopes<Sync, 2, 2, 2> {
    static constexpr const char* what = "a scope with two jobs; a thief has both, or one, or none";
    static constexpr std::array must_reach{"fork_context.took_back", "fork_context.slept", "scope.stolen"};
    void thread(unsigned i) {
        if (i == 1) return this->thief_looks();
        typename scope_against_thief::on_stack s(this->w(0));
        s->run(this->job(0));
        s->run(this->job(1));
        this->waited(*s);
    }
};
APIARY_CHECK(scope_against_thief);

template <class Sync>
struct full_scope : scopes<Sync, 2, 1, 1> {
    static constexpr const char* what = "a scope with room for one of two jobs runs the other at once, beside a thief";
    static constexpr std::array must_reach{"scope.stolen", "fork_context.took_back"};
    void thread(unsigned i) {
        if (i == 1) return this->thief_looks();
        typename full_scope::on_stack s(this->w(0));
        s->run(this->job(0));
        s->run([second = this->job(1), this](auto& v) {
            Sync::law(v.index() == 0, "what had no room was handed out");
            second(v);
        });
        this->waited(*s);
    }
};
APIARY_CHECK(full_scope);

template <class Sync>
struct scope_frees_a_place : scopes<Sync, 3, 1, 2> {
    static constexpr const char* what =
        "a scope with room for one of three jobs: the next gets the place of one that a thief has ended";
    static constexpr std::array must_reach{"scope.stolen", "task_scope.freed_a_place", "fork_context.took_back"};
    void thread(unsigned i) {
        if (i == 1) return this->thief_looks();
        typename scope_frees_a_place::on_stack s(this->w(0));
        for (std::size_t id = 0; id != 3; ++id) s->run(this->job(id));
        this->waited(*s);
    }
};
APIARY_CHECK(scope_frees_a_place);

// Two thieves: the second job may be over while the first is held, which it is until all have been added.
template <class Sync>
struct scope_frees_a_younger_place : forks<Sync, 4, 3> {
    static constexpr const char* what =
        "a scope with room for three of four jobs, beside two thieves: any that has ended leaves its place";
    static constexpr std::array must_reach{"task_scope.freed_a_younger_place"};
    using scope = task_scope<typename forks<Sync, 4, 3>::context, 3>;
    typename Sync::template atomic<unsigned> offered{0};
    typename Sync::template atomic<bool> first_began{false}, all_added{false};
    void thread(unsigned i) {
        if (i != 0) {
            Sync::spin_until(offered, [i](unsigned jobs) { return jobs >= i; });
            return (void)this->steal(i);
        }
        typename Sync::template scoped<scope> s(this->w(0));
        s->run([this, first = this->job(0)](auto& v) {
            first_began.store(true, std::memory_order_relaxed);
            Sync::spin_until(all_added, [](bool added) { return added; });
            first(v);
        });
        offered.store(1, std::memory_order_release);
        Sync::spin_until(first_began, [](bool began) { return began; });
        this->w(0).jobs().ask();
        s->run(this->job(1));
        offered.store(2, std::memory_order_release);
        s->run(this->job(2));
        s->run(this->job(3));
        all_added.store(true, std::memory_order_relaxed);
        Sync::law(s->wait(), "a scope says that a job had no turn");
        for (std::size_t id = 0; id != 4; ++id) this->seen(id);
    }
};
APIARY_CHECK(scope_frees_a_younger_place);

// The second wait begins with the entry that the first one has ended, at the same place.
template <class Sync>
struct scope_is_used_again : scopes<Sync, 2, 1, 2> {
    static constexpr const char* what = "a scope waits, and is used again: a job lies where an older one has lain";
    static constexpr std::array must_reach{"scope.stolen", "fork_context.slept"};
    void thread(unsigned i) {
        if (i == 1) return this->thief_looks();
        typename scope_is_used_again::on_stack s(this->w(0));
        s->run(this->job(0));
        Sync::law(s->wait(), "a scope says that a job had no turn");
        s->run(this->job(1));
        this->waited(*s);
    }
};
APIARY_CHECK(scope_is_used_again);

// The joiner may be asleep when the thief's scope offers: it sees the offer, or is woken for it.
template <class Sync>
struct thief_opens_a_scope : scopes<Sync, 1, 1, 1> {
    static constexpr const char* what = "a thief opens a scope in turn: the joiner runs its job, or the thief does";
    static constexpr std::array must_reach{"fork_context.leapt", "fork_context.took_back",
                                           "fork_context.called_its_joiner"};
    void thread(unsigned i) {
        if (i == 1) return this->thief_looks();
        fork_join(
            this->w(0), [] {},
            [this](auto& v) {
                typename thief_opens_a_scope::on_stack s(v);
                s->run(this->job(0));
                Sync::law(s->wait(), "a scope says that a job had no turn");
                this->seen(0);
            });
    }
};
APIARY_CHECK(thief_opens_a_scope);

template <class Sync>
struct scope_jobs_throw : scopes<Sync, 2, 2, 2> {
    static constexpr const char* what = "both jobs of a scope throw: one exception leaves wait, the other is counted";
    static constexpr std::array must_reach{"scope.stolen", "fork_context.took_back"};
    auto throwing(std::size_t id) {
        return [run = this->job(id), id](auto& v) {
            run(v);
            throw std::runtime_error(id == 0 ? "first" : "second");
        };
    }
    void thread(unsigned i) {
        if (i == 1) return this->thief_looks();
        typename scope_jobs_throw::on_stack s(this->w(0));
        s->run(throwing(0));
        s->run(throwing(1));
        char said = '-';
        try {
            (void)s->wait();
        } catch (const std::runtime_error& e) {
            said = e.what()[0];
        }
        Sync::law(said == 's', "the wrong exception left the scope, or none");
        Sync::law(this->w(0).lost_exceptions() == 1, "an exception was lost uncounted, or counted and not lost");
        this->seen(0), this->seen(1);
    }
};
APIARY_CHECK(scope_jobs_throw);

template <class Sync>
struct scope_left_by_an_exception : scopes<Sync, 1, 1, 1> {
    static constexpr const char* what = "an exception leaves the function that has a scope: the scope waits first";
    static constexpr std::array must_reach{"scope.stolen", "fork_context.slept", "fork_context.took_back"};
    void thread(unsigned i) {
        if (i == 1) return this->thief_looks();
        bool caught = false;
        try {
            typename scope_left_by_an_exception::on_stack s(this->w(0));
            s->run(this->job(0));
            throw std::runtime_error("the function");
        } catch (const std::runtime_error&) {
            caught = true;
        }
        Sync::law(caught, "the exception did not come through");
        this->seen(0);
        Sync::law(this->w(0).jobs().empty(), "a scope left a job in the list");
    }
};
APIARY_CHECK(scope_left_by_an_exception);

// Loops of single indices. The list begins with a request, so that the loop is divided at once; the thief may ask again.
template <class Sync>
struct loop_against_thief : scopes<Sync, 3, 1, 2> {
    static constexpr const char* what = "a loop over three indices, divided for a thief: each has its turn once";
    static constexpr std::array must_reach{"scope.stolen", "fork_context.took_back", "fork_context.slept"};
    void thread(unsigned i) {
        if (i == 1) return this->thief_looks();
        std::array bodies{this->job(0), this->job(1), this->job(2)};
        const bool whole = parallel_for(this->w(0), 0U, 3U, [&](auto& v, unsigned n) { bodies[n](v); }, {.grain = 1});
        Sync::law(whole, "a loop says that an index had no turn");
        for (std::size_t id = 0; id != 3; ++id) this->seen(id);
    }
};
APIARY_CHECK(loop_against_thief);

// Decimal numbers, put one after the other: associative, and whatever is lost, doubled or out of order shows.
template <class Sync>
struct reduce_against_thief : scopes<Sync, 3, 1, 2> {
    static constexpr const char* what = "a reduction over three indices, divided for a thief: its parts in order";
    static constexpr std::array must_reach{"scope.stolen", "fork_context.took_back", "fork_context.slept"};
    struct number {
        unsigned value = 0, tens = 1;
    };
    void thread(unsigned i) {
        if (i == 1) return this->thief_looks();
        std::array bodies{this->job(0), this->job(1), this->job(2)};
        const number n = parallel_reduce(
            this->w(0), 0U, 3U, number{},
            [&](auto& v, unsigned at) { return number{static_cast<unsigned>(bodies[at](v)), 10}; },
            [](number a, number b) { return number{a.value * b.tens + b.value, a.tens * b.tens}; }, 1);
        Sync::law(n.value == 123, "a part of a reduction was lost, or is out of order");
        for (std::size_t id = 0; id != 3; ++id) this->seen(id);
    }
};
APIARY_CHECK(reduce_against_thief);

// The first of three indices throws, beside a thief that takes the others. Where the thief has divided them, the worker of
// the thrower is the one that helps it.
template <class Sync>
struct throwing_loop : scopes<Sync, 3, 1, 1> {
    static constexpr std::array must_reach{"scope.stolen", "fork_context.leapt", "loop.thief_began_nothing",
                                           "loop.thief_ended_early", "loop.thief_ran_all"};

    void loop_throws(auto&&... options) {
        std::array bodies{this->job(0), this->job(1), this->job(2)};
        bool caught = false;
        std::array began{false, false, false};  // plain: the end of its job publishes each
        const auto body = [&](auto& v, unsigned n) {
            Sync::law(n == 0 || v.index() == 1, "the worker whose body had thrown began another chunk of the loop");
            began[n] = true;
            bodies[n](v);
            if (n == 0) throw std::runtime_error("body");
        };
        try {
            (void)parallel_for(this->w(0), 0U, 3U, body, options...);
        } catch (const std::runtime_error&) {
            caught = true;
        }
        Sync::law(caught, "the exception of a body got lost");
        Sync::law(began[1] || !began[2], "a part of a loop went on after the chunk that ended it");
        Sync::reach(began[2] ? "loop.thief_ran_all" : began[1] ? "loop.thief_ended_early" : "loop.thief_began_nothing");
        for (std::size_t id = 0; id != 3; ++id)
            if (began[id])
                this->seen(id);
            else
                this->ledger.took(0, id);
        Sync::law(this->w(0).jobs().empty(), "an exception left a job in the list");
    }
};

template <class Sync>
struct loop_body_throws : throwing_loop<Sync> {
    static constexpr const char* what = "the body of a loop without options throws: a thief ends early";
    void thread(unsigned i) {
        if (i == 1) return this->thief_looks();
        this->loop_throws();
    }
};
APIARY_CHECK(loop_body_throws);

template <class Sync>
struct loop_ends_with_an_exception : throwing_loop<Sync> {
    static constexpr const char* what = "the body of a loop with options throws: a thief ends early";
    void thread(unsigned i) {
        if (i == 1) return this->thief_looks();
        this->loop_throws(loop_options{.grain = 1});
    }
};
APIARY_CHECK(loop_ends_with_an_exception);

}  // namespace
}  // namespace fork_scope_check
