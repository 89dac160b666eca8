// Subject `asio_awaitable`: Boost.Asio's coroutines, `awaitable<T>` on one thread_pool of N threads. co_spawn for each
// child; the parent awaits an operation of its own (async_initiate), which the last child completes.
//
// Asio 1.74 has no other join: its operators && and || came later, for one thread. This subject does fork-join in
// coroutine form only; the subject asio does posts. Frames come from Asio's own operator new and go back by its own
// operator delete; g++ 12 sees only the heap call inside the first.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

#include <utility>  // for boost/asio/awaitable.hpp of 1.74, which forgets it

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/version.hpp>

#include <atomic>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include "scenarios/list.hpp"

namespace {

namespace net = boost::asio;

// The children of one coroutine, on its frame. Each child that ends takes one off `left_` (acq_rel), so the last one
// sees the writes of all. The parent takes off its own one when it awaits.
class children {
    using handler = net::async_result<net::use_awaitable_t<>, void()>::handler_type;

public:
    explicit children(net::any_io_executor executor) : executor_(std::move(executor)) {}

    void fork(net::awaitable<void> child) {
        left_.fetch_add(1, std::memory_order_relaxed);
        net::co_spawn(executor_, std::move(child), [this](std::exception_ptr failed) { ended(failed); });
    }
    template <class T>
    void fork(net::awaitable<T> child, T& result) {
        left_.fetch_add(1, std::memory_order_relaxed);
        net::co_spawn(executor_, std::move(child), [this, &result](std::exception_ptr failed, T value) {
            result = value;
            ended(failed);
        });
    }

    net::awaitable<void> join() {
        if (left_.load(std::memory_order_acquire) == 1) co_return;
        co_await net::async_initiate<net::use_awaitable_t<>, void()>(
            [this](handler parent) {
                parent_.emplace(std::move(parent));
                // A handler is never called from within the call that was given it.
                if (takes_the_last()) resume([](auto& executor, handler h) { net::post(executor, std::move(h)); });
            },
            token_);
    }

private:
    bool takes_the_last() { return left_.fetch_sub(1, std::memory_order_acq_rel) == 1; }

    void ended(const std::exception_ptr& failed) {
        if (failed) std::rethrow_exception(failed);  // no kernel throws: this ends the program
        if (takes_the_last()) resume([](auto& executor, handler h) { net::dispatch(executor, std::move(h)); });
    }
    // The frame may be gone before `how` returns.
    template <class How>
    void resume(How how) {
        const net::any_io_executor executor = executor_;
        handler parent = std::move(*parent_);
        how(executor, std::move(parent));
    }

    const net::any_io_executor executor_;
    net::use_awaitable_t<> token_;
    std::optional<handler> parent_;
    std::atomic<unsigned> left_{1};
};

class asio_awaitable {
public:
    static constexpr std::string_view name = "asio_awaitable";
    static std::string version() {
        return std::to_string(BOOST_VERSION / 100'000) + "." + std::to_string(BOOST_VERSION / 100 % 1000) + "." +
               std::to_string(BOOST_VERSION % 100);
    }
    template <class T>
    using task = net::awaitable<T>;
    using branches = children;

    explicit asio_awaitable(unsigned workers) : pool_(workers) {}
    ~asio_awaitable() { pool_.join(); }
    asio_awaitable(const asio_awaitable&) = delete;
    asio_awaitable& operator=(const asio_awaitable&) = delete;

    void run(task<void> root) { net::co_spawn(pool_, std::move(root), net::use_future).get(); }

    template <class T>
    static task<std::pair<T, T>> both(task<T> one, task<T> other) {
        children second(co_await net::this_coro::executor);
        std::pair<T, T> results;
        second.fork(std::move(other), results.second);
        results.first = co_await std::move(one);
        co_await second.join();
        co_return results;
    }
    static auto this_task() { return net::this_coro::executor; }

private:
    net::thread_pool pool_;
};

}  // namespace

int main(int argc, char** argv) { return apiary::bench::subject_main<asio_awaitable>(argc, argv); }
