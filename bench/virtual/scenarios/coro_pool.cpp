// coro_pool on the virtual machine, whole: coroutines that fork, and coroutines that a coroutine spawns.
#include <apiary/schedulers/coro_pool/coro_pool.hpp>

#include "virtual/scenarios/scenario.hpp"

namespace apiary::virt {

namespace {

using S = virtual_sync;
struct parts : default_parts<S> {
    using threads = virtual_team;
};
using coroutines = basic_coro_pool<S, parts>;
template <class T = void>
using task = co_task<T, S>;

// body(pool) measures; the pool drains after it.
template <class Body>
measured with_pool(unsigned workers, Body body) {
    const made<coroutines> pool(co_config{.workers = workers});
    if (!pool->start()) throw wrong_answer("the pool did not start");
    measured all = body(*pool);
    pool->stop();
    return all;
}

task<std::uint64_t> fib_of(unsigned n) {
    work(1'325);  // as in fork_join's
    if (n < 2) co_return n;
    const auto [a, b] = co_await when_all(fib_of(n - 1), fib_of(n - 2));
    co_return a + b;
}
measured fib(machine& m, unsigned workers, bool brief) {
    const unsigned n = sized(workers, brief, 13, 24, 26);
    std::uint64_t a = 0, b = 1;
    for (unsigned i = 0; i != n; ++i) b = std::exchange(a, b) + b;
    return with_pool(workers, [&](coroutines& pool) {
        expect_answer(pool.wait_for(fib_of(n)), a);
        const stopwatch watch(m);
        expect_answer(pool.wait_for(fib_of(n)), a);
        return watch.stop(b - 1);
    });
}

task<> child(ledger& account, std::uint64_t number) {
    account.complete(number);
    co_return;
}
task<> parent(coroutines& pool, ledger& account, std::uint64_t children) {
    for (std::uint64_t i = 0; i != children; ++i)
        if (!pool.spawn(child(account, i))) throw wrong_answer("a spawn was refused");
    co_return;
}
measured spawn_many_local(machine& m, unsigned workers, bool brief) {
    const std::uint64_t tasks = brief ? 300 : 10'000;
    const made<ledger> account;
    return with_pool(workers, [&](coroutines& pool) {
        const auto once = [&] {
            account->open(tasks);
            if (!pool.spawn(parent(pool, *account, tasks))) throw wrong_answer("the root was refused");
            account->wait();
        };
        once();
        const stopwatch watch(m);
        once();
        return watch.stop(tasks);
    });
}

constexpr scenario all[] = {
    {"coro_pool", "fib", "fork", &fib},
    {"coro_pool", "spawn_many_local", "task", &spawn_many_local},
};

}  // namespace

std::span<const scenario> coro_pool_scenarios() { return all; }

}  // namespace apiary::virt
