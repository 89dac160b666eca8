// output_ring: places the outputs of tasks in a ring of bytes: blocks of any size, which are given out and reclaimed in
// the same order. It handles positions only, no memory.
//
// When to use it. Beside a task_window, which reclaims in the order of its ids. When not: for blocks that come back in
// any order.
//
// Threads. One, the submitter.
// Progress. A constant number of steps.
// Invariants
//   I1  Positions only grow; a block lies at its position modulo the size, and never across the end:
//       a block too large for the rest of the ring begins at its start, and the rest stays unused.
//   I2  reclaimed <= every live block, and no live block ends beyond reclaimed + size.
//   I3  An empty ring has room for every block up to its size, wherever its position stands.
//
// Tested by output_ring_test.cpp; checked by model_check/schedulers/task_graph.
#pragma once

#include <cstdint>

namespace apiary {

class output_ring {
public:
    static constexpr std::uint64_t grain = 16;  // blocks begin and end at multiples of it

    explicit output_ring(std::uint64_t bytes) : size_(round_up(bytes)) {}

    std::uint64_t size() const { return size_; }
    bool can_ever_hold(std::uint64_t bytes) const { return bytes <= size_; }
    std::uint64_t in_use() const { return end_ - reclaimed_; }

    [[nodiscard]] bool has_room(std::uint64_t bytes) const {
        return in_use() == 0 || begin_of(bytes) + round_up(bytes) - reclaimed_ <= size_;
    }
    // Takes a block, and returns where it begins. Precondition: there is room.
    std::uint64_t take(std::uint64_t bytes) {
        if (bytes == 0) return end_;
        const std::uint64_t begin = begin_of(bytes);
        if (in_use() == 0) reclaimed_ = begin;  // I3
        end_ = begin + round_up(bytes);
        return begin;
    }
    // The end of the newest block, after which the next one begins.
    std::uint64_t end() const { return end_; }
    std::uint64_t offset(std::uint64_t position) const { return size_ == 0 ? 0 : position % size_; }

    // Frees all blocks up to this end.
    void reclaim(std::uint64_t end) {
        if (end > reclaimed_) reclaimed_ = end;  // I3 may have moved it beyond `end`
    }

private:
    static std::uint64_t round_up(std::uint64_t bytes) { return (bytes + grain - 1) / grain * grain; }
    std::uint64_t begin_of(std::uint64_t bytes) const {
        const std::uint64_t rest = size_ - end_ % size_;
        return round_up(bytes) <= rest ? end_ : end_ + rest;  // I1
    }

    const std::uint64_t size_;
    std::uint64_t end_ = 0, reclaimed_ = 0;
};

}  // namespace apiary
