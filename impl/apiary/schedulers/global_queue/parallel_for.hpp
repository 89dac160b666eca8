// parallel_for: a loop in chunks, each of them a child of the caller, which helps.
//
// Threads. Any, a task of the scheduler too.
// Errors.  std::invalid_argument for a grain of 0. The first exception that leaves the body travels when all chunks that were
//          posted have ended; the others are counted in the scheduler's report, as the first is. std::bad_alloc: nothing ran.
#pragma once

#include <cstddef>
#include <cstdint>
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
    static_assert(std::is_integral_v<Index>, "parallel_for goes over indices");
    if (last <= first) return true;
    // Unsigned: the whole range of a signed type has more elements than it has positive numbers.
    const auto begin = static_cast<std::uint64_t>(first);
    const std::uint64_t chunks = (static_cast<std::uint64_t>(last) - begin - 1) / grain + 1;
    typename basic_global_queue<Sync>::task_scope scope(queue);
    const std::size_t accepted = scope.run_all(chunks, [&](std::size_t i) {
        const auto from = static_cast<Index>(begin + i * grain);
        const auto to = i + 1 == chunks ? last : static_cast<Index>(begin + (i + 1) * grain);
        return [&body, from, to] { body(from, to); };
    });
    return scope.wait() && accepted == chunks;
}

}  // namespace apiary
