// revisit: what a read may do with a value, and when a new store may be given to a read that is already there.
#pragma once

#include <apiary/model_check/explorer/engine.hpp>

namespace apiary::model::explorer {

// Whether a read of this mode may take a way out that only this bounded choice offers.
bool may_force(const graph& g, read_mode mode, bounded_choice how, const unsigned most[]);
vector_clock knowledge_before(const graph& g, const event& e);

// Which flags a read may have when it gets a value.
struct ways {
    std::array<std::uint8_t, 3> flags{};
    unsigned count = 0;
    void add(unsigned f) { flags[count++] = static_cast<std::uint8_t>(f); }
};

// `latest`: the store is the last in co. `most`: the bounds, by bounded_choice.
ways ways_to_read(const graph& g, const event& e, std::uint64_t value, bool latest, const unsigned most[]);

// Of a wait in a queue: whether the store at this place says that the thread was notified. So do all after it, up to the
// thread's next wait; it reads the first.
bool is_told_by(const graph& g, const event& e, unsigned place);

// What a revisit keeps of each thread.
using kept_sizes = std::array<unsigned, max_threads>;

// Whether a store with this sb ∪ rf past may be given to `r`, and what stays.
bool revisit_allowed(const graph& g, const event& r, const vector_clock& past, kept_sizes& keep);
void restrict_to(graph& g, const kept_sizes& keep);

// The first place in co that coherence leaves to a new write.
unsigned least_place(const graph& g, const event& write);

}  // namespace apiary::model::explorer
