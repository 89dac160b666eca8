// tiny_pool: a mutex, a condition variable and a queue; the scheduler of a project outside this tree.
//
// Threads.  post: any thread. The destructor: one thread, after the last post; it runs what is queued, and joins.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

class tiny_pool {
public:
    explicit tiny_pool(unsigned workers) {
        for (unsigned i = 0; i < workers; ++i) threads_.emplace_back([this] { work(); });
    }
    ~tiny_pool() {
        {
            std::lock_guard held(mutex_);
            stopping_ = true;
        }
        changed_.notify_all();
        for (auto& thread : threads_) thread.join();
    }
    tiny_pool(const tiny_pool&) = delete;
    tiny_pool& operator=(const tiny_pool&) = delete;

    void post(std::function<void()> task) {
        {
            std::lock_guard held(mutex_);
            tasks_.push_back(std::move(task));
        }
        changed_.notify_one();
    }

private:
    void work() {
        std::unique_lock held(mutex_);
        for (;;) {
            changed_.wait(held, [this] { return stopping_ || !tasks_.empty(); });
            if (tasks_.empty()) return;
            auto task = std::move(tasks_.front());
            tasks_.pop_front();
            held.unlock();
            task();
            held.lock();
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> tasks_;
    bool stopping_ = false;
    std::vector<std::thread> threads_;
};
