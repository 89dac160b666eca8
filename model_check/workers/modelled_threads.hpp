// Threads for a whole scheduler under an engine, from its constructor to its destructor.
//
// An engine cannot start a thread: all of a check's are there from the beginning. So a team (Parts::threads) hands its
// bodies over in a hall, in which the check's other threads wait for one each:
//
//     hall<Sync, 2> threads;                                 // in the check
//     void thread(unsigned i) {
//         if (i != 0) return threads.serve(i - 1);           // becomes the worker that the pool starts
//         const in_hall<Sync, 2> here(threads);              // teams that this thread makes use start find it
//         typename Sync::template scoped<pool<Sync, parts_with_hall<Sync, 2>>> p(...);
//     }
//
// A start is to an engine what it is to std::thread: what the starter did before is seen by the body, and what the body
// did is seen after join.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <utility>

#include <apiary/workers/front_end.hpp>

namespace apiary::model {

template <class Sync, std::size_t Threads>
class hall {
public:
    hall() {
        for (place& p : places_) p.state.store(waits, std::memory_order_relaxed);
    }
    // On a thread of the check: runs the i-th body that is started.
    void serve(std::size_t i) {
        place& mine = places_[i];
        Sync::spin_until(mine.state, [](unsigned s) { return s != waits; });
        std::exchange(mine.body, nullptr)();
        mine.state.store(ended, std::memory_order_release);
    }

    // For teams. Threads that no team starts wait for ever, which an engine calls a deadlock.
    std::size_t start(std::function<void()> body) {
        Sync::law(started_ != Threads, "a scheduler starts more threads than its check has");
        place& p = places_[started_];
        p.body = std::move(body);
        p.state.store(began, std::memory_order_release);
        return started_++;
    }
    void join(std::size_t i) {
        Sync::spin_until(places_[i].state, [](unsigned s) { return s == ended; });
    }

private:
    static constexpr unsigned waits = 0, began = 1, ended = 2;
    struct place {
        typename Sync::template atomic<unsigned> state;
        std::function<void()> body;
    };
    std::array<place, Threads> places_;
    std::size_t started_ = 0;  // by the thread that makes the scheduler
};

template <class Sync, std::size_t Threads>
struct in_hall {
    explicit in_hall(hall<Sync, Threads>& h) { Sync::set_current(&h); }
    ~in_hall() { Sync::template set_current<hall<Sync, Threads>>(nullptr); }
    in_hall(const in_hall&) = delete;
    in_hall& operator=(const in_hall&) = delete;
};

// As thread_team. All calls come from the thread that is in the hall.
template <class Sync, std::size_t Threads>
class team_of_hall {
public:
    template <class Body>
    void start(Body body, int = any_processor) {
        const std::size_t i = Sync::template current<hall<Sync, Threads>>()->start(std::move(body));
        if (begin_ == end_) begin_ = i;
        end_ = i + 1;
    }
    void join() {
        for (; begin_ != end_; ++begin_) Sync::template current<hall<Sync, Threads>>()->join(begin_);
    }
    void detach() { begin_ = end_; }

private:
    std::size_t begin_ = 0, end_ = 0;
};

}  // namespace apiary::model
