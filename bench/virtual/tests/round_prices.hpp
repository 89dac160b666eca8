// Prices that are easy to add up by hand.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <apiary/virtual/virtual_sync.hpp>

namespace apiary::virt::test {

constexpr picoseconds ns = 1000;

inline prices round_prices() {
    prices p;
    p.cluster = 1024;
    p.hit = p.cell_hit = 1 * ns;
    p.change_hit = 5 * ns;
    p.transfer = p.far_transfer = 100 * ns;
    p.clean_copy = 50 * ns;
    p.upgrade = 100 * ns;
    p.cold = 10 * ns;
    p.copy_occupies = 20 * ns;
    p.fence = 8 * ns;
    p.store_buffer = 1000 * ns;
    p.relax = 20 * ns;
    p.yield = 250 * ns;
    p.barrier = 3000 * ns;
    p.barrier_interrupt = 500 * ns;
    p.futex_wait = 400 * ns;
    p.futex_wake = 600 * ns;
    p.futex_wake_nobody = 150 * ns;
    p.wake_latency = 8000 * ns;
    p.timer_slack = 50'000 * ns;
    return p;
}

struct outcome {
    double ns = 0;  // at the end of the last thread
    machine::counts counts;
    std::vector<moves::row> table;
};

// Each body on a processor of its own.
inline outcome run(const std::vector<std::function<void()>>& bodies, const prices& p = round_prices()) {
    machine m(p, static_cast<unsigned>(bodies.size()));
    for (std::size_t i = 0; i != bodies.size(); ++i) m.start("t" + std::to_string(i), bodies[i]);
    m.run();
    return {static_cast<double>(m.now()) / ns, m.counted(), m.moved().table()};
}
inline outcome run_each(unsigned n, const std::function<void(unsigned)>& body, const prices& p = round_prices()) {
    std::vector<std::function<void()>> bodies;
    for (unsigned i = 0; i != n; ++i) bodies.emplace_back([&body, i] { body(i); });
    return run(bodies, p);
}
inline double now() { return static_cast<double>(machine::current()->now()) / ns; }

}  // namespace apiary::virt::test
