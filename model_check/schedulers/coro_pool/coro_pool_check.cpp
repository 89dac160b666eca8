// A whole coro_pool, from its constructor to its destructor: its threads are the check's (<apiary/model_check/modelled_threads.hpp>).
#include <array>

#include <apiary/model_check/modelled_threads.hpp>
#include <apiary/model_check/register.hpp>
#include <apiary/schedulers/coro_pool/coro_pool.hpp>

#include "../../workers/handshake.hpp"

namespace coro_pool_check {
namespace {

using namespace apiary;
using namespace apiary::model;

template <class Sync>
struct whole_coro_pool {
    static constexpr unsigned threads = 2;
    static constexpr std::array engine_laws{"deadlock", "lifetime", "race"};
    struct parts : crew_parts<Sync> {
        using threads = team_of_hall<Sync, 1>;
    };
    using pool_type = basic_coro_pool<Sync, parts>;
    using on_stack = typename Sync::template scoped<pool_type>;
    hall<Sync, 1> workers;
    typename Sync::template cell<int> written{0};

    static co_config config() { return {.workers = 1, .linger_ns = 0, .priorities = false}; }
    co_task<int, Sync> writes() {
        written.write(5);
        co_return 6;
    }
    co_task<void, Sync> writes_alone() { (void)co_await writes(); }
};

template <class Sync>
struct coro_pool_is_made_used_and_destroyed : whole_coro_pool<Sync> {
    static constexpr const char* what = "a pool starts its worker, a thread waits for a coroutine, and the pool goes";
    static constexpr std::array must_reach{"thread_latch.waited", "sleeper.slept"};
    void thread(unsigned i) {
        if (i != 0) return this->workers.serve(i - 1);
        const in_hall<Sync, 1> here(this->workers);
        typename coro_pool_is_made_used_and_destroyed::on_stack pool(this->config());
        Sync::law(pool->start() && !pool->start(), "it does not start once");
        const int got = sync_wait(*pool, this->writes());
        Sync::law(got == 6 && this->written.read() == 5, "what the coroutine did is not seen after it");
    }
};
APIARY_CHECK(coro_pool_is_made_used_and_destroyed);

template <class Sync>
struct coro_pool_goes_with_what_was_spawned : whole_coro_pool<Sync> {
    static constexpr const char* what = "a coroutine is spawned, and the pool drained: it has run, and its end is seen";
    static constexpr std::array must_reach{"sleeper.slept", "sleeper.stayed"};
    void thread(unsigned i) {
        if (i != 0) return this->workers.serve(i - 1);
        const in_hall<Sync, 1> here(this->workers);
        typename coro_pool_goes_with_what_was_spawned::on_stack pool(this->config());
        pool->start();
        Sync::law(pool->spawn(this->writes_alone()), "refused");
        pool->stop();
        Sync::law(this->written.read() == 5, "a drain left a coroutine out");
        Sync::law(!pool->spawn(this->writes_alone()), "accepted after the stop");
    }
};
APIARY_CHECK(coro_pool_goes_with_what_was_spawned);

}  // namespace
}  // namespace coro_pool_check
