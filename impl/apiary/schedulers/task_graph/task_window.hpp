// task_window: the tasks that are alive: their slots in a ring, the edges between consumers and producers, and the
// places of outputs. It runs nothing: it hands each task that becomes ready to its caller.
//
// When to use it. Under a scheduler of dependent tasks (task_graph.hpp). When not: for tasks whose producers are always
// known to have ended.
//
// A task goes through Pending, Ready, Running, Completed and Consumed, each once. It is pending while producers are
// missing (join_counter), completed when its fan_out is closed, and consumed when no reference is left. Its slot is
// free once all older slots are consumed, too.
//
// A task takes one slot, one edge for each producer, and a block for its output. All three lie in rings: they are given
// out in the order of the ids, and come back in that order. So if any of them is full, the remedy is the same: wait for
// the oldest task.
//
// `Body` is the user's part of a slot. `Limits` narrows the fields of the fan_out word, for checks.
//
// Threads.   submit, begin_scope, end_scope, wait_for_all, reclaim, resize: one thread at a time, the submitter.
//            complete, input: the thread that runs the task. submitted, reclaimed: any, as hints.
// Blocking.  submit, resize and wait_for_all call wait(slot) if they must wait; it returns when the slot is spent. All
//            other calls are lock-free, except for the log of failures.
// Errors.    submit throws before anything has changed: std::invalid_argument for a producer that is not older,
//            std::length_error for sizes that the rings could never hold, window_stuck if an open scope keeps the
//            oldest task. It passes on exceptions of fill.
//
// Invariants
//   I1  reclaimed is at most the id of the oldest task that is not consumed. Only the submitter moves it, and no other
//       thread looks at the head (so A25, B32 and A38 cannot happen).
//   I2  The submitter sets up a slot when it takes the slot again; the thread that consumed the slot does not (A24).
//   I3  The edges of a task link it into its producers' lists. They lie in the task's own part of the ring, and come
//       back with its slot. A producer that walks its list reads an edge before it arrives at that edge's task, which
//       cannot end before. (The order of the list does not matter for this.)
//   I4  A wait ends: the oldest task is in no open scope, so it ends when its producers have ended, and is consumed
//       when its consumers have ended; all of those have been submitted (A31).
//   I5  A task that failed or was cancelled cancels each of its consumers, early or late: by `cause` before the
//       arrival, or by the log.
//
// Checked by model_check/schedulers/task_graph, and by the museum's twins of A24 to A38.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <apiary/schedulers/task_graph/failure_log.hpp>
#include <apiary/schedulers/task_graph/fan_out.hpp>
#include <apiary/schedulers/task_graph/join_counter.hpp>
#include <apiary/schedulers/task_graph/output_ring.hpp>
#include <apiary/sync/cache_line.hpp>
#include <apiary/sync/real_sync.hpp>

namespace apiary {

enum class task_state { pending, ready, running, completed, consumed };

// Thrown by a submit that could wait for ever: a scope that only the submitter can end keeps the oldest task.
struct window_stuck : std::logic_error {
    using std::logic_error::logic_error;
};

struct window_sizes {
    std::size_t slots = 16384;         // a power of two
    std::size_t dependencies = 65536;  // a power of two
    std::uint64_t output_bytes = std::uint64_t{1} << 20;
    std::size_t most_slots = 0;  // a window that is often full doubles, up to this many; 0: it never grows
};

struct nothing_to_reserve {
    void operator()(std::size_t) const {}
};

template <class Sync, class Limits, class Body>
class task_window {
    template <class T>
    using cell = typename Sync::template cell<T>;

public:
    static constexpr task_id no_cause = UINT64_MAX;

    // Two cache lines: the body, and the members that linking and reclaiming use.
    struct alignas(64) slot : Body {
        join_counter<Sync> in;
        std::uint32_t scope_next = 0;  // only for the submitter: 1 + an older slot of the scope; 0: none
        fan_out<Sync, Limits> out;
        cell<std::uint32_t> edges{0}, edges_end{0};     // written by the submitter, before the first edge
        cell<std::uint32_t> bytes{0}, output_grain{0};  // likewise: size of the output, and where it begins, in grains
        cell<task_id> id{0};
        typename Sync::template atomic<task_id> cause;  // why it is cancelled; producers write it before they arrive
        std::uint64_t output_end = 0;                   // only for the submitter

        slot() { cause.store(no_cause, std::memory_order_relaxed); }
        std::uint64_t output_at() const { return std::uint64_t{output_grain.read()} * output_ring::grain; }
    };

    struct submitted_task {
        slot* task;
        bool ready;  // the caller must queue it
    };

    explicit task_window(const window_sizes& sizes)
        : slots_mask_(power_of_two("window", sizes.slots, max_slots) - 1),
          edges_mask_(power_of_two("dependencies", sizes.dependencies, max_edges) - 1),
          most_slots_(sizes.most_slots == 0 ? 0 : power_of_two("window_most", sizes.most_slots, max_slots, sizes.slots)),
          ring_(sizes.output_bytes) {
        if (sizes.output_bytes > output_ring::grain << 32)  // a slot names its block in 32 bits, in grains
            throw std::invalid_argument("task_graph: output_bytes is " + std::to_string(sizes.output_bytes) +
                                        "; it can be up to 2^36");
        submitted_.store(0, std::memory_order_relaxed);
        reclaimed_.store(0, std::memory_order_relaxed);
        std::tie(slots_, edges_) = new_rings(slots_mask_ + 1, edges_mask_ + 1);
    }
    ~task_window() {
        static_assert(alignof(task_window) == cache_line, "what the submitter writes begins a line of its own");
        Sync::destroy_array(edges_, edges_mask_ + 1);
        Sync::destroy_array(slots_, slots_mask_ + 1);
    }
    task_window(const task_window&) = delete;
    task_window& operator=(const task_window&) = delete;

    // Submits a task that waits for its producers, which may be consumed already. fill(slot) writes the user's part;
    // wait(slot) blocks until that slot is spent; reserve(slots) is called before the window grows to `slots`.
    template <class Fill, class Wait, class Reserve = nothing_to_reserve>
    submitted_task submit(std::span<const task_id> producers, std::uint32_t bytes, Fill fill, Wait wait,
                          Reserve reserve = {}) {
        const task_id id = submitted_.load(std::memory_order_relaxed);
        must_be_possible(id, producers, bytes);
        if (!has_room(id, producers.size(), bytes)) [[unlikely]]
            make_room(id, producers.size(), bytes, wait, reserve);
        slot& s = at(id);
        fill(s);  // if it throws, nothing has changed
        const auto edges = static_cast<std::uint32_t>(producers.size());
        s.id.write(id);
        s.bytes.write(bytes);
        if (bytes != 0)
            s.output_grain.write(static_cast<std::uint32_t>(ring_.offset(ring_.take(bytes)) / output_ring::grain));
        s.output_end = ring_.end();
        const std::uint32_t first = edges_end_;
        s.edges.write(edges);
        s.edges_end.write(edges_end_ += edges);
        s.cause.store(no_cause, std::memory_order_relaxed);
        s.in.expect(edges);
        s.out.open(lap(id), !scopes_.empty());
        if (!scopes_.empty()) s.scope_next = std::exchange(scopes_.back(), place_of(s));
        submitted_.store(id + 1, std::memory_order_relaxed);
        return {&s, add_edges(s, first, producers)};
    }

    // Precondition: the task has run or was cancelled, and its callable is destroyed. `cause`: no_cause, or the task
    // because of which its consumers are cancelled; that is in the log already. Calls on_ready(slot) for each consumer
    // that is ready, which the caller must queue. Calls notify() to wake the submitter if that waits. The caller may
    // not use the slot afterwards.
    template <class OnReady, class Notify>
    void complete(slot& s, task_id cause, OnReady on_ready, Notify notify) {
        bool notifies = false;
        for (std::uint32_t i = s.edges.read(), e = s.edges_end.read() - i; i != 0; --i, ++e)
            if (const std::uint32_t producer = edge_at(e).held.read(); producer != 0)
                notifies |= slots_[producer - 1].out.release();
        const auto closed = s.out.close(cause != no_cause);
        for (std::uint32_t next = closed.newest_edge; next != 0;) {
            edge& e = edges_[next - 1];
            next = e.next.read();  // before the arrival (I3)
            slot& consumer = slots_[e.consumer.read() - 1];
            if (cause != no_cause) consumer.cause.store(cause, std::memory_order_relaxed);  // I5
            if (consumer.in.arrive()) on_ready(consumer);
        }
        if (notifies || closed.notify) notify();
    }

    // The slot of the i-th producer, whose output is held until this task completes. Null if that producer has no
    // output, or was consumed before this task was submitted.
    const slot* input(const slot& s, std::size_t i) const {
        const std::uint32_t first = s.edges_end.read() - s.edges.read();
        const std::uint32_t producer = edge_at(first + static_cast<std::uint32_t>(i)).held.read();
        return producer == 0 ? nullptr : &slots_[producer - 1];
    }

    // Tasks submitted between begin_scope and end_scope keep their outputs until end_scope. A task belongs to the
    // innermost scope.
    void begin_scope() { scopes_.push_back(0); }
    // Precondition: a scope is open. Ends the innermost one.
    void end_scope() {
        for (std::uint32_t next = scopes_.back(); next != 0;) {
            slot& s = slots_[next - 1];
            next = s.scope_next;
            s.out.end_scope();
        }
        scopes_.pop_back();
    }
    std::size_t open_scopes() const { return scopes_.size(); }

    // Waits until all submitted tasks have completed.
    template <class Wait>
    void wait_for_all(Wait wait) {
        const task_id first = reclaimed();
        for (task_id id = submitted(); id != first; --id)  // newest first: most older tasks have ended by then
            if (slot& s = at(id - 1); !s.out.spent()) wait(s);
        reclaim();
    }
    // Frees the slots of consumed tasks, from the oldest on, up to the first that is not consumed.
    void reclaim() {
        const task_id begin = reclaimed(), end = submitted();
        task_id oldest = begin;
        while (oldest != end && at(oldest).out.consumed()) ++oldest;
        if (oldest == begin) return;
        const slot& last = at(oldest - 1);
        edges_reclaimed_ = last.edges_end.read();
        ring_.reclaim(last.output_end);
        reclaimed_.store(oldest, std::memory_order_relaxed);
    }

    // Waits until all tasks are consumed, and then changes the number of slots and dependencies. False: a scope keeps
    // tasks, and nothing has changed. No other thread looks at slots or edges meanwhile: it does so only for tasks that
    // are not consumed (fan_out I2; I3).
    template <class Wait>
    bool resize(std::size_t slots, std::size_t dependencies, Wait wait) {
        const std::size_t slots_mask = power_of_two("window", slots, max_slots) - 1;
        const std::size_t edges_mask = power_of_two("dependencies", dependencies, max_edges) - 1;
        wait_for_all(wait);
        if (reclaimed() != submitted()) return false;
        const auto [new_slots, new_edges] = new_rings(slots_mask + 1, edges_mask + 1);
        Sync::destroy_array(std::exchange(edges_, new_edges), std::exchange(edges_mask_, edges_mask) + 1);
        Sync::destroy_array(std::exchange(slots_, new_slots), std::exchange(slots_mask_, slots_mask) + 1);
        lap_shift_ = std::countr_zero(slots);
        Sync::reach("task_window.resized");
        return true;
    }

    // For the submitter, or for any thread when no task is alive.
    task_state state(task_id id) const {
        if (id < reclaimed()) return task_state::consumed;
        const slot& s = at(id);
        const word w = s.out.snapshot();
        if (w.references() == 0) return task_state::consumed;
        if (w.closed()) return task_state::completed;
        const std::uint32_t left = s.in.left();
        if (left == join_counter<Sync>::running) return task_state::running;
        return left == 0 ? task_state::ready : task_state::pending;
    }
    // The slot of a task that has completed and is not consumed; otherwise null.
    const slot* completed(task_id id) const {
        if (id >= submitted() || state(id) != task_state::completed) return nullptr;
        return at(id).out.consumed() ? nullptr : &at(id);  // acquires: the caller sees what the task did
    }

    task_id submitted() const { return submitted_.load(std::memory_order_relaxed); }
    task_id reclaimed() const { return reclaimed_.load(std::memory_order_relaxed); }
    std::size_t slots() const { return slots_mask_ + 1; }
    std::size_t bytes() const { return slots() * sizeof(slot) + (edges_mask_ + 1) * sizeof(edge); }
    const output_ring& ring() const { return ring_; }
    failure_log<Sync>& failures() { return log_; }

private:
    static constexpr std::size_t max_slots = std::size_t{1} << 31;
    using word = fan_out_word<Limits>;
    static constexpr std::uint64_t max_edges = std::bit_floor(std::min(word::max_edge, word::max_references - 2));
    static constexpr unsigned waits_before_it_grows = 4;
    struct edge {
        cell<std::uint32_t> next{0};      // the next edge of the producer's list, as 1 + its place; 0: none
        cell<std::uint32_t> consumer{0};  // the consumer, as 1 + its slot
        cell<std::uint32_t> held{0};      // the producer, as 1 + its slot, if this edge holds its output; else 0
    };

    static std::size_t power_of_two(const char* what, std::size_t n, std::uint64_t most, std::size_t least = 1) {
        if (std::has_single_bit(n) && least <= n && n <= most) return n;
        throw std::invalid_argument(std::string("task_graph: ") + what + " is " + std::to_string(n) +
                                    "; it must be a power of two, " +
                                    (least > 1 ? "from window, which is " + std::to_string(least) + ", to " : "at most ") +
                                    std::to_string(most));
    }

    // Allocates both rings or none.
    static std::pair<slot*, edge*> new_rings(std::size_t slots, std::size_t edges) {
        slot* const new_slots = Sync::template create_array<slot>(slots);
        try {
            return {new_slots, Sync::template create_array<edge>(edges)};
        } catch (...) {
            Sync::destroy_array(new_slots, slots);
            throw;
        }
    }

    std::size_t index(task_id id) const { return static_cast<std::size_t>(id) & slots_mask_; }
    std::uint64_t lap(task_id id) const { return id >> lap_shift_; }
    slot& at(task_id id) { return slots_[index(id)]; }
    const slot& at(task_id id) const { return slots_[index(id)]; }
    std::uint32_t place_of(const slot& s) const { return static_cast<std::uint32_t>(&s - slots_) + 1; }
    edge& edge_at(std::uint32_t position) { return edges_[position & edges_mask_]; }
    const edge& edge_at(std::uint32_t position) const { return edges_[position & edges_mask_]; }

    void must_be_possible(task_id id, std::span<const task_id> producers, std::uint32_t bytes) const {
        for (const task_id p : producers)
            if (p >= id) [[unlikely]]
                throw std::invalid_argument("task_graph: task " + std::to_string(id) + " names producer " +
                                            std::to_string(p) +
                                            (p == id ? ", which is itself" : ", which has not been submitted yet"));
        if (producers.size() > edges_mask_ + 1)
            throw std::length_error("task_graph: a task of " + std::to_string(producers.size()) +
                                    " producers; there is room for " + std::to_string(edges_mask_ + 1) +
                                    " dependencies in all");
        if (!ring_.can_ever_hold(bytes))
            throw std::length_error("task_graph: an output of " + std::to_string(bytes) + " bytes; there are " +
                                    std::to_string(ring_.size()) + " for all outputs");
    }

    bool has_room(task_id id, std::size_t edges, std::uint32_t bytes) const {
        return has_edges_and_slots(id, edges) && ring_.has_room(bytes);
    }
    bool has_edges_and_slots(task_id id, std::size_t edges) const {
        return id - reclaimed() <= slots_mask_ && edges + (edges_end_ - edges_reclaimed_) <= edges_mask_ + 1;
    }
    // First tries to wait until a quarter of the window is free, so that a sleeping submitter is not woken for each
    // slot.
    template <class Wait, class Reserve>
    [[gnu::noinline]] void make_room(task_id id, std::size_t edges, std::uint32_t bytes, Wait& wait, Reserve& reserve) {
        reclaim();
        for (bool patient = true; !has_room(id, edges, bytes); patient = false) {
            Sync::reach("task_window.full");
            const task_id oldest = reclaimed();
            if (at(oldest).out.snapshot().kept()) [[unlikely]]
                throw_stuck(oldest);  // I4
            const task_id later = oldest + std::min<task_id>((slots_mask_ + 1) / 4, id - oldest - 1);
            if (!has_edges_and_slots(id, edges) && grows(wait, reserve)) continue;
            wait(patient && !at(later).out.snapshot().kept() ? at(later) : at(oldest));
            reclaim();
        }
    }
    // True: there may be room now. If there is no memory to grow, the window never grows again.
    template <class Wait, class Reserve>
    bool grows(Wait& wait, Reserve& reserve) {
        if ((slots_mask_ + 1) * 2 > most_slots_ || ++waits_ < waits_before_it_grows || !scopes_.empty()) return false;
        waits_ = 0;
        const std::uint64_t dependencies = (edges_mask_ + 1) * 2;
        try {
            reserve((slots_mask_ + 1) * 2);
            return resize((slots_mask_ + 1) * 2, dependencies <= max_edges ? dependencies : edges_mask_ + 1, wait);
        } catch (const std::bad_alloc&) {
            most_slots_ = 0;
            return true;
        }
    }
    [[noreturn, gnu::noinline, gnu::cold]] void throw_stuck(task_id oldest) const {
        throw window_stuck("task_graph: no room, and none will come: task " + std::to_string(oldest) +
                           ", the oldest of " + std::to_string(submitted() - oldest) +
                           " in the window, is kept by a scope that is open (" + std::to_string(scopes_.size()) +
                           " are). End the scope, or make the window, the dependencies or the output heap larger");
    }

    // True: all producers have ended. The last edge is added after everything else; until then the task cannot become
    // ready.
    bool add_edges(slot& s, std::uint32_t position, std::span<const task_id> producers) {
        if (producers.empty()) return true;
        const std::uint32_t consumer = place_of(s);
        const task_id oldest = reclaimed();
        std::uint32_t ended = 0;
        for (const task_id p : producers.first(producers.size() - 1))
            if (!add_edge(s, consumer, position++, p, oldest)) ++ended;
        if (ended != 0) (void)s.in.arrive(ended);  // the unit of the last producer is left
        return !add_edge(s, consumer, position, producers.back(), oldest) && s.in.arrive();
    }
    // False: the producer has ended already.
    bool add_edge(slot& s, std::uint32_t consumer, std::uint32_t position, task_id producer, task_id oldest) {
        const std::uint32_t place = (position & static_cast<std::uint32_t>(edges_mask_)) + 1;
        edge& e = edges_[place - 1];
        if (producer < oldest) [[unlikely]] {
            e.held.write(0);
            look_for_a_cause(s, producer);
            return false;
        }
        slot& p = at(producer);
        const bool hold = p.bytes.read() != 0;
        e.consumer.write(consumer);
        e.held.write(hold ? place_of(p) : 0);
        const link_result result =
            p.out.link(lap(producer), place, hold, [&e](std::uint32_t next) { e.next.write(next); });
        if (result == link_result::linked) return true;
        if (result == link_result::gone) e.held.write(0);
        if (result != link_result::ended) look_for_a_cause(s, producer);
        return false;
    }
    void look_for_a_cause(slot& s, task_id producer) {
        task_id cause = no_cause;
        if (log_.find(producer, cause)) s.cause.store(cause, std::memory_order_relaxed);  // I5
    }

    // Read at the end of every task. They change only while no task is alive.
    std::size_t slots_mask_, edges_mask_;
    int lap_shift_ = std::countr_zero(slots_mask_ + 1);
    slot* slots_ = nullptr;
    edge* edges_ = nullptr;
    // The submitter writes these for every task, so they have cache lines of their own (impl/DECISIONS.md D166). Other
    // threads may read the two ids.
    alignas(cache_line) std::uint32_t edges_end_ = 0;
    std::uint32_t edges_reclaimed_ = 0;  // edges ever given out, and given back; both wrap
    std::size_t most_slots_;             // 0: it does not grow, or there was no memory for that
    unsigned waits_ = 0;                 // waits for room in a window of this size
    output_ring ring_;
    std::vector<std::uint32_t> scopes_;  // for each open scope: 1 + the slot of its newest task
    typename Sync::template atomic<task_id> submitted_, reclaimed_;
    failure_log<Sync> log_;
};

}  // namespace apiary
