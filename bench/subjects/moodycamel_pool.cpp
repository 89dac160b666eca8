// Subject `moodycamel_pool`: moodycamel::ConcurrentQueue and a condition variable, as in seed 003's ComputeScheduler. A
// worker takes a task without a lock. If there is none, it locks, counts itself as waiting, looks again, and waits at
// most 100 ms. A post notifies, without the lock, if a worker is counted.
//
// It is as written, and so with its flaws. A notification between the second look and the wait is lost, and its task
// waits for the next post or for the 100 ms. And the queue serves the longest of three producers' lists, and among
// equals the youngest producer's. So while tasks on both workers go on posting themselves, the last task of an older
// producer waits for ever (seen with spawn_many_remote_busy2). It has no timers, and no way to wait inside a worker:
// fork-join by continuation.
//
// The optimisations that the seed proposes are numbers to tune, each added singly to its design, as its text has them:
// bulk (a worker runs the tasks that it took, and hides them meanwhile), stealing (a queue for each worker), spins,
// pinned (worker k on processor k % processors), priorities (three queues; all posts here are normal, except those from
// outside with urgent). Its sixth, pooled coroutines, does not apply: a post of the scenarios fits into a
// std::function.
#if __has_include(<concurrentqueue/moodycamel/concurrentqueue.h>)  // Debian 13, Ubuntu 24.04
#include <concurrentqueue/moodycamel/concurrentqueue.h>
#else
#include <concurrentqueue/concurrentqueue.h>
#endif
#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
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

    static constexpr std::array tunables{
        apiary::bench::parameter{.name = "bulk", .standard = 1, .most = 32},
        apiary::bench::parameter{.name = "stealing", .standard = 0, .least = 0, .most = 1},
        apiary::bench::parameter{.name = "spins", .standard = 0, .least = 0, .most = 10'000},
        apiary::bench::parameter{.name = "priorities", .standard = 0, .least = 0, .most = 1},
        apiary::bench::parameter{.name = "urgent", .standard = 0, .least = 0, .most = 1},
        apiary::bench::parameter{.name = "pinned", .standard = 0, .least = 0, .most = 1}};
    static void tune(std::string_view which, std::uint64_t value) {
        if (which == "bulk") bulk_ = value;
        if (which == "stealing") stealing_ = value != 0;
        if (which == "spins") spins_ = value;
        if (which == "priorities") priorities_ = value != 0;
        if (which == "urgent") urgent_ = value != 0;
        if (which == "pinned") pinned_ = value != 0;
    }

    explicit moodycamel_pool(unsigned workers) : own_(stealing_ ? workers : 0) {
        for (unsigned i = 0; i < workers; ++i) {
            threads_.emplace_back([this, i] { work(i); });
            if (pinned_) pin(threads_.back(), i);
        }
    }

    ~moodycamel_pool() {
        running_ = false;
        cv_.notify_all();
        for (auto& t : threads_) t.join();
    }
    moodycamel_pool(const moodycamel_pool&) = delete;
    moodycamel_pool& operator=(const moodycamel_pool&) = delete;

    template <class F>
    void post(F&& callable) {
        (mine_ != nullptr ? *mine_ : urgent_ ? high_ : queue_).enqueue(task(std::forward<F>(callable)));
        if (waiting_.load() > 0) cv_.notify_one();
    }

private:
    using task = std::function<void()>;
    using queue = moodycamel::ConcurrentQueue<task>;

    static void pin(std::thread& t, unsigned i) {
        cpu_set_t mask{};
        CPU_SET(i % std::max(1U, std::thread::hardware_concurrency()), &mask);
        (void)::pthread_setaffinity_np(t.native_handle(), sizeof mask, &mask);
    }

    std::size_t take(std::array<task, 32>& some, unsigned me) {
        const auto from = [&](queue& q) {
            return bulk_ == 1 ? std::size_t{q.try_dequeue(some[0])} : q.try_dequeue_bulk(some.begin(), bulk_);
        };
        const bool lanes = priorities_ || urgent_;
        if (lanes)
            if (const std::size_t n = from(high_)) return n;
        for (std::size_t i = 0; i != own_.size(); ++i)  // its own first
            if (const std::size_t n = from(own_[(me + i) % own_.size()])) return n;
        if (const std::size_t n = from(queue_)) return n;
        return lanes ? from(background_) : 0;
    }
    bool something_waits() const {
        return queue_.size_approx() > 0 || (urgent_ && high_.size_approx() > 0) ||
               std::any_of(own_.begin(), own_.end(), [](const queue& q) { return q.size_approx() > 0; });
    }

    void work(unsigned me) {
        mine_ = stealing_ ? &own_[me] : &queue_;
        std::array<task, 32> some;
        while (running_.load()) {
            std::size_t n = take(some, me);
            for (std::uint64_t i = 0; n == 0 && i != spins_; ++i) {
                __builtin_ia32_pause();
                n = take(some, me);
            }
            if (n == 0) {
                std::unique_lock held(mutex_);
                ++waiting_;
                n = take(some, me);
                if (n == 0)
                    cv_.wait_for(held, std::chrono::milliseconds(100),
                                 [this] { return !running_.load() || something_waits(); });
                --waiting_;
            }
            for (std::size_t i = 0; i != n; ++i) std::exchange(some[i], nullptr)();
        }
        while (const std::size_t n = take(some, me))
            for (std::size_t i = 0; i != n; ++i) some[i]();
    }

    static inline std::uint64_t bulk_ = 1, spins_ = 0;
    static inline bool stealing_ = false, priorities_ = false, urgent_ = false, pinned_ = false;
    static inline thread_local queue* mine_ = nullptr;  // a worker's: where it posts

    queue queue_, high_, background_;
    std::vector<queue> own_;
    std::mutex mutex_;
    std::condition_variable cv_;
    std::atomic<int> waiting_{0};
    std::atomic<bool> running_{true};
    std::vector<std::thread> threads_;
};

}  // namespace

int main(int argc, char** argv) { return apiary::bench::subject_main<moodycamel_pool>(argc, argv); }
