// Subject `coro_pool`: this project's coroutines, with N workers; the main thread, which waits, is none of them.
//
// Its kernels are in coroutine form: a frame for every node, leaves too.
#include <apiary/schedulers/coro_pool/coro_pool.hpp>

#include <string>
#include <string_view>
#include <utility>

#include "scenarios/list.hpp"

namespace {

class coroutines {
public:
    static constexpr std::string_view name = "coro_pool";
    static std::string version() { return APIARY_VERSION; }
    template <class T>
    using task = apiary::co_task<T>;
    using branches = apiary::co_scope<>;

    explicit coroutines(unsigned workers) : pool_({.workers = workers}) { pool_.start(); }

    void run(task<void> root) { apiary::sync_wait(pool_, std::move(root)); }
    template <class T>
    static auto both(task<T> one, task<T> other) {
        return apiary::when_all(std::move(one), std::move(other));
    }
    static auto this_task() { return apiary::this_frame(); }

    apiary::bench::runtime_counters counters() const {
        const apiary::worker_counters c = pool_.counters();
        return {.wakes = c.woken, .parks = c.parked, .steals = c.stolen};
    }

private:
    apiary::coro_pool pool_;
};

}  // namespace

int main(int argc, char** argv) { return apiary::bench::subject_main<coroutines>(argc, argv); }
