// thread_team: the threads of a scheduler: it starts them, and waits until they have ended.
//
// When to use it. As `Parts::threads` of a front end (front_end.hpp), which gets every thread from it. A test or a
// checker may use another team with the same calls: the scheduler then runs whole on threads of that team. When not:
// for threads that no scheduler owns.
//
// Threads.  One at a time; the owner sees to that.
// Errors.   start, start_all: std::system_error if a thread cannot be started or bound to its processor,
//           std::bad_alloc. Threads that were started before stay in the team.
// Lifetime. Precondition of the destructor: join or detach was called after the last start. Otherwise the program ends.
#pragma once

#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <apiary/sync/processors.hpp>

namespace apiary {

inline constexpr int any_processor = -1;

class thread_team {
public:
    // Starts a thread that runs `body`, bound to the given processor if one is named.
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
    // Gives the threads up: no call waits for them any more.
    void detach() {
        for (std::thread& t : threads_) t.detach();
        threads_.clear();
    }

private:
    std::vector<std::thread> threads_;
};

// The team that a policy uses: its own (`Sync::threads`), or threads of the system.
template <class Sync>
struct team_of {
    using type = thread_team;
};
template <class Sync>
    requires requires { typename Sync::threads; }
struct team_of<Sync> {
    using type = typename Sync::threads;
};

// Whether threads of the system run the code, so that it may make further requests to the system.
template <class Sync>
inline constexpr bool on_system_threads = !Sync::checked && std::is_same_v<typename team_of<Sync>::type, thread_team>;

// Calls start_one(i) for each i below n. If one throws, calls stop(), which makes the bodies return, waits for the
// threads that were started, and rethrows.
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
