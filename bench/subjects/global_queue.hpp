// The adapter of global_queue on a host (apiary/bench/real_host.hpp): one mutex, one queue, three condition variables.
// The honest floor: the scheduler that anybody writes in an hour. It has no timers.
//
// Fork-join: a task_scope per node, whose wait runs the tasks below it. The root is a post, and the main thread blocks
// in wait_idle, which runs no task: the N workers stay N.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <apiary/bench/adapter.hpp>
#include <apiary/schedulers/global_queue/global_queue.hpp>

namespace apiary::bench {

template <class Host>
class global_queue_adapter {
    using scheduler = basic_global_queue<typename Host::sync>;

public:
    using host = Host;
    static constexpr std::string_view name = "global_queue";
    static std::string version() { return APIARY_VERSION; }

    explicit global_queue_adapter(unsigned workers) : scheduler_(global_queue_config{.workers = workers}) {
        worker_zero_.start([this] { scheduler_.run(); });  // run() blocks
        running_ = &scheduler_;
    }
    ~global_queue_adapter() {
        scheduler_.request_stop();
        worker_zero_.join();
    }
    global_queue_adapter(const global_queue_adapter&) = delete;
    global_queue_adapter& operator=(const global_queue_adapter&) = delete;

    template <class F>
    void post(F&& task) {
        must_accept(scheduler_.post(std::forward<F>(task)));
    }

    template <class F>
    void repost(F&& task) {
        post(std::forward<F>(task));
    }

    template <class F>
    void post_batch(std::span<F> tasks) {
        must_accept(scheduler_.post_batch(tasks) == tasks.size());
    }

    template <class F>
    void call(F&& root) {
        post(std::forward<F>(root));
        scheduler_.wait_idle();
    }

    // Belongs to the only adapter that exists at a time.
    class scope {
    public:
        template <class F>
        void run(F&& task) {
            must_accept(scope_.run(std::forward<F>(task)));
        }
        void wait() { scope_.wait(); }

    private:
        typename scheduler::task_scope scope_{*running_};
    };

private:
    static inline scheduler* running_ = nullptr;
    scheduler scheduler_;
    typename Host::threads worker_zero_;
};

}  // namespace apiary::bench
