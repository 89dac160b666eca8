// co_sources: what a worker of a coroutine pool has beside its ready work: the lanes of priority, and the
// patience with which it looks for the work of others.
//
// When to use it. As the sources of a crew whose ready work is co_context. When not: elsewhere.
//
// A worker that has run something of late looks on for linger_ns, and asks the others for a branch: the next fork
// is near, and a sleeper would come too late for it. Before it sleeps it asks once more, behind the
// announcement: the first fork of the others then offers a branch, and wakes it.
//
// Threads. The worker's own, but enter, open, leave and id: with the owner's mutex held.
// The concept that this meets: worker_sources (concepts.hpp). Not modelled: the lingering.
#pragma once

#include <cstdint>
#include <thread>

#include <apiary/workers/no_sources.hpp>

namespace apiary {

template <class Crew, class Worker>
class co_sources : public no_sources<Crew, Worker> {
    using no_sources<Crew, Worker>::self;

public:
    using task_type = typename Crew::task_type;
    static constexpr bool takes_inside_run_some = false;  // a helper knows no lanes

    bool run_some() {
        const bool kept = this->run_kept();
        if (run_lanes() || kept) return true;
        return self().owner().linger_ns() != 0 && look_on();
    }
    bool urgent() const {
        return lanes().on() && (self().ready_.hurried() || lanes().high_waits() || background_is_due());
    }
    // What others offer is among what any worker may take, where the worker itself looks.
    bool visible() const {
        ask_all();
        return false;
    }

private:
    const co_lanes<typename Crew::sync>& lanes() const { return self().owner().lanes(); }

    // Up to high_share of high priority, and one of background when its turn has come.
    bool run_lanes() {
        auto& waiting = self().owner().lanes();
        if (!waiting.on()) return false;
        self().ready_.meet_the_hurry();
        bool worked = false;
        for (unsigned left = co_lanes<typename Crew::sync>::high_share; left > 0 && !self().owner().stopping();
             --left) {
            task_type* const t = waiting.of(co_priority::high).take_one();
            if (t == nullptr) break;
            self().run_task(t, !waiting.look_empty());
            worked = true;
        }
        // The hurry that came with them is met: for those that are left, another.
        if (waiting.high_waits()) self().ready_.hurry();
        if (waiting.background_waits() && (background_is_due() || (!worked && nothing_else()))) {
            if (task_type* const t = waiting.of(co_priority::background).take_one()) {
                self().run_task(t, !waiting.look_empty());
                behind_background_ = self().runner_.tasks_run();
                worked = true;
            }
        }
        return worked;
    }
    bool background_is_due() const {
        return self().runner_.tasks_run() - behind_background_ >= co_lanes<typename Crew::sync>::background_every &&
               lanes().background_waits();
    }
    bool nothing_else() {
        return !self().ready_.waits() && self().crew_.pool().looks_empty() && !lanes().high_waits() && !ask_all();
    }

    // Whether there was something to take.
    bool ask_all() const {
        bool there = false;
        if (!self().ready_.steals()) return false;
        const auto& peers = self().crew_.table();
        for (unsigned i = 0; i < peers.size(); ++i) {
            if (i == self().index()) continue;
            peers[i]->ready().ask();
            there |= peers[i]->ready().offers();
        }
        return there;
    }
    // Out of line, so that a worker that has something pays for one look at the lanes.
    [[gnu::noinline]] bool look_on() {
        linger();
        return run_lanes();  // which may be what ended it
    }
    void linger() {
        if (const std::uint64_t run = self().runner_.tasks_run(); run != run_ || self().sleeper_.claimed()) {
            run_ = run;
            until_ns_ = 0;
            spent_ = false;
        }
        unsigned looks = 0;
        while (!spent_ && !self().ready_.waits() && self().crew_.pool().looks_empty() && lanes().look_empty() &&
               !self().owner().stopping() && !self().leaving() && !ask_all()) {
            if (++looks % 32 != 0) {
                Crew::sync::relax();
                continue;
            }
            const std::int64_t now = self().owner().now_ns();
            if (until_ns_ == 0) until_ns_ = now + self().owner().linger_ns();
            spent_ = now >= until_ns_;
            if (!spent_) std::this_thread::yield();
        }
    }

    std::uint64_t behind_background_ = 0;  // so many had run when one of background did
    std::uint64_t run_ = 0;
    std::int64_t until_ns_ = 0;  // 0: its patience has not begun
    bool spent_ = false;
};

}  // namespace apiary
