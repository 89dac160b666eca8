// fake_driver: an event loop that never blocks, for tests with a clock of their own.
//
// A wait that finds a token takes it; one that finds none moves the clock to the deadline, as if nothing had happened
// until then. A wait for ever without a token could never end: it is counted in `stuck()`, and returns.
//
// Threads. One at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <apiary/events/driver.hpp>

namespace apiary {

// Clock: now_ns() and set(now_ns), such as manual_clock.
template <class Clock>
class fake_driver {
public:
    static constexpr std::int64_t forever = INT64_MAX;

    explicit fake_driver(Clock& clock) : clock_(clock) {}

    void wait(std::int64_t deadline_ns) {
        waits_.push_back(deadline_ns);
        if (std::exchange(token_, false)) return;
        if (deadline_ns == forever)
            ++stuck_;
        else if (clock_.now_ns() < deadline_ns)
            clock_.set(deadline_ns);
    }
    void poll() { ++polls_; }
    void wake() {
        token_ = true;
        ++wakes_;
    }

    const std::vector<std::int64_t>& waits() const { return waits_; }  // the deadlines, in order
    std::size_t polls() const { return polls_; }
    std::size_t wakes() const { return wakes_; }
    std::size_t stuck() const { return stuck_; }

private:
    Clock& clock_;
    std::vector<std::int64_t> waits_;
    std::size_t polls_ = 0, wakes_ = 0, stuck_ = 0;
    bool token_ = false;
};

}  // namespace apiary
