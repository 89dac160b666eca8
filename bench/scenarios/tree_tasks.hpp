// The value of a tree, its nodes as tasks: the engine of skynet, nqueens and uts (trees.hpp, uts.hpp). Where a node
// does nothing but fork, the figure would be the cost of this frame: fib and tree_sum have kernels of their own
// (binary_forks.hpp).
//
// A Tree has a Node (trivially copyable) and
//     Node root() const;
//     unsigned children(const Node&) const;          // at most most_children
//     Node child(const Node&, unsigned k) const;
//     std::uint64_t value(const Node&) const;        // its own
// There are several ways to the sum over all nodes, and each runtime goes its own (BIAS.md). `join_sum`: a task can
// wait for its children inside a worker (`join_coroutines`: inside a coroutine). `halved_sum`: the runtime's call for
// two branches divides more of them, too, as rayon's and chili's do. `count_down`: no task can wait, so the last child
// to end carries the sum to the parent. A node runs one child itself.
//
// Synchronisation in count_down: each child adds to `sum`, then takes one off `pending` (acq_rel). The child that takes
// the last one off continues the release sequence of all others, so it sees the whole sum.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

#include <apiary/bench/closed_loop.hpp>

#include "scenarios/binary_forks.hpp"

namespace apiary::bench {

// The reference, and the expected answer.
template <class Tree>
[[nodiscard]] std::uint64_t serial_sum(const Tree& tree, const typename Tree::Node& node) {
    std::uint64_t sum = tree.value(node);
    const unsigned n = tree.children(node);
    for (unsigned k = 0; k < n; ++k) sum += serial_sum(tree, tree.child(node, k));
    return sum;
}

template <class Tree, joiner Runtime>
[[nodiscard]] std::uint64_t join_sum(const Tree& tree, const ledger_of<Runtime>& account, const typename Tree::Node& node) {
    account.slow_down();
    host<Runtime>::computes();
    const unsigned n = tree.children(node);
    std::uint64_t sum = tree.value(node);
    if (n == 0) return sum;
    std::array<std::uint64_t, Tree::most_children> parts;
    typename Runtime::scope children;
    for (unsigned k = 0; k + 1 < n; ++k)
        children.run([&tree, &account, child = tree.child(node, k), part = &parts[k]] {
            *part = join_sum<Tree, Runtime>(tree, account, child);
        });
    sum += join_sum<Tree, Runtime>(tree, account, tree.child(node, n - 1));
    children.wait();
    for (unsigned k = 0; k + 1 < n; ++k) sum += parts[k];
    return sum;
}

// Halves the children until one is left, so n children cost n - 1 forks.
template <class Tree, forker_by_halves Runtime>
class halved_sum {
    using Node = typename Tree::Node;

public:
    halved_sum(const Tree& tree, const ledger_of<Runtime>& account) : tree_(tree), account_(account) {}

    template <class... Worker>
    [[nodiscard]] std::uint64_t of(const Node& node, Worker&... worker) const {
        account_.slow_down();
        host<Runtime>::computes();
        const unsigned n = tree_.children(node);
        const std::uint64_t own = tree_.value(node);
        return n == 0 ? own : own + of_children(node, 0, n, worker...);
    }

private:
    template <class... Worker>
    [[nodiscard]] std::uint64_t of_children(const Node& node, unsigned from, unsigned to, Worker&... worker) const {
        if (to - from == 1) return of(tree_.child(node, from), worker...);
        const unsigned half = from + (to - from) / 2;
        const auto [a, b] = results_of_both<Runtime>(
            [this, &node, from, half](Worker&... w) { return of_children(node, from, half, w...); },
            [this, &node, half, to](Worker&... w) { return of_children(node, half, to, w...); }, worker...);
        return a + b;
    }

    const Tree tree_;
    const ledger_of<Runtime>& account_;
};

// The same in coroutine form. The tree and the account outlive it.
template <class Tree, coroutine_runtime Runtime>
typename Runtime::template task<void> join_coroutines(const Tree& tree, const ledger_of<Runtime>& account, typename Tree::Node node,
                                                      std::uint64_t& result) {
    account.slow_down();
    host<Runtime>::computes();
    const unsigned n = tree.children(node);
    std::uint64_t sum = tree.value(node);
    if (n != 0) {
        std::array<std::uint64_t, Tree::most_children> parts;
        typename Runtime::branches children(co_await Runtime::this_task());
        for (unsigned k = 0; k + 1 < n; ++k)
            children.fork(join_coroutines<Tree, Runtime>(tree, account, tree.child(node, k), parts[k]));
        co_await join_coroutines<Tree, Runtime>(tree, account, tree.child(node, n - 1), parts[n - 1]);
        co_await children.join();
        for (unsigned k = 0; k < n; ++k) sum += parts[k];
    }
    result = sum;
}
template <class Tree, coroutine_runtime Runtime>
typename Runtime::template task<void> coroutine_root(const Tree& tree, ledger_of<Runtime>& account, std::uint64_t number,
                                                     std::uint64_t expected) {
    std::uint64_t sum = 0;
    co_await join_coroutines<Tree, Runtime>(tree, account, tree.root(), sum);
    account.complete(number + sum - expected);
}

// One computation by continuation counting. Outlives its tasks.
template <class Tree, poster Runtime>
class count_down {
    using Node = typename Tree::Node;

    struct frame {
        frame(frame* p, std::uint32_t children, std::uint64_t own) : parent(p), pending(children), sum(own) {}
        frame* parent;
        typename host<Runtime>::sync::template atomic<std::uint32_t> pending;
        typename host<Runtime>::sync::template atomic<std::uint64_t> sum;
    };

public:
    count_down(const Tree& tree, Runtime& runtime, ledger_of<Runtime>& account)
        : tree_(tree), runtime_(runtime), account_(account) {}

    // Called from outside. At the end it completes the account with `number` plus the error of the answer.
    void start(std::uint64_t number, std::uint64_t expected) {
        mark_ = number - expected;
        runtime_.post([this] { run(tree_.root(), nullptr); });
    }

private:
    void run(Node node, frame* parent) {
        for (;;) {
            account_.slow_down();
            host<Runtime>::computes();
            const unsigned n = tree_.children(node);
            const std::uint64_t value = tree_.value(node);
            if (n == 0) return deliver(value, parent);
            auto* mine = new frame(parent, n, value);
            for (unsigned k = 0; k + 1 < n; ++k)
                bench::spawn(runtime_, [this, child = tree_.child(node, k), mine] { run(child, mine); });
            node = tree_.child(node, n - 1);
            parent = mine;
        }
    }

    void deliver(std::uint64_t value, frame* to) {
        while (to != nullptr) {
            to->sum.fetch_add(value, std::memory_order_relaxed);
            if (to->pending.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
            value = to->sum.load(std::memory_order_relaxed);
            frame* const done = to;
            to = to->parent;
            delete done;
        }
        account_.complete(mark_ + value);
    }

    const Tree& tree_;
    Runtime& runtime_;
    ledger_of<Runtime>& account_;
    std::uint64_t mark_ = 0;
};

template <class Runtime>
inline constexpr bool fork_join =
    joiner<Runtime> || coroutine_runtime<Runtime> || forker_by_halves<Runtime> || poster<Runtime>;

// The scenario: operation i computes the tree once.
template <class Tree, class Runtime>
[[nodiscard]] report measure_tree(const Tree& tree, const run_options& options) {
    const std::uint64_t expected = serial_sum(tree, tree.root());
    ledger_of<Runtime> account(options.slowdown_ns);  // outlives the runtime
    if constexpr (coroutine_runtime<Runtime>) {
        Runtime runtime(options.workers);
        return measure_blocks(settings_of(options, 1), runtime, [&](std::uint64_t ops) {
            return run_iterations(account, ops, 1, [&](std::uint64_t i) {
                runtime.run(coroutine_root<Tree, Runtime>(tree, account, i, expected));
            });
        });
    } else if constexpr (forker_by_halves<Runtime>) {
        const halved_sum<Tree, Runtime> sum(tree, account);
        Runtime runtime(options.workers);
        return measure_blocks(settings_of(options, 1), runtime, [&](std::uint64_t ops) {
            return run_iterations(account, ops, 1, [&](std::uint64_t i) {
                runtime.call([&](auto&... worker) { account.complete(i + sum.of(tree.root(), worker...) - expected); });
            });
        });
    } else if constexpr (joiner<Runtime>) {
        Runtime runtime(options.workers);
        return measure_blocks(settings_of(options, 1), runtime, [&](std::uint64_t ops) {
            return run_iterations(account, ops, 1, [&](std::uint64_t i) {
                runtime.call(
                    [&] { account.complete(i + join_sum<Tree, Runtime>(tree, account, tree.root()) - expected); });
            });
        });
    } else {
        std::optional<count_down<Tree, Runtime>> computation;
        Runtime runtime(options.workers);
        computation.emplace(tree, runtime, account);
        return measure_blocks(settings_of(options, 1), runtime, [&](std::uint64_t ops) {
            return run_iterations(account, ops, 1, [&](std::uint64_t i) { computation->start(i, expected); });
        });
    }
}

}  // namespace apiary::bench
