// Exact driver of the hive's timers: the instructions of a call that puts a timer off, of one that makes it earlier, and
// of a cancel with a new post. A program of its own: beside other drivers it would change what g++ inlines there.
#include <array>
#include <chrono>
#include <cstdint>

#include <apiary/schedulers/hive/hive.hpp>
#include <apiary/timers/clock.hpp>

#include "exact/exact.hpp"

namespace {

using apiary::exact::must;

// No thread may wait here: it would wait for ever.
struct waking_driver {
    static constexpr std::int64_t forever = INT64_MAX;
    void wait(std::int64_t) { must(false, "the worker went to sleep"); }
    void poll() {}
    void wake() {}
};

// The clock stands still.
struct still_parts : apiary::hive_parts<apiary::real_sync> {
    using clock = apiary::manual_clock<>;
};
using still_hive = apiary::basic_hive<apiary::real_sync, waking_driver, apiary::pooled_storage<>, still_parts>;

// Calls `each` n times on the worker, with a timer and the number of the call. The timers are two minutes away: most of
// them lie in the wheel.
template <class Each>
void with_timers(std::uint64_t n, Each each) {
    still_hive h(apiary::hive_config{.io_workers = 1, .parameters = {.probe_ns = INT64_MAX}});
    std::array<apiary::delayed_handle<>, 1000> timers;
    must(h.post_micro([&] {
        for (auto& t : timers) t = h.post_delayed([] {}, std::chrono::minutes(2));
        for (std::uint64_t i = 0; i < n; ++i) each(h, timers[i % timers.size()], i);
        h.request_stop(apiary::stop_mode::discard);
    }),
         "refused");
    h.run();
}

void timer_put_off(std::uint64_t n) {
    with_timers(n, [](still_hive& h, apiary::delayed_handle<>& t, std::uint64_t i) {
        const std::chrono::nanoseconds later(120'000'000'000 + i);
        must(h.rearm(t, later) == apiary::rearm_result::rearmed, "not put off");
    });
}
void timer_made_earlier(std::uint64_t n) {
    with_timers(n, [](still_hive& h, apiary::delayed_handle<>& t, std::uint64_t i) {
        const std::chrono::nanoseconds earlier(120'000'000'000 - 1'000'000 * i);
        must(h.rearm(t, earlier) == apiary::rearm_result::rearmed, "not moved");
    });
}
void timer_cancel_and_post(std::uint64_t n) {
    with_timers(n, [](still_hive& h, apiary::delayed_handle<>& t, std::uint64_t) {
        must(t.cancel(), "not cancelled");
        t = h.post_delayed([] {}, std::chrono::minutes(2));
    });
}

constexpr std::array operations{
    apiary::exact::operation{"timer_put_off", &timer_put_off},
    apiary::exact::operation{"timer_made_earlier", &timer_made_earlier},
    apiary::exact::operation{"timer_cancel_and_post", &timer_cancel_and_post},
};

}  // namespace

int main(int argc, char** argv) { return apiary::exact::main_of(operations, argc, argv); }
