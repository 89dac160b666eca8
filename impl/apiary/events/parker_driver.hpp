// parker_driver: the driver of a worker that waits only for wakes (driver.hpp), on a parker.
//
// Compute workers use it, and in model checks it stands for the event loop of an IO worker. Checks whose state space is
// too large with the parker that ships give it the abstract one of their policy, against which the shipped one is
// checked.
//
// Threads. wait, poll: the owner. wake: any thread; the wake stays until a wait takes it.
#pragma once

#include <cstdint>

#include <apiary/parking/parker.hpp>
#include <apiary/sync/real_sync.hpp>

namespace apiary {

template <class Sync = real_sync, class Parker = basic_parker<Sync>>
class parker_driver {
public:
    static constexpr std::int64_t forever = INT64_MAX;

    // Returns after a wake, or at the deadline (now_ns).
    void wait(std::int64_t deadline_ns) {
        if (deadline_ns == forever)
            parker_.park();
        else
            (void)parker_.park_until(deadline_ns);
    }
    void poll() {}
    void wake() { parker_.unpark(); }

private:
    Parker parker_;
};

}  // namespace apiary
