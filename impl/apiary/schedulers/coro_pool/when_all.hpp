// when_all, co_scope: several coroutines at once. The parent goes on after the last of them.
//
//     const auto [a, b] = co_await when_all(left(), right());     // co_task of whatever types
//     std::vector<T> all = co_await when_all(std::move(tasks));    // std::vector<co_task<T>>
//
//     co_scope<> children(co_await this_frame());                  // as many as you like
//     co_outcome<int> n;
//     children.fork(work());
//     children.fork(count(), n);
//     co_await children.join();
//
//     co_await with_scope([&](co_scope<>& children) -> co_task<> {  // joins, whatever is thrown
//         children.fork(work());
//         co_return;
//     });
//
// When to use it. For branches that may run at the same time, however small: a branch that no other worker takes costs
// a frame and a few plain stores. When not: if only the first answer counts (when_any).
//
// Order.    A branch that no other worker takes runs on this worker: the branches of when_all in the order of the
//           arguments, those of a scope the newest first, after the join has begun.
// Errors.   All branches run to their end. Then one exception leaves the await. For when_all it is the first in the
//           order of the arguments; for a scope it is the first in time among the branches without an outcome. All
//           others are counted (coro_report::lost_exceptions). std::bad_alloc for a vector's results leaves the await
//           before any branch has begun.
// Lifetime. Structured: no branch outlives the await, or the join. Destroying a scope before its branches were joined
//           ends the program, because their results lie in it. with_scope always joins.
// Threads.  A scope is used by the coroutine that made it, or by one that this awaits. That coroutine may move from
//           worker to worker.
//
// The protocol: frame.hpp. Checked by model_check/schedulers/coro_pool.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <apiary/schedulers/coro_pool/co_task.hpp>

namespace apiary {

namespace detail {

[[noreturn, gnu::noinline, gnu::cold]] inline void throw_empty_task() {
    throw std::logic_error("when_all: one of the tasks was awaited before, or moved from");
}
template <class Sync>
void count_lost(std::size_t failed) {
    if (failed > 1) co_context<Sync>::here()->lost_exceptions.add(failed - 1);
}

template <class Sync, class... T>
class co_all;

// The result of when_all: branches that have not begun. co_await makes the awaiter in place, so that the compiler need
// not reload what it has just written.
template <class Sync, class... T>
class [[nodiscard]] co_branches {
public:
    // Precondition: none of the tasks is empty.
    [[gnu::always_inline]] explicit co_branches(co_task<T, Sync>&&... children) noexcept
        : children_(children.release()...) {}
    co_branches(const co_branches&) = delete;
    co_branches& operator=(const co_branches&) = delete;
    [[gnu::always_inline]] ~co_branches() {
        if (std::get<0>(children_) != nullptr) [[unlikely]]
            std::apply(&drop, children_);
    }

    // May be called once; after that it throws std::logic_error.
    [[gnu::always_inline]] co_all<Sync, T...> operator co_await() {
        if (std::get<0>(children_) == nullptr) [[unlikely]]
            throw_empty_task();
        return co_all<Sync, T...>(*this);
    }

private:
    friend co_all<Sync, T...>;
    // For branches that were never awaited.
    [[gnu::noinline, gnu::cold]] static void drop(co_promise<T, Sync>*... child) { (child->handle().destroy(), ...); }

    std::tuple<co_promise<T, Sync>*...> children_;  // the first is null once they have begun
};

template <class Sync, class... T>
class co_all {
    static constexpr std::size_t n = sizeof...(T);
    static_assert(n != 0);

public:
    using comes_home = void;

    [[gnu::always_inline]] explicit co_all(co_branches<Sync, T...>& of) noexcept : of_(of) {}
    co_all(const co_all&) = delete;
    co_all& operator=(const co_all&) = delete;

    bool await_ready() const noexcept { return false; }
    template <class P>
    [[gnu::always_inline]] std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) noexcept {
        co_frame<Sync>& parent = h.promise();
        co_context<Sync>& here = *co_context<Sync>::here();
        group_.waiter.write(&parent);
        group_.at.write(here.host());
        fork_rest(here, parent, std::make_index_sequence<n - 1>());
        auto& first = begin<0>();
        first.branch_of(group_, &parent.root(), co_group<Sync>::all - n);
        std::get<0>(of_.children_) = nullptr;
        return here.transfer_behind_forks(first);
    }
    [[gnu::always_inline]] std::tuple<typename co_outcome<T, Sync>::value_type...> await_resume() {
        return results(std::index_sequence_for<T...>());
    }

private:
    template <std::size_t I>
    [[gnu::always_inline]] auto& begin() {
        auto& child = *std::get<I>(of_.children_);
        child.result_goes_to(&std::get<I>(outcomes_));
        return child;
    }
    // Forks the last branch first, so that the second argument is the newest and runs next.
    template <std::size_t... I>
    [[gnu::always_inline]] void fork_rest(co_context<Sync>& here, co_frame<Sync>& parent, std::index_sequence<I...>) {
        [[maybe_unused]] const auto fork = [&](auto& child) {
            child.branch_of(group_, &parent.root());
            here.fork_unasked(child);
        };
        (fork(begin<n - 1 - I>()), ...);
    }
    template <std::size_t... I>
    [[gnu::always_inline]] std::tuple<typename co_outcome<T, Sync>::value_type...> results(std::index_sequence<I...>) {
        if (!(std::get<I>(outcomes_).has_value() && ...)) [[unlikely]]
            rethrow_first();
        return std::tuple<typename co_outcome<T, Sync>::value_type...>{std::get<I>(outcomes_).known_value()...};
    }
    [[noreturn, gnu::noinline, gnu::cold]] void rethrow_first() {
        std::apply(
            [](const auto&... all) {
                count_lost<Sync>((std::size_t{all.failed()} + ...));
                ((all.failed() ? std::rethrow_exception(all.error()) : void()), ...);
            },
            outcomes_);
        std::terminate();  // unreachable: one of them has failed
    }

    co_branches<Sync, T...>& of_;
    co_group<Sync> group_;
    std::tuple<co_outcome<T, Sync>...> outcomes_;
};

template <class Sync, class T>
class co_all_of {
public:
    using comes_home = void;

    explicit co_all_of(std::vector<co_task<T, Sync>>&& children) : children_(std::move(children)) {}

    bool await_ready() const noexcept { return children_.empty(); }
    template <class P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) {
        for (const auto& t : children_)
            if (t.empty()) throw_empty_task();
        outcomes_ = std::make_unique<co_outcome<T, Sync>[]>(children_.size());
        if constexpr (!std::is_void_v<T>) results_.reserve(children_.size());
        co_frame<Sync>& parent = h.promise();
        co_context<Sync>& here = *co_context<Sync>::here();
        group_.waiter.write(&parent);
        group_.at.write(here.host());
        for (std::size_t i = children_.size(); --i != 0;) {
            auto& child = children_[i].begin_into(outcomes_[i]);
            child.branch_of(group_, &parent.root());
            here.fork_unasked(child);
        }
        auto& first = children_[0].begin_into(outcomes_[0]);
        first.branch_of(group_, &parent.root(), static_cast<std::uint32_t>(co_group<Sync>::all - children_.size()));
        return here.transfer_behind_forks(first);
    }
    auto await_resume() {
        std::size_t failed = 0;
        for (std::size_t i = 0; i != children_.size(); ++i) failed += std::size_t{outcomes_[i].failed()};
        count_lost<Sync>(failed);
        if constexpr (std::is_void_v<T>) {
            for (std::size_t i = 0; i != children_.size(); ++i) outcomes_[i].take();
        } else {
            for (std::size_t i = 0; i != children_.size(); ++i) results_.push_back(outcomes_[i].take());
            return std::move(results_);
        }
    }

private:
    struct nothing {};

    co_group<Sync> group_;
    [[no_unique_address]] std::conditional_t<std::is_void_v<T>, nothing, std::vector<T>> results_;
    std::unique_ptr<co_outcome<T, Sync>[]> outcomes_;
    std::vector<co_task<T, Sync>> children_;
};

}  // namespace detail

template <class Sync, class... T>
[[nodiscard, gnu::always_inline]] inline detail::co_branches<Sync, T...> when_all(co_task<T, Sync>... children) {
    if ((children.empty() || ...)) [[unlikely]]
        detail::throw_empty_task();
    return detail::co_branches<Sync, T...>(std::move(children)...);
}
template <class T, class Sync>
[[nodiscard]] detail::co_all_of<Sync, T> when_all(std::vector<co_task<T, Sync>> children) {
    return detail::co_all_of<Sync, T>(std::move(children));
}

template <class Sync = real_sync>
class co_scope {
public:
    explicit co_scope(co_frame<Sync>* parent) : parent_(parent) {}
    co_scope(const co_scope&) = delete;
    co_scope& operator=(const co_scope&) = delete;
    [[gnu::always_inline]] ~co_scope() {
        if (forked_ != 0) [[unlikely]]
            Sync::fail("co_scope: destroyed with branches that nobody has joined (with_scope joins)");
    }

    void fork(co_task<void, Sync> child) { begin(child.begin_into(group_)); }
    // Calls f to make the branch, and keeps f until the branch has ended.
    template <detail::makes_task<Sync> F>
    void fork(F f) {
        fork(detail::calls<Sync>(std::move(f)));
    }
    // The branch leaves its result in `out`, which must live until the join is over. Throws std::logic_error if a
    // branch was forked into `out` before.
    template <class T>
    void fork(co_task<T, Sync> child, co_outcome<T, Sync>& out) {
        child.must_be_there();
        out.expect();
        begin(child.begin_into(out));
    }

    class joining {
    public:
        using comes_home = void;
        explicit joining(co_scope& s) : scope_(s) {}
        bool await_ready() const noexcept { return scope_.forked_ == 0; }
        // The coroutine that joins need not be the one that made the scope: it may be a body, or a task that it awaits.
        template <class P>
        [[gnu::always_inline]] std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) noexcept {
            const std::uint32_t forked = std::exchange(scope_.forked_, 0);
            return co_context<Sync>::here()->join(scope_.group_, h.promise(), forked);
        }
        void await_resume() { scope_.joined(); }

    private:
        co_scope& scope_;
    };
    // After its join a scope may be used for further forks.
    [[nodiscard]] joining join() { return joining(*this); }

private:
    void begin(co_frame<Sync>& child) {
        co_root<Sync>& root = parent_->root();
        co_context<Sync>& here = *co_context<Sync>::here();
        child.branch_of(group_, &root);
        if (here.host() != root.host.read()) [[unlikely]]
            child.is_counted_at(*here.host());
        if (++forked_ == most_counted) [[unlikely]]
            forget_ended();
        here.fork(child);
    }
    // So that a scope may live, and fork, for ever: from here on as if the branches that have ended had never been.
    [[gnu::noinline, gnu::cold]] void forget_ended() noexcept {
        // Acquire (frame.hpp S1): the chain of the parent may have `all` afterwards, and does not look at the word.
        const std::uint32_t ended = co_group<Sync>::all - group_.pending.load(std::memory_order_acquire);
        (void)group_.pending.fetch_add(ended, std::memory_order_relaxed);
        forked_ -= ended;
        Sync::reach("co_scope.forgot");
        if (forked_ == most_counted) Sync::fail("co_scope: 2^29 branches at once, none of which has ended");
    }
    void joined() {
        group_.pending.store(co_group<Sync>::all, std::memory_order_relaxed);
        group_.rethrow();
    }

    static constexpr std::uint32_t most_counted = co_group<Sync>::all / 2;

    co_frame<Sync>* const parent_;
    co_error_group<Sync> group_;
    std::uint32_t forked_ = 0;
};

// Calls body(scope), and then joins. If both the body and a branch throw, the body's exception is passed on and the
// branch's is counted as lost.
template <class Sync = real_sync, class F>
co_task<void, Sync> with_scope(F body) {
    co_scope<Sync> children(co_await this_frame());
    std::exception_ptr thrown;
    try {
        co_await body(children);
    } catch (...) {
        thrown = std::current_exception();
    }
    try {
        co_await children.join();
    } catch (...) {
        if (!thrown)
            thrown = std::current_exception();
        else
            detail::count_lost<Sync>(2);
    }
    if (thrown) std::rethrow_exception(thrown);
}

}  // namespace apiary
