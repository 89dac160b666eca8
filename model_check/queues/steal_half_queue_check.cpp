// The shipped steal-half queue under its scenarios. Its exhibits are museum/a15, b10, b11 and b12.
#include <array>
#include <cstdint>
#include <span>

#include <apiary/contract/laws.hpp>
#include <apiary/model_check/register.hpp>
#include <apiary/queues/steal_half_queue.hpp>

namespace steal_half_queue_check {
namespace {

using namespace apiary;

template <std::size_t Capacity, unsigned IndexBits = 16, unsigned VersionBits = 32>
struct limits {
    static constexpr unsigned index_bits = IndexBits;
    static constexpr unsigned version_bits = VersionBits;
    static constexpr std::size_t capacity = Capacity;
};

// What the scenarios share: a queue for each thread, and a ledger. Thread i owns queue i.
template <class Sync, class Limits, std::size_t Ids, unsigned Threads>
struct scenario {
    static constexpr unsigned threads = Threads;
    using queue_type = steal_half_queue<std::size_t, Sync, Limits>;

    struct worker {
        queue_type queue;
        typename queue_type::owner owner = queue.own();
    };
    std::array<worker, Threads> workers;
    identity_ledger<Sync, Ids, Threads + 1> ledger;  // the last log is after()'s

    void push(unsigned i, std::size_t id) {
        ledger.put(id);
        workers[i].owner.push(id, [&](std::span<std::size_t> older) {
            for (const std::size_t sunk : older) ledger.took(i, sunk);
        });
    }
    bool pop(unsigned i, unsigned log) {
        std::size_t id = 0;
        if (!workers[i].owner.try_pop(id)) return false;
        ledger.took(log, id);
        return true;
    }
    bool pop(unsigned i) { return pop(i, i); }
    void drain(unsigned i) {
        while (pop(i)) {
        }
    }
    steal_status steal(unsigned i, unsigned victim) {
        const auto got = workers[i].owner.steal_half(workers[victim].queue.share());
        if (got.status == steal_status::taken) ledger.took(i, got.value);
        return got.status;
    }
    void after() {
        for (unsigned i = 0; i != Threads; ++i)
            while (pop(i, Threads)) {
            }
        for (worker& w : workers)
            Sync::law(w.queue.share().looks_empty(), "a queue that gave everything does not look empty");
        ledger.settle();
    }
};

template <class Sync>
struct half_last_element : scenario<Sync, limits<2>, 1, 2> {
    static constexpr const char* what = "one element: the owner pops, a thief steals";
    static constexpr std::array must_reach{"steal_half.pop_lost_last", "steal_half.steal_lost"};
    void before() { this->push(0, 0); }
    void thread(unsigned i) {
        if (i == 0)
            this->pop(0);
        else
            this->steal(1, 0);
    }
};
APIARY_CHECK(half_last_element);

template <class Sync>
struct half_last_element_two_thieves : scenario<Sync, limits<2>, 1, 3> {
    static constexpr const char* what = "one element: the owner pops, two thieves steal";
    static constexpr std::array must_reach{"steal_half.pop_lost_last", "steal_half.steal_lost"};
    void before() { this->push(0, 0); }
    void thread(unsigned i) {
        if (i == 0)
            this->pop(0);
        else
            this->steal(i, 0);
    }
};
APIARY_CHECK(half_last_element_two_thieves);

template <class Sync>
struct half_virgin : scenario<Sync, limits<2>, 1, 2> {
    static constexpr const char* what = "pop on a queue that never held anything, steal from an empty one, then one";
    static constexpr std::array must_reach{"steal_half.pop_lost_last"};
    void thread(unsigned i) {
        if (i == 0) {
            Sync::law(!this->pop(0), "a virgin queue gave an element");
            this->push(0, 0);
            this->pop(0);
        } else {
            this->steal(1, 0);
        }
    }
};
APIARY_CHECK(half_virgin);

template <class Sync>
struct half_pops_against_half : scenario<Sync, limits<4>, 4, 2> {
    static constexpr const char* what = "four elements: the owner pops three times, a thief takes half at once";
    static constexpr std::array must_reach{"steal_half.steal_lost"};
    void before() {
        for (std::size_t id = 0; id != 4; ++id) this->push(0, id);
    }
    void thread(unsigned i) {
        if (i == 0)
            this->pop(0), this->pop(0), this->pop(0);
        else
            this->steal(1, 0), this->pop(1);
    }
};
APIARY_CHECK(half_pops_against_half);

template <class Sync>
struct half_two_rounds : scenario<Sync, limits<4>, 4, 2> {
    static constexpr const char* what = "two rounds of push, push, pop, drain against a thief that comes three times";
    static constexpr std::array must_reach{"steal_half.pop_lost_last"};
    void thread(unsigned i) {
        if (i == 0) {
            for (std::size_t round = 0; round != 2; ++round) {
                this->push(0, 2 * round), this->push(0, 2 * round + 1);
                this->pop(0);
                this->drain(0);
            }
        } else {
            for (unsigned k = 0; k != 3; ++k) this->steal(1, 0);
            this->drain(1);
        }
    }
};
APIARY_CHECK(half_two_rounds);

template <class Sync>
struct half_overflows_under_theft : scenario<Sync, limits<2>, 5, 2> {
    static constexpr const char* what = "a full ring overflows into its sink while a thief takes half of it";
    static constexpr std::array must_reach{"steal_half.overflow_half", "steal_half.overflow_one",
                                           "steal_half.owner_lost"};
    void before() { this->push(0, 0), this->push(0, 1); }
    void thread(unsigned i) {
        if (i == 0)
            this->push(0, 2), this->push(0, 3), this->push(0, 4), this->pop(0);
        else
            this->steal(1, 0), this->steal(1, 0);
    }
};
APIARY_CHECK(half_overflows_under_theft);

template <class Sync>
struct half_two_thieves : scenario<Sync, limits<4>, 4, 3> {
    static constexpr const char* what = "the owner pushes and pops, two thieves take half each";
    static constexpr std::array must_reach{"steal_half.rival_at_work", "steal_half.steal_lost"};
    void before() { this->push(0, 0), this->push(0, 1), this->push(0, 2); }
    void thread(unsigned i) {
        if (i == 0)
            this->push(0, 3), this->pop(0);
        else  // a loser must not be told that: it would stop looking
            Sync::law(this->steal(i, 0) != steal_status::empty, "a theft said empty, and there was always an element");
    }
};
APIARY_CHECK(half_two_thieves);

// Queue 0 is robbed while it robs queue 1: the slots that its thief still copies are not free for its loot.
template <class Sync>
struct half_robbed_robber : scenario<Sync, limits<4>, 8, 3> {
    static constexpr const char* what = "a worker with a full queue steals from another while a third robs it";
    static constexpr unsigned threads = 2;  // worker 1 is only robbed
    static constexpr std::array must_reach{"half.loot_found_room"};
    void before() {
        for (std::size_t id = 0; id != 4; ++id) this->push(0, id), this->push(1, 4 + id);
    }
    void thread(unsigned i) {
        if (i == 0) {
            const std::size_t mine = this->workers[0].owner.size();
            this->steal(0, 1);
            if (mine < 4 && this->workers[0].owner.size() == 3) Sync::reach("half.loot_found_room");
            this->pop(0);
        }
        if (i == 1) this->steal(2, 0);
    }
};
APIARY_CHECK(half_robbed_robber);

template <class Sync>
struct half_loot_is_stolen_again : scenario<Sync, limits<4>, 3, 3> {
    static constexpr const char* what = "a thief moves an element into its queue, and another steals it from there";
    static constexpr unsigned threads = 2;  // worker 0 is only robbed
    static constexpr std::array must_reach{"half.loot_stolen_again"};
    void before() { this->push(0, 0), this->push(0, 1), this->push(0, 2); }
    void thread(unsigned i) {
        if (i == 0) this->steal(1, 0);
        if (i == 1 && this->steal(2, 1) == steal_status::taken) Sync::reach("half.loot_stolen_again");
    }
};
APIARY_CHECK(half_loot_is_stolen_again);

// A thief that stops between claim and release keeps only other thieves out: here it stops for all that the
// owner and the rival do, whom nothing makes wait.
template <class Sync>
struct half_stalled_thief : scenario<Sync, limits<2>, 6, 3> {
    static constexpr const char* what =
        "a thief stops in the middle: the owner pushes through its sink and pops, a rival is sent away";
    static constexpr std::array must_reach{"steal_half.overflow_one", "steal_half.rival_at_work"};
    void before() { this->push(0, 0), this->push(0, 1); }
    void thread(unsigned i) {
        if (i == 0)
            this->push(0, 2), this->push(0, 3), this->pop(0), this->push(0, 4);
        else
            this->steal(i, 0);
    }
};
APIARY_CHECK(half_stalled_thief);

// Positions of 3 bits pass from 7 to 0 during two thefts, and versions of 5 bits as well.
template <class Sync>
struct half_crosses_the_wrap : scenario<Sync, limits<2, 3, 5>, 16, 2> {
    static constexpr const char* what = "indices of 3 and versions of 5 bits wrap during two thefts";
    static constexpr std::array must_reach{"steal_half.steal_lost"};
    void before() {
        for (std::size_t id = 0; id != 13; ++id) {
            this->push(0, id);
            if (id % 2 == 0)
                this->steal(1, 0);  // position and version move
            else
                this->pop(0), this->pop(0);  // the version moves
        }
        this->pop(0);
    }
    void thread(unsigned i) {
        if (i == 0) {
            this->push(0, 13), this->push(0, 14);
            this->pop(0);
            this->push(0, 15);
        } else {
            this->steal(1, 0), this->steal(1, 0), this->pop(1);
        }
    }
};
APIARY_CHECK(half_crosses_the_wrap);

// Positions of 3 bits go once around while a thief stands still; the version, of 32, tells.
template <class Sync>
struct half_index_wraps_whole : scenario<Sync, limits<2, 3>, 9, 2> {
    static constexpr const char* what =
        "eight elements pass during one theft, with indices of 3 bits: the version tells";
    static constexpr std::array must_reach{"steal_half.steal_lost"};
    void before() { this->push(0, 0); }
    void thread(unsigned i) {
        if (i == 0) {
            for (std::size_t id = 1; id != 9; ++id) {
                std::size_t oldest = 0;
                if (!this->workers[0].owner.try_pop_oldest(oldest)) return;  // the thief was faster
                this->ledger.took(0, oldest);
                this->push(0, id);
            }
        } else {
            this->steal(1, 0);
        }
    }
};
APIARY_CHECK(half_index_wraps_whole);

// The owner publishes an element and wakes a worker that has announced its sleep; that worker has looked here
// after announcing. The thread that was woken finds the element.
template <class Sync>
struct half_probe_then_wake : scenario<Sync, limits<2>, 1, 2> {
    static constexpr const char* what = "a worker that saw the queue empty sleeps, is woken by the push, and finds it";
    static constexpr std::array must_reach{"half.slept"};
    typename Sync::template atomic<bool> sleeps{false};
    typename Sync::parker parker;

    void thread(unsigned i) {
        if (i == 0) {
            this->push(0, 0);
            Sync::fence(std::memory_order_seq_cst);
            if (sleeps.load(std::memory_order_relaxed)) parker.unpark();
        } else {
            sleeps.store(true, std::memory_order_relaxed);
            Sync::fence(std::memory_order_seq_cst);
            if (this->workers[0].queue.share().looks_empty()) {
                Sync::reach("half.slept");
                parker.park();
            }
            Sync::law(this->steal(1, 0) == steal_status::taken, "a woken worker finds nothing");
        }
    }
};
APIARY_CHECK(half_probe_then_wake);

template <class Sync>
struct half_oldest_against_theft : scenario<Sync, limits<4>, 3, 2> {
    static constexpr const char* what = "the owner takes its oldest element while a thief takes the older half";
    static constexpr std::array must_reach{"steal_half.owner_lost", "steal_half.steal_lost"};
    void before() { this->push(0, 0), this->push(0, 1), this->push(0, 2); }
    void thread(unsigned i) {
        if (i == 0) {
            std::size_t id = 0;
            if (this->workers[0].owner.try_pop_oldest(id)) this->ledger.took(0, id);
            this->pop(0);
        } else {
            this->steal(1, 0);
        }
    }
};
APIARY_CHECK(half_oldest_against_theft);

// A thief may still be copying one half of a ring that its owner has found empty; the other half is free.
template <class Sync>
struct half_an_empty_ring_has_room : scenario<Sync, limits<4>, 8, 2> {
    static constexpr const char* what = "an owner that has emptied its ring pushes half of it at once, beside a thief";
    static constexpr std::array must_reach{"half.whole_refused", "half.whole_pushed"};
    void before() {
        for (std::size_t id = 0; id != 4; ++id) this->push(0, id);
    }
    void thread(unsigned i) {
        if (i != 0) {
            this->steal(1, 0);
            return;
        }
        this->drain(0);
        constexpr std::array<std::size_t, 4> whole{7, 6, 5, 4};
        for (const std::size_t id : whole) this->ledger.put(id);
        auto& owner = this->workers[0].owner;
        if (owner.try_push_all(whole)) {
            Sync::reach("half.whole_pushed");
            std::array<std::size_t, 2> older{};
            const std::size_t n = owner.try_pop_oldest(std::span(older));
            for (std::size_t k = 0; k != n; ++k) this->ledger.took(0, older[k]);
        } else {
            Sync::reach("half.whole_refused");
            const std::span<const std::size_t> all(whole);
            Sync::law(owner.try_push_all(all.first(2)), "a ring that was found empty has no room for half");
            for (const std::size_t id : all.last(2))
                owner.push(id, [&](std::span<std::size_t> sunk) {
                    for (const std::size_t one : sunk) this->ledger.took(0, one);
                });
        }
    }
};
APIARY_CHECK(half_an_empty_ring_has_room);

// Too large to exhaust, and for Relacy's hunting modes: four workers that all push, pop, overflow and rob.
template <class Sync>
struct half_four_workers : scenario<Sync, limits<4, 4, 6>, 20, 4> {
    static constexpr const char* what = "four workers push five each into rings of four, pop, and rob each other";
    static constexpr const char* one_engine =
        "too large for the explorer: it is for hunting; the small checks beside it are exhausted";
    static constexpr std::array must_reach{"steal_half.overflow_half", "steal_half.overflow_one",
                                           "steal_half.rival_at_work", "steal_half.steal_lost",
                                           "steal_half.pop_lost_last", "steal_half.owner_lost"};
    void thread(unsigned i) {
        for (std::size_t id = 5 * i; id != 5 * i + 4; ++id) this->push(i, id);
        this->steal(i, (i + 1) % 4);
        this->push(i, 5 * i + 4);
        this->pop(i);
        this->steal(i, (i + 2) % 4);
        this->drain(i);
        this->steal(i, (i + 3) % 4);
    }
};
APIARY_CHECK(half_four_workers, model::relacy_only);

}  // namespace
}  // namespace steal_half_queue_check
