// Exact driver of coro_pool: one worker on this thread. It counts the instructions of a fork of two coroutines and its
// join, of an awaited child, of a spawned one, and of a number through a channel with room for 64. It checks that none
// of them allocates in the steady state.
#include <array>
#include <cstdint>

#include <apiary/coroutines/channel.hpp>
#include <apiary/schedulers/coro_pool/coro_pool.hpp>

#include "exact/exact.hpp"
#include "exact/one_worker.hpp"

namespace {

using apiary::co_task;
using apiary::exact::must;
using apiary::exact::one_worker;

// Splits into `n` leaves, by halves: a fork for each leaf except the last, and two coroutines for a fork.
co_task<std::uint64_t> leaves(std::uint64_t n) {
    if (n < 2) co_return n;
    const auto [left, right] = co_await apiary::when_all(leaves(n / 2), leaves(n - n / 2));
    co_return left + right;
}
co_task<> counts_leaves(std::uint64_t n) {
    const std::uint64_t found = co_await leaves(n);
    must(found == n, "a leaf was lost");
}
void fork(std::uint64_t n) { one_worker().run(counts_leaves(n)); }

co_task<std::uint64_t> one() { co_return 1; }
co_task<> calls(std::uint64_t n) {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i != n; ++i) sum += co_await one();
    must(sum == n, "a child was lost");
}
void call(std::uint64_t n) { one_worker().run(calls(n)); }

co_task<> counts(std::uint64_t& sum) {
    ++sum;
    co_return;
}
void spawn(std::uint64_t n) {
    one_worker w;
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i != n; ++i) w.run(counts(sum));
    must(sum == n, "a root was lost");
}

using numbers = apiary::channel<int>;
co_task<> sends(numbers& to, std::uint64_t n) {
    for (std::uint64_t i = 0; i != n; ++i) (void)co_await to.send(1);
    to.close();
}
co_task<> receives(numbers& from, std::uint64_t n) {
    std::uint64_t sum = 0;
    while (auto r = co_await from.receive()) sum += static_cast<std::uint64_t>(*r.value);
    must(sum == n, "a number was lost");
}
co_task<> sends_and_receives(std::uint64_t n) {
    numbers through(64);
    co_await apiary::when_all(sends(through, n), receives(through, n));
}
void channel(std::uint64_t n) { one_worker().run(sends_and_receives(n)); }

constexpr std::array operations{
    apiary::exact::operation{"fork", &fork},
    apiary::exact::operation{"call", &call},
    apiary::exact::operation{"spawn", &spawn},
    apiary::exact::operation{"channel", &channel},
};

}  // namespace

int main(int argc, char** argv) { return apiary::exact::main_of(operations, argc, argv); }
