// B09: a queue of blocks keeps, for each block, how many entries were written and how many were taken, and starts both
// again with every round. A block that is full of the round before and one that is empty look alike, so the owner
// writes over a full one: its tasks are lost.
//
// From: stdexec #1752 (a block-based work-stealing queue, BWoS), reduced to one pair of counters for each block.
// Seen by: both engines. Interleaving; the counters' width decides.
// Fixed twin: the counters go on over the rounds, so that full and empty differ by a block's size. The suite ships no
// such queue.
#include <array>
#include <cstdint>

#include <apiary/contract/laws.hpp>
#include <apiary/model_check/register.hpp>

namespace b09_blocks_look_alike {
namespace {

using namespace apiary;

template <class Sync, bool CountersGoOn>
class block_queue {
    static constexpr unsigned size = 2, blocks = 2;
    // Positions within a block: [0, size), or [0, 2 * size) when they tell two rounds apart.
    static constexpr unsigned width = CountersGoOn ? 2 * size : size;

    struct block {
        typename Sync::template atomic<unsigned> written{0}, taken{0};
        std::array<typename Sync::template atomic<std::size_t>, size> entries;
    };

public:
    block_queue() {
        for (block& b : blocks_)
            for (auto& e : b.entries) e.store(0, std::memory_order_relaxed);
    }
    // The owner. False when the next block still holds entries.
    bool push(std::size_t id) {
        block& b = blocks_[current_];
        const unsigned w = b.written.load(std::memory_order_relaxed);
        if (in_block_ == 0 && b.taken.load(std::memory_order_acquire) != w) return false;
        b.entries[w % size].store(id, std::memory_order_relaxed);
        b.written.store((w + 1) % width, std::memory_order_release);
        if (++in_block_ == size) in_block_ = 0, current_ = (current_ + 1) % blocks;
        return true;
    }
    // Any thief: the first block that has something.
    bool steal(std::size_t& id) {
        for (block& b : blocks_) {
            unsigned t = b.taken.load(std::memory_order_acquire);
            if (b.written.load(std::memory_order_acquire) == t) continue;  // or full, if the counters do not tell
            id = b.entries[t % size].load(std::memory_order_relaxed);
            if (b.taken.compare_exchange_strong(t, (t + 1) % width, std::memory_order_acq_rel,
                                                std::memory_order_relaxed))
                return true;
        }
        return false;
    }

private:
    std::array<block, blocks> blocks_;
    unsigned current_ = 0, in_block_ = 0;  // the owner's
};

template <class Sync, bool CountersGoOn>
struct second_round_against_steal {
    static constexpr unsigned threads = 2;
    static constexpr std::size_t ids = 6;
    block_queue<Sync, CountersGoOn> queue;
    identity_ledger<Sync, ids, 3> ledger;

    bool steal(std::size_t log) {
        std::size_t id = 0;
        if (!queue.steal(id)) return false;
        ledger.took(log, id);
        return true;
    }
    void thread(unsigned i) {
        if (i == 0)
            for (std::size_t id = 0; id != ids && queue.push(id); ++id) ledger.put(id);
        else
            steal(1), steal(1);
    }
    void after() {
        while (steal(2)) {
        }
        ledger.settle();
    }
};

template <class Sync>
struct b09_blocks_look_alike : second_round_against_steal<Sync, false> {
    static constexpr const char* what =
        "the owner comes round to a block that nobody has emptied, and takes it for empty";
};
APIARY_EXHIBIT(b09_blocks_look_alike, "an element was lost");

template <class Sync>
struct b09_fixed : second_round_against_steal<Sync, true> {
    static constexpr const char* what = "twin of B09: the counters tell a full block from an empty one";
    static constexpr const char* exhibit = "b09_blocks_look_alike";
};
APIARY_CHECK(b09_fixed);

}  // namespace
}  // namespace b09_blocks_look_alike
