// The window without workers: a test says which task ends when.
#include <apiary/schedulers/task_graph/task_window.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace task_window_test {
namespace {

using apiary::real_sync;
using apiary::task_id;
using apiary::task_state;
using apiary::window_stuck;

struct nothing {};
struct narrow {
    static constexpr unsigned reference_bits = 6, edge_bits = 5, lap_bits = 2;
};

TEST(join_counter, waits_for_nobody_until_it_is_told_to_and_then_for_each) {
    apiary::join_counter<> c;
    EXPECT_EQ(c.left(), 0U);
    c.expect(3);
    EXPECT_FALSE(c.arrive());
    EXPECT_TRUE(c.arrive(2));
    EXPECT_EQ(c.left(), 0U);
}

// What only a caller that is wrong about the slot could see through the window.
TEST(fan_out, begins_consumed_and_refuses_an_edge_of_an_earlier_lap) {
    using fan_out = apiary::fan_out<real_sync, narrow>;
    using apiary::link_result;
    fan_out f;
    EXPECT_TRUE(f.consumed());
    f.open(2, false);
    unsigned told = 0;
    const auto tell = [&told](std::uint32_t) { ++told; };
    EXPECT_EQ(f.link(1, 5, true, tell), link_result::gone);
    EXPECT_EQ(told, 0U);
    EXPECT_EQ(f.link(2, 5, false, tell), link_result::linked);
    EXPECT_EQ(told, 1U) << "it is in the list once";
    EXPECT_EQ(f.close(false).newest_edge, 5U);
}

TEST(failure_log, knows_no_task_before_one_has_failed) {
    apiary::failure_log<> log;
    task_id cause = 0;
    EXPECT_FALSE(log.find(0, cause));
    log.add({3, 2, nullptr});
    EXPECT_FALSE(log.find(2, cause));
    EXPECT_TRUE(log.find(3, cause));
    EXPECT_EQ(cause, 2U);
}

struct stepped : apiary::task_window<real_sync, narrow, nothing> {
    using base = apiary::task_window<real_sync, narrow, nothing>;
    using slot = base::slot;
    explicit stepped(std::size_t slots, std::size_t dependencies = 16, std::uint64_t bytes = 256,
                     std::size_t most_slots = 0)
        : base({slots, dependencies, bytes, most_slots}) {}

    std::vector<slot*> ready;
    std::vector<task_id> waited_for;
    std::vector<std::size_t> reserved;
    unsigned notified = 0;
    bool ends_what_it_waits_for = true;

    task_id submit(std::initializer_list<task_id> after, std::uint32_t bytes = 0) {
        const auto [s, is_ready] =
            base::submit(std::span(after.begin(), after.size()), bytes, [](slot&) {}, [this](slot& w) { wait(w); },
                         [this](std::size_t n) { reserved.push_back(n); });
        if (is_ready) ready.push_back(s);
        return s->id.read();
    }
    void wait(slot& s) {
        waited_for.push_back(s.id.read());
        if (s.out.watch()) return;
        const unsigned before = notified;
        while (notified == before) {
            ASSERT_FALSE(ready.empty()) << "nothing could ever end the wait";
            end(ready.front()->id.read());
        }
        EXPECT_EQ(notified, before + 1);
    }
    void wait_for_all() {
        base::wait_for_all([this](slot& s) { wait(s); });
    }
    bool is_ready(task_id id) const {
        for (const slot* s : ready)
            if (s->id.read() == id) return true;
        return false;
    }
    void end(task_id id, task_id cause = no_cause) {
        for (std::size_t i = 0; i != ready.size(); ++i)
            if (ready[i]->id.read() == id) {
                slot& s = *ready[i];
                ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(i));
                s.in.start();
                if (cause != no_cause) failures().add({id, cause, nullptr});
                complete(s, cause, [this](slot& c) { ready.push_back(&c); }, [this] { ++notified; });
                return;
            }
        FAIL() << "task " << id << " is not ready";
    }
};

TEST(task_window, a_task_goes_through_its_states_once_each) {
    stepped w(4);
    w.begin_scope();
    const auto a = w.submit({}), b = w.submit({a});
    EXPECT_EQ(w.state(a), task_state::ready);
    EXPECT_EQ(w.state(b), task_state::pending);
    w.end(a);
    EXPECT_EQ(w.state(a), task_state::completed) << "its scope is open";
    EXPECT_EQ(w.state(b), task_state::ready);
    w.ready[0]->in.start();
    EXPECT_EQ(w.state(b), task_state::running);
    w.end(b);
    w.end_scope();
    EXPECT_EQ(w.state(b), task_state::consumed);
    w.reclaim();
    EXPECT_EQ(w.reclaimed(), 2U);
    EXPECT_EQ(w.state(a), task_state::consumed);
}

TEST(task_window, a_task_is_ready_when_the_last_of_its_producers_has_ended_early_or_late) {
    for (unsigned ended_before = 0; ended_before != 8; ++ended_before) {
        stepped w(8);
        w.begin_scope();  // else the early ones would be gone
        for (task_id p = 0; p != 3; ++p) (void)w.submit({}, 8);
        for (task_id p = 0; p != 3; ++p)
            if ((ended_before >> p & 1U) != 0) w.end(p);
        const auto c = w.submit({0, 1, 2});
        for (task_id p = 0; p != 3; ++p) {
            if ((ended_before >> p & 1U) != 0) continue;
            EXPECT_FALSE(w.is_ready(c)) << ended_before;
            w.end(p);
        }
        EXPECT_TRUE(w.is_ready(c)) << ended_before;
        EXPECT_EQ(w.ready.size(), 1U);
    }
}

TEST(task_window, a_consumer_holds_the_output_of_its_producer) {
    stepped w(4);
    const auto a = w.submit({}, 16), b = w.submit({a});
    w.end(a);
    EXPECT_EQ(w.state(a), task_state::completed);
    ASSERT_NE(w.completed(a), nullptr);
    EXPECT_EQ(w.input(*w.ready[0], 0), w.completed(a));
    w.end(b);
    EXPECT_EQ(w.state(a), task_state::consumed);
    EXPECT_EQ(w.completed(a), nullptr);
}

TEST(task_window, a_task_without_output_is_consumed_as_it_ends) {
    stepped w(4);
    const auto a = w.submit({}), b = w.submit({a});
    w.end(a);
    EXPECT_EQ(w.state(a), task_state::consumed);
    EXPECT_EQ(w.input(*w.ready[0], 0), nullptr);
    EXPECT_EQ(w.state(b), task_state::ready);
}

TEST(task_window, a_producer_that_has_gone_counts_as_ended_also_when_its_slot_has_the_next_task) {
    stepped w(2);
    const auto a = w.submit({}, 8);
    w.end(a);
    const auto b = w.submit({a}, 8);
    EXPECT_TRUE(w.is_ready(b)) << "consumed, its slot still there";
    EXPECT_EQ(w.input(*w.ready[0], 0), nullptr);
    w.end(b);
    const auto c = w.submit({}, 8);
    EXPECT_EQ(c, 2U);
    const auto d = w.submit({a});
    EXPECT_TRUE(w.is_ready(d)) << "the slot of a has task c, which has not ended";
    EXPECT_TRUE(w.is_ready(c));
}

TEST(task_window, the_lap_wraps) {
    stepped w(1);
    for (task_id id = 0; id != 20; ++id) {  // five times the laps that two bits tell apart
        EXPECT_EQ(w.submit({}, 8), id);
        w.end(id);
    }
    EXPECT_EQ(w.reclaimed(), 19U);
    EXPECT_TRUE(w.waited_for.empty()) << "each was consumed";
}

TEST(task_window, a_full_window_waits_for_a_quarter_of_it_first) {
    for (const std::size_t slots : {8U, 16U}) {
        stepped w(slots);
        for (std::size_t i = 0; i != slots; ++i) (void)w.submit({});
        EXPECT_EQ(w.submit({}), slots);
        EXPECT_EQ(w.waited_for, std::vector<task_id>{slots / 4});
        EXPECT_EQ(w.reclaimed(), slots / 4 + 1);
        EXPECT_EQ(w.submit({}), slots + 1);
        EXPECT_EQ(w.waited_for.size(), 1U) << "there was room";
    }
}

TEST(task_window, behind_a_first_wait_it_waits_for_the_oldest) {
    stepped w(8);
    for (int i = 0; i != 8; ++i) (void)w.submit({});
    std::swap(w.ready[0], w.ready[7]);  // the oldest ends last
    (void)w.submit({});
    EXPECT_EQ(w.waited_for, (std::vector<task_id>{2, 0}));
}

TEST(task_window, full_dependencies_wait) {
    stepped w(8, 2);
    const auto a = w.submit({});
    (void)w.submit({a});
    (void)w.submit({a});
    EXPECT_TRUE(w.waited_for.empty());
    EXPECT_EQ(w.submit({a, a}), 3U);
    EXPECT_EQ(w.waited_for.front(), 2U) << "a quarter of the window, which is the newest here";
    stepped two(16, 2);
    (void)two.submit({});
    (void)two.submit({0, 0});
    (void)two.submit({0});
    EXPECT_EQ(two.waited_for.front(), 1U) << "the newest of less than a quarter";
}

TEST(task_window, a_full_output_heap_waits) {
    stepped w(8, 16, 64);
    (void)w.submit({}, 48);
    EXPECT_EQ(w.submit({}, 32), 1U);
    EXPECT_EQ(w.waited_for, std::vector<task_id>{0});
}

TEST(task_window, does_not_grow_for_lack_of_room_for_outputs) {
    stepped w(8, 16, 64, 16);
    for (task_id id = 0; id != 20; ++id) EXPECT_EQ(w.submit({}, 48), id);
    EXPECT_GE(w.waited_for.size(), 19U);
    EXPECT_EQ(w.slots(), 8U);
}

TEST(task_window, outputs_of_one_byte_lie_apart) {
    stepped w(4);
    (void)w.submit({}, 1);
    (void)w.submit({}, 1);
    EXPECT_NE(w.ready[0]->output_at(), w.ready[1]->output_at());
}

TEST(task_window, does_not_take_a_slots_next_task_for_the_one_that_was_asked_for) {
    stepped w(2);
    w.begin_scope();
    (void)w.submit({});
    EXPECT_EQ(w.completed(0), nullptr) << "it has not run";
    w.end(0), w.end(w.submit({}));
    EXPECT_NE(w.completed(0), nullptr);
    EXPECT_EQ(w.completed(2), nullptr) << "not submitted yet; its slot has task 0";
    w.end_scope();
    (void)w.submit({});
    (void)w.submit({2});
    EXPECT_EQ(w.state(0), task_state::consumed) << "its slot has task 2";
    EXPECT_EQ(w.state(1), task_state::consumed) << "its slot has task 3";
}

TEST(task_window, tells_that_an_open_scope_keeps_the_window_full) {
    stepped w(2);
    w.begin_scope();
    w.end(w.submit({}));
    w.end(w.submit({}));
    try {
        (void)w.submit({});
        FAIL() << "the window is full";
    } catch (const window_stuck& e) {
        EXPECT_NE(std::string(e.what()).find("task 0, the oldest of 2"), std::string::npos) << e.what();
    }
    w.end_scope();
    EXPECT_EQ(w.submit({}), 2U) << "nothing has changed by the submit that threw";
}

TEST(task_window, an_inner_scope_has_tasks_of_its_own) {
    stepped w(8);
    w.begin_scope();
    const auto outer = w.submit({});
    w.begin_scope();
    const auto inner = w.submit({});
    w.end(outer), w.end(inner);
    w.end_scope();
    const auto behind = w.submit({});
    w.end(behind);
    EXPECT_EQ(w.state(inner), task_state::consumed);
    EXPECT_EQ(w.state(outer), task_state::completed);
    EXPECT_EQ(w.state(behind), task_state::completed);
    w.end_scope();
    EXPECT_EQ(w.state(outer), task_state::consumed);
    EXPECT_EQ(w.state(behind), task_state::consumed);
}

TEST(task_window, consumers_of_a_task_that_failed_are_told_the_cause_early_late_and_when_it_has_gone) {
    stepped w(8);
    const auto a = w.submit({}), early = w.submit({a}, 8);
    w.end(a, a);
    const auto gone = w.submit({a});
    ASSERT_TRUE(w.is_ready(early));
    EXPECT_EQ(w.ready[0]->cause.load(std::memory_order_relaxed), a);
    EXPECT_EQ(w.ready[1]->cause.load(std::memory_order_relaxed), a) << "a has been consumed";
    w.begin_scope();
    const auto kept = w.submit({early}, 8);
    w.end(early, a);
    w.end(kept, a);
    const auto late = w.submit({kept});
    EXPECT_EQ(w.state(kept), task_state::completed);
    EXPECT_EQ(w.ready.back()->id.read(), late);
    EXPECT_EQ(w.ready.back()->cause.load(std::memory_order_relaxed), a) << "the cause is the one that threw";
    const auto sound = w.submit({});
    EXPECT_EQ(w.ready.back()->id.read(), sound);
    EXPECT_EQ(w.ready.back()->cause.load(std::memory_order_relaxed), stepped::no_cause);
    EXPECT_TRUE(w.is_ready(gone));
}

TEST(task_window, a_wait_for_all_ends_also_while_a_scope_is_open) {
    stepped w(8);
    w.begin_scope();
    const auto a = w.submit({}, 8), b = w.submit({a}, 8), c = w.submit({a, b}, 8);
    w.wait_for_all();
    EXPECT_EQ(w.waited_for, std::vector<task_id>{c}) << "the others have ended by then";
    const auto d = w.submit({a, c});  // a is held once more, and must not notify for the wait that is over
    const unsigned before = w.notified;
    w.end(d);
    EXPECT_EQ(w.notified, before);
}

TEST(task_window, refuses_what_could_never_be) {
    stepped w(4, 4, 64);
    EXPECT_THROW((void)w.submit({0}), std::invalid_argument) << "itself";
    EXPECT_THROW((void)w.submit({7}), std::invalid_argument) << "not submitted yet";
    (void)w.submit({});
    try {
        (void)w.submit({0, 0, 0, 0, 0});
        FAIL() << "more than all dependencies";
    } catch (const std::length_error& e) {
        EXPECT_NE(std::string(e.what()).find("room for 4 dependencies"), std::string::npos) << e.what();
    }
    try {
        const stepped grows_to_less(2, 4, 64, 1);
        FAIL() << "it was made";
    } catch (const std::invalid_argument& e) {
        EXPECT_NE(std::string(e.what()).find("from window, which is 2"), std::string::npos) << e.what();
    }
    EXPECT_THROW((void)w.submit({}, 65), std::length_error) << "more than the heap";
    EXPECT_EQ(w.submitted(), 1U);
    EXPECT_THROW(stepped(3), std::invalid_argument);
    EXPECT_THROW(stepped(0), std::invalid_argument);
    EXPECT_THROW(stepped(4, 12), std::invalid_argument);
    EXPECT_THROW(stepped(4, 64), std::invalid_argument) << "more than an edge's field can name";
    EXPECT_THROW(stepped(4, 4, (std::uint64_t{1} << 36) + 1), std::invalid_argument);
}

TEST(task_window, takes_a_heap_as_large_as_it_says_that_one_can_be) {
    stepped w(16, 4, std::uint64_t{1} << 36);
    for (std::uint64_t i = 0; i != 16; ++i) {
        (void)w.submit({}, UINT32_MAX);
        EXPECT_EQ(w.ready.back()->output_at(), i << 32);
    }
    EXPECT_TRUE(w.waited_for.empty());
}

TEST(task_window, that_grows_waits_for_what_lives_and_no_more_and_has_twice_the_dependencies) {
    stepped w(2, 4, 256, 4);
    for (task_id id = 0; id != 6; ++id) EXPECT_EQ(w.submit({}), id);
    EXPECT_EQ(w.slots(), 4U) << "it was full for the fourth time";
    EXPECT_EQ(w.waited_for, (std::vector<task_id>{0, 1, 2, 4})) << "3 had ended by then";
    EXPECT_EQ(w.submit({0, 0, 0, 0, 0}), 6U) << "more than there was room for before";
    EXPECT_EQ(w.reserved, std::vector<std::size_t>{4});
}

TEST(task_window, grows_after_four_waits_of_each_size_up_to_the_most_slots_and_dependencies) {
    stepped w(1, 16, 256, 8);  // 16 dependencies are the most that there can be
    std::vector<task_id> full_at;
    for (task_id id = 0; id != 40; ++id) {
        const std::size_t before = w.slots();
        EXPECT_EQ(w.submit({}), id);
        if (w.slots() != before) full_at.push_back(id);
    }
    EXPECT_EQ(full_at, (std::vector<task_id>{4, 9, 19}));
    EXPECT_EQ(w.reserved, (std::vector<std::size_t>{2, 4, 8}));
    for (const std::size_t slots : {1U, 2U}) {
        stepped stays(slots, 4, 256, slots);
        for (int i = 0; i != 20; ++i) (void)stays.submit({});
        EXPECT_EQ(stays.slots(), slots);
        EXPECT_TRUE(stays.reserved.empty());
    }
}

// Of each array of the window, how long it is.
struct counts_arrays : real_sync {
    static inline std::map<const void*, std::size_t> living;
    template <class T>
    static T* create_array(std::size_t n) {
        T* const made = real_sync::create_array<T>(n);
        living[made] = n;
        return made;
    }
    template <class T>
    static void destroy_array(T* p, std::size_t n) noexcept {
        EXPECT_EQ(living[p], n) << "a policy that is told the length may need it";
        living.erase(p);
        real_sync::destroy_array(p, n);
    }
};

TEST(task_window, makes_as_many_slots_and_edges_as_it_gives_back) {
    {
        using window = apiary::task_window<counts_arrays, narrow, nothing>;
        window w({.slots = 4, .dependencies = 16, .output_bytes = 64});
        std::size_t all = 0;
        for (const auto& [array, n] : counts_arrays::living) all += n;
        EXPECT_EQ(all, 4U + 16U);
        EXPECT_TRUE(w.resize(2, 8, [](window::slot&) {}));
        all = 0;
        for (const auto& [array, n] : counts_arrays::living) all += n;
        EXPECT_EQ(all, 2U + 8U);
        EXPECT_EQ(counts_arrays::living.size(), 2U);
    }
    EXPECT_TRUE(counts_arrays::living.empty());
    const auto edges = [](std::size_t n) { return stepped(4, n).bytes() - 4 * sizeof(stepped::slot); };
    EXPECT_EQ(edges(8), 2 * edges(4));
}

TEST(task_window, gets_another_size_when_all_is_consumed) {
    stepped w(2);
    const auto wait = [&w](stepped::slot& s) { w.wait(s); };
    w.submit({}), w.submit({0});
    EXPECT_TRUE(w.resize(8, 16, wait));
    EXPECT_EQ(w.slots(), 8U);
    EXPECT_EQ(w.reclaimed(), 2U);
    const auto lap_of = [](const stepped::slot& s) { return s.out.snapshot().lap(); };
    w.waited_for.clear();
    for (task_id id = 2; id != 10; ++id) EXPECT_EQ(w.submit({id - 1}), id) << "eight live at once";
    EXPECT_EQ(lap_of(*w.ready.front()), 0U) << "the first tasks of eight slots";
    EXPECT_TRUE(w.waited_for.empty());
    EXPECT_THROW(w.resize(6, 16, wait), std::invalid_argument);
    w.begin_scope();
    w.submit({9});
    EXPECT_FALSE(w.resize(2, 2, wait)) << "a scope keeps the last one";
    EXPECT_EQ(w.slots(), 8U);
    w.end_scope();
    EXPECT_TRUE(w.resize(1, 2, wait));
}

}  // namespace
}  // namespace task_window_test
