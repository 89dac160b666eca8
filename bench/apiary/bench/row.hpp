// The row that a subject prints: the measured columns of bench/contract/CSV.md, in their order.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <apiary/bench/histogram.hpp>

namespace apiary::bench {

inline constexpr std::string_view measured_columns =
    "scenario,workers,seed,warmup_blocks,steady,blocks,ops,wall_ns,cpu_ns,ns_per_op,ops_per_s,"
    "offered_per_s,achieved_per_s,lat_count,lat_min_ns,lat_p50_ns,lat_p90_ns,lat_p95_ns,lat_p99_ns,"
    "lat_p999_ns,lat_max_ns,lateness_p99_ns,nvcsw,nivcsw,minflt,maxrss_kib,allocs,wakes,parks,steals,"
    "check,flags,status";

// The percentiles that have a column.
struct named_percentile {
    std::string_view name;
    permille q;
};
inline constexpr std::array<named_percentile, 5> percentiles{
    {{"p50", {500}}, {"p90", {900}}, {"p95", {950}}, {"p99", {990}}, {"p999", {999}}}};

// An empty member is an empty cell: not measured.
struct row {
    using count = std::optional<std::uint64_t>;
    using real = std::optional<double>;

    std::string scenario;
    count workers, seed, warmup_blocks, steady, blocks, ops, wall_ns, cpu_ns;
    real ns_per_op, ops_per_s, offered_per_s, achieved_per_s;
    count lat_count, lat_min_ns, lat_p50_ns, lat_p90_ns, lat_p95_ns, lat_p99_ns, lat_p999_ns, lat_max_ns;
    count lateness_p99_ns, nvcsw, nivcsw, minflt, maxrss_kib, allocs, wakes, parks, steals;
    count check;  // printed as 16 lower-case hexadecimal digits
    std::string flags;
    std::string status = "ok";

    void set_latency(const histogram& h);

    // Appends a flag: a name, or name=integer.
    void add_flag(const std::string& flag);

    // One line, without its line end.
    [[nodiscard]] std::string to_csv() const;
};

// At most 3 decimals, no trailing zeros, never an exponent.
[[nodiscard]] std::string short_decimal(double value);

}  // namespace apiary::bench
