// channel: hands values from coroutines to coroutines, through a bounded buffer. It can be closed.
//
//     channel<job> c(16);
//
//     const awaited how = co_await c.send(std::move(j));      // suspends while it is full
//     c.close();                                              // what lies in it is still received
//
//     while (auto r = co_await c.receive()) use(*r.value);    // in another; suspends while it is empty
//
// With a limit: receive_for, send_for (limited.hpp). The first of several: select.hpp.
//
// When to use it. Between coroutines that make values and coroutines that use them, with back-pressure. When not:
// between threads; to distribute work (a pool has queues); for a single value.
//
// Threads.   all: any; any number of senders and receivers.
// Progress.  Each call holds a brief_lock for a few steps and at most four moves of a value; a call that begins to wait
//            also while it adds its hook to the worker's stop_hooks; close for a few steps for each waiter. No
//            coroutine runs under the lock. Pass values that take long to move by pointer.
// Order.     Values come out in the order in which they were sent, those of waiting senders included. Waiting receivers
//            are served in the order of their arrival.
// Capacity.  0 is allowed: a send then waits for its receive.
// Values.    Moving a T must not throw; moves happen under the lock, so neither a move nor the destructor may use the
//            channel. send moves its value from the caller's object, and only if it returns `done`; otherwise the
//            caller still has it. If the frame of a receiver is destroyed between the hand-over and its resumption, the
//            value is destroyed with it; so is the value of a receiver that lost a when_any. A receive with a limit, or
//            in a select, loses no value: it is either served or it leaves.
// Lifetime.  It must live until each coroutine whose await it has ended, also by a close, has gone on
//            (async_event.hpp).
// Bad input. Destroying it while a coroutine waits ends the program. A second close returns false and does nothing. A
//            send after a close returns `closed`.
//
// Invariants
//   I1  Receivers wait only while the buffer is empty and no sender waits; senders wait only while it is full.
//   I2  A closed channel has no waiters.
//   I3  A value belongs to the caller, or lies in the ring, or in a receiver that was taken with the result `done`.
//
// Why a lock: a value, the two lists and the close change together, and a cancel takes a waiter from the middle of its
// list. A lock-free ring would need a lock beside it for all of that.
//
// An await tries before its coroutine is suspended (await_ready), unless a look at the size says that it would have to
// wait, and tries again when it joins the list (joins): so it does not miss a value that came in between (exhibit C30).
//
// Synchronisation. The lock. The size is changed under it and read without it; such a read only decides whether
// await_ready tries.
//
// Checked by model_check/coroutines/{channel,limited,select}_check.cpp. Stressed by
// stress/coroutines/coroutines_stress.cpp. Tested by channel_test.cpp and limited_test.cpp.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include <apiary/coroutines/awaiter.hpp>
#include <apiary/coroutines/brief_lock.hpp>
#include <apiary/coroutines/limited.hpp>
#include <apiary/coroutines/timer_service.hpp>
#include <apiary/coroutines/value_place.hpp>
#include <apiary/sync/cache_line.hpp>
#include <apiary/sync/real_sync.hpp>
#include <apiary/timers/clock.hpp>

namespace apiary {

// A value, or why there is none.
template <class T>
struct received {
    std::optional<T> value;
    awaited how;

    [[gnu::always_inline]] explicit received(T&& v) : value(std::move(v)), how(awaited::done) {}
    [[gnu::always_inline]] explicit received(awaited why_none) : how(why_none) {}
    received(const received&) = default;
    // Not trivial, so that even a small one is constructed in its awaiter: g++ passes a trivial one in registers, word
    // by word (value_place.hpp).
    [[gnu::always_inline]] received(received&& other) noexcept : value(std::move(other.value)), how(other.how) {}
    received& operator=(const received&) = default;
    received& operator=(received&&) = default;

    explicit operator bool() const { return how == awaited::done; }
};

template <class T, class Sync = real_sync>
class channel {
    static_assert(std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_assignable_v<T> &&
                      std::is_nothrow_destructible_v<T>,
                  "a value moves where nobody can catch");

    using place = value_place<T, Sync>;

public:
    class [[nodiscard]] sending : public awaiter<sending, Sync> {
    public:
        [[gnu::always_inline]] sending(channel& to, T& value) : to_(to), value_(&value) {}
        [[gnu::always_inline]] ~sending() {
            if (this->left()) (void)to_.forget(to_.senders_, *this);
        }

        [[gnu::always_inline]] bool await_ready() { return !to_.looks_full() && to_.settle(*this); }
        // Returns done, closed or cancelled.
        [[gnu::always_inline]] awaited await_resume() { return this->resumed(); }

        // For the base class awaiter.
        bool wait(stop_hooks<Sync>* stops) { return to_.joins(*this, to_.senders_, stops); }
        void cancel() noexcept { to_.cancel(to_.senders_, *this); }
        // For limited.
        bool look() { return to_.settle(*this); }
        bool withdraw() noexcept { return to_.forget(to_.senders_, *this); }

    private:
        friend channel;
        channel& to_;
        T* const value_;
    };

    class [[nodiscard]] receiving : public awaiter<receiving, Sync> {
    public:
        [[gnu::always_inline]] explicit receiving(channel& from) : from_(from) {}
        [[gnu::always_inline]] ~receiving() {
            if (this->left()) leaves();
        }

        [[gnu::always_inline]] bool await_ready() { return !from_.looks_empty() && from_.settle(*this); }
        // A value, closed or cancelled.
        [[gnu::always_inline]] received<T> await_resume() {
            const awaited end = this->resumed();
            if (end != awaited::done) [[unlikely]]
                return received<T>(end);
            return received<T>(value_.take());
        }

        // For the base class awaiter.
        bool wait(stop_hooks<Sync>* stops) { return from_.joins(*this, from_.receivers_, stops); }
        void cancel() noexcept { from_.cancel(from_.receivers_, *this); }
        // For limited and select.
        bool look() { return from_.settle(*this); }
        bool withdraw() noexcept { return from_.forget(from_.receivers_, *this); }
        joined join(claim<Sync>& by) { return from_.joins_with_claim(*this, by); }
        void give_back() noexcept {
            if (this->how.read() == awaited::done) value_.drop();
        }

    private:
        friend channel;
        [[gnu::noinline, gnu::cold]] void leaves() {
            if (!from_.forget(from_.receivers_, *this) && this->how.read() == awaited::done) value_.drop();
        }
        channel& from_;
        place value_;  // set if the await ended with `done`
    };

    // The results of send and receive. Await them immediately: they refer to their value and keep none. A named one
    // does not compile. co_await makes the awaiter in place, so that the compiler need not reload what it has just
    // written.
    struct [[nodiscard]] send_call {
        channel& to;
        T& value;
        [[gnu::always_inline]] sending operator co_await() && { return sending(to, value); }
    };
    struct [[nodiscard]] receive_call {
        channel& from;
        [[gnu::always_inline]] receiving operator co_await() && { return receiving(from); }
    };

    explicit channel(std::size_t capacity)
        : capacity_(capacity), ring_(capacity == 0 ? nullptr : Sync::template create_array<place>(capacity)) {
        size_.store(0, std::memory_order_relaxed);
    }
    ~channel() {
        if (!receivers_.empty() || !senders_.empty())
            Sync::fail("a channel was destroyed while a coroutine waits at it");
        for (std::size_t left = size(); left != 0; --left) {
            ring_[first_.read()].drop();
            first_.write(behind(first_.read()));
        }
        if (ring_ != nullptr) Sync::destroy_array(ring_, capacity_);
    }
    channel(const channel&) = delete;
    channel& operator=(const channel&) = delete;

    // The value stays with the caller until the await ends, and also after that unless it was sent.
    send_call send(T& value) { return {*this, value}; }
    send_call send(T&& value) { return {*this, value}; }
    receive_call receive() { return {*this}; }

    // With a limit (limited.hpp): timed_out if the time is over first; nothing was sent or received then. The delay
    // begins with the call. The deadline is in nanoseconds of the service's clock.
    template <timer_service Timers, class Rep, class Period>
    limited<sending, Timers> send_for(Timers& t, T& value, std::chrono::duration<Rep, Period> delay) {
        return {t, deadline_after(t.now_ns(), delay), *this, value};
    }
    template <timer_service Timers, class Rep, class Period>
    limited<sending, Timers> send_for(Timers& t, T&& value, std::chrono::duration<Rep, Period> delay) {
        return {t, deadline_after(t.now_ns(), delay), *this, value};
    }
    template <timer_service Timers>
    limited<sending, Timers> send_until(Timers& t, T& value, std::int64_t deadline_ns) {
        return {t, deadline_ns, *this, value};
    }
    template <timer_service Timers>
    limited<sending, Timers> send_until(Timers& t, T&& value, std::int64_t deadline_ns) {
        return {t, deadline_ns, *this, value};
    }
    template <timer_service Timers, class Rep, class Period>
    limited<receiving, Timers> receive_for(Timers& t, std::chrono::duration<Rep, Period> delay) {
        return {t, deadline_after(t.now_ns(), delay), *this};
    }
    template <timer_service Timers>
    limited<receiving, Timers> receive_until(Timers& t, std::int64_t deadline_ns) {
        return {t, deadline_ns, *this};
    }

    // Returns done, closed, or would_wait.
    awaited try_send(T& value) {
        receiving* to = nullptr;
        awaited how;
        {
            const inside_it inside(lock_);
            how = put(value, to);
        }
        if (to != nullptr) to->finish();
        return how;
    }
    awaited try_send(T&& value) { return try_send(value); }

    // Returns a value, closed, or would_wait.
    received<T> try_receive() {
        place value;
        sending* from = nullptr;
        const awaited how = get_inside(value, from);
        if (from != nullptr) from->finish();
        return how == awaited::done ? received<T>(value.take()) : received<T>(how);
    }

    // Ends all waits with `closed`. False: it was closed before.
    bool close() {
        taken_waiters<Sync> ended;
        {
            const inside_it inside(lock_);
            if (closed_.read()) return false;
            closed_.write(true);
            end_all(receivers_, ended);
            end_all(senders_, ended);
        }
        ended.finish_all();
        return true;
    }

    // Hints.
    std::size_t size() const { return size_.load(std::memory_order_relaxed); }
    bool is_closed() const {
        const inside_it inside(lock_);
        return closed_.read();
    }

private:
    template <class Waiter>
    using other_of = std::conditional_t<std::is_same_v<Waiter, sending>, receiving, sending>;
    using inside_it = typename brief_lock<Sync>::held;

    // Precondition: the lock is held. If it returns would_wait, nothing has changed. The caller must finish `to` after
    // the unlock.
    [[gnu::always_inline]] awaited put(T& value, receiving*& to) {
        if (closed_.read()) return awaited::closed;
        to = receivers_.take_first_that_wins();
        if (to != nullptr) [[unlikely]] {
            to->value_.put(std::move(value));
            return awaited::done;
        }
        if (capacity_ == size()) [[unlikely]]
            return awaited::would_wait;
        lay_down(value);
        return awaited::done;
    }

    // As put, for a receive. The oldest waiting sender then puts its value into the room that became free.
    [[gnu::always_inline]] awaited get(place& into, sending*& from) {
        if (const std::size_t there = size(); there != 0) {
            into.take_from(ring_[first_.read()]);
            first_.write(behind(first_.read()));
            size_.store(there - 1, std::memory_order_relaxed);
            from = senders_.take_first();
            if (from != nullptr) lay_down(*from->value_);
        } else {
            from = senders_.take_first();  // capacity 0
            if (from == nullptr) return closed_.read() ? awaited::closed : awaited::would_wait;
            into.put(std::move(*from->value_));
        }
        return awaited::done;
    }

    // Not inlined: g++ would warn that the value may be uninitialised.
    [[gnu::noinline]] awaited get_inside(place& into, sending*& from) {
        const inside_it inside(lock_);
        return get(into, from);
    }

    [[gnu::always_inline]] void lay_down(T& value) {
        ring_[vacant_.read()].put(std::move(value));
        vacant_.write(behind(vacant_.read()));
        size_.store(size() + 1, std::memory_order_relaxed);
    }
    std::size_t behind(std::size_t at) const { return at + 1 == capacity_ ? 0 : at + 1; }

    [[gnu::always_inline]] awaited attempt(sending& w, receiving*& to) { return put(*w.value_, to); }
    [[gnu::always_inline]] awaited attempt(receiving& w, sending*& from) { return get(w.value_, from); }

    // True: the await has ended. False: it would have to wait.
    template <class Waiter>
    [[gnu::always_inline]] bool settle(Waiter& w) {
        other_of<Waiter>* served = nullptr;
        awaited how;
        {
            const inside_it inside(lock_);
            how = attempt(w, served);
        }
        if (how == awaited::would_wait) return false;
        ends(w, how, served);
        return true;
    }
    // True: it waits, and no longer belongs to this thread. False: the await has ended.
    template <class Waiter>
    bool joins(Waiter& w, wait_list<Waiter>& list, stop_hooks<Sync>* stops) {
        other_of<Waiter>* served = nullptr;
        awaited how;
        {
            const inside_it inside(lock_);
            how = attempt(w, served);
            if (how == awaited::would_wait) {
                if (w.listens(stops)) {
                    list.append(w);
                    return true;
                }
                how = awaited::cancelled;
            }
        }
        Sync::reach("channel.need_not_wait");
        ends(w, how, served);
        return false;
    }
    // For an arm of a select. It takes the claim before the value, so a select that another arm has won takes no value.
    // Arms never send, so a waiting sender needs no claim.
    joined joins_with_claim(receiving& w, claim<Sync>& by) {
        sending* served = nullptr;
        awaited how;
        {
            const inside_it inside(lock_);
            if (size() == 0 && senders_.empty() && !closed_.read()) {
                receivers_.append(w, listing::with_claim);
                return joined::waits;
            }
            if (!by.take(w)) return joined::lost;
            how = get(w.value_, served);
        }
        Sync::reach("channel.arm_need_not_wait");
        ends(w, how, served);
        return joined::served;
    }
    template <class Waiter>
    [[gnu::always_inline]] static void ends(Waiter& w, awaited how, other_of<Waiter>* served) {
        if (how != awaited::done) w.how.write(how);  // `how` is `done` from the start
        if (served != nullptr) served->finish();
    }

    // await_ready asks these first, without the lock, so that a coroutine that must wait takes the lock only once.
    // joins() sees values that come in between.
    [[gnu::always_inline]] bool looks_empty() const { return size() == 0; }
    [[gnu::always_inline]] bool looks_full() const { return size() == capacity_; }

    template <class Waiter>
    static void end_all(wait_list<Waiter>& list, taken_waiters<Sync>& ended) {
        while (Waiter* w = list.take_first_that_wins()) {
            w->how.write(awaited::closed);
            ended.add(*w);
        }
    }

    template <class Waiter>
    void cancel(wait_list<Waiter>& list, Waiter& w) noexcept {
        if (!forget(list, w)) {
            Sync::reach("channel.cancelled_too_late");
            return;
        }
        w.how.write(awaited::cancelled);
        w.finish();
    }
    template <class Waiter>
    bool forget(wait_list<Waiter>& list, Waiter& w) noexcept {
        const inside_it inside(lock_);
        return list.take(w);
    }

    // The members that each pass touches come first, on one line of 64 bytes: two processors that alternate exchange
    // only that line.
    alignas(cache_line) mutable brief_lock<Sync> lock_;
    // Guarded by lock_.
    typename Sync::template cell<bool> closed_{false};
    typename Sync::template atomic<std::size_t> size_;
    typename Sync::template cell<std::size_t> first_{0}, vacant_{0};
    wait_list<receiving> receivers_;
    wait_list<sending> senders_;

    const std::size_t capacity_;
    place* const ring_;
};

}  // namespace apiary
