// process_books: the counters of a scheduler of processes, its dead letters, and the report of its stop.
//
// When to use it. In process_core. When not: elsewhere.
// Threads.  Any.
// Progress. wait-free, except for the user's dead-letter listener. `ended`, `undelivered`, `report`, `held` and
//           `let_go` take a mutex.
// Tested by processes_stop_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <new>

#include <apiary/queues/linked_list.hpp>
#include <apiary/schedulers/processes/process_config.hpp>

namespace apiary {

// A call that another thread completes; the end of the scheduler waits for it. It names the calling process, and is in
// a list.
template <class Sync>
struct held_call {
    held_call(pid asks, std::uint64_t its_tag) : from(asks), tag(its_tag) {}
    const pid from;
    const std::uint64_t tag;
    typename Sync::template cell<held_call*> before, behind;  // by the books' mutex
};

template <class Sync>
class process_books {
    using listener = std::function<void(pid, dead_letter, event&)>;
    using counter = typename Sync::template atomic<std::uint64_t>;

public:
    // The listener outlives the books.
    explicit process_books(const listener& l) : listener_(l) {
        for (counter* c : {&spawned_, &dead_letters_, &late_completions_, &exceptions_, &full_circles_})
            c->store(0, std::memory_order_relaxed);
    }

    void spawned() { add(spawned_); }
    void threw() { add(exceptions_); }
    void full_circle() { add(full_circles_); }
    void late_completion() { add(late_completions_); }
    // Releases events that no step has taken. Messages and requests count as dead letters; so does an `ended` that a
    // step has left in its batch. Returns the number of dead letters.
    std::uint64_t bury(pid to, dead_letter why, event_list<Sync>&& events, bool of_a_step) noexcept {
        std::uint64_t letters = 0;
        while (auto* n = events.pop()) {
            if (n->what.is_mail() || (n->what.type == event_type::ended && of_a_step)) {
                ++letters;
                dead(to, why, n->what);
            } else if (n->what.type == event_type::completed) {
                late_completion();
            }
            event_blocks<Sync>::release(n);
        }
        return letters;
    }
    void dead(pid to, dead_letter why, event& letter) noexcept {
        add(dead_letters_);
        if (listener_) listener_(to, why, letter);
    }
    // Notes for the report that a process has ended since the stop began.
    void ended(pid id, process_end how, std::uint64_t undelivered) noexcept {
        const typename Sync::lock held(mutex_);
        report_.undelivered += undelivered;
        const bool by_itself = how == process_end::finished;
        report_.ended += by_itself ? 1U : 0U;
        if (by_itself && undelivered == 0) return;
        try {
            (by_itself ? report_.with_mail : report_.forced).push_back({id, undelivered});
        } catch (const std::bad_alloc&) {
            ++report_.unlisted;
        }
    }
    void undelivered(std::uint64_t letters) noexcept {
        const typename Sync::lock held(mutex_);
        report_.undelivered += letters;
    }
    void held(held_call<Sync>& c) {
        const typename Sync::lock held(mutex_);
        held_.append(&c);
    }
    void let_go(held_call<Sync>& c) {
        const typename Sync::lock held(mutex_);
        held_.remove(&c);
    }

    process_stop_report report() {
        const typename Sync::lock held(mutex_);
        process_stop_report r = report_;
        for (const held_call<Sync>* c = held_.front(); c != nullptr; c = c->behind.read())
            r.offloaded.push_back({c->from, c->tag});
        return r;
    }
    process_counters counters() const {
        process_counters c;
        c.spawned = spawned_.load(std::memory_order_relaxed);
        c.dead_letters = dead_letters_.load(std::memory_order_relaxed);
        c.late_completions = late_completions_.load(std::memory_order_relaxed);
        c.exceptions = exceptions_.load(std::memory_order_relaxed);
        c.full_circles = full_circles_.load(std::memory_order_relaxed);
        return c;
    }

private:
    static void add(counter& c) { c.fetch_add(1, std::memory_order_relaxed); }

    const listener& listener_;
    counter spawned_, dead_letters_, late_completions_, exceptions_, full_circles_;
    typename Sync::mutex mutex_;
    process_stop_report report_;         // by mutex_
    linked_list<held_call<Sync>> held_;  // by mutex_
};

}  // namespace apiary
