// fork_join_pool on the virtual machine, whole: fib and skynet, which only fork, and uts, whose tree no program can foresee.
#include <apiary/schedulers/fork_join/pool.hpp>

#include "scenarios/trees.hpp"
#include "scenarios/uts.hpp"
#include "virtual/scenarios/scenario.hpp"

namespace apiary::virt {

namespace {

using S = virtual_sync;
using pool_type = basic_fork_join_pool<S>;
using context = pool_type::context;

// What the programs of bench/scenarios ask of a runtime that forks.
class runtime {
public:
    using worker = context;
    static constexpr std::string_view name = "fork_join";
    static std::string version() { return "virtual"; }
    explicit runtime(unsigned workers);  // not called: an operation has its pool from run, below
    template <class F>
    void call(F&& root);

    static constexpr bool by_value = true, by_halves = true;
    template <class F, class G>
    static auto fork_join(worker& w, F&& f, G&& g) {
        return apiary::fork_join(w, std::forward<F>(f), std::forward<G>(g));
    }
};

// A tree whose nodes cost time.
template <class Tree>
struct priced : Tree {
    picoseconds node;
    unsigned children(const typename Tree::Node& n) const {
        work(node);
        return Tree::children(n);
    }
};

// Runs compute(context) twice, the first time to warm up, and expects `answer` each time.
template <class Compute>
measured run(machine& m, unsigned workers, std::uint64_t operations, std::uint64_t answer, Compute compute) {
    const made<pool_type> pool(fork_join_config{.workers = workers});
    expect_answer(pool->run(compute), answer);
    const stopwatch watch(m);
    expect_answer(pool->run(compute), answer);
    return watch.stop(operations);
}

template <class Tree>
std::uint64_t nodes(const Tree& tree, const typename Tree::Node& n) {
    std::uint64_t sum = 1;
    for (unsigned k = 0, end = tree.children(n); k != end; ++k) sum += nodes(tree, tree.child(n, k));
    return sum;
}

template <class Tree>
measured sum_tree(machine& m, unsigned workers, const Tree& tree, picoseconds node) {
    const std::uint64_t answer = bench::serial_sum(tree, tree.root()), all_nodes = nodes(tree, tree.root());
    const priced<Tree> dear{tree, node};
    const bench::ledger no_slow_down(0);
    const bench::halved_sum<priced<Tree>, runtime> sum(dear, no_slow_down);
    return run(m, workers, all_nodes, answer, [&](context& w) { return sum.of(dear.root(), w); });
}

// A node's hash, which is one long block: the time of a node in a race with one worker.
constexpr picoseconds uts_node = 83'000;

std::uint64_t fib_of(context& w, unsigned n) {
    if (n < 2) return n;
    const auto [a, b] = fork_join(w, [n](context& v) { return fib_of(v, n - 1); },
                                  [n](context& v) { return fib_of(v, n - 2); });
    return a + b;
}
measured fib(machine& m, unsigned workers, bool brief) {
    const unsigned n = sized(workers, brief, 15, 25, 28);
    std::uint64_t a = 0, b = 1;
    for (unsigned i = 0; i != n; ++i) b = std::exchange(a, b) + b;
    // Forks: the nodes that are no leaves, fib(n + 1) - 1.
    return run(m, workers, b - 1, a, [n](context& w) { return fib_of(w, n); });
}
measured skynet(machine& m, unsigned workers, bool brief) {
    return sum_tree(m, workers, bench::skynet_tree{sized(workers, brief, 1'000, 100'000, 1'000'000)}, 0);
}
measured uts(machine& m, unsigned workers, bool brief) {
    return sum_tree(m, workers, bench::uts_tree{sized(workers, brief, 4, 7, 8)}, uts_node);
}

constexpr scenario all[] = {
    {"fork_join", "fib", "fork", &fib},
    {"fork_join", "skynet", "node", &skynet},
    {"fork_join", "uts", "node", &uts},
};

}  // namespace

std::span<const scenario> fork_join_scenarios() { return all; }

}  // namespace apiary::virt
