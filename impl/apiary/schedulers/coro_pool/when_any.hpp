// when_any: several coroutines at once. The parent goes on after the first of them that ends.
//
//     const auto [which, answer] = co_await when_any(ask(mirror_1), ask(mirror_2));     // co_task<T>, all of one T
//
// When to use it. If the first answer counts: a request and its timeout. When not: if all answers are needed (when_all,
// which is far cheaper); for a wait with a timeout, or the first of several waits. There a loser that was already
// served takes its value or raw permit with it; receive_for, acquire_for and select lose nothing
// (coroutines/limited.hpp).
//
// Order.    The parent goes on when the first contender has ended, by a value or by an exception, which leaves the
//           await. The other contenders are then asked to end, by their stop token; they are also asked if the parent's
//           own token is. A contender that has not begun by then never does. Races among the contenders
//           of a race, however deep, are asked before the request for the stop returns. A request that a callback makes
//           more than 64 races deep may return before that; the outermost request does not.
// Lifetime. Losers may outlive the parent: a coroutine that ignores its stop token goes on to its end. So a loser must
//           not use anything of the parent's. A stop of the pool waits for losers (they are counted as roots). Their
//           results are destroyed; their exceptions are counted as lost, except wait_cancelled.
// Errors.   std::bad_alloc, and std::logic_error for an empty task: no contender has begun.
// Memory.   Each when_any has a record, which keeps the results until the last contender has ended, and a stop source.
//           The thread that lets go of the record last frees it: a worker, or the thread that asks for a stop of more
//           than 64 nested races.
//
// Synchronisation
//   S1  won: exchange decides which contender lets the parent go on. The resumption of the parent publishes the
//       winner's result.
//   S2  refs: fetch_sub (release) -> the last fetch_sub (acquire). The record is freed when all of these have let go of
//       it: the contenders, the parent, the thread that starts them, and a thread that has it on its list of races to
//       ask.
// Checked by model_check/schedulers/coro_pool. Tested by tests/when_any_test.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <optional>
#include <stop_token>
#include <utility>

#include <apiary/schedulers/coro_pool/co_task.hpp>

namespace apiary {

namespace detail {

// Passes a stop on to races that are contenders of races, and so on. Up to `most_nested` it goes down by nested calls,
// and beyond that by a list of the outermost call, so the stack does not grow with the nesting.
template <class Sync>
class co_race_below {
protected:
    co_race_below() = default;
    ~co_race_below() = default;

    // Called when the token of the race above is asked to stop.
    void ask_from_above() noexcept {
        below* const outer = Sync::template current<below>();
        if (outer == nullptr) {
            below all{nullptr, 0};
            Sync::set_current(&all);
            (void)stop_.request_stop();
            while (co_race_below* const next = all.deeper) {
                all.deeper = next->next_;
                (void)next->stop_.request_stop();
                next->let_go_(*next);
            }
            Sync::template set_current<below>(nullptr);
        } else if (outer->nested != most_nested) {
            ++outer->nested;
            (void)stop_.request_stop();
            --outer->nested;
        } else if (stays()) {
            Sync::reach("co_race.asked_later");
            next_ = outer->deeper;
            outer->deeper = this;
        }
    }

    std::stop_source stop_;
    typename Sync::template atomic<std::uint32_t> refs_;
    void (*let_go_)(co_race_below&) noexcept;

private:
    // Lies on the stack of the outermost call.
    struct below {
        co_race_below* deeper;  // races to ask after the nested calls have returned
        unsigned nested;
    };
    static constexpr unsigned most_nested = Sync::checked ? 0 : 64;

    // The race lives until its callback has returned; this reference keeps it until the outermost call has asked it.
    // False: all others have let go of it, and nothing is left to ask.
    bool stays() noexcept {
        std::uint32_t n = refs_.load(std::memory_order_relaxed);
        while (n != 0)
            if (refs_.compare_exchange_weak(n, n + 1, std::memory_order_relaxed, std::memory_order_relaxed))
                return true;
        return false;
    }

    co_race_below* next_;  // the list of the outermost call
};

template <class T, class Sync, std::size_t N>
class co_race : co_race_below<Sync> {
    using below = co_race_below<Sync>;
    using below::refs_;
    using below::stop_;

    struct asks {
        co_race* race;
        void operator()() const noexcept { race->ask_from_above(); }
    };
    struct contender : co_root<Sync> {
        co_race& race;
        const std::size_t index;
        co_outcome<T, Sync> outcome;

        contender(co_race& r, std::size_t i, co_host<Sync>& h)
            : co_root<Sync>(h, r.stop_.get_token(), &over, &cancelled, r.priority_), race(r), index(i) {
            this->stops = &r.stops_.hooks();
        }
        static void over(co_root<Sync>& r) noexcept {
            auto& me = static_cast<contender&>(r);
            co_host<Sync>& host = *me.host.read();
            me.race.over(me);
            host.leave();
        }
        static void cancelled(co_root<Sync>& r, std::exception_ptr why) noexcept {
            static_cast<contender&>(r).outcome.fail(std::move(why));
            over(r);
        }
    };

public:
    static co_race* make(co_host<Sync>& host, const suspended<Sync>& parent, const co_root<Sync>& of) {
        void* const memory = frame_storage<Sync>::allocate(sizeof(co_race));
        try {
            return ::new (memory) co_race(host, parent, of);
        } catch (...) {
            frame_storage<Sync>::release(memory, sizeof(co_race));
            throw;
        }
    }
    void release() noexcept {
        if (refs_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;  // S2
        this->~co_race();
        frame_storage<Sync>::release(this, sizeof(co_race));
    }
    contender& of(std::size_t i) { return *contenders_[i]; }
    std::size_t winner() const { return winner_.read(); }

private:
    co_race(co_host<Sync>& host, const suspended<Sync>& parent, const co_root<Sync>& of)
        : parent_(parent), priority_(of.priority) {
        refs_.store(N + 2, std::memory_order_relaxed);  // contenders, the parent, and the thread that starts them
        this->let_go_ = [](below& r) noexcept { static_cast<co_race&>(r).release(); };
        for (std::size_t i = 0; i != N; ++i) contenders_[i].emplace(*this, i, host);
        at_stop_.emplace(of.token, asks{this});
    }

    void over(contender& c) noexcept {
        if (!won_.exchange(true, std::memory_order_relaxed)) {  // S1
            winner_.write(c.index);
            (void)stop_.request_stop();
            parent_.resume();
        } else {
            Sync::reach("co_race.lost");
            if (c.outcome.failed()) count_lost(c.outcome.error());
        }
        release();
    }
    static void count_lost(const std::exception_ptr& error) noexcept {
        try {
            std::rethrow_exception(error);
        } catch (const wait_cancelled&) {
        } catch (...) {
            co_context<Sync>::here()->lost_exceptions.add();
        }
    }

    const suspended<Sync> parent_;
    const co_priority priority_;
    typename Sync::template atomic<bool> won_{false};
    typename Sync::template cell<std::size_t> winner_{0};  // written before the parent is resumed, and read after that
    token_hooks<Sync> stops_{stop_.get_token()};
    std::array<std::optional<contender>, N> contenders_;
    std::optional<std::stop_callback<asks>> at_stop_;  // declared last: destroyed first
};

template <class T>
struct co_first {
    std::size_t index;  // which of the arguments
    typename co_outcome<T>::value_type value;
};

template <class T, class Sync, std::size_t N>
class co_any {
public:
    using comes_home = void;

    template <class... Task>
    explicit co_any(Task&&... tasks) : tasks_{std::move(tasks)...} {}
    co_any(const co_any&) = delete;
    co_any& operator=(const co_any&) = delete;
    ~co_any() {
        if (race_ != nullptr) race_->release();
    }

    bool await_ready() const noexcept { return false; }
    template <class P>
    void await_suspend(std::coroutine_handle<P> h) {
        for (const auto& t : tasks_)
            if (t.empty()) throw std::logic_error("when_any: one of the tasks was awaited before, or moved from");
        const suspended<Sync> parent = h.promise().suspended_here();
        co_host<Sync>& host = *co_context<Sync>::here()->host();
        auto* const race = co_race<T, Sync, N>::make(host, parent, h.promise().root());
        race_ = race;
        std::array<co_frame<Sync>*, N> frames;
        for (std::size_t i = 0; i != N; ++i) {
            auto& f = tasks_[i].begin_into(race->of(i).outcome);
            f.root_of(race->of(i));
            frames[i] = &f;
            host.enter_inside();
        }
        // From the first bring() on the parent may go on, and this awaiter may be gone: only locals are used.
        for (co_frame<Sync>* f : frames) host.bring(*f);
        race->release();
    }
    co_first<T> await_resume() {
        const std::size_t i = race_->winner();
        return {i, race_->of(i).outcome.take_value()};
    }

private:
    std::array<co_task<T, Sync>, N> tasks_;
    co_race<T, Sync, N>* race_ = nullptr;
};

}  // namespace detail

template <class T, class Sync, class... More>
[[nodiscard]] auto when_any(co_task<T, Sync> first, More... more) {
    return detail::co_any<T, Sync, 1 + sizeof...(More)>(std::move(first), std::move(more)...);
}

}  // namespace apiary
