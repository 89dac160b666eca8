// stop_hooks: a list of the waits that end when a stop is requested.
//
//   if (!hooks.add(h, &cancel_it)) …              // a stop was requested before: nothing will call h
//   hooks.remove(h);                              // after it nothing calls h, and no call of h is under way
//   hooks.ask();                                  // calls each hook once
//
// When to use it. For awaits, through their awaiter (awaiter.hpp): one list for each thread that runs coroutines, so
// that threads seldom meet at it. When not: for anything else that a stop ends; use std::stop_callback, which keeps its
// source alive, as this does not.
//
// Why not std::stop_callback for each await: in libstdc++ 12 one costs six locked instructions from construction to
// destruction (two of them count its source's owners); a hook costs two.
//
// Threads.   all: any. remove: once for each add that was true.
// Progress.  add, remove: a brief_lock, held for a few steps. remove waits for a call of its hook that is under way on
//            another thread, but not for one further down its own stack: a coroutine that a call lets go on may go on
//            inside that call.
// Order.     Hooks are called one at a time, without the lock, in the order of the adds.
// Lifetime.  It must live until all added hooks are removed and ask has returned, so no call may destroy it.
// Bad input. A second ask returns false at once; the calls of the first may still be under way.
//
// Invariants
//   I1  A hook is called at most once: the asking thread takes it off the list under the lock.
//   I2  After the first ask no hook is added.
//
// Synchronisation. The lock; and
//   S1  ask, after a call: store null or the next hook to running_ (release) -> remove: load (acquire). What the call
//       did to the frame comes before the frame goes on.
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

// Each await has one, and writes it only if it waits; so it has no value at first.
template <class Sync = real_sync>
class stop_hook {
public:
    using call = void (*)(stop_hook&) noexcept;

    [[gnu::always_inline]] stop_hook() {}
    stop_hook(const stop_hook&) = delete;
    stop_hook& operator=(const stop_hook&) = delete;

    // The links of linked_list.
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
    stop_hooks() = default;
    stop_hooks(const stop_hooks&) = delete;
    stop_hooks& operator=(const stop_hooks&) = delete;

    // False: a stop was requested before, and the hook is not added.
    [[nodiscard]] bool add(hook& h, typename hook::call c) {
        h.call_.write(c);
        h.of_.write(this);
        h.listed_.write(true);
        const inside_it inside(lock_);
        if (asked_.read()) return false;
        all_.append(&h);
        return true;
    }

    // Removes it from the stop_hooks to which it was added.
    static void remove(hook& h) { h.of_.read()->take_out(h); }

    // False: another call has asked before.
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
    // Lies on the stack of a thread that asks.
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
        // If this thread itself asks, the call has returned, or is further down this very stack.
        for (const asking* a = Sync::template current<asking>(); a != nullptr; a = a->outer)
            if (a->of == this) return;
        if (running_.load(std::memory_order_acquire) != &h) return;  // S1
        Sync::reach("stop_hooks.waited_for_the_call");
        Sync::spin_until(running_, [&h](hook* r) { return r != &h; });  // S1
    }
    // Precondition: the lock is held. The hook counts as running from here on.
    hook* take_first() {
        hook* const first = all_.front();
        if (first == nullptr) return nullptr;
        all_.remove(first);
        first->listed_.write(false);
        running_.store(first, std::memory_order_release);  // S1
        return first;
    }

    brief_lock<Sync> lock_;
    typename Sync::template atomic<hook*> running_{nullptr};
    // Guarded by lock_.
    typename Sync::template cell<bool> asked_{false};
    linked_list<hook> all_;
};

// The hooks of all awaits that one token stops. No call of its hooks may destroy it.
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
    std::stop_callback<asks> at_stop_;  // declared last: destroyed first
};

}  // namespace apiary
