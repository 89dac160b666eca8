// Semaphore and mutex: exclusion, hand-over, cancels against releases, no wake lost, no permit lost
// or made.
#include <array>
#include <atomic>
#include <cstdint>
#include <utility>

#include <apiary/coroutines/async_mutex.hpp>
#include <apiary/coroutines/async_semaphore.hpp>

#include "coroutine_scenario.hpp"

namespace async_semaphore_check {
namespace {

using namespace apiary;
using namespace apiary::model;

template <class Sync>
struct locking_scenario : coroutine_scenario<Sync> {
    using base = coroutine_scenario<Sync>;
    async_mutex<Sync> m;
    stop_hooks<Sync> stop;
    typename Sync::template cell<int> guarded{0};
    std::array<std::atomic<int>, 2> had{}, cancelled{};  // std::atomic: the oracle is no part of what is checked

    coroutine<Sync> locks(typename base::place, unsigned id) {
        if (auto held = co_await m.lock()) {
            guarded.write(guarded.read() + 1);
            ++had[id];
        } else {
            ++cancelled[id];
        }
    }
    void after() {
        Sync::law(static_cast<bool>(m.try_lock()), "the mutex was left locked");
        Sync::law(guarded.read() == had[0] + had[1], "two held the mutex at a time");
    }
};

template <class Sync>
struct two_lock : locking_scenario<Sync> {
    static constexpr const char* what = "two coroutines lock at the same time: one after the other has it";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"waiter.brought_back", "async_semaphore.need_not_wait"};
    void thread(unsigned i) { this->locks(this->here(), i); }
    void after() {
        locking_scenario<Sync>::after();
        Sync::law(this->had[0] == 1 && this->had[1] == 1, "a coroutine never got the mutex");
    }
};
APIARY_CHECK(two_lock);

template <class Sync>
struct unlock_meets_a_cancel : locking_scenario<Sync> {
    static constexpr const char* what =
        "the mutex is handed to the first that waits while that is cancelled: it has it, or the second";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"waiter.brought_back", "async_semaphore.cancelled_too_late"};
    void before() {
        auto held = this->m.try_lock();
        this->locks(this->here(this->stop), 0);
        this->locks(this->here(), 1);
        kept = std::move(held);
    }
    void thread(unsigned i) {
        if (i == 0) return kept.unlock();
        this->stop.ask();
    }
    void after() {
        locking_scenario<Sync>::after();
        Sync::law(this->had[0] + this->cancelled[0] == 1, "an await did not end once");
        Sync::law(this->had[1] == 1, "the one that waited behind it never got the mutex");
    }
    typename async_mutex<Sync>::holder kept;
};
APIARY_CHECK(unlock_meets_a_cancel);

template <class Sync>
struct unlock_meets_the_last_cancel : locking_scenario<Sync> {
    static constexpr const char* what =
        "the only one that waits is cancelled while the mutex is unlocked: whoever comes later finds it free";
    static constexpr unsigned threads = 3;
    static constexpr std::array must_reach{"waiter.brought_back"};
    void before() { kept = this->m.try_lock(); }
    void thread(unsigned i) {
        if (i == 0)
            this->locks(this->here(this->stop), 0);
        else if (i == 1)
            kept.unlock();
        else
            this->stop.ask();
    }
    void after() {
        locking_scenario<Sync>::after();
        Sync::law(this->had[0] + this->cancelled[0] == 1, "an await did not end once");
    }
    typename async_mutex<Sync>::holder kept;
};
APIARY_CHECK(unlock_meets_the_last_cancel);

template <class Sync>
struct newcomer_does_not_overtake : locking_scenario<Sync> {
    static constexpr const char* what =
        "a newcomer tries to lock while the mutex is handed to one that waits: it gets it after that one, or not";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"newcomer.got_it", "newcomer.came_too_early"};
    void before() {
        auto held = this->m.try_lock();
        this->locks(this->here(), 0);
        kept = std::move(held);
    }
    void thread(unsigned i) {
        if (i == 0) return kept.unlock();
        const auto mine = this->m.try_lock();
        if (!mine) return Sync::reach("newcomer.came_too_early");
        Sync::reach("newcomer.got_it");
        Sync::law(this->guarded.read() == 1, "a newcomer overtook one that waits");
    }
    void after() {
        locking_scenario<Sync>::after();
        Sync::law(this->had[0] == 1, "the one that waited never got the mutex");
    }
    typename async_mutex<Sync>::holder kept;
};
APIARY_CHECK(newcomer_does_not_overtake);

template <class Sync>
struct permits_scenario : coroutine_scenario<Sync> {
    using base = coroutine_scenario<Sync>;
    async_semaphore<Sync> s{0};
    stop_hooks<Sync> stop;
    typename Sync::template cell<int> made{0};
    std::array<std::atomic<int>, 2> had{}, cancelled{};

    coroutine<Sync> takes(typename base::place, unsigned id) {
        const awaited how = co_await s.acquire();
        if (how == awaited::done) {
            Sync::law(made.read() == 1, "a permit came before what was done before its release");
            ++had[id];
        } else {
            ++cancelled[id];
        }
    }
    void gives(std::uint32_t permits) {
        made.write(1);
        s.release(permits);
    }
};

template <class Sync>
struct release_meets_a_wait : permits_scenario<Sync> {
    static constexpr const char* what =
        "a permit is released while a coroutine begins to wait for it: the wake is not lost";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"waiter.brought_back", "async_semaphore.need_not_wait"};
    void thread(unsigned i) {
        if (i == 0)
            this->takes(this->here(), 0);
        else
            this->gives(1);
    }
    void after() {
        Sync::law(this->had[0] == 1, "the one that waited never got its permit");
        Sync::law(this->s.available() == 0, "a permit was made");
    }
};
APIARY_CHECK(release_meets_a_wait);

template <class Sync>
struct two_wait_for_two_permits : permits_scenario<Sync> {
    static constexpr const char* what = "two coroutines begin to wait while two permits come: both get one";
    static constexpr unsigned threads = 3;
    static constexpr std::array alike{1U, 2U};
    static constexpr std::array must_reach{"waiter.brought_back"};
    void thread(unsigned i) {
        if (i == 0)
            this->gives(2);
        else
            this->takes(this->here(), 0);
    }
    void after() {
        Sync::law(this->had[0] == 2, "one that waited never got its permit");
        Sync::law(this->s.available() == 0, "a permit was made");
    }
};
APIARY_CHECK(two_wait_for_two_permits);

template <class Sync>
struct permits_and_a_cancel : permits_scenario<Sync> {
    static constexpr const char* what =
        "two permits are released while the only one that waits is cancelled: it takes one of them, or none";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"waiter.brought_back", "async_semaphore.cancelled_too_late"};
    void before() { this->takes(this->here(this->stop), 0); }
    void thread(unsigned i) {
        if (i == 0) return this->gives(2);
        this->stop.ask();
    }
    void after() {
        Sync::law(this->had[0] + this->cancelled[0] == 1, "an await did not end once");
        Sync::law(this->s.available() == 2U - static_cast<unsigned>(this->had[0].load()), "a permit was lost or made");
    }
};
APIARY_CHECK(permits_and_a_cancel);

// One release after the other, each of a thread: what the first did comes with the permit of the
// second.
template <class Sync>
struct permits_bring_what_came_before : permits_scenario<Sync> {
    static constexpr const char* what =
        "two threads release, a third that gets both permits has both threads' work behind it";
    static constexpr unsigned threads = 3;
    static constexpr std::array must_reach{"taker.got_both"};
    typename Sync::template cell<int> made_too{0};
    void thread(unsigned i) {
        if (i == 0) return this->gives(1);
        if (i == 1) {
            made_too.write(1);
            return this->s.release();
        }
        if (this->s.try_acquire() && this->s.try_acquire()) {
            Sync::reach("taker.got_both");
            Sync::law(this->made.read() == 1 && made_too.read() == 1, "a permit came before what was done before it");
        }
    }
    void after() { Sync::law(this->s.available() <= 2, "a permit was made"); }
};
APIARY_CHECK(permits_bring_what_came_before);

// The last user destroys it: a release touches nothing after its permit can be taken.
template <class Sync>
struct semaphore_goes : coroutine_scenario<Sync> {
    static constexpr const char* what =
        "two threads release, and the coroutine that has got both permits destroys the semaphore";
    static constexpr unsigned threads = 2;
    static constexpr std::array engine_laws{"lifetime"};
    static constexpr std::array must_reach{"waiter.brought_back", "async_semaphore.none_waits_any_more"};
    using base = coroutine_scenario<Sync>;
    async_semaphore<Sync>* s = nullptr;
    std::atomic<int> ended = 0;

    void before() {
        s = Sync::template create<async_semaphore<Sync>>(0U);
        takes_both(this->here());
    }
    coroutine<Sync> takes_both(typename base::place) {
        for (int n = 0; n != 2; ++n) {
            const awaited how = co_await s->acquire();
            Sync::law(how == awaited::done, "an await was cancelled by nobody");
        }
        Sync::destroy(s);
        ++ended;
    }
    void thread(unsigned) { s->release(); }
    void after() { Sync::law(ended == 1, "the coroutine did not get both permits"); }
};
APIARY_CHECK(semaphore_goes);

// The cancel has left the word saying that one waits.
template <class Sync>
struct mutex_goes : coroutine_scenario<Sync> {
    static constexpr const char* what =
        "a mutex for which one has waited in vain is unlocked, and the next holder destroys it";
    static constexpr unsigned threads = 2;
    static constexpr std::array engine_laws{"lifetime"};
    static constexpr std::array must_reach{"async_semaphore.none_waits_any_more", "mutex.went"};
    using base = coroutine_scenario<Sync>;
    async_mutex<Sync>* m = nullptr;
    typename async_mutex<Sync>::holder kept;
    stop_hooks<Sync> stop;
    bool gone = false;

    void before() {
        m = Sync::template create<async_mutex<Sync>>();
        kept = m->try_lock();
        waits_in_vain(this->here(stop));
        stop.ask();
    }
    coroutine<Sync> waits_in_vain(typename base::place) {
        const auto held = co_await m->lock();
        Sync::law(!held, "a mutex was given to two");
    }
    void thread(unsigned i) {
        if (i == 0) return kept.unlock();
        auto held = m->try_lock();
        if (!held) return;
        held.unlock();
        Sync::destroy(m);
        gone = true;
        Sync::reach("mutex.went");
    }
    void after() {
        if (!gone) Sync::destroy(m);
    }
};
APIARY_CHECK(mutex_goes);

}  // namespace
}  // namespace async_semaphore_check
