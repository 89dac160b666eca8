// Threads outside the runtime that post at once: they line up, a start flag releases them.
#pragma once

#include <cstdint>

#include <apiary/bench/closed_loop.hpp>

namespace apiary::bench {

// A block of iterations of `tasks` tasks each, posted by threads outside. produce(p, first, line_up) runs on a thread
// of its own for each p < producers: it calls line_up() when it is ready to post, and then posts its share of
// the numbers first … first + tasks - 1.
template <class Host, class Produce>
[[nodiscard]] block run_producers(basic_ledger<Host>& account, std::uint64_t ops, std::uint64_t tasks,
                                  std::uint64_t producers, Produce produce) {
    using S = typename Host::sync;
    // The threads spin only around the start flag: a start from sleep would be late by a wake.
    const auto yield_until = [](auto condition) {
        while (!condition()) Host::yield();
    };
    block_meter<Host> meter;
    for (std::uint64_t first = 0; first < ops; first += tasks) {
        account.open(tasks);
        typename S::template atomic<std::uint64_t> ready{0};
        typename S::template atomic<bool> start{false};
        typename Host::threads threads;
        for (std::uint64_t producer = 0; producer < producers; ++producer)
            threads.start([&, producer] {
                basic_ledger<Host>::this_thread_posts();
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
        threads.join();
    }
    return meter.finished(ops, account);
}

}  // namespace apiary::bench
