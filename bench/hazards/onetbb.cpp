// The hazards of oneTBB, by its documented calls: parallel_for, parallel_invoke, task_group, an arena of N slots.
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/parallel_invoke.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <memory>
#include <mutex>

#include "../subjects/onetbb_version.hpp"
#include "peer.hpp"

namespace {

namespace tbb = oneapi::tbb;
using namespace apiary::hazards;

struct arena_of {
    explicit arena_of(unsigned workers)
        : threads(tbb::global_control::max_allowed_parallelism, workers + 1), arena(static_cast<int>(workers), 0) {
        arena.initialize();
    }
    tbb::global_control threads;
    tbb::task_arena arena;
    tbb::task_group group;
    template <class F>
    void post(F f) {
        arena.execute([&] { group.run(f); });
    }
    void wait() {
        arena.execute([&] { group.wait(); });
    }
};

// The pattern of its issue 1336: the lock is held while parallel_for waits, and the wait takes another task of the outer loop.
template <bool Isolated>
answer lock_across_fork(const asked& a) {
    const tbb::global_control threads(tbb::global_control::max_allowed_parallelism, 2 * a.workers);
    tbb::task_arena arena(static_cast<int>(2 * a.workers));
    return locked_loops([&](unsigned n, auto body) {
        const auto loop = [&] { tbb::parallel_for(0u, n, body, tbb::simple_partitioner()); };
        arena.execute([&] { Isolated ? tbb::this_task_arena::isolate(loop) : loop(); });
    });
}

std::uint64_t down(std::uint64_t depth) {
    if (depth == 0) return 0;
    std::uint64_t x = 0, y = 0;
    tbb::parallel_invoke([&] { x = down(depth - 1); }, [&] { y = 1; });
    return x + y;
}
answer deep_recursion(const asked& a) { return counted(down(a.depth), a.depth); }

answer throw_body(const asked& a) {
    arena_of pool(a.workers);
    return throws_once([&] { pool.post([] { throw thrown(); }), pool.wait(); }, [&](auto task) { pool.post(task); },
                       [&] { pool.wait(); });
}
answer throw_spawn(const asked& a) {
    arena_of pool(a.workers);
    return throws_once([&] { pool.post(throws_when_copied()), pool.wait(); }, [&](auto task) { pool.post(task); },
                       [&] { pool.wait(); });
}
answer throw_nested(const asked& a) {
    arena_of pool(a.workers);
    return throws_once(
        [&] { tbb::parallel_invoke([] { tbb::parallel_invoke([] { throw thrown(); }, [] {}); }, [] {}); },
        [&](auto task) { pool.post(task); }, [&] { pool.wait(); });
}
std::uint64_t work_on(unsigned workers, std::uint64_t tasks) {
    counter ran = 0;
    arena_of pool(workers);
    for (std::uint64_t i = 0; i != tasks; ++i) pool.post([i, &ran] { compute_one(i), ++ran; });
    pool.wait();
    return ran;
}
answer two_pools(const asked& a) {
    arena_of one(a.workers), other(a.workers);
    counter ran = 0;
    for (int i = 0; i != 100; ++i)
        one.post([&] {
            tbb::task_group inner;
            other.arena.execute([&] {
                for (int k = 0; k != 10; ++k) inner.run([&] { ++ran; });
                inner.wait();
            });
        });
    one.wait();
    return counted(ran, 1'000);
}
answer idle(const asked& a) {
    arena_of pool(a.workers);
    return idle_after(a, [&](auto task) { pool.post(task); }, [&] { pool.wait(); });
}
answer first_task(const asked& a) {
    return first_of([&] { return std::make_unique<arena_of>(a.workers); },
                    [](auto& pool, auto task) { pool.arena.enqueue(task); });
}
// Its threads outlive the arena; finalize is the call by which a program waits for their end.
answer to_its_end(const asked& a) {
    tbb::task_scheduler_handle handle{tbb::attach{}};
    {
        arena_of pool(a.workers);
        for (unsigned i = 0; i != 1'000; ++i) pool.post([i] { compute_one(i); });
        pool.wait();
    }
    const double before = clock_seconds();
    const bool ended = tbb::finalize(handle, std::nothrow);
    answer told{ended, (clock_seconds() - before) * 1e6, "us"};
    if (!ended) told.told = "finalize failed";
    return told;
}

}  // namespace

int main(int argc, char** argv) {
    peer of{.name = APIARY_HAZARDS_OF, .version = apiary::bench::onetbb_version(), .work_on = work_on};
    of.more = {{"lock_across_fork", lock_across_fork<false>},
               {"lock_isolated", lock_across_fork<true>},
               {"deep_recursion", deep_recursion},
               {"throw_body", throw_body},
               {"throw_spawn", throw_spawn},
               {"throw_nested", throw_nested},
               {"two_pools", two_pools},
               {"idle", idle},
               {"first_task", first_task},
               {"to_its_end", to_its_end}};
    return of.main(argc, argv);
}
