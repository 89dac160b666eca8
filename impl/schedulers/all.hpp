// THE list of schedulers: the contract's tests run over it.
//
// A new scheduler adds its header, one line in `all_schedulers`, and one `make` below.
#pragma once

#include <memory>
#include <tuple>

#include <apiary/schedulers/global_queue/global_queue.hpp>
#include <apiary/schedulers/hive/hive.hpp>

namespace apiary {

using all_schedulers = std::tuple<global_queue, hive>;

// One scheduler with so many workers for small tasks.
template <class Scheduler>
std::unique_ptr<Scheduler> make_scheduler(unsigned workers);

template <>
inline std::unique_ptr<global_queue> make_scheduler(unsigned workers) {
    return std::make_unique<global_queue>(global_queue_config{.workers = workers});
}
template <>
inline std::unique_ptr<hive> make_scheduler(unsigned workers) {
    return std::make_unique<hive>(hive_config{.io_workers = workers});
}

}  // namespace apiary
