// Subject `asio`: Boost.Asio, one thread_pool of N threads. post for work from outside and for children, defer for
// a task's own successor (its documentation: "a continuation of the calling context"), a steady_timer per delayed post,
// and one per timeout, whose expires_after cancels and arms.
//
// Aiming at a worker: N threads, each with an io_context of its own, as Asio's server examples do. Compute tasks: a
// second thread_pool. It has no batch call, and no way to wait inside a worker: fork-join by continuation.
#include <boost/asio/defer.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/version.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "scenarios/list.hpp"

namespace {

namespace net = boost::asio;

std::string boost_version() {
    return std::to_string(BOOST_VERSION / 100'000) + "." + std::to_string(BOOST_VERSION / 100 % 1000) + "." +
           std::to_string(BOOST_VERSION % 100);
}

// One io_context and one thread per worker.
class asio_contexts {
public:
    static constexpr std::string_view name = "asio";
    static std::string version() { return boost_version(); }

    explicit asio_contexts(unsigned workers) {
        for (unsigned i = 0; i < workers; ++i) workers_.push_back(std::make_unique<lone_thread>());
    }

    template <class F>
    void post(F&& task) {
        post_to_worker(0, std::forward<F>(task));
    }

    template <class F>
    void post_to_worker(unsigned worker, F&& task) {
        net::post(workers_[worker]->context, std::forward<F>(task));
    }

private:
    struct lone_thread {
        net::io_context context{1};  // a hint: one thread runs it
        std::optional<net::executor_work_guard<net::io_context::executor_type>> open{context.get_executor()};
        std::thread thread{[this] { context.run(); }};

        lone_thread() = default;
        ~lone_thread() {
            open.reset();
            thread.join();
        }
        lone_thread(const lone_thread&) = delete;
        lone_thread& operator=(const lone_thread&) = delete;
    };

    std::vector<std::unique_ptr<lone_thread>> workers_;
};

// One io_context that N threads poll: they never sleep.
class asio_polling {
public:
    static constexpr std::string_view name = "asio";
    static std::string version() { return boost_version(); }

    explicit asio_polling(unsigned workers) : context_(static_cast<int>(workers)) {
        for (unsigned i = 0; i < workers; ++i)
            threads_.emplace_back([this] {
                while (!context_.stopped()) context_.poll();
            });
    }
    ~asio_polling() {
        open_.reset();
        for (std::thread& t : threads_) t.join();
    }
    asio_polling(const asio_polling&) = delete;
    asio_polling& operator=(const asio_polling&) = delete;

    template <class F>
    void post(F&& task) {
        net::post(context_, std::forward<F>(task));
    }

private:
    net::io_context context_;
    std::optional<net::executor_work_guard<net::io_context::executor_type>> open_{context_.get_executor()};
    std::vector<std::thread> threads_;
};

class asio {
public:
    static constexpr std::string_view name = "asio";
    static std::string version() { return boost_version(); }
    using targeted = asio_contexts;
    using looks_always = asio_polling;  // latency_vs_load idle_cpu=100: poll in place of run

    explicit asio(unsigned workers) : pool_(workers) {}
    asio(unsigned workers, unsigned compute_workers) : pool_(workers) { compute_.emplace(compute_workers); }

    ~asio() {
        if (compute_) compute_->join();
        pool_.join();
    }
    asio(const asio&) = delete;
    asio& operator=(const asio&) = delete;

    template <class F>
    void post(F&& task) {
        net::post(pool_, std::forward<F>(task));
    }

    template <class F>
    void hand_on(F&& task) {
        net::defer(pool_, std::forward<F>(task));
    }

    template <class F>
    void post_compute(F&& task) {
        net::post(*compute_, std::forward<F>(task));
    }

    using timeout = std::optional<net::steady_timer>;
    template <class F>
    bool rearm(timeout& t, std::chrono::nanoseconds delay, F&& task) {
        const bool fresh = !t;
        if (fresh) t.emplace(pool_);
        const std::size_t cancelled = t->expires_after(delay);
        t->async_wait([task = std::forward<F>(task)](const boost::system::error_code& why) mutable {
            if (!why) task();
        });
        return fresh || cancelled == 1;
    }
    void disarm(timeout& t) { t.reset(); }

    template <class F>
    void post_delayed(std::chrono::nanoseconds delay, F&& task) {
        auto timer = std::make_shared<net::steady_timer>(pool_, delay);
        timer->async_wait([timer, task = std::forward<F>(task)](const boost::system::error_code&) mutable { task(); });
    }

private:
    net::thread_pool pool_;
    std::optional<net::thread_pool> compute_;
};

}  // namespace

int main(int argc, char** argv) { return apiary::bench::subject_main<asio>(argc, argv); }
