// steal_result: what a steal reports: an element, an empty queue, or a rival that was faster.
#pragma once

#include <cstddef>

namespace apiary {

// lost_race says nothing about emptiness: look again before sleeping.
enum class steal_status { taken, empty, lost_race };

template <class T>
struct steal_result {
    steal_status status;
    T value;  // meaningful when status == taken
};

// A theft of several: one element to run at once; the others are in the thief's own queue.
template <class T>
struct steal_half_result {
    steal_status status;
    T value;            // the oldest; meaningful when status == taken
    std::size_t moved;  // how many more came with it
};

}  // namespace apiary
