// The hazards of this project's schedulers, each as its users call it.
#include <apiary/coroutines/async_mutex.hpp>
#include <apiary/schedulers/all.hpp>
#include <apiary/schedulers/coro_pool/when_all.hpp>
#include <apiary/schedulers/fork_join/fork_join.hpp>
#include <apiary/schedulers/global_queue/parallel_for.hpp>

#include <functional>
#include <memory>
#include <mutex>

#include "peer.hpp"

namespace {

using namespace apiary;
using namespace apiary::hazards;

// ------------------------------------------------- of every scheduler, by the names that all have in common

using body = std::function<void(std::size_t)>;

// at_work behind virtual calls: each hazard below is compiled once, for all schedulers.
struct any_pool {
    virtual ~any_pool() = default;
    virtual void hand_in(std::size_t n, const body& f) = 0;
    virtual void wait() = 0;
    virtual void end() = 0;
    virtual work_books books() = 0;
};
template <class Scheduler>
struct pool_of : any_pool {
    explicit pool_of(unsigned workers) : at(workers) {}
    void hand_in(std::size_t n, const body& f) override { at.hand_in(n, f); }
    void wait() override { at.wait(); }
    void end() override { at.end(); }
    work_books books() override { return at.books(); }
    at_work<Scheduler> at;
};
using made = std::unique_ptr<any_pool> (*)(unsigned workers);
template <class Scheduler>
std::unique_ptr<any_pool> make(unsigned workers) {
    return std::make_unique<pool_of<Scheduler>>(workers);
}

answer goes_on(any_pool& pool) {
    counter ran = 0;
    pool.hand_in(100, [&](std::size_t) { ++ran; });
    pool.wait();
    pool.end();
    return counted(ran, 100);
}

answer throw_body(made make, const asked& a) {
    const auto pool = make(a.workers);
    pool->hand_in(1, [](std::size_t) { throw thrown(); });
    pool->wait();
    const answer told = goes_on(*pool);
    return pool->books().exceptions == 1 ? told : answer{.told = "the exception is in no book"};
}

// A callable whose copies throw once they are told to, as when the memory for one is refused.
struct throws_when_told {
    explicit throws_when_told(const bool& is_armed) : armed(&is_armed) {}
    throws_when_told(const throws_when_told& from) : armed(from.armed) {
        if (*armed) throw thrown();
    }
    throws_when_told& operator=(const throws_when_told&) = delete;
    ~throws_when_told() = default;
    void operator()(std::size_t) const {}
    const bool* armed;
};

// The caller has the exception where it hands the work in, or the books have it; and the pool goes on.
answer throw_spawn(made make, const asked& a) {
    const auto pool = make(a.workers);
    bool armed = false, seen = false;
    const body callable = throws_when_told(armed);
    armed = true;
    try {
        pool->hand_in(1, callable);
    } catch (const thrown&) {
        seen = true;
    }
    armed = false;
    const answer told = goes_on(*pool);
    return seen || pool->books().exceptions != 0 ? told : answer{.told = "the exception was lost"};
}

std::uint64_t work_on(made make, unsigned workers, std::uint64_t tasks) {
    counter ran = 0;
    const auto pool = make(workers);
    pool->hand_in(tasks, [&](std::size_t i) { compute_one(i), ++ran; });
    pool->wait();
    pool->end();
    return ran;
}
answer oversubscribed(made make, const asked& a) {
    return many_over_few(a, [make](unsigned workers, std::uint64_t tasks) { return work_on(make, workers, tasks); });
}
answer half_quota(made make, const asked& a) { return counted(work_on(make, a.workers, 40'000), 40'000); }

// Tasks of a pool hand work to another one. One at a time: a task graph has one submitter.
answer two_pools(made make, const asked& a) {
    counter ran = 0;
    const auto one = make(a.workers), other = make(a.workers);
    std::mutex turn;
    one->hand_in(100, [&](std::size_t) {
        const std::lock_guard held(turn);
        other->hand_in(10, [&](std::size_t) { ++ran; });
    });
    for (any_pool* pool : {one.get(), other.get()}) pool->wait();
    for (any_pool* pool : {one.get(), other.get()}) pool->end();
    return counted(ran, 1'000);
}

#ifdef _OPENMP
// Tasks that run loops of OpenMP, and threads of OpenMP that hand work to the pool.
answer beside_openmp(made make, const asked& a) {
    counter ran = 0;
    const int threads = static_cast<int>(a.workers);
    const auto pool = make(a.workers);
    pool->hand_in(8, [&](std::size_t) {
#pragma omp parallel for num_threads(threads)
        for (int i = 0; i < 100; ++i) ++ran;
    });
    pool->wait();
    std::mutex turn;
#pragma omp parallel for num_threads(threads)
    for (int i = 0; i < 8; ++i) {
        const std::lock_guard held(turn);
        pool->hand_in(25, [&](std::size_t) { ++ran; });
    }
    pool->wait();
    pool->end();
    return counted(ran, 1'000);
}
#endif

void work_a_while(any_pool& pool) {
    pool.hand_in(1'000, [](std::size_t i) { compute_one(i); });
    pool.wait();
}
answer idle(made make, const asked& a) {
    const auto pool = make(a.workers);
    work_a_while(*pool);
    return idle_burn(a);
}
answer first_task(made make, const asked& a) {
    std::atomic<double> began = 0;
    const double before = clock_seconds();
    const auto pool = make(a.workers);
    pool->hand_in(1, [&](std::size_t) { began = clock_seconds(); });
    pool->wait();
    return {true, (began - before) * 1e6, "us"};
}
answer to_its_end(made make, const asked& a) {
    auto pool = make(a.workers);
    work_a_while(*pool);
    const double before = clock_seconds();
    pool.reset();
    return {true, (clock_seconds() - before) * 1e6, "us"};
}

std::map<std::string, program> with(made make, std::map<std::string, program> more) {
    const std::pair<const char*, answer (*)(made, const asked&)> usual[] = {{"throw_body", throw_body},
                                                                            {"throw_spawn", throw_spawn},
                                                                            {"oversubscribed", oversubscribed},
                                                                            {"half_quota", half_quota},
                                                                            {"two_pools", two_pools},
#ifdef _OPENMP
                                                                            {"beside_openmp", beside_openmp},
#endif
                                                                            {"idle", idle},
                                                                            {"first_task", first_task},
                                                                            {"to_its_end", to_its_end}};
    for (const auto& [hazard, run] : usual) more[hazard] = [make, run](const asked& a) { return run(make, a); };
    return more;
}

// ------------------------------------------------- nested work, by each scheduler's own calls

namespace of_fork_join {

answer lock_across_fork(const asked& a) {
    fork_join_pool pool({.workers = 2 * a.workers});
    std::mutex m;
    counter ran = 0;
    for (std::uint64_t r = 0; r != rounds; ++r)
        pool.run([&](auto& w) {
            parallel_for(w, 0u, outer,
                         [&](auto& v, unsigned) {
                             const std::lock_guard held(m);
                             parallel_for(v, 0u, inner, [&](unsigned) { sleep_for_us(20), ++ran; }, {.grain = 1});
                         },
                         {.grain = 1});
        });
    return counted(ran, rounds * outer * inner);
}

std::uint64_t down(fork_join_pool::context& w, std::uint64_t depth) {
    if (depth == 0) return 0;
    const auto [x, y] =
        fork_join(w, [depth](auto& v) { return down(v, depth - 1); }, [](auto&) { return std::uint64_t{1}; });
    return x + y;
}
answer deep_recursion(const asked& a) {
    fork_join_pool pool({.workers = a.workers});
    const auto depth_of = [&](std::uint64_t n) { return pool.run([n](auto& w) { return down(w, n); }); };
    try {
        return counted(depth_of(a.depth), a.depth);
    } catch (const fork_too_deep&) {
    }
    answer told = counted(depth_of(1'000), 1'000);
    told.told = "refused by fork_too_deep, and goes on";
    return told;
}

answer throw_nested(const asked& a) {
    fork_join_pool pool({.workers = a.workers});
    counter ran = 0;
    try {
        pool.run([&](auto& w) {
            fork_join(
                w, [&](auto& v) { fork_join(v, [](auto&) { throw thrown(); }, [&](auto&) { ++ran; }); },
                [&](auto&) { ++ran; });
        });
        return {.told = "the exception was lost"};
    } catch (const thrown&) {
    }
    return counted(pool.run([](auto& w) { return down(w, 100); }), 100);
}

}  // namespace of_fork_join

namespace of_coro_pool {

co_task<> one_inner(counter& ran) {
    sleep_for_us(20);
    ++ran;
    co_return;
}
co_task<> one_outer(async_mutex<>& m, counter& ran) {
    const auto held = co_await m.lock();
    co_await when_all(one_inner(ran), one_inner(ran), one_inner(ran), one_inner(ran));
}
answer lock_across_fork(const asked& a) {
    coro_pool pool({.workers = 2 * a.workers});
    pool.start();
    counter ran = 0;
    async_mutex<> m;
    for (std::uint64_t i = 0; i != rounds * outer; ++i)
        if (!pool.spawn(one_outer(m, ran))) return {.told = "refused"};
    pool.stop();
    return counted(ran, rounds * outer * 4);
}

co_task<std::uint64_t> leaf() { co_return 1; }
co_task<std::uint64_t> down(std::uint64_t depth) {
    if (depth == 0) co_return 0;
    const auto [x, y] = co_await when_all(down(depth - 1), leaf());
    co_return x + y;
}
answer deep_recursion(const asked& a) {
    coro_pool pool({.workers = a.workers});
    pool.start();
    const answer told = counted(sync_wait(pool, down(a.depth)), a.depth);
    pool.stop();
    return told;
}

co_task<> fails() {
    throw thrown();
    co_return;
}
co_task<> fails_below() { (void)co_await when_all(fails(), leaf()); }
answer throw_nested(const asked& a) {
    coro_pool pool({.workers = a.workers});
    pool.start();
    bool seen = false;
    try {
        (void)sync_wait(pool, [](auto) -> co_task<> { (void)co_await when_all(fails_below(), leaf()); }(0));
    } catch (const thrown&) {
        seen = true;
    }
    answer told = counted(sync_wait(pool, down(100)), 100);
    pool.stop();
    if (!seen) told = {.told = "the exception was lost"};
    return told;
}

}  // namespace of_coro_pool

namespace of_global_queue {

// The thread of run() is one of the workers.
struct running {
    explicit running(unsigned workers) : queue({.workers = workers}), thread([this] { queue.run(); }) {}
    ~running() {
        queue.request_stop(stop_mode::drain);
        thread.join();
    }
    global_queue queue;
    std::thread thread;
};

answer lock_across_fork(const asked& a) {
    running pool(2 * a.workers);
    return locked_loops([&](unsigned n, auto each) { (void)parallel_for(pool.queue, 0u, n, each, {.grain = 1}); });
}

void down(global_queue& queue, std::uint64_t depth, counter& ran) {
    if (depth == 0) return;
    global_queue::task_scope below(queue);
    if (below.run([&queue, depth, &ran] { down(queue, depth - 1, ran); })) ++ran;
    (void)below.wait();
}
answer deep_recursion(const asked& a) {
    running pool(a.workers);
    counter ran = 0;
    try {
        down(pool.queue, a.depth, ran);
        return counted(ran, a.depth);
    } catch (const scope_too_deep&) {
        ran = 0;
    }
    down(pool.queue, 1'000, ran);
    answer told = counted(ran, 1'000);
    told.told = "refused by scope_too_deep, and goes on";
    return told;
}

answer throw_nested(const asked& a) {
    running pool(a.workers);
    bool seen = false;
    try {
        global_queue::task_scope scope(pool.queue);
        (void)scope.run([](global_queue::task_scope& below) { (void)below.run([] { throw thrown(); }); });
        (void)scope.wait();
    } catch (const thrown&) {
        seen = true;
    }
    counter ran = 0;
    (void)parallel_for(pool.queue, 0, 100, [&](int) { ++ran; });
    answer told = counted(ran, 100);
    if (!seen) told = {.told = "the exception was lost"};
    return told;
}

}  // namespace of_global_queue

// ------------------------------------------------- schedulers whose tasks do not wait: recursion is a chain of posts

struct chain {
    any_pool& pool;
    std::uint64_t depth;
    bool throws;
    counter ran = 0;
    void link() {
        if (++ran < depth) pool.hand_in(1, [this](std::size_t) { link(); });
        if (throws) throw thrown();
    }
    void run() {
        pool.hand_in(1, [this](std::size_t) { link(); });
        pool.wait();
        pool.end();
    }
};
answer deep_chain(made make, const asked& a) {
    const auto pool = make(a.workers);
    chain links{*pool, a.depth, false};
    links.run();
    return counted(links.ran, a.depth);
}
answer throw_in_a_chain(made make, const asked& a) {
    const auto pool = make(a.workers);
    chain links{*pool, 100, true};
    links.run();
    const auto seen = pool->books().exceptions;
    return seen == 100 ? counted(links.ran, 100)
                       : answer{.told = std::to_string(seen) + " of 100 exceptions in the books"};
}

// A task that is cancelled by the exception of one before it, and one that is not.
answer throw_in_a_producer(const asked& a) {
    task_graph graph({.workers = {a.workers}});
    counter ran = 0;
    const auto failed = graph.submit([] { throw thrown(); });
    graph.submit({graph.submit({failed}, [&] { ++ran; })}, [&] { ++ran; });
    graph.submit([&] { ++ran; });
    graph.wait();
    answer told = counted(ran, 1);
    if (graph.counters(0).thrown != 1) told = {.told = "the exception is in no book"};
    graph.close();
    return told;
}
answer a_long_chain(const asked& a) {
    task_graph graph({.workers = {a.workers}});
    std::uint64_t ran = 0;  // each task runs after the one before it
    task_id last = graph.submit([&] { ++ran; });
    for (std::uint64_t i = 1; i != a.depth; ++i) last = graph.submit({last}, [&] { ++ran; });
    graph.wait();
    graph.close();
    return counted(ran, a.depth);
}

std::map<std::string, program> posting(made make) {
    return with(make, {{"deep_recursion", [make](const asked& a) { return deep_chain(make, a); }},
                       {"throw_nested", [make](const asked& a) { return throw_in_a_chain(make, a); }}});
}

}  // namespace

int main(int argc, char** argv) {
    const programs all{
        {"bare_pool", posting(make<bare_pool>)},
        {"coro_pool", with(make<coro_pool>, {{"lock_across_fork", of_coro_pool::lock_across_fork},
                                             {"deep_recursion", of_coro_pool::deep_recursion},
                                             {"throw_nested", of_coro_pool::throw_nested}})},
        {"fork_join", with(make<fork_join_pool>, {{"lock_across_fork", of_fork_join::lock_across_fork},
                                                  {"deep_recursion", of_fork_join::deep_recursion},
                                                  {"throw_nested", of_fork_join::throw_nested}})},
        {"global_queue", with(make<global_queue>, {{"lock_across_fork", of_global_queue::lock_across_fork},
                                                   {"deep_recursion", of_global_queue::deep_recursion},
                                                   {"throw_nested", of_global_queue::throw_nested}})},
        {"hive", posting(make<hive_as_scheduler>)},
        {"processes", posting(make<processes>)},
        {"task_graph",
         with(make<task_graph>, {{"deep_recursion", a_long_chain}, {"throw_nested", throw_in_a_producer}})},
    };
    return hazard_main(all, APIARY_VERSION, argc, argv);
}
