// The log-linear histogram of bench/contract/CSV.md: 128 sub-buckets per octave, 64-bit counts.
//
// One thread records; histograms of several threads or runs merge by addition. record() is wait-free
// and never allocates.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <vector>

namespace apiary::bench {

// A quantile in thousandths, so that ranks are exact integers: p99.9 is {999}.
struct permille {
    std::uint64_t thousandths;
    friend constexpr bool operator==(permille, permille) = default;

    // ceil(q * n), at least 1, without a product that could overflow.
    [[nodiscard]] constexpr std::uint64_t rank(std::uint64_t n) const noexcept {
        const std::uint64_t whole = n / 1000 * thousandths;
        const std::uint64_t part = (n % 1000 * thousandths + 999) / 1000;
        return std::max<std::uint64_t>(whole + part, 1);
    }
};

class histogram {
public:
    static constexpr std::uint64_t linear = 256;       // values below have a bucket each
    static constexpr std::uint64_t sub_buckets = 128;  // of every octave above
    static constexpr std::size_t buckets = linear + (64 - 8) * sub_buckets;

    struct bucket {
        std::uint64_t lo, hi, count;  // both edges inclusive
    };

    [[nodiscard]] static constexpr std::size_t index_of(std::uint64_t value) noexcept {
        if (value < linear) return value;
        const auto octave = static_cast<unsigned>(std::bit_width(value)) - 1;
        return linear + (octave - 8) * sub_buckets + ((value >> (octave - 7)) - sub_buckets);
    }

    [[nodiscard]] static constexpr bucket edges_of(std::size_t index) noexcept {
        if (index < linear) return {index, index, 0};
        const std::uint64_t octave = 8 + (index - linear) / sub_buckets;
        const std::uint64_t width = std::uint64_t{1} << (octave - 7);
        const std::uint64_t lo = (sub_buckets + (index - linear) % sub_buckets) * width;
        return {lo, lo + (width - 1), 0};
    }

    histogram() : counts_(buckets) {}

    void record(std::uint64_t value, std::uint64_t times = 1) noexcept {
        if (times == 0) return;
        counts_[index_of(value)] += times;
        total_ += times;
        min_ = std::min(min_, value);
        max_ = std::max(max_, value);
    }

    void merge(const histogram& other) noexcept {
        for (std::size_t i = 0; i < buckets; ++i) counts_[i] += other.counts_[i];
        total_ += other.total_;
        min_ = std::min(min_, other.min_);
        max_ = std::max(max_, other.max_);
    }

    [[nodiscard]] std::uint64_t count() const noexcept { return total_; }
    [[nodiscard]] std::optional<std::uint64_t> min() const { return if_any(min_); }
    [[nodiscard]] std::optional<std::uint64_t> max() const { return if_any(max_); }

    // The upper edge of the bucket that holds the rank, never above the recorded maximum.
    [[nodiscard]] std::optional<std::uint64_t> percentile(permille q) const {
        const std::uint64_t rank = q.rank(total_);
        std::uint64_t cumulative = 0;
        for (std::size_t i = 0; i < buckets; ++i) {
            cumulative += counts_[i];
            if (cumulative >= rank) return std::min(edges_of(i).hi, max_);
        }
        return std::nullopt;
    }

    // percentile, or nothing where fewer than 100 samples lie above its rank. The median needs one sample.
    [[nodiscard]] std::optional<std::uint64_t> printed_percentile(permille q) const {
        const std::uint64_t above = total_ - std::min(total_, q.rank(total_));
        return q == permille{500} || above >= 100 ? percentile(q) : std::nullopt;
    }

    // The buckets that hold something, ascending.
    [[nodiscard]] std::vector<bucket> filled() const {
        std::vector<bucket> all;
        for (std::size_t i = 0; i < buckets; ++i)
            if (counts_[i] != 0) all.push_back({edges_of(i).lo, edges_of(i).hi, counts_[i]});
        return all;
    }

    // The file of --hist.
    void write_csv(std::ostream& out) const {
        out << "value_lo_ns,value_hi_ns,count\n";
        for (const bucket& b : filled()) out << b.lo << ',' << b.hi << ',' << b.count << '\n';
    }

private:
    [[nodiscard]] std::optional<std::uint64_t> if_any(std::uint64_t value) const {
        return total_ == 0 ? std::nullopt : std::optional(value);
    }

    std::vector<std::uint64_t> counts_;
    std::uint64_t total_ = 0;
    std::uint64_t min_ = UINT64_MAX;
    std::uint64_t max_ = 0;
};

}  // namespace apiary::bench
