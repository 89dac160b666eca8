// successor_rule: which of the tasks that an end makes ready runs at once, on the same worker. One rule
// for the workers (task_graph.hpp) and for the simulation (simulation.hpp).
#pragma once

namespace apiary {

// `kept`: the choice so far. The newest consumer comes first, so of equal priority the oldest is chosen.
template <class Task>
bool runs_at_once_instead(const Task& candidate, const Task& kept) {
    return candidate.priority() >= kept.priority();
}

}  // namespace apiary
