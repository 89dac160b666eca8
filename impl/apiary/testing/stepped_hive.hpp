// stepped_hive: the workers of a hive on a test's own thread, with a manual clock, drivers that never block, and
// hooks at the places where other threads would act in a running hive.
//
// Threads. One thread uses everything. A worker's run() returns after a stop, or when the worker has been detached.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <apiary/schedulers/hive/hive_core.hpp>
#include <apiary/tasks/task_storage.hpp>
#include <apiary/testing/fake_driver.hpp>
#include <apiary/timers/clock.hpp>

namespace apiary {

struct still_parts : hive_parts<real_sync> {
    using clock = manual_clock<>;
};
struct still_half_stealing_parts : half_stealing_hive_parts<real_sync> {
    using clock = manual_clock<>;
};

struct scripted_driver : fake_driver<manual_clock<>> {
    using fake_driver::fake_driver;
    void poll() {
        fake_driver::poll();
        if (on_poll) on_poll();
    }
    void wait(std::int64_t deadline_ns) {
        if (const auto act = std::exchange(on_wait, {})) act();
        fake_driver::wait(deadline_ns);
    }
    std::function<void()> on_poll, on_wait;  // on_poll: at every poll; on_wait: once, at the next wait
};

// Makes tasks that note their names.
class still_script {
public:
    using storage = heap_storage<real_sync>;
    template <class Parts>
    using core_on = hive_core<real_sync, scripted_driver, storage, Parts>;
    using core_type = core_on<still_parts>;
    using task_type = core_type::task_type;

    template <class Body>
    task_type* doing(std::string name, Body body) {
        return storage::make([this, name, body] {
            log.emplace_back(name);
            body();
        });
    }
    task_type* noting(const char* name, std::int64_t deadline_ns = 0) {
        task_type* t = doing(name, [] {});
        t->deadline_ns = deadline_ns;
        return t;
    }
    template <class Hive>
    static task_type* stopping(Hive& h) {
        return storage::make([&h] { h.request_stop(stop_mode::drain); });
    }
    std::vector<std::string> log;
};

}  // namespace apiary
