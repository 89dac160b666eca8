// task_window: the tasks that live: slots in a ring, which consumer waits for which producer, and
// where outputs lie. It runs nothing: what is ready is handed to the caller.
//
// When to use it. Under a scheduler of dependent tasks (task_graph.hpp). When
// not: for tasks whose producers are always known to have ended.
//
// A task goes through Pending, Ready, Running, Completed and Consumed, each once. It is pending while
// producers are missing (join_counter), completed when its fan_out is closed, consumed when no
// reference is left. Its slot is then free, as soon as all older ones are consumed, too.
//
// What a task takes is one slot, one edge for each producer, and a block for its output. All three
// lie in rings, are given out in the order of the ids and come back in that order. So "full" is one
// question, and the answer is to wait for the oldest task.
//
// `Body` is what the user keeps in a slot. `Limits` narrows the fields of the word for checks.
//
// Threads.   submit, begin_scope, end_scope, wait_for_all, reclaim, resize: one thread at a time, the submitter. complete,
//            input: the thread that runs the task. submitted, reclaimed: any, as hints.
// Blocking.  submit, resize and wait_for_all call wait(slot) when they must, and it returns when the slot is
//            spent. The rest is lock-free, but for the log of failures.
// Errors.    submit throws before anything has changed: std::invalid_argument for a producer that is
//            not older, std::length_error for what the rings could never hold, window_stuck when the
//            oldest task is kept by a scope that is open. It passes on what fill throws.
//
// Invariants
//   I1  reclaimed <= every task that is not consumed. The submitter alone moves it (A25, B32 and A38
//       cannot be: there is no other thread that looks at the head).
//   I2  A slot is set up by the submitter when it is taken again, not by the thread that consumed it
//       (A24).
//   I3  The edges of a task are its consumers' links: they lie in its own part of the ring, and come
//       back with its slot. A producer that walks its list reads an edge before it arrives at the
//       consumer, which cannot end before. (The oldest consumer comes last, and no edge of a younger
//       one comes back before it: the order of the two is not what this rests on.)
//   I4  A wait ends: the oldest task is in no open scope, so it ends when its producers have, and is
//       consumed when its consumers have, and all of those have been submitted (A31).
//   I5  A task that failed, or was cancelled, cancels each of its consumers, early or late: by `cause`
//       before the arrival, or by the log.
//
// Checked by model_check/schedulers/task_graph, and by the museum's twins of A24 to A38. Source: seed 000;
// README.md has the departures.
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

// Thrown by a submit that could wait for ever: the oldest task is kept by a scope that only the submitter can end.
struct window_stuck : std::logic_error {
    using std::logic_error::logic_error;
};

struct window_sizes {
    std::size_t slots = 16384;         // a power of two
    std::size_t dependencies = 65536;  // a power of two
    std::uint64_t output_bytes = std::uint64_t{1} << 20;
    std::size_t most_slots = 0;  // a window that is full again and again doubles, up to this; 0: it stays
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

    // Two lines: the body, and what links and reclaims look at.
    struct alignas(64) slot : Body {
        join_counter<Sync> in;
        std::uint32_t scope_next = 0;  // the submitter's: 1 + an older slot of the scope; 0: none
        fan_out<Sync, Limits> out;
        cell<std::uint32_t> edges{0}, edges_end{0};     // by the submitter, before the first edge
        cell<std::uint32_t> bytes{0}, output_grain{0};  // so are these: its output, and where it begins, in grains
        cell<task_id> id{0};
        typename Sync::template atomic<task_id> cause;  // why it is cancelled; written by producers before they arrive
        std::uint64_t output_end = 0;                   // the submitter's

        slot() { cause.store(no_cause, std::memory_order_relaxed); }
        std::uint64_t output_at() const { return std::uint64_t{output_grain.read()} * output_ring::grain; }
    };

    struct submitted_task {
        slot* task;
        bool ready;  // it is the caller's to hand on
    };

    explicit task_window(const window_sizes& sizes)
        : slots_mask_(power_of_two("window", sizes.slots, max_slots) - 1),
          edges_mask_(power_of_two("dependencies", sizes.dependencies, max_edges) - 1),
          most_slots_(sizes.most_slots == 0 ? 0 : power_of_two("window_most", sizes.most_slots, max_slots, sizes.slots)),
          ring_(sizes.output_bytes) {
        if (sizes.output_bytes > output_ring::grain << 32)  // a slot names its block in 32 bits, by grains
            throw std::invalid_argument("task_graph: output_bytes is " + std::to_string(sizes.output_bytes) +
                                        "; it can be up to 2^36");
        submitted_.store(0, std::memory_order_relaxed);
        reclaimed_.store(0, std::memory_order_relaxed);
        std::tie(slots_, edges_) = new_rings(slots_mask_ + 1, edges_mask_ + 1);
    }
    ~task_window() {
        Sync::destroy_array(edges_, edges_mask_ + 1);
        Sync::destroy_array(slots_, slots_mask_ + 1);
    }
    task_window(const task_window&) = delete;
    task_window& operator=(const task_window&) = delete;

    // A task that waits for its producers, which may have been consumed. fill(slot) puts the user's part in; wait(slot) blocks
    // until that slot is spent; reserve(slots) is called before the window grows to so many.
    template <class Fill, class Wait, class Reserve = nothing_to_reserve>
    submitted_task submit(std::span<const task_id> producers, std::uint32_t bytes, Fill fill, Wait wait,
                          Reserve reserve = {}) {
        const task_id id = submitted_.load(std::memory_order_relaxed);
        must_be_possible(id, producers, bytes);
        if (!has_room(id, producers.size(), bytes)) [[unlikely]]
            make_room(id, producers.size(), bytes, wait, reserve);
        slot& s = at(id);
        fill(s);  // nothing has changed when it throws
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

    // The task has run, or was cancelled; its callable is destroyed. `cause`: no_cause, or why its consumers are cancelled; it is
    // in the log then. on_ready(slot): a consumer that is ready, and the caller's to hand on. notify(): wakes the submitter,
    // which has called wait. The slot is not the caller's behind this.
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

    // The i-th producer's slot, whose output is held until this task completes. Null: it has none, or was consumed before this
    // task was submitted.
    const slot* input(const slot& s, std::size_t i) const {
        const std::uint32_t first = s.edges_end.read() - s.edges.read();
        const std::uint32_t producer = edge_at(first + static_cast<std::uint32_t>(i)).held.read();
        return producer == 0 ? nullptr : &slots_[producer - 1];
    }

    // Tasks that are submitted between the two keep their outputs until the end; an inner scope has its own.
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

    // Until all that was submitted has completed.
    template <class Wait>
    void wait_for_all(Wait wait) {
        const task_id first = reclaimed();
        for (task_id id = submitted(); id != first; --id)  // the newest first: most of the others have ended then
            if (slot& s = at(id - 1); !s.out.spent()) wait(s);
        reclaim();
    }
    // Frees what is consumed, from the oldest on.
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

    // Waits until all is consumed, and then has so many slots and dependencies. False: a scope keeps tasks; nothing has changed.
    // No other thread looks at slots or edges then: it could do so for tasks alone that are not consumed (fan_out I2; I3).
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

    // By the submitter, or when no task lives.
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
    // The slot of a task that has completed and is not consumed; else null.
    const slot* completed(task_id id) const {
        if (id >= submitted() || state(id) != task_state::completed) return nullptr;
        return at(id).out.consumed() ? nullptr : &at(id);  // acquires what the task did
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
        cell<std::uint32_t> next{0};      // in the producer's list: 1 + an edge's place; 0: none
        cell<std::uint32_t> consumer{0};  // 1 + its slot
        cell<std::uint32_t> held{0};      // 1 + the producer's slot, when this edge holds its output; 0: it does not
    };

    static std::size_t power_of_two(const char* what, std::size_t n, std::uint64_t most, std::size_t least = 1) {
        if (std::has_single_bit(n) && least <= n && n <= most) return n;
        throw std::invalid_argument(std::string("task_graph: ") + what + " is " + std::to_string(n) +
                                    "; it must be a power of two, " +
                                    (least > 1 ? "from window, which is " + std::to_string(least) + ", to " : "at most ") +
                                    std::to_string(most));
    }

    // Both or neither.
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
    // At first it waits for a quarter of the window, so that a submitter that sleeps is not woken for each slot.
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
    // True: there may be room now. Without memory it stays as it is, for good.
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

    // True: all producers have ended. The last edge is added when all else is done: until then the task cannot become ready.
    bool add_edges(slot& s, std::uint32_t position, std::span<const task_id> producers) {
        if (producers.empty()) return true;
        const std::uint32_t consumer = place_of(s);
        const task_id oldest = reclaimed();
        std::uint32_t ended = 0;
        for (const task_id p : producers.first(producers.size() - 1))
            if (!add_edge(s, consumer, position++, p, oldest)) ++ended;
        if (ended != 0) (void)s.in.arrive(ended);  // the last one's unit is left
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

    // What every task's end reads; it changes only while no task lives.
    std::size_t slots_mask_, edges_mask_;
    int lap_shift_ = std::countr_zero(slots_mask_ + 1);
    slot* slots_ = nullptr;
    edge* edges_ = nullptr;
    // The submitter's, written at every task, and so on lines apart; others may read the two ids.
    alignas(cache_line) std::uint32_t edges_end_ = 0;
    std::uint32_t edges_reclaimed_ = 0;  // places ever given out, and given back; they wrap
    std::size_t most_slots_;             // 0: it does not grow, or there was no memory to
    unsigned waits_ = 0;                 // for room, in a window of this size
    output_ring ring_;
    std::vector<std::uint32_t> scopes_;  // of each open scope, 1 + the slot of its newest task
    typename Sync::template atomic<task_id> submitted_, reclaimed_;
    failure_log<Sync> log_;
};

}  // namespace apiary
