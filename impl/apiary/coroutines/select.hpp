// select: waits for the first of several waits. The others leave their lists and take nothing.
//
//     auto r = co_await select(a.receive(), b.receive(), stopped.wait(), after(timers, 50ms));
//     switch (r.index()) {                                        // of the arguments: a std::variant of their results
//         case 0: use(*std::get<0>(r).value); break;              // received<T>: a value, or closed
//         case 3: tired(); break;                                 // the time has come
//         case 4: co_return;                                      // as many as there are arms: a stop was asked for
//     }
//
// When to use it. For the first of channels (receive), events (wait), semaphores and mutexes (acquire_permit, lock) and
// times (after). When not: for one wait and a time (limited.hpp), which needs no claim; for results that other
// coroutines compute (when_any).
//
// Threads.   Those of the arms.
// Progress.  One pass through each arm's lock to join its list, and one to leave it. If an arm can be served while the
//            select goes through its arms, there is no further cost. A thread that serves skips the arms of a select
//            that another arm has won.
// Order.     If several arms can be served at once, the first in the order of the arguments is. So an arm that can
//            always be served starves those after it: put rare arms before frequent ones, and remove a closed channel.
//            Otherwise the arm that is served first wins.
// Result.    A std::variant with, for each arm, the result of that arm's own await, and as its last alternative no_arm:
//            a stop was requested. `after` gives done, or cancelled if the service ended.
// No arms.   A send cannot be an arm: two selects that meet at a channel without room would each have to claim the
//            other. A select holds references to its arms' awaitables: await it immediately. A named one does not
//            compile.
// Lifetime.  All that the arms name must live until the coroutine has gone on, the losing arms' structures included.
// Errors.    The timer service's std::bad_alloc, unless an arm was served meanwhile. The select has left all lists
//            then.
// Destroying a frame that waits: as awaiter.hpp says. If a frame is dropped after its hand-over, it gives back its
// permit or lock; a received value is destroyed with it.
//
// Invariants
//   I1  One thread ends the wait: the one that took the claim, for an arm that it serves, for a timer, or for a stop.
//   I2  The coroutine goes on after both that thread and the one that suspends it. First it leaves each list: a thread
//       that finds an arm still listed touches it only under the list's lock, and finds the claim taken.
//
// Synchronisation. The arms' locks; second_of_two between the suspending thread and the one that took the claim.
//
// Checked by model_check/coroutines/select_check.cpp. Stressed by stress/coroutines/coroutines_stress.cpp. Tested by
// limited_test.cpp. R. Griesemer et al., Go's runtime/select.go, has the claim (selectDone), and locks all channels at
// once.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include <apiary/coroutines/awaiter.hpp>
#include <apiary/coroutines/claim.hpp>
#include <apiary/coroutines/limited.hpp>
#include <apiary/coroutines/second_of_two.hpp>
#include <apiary/coroutines/timer_service.hpp>
#include <apiary/tasks/suspended.hpp>
#include <apiary/timers/clock.hpp>

namespace apiary {

// The last alternative of the result: a stop ended the wait.
struct no_arm {};

// A deadline as an arm.
template <timer_service Service>
class [[nodiscard]] timed_arm : public waiter<typename Service::sync> {
    using sync_policy = typename Service::sync;
    friend wait_limit<Service, timed_arm>;

public:
    timed_arm(Service& s, std::int64_t deadline_ns) : limit_(s, deadline_ns, *this) {}

    awaited await_resume() { return this->how.read(); }

    // For select.
    bool look() { return limit_.has_come(); }
    joined join(claim<sync_policy>&) {
        limit_.begin();
        return joined::waits;
    }
    bool withdraw() noexcept {
        limit_.end();
        return true;
    }
    void give_back() noexcept {}

private:
    // For wait_limit.
    bool time_ends(awaited why) noexcept {
        if (!this->takes_its_claim()) return false;
        if (why == awaited::cancelled) this->how.write(why);
        return true;
    }
    void goes_on() noexcept { this->finish(); }

    wait_limit<Service, timed_arm> limit_;
};

template <timer_service Service, class Rep, class Period>
timed_arm<Service> after(Service& s, std::chrono::duration<Rep, Period> delay) {
    return {s, deadline_after(s.now_ns(), delay)};
}
template <timer_service Service>
timed_arm<Service> at_time(Service& s, std::int64_t deadline_ns) {
    return {s, deadline_ns};
}

// An awaiter that also has
//   bool look()                 true: it was served at once
//   joined join(claim&)         joins its list; an arm that can be served takes the claim, and then its value or permit
//   bool withdraw() noexcept    takes it out of its list; false: another thread did
//   void give_back() noexcept   returns what it was given, if its coroutine will not have it
template <class A, class Sync>
concept select_arm = std::derived_from<A, waiter<Sync>> && requires(A& a, claim<Sync>& by) {
    { a.look() } -> std::same_as<bool>;
    { a.join(by) } -> std::same_as<joined>;
    { a.withdraw() } -> std::same_as<bool>;
    a.give_back();
    a.await_resume();
};

namespace detail {

// A reference to an awaiter; or, for a call such as channel's receive, the awaiter that it makes, stored here.
template <class Awaitable>
struct arm_place {
    Awaitable& it;
    explicit arm_place(Awaitable& a) : it(a) {}
    using awaiter_type = Awaitable;
};
template <class Awaitable>
    requires requires(Awaitable a) { std::move(a).operator co_await(); }
struct arm_place<Awaitable> {
    using awaiter_type = decltype(std::declval<Awaitable>().operator co_await());
    awaiter_type it;
    explicit arm_place(Awaitable& a) : it(std::move(a).operator co_await()) {}
};

template <class Sync, class... Awaitable>
class selecting final : public awaiter<selecting<Sync, Awaitable...>, Sync>, private claim<Sync> {
    static_assert(sizeof...(Awaitable) != 0, "a select of nothing would wait for ever");
    static_assert((select_arm<typename arm_place<Awaitable>::awaiter_type, Sync> && ...), "not an arm: see select.hpp");

public:
    using result = std::variant<decltype(std::declval<arm_place<Awaitable>&>().it.await_resume())..., no_arm>;

    explicit selecting(Awaitable&... of) : arms_(of...) {}
    ~selecting() {
        if (!this->left()) return;
        settle();
        (void)any([this](auto& arm) {
            if (!won(arm)) return false;
            arm.give_back();
            return true;
        });
    }

    bool await_ready() {
        return any([this](auto& arm) { return arm.look() && this->take(arm); });
    }
    result await_resume() {
        (void)this->resumed();
        settle();
        return result_from<0>();
    }

    // For the base class awaiter.
    bool wait(stop_hooks<Sync>* stops) {
        const waiter<Sync>* joining = nullptr;
        try {
            joined last = joined::waits;
            (void)any([&](auto& arm) {
                joining = &arm;
                arm.begin(this->by_way_of(*this));
                last = arm.join(*this);
                if (last != joined::waits) return true;
                joined_.write(joined_.read() + 1);
                return false;
            });
            if (last == joined::served) return false;
        } catch (...) {
            // The service may have dropped the job already; that drop has then taken the claim.
            if (this->take(*this) || this->winner() == joining) {
                settle();
                throw;
            }
        }
        if (!this->listens(stops)) cancel();
        return this->stays_suspended(suspended_and_over_);  // I2
    }
    void cancel() noexcept {
        if (this->take(*this)) return over();
        Sync::reach("select.cancelled_too_late");
    }

private:
    // Calls f for each arm until f returns true. Returns whether it did.
    template <class F>
    bool any(F f) {
        return std::apply([&f](auto&... place) { return (f(place.it) || ...); }, arms_);
    }
    bool won(const waiter<Sync>& arm) const { return this->winner() == &arm; }

    // I2. First takes the claim: if no arm has it, the frame is being destroyed, and nothing may resume it meanwhile.
    void settle() noexcept {
        (void)this->take(*this);
        std::size_t left = joined_.read();
        (void)any([&](auto& arm) {
            if (left == 0) return true;
            --left;
            if (!won(arm)) (void)arm.withdraw();
            return false;
        });
    }
    template <std::size_t I>
    result result_from() {
        if constexpr (I == sizeof...(Awaitable)) {
            return result(std::in_place_index<I>);
        } else {
            auto& arm = std::get<I>(arms_).it;
            return won(arm) ? result(std::in_place_index<I>, arm.await_resume()) : result_from<I + 1>();
        }
    }

    // Called by the thread that took the claim.
    void resume(job<Sync>&) noexcept override { over(); }
    void over() noexcept {
        if (suspended_and_over_.second()) this->finish();
    }

    std::tuple<arm_place<Awaitable>...> arms_;
    typename Sync::template cell<std::size_t> joined_{0};  // arms that have joined; counted by the suspending thread
    second_of_two<Sync> suspended_and_over_;
};

template <class Sync, class... Awaitable>
struct [[nodiscard]] select_call {
    std::tuple<Awaitable&...> of;
    selecting<Sync, Awaitable...> operator co_await() && {
        return std::apply([](auto&... a) { return selecting<Sync, Awaitable...>(a...); }, of);
    }
};

template <class Sync>
Sync sync_of(const waiter<Sync>&);

template <class... Awaitable>
using sync_of_all = decltype((sync_of(std::declval<typename arm_place<Awaitable>::awaiter_type&>()), ...));

}  // namespace detail

template <class... Awaitable>
detail::select_call<detail::sync_of_all<Awaitable...>, Awaitable...> select(Awaitable&&... of) {
    return {{of...}};
}

}  // namespace apiary
