// The harness's own cost for a task: the ledger's account, in instructions by callgrind like the other drivers; `cost`
// gives the account and the clock read in nanoseconds. `cost` prints NAME=PICOSECONDS lines; a race keeps them in
// env.json.
//
// The clock read has no exact count: callgrind hides the kernel's vDSO, so it would count another way to the time.
#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string_view>
#include <thread>

#include <apiary/bench/host.hpp>
#include <apiary/bench/ledger.hpp>

#include "exact/exact.hpp"

namespace {

using apiary::bench::ledger;
using apiary::bench::now_ns;
using apiary::exact::must;

void complete_all(ledger& account, std::uint64_t first, std::uint64_t step, std::uint64_t n) {
    for (std::uint64_t i = first; i < n; i += step) account.complete(i);
}

void ledger_complete(std::uint64_t n) {
    ledger account(0);
    account.open(n);
    complete_all(account, 0, 1, n);
    must(account.wait() > 0, "ledger");
}

// The least of several tries, in picoseconds for each of n: a disturbance can only add time.
template <class Body>
std::uint64_t picoseconds(std::uint64_t n, Body body) {
    std::int64_t best = std::numeric_limits<std::int64_t>::max();
    for (int i = 0; i < 7; ++i) {
        const std::int64_t start = now_ns();
        body();
        best = std::min(best, now_ns() - start);
    }
    return static_cast<std::uint64_t>(best) * 1000 / n;
}

int cost() {
    constexpr std::uint64_t n = 400'000;
    const std::uint64_t expected = apiary::bench::expected_sum(n);
    apiary::exact::count("ledger_alone_ps", picoseconds(n, [] { ledger_complete(n); }));
    // Two workers at once: the line travels, as it does in a race.
    apiary::exact::count("ledger_two_threads_ps", picoseconds(n, [expected] {
                             ledger account(0);
                             account.open(n);
                             std::thread other([&] { complete_all(account, 1, 2, n); });
                             complete_all(account, 0, 2, n);
                             must(account.wait() > 0, "ledger");
                             other.join();
                             must(account.sum() == expected, "ledger");
                         }));
    apiary::exact::count("clock_read_ps", picoseconds(n, [] {
                             std::int64_t last = 0;
                             for (std::uint64_t i = 0; i < n; ++i) {
                                 const std::int64_t now = now_ns();
                                 must(now >= last, "clock");
                                 last = now;
                             }
                         }));
    return 0;
}

constexpr std::array operations{apiary::exact::operation{"ledger_complete", &ledger_complete}};

}  // namespace

int main(int argc, char** argv) {
    if (argc == 2 && std::string_view(argv[1]) == "cost") return cost();
    return apiary::exact::main_of(operations, argc, argv);
}
