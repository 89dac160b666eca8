// The shipped Chase-Lev deque under its scenarios. Its exhibits are in model_check/museum.
#include <array>
#include <cstdint>
#include <optional>

#include <apiary/contract/laws.hpp>
#include <apiary/model_check/register.hpp>
#include <apiary/queues/chase_lev_deque.hpp>

namespace chase_lev_deque_check {
namespace {

using namespace apiary;

struct small_limits {
    static constexpr unsigned index_bits = 64;
    static constexpr std::size_t initial_capacity = 2;
    static constexpr std::size_t max_capacity = 8;
};

struct roomy_limits {
    static constexpr unsigned index_bits = 64;
    static constexpr std::size_t initial_capacity = 4;
    static constexpr std::size_t max_capacity = 4;
};

struct narrow_limits {
    static constexpr unsigned index_bits = 3;  // positions wrap at 8
    static constexpr std::size_t initial_capacity = 2;
    static constexpr std::size_t max_capacity = 2;
};

// What the scenarios share: one deque, its owner, and a ledger. Element n is the number n + 1, because 0 is
// what a slot would hold that nobody wrote.
template <class Sync, class Limits, std::size_t Ids, unsigned Threads>
struct scenario {
    static constexpr unsigned threads = Threads;
    using deque_type = chase_lev_deque<std::uint64_t, Sync, Limits>;

    deque_type deque;
    typename deque_type::owner owner = deque.own();
    identity_ledger<Sync, Ids, Threads + 1> ledger;  // the last log is after()'s

    void push(std::size_t id) {
        ledger.put(id);
        Sync::law(owner.try_push(id + 1), "push refused below the capacity limit");
    }
    bool pop(unsigned thread) {
        std::uint64_t value = 0;
        if (!owner.try_pop(value)) return false;
        ledger.took(thread, static_cast<std::size_t>(value) - 1);
        return true;
    }
    steal_status steal(unsigned thread) {
        const auto got = deque.share().steal();
        if (got.status == steal_status::taken) ledger.took(thread, static_cast<std::size_t>(got.value) - 1);
        return got.status;
    }
    void after() {
        while (pop(Threads)) {
        }
        ledger.settle();
    }
};

template <class Sync>
struct deque_last_element : scenario<Sync, roomy_limits, 1, 2> {
    static constexpr const char* what = "one element: the owner pops, a thief steals";
    static constexpr std::array must_reach{"deque.pop_lost_lone"};
    void before() { this->push(0); }
    void thread(unsigned i) {
        if (i == 0)
            this->pop(0);
        else
            this->steal(1);
    }
};
APIARY_CHECK(deque_last_element);

template <class Sync>
struct deque_last_element_two_thieves : scenario<Sync, roomy_limits, 1, 3> {
    static constexpr const char* what = "one element: the owner pops, two thieves steal";
    static constexpr std::array must_reach{"deque.steal_lost", "deque.pop_lost_lone"};
    static constexpr std::array alike{1U, 2U};
    void before() { this->push(0); }
    void thread(unsigned i) {
        if (i == 0)
            this->pop(0);
        else
            this->steal(i);
    }
};
APIARY_CHECK(deque_last_element_two_thieves);

template <class Sync>
struct deque_three_thieves : scenario<Sync, roomy_limits, 2, 4> {
    static constexpr const char* what =
        "two elements: the owner pops one, three thieves steal; none is told empty too early";
    static constexpr std::array must_reach{"deque.steal_lost", "deque.pop_lost_last", "deque.pop_found_empty"};
    static constexpr std::array alike{1U, 2U, 3U};
    std::array<bool, 4> told_empty{};
    void before() { this->push(0), this->push(1); }
    void thread(unsigned i) {
        if (i == 0)
            this->pop(0);
        else
            told_empty[i] = this->steal(i) == steal_status::empty;
    }
    void after() {
        std::size_t taken = 0;
        for (unsigned i = 0; i != 4; ++i) taken += this->ledger.taken_by(i);
        if (told_empty[1] || told_empty[2] || told_empty[3])
            Sync::law(taken == 2, "a steal said empty, and an element was left in the end");
        scenario<Sync, roomy_limits, 2, 4>::after();
    }
};
APIARY_CHECK(deque_three_thieves);

template <class Sync>
struct deque_take_two_against_steal : scenario<Sync, roomy_limits, 2, 2> {
    static constexpr const char* what = "two elements: the owner pops twice, a thief steals once";
    static constexpr std::array must_reach{"deque.pop_lost_lone"};
    void before() { this->push(0), this->push(1); }
    void thread(unsigned i) {
        if (i == 0)
            this->pop(0), this->pop(0);
        else
            this->steal(1);
    }
};
APIARY_CHECK(deque_take_two_against_steal);

template <class Sync>
struct deque_grows_against_steal : scenario<Sync, small_limits, 3, 2> {
    static constexpr const char* what = "three pushes, which grow the array from 2 to 4, against a thief";
    static constexpr std::array must_reach{"deque.grow"};
    void thread(unsigned i) {
        if (i == 0)
            this->push(0), this->push(1), this->push(2);
        else
            this->steal(1), this->steal(1);
    }
};
APIARY_CHECK(deque_grows_against_steal);

template <class Sync>
struct deque_push_all_against_steal : scenario<Sync, small_limits, 3, 2> {
    static constexpr const char* what = "three at once, which grow the array, and two pops against a thief";
    static constexpr std::array must_reach{"deque.grow", "deque.pop_lost_lone"};
    void thread(unsigned i) {
        if (i == 1) {
            this->steal(1), this->steal(1);
            return;
        }
        for (std::size_t id = 0; id != 3; ++id) this->ledger.put(id);
        Sync::law(this->owner.try_push_all(std::array<std::uint64_t, 3>{1, 2, 3}),
                  "push refused below the capacity limit");
        if (this->pop(0) && this->pop(0))
            Sync::law(this->ledger.taken(0, 0) <= this->ledger.taken(0, 1), "the first is not the newest");
    }
};
APIARY_CHECK(deque_push_all_against_steal);

template <class Sync>
struct deque_thief_holds_old_array : scenario<Sync, small_limits, 5, 2> {
    static constexpr const char* what =
        "the owner grows twice and pops while a thief may hold the old array and the old top";
    static constexpr std::array must_reach{"deque.grow", "deque.steal_lost"};
    void before() { this->push(0), this->push(1); }
    void thread(unsigned i) {
        if (i == 0) {
            this->push(2);
            this->pop(0), this->pop(0), this->pop(0);
            this->push(3), this->push(4);
            this->pop(0);
        } else {
            this->steal(1), this->steal(1);
        }
    }
};
APIARY_CHECK(deque_thief_holds_old_array);

// A thief with the old `top` may meet the new array, which holds nothing at that position.
template <class Sync>
struct deque_grows_past_old_top : scenario<Sync, small_limits, 4, 3> {
    static constexpr const char* what = "the owner grows when one thief has stolen and another still holds the old top";
    static constexpr std::array must_reach{"deque.grow", "deque.steal_lost"};
    static constexpr std::array alike{1U, 2U};
    void before() { this->push(0), this->push(1); }
    void thread(unsigned i) {
        if (i == 0)
            this->push(2), this->push(3);
        else  // a loser must not be told that: it would stop looking
            Sync::law(this->steal(i) != steal_status::empty, "a steal said empty, and there was always an element");
    }
};
APIARY_CHECK(deque_grows_past_old_top);

template <class Sync>
struct deque_virgin : scenario<Sync, roomy_limits, 1, 2> {
    static constexpr const char* what =
        "pop on a deque that never held anything, steal from an empty one, then one element";
    static constexpr std::array must_reach{"deque.pop_lost_lone"};
    void thread(unsigned i) {
        if (i == 0) {
            Sync::law(!this->pop(0), "a virgin deque gave an element");
            this->push(0);
            this->pop(0);
        } else {
            this->steal(1);
        }
    }
    void after() {
        scenario<Sync, roomy_limits, 1, 2>::after();
        Sync::law(this->owner.size() == 0 && this->steal(1) == steal_status::empty, "an empty deque is not empty");
    }
};
APIARY_CHECK(deque_virgin);

template <class Sync>
struct deque_two_thieves_twice : scenario<Sync, roomy_limits, 4, 3> {
    static constexpr const char* what =
        "three elements: the owner pops three times and pushes one, two thieves steal twice each";
    static constexpr std::array must_reach{"deque.steal_lost", "deque.pop_lost_last"};
    static constexpr std::array alike{1U, 2U};
    void before() { this->push(0), this->push(1), this->push(2); }
    void thread(unsigned i) {
        if (i == 0) {
            this->pop(0), this->pop(0), this->pop(0);
            this->push(3);
        } else {
            this->steal(i), this->steal(i);
        }
    }
};
APIARY_CHECK(deque_two_thieves_twice);

template <class Sync>
struct deque_crosses_the_wrap : scenario<Sync, narrow_limits, 9, 2> {
    static constexpr const char* what =
        "indices of 3 bits pass from 7 to 0 during two steals, overlapped by three pushes and pops";
    static constexpr std::array must_reach{"deque.steal_lost"};
    void before() {
        for (std::size_t id = 0; id != 6; ++id) this->push(id), this->pop(0);
        this->push(6);  // at position 6
    }
    void thread(unsigned i) {
        if (i == 0) {
            this->push(7);  // at position 7; bottom becomes 0
            this->pop(0);
            this->push(8);
        } else {
            this->steal(1), this->steal(1);
        }
    }
};
APIARY_CHECK(deque_crosses_the_wrap);

// What is inside at the end goes with the deque: every array is freed once, the old ones too, and nothing else.
template <class Sync>
struct deque_destroyed_with_residue : scenario<Sync, small_limits, 4, 2> {
    static constexpr const char* what = "a deque that has grown is destroyed with elements inside, after a theft";
    static constexpr std::array must_reach{"deque.grow", "deque.residue"};
    void thread(unsigned i) {
        if (i == 0)
            for (std::size_t id = 0; id != 4; ++id) this->push(id);
        else
            this->steal(1);
    }
    void after() {
        const std::size_t stolen = this->ledger.taken_by(1);
        Sync::law(this->owner.size() + stolen == 4, "the size is not what was pushed less what was stolen");
        if (stolen != 0) Sync::reach("deque.residue");
    }
};
APIARY_CHECK(deque_destroyed_with_residue);

// Too large to exhaust, and for Relacy's hunting modes: three thieves, two growths, pops in between.
template <class Sync>
struct deque_three_thieves_and_growth : scenario<Sync, small_limits, 10, 4> {
    static constexpr const char* what = "three thieves of three against ten pushes, two growths and six pops";
    static constexpr const char* one_engine =
        "too large for the explorer: it is for hunting; the small checks beside it are exhausted";
    static constexpr std::array must_reach{"deque.grow", "deque.steal_lost", "deque.pop_lost_last",
                                           "deque.pop_found_empty"};
    void thread(unsigned i) {
        if (i != 0) {
            for (unsigned k = 0; k != 3; ++k) this->steal(i);
            return;
        }
        for (std::size_t id = 0; id != 5; ++id) this->push(id);
        for (unsigned k = 0; k != 4; ++k) this->pop(0);
        for (std::size_t id = 5; id != 8; ++id) this->push(id);
        this->pop(0), this->pop(0);
        this->push(8), this->push(9);
    }
};
APIARY_CHECK(deque_three_thieves_and_growth, model::relacy_only);

}  // namespace
}  // namespace chase_lev_deque_check
