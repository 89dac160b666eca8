// fork_join under stress: trees of random shape whose branches compute, yield and throw, on pools of several sizes that
// come and go, called by several threads at a time, some of which find a seat. Every leaf runs once unless an exception
// cut it off; every result equals that of plain recursion. Scopes have a random number of jobs, some of which throw. A
// body or another thread stops loops: no index runs twice, and the answer says whether all ran.
#include <apiary/schedulers/fork_join/parallel.hpp>
#include <apiary/schedulers/fork_join/pool.hpp>
#include <apiary/schedulers/fork_join/task_scope.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
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

// The seed alone determines the tree: each node draws its work from its number.
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
        if (copy != node + 1) r->fail("what a branch wrote is not there after its join");
        return x + y;
    }
    // Empty if a branch throws. The first branch's exception travels, so it is that of the leftmost branch that throws,
    // unless it has cut off others.
    std::optional<std::uint64_t> plain(std::uint64_t node, unsigned depth) const {
        if (!forks(node, depth)) return throws(node) ? std::nullopt : std::optional(node);
        const auto x = plain(2 * node, depth - 1), y = plain(2 * node + 1, depth - 1);
        return x && y ? std::optional(*x + *y) : std::nullopt;
    }
};

// Jobs of a scope, now and then more than it has room for; each writes its own cell, and some throw.
void run_a_scope(apiary::stress::run& r, pool_type& pool, std::uint64_t drawn) {
    const auto jobs = static_cast<unsigned>(drawn % 24);
    const bool throws = drawn / 32 % 4 == 0;
    std::vector<unsigned> ran(jobs);  // plain: the wait publishes them
    bool threw = false;
    const bool whole = pool.run([&](context& w) {
        apiary::task_scope<context> all(w);
        for (unsigned i = 0; i != jobs; ++i)
            all.run([&, i](context& v) {
                r.progress();
                if (i % 4 == 1)
                    (void)fork_join(v, [&] { r.progress(); }, [&] { ++ran[i]; });
                else
                    ++ran[i];
                if (throws && i % 8 == 3) throw branch_threw{i};
            });
        try {
            return all.wait();
        } catch (const branch_threw&) {
            threw = true;
            return true;
        }
    });
    for (const unsigned n : ran)
        if (n != 1) r.fail("a job of a scope ran " + std::to_string(n) + " times");
    if (!whole) r.fail("a scope that nobody stopped says that it was");
    if (threw != (throws && jobs > 3)) r.fail("an exception of a scope's job got lost, or came from nowhere");
}

// A loop whose body asks for a stop at a drawn index, or that another thread stops.
void run_a_loop_to_be_stopped(apiary::stress::run& r, pool_type& pool, std::uint64_t drawn) {
    constexpr unsigned size = 300;
    const auto stops_at = static_cast<unsigned>(drawn % (2 * size));  // half of them never
    const bool from_outside = drawn / 1024 % 4 == 0;
    const auto source =
        std::make_unique<std::stop_source>();  // on the stack g++ 12 takes it for uninitialized, under a sanitizer
    std::vector<unsigned> ran(size);
    std::thread other;
    if (from_outside) other = std::thread([&] { (void)source->request_stop(); });
    const bool whole = pool.run([&](context& w) {
        return apiary::parallel_for(w, 0U, size,
                                    [&](unsigned i) {
                                        r.progress();
                                        ++ran[i];
                                        if (i == stops_at) (void)source->request_stop();
                                    },
                                    {.grain = 1 + drawn % 7, .stop = source->get_token()});
    });
    if (other.joinable()) other.join();
    unsigned turns = 0;
    for (const unsigned n : ran) {
        if (n > 1) r.fail("a loop that is stopped gave an index twice");
        turns += n;
    }
    if (whole != (turns == size)) r.fail("the answer of a loop does not say whether every index had its turn");
    if (!from_outside && stops_at >= size && !whole) r.fail("a loop was stopped although nobody asked");
}

void body(apiary::stress::run& r) {
    chaos_sync::random_source random(r.seed);
    const unsigned workers = 1 + random.below(r.opts.threads);
    std::atomic<unsigned> callers_left = 1 + random.below(3);
    const unsigned seats = random.below(3);
    pool_type pool({.workers = workers, .callers = seats, .linger_ns = random.below(2) == 0 ? 0 : 20'000});
    r.describe = [&] {
        const auto c = pool.counters();
        return "pool of " + std::to_string(workers) + ", " + std::to_string(seats) +
               " seats: " + std::to_string(callers_left) + " callers left, " + std::to_string(c.roots) + " roots, " +
               std::to_string(c.handed_out) + " handed out, " + std::to_string(c.stolen) + " stolen, " +
               std::to_string(c.slept) + " joiners slept";
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
                run_a_scope(r, pool, t.draw(1'000'000));
                run_a_loop_to_be_stopped(r, pool, t.draw(2'000'000));
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
