// stop_hooks: the waits that end when a stop is asked for.
//
//   if (!hooks.add(h, &cancel_it)) …              // a stop was asked for before: nobody will call
//   hooks.remove(h);                              // behind it nobody calls, nor is in the call
//   hooks.ask();                                  // calls each once
//
// When to use it. For awaits, by their awaiter (awaiter.hpp): one for each thread that runs coroutines, so that
// threads seldom meet at it. When not: for whatever else a stop ends; std::stop_callback keeps its source alive, and
// this does not.
//
// Why not std::stop_callback for each await: in libstdc++ 12 one costs six locked instructions from
// its making to its end (two for the count of its source's owners), and this costs two.
//
// Threads.   all: any. remove: once for each add that was true.
// Progress.  add, remove: a brief_lock, held for a few steps. remove waits for a call of its hook that is under way
//            on another thread, and not for one below on its own stack: what a call lets go on may go on inside it.
// Order.     Calls are made one at a time, without the lock, in the order of the adds.
// Lifetime.  It outlives the removes of all hooks that were added, and the return of ask: so it is not destroyed inside
//            a call.
// Bad input. Asked twice: the second ask answers false, at once, and the calls may still be under way.
//
// Invariants
//   I1  A hook is called once at most: the thread that asks takes it off the list, with the lock.
//   I2  Behind the first ask nothing is added.
//
// Synchronisation. By the lock; and
//   S1  ask, behind a call: store (release) to running_, none or the next -> remove: acquire. What the call did to
//       the frame comes before the frame goes on.
//
// Checked by model_check/coroutines/stop_hooks_check.cpp and waiter_check.cpp. N. Josuttis et al., P0660R10, 2019, has
// the rules of std::stop_callback, which these are.
#pragma once

#include <atomic>
#include <stop_token>
#include <utility>

#include <apiary/coroutines/brief_lock.hpp>
#include <apiary/queues/linked_list.hpp>
#include <apiary/sync/real_sync.hpp>

namespace apiary {

template <class Sync>
class stop_hooks;

// Made for each await, and written only where it waits: it begins without a value.
template <class Sync = real_sync>
class stop_hook {
public:
    using call = void (*)(stop_hook&) noexcept;

    [[gnu::always_inline]] stop_hook() {}
    stop_hook(const stop_hook&) = delete;
    stop_hook& operator=(const stop_hook&) = delete;

    // For lists.
    typename Sync::template cell<stop_hook*> before, behind;

private:
    friend stop_hooks<Sync>;
    typename Sync::template cell<bool> listed_;
    typename Sync::template cell<call> call_;
    typename Sync::template cell<stop_hooks<Sync>*> of_;
};

template <class Sync = real_sync>
class stop_hooks {
    using hook = stop_hook<Sync>;
    using inside_it = typename brief_lock<Sync>::held;

public:
    stop_hooks() { running_.store(nullptr, std::memory_order_relaxed); }
    stop_hooks(const stop_hooks&) = delete;
    stop_hooks& operator=(const stop_hooks&) = delete;

    // False: a stop was asked for before.
    [[nodiscard]] bool add(hook& h, typename hook::call c) {
        h.call_.write(c);
        h.of_.write(this);
        h.listed_.write(true);
        const inside_it inside(lock_);
        if (asked_.read()) return false;
        all_.append(&h);
        return true;
    }

    // From where it was added.
    static void remove(hook& h) { h.of_.read()->take_out(h); }

    // False: another did.
    bool ask() {
        hook* next;
        {
            const inside_it inside(lock_);
            if (asked_.read()) return false;
            asked_.write(true);
            next = take_first();
        }
        asking me{this, Sync::template current<asking>()};
        Sync::set_current(&me);
        while (next != nullptr) {
            next->call_.read()(*next);
            running_.store(nullptr, std::memory_order_release);  // S1
            const inside_it inside(lock_);
            next = take_first();
        }
        Sync::set_current(me.outer);
        return true;
    }

private:
    // On the stack of a thread that asks.
    struct asking {
        stop_hooks* of;
        asking* outer;
    };

    void take_out(hook& h) {
        {
            const inside_it inside(lock_);
            if (h.listed_.read()) [[likely]] {
                all_.remove(&h);
                return;
            }
        }
        // What this thread's own ask took is over, or is below on this very stack.
        for (const asking* a = Sync::template current<asking>(); a != nullptr; a = a->outer)
            if (a->of == this) return;
        if (running_.load(std::memory_order_acquire) != &h) return;  // S1
        Sync::reach("stop_hooks.waited_for_the_call");
        Sync::spin_until(running_, [&h](hook* r) { return r != &h; });  // S1
    }
    // With the lock. It is running from here on.
    hook* take_first() {
        hook* const first = all_.front();
        if (first == nullptr) return nullptr;
        all_.remove(first);
        first->listed_.write(false);
        running_.store(first, std::memory_order_release);  // S1
        return first;
    }

    brief_lock<Sync> lock_;
    typename Sync::template atomic<hook*> running_;
    // By lock_.
    typename Sync::template cell<bool> asked_{false};
    linked_list<hook> all_;
};

// Those of what one token stops. Not destroyed inside a call of its hooks.
template <class Sync = real_sync>
class token_hooks {
    struct asks {
        stop_hooks<Sync>* hooks;
        void operator()() const noexcept { (void)hooks->ask(); }
    };

public:
    explicit token_hooks(std::stop_token t) : at_stop_(std::move(t), asks{&hooks_}) {}
    stop_hooks<Sync>& hooks() { return hooks_; }

private:
    stop_hooks<Sync> hooks_;
    std::stop_callback<asks> at_stop_;  // the first to go
};

}  // namespace apiary
