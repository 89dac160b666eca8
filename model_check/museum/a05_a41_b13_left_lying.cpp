// A05, A41 and B13: work lies where no waking worker looks, and the workers that could take it sleep.
//
// From: seed 002 sections 9.3 and 5.5; tokio #4941 and #8071.
// Seen by: both engines. Plain interleaving: a task that waits for another one that nobody runs is a deadlock.
// Fixed twins: the shipped idle_set and sleeper; for B13 a slot that thieves look into.
#include <array>

#include <apiary/events/parker_driver.hpp>
#include <apiary/model_check/register.hpp>
#include <apiary/parking/sleeper.hpp>

namespace a05_a41_b13_left_lying {
namespace {

using namespace apiary;

constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;
constexpr auto seq_cst = std::memory_order_seq_cst;

// Two workers, and two pieces of work of which each can only end when the other one runs.
enum class woken { flag_cleared_by_the_sleeper, one_for_the_batch, one_for_the_next };

template <class Sync, woken How>
struct two_pieces_two_workers {
    static constexpr unsigned threads = 3;
    using driver = parker_driver<Sync, typename Sync::parker>;
    static constexpr bool by_flag = How == woken::flag_cleared_by_the_sleeper;
    typename Sync::template atomic<unsigned> pieces{0}, begun{0};
    std::array<typename Sync::template atomic<bool>, 2> sleeping;  // by_flag
    idle_set<Sync> idle;                                           // else
    std::array<driver, 2> drivers;

    void before() {
        for (auto& s : sleeping) s.store(false, relaxed);
    }
    bool take() {
        unsigned n = pieces.load(relaxed);
        while (n != 0)
            if (pieces.compare_exchange_strong(n, n - 1, relaxed, relaxed)) return true;
        return false;
    }
    void wake_one() {
        if constexpr (by_flag) {
            Sync::fence(seq_cst);
            for (unsigned w = 0; w < 2; ++w)
                if (sleeping[w].load(relaxed)) return drivers[w].wake();
        } else if (const auto w = idle.claim_any()) {
            drivers[*w].wake();
        }
    }
    void work(unsigned i) {
        if constexpr (by_flag) {
            while (!take()) {
                sleeping[i].store(true, relaxed);
                Sync::fence(seq_cst);
                if (pieces.load(relaxed) == 0) drivers[i].wait(driver::forever);
                sleeping[i].store(false, relaxed);
            }
        } else {
            sleeper<Sync, driver> self(i, idle, drivers[i]);
            while (!take()) self.sleep(driver::forever, [this] { return pieces.load(seq_cst) != 0; });
            const bool searched = self.found_work();
            if (How == woken::one_for_the_next && searched && pieces.load(seq_cst) != 0) wake_one();
        }
        begun.fetch_add(1, relaxed);
        Sync::spin_until(begun, [](unsigned n) { return n == 2; });
    }
    void thread(unsigned i) {
        if (i < 2) return work(i);
        if constexpr (How == woken::one_for_the_batch) {
            pieces.fetch_add(2, seq_cst);
            wake_one();
        } else {
            for (int n = 0; n < 2; ++n) {
                pieces.fetch_add(1, seq_cst);
                wake_one();
            }
        }
    }
};
template <class Sync>
struct a41_same_sleeper_twice : two_pieces_two_workers<Sync, woken::flag_cleared_by_the_sleeper> {
    static constexpr const char* what =
        "the sleeper clears its flag: both posts wake the same one, the other sleeps on";
};
APIARY_EXHIBIT(a41_same_sleeper_twice, "deadlock");
template <class Sync>
struct a41_batch_wakes_one : two_pieces_two_workers<Sync, woken::one_for_the_batch> {
    static constexpr const char* what = "a batch wakes one worker, and that one nobody";
};
APIARY_EXHIBIT(a41_batch_wakes_one, "deadlock");
template <class Sync>
struct a41_fixed : two_pieces_two_workers<Sync, woken::one_for_the_next> {
    static constexpr const char* what =
        "twin of A41: the waker clears the bit, and a searcher that found work claims the next";
    static constexpr const char* exhibit = "a41_same_sleeper_twice";
    static constexpr std::array engine_laws{"deadlock"};
};
APIARY_CHECK(a41_fixed);

// Worker 0 has work that worker 1 could take: in its deque (A05), or in its slot for the newest task (B13). Its own
// task waits until that has run.
enum class place { deque, slot };

template <class Sync, place Place, bool Wakes, bool ThievesLook>
struct surplus {
    static constexpr unsigned threads = 2;
    using driver = parker_driver<Sync>;
    typename Sync::template atomic<unsigned> deque{0}, slot{0}, ran{0};
    idle_set<Sync> idle;
    driver thief;

    bool visible() { return deque.load(relaxed) != 0 || (ThievesLook && slot.load(relaxed) != 0); }
    bool steal() {
        return (deque.load(relaxed) != 0 && deque.exchange(0, acquire) != 0) ||
               (ThievesLook && slot.load(relaxed) != 0 && slot.exchange(0, acquire) != 0);
    }
    void thread(unsigned i) {
        if (i == 0) {
            (Place == place::deque ? deque : slot).store(1, release);
            Sync::fence_light();
            if (Wakes && idle.claim_any()) thief.wake();
            Sync::spin_until(ran, [](unsigned n) { return n == 1; });
            return;
        }
        sleeper<Sync, driver> self(1, idle, thief);
        while (!steal())
            self.sleep(driver::forever, [&] {
                self.fence_against_pushers([] { return 2U; });
                return visible();
            });
        (void)self.found_work();
        ran.store(1, release);
    }
};
template <class Sync>
struct a05_surplus_wakes_nobody : surplus<Sync, place::deque, false, false> {
    static constexpr const char* what = "a worker with a full deque wakes nobody: its peer sleeps for ever";
};
APIARY_EXHIBIT(a05_surplus_wakes_nobody, "deadlock");
template <class Sync>
struct a05_fixed : surplus<Sync, place::deque, true, false> {
    static constexpr const char* what = "twin of A05: a push to the deque claims a sleeper";
    static constexpr const char* exhibit = "a05_surplus_wakes_nobody";
    static constexpr std::array engine_laws{"deadlock"};
};
APIARY_CHECK(a05_fixed);
template <class Sync>
struct b13_slot_of_a_blocked_worker : surplus<Sync, place::slot, true, false> {
    static constexpr const char* what =
        "a task in the slot of a blocked worker: the thief is woken, and does not look there";
};
APIARY_EXHIBIT(b13_slot_of_a_blocked_worker, "deadlock");
template <class Sync>
struct b13_fixed : surplus<Sync, place::slot, true, true> {
    static constexpr const char* what =
        "twin of B13: thieves look into the slot, and so does the last look before a sleep";
    static constexpr const char* exhibit = "b13_slot_of_a_blocked_worker";
    static constexpr std::array engine_laws{"deadlock"};
};
APIARY_CHECK(b13_fixed);

}  // namespace
}  // namespace a05_a41_b13_left_lying
