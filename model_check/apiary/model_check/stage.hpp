// stage: how a check runs a whole scheduler, from its constructor to its destructor: its threads are modelled ones. The scenario has
// a fixed number of threads. One owns the scheduler, and each of the others is what the scheduler starts as its next thread.
//
//     stage<Sync, 1> threads;                                       // as many as the scheduler starts
//     void thread(unsigned i) {
//         if (i != 0) return threads.play(i - 1);
//         const on_stage<Sync, 1> here(threads);                    // what is made here finds the stage
//         basic_bare_pool<Sync, heap_storage<Sync>, staged_parts<Sync, 1>> pool(1U);
//         …
//     }
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <utility>

#include <apiary/workers/front_end.hpp>
#include <apiary/workers/parameters.hpp>

namespace apiary::model {

// Parameters that leave few behaviours.
constexpr worker_parameters handshake_parameters{.local_budget = 1,
                                                 .global_batch = 2,
                                                 .pool_visits = 1,
                                                 .global_probe_interval = 3,
                                                 .steal_rounds = 1,
                                                 .looks_before_sleep = 0,
                                                 .naps = 0,
                                                 .search_ns = worker_parameters::for_ever};

// Beside a single peer it does not matter where a thief begins, and each choice would double the graphs.
struct first_choice {
    explicit first_choice(std::uint64_t) {}
    static unsigned below(unsigned) { return 0; }
};

template <class Sync, unsigned Threads>
class stage {
public:
    void start(std::function<void()> body) {
        const typename Sync::lock held(mutex_);
        Sync::law(started_ != Threads, "a scheduler starts more threads than its check has");
        bodies_[started_++] = std::move(body);
        changed_.notify_all();
    }
    void join() {
        typename Sync::lock held(mutex_);
        while (ended_ != started_) changed_.wait(held);
    }
    // On the thread that is the n-th which the scheduler starts.
    void play(unsigned n) {
        {
            typename Sync::lock held(mutex_);
            while (started_ <= n) changed_.wait(held);
        }
        bodies_[n]();
        const typename Sync::lock held(mutex_);
        ++ended_;
        changed_.notify_all();
    }

private:
    typename Sync::mutex mutex_;
    typename Sync::condvar changed_;
    unsigned started_ = 0, ended_ = 0;                  // by mutex_
    std::array<std::function<void()>, Threads> bodies_;  // each written once, by mutex_, before its reader is told
};

// While it exists, a scheduler that this thread makes starts its threads on that stage.
template <class Sync, unsigned Threads>
class on_stage {
public:
    explicit on_stage(stage<Sync, Threads>& s) { Sync::set_current(&s); }
    ~on_stage() { Sync::template set_current<stage<Sync, Threads>>(nullptr); }
    on_stage(const on_stage&) = delete;
    on_stage& operator=(const on_stage&) = delete;
};

// In place of thread_team.
template <class Sync, unsigned Threads>
class staged_team {
public:
    template <class Body>
    void start(Body body, int = -1) {
        stage_->start(std::move(body));
    }
    void join() { stage_->join(); }

private:
    stage<Sync, Threads>* const stage_ = Sync::template current<stage<Sync, Threads>>();
};

// In place of default_parts.
template <class Sync, unsigned Threads>
struct staged_parts : default_parts<Sync> {
    using driver = parker_driver<Sync, typename Sync::parker>;  // the parker by its outcomes: fewer graphs (parker_check)
    using random = first_choice;
    using threads = staged_team<Sync, Threads>;
};

}  // namespace apiary::model
