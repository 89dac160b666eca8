// A33, A34, B25, B35, B36 and C10 to C12, where branches fork and join, on the shipped fork_list and latch: a joiner takes something
// else for the end of a job, or somebody touches what is gone with that end.
//
// From: seed 004 "wait" and "outlook"; rayon #739; taskflow a5151541; o3de #12398, enkiTS #78; and what fork_list.hpp forbids.
// Seen by: both engines.
// Fixed twins: the same calls as fork_context and help_until make them.
#include <array>
#include <cstdint>

#include <apiary/model_check/register.hpp>
#include <apiary/queues/fork_list.hpp>
#include <apiary/workers/latch.hpp>

namespace a33_to_c12_fork_list {
namespace {

using namespace apiary;

enum class mistake { none, offer_gone, relaxed_look, looks_behind_the_end, ends_before_the_exception };

// Worker 0 forks and joins; worker 1 looks for its offer once. Only where the frame is the matter the job lies in one, so that
// each exhibit fails for one reason.
template <class Sync, mistake Mistake>
struct one_fork {
    static constexpr unsigned threads = 2;
    using list = fork_list<Sync>;
    using job = fork_job<Sync>;

    list joiner, thief;
    job kept;
    typename Sync::template cell<int> result{0}, exception{0};

    void thread(unsigned i) {
        if (i == 1) return steals();
        if constexpr (Mistake == mistake::none || Mistake == mistake::looks_behind_the_end) {
            typename Sync::template scoped<job> frame;
            joins(*frame);
        } else {
            joins(kept);
        }
    }
    void joins(job& j) {
        joiner.push(j);
        (void)joiner.hand_out();
        if (joiner.pop(j) || joiner.take_back(j)) return;
        const bool seems_over =
            Mistake == mistake::offer_gone || (Mistake == mistake::relaxed_look && list::over(j).over());
        if (!seems_over) Sync::spin_until(j.progress, [](std::uint64_t p) { return fork_progress{p}.over(); });
        Sync::reach("fork.stolen");
        const bool seen = result.read() == 1;  // of a read that races any value may come
        Sync::law(seen || Mistake == mistake::offer_gone, "what a thief wrote is not seen after the join");
        if constexpr (Mistake == mistake::offer_gone) return;
        Sync::law(exception.read() == 2, "a branch has failed, and its exception is not there");
    }
    void steals() {
        const typename list::word offer = joiner.look();
        if (offer == 0) return;
        job* const j = joiner.take(offer);
        if (j == nullptr) return;
        const typename list::visit before = thief.begin(*j, 1, 0);
        result.write(1);
        if constexpr (Mistake != mistake::ends_before_the_exception) exception.write(2);
        (void)thief.end(*j, true, before);
        if constexpr (Mistake == mistake::ends_before_the_exception) exception.write(2);
        if constexpr (Mistake == mistake::looks_behind_the_end) (void)list::over(*j);
    }
};
template <class Sync>
struct a33_no_offer_taken_for_the_end : one_fork<Sync, mistake::offer_gone> {
    static constexpr const char* what = "nothing is on offer any more: the joiner takes that for the end of the job";
};
APIARY_EXHIBIT(a33_no_offer_taken_for_the_end, "data race");
template <class Sync>
struct b35_end_seen_by_a_relaxed_look : one_fork<Sync, mistake::relaxed_look> {
    static constexpr const char* what =
        "the joiner learns of the end by a relaxed look, and misses what the thief wrote";
};
APIARY_EXHIBIT(b35_end_seen_by_a_relaxed_look, "data race");
template <class Sync>
struct b25_job_read_behind_its_end : one_fork<Sync, mistake::looks_behind_the_end> {
    static constexpr const char* what = "the thief looks at the job once more: its joiner's frame has returned";
};
APIARY_EXHIBIT(b25_job_read_behind_its_end, "access to freed memory");
template <class Sync>
struct c11_exception_kept_behind_the_end : one_fork<Sync, mistake::ends_before_the_exception> {
    static constexpr const char* what = "the thief says that the job has failed, and keeps the exception then";
};
APIARY_EXHIBIT(c11_exception_kept_behind_the_end, "data race");
template <class Sync>
struct one_fork_fixed : one_fork<Sync, mistake::none> {
    static constexpr const char* what =
        "twin of A33, B25, B35 and C11: the end is the last that is done, and is acquired";
    static constexpr const char* exhibit = "b25_job_read_behind_its_end";
    static constexpr std::array must_reach{"fork.stolen"};
    static constexpr std::array engine_laws{"race", "lifetime"};
};
APIARY_CHECK(one_fork_fixed);

// A34. Each of two workers has handed out a branch, and waits for it. Nobody else is there.
template <class Sync, bool TakesBack>
struct two_joiners {
    static constexpr unsigned threads = 2;
    using list = fork_list<Sync>;
    std::array<list, 2> lists;
    std::array<fork_job<Sync>, 2> jobs;

    void thread(unsigned i) {
        lists[i].push(jobs[i]);
        (void)lists[i].hand_out();
        bool own = lists[i].pop(jobs[i]);
        if constexpr (TakesBack) own = lists[i].take_back(jobs[i]);
        if (!own) Sync::spin_until(jobs[i].progress, [](std::uint64_t p) { return fork_progress{p}.over(); });
        Sync::law(own, "a branch that nobody has taken is over");
    }
};
template <class Sync>
struct a34_joiners_wait_for_their_offers : two_joiners<Sync, false> {
    static constexpr const char* what =
        "two workers wait until somebody takes what they offer, and nobody is left for it";
};
APIARY_EXHIBIT(a34_joiners_wait_for_their_offers, "deadlock");
template <class Sync>
struct a34_joiners_fixed : two_joiners<Sync, true> {
    static constexpr const char* what = "twin of A34: a joiner takes its offer back, and runs the branch itself";
    static constexpr const char* exhibit = "a34_joiners_wait_for_their_offers";
};
APIARY_CHECK(a34_joiners_fixed);

// C12. A frame has forked twice, and another worker has asked before: the older job is handed out over the head of the newer.
template <class Sync, bool NewestFirst>
struct two_forks_in_a_frame {
    static constexpr unsigned threads = 2;
    using list = fork_list<Sync>;
    list joiner, thief;
    fork_job<Sync> older, newer;

    void before() {  // answers the request that every list begins with
        joiner.push(older);
        Sync::law(joiner.hand_out() && joiner.take_back(older), "an offer is gone that nobody looks at");
    }
    void thread(unsigned i) {
        if (i == 1) {
            joiner.ask();
            const typename list::word offer = joiner.look();
            fork_job<Sync>* const j = offer == 0 ? nullptr : joiner.take(offer);
            if (j == nullptr) return;
            Sync::law(j == &older, "the newer of two jobs was handed out");
            (void)thief.end(*j, false, thief.begin(*j, 1, 0));
            return;
        }
        joiner.push(older);
        joiner.push(newer);
        if (joiner.asked(&newer)) (void)joiner.hand_out();
        join(NewestFirst ? newer : older);
        join(NewestFirst ? older : newer);
        Sync::law(joiner.empty(), "a job was left in the list");
    }
    void join(fork_job<Sync>& j) {
        if (joiner.pop(j) || joiner.take_back(j)) return;
        Sync::reach("fork.stolen");
        Sync::spin_until(j.progress, [](std::uint64_t p) { return fork_progress{p}.over(); });
    }
};
template <class Sync>
struct c12_joined_in_the_order_of_the_forks : two_forks_in_a_frame<Sync, false> {
    static constexpr const char* what =
        "the older of two private jobs is joined first: the newer one's join puts it back into the list";
};
APIARY_EXHIBIT(c12_joined_in_the_order_of_the_forks, "a job was left in the list");
template <class Sync>
struct c12_fixed : two_forks_in_a_frame<Sync, true> {
    static constexpr const char* what = "twin of C12: joins in the reverse order of the forks";
    static constexpr const char* exhibit = "c12_joined_in_the_order_of_the_forks";
    static constexpr std::array must_reach{"fork.stolen"};
};
APIARY_CHECK(c12_fixed);

// C10. Worker 1 runs worker 0's job, which forks a child, and then a job of somebody else, whose child lies at the same address.
// Worker 0 may run the first child only.
template <class Sync, unsigned TagBits>
struct thief_with_a_tag {
    static constexpr unsigned threads = 2;
    struct limits {
        static constexpr unsigned tag_bits = TagBits;
    };
    using list = fork_list<Sync, limits>;
    list joiner, thief, stranger;
    fork_job<Sync> waited_for, foreign, child;
    typename Sync::template cell<int> whose;

    void before() {
        joiner.push(waited_for);
        stranger.push(foreign);
        Sync::law(joiner.hand_out() && stranger.hand_out(), "a list that begins with a request handed nothing out");
    }
    void thread(unsigned i) {
        if (i == 0) return leaps();
        steals_from(joiner, 0);
        child.progress.store(fork_progress::offered, std::memory_order_relaxed);  // a frame like the one before
        steals_from(stranger, 2);
    }
    void leaps() {
        const fork_progress seen = list::held_or_over(waited_for);
        if (seen.over()) return;
        const typename list::word offer = thief.look();
        if (offer == 0 || list::tag(offer) != seen.tag()) return;
        fork_job<Sync>* const j = thief.take(offer);
        if (j == nullptr) return;
        Sync::reach("fork.leapt");
        Sync::law(whose.read() == 0, "a waiting worker ran what is no descendant of the job that it waits for");
        (void)joiner.end(*j, false, joiner.begin(*j, 0, 1));
    }
    void steals_from(list& victim, unsigned index) {
        fork_job<Sync>* const j = victim.take(victim.look());
        Sync::law(j != nullptr, "an offer is gone that nobody else looks at");
        const typename list::visit before = thief.begin(*j, 1, index);
        whose.write(static_cast<int>(index));
        thief.push(child);
        if (!thief.hand_out() || thief.take_back(child))
            (void)thief.pop(child);
        else
            Sync::spin_until(child.progress, [](std::uint64_t p) { return fork_progress{p}.over(); });
        (void)thief.end(*j, false, before);
    }
};
template <class Sync>
struct c10_tag_comes_back : thief_with_a_tag<Sync, 1> {
    static constexpr const char* what =
        "a tag of one bit is the same for the thief's next job: its child passes for the first one's";
};
APIARY_EXHIBIT(c10_tag_comes_back, "no descendant");
template <class Sync>
struct c10_fixed : thief_with_a_tag<Sync, 2> {
    static constexpr const char* what = "twin of C10: a tag of two bits, which comes back after three jobs";
    static constexpr const char* exhibit = "c10_tag_comes_back";
    static constexpr std::array must_reach{"fork.leapt"};
};
APIARY_CHECK(c10_fixed);

// B35 and B36 at the latch: two children count down, and the waiter reads what both wrote.
enum class at_the_latch { nothing, open_by_announce, looks_behind_the_count };

template <class Sync, at_the_latch Mistake>
struct two_children_count {
    static constexpr unsigned threads = 3;
    static constexpr std::array alike{1U, 2U};
    struct worker {
        using sync = Sync;
        typename Sync::parker parker;
        void wake() { parker.unpark(); }
    };
    using latch_type = latch<worker>;
    worker waiter;
    latch_type* shared = nullptr;
    std::array<typename Sync::template cell<int>, 2> made;

    void before() {
        shared = Sync::template create<latch_type>(waiter, 2U);
        for (auto& m : made) m.write(0);
    }
    void thread(unsigned i) {
        if (i == 0) return waits();
        made[i - 1].write(1);
        shared->count_down();
        if constexpr (Mistake == at_the_latch::looks_behind_the_count) (void)shared->is_open();
    }
    void waits() {
        while (!shared->is_open()) {
            const bool sleeps = shared->announce();
            if (sleeps) waiter.parker.park();
            if (Mistake == at_the_latch::open_by_announce && !sleeps) break;
        }
        for (auto& m : made) Sync::law(m.read() == 1, "what a child wrote is not seen after the latch");
        Sync::destroy(shared);
    }
};
template <class Sync>
struct b35_latch_open_by_announce : two_children_count<Sync, at_the_latch::open_by_announce> {
    static constexpr const char* what =
        "announce says that the latch is open, and acquires nothing of what the children wrote";
};
APIARY_EXHIBIT(b35_latch_open_by_announce, "data race");
template <class Sync>
struct b36_latch_read_behind_the_count : two_children_count<Sync, at_the_latch::looks_behind_the_count> {
    static constexpr const char* what =
        "a child looks whether its count was the last: the waiter has taken the latch down";
};
APIARY_EXHIBIT(b36_latch_read_behind_the_count, "access to freed memory");
template <class Sync>
struct latch_fixed : two_children_count<Sync, at_the_latch::nothing> {
    static constexpr const char* what =
        "twin of B35 and B36: the count is a child's last, and open is what is_open says";
    static constexpr const char* exhibit = "b36_latch_read_behind_the_count";
    static constexpr std::array engine_laws{"lifetime"};
};
APIARY_CHECK(latch_fixed);

}  // namespace
}  // namespace a33_to_c12_fork_list
