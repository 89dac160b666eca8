// reach: what the runs of a hunt came to, over all of them: at which sites two threads met, which waits were entered,
// whether blocks were used again. A hunt that finds nothing says by it what it has not tried.
//
// A site is a place in the program and what it does there. Two sites meet where two threads use one object one after
// the other, neither of which happens before the other, and one of which may change it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "clocks.hpp"

namespace apiary::hunt {

struct site {
    enum : std::uint32_t { by_two = 1, met = 2, may_wait = 4, waited = 8, looks = 16 };
    std::uintptr_t place;
    const char* operation;
    std::uint64_t times;
    std::uint32_t flags, run, thread;
};

// Shared by the runs; the process that starts them reads it.
struct reached {
    static constexpr std::size_t most_sites = 8'192, pair_words = 1'024;  // more are counted together in the last
    site sites[most_sites];
    std::uint64_t pairs[pair_words];
    std::uint64_t freed, used_again;
    std::uint32_t run;

    std::uint64_t pair_count() const;
};

class reach {
public:
    void begin();
    reached& all() { return *all_; }
    // A thread's operation comes next.
    site& comes(std::uintptr_t place, const char* operation, std::uintptr_t object, moment now,
                const vector_clock& knows);

private:
    struct use {
        std::uintptr_t object;
        site* where;
        moment when;
    };
    reached* all_ = nullptr;
    std::array<use, 256> last_{};  // of each object, by its address; a later one takes the place of another
};
extern reach the_reach;

}  // namespace apiary::hunt
