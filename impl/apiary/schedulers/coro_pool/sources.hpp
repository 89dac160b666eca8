// co_sources: the sources of a coroutine pool's worker: the lanes of priority, and the patience with which it looks for
// the work of other workers.
//
// When to use it. As the sources of a crew whose ready work is co_context. When not: elsewhere.
//
// A worker that has just run something goes on looking for linger_ns, and asks the other workers for a branch: the next
// fork is probably near, and waking a sleeper would take longer than the branch. After it has announced its sleep it
// asks once more: the first fork of another worker then offers a branch, and wakes it.
//
// Threads. The worker's own; enter, open, leave and id: any, with the owner's mutex held.
// The concept that this meets: worker_sources (concepts.hpp). Not modelled: the lingering.
#pragma once

#include <cstdint>

#include <apiary/workers/no_sources.hpp>

namespace apiary {

template <class Crew, class Worker>
class co_sources : public no_sources<Crew, Worker> {
    using no_sources<Crew, Worker>::self;

public:
    using task_type = typename Crew::task_type;
    static constexpr bool takes_inside_run_some = false;  // a worker that helps does not look at the lanes

    bool run_some() {
        const bool kept = this->run_kept();
        if (run_lanes() || kept) return true;
        return self().owner().linger_ns() != 0 && look_on();
    }
    bool urgent() const {
        return lanes().on() && (self().ready_.hurried() || lanes().high_waits() || background_is_due());
    }
    // Asks the others for a branch. Offers themselves are seen by the engine's look at all that any worker may take.
    bool visible() const {
        ask_all();
        return false;
    }

private:
    const co_lanes<typename Crew::sync>& lanes() const { return self().owner().lanes(); }

    // Runs up to high_share tasks of high priority, and one of background when its turn has come.
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
        // meet_the_hurry has cleared the flag, so set it again for the tasks that are left.
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

    // Asks all other workers for a branch. True if one of them offers something already.
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
        return run_lanes();  // a task in a lane may have ended the lingering
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
            if (!spent_) Crew::sync::yield();
        }
    }

    std::uint64_t behind_background_ = 0;  // tasks_run when the last task of background had run
    std::uint64_t run_ = 0;
    std::int64_t until_ns_ = 0;  // 0: the worker has not begun to linger
    bool spent_ = false;
};

}  // namespace apiary
