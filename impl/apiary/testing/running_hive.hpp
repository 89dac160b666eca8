// running_hive: a hive on a thread of its own, for tests.
//
// Threads. One thread constructs, stops and destroys it; any thread may use the hive itself.
#pragma once

#include <atomic>
#include <thread>

#include <apiary/schedulers/hive/hive.hpp>

namespace apiary {

// Runs until stop().
class running_hive {
public:
    explicit running_hive(const hive_config& config) : h(config), thread_([this] { h.run(); }) {}
    ~running_hive() {
        if (thread_.joinable()) stop();
    }
    stop_report stop(stop_mode how = stop_mode::drain) {
        h.request_stop(how);
        thread_.join();
        return h.report();
    }
    hive h;

private:
    std::thread thread_;
};

inline void wait_for(const std::atomic<int>& n, int value) {
    while (n.load() < value) std::this_thread::yield();
}

}  // namespace apiary
