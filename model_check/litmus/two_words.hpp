// What the classic litmus tests share: two words, a register for each thread, short names for the orders.
#pragma once

#include <array>
#include <atomic>

#include <apiary/model_check/register.hpp>

namespace apiary::litmus {

using model::outcomes;

inline constexpr auto relaxed = std::memory_order_relaxed;
inline constexpr auto acquire = std::memory_order_acquire;
inline constexpr auto release = std::memory_order_release;
inline constexpr auto acq_rel = std::memory_order_acq_rel;
inline constexpr auto seq_cst = std::memory_order_seq_cst;

template <class Sync, unsigned Threads, std::size_t Registers = 2>
struct two_words {
    static constexpr unsigned threads = Threads;
    typename Sync::template atomic<int> x{0}, y{0};
    std::array<int, Registers> r{};
    auto outcome() const { return r; }
};

}  // namespace apiary::litmus
