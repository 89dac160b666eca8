// The ledger's account, three ways, where two threads run the tasks: one word, which ships, and sixteen by the task's
// number, one after the other or in runs of 64. Which thread runs which task is drawn, as two workers draw them from a
// queue.
//
// Nothing keeps the threads in step, so in runs of 64 they are seldom at the same word: that shows the greatest
// possible gain.
//
// `alone`: one thread runs them all. `beside_work`: a task is also busy for about 50 ns, and the figure is the whole
// task.
#include <apiary/bench/ledger.hpp>
#include <apiary/sync/cache_line.hpp>

#include <benchmark/benchmark.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "micro/micro.hpp"

namespace {

using apiary::bench::mark;
using apiary::bench::mix;

constexpr std::uint64_t tasks = 1 << 17;

struct alignas(apiary::cache_line) word {
    std::atomic<std::uint64_t> sum{0};
};

// The last of a word's tasks takes one off the words that are left.
template <std::uint64_t Words, std::uint64_t Run>
struct account {
    std::array<word, Words> words;
    alignas(apiary::cache_line) std::atomic<std::uint64_t> left{Words};
    std::uint64_t each = tasks / Words;

    void complete(std::uint64_t i) noexcept {
        const std::uint64_t m = mark(i);
        if (static_cast<std::uint32_t>(words[i / Run % Words].sum.fetch_add(m, std::memory_order_release) + m) == each)
            [[unlikely]]
            left.fetch_sub(1, std::memory_order_acq_rel);
    }
};

// The numbers of each thread.
const std::array<std::vector<std::uint64_t>, 2>& drawn() {
    static const auto numbers = [] {
        std::array<std::vector<std::uint64_t>, 2> all;
        for (std::uint64_t i = 0; i != tasks; ++i) all[mix(~i) & 1].push_back(i);
        return all;
    }();
    return numbers;
}

template <class Account>
void run(Account& a, const std::vector<std::uint64_t>& numbers, std::int64_t rounds) {
    for (const std::uint64_t i : numbers) {
        for (std::int64_t n = 0; n != rounds; ++n) asm volatile("" : : "r"(n));
        a.complete(i);
    }
}

template <class Account>
void alone(benchmark::State& state) {
    for (auto _ : state) {
        Account a;
        run(a, drawn()[0], 0);
        run(a, drawn()[1], 0);
        apiary::micro::must(a.left == 0, "a task was lost");
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(tasks));
}

template <class Account, std::int64_t Rounds>
void two_threads(benchmark::State& state) {
    for (auto _ : state) {
        Account a;
        const auto& numbers = drawn();
        state.SetIterationTime(
            apiary::micro::seconds_of_both([&] { run(a, numbers[0], Rounds); }, [&] { run(a, numbers[1], Rounds); }));
        apiary::micro::must(a.left == 0, "a task was lost");
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(tasks));
}

using one_word = account<1, 1>;
using striped = account<16, 1>;
using in_runs = account<16, 64>;

BENCHMARK(alone<one_word>)->Name("ledger/alone/one_word");
BENCHMARK(alone<striped>)->Name("ledger/alone/16_words");
BENCHMARK(alone<in_runs>)->Name("ledger/alone/16_words_in_runs_of_64");
BENCHMARK(two_threads<one_word, 0>)->Name("ledger/two_threads/one_word")->UseManualTime();
BENCHMARK(two_threads<striped, 0>)->Name("ledger/two_threads/16_words")->UseManualTime();
BENCHMARK(two_threads<in_runs, 0>)->Name("ledger/two_threads/16_words_in_runs_of_64")->UseManualTime();
BENCHMARK(two_threads<one_word, 150>)->Name("ledger/beside_work/one_word")->UseManualTime();
BENCHMARK(two_threads<striped, 150>)->Name("ledger/beside_work/16_words")->UseManualTime();
BENCHMARK(two_threads<in_runs, 150>)->Name("ledger/beside_work/16_words_in_runs_of_64")->UseManualTime();

}  // namespace

BENCHMARK_MAIN();
