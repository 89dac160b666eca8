// Five subjects that must be found out, one program for each kind of sabotage: an honest runtime (global_queue) with one
// defect.
//
//   skip    loses every millionth task: a block that loses one never ends, and the run is a hang
//   twice   runs every thousandth task twice: the block ends before its last task, and the sum is wrong
//   sleep   sleeps 60 ms in every 12,000 posts: latency counts from the intended time, so two posts in a hundred are
//           late, and p99 shows it
//   within  runs each task in the call that posts it: the last of a block runs on the poster's thread, and the
//           harness says so
//   shift   writes a histogram one bucket too low: its last bucket does not hold the row's maximum
//
// tests/subject_smoke_test.py holds each to these statements.
#include <cstdint>
#include <string>
#include <thread>
#include <utility>

#include <apiary/schedulers/global_queue/global_queue.hpp>

#include "scenarios/list.hpp"

#include "sabotage.hpp"

namespace {

class spoilt {
public:
    inline static const std::string_view& name = kind_name;
    static std::string version() { return "0"; }

    explicit spoilt(unsigned workers)
        : scheduler_(apiary::global_queue_config{.workers = workers}), worker_zero_([this] { scheduler_.run(); }) {}
    ~spoilt() { scheduler_.request_stop(); }
    spoilt(const spoilt&) = delete;
    spoilt& operator=(const spoilt&) = delete;

    // One poster and one worker: the counts need no lock.
    template <class F>
    void post(F&& task) {
        using namespace apiary::bench;
        const std::uint64_t number = ++posted_;
        if (kind == sabotage::within) return task();
        if (kind == sabotage::skip && number % 1'000'000 == 0) return;
        if (kind == sabotage::twice && number % 1000 == 0) must_accept(scheduler_.post(task));
        if (kind != sabotage::sleep) return must_accept(scheduler_.post(std::forward<F>(task)));
        // Counts the plan's posts, not the clock: the sleep comes after the discarded posts, even if the machine stood
        // still.
        must_accept(scheduler_.post([pauses = number % 12'000 == 4'000, task = std::forward<F>(task)]() mutable {
            if (pauses) sleep_until_ns(now_ns() + 60'000'000);
            task();
        }));
    }

private:
    std::uint64_t posted_ = 0;
    apiary::global_queue scheduler_;
    std::jthread worker_zero_;
};

// One bucket lower in the file only: the row keeps the measured values.
apiary::bench::report shifted(const apiary::bench::run_options& options) {
    using apiary::bench::histogram;
    auto result = apiary::bench::post_latency::measure<spoilt>(options);
    histogram lower;
    for (const histogram::bucket& b : result.latency.filled()) lower.record(b.lo == 0 ? 0 : b.lo - 1, b.count);
    result.latency = lower;
    return result;
}

}  // namespace

int main(int argc, char** argv) {
    using namespace apiary::bench;
    const std::array scenarios{
        entry_of<post_throughput, spoilt>(),
        scenario_entry{post_latency::name, true, post_latency::parameters,
                       kind == sabotage::shift ? &shifted : &post_latency::measure<spoilt>},
    };
    return run_subject({kind_name, spoilt::version(), scenarios}, argc, argv);
}
