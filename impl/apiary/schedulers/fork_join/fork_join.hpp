// fork_join: two calls that may run at the same time, and their results by value.
//
//     apiary::fork_join_pool pool({.workers = 2});
//     const auto n = pool.run([](auto& w) { return fib(w, 35); });
//
//     std::uint64_t fib(apiary::fork_join_pool::context& w, unsigned n) {
//         if (n < 2) return n;
//         const auto [x, y] = apiary::fork_join(w, [n](auto& w) { return fib(w, n - 1); },
//                                                  [n](auto& w) { return fib(w, n - 2); });
//         return x + y;
//     }
//
// When to use it. For work that divides itself, however finely: a fork that no other worker takes costs
// little more than two calls. When not: for tasks that outlive the call that makes them, or that block.
//
// Order.   Where nobody takes it, g runs behind f, on the same thread: what the plain calls would do.
// Results. A pair, or a tuple of more than two; std::monostate for void.
// Errors.  An exception of f or g leaves fork_join when both are over. When f throws and nobody has g, g
//          does not run. When both throw, f's travels and g's is counted (fork_join_counters). A fork
//          that finds its stack nearly used up throws fork_too_deep before f and g.
// Memory.  The stack of the thread that forks: some 40 bytes, g and g's result.
//
// The protocol, the law of help, and what this is bad at: README.md beside this file.
#pragma once

#include <exception>
#include <memory>
#include <new>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include <apiary/schedulers/fork_join/context.hpp>

namespace apiary {

namespace detail {

// With the worker or without, whichever it takes.
template <class W, class F>
[[gnu::always_inline]] inline decltype(auto) call_branch(F& f, W& w) {
    if constexpr (std::is_invocable_v<F&, W&>)
        return f(w);
    else
        return f();
}
template <class W, class F>
using branch_returns = decltype(call_branch(std::declval<F&>(), std::declval<W&>()));
template <class W, class F>
using branch_result = std::conditional_t<std::is_void_v<branch_returns<W, F>>, std::monostate, branch_returns<W, F>>;

template <class W, class F>
[[gnu::always_inline]] inline branch_result<W, F> value_of(F& f, W& w) {
    if constexpr (std::is_void_v<branch_returns<W, F>>) {
        call_branch(f, w);
        return {};
    } else {
        return call_branch(f, w);
    }
}

// A result, or an exception; which of them, its user knows, and takes it out.
template <class R>
union fork_outcome {
    static_assert(!std::is_reference_v<R>,
                  "fork_join gives results by value: return a pointer in place of a reference");
    R value;
    std::exception_ptr error;

    fork_outcome() {}
    ~fork_outcome() {}

    // True: an exception left it. Nothing happens in the catch but that it is kept.
    template <class W, class F>
    [[nodiscard, gnu::always_inline]] bool run(F& f, W& w) {
        try {
            ::new (static_cast<void*>(&value)) R(value_of(f, w));
            return false;
        } catch (...) {
            keep_exception();
        }
        return true;
    }
    // In a catch.
    [[gnu::noinline, gnu::cold]] void keep_exception() noexcept {
        ::new (static_cast<void*>(&error)) std::exception_ptr(std::current_exception());
    }
    [[gnu::always_inline]] R take_value() {
        struct guard {
            R& r;
            ~guard() { r.~R(); }
        } const destroy{value};
        return std::move(value);
    }
    std::exception_ptr take_error() {
        std::exception_ptr e = std::move(error);
        error.~exception_ptr();
        return e;
    }
    void drop(bool failed) {
        if (failed)
            error.~exception_ptr();
        else
            value.~R();
    }
};

// A branch on the stack of the worker that forks.
template <class W, class G>
struct branch_job : fork_job<typename W::sync> {
    using base = fork_job<typename W::sync>;
    G callable;
    fork_outcome<branch_result<W, G>> outcome;  // of a thief's run

    template <class H>
    [[gnu::always_inline]] explicit branch_job(H&& g) : callable(std::forward<H>(g)) {
        this->run.write(&run_by_thief);
    }
    static bool run_by_thief(base& j, void* w) {
        auto& self = static_cast<branch_job&>(j);
        return self.outcome.run(self.callable, *static_cast<W*>(w));
    }
    bool failed() const { return W::list::over(*this).is() == fork_progress::failed; }
};

// f has thrown: g is over, or never begins, when this throws on.
template <class W, class Job>
[[noreturn, gnu::noinline, gnu::cold]] void throw_first(W& w, Job& job, fork_outcome<std::monostate>& thrown) {
    if (!w.join(job)) {
        const bool failed = job.failed();
        if (failed) w.lose_exception();
        job.outcome.drop(failed);
    }
    std::rethrow_exception(thrown.take_error());
}
// f's result, which can stay in a register: an exception has a place of its own, for that has to be in memory.
template <class R, class W, class F, class Job>
[[gnu::always_inline]] inline R first_result(F& f, W& w, Job& job) {
    fork_outcome<std::monostate> thrown;
    try {
        return value_of(f, w);
    } catch (...) {
        thrown.keep_exception();
    }
    throw_first(w, job, thrown);
}
// g's result, of a thief.
template <class Job>
[[gnu::noinline, gnu::cold]] auto result_of_theft(Job& job) {
    if (job.failed()) std::rethrow_exception(job.outcome.take_error());
    return job.outcome.take_value();
}

}  // namespace detail

template <class Sync, class Pool, class Limits, class F, class G>
[[gnu::always_inline]] inline auto fork_join(fork_context<Sync, Pool, Limits>& w, F&& f, G&& g) {
    using context = fork_context<Sync, Pool, Limits>;
    using first = detail::branch_result<context, std::remove_reference_t<F>>;
    using second_type = std::decay_t<G>;
    using second = detail::branch_result<context, second_type>;
    static_assert(!std::is_reference_v<first> && !std::is_reference_v<second>,
                  "fork_join gives results by value: return a pointer in place of a reference");

    typename Sync::template scoped<detail::branch_job<context, second_type>> on_stack(std::forward<G>(g));
    auto& job = *on_stack;
    w.fork(job);
    first mine = detail::first_result<first>(f, w, job);
    if (w.join(job)) [[likely]]
        return std::pair<first, second>(std::move(mine), detail::value_of(job.callable, w));
    return std::pair<first, second>(std::move(mine), detail::result_of_theft(job));
}

// Three and more: a tuple of the results, in order.
template <class Sync, class Pool, class Limits, class F, class G, class H, class... More>
[[gnu::always_inline]] inline auto fork_join(fork_context<Sync, Pool, Limits>& w, F&& f, G&& g, H&& h, More&&... more) {
    using context = fork_context<Sync, Pool, Limits>;
    auto all = fork_join(w, std::forward<F>(f), [&](context& v) {
        return fork_join(v, std::forward<G>(g), std::forward<H>(h), std::forward<More>(more)...);
    });
    return std::apply(
        [&](auto&&... rest) {
            return std::tuple<std::decay_t<decltype(all.first)>, std::decay_t<decltype(rest)>...>(std::move(all.first),
                                                                                                  std::move(rest)...);
        },
        std::move(all.second));
}

}  // namespace apiary
