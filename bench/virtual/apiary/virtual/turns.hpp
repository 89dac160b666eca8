// turns: which thread runs next. A tournament of clocks: the earliest wins, and of equals the lower number.
//
// Each number has one clock at most, so a change costs the way from its leaf to the root; no entry goes stale.
//
// Threads. One thread of the host.
#pragma once

#include <bit>
#include <cstddef>

#include <apiary/virtual/arena.hpp>
#include <apiary/virtual/prices.hpp>

namespace apiary::virt {

class turns {
public:
    static constexpr picoseconds nobody = INT64_MAX;

    explicit turns(unsigned numbers) : leaves_(std::bit_ceil(numbers)), nodes_(2 * leaves_) {
        for (std::size_t i = 0; i != leaves_; ++i) nodes_[leaves_ + i].number = static_cast<unsigned>(i);
    }
    // `nobody`: that number waits for no turn.
    void set(unsigned number, picoseconds at) {
        node best{at, number};
        std::size_t i = leaves_ + number;
        nodes_[i] = best;
        for (; i != 1; nodes_[i] = best) {
            const node other = nodes_[i ^ 1];
            // On the left are the lower numbers.
            if (other.at - static_cast<picoseconds>(i & 1) < best.at) best = other;
            i /= 2;
        }
    }
    picoseconds first_at() const { return nodes_[1].at; }  // nobody, where none waits
    unsigned first() const { return nodes_[1].number; }

private:
    struct node {
        picoseconds at = nobody;
        unsigned number = 0;
    };
    std::size_t leaves_;
    host_vector<node> nodes_;  // the root is 1; the leaves come last
};

}  // namespace apiary::virt
