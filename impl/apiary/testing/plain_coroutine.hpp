// plain_coroutine: the smallest coroutine, for tests, checks and stresses of awaitables. It starts at once, on the
// thread that calls it, and its frame is freed when it has run.
//
//     plain_coroutine<> uses(coroutine_place<>, channel<int>& c) { … co_await c.receive(); … }
//     uses({some_home, &stops}, c);
//
// g++ 12 misplaces the promise of a coroutine that has no local variable and co_awaits in a condition, as in
// `if (co_await s.acquire() == awaited::done)`: its awaits read memory beside the promise. Such a coroutine fails here
// when it is made. Write `const awaited how = co_await …` before the `if`, or `if (auto r = co_await …)`.
//
//   resume_here    a home that runs the coroutine inside the call that brings it back
//   resume_later   a home that keeps the jobs until the test runs or drops them; one thread
#pragma once

#include <algorithm>
#include <coroutine>
#include <cstddef>
#include <deque>
#include <exception>
#include <utility>

#include <apiary/coroutines/awaiter.hpp>
#include <apiary/sync/real_sync.hpp>
#include <apiary/tasks/suspended.hpp>

namespace apiary {

template <class Sync = real_sync>
struct resume_here final : home<Sync> {
    void resume(job<Sync>& j) noexcept override { (void)j.run(); }
};

struct resume_later final : home<real_sync> {
    void resume(job<>& j) noexcept override { waiting.push_back(&j); }
    job<>* next() {
        job<>* const j = waiting.front();
        waiting.pop_front();
        return j;
    }
    std::size_t run_all() {
        std::size_t n = 0;
        for (; !waiting.empty(); ++n) (void)next()->run();
        return n;
    }
    std::deque<job<>*> waiting;
};

// A coroutine's first parameter: where it comes back, and what may cancel it.
template <class Sync = real_sync>
struct coroutine_place {
    home<Sync>& where;
    stop_hooks<Sync>* stops = nullptr;
};

template <class Sync = real_sync>
struct plain_coroutine {
    using place = coroutine_place<Sync>;

    class promise_type : public job<Sync> {
    public:
        template <class... Rest>
        explicit promise_type(const place& p, Rest&&...) : job<Sync>(&end_it), place_(p) {}
        template <class Self, class... Rest>
        promise_type(Self&&, const place& p, Rest&&...) : job<Sync>(&end_it), place_(p) {}

        // Neither is inlined: g++ warns of such a pair if it sees only one of the two.
        [[gnu::noinline]] static void* operator new(std::size_t bytes) {
            void* const made = Sync::allocate(bytes, alignof(std::max_align_t));
            Sync::set_current(static_cast<promise_type*>(made));
            return made;
        }
        // Overwritten, so that a freed frame that is still in a list is found without a sanitizer, too.
        [[gnu::noinline]] static void operator delete(void* p, std::size_t bytes) {
            if constexpr (!Sync::checked) std::fill_n(static_cast<volatile unsigned char*>(p), bytes, 0xdd);
            Sync::deallocate(p, bytes, alignof(std::max_align_t));
        }
        plain_coroutine get_return_object() {
            const auto self = std::coroutine_handle<promise_type>::from_promise(*this);
            if (self.address() != Sync::template current<promise_type>())
                Sync::fail("g++ 12 has misplaced this coroutine's promise: give the result of co_await a name");
            return {self};
        }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }

        suspended<Sync> suspended_here() noexcept { return {this, &place_.where}; }
        stop_hooks<Sync>* stops() noexcept { return place_.stops; }

    private:
        static bool end_it(job<Sync>& self, job_end how, any_worker*) {
            const auto frame = std::coroutine_handle<promise_type>::from_promise(static_cast<promise_type&>(self));
            if (how == job_end::run)
                frame.resume();
            else
                frame.destroy();
            return true;
        }

        const place place_;
    };

    std::coroutine_handle<> frame;  // until the coroutine has ended
};

}  // namespace apiary
