// Stops of task_scope, parallel_for and parallel_reduce as they ship, on one worker beside a thief: what has begun ends, nothing
// begins on a thread that knows of the request, and the answer says whether everything had its turn.
#include <algorithm>
#include <array>
#include <cstddef>

#include <apiary/model_check/register.hpp>
#include <apiary/schedulers/fork_join/parallel.hpp>
#include <apiary/schedulers/fork_join/task_scope.hpp>

#include "fork_scenario.hpp"

namespace fork_stop_check {
namespace {

using namespace apiary;
using namespace apiary::model;

// std::stop_source as those see it that look at its token, each step in the engines' sight. Its request is a read-modify-write,
// this one a store: what holds with the weaker one holds with both.
template <class Sync>
struct stop_word {
    struct token {
        const stop_word* word = nullptr;
        bool stop_requested() const { return word != nullptr && word->requested.load(std::memory_order_acquire); }
    };
    typename Sync::template atomic<bool> requested{false};
    void request() { requested.store(true, std::memory_order_release); }
};

template <class Sync, std::size_t Ids, unsigned Looks>
struct stops : forks<Sync, Ids, 2> {
    using context = typename forks<Sync, Ids, 2>::context;
    using token = typename stop_word<Sync>::token;
    using scope = task_scope<context, Ids, 48, token>;
    using on_stack = typename Sync::template scoped<scope>;

    stop_word<Sync> stop;
    // Plain variables: a job's end publishes the first, and each worker has its own of the second.
    std::array<bool, Ids> began{};
    std::array<bool, 2> knows{};

    void thief_looks() {
        for (unsigned n = 0; n != Looks; ++n)
            if (this->steal(1)) Sync::reach("stop.stolen");
    }
    void request(unsigned worker) {
        stop.request();
        knows[worker] = true;
    }
    // Jobs and bodies: number 0 asks for the stop where it is said so.
    auto turn(std::size_t id, bool asks = false) {
        return [this, run = this->job(id), id, asks](auto& v) {
            Sync::law(!knows[v.index()], "a job began on a thread that knows of the stop");
            began[id] = true;
            const int result = run(v);
            if (asks) request(v.index());
            return result;
        };
    }
    // After the wait. What had no turn is settled here.
    void answered(bool whole) {
        const bool every = std::all_of(began.begin(), began.end(), [](bool b) { return b; });
        Sync::reach(every ? "stop.came_too_late" : "stop.left_something_out");
        Sync::law(whole == every, "the answer to a stop is not what became of the jobs");
        for (std::size_t id = 0; id != Ids; ++id) {
            if (began[id])
                this->seen(id);
            else
                this->ledger.took(0, id);
        }
        Sync::law(this->w(0).jobs().empty(), "a stop left a job in the list");
    }
};

template <class Sync>
struct stop_between_two_jobs : stops<Sync, 2, 2> {
    static constexpr const char* what =
        "a stop between two jobs of a scope: the first may have begun, the second never does";
    static constexpr std::array must_reach{"stop.stolen", "stop.first_began", "stop.left_something_out"};
    void thread(unsigned i) {
        if (i == 1) return this->thief_looks();
        typename stop_between_two_jobs::on_stack s(this->w(0), typename stop_between_two_jobs::token{&this->stop});
        s->run(this->turn(0));
        this->request(0);
        s->run([second = this->turn(1)](auto& v) {
            Sync::law(false, "a job began that was handed in after the stop");
            second(v);
        });
        const bool whole = s->wait();
        if (this->began[0]) Sync::reach("stop.first_began");
        this->answered(whole);
    }
};
APIARY_CHECK(stop_between_two_jobs);

template <class Sync>
struct job_stops_its_scope : stops<Sync, 2, 2> {
    static constexpr const char* what =
        "a job asks its scope to stop, here or on a thief: the other begins, or does not";
    static constexpr std::array must_reach{"stop.stolen", "stop.came_too_late", "stop.left_something_out",
                                           "fork_context.slept"};
    void thread(unsigned i) {
        if (i == 1) return this->thief_looks();
        typename job_stops_its_scope::on_stack s(this->w(0), typename job_stops_its_scope::token{&this->stop});
        s->run(this->turn(0, true));
        s->run(this->turn(1));
        this->answered(s->wait());
    }
};
APIARY_CHECK(job_stops_its_scope);

template <class Sync>
struct body_stops_its_loop : stops<Sync, 3, 2> {
    static constexpr const char* what = "the first index of a loop of three asks for a stop, beside a thief";
    static constexpr std::array must_reach{"stop.stolen", "stop.came_too_late", "stop.left_something_out"};
    void thread(unsigned i) {
        if (i == 1) return this->thief_looks();
        std::array bodies{this->turn(0, true), this->turn(1), this->turn(2)};
        this->answered(parallel_for(
            this->w(0), 0U, 3U, [&](auto& v, unsigned n) { (void)bodies[n](v); },
            basic_loop_options<typename body_stops_its_loop::token>{.grain = 1, .stop = {&this->stop}}));
    }
};
APIARY_CHECK(body_stops_its_loop);

// Decimal numbers, put one after the other, as in reduce_against_thief.
template <class Sync>
struct body_stops_its_reduction : stops<Sync, 3, 2> {
    static constexpr const char* what = "the first index of a reduction of three asks for a stop, beside a thief";
    static constexpr std::array must_reach{"stop.stolen", "stop.came_too_late", "stop.left_something_out"};
    struct number {
        unsigned value = 0, tens = 1;
    };
    void thread(unsigned i) {
        if (i == 1) return this->thief_looks();
        std::array bodies{this->turn(0, true), this->turn(1), this->turn(2)};
        const auto n = parallel_reduce(
            this->w(0), 0U, 3U, number{},
            [&](auto& v, unsigned at) { return number{static_cast<unsigned>(bodies[at](v)), 10}; },
            [](number a, number b) { return number{a.value * b.tens + b.value, a.tens * b.tens}; },
            basic_loop_options<typename body_stops_its_reduction::token>{.grain = 1, .stop = {&this->stop}});
        Sync::law(!n || n->value == 123, "a reduction that was stopped gave a part for the whole");
        this->answered(n.has_value());
    }
};
APIARY_CHECK(body_stops_its_reduction);

// From outside, at any time.
template <class Sync>
struct somebody_stops_a_loop : stops<Sync, 2, 1> {
    static constexpr unsigned threads = 3;
    static constexpr const char* what = "a third thread asks for a stop while a loop of two is divided for a thief";
    static constexpr std::array must_reach{"stop.stolen", "stop.came_too_late", "stop.left_something_out"};
    void thread(unsigned i) {
        if (i == 1) return this->thief_looks();
        if (i == 2) return this->stop.request();
        std::array bodies{this->turn(0), this->turn(1)};
        this->answered(parallel_for(
            this->w(0), 0U, 2U, [&](auto& v, unsigned n) { (void)bodies[n](v); },
            basic_loop_options<typename somebody_stops_a_loop::token>{.grain = 1, .stop = {&this->stop}}));
    }
};
APIARY_CHECK(somebody_stops_a_loop);

}  // namespace
}  // namespace fork_stop_check
