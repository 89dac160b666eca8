// symmetry: of the graphs that differ only by a permutation of threads that are alike, few are explored.
//
// Twins. Two alike threads are twins at index k while their events below k are the same ones (none of them a write, every
// read from the same store). Thread order then stands for the order of arrival:
//   S1  Of twins at k, the lower thread's event k is added first, and belongs to the past of the higher one's (porf), so
//       that a revisit from there keeps it. It follows that a lower thread never reads what its twin has caused.
//   S2  Where event k is what makes them different, the lower thread's reads from, or stands at, the earlier place in co,
//       unless the past of the higher one's has events of other alike threads.
// Both are asked of an event and its past alone, and the maximal way of adding an event (the latest store, the last
// place) never breaks them: they are one more axiom of a model that is prefix-closed and maximally extensible over porf, which
// is what TruSt needs. At least one graph of each orbit satisfies them: name the twins in an order of arrival that follows
// sb ∪ rf and S2; S2 starts at events without alike threads in their past, so that no cycle comes back to one.
//
// Several sets of threads may be alike, each for itself; in S2 the past counts threads of all of them.
//
// After SPORE (Kokologiannakis, Marmanis, Vafeiadis, PLDI 2024), whose idea S1 is.
// Tested by: explorer_symmetry_test, against the search without symmetry.
#pragma once

#include <apiary/model_check/explorer/graph.hpp>

namespace apiary::model::explorer {

struct operation;

inline constexpr const char* not_alike = "threads that are declared alike are not";  // how that verdict begins

// The part of graph::link that is about twins. The event comes with its predecessor's clocks.
void link_twins(const graph& g, event& e);

// S2 of a read or write that has its store or place.
bool first_of_its_mirrors(const graph& g, const event& e);

// Whether a twin's event at the same index is not the same operation: the threads are not alike.
bool unlike_a_twin(const graph& g, const event& e, const operation& op);

}  // namespace apiary::model::explorer
