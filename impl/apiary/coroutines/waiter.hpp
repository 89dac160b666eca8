// waiter: a coroutine that waits in a structure's list until one thread lets it go on: the thread that completes the
// await, or the one that cancels it. It lies in the coroutine's frame.
//
//   w.begin(promise.suspended_here());
//   {lock; list.append(w);}               // await_suspend; its last step: the unlock publishes
//
//   {lock; mine = list.take(w);}          // or take_first, take_first_that_wins: the thread that took it has won
//   if (mine) w.finish();                 // without the lock
//
// When to use it. Inside an awaitable (awaiter.hpp has the rest of one). When not: for a thread that waits; use
// thread_latch.
//
// Threads.   begin: the awaiting thread. append, take, take_first, take_first_that_wins, takes_its_claim: any, with the
//            structure's lock held. finish: the thread that took the waiter.
// Progress.  finish: wait-free, apart from the home that resumes the coroutine.
// Lifetime.  After the unlock that follows its append the waiter no longer belongs to the awaiting thread. After finish
//            it belongs to no thread: the frame may have ended. The awaited structure may then be gone, too, while the
//            thread that suspended the coroutine is still inside that unlock; so the lock must bear destruction once
//            another thread could take it. (The structure must live until the await has ended, because a late cancel
//            looks at it.)
//
// Invariants
//   I1  A waiter is taken once: `listed` becomes `out` under the lock. So one thread finishes it.
//   I2  A waiter with a claim (claim.hpp) is handed out only after that claim was taken for it. A waiter that lost its
//       claim leaves the list, and no thread finishes it.
//
// Synchronisation. The lock's, or second_of_two's if a service ends the wait: the thread that finishes a waiter sees
// the frame as the suspending thread left it.
//
// Checked by model_check/coroutines/waiter_check.cpp. Tested by async_semaphore_test.cpp. L. Baker, "C++ Coroutines:
// Understanding operator co_await", 2017, has the danger; exhibits C06, C07, C09.
#pragma once

#include <cstdint>

#include <apiary/coroutines/claim.hpp>
#include <apiary/queues/linked_list.hpp>
#include <apiary/sync/real_sync.hpp>
#include <apiary/tasks/suspended.hpp>

namespace apiary {

// How an await ended. would_wait is the result of a call that does not wait (try_send, try_receive), if it would have
// to.
enum class awaited { done, cancelled, closed, would_wait, timed_out };

// Whether a waiter lies in a list, and whether its claim must be taken first.
enum class listing : std::uint8_t { out, alone, with_claim };

template <class Sync = real_sync>
class waiter {
public:
    waiter() { how.write(awaited::done); }
    waiter(const waiter&) = delete;
    waiter& operator=(const waiter&) = delete;

    // Call it before any other thread can know of the waiter.
    void begin(suspended<Sync> coroutine) { coroutine_.write(coroutine); }

    void finish() {
        Sync::reach("waiter.brought_back");
        const suspended<Sync> coroutine = coroutine_.read();  // a copy: the waiter goes with the frame
        coroutine.resume();
    }

    // For a waiter whose home is a claim. False: another waiter has the claim.
    [[nodiscard]] bool takes_its_claim() {
        if (static_cast<claim<Sync>*>(coroutine_.read().where)->take(*this)) return true;
        Sync::reach("waiter.passed_over");
        return false;
    }

    // Written by the thread that took the waiter, before it finishes it; or by the awaiting thread if that need not
    // wait.
    typename Sync::template cell<awaited> how;

    // The links of linked_list, and the state of the listing.
    typename Sync::template cell<waiter*> before, behind;
    typename Sync::template cell<listing> listed;

protected:
    ~waiter() = default;
    // The same coroutine, but resumed through `h`.
    suspended<Sync> by_way_of(home<Sync>& h) { return {coroutine_.read().what, &h}; }

private:
    typename Sync::template cell<suspended<Sync>> coroutine_;
};

// The waiters of a structure, in order of arrival. All calls need the structure's lock.
template <class Waiter>
class wait_list {
public:
    wait_list() = default;
    wait_list(const wait_list&) = delete;
    wait_list& operator=(const wait_list&) = delete;

    bool empty() const { return all_.empty(); }
    void append(Waiter& w, listing as = listing::alone) {
        w.listed.write(as);
        all_.append(&w);
    }
    // False: another thread took it before.
    [[nodiscard]] bool take(Waiter& w) {
        if (w.listed.read() == listing::out) return false;
        w.listed.write(listing::out);
        all_.remove(&w);
        return true;
    }
    // Null if the list is empty.
    [[nodiscard]] Waiter* take_first() {
        auto* const first = static_cast<Waiter*>(all_.front());
        if (first != nullptr) (void)take(*first);
        return first;
    }
    // As take_first, for a list in which waiters may have claims: the first waiter whose claim it takes, or that has
    // none.
    [[nodiscard]] Waiter* take_first_that_wins() {
        auto* const first = static_cast<Waiter*>(all_.front());
        if (first != nullptr) [[unlikely]] {
            if (first->listed.read() == listing::with_claim) [[unlikely]]
                return claims_first();
            first->listed.write(listing::out);
            all_.remove(first);
        }
        return first;
    }

private:
    [[gnu::noinline, gnu::cold]] Waiter* claims_first() {
        while (auto* const first = static_cast<Waiter*>(all_.front())) {
            const bool alone = first->listed.read() == listing::alone;
            (void)take(*first);
            if (alone || first->takes_its_claim()) return first;  // I2
        }
        return nullptr;
    }

    linked_list<typename Waiter::node> all_;
};

// Collects the waiters that one thread has taken, until that thread has released the lock.
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
            first_ = w.behind.read();  // read first: the waiter goes with its frame
            w.finish();
        }
    }

private:
    waiter<Sync>* first_ = nullptr;
    waiter<Sync>* last_ = nullptr;
};

}  // namespace apiary
