// parallel_for: a loop in chunks, each of them a child of the caller, which helps.
//
// Threads. Any, a task of the scheduler too.
// Errors.  std::invalid_argument for a grain of 0. The first exception that leaves the body travels when all chunks that were
//          posted have ended; the others are counted in the scheduler's report, as the first is. std::bad_alloc: nothing ran.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <type_traits>

#include <apiary/schedulers/global_queue/global_queue.hpp>

namespace apiary {

// body(from, to) for chunks of `grain` elements, the last one perhaps shorter, that together are [first, last). Nothing to do
// when last <= first. False: a stop refused or dropped chunks; those that began have ended.
template <class Sync, class Index, class Body>
[[nodiscard]] bool parallel_for(basic_global_queue<Sync>& queue, Index first, std::type_identity_t<Index> last,
                                std::size_t grain, Body&& body) {
    if (grain == 0) throw std::invalid_argument("parallel_for: grain is 0; it must be at least 1");
    if (last <= first) return true;
    const auto size = static_cast<std::size_t>(last - first);
    const std::size_t chunks = (size - 1) / grain + 1;
    typename basic_global_queue<Sync>::task_scope scope(queue);
    const std::size_t accepted = scope.run_all(chunks, [&](std::size_t i) {
        const Index from = first + static_cast<Index>(i * grain);
        return [&body, from, to = i + 1 == chunks ? last : from + static_cast<Index>(grain)] { body(from, to); };
    });
    return scope.wait() && accepted == chunks;
}

}  // namespace apiary
