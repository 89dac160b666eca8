// clocks: a vector clock, with the newest seq_cst fence that it knows of.
//
// An epoch of a thread is a stretch of its operations; what it releases carries the epoch that ends there.
#pragma once

#include <algorithm>
#include <cstdint>

#include "heap.hpp"

namespace apiary::hunt {

struct moment {
    std::uint32_t thread = 0, epoch = 0;  // epoch 0: before the program, known to every thread
};

class vector_clock {
public:
    std::uint32_t of(std::uint32_t thread) const { return thread < epochs_.size() ? epochs_.data()[thread] : 0; }
    std::uint32_t of_own(std::uint32_t thread) const { return epochs_.data()[thread]; }  // of a thread that was set
    bool knows(moment m) const { return m.epoch <= of(m.thread); }
    bool empty() const { return epochs_.empty(); }
    std::uint32_t fence() const { return fence_; }

    void set(std::uint32_t thread, std::uint32_t epoch) {
        if (thread >= epochs_.size()) epochs_.resize(thread + 1);
        epochs_[thread] = epoch;
    }
    void tick(std::uint32_t thread) { ++epochs_[thread]; }
    void saw_fence(std::uint32_t number) { fence_ = number; }
    void join(const vector_clock& other) {
        if (other.epochs_.size() > epochs_.size()) epochs_.resize(other.epochs_.size());
        std::uint32_t* const mine = epochs_.data();
        const std::uint32_t* const theirs = other.epochs_.data();
        for (std::size_t i = 0; i < other.epochs_.size(); ++i) mine[i] = mine[i] < theirs[i] ? theirs[i] : mine[i];
        fence_ = fence_ < other.fence_ ? other.fence_ : fence_;
    }
    void clear() {
        epochs_.clear();
        fence_ = 0;
    }

private:
    own_vector<std::uint32_t> epochs_;
    std::uint32_t fence_ = 0;
};

}  // namespace apiary::hunt
