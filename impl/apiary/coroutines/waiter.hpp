// waiter: a coroutine that waits in some structure's list, until one thread lets it go on: the one
// that completes the await, or the one that cancels it. It lies in the coroutine's frame.
//
//   w.begin(promise.suspended_here());
//   {lock; list.append(w);}               // await_suspend; the last that it does: the unlock publishes
//
//   {lock; mine = list.take(w);}          // or take_first: the thread that took it has won
//   if (mine) w.finish();                 // without the lock
//
// When to use it. Inside an awaitable (awaiter.hpp has the rest of one). When not: for a thread
// that waits; thread_latch blocks.
//
// Threads.   begin: the awaiting thread. append, take, take_first: with the lock of the structure.
//            finish: the thread that took it.
// Progress.  finish: wait-free, but for what brings the coroutine back (home).
// Lifetime.  Behind the lock of its append the waiter is no longer the awaiting thread's, and behind
//            finish nobody's: the frame may have ended. What it awaits may go with it (behind the await, not
//            before: a late cancel looks at it), while the thread that suspended it is still inside that
//            unlock: so the lock bears destruction once another thread could take it.
//
// Invariants
//   I1  A waiter is taken once: `listed` turns false under the lock. So one thread finishes it.
//
// Synchronisation. The lock's, or where a service ends the wait second_of_two's: the thread that finishes a waiter sees
// the frame as it was left.
//
// Checked by model_check/coroutines/waiter_check.cpp. Tested by async_semaphore_test.cpp. L. Baker,
// "C++ Coroutines: Understanding operator co_await", 2017, has the danger; exhibits C06, C07, C09.
#pragma once

#include <apiary/queues/linked_list.hpp>
#include <apiary/sync/real_sync.hpp>
#include <apiary/tasks/suspended.hpp>

namespace apiary {

// How an await ended, or a call that would have to wait.
enum class awaited { done, cancelled, closed, would_wait };

template <class Sync = real_sync>
class waiter {
public:
    waiter() { how.write(awaited::done); }
    waiter(const waiter&) = delete;
    waiter& operator=(const waiter&) = delete;

    // Before anybody is told of the waiter.
    void begin(suspended<Sync> coroutine) { coroutine_.write(coroutine); }

    void finish() {
        Sync::reach("waiter.brought_back");
        const suspended<Sync> coroutine = coroutine_.read();  // a copy: the waiter goes with the frame
        coroutine.resume();
    }

    // By the thread that took it, before it finishes it; or by the awaiting one, which need not wait.
    typename Sync::template cell<awaited> how;

    // For lists.
    typename Sync::template cell<waiter*> before, behind;
    typename Sync::template cell<bool> listed;

protected:
    ~waiter() = default;

private:
    typename Sync::template cell<suspended<Sync>> coroutine_;
};

// Those that wait, in order of arrival; under its structure's lock.
template <class Waiter>
class wait_list {
public:
    wait_list() = default;
    wait_list(const wait_list&) = delete;
    wait_list& operator=(const wait_list&) = delete;

    bool empty() const { return all_.empty(); }
    void append(Waiter& w) {
        w.listed.write(true);
        all_.append(&w);
    }
    // False: another thread took it.
    [[nodiscard]] bool take(Waiter& w) {
        if (!w.listed.read()) return false;
        w.listed.write(false);
        all_.remove(&w);
        return true;
    }
    // Null when empty.
    [[nodiscard]] Waiter* take_first() {
        auto* const first = static_cast<Waiter*>(all_.front());
        if (first != nullptr) (void)take(*first);
        return first;
    }

private:
    linked_list<typename Waiter::node> all_;
};

// Those that one thread has taken, until it has let go of the lock.
template <class Sync>
class taken_waiters {
public:
    void add(waiter<Sync>& w) {
        w.behind.write(nullptr);
        if (last_ == nullptr)
            first_ = &w;
        else
            last_->behind.write(&w);
        last_ = &w;
    }
    void finish_all() {
        while (first_ != nullptr) {
            waiter<Sync>& w = *first_;
            first_ = w.behind.read();  // before: it goes with the frame
            w.finish();
        }
    }

private:
    waiter<Sync>* first_ = nullptr;
    waiter<Sync>* last_ = nullptr;
};

}  // namespace apiary
