// The calls that a runtime must offer to be raced, and those that it may offer.
//
// An adapter is a small class in bench/subjects/, one per runtime:
//
//     struct adapter {
//         static constexpr std::string_view name = "…";   // as in --version and the rows
//         static std::string version();                   // of the runtime; never empty
//         explicit adapter(unsigned workers);              // starts `workers` threads that execute tasks
//         ~adapter();                                      // stops and joins them
//         // each of these is optional:
//         template <class F> void post(F&& task);          // any thread; must not drop the task
//         template <class F> void spawn(F&& task);         // from a task; else post is taken
//         template <class F> void hand_on(F&& task);       // from a task that is about to end; else spawn
//         template <class F> void yield(std::uint64_t number, F&& task);  // hand_on, after the ready tasks
//         template <class F> void repost(F&& task);        // from a task: its rest, after the tasks that wait; with
//         bool work_waits();                               // whether there are some, where the runtime can tell
//         template <class F> void post_batch(std::span<F> tasks);         // moves from the elements
//         template <class F> void post_delayed(std::chrono::nanoseconds delay, F&& task);
//         using timeout = …;                               // made empty; with
//         template <class F> bool rearm(timeout&, std::chrono::nanoseconds, F&& task);  // from a task; false: it was
//         void disarm(timeout&);                                                        // armed and has begun since
//         template <class F> void post_to_worker(unsigned worker, F&& task);
//         using host = …;                                  // real_host.hpp, where it is not that one
//         using targeted = …;                              // another adapter: it has post_to_worker and server
//         adapter(unsigned workers, unsigned compute_workers);            // with
//         template <class F> void post_compute(F&& task);                 // for long tasks
//         template <class F> void call(F&& root);          // runs root on a worker and waits for it; with
//         class scope { template <class F> void run(F&& task); void wait(); };  // of the tasks that root makes
//         // with call: runs both, perhaps at once. With a worker handed in: root(w), fork_join(w, f, g), f(w), g(w)
//         template <class F, class G> static void fork_join(F&& f, G&& g);
//         static constexpr bool by_value = true;           // fork_join gives the branches' results as a pair
//         static constexpr bool by_halves = true;          // more than two children are halved by fork_join, too
//         template <class T> using task = …;               // if tasks are coroutines: an awaitable of T or void; with
//         void run(task<void> root);                       // on a worker; waits for it
//         static auto both(task<T>, task<T>);              // co_await gives both results; may run both at once
//         // branches b(co_await this_task()); b.fork(task<void>); co_await b.join();
//         using branches = …;
//         static auto this_task();
//         static constexpr bool several = true;            // two of it at a time do not share their workers
//         static constexpr bool starves = true;            // outside posts may wait for ever while tasks respawn
//         class server;                                    // answers on sockets: serving.hpp
//         runtime_counters counters() const;               // since the runtime was made
//         static constexpr std::array tunables{parameter{…}};            // its own numbers, with defaults; with
//         static void tune(std::string_view name, std::uint64_t value);   // before the first one is made
//     };
//
// A scenario that needs a call which the adapter lacks is `unsupported`; nothing is approximated.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <apiary/bench/ledger.hpp>

namespace apiary::bench {

struct runtime_counters {
    std::optional<std::uint64_t> wakes, parks, steals;
};

// A stand-in for the tasks of the scenarios: a pointer and a number, trivially copyable.
struct example_task {
    ledger* account;
    std::uint64_t number;
    void operator()() const { account->complete(number); }
};

// A stand-in for the two branches that a runtime's call for two branches runs.
struct example_branch {
    void operator()(auto&...) const {}
};

template <class R>
concept runtime_adapter = std::constructible_from<R, unsigned> && requires {
    { R::name } -> std::convertible_to<std::string_view>;
    { R::version() } -> std::convertible_to<std::string>;
};

template <class R>
concept poster = runtime_adapter<R> && requires(R& r, example_task t) { r.post(t); };

// A post from outside begins even if many tasks go on posting themselves.
template <class R>
concept fair_poster = poster<R> && !requires { requires R::starves; };

template <class R>
concept batch_poster = poster<R> && requires(R& r, std::span<example_task> tasks) { r.post_batch(tasks); };

template <class R>
concept delayed_poster =
    poster<R> && requires(R& r, std::chrono::nanoseconds delay, example_task t) { r.post_delayed(delay, t); };

// The runtime has timeouts that are cancelled and armed again, and do nothing then.
template <class R>
concept timeout_keeper =
    poster<R> && requires(R& r, typename R::timeout& t, std::chrono::nanoseconds delay, example_task f) {
        { r.rearm(t, delay, f) } -> std::same_as<bool>;
        r.disarm(t);
    };

template <class R>
concept targeted_poster = poster<R> && requires(R& r, example_task t) { r.post_to_worker(0U, t); };

template <class R>
concept compute_runtime = poster<R> && std::constructible_from<R, unsigned, unsigned> &&
                          requires(R& r, example_task t) { r.post_compute(t); };

// A task that takes long can offer its slice: it posts its rest, which runs after the tasks that wait.
template <class R>
concept slicer = poster<R> && requires(R& r, example_task t) { r.repost(t); };

// Two of the runtime can be at work at once.
template <class R>
concept several_at_once = poster<R> && requires { requires R::several; };

// The runtime can wait for children inside a worker.
template <class R>
concept joiner = runtime_adapter<R> && requires(R& r, example_task t, typename R::scope& s) {
    r.call(t);
    s.run(t);
    s.wait();
};

// The runtime has a call for two branches that may run at once. It may or may not hand in a worker.
template <class R>
concept forker = runtime_adapter<R> && (requires(R& r, example_branch b) {
    r.call(b);
    R::fork_join(b, b);
} || requires(R& r, example_branch b, typename R::worker& w) {
    r.call(b);
    R::fork_join(w, b, b);
});

// The runtime's users get results out of that call, and not through references.
template <class R>
concept forker_by_value = forker<R> && requires { requires R::by_value; };

// The runtime's users divide more than two children by that call, until one is left.
template <class R>
concept forker_by_halves = forker<R> && requires { requires R::by_halves; };

// The runtime's tasks are coroutines, so it gets the kernels in coroutine form.
template <class R>
concept coroutine_runtime = runtime_adapter<R> && requires(R& r, typename R::template task<std::uint64_t> t,
                                                           typename R::template task<void> v, typename R::branches& b) {
    r.run(std::move(v));
    R::both(std::move(t), std::move(t));
    R::this_task();
    b.fork(std::move(v));
    b.join();
};

template <class R>
concept counting_runtime = requires(const R& r) {
    { r.counters() } -> std::same_as<runtime_counters>;
};

template <class R>
concept tunable_runtime = requires { R::tune(R::tunables[0].name, std::uint64_t{1}); };

// For a task that offers its slice: whether the tasks that wait get it. A runtime that cannot tell always gives it.
template <slicer R>
[[nodiscard]] bool work_waits(R& runtime) {
    if constexpr (requires { runtime.work_waits(); })
        return runtime.work_waits();
    else
        return true;
}

// Spawns from a task of the runtime, by its best call for that.
template <poster R, class F>
void spawn(R& runtime, F&& task) {
    if constexpr (requires { runtime.spawn(std::forward<F>(task)); })
        runtime.spawn(std::forward<F>(task));
    else
        runtime.post(std::forward<F>(task));
}

// Spawns the successor of a task that ends now.
template <poster R, class F>
void hand_on(R& runtime, F&& task) {
    if constexpr (requires { runtime.hand_on(std::forward<F>(task)); })
        runtime.hand_on(std::forward<F>(task));
    else
        bench::spawn(runtime, std::forward<F>(task));
}

// The same, but the successor runs after the tasks that are ready now, where the runtime has a call for that. `number`
// is the task's own, for a runtime that must choose a worker for it.
template <poster R, class F>
void yield(R& runtime, std::uint64_t number, F&& task) {
    if constexpr (requires { runtime.yield(number, std::forward<F>(task)); })
        runtime.yield(number, std::forward<F>(task));
    else
        bench::hand_on(runtime, std::forward<F>(task));
}

// The adapter for scenarios that aim at a worker, and for servers.
template <class R>
struct targeted_of {
    using type = R;
};
template <class R>
    requires requires { typename R::targeted; }
struct targeted_of<R> {
    using type = typename R::targeted;
};

// For an adapter whose runtime refused a task. The block could never end, so the run ends here, as a crash.
inline void must_accept(bool accepted) {
    if (accepted) [[likely]]
        return;
    std::fputs("the runtime refused a task although nobody asked it to stop\n", stderr);
    std::abort();
}

}  // namespace apiary::bench
