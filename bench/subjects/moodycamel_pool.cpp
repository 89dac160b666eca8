// Subject `moodycamel_pool`: moodycamel::ConcurrentQueue and a condition variable, as seed 003's ComputeScheduler has it:
// take without a lock; else lock, count oneself as waiting, look again, wait at most 100 ms. A post notifies, without the
// lock, when somebody is counted.
//
// As written, and so with its flaws. A notification that falls between the second look and the wait is lost, and its task
// waits for the next post or for the 100 ms. And the queue serves the longest of three producers' lists, among equals the
// youngest producer's: while tasks on both workers go on posting themselves, the last task of an older producer waits for ever
// (seen with spawn_many_remote_busy2). It has no timers, and no way to wait inside a worker: fork-join by continuation.
#include <concurrentqueue/concurrentqueue.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "scenarios/list.hpp"

namespace {

class moodycamel_pool {
public:
    static constexpr std::string_view name = "moodycamel_pool";
    // The header does not tell its version; the package does.
    static std::string version() { return APIARY_MOODYCAMEL_VERSION; }
    static constexpr bool starves = true;

    explicit moodycamel_pool(unsigned workers) {
        for (unsigned i = 0; i < workers; ++i) threads_.emplace_back([this] { work(); });
    }

    ~moodycamel_pool() {
        running_ = false;
        cv_.notify_all();
        for (auto& t : threads_) t.join();
    }
    moodycamel_pool(const moodycamel_pool&) = delete;
    moodycamel_pool& operator=(const moodycamel_pool&) = delete;

    template <class F>
    void post(F&& task) {
        queue_.enqueue(std::function<void()>(std::forward<F>(task)));
        if (waiting_.load() > 0) cv_.notify_one();
    }

private:
    void work() {
        std::function<void()> task;
        while (running_.load()) {
            if (!queue_.try_dequeue(task)) {
                std::unique_lock held(mutex_);
                ++waiting_;
                const bool found = queue_.try_dequeue(task);
                if (!found)
                    cv_.wait_for(held, std::chrono::milliseconds(100),
                                 [this] { return !running_.load() || queue_.size_approx() > 0; });
                --waiting_;
                if (!found) continue;
            }
            std::exchange(task, nullptr)();
        }
        while (queue_.try_dequeue(task)) task();
    }

    moodycamel::ConcurrentQueue<std::function<void()>> queue_;
    std::mutex mutex_;
    std::condition_variable cv_;
    std::atomic<int> waiting_{0};
    std::atomic<bool> running_{true};
    std::vector<std::thread> threads_;
};

}  // namespace

int main(int argc, char** argv) { return apiary::bench::subject_main<moodycamel_pool>(argc, argv); }
