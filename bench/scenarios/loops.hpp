// loop_empty, loop_for, loop_reduce, loop_scan, loop_sort: loops over indices and arrays, by the runtime's own calls.
//
// A poor result means. loop_empty: beginning and ending a loop is dear (a wake, a broadcast, a barrier). loop_for,
// loop_reduce: the range is cut too finely or, with lengths by Pareto, too coarsely. loop_scan: the array is read twice
// from memory. loop_sort: the serial sort below is slow, or the first partition or the last merge is not divided.
// Twins: tokio_baseline/src/scenarios/loop_*.rs.
//
// A runtime that has loops offers, in place of `call`:
//     template <class F> void with_loops(F&& root);         // runs root(loops) where a loop begins; waits for it
//     class loops {                                         // each of these is optional
//         void for_each(std::uint64_t n, Body body);        // body(i), 0 <= i < n
//         std::uint64_t reduce(std::uint64_t n, Map map);   // the sum of map(i), wrapping
//         void scan(const std::uint64_t* in, std::uint64_t* out, std::uint64_t n);  // inclusive sums
//         void sort(std::uint64_t* first, std::uint64_t n);  // ascending
//     };
// An operation is one loop, and its caller begins the next one when it is over. Every operation changes what it works
// on, so that an answer of the one before is a wrong one. A few words are checked after each operation, other words
// after each operation of a block, and all words after a block. All after each operation would take longer than a scan
// by two workers does, and the others may spin meanwhile: processor time outside of the wall time that it is compared
// with.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include <apiary/bench/closed_loop.hpp>

#include "scenarios/binary_forks.hpp"

namespace apiary::bench {

inline constexpr std::uint64_t loop_factor = 0x9E3779B97F4A7C15;

// In huge pages, and in usual ones.
template <class Host>
using loop_words = std::vector<std::uint64_t, typename Host::template large<std::uint64_t>>;
template <class Host>
using body_words = std::vector<std::uint64_t, typename Host::template plain<std::uint64_t>>;

// wrong(j) of a few j < n after operation i.
template <class Wrong>
[[nodiscard]] std::uint64_t wrong_at_places(std::uint64_t i, std::uint64_t n, Wrong wrong) noexcept {
    constexpr std::uint64_t places = 8;
    std::uint64_t found = 0;
    for (std::uint64_t k = i * places; k != (i + 1) * places; ++k) found |= wrong(mix(k) % n);
    return found;
}
template <class Wrong>
[[nodiscard]] std::uint64_t wrong_anywhere(std::uint64_t n, Wrong wrong) noexcept {
    std::uint64_t found = 0;
    for (std::uint64_t j = 0; j != n; ++j) found |= wrong(j);
    return found;
}

struct example_loop {
    std::uint64_t operator()(std::uint64_t i) const { return i; }
    void operator()(auto& loops) const { (void)loops; }
};
template <class R>
concept has_for_each = runtime_adapter<R> && requires(typename R::loops& l) { l.for_each(1, example_loop{}); };
template <class R>
concept has_reduce = runtime_adapter<R> && requires(typename R::loops& l) { l.reduce(1, example_loop{}); };
template <class R>
concept has_scan = runtime_adapter<R> && requires(typename R::loops& l, std::uint64_t* p) { l.scan(p, p, 1); };
template <class R>
concept has_sort = runtime_adapter<R> && requires(typename R::loops& l, std::uint64_t* p) { l.sort(p, 1); };

// What a scenario of one Work on a host is. It has prepare(loops), outside the time; run(loops); size(); and
// wrong(j): 0 if word j of the answer is right.
template <template <class Host> class Work>
class loop_of {
public:
    static constexpr bool open_loop = false;

    template <class Runtime>
    static report measure(const run_options& options) {
        Work<host<Runtime>> work(options);
        Runtime runtime(options.workers);
        return measure_blocks(settings_of(options, 1), runtime, [&](std::uint64_t ops) {
            block_meter<host<Runtime>> meter;
            runtime.with_loops([&](auto&& loops) {
                for (std::uint64_t i = 0; i < ops; ++i) {
                    work.prepare(loops);
                    meter.start();
                    work.run(loops);
                    slow_down(options.slowdown_ns);
                    const std::int64_t end = host<Runtime>::now_ns();
                    const auto wrong = [&](std::uint64_t j) { return work.wrong(j); };
                    meter.stop(end, mark(i + wrong_at_places(i, work.size(), wrong)));
                }
            });
            block b = meter.finished(ops);
            b.sum += wrong_anywhere(work.size(), [&](std::uint64_t j) { return work.wrong(j); });
            return b;
        });
    }
};

// A loop of one index for each worker, whose body adds one to a word of its own cache line.
class loop_empty {
    struct alignas(64) line {
        std::uint64_t turns = 0;
    };

public:
    static constexpr std::string_view name = "loop_empty";
    static constexpr bool open_loop = false;
    static constexpr std::array parameters{calibrated_ops};
    template <class Runtime>
    static constexpr bool expressible = has_for_each<Runtime>;

    template <class Runtime>
    static report measure(const run_options& options) {
        std::vector<line> lines(options.workers);
        Runtime runtime(options.workers);
        return measure_blocks(settings_of(options, 1), runtime, [&](std::uint64_t ops) {
            block_meter<host<Runtime>> meter;
            for (line& l : lines) l.turns = 0;
            runtime.with_loops([&](auto&& loops) {
                meter.start();
                for (std::uint64_t i = 0; i < ops; ++i) {
                    loops.for_each(lines.size(), [&lines](std::uint64_t k) { ++lines[k].turns; });
                    slow_down(options.slowdown_ns);
                }
                meter.stop(host<Runtime>::now_ns(), 0);
            });
            block b = meter.finished(ops);
            std::uint64_t wrong = 0;
            for (const line& l : lines) wrong += l.turns ^ ops;
            for (std::uint64_t i = 0; i < ops; ++i) b.sum += mark(i + wrong);
            return b;
        });
    }
};

inline constexpr std::array<std::string_view, 2> loop_lengths{"equal", "pareto"};
inline constexpr std::array loop_body_parameters{parameter{.name = "n", .standard = 100'000, .most = 1 << 28},
                                                 parameter{.name = "iterations", .standard = 10, .most = 1 << 20},
                                                 parameter{.name = "lengths", .standard = 0, .words = loop_lengths},
                                                 calibrated_ops};

// n bodies, each a chain of multiplications and additions. Lengths by Pareto have the exponent 1 and are cut at 4,096
// times the shortest: an eighth of `iterations` for the shortest, 1.16 of them in the mean.
template <class Host>
class loop_bodies {
public:
    explicit loop_bodies(const run_options& options) : lengths_(options.param("n")) {
        const std::uint64_t iterations = options.param("iterations");
        const bool pareto = options.param("lengths") == 1;
        for (std::uint64_t i = 0; i != lengths_.size(); ++i) {
            const std::uint64_t longer = std::min<std::uint64_t>((1 << 24) / ((mix(i) >> 40) + 1), 4096);
            lengths_[i] = pareto ? iterations * longer / 8 : iterations;
            std::uint64_t factor = 1, value = mix(i);
            for (std::uint64_t k = 0; k != lengths_[i]; ++k) {
                factor *= loop_factor;
                value = value * loop_factor + 1;
            }
            answer_ += value;
            step_ += factor;
        }
    }

    [[nodiscard]] std::uint64_t size() const noexcept { return lengths_.size(); }
    [[nodiscard]] std::uint64_t body(std::uint64_t i) const noexcept {
        Host::computes(lengths_[i]);
        std::uint64_t x = mix(i) + operation_;
        for (std::uint64_t k = lengths_[i]; k != 0; --k) {
            x = x * loop_factor + 1;
            asm volatile("" : "+r"(x));  // else the compiler shortens the chain
        }
        return x;
    }
    void next() noexcept { ++operation_; }
    [[nodiscard]] std::uint64_t expected(std::uint64_t i) const noexcept {
        std::uint64_t x = mix(i) + operation_;
        for (std::uint64_t k = lengths_[i]; k != 0; --k) x = x * loop_factor + 1;
        return x;
    }
    [[nodiscard]] std::uint64_t expected_sum() const noexcept { return answer_ + operation_ * step_; }

private:
    body_words<Host> lengths_;
    std::uint64_t operation_ = 0, answer_ = 0, step_ = 0;
};

template <class Host>
struct work_of_for {
    loop_bodies<Host> bodies;
    body_words<Host> out;

    explicit work_of_for(const run_options& o) : bodies(o), out(bodies.size()) {}
    void prepare(auto&) noexcept { bodies.next(); }
    template <class Loops>
    void run(Loops& loops) {
        loops.for_each(out.size(), [this](std::uint64_t i) { out[i] = bodies.body(i); });
    }
    std::uint64_t size() const noexcept { return out.size(); }
    std::uint64_t wrong(std::uint64_t j) const noexcept { return out[j] - bodies.expected(j); }
};
class loop_for : public loop_of<work_of_for> {
public:
    static constexpr std::string_view name = "loop_for";
    static constexpr std::array parameters = loop_body_parameters;
    template <class Runtime>
    static constexpr bool expressible = has_for_each<Runtime>;
};

template <class Host>
struct work_of_reduce {
    loop_bodies<Host> bodies;
    std::uint64_t sum = 0;

    explicit work_of_reduce(const run_options& o) : bodies(o) {}
    void prepare(auto&) noexcept { bodies.next(); }
    template <class Loops>
    void run(Loops& loops) {
        sum = loops.reduce(bodies.size(), [this](std::uint64_t i) { return bodies.body(i); });
    }
    static constexpr std::uint64_t size() noexcept { return 1; }
    std::uint64_t wrong(std::uint64_t) const noexcept { return sum - bodies.expected_sum(); }
};
class loop_reduce : public loop_of<work_of_reduce> {
public:
    static constexpr std::string_view name = "loop_reduce";
    static constexpr std::array parameters = loop_body_parameters;
    template <class Runtime>
    static constexpr bool expressible = has_reduce<Runtime>;
};

template <class Host>
struct work_of_scan {
    loop_words<Host> in, out;
    body_words<Host> sums;
    std::uint64_t operation = 0;

    explicit work_of_scan(const run_options& o) : in(o.param("n")), out(in.size()), sums(in.size()) {
        std::uint64_t sum = 0;
        for (std::uint64_t i = 0; i != in.size(); ++i) sums[i] = sum += in[i] = mix(i);
    }
    // Each output grows by one.
    void prepare(auto&) noexcept {
        ++in[0];
        ++operation;
    }
    template <class Loops>
    void run(Loops& loops) {
        loops.scan(in.data(), out.data(), in.size());
    }
    std::uint64_t size() const noexcept { return out.size(); }
    std::uint64_t wrong(std::uint64_t j) const noexcept { return out[j] - (sums[j] + operation); }
};
class loop_scan : public loop_of<work_of_scan> {
public:
    static constexpr std::string_view name = "loop_scan";
    static constexpr std::array parameters{parameter{.name = "n", .standard = 1 << 22, .most = 1 << 28},
                                           calibrated_ops};
    template <class Runtime>
    static constexpr bool expressible = has_scan<Runtime>;
};

template <class Host>
struct work_of_sort {
    loop_words<Host> in, all;
    body_words<Host> sorted;
    std::uint64_t operation = 0, lost = 0;

    explicit work_of_sort(const run_options& o) : in(o.param("n")), all(in.size()) {
        for (std::uint64_t i = 0; i != in.size(); ++i) in[i] = mix(i);
        sorted.assign(in.begin(), in.end());
        std::sort(sorted.begin(), sorted.end());
    }
    // By all workers: a copy by one of many takes longer than the sort does. Where the loop copies nothing, the right
    // answer of before is still there, so the copy is checked, too. A part alone that is lost makes the answer wrong.
    void prepare(auto& loops) {
        static constexpr std::uint64_t part = 4096;
        loops.for_each((all.size() + part - 1) / part, [this](std::uint64_t i) {
            std::copy_n(in.data() + i * part, std::min(part, all.size() - i * part), all.data() + i * part);
        });
        lost = wrong_at_places(operation++, size(), [this](std::uint64_t j) { return all[j] ^ in[j]; });
    }
    template <class Loops>
    void run(Loops& loops) {
        loops.sort(all.data(), all.size());
    }
    std::uint64_t size() const noexcept { return all.size(); }
    std::uint64_t wrong(std::uint64_t j) const noexcept { return lost | (all[j] ^ sorted[j]); }
};
class loop_sort : public loop_of<work_of_sort> {
public:
    static constexpr std::string_view name = "loop_sort";
    static constexpr std::array parameters{parameter{.name = "n", .standard = 1 << 20, .most = 1 << 28},
                                           calibrated_ops};
    template <class Runtime>
    static constexpr bool expressible = has_sort<Runtime> && has_for_each<Runtime>;
};

}  // namespace apiary::bench
