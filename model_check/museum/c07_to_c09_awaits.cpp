// C07, C08, C09: what goes wrong between an await, its completion and its cancel.
//
// C07: a completion and a cancel both look whether the coroutine still waits, and both resume it.
// C08: an unlock sees that nobody waits, and then frees the mutex: a coroutine that began to wait
//      in between is never woken.
// C09: a waiter is handed over, and then the stop callback is made in its frame: the coroutine may
//      have ended by then.
//
// From: the mistakes against which this project's own awaitables are made (waiter.hpp and
// async_semaphore.hpp of impl/apiary/coroutines).
// Seen by: both engines, because the frames come from Sync::allocate.
// Fixed twins: the shipped waiter and list; the shipped semaphore; the shipped awaiter's order.
#include <array>
#include <atomic>

#include <apiary/coroutines/async_semaphore.hpp>

#include "../coroutines/coroutine_scenario.hpp"

namespace c07_to_c09_awaits {
namespace {

using namespace apiary;
using namespace apiary::model;

constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;

// C07. A coroutine waits; one thread completes, one cancels.
template <class Sync, bool Taken>
struct completed_and_cancelled : coroutine_scenario<Sync> {
    static constexpr unsigned threads = 2;
    static constexpr std::array engine_laws{"lifetime"};
    struct awaiting : waiter<Sync> {
        explicit awaiting(completed_and_cancelled& c) : check(c) {}
        using node = waiter<Sync>;
        bool await_ready() const { return false; }
        template <class Promise>
        bool await_suspend(std::coroutine_handle<Promise> h) {
            this->begin(h.promise().suspended_here());
            check.list.append(*this);
            check.one = this;
            check.waits.store(true, relaxed);
            return true;
        }
        void await_resume() const {}
        completed_and_cancelled& check;
    };
    typename Sync::mutex mutex;
    wait_list<awaiting> list;  // by mutex, behind before()
    awaiting* one = nullptr;
    typename Sync::template atomic<bool> waits{false};

    coroutine<Sync> awaits(typename coroutine_scenario<Sync>::place) { co_await awaiting(*this); }
    void before() { awaits(this->here()); }
    void thread(unsigned) {
        if (Taken) {
            const typename Sync::lock held(mutex);
            if (list.take_first() == nullptr) return;
        } else {
            if (!waits.load(acquire)) return;
            waits.store(false, release);
        }
        one->finish();
    }
};
template <class Sync>
struct c07_both_bring_it_back : completed_and_cancelled<Sync, false> {
    static constexpr const char* what = "a completion and a cancel both see that the coroutine waits: both resume it";
};
APIARY_EXHIBIT(c07_both_bring_it_back, "access to freed memory");
template <class Sync>
struct c07_fixed : completed_and_cancelled<Sync, true> {
    static constexpr const char* what = "twin of C07: the thread that takes the waiter from the list resumes it";
    static constexpr const char* exhibit = "c07_both_bring_it_back";
};
APIARY_CHECK(c07_fixed);

// C08. The mutex is locked; one coroutine wants it while it is unlocked.
template <class Sync>
class looks_then_frees {
public:
    class locking : public awaiter<locking, Sync> {
    public:
        explicit locking(looks_then_frees& m) : of_(m) {}
        bool await_ready() const { return false; }
        awaited await_resume() { return this->resumed(); }
        bool wait(stop_hooks<Sync>*) {
            const typename Sync::lock held(of_.mutex_);
            if (!of_.locked_.exchange(true, acquire)) return false;
            of_.waiting_.append(*this);
            return true;
        }
        void cancel() noexcept {}

    private:
        looks_then_frees& of_;
    };
    locking lock() { return locking(*this); }
    bool try_lock() { return !locked_.exchange(true, acquire); }
    void unlock() {
        locking* next = nullptr;
        {
            const typename Sync::lock held(mutex_);
            next = waiting_.take_first();
        }
        if (next != nullptr)
            next->finish();
        else
            locked_.store(false, release);  // outside the lock: the look is old
    }

private:
    typename Sync::mutex mutex_;
    typename Sync::template atomic<bool> locked_{false};
    wait_list<locking> waiting_;
};
template <class Sync>
class shipped_mutex {
public:
    auto lock() { return permit_.acquire(); }
    bool try_lock() { return permit_.try_acquire(); }
    void unlock() { permit_.release(); }

private:
    async_semaphore<Sync> permit_{1};
};

template <class Sync, template <class> class Mutex>
struct unlock_meets_a_lock : coroutine_scenario<Sync> {
    static constexpr unsigned threads = 2;
    Mutex<Sync> m;
    std::atomic<int> had = 0;
    coroutine<Sync> locks(typename coroutine_scenario<Sync>::place) {
        const awaited how = co_await m.lock();
        if (how != awaited::done) co_return;
        ++had;
        m.unlock();
    }
    void before() { (void)m.try_lock(); }
    void thread(unsigned i) {
        if (i == 0)
            m.unlock();
        else
            locks(this->here());
    }
    void after() { Sync::law(had == 1, "a coroutine waits for a mutex that is free"); }
};
template <class Sync>
struct c08_unlock_misses_one_that_waits : unlock_meets_a_lock<Sync, looks_then_frees> {
    static constexpr const char* what =
        "an unlock looks at the list, then frees: one that begins to wait in between stays";
};
APIARY_EXHIBIT(c08_unlock_misses_one_that_waits, "waits for a mutex that is free");
template <class Sync>
struct c08_fixed : unlock_meets_a_lock<Sync, shipped_mutex> {
    static constexpr const char* what = "twin of C08: that one waits stands in the word that the unlock changes";
    static constexpr const char* exhibit = "c08_unlock_misses_one_that_waits";
};
APIARY_CHECK(c08_fixed);

// C09. What happens meanwhile brings the coroutine back as soon as it can be found.
template <class Sync, bool Late>
struct callback_is_made : coroutine_scenario<Sync> {
    static constexpr unsigned threads = 2;
    static constexpr std::array engine_laws{"lifetime"};
    struct awaiting : waiter<Sync> {
        explicit awaiting(callback_is_made& c) : check(c) {}
        bool await_ready() const { return false; }
        template <class Promise>
        bool await_suspend(std::coroutine_handle<Promise> h) {
            this->begin(h.promise().suspended_here());
            check.found.store(this, release);
            bool waits = true;
            if (Late) waits = !both.second();
            if (waits) {
                has_callback.store(true, relaxed);
                (void)h.promise().stops()->add(callback, [](stop_hook<Sync>&) noexcept {});
            }
            return Late ? waits : !both.second();
        }
        void await_resume() {
            if (!Late && has_callback.load(relaxed)) stop_hooks<Sync>::remove(callback);
        }
        callback_is_made& check;
        typename Sync::template atomic<bool> has_callback{false};
        stop_hook<Sync> callback;
        second_of_two<Sync> both;
    };
    stop_hooks<Sync> stop;
    typename Sync::template atomic<awaiting*> found{nullptr};

    coroutine<Sync> awaits(typename coroutine_scenario<Sync>::place) { co_await awaiting(*this); }
    void thread(unsigned i) {
        if (i == 0)
            awaits(this->here(stop));
        else if (awaiting* const w = Sync::spin_until(found, [](awaiting* a) { return a != nullptr; });
                 w->both.second())
            w->finish();
    }
};
template <class Sync>
struct c09_callback_behind_the_hand_over : callback_is_made<Sync, true> {
    static constexpr const char* what =
        "a stop callback is made in a frame that has been handed over: the frame has gone";
};
APIARY_EXHIBIT(c09_callback_behind_the_hand_over, "access to freed memory");
template <class Sync>
struct c09_fixed : callback_is_made<Sync, false> {
    static constexpr const char* what =
        "twin of C09: found and ended before, the coroutine goes on after its last step alone";
    static constexpr const char* exhibit = "c09_callback_behind_the_hand_over";
};
APIARY_CHECK(c09_fixed);

}  // namespace
}  // namespace c07_to_c09_awaits
