// A23, C06: coroutine frames. One is never resumed and leaks, one is touched and one destroyed when it has gone.
//
// From: seed 003 "stop" (A23); L. Baker, "C++ Coroutines: Understanding operator co_await", 2017 (C06): another
// thread may resume the coroutine, and end it, before await_suspend has returned.
// Seen by: both engines, because the frames come from Sync::allocate.
// Fixed twins: the look that stops closes the slot; nothing is touched after the hand-over; one exchange decides.
#include <coroutine>
#include <exception>

#include <apiary/model_check/register.hpp>

namespace a23_c06_coroutine_frames {
namespace {

using namespace apiary;

constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;
constexpr auto acq_rel = std::memory_order_acq_rel;

// A coroutine that starts suspended and destroys its frame when it has run.
template <class Sync>
struct coroutine {
    struct promise_type {
        static void* operator new(std::size_t bytes) { return Sync::allocate(bytes, alignof(std::max_align_t)); }
        static void operator delete(void* p, std::size_t bytes) {
            Sync::deallocate(p, bytes, alignof(std::max_align_t));
        }
        coroutine get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this).address()}; }
        std::suspend_always initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
    void* frame;
};
void resume(void* frame) { std::coroutine_handle<>::from_address(frame).resume(); }
void destroy(void* frame) { std::coroutine_handle<>::from_address(frame).destroy(); }

template <class Sync>
using shared_frame = typename Sync::template atomic<void*>;

// A23. A pool looks for work once more, and stops.
template <class Sync, bool Closes>
struct spawn_against_the_last_look {
    static constexpr unsigned threads = 2;
    static constexpr std::array engine_laws{"lifetime"};
    shared_frame<Sync> slot{nullptr};
    char closed = 0;

    static coroutine<Sync> runs() { co_return; }
    void thread(unsigned i) {
        void* seen = nullptr;
        if (i == 0) {
            void* const frame = runs().frame;
            if (!slot.compare_exchange_strong(seen, frame, release, relaxed)) destroy(frame);  // the pool is closed
        } else {
            seen = Closes ? slot.exchange(&closed, acquire) : slot.load(acquire);
            if (seen != nullptr) resume(seen);
        }
    }
};
template <class Sync>
struct a23_frame_leaks : spawn_against_the_last_look<Sync, false> {
    static constexpr const char* what = "a coroutine is spawned after the last look of a pool that stops";
};
APIARY_EXHIBIT(a23_frame_leaks, "memory leak");
template <class Sync>
struct a23_frame_fixed : spawn_against_the_last_look<Sync, true> {
    static constexpr const char* what = "twin of A23: the last look closes the slot, and the frame is destroyed";
    static constexpr const char* exhibit = "a23_frame_leaks";
};
APIARY_CHECK(a23_frame_fixed);

// C06. The awaiter lies in the frame, which another thread may resume as soon as it has been handed over.
template <class Sync, bool GoesOn>
struct frame_is_handed_over {
    static constexpr unsigned threads = 2;
    static constexpr std::array engine_laws{"lifetime"};
    shared_frame<Sync> handed{nullptr};

    struct awaiter {
        frame_is_handed_over& check;
        typename Sync::template atomic<int> suspended{0};

        bool await_ready() const noexcept { return false; }
        void await_suspend(std::coroutine_handle<> h) {
            if (!GoesOn) suspended.fetch_add(1, relaxed);
            check.handed.store(h.address(), release);
            if (GoesOn) suspended.fetch_add(1, relaxed);
        }
        void await_resume() const noexcept {}
    };
    static coroutine<Sync> waits(frame_is_handed_over& check) {
        awaiter mine{check};
        co_await mine;
    }
    void thread(unsigned i) {
        resume(i == 0 ? waits(*this).frame : Sync::spin_until(handed, [](void* frame) { return frame != nullptr; }));
    }
};
template <class Sync>
struct c06_awaiter_touched_after_the_hand_over : frame_is_handed_over<Sync, true> {
    static constexpr const char* what = "await_suspend hands the frame over and counts: the frame has run and gone";
};
APIARY_EXHIBIT(c06_awaiter_touched_after_the_hand_over, "access to freed memory");
template <class Sync>
struct c06_fixed : frame_is_handed_over<Sync, false> {
    static constexpr const char* what = "twin of C06: the hand-over is the last that await_suspend does";
    static constexpr const char* exhibit = "c06_awaiter_touched_after_the_hand_over";
};
APIARY_CHECK(c06_fixed);

// C06. Two threads may end a coroutine that waits: the one that cancels, and the one whose event comes.
template <class Sync, bool ByOneExchange>
struct two_may_end_it {
    static constexpr unsigned threads = 2;
    static constexpr std::array engine_laws{"lifetime"};
    typename Sync::template atomic<bool> ended{false};
    void* frame = nullptr;

    static coroutine<Sync> runs() { co_return; }
    void before() { frame = runs().frame; }
    void thread(unsigned) {
        if (ByOneExchange ? ended.exchange(true, acq_rel) : ended.load(acquire)) return;
        if (!ByOneExchange) ended.store(true, release);
        destroy(frame);
    }
};
template <class Sync>
struct c06_frame_destroyed_twice : two_may_end_it<Sync, false> {
    static constexpr const char* what = "both look whether the other has ended the coroutine, and both destroy it";
};
APIARY_EXHIBIT(c06_frame_destroyed_twice, "double free");
template <class Sync>
struct c06_once_fixed : two_may_end_it<Sync, true> {
    static constexpr const char* what = "twin of C06: one exchange decides which thread destroys the frame";
    static constexpr const char* exhibit = "c06_frame_destroyed_twice";
};
APIARY_CHECK(c06_once_fixed);

}  // namespace
}  // namespace a23_c06_coroutine_frames
