// consistency: what RC11 (Lahav, Vafeiadis, Kang, Hur, Dreyer, PLDI 2017) allows, asked of one graph.
//
// The explorer adds events one by one and only where coherence and atomicity hold, so those two are asked
// as "where may this event stand": earliest_store and place_allowed. The seq_cst axiom, acyclic(psc), is
// asked of the whole graph. Relations are used by the letter of the paper, with C++20 release sequences.
#pragma once

#include <apiary/model_check/explorer/graph.hpp>

namespace apiary::model::explorer {

// The earliest place in co that an event knowing `hb` may still read, and after which its write must stand.
unsigned earliest_store(const graph& g, unsigned slot, const vector_clock& hb);

// Whether a new write may be put behind `place` stores without coming between a read-modify-write and its source.
bool splits_rmw(const graph& g, unsigned slot, unsigned place);

// acyclic(psc_base ∪ psc_F), of any graph.
bool seq_cst_consistent(const graph& g);

// The same of a graph that was consistent before `added` (an event without hb successors) got its store or its
// place, and before `also`, where given, got its. A new cycle has to leave one of them by co or rb, so that only
// cycles through it, or through a fence that happens before it, are looked for.
bool still_seq_cst_consistent(const graph& g, const event& added, const event* also = nullptr);

}  // namespace apiary::model::explorer
