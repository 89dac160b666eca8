// strategy: when a run switches threads, to which, and how often a load reads an older store; all drawn from the run's
// seed.
//
//   random   a switch at one operation in a few, to any thread;
//   bursts   a switch at one operation in many: threads go far before another runs;
//   pct      the thread of the highest priority runs; at a few steps it is put last (Burckhardt et al. 2010);
//   pos      each operation that comes next has a priority, drawn anew when another thread has used its object; the
//            highest runs (partial order sampling, Yuan et al. 2018);
//   quiet    a switch only where a thread waits or spins. Nothing is drawn: a run as if by hand.
//   told     as quiet, but for a list of decisions (decisions.hpp).
// Each with weak memory, or sequentially consistent; and with odd times, or patient: a deadline comes only where every
// thread waits or spins, and no wait ends for no reason.
#pragma once

#include <array>
#include <cstdint>

namespace apiary::hunt {

enum class schedule : std::uint8_t { quiet, random, bursts, pct, pos, told };

struct strategy {
    schedule how = schedule::quiet;
    bool weak = false, patient = true, uses_blocks_again = true;
    unsigned switch_one_in = 1;
    unsigned stale_one_in = 0;              // 0: never
    std::array<std::uint64_t, 8> changes{};  // pct: the steps at which a priority falls, in order
    unsigned change_count = 0;

    const char* name() const;
};

// Asked for by name; any: drawn.
struct wanted {
    int how = -1, weak = -1, patient = -1;
};
// False: no such word. "random", "bursts", "pct", "pos", "sc", "weak", "patient", joined by commas; "portfolio" for
// all.
bool read_words(const char* text, wanted& w);

class draws {
public:
    void seed(std::uint64_t s);
    std::uint64_t next();
    std::uint64_t below(std::uint64_t n) { return next() % n; }
    bool one_in(std::uint64_t n) { return next() % n == 0; }

private:
    std::uint64_t a_ = 1, b_ = 2;
};

// `length`: steps of the runs before, 0 if unknown.
strategy draw_strategy(draws& from, const wanted& w, std::uint64_t length);

}  // namespace apiary::hunt
