// matmul: C += A·B by halving in each direction, four tasks, a join, four more; leaves of 32×32.
//
// Tasks of about ten microseconds with shared data: a poor result means bad locality or idle workers at the joins.
// Twin: tokio_baseline/src/scenarios/matmul.rs.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <apiary/bench/huge_pages.hpp>

#include "scenarios/tree_tasks.hpp"

namespace apiary::bench {

// The three matrices, row-major, and their expected answer.
class matrices {
public:
    static constexpr std::uint32_t leaf = 32;

    explicit matrices(std::uint32_t n) : n_(n), a_(squared(n)), b_(squared(n)), c_(squared(n)) {
        for (std::uint32_t i = 0; i < n; ++i)
            for (std::uint32_t j = 0; j < n; ++j) {
                a_[at(i, j)] = (i + 2 * j) % 7;
                b_[at(i, j)] = (3 * i + j) % 5;
            }
    }

    // A square block of each, by its upper left corner: C[i,j] += A[i,k]·B[k,j].
    struct product {
        std::uint32_t i, j, k, size;

        // The part of a phase (0, 1) with the number q = 0 … 3.
        [[nodiscard]] product part(std::uint32_t phase, std::uint32_t q) const noexcept {
            const std::uint32_t half = size / 2;
            return {i + q / 2 * half, j + q % 2 * half, k + phase * half, half};
        }
    };

    // Precondition: p.size is `leaf`. Out of line, so that every runtime runs the same code of it. The constant size
    // leaves no inner loop: the place that the linker gave that loop decided whether a product of 512 took 21 or 28 ms.
    [[gnu::noinline]] void multiply_leaf(const product p) noexcept {
        const std::size_t n = n_;
        std::uint32_t* const c = &c_[at(p.i, p.j)];
        const std::uint32_t* const a = &a_[at(p.i, p.k)];
        const std::uint32_t* const b = &b_[at(p.k, p.j)];
        for (std::size_t i = 0; i < leaf; ++i)
            for (std::size_t k = 0; k < leaf; ++k) add_row(c + i * n, a[i * n + k], b + k * n);
    }

    // The root's first step, on its own thread: it clears C, then reads the clock. If the main thread cleared C, a
    // worker on another processor would fetch C from that thread's cache, and a runtime whose root is on the main
    // thread would not.
    product begin() noexcept {
        c_.assign(c_.size(), 0);
        begun_ns_ = now_ns();
        return {0, 0, 0, n_};
    }
    [[nodiscard]] std::int64_t begun_ns() const noexcept { return begun_ns_; }

    // Σ u_i·v_j·C[i][j]
    [[nodiscard]] std::uint64_t answer() const noexcept {
        std::uint64_t sum = 0;
        for (std::uint32_t i = 0; i < n_; ++i) {
            std::uint64_t row = 0;
            for (std::uint32_t j = 0; j < n_; ++j) row += mix(n_ + std::uint64_t{j}) * c_[at(i, j)];
            sum += mix(i) * row;
        }
        return sum;
    }

    // The same without C: (uA)(Bv). No entry of C exceeds 32 bits.
    [[nodiscard]] std::uint64_t expected() const noexcept {
        std::uint64_t sum = 0;
        for (std::uint32_t k = 0; k < n_; ++k) {
            std::uint64_t ua = 0, bv = 0;
            for (std::uint32_t i = 0; i < n_; ++i) {
                ua += mix(i) * a_[at(i, k)];
                bv += mix(n_ + std::uint64_t{i}) * b_[at(k, i)];
            }
            sum += ua * bv;
        }
        return sum;
    }

private:
    // c += a·b. These are parameters, because g++ heeds __restrict there; __restrict says the same as the types of the
    // twins.
    static void add_row(std::uint32_t* __restrict c, std::uint32_t a, const std::uint32_t* __restrict b) noexcept {
        for (std::uint32_t j = 0; j < leaf; ++j) c[j] += a * b[j];
    }
    static std::size_t squared(std::uint32_t n) { return std::size_t{n} * n; }
    [[nodiscard]] std::size_t at(std::uint32_t i, std::uint32_t j) const noexcept { return std::size_t{i} * n_ + j; }

    std::uint32_t n_;
    std::int64_t begun_ns_ = 0;
    std::vector<std::uint32_t, huge_pages<std::uint32_t>> a_, b_, c_;
};

class matmul {
    using product = matrices::product;

public:
    static constexpr std::string_view name = "matmul";
    static constexpr bool open_loop = false;
    static constexpr std::array parameters{
        parameter{.name = "n", .standard = 512, .least = matrices::leaf, .most = 8192}, calibrated_ops};
    template <class Runtime>
    static constexpr bool expressible = fork_join<Runtime>;

    template <class Runtime>
    static report measure(const run_options& options) {
        const auto n = static_cast<std::uint32_t>(options.param("n"));
        if (!std::has_single_bit(n))
            throw bad_arguments("--param n=" + std::to_string(n) + " is not 32 times a power of two");
        matrices all(n);
        const std::uint64_t expected = all.expected();
        ledger account(options.slowdown_ns);
        ledger end(0);  // says when an operation has ended; both outlive the runtime
        std::optional<in_pieces<Runtime>> pieces;
        Runtime runtime(options.workers);
        if constexpr (!joins<Runtime>) pieces.emplace(all, account, end, runtime);
        return measure_blocks(settings_of(options, 1), runtime, [&](std::uint64_t ops) {
            block_meter meter;
            for (std::uint64_t i = 0; i < ops; ++i) {
                end.open(1);
                meter.start();
                if constexpr (coroutine_runtime<Runtime>)
                    runtime.run(coroutine_root<Runtime>(all, account, end));
                else if constexpr (forker_by_halves<Runtime>)
                    runtime.call([&](auto&... worker) {
                        by_halves<Runtime>(all, account, all.begin(), worker...);
                        end.complete(0);
                    });
                else if constexpr (joiner<Runtime>)
                    runtime.call([&] {
                        join<Runtime>(all, account, all.begin());
                        end.complete(0);
                    });
                else
                    pieces->start();
                const std::int64_t ended = end.wait();
                meter.began(all.begun_ns());
                meter.stop(ended, mark(i + all.answer() - expected));
            }
            return meter.finished(ops);
        });
    }

private:
    template <class Runtime>
    static constexpr bool joins = joiner<Runtime> || coroutine_runtime<Runtime> || forker_by_halves<Runtime>;

    template <forker_by_halves Runtime, class... Worker>
    static void by_halves(matrices& all, const ledger& account, const product& p, Worker&... worker) {
        if (p.size == matrices::leaf) {
            account.slow_down();
            return all.multiply_leaf(p);
        }
        for (std::uint32_t phase = 0; phase < 2; ++phase) {
            const auto half = [&, phase](std::uint32_t first) {
                return [&, phase, first](Worker&... u) {
                    const auto part = [&, phase](std::uint32_t q) {
                        return [&all, &account, of = p.part(phase, q)](Worker&... v) {
                            by_halves<Runtime>(all, account, of, v...);
                        };
                    };
                    Runtime::fork_join(u..., part(first), part(first + 1));
                };
            };
            Runtime::fork_join(worker..., half(0), half(2));
        }
    }

    template <joiner Runtime>
    static void join(matrices& all, const ledger& account, const product& p) {
        if (p.size == matrices::leaf) {
            account.slow_down();
            return all.multiply_leaf(p);
        }
        for (std::uint32_t phase = 0; phase < 2; ++phase) {
            typename Runtime::scope parts;
            for (std::uint32_t q = 0; q < 3; ++q)
                parts.run([&all, &account, part = p.part(phase, q)] { join<Runtime>(all, account, part); });
            join<Runtime>(all, account, p.part(phase, 3));
            parts.wait();
        }
    }

    template <coroutine_runtime Runtime>
    static typename Runtime::template task<void> multiply(matrices& all, const ledger& account, product p) {
        if (p.size == matrices::leaf) {
            account.slow_down();
            all.multiply_leaf(p);
            co_return;
        }
        for (std::uint32_t phase = 0; phase < 2; ++phase) {
            typename Runtime::branches parts(co_await Runtime::this_task());
            for (std::uint32_t q = 0; q < 3; ++q) parts.fork(multiply<Runtime>(all, account, p.part(phase, q)));
            co_await multiply<Runtime>(all, account, p.part(phase, 3));
            co_await parts.join();
        }
    }
    template <coroutine_runtime Runtime>
    static typename Runtime::template task<void> coroutine_root(matrices& all, const ledger& account, ledger& end) {
        co_await multiply<Runtime>(all, account, all.begin());
        end.complete(0);
    }

    // Continuation counting: the thread that ends the last part of a phase goes on with the next phase, or with the
    // parent. pending (acq_rel) hands it the parts' writes to C.
    template <class Runtime>
    class in_pieces {
        struct frame {
            frame* parent;
            product whole;
            std::uint32_t phase = 0;
            std::atomic<std::uint32_t> pending{4};
        };

    public:
        in_pieces(matrices& all, const ledger& account, ledger& end, Runtime& runtime)
            : all_(all), account_(account), end_(end), runtime_(runtime) {}

        void start() {
            runtime_.post([this] { run(all_.begin(), nullptr); });
        }

    private:
        void run(product p, frame* parent) {
            while (p.size != matrices::leaf) {
                parent = new frame{parent, p};
                p = spawn_three(parent);
            }
            account_.slow_down();
            all_.multiply_leaf(p);
            deliver(parent);
        }

        // Returns the fourth part.
        product spawn_three(frame* of) {
            const product whole = of->whole;
            const std::uint32_t phase = of->phase;
            for (std::uint32_t q = 0; q < 3; ++q)
                bench::spawn(runtime_, [this, part = whole.part(phase, q), of] { run(part, of); });
            return whole.part(phase, 3);
        }

        void deliver(frame* to) {
            while (to != nullptr) {
                if (to->pending.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
                if (to->phase == 0) {
                    to->phase = 1;
                    to->pending.store(4, std::memory_order_relaxed);
                    return run(spawn_three(to), to);
                }
                frame* const done = to;
                to = to->parent;
                delete done;
            }
            end_.complete(0);
        }

        matrices& all_;
        const ledger& account_;
        ledger& end_;
        Runtime& runtime_;
    };
};

}  // namespace apiary::bench
