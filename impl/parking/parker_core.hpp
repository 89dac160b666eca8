// parker_core: the core of a worker that waits for nothing but a wake, on the policy's parker.
//
// Compute workers use it, and in the model checks it stands for the event loop of an IO worker.
#pragma once

#include <cstdint>

#include <apiary/sync/real_sync.hpp>

namespace apiary {

template <class Sync = real_sync>
class parker_core {
public:
    static constexpr std::int64_t forever = INT64_MAX;

    // Owner. Returns after a wake, or at the deadline (now_ns).
    void wait(std::int64_t deadline_ns) {
        if (deadline_ns == forever)
            parker_.park();
        else
            parker_.park_until(deadline_ns);
    }
    void poll() {}
    void wake() { parker_.unpark(); }  // any thread; the wake stays until a wait takes it

private:
    typename Sync::parker parker_;
};

}  // namespace apiary
