// graph: one execution graph. The events of every thread in program order, the store each read took its
// value from (rf), and for every location the order of its stores (co).
//
// Invariants
//   G1  sb ∪ rf is acyclic: an event is only ever added after what it reads from.
//   G2  hb, porf, rel, pend, relf, twins and causes of an event depend on its porf predecessors alone, so that they stay
//       right when a revisit removes other events.
//   G3  Stamps grow along sb within a thread, so that what a revisit removes is a suffix of every thread.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

namespace apiary::model::explorer {

inline constexpr unsigned max_threads = 16;
inline constexpr unsigned main_thread = max_threads;  // before() and after(): it has no events

using vector_clock = std::array<std::uint16_t, max_threads>;
using thread_set = std::uint16_t;  // a bit for each

inline void join(vector_clock& into, const vector_clock& from) {
    for (unsigned i = 0; i < max_threads; ++i) into[i] = std::max(into[i], from[i]);
}

// Names an event: thread and index, or one of two that are none.
using event_id = std::uint32_t;
inline constexpr event_id initial_store = 0xFFFF'FFFFU;
inline constexpr event_id no_event = 0xFFFF'FFFEU;
constexpr event_id make_id(unsigned thread, unsigned index) { return thread << 16 | index; }
constexpr unsigned thread_of(event_id id) { return id >> 16; }
constexpr unsigned index_of(event_id id) { return id & 0xFFFFU; }
constexpr bool is_event(event_id id) { return id < no_event; }

enum class event_kind : std::uint8_t { read, write, fence, choice, alloc, release };

// What a read does with the value it gets.
enum class read_mode : std::uint8_t {
    plain,
    rmw,           // always followed by its write
    cas,           // writes when the value matches
    weak_cas,      // the same, and may fail on a match (bounded)
    unless,        // writes when the value does not match: a notification, where somebody waits
    wait_rmw,      // blocks until the value matches, then writes: lock, park
    timed_rmw,     // the same, and may give up (bounded): park_until
    // Of a queue of waiters: blocks until the value matches, and reads the first store that does. No write follows,
    // unless it wakes for nothing, or gives up (bounded).
    in_queue,        // may wake for nothing: condvar::wait
    in_queue_until,  // may do both: a condition variable's wait with a deadline
    spin_until,    // blocks until a predicate holds
};
constexpr bool waits(read_mode m) { return m >= read_mode::wait_rmw; }
constexpr bool has_deadline(read_mode m) { return m == read_mode::timed_rmw || m == read_mode::in_queue_until; }
constexpr bool waits_in_queue(read_mode m) { return m == read_mode::in_queue || m == read_mode::in_queue_until; }

// Orders beside those of std::memory_order: of the asymmetric fences.
inline constexpr std::uint8_t light_order = 6, heavy_order = 7;

// Memory that ended a scope is given to a later scope of the same thread alone: it stands for a place on that thread's stack.
inline constexpr std::uint32_t memory_of_a_scope = 1;

enum event_flag : std::uint8_t {
    exclusive = 1,  // a read whose write follows, or that write
    forced = 2,     // took the way out that only a bounded choice offers
    blocked = 4,    // the thread waits here for another store
    recheck = 8,    // the predicate of a spin_until has to be asked again
    // A lock that stood here blocked, reading another's lock, until the unlock was put under it. It is the maximal
    // way on from there, so that a revisit which removes the unlock takes it back to the blocked read, and asks of
    // its maximality what it would have asked of that. TruSt makes two graphs of this: one with the revisit, one
    // that goes on beside the blocked read, never ends, and only revisits.
    woken = 16,
    gave_up = 32,  // of an in_queue_until that was forced: it timed out, and did not wake for nothing
};

// The flags of a wait that gave up.
constexpr std::uint8_t timed_out(read_mode m) {
    return m == read_mode::in_queue_until ? std::uint8_t{forced | exclusive | gave_up} : std::uint8_t{forced | exclusive};
}

enum bounded_choice : unsigned { weak_failures, timeouts, spurious_wakes, reuses, bounded_choices };

struct event {
    vector_clock hb{};         // happens-before, this event included
    vector_clock porf{};       // sb ∪ rf ∪ twin order (symmetry.hpp), this event included
    vector_clock rel{};        // write: what an acquire read of it learns
    vector_clock pend{};       // what a later acquire fence of this thread learns
    vector_clock relf{};       // clock of the latest release fence
    std::uint64_t value = 0;   // read, written, chosen; alloc and release: the address
    std::uint64_t expect = 0;  // reads: match is (value & mask) == expect; alloc, release: the size
    std::uint64_t mask = 0;
    std::uint32_t loc = 0;         // stable name of the location; alloc, release: 1 where the memory is a scope's
    std::uint32_t slot = no_slot;  // index into graph::slots
    event_id rf = no_event;        // read: the store; alloc: the release whose memory it reuses
    std::uint32_t stamp = 0;
    std::uint32_t site = 0;
    std::uint16_t thread = 0, index = 0;
    std::uint16_t position = 0;  // write: 1-based place in co; 0 is the initial store
    event_kind kind = event_kind::fence;
    read_mode mode = read_mode::plain;
    std::uint8_t order = 0;  // std::memory_order in force, or that of an asymmetric fence
    std::uint8_t success_order = 0, failure_order = 0;
    std::uint8_t flags = 0;
    thread_set twins = 0;   // threads alike and before this one, with the same events so far (symmetry.hpp)
    thread_set causes = 0;  // threads declared alike that have events in its sb ∪ rf past

    static constexpr std::uint32_t no_slot = 0xFFFF'FFFFU;

    [[nodiscard]] event_id id() const { return make_id(thread, index); }
    [[nodiscard]] bool has(event_flag f) const { return (flags & f) != 0; }
    // A compare-exchange that failed and a wait that gave up have an order of their own, by the flags.
    void settle_order() {
        if (mode == read_mode::cas || mode == read_mode::weak_cas)
            order = has(exclusive) ? success_order : failure_order;
        else if (mode == read_mode::timed_rmw)
            order = has(forced) ? failure_order : success_order;
    }
    [[nodiscard]] bool seq_cst() const {
        return order == static_cast<std::uint8_t>(std::memory_order_seq_cst) || heavy();
    }
    [[nodiscard]] bool light() const { return order == light_order; }
    [[nodiscard]] bool heavy() const { return order == heavy_order; }
    // A fence that psc knows.
    [[nodiscard]] bool strong_fence() const { return kind == event_kind::fence && (seq_cst() || light()); }
    [[nodiscard]] bool acquires() const {
        return order == static_cast<std::uint8_t>(std::memory_order_acquire) ||
               order == static_cast<std::uint8_t>(std::memory_order_consume) ||
               order == static_cast<std::uint8_t>(std::memory_order_acq_rel) || seq_cst();
    }
    [[nodiscard]] bool releases() const {
        return order == static_cast<std::uint8_t>(std::memory_order_release) ||
               order == static_cast<std::uint8_t>(std::memory_order_acq_rel) || seq_cst();
    }
};

struct location {
    std::uint32_t loc = 0;
    std::uint64_t initial = 0;
    bool uninitialised = false;
    std::vector<event_id> co;  // without the initial store
};

struct graph {
    std::array<std::vector<event>, max_threads> threads;
    std::vector<location> slots;
    std::uint32_t next_stamp = 1;
    thread_set alike = 0;                             // all that are alike to another; 0 where symmetry is not used
    std::array<thread_set, max_threads> alike_to{};  // by thread: those, with itself

    [[nodiscard]] event& at(event_id id) { return threads[thread_of(id)][index_of(id)]; }
    [[nodiscard]] const event& at(event_id id) const { return threads[thread_of(id)][index_of(id)]; }
    [[nodiscard]] unsigned size(unsigned thread) const { return static_cast<unsigned>(threads[thread].size()); }
    [[nodiscard]] unsigned position(event_id store) const { return is_event(store) ? at(store).position : 0; }
    // The store at a place of co; place 0 is the initial one.
    [[nodiscard]] event_id store_at(unsigned slot, unsigned place) const {
        return place == 0 ? initial_store : slots[slot].co[place - 1];
    }
    [[nodiscard]] std::uint64_t value_of(unsigned slot, event_id store) const {
        return is_event(store) ? at(store).value : slots[slot].initial;
    }
    // Whether the store at `place` is followed at once by the write of a read-modify-write that read it.
    [[nodiscard]] bool has_rmw_successor(unsigned slot, unsigned place) const {
        const auto& co = slots[slot].co;
        if (place >= co.size()) return false;
        const event& next = at(co[place]);
        return next.has(exclusive) && read_of(next).rf == store_at(slot, place);
    }
    // The read half of a read-modify-write, given its write half. A choice may stand between them.
    [[nodiscard]] const event& read_of(const event& write) const {
        unsigned i = write.index;
        do --i;
        while (threads[write.thread][i].kind != event_kind::read);
        return threads[write.thread][i];
    }
    [[nodiscard]] unsigned count() const {
        std::size_t n = 0;
        for (const auto& t : threads) n += t.size();
        return static_cast<unsigned>(n);
    }
    void clear() {
        for (auto& t : threads) t.clear();
        slots.clear();
        next_stamp = 1;
        alike = 0;
        alike_to = {};
    }
    // Before any of them has an event.
    void are_alike(thread_set all) {
        alike |= all;
        for (unsigned t = 0; t < max_threads; ++t)
            if ((all >> t & 1U) != 0) alike_to[t] |= all;
    }

    // Computes the clocks of the last event of its thread from its predecessors.
    void link(event& e) const;
    void insert_in_co(event& write, unsigned place);  // place: number of stores in front of it, the initial one apart
    void remove_from_co(const event& write);
    // How often a bounded choice has been made.
    [[nodiscard]] unsigned used(bounded_choice what) const;
    // A number that two graphs share when they have the same sb, rf and co.
    [[nodiscard]] std::uint64_t fingerprint() const;
};

// Parts of the model that a test deletes, one at a time, to see that something notices.
struct attack {
    bool no_read_coherence = false, no_write_coherence = false, no_atomicity = false;
    bool no_psc_base = false, no_psc_fence = false, no_light_fence = false;
    bool no_synchronisation = false, no_release_sequence = false, no_acquire_fence = false, no_release_fence = false;
    bool old_release_sequence = false;  // C++11: a thread's own later store continues its release
    bool no_weak_failure = false, no_reuse = false, no_spurious_wake = false, no_timeout = false;
    bool no_race_detection = false, no_lifetime = false, no_revisit = false;
    bool no_waking = false;  // not an attack: plain TruSt, which finds the same graphs
    bool no_twin_order = false, no_purity = false, torn_twins = false;  // what keeps symmetry sound
    bool verify_increments = false;    // not an attack: compares the fast psc check with the whole one
    bool go_on_after_failure = false;  // not an attack: counts failures as outcomes, to compare searches
};
inline constinit attack attack_switches;
inline attack& attacks() { return attack_switches; }

}  // namespace apiary::model::explorer
