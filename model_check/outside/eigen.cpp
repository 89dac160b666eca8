// Eigen's EventCount of libeigen3-dev, unchanged.
#include <apiary/check.hpp>

#include <eigen3/unsupported/Eigen/CXX11/ThreadPool>

#include <atomic>
#include <thread>

namespace {
// As its header says that it is to be used: announce, look again, sleep; and on the other side, tell and notify.
template <bool FenceBeforeLook>
void waits_for_the_other() {
    Eigen::MaxSizeVector<Eigen::EventCount::Waiter> waiters(1);
    waiters.resize(1);
    Eigen::EventCount sleeping(waiters);
    std::atomic<bool> predicate{false};
    std::thread notifier([&] {
        predicate.store(true, std::memory_order_release);
        sleeping.Notify(false);
    });
    sleeping.Prewait();
    if (FenceBeforeLook) std::atomic_thread_fence(std::memory_order_seq_cst);
    if (predicate.load(std::memory_order_acquire))
        sleeping.CancelWait();
    else
        sleeping.CommitWait(&waiters[0]);
    notifier.join();
}
}  // namespace

APIARY_FAILING_SCENARIO(eigen_event_count, "deadlock") { waits_for_the_other<false>(); }
APIARY_SCENARIO(eigen_event_count_with_a_fence, "eigen_event_count") { waits_for_the_other<true>(); }

// The deque of its thread pool: the owner pushes in front and takes there, others take from the back. Each leaves once.
namespace {
void pushed_and_taken(int pushed) {
    Eigen::RunQueue<int, 4> tasks;
    int left[3] = {}, stolen = 0;
    std::thread thief([&] { stolen = tasks.PopBack(); });
    for (int k = 1; k <= pushed; ++k) apiary::check(tasks.PushFront(k) == 0, "full although it is not");
    ++left[tasks.PopFront()];
    thief.join();
    ++left[stolen];
    while (const int task = tasks.PopFront()) ++left[task];
    for (int k = 1; k <= pushed; ++k) apiary::check(left[k] == 1, "lost or doubled");
}
}  // namespace
APIARY_SCENARIO(eigen_run_queue_last, "eigen_event_count") { pushed_and_taken(1); }
APIARY_SCENARIO(eigen_run_queue, "eigen_event_count") { pushed_and_taken(2); }
