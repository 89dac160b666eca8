// suspended: a coroutine that waits, and its home, which brings it back.
#pragma once

#include <apiary/tasks/job.hpp>

namespace apiary {

// brings a suspended coroutine back
template <class Sync>
class home {
public:
    virtual void resume(job<Sync>&) noexcept = 0;  // any thread; never refuses what lives

protected:
    ~home() = default;
};

template <class Sync>
struct suspended {
    job<Sync>* what;
    home<Sync>* where;
    void resume() const noexcept { where->resume(*what); }
};
// a promise that can be suspended by the awaitables offers:
//     suspended<Sync> suspended_here() noexcept;  std::stop_token stop_token() const noexcept;

}  // namespace apiary
