// one_worker: a coroutine pool of one worker on the calling thread, for the exact drivers.
#pragma once

#include <cstdint>
#include <utility>

#include <apiary/schedulers/coro_pool/coro_pool.hpp>

#include "exact/exact.hpp"

namespace apiary::exact {

class one_worker {
public:
    using core = co_core<real_sync>;

    one_worker() { core_.enter_thread(0); }
    ~one_worker() {
        core_.request_stop(co_stop::drain);
        real_sync::set_current<core::context>(nullptr);
    }
    core& pool() { return core_; }
    void run(co_task<> root) {
        must(core_.spawn(std::move(root)), "a spawn was refused");
        go_on();
    }
    void go_on() {
        while (core_.worker(0).turn_once()) {
        }
    }

private:
    // The counts may not depend on time.
    core core_{1, worker_parameters{.probe_ns = INT64_MAX, .looks_before_sleep = 0, .naps = 0}};
};

}  // namespace apiary::exact
