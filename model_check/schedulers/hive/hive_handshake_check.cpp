// The hive's rules of who must wake whom, one handshake each, small enough that every behaviour is looked at.
//
// | rule | check |
// |---|---|
// | a post from outside wakes a sleeper | post_meets_two_falling_asleep |
// | a worker that looks on before it sleeps is a searcher like any other | post_meets_two_falling_asleep_spins, child_meets_a_worker_falling_asleep_spins |
// | a worker that falls asleep leaves its look to one that searches | post_meets_one_falling_asleep_leaves, post_meets_two_falling_asleep_leaves, two_posts_need_both_leaves, batch_needs_both_leaves, targeted_post_and_another_leaves, thief_recruits_the_next_leaves |
// | a worker that has seen work before its sleep may count as a searcher | post_meets_two_falling_asleep_counts, two_posts_need_both_counts, thief_recruits_the_next_counts, loot_is_shared_counts |
// | a worker spares the heavy fence beside others that are at rest | child_meets_a_worker_falling_asleep, batch_in_a_deque |
// | a worker that finds what a post left to its search wakes the next | two_posts_need_both |
// | a worker that takes one task and leaves others wakes the next | batch_needs_both, batch_in_a_deque, two_compute_posts_need_both |
// | a worker woken for its inbox counts as a searcher, and recruits | targeted_post_and_another |
// | a task's child is stolen by a worker that falls asleep, or wakes it | child_meets_a_worker_falling_asleep |
// | a slot is stolen while its owner replaces the task in it | slot_is_replaced_under_a_thief, thief_recruits_the_next |
// | a thief recruits the next | thief_recruits_the_next |
// | a thief passes over a worker at which another one is, and insists once it has seen work before a sleep | thieves_take_turns |
// | a thief that took several makes them shared | loot_is_shared |
// | a searcher that gives up and then sees work recruits | searcher_gives_up_beside_posts |
// | a lone task is left to a napper | lone_child_beside_a_napper |
// | what a worker posted while it was alone is stolen by one that is attached | lone_tasks_meet_the_newcomer |
// | a worker that is detached passes its search on | search_of_a_detached_worker, search_of_a_detached_compute_worker |
#include "hive_handshake.hpp"

namespace hive_handshake_check {
namespace {

using namespace apiary;
using namespace apiary::model;

template <class Sync>
struct post_meets_two_falling_asleep : handshake<Sync, 2> {
    static constexpr const char* what = "two workers fall asleep while a task is posted: one of them runs it";
    static constexpr unsigned threads = 3;
    static constexpr std::array must_reach{"crew.woke_one", "sleeper.stayed", "sleeper.stayed_and_was_claimed"};
    void thread(unsigned i) {
        if (i < 2) return this->work(this->io(i));
        this->must(this->hive.post(this->alone()));
    }
    void after() { this->expect(1); }
};
APIARY_CHECK(post_meets_two_falling_asleep);
template <class Sync>
using post_meets_two_falling_asleep_words = post_meets_two_falling_asleep<on_words<Sync>>;
APIARY_CHECK(post_meets_two_falling_asleep_words);
template <class Sync>
struct post_meets_two_falling_asleep_spins : post_meets_two_falling_asleep<on_spins<Sync>> {
    static constexpr std::array must_reach{"crew.woke_one", "sleeper.searched_on", "sleeper.slept",
                                           "idle_set.relied_on_a_searcher"};
};
APIARY_CHECK(post_meets_two_falling_asleep_spins);

// Nobody searches, so it looks.
template <class Sync>
struct post_meets_one_falling_asleep_leaves : handshake<on_leaves<Sync>, 1> {
    static constexpr const char* what = "the only worker falls asleep while a task is posted: it runs it";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"crew.woke_one", "sleeper.stayed"};
    void thread(unsigned i) {
        if (i == 0) return this->work(this->io(0));
        this->must(this->hive.post(this->alone()));
    }
    void after() { this->expect(1); }
};
APIARY_CHECK(post_meets_one_falling_asleep_leaves);
template <class Sync>
struct post_meets_two_falling_asleep_leaves : post_meets_two_falling_asleep<on_leaves<Sync>> {
    static constexpr std::array must_reach{"crew.woke_one", "worker.left_the_look"};
};
APIARY_CHECK(post_meets_two_falling_asleep_leaves);
template <class Sync>
struct post_meets_two_falling_asleep_counts : post_meets_two_falling_asleep<on_counts<Sync>> {
    static constexpr std::array must_reach{"crew.woke_one", "sleeper.stayed_and_counts"};
};
APIARY_CHECK(post_meets_two_falling_asleep_counts);

template <class Sync>
struct two_posts_need_both : handshake<Sync, 2> {
    static constexpr const char* what =
        "worker 1 sleeps, worker 0 falls asleep; of two posts the first waits for the second: each worker runs one";
    static constexpr unsigned threads = 3;
    static constexpr std::array must_reach{"crew.woke_one", relied<Sync>, "sleeper.stayed"};
    void before() { this->io(1).driver().sleeps_first(); }
    void thread(unsigned i) {
        if (i != 1) this->io(1).driver().await_sleep();
        if (i < 2) return this->work(this->io(i));
        this->must(this->hive.post(this->waits()));
        this->must(this->hive.post(this->opens()));
    }
    void after() { this->expect(2); }
};
APIARY_CHECK(two_posts_need_both);
template <class Sync>
using two_posts_need_both_words = two_posts_need_both<on_words<Sync>>;
APIARY_CHECK(two_posts_need_both_words);
template <class Sync>
struct two_posts_need_both_leaves : two_posts_need_both<on_leaves<Sync>> {
    static constexpr std::array must_reach{"crew.woke_one", "worker.left_the_look", "idle_set.relied_on_a_searcher"};
};
APIARY_CHECK(two_posts_need_both_leaves);
template <class Sync>
struct two_posts_need_both_counts : two_posts_need_both<on_counts<Sync>> {
    static constexpr std::array must_reach{"crew.woke_one", "sleeper.stayed_and_counts"};
};
APIARY_CHECK(two_posts_need_both_counts);

template <class Sync>
struct batch_needs_both : handshake<Sync, 2> {
    static constexpr const char* what =
        "two workers fall asleep; of a batch of two the first waits for the second: each worker runs one";
    static constexpr unsigned threads = 3;
    static constexpr std::array must_reach{"crew.woke_one", "sleeper.stayed"};
    void thread(unsigned i) {
        if (i < 2) return this->work(this->io(i));
        fifo_list<task<Sync>> batch;
        batch.push_back(this->waits());
        batch.push_back(this->opens());
        this->must(this->hive.post_list(batch));
    }
    void after() { this->expect(2); }
};
APIARY_CHECK(batch_needs_both);
template <class Sync>
struct batch_needs_both_leaves : batch_needs_both<on_leaves<Sync>> {
    static constexpr std::array must_reach{"crew.woke_one", "worker.left_the_look"};
};
APIARY_CHECK(batch_needs_both_leaves);

// Four tasks, of which a worker takes two at once: the second lies in its deque while the first waits for it.
template <class Sync>
struct batch_in_a_deque : handshake<Sync, 2> {
    static constexpr const char* what =
        "a worker has taken two tasks at once and runs the first, which waits for the second: the other worker steals "
        "it";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"crew.woke_one", "worker.stole", "worker.spared_the_fence"};
    void before() { this->io(1).driver().sleeps_first(); }
    void thread(unsigned i) {
        if (i == 0) {
            this->io(1).driver().await_sleep();
            fifo_list<task<Sync>> batch;
            batch.push_back(this->waits(this->and_ends));
            batch.push_back(this->opens());
            for (int n = 0; n < 2; ++n) batch.push_back(batch_in_a_deque::storage::make([] {}));
            this->must(this->hive.post_list(batch));
        }
        this->work(this->io(i), this->any_number);
    }
    void after() { this->expect(2); }
};
APIARY_CHECK(batch_in_a_deque);
template <class Sync>
using batch_in_a_deque_half = batch_in_a_deque<on_halves<Sync>>;
APIARY_CHECK(batch_in_a_deque_half);

template <class Sync>
struct targeted_post_and_another : handshake<Sync, 2> {
    static constexpr const char* what =
        "a post to worker 1 waits for an untargeted one, both workers fall asleep: worker 0 runs the other";
    static constexpr unsigned threads = 3;
    static constexpr std::array must_reach{"crew.woke_one", "crew.post_to_woke", relied<Sync>};
    void thread(unsigned i) {
        if (i < 2) return this->work(this->io(i), i == 0 ? 1 : this->any_number);
        this->must(this->hive.post_to(1, this->waits(this->and_ends)));
        this->must(this->hive.post(this->opens()));
    }
    void after() { this->expect(2); }
};
APIARY_CHECK(targeted_post_and_another);
template <class Sync>
using targeted_post_and_another_words = targeted_post_and_another<on_words<Sync>>;
APIARY_CHECK(targeted_post_and_another_words);
template <class Sync>
struct targeted_post_and_another_leaves : targeted_post_and_another<on_leaves<Sync>> {
    static constexpr std::array must_reach{"crew.woke_one", "crew.post_to_woke", "worker.left_the_look"};
};
APIARY_CHECK(targeted_post_and_another_leaves);

// From here on worker 0 is at a task that posts others and then takes long: its thread does what that task does.

template <class Sync>
struct child_meets_a_worker_falling_asleep : handshake<Sync, 2> {
    static constexpr const char* what =
        "a task posts a child and waits for it, the other worker falls asleep: it steals the child";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"crew.woke_one", "worker.stole", "worker.spared_the_fence"};
    void thread(unsigned i) {
        if (i == 1) return this->work(this->io(1));
        this->must(this->io(0).post_local(this->opens()));
        this->await_begun(1);
    }
    void after() { this->expect(1); }
};
APIARY_CHECK(child_meets_a_worker_falling_asleep);
template <class Sync>
using child_meets_a_worker_falling_asleep_words = child_meets_a_worker_falling_asleep<on_words<Sync>>;
APIARY_CHECK(child_meets_a_worker_falling_asleep_words);
template <class Sync>
using child_meets_a_worker_falling_asleep_half = child_meets_a_worker_falling_asleep<on_halves<Sync>>;
APIARY_CHECK(child_meets_a_worker_falling_asleep_half);
template <class Sync>
struct child_meets_a_worker_falling_asleep_spins : child_meets_a_worker_falling_asleep<on_spins<Sync>> {
    static constexpr std::array must_reach{"crew.woke_one", "worker.stole", "sleeper.searched_on"};
    void before() { this->spinner = 1; }
};
APIARY_CHECK(child_meets_a_worker_falling_asleep_spins);

template <class Sync>
struct slot_is_replaced_under_a_thief : handshake<Sync, 2> {
    static constexpr const char* what =
        "a task posts two children and waits for both; the other worker, falling asleep, steals while the second takes "
        "the "
        "slot of the first";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"crew.woke_one", "worker.stole", "sleeper.stayed", "lifo_slot.raced",
                                           "ready_work.left_a_chain"};
    void thread(unsigned i) {
        if (i == 1) return this->work(this->io(1), 2);
        this->must(this->io(0).post_local(this->opens(0)));
        this->must(this->io(0).post_local(this->opens(1)));
        this->await_begun(0);
        this->await_begun(1);
    }
    void after() { this->expect(2); }
};
APIARY_CHECK(slot_is_replaced_under_a_thief);
template <class Sync>
using slot_is_replaced_under_a_thief_half = slot_is_replaced_under_a_thief<on_halves<Sync>>;
APIARY_CHECK(slot_is_replaced_under_a_thief_half);

template <class Sync>
struct thief_recruits_the_next : handshake<Sync, 3> {
    static constexpr const char* what =
        "a task posts two children, of which the first waits for the second; of two sleepers the one that steals first "
        "wakes the other, or the second post does";
    static constexpr unsigned threads = 3;
    static constexpr std::array must_reach{"crew.woke_one", "worker.stole", "lifo_slot.raced", relied<Sync>};
    void before() {
        this->io(1).driver().sleeps_first();
        this->io(2).driver().sleeps_first();
    }
    void thread(unsigned i) {
        if (i != 1) this->io(1).driver().await_sleep();
        if (i != 0) return this->work(this->io(i));
        this->io(2).driver().await_sleep();
        this->must(this->io(0).post_local(this->waits()));
        this->must(this->io(0).post_local(this->opens()));
        this->await_begun(1);
    }
    void after() { this->expect(2); }
};
APIARY_CHECK(thief_recruits_the_next);
template <class Sync>
using thief_recruits_the_next_words = thief_recruits_the_next<on_words<Sync>>;
APIARY_CHECK(thief_recruits_the_next_words);
template <class Sync>
using thief_recruits_the_next_half = thief_recruits_the_next<on_halves<Sync>>;
APIARY_CHECK(thief_recruits_the_next_half);
// The explorer comes to worker.left_the_look, too; a short run of random executions may not.
template <class Sync>
struct thief_recruits_the_next_leaves : thief_recruits_the_next<on_leaves<Sync>> {
    static constexpr std::array must_reach{"crew.woke_one", "worker.stole"};
};
APIARY_CHECK(thief_recruits_the_next_leaves);
template <class Sync>
struct thief_recruits_the_next_counts : thief_recruits_the_next<on_counts<Sync>> {
    static constexpr std::array must_reach{"crew.woke_one", "sleeper.stayed_and_counts"};
};
APIARY_CHECK(thief_recruits_the_next_counts);

// The worker that has the tasks is at a long one. Each thief takes one, wherever the other one stands meanwhile.
template <class Sync>
struct thieves_take_turns : handshake<Sync, 3> {
    static constexpr const char* what =
        "two thieves come to a worker with two tasks: the one that passes over it sees work, does not sleep, and takes "
        "a task at its next turn, or at the one after a race that it loses";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"worker.left_to_another", "worker.stole", "sleeper.stayed"};
    void before() {
        this->must(this->io(0).post_local(this->opens(0)));
        this->must(this->io(0).post_local(this->opens(1)));
    }
    void thread(unsigned i) {
        auto& thief = this->io(i + 1);
        for (int turns = 0; !thief.turn_once(); ++turns) {
            Sync::law(turns != 2, "waiting: a thief left work to another one that did not take it");
            thief.sleep_once();
        }
    }
    void after() { this->expect(2); }
};
APIARY_CHECK(thieves_take_turns);

// Worker 1 is woken for nothing. Two thieves at one slot would turn until the first is through, and a search of that has no end: so
// worker 2 ends the scenario as soon as it is awake, in which case it would have taken what is left.
template <class Sync>
struct searcher_gives_up_beside_posts : handshake<Sync, 3> {
    static constexpr const char* what =
        "two posts count on a searcher that lies down: it stays, takes one, and the third worker is woken for the "
        "other";
    static constexpr unsigned threads = 3;
    static constexpr std::array must_reach{"idle_set.relied_on_a_searcher", "sleeper.stayed", "worker.stole"};
    void before() {
        this->io(1).driver().sleeps_first();
        this->io(2).driver().sleeps_first();
    }
    void thread(unsigned i) {
        if (i != 1) this->io(1).driver().await_sleep();
        if (i == 1) return this->work(this->io(1));
        if (i == 2) {
            this->io(2).sleep_once();
            return this->end();
        }
        this->io(2).driver().await_sleep();
        this->hive.io_crew().wake_one();
        this->must(this->io(0).post_local(this->opens(0)));
        this->must(this->io(0).post_local(this->opens(1)));
    }
    void after() {
        while (this->io(0).turn_once()) {
        }
        this->expect(2);
    }
};
APIARY_CHECK(searcher_gives_up_beside_posts);

template <class Sync>
struct lone_child_beside_a_napper : handshake<Sync, 2> {
    static constexpr const char* what =
        "a worker is woken in vain and naps; a child that can wait is left to it: it steals the child";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"worker.stole", "sleeper.napped", "idle_set.left_to_a_napper"};
    static constexpr hive_parameters one_nap = [] {
        hive_parameters p = handshake_parameters;
        p.naps = 1;
        return p;
    }();
    lone_child_beside_a_napper() : handshake<Sync, 2>(one_nap) {}
    void before() { this->io(1).driver().sleeps_first(); }
    void thread(unsigned i) {
        if (i == 1) return this->work(this->io(1));
        this->io(1).driver().await_sleep();
        this->hive.io_crew().wake_one();
        this->must(this->io(0).post_local(this->opens()));
        this->await_begun(1);
    }
    void after() { this->expect(1); }
};
APIARY_CHECK(lone_child_beside_a_napper);
template <class Sync>
using lone_child_beside_a_napper_half = lone_child_beside_a_napper<on_halves<Sync>>;
APIARY_CHECK(lone_child_beside_a_napper_half);

// Worker 0's tasks, oldest first: one that waits for the second, the second, two more, of which the newest is in the slot. A thief of
// half moves the first two, and runs the one that waits.
template <class Sync>
struct loot_is_shared : handshake<on_halves<Sync>, 2> {
    using base = handshake<on_halves<Sync>, 2>;
    static constexpr const char* what =
        "a thief takes half, two tasks, and runs the first, which waits for the second: the victim, falling asleep, "
        "steals "
        "that back or is woken for it";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"worker.stole", "crew.woke_one", "sleeper.stayed", "loot.stolen_back"};
    void before() {
        auto& victim = this->io(0);
        this->must(victim.post_local(this->waits(base::and_ends)));
        this->must(victim.post_local(this->opens()));
        for (int n = 0; n < 2; ++n) this->must(victim.post_local(base::storage::make([] {})));
    }
    void thread(unsigned i) { this->work(this->io(i), base::any_number); }
    void after() {
        if (this->io(0).counters().stolen == 1) Sync::reach("loot.stolen_back");
        this->expect(2);
    }
};
APIARY_CHECK(loot_is_shared);
// As in processes.
template <class Sync>
struct loot_is_shared_counts : loot_is_shared<on_counts<Sync>> {
    static constexpr std::array must_reach{"worker.stole", "crew.woke_one", "sleeper.stayed_and_counts"};
};
APIARY_CHECK(loot_is_shared_counts);

template <class Sync, unsigned Sleeper>
struct compute_posts : handshake<Sync, 1, 2> {
    static constexpr unsigned threads = 3;
    static constexpr std::array must_reach{"crew.woke_one", "sleeper.stayed", "idle_set.relied_on_a_searcher"};
    void before() { this->compute(Sleeper).driver().sleeps_first(); }
    void thread(unsigned i) {
        if (i != Sleeper) this->compute(Sleeper).driver().await_sleep();
        if (i < 2) return this->work(this->compute(i));
        this->must(this->hive.post_compute(this->waits()));
        this->must(this->hive.post_compute(this->opens()));
    }
    void after() { this->expect(2); }
};
template <class Sync>
struct two_compute_posts_need_both_0 : compute_posts<Sync, 0> {
    static constexpr const char* what =
        "compute worker 0 sleeps, 1 falls asleep; of two posts the first waits for the second: each runs one";
};
APIARY_CHECK(two_compute_posts_need_both_0);
template <class Sync>
struct two_compute_posts_need_both_1 : compute_posts<Sync, 1> {
    static constexpr const char* what =
        "compute worker 1 sleeps, 0 falls asleep; of two posts the first waits for the second: each runs one";
};
APIARY_CHECK(two_compute_posts_need_both_1);

template <class Sync>
struct lone_tasks_meet_the_newcomer : handshake<Sync, 1> {
    static constexpr const char* what =
        "the main worker, alone, has posted two tasks, and runs the newer, which waits for the other: an attached "
        "worker "
        "steals that";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"worker.stole"};
    typename Sync::template atomic<unsigned> attached;
    void before() {
        attached.store(0, std::memory_order_relaxed);
        this->must(this->io(0).post_local(this->opens()));
        this->must(this->io(0).post_local(this->waits()));
    }
    void thread(unsigned i) {
        if (i == 0) {
            Sync::spin_until(attached, [](unsigned v) { return v == 1; });
            return this->work(this->io(0));
        }
        auto* worker = this->hive.attach_io();
        attached.store(1, std::memory_order_release);
        this->work(*worker);
    }
    void after() { this->expect(2); }
};
APIARY_CHECK(lone_tasks_meet_the_newcomer);
template <class Sync>
using lone_tasks_meet_the_newcomer_half = lone_tasks_meet_the_newcomer<on_halves<Sync>>;
APIARY_CHECK(lone_tasks_meet_the_newcomer_half);

// Worker 0 has no thread: it is at a long task. Of the two that sleep, the post claims worker 1.
template <class Sync>
struct search_of_a_detached_worker : handshake<Sync, 3> {
    static constexpr const char* what =
        "a post claims the IO worker that is detached: the search is passed on, and the other one runs the task";
    static constexpr unsigned threads = 4;
    static constexpr std::array must_reach{"worker.search_passed_on"};
    void before() {
        this->io(1).driver().sleeps_first();
        this->io(2).driver().sleeps_first();
    }
    void thread(unsigned i) {
        if (i == 0) return this->io(1).run();
        this->io(1).driver().await_sleep();
        if (i == 1) return this->work(this->io(2));
        this->io(2).driver().await_sleep();
        if (i == 2) return this->must(this->hive.detach_io(1) == detach_result::detached);
        this->must(this->hive.post(this->alone()));
    }
    void after() { this->expect(1); }
};
APIARY_CHECK(search_of_a_detached_worker);

template <class Sync>
struct search_of_a_detached_compute_worker : handshake<Sync, 1, 2> {
    static constexpr const char* what =
        "a post claims the compute worker that is detached: the search is passed on, and the other one runs the task";
    static constexpr unsigned threads = 4;
    static constexpr std::array must_reach{"worker.search_passed_on"};
    void before() {
        this->compute(0).driver().sleeps_first();
        this->compute(1).driver().sleeps_first();
    }
    void thread(unsigned i) {
        if (i == 0) return this->compute(0).run();
        this->compute(0).driver().await_sleep();
        if (i == 1) return this->work(this->compute(1));
        this->compute(1).driver().await_sleep();
        if (i == 2) {
            this->must(this->hive.detach_compute(0) == detach_result::detached);
            return this->must(this->hive.detach_compute(1) == detach_result::last_worker);
        }
        this->must(this->hive.post_compute(this->alone()));
    }
    void after() { this->expect(1); }
};
APIARY_CHECK(search_of_a_detached_compute_worker);

}  // namespace
}  // namespace hive_handshake_check
