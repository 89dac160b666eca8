// thread_team: the threads of a scheduler: it starts them, and waits until they have ended.
//
// When to use it. As `Parts::threads` of a front end (front_end.hpp), which knows no other way to a thread. A test or a checker
// puts another team in its place, with the same calls: whoever runs the bodies then, the scheduler is whole. When not: for
// threads that no scheduler owns.
//
// Threads. One at a time: the owner sees to that.
// Errors.  start, start_all: std::system_error where a thread cannot be started or bound to its processor, std::bad_alloc.
//          A thread that was started before stays in the team.
// Lifetime. Precondition of the destructor: join or detach was called after the last start. Otherwise the program ends.
#pragma once

#include <thread>
#include <utility>
#include <vector>

#include <apiary/sync/processors.hpp>

namespace apiary {

class thread_team {
public:
    static constexpr int any_processor = -1;

    // Starts a thread that runs `body`, on the given processor alone where one is named.
    template <class Body>
    void start(Body body, int processor = any_processor) {
        threads_.emplace_back(std::move(body));
        if (processor != any_processor) bind_to(threads_.back(), processor);
    }
    // Waits until every body has returned. The team can then be used again.
    void join() {
        for (std::thread& t : threads_) t.join();
        threads_.clear();
    }
    // Gives the threads up: nobody waits for them any more.
    void detach() {
        for (std::thread& t : threads_) t.detach();
        threads_.clear();
    }

private:
    std::vector<std::thread> threads_;
};

// Calls start_one(i) for each i below n. If one throws: calls stop(), which makes the bodies return, waits for those that were
// started, and throws on.
template <class Team, class StartOne, class Stop>
void start_all(Team& team, unsigned n, StartOne start_one, Stop stop) {
    try {
        for (unsigned i = 0; i != n; ++i) start_one(i);
    } catch (...) {
        stop();
        team.join();
        throw;
    }
}

}  // namespace apiary
