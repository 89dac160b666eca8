// The seed's main program: 100 computations of sin · cos, spawned from main, on four workers. It sleeps for five
// seconds and hopes; here the stop drains, and the report says what ran.
#include <apiary/schedulers/coro_pool/coro_pool.hpp>

#include <atomic>
#include <cmath>
#include <cstdio>

namespace {

apiary::co_task<> compute(int id, std::atomic<double>& largest) {
    double result = 0;
    for (int i = 0; i < 10'000; ++i) result += std::sin(i + id) * std::cos(i + id);
    double seen = largest;
    while (result > seen && !largest.compare_exchange_weak(seen, result)) {
    }
    co_return;
}

}  // namespace

int main() {
    apiary::coro_pool pool({.workers = 4});
    pool.start();
    std::atomic<double> largest = -1e9;
    for (int id = 0; id < 100; ++id)
        if (!pool.spawn(compute(id, largest))) return 1;
    pool.stop();
    const apiary::coro_report report = pool.report();
    std::printf("%llu of 100 computations have run, the largest sum is %.3f\n",
                static_cast<unsigned long long>(report.run), largest.load());
    return report.run == 100 && report.living == 0 ? 0 : 1;
}
