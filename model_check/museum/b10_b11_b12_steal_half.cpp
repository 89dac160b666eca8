// Defects of steal-half queues in the form that Tokio gave them: a head of two positions, `steal` and `real`; a thief
// claims [real, real + n), copies it into its own queue, and then lets `steal` follow. The owner pops the oldest.
//
//   B10  tokio #2387: a thief counts the room in its own queue from `real`, and writes over slots that somebody is
//        still copying out of it.
//   B11  tokio #5041: positions of 16 bits, here of 2: the head goes once around while a thief stands between
//        its look and its claim, and the claim succeeds on elements that are not those it counted.
//   B12  cats-effect #4674: a thief dies between claim and release (an exception in the copy): nobody can ever steal
//        from that queue again.
//
// Seen by: both engines. Plain interleaving; B11 needs narrow positions and a burst of the owner.
// Fixed twin: the shipped queue; for B11 once with positions as narrow, since its version tells, and once with a
// version as narrow as that, which must fail again.
#include <array>
#include <cstdint>

#include <apiary/contract/laws.hpp>
#include <apiary/model_check/register.hpp>
#include <apiary/queues/steal_half_queue.hpp>

namespace b10_b11_b12_steal_half {
namespace {

using namespace apiary;

enum class half_defect { none, room_from_real, thief_dies };

template <class Sync, half_defect Defect, unsigned Bits, unsigned Capacity>
class two_position_queue {
    using index = ring_index<Bits>;
    static constexpr std::uint32_t pack(std::uint64_t steal, std::uint64_t real) {
        return static_cast<std::uint32_t>(steal << 16 | real);
    }
    static constexpr std::uint64_t steal_of(std::uint32_t head) { return head >> 16; }
    static constexpr std::uint64_t real_of(std::uint32_t head) { return head & 0xFFFF; }

public:
    bool push(std::size_t id) {
        const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
        const std::uint64_t steal = steal_of(head_.load(std::memory_order_acquire));
        if (index::distance(steal, tail) >= Capacity) return false;
        slots_[tail % Capacity].write(id);
        tail_.store(index::add(tail, 1), std::memory_order_release);
        return true;
    }
    bool pop(std::size_t& id) {
        const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
        std::uint32_t head = head_.load(std::memory_order_acquire);
        for (;;) {
            const std::uint64_t real = real_of(head), next = index::add(real, 1);
            if (real == tail) return false;
            const std::uint64_t steal = steal_of(head) == real ? next : steal_of(head);
            if (head_.compare_exchange_strong(head, pack(steal, next), std::memory_order_acq_rel,
                                              std::memory_order_acquire)) {
                id = slots_[real % Capacity].read();
                return true;
            }
        }
    }
    // Into `into`, which the caller owns; one element is returned.
    bool steal_half(two_position_queue& into, std::size_t& id) {
        const std::uint64_t end = into.tail_.load(std::memory_order_relaxed);
        const std::uint32_t own = into.head_.load(std::memory_order_acquire);
        const std::uint64_t used_from = Defect == half_defect::room_from_real ? real_of(own) : steal_of(own);
        const std::int64_t room = Capacity - index::distance(used_from, end);

        std::uint32_t head = head_.load(std::memory_order_acquire);
        const std::int64_t waiting = index::distance(real_of(head), tail_.load(std::memory_order_acquire));
        if (steal_of(head) != real_of(head) || waiting <= 0) return false;
        const std::uint64_t n =
            std::min(static_cast<std::uint64_t>(waiting + 1) / 2, static_cast<std::uint64_t>(room) + 1);
        const std::uint64_t first = real_of(head);
        std::uint32_t claimed = pack(first, index::add(first, n));
        if (!head_.compare_exchange_strong(head, claimed, std::memory_order_acq_rel, std::memory_order_relaxed))
            return false;
        if (Defect == half_defect::thief_dies) return false;
        id = slots_[first % Capacity].read();
        for (std::uint64_t i = 1; i != n; ++i)
            into.slots_[index::add(end, i - 1) % Capacity].write(slots_[index::add(first, i) % Capacity].read());
        while (!head_.compare_exchange_strong(claimed, pack(real_of(claimed), real_of(claimed)),
                                              std::memory_order_acq_rel, std::memory_order_acquire)) {
        }
        into.tail_.store(index::add(end, n - 1), std::memory_order_release);
        return true;
    }

private:
    typename Sync::template atomic<std::uint32_t> head_{0};
    typename Sync::template atomic<std::uint64_t> tail_{0};
    std::array<typename Sync::template cell<std::size_t>, Capacity> slots_;
};

// The shipped queue behind the same three functions.
template <class Sync, unsigned IndexBits, unsigned VersionBits, std::size_t Capacity>
class shipped_half {
    struct limits {
        static constexpr unsigned index_bits = IndexBits, version_bits = VersionBits;
        static constexpr std::size_t capacity = Capacity;
    };

public:
    bool push(std::size_t id) { return owner_.try_push(id); }
    bool pop(std::size_t& id) { return owner_.try_pop_oldest(id); }
    bool steal_half(shipped_half& into, std::size_t& id) {
        const auto got = into.owner_.steal_half(queue_.share());
        id = got.value;
        return got.status == steal_status::taken;
    }

private:
    steal_half_queue<std::size_t, Sync, limits> queue_;
    typename steal_half_queue<std::size_t, Sync, limits>::owner owner_ = queue_.own();
};

// Thread i owns queue i.
template <class Sync, class Queue, unsigned Threads, std::size_t Ids>
struct half_scenario {
    static constexpr unsigned threads = Threads;
    std::array<Queue, Threads> queues;
    identity_ledger<Sync, Ids, Threads + 1> ledger;

    // A refused push is none.
    void push(unsigned i, std::size_t id) {
        if (queues[i].push(id)) ledger.put(id);
    }
    bool pop(unsigned i, unsigned log) {
        std::size_t id = 0;
        if (!queues[i].pop(id)) return false;
        ledger.took(log, id);
        return true;
    }
    bool steal(unsigned i, unsigned victim, unsigned log) {
        std::size_t id = 0;
        if (!queues[victim].steal_half(queues[i], id)) return false;
        ledger.took(log, id);
        return true;
    }
    void after() {
        for (unsigned i = 0; i != Threads; ++i)
            while (pop(i, Threads)) {
            }
        ledger.settle();
    }
};

template <class Sync, class Queue>
struct robbed_robber : half_scenario<Sync, Queue, 3, 8> {
    static constexpr unsigned threads = 2;  // worker 1 is only robbed
    void before() {
        for (std::size_t id = 0; id != 4; ++id) this->push(0, id), this->push(1, 4 + id);
    }
    void thread(unsigned i) {
        if (i == 0) this->steal(0, 1, 0);
        if (i == 1) this->steal(2, 0, 2);
    }
};

template <class Sync>
struct b10_room_from_real : robbed_robber<Sync, two_position_queue<Sync, half_defect::room_from_real, 8, 4>> {
    static constexpr const char* what = "a worker steals into slots that another is still copying out of its queue";
};
APIARY_EXHIBIT(b10_room_from_real, "data race");

template <class Sync>
struct b10_room_from_steal : robbed_robber<Sync, two_position_queue<Sync, half_defect::none, 8, 4>> {
    static constexpr const char* what = "twin of B10: the room ends at the oldest slot that is not released";
    static constexpr const char* exhibit = "b10_room_from_real";
};
APIARY_CHECK(b10_room_from_steal);

template <class Sync>
struct b10_fixed : robbed_robber<Sync, shipped_half<Sync, 16, 32, 4>> {
    static constexpr const char* what = "twin of B10: the shipped queue";
    static constexpr const char* exhibit = "b10_room_from_real";
};
APIARY_CHECK(b10_fixed);

// Four elements pass while a thief stands still; then there are fewer than it counted.
template <class Sync, class Queue, std::size_t Laps>
struct once_around : half_scenario<Sync, Queue, 2, Laps + 2> {
    void before() { this->push(0, 0), this->push(0, 1); }
    void thread(unsigned i) {
        if (i == 1) {
            this->steal(1, 0, 1);
            return;
        }
        for (std::size_t id = 2; id != Laps + 2; ++id) {
            if (!this->pop(0, 0)) return;  // the thief was faster
            this->push(0, id);
        }
        this->pop(0, 0), this->pop(0, 0);
    }
};

template <class Sync>
struct b11_head_wraps : once_around<Sync, two_position_queue<Sync, half_defect::none, 3, 2>, 6> {
    static constexpr const char* what =
        "positions of 3 bits: eight elements pass, and the claim is for two that are gone";
};
APIARY_EXHIBIT(b11_head_wraps, "identity: ");

template <class Sync>
struct b11_fixed : once_around<Sync, shipped_half<Sync, 3, 32, 2>, 6> {
    static constexpr const char* what = "twin of B11: positions as narrow, but a version of 32 bits";
    static constexpr const char* exhibit = "b11_head_wraps";
};
APIARY_CHECK(b11_fixed);

template <class Sync>
struct b11_version_wraps : once_around<Sync, shipped_half<Sync, 3, 3, 2>, 6> {
    static constexpr const char* what = "the shipped queue with a version of 3 bits beside positions of 3";
};
APIARY_EXHIBIT(b11_version_wraps, "data race");

// A thief that has died has had its claim; the others must get the rest.
template <class Sync, class Queue>
struct theft_after_a_theft : half_scenario<Sync, Queue, 2, 3> {
    static constexpr unsigned threads = 1;  // worker 0 is only robbed
    void before() { this->push(0, 0), this->push(0, 1), this->push(0, 2); }
    void thread(unsigned) { this->steal(1, 0, 1); }
    void after() { Sync::law(this->steal(1, 0, 1), "a queue that holds an element can never be stolen from again"); }
};

template <class Sync>
struct b12_thief_dies : theft_after_a_theft<Sync, two_position_queue<Sync, half_defect::thief_dies, 8, 4>> {
    static constexpr const char* what = "a thief leaves between claim and release: the claim stays for ever";
};
APIARY_EXHIBIT(b12_thief_dies, "never be stolen from again");

template <class Sync>
struct b12_fixed : theft_after_a_theft<Sync, shipped_half<Sync, 16, 32, 4>> {
    static constexpr const char* what = "twin of B12: nothing between claim and release can throw or wait";
    static constexpr const char* exhibit = "b12_thief_dies";
};
APIARY_CHECK(b12_fixed);

}  // namespace
}  // namespace b10_b11_b12_steal_half
