// Subject `global_queue`: one mutex, one queue, three condition variables. The honest floor: the scheduler that anybody
// writes in an hour. It has no timers.
//
// Fork-join: a task_scope per node, whose wait runs the tasks below it. The root is a post, and the main thread blocks
// in wait_idle, which runs no task: the N workers stay N.
#include <span>
#include <string>
#include <thread>
#include <utility>

#include <apiary/schedulers/global_queue/global_queue.hpp>

#include "scenarios/list.hpp"

namespace {

class global_queue {
public:
    static constexpr std::string_view name = "global_queue";
    static std::string version() { return APIARY_VERSION; }

    explicit global_queue(unsigned workers)
        : scheduler_(apiary::global_queue_config{.workers = workers}), worker_zero_([this] { scheduler_.run(); }) {
        running_ = &scheduler_;
    }
    ~global_queue() { scheduler_.request_stop(); }
    global_queue(const global_queue&) = delete;
    global_queue& operator=(const global_queue&) = delete;

    template <class F>
    void post(F&& task) {
        apiary::bench::must_accept(scheduler_.post(std::forward<F>(task)));
    }

    template <class F>
    void post_batch(std::span<F> tasks) {
        apiary::bench::must_accept(scheduler_.post_batch(tasks) == tasks.size());
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
            apiary::bench::must_accept(scope_.run(std::forward<F>(task)));
        }
        void wait() { scope_.wait(); }

    private:
        apiary::global_queue::task_scope scope_{*running_};
    };

private:
    static inline apiary::global_queue* running_ = nullptr;
    apiary::global_queue scheduler_;
    std::jthread worker_zero_;  // run() blocks. Joined before the scheduler goes.
};

}  // namespace

int main(int argc, char** argv) { return apiary::bench::subject_main<global_queue>(argc, argv); }
