// cxx20: whether C++20 forbids a graph that RC11 allows. The search asks of a failure alone, for its verdict to say so.
//
// RC11 takes co and rb between two seq_cst accesses to one location. C++20 takes "coherence-ordered before"
// ([atomics.order] 3): with 3.4 it goes over stores that are not seq_cst, too, so that by 4.1 a seq_cst load of an old value
// comes before a seq_cst load of a newer one, by whatever store. And its "strongly happens before" ([intro.races]) is
// sb ; hb ; sb over any locations. Light and heavy fences are none of C++20's, and order nothing here.
#pragma once

#include <apiary/model_check/explorer/graph.hpp>

namespace apiary::model::explorer {

// True if no order S of the seq_cst operations meets [atomics.order] 4. The answer "true" also holds for every graph that has
// this one's events and more: further events can only forbid more.
bool cxx20_forbids(const graph& g);

// For a test: graphs that C++20 forbids are not counted.
inline constinit bool leave_out_what_cxx20_forbids = false;

}  // namespace apiary::model::explorer
