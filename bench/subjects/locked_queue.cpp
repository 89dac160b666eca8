// Subject `locked_queue`: one mutex, one condition variable, one deque of std::function. The honest floor:
// what anybody writes in an hour. It has no timers.
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "scenarios/list.hpp"

namespace {

class locked_queue {
public:
    static constexpr std::string_view name = "locked_queue";
    static std::string version() { return APIARY_VERSION; }

    explicit locked_queue(unsigned workers) {
        for (unsigned i = 0; i < workers; ++i) workers_.emplace_back([this] { work(); });
    }

    // Runs what is left, then joins the workers.
    ~locked_queue() {
        {
            const std::lock_guard lock(mutex_);
            stopping_ = true;
        }
        work_or_stop_.notify_all();
    }

    locked_queue(const locked_queue&) = delete;
    locked_queue& operator=(const locked_queue&) = delete;

    template <class F>
    void post(F&& task) {
        {
            const std::lock_guard lock(mutex_);
            tasks_.emplace_back(std::forward<F>(task));
        }
        work_or_stop_.notify_one();
    }

private:
    void work() {
        for (;;) {
            std::unique_lock lock(mutex_);
            work_or_stop_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
            if (tasks_.empty()) return;
            const std::function<void()> task = std::move(tasks_.front());
            tasks_.pop_front();
            lock.unlock();
            task();
        }
    }

    std::mutex mutex_;
    std::condition_variable work_or_stop_;
    std::deque<std::function<void()>> tasks_;
    bool stopping_ = false;
    std::vector<std::jthread> workers_;  // last: joined before the members above go
};

}  // namespace

int main(int argc, char** argv) { return apiary::bench::subject_main<locked_queue>(argc, argv); }
