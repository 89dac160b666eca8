// B25 to B27: a wake that touches what it has set free; a futex word that comes back; an unpark that gives up.
//
// From: rayon #739; folly b927c0557; tokio #459.
// Seen by: both engines. B25 is a use after free, the others plain interleaving.
// Fixed twins: the shipped parker, used as its header card says; for B26 a counter that does not come back.
#include <apiary/model_check/register.hpp>
#include <apiary/parking/parker.hpp>

namespace b25_to_b27_parkers {
namespace {

using namespace apiary;

constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;

// B25. A latch that the waiter frees as soon as it is set.
template <class Sync, bool WakesThroughTheLatch>
struct latch_of_the_waiter {
    static constexpr unsigned threads = 2;
    struct latch {
        typename Sync::template atomic<bool> set{false};
        basic_parker<Sync>* waiter = nullptr;
    };
    basic_parker<Sync> mine;  // of thread 0, and outlives every latch
    latch* shared = nullptr;

    void before() {
        shared = Sync::template create<latch>();
        shared->waiter = &mine;
    }
    void thread(unsigned i) {
        latch& l = *shared;
        if (i == 0) {
            while (!l.set.load(acquire)) mine.park();
            Sync::destroy(&l);
        } else if (WakesThroughTheLatch) {
            l.set.store(true, release);
            if (l.set.load(relaxed)) l.waiter->unpark();
        } else {
            basic_parker<Sync>& waiter = *l.waiter;
            l.set.store(true, release);  // the last that is done to the latch
            waiter.unpark();
        }
    }
};
template <class Sync>
struct b25_latch_read_after_set : latch_of_the_waiter<Sync, true> {
    static constexpr const char* what = "the latch is read once more after it was set: the waiter has freed it";
};
APIARY_EXHIBIT(b25_latch_read_after_set, "access to freed memory");
template <class Sync>
struct b25_fixed : latch_of_the_waiter<Sync, false> {
    static constexpr const char* what = "twin of B25: whom to wake is read before the set";
    static constexpr const char* exhibit = "b25_latch_read_after_set";
    static constexpr std::array engine_laws{"lifetime"};
};
APIARY_CHECK(b25_fixed);

// The same with the parker itself: it must outlive the return of every unpark (parker.hpp, Lifetime).
template <class Sync, bool WaitsForTheUnpark>
struct parker_of_the_waiter {
    static constexpr unsigned threads = 2;
    basic_parker<Sync>* parker = nullptr;
    typename Sync::template atomic<bool> returned{false};

    void before() { parker = Sync::template create<basic_parker<Sync>>(); }
    void thread(unsigned i) {
        if (i == 0) {
            parker->park();
            if (WaitsForTheUnpark) Sync::spin_until(returned, [](bool r) { return r; });
            Sync::destroy(parker);
        } else {
            parker->unpark();
            returned.store(true, release);
        }
    }
};
template <class Sync>
struct b25_parker_freed_too_early : parker_of_the_waiter<Sync, false> {
    static constexpr const char* what = "the owner takes the token and frees the parker; unpark has yet to wake";
};
APIARY_EXHIBIT(b25_parker_freed_too_early, "access to freed memory");
template <class Sync>
struct b25_parker_fixed : parker_of_the_waiter<Sync, true> {
    static constexpr const char* what = "twin of B25: the parker outlives the return of the unpark";
    static constexpr const char* exhibit = "b25_parker_freed_too_early";
    static constexpr std::array engine_laws{"lifetime"};
};
APIARY_CHECK(b25_parker_fixed);

// B26. Two notifiers change the word on which a third thread is about to block.
template <class Sync, bool ComesBack>
struct word_of_a_gate {
    static constexpr unsigned threads = 3;
    typename Sync::futex word{0};
    typename Sync::template atomic<unsigned> done{0};

    void thread(unsigned i) {
        if (i != 0) {
            done.fetch_add(1, relaxed);
            word.fetch_add(ComesBack && i == 2 ? ~0U : 1U, std::memory_order_acq_rel);
            word.wake_all();
            return;
        }
        for (;;) {
            const std::uint32_t seen = word.load(acquire);
            if (done.load(relaxed) == 2) return;
            word.wait(seen, Sync::forever);
        }
    }
};
template <class Sync>
struct b26_word_comes_back : word_of_a_gate<Sync, true> {
    static constexpr const char* what = "two changes, and the futex word is what it was: the third thread blocks";
};
APIARY_EXHIBIT(b26_word_comes_back, "deadlock");
template <class Sync>
struct b26_fixed : word_of_a_gate<Sync, false> {
    static constexpr const char* what = "twin of B26: the word counts, and does not come back for a long time";
    static constexpr const char* exhibit = "b26_word_comes_back";
    static constexpr std::array engine_laws{"deadlock"};
};
APIARY_CHECK(b26_fixed);

// B27. The sleeper leaves by its deadline between the two looks of an unpark, which then takes it for nobody.
template <class Sync>
class parker_that_gives_up {
    static constexpr std::uint32_t idle = 0, asleep = 1, token = 2;

public:
    void park() { (void)park_until(Sync::forever); }
    bool park_until(std::int64_t deadline_ns) {
        std::uint32_t seen = idle;
        if (!word_.compare_exchange_strong(seen, asleep, acquire, acquire))
            return word_.exchange(idle, acquire) == token;
        bool in_time = true;
        while (in_time && word_.load(relaxed) == asleep) in_time = word_.wait(asleep, deadline_ns);
        return word_.exchange(idle, acquire) == token;
    }
    void unpark() {
        std::uint32_t seen = word_.load(relaxed);
        if (seen == token || !word_.compare_exchange_strong(seen, token, release, relaxed)) return;  // it is awake
        if (seen == asleep) word_.wake_one();
    }

private:
    typename Sync::futex word_{idle};
};
template <class Sync, class Parker>
struct deadline_then_park {
    static constexpr unsigned threads = 2;
    Parker parker;
    void thread(unsigned i) {
        if (i == 1) return parker.unpark();
        if (!parker.park_until(Sync::now_ns() + 5)) parker.park();
    }
};
template <class Sync>
struct b27_unpark_gives_up : deadline_then_park<Sync, parker_that_gives_up<Sync>> {
    static constexpr const char* what = "unpark meets the sleeper between asleep and idle, and leaves no token";
};
APIARY_EXHIBIT(b27_unpark_gives_up, "deadlock");
template <class Sync>
struct b27_fixed : deadline_then_park<Sync, basic_parker<Sync>> {
    static constexpr const char* what = "twin of B27: the token is left whatever the state";
    static constexpr const char* exhibit = "b27_unpark_gives_up";
    static constexpr std::array engine_laws{"deadlock"};
};
APIARY_CHECK(b27_fixed);

}  // namespace
}  // namespace b25_to_b27_parkers
