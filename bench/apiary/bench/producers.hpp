// Threads outside the runtime that post at once: they line up, a start flag releases them.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include <apiary/bench/closed_loop.hpp>

namespace apiary::bench {

// A block of iterations of `tasks` tasks each, posted by threads outside. produce(p, first, line_up) runs on a thread
// of its own for each p < producers: it calls line_up() when it is ready to post, and then posts its share of
// the numbers first … first + tasks - 1.
template <class Produce>
[[nodiscard]] block run_producers(ledger& account, std::uint64_t ops, std::uint64_t tasks, std::uint64_t producers,
                                  Produce produce) {
    // The threads spin only around the start flag: a start from sleep would be late by a wake.
    const auto yield_until = [](auto condition) {
        while (!condition()) std::this_thread::yield();
    };
    block_meter meter;
    for (std::uint64_t first = 0; first < ops; first += tasks) {
        account.open(tasks);
        std::atomic<std::uint64_t> ready{0};
        std::atomic<bool> start{false};
        std::vector<std::jthread> threads;
        for (std::uint64_t producer = 0; producer < producers; ++producer)
            threads.emplace_back([&, producer] {
                ledger::this_thread_posts();
                produce(producer, first, [&] {
                    ready.fetch_add(1, std::memory_order_release);
                    yield_until([&] { return start.load(std::memory_order_acquire); });
                });
            });
        yield_until([&] { return ready.load(std::memory_order_acquire) == producers; });
        meter.start();
        start.store(true, std::memory_order_release);
        const std::int64_t end = account.wait();
        meter.stop(end, account.sum());
    }
    return meter.finished(ops, account);
}

}  // namespace apiary::bench
