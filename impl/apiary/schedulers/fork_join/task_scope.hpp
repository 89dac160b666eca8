// task_scope: forks jobs whose number is not known in advance, and waits once for all of them.
//
//     apiary::task_scope children(w);
//     for (const node& n : tree.children()) children.run([&n](auto& v) { visit(v, n); });
//     visit_last(w);
//     children.wait();
//
// When to use it. If fork_join's fixed number of branches does not fit. When not: if it does (fork_join is cheaper, and
// gives results), and for a loop over indices (parallel_for).
//
// Room.    The scope lies on the stack and holds up to `Jobs` callables of up to `Bytes` bytes; nothing is allocated. A
//          job that a thief has ended gives its place to the next. If no place is free, run runs the new job at once,
//          and so under the locks that its caller holds; the others run in wait. A job must not wait for a later one,
//          nor take a lock under which jobs are added.
// Nesting. A scope belongs to the worker and to the function that made it: only they call run and wait. Scopes and
//          forks end in the reverse order of their beginnings. A job that wants to add jobs opens a scope of its own.
//          std::logic_error: run or wait is called on another worker's thread, or while a job of a later scope or fork
//          is the newest of its worker. If a thief has that job, the misuse is found only by an assertion at the join.
// Errors.  wait throws the first exception that it meets, when all jobs are over; the others are counted. run throws
//          fork_too_deep, and the job has not run.
// Stop.    After a request no job begins; wait then returns false, unless all had begun. Any type with stop_requested()
//          will do as `StopToken`.
// Without wait. The destructor waits, also when an exception leaves the function: all jobs are run. Their exceptions
// are counted.
// Checked by model_check/schedulers/fork_join. Tested by fork_join_scope_test.cpp and fork_matrix_test.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <numeric>
#include <stdexcept>
#include <stop_token>
#include <type_traits>
#include <utility>

#include <apiary/schedulers/fork_join/fork_join.hpp>

namespace apiary {

template <class W, std::size_t Jobs = 16, std::size_t Bytes = 48, class StopToken = std::stop_token>
class task_scope {
    using sync = typename W::sync;
    using base = fork_job<sync>;

public:
    explicit task_scope(W& w, StopToken stop = {}) : w_(w), below_(w.jobs().newest()), stop_(std::move(stop)) {}
    ~task_scope() {
        while (count_ != 0) (void)end_newest();
        if (first_.read()) w_.lose_exception();
    }
    task_scope(const task_scope&) = delete;
    task_scope& operator=(const task_scope&) = delete;

    template <class F>
    void run(F&& f) {
        using callable = std::decay_t<F>;
        static_assert(sizeof(callable) <= Bytes && alignof(callable) <= alignof(std::max_align_t),
                      "capture less, or give task_scope a larger Bytes");
        must_be_on_top();
        if (count_ == Jobs && !free_a_place()) [[unlikely]]
            return run_now(std::forward<F>(f));
        entry& e = *::new (static_cast<void*>(&at(count_))) entry;
        ::new (static_cast<void*>(e.callable)) callable(std::forward<F>(f));
        e.scope = this;
        e.run.write(&entry::template give_turn<callable>);
        ++count_;
        try {
            if (w_.fork(e)) [[unlikely]]
                w_.answer(e);
        } catch (...) {  // fork_too_deep: the list is as it was before
            e.template held<callable>().~callable();
            forget_newest();
            throw;
        }
    }

    // True: every job has run. False: a stop came before some had begun.
    bool wait() {
        must_be_on_top();
        bool whole = std::exchange(whole_, true);
        while (count_ != 0) whole = end_newest() && whole;
        if (first_.read()) std::rethrow_exception(first_.take());
        return whole;
    }

private:
    struct entry : base {
        task_scope* scope;
        typename sync::template cell<bool> began;  // written before the exception; read when the job is over
        union {
            std::exception_ptr exception;  // set only if the job threw
        };
        alignas(std::max_align_t) std::byte callable[Bytes];

        entry() {}
        ~entry() {}

        template <class C>
        C& held() {
            return *std::launder(reinterpret_cast<C*>(callable));
        }
        // Any worker. Runs the job unless a stop came first. The handler only stores the exception.
        template <class C>
        static bool give_turn(base& j, void* w) {
            auto& e = static_cast<entry&>(j);
            const struct guard {
                C& of;
                ~guard() { of.~C(); }
            } destroy_at_end{e.template held<C>()};
            const bool begins = !e.scope->stop_.stop_requested();
            e.began.write(begins);
            if (!begins) return false;
            try {
                (void)detail::value_of(destroy_at_end.of, *static_cast<W*>(w));
                return false;
            } catch (...) {
                ::new (static_cast<void*>(&e.exception)) std::exception_ptr(std::current_exception());
            }
            return true;
        }
    };
    union place {
        entry of;
        place() {}
        ~place() {}
    };

    static_assert(0 < Jobs && Jobs <= 65'536);
    using place_number = std::conditional_t<Jobs <= 256, std::uint8_t, std::uint16_t>;
    static constexpr auto in_order = [] {
        std::array<place_number, Jobs> all{};
        std::iota(all.begin(), all.end(), place_number{0});
        return all;
    }();
    entry& at(std::size_t age) { return room_[order_[age]].of; }
    const entry& at(std::size_t age) const { return room_[order_[age]].of; }

    template <class F>
    void run_now(F&& f) {
        w_.share();
        if (stop_.stop_requested()) {
            whole_ = false;
            return;
        }
        std::decay_t<F> mine(std::forward<F>(f));  // as a job that has a place
        std::exception_ptr thrown;
        try {
            (void)detail::value_of(mine, w_);
        } catch (...) {
            thrown = std::current_exception();
        }
        if (thrown) keep(std::move(thrown));
    }
    // Ends the newest job. True: it had begun, here or on a thief.
    bool end_newest() {
        entry& e = at(count_ - 1);
        return forget_newest(w_.join(e) ? run_own(e) : W::list::over(e).is() == fork_progress::failed);
    }
    // Frees the place of the oldest job that a thief has ended. Private jobs are the newest ones, so the search ends at
    // the first.
    [[gnu::noinline]] bool free_a_place() {
        for (std::size_t age = 0; age != Jobs && !w_.jobs().is_private(at(age)); ++age) {
            if (!W::list::ended(at(age))) continue;
            sync::reach(age == 0 ? "task_scope.freed_a_place" : "task_scope.freed_a_younger_place");
            std::rotate(order_.begin() + age, order_.begin() + age + 1, order_.end());
            if (!forget_newest(W::list::over(at(Jobs - 1)).is() == fork_progress::failed)) whole_ = false;
            return true;
        }
        return false;
    }
    bool run_own(entry& e) {
        w_.share();
        return e.run.read()(e, &w_);
    }
    // Precondition: the newest job is over. True: it had begun.
    bool forget_newest(bool failed) {
        entry& e = at(count_ - 1);
        if (failed) [[unlikely]]
            keep(std::move(e.exception));  // null after the move, so it need not be destroyed
        const bool began = e.began.read();
        forget_newest();
        return began;
    }
    void forget_newest() { at(--count_).~entry(); }
    void keep(std::exception_ptr thrown) {
        if (first_.read())
            w_.lose_exception();
        else
            first_.write(std::move(thrown));
    }
    // Throws if a private job is newer than this scope's newest job, or, while the scope has none, than the newest from
    // before the scope; also on another worker's thread.
    void must_be_on_top() const {
        const base* const top = count_ == 0 ? below_ : &at(count_ - 1);
        if (!w_.is_here() || (w_.jobs().newest() != top && !w_.jobs().empty())) [[unlikely]]
            throw_misuse();
    }
    [[noreturn, gnu::noinline, gnu::cold]] static void throw_misuse() {
        throw std::logic_error(
            "task_scope: run or wait on another worker, or below a fork or a scope that is younger; open a scope "
            "there");
    }

    W& w_;
    const base* const below_;
    const StopToken stop_;
    std::size_t count_ = 0;
    bool whole_ = true;
    typename sync::template cell<std::exception_ptr> first_{nullptr};
    std::array<place, Jobs> room_;
    std::array<place_number, Jobs> order_ = in_order;  // the places of the jobs by age, then the free places
};

}  // namespace apiary
