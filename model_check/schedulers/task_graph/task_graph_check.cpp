// The window of the task graph as it ships, narrow: every task runs once, behind its producers; its slot, its edges and its output
// are its own until the last of its consumers has ended; the submitter that waits for room is woken.
#include "window_scenario.hpp"

namespace task_graph_check {
namespace {

using namespace apiary;
using namespace apiary::model;

// The dependency counter.
template <class Sync>
struct two_producers_end : window_scenario<Sync, 4, 2> {
    static constexpr const char* what =
        "two producers end at once: the last one makes the consumer ready, and sees both";
    static constexpr const char* exhibit = "b35_join_without_acquire";
    static constexpr std::array must_reach{"window.read_an_input"};
    static constexpr std::array alike{0U, 1U};
    void before() { this->submit({}), this->submit({}), this->submit({0, 1}); }
    void thread(unsigned i) { this->run(i, i); }
    void after() { this->everything_is_consumed(); }
};
APIARY_CHECK(two_producers_end);

template <class Sync>
struct two_producers_without_output_end : window_scenario<Sync, 4, 2> {
    static constexpr const char* what = "the same without outputs: each is consumed as it ends";
    static constexpr const char* exhibit = "b35_join_without_acquire";
    static constexpr std::array alike{0U, 1U};
    void before() { this->submit({}, 0), this->submit({}, 0), this->submit({0, 1}, 0); }
    void thread(unsigned i) { this->run(i, i); }
    void after() { this->everything_is_consumed(); }
};
APIARY_CHECK(two_producers_without_output_end);

// The creation hold, and late edges.
template <class Sync, std::uint32_t Blocks>
struct edges_against_ends : window_scenario<Sync, 4, 3> {
    static constexpr std::array alike{1U, 2U};
    void before() { this->submit({}, Blocks), this->submit({}, Blocks); }
    void thread(unsigned i) {
        if (i != 0) return this->run(i, i - 1);
        this->submit({0, 1}, Blocks);
        this->run_if_handed_on(0, 2);
    }
    void after() { this->everything_is_consumed(); }
};
template <class Sync>
struct edges_to_producers_that_end : edges_against_ends<Sync, 1> {
    static constexpr const char* what = "a task is submitted while its two producers end: it runs once, after both";
    static constexpr const char* exhibit = "a26_ready_too_early";
};
APIARY_CHECK(edges_to_producers_that_end);
template <class Sync>
struct edges_to_producers_without_output : edges_against_ends<Sync, 0> {
    static constexpr const char* what = "the same without outputs";
    static constexpr const char* exhibit = "a27_edge_after_the_walk";
};
APIARY_CHECK(edges_to_producers_without_output);

template <class Sync>
struct two_consumers_are_added : window_scenario<Sync, 4, 2> {
    static constexpr const char* what = "two consumers are added, one after the other, while the producer ends";
    static constexpr const char* exhibit = "b34_added_to_a_drained_list";
    void before() { this->submit({}); }
    void thread(unsigned i) {
        if (i == 1) return this->run(1, 0);
        this->submit({0}), this->submit({0}, 0);
        this->run_if_handed_on(0, 1), this->run_if_handed_on(0, 2);
    }
    void after() { this->everything_is_consumed(); }
};
APIARY_CHECK(two_consumers_are_added);

// A slot, an edge and a block of the output heap, each with its next user; and the wait for it.
template <class Sync>
struct slot_and_block_get_their_next_task : window_scenario<Sync, 1, 2, 1, 1> {
    static constexpr const char* what =
        "a window of one: the next task waits, takes slot and block, and names the one before";
    static constexpr std::array must_reach{"window.waited", "task_window.full"};
    static constexpr std::array engine_laws{"deadlock"};
    void before() { this->submit({}); }
    void thread(unsigned i) {
        if (i == 1) return this->run(1, 0);
        this->submit({0});  // which has gone by then
        this->run(0, 1);
    }
    void after() { this->everything_is_consumed(); }
};
APIARY_CHECK(slot_and_block_get_their_next_task);

template <class Sync>
struct lap_wraps_under_a_stale_producer : window_scenario<Sync, 1, 2, 1, 1> {
    static constexpr const char* what =
        "a window of one, laps of one bit: a producer two laps ago is not taken for the slot's task";
    static constexpr std::array must_reach{"window.waited"};
    void before() {
        this->submit({});
        this->run(0, 0);
        this->submit({0});
    }
    void thread(unsigned i) {
        if (i == 1) return this->run(1, 1);
        this->submit({0});  // in the lap of task 0, as far as one bit can tell
        this->run(0, 2);
    }
    void after() { this->everything_is_consumed(); }
};
APIARY_CHECK(lap_wraps_under_a_stale_producer);

// With one submitter the id tells that a producer has gone. The lap in the word is for several: one of them holds a link up while
// another gives the slot its next task.
template <class Sync>
struct link_meets_the_next_task {
    static constexpr const char* what =
        "a link is held up while its producer ends and the slot gets its next task: it is told";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"fan_out.linked", "fan_out.gone"};
    fan_out<Sync, narrow_words> task;
    typename Sync::template cell<std::uint32_t> next;
    std::uint32_t first_list = 0;
    bool linked = false;

    void before() { task.open(0, false); }
    void thread(unsigned i) {
        if (i == 1) {
            first_list = task.close(false).newest_edge;
            task.open(1, false);
            return;
        }
        const link_result result = task.link(0, 1, false, [this](std::uint32_t n) { next.write(n); });
        linked = result == link_result::linked;
        Sync::reach(linked ? "fan_out.linked" : "fan_out.gone");
    }
    void after() {
        Sync::law(linked == (first_list == 1), "a consumer is in no list, or was told that it is in none");
        Sync::law(task.close(false).newest_edge == 0, "a consumer is in the list of a task that it does not know");
    }
};
APIARY_CHECK(link_meets_the_next_task);

template <class Sync>
struct consumer_overtakes_its_producer : window_scenario<Sync, 2, 3, 1, 4> {
    static constexpr const char* what =
        "the last consumer ends, and slot and edge are taken again, while the producer still walks its list";
    static constexpr const char* exhibit = "a36_slot_reused_under_walk";
    static constexpr std::array must_reach{"window.waited"};
    void before() { this->submit({}), this->submit({0}); }
    void thread(unsigned i) {
        if (i == 1) return this->run(1, 0, false);
        if (i == 2) return this->run_when_ready(2, 1);
        this->submit({1});  // the slot of 0, the edge of 1
        this->run_if_handed_on(0, 2);
    }
    void after() { this->everything_is_consumed(); }
};
APIARY_CHECK(consumer_overtakes_its_producer);

template <class Sync>
struct walk_goes_on_behind_a_consumer : window_scenario<Sync, 4, 3, 2, 4> {
    static constexpr const char* what =
        "of two consumers the first has ended and its edge is free, when the producer comes to the second";
    static constexpr const char* exhibit = "a36_slot_reused_under_walk";
    void before() { this->submit({}, 0), this->submit({0}, 0), this->submit({0}, 0); }
    void thread(unsigned i) {
        if (i == 1) return this->run(1, 0, false);
        if (i == 2) return this->run_when_ready(2, 2), this->run_when_ready(2, 1);
        this->submit({2}, 0);  // an edge must be free: that of 1
        this->run_if_handed_on(0, 3);
    }
    void after() { this->everything_is_consumed(); }
};
APIARY_CHECK(walk_goes_on_behind_a_consumer);

// Both consumers read the output, and each gives its reference back. The next output needs the whole heap.
template <class Sync>
struct two_readers_of_a_block : window_scenario<Sync, 4, 3, 4, 2> {
    static constexpr const char* what =
        "two consumers end with an output, and the next one needs the whole heap, wrapped";
    static constexpr const char* exhibit = "c05_number_read_after_release";
    static constexpr std::array must_reach{"window.waited", "window.read_an_input"};
    static constexpr std::array engine_laws{"deadlock"};
    void before() {
        this->submit({});
        this->submit({0}, 0), this->submit({0}, 0);
        this->run(0, 0, false);
    }
    void thread(unsigned i) {
        if (i != 0) return this->run(i, i);
        this->submit({}, 2);
        this->run(0, 3);
    }
    void after() { this->everything_is_consumed(); }
};
APIARY_CHECK(two_readers_of_a_block);

template <class Sync>
struct block_of_a_younger_task_stays : window_scenario<Sync, 4, 2, 4, 2> {
    static constexpr const char* what =
        "the oldest task's block is given again while the next one, beside it, is still written";
    static constexpr std::array must_reach{"window.waited"};
    static constexpr std::array engine_laws{"race"};
    void before() {
        this->submit({}), this->submit({});
        this->run(0, 0);
    }
    void thread(unsigned i) {
        if (i == 1) return this->run(1, 1);
        this->submit({});  // has the first block
        this->run(0, 2);
        this->submit({});  // waits for the second
        this->run(0, 3);
    }
    void after() { this->everything_is_consumed(); }
};
APIARY_CHECK(block_of_a_younger_task_stays);

// Scopes.
template <class Sync>
struct scope_ends_while_a_consumer_does : window_scenario<Sync, 2, 2, 2, 1> {
    static constexpr const char* what =
        "the scope ends while the last consumer does: the output is reclaimed after both";
    static constexpr const char* exhibit = "a28_count_loaded_first";
    static constexpr std::array must_reach{"window.waited"};
    void before() {
        this->window.begin_scope();
        this->submit({}), this->submit({0}, 0);
        this->run(0, 0, false);
    }
    void thread(unsigned i) {
        if (i == 1) return this->run(1, 1);
        this->window.end_scope();
        this->submit({});
        this->run(0, 2);
    }
    void after() { this->everything_is_consumed(); }
};
APIARY_CHECK(scope_ends_while_a_consumer_does);

template <class Sync>
struct edge_to_a_kept_output : window_scenario<Sync, 4, 2, 4, 2> {
    static constexpr const char* what =
        "an edge is added to an ended task that a scope keeps, while its only consumer ends";
    static constexpr const char* exhibit = "a28_count_loaded_first";
    void before() {
        this->window.begin_scope();
        this->submit({}), this->submit({0}, 0);
        this->run(0, 0, false);
    }
    void thread(unsigned i) {
        if (i == 1) return this->run(1, 1);
        this->submit({0}, 0);
        this->window.end_scope();
        this->run(0, 2);
    }
    void after() { this->everything_is_consumed(); }
};
APIARY_CHECK(edge_to_a_kept_output);

// The wait for all.
template <class Sync>
struct wait_for_all_sees_all : window_scenario<Sync, 4, 3> {
    static constexpr const char* what =
        "the submitter waits for two tasks of an open scope, and then sees what they did";
    static constexpr std::array must_reach{"window.waited"};
    static constexpr std::array engine_laws{"deadlock"};
    static constexpr std::array alike{1U, 2U};
    void before() {
        this->window.begin_scope();
        this->submit({}), this->submit({}, 0);
    }
    void thread(unsigned i) {
        if (i != 0) return this->run(i, i - 1);
        this->window.wait_for_all([this](auto& s) { this->wait(s); });
        for (task_id id = 0; id != 2; ++id) {
            Sync::law(this->made[id].read() == id, "a wait for all has left a task out");
            Sync::law(this->window.state(id) == task_state::completed, "a task is not completed after the wait");
        }
    }
    void after() { this->everything_is_consumed(); }
};
APIARY_CHECK(wait_for_all_sees_all);

template <class Sync>
struct consumer_is_added_behind_a_wait : window_scenario<Sync, 4, 2> {
    static constexpr const char* what =
        "a task of an open scope was waited for, and then gets a consumer: its end notifies nobody";
    static constexpr std::array must_reach{"window.waited"};
    void before() {
        this->window.begin_scope();
        this->submit({});
    }
    void thread(unsigned i) {
        if (i == 1) return this->run(1, 0);
        this->window.wait_for_all([this](auto& s) { this->wait(s); });
        this->submit({0});
        this->run(0, 1);
    }
    void after() { this->everything_is_consumed(); }
};
APIARY_CHECK(consumer_is_added_behind_a_wait);

// What basic_task_graph::close does before it stops its workers.
template <class Sync>
struct close_meets_the_last_consumer : window_scenario<Sync, 4, 2> {
    static constexpr const char* what =
        "a graph is closed, with a scope open, while the last consumer gives its input back: all is consumed then";
    static constexpr std::array must_reach{"window.waited", "window.read_an_input"};
    static constexpr std::array engine_laws{"deadlock"};
    void before() {
        this->submit({});
        this->window.begin_scope();
        this->submit({0});
    }
    void thread(unsigned i) {
        if (i == 1) return this->run(1, 0);
        this->window.wait_for_all([this](auto& s) { this->wait(s); });
        this->window.end_scope();
        this->window.reclaim();
        Sync::law(this->window.reclaimed() == this->window.submitted(),
                  "a task was not consumed as the graph was closed");
        Sync::law(this->window.ring().in_use() == 0, "an output was left as the graph was closed");
    }
    void after() { this->ran.settle(); }
};
APIARY_CHECK(close_meets_the_last_consumer);

template <class Sync>
struct output_is_read_as_it_completes : window_scenario<Sync, 2, 2> {
    static constexpr const char* what = "the submitter asks for an output while the task ends: none, or all of it";
    static constexpr std::array must_reach{"window.there"};
    void before() {
        this->window.begin_scope();
        this->submit({});
    }
    void thread(unsigned i) {
        if (i == 1) return this->run(1, 0);
        const auto* s = this->window.completed(0);
        if (s == nullptr) return;
        Sync::reach("window.there");
        Sync::law(this->blocks[s->output_at() / this->block].read() == 0, "an output is not what its task made");
    }
    void after() { this->everything_is_consumed(); }
};
APIARY_CHECK(output_is_read_as_it_completes);

// Poison.
template <class Sync, std::uint32_t Blocks>
struct poison_against_an_edge : window_scenario<Sync, 4, 2> {
    void before() { this->submit({}, Blocks), this->submit({0}, Blocks); }
    void thread(unsigned i) {
        if (i == 1) return this->run(1, 0, true, true);
        this->submit({0}, Blocks);
        this->run_if_handed_on(0, 2);
    }
    void after() {
        for (const task_id id : {1U, 2U})
            Sync::law(this->cancelled_for[id].read() == 0, "a consumer of a task that threw was not cancelled for it");
        this->everything_is_consumed();
    }
};
template <class Sync>
struct poison_against_a_late_edge : poison_against_an_edge<Sync, 1> {
    static constexpr const char* what = "a task throws while a consumer is added: early and late ones are cancelled";
    static constexpr const char* exhibit = "a27_edge_after_the_walk";
};
APIARY_CHECK(poison_against_a_late_edge);
template <class Sync>
struct poison_of_a_task_that_has_gone : poison_against_an_edge<Sync, 0> {
    static constexpr const char* what = "the same without an output: the late one finds the cause in the log";
    static constexpr const char* exhibit = "a27_edge_after_the_walk";
};
APIARY_CHECK(poison_of_a_task_that_has_gone);

// Of two producers one throws: whichever ends last, the consumer is cancelled.
template <class Sync>
struct one_of_two_producers_throws : window_scenario<Sync, 4, 2> {
    static constexpr const char* what = "of two producers one throws: the consumer is cancelled, whichever ends last";
    static constexpr const char* exhibit = "b35_join_without_acquire";
    void before() { this->submit({}), this->submit({}), this->submit({0, 1}, 0); }
    void thread(unsigned i) { this->run(i, i, true, i == 0); }
    void after() {
        Sync::law(this->cancelled_for[2].read() == 0, "a consumer of a task that threw was not cancelled for it");
        this->everything_is_consumed();
    }
};
APIARY_CHECK(one_of_two_producers_throws);

}  // namespace
}  // namespace task_graph_check
