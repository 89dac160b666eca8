// One worker that sleeps when it finds nothing, one post: the scenario of every lost-wake exhibit.
//
// A protocol has take() (true when it found the work), sleep(), and post(). A wake that is lost leaves the
// worker blocked with the work pending: a deadlock.
#pragma once

#include <array>
#include <cstdint>

#include <apiary/events/parker_driver.hpp>
#include <apiary/parking/sleeper.hpp>
#include <apiary/queues/global_pool.hpp>

namespace apiary::museum {

template <class Sync, class Protocol>
struct one_worker_one_post {
    static constexpr unsigned threads = 2;
    Protocol protocol;

    void thread(unsigned i) {
        if (i == 0) {
            while (!protocol.take()) protocol.sleep();
        } else {
            protocol.post();
        }
    }
};

// What ships: the global pool, the idle set, the sleeper, and a parker for the event loop.
template <class Sync>
class shipped_protocol {
    struct node {
        typename Sync::template cell<node*> next;
    };

public:
    bool take() {
        std::array<node*, 1> out{};
        if (pool_.take(out, 1) == 0) return false;
        // Nobody else is left to wake: one worker, one post.
        (void)sleeper_.found_work();
        return true;
    }
    void sleep() {
        sleeper_.sleep(parker_driver<Sync>::forever, [this] { return !pool_.looks_empty(); });
    }
    void post() {
        Sync::law(pool_.push(&work_) != push_result::closed, "a push was refused by an open pool");
        if (idle_.claim_any().has_value()) core_.wake();
    }

private:
    global_pool<node, Sync> pool_;
    idle_set<Sync> idle_;
    parker_driver<Sync> core_;
    sleeper<Sync, parker_driver<Sync>> sleeper_{0, idle_, core_};
    node work_;
};

}  // namespace apiary::museum
