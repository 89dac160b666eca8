// A15: a thief takes half of a Chase-Lev deque with one compare-exchange on `top`, while the owner pops at the
// bottom without one as long as more than one element is left: items between the two are run twice.
//
// From: seed 001 "StealHalfInto".
// Seen by: both engines. Plain interleaving.
// Fixed twins: the shipped deque, from which a thief takes one element at a time; and the shipped steal-half queue,
// where a pop moves the word that the compare-exchange rests on.
#include <apiary/model_check/register.hpp>
#include <apiary/queues/steal_half_queue.hpp>

#include "defective_deque.hpp"

namespace a15_steal_half_at_once {
namespace {

using namespace apiary;
using namespace apiary::museum;

template <class Sync, class Deque>
struct half_against_pops : deque_scenario<Sync, Deque, 3> {
    void before() { this->push(0), this->push(1), this->push(2); }
    void thread(unsigned i) {
        if (i == 0)
            this->pop(), this->pop();
        else
            this->steal(1);
    }
};

template <class Sync>
struct a15_steal_half_at_once : half_against_pops<Sync, exhibited_deque<Sync, defect::steal_half_at_once, 4>> {
    static constexpr const char* what = "half of three elements by one compare-exchange, against two pops";
};
APIARY_EXHIBIT(a15_steal_half_at_once, "left twice");

template <class Sync>
struct a15_fixed : half_against_pops<Sync, shipped_deque<Sync, 4>> {
    static constexpr const char* what = "twin of A15: one element per compare-exchange";
    static constexpr const char* exhibit = "a15_steal_half_at_once";
};
APIARY_CHECK(a15_fixed);

// The shipped steal-half queue behind the deque's functions; the loot goes through the thief's own queue.
template <class Sync>
class shipped_half {
    struct limits {
        static constexpr unsigned index_bits = 16, version_bits = 32;
        static constexpr std::size_t capacity = 4;
    };
    using queue = steal_half_queue<std::uint64_t, Sync, limits>;

public:
    void push(std::uint64_t value) { Sync::law(owner_.try_push(value), "push refused although there is room"); }
    bool pop(std::uint64_t& out) { return owner_.try_pop(out); }
    template <class Took>
    void steal(std::size_t, Took took) {
        const auto got = thief_.steal_half(victim_.share());
        if (got.status != steal_status::taken) return;
        if (got.moved != 0) Sync::reach("half.took_two");
        took(got.value);
        for (std::uint64_t value = 0; thief_.try_pop(value);) took(value);
    }

private:
    queue victim_, loot_;
    typename queue::owner owner_ = victim_.own(), thief_ = loot_.own();
};

template <class Sync>
struct a15_half_with_a_version : half_against_pops<Sync, shipped_half<Sync>> {
    static constexpr const char* what = "twin of A15: half at once, from the queue whose pops move a version";
    static constexpr std::array must_reach{"half.took_two"};
};
APIARY_CHECK(a15_half_with_a_version);

}  // namespace
}  // namespace a15_steal_half_at_once
