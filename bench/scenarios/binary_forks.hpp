// Two branches, again and again, down to leaves: the kernels of fib and tree_sum, and the frame that measures them.
//
// A Node is small and trivially copyable, with
//     bool leaf() const;  Node left() const;  Node right() const;  std::uint64_t value() const;
// The runtime's own call for two branches computes the sum over all nodes (`forking`; `forking_coroutines`); without
// such a call, continuation counting does (`fork_count_down`). The kernel itself does one comparison and one addition
// for each node: a fork can cost two nanoseconds, and any other work around it would be measured, too. So a block is
// one root task, which does all the block's computations one after the other inside the runtime. The slow-down follows
// each computation: nodes that looked for it would make another kernel, half as slow again before it has waited at all.
//
// Synchronisation in fork_count_down: as in tree_tasks.hpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>

#include <apiary/bench/closed_loop.hpp>

namespace apiary::bench {

// The slow-down of a control arm, after a computation.
inline void slow_down(std::int64_t ns) noexcept {
    if (ns != 0) [[unlikely]]
        busy_wait_ns(ns);
}

// Keeps the compiler from moving a computation out of the loop over them.
template <class T>
[[nodiscard]] T opaque(T value) noexcept {
    asm volatile("" : "+r"(value) : : "memory");
    return value;
}

// The number of forks of a sum: the nodes that are no leaves.
template <class Node>
[[nodiscard]] std::uint64_t forks_of(Node node) {
    return node.leaf() ? 0 : 1 + forks_of(node.left()) + forks_of(node.right());
}

// The reference, and the expected answer.
template <class Node>
[[nodiscard]] std::uint64_t serial_fork_sum(Node node) {
    return node.leaf() ? node.value() : node.value() + serial_fork_sum(node.left()) + serial_fork_sum(node.right());
}

// The results of two branches: by value where the runtime's call gives them so, else by reference, as its users write
// it.
template <class Runtime, class F, class G, class... Worker>
[[gnu::always_inline]] inline std::pair<std::uint64_t, std::uint64_t> results_of_both(const F& f, const G& g,
                                                                                      Worker&... worker) {
    if constexpr (forker_by_value<Runtime>) {
        return Runtime::fork_join(worker..., f, g);
    } else {
        std::uint64_t left, right;
        Runtime::fork_join(
            worker..., [&left, f](Worker&... w) { left = f(w...); }, [&right, g](Worker&... w) { right = g(w...); });
        return {left, right};
    }
}

// The control without a runtime: plain recursion.
template <class Runtime>
concept plain = requires { requires Runtime::plain; };

// The kernel. `worker` is the worker that the runtime hands in, if it does.
template <class Runtime>
struct forking {
    template <class Node, class... Worker>
    static std::uint64_t sum(Node node, Worker&... worker) {
        if (node.leaf()) return node.value();
        if constexpr (plain<Runtime>) {
            return node.value() + sum(node.left()) + sum(node.right());
        } else {
            const auto [left, right] =
                results_of_both<Runtime>([node](Worker&... w) { return sum(node.left(), w...); },
                                         [node](Worker&... w) { return sum(node.right(), w...); }, worker...);
            return node.value() + left + right;
        }
    }
};

// The kernel in coroutine form.
template <coroutine_runtime Runtime>
struct forking_coroutines {
    template <class Node>
    static typename Runtime::template task<std::uint64_t> sum(Node node) {
        if (node.leaf()) co_return node.value();
        const auto [left, right] = co_await Runtime::both(sum(node.left()), sum(node.right()));
        co_return node.value() + left + right;
    }
    template <class Node>
    static typename Runtime::template task<void> block(Node root, std::uint64_t ops, std::uint64_t expected,
                                                       std::int64_t slowdown_ns, ledger_of<Runtime>& account) {
        for (std::uint64_t i = 0; i < ops; ++i) {
            const std::uint64_t found = co_await sum(opaque(root));
            slow_down(slowdown_ns);
            account.complete(i + found - expected);
        }
    }
};

// The computations of a block by continuation counting. Outlives its tasks.
template <class Node, poster Runtime>
class fork_count_down {
    struct frame {
        frame(frame* p, std::uint32_t children, std::uint64_t own) : parent(p), pending(children), sum(own) {}
        frame* parent;
        typename host<Runtime>::sync::template atomic<std::uint32_t> pending;
        typename host<Runtime>::sync::template atomic<std::uint64_t> sum;
    };

public:
    fork_count_down(Node root, std::uint64_t expected, std::int64_t slowdown_ns, Runtime& runtime,
                    ledger_of<Runtime>& account)
        : root_(root), expected_(expected), slowdown_ns_(slowdown_ns), runtime_(runtime), account_(account) {}

    // Called from outside: starts so many computations, each of which starts the next.
    void start(std::uint64_t ops) {
        ops_ = ops;
        done_ = 0;
        runtime_.post([this] { run(root_, nullptr); });
    }

private:
    void run(Node node, frame* parent) {
        while (!node.leaf()) {
            auto* mine = new frame(parent, 2, node.value());
            bench::spawn(runtime_, [this, left = node.left(), mine] { run(left, mine); });
            node = node.right();
            parent = mine;
        }
        deliver(node.value(), parent);
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
        const std::uint64_t number = done_++;
        const bool last = done_ == ops_;
        slow_down(slowdown_ns_);
        account_.complete(number + value - expected_);
        // After the last one the main thread may begin the next block.
        if (!last) bench::hand_on(runtime_, [this] { run(root_, nullptr); });
    }

    const Node root_;
    const std::uint64_t expected_;
    const std::int64_t slowdown_ns_;
    Runtime& runtime_;
    ledger_of<Runtime>& account_;
    std::uint64_t ops_ = 0, done_ = 0;  // by whichever task ends a computation
};

template <class Runtime>
inline constexpr bool forks = forker<Runtime> || coroutine_runtime<Runtime> || poster<Runtime>;

// The scenario: operation i is the whole sum, once. An operation has `units` of `unit`, which names a flag of the row.
template <class Node, class Runtime>
[[nodiscard]] report measure_forks(Node root, std::string_view unit, std::uint64_t units, const run_options& options) {
    const std::uint64_t expected = serial_fork_sum(root);
    ledger_of<Runtime> account(0, options.workers);  // outlives the runtime; computations take the slow-down
    const auto blocks_of = [&](Runtime& runtime, auto begin) {
        report result = measure_blocks(settings_of(options, 1), runtime, [&](std::uint64_t ops) {
            return run_iterations(account, ops, ops, [&](std::uint64_t) { begin(ops); });
        });
        result.measured.add_flag(std::string(unit) + "=" + std::to_string(units));
        return result;
    };
    if constexpr (coroutine_runtime<Runtime>) {
        Runtime runtime(options.workers);
        return blocks_of(runtime, [&](std::uint64_t ops) {
            runtime.run(forking_coroutines<Runtime>::block(root, ops, expected, options.slowdown_ns, account));
        });
    } else if constexpr (forker<Runtime>) {
        Runtime runtime(options.workers);
        return blocks_of(runtime, [&](std::uint64_t ops) {
            runtime.call([&](auto&... worker) {
                for (std::uint64_t i = 0; i < ops; ++i) {
                    const std::uint64_t sum = forking<Runtime>::sum(opaque(root), worker...);
                    slow_down(options.slowdown_ns);
                    account.complete(i + sum - expected);
                }
            });
        });
    } else {
        std::optional<fork_count_down<Node, Runtime>> computations;
        Runtime runtime(options.workers);
        computations.emplace(root, expected, options.slowdown_ns, runtime, account);
        return blocks_of(runtime, [&](std::uint64_t ops) { computations->start(ops); });
    }
}

}  // namespace apiary::bench
