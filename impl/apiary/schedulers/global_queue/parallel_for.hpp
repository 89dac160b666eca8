// parallel_for: runs a loop in chunks. Each chunk is a child task of the caller, and the caller runs chunks, too.
//
//     whole = apiary::parallel_for(queue, 0, n, [&](auto i) { a[i] = f(i); });
//     whole = apiary::parallel_for(queue, 0, n, [&](auto from, auto to) { move(&a[from], to - from); },
//                                  {.grain = 1000});
//
// tasks/loop_range.hpp describes its form, bodies and bounds, which fork_join's loop shares.
//
// Threads. Any, also a task of the scheduler.
// Grain.   0, automatic: 8 to 16 chunks for each worker, or one for each index if there are fewer.
// Errors.  An exception ends its chunk alone. After all posted chunks have ended, the call throws the first exception
//          of the body. The scheduler's report counts that one and all others. If the call throws std::bad_alloc,
//          nothing ran.
// Memory.  One task for each chunk, and all of them are made before the first begins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <apiary/schedulers/global_queue/global_queue.hpp>
#include <apiary/tasks/loop_range.hpp>

namespace apiary {

struct chunk_options {
    std::size_t grain = 0;
};

// The last chunk may be shorter. False: a stop refused or dropped chunks; those that began have ended.
template <class Sync, class First, class Last, class Body>
    requires detail::loop_bounds<First, Last>
[[nodiscard]] bool parallel_for(basic_global_queue<Sync>& queue, First first, Last last, Body&& body,
                                const chunk_options& options = {}) {
    const auto all = detail::range_between(first, last);
    using index = std::remove_const_t<decltype(all.first)>;
    if (all.size() == 0) return true;
    constexpr std::uint64_t chunks_per_worker = 8;
    const std::uint64_t chunk = all.chunk(options.grain, chunks_per_worker * queue.workers());
    const std::uint64_t chunks = (all.size() - 1) / chunk + 1;
    typename basic_global_queue<Sync>::task_scope scope(queue);
    const std::size_t accepted = scope.run_all(chunks, [&](std::size_t i) {
        const index from = all.at(i * chunk), to = i + 1 == chunks ? all.last : all.at((i + 1) * chunk);
        return [&body, from, to] {
            if constexpr (std::is_invocable_v<Body&, index&, index&>) {
                static_assert(!std::is_invocable_v<Body&, index&>, "parallel_for: this body takes an index and a chunk; which is meant?");
                index begin = from, end = to;
                body(begin, end);
            } else {
                for (index k = from; k != to; ++k) {
                    index given = k;  // a copy: the body may change its argument
                    body(given);
                }
            }
        };
    });
    return scope.wait() && accepted == chunks;
}

}  // namespace apiary
