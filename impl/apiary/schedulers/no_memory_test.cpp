// Each scheduler in a short run of which every allocation fails in turn: a refused operation says so, accepted work is
// done, and the stop returns. Processes have a file of their own. The program replaces operator new.
#include <apiary/coroutines/async_event.hpp>
#include <apiary/queues/global_pool.hpp>
#include <apiary/schedulers/bare_pool/bare_pool.hpp>
#include <apiary/schedulers/coro_pool/coro_pool.hpp>
#include <apiary/schedulers/coro_pool/when_any.hpp>
#include <apiary/schedulers/fork_join/pool.hpp>
#include <apiary/schedulers/fork_join/task_scope.hpp>
#include <apiary/schedulers/global_queue/global_queue.hpp>
#include <apiary/schedulers/hive/hive.hpp>
#include <apiary/schedulers/task_graph/task_graph.hpp>
#include <apiary/timers/timer_wheel.hpp>

#include <sys/eventfd.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <apiary/testing/allocation_sweep.hpp>
#include <apiary/testing/replaced_new.hpp>

namespace {
thread_local bool heap_is_empty = false;     // for this thread
thread_local std::size_t largest_bytes = 0;  // that this thread has asked for
}

void apiary::before_allocation(std::size_t bytes, std::size_t) {
    largest_bytes = std::max(largest_bytes, bytes);
    if (heap_is_empty) throw std::bad_alloc();
    allocation_of_a_sweep();
}

namespace {

using namespace std::chrono_literals;
using apiary::attempt;
using apiary::fail_each_allocation;

struct different {
    std::string what;
    void unless_equal(const char* of, std::uint64_t a, std::uint64_t b) {
        if (a != b) what += std::string(of) + ": " + std::to_string(a) + " and " + std::to_string(b) + "\n";
    }
};
using ballast = std::array<char, 100>;  // a callable that has it lies in no task

// ---- what all of them but global_queue have

struct numbered {
    apiary::real_sync::cell<numbered*> next;
    int number = 0;
};

TEST(no_memory, a_pool_gives_all_in_order_also_what_comes_meanwhile_and_after_a_close) {
    for (const bool closes : {false, true}) {
        apiary::global_pool<numbered> pool;
        std::vector<numbered> nodes(1'500);
        for (std::size_t i = 0; i != nodes.size(); ++i) nodes[i].number = static_cast<int>(i);
        std::size_t pushed = 0, taken = 0;
        const auto push = [&](std::size_t n) {
            while (n-- != 0) EXPECT_NE(pool.push(&nodes[pushed++]), apiary::push_result::closed);
        };
        const auto take = [&](std::size_t n) {
            std::array<numbered*, 16> out{};
            while (n != 0) {
                const std::size_t got = pool.take(std::span(out).first(std::min<std::size_t>(n, 16)), 2);
                if (got == 0) return;
                for (std::size_t i = 0; i != got; ++i) EXPECT_EQ(out[i]->number, static_cast<int>(taken++));
                n -= got;
            }
        };
        push(10);
        take(1);
        push(990);
        heap_is_empty = true;
        take(300);
        push(200);
        if (closes) pool.close();
        take(300);
        if (!closes) push(200);
        EXPECT_FALSE(pool.looks_empty());
        take(1'500);
        heap_is_empty = false;
        EXPECT_EQ(taken, pushed);
        EXPECT_TRUE(pool.looks_empty());
        if (!closes) push(100);
        take(1'500);
        EXPECT_EQ(taken, pushed);
    }
}

TEST(no_memory, a_pool_that_has_memory_makes_its_array_large_enough_for_all_that_waits_and_not_much_larger) {
    apiary::global_pool<numbered> pool;
    std::vector<numbered> nodes(200);
    std::vector<numbered*> out(nodes.size());
    for (numbered& n : nodes) EXPECT_NE(pool.push(&n), apiary::push_result::closed);
    largest_bytes = 0;
    EXPECT_EQ(pool.take(out, 1), nodes.size());
    EXPECT_LT(largest_bytes, 4 * nodes.size() * sizeof(numbered*));
}

// Its lists take more than 8 KiB.
TEST(no_memory, a_wheel_of_few_timers_has_no_lists) {
    struct timer {
        std::int64_t deadline_ns;
    };
    apiary::timer_wheel<timer> wheel;
    timer one{1};
    largest_bytes = 0;
    (void)wheel.add(&one);
    EXPECT_LT(largest_bytes, 8192U);
}

// Each take empties the array, which is then filled from what is linked.
TEST(no_memory, a_pool_whose_array_a_take_has_emptied_does_not_look_empty) {
    apiary::global_pool<numbered> pool;
    std::vector<numbered> nodes(200);
    std::vector<numbered*> out(nodes.size());
    for (std::size_t i = 0; i != nodes.size(); ++i) {
        nodes[i].number = static_cast<int>(i);
        EXPECT_NE(pool.push(&nodes[i]), apiary::push_result::closed);
    }
    std::size_t taken = 0;
    heap_is_empty = true;
    while (!pool.looks_empty()) {
        const std::size_t got = pool.take(out, 1);
        if (got == 0) break;
        for (std::size_t i = 0; i != got; ++i) EXPECT_EQ(out[i]->number, static_cast<int>(taken++));
    }
    heap_is_empty = false;
    EXPECT_EQ(taken, nodes.size());
}


// ---- hive

struct told_once final : apiary::descriptor_source {
    told_once(apiary::hive& hive, int fd) : descriptor_source(fd), h(hive) {}
    void on_ready(apiary::readiness) noexcept override {
        ++told;
        (void)h.unwatch(*this);
    }
    void on_gone(apiary::gone) noexcept override { ++told; }
    apiary::hive& h;
    std::uint64_t told = 0;
};

struct run_of_a_hive {
    void run() {
        apiary::hive h({.io_workers = 2, .compute_workers = 1});
        const int fd = ::eventfd(1, EFD_NONBLOCK);
        told_once source(h, fd);
        if (!accepted([&] { return h.post_micro([&, b = ballast()] { (void)b, from_within(h, source); }); })) h.request_stop();
        for (int i = 0; i != 3; ++i) accepted([&] { return h.post_compute([] {}); });
        (void)attempt([&] { h.run(); });
        const auto r = h.report();
        ended = r.run + r.discarded + r.cancelled;
        discarded = r.discarded;
        exceptions = r.exceptions;
        told = source.told;
        ::close(fd);
    }
    void from_within(apiary::hive& h, told_once& source) {
        accepted([&] { return h.post_micro([] {}); });
        accepted([&] { return h.post_to_worker(1, [b = ballast()] { (void)b; }); });
        accepted([&] { return h.post_to_worker(0, [] {}); });
        (void)attempt([&] {
            std::array batch{ballast(), ballast()};
            const auto make = [](const ballast& b) { return [b] { (void)b; }; };
            std::array callables{make(batch[0]), make(batch[1])};
            posts += h.post_micro_batch(std::span(callables));
        });
        for (int i = 0; i != 12; ++i) accepted([&] { return bool(h.post_delayed([] {}, 1us)); });
        (void)attempt([&] { watched += h.watch(source) == apiary::watch_result::watched ? 1U : 0U; });
        (void)attempt([&] { (void)h.attach_io_worker(); });
        (void)attempt([&] {
            if (const auto id = h.attach_compute_worker()) (void)h.detach_compute_worker(*id);
        });
        if (!accepted([&] { return bool(h.post_delayed([&] { by_timer = true, h.request_stop(); }, 1ms)); })) h.request_stop();
    }
    template <class Post>
    bool accepted(Post post) {
        bool yes = false;
        (void)attempt([&] { yes = post(); });
        posts += yes ? 1U : 0U;
        return yes;
    }
    std::string wrong() const {
        different d;
        d.unless_equal("posts accepted; ended", posts, ended);
        d.unless_equal("exceptions, none", exceptions, 0);
        if (by_timer) d.unless_equal("discarded, none: all were due", discarded, 0);
        d.unless_equal("sources watched, told", watched, told);
        return d.what;
    }
    std::atomic<std::uint64_t> posts = 0, watched = 0;
    std::uint64_t ended = 0, discarded = 0, exceptions = 0, told = 0;
    bool by_timer = false;  // stopped so
};
TEST(no_memory, of_a_hive_each_allocation_may_fail) { fail_each_allocation<run_of_a_hive>(); }

// ---- coro_pool

struct run_of_a_coro_pool {
    template <class T = void>
    using task = apiary::co_task<T, apiary::heap_frames>;

    static task<unsigned> fib(unsigned n) {
        if (n < 2) co_return n;
        const auto [x, y] = co_await apiary::when_all(fib(n - 1), fib(n - 2));
        co_return x + y;
    }
    static task<unsigned> waits(apiary::async_event<apiary::heap_frames>& e) {
        (void)co_await e.wait();
        co_return 0;
    }
    static task<> detached(run_of_a_coro_pool& r, unsigned n) {
        const unsigned result = co_await fib(n);
        if (result != 2) ++r.wrong_results;
    }
    static task<> races(run_of_a_coro_pool& r, apiary::async_event<apiary::heap_frames>& never) {
        const auto [which, value] = co_await apiary::when_any(waits(never), fib(3));
        if (which != 1 || value != 2) ++r.wrong_results;
    }
    void run() {
        apiary::basic_coro_pool<apiary::heap_frames> pool({.workers = 2});
        if (!attempt([&] { (void)pool.start(); })) {
            started_without_memory = pool.is_started();
            return;
        }
        apiary::async_event<apiary::heap_frames> never;
        const auto spawns = [&](apiary::co_options options) {
            (void)attempt([&] { spawned += pool.spawn(detached(*this, 3), std::move(options)) ? 1U : 0U; });
        };
        spawns({});
        (void)attempt([&] { spawns({.name = std::string(100, 'x'), .priority = apiary::co_priority::high}); });
        (void)attempt([&] { spawns({.stop = std::stop_source()}); });
        (void)attempt([&] { spawned += pool.spawn([this]() { return detached(*this, 3); }) ? 1U : 0U; });
        (void)attempt([&] {
            auto t = races(*this, never);
            ++waited;
            apiary::sync_wait(pool, std::move(t));
        });
        (void)attempt([&] {
            auto t = fib(5);
            ++waited;
            wrong_results += apiary::sync_wait(pool, std::move(t)) != 5;
        });
        pool.stop();
        living = pool.report().living;
        ended = pool.report().run + pool.report().cancelled;
    }
    std::string wrong() const {
        different d;
        d.unless_equal("spawned and waited for, ended", spawned + waited, ended);
        d.unless_equal("wrong results, none", wrong_results, 0);
        d.unless_equal("living, none", living, 0);
        d.unless_equal("started where start threw, no", started_without_memory, 0);
        return d.what;
    }
    bool started_without_memory = false;
    std::atomic<unsigned> wrong_results = 0;
    std::uint64_t spawned = 0, waited = 0, ended = 0, living = 0;
};
TEST(no_memory, of_a_coro_pool_each_allocation_may_fail) { fail_each_allocation<run_of_a_coro_pool>(); }

// ---- bare_pool

// Also that of the second thread, which its constructor starts: the first one ends then, and is joined.
struct run_of_a_bare_pool {
    void run() {
        apiary::bare_pool pool(2);
        for (int i = 0; i != 3; ++i)
            (void)attempt([&] { posts += pool.post([this, b = ballast()] { (void)b, ++ran; }) ? 1U : 0U; });
        pool.stop();
        ended = pool.report().run + pool.report().discarded;
    }
    std::string wrong() const {
        different d;
        d.unless_equal("posts accepted; ended", posts, ended);
        d.unless_equal("posts accepted; ran", posts, ran);
        return d.what;
    }
    std::atomic<std::uint64_t> ran = 0;
    std::uint64_t posts = 0, ended = 0;
};
TEST(no_memory, of_a_bare_pool_each_allocation_may_fail) { fail_each_allocation<run_of_a_bare_pool>(); }

// ---- fork_join

struct run_of_a_fork_join_pool {
    static unsigned fib(apiary::fork_join_pool::context& w, unsigned n) {
        if (n < 2) return n;
        const auto [x, y] = apiary::fork_join(w, [n](auto& v) { return fib(v, n - 1); }, [n](auto& v) { return fib(v, n - 2); });
        return x + y;
    }
    void run() {
        apiary::fork_join_pool pool({.workers = 2, .callers = 1});
        for (int i = 0; i != 3; ++i) (void)attempt([&] { wrong_results += pool.run([](auto& w) { return fib(w, 10); }) != 55; });
        (void)attempt([&] {
            pool.run([&](auto& w) {
                apiary::task_scope jobs(w);
                for (int i = 0; i != 100; ++i) jobs.run([&] { ++ran; }), ++posted;
                jobs.wait();
            });
        });
    }
    std::string wrong() const {
        different d;
        d.unless_equal("jobs posted, run", posted, ran);
        d.unless_equal("wrong results, none", wrong_results, 0);
        return d.what;
    }
    std::atomic<unsigned> ran = 0;
    unsigned posted = 0, wrong_results = 0;
};
TEST(no_memory, of_a_fork_join_pool_each_allocation_may_fail) { fail_each_allocation<run_of_a_fork_join_pool>(); }

// ---- global_queue

struct run_of_a_global_queue {
    using scope = apiary::global_queue::task_scope;

    void run() {
        apiary::global_queue q({.workers = 2});
        (void)attempt([&] { q.start(); });
        for (int i = 0; i != 3; ++i) accepted([&] { return q.post([this, b = ballast()] { (void)b, ++ran; }); });
        accepted([&] {
            return q.post([this](scope& children) {
                ++ran;
                for (int i = 0; i != 3; ++i) accepted([&] { return children.run([this] { ++ran; }); });
                (void)children.wait();
            });
        });
        (void)attempt([&] {
            const auto counts = [this] { ++ran; };
            std::array batch{counts, counts, counts};
            posts += q.post_batch(std::span(batch));
        });
        (void)q.wait();
        q.request_stop();
        q.join();
        ended = q.report().run + q.report().discarded;
        exceptions = q.report().exceptions;
        started = q.report().run != 0;
    }
    template <class Post>
    void accepted(Post post) {
        (void)attempt([&] { posts += post() ? 1U : 0U; });
    }
    std::string wrong() const {
        different d;
        d.unless_equal("posts accepted; ended", posts, ended);
        d.unless_equal("ran, counted", ran, started ? posts.load() : 0);
        d.unless_equal("exceptions, none", exceptions, 0);
        return d.what;
    }
    std::atomic<std::uint64_t> posts = 0, ran = 0;
    std::uint64_t ended = 0, exceptions = 0;
    bool started = false;
};
TEST(no_memory, of_a_global_queue_each_allocation_may_fail) { fail_each_allocation<run_of_a_global_queue>(); }

// ---- task_graph

template <apiary::ready_policy Policy>
struct run_of_a_task_graph {
    void run() {
        apiary::task_graph g({.workers = {1, 1}, .window = 4, .policy = Policy, .window_most = 8});
        const auto submit = [&](auto callable, apiary::task_options o) {
            (void)attempt([&] {
                const auto id = g.submitted() == 0 ? g.submit(std::move(callable), o)
                                                   : g.submit({g.submitted() - 1}, std::move(callable), o);
                (void)id;
                ++submitted;
            });
        };
        for (unsigned i = 0; i != 12; ++i) {
            const auto type = static_cast<std::uint8_t>(i % 2);
            if (i == 8)
                submit([] { throw std::runtime_error("a task fails"); }, {.type = type});
            else if (i % 3 == 0)
                submit([this, b = ballast()] { (void)b, ++ran; }, {.type = type});
            else
                submit([this] { ++ran; }, {.type = type});
        }
        g.wait();
        (void)attempt([&] { failed = g.failures().size(); });
        completed = g.progress().begun;
        g.close();
    }
    std::string wrong() const {
        different d;
        d.unless_equal("submitted, completed", submitted, completed);
        if (failed != 0) d.unless_equal("submitted; ran or failed", submitted, ran + failed);
        return d.what;
    }
    std::atomic<std::uint64_t> ran = 0;
    std::uint64_t submitted = 0, completed = 0, failed = 0;
};
TEST(no_memory, of_a_task_graph_each_allocation_may_fail) {
    fail_each_allocation<run_of_a_task_graph<apiary::ready_policy::locality>>({"task_graph: no memory for a failure"});
    fail_each_allocation<run_of_a_task_graph<apiary::ready_policy::fifo>>({"task_graph: no memory for a failure"});
}

}  // namespace
