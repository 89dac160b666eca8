// Subject `asio`: Boost.Asio, one thread_pool of N threads. post for work from outside and for children, defer for
// a task's own successor (its documentation: "a continuation of the calling context"), a steady_timer per delayed post,
// and one per timeout, whose expires_after cancels and arms.
//
// Aiming at a worker, and a server: N threads, each with an io_context of its own, as Asio's server examples do. A
// connection is a session of callbacks, as in its echo server; tasks beside it go to the same contexts in turn.
// Compute tasks: a second thread_pool. It has no batch call, and no way to wait inside a worker: fork-join by
// continuation.
#include <boost/asio/defer.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/write.hpp>
#include <boost/version.hpp>

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <future>
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

using apiary::bench::requests;
using apiary::bench::serving;

// Threads for tasks that take long.
class second_pool {
public:
    explicit second_pool(unsigned workers) : pool_(workers) {}
    ~second_pool() { pool_.join(); }
    second_pool(const second_pool&) = delete;
    second_pool& operator=(const second_pool&) = delete;

    template <class F>
    void post(F&& task) {
        net::post(pool_, std::forward<F>(task));
    }

private:
    net::thread_pool pool_;
};

// One io_context and one thread per worker.
class asio_contexts {
public:
    static constexpr std::string_view name = "asio";
    static std::string version() { return boost_version(); }
    static constexpr bool several = true;
    class server;

    explicit asio_contexts(unsigned workers) {
        for (unsigned i = 0; i < workers; ++i) workers_.push_back(std::make_unique<lone_thread>());
    }
    asio_contexts(unsigned workers, unsigned compute_workers) : asio_contexts(workers) {
        compute_.emplace(compute_workers);
    }

    template <class F>
    void post(F&& task) {
        net::post(next(), std::forward<F>(task));
    }

    template <class F>
    void post_to_worker(unsigned worker, F&& task) {
        net::post(workers_[worker]->context, std::forward<F>(task));
    }

    template <class F>
    void post_compute(F&& task) {
        compute_->post(std::forward<F>(task));
    }

    // In turn.
    net::io_context& next() {
        return workers_[next_.fetch_add(1, std::memory_order_relaxed) % workers_.size()]->context;
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
    std::atomic<unsigned> next_{0};
    std::optional<second_pool> compute_;
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

using tcp = net::ip::tcp;
using failure = boost::system::error_code;

class echo_session : public std::enable_shared_from_this<echo_session> {
public:
    echo_session(tcp::socket client, std::shared_ptr<const serving> what)
        : what_(std::move(what)), client_(std::move(client)), seen_(what_->bytes) {}

    void read() {
        const auto room = seen_.room();
        client_.async_read_some(net::buffer(room.data(), room.size()),
                                [self = shared_from_this()](failure why, std::size_t n) {
                                    if (!why) self->answer(n);
                                });
    }

private:
    void answer(std::size_t n) {
        seen_.add(n);
        const auto whole = seen_.whole();
        if (whole.empty()) return read();
        what_->answer(whole);
        net::async_write(client_, net::buffer(whole.data(), whole.size()),
                         [self = shared_from_this()](failure why, std::size_t put) {
                             if (why) return;
                             self->seen_.drop(put);
                             self->read();
                         });
    }

    std::shared_ptr<const serving> what_;  // the last: it may end the server
    tcp::socket client_;
    requests seen_;
};

// Asks all backends of a request at once: so many writes and so many reads are under way.
class front_session : public std::enable_shared_from_this<front_session> {
public:
    front_session(tcp::socket client, std::shared_ptr<const serving> what)
        : what_(std::move(what)), client_(std::move(client)), seen_(what_->bytes) {
        for (const std::uint16_t port : what_->backends) {
            backends_.emplace_back(client_.get_executor());
            backends_.back().assign(tcp::v4(), serving::connected(port));
        }
        parts_.resize(what_->ask, std::vector<std::byte>(what_->bytes));
    }

    void read() {
        const auto room = seen_.room();
        client_.async_read_some(net::buffer(room.data(), room.size()),
                                [self = shared_from_this()](failure why, std::size_t n) {
                                    if (why) return;
                                    self->seen_.add(n);
                                    self->next();
                                });
    }

private:
    void next() {
        if (seen_.whole().empty()) return read();
        request_ = seen_.whole().data();
        left_ = 2 * what_->ask;
        const auto one_less = [self = shared_from_this()](failure why, std::size_t) {
            if (why) self->failed_ = true;
            if (--self->left_ == 0 && !self->failed_) self->answer();
        };
        for (std::uint64_t j = 0; j != what_->ask; ++j)
            net::async_write(backends_[what_->backend(request_, j)], net::buffer(request_, what_->bytes), one_less);
        for (std::uint64_t j = 0; j != what_->ask; ++j)
            net::async_read(backends_[what_->backend(request_, j)], net::buffer(parts_[j]), one_less);
    }
    void answer() {
        std::uint64_t sum = 0;
        for (const auto& part : parts_) sum += serving::part_of(part.data());
        what_->finish(request_, sum);
        net::async_write(client_, net::buffer(request_, what_->bytes),
                         [self = shared_from_this()](failure why, std::size_t put) {
                             if (why) return;
                             self->seen_.drop(put);
                             self->next();
                         });
    }

    std::shared_ptr<const serving> what_;  // the last: it may end the server
    tcp::socket client_;
    requests seen_;
    std::deque<tcp::socket> backends_;
    std::vector<std::vector<std::byte>> parts_;
    std::byte* request_ = nullptr;
    std::uint64_t left_ = 0;
    bool failed_ = false;
};

// Each session and the acceptor hold what is to be done. The server ends when the last of them is gone.
class asio_contexts::server {
public:
    server(asio_contexts& on, const serving& what) : on_(on), acceptor_(on.next()) {
        std::promise<void> ended;
        ended_ = ended.get_future();
        what_.reset(new serving(what), [ended = std::move(ended)](const serving* done) mutable {
            delete done;
            ended.set_value();
        });
        acceptor_.assign(tcp::v4(), ::dup(what.listening));
        accept();
    }
    ~server() { ended_.wait(); }
    server(const server&) = delete;
    server& operator=(const server&) = delete;

private:
    void accept() {
        net::io_context& there = on_.next();
        acceptor_.async_accept(there, [this, &there](failure why, tcp::socket client) {
            if (why) return what_.reset();
            client.set_option(tcp::no_delay(true));
            net::post(there, [c = std::move(client), what = what_]() mutable { begin(std::move(c), std::move(what)); });
            accept();
        });
    }
    static void begin(tcp::socket client, std::shared_ptr<const serving> what) {
        if (what->backends.empty())
            std::make_shared<echo_session>(std::move(client), std::move(what))->read();
        else
            std::make_shared<front_session>(std::move(client), std::move(what))->read();
    }

    asio_contexts& on_;
    std::future<void> ended_;
    std::shared_ptr<const serving> what_;  // until accept fails
    tcp::acceptor acceptor_;
};

class asio {
public:
    static constexpr std::string_view name = "asio";
    static std::string version() { return boost_version(); }
    using targeted = asio_contexts;
    static constexpr bool several = true;
    using looks_always = asio_polling;  // latency_vs_load idle_cpu=100: poll in place of run

    explicit asio(unsigned workers) : pool_(workers) {}
    asio(unsigned workers, unsigned compute_workers) : asio(workers) { compute_.emplace(compute_workers); }

    ~asio() {
        compute_.reset();
        pool_.join();
    }
    asio(const asio&) = delete;
    asio& operator=(const asio&) = delete;

    template <class F>
    void post(F&& task) {
        net::post(pool_, std::forward<F>(task));
    }

    template <class F>
    void repost(F&& task) {
        post(std::forward<F>(task));
    }

    template <class F>
    void hand_on(F&& task) {
        net::defer(pool_, std::forward<F>(task));
    }

    template <class F>
    void post_compute(F&& task) {
        compute_->post(std::forward<F>(task));
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
    std::optional<second_pool> compute_;
};

}  // namespace

int main(int argc, char** argv) { return apiary::bench::subject_main<asio>(argc, argv); }
