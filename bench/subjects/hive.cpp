// Subject `hive`: this project's own scheduler with N IO workers and no compute workers.
#include <chrono>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include <apiary/schedulers/hive/hive.hpp>

#include "scenarios/list.hpp"

namespace {

class hive {
public:
    static constexpr std::string_view name = "hive";
    static std::string version() { return APIARY_VERSION; }

    explicit hive(unsigned workers)
        : scheduler_(apiary::hive_config{.io_workers = workers, .compute_workers = 0}),
          worker_zero_([this] { scheduler_.run(); }) {}

    ~hive() { scheduler_.request_stop(apiary::stop_mode::drain); }

    hive(const hive&) = delete;
    hive& operator=(const hive&) = delete;

    template <class F>
    void post(F&& task) {
        apiary::bench::must_accept(scheduler_.post_micro(std::forward<F>(task)));
    }

    template <class F>
    void post_batch(std::span<F> tasks) {
        apiary::bench::must_accept(scheduler_.post_micro_batch(tasks) == tasks.size());
    }

    template <class F>
    void post_delayed(std::chrono::nanoseconds delay, F&& task) {
        apiary::bench::must_accept(static_cast<bool>(scheduler_.post_delayed(std::forward<F>(task), delay)));
    }

    apiary::bench::runtime_counters counters() const {
        return {.wakes = {}, .parks = scheduler_.parks(), .steals = scheduler_.steals()};
    }

private:
    apiary::hive scheduler_;
    std::jthread worker_zero_;  // run() blocks: the thread that calls it is IO worker 0. Joined first.
};

}  // namespace

int main(int argc, char** argv) { return apiary::bench::subject_main<hive>(argc, argv); }
