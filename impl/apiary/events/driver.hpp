// worker_driver: the concept of the object in which a worker blocks.
//
//   wait(deadline_ns)   Caller: the owner. Blocks until a wake, an event or the deadline (nanoseconds of now_ns;
//                       `forever`: none), and takes the wake that ended it. It may return early for no reason: the
//                       owner looks again. A deadline in the past does not block.
//   poll()              Caller: the owner. Dispatches what is ready, and does not block.
//   wake()              Caller: any thread, and tasks; not signal handlers. Never blocks. Leaves a token that stays
//                       until a wait takes it: a wake before the wait is not lost, and two wakes may count as one. A
//                       thread sees after the wait whatever was written before the wake that it took.
//
// A driver may offer more, such as event sources; the protocols of sleeping (sleeper.hpp) need these three.
//
// A user's own event loop is a driver, too: a worker on one of the user's threads may block in it
// (hive::attach_this_thread). The driver of such a worker refers to the loop as a guest_core, whatever its type.
//
//   parker_driver   waits for wakes only, on a parker: for compute workers, and for checks in place of an event loop
//   epoll_driver    waits for descriptors, too; real threads only
//   fake_driver     in testing/: never blocks; a test moves its clock and sees what was asked of it
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

class guest_core {
public:
    guest_core(const guest_core&) = delete;
    guest_core& operator=(const guest_core&) = delete;

    virtual void wait(std::int64_t deadline_ns) noexcept = 0;  // `forever` is INT64_MAX
    virtual void poll() noexcept = 0;
    virtual void wake() noexcept = 0;

protected:
    guest_core() = default;
    ~guest_core() = default;
};

}  // namespace apiary
