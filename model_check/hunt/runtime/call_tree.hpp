// call_tree: stacks of calls, each a node with its caller and the calls before; so that an access keeps its stack in a
// few bits.
#pragma once

#include <cstdint>

namespace apiary::hunt {

class call_tree {
public:
    using node = std::uint32_t;  // 0: the beginning of a thread, or unknown, since the tree is full
    static constexpr unsigned bits = 17;

    // A place in the program, and the stack there, in 64 bits.
    class placed {
    public:
        placed() = default;
        placed(std::uintptr_t place, node n) : both_((place & lower) | std::uint64_t{n} << (64 - bits)) {}
        std::uintptr_t place() const { return both_ & lower; }
        node stack() const { return static_cast<node>(both_ >> (64 - bits)); }

    private:
        static constexpr std::uint64_t lower = (std::uint64_t{1} << (64 - bits)) - 1;
        std::uint64_t both_;
    };

    void begin();
    node called(node from, std::uintptr_t caller) {
        std::uint64_t h = (caller ^ std::uint64_t{from} << 40) * 0x9e3779b97f4a7c15;
        h ^= h >> 31;
        // First in a few pages: each that a run touches is copied for it.
        for (unsigned tries = 0; tries < 16; ++tries) {
            const node n = static_cast<node>((h + tries) & (tries < 8 ? first - 1 : most - 1));
            entry& e = all_[n];
            if (e.caller == caller && e.from == from) return n;
            if (e.caller != 0 || n == 0) continue;
            e = {caller, from};
            return n;
        }
        return 0;
    }
    void tell(placed p) const;

private:
    static constexpr node most = node{1} << bits, first = 2'048;
    struct entry {
        std::uintptr_t caller;
        node from;
    };
    entry* all_ = nullptr;
};
extern call_tree the_calls;

}  // namespace apiary::hunt
