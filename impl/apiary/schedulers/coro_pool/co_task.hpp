// co_task: a coroutine that begins when it is awaited, and gives its result to its awaiter.
//
//     apiary::co_task<std::uint64_t> fib(unsigned n) {
//         if (n < 2) co_return n;
//         const auto [x, y] = co_await apiary::when_all(fib(n - 1), fib(n - 2));     // when_all.hpp
//         co_return x + y;
//     }
//
//     apiary::coro_pool pool({.workers = 2});
//     pool.start();
//     std::uint64_t n = apiary::sync_wait(pool, fib(20));
//
// When to use it. For every coroutine that runs on a coro_pool. When not: for a result that several coroutines await,
// or that is fetched later. A task is awaited once, by the coroutine that continues with its result.
//
// co_await child() runs the child on this worker, and the parent after it: no other worker is asked, only the child's
// frame is allocated, and the stack does not grow, however deep the calls. An awaitable from outside this project may
// resume its coroutine on any thread. The pool therefore awaits it in a frame of its own (come_home below), and the
// coroutine goes on in its own pool.
//
// Threads.   A task belongs to one thread at a time. After each co_await another worker may run the coroutine: keep no
//            thread_local across one, and no lock.
// Errors.    An exception of the task leaves co_await in the awaiter. std::logic_error: the awaited task was moved
//            from, or awaited before. std::bad_alloc: no memory for the frame; it leaves the call that makes the task.
// Lifetime.  A task that is never awaited destroys its frame, which has never run. The tasks among its arguments go
//            with it, in the order of the language. Exception: tasks nested more than 64 deep are destroyed after the
//            outermost one (drop_unbegun), so the holder of such a task may be gone before the task's own arguments
//            are.
//            The frame of a task that runs destroys itself at its end, before its awaiter goes on.
//            A task is lazy, so whatever its arguments refer to must still live when it runs. The captures of a lambda
//            lie in the lambda and not in the frame: so spawn and fork take the lambda itself, uncalled, and keep it:
//            pool.spawn([x]() -> co_task<> { … }).
// Memory.    One frame for each task (frame_storage.hpp); no heap call in the steady state.
//
// Checked by model_check/schedulers/coro_pool. Tested by tests/. Source: Baker, "C++ coroutines: understanding
// symmetric transfer", 2020.
#pragma once

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include <apiary/schedulers/coro_pool/context.hpp>
#include <apiary/schedulers/coro_pool/frame.hpp>
#include <apiary/schedulers/coro_pool/outcome.hpp>
#include <apiary/tasks/frame_storage.hpp>

namespace apiary {

template <class T, class Sync>
class co_promise;

template <class T = void, class Sync = real_sync>
class [[nodiscard]] co_task {
public:
    using promise_type = co_promise<T, Sync>;
    using value_type = T;

    co_task() = default;
    explicit co_task(promise_type& p) : begins_(&p) {}
    [[gnu::always_inline]] co_task(co_task&& other) noexcept : begins_(std::exchange(other.begins_, nullptr)) {}
    co_task& operator=(co_task&& other) noexcept {
        if (this != &other) {
            const co_task before(std::move(*this));  // its end may end this object, which an argument of it owns
            begins_ = std::exchange(other.begins_, nullptr);
        }
        return *this;
    }
    [[gnu::always_inline]] ~co_task() {
        if (begins_ != nullptr) [[unlikely]]
            drop(std::exchange(begins_, nullptr));
    }

    bool empty() const { return begins_ == nullptr; }
    // Throws std::logic_error if it is empty.
    [[gnu::always_inline]] void must_be_there() const {
        if (begins_ == nullptr) [[unlikely]]
            throw_begun();
    }
    // For awaiters and pools. The frame then belongs to the caller, and its result goes to `out`.
    [[gnu::always_inline]] promise_type& begin_into(co_outcome<T, Sync>& out) {
        must_be_there();
        begins_->result_goes_to(&out);
        return *std::exchange(begins_, nullptr);
    }
    // For awaiters and pools. The frame then belongs to the caller. Null if the task is empty.
    [[gnu::always_inline]] promise_type* release() { return std::exchange(begins_, nullptr); }
    // For a branch without an outcome: its exception goes to the group.
    promise_type& begin_into(co_error_group<Sync>&)
        requires std::is_void_v<T>
    {
        must_be_there();
        begins_->result_goes_to(nullptr);
        return *std::exchange(begins_, nullptr);
    }

private:
    [[noreturn, gnu::noinline, gnu::cold]] static void throw_begun() {
        throw std::logic_error("co_task: awaited or forked a task that was awaited before, or moved from");
    }
    // By value: with a pointer to the task, a call would keep it in memory.
    [[gnu::noinline, gnu::cold]] static void drop(promise_type* p) { p->drop_unbegun(); }

    promise_type* begins_ = nullptr;
};

namespace detail {

// The awaiter of co_await child().
template <class T, class Sync>
class co_call {
public:
    using comes_home = void;

    [[gnu::always_inline]] explicit co_call(co_task<T, Sync>&& t) : child_(t.begin_into(out_)) {}
    co_call(const co_call&) = delete;
    co_call& operator=(const co_call&) = delete;

    bool await_ready() const noexcept { return false; }
    template <class P>
    [[gnu::always_inline]] std::coroutine_handle<> await_suspend(std::coroutine_handle<P> parent) noexcept {
        child_.call_of(parent.promise());
        return co_context<Sync>::here()->transfer(child_);
    }
    [[gnu::always_inline]] T await_resume() { return out_.take(); }

private:
    co_outcome<T, Sync> out_;
    co_promise<T, Sync>& child_;
};

// g++ 12 copies an awaiter that it gets by reference into the frame.
template <class A>
struct by_reference {
    A* awaiter;
    [[gnu::always_inline]] bool await_ready() { return awaiter->await_ready(); }
    template <class P>
    [[gnu::always_inline]] decltype(auto) await_suspend(std::coroutine_handle<P> h) {
        return awaiter->await_suspend(h);
    }
    [[gnu::always_inline]] decltype(auto) await_resume() { return awaiter->await_resume(); }
};

template <class A>
concept has_member_await = requires(A&& a) { std::forward<A>(a).operator co_await(); };
template <class A>
concept has_free_await = requires(A&& a) { operator co_await(std::forward<A>(a)); };
template <class A>
[[gnu::always_inline]] inline decltype(auto) awaiter_of(A&& a) {
    if constexpr (has_member_await<A>)
        return std::forward<A>(a).operator co_await();
    else if constexpr (has_free_await<A>)
        return operator co_await(std::forward<A>(a));
    else
        return by_reference<std::remove_reference_t<A>>{&a};
}
template <class A>
using awaiter_type = std::remove_cvref_t<decltype(awaiter_of(std::declval<A>()))>;
// The result type of an await. For an rvalue reference it is the value, since the reference may end with the awaiter.
template <class R>
using kept_result = std::conditional_t<std::is_rvalue_reference_v<R>, std::remove_cvref_t<R>, R>;
template <class A>
using await_result = kept_result<decltype(std::declval<awaiter_type<A>&>().await_resume())>;

template <class A>
concept brings_home =
    requires { typename std::remove_cvref_t<A>::comes_home; } || requires { typename awaiter_type<A>::comes_home; };

template <class Sync>
struct end_at {
    co_host<Sync>* host;
};
struct this_frame_tag {};
template <class A>
struct as_it_is {
    A&& awaitable;
};

template <class T>
struct known {
    using comes_home = void;
    T value;
    bool await_ready() const noexcept { return true; }
    void await_suspend(std::coroutine_handle<>) const noexcept {}
    T await_resume() const noexcept { return value; }
};

// Awaits an awaitable that may resume on any thread, and ends in the pool where it began.
template <class Sync, class A>
co_task<await_result<A>, Sync> come_home(A&& awaitable) {
    co_await end_at<Sync>{co_context<Sync>::here()->host()};
    co_return co_await as_it_is<A>{std::forward<A>(awaitable)};
}

// A coroutine that keeps the callable and its captures until the task that the callable makes has ended.
template <class F, class Sync>
concept makes_task = requires(F& f) {
    { f() } -> std::same_as<co_task<void, Sync>>;
};
template <class Sync, makes_task<Sync> F>
co_task<void, Sync> calls(F f) {
    co_await f();
}

// The end of a coroutine. Usually it does not suspend here, and its frame is destroyed without a further call.
template <class Sync>
struct co_final {
    co_frame<Sync>& frame;
    [[gnu::always_inline]] bool await_ready() const noexcept { return frame.over(); }
    template <class P>
    bool await_suspend(std::coroutine_handle<P> h) const noexcept {
        return h.promise().goes_home_first();
    }
    void await_resume() const noexcept {}
};

// The part of a promise that says where its result goes.
template <class T, class Sync>
class co_result_of : public co_frame<Sync> {
public:
    void result_goes_to(co_outcome<T, Sync>* out) { out_ = out; }
    [[gnu::noinline, gnu::cold]] void unhandled_exception() noexcept { out_->fail(std::current_exception()); }

protected:
    co_outcome<T, Sync>* out_;
};

}  // namespace detail

template <class T, class Sync>
class co_promise_base : public detail::co_result_of<T, Sync> {
public:
    template <class U = T>
        requires std::constructible_from<T, U> || (std::is_reference_v<T> && std::convertible_to<U, T>)
    [[gnu::always_inline]] void return_value(U&& value) {
        this->out_->set(std::forward<U>(value));
    }
};
// With a null outcome it is a branch, whose exception goes to the group.
template <class Sync>
class co_promise_base<void, Sync> : public detail::co_result_of<void, Sync> {
public:
    void return_void() {
        if (this->out_ != nullptr) this->out_->set();
    }
    [[gnu::noinline, gnu::cold]] void unhandled_exception() noexcept {
        if (this->out_ != nullptr) return this->out_->fail(std::current_exception());
        if (!static_cast<co_error_group<Sync>&>(this->group_of()).keep(std::current_exception()))
            co_context<Sync>::here()->lost_exceptions.add();
    }
};

template <class T, class Sync>
class co_promise : public co_promise_base<T, Sync> {
public:
    co_promise() {
        // With the same alignment the promise begins where its co_frame does, so co_frame can compute its own handle.
        static_assert(alignof(co_promise) == alignof(co_frame<Sync>));
        // g++ 12 may misplace the promise by eight bytes (coroutines/README.md).
        if (reinterpret_cast<std::uintptr_t>(this) % alignof(std::max_align_t) != 0) [[unlikely]]
            misplaced();
        if constexpr (Sync::checked)
            if (this->handle() != std::coroutine_handle<co_promise>::from_promise(*this))
                Sync::fail("the promise of a coroutine does not begin with its frame");
    }

    // Tells the compiler the alignment, so that it can decide at compile time whether a promise is misplaced.
    [[gnu::always_inline]] static void* operator new(std::size_t bytes) {
        return __builtin_assume_aligned(frame_storage<Sync>::allocate(bytes), alignof(std::max_align_t));
    }
    [[gnu::always_inline]] static void operator delete(void* p, std::size_t bytes) noexcept {
        frame_storage<Sync>::release(p, bytes);
    }

    co_task<T, Sync> get_return_object() noexcept { return co_task<T, Sync>(*this); }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    [[gnu::always_inline]] detail::co_final<Sync> final_suspend() noexcept { return {*this}; }

    template <class U>
    [[gnu::always_inline]] detail::co_call<U, Sync> await_transform(co_task<U, Sync>&& child) {
        return detail::co_call<U, Sync>(std::move(child));
    }
    template <class A>
        requires detail::brings_home<A>
    [[gnu::always_inline]] decltype(auto) await_transform(A&& awaitable) {
        return detail::awaiter_of(std::forward<A>(awaitable));
    }
    template <class A>
        requires(!detail::brings_home<A>)
    auto await_transform(A&& awaitable) {
        return detail::co_call<detail::await_result<A>, Sync>(detail::come_home<Sync>(std::forward<A>(awaitable)));
    }

    // Only for this library's own coroutines.
    template <class A>
    decltype(auto) await_transform(detail::as_it_is<A> other) {
        return detail::awaiter_of(std::forward<A>(other.awaitable));
    }
    detail::known<int> await_transform(detail::end_at<Sync> end) noexcept {
        this->must_end_at(*end.host);
        return {0};
    }
    detail::known<co_frame<Sync>*> await_transform(detail::this_frame_tag) noexcept { return {this}; }

private:
    [[noreturn, gnu::noinline, gnu::cold]] static void misplaced() {
        Sync::fail("g++ 12 has misplaced this coroutine's promise: give the result of co_await a name");
    }
};

// co_await this_frame() gives the argument of a co_scope.
inline detail::this_frame_tag this_frame() { return {}; }

}  // namespace apiary
