// A whole fork_join_pool, from its constructor to its destructor: its threads are the check's (modelled_threads.hpp).
#include <array>
#include <stdexcept>

#include <apiary/model_check/register.hpp>
#include <apiary/schedulers/fork_join/pool.hpp>

#include "../../workers/handshake.hpp"
#include "../../workers/modelled_threads.hpp"

namespace fork_pool_check {
namespace {

using namespace apiary;
using namespace apiary::model;

template <class Sync, unsigned Workers>
struct whole_pool {
    static constexpr unsigned threads = Workers + 1;
    static constexpr std::array engine_laws{"deadlock", "lifetime", "race"};
    struct parts : crew_parts<Sync> {
        using threads = team_of_hall<Sync, Workers>;
    };
    using pool_type = basic_fork_join_pool<Sync, parts>;
    using on_stack = typename Sync::template scoped<pool_type>;
    hall<Sync, Workers> workers;
    typename Sync::template cell<int> written{0};

    static fork_join_config config(unsigned callers = 0) {
        return {.workers = Workers, .callers = callers, .linger_ns = 0};
    }
};

template <class Sync>
struct pool_is_made_used_and_destroyed : whole_pool<Sync, 1> {
    static constexpr const char* what =
        "a pool starts its worker, runs a call that forks, stops, joins and goes: nothing is left of it";
    static constexpr std::array must_reach{"thread_latch.waited", "sleeper.slept"};
    using base = whole_pool<Sync, 1>;
    void thread(unsigned i) {
        if (i != 0) return this->workers.serve(i - 1);
        const in_hall<Sync, 1> here(this->workers);
        typename base::on_stack pool(base::config());
        const int got = pool->run([this](auto& w) {
            return fork_join(w, [] {}, [this] { return this->written.write(5), 6; }).second;
        });
        Sync::law(got == 6 && this->written.read() == 5, "what the call did is not seen after it");
    }
};
APIARY_CHECK(pool_is_made_used_and_destroyed);

template <class Sync>
struct pool_is_made_and_destroyed : whole_pool<Sync, 2> {
    static constexpr const char* what =
        "a pool of two workers that nobody uses: both end, whether they sleep yet or have not begun";
    static constexpr std::array must_reach{"sleeper.slept"};
    using base = whole_pool<Sync, 2>;
    void thread(unsigned i) {
        if (i != 0) return this->workers.serve(i - 1);
        const in_hall<Sync, 2> here(this->workers);
        const typename base::on_stack pool(base::config());
        Sync::law((*pool).workers() == 2, "it has other workers than it was made with");
    }
};
APIARY_CHECK(pool_is_made_and_destroyed);

// The caller is a worker in a seat; the other worker may have its branch.
template <class Sync>
struct pool_with_a_seat : whole_pool<Sync, 1> {
    static constexpr const char* what =
        "a caller in a seat forks beside a worker that begins: either runs the branch, and the pool goes";
    static constexpr std::array must_reach{"fork_pool.branch_was_stolen", "fork_pool.branch_stayed"};
    using base = whole_pool<Sync, 1>;
    void thread(unsigned i) {
        if (i != 0) return this->workers.serve(i - 1);
        const in_hall<Sync, 1> here(this->workers);
        typename base::on_stack pool(base::config(1));
        pool->run([this](auto& w) { fork_join(w, [] {}, [this] { this->written.write(7); }); });
        Sync::law(this->written.read() == 7, "what the branch did is not seen after its join");
        Sync::reach(pool->counters().stolen == 1 ? "fork_pool.branch_was_stolen" : "fork_pool.branch_stayed");
    }
};
APIARY_CHECK(pool_with_a_seat);

}  // namespace
}  // namespace fork_pool_check
