// deque_index_wraps: a thief stands still between its load of `top` and its compare-exchange while `top` goes once
// around its whole width and comes back to the same value: the compare-exchange succeeds, and the thief has an
// element that left long ago, in place of the one that is there now.
//
// From: invariant I5 of the shipped chase_lev_deque, broken on purpose with indices of 3 bits. With 64 bits the way
// around takes centuries; Tokio shipped 16 (#5041).
// Seen by: both engines. Needs a burst of the owner.
// Fixed twin: the same scenario with 64 bits.
#include <apiary/contract/laws.hpp>
#include <apiary/model_check/register.hpp>
#include <apiary/queues/chase_lev_deque.hpp>

namespace deque_index_wraps {
namespace {

using namespace apiary;

template <unsigned Bits>
struct width {
    static constexpr unsigned index_bits = Bits;
    static constexpr std::size_t initial_capacity = 2;
    static constexpr std::size_t max_capacity = 2;
};

template <class Sync, unsigned Bits>
struct once_around {
    static constexpr unsigned threads = 2;
    static constexpr std::size_t laps = 8;
    using deque_type = chase_lev_deque<std::uint64_t, Sync, width<Bits>>;
    deque_type deque;
    typename deque_type::owner owner = deque.own();
    identity_ledger<Sync, laps + 1, 3> ledger;

    void push(std::size_t id) {
        ledger.put(id);
        Sync::law(owner.try_push(id + 1), "push refused below the capacity limit");
    }
    bool pop(std::size_t log) {
        std::uint64_t value = 0;
        if (!owner.try_pop(value)) return false;
        ledger.took(log, static_cast<std::size_t>(value) - 1);
        return true;
    }
    void before() { push(0); }
    void thread(unsigned i) {
        if (i == 0) {
            for (std::size_t id = 1; id != laps + 1; ++id) {
                if (!pop(0)) return;  // the thief was faster
                push(id);
            }
        } else {
            const auto got = deque.share().steal();
            if (got.status == steal_status::taken) ledger.took(1, static_cast<std::size_t>(got.value) - 1);
        }
    }
    void after() {
        while (pop(2)) {
        }
        ledger.settle();
    }
};

template <class Sync>
struct deque_index_wraps : once_around<Sync, 3> {
    static constexpr const char* what =
        "eight pops and pushes during one steal, with indices of 3 bits: top comes back";
};
APIARY_EXHIBIT(deque_index_wraps, "left twice");

template <class Sync>
struct deque_index_wide : once_around<Sync, 64> {
    static constexpr const char* what = "twin of deque_index_wraps: indices of 64 bits";
    static constexpr const char* exhibit = "deque_index_wraps";
};
APIARY_CHECK(deque_index_wide);

}  // namespace
}  // namespace deque_index_wraps
