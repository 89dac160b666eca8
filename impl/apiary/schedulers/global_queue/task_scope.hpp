// task_scope: the children of a task, or tasks that a thread outside wants to wait for. A part of global_queue.hpp.
//
// Threads.   run: the thread that opened it, the tasks of the scope, and any thread that knows that the scope's owner
//            will wait later. wait: any thread, except one that runs a task of this scope.
// Lifetime.  It lies on the stack of its owner, and its destructor waits as wait() does. The thread that ends the last
//            task does not touch it after it has left the lock, and only with the lock does the owner see that all
//            tasks have ended.
// Depth.     A wait runs tasks on the stack of its thread, and a post counts in all scopes above. So run and run_all
//            throw scope_too_deep, before anything is posted, below more than `deepest` scopes, and on a stack that has
//            less than stack_reserve left: recursion that is too deep ends by an exception and not by a crash. Under
//            AddressSanitizer stacks have no bounds (sync/stack_bounds.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include <apiary/schedulers/global_queue/global_queue.hpp>

namespace apiary {

struct scope_too_deep : std::length_error {
    using std::length_error::length_error;
};

template <class Sync>
class basic_global_queue<Sync>::task_scope {
public:
    static constexpr unsigned deepest = 10'000;           // scopes, one below the other
    static constexpr std::size_t stack_reserve = 65'536;  // bytes: for what a task does that opens no scope

    // Below the scope whose task the calling thread runs, if that scope is of this scheduler.
    explicit task_scope(basic_global_queue& queue)
        : task_scope(queue, running::is_below(queue.root_) ? *running::innermost() : queue.root_) {}
    ~task_scope() { (void)queue_.settle(family_); }  // swallows an exception for which nobody waited
    task_scope(const task_scope&) = delete;
    task_scope& operator=(const task_scope&) = delete;

    // As basic_global_queue::post; recursion that is too deep throws scope_too_deep.
    template <class F>
    [[nodiscard]] bool run(F&& callable) {
        refuse_deep();
        return queue_.accept(family_, std::forward<F>(callable));
    }

    // Posts n tasks, the i-th of them callable(i). All of them or none: returns n, or 0.
    template <class Callable>
    [[nodiscard]] std::size_t run_all(std::size_t n, Callable callable) {
        refuse_deep();
        return queue_.accept_all(family_, n, std::move(callable));
    }

    // Blocks until all tasks of this scope and of those below have ended, and runs them meanwhile. Throws the first
    // exception that left a task of this scope, and std::logic_error if a task of this scope calls it. False: a stop
    // dropped some.
    bool wait() {
        queue_.refuse_own(family_);
        const ending all = queue_.settle(family_);
        if (all.error != nullptr) std::rethrow_exception(all.error);
        return !all.cut;
    }

private:
    friend basic_global_queue;
    task_scope(basic_global_queue& queue, family& above) : queue_(queue), family_(&above) {}

    void refuse_deep() const {
        const char here = 0;
        if (family_.depth > deepest || reinterpret_cast<std::uintptr_t>(&here) < Sync::stack().floor(stack_reserve))
            throw scope_too_deep("global_queue: recursion by scopes is too deep for this stack, or for one lock");
    }

    basic_global_queue& queue_;
    family family_;
};

template <class Sync>
template <class F>
auto basic_global_queue<Sync>::make(family& of, F&& callable) -> item* {
    if constexpr (std::is_invocable_v<std::decay_t<F>&, task_scope&>)
        return Sync::template create<item>(of, [this, &of, body = std::forward<F>(callable)]() mutable {
            task_scope children(*this, of);
            body(children);
            (void)children.wait();
        });
    else
        return Sync::template create<item>(of, std::forward<F>(callable));
}

}  // namespace apiary
