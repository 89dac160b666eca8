// virtual_team: the threads of a whole scheduler, on the virtual machine: virtual_sync::threads, which default_parts take.
//
// Each thread has a processor of its own, whichever is asked for. The calls are thread_team's.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <apiary/virtual/virtual_sync.hpp>

namespace apiary::virt {

class virtual_team {
public:
    static constexpr int any_processor = -1;

    template <class Body>
    void start(Body body, int = any_processor) {
        threads_.push_back(&machine::current()->start("worker " + std::to_string(threads_.size()), std::move(body)));
    }
    void join(virtual_sync::site at = virtual_sync::site::current()) {
        for (machine::thread* t : threads_) machine::current()->join(*t, at.where);
        threads_.clear();
    }
    void detach() { threads_.clear(); }

private:
    std::vector<machine::thread*> threads_;
};

}  // namespace apiary::virt
