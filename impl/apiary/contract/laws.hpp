// laws: the laws of every queue and scheduler, as oracles: identity, order, quiescence.
//
// When to use it. In model checks and stress programs, never in production code. When not: to count. A count or a sum
// stays right if one element leaves twice in place of another, which is the classic deque bug.
//
// Threads.   A ledger's put() and took() belong to the thread they name; settle() to one thread after all others have
//            ended. claim_ledger: any thread. quiescence_law: any thread, but call verify() only when no step of
//            another thread can be half done (in an engine's invariant, or when a watchdog has stopped the others).
// Memory.    No ledger orders anything, so memory that the checked code does not synchronise stays unsynchronised. For
//            that reason identity_ledger keeps a log for each thread and compares the logs afterwards.
//
// Every law is asked by Sync::law, which a checker counts. A ledger asks only about elements that were put in or came
// out: an unused ledger asks nothing, and a check that has nothing else is red.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <apiary/sync/real_sync.hpp>

namespace apiary {

// Each id in [0, Ids) that was put in leaves exactly once, and nothing else leaves.
template <class Sync, std::size_t Ids, std::size_t Threads>
class identity_ledger {
public:
    void put(std::size_t id) { put_[id] = true; }

    void took(std::size_t thread, std::size_t id) {
        Sync::law(id < Ids, "identity: something left that was never put in");
        log& l = logs_[thread];
        Sync::law(l.size < l.ids.size(), "identity: more elements left than were put in");
        l.ids[l.size++] = id;
    }

    std::size_t taken_by(std::size_t thread) const { return logs_[thread].size; }
    std::size_t taken(std::size_t thread, std::size_t n) const { return logs_[thread].ids[n]; }

    void settle() const {
        std::array<unsigned, Ids> left{};
        for (const log& l : logs_)
            for (std::size_t i = 0; i != l.size; ++i) ++left[l.ids[i]];
        for (std::size_t id = 0; id != Ids; ++id) {
            if (left[id] == 0) continue;
            Sync::law(left[id] == 1, "identity: an element left twice");
            Sync::law(put_[id], "identity: something left that was never put in");
        }
        for (std::size_t id = 0; id != Ids; ++id)
            if (put_[id]) Sync::law(left[id] != 0, "identity: an element was lost");
    }

private:
    struct log {
        std::array<std::size_t, 2 * Ids> ids{};
        std::size_t size = 0;
    };
    std::array<bool, Ids> put_{};
    std::array<log, Threads> logs_{};
};

// The same law for long runs with real threads: finds a second exit at once, a loss at the end.
template <class Sync = real_sync>
class claim_ledger {
public:
    explicit claim_ledger(std::size_t ids) : left_(ids) {}

    std::size_t size() const { return left_.size(); }

    void took(std::size_t id, typename Sync::site at = Sync::site::current()) {
        Sync::law(id < left_.size(), "identity: something left that was never put in", at);
        Sync::law(!left_[id].exchange(true, std::memory_order_relaxed), "identity: an element left twice", at);
    }

    bool has_left(std::size_t id) const { return left_[id].load(std::memory_order_relaxed); }
    // The first id that has not left, or size() if all have.
    std::size_t first_missing() const {
        std::size_t id = 0;
        while (id != left_.size() && has_left(id)) ++id;
        return id;
    }

    void settle(typename Sync::site at = Sync::site::current()) const {
        if (size() != 0) Sync::law(first_missing() == size(), "identity: an element was lost", at);
    }

private:
    std::vector<std::atomic<bool>> left_;  // std::atomic, not the policy's: an oracle is no part of the checked code
};

// Elements that one consumer gets from one producer come in the order they were put in: numbers only grow.
template <class Sync, std::size_t Producers>
class fifo_law {
public:
    void got(std::size_t producer, std::uint64_t number, typename Sync::site at = Sync::site::current()) {
        Sync::law(number >= next_[producer], "order: a producer's elements came out in another order", at);
        next_[producer] = number + 1;
    }

private:
    std::array<std::uint64_t, Producers> next_{};
};

// Never "work pending and every worker parked". A wake that was sent and not yet taken counts as an awake
// worker, and so does a poster that has published work and has not yet decided whom to wake.
template <class Sync, std::size_t Workers>
class quiescence_law {
public:
    void post_begins() { ++posting_; }
    void published() { ++pending_; }
    void post_ends() { --posting_; }
    void finished_one() { --pending_; }

    void parks(std::size_t worker) { parked_[worker] = true; }
    void resumed(std::size_t worker) { parked_[worker] = false, wakes_[worker] = 0; }
    void wake_sent(std::size_t worker) { ++wakes_[worker]; }

    bool stranded() const {
        if (pending_ == 0 || posting_ != 0) return false;
        for (std::size_t w = 0; w != Workers; ++w)
            if (!parked_[w] || wakes_[w] != 0) return false;
        return true;
    }

    void verify(typename Sync::site at = Sync::site::current()) const {
        if (pending_ != 0) Sync::law(!stranded(), "quiescence: work is pending and every worker is parked", at);
    }

private:
    std::atomic<int> pending_{0}, posting_{0};
    std::array<std::atomic<bool>, Workers> parked_{};
    std::array<std::atomic<int>, Workers> wakes_{};
};

}  // namespace apiary
