// weak_memory: which stores a load may read, and where in the modification order a store may go, by RC11's axioms.
//
// The model says what is allowed, the caller chooses, the model carries it out. An execution grows one operation at a
// time, in an order that contains program order and reads-from, which RC11's executions all have. What a choice may
// turn against that order is modification order and reads-before (from-read). So the bounds below ask of each store
// that would come later in modification order whether the operation may come before it:
//
//   coherence   no: the store, or a load that read it, happens before the operation;
//   psc         no: the operation is seq_cst, or a seq_cst fence happens before it, and the store, or where there are
//               fences at both ends a load that read it, is seq_cst or happens before a seq_cst fence, which ran
//               earlier.
//
// The last keeps every edge of psc in the order of execution, so psc has no cycle. RC11 allows some executions in which
// psc goes against reads-from and program order; those are not shown (README.md names them).
//
// One thread calls. Checked by: litmus_test, against the sets of the explorer's oracle.
#pragma once

#include <cstddef>
#include <cstdint>

#include "clocks.hpp"

namespace apiary::hunt {

__extension__ typedef unsigned __int128 wide_value;

struct written {
    wide_value value = 0;
    moment when;
    std::uint32_t seq_cst = 0;  // its number among the seq_cst operations; 0: it is none
    bool follows = false;       // a read-modify-write, which read the store before it: nothing comes between
    vector_clock released;             // what a load that acquires from it knows
    own_vector<moment> readers{};  // the first load of each thread
};

// Of one atomic: its stores, in modification order.
struct location {
    own_vector<written> order;
};

// What one thread knows.
struct view {
    std::uint32_t id = 0;
    vector_clock happened;
    vector_clock to_acquire;         // read by relaxed loads: an acquire fence knows it
    vector_clock released_by_fence;  // what relaxed stores release
    moment now() const { return {id, happened.of(id)}; }
};

bool acquires(int order);
bool releases(int order);

class weak_memory {
public:
    static constexpr std::size_t most_stores = 32;  // of one location; older ones are forgotten
    static constexpr std::uint32_t most_fences = 512;

    // The oldest store that a load may read: every one from there on may be read.
    std::size_t oldest(const view& v, const location& l, int order) const;
    // The first place at which a store may go; the last is l.order.size(). Where is_tied is true none may.
    std::size_t first_place(const view& v, const location& l, int order) const { return oldest(v, l, order) + 1; }
    static bool is_tied(const location& l, std::size_t place) {
        return place < l.order.size() && l.order[place].follows;
    }

    wide_value read(view& v, location& l, std::size_t which, int order);
    void write(view& v, location& l, std::size_t place, wide_value value, int order);
    // Reads `which` with the one order and writes with the other just after it. The place must not be tied.
    wide_value change(view& v, location& l, std::size_t which, wide_value value, int order);
    // The newest store is not what stands in memory: code that is not instrumented has written there, by a
    // read-modify-write as far as is known. `by_all`: what every thread knew then.
    void found(view& v, location& l, wide_value value, const vector_clock& by_all);
    void fence(view& v, int order);
    // membarrier: every thread has a seq_cst fence where it stands. A light fence, its partner, is then nothing at all.
    template <class Views>
    void heavy_fence(Views&& all) {
        for (int pass = 0; pass < 2; ++pass)  // the second knows of every fence of the first
            for (view& v : all) fence(v, __ATOMIC_SEQ_CST);
    }

    // What a thread releases to, and acquires from, an object that is no atomic.
    static void release(view& v, vector_clock& to);
    static void acquire(view& v, const vector_clock& from) { v.happened.join(from); }

private:
    struct fence_record {
        std::uint32_t seq_cst = 0;
        vector_clock earlier;  // what happens before a seq_cst fence that ran earlier
    };
    const fence_record* fence_before(const view& v) const;
    bool must_precede(const view& v, const written& w, bool seq_cst, const fence_record* f) const;
    void put(view& v, location& l, std::size_t place, wide_value value, int order, bool follows);

    std::uint32_t seq_cst_ = 0;  // operations so far
    vector_clock fenced_;               // what happens before a seq_cst fence
    own_vector<fence_record> fences_;  // a ring; fence number n is at (n - 1) % most_fences
    std::uint32_t fence_count_ = 0;
};

}  // namespace apiary::hunt
