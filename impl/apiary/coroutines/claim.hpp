// claim: lets exactly one of several waiters of a coroutine win: the first that takes the claim.
//
//   if (by.take(w)) …                             // w's list has won: hand over, then w.finish()
//
// When to use it. For a wait in several lists at once (select.hpp), as the home of its waiters: a structure takes the
// claim before it hands over to such a waiter, and skips a waiter that has lost (wait_list). When not: for a wait in
// one list; there the structure's lock decides which thread takes the waiter out, without further cost.
//
// Threads.   take: any thread that holds the lock of the list in which the waiter lies; for a waiter in no list any
//            thread.
// Progress.  Wait-free: one compare-exchange.
// Lifetime.  That of the frame in which it lies. A thread that has not won does not touch it after its unlock.
//
// Synchronisation. None through the word, which decides and publishes nothing: second_of_two publishes what the winner
// did, and the losers leave under their structures' locks.
//
// Checked by model_check/coroutines/select_check.cpp.
#pragma once

#include <atomic>
#include <cstdint>

#include <apiary/sync/real_sync.hpp>
#include <apiary/tasks/suspended.hpp>

namespace apiary {

template <class Sync>
class waiter;

// How a waiter with a claim joined its list.
enum class joined : std::uint8_t {
    waits,   // it is in the list
    served,  // it took the claim, and has what it wanted
    lost     // another waiter has taken the claim
};

template <class Sync = real_sync>
class claim : public home<Sync> {
public:
    claim() { winner_.store(nullptr, std::memory_order_relaxed); }
    claim(const claim&) = delete;
    claim& operator=(const claim&) = delete;

    // False: another waiter has it.
    [[nodiscard]] bool take(waiter<Sync>& w) noexcept {
        waiter<Sync>* none = nullptr;
        return winner_.compare_exchange_strong(none, &w, std::memory_order_relaxed, std::memory_order_relaxed);
    }
    waiter<Sync>* winner() const noexcept { return winner_.load(std::memory_order_relaxed); }

protected:
    ~claim() = default;

private:
    typename Sync::template atomic<waiter<Sync>*> winner_;
};

}  // namespace apiary
