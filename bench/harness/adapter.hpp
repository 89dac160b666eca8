// What a runtime must offer to be raced, and what it may offer besides.
//
// An adapter is a small class in bench/subjects/, one per runtime:
//
//     struct adapter {
//         static constexpr std::string_view name = "…";   // as in --version and the rows
//         static std::string version();                   // of the runtime; never empty
//         explicit adapter(unsigned workers);              // starts `workers` threads that execute tasks
//         ~adapter();                                      // stops and joins them
//         template <class F> void post(F&& task);         // any thread; must not drop the task
//         // optional:
//         template <class F> void post_batch(std::span<F> tasks);  // moves from the elements
//         template <class F> void post_delayed(std::chrono::nanoseconds delay, F&& task);
//         runtime_counters counters() const;               // since the runtime was made
//     };
//
// A scenario that needs what the adapter lacks is `unsupported`; nothing is approximated.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <apiary/bench/ledger.hpp>

namespace apiary::bench {

struct runtime_counters {
    std::optional<std::uint64_t> wakes, parks, steals;
};

// Stands for the tasks of the scenarios: a pointer and a number, trivially copyable.
struct example_task {
    ledger* account;
    std::uint64_t number;
    void operator()() const { account->complete(number); }
};

template <class R>
concept runtime_adapter = std::constructible_from<R, unsigned> && requires(R& r, example_task t) {
    { R::name } -> std::convertible_to<std::string_view>;
    { R::version() } -> std::convertible_to<std::string>;
    r.post(t);
};

template <class R>
concept batch_poster = runtime_adapter<R> && requires(R& r, std::span<example_task> tasks) { r.post_batch(tasks); };

template <class R>
concept delayed_poster =
    runtime_adapter<R> && requires(R& r, std::chrono::nanoseconds delay, example_task t) { r.post_delayed(delay, t); };

template <class R>
concept counting_runtime = requires(const R& r) {
    { r.counters() } -> std::same_as<runtime_counters>;
};

// For an adapter whose runtime refused a task: the block could never end, so the run ends here, as a crash.
inline void must_accept(bool accepted) {
    if (accepted) [[likely]]
        return;
    std::fputs("the runtime refused a task although nobody asked it to stop\n", stderr);
    std::abort();
}

}  // namespace apiary::bench
