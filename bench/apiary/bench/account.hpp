// Accounts: what a ledger (ledger.hpp) adds its tasks' marks to, and how it knows the last one. A host (real_host.hpp)
// names one of them.
//
//     class account {
//         explicit account(unsigned threads);        // so many run the tasks; more may
//         void open(std::uint64_t tasks);            // 1 to UINT32_MAX; no task of an earlier account may still run
//         template <class Host> bool add(std::uint64_t mark) noexcept;   // true for the last task of the account
//         std::uint64_t sum() const noexcept;        // final when that was said
//     };
//
// The low half of a mark is a one, so the low half of a sum counts the tasks.
//
// Threads.  open, sum: the main thread. add: any.
// Synchronisation: the add that is the last acquires what all others released.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>

#include <apiary/sync/cache_line.hpp>

namespace apiary::bench {

// One word, one addition for each task: what every arm of a race has, in each language (bench/DECISIONS.md, D96). Each addition continues
// the release sequences of those before it.
template <class Sync>
class one_word {
public:
    explicit one_word(unsigned) {}

    void open(std::uint64_t tasks) {
        sum_.store(0, std::memory_order_relaxed);
        expected_ = static_cast<std::uint32_t>(tasks);
    }
    template <class>
    bool add(std::uint64_t mark) noexcept {
        // Read first: once this task is counted, the next account may be opened.
        const std::uint32_t expected = expected_;
        return static_cast<std::uint32_t>(sum_.fetch_add(mark, std::memory_order_acq_rel) + mark) == expected;
    }
    [[nodiscard]] std::uint64_t sum() const noexcept { return sum_.load(std::memory_order_relaxed); }

private:
    // Tasks write this,
    alignas(cache_line) typename Sync::template atomic<std::uint64_t> sum_{0};
    // and only read the rest.
    alignas(cache_line) std::uint32_t expected_ = 0;
};

// What one thread, or several that share it, have added.
template <class Sync>
struct alignas(cache_line) account_line {
    typename Sync::template atomic<std::uint64_t> sum{0};
};

// A line for each thread. Where many threads run short tasks, the one word's travels between them are a third of a task.
//
// `left` counts down, so that the last task is known:
// - A thread takes a whole batch off when the count of its line is a multiple of the batch.
// - When less than a batch for each line is left, the thread that sees it first closes the lines: it sets a bit in each
//   and takes off what no batch has. From then on each task takes one off. The closing takes one off itself, so no
//   account ends before it.
// - Accounts too small for batches, or too large for the bit, take every task off at once.
//
// Synchronisation: add releases to its line, and the closing thread changes each line with acq_rel, so it sees the tasks
// before; those after it, and the closing thread, take off with acq_rel.
template <class Sync>
class line_for_each_thread {
    using line = account_line<Sync>;

public:
    explicit line_for_each_thread(unsigned threads)
        : last_(std::bit_ceil(std::max(threads, 1U)) - 1), lines_(Sync::template create_array<line>(last_ + 2)) {}
    ~line_for_each_thread() { Sync::destroy_array(lines_, last_ + 2); }
    line_for_each_thread(const line_for_each_thread&) = delete;
    line_for_each_thread& operator=(const line_for_each_thread&) = delete;

    void open(std::uint64_t tasks) {
        const std::uint64_t lines = last_ + 1;
        // Batches of b make tasks / b shared additions, and leave up to b for each line: least for the root of tasks / lines.
        batch_ = 1;
        while (tasks < closed && batch_ * batch_ * 4 * lines <= tasks) batch_ *= 2;
        few_ = batch_ * lines;
        for (unsigned i = 0; i <= last_; ++i) lines_[i].sum.store(0, std::memory_order_relaxed);
        left().store(batch_ == 1 ? tasks : tasks + 1, std::memory_order_relaxed);
    }
    template <class Host>
    bool add(std::uint64_t mark) noexcept {
        // Read first: once this task is counted, the next account may be opened.
        const std::uint64_t batch = batch_;
        const std::uint64_t now =
            lines_[Host::thread_number() & last_].sum.fetch_add(mark, std::memory_order_release) + mark;
        if ((now & (batch - 1)) != 0 && (now & closed) == 0) [[likely]]
            return false;
        return take_off(batch == 1 || (now & closed) != 0 ? 1 : batch);
    }
    [[nodiscard]] std::uint64_t sum() const noexcept {
        std::uint64_t all = 0;
        for (unsigned i = 0; i <= last_; ++i) {
            const std::uint64_t one = lines_[i].sum.load(std::memory_order_relaxed);
            all += batch_ == 1 ? one : one & ~closed;
        }
        return all;
    }

private:
    // A bit of a line's count, which stays below it in an account with batches.
    static constexpr std::uint64_t closed = std::uint64_t{1} << 31;

    // Tasks that have run and are not taken off yet, and the closing.
    typename Sync::template atomic<std::uint64_t>& left() const noexcept { return lines_[last_ + 1].sum; }

    [[gnu::noinline]] bool take_off(std::uint64_t tasks) noexcept {
        const std::uint64_t few = few_;  // as in add
        const std::uint64_t before = left().fetch_sub(tasks, std::memory_order_acq_rel);
        // True for one thread of an account: what it takes off passes the mark.
        if (tasks != 1 && before > few && before - tasks <= few) return close(tasks);
        return before == tasks;
    }
    bool close(std::uint64_t batch) noexcept {
        std::uint64_t rest = 1;
        for (unsigned i = 0; i <= last_; ++i)
            rest += lines_[i].sum.fetch_or(closed, std::memory_order_acq_rel) & (batch - 1);
        return left().fetch_sub(rest, std::memory_order_acq_rel) == rest;
    }

    // Tasks only read these.
    alignas(cache_line) std::uint64_t batch_ = 1;  // a power of two
    std::uint64_t few_ = 0;
    const unsigned last_;
    line* const lines_;  // last_ + 1 of them, and left()
};

}  // namespace apiary::bench
