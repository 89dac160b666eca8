// B07: the deque of Arora, Blumofe and Plaxton keeps `top` and a tag in one word, and starts again at slot 0 whenever
// the owner has emptied it. The tag tells the rounds apart. On one path, where the owner wins the last element, it is
// not advanced: a thief that has stood still since the round before succeeds, with that round's element.
//
// From: MPL #214 (an ABP deque).
// Seen by: both engines. Plain interleaving; a tag of few bits has the same effect a few rounds later.
// Fixed twin: the same deque with the tag advanced, 8 bits wide. The suite ships no ABP deque.
#include <array>
#include <cstdint>

#include <apiary/contract/laws.hpp>
#include <apiary/model_check/register.hpp>

namespace b07_tag_not_advanced {
namespace {

using namespace apiary;

// All accesses seq_cst, as published.
template <class Sync, bool Advanced, unsigned TagBits>
class abp_deque {
    static constexpr std::memory_order sc = std::memory_order_seq_cst;
    struct age {
        std::uint32_t word;
        std::uint32_t top() const { return word & 0xFFFF; }
        std::uint32_t tag() const { return word >> 16; }
        static age of(std::uint32_t tag, std::uint32_t top) { return {(tag & ((1U << TagBits) - 1)) << 16 | top}; }
    };

public:
    abp_deque() {
        for (auto& s : slots_) s.store(0, std::memory_order_relaxed);
    }
    void push(std::size_t id) {
        const std::uint32_t b = bottom_.load(std::memory_order_relaxed);
        slots_[b].store(id, sc);
        bottom_.store(b + 1, sc);
    }
    bool pop(std::size_t& id) {
        std::uint32_t b = bottom_.load(std::memory_order_relaxed);
        if (b == 0) return false;
        bottom_.store(--b, sc);
        id = slots_[b].load(sc);
        age seen{age_.load(sc)};
        if (b > seen.top()) return true;
        bottom_.store(0, sc);  // empty, or about to be: the next round
        const age next = age::of(seen.tag() + (Advanced ? 1 : 0), 0);
        if (b == seen.top() && age_.compare_exchange_strong(seen.word, next.word, sc, sc)) return true;
        age_.store(age::of(seen.tag() + 1, 0).word, sc);
        return false;
    }
    bool steal(std::size_t& id) {
        age seen{age_.load(sc)};
        if (bottom_.load(sc) <= seen.top()) return false;
        id = slots_[seen.top()].load(sc);
        return age_.compare_exchange_strong(seen.word, age::of(seen.tag(), seen.top() + 1).word, sc, sc);
    }

private:
    typename Sync::template atomic<std::uint32_t> age_{0}, bottom_{0};
    std::array<typename Sync::template atomic<std::size_t>, 4> slots_;
};

template <class Sync, bool Advanced, unsigned TagBits>
struct rounds_against_steal {
    static constexpr unsigned threads = 2;
    static constexpr std::size_t ids = 4;
    abp_deque<Sync, Advanced, TagBits> deque;
    identity_ledger<Sync, ids, 3> ledger;

    void push(std::size_t id) {
        ledger.put(id);
        deque.push(id);
    }
    bool pop(std::size_t log) {
        std::size_t id = 0;
        if (!deque.pop(id)) return false;
        ledger.took(log, id);
        return true;
    }
    void before() { push(0); }
    void thread(unsigned i) {
        if (i == 0) {
            for (std::size_t id = 1; id != ids; ++id) {
                if (!pop(0)) return;
                push(id);
            }
        } else {
            std::size_t id = 0;
            if (deque.steal(id)) ledger.took(1, id);
        }
    }
    void after() {
        while (pop(2)) {
        }
        ledger.settle();
    }
};

template <class Sync>
struct b07_tag_not_advanced : rounds_against_steal<Sync, false, 8> {
    static constexpr const char* what = "the owner wins the last element and leaves the tag as it was";
};
APIARY_EXHIBIT(b07_tag_not_advanced, "left twice");

template <class Sync>
struct b07_tag_too_narrow : rounds_against_steal<Sync, true, 1> {
    static constexpr const char* what = "a tag of one bit: two rounds later it is the same again";
};
APIARY_EXHIBIT(b07_tag_too_narrow, "left twice");

template <class Sync>
struct b07_fixed : rounds_against_steal<Sync, true, 8> {
    static constexpr const char* what = "twin of B07: every round has its tag";
    static constexpr const char* exhibit = "b07_tag_not_advanced";
};
APIARY_CHECK(b07_fixed);

}  // namespace
}  // namespace b07_tag_not_advanced
