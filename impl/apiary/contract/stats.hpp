// tally: a counter that one thread writes and any thread reads.
//
// It uses no read-modify-write: its one writer loads and stores. Under a checker it is a plain number, so that counting
// adds no steps to explore; it may then be read only after all threads have ended.
#pragma once

#include <cstdint>

#include <apiary/sync/real_sync.hpp>

namespace apiary {

template <class Sync = real_sync>
class tally;

template <class Sync>
    requires(!Sync::checked)
class tally<Sync> {
public:
    void add(std::uint64_t n = 1) noexcept {
        value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
    }
    std::uint64_t get() const noexcept { return value_.load(std::memory_order_relaxed); }

private:
    typename Sync::template atomic<std::uint64_t> value_{0};
};

template <class Sync>
    requires Sync::checked
class tally<Sync> {
public:
    void add(std::uint64_t n = 1) { value_ += n; }
    std::uint64_t get() const { return value_; }

private:
    std::uint64_t value_ = 0;
};

}  // namespace apiary
