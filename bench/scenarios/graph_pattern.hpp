// The graphs of the scenario `graph`: which tasks there are, and which producers each has (bench/contract/CLI.md,
// "Graphs").
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <apiary/bench/ledger.hpp>

namespace apiary::bench {

inline constexpr std::array<std::string_view, 10> pattern_words{
    "stencil_1d", "nearest", "spread", "fft", "tree", "random_nearest", "chain", "wavefront", "layered", "cholesky"};

enum class pattern : std::uint64_t {
    stencil_1d,
    nearest,
    spread,
    fft,
    tree,
    random_nearest,
    chain,
    wavefront,
    layered,
    cholesky
};

// Tasks in ascending order of their ids, each with its producers, ascending and without doubles.
class task_list {
public:
    using id = std::uint64_t;

    task_list(pattern kind, std::uint64_t width, std::uint64_t steps) {
        if (kind == pattern::cholesky)
            factorise(width);
        else
            lay_out(kind, width, steps);
    }

    [[nodiscard]] std::uint64_t tasks() const { return first_.size() - 1; }
    [[nodiscard]] std::uint64_t edges() const { return all_.size(); }
    [[nodiscard]] std::span<const id> producers(id of) const { return {&all_[first_[of]], &all_[first_[of + 1]]}; }

    // The number of tasks, without making them.
    [[nodiscard]] static std::uint64_t tasks_of(pattern kind, std::uint64_t width, std::uint64_t steps) {
        if (kind == pattern::cholesky) return width * (width + 1) * (width + 2) / 6;
        std::uint64_t all = 0;
        if (kind != pattern::tree) return width * steps;
        for (std::uint64_t s = 0; s < steps; ++s) all += points(kind, width, s);
        return all;
    }

private:
    static std::uint64_t points(pattern kind, std::uint64_t width, std::uint64_t step) {
        return kind == pattern::tree && step < 32 ? std::min(width, std::uint64_t{1} << step) : width;
    }

    void add(std::vector<id>& producers) {
        std::ranges::sort(producers);
        const auto doubles = std::ranges::unique(producers);
        all_.insert(all_.end(), producers.begin(), doubles.begin());
        first_.push_back(all_.size());
        producers.clear();
    }

    void lay_out(pattern kind, std::uint64_t width, std::uint64_t steps) {
        const std::uint64_t levels = std::max<std::uint64_t>(1, std::bit_width(width - 1));
        std::vector<id> found;
        std::uint64_t before = 0, here = 0;  // ids of the first points of the step before, and of this one
        for (std::uint64_t s = 0; s < steps; before = here, here += points(kind, width, s++)) {
            const std::uint64_t there = s == 0 ? 0 : points(kind, width, s - 1);
            for (std::uint64_t i = 0; i < points(kind, width, s); ++i) {
                const auto point = [&](std::uint64_t p) {  // an index below 0 has wrapped
                    if (p < there) found.push_back(before + p);
                };
                switch (kind) {
                    case pattern::stencil_1d:
                        for (std::uint64_t k = 0; k < 3; ++k) point(i + k - 1);
                        break;
                    case pattern::nearest:
                        for (std::uint64_t k = 0; k < 5; ++k) point(i + k - 2);
                        break;
                    case pattern::spread:
                        point(i);
                        for (std::uint64_t k = 1; k < 5; ++k) point((i + k * width / 5 + s % width) % width);
                        break;
                    case pattern::fft: {
                        const std::uint64_t far = std::uint64_t{1} << ((s + levels - 1) % levels);
                        point(i - far);
                        point(i);
                        point(i + far);
                        break;
                    }
                    case pattern::tree:
                        point(i / 2);
                        break;
                    case pattern::random_nearest:
                        point(i);
                        for (std::uint64_t k = 0; k < 5; ++k)
                            if (mix((here + i) * 8 + k) % 2 == 1) point(i + k - 2);
                        break;
                    case pattern::chain:
                        point(i);
                        break;
                    case pattern::wavefront:
                        point(i);
                        if (i != 0) found.push_back(here + i - 1);
                        break;
                    case pattern::layered:
                        for (std::uint64_t k = 0; k < 3; ++k) point(mix((here + i) * 8 + k) % width);
                        break;
                    case pattern::cholesky:
                        break;
                }
                add(found);
            }
        }
    }

    void factorise(std::uint64_t tiles) {
        std::vector<id> last(tiles * tiles, none);  // which task wrote a tile last
        std::vector<id> found;
        const auto writes = [&](std::uint64_t i, std::uint64_t j, std::initializer_list<id> reads) {
            for (const id one : reads) found.push_back(one);
            if (last[i * tiles + j] != none) found.push_back(last[i * tiles + j]);
            last[i * tiles + j] = first_.size() - 1;
            add(found);
        };
        const auto tile = [&](std::uint64_t i, std::uint64_t j) { return last[i * tiles + j]; };
        for (std::uint64_t k = 0; k < tiles; ++k) {
            writes(k, k, {});
            for (std::uint64_t i = k + 1; i < tiles; ++i) writes(i, k, {tile(k, k)});
            for (std::uint64_t i = k + 1; i < tiles; ++i) {
                for (std::uint64_t j = k + 1; j < i; ++j) writes(i, j, {tile(i, k), tile(j, k)});
                writes(i, i, {tile(i, k)});
            }
        }
    }

    static constexpr id none = ~id{0};
    std::vector<std::size_t> first_{0};  // of each task's producers, and where the last one's end
    std::vector<id> all_;
};

}  // namespace apiary::bench
