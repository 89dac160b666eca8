// A24 to A28, A31, A36 to A38, B32, B35 and C05: the ring of tasks of seed 000, a defect at a time.
//
// From: seed 000 sections 1.1, 1.2, 3.1 to 3.3; B32 simpler #171 and #1545; B35 taskflow a5151541; C05 this project's own
// first repair of A28. A26, A27 and A36 take
// the obvious reading where the seed leaves the detail open.
// Seen by: both engines, plain interleaving; B35 is a missing acquire.
// Fixed twin: the window of task_graph as it ships, in the same scenario.
#include <optional>
#include <type_traits>

#include <apiary/model_check/register.hpp>

#include "shipped_window.hpp"
#include "task_ring.hpp"

namespace a24_to_a38_task_ring {
namespace {

using namespace apiary;
using namespace apiary::museum;

// What tasks do: read what their producers wrote, write for their consumers. The thread that makes a task ready may run it.
template <class Sync, unsigned Window, ring_defects Defects, bool Ships = (Defects == ring_defects{})>
struct graph {
    static constexpr unsigned most_tasks = 4;

    std::conditional_t<Ships, shipped_window<Sync, Window>, task_ring<Sync, Window, Defects>> ring;
    std::array<typename Sync::template cell<unsigned>, most_tasks> output;
    std::array<typename Sync::template atomic<unsigned>, most_tasks> ready, ran;
    typename Sync::mutex turns;

    graph() {
        for (unsigned i = 0; i != most_tasks; ++i)
            ready[i].store(0, std::memory_order_relaxed), ran[i].store(0, std::memory_order_relaxed);
    }

    template <class... Producers>
    void submit(Producers... producers) {
        if constexpr (Ships)
            submit_to_what_ships(producers...);
        else
            submit_to_the_ring(producers...);
    }
    template <class... Producers>
    void submit_to_what_ships(Producers... producers) {
        bool at_once = false;
        std::optional<unsigned> task = ring.submit(at_once, producers...);
        if (!task) {
            ring.end_scope();
            task = ring.submit(at_once, producers...);
        }
        if (at_once) hand_on(*task);
    }
    template <class... Producers>
    void submit_to_the_ring(Producers... producers) {
        std::optional<unsigned> task = ring.begin_task();
        if (!task) {  // A31: the scope is in its own way
            ring.end_scope();
            task = ring.begin_task();
        }
        (ring.add_input(*task, producers), ...);
        if (ring.end_task(*task)) hand_on(*task);
    }
    void hand_on(unsigned task) { ready[task].fetch_add(1, std::memory_order_release); }
    template <class... Producers>
    void run_when_ready(unsigned task, Producers... producers) {
        Sync::spin_until(ready[task], [](unsigned n) { return n != 0; });
        run(task, producers...);
    }

    template <class... Producers>
    void run(unsigned task, Producers... producers) {
        (need(producers), ...);
        output[task].write(task);
        ran[task].fetch_add(1, std::memory_order_relaxed);
        ring.complete(task, [this](unsigned consumer) { hand_on(consumer); });
    }
    void need(unsigned producer) {
        // Relaxed: it is the ring that must have ordered this.
        Sync::law(ran[producer].load(std::memory_order_relaxed) != 0, "a task ran before its inputs were there");
        Sync::law(ring.head() <= producer, "an input was reclaimed under its consumer");
        Sync::law(output[producer].read() == producer, "a task read another's output");
    }

    // Of what ships the head is the submitter's, whichever thread that is: one at a time.
    void submit_in_turn() {
        if constexpr (!Ships) return submit();
        const typename Sync::lock turn(turns);
        submit();
    }
    void advance_in_turn() {
        if constexpr (!Ships) return ring.advance();
        const typename Sync::lock turn(turns);
        ring.advance();
    }

    void expect_head(unsigned task) {
        if constexpr (Ships) ring.advance();
        Sync::law(ring.head() <= task, "the head has passed a live task");
        Sync::law(ring.head() >= task, "a consumed task was never reclaimed");
    }
};

// A24. The slot is free as soon as it is marked: thread 0 takes it, as the seed's scheduler thread lets it.
template <class Sync, ring_defects Defects>
struct slot_taken_at_once : graph<Sync, 1, Defects> {
    static constexpr unsigned threads = 2;
    void before() {
        this->submit();
        this->ring.end_scope();
    }
    void thread(unsigned i) {
        if (i == 1) return this->run(0);
        this->ring.advance();
        this->submit();
        this->ring.end_scope();
    }
    void after() {
        this->run(1);
        this->expect_head(2);
    }
};
template <class Sync>
struct a24_counts_reset_late : slot_taken_at_once<Sync, {.counts_reset_after_consumed = true}> {
    static constexpr const char* what = "the counts are reset after CONSUMED is published: the next task's are wiped";
};
APIARY_EXHIBIT(a24_counts_reset_late, "never reclaimed");
template <class Sync>
struct a24_fixed : slot_taken_at_once<Sync, ring_defects{}> {
    static constexpr const char* what = "twin of A24: the submitter sets the slot up when it takes it again";
    static constexpr const char* exhibit = "a24_counts_reset_late";
};
APIARY_CHECK(a24_fixed);

// A25, first half. Thread 1 is the scheduler thread, which moves the head in every round.
template <class Sync, ring_defects Defects>
struct two_move_the_head : graph<Sync, 2, Defects> {
    static constexpr unsigned threads = 2;
    void before() {
        this->submit(), this->submit();
        this->ring.end_scope();
    }
    void thread(unsigned i) {
        if (i == 0)
            this->run(0);
        else
            this->ring.advance();
    }
    void after() { this->expect_head(1); }
};
template <class Sync>
struct a25_head_counted_twice : two_move_the_head<Sync, {.head = head_move::by_anybody}> {
    static constexpr const char* what = "two see one task consumed and both count it: the live one behind is reclaimed";
};
APIARY_EXHIBIT(a25_head_counted_twice, "passed a live task");
template <class Sync>
struct a25_fixed : two_move_the_head<Sync, ring_defects{}> {
    static constexpr const char* what = "twin of A25: the submitter alone moves the head";
    static constexpr const char* exhibit = "a25_head_counted_twice";
};
APIARY_CHECK(a25_fixed);

// A25, second half, and B32.
template <class Sync, ring_defects Defects>
struct two_tasks_end : graph<Sync, 2, Defects> {
    static constexpr unsigned threads = 2;
    void before() {
        this->submit(), this->submit();
        this->ring.end_scope();
    }
    void thread(unsigned i) { this->run(i); }
    void after() { this->expect_head(2); }
};
template <class Sync>
struct a25_only_from_the_head : two_tasks_end<Sync, {.head = head_move::only_from_the_head}> {
    static constexpr const char* what = "who is not the head leaves, while the head's own walk has passed it by";
};
APIARY_EXHIBIT(a25_only_from_the_head, "never reclaimed");
template <class Sync>
struct b32_loser_of_the_lock_leaves : two_tasks_end<Sync, {.head = head_move::loser_of_the_lock_leaves}> {
    static constexpr const char* what =
        "the loser of the advance lock leaves its reclaim to a winner that has looked already";
};
APIARY_EXHIBIT(b32_loser_of_the_lock_leaves, "never reclaimed");
template <class Sync>
struct b32_fixed : two_tasks_end<Sync, ring_defects{}> {
    static constexpr const char* what =
        "twin of B32 and A25: nobody reclaims but the submitter, and it looks at all that is consumed";
    static constexpr const char* exhibit = "b32_loser_of_the_lock_leaves";
};
APIARY_CHECK(b32_fixed);

// A26. Task 2 has two inputs; task 0 completes while its edges are being added.
template <class Sync, ring_defects Defects>
struct input_ends_early : graph<Sync, 3, Defects> {
    static constexpr unsigned threads = 2;
    void before() { this->submit(), this->submit(); }
    void thread(unsigned i) {
        if (i == 0) return this->submit(0U, 1U);
        this->run(0);
        if (this->ready[2].load(std::memory_order_acquire) != 0) this->run(2, 0U, 1U);
    }
    void after() {
        this->run(1);
        Sync::law(this->ready[2].load(std::memory_order_relaxed) == 1, "a task did not become ready once");
        this->run(2, 0U, 1U);
    }
};
template <class Sync>
struct a26_ready_too_early : input_ends_early<Sync, {.no_guard_while_edges_come = true}> {
    static constexpr const char* what = "the first input ends before the second edge is added: the count is reached";
};
APIARY_EXHIBIT(a26_ready_too_early, "before its inputs were there");
template <class Sync>
struct a26_fixed : input_ends_early<Sync, ring_defects{}> {
    static constexpr const char* what = "twin of A26: all inputs are expected before the first edge is added";
    static constexpr const char* exhibit = "a26_ready_too_early";
};
APIARY_CHECK(a26_fixed);

template <class Sync>
struct both_inputs_end_early : graph<Sync, 3, ring_defects{}> {
    static constexpr const char* what = "a task is submitted while its two inputs end: it runs once, after both";
    static constexpr const char* exhibit = "a26_ready_too_early";
    static constexpr unsigned threads = 3;
    void before() { this->submit(), this->submit(); }
    void thread(unsigned i) {
        if (i == 0) this->submit(0U, 1U), this->run(1);
        if (i == 1) this->run(0);
        if (i == 2) this->run_when_ready(2, 0U, 1U);
    }
    void after() { Sync::law(this->ready[2].load(std::memory_order_relaxed) == 1, "a task did not become ready once"); }
};
APIARY_CHECK(both_inputs_end_early);

// A27.
template <class Sync, ring_defects Defects>
struct edge_against_completion : graph<Sync, 2, Defects> {
    static constexpr unsigned threads = 2;
    void before() { this->submit(); }
    void thread(unsigned i) {
        if (i == 0)
            this->submit(0U);
        else
            this->run(0);
    }
    void after() { Sync::law(this->ready[1].load(std::memory_order_relaxed) == 1, "nobody released the consumer"); }
};
template <class Sync>
struct a27_edge_after_the_walk : edge_against_completion<Sync, {.edge_ignores_completion = true}> {
    static constexpr const char* what = "a consumer is appended after its producer has walked the list";
};
APIARY_EXHIBIT(a27_edge_after_the_walk, "nobody released");
template <class Sync>
struct a27_fixed : edge_against_completion<Sync, ring_defects{}> {
    static constexpr const char* what = "twin of A27: the end is marked by the step that takes the list";
    static constexpr const char* exhibit = "a27_edge_after_the_walk";
};
APIARY_CHECK(a27_fixed);

// A28. Task 1 gives its reference to task 0 back while the submitter adds one and closes the scope.
template <class Sync, ring_defects Defects>
struct edge_against_release : graph<Sync, 3, Defects> {
    static constexpr unsigned threads = 2;
    void before() {
        this->submit(), this->submit(0U);
        this->run(0);
    }
    void thread(unsigned i) {
        if (i == 1) return this->run(1, 0U);
        this->submit(0U);
        this->ring.end_scope();
        this->run(2, 0U);
    }
};
template <class Sync>
struct a28_count_loaded_first : edge_against_release<Sync, {.count = reference_count::two_words_given_first}> {
    static constexpr const char* what =
        "the count of references is loaded before those that came back: a stale one matches";
};
APIARY_EXHIBIT(a28_count_loaded_first, "reclaimed under its consumer");
template <class Sync>
struct a28_fixed : edge_against_release<Sync, ring_defects{}> {
    static constexpr const char* what = "twin of A28: one count, which the last one takes to 0";
    static constexpr const char* exhibit = "a28_count_loaded_first";
};
APIARY_CHECK(a28_fixed);

// C05. As A28, but what the seed's reader would write in its place: give back, then compare with the number given. Between the
// two the slot may have got its next task, whose number matches.
template <class Sync, ring_defects Defects>
struct release_against_reuse : graph<Sync, 2, Defects> {
    static constexpr unsigned threads = 2;
    void before() {
        this->submit(), this->submit(0U);
        this->run(0);
    }
    void thread(unsigned i) {
        if (i == 1) return this->run(1, 0U);
        this->ring.end_scope();
        this->submit();
    }
    void after() { this->expect_head(2); }
};
template <class Sync>
struct c05_number_read_after_release : release_against_reuse<Sync, {.count = reference_count::two_words_given_last}> {
    static constexpr const char* what =
        "a reference is given back, and then compared with the number of the slot's next task";
};
APIARY_EXHIBIT(c05_number_read_after_release, "passed a live task");
template <class Sync>
struct c05_fixed : release_against_reuse<Sync, ring_defects{}> {
    static constexpr const char* what = "twin of C05: one count, which the last one takes to 0";
    static constexpr const char* exhibit = "c05_number_read_after_release";
};
APIARY_CHECK(c05_fixed);

// A31. The submitter's own scope keeps the window full.
template <class Sync, ring_defects Defects>
struct scope_fills_the_window : graph<Sync, 1, Defects> {
    static constexpr unsigned threads = 2;
    void before() { this->submit(); }
    void thread(unsigned i) {
        if (i == 0)
            this->submit();
        else
            this->run(0);
    }
    void after() { this->expect_head(1); }
};
template <class Sync>
struct a31_own_scope_unseen : scope_fills_the_window<Sync, {.own_scope_unseen = true}> {
    static constexpr const char* what = "the submitter waits for a slot that only the end of its own scope can free";
};
APIARY_EXHIBIT(a31_own_scope_unseen, "deadlock");
template <class Sync>
struct a31_fixed : scope_fills_the_window<Sync, ring_defects{}> {
    static constexpr const char* what = "twin of A31: the submitter is told that its scope is in the way";
    static constexpr const char* exhibit = "a31_own_scope_unseen";
};
APIARY_CHECK(a31_fixed);

// A36. Window of two: task 2 takes the slot of task 0 when task 1, its consumer, has ended.
template <class Sync, ring_defects Defects>
struct consumer_overtakes_completer : graph<Sync, 2, Defects> {
    static constexpr unsigned threads = 3;
    void before() {
        this->submit(), this->submit(0U);
        this->ring.end_scope();
    }
    void thread(unsigned i) {
        if (i == 0) this->submit();
        if (i == 1) this->run(0);
        if (i == 2) this->run_when_ready(1, 0U);
    }
};
template <class Sync>
struct a36_slot_reused_under_walk : consumer_overtakes_completer<Sync, {.completed_before_walks = true}> {
    static constexpr const char* what =
        "COMPLETED before the walks: the last consumer frees the slot, the walk goes on in the new task";
};
APIARY_EXHIBIT(a36_slot_reused_under_walk, "data race");
template <class Sync>
struct a36_fixed : consumer_overtakes_completer<Sync, ring_defects{}> {
    static constexpr const char* what =
        "twin of A36: the completer's reference goes with the list, and after that it walks consumers alone";
    static constexpr const char* exhibit = "a36_slot_reused_under_walk";
};
APIARY_CHECK(a36_fixed);

// A37.
template <class Sync, ring_defects Defects>
struct window_is_full : graph<Sync, 1, Defects> {
    static constexpr unsigned threads = 2;
    void before() {
        this->submit();
        this->ring.end_scope();
    }
    void thread(unsigned i) {
        if (i == 0)
            this->submit();
        else
            this->run(0);
    }
};
template <class Sync>
struct a37_nobody_signals : window_is_full<Sync, {.room = room_wait::never_signalled}> {
    static constexpr const char* what = "the submitter waits for room on a condition that nobody signals";
};
APIARY_EXHIBIT(a37_nobody_signals, "deadlock");
template <class Sync>
struct a37_looks_before_the_mutex : window_is_full<Sync, {.room = room_wait::looks_before_the_mutex}> {
    static constexpr const char* what =
        "the submitter looks outside the mutex and then waits: the signal came in between";
};
APIARY_EXHIBIT(a37_looks_before_the_mutex, "deadlock");
template <class Sync>
struct a37_looks_once : window_is_full<Sync, {.room = room_wait::looks_once}> {
    static constexpr const char* what =
        "the submitter takes any wake for room: one for nothing, and it takes a live slot";
};
APIARY_EXHIBIT(a37_looks_once, "data race");
template <class Sync>
struct a37_fixed : window_is_full<Sync, ring_defects{}> {
    static constexpr const char* what = "twin of A37: the slot that is waited for is marked in its own word";
    static constexpr const char* exhibit = "a37_nobody_signals";
    static constexpr std::array engine_laws{"deadlock"};
};
APIARY_CHECK(a37_fixed);

// A38. The slot still says CONSUMED of the task before; thread 1 is the scheduler thread.
template <class Sync, ring_defects Defects>
struct head_against_submit : graph<Sync, 1, Defects> {
    static constexpr unsigned threads = 2;
    void before() {
        this->submit();
        this->ring.end_scope();
        this->run(0);
    }
    void thread(unsigned i) {
        if (i == 0)
            this->submit_in_turn();
        else
            this->advance_in_turn();
    }
    void after() { this->expect_head(1); }
};
template <class Sync>
struct a38_published_before_pending : head_against_submit<Sync, {.published_before_pending = true}> {
    static constexpr const char* what =
        "the index is published before the slot says PENDING: the head passes a live task";
};
APIARY_EXHIBIT(a38_published_before_pending, "passed a live task");
template <class Sync>
struct a38_fixed : head_against_submit<Sync, ring_defects{}> {
    static constexpr const char* what = "twin of A38: whichever thread submits or looks at the head, it has its turn";
    static constexpr const char* exhibit = "a38_published_before_pending";
};
APIARY_CHECK(a38_fixed);

// B35. Two inputs end together; the one that completes the count runs the consumer.
template <class Sync, ring_defects Defects>
struct two_inputs_join : graph<Sync, 3, Defects> {
    static constexpr unsigned threads = 2;
    void before() { this->submit(), this->submit(), this->submit(0U, 1U); }
    void thread(unsigned i) {
        this->output[i].write(i);
        this->ring.complete(i, [this](unsigned) {
            Sync::law(this->output[0].read() + this->output[1].read() == 1, "a task misses an input");
        });
    }
};
template <class Sync>
struct b35_join_without_acquire : two_inputs_join<Sync, {.join_without_acquire = true}> {
    static constexpr const char* what = "the join counter is only released: its last input misses what the other wrote";
};
APIARY_EXHIBIT(b35_join_without_acquire, "data race");
template <class Sync>
struct b35_fixed : two_inputs_join<Sync, ring_defects{}> {
    static constexpr const char* what = "twin of B35: the count is acquired and released";
    static constexpr const char* exhibit = "b35_join_without_acquire";
};
APIARY_CHECK(b35_fixed);

}  // namespace
}  // namespace a24_to_a38_task_ring
