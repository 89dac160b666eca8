// fork_join: two calls that may run at the same time, and their results by value.
//
//     apiary::fork_join_pool pool({.workers = 2});
//     const auto n = pool.run([](auto& w) { return fib(w, 25); });
//
//     std::uint64_t fib(apiary::fork_join_pool::context& w, unsigned n) {
//         if (n < 2) return n;
//         const auto [x, y] = apiary::fork_join(w, [n](auto& v) { return fib(v, n - 1); },
//                                                  [n](auto& v) { return fib(v, n - 2); });
//         return x + y;
//     }
//
// When to use it. For work that divides itself, however finely: a fork that no other worker takes costs little more
// than two calls. When not: for tasks that outlive the call that makes them, or that block.
//
// Order.   If no other worker takes g, it runs after f on the same thread, as in two plain calls.
// Results. A pair, or a tuple of more than two; std::monostate for void.
// Errors.  An exception of f or g leaves fork_join when both are over. If f throws and no other worker has g, g does
//          not run. If both throw, f's travels and g's is counted (fork_join_counters). A fork that finds its stack
//          nearly used up throws fork_too_deep before f and g.
// Memory.  Only the stack of the thread that forks: some 50 bytes, g, and both results.
// Copies.  g is moved or copied there. f is called where it lies; if it was passed as an rvalue or as const, a copy of
//          it may be called.
//
// README.md beside this file has the protocol, the law of help, and the cases in which this is slow. Checked by
// model_check/schedulers/fork_join. Tested by fork_join_test.cpp and fork_matrix_test.cpp.
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

// Calls f, with the worker if f takes one.
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

// A result or an exception. Only its user knows which of the two it holds, and takes it out.
template <class R>
union fork_outcome {
    static_assert(!std::is_reference_v<R>,
                  "fork_join gives results by value: return a pointer in place of a reference");
    R value;
    std::exception_ptr error;

    fork_outcome() {}
    ~fork_outcome() {}

    // Runs f. True: f threw. The handler only stores the exception.
    template <class W, class F>
    [[nodiscard, gnu::always_inline]] bool run(F& f, W& w) {
        try {
            ::new (static_cast<void*>(&value)) R(value_of(f, w));
            return false;
        } catch (...) {
            address_anew(*this)->keep_exception();
        }
        return true;
    }
    // Must be called in a catch block.
    [[gnu::noinline, gnu::cold]] void keep_exception() noexcept {
        ::new (static_cast<void*>(&error)) std::exception_ptr(std::current_exception());
    }
    struct value_end {
        R& r;
        ~value_end() { r.~R(); }
    };
    [[gnu::always_inline]] value_end value_ends() { return {value}; }
    [[gnu::always_inline]] R take_value() {
        const value_end destroy = value_ends();
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
    fork_outcome<branch_result<W, G>> outcome;  // written when a thief runs it
    // A checker keeps this mark beside the outcome, and so sees a read that nothing orders after the thief's run.
    struct watched {
        typename W::sync::template cell<bool> failed;
    };
    struct unwatched {};
    [[no_unique_address]] std::conditional_t<W::sync::checked, watched, unwatched> watch;

    template <class H>
    [[gnu::always_inline]] explicit branch_job(H&& g) : callable(std::forward<H>(g)) {
        this->run.write(&run_by_thief);
    }
    static bool run_by_thief(base& j, void* w) {
        auto& self = static_cast<branch_job&>(j);
        const bool failed = self.outcome.run(self.callable, *static_cast<W*>(w));
        if constexpr (W::sync::checked) self.watch.failed.write(failed);
        return failed;
    }
    bool failed() const {
        const bool failed = W::list::over(*this).is() == fork_progress::failed;
        if constexpr (W::sync::checked)
            W::sync::law(watch.failed.read() == failed, "a theft ended otherwise than it says");
        return failed;
    }
};

// Its caller does not look for what a call changes in it, so a copy can be called instead. F: as it was passed.
template <class F, class W, class Callable = std::remove_reference_t<F>>
concept fits_registers = (!std::is_lvalue_reference_v<F> || std::is_const_v<Callable>) && std::is_object_v<Callable> &&
                         std::is_trivially_copyable_v<Callable> && sizeof(Callable) <= 2 * sizeof(void*) &&
                         (std::is_invocable_v<const Callable&, W&> || std::is_invocable_v<const Callable&>);

// The part of a fork that lies in its caller's frame: the job, and all that the join needs. Its address has escaped
// before f is called, so compilers keep it in memory. In registers that outlive a call it would cost each call a push
// and a pop.
template <class W, class F, class G>
class forked {
    using callable = std::remove_reference_t<F>;
    using first = branch_result<W, callable>;
    using second = branch_result<W, G>;
    static_assert(!std::is_reference_v<first> && !std::is_reference_v<second>,
                  "fork_join gives results by value: return a pointer in place of a reference");
    using results = std::pair<first, second>;
    using handed_on = std::conditional_t<fits_registers<F, W>, callable, callable&>;

public:
    template <class H>
    [[gnu::always_inline]] forked(W& w, H&& g) : worker_(&w), job_(std::forward<H>(g)) {}

    [[gnu::always_inline]] results run(callable& f, W& w) {
        if (w.fork(job_)) [[unlikely]]
            return address_anew(*this)->answer_and_call_both(f);
        return call_both(f, w);
    }

private:
    // Runs f here, and g here or on a thief.
    [[gnu::always_inline]] results call_both(callable& f, W& w) {
        if (first_.run(f, w)) [[unlikely]]
            address_anew(*this)->throw_first();
        const auto destroy_at_end = first_.value_ends();
        if (worker_->join(job_)) [[likely]]
            return results(std::move(first_.value), value_of(job_.callable, *worker_));
        return results(std::move(first_.value), address_anew(*this)->result_of_theft());
    }
    // Out of line together with the rest of the fork: so neither f nor the worker must be kept across a call on the
    // path on which no worker has asked.
    [[gnu::noinline, gnu::cold]] results answer_and_call_both(handed_on f) {
        worker_->answer(job_);
        return call_both(f, *worker_);
    }
    // f has thrown. Waits until g is over or is certain never to begin, and then rethrows.
    [[noreturn, gnu::noinline, gnu::cold]] void throw_first() {
        if (!worker_->join(job_)) {
            const bool failed = job_.failed();
            if (failed) worker_->lose_exception();
            job_.outcome.drop(failed);
        }
        std::rethrow_exception(first_.take_error());
    }
    // The result of g after a thief has run it.
    [[gnu::noinline, gnu::cold]] second result_of_theft() {
        if (job_.failed()) std::rethrow_exception(job_.outcome.take_error());
        return job_.outcome.take_value();
    }

    W* worker_;
    fork_outcome<first> first_;
    branch_job<W, G> job_;
};

}  // namespace detail

template <class Sync, class Pool, class Limits, class F, class G>
[[gnu::always_inline]] inline auto fork_join(fork_context<Sync, Pool, Limits>& w, F&& f, G&& g) {
    using frame = detail::forked<fork_context<Sync, Pool, Limits>, F, std::decay_t<G>>;
    typename Sync::template scoped<frame> on_stack(w, std::forward<G>(g));
    return on_stack->run(f, w);
}

// Three branches or more give a tuple of their results, in order. The second to the last form a fork of their own,
// which runs beside the first: so fork_too_deep may be thrown after the first has run.
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
