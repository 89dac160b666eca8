// An identity ledger for many ids and many threads: each id ends exactly once.
//
// The small ledger of <apiary/contract/laws.hpp> checks executions of a few steps; this one is for
// millions of ids under real threads, and names the first culprits.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <apiary/stress/harness.hpp>

namespace apiary::stress {

class ledger {
public:
    ledger(run& r, std::size_t ids) : run_(r), size_(ids), ends_(new std::atomic<std::uint8_t>[ids]) {
        for (std::size_t i = 0; i < ids; ++i) ends_[i].store(0, std::memory_order_relaxed);
    }

    // Any thread.
    void end(std::size_t id) {
        if (id >= size_) run_.fail("id " + std::to_string(id) + " came out and never went in");
        if (ends_[id].fetch_add(1, std::memory_order_relaxed) != 0)
            run_.fail("id " + std::to_string(id) + " came out twice");
        run_.progress();
    }

    // When all threads have ended: each id below `count` has come out, and none above.
    void settle(std::size_t count) const {
        for (std::size_t i = 0; i < size_; ++i) {
            const bool out = ends_[i].load(std::memory_order_relaxed) == 1;
            if (i < count && !out) run_.fail("id " + std::to_string(i) + " of " + std::to_string(count) + " was lost");
            if (i >= count && out) run_.fail("id " + std::to_string(i) + " came out and never went in");
        }
    }

    std::size_t size() const { return size_; }

private:
    run& run_;
    const std::size_t size_;
    const std::unique_ptr<std::atomic<std::uint8_t>[]> ends_;
};

}  // namespace apiary::stress
