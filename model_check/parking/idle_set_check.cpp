// The idle set and the sleeper by themselves: which worker is claimed, by which thread, and that a worker that sleeps has
// not overlooked work. Exhibits A01 show what happens without the second look or without its order.
#include <array>

#include <apiary/events/parker_driver.hpp>
#include <apiary/model_check/register.hpp>
#include <apiary/parking/idle_set.hpp>
#include <apiary/parking/push_mark.hpp>
#include <apiary/parking/shared_fence.hpp>
#include <apiary/parking/sleeper.hpp>

namespace idle_set_check {
namespace {

using namespace apiary;

// One sleeper, two claimers, and the worker itself leaving: one of the three gets it.
template <class Sync>
struct idle_one_sleeper_claimed_once {
    static constexpr const char* what =
        "a sleeper that wakes by itself while two posters claim it belongs to one of the three";
    static constexpr std::array must_reach{"idle_set.claim_lost"};
    static constexpr unsigned threads = 3;

    idle_set<Sync> idle;
    std::array<bool, 3> got{};

    void before() { idle.announce_sleep(0, false); }
    void thread(unsigned i) {
        if (i == 0)
            got[0] = idle.withdraw(0);
        else if (i == 1)
            got[1] = idle.claim_any().has_value();
        else
            got[2] = idle.claim(0);
    }
    void after() {
        Sync::law(got[0] + got[1] + got[2] == 1, "a sleeper was claimed twice, or by nobody");
        const idle_word end = idle.snapshot();
        Sync::law(end.sleepers() == 0 && end.searching() == (got[0] ? 0U : 1U), "the books do not balance");
    }
};
APIARY_CHECK(idle_one_sleeper_claimed_once);

// The core of the protocol with one word of work: the poster stores the work and claims; the worker lies down and looks. A
// missed wake is a deadlock. `Naps`: it naps first, and the post can wait and is left to it; the nap passes, and it sleeps for good.
template <class Sync, bool Naps>
struct one_post {
    static constexpr unsigned threads = 2;

    idle_set<Sync> idle;
    parker_driver<Sync> driver;
    typename Sync::template atomic<int> work;

    void before() { work.store(0, std::memory_order_relaxed); }
    void thread(unsigned i) {
        if (i == 1) {
            work.store(1, std::memory_order_seq_cst);  // idle_set S1
            if (idle.claim_any(Naps)) driver.wake();
            return;
        }
        const auto look = [this] { return work.load(std::memory_order_seq_cst) != 0; };
        sleeper<Sync, parker_driver<Sync>> self(0, idle, driver);
        if (Naps && !look()) self.nap(Sync::now_ns() + 5, look);
        while (!look()) self.sleep(parker_driver<Sync>::forever, look);
        (void)self.found_work();
    }
    void after() { Sync::law(idle.snapshot().value == 0, "the books do not balance"); }
};

template <class Sync>
struct sleeper_sees_the_post : one_post<Sync, false> {
    static constexpr const char* what = "a worker going to sleep and a poster: the work is seen or the worker is woken";
    static constexpr std::array must_reach{"sleeper.slept", "sleeper.stayed", "sleeper.stayed_and_was_claimed"};
};
APIARY_CHECK(sleeper_sees_the_post);

template <class Sync>
struct napper_sees_the_post : one_post<Sync, true> {
    static constexpr const char* what =
        "a worker naps, then sleeps; a post that can wait relies on the nap: the work is seen or the worker is woken";
    static constexpr std::array must_reach{"idle_set.left_to_a_napper", "sleeper.napped", "sleeper.slept"};
};
APIARY_CHECK(napper_sees_the_post);

// The same with a worker that pushes by plain stores: one worker goes to sleep while another pushes behind a light fence.
template <class Sync>
struct sleeper_and_pusher {
    static constexpr std::array engine_laws{"deadlock"};
    static constexpr std::array must_reach{"sleeper.slept", "sleeper.stayed"};

    idle_set<Sync> idle;
    parker_driver<Sync> driver;
    typename Sync::template atomic<int> work;
    int wanted = 1;  // the sleeper waits for this

    void before() { work.store(0, std::memory_order_relaxed); }
    bool look() const { return work.load(std::memory_order_relaxed) == wanted; }
    void push(int n = 1) {
        work.store(n, std::memory_order_relaxed);
        Sync::fence_light();  // idle_set S2
        if (idle.claim_any()) driver.wake();
    }
    template <class... Others>
    void sleep_until_there_is_work(Others... others) {
        sleeper<Sync, parker_driver<Sync>> self(0, idle, driver);
        while (!look())
            self.sleep(parker_driver<Sync>::forever, [&] {
                self.fence_against_pushers(others...);
                return look();
            });
        (void)self.found_work();
    }
};

// The pusher slept until now: worker 0 may find it asleep still, and then spares the heavy fence.
template <class Sync>
struct sleeper_meets_the_pusher : sleeper_and_pusher<Sync> {
    static constexpr const char* what =
        "a worker wakes and pushes while another goes to sleep: that one sees it or is woken";
    static constexpr std::array must_reach{"sleeper.slept", "sleeper.stayed", "sleeper.stayed_and_was_claimed"};
    static constexpr unsigned threads = 2;

    void before() {
        sleeper_and_pusher<Sync>::before();
        this->idle.announce_sleep(1, false);
    }
    void thread(unsigned i) {
        if (i == 0) return this->sleep_until_there_is_work([] { return 2U; });
        (void)this->idle.withdraw(1);
        this->push();
    }
};
APIARY_CHECK(sleeper_meets_the_pusher);

// The pusher is new: worker 0 may not have counted it yet, and then spares the heavy fence wrongly, but for the one of the worker that added it.
template <class Sync>
struct sleeper_meets_the_newcomer : sleeper_and_pusher<Sync> {
    static constexpr const char* what =
        "a worker is added and pushes while the only other one goes to sleep: that one sees it or is woken";
    static constexpr unsigned threads = 2;
    typename Sync::template atomic<unsigned> workers;

    void before() {
        sleeper_and_pusher<Sync>::before();
        workers.store(1, std::memory_order_relaxed);
    }
    void thread(unsigned i) {
        if (i == 0) return this->sleep_until_there_is_work([this] { return workers.load(std::memory_order_acquire); });
        workers.store(2, std::memory_order_release);
        Sync::fence_heavy();
        this->push();
    }
};
APIARY_CHECK(sleeper_meets_the_newcomer);

// The pusher was claimed by a third: it counts as awake before it is.
template <class Sync>
struct sleeper_meets_who_was_claimed : sleeper_and_pusher<Sync> {
    static constexpr const char* what =
        "a claimed worker wakes and pushes while another goes to sleep: that one sees it or is woken";
    static constexpr unsigned threads = 3;
    parker_driver<Sync> claimed_driver;

    void before() {
        sleeper_and_pusher<Sync>::before();
        this->idle.announce_sleep(1, false);
    }
    void thread(unsigned i) {
        if (i == 0) return this->sleep_until_there_is_work([] { return 2U; });
        if (i == 2) {
            if (this->idle.claim(1)) claimed_driver.wake();
            return;
        }
        claimed_driver.wait(parker_driver<Sync>::forever);
        if (!this->idle.withdraw(1)) this->idle.stop_searching();
        this->push();
    }
};
APIARY_CHECK(sleeper_meets_who_was_claimed);

// The pusher keeps a mark, and rests between two pushes: worker 0 spares the heavy fence where it finds it at rest.
template <class Sync>
struct sleeper_meets_a_marked_pusher : sleeper_and_pusher<Sync> {
    static constexpr const char* what =
        "a worker that keeps a mark pushes, rests, and pushes again while another goes to sleep: that one sees the "
        "second push or is woken";
    static constexpr std::array must_reach{"idle.spared_the_fence", "sleeper.slept", "sleeper.stayed"};
    static constexpr unsigned threads = 2;
    push_mark<Sync> mark;

    void before() {
        sleeper_and_pusher<Sync>::before();
        this->wanted = 2;
    }
    void thread(unsigned i) {
        if (i == 0) return this->sleep_until_there_is_work([] { return 2U; }, [this] { return may_push(); });
        for (int n = 1; n <= this->wanted; ++n) {
            mark.before_push();
            this->push(n);
            mark.rest();
        }
    }
    bool may_push() const {
        if (mark.may_push()) return true;
        Sync::reach("idle.spared_the_fence");
        return false;
    }
};
APIARY_CHECK(sleeper_meets_a_marked_pusher);

// A worker that searched has found work, and another that counts on its search has pushed more by plain stores: one of the two
// claims the third worker, which sleeps.
template <class Sync>
struct searcher_meets_who_relied_on_it {
    static constexpr const char* what =
        "a worker pushes with a light fence beside a searcher that has found work: one of them claims the sleeper";
    static constexpr std::array must_reach{"idle.seen_by_the_searcher", "idle.claimed_by_the_pusher"};
    static constexpr unsigned threads = 2;

    idle_set<Sync> idle;
    typename Sync::template atomic<int> work;
    bool claimed[2] = {false, false};

    void before() {
        work.store(0, std::memory_order_relaxed);
        idle.announce_sleep(0, false);
        Sync::law(idle.claim(0), "a sleeper was not claimed");
        idle.announce_sleep(2, false);
    }
    void thread(unsigned i) {
        if (i == 1) {
            work.store(1, std::memory_order_relaxed);
            Sync::fence_light();  // idle_set S2
            claimed[1] = idle.claim_any().has_value();
            if (claimed[1]) Sync::reach("idle.claimed_by_the_pusher");
            return;
        }
        (void)idle.withdraw(0);
        const idle_word before = idle.stop_searching();
        idle.fence_against_pushers(before, 0, [] { return 3U; });
        if (work.load(std::memory_order_relaxed) == 0) return;
        Sync::reach("idle.seen_by_the_searcher");
        claimed[0] = idle.claim_any().has_value();
    }
    void after() {
        Sync::law(claimed[0] || claimed[1], "work is visible, a worker sleeps, and nobody searches");
        Sync::law(!claimed[0] || !claimed[1], "one sleeper was claimed twice");
    }
};
APIARY_CHECK(searcher_meets_who_relied_on_it);

// The third worker is on its way to sleep, and may share the searcher's heavy fence, or the searcher its own.
template <class Sync>
struct searcher_and_sleeper_share_a_fence {
    static constexpr const char* what =
        "a worker pushes with a light fence while one ends its search and another goes to sleep, and these share a "
        "heavy fence: the last one sees what was pushed, or is claimed";
    static constexpr std::array must_reach{"idle.seen_by_the_searcher", "idle.seen_by_the_sleeper",
                                           "shared_fence.shared"};
    static constexpr unsigned threads = 3;

    idle_set<Sync> idle;
    shared_fence<Sync, 2> fence;  // as few looks where the twin runs it as it is
    typename Sync::template atomic<int> work;
    std::array<bool, 2> claimed{};
    bool seen = false;

    void before() {
        work.store(0, std::memory_order_relaxed);
        idle.start_searching();
    }
    void thread(unsigned i) {
        if (i == 1) {
            work.store(1, std::memory_order_relaxed);
            Sync::fence_light();  // idle_set S2
            claimed[1] = idle.claim_any().has_value();
            return;
        }
        const idle_word before = i == 0 ? idle.stop_searching() : idle.announce_sleep(2, false);
        idle.fence_against_pushers(before, i, [] { return 3U; }, [this] { return fence.pass(), false; });
        if (work.load(std::memory_order_relaxed) == 0) return;
        Sync::reach(i == 0 ? "idle.seen_by_the_searcher" : "idle.seen_by_the_sleeper");
        if (i == 0)
            claimed[0] = idle.claim_any().has_value();
        else
            seen = true;
    }
    void after() {
        Sync::law(claimed[0] || claimed[1] || seen, "work is visible, a worker sleeps, and nobody searches");
        Sync::law(!claimed[0] || !claimed[1], "one sleeper was claimed twice");
    }
};
APIARY_CHECK(searcher_and_sleeper_share_a_fence);

// Two pieces of work are posted, for two workers: each takes one piece and keeps it until the other has its own.
template <class Sync>
struct two_posts {
    static constexpr unsigned threads = 3;

    idle_set<Sync> idle;
    // Three threads are too many for the parker that ships; parker_check holds it to the abstract one.
    using driver = parker_driver<Sync, typename Sync::parker>;
    std::array<driver, 2> drivers;
    typename Sync::template atomic<unsigned> pieces;  // not yet taken
    typename Sync::template atomic<unsigned> taken;

    void before() {
        pieces.store(0, std::memory_order_relaxed);
        taken.store(0, std::memory_order_relaxed);
    }
    void wake_one() {
        if (const auto worker = idle.claim_any()) drivers[*worker].wake();
    }
    void post_both() {
        for (int post = 0; post < 2; ++post) {
            pieces.fetch_add(1, std::memory_order_seq_cst);  // idle_set S1
            wake_one();
        }
    }
    bool take_one() {
        unsigned n = pieces.load(std::memory_order_relaxed);
        while (n != 0)
            if (pieces.compare_exchange_strong(n, n - 1, std::memory_order_relaxed, std::memory_order_relaxed))
                return true;
        return false;
    }
    // Until both are taken: with the other worker asleep this would never end.
    void hold() {
        taken.fetch_add(1, std::memory_order_relaxed);
        Sync::spin_until(taken, [](unsigned n) { return n == 2; });
    }
    void work(sleeper<Sync, driver>& self) {
        while (!take_one()) self.sleep(driver::forever, [this] { return pieces.load(std::memory_order_seq_cst) != 0; });
        if (self.found_work()) recruit();
        hold();
    }
    void recruit() {
        if (pieces.load(std::memory_order_seq_cst) == 0) return;
        Sync::reach("idle.recruited");
        wake_one();
    }
    void after() { Sync::law(idle.snapshot().value == 0, "the books do not balance"); }
};

// The search is passed on: one wake by the poster of each while the other's is still under way.
template <class Sync>
struct searcher_recruits_the_next : two_posts<Sync> {
    static constexpr const char* what = "two posts, two sleepers: whoever finds work first wakes the other";
    static constexpr std::array must_reach{"idle_set.relied_on_a_searcher", "idle.recruited"};

    void thread(unsigned i) {
        if (i == 2) return this->post_both();
        sleeper<Sync, typename two_posts<Sync>::driver> self(i, this->idle, this->drivers[i]);
        this->work(self);
    }
};
APIARY_CHECK(searcher_recruits_the_next);

// The same when the searcher gives up, and sees the work only at its last look. Both posts may have counted on it.
template <class Sync>
struct searcher_that_gave_up_recruits : two_posts<Sync> {
    static constexpr const char* what =
        "two posts count on a searcher that is lying down: it stays, and wakes the other";
    static constexpr std::array must_reach{"idle_set.relied_on_a_searcher", "sleeper.stayed", "idle.recruited"};
    using driver = typename two_posts<Sync>::driver;

    void before() {
        two_posts<Sync>::before();
        this->idle.announce_sleep(1, false);
    }
    void thread(unsigned i) {
        if (i == 2) return this->post_both();
        if (i == 1) {
            this->drivers[1].wait(driver::forever);
            Sync::law(!this->idle.withdraw(1), "woken and not claimed");
            do Sync::spin_until(this->pieces, [](unsigned n) { return n != 0; });
            while (!this->take_one());
            this->idle.stop_searching();
            this->recruit();
            return this->hold();
        }
        sleeper<Sync, driver> self(0, this->idle, this->drivers[0]);
        self.sleep(driver::forever, [this] {
            if (this->idle.claim(0)) this->drivers[0].wake();  // now it searches
            return false;
        });
        this->work(self);
    }
};
APIARY_CHECK(searcher_that_gave_up_recruits);

// The last searcher finds nothing and lies down, while a poster has seen it searching and wakes nobody.
template <class Sync>
struct last_searcher_leaves {
    static constexpr const char* what =
        "the last searcher goes to sleep, a poster relied on it: it sees the work or is woken";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"idle.relied_on_the_searcher", "idle.claimed_the_one_who_left"};

    idle_set<Sync> idle;
    parker_driver<Sync> driver;
    typename Sync::template atomic<int> work;

    void before() {
        work.store(0, std::memory_order_relaxed);
        idle.announce_sleep(0, false);
        Sync::law(idle.claim_any() == 0U, "the only sleeper was not claimed");  // now it searches
    }
    void thread(unsigned i) {
        if (i == 1) {
            work.store(1, std::memory_order_seq_cst);  // idle_set S1
            if (idle.claim_any()) {
                Sync::reach("idle.claimed_the_one_who_left");
                driver.wake();
            } else {
                Sync::reach("idle.relied_on_the_searcher");
            }
            return;
        }
        bool searching = true;
        while (work.load(std::memory_order_seq_cst) == 0) {
            idle.announce_sleep(0, searching);
            if (work.load(std::memory_order_seq_cst) == 0) driver.wait(parker_driver<Sync>::forever);
            searching = !idle.withdraw(0);
        }
        if (searching) idle.stop_searching();
    }
    void after() { Sync::law(idle.snapshot().value == 0, "the books do not balance"); }
};
APIARY_CHECK(last_searcher_leaves);

// A worker that naps is woken like any sleeper by a post that cannot wait, and two nappers leave no bit behind.
template <class Sync>
struct napper_is_claimed {
    static constexpr const char* what = "two workers nap while a post claims one: each nap ends once, and is known why";
    static constexpr std::array must_reach{"sleeper.nap_was_ended", "sleeper.napped"};
    static constexpr unsigned threads = 3;

    idle_set<Sync> idle;
    using driver = parker_driver<Sync, typename Sync::parker>;
    std::array<driver, 2> drivers;
    std::array<bool, 2> claimed{};
    bool claims = false;

    void thread(unsigned i) {
        if (i == 2) {
            const auto worker = idle.claim_any();
            claims = worker.has_value();
            if (worker) drivers[*worker].wake();
            return;
        }
        sleeper<Sync, driver> self(i, idle, drivers[i]);
        self.nap(Sync::now_ns() + 5, [] { return false; });
        claimed[i] = self.claimed();
        Sync::law(self.searching(), "a napper does not search");
        (void)self.found_work();
    }
    void after() {
        Sync::law(claimed[0] + claimed[1] == int{claims}, "a napper was claimed and does not know");
        Sync::law(idle.snapshot().value == 0, "the books do not balance");
    }
};
APIARY_CHECK(napper_is_claimed);

// A worker wakes by its deadline at the moment it is claimed: it learns of the claim, and the wake that comes late
// ends one later wait at most.
template <class Sync>
struct claimed_at_the_deadline {
    static constexpr const char* what =
        "a sleeper is claimed while its deadline passes: it knows, and a late wake does no harm";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"idle.left_by_itself", "idle.claimed_and_late"};

    idle_set<Sync> idle;
    parker_driver<Sync> driver;
    bool claimed = false, searched = false;

    void thread(unsigned i) {
        if (i == 1) {
            claimed = idle.claim_any().has_value();
            if (claimed) driver.wake();
            return;
        }
        sleeper<Sync, parker_driver<Sync>> self(0, idle, driver);
        const std::int64_t deadline = Sync::now_ns() + 5;
        self.sleep(deadline, [] { return false; });
        const bool late = Sync::now_ns() >= deadline;
        searched = self.searching();
        (void)self.found_work();
        if (late) Sync::reach(searched ? "idle.claimed_and_late" : "idle.left_by_itself");
        self.sleep(Sync::now_ns() + 5, [] { return false; });
        searched |= self.searching();
        (void)self.found_work();
    }
    void after() {
        Sync::law(claimed == searched, "a worker was claimed and does not know, or the other way round");
        Sync::law(idle.snapshot().value == 0, "the books do not balance");
    }
};
APIARY_CHECK(claimed_at_the_deadline);

}  // namespace
}  // namespace idle_set_check
