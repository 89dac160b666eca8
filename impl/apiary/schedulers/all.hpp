// all: the list of schedulers over which the contract's tests run.
//
// A new scheduler adds its header, one line in `all_schedulers`, and an `at_work` below, which says how work is brought
// to it and reads its books. The laws of running work are then asked of it. A scheduler to which any thread can post
// callables also adds a line in `posting_schedulers` and a `make_scheduler`, for the laws of posting.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>

#include <apiary/schedulers/bare_pool/bare_pool.hpp>
#include <apiary/schedulers/coro_pool/coro_pool.hpp>
#include <apiary/schedulers/fork_join/parallel.hpp>
#include <apiary/schedulers/fork_join/pool.hpp>
#include <apiary/schedulers/global_queue/global_queue.hpp>
#include <apiary/schedulers/hive/hive.hpp>
#include <apiary/schedulers/processes/processes.hpp>
#include <apiary/schedulers/task_graph/task_graph.hpp>

namespace apiary {

// The hive under the contract's names. The hive's own names tell which kind of worker runs a task.
struct hive_as_scheduler : hive {
    using hive::hive;
    template <class F>
    [[nodiscard]] bool post(F&& f) {
        return post_micro(std::forward<F>(f));
    }
    template <class F, std::size_t Extent>
    [[nodiscard]] std::size_t post_batch(std::span<F, Extent> batch) {
        return post_micro_batch(batch);
    }
};
static_assert(batch_posting<hive_as_scheduler> && targeted_posting<hive_as_scheduler> &&
              cancellable_posting<hive_as_scheduler> && compute_posting<hive_as_scheduler>);

using all_schedulers = std::tuple<bare_pool, coro_pool, fork_join_pool, global_queue, hive_as_scheduler, processes, task_graph>;
using posting_schedulers = std::tuple<global_queue, hive_as_scheduler>;

// Makes a scheduler that takes posts, with this many workers for small tasks. It runs nothing before run().
template <class Scheduler>
std::unique_ptr<Scheduler> make_scheduler(unsigned workers);

template <>
inline std::unique_ptr<global_queue> make_scheduler(unsigned workers) {
    return std::make_unique<global_queue>(global_queue_config{.workers = workers});
}
template <>
inline std::unique_ptr<hive_as_scheduler> make_scheduler(unsigned workers) {
    return std::make_unique<hive_as_scheduler>(hive_config{.io_workers = workers});
}

// A scheduler's own counters, read after it has ended.
struct work_books {
    std::uint64_t run = 0;         // pieces of work that were begun, and ended by return or by exception
    std::uint64_t exceptions = 0;  // of them, those that an exception ended
};

// One interface over every scheduler:
//   at_work(workers)  makes it, and starts its workers
//   hand_in(n, f)     hands in n pieces of work of the scheduler's own kind, of which the i-th calls f(i). It may
//                     return before they end.
//   wait()            waits until all work that was handed in has ended
//   end()             stops and drains it; no worker runs after that. The destructor does it if nothing else did.
//   books()           after end
template <class Scheduler>
class at_work;

namespace detail {

// The number of pieces of work that have not ended yet.
class unended {
public:
    template <class F>
    auto count(F f, std::size_t i) {
        left_.fetch_add(1, std::memory_order_relaxed);
        return [this, f, i] {
            const struct at_its_end {
                std::atomic<std::size_t>& left;
                ~at_its_end() {
                    if (left.fetch_sub(1, std::memory_order_acq_rel) == 1) left.notify_all();
                }
            } end{left_};
            f(i);
        };
    }
    void wait() const {
        for (std::size_t n = left_.load(std::memory_order_acquire); n != 0; n = left_.load(std::memory_order_acquire))
            left_.wait(n, std::memory_order_acquire);
    }

private:
    std::atomic<std::size_t> left_ = 0;
};

// Schedulers that take posts: the thread of run() is one of their workers.
template <class Scheduler>
class posted_work {
public:
    explicit posted_work(unsigned workers)
        : s_(make_scheduler<Scheduler>(workers)), thread_([this] { s_->run(); }) {}
    ~posted_work() { end(); }
    template <class F>
    void hand_in(std::size_t n, F f) {
        for (std::size_t i = 0; i != n; ++i)
            if (!s_->post(unended_.count(f, i))) throw std::logic_error("refused");
    }
    void wait() const { unended_.wait(); }
    void end() {
        if (!thread_.joinable()) return;
        s_->request_stop(stop_mode::drain);
        thread_.join();
    }
    work_books books() const { return {s_->report().run, s_->report().exceptions}; }

private:
    unended unended_;
    const std::unique_ptr<Scheduler> s_;
    std::thread thread_;
};

}  // namespace detail

template <>
class at_work<global_queue> : public detail::posted_work<global_queue> {
    using posted_work::posted_work;
};
template <>
class at_work<hive_as_scheduler> : public detail::posted_work<hive_as_scheduler> {
    using posted_work::posted_work;
};

template <>
class at_work<bare_pool> {
public:
    explicit at_work(unsigned workers) : pool_(workers) {}
    template <class F>
    void hand_in(std::size_t n, F f) {
        for (std::size_t i = 0; i != n; ++i)
            if (!pool_.post(unended_.count(f, i))) throw std::logic_error("refused");
    }
    void wait() const { unended_.wait(); }
    void end() { pool_.stop(); }
    work_books books() const { return {pool_.report().run, pool_.report().exceptions}; }

private:
    detail::unended unended_;
    bare_pool pool_;
};

// A single piece is a call of run, which gets the exception; several are a loop.
template <>
class at_work<fork_join_pool> {
public:
    explicit at_work(unsigned workers) : pool_(std::make_unique<fork_join_pool>(fork_join_config{.workers = workers})) {}
    template <class F>
    void hand_in(std::size_t n, F f) {
        ++calls_;
        try {
            if (n == 1)
                pool_->run([f] { f(0); });
            else
                pool_->run([n, f](auto& w) { parallel_for(w, std::size_t{0}, n, [&f](std::size_t i) { f(i); }); });
        } catch (...) {
            ++books_.exceptions;
        }
    }
    void wait() const {}
    void end() {
        if (pool_ == nullptr) return;
        // A worker counts a call only after it has let the caller go on, so wait for the count.
        while ((books_.run = pool_->counters().roots) < calls_) std::this_thread::yield();
        pool_.reset();
    }
    work_books books() const { return books_; }

private:
    std::uint64_t calls_ = 0;
    work_books books_;
    std::unique_ptr<fork_join_pool> pool_;
};

template <>
class at_work<coro_pool> {
public:
    explicit at_work(unsigned workers) : pool_({.workers = workers}) { pool_.start(); }
    template <class F>
    void hand_in(std::size_t n, F f) {
        for (std::size_t i = 0; i != n; ++i)
            if (!pool_.spawn(coroutine(unended_.count(f, i)))) throw std::logic_error("refused");
    }
    void wait() const { unended_.wait(); }
    void end() { pool_.stop(); }
    work_books books() { return {pool_.report().run, pool_.report().exceptions}; }

private:
    template <class F>
    static co_task<> coroutine(F f) {
        f();
        co_return;
    }
    detail::unended unended_;
    coro_pool pool_;
};

// A piece of work is a process of one step.
template <>
class at_work<processes> {
public:
    explicit at_work(unsigned workers) : all_({.workers = workers}) {}
    template <class F>
    void hand_in(std::size_t n, F f) {
        for (std::size_t i = 0; i != n; ++i)
            if (!all_.spawn(std::make_unique<of_one_step<decltype(unended_.count(f, i))>>(unended_.count(f, i))))
                throw std::logic_error("refused");
    }
    void wait() const { unended_.wait(); }
    void end() { all_.join(); }
    work_books books() { return {all_.counters().spawned - all_.counters().living, all_.counters().exceptions}; }

private:
    template <class F>
    struct of_one_step : process {
        explicit of_one_step(F f) : f_(std::move(f)) {}
        init_answer init(context&, std::string_view, payload) override { return init_answer::ready; }
        void step(events&, output& out) override {
            f_();
            out.finish();
        }
        F f_;
    };
    detail::unended unended_;
    processes all_;
};

template <>
class at_work<task_graph> {
public:
    explicit at_work(unsigned workers) : graph_({.workers = {workers}, .window = 64, .dependencies = 64}) {}
    template <class F>
    void hand_in(std::size_t n, F f) {
        for (std::size_t i = 0; i != n; ++i) graph_.submit([f, i] { f(i); });
    }
    void wait() { graph_.wait(); }
    void end() { graph_.close(); }
    work_books books() const {
        const task_graph_counters c = graph_.counters(0);
        return {c.ran, c.thrown};
    }

private:
    task_graph graph_;
};

}  // namespace apiary
