// worker_driver: what a worker blocks in, as a concept.
//
//   wait(deadline_ns)   the owner. Blocks until a wake, an event or the deadline (nanoseconds of now_ns; `forever`:
//                       none). May return early, for no reason: the owner looks again. A deadline in the past does
//                       not block. Takes the wake that ended it.
//   poll()              the owner. Dispatches what is ready, and does not block.
//   wake()              any thread, and tasks; not signal handlers. Never blocks. Leaves a token that stays until a
//                       wait takes it: a wake before the wait is not lost, and two of them may count as one. What was
//                       written before a wake is seen after the wait that takes it.
//
// Whatever else a driver offers (event sources) is its own; the protocols of sleeping (sleeper.hpp) need these three.
//
//   parker_driver   waits for nothing but wakes, on a parker: compute workers; checks, in place of an event loop
//   epoll_driver    waits for descriptors, too; real threads only
//   fake_driver     of testing/: never blocks; a test moves its clock and sees what was asked of it
#pragma once

#include <concepts>
#include <cstdint>

namespace apiary {

template <class C>
concept worker_driver = requires(C& driver, std::int64_t deadline_ns) {
    { C::forever } -> std::convertible_to<std::int64_t>;
    { driver.wait(deadline_ns) } -> std::same_as<void>;
    { driver.poll() } -> std::same_as<void>;
    { driver.wake() } -> std::same_as<void>;
};

}  // namespace apiary
