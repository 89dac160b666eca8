// Service times of latency_vs_load: a pure function of seed, number and distribution (CLI.md; golden.json).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>

#include <apiary/bench/ledger.hpp>

namespace apiary::bench {

enum class service : std::uint8_t { fixed, exponential, bimodal };
inline constexpr std::array<std::string_view, 3> service_words{"fixed", "exponential", "bimodal"};

inline constexpr std::int64_t short_service_ns = 500;  // of the bimodal ones, before scaling

// Nanoseconds, before scaling.
[[nodiscard]] inline std::int64_t service_ns(service kind, std::uint64_t seed, std::uint64_t i) {
    const double u = static_cast<double>(mix(mix(seed) + i) >> 11) * 0x1p-53;  // [0, 1)
    switch (kind) {
        case service::exponential:
            return std::max<std::int64_t>(1, std::llround(-1000.0 * std::log(1.0 - u)));
        case service::bimodal:
            return u < 0.995 ? short_service_ns : 500'000;
        case service::fixed:
            break;
    }
    return 1000;
}

}  // namespace apiary::bench
