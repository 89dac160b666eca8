// fork_join under stress: trees of random shape whose branches compute, yield and throw, on pools of several sizes that come and go,
// called by several threads at a time. Every leaf runs once unless an exception cut it off; every result is what plain recursion gives.
#include <apiary/schedulers/fork_join/parallel.hpp>
#include <apiary/schedulers/fork_join/pool.hpp>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <apiary/stress/harness.hpp>
#include <apiary/sync/chaos_sync.hpp>

namespace {

using apiary::chaos;
using apiary::chaos_sync;
using apiary::fork_join;
using pool_type = apiary::basic_fork_join_pool<chaos_sync>;
using context = pool_type::context;

struct branch_threw {
    std::uint64_t node;
};

// A tree given by the seed alone: what a node does is drawn from its number.
struct tree {
    std::uint64_t seed;
    apiary::stress::run* r;

    std::uint64_t draw(std::uint64_t node) const {
        std::uint64_t x = (node + seed) * 0x9E3779B97F4A7C15U;
        x ^= x >> 29;
        return x * 0xBF58476D1CE4E5B9U >> 32;
    }
    bool forks(std::uint64_t node, unsigned depth) const { return depth != 0 && draw(node) % 8 != 0; }
    bool throws(std::uint64_t node) const { return draw(node) % 512 == 1; }

    std::uint64_t grow(context& w, std::uint64_t node, unsigned depth) const {
        r->progress();
        if (!forks(node, depth)) {
            if (draw(node) % 64 == 3) std::this_thread::yield();
            if (throws(node)) throw branch_threw{node};
            return node;
        }
        // Plain data on the stack, written before the fork and by the branch: a race detector watches both.
        std::uint64_t copy = node;
        const auto [x, y] = fork_join(
            w, [&](context& v) { return grow(v, 2 * node, depth - 1); },
            [&](context& v) {
                copy += 1;
                return grow(v, 2 * node + 1, depth - 1);
            });
        if (copy != node + 1) r->fail("what a branch wrote is not there behind its join");
        return x + y;
    }
    // Empty: a branch throws. The first one's exception travels, and so the leftmost that throws, unless it has cut off others.
    std::optional<std::uint64_t> plain(std::uint64_t node, unsigned depth) const {
        if (!forks(node, depth)) return throws(node) ? std::nullopt : std::optional(node);
        const auto x = plain(2 * node, depth - 1), y = plain(2 * node + 1, depth - 1);
        return x && y ? std::optional(*x + *y) : std::nullopt;
    }
};

void body(apiary::stress::run& r) {
    chaos_sync::random_source random(r.seed);
    const unsigned workers = 1 + random.below(r.opts.threads);
    std::atomic<unsigned> callers_left = 1 + random.below(3);
    pool_type pool({.workers = workers, .linger_ns = random.below(2) == 0 ? 0 : 20'000});
    r.describe = [&] {
        const auto c = pool.counters();
        return "pool of " + std::to_string(workers) + ": " + std::to_string(callers_left) + " callers left, " +
               std::to_string(c.roots) + " roots, " + std::to_string(c.handed_out) + " handed out, " +
               std::to_string(c.stolen) + " stolen, " + std::to_string(c.slept) + " joiners slept";
    };
    std::vector<std::thread> callers;
    for (unsigned c = callers_left; c != 0; --c)
        callers.emplace_back([&, c] {
            chaos::enter(c);
            for (std::uint64_t call = 0; call != 20; ++call) {
                const tree t{r.seed + 1000 * c + call, &r};
                const auto expected = t.plain(1, 9);
                std::optional<std::uint64_t> got;
                try {
                    got = pool.run([&](context& w) { return t.grow(w, 1, 9); });
                } catch (const branch_threw&) {
                }
                if (got != expected) r.fail("a tree gave another result than plain recursion");
                std::uint64_t sum = 0;
                sum = pool.run([&](context& w) {
                    return apiary::parallel_reduce(
                        w, std::uint64_t{0}, std::uint64_t{500}, std::uint64_t{0},
                        [&](std::uint64_t i) {
                            r.progress();
                            return i;
                        },
                        [](std::uint64_t a, std::uint64_t b) { return a + b; }, 1 + call % 5);
                });
                if (sum != 500 * 499 / 2) r.fail("a loop lost an index, or gave one twice");
            }
            --callers_left;
        });
    for (std::thread& t : callers) t.join();
    const auto c = pool.counters();
    if (c.stolen > c.handed_out) r.fail("more jobs were stolen than offered");
}

}  // namespace

int main(int argc, char** argv) { return apiary::stress::main(argc, argv, "fork-join of random trees", body); }
