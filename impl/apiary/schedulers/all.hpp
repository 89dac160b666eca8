// all: the list of schedulers over which the contract's tests run.
//
// A new scheduler that takes posts adds its header, one line in `all_schedulers`, and one `make` below. Not here, and
// tested by tests of their own: fork_join (fork_join/pool.hpp), processes and task_graph, which take no posts, and
// coro_pool (coro_pool/coro_pool.hpp), which takes coroutines and no callables.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <tuple>
#include <utility>

#include <apiary/schedulers/global_queue/global_queue.hpp>
#include <apiary/schedulers/hive/hive.hpp>

namespace apiary {

// The hive under the contract's names: its own names tell what kind of task is posted.
struct hive_as_scheduler : hive {
    using hive::hive;
    template <class F>
    [[nodiscard]] bool post(F&& f) {
        return post_micro(std::forward<F>(f));
    }
    template <class F, std::size_t Extent>
    [[nodiscard]] std::size_t post_batch(std::span<F, Extent> batch) {
        return post_micro_batch(batch);
    }
};
static_assert(batch_posting<hive_as_scheduler> && targeted_posting<hive_as_scheduler> &&
              cancellable_posting<hive_as_scheduler> && compute_posting<hive_as_scheduler>);

using all_schedulers = std::tuple<global_queue, hive_as_scheduler>;

// One scheduler with this many workers, for small tasks.
template <class Scheduler>
std::unique_ptr<Scheduler> make_scheduler(unsigned workers);

template <>
inline std::unique_ptr<global_queue> make_scheduler(unsigned workers) {
    return std::make_unique<global_queue>(global_queue_config{.workers = workers});
}
template <>
inline std::unique_ptr<hive_as_scheduler> make_scheduler(unsigned workers) {
    return std::make_unique<hive_as_scheduler>(hive_config{.io_workers = workers});
}

}  // namespace apiary
