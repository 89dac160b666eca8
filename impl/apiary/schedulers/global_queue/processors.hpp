// processors_in_turn: starts threads that are bound to one processor after the other.
#pragma once

#include <sched.h>

#include <cerrno>
#include <cstddef>
#include <system_error>
#include <vector>

#include <apiary/sync/processors.hpp>

namespace apiary {

// Binds the calling thread to one of its processors after the other, so that a thread started meanwhile is bound from
// its first instruction on. The destructor restores the calling thread's own set of processors.
class processors_in_turn {
public:
    explicit processors_in_turn(bool wanted) {
        if (wanted) all_ = usable_processors();
    }
    ~processors_in_turn() {
        if (next_ != 0) (void)bind(all_);
    }
    processors_in_turn(const processors_in_turn&) = delete;
    processors_in_turn& operator=(const processors_in_turn&) = delete;

    // Does nothing if binding is not wanted. Throws std::system_error if the system refuses.
    void next() {
        if (all_.empty()) return;
        if (!bind({all_[next_ % all_.size()]}))
            throw std::system_error(errno, std::generic_category(),
                                    "global_queue: a worker cannot be bound to its processor");
        ++next_;
    }

private:
    static bool bind(const std::vector<int>& processors) {
        cpu_set_t mask{};
        for (const int p : processors) CPU_SET(static_cast<std::size_t>(p), &mask);
        return ::sched_setaffinity(0, sizeof mask, &mask) == 0;
    }

    std::vector<int> all_;
    std::size_t next_ = 0;
};

}  // namespace apiary
