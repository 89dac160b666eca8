// What processes are made of, one by one: the word's table of states and events, pids, payloads, calls, the table of
// places.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <apiary/schedulers/processes/process_core.hpp>

namespace process_parts_test {
namespace {

using apiary::payload;
using apiary::pid;
using apiary::process_state;
using apiary::push_answer;
using apiary::real_sync;

struct alignas(16) letter {
    real_sync::cell<letter*> next;
};
using word = apiary::process_word<letter, real_sync>;

constexpr std::array states{process_state::ready,   process_state::running, process_state::called,
                            process_state::blocked, process_state::idle,    process_state::complete};
const char* name(process_state s) {
    constexpr const char* names[] = {"complete", "ready", "running", "called", "blocked", "idle"};
    return names[static_cast<unsigned>(s)];
}

// A word that has come to this state as a scheduler would bring it there. Its mailbox is empty.
struct prepared {
    word w;
    letter spare;
    explicit prepared(process_state s) {
        w.open(7);
        if (s == process_state::ready) return;
        (void)w.start(7);
        if (s == process_state::called) (void)w.push(7, &spare, true);
        if (s == process_state::blocked || s == process_state::idle) (void)w.settle(7, s);
        if (s == process_state::complete) (void)w.finish(7);
        EXPECT_EQ(w.state(), s);
    }
};

struct row {
    const char* event;
    bool (*happens)(prepared&);          // whether somebody was told to queue the process
    std::array<const char*, 6> becomes;  // in the order of `states`; "-": nobody may; a star: told
};
bool message(prepared& p) {
    static letter l;
    return p.w.push(7, &l, false) == push_answer::woke;
}
bool call(prepared& p) {
    static letter l;
    return p.w.push(7, &l, true) == push_answer::woke;
}
bool cancel(prepared& p) { return p.w.cancel(7) == push_answer::woke; }
bool start(prepared& p) { return (void)p.w.start(7), false; }
bool finish(prepared& p) { return (void)p.w.finish(7), false; }
bool open(prepared& p) { return p.w.open(7), false; }
template <process_state To, bool WithMessage = false>
bool settle(prepared& p) {
    if (WithMessage) (void)message(p);
    return p.w.settle(7, To);
}

const row table[] = {
    //                                     ready     running    called     blocked   idle      complete
    {"message", message, {"ready", "running", "called", "blocked", "ready*", "complete"}},
    {"call", call, {"ready", "called", "called", "ready*", "ready*", "complete"}},
    {"cancel", cancel, {"ready", "called", "called", "ready*", "ready*", "complete"}},
    {"start", start, {"running", "-", "-", "-", "-", "-"}},
    {"settle(idle)", settle<process_state::idle>, {"-", "idle", "ready*", "-", "-", "-"}},
    {"message, settle(idle)", settle<process_state::idle, true>, {"-", "ready*", "ready*", "-", "-", "-"}},
    {"settle(blocked)", settle<process_state::blocked>, {"-", "blocked", "ready*", "-", "-", "-"}},
    {"message, settle(blocked)", settle<process_state::blocked, true>, {"-", "blocked", "ready*", "-", "-", "-"}},
    {"settle(ready)", settle<process_state::ready>, {"-", "ready*", "ready*", "-", "-", "-"}},
    {"finish", finish, {"complete", "complete", "complete", "-", "-", "-"}},
    {"open", open, {"-", "-", "-", "-", "-", "ready"}},
};

TEST(process_word, each_event_in_each_state_has_the_successor_of_the_table) {
    std::cout << "event \\ state";
    for (const process_state s : states) std::cout << " | " << name(s);
    std::cout << '\n';
    for (const row& r : table) {
        std::cout << r.event;
        for (std::size_t i = 0; i != states.size(); ++i) {
            const std::string expected = r.becomes[i];
            std::cout << " | " << expected;
            if (expected == "-") continue;
            prepared p(states[i]);
            const bool told = r.happens(p);
            EXPECT_EQ(std::string(name(p.w.state())) + (told ? "*" : ""), expected)
                << r.event << " in " << name(states[i]);
        }
        std::cout << '\n';
    }
}

TEST(process_word, refuses_the_dead_and_other_generations_and_changes_nothing) {
    prepared dead(process_state::complete), idle(process_state::idle);
    letter l;
    EXPECT_EQ(dead.w.push(7, &l, false), push_answer::completing);
    EXPECT_EQ(dead.w.cancel(7), push_answer::completing);
    EXPECT_EQ(dead.w.cancel_any(), push_answer::completing);
    for (const std::uint64_t other : {6U, 8U, 0U}) {
        EXPECT_EQ(idle.w.push(other, &l, true), push_answer::no_such_process);
        EXPECT_EQ(idle.w.cancel(other), push_answer::no_such_process);
        EXPECT_FALSE(idle.w.looks_alive(other));
    }
    EXPECT_TRUE(idle.w.looks_alive(7));
    EXPECT_FALSE(dead.w.looks_alive(7));
    EXPECT_EQ(idle.w.state(), process_state::idle);
    EXPECT_EQ(idle.w.generation(), 7U);
    EXPECT_EQ(idle.w.cancel_any(), push_answer::woke);
}

TEST(process_word, gives_out_what_came_the_newest_first_and_each_cancel_once) {
    prepared p(process_state::blocked);
    std::array<letter, 3> l;
    for (letter& one : l) EXPECT_EQ(p.w.push(7, &one, false), push_answer::accepted);
    EXPECT_EQ(p.w.cancel(7), push_answer::woke);
    EXPECT_EQ(p.w.cancel(7), push_answer::accepted);
    const auto taken = p.w.start(7);
    EXPECT_TRUE(taken.cancelled);
    ASSERT_EQ(taken.newest, &l[2]);
    EXPECT_EQ(l[2].next.read(), &l[1]);
    EXPECT_EQ(l[1].next.read(), &l[0]);
    EXPECT_EQ(l[0].next.read(), nullptr);
    EXPECT_FALSE(p.w.settle(7, process_state::idle)) << "both are taken";
    EXPECT_EQ(p.w.push(7, &l[0], false), push_answer::woke);
    EXPECT_EQ(p.w.finish(7).newest, &l[0]) << "the end gives back what nobody has taken";
}

TEST(process_word, keeps_the_messages_of_a_block) {
    prepared p(process_state::running);
    std::array<letter, 2> l;
    EXPECT_EQ(p.w.push(7, &l[0], false), push_answer::accepted);
    EXPECT_FALSE(p.w.settle(7, process_state::blocked));
    EXPECT_EQ(p.w.push(7, &l[1], true), push_answer::woke);
    const auto taken = p.w.start(7);
    EXPECT_EQ(taken.newest, &l[1]);
    EXPECT_EQ(l[1].next.read(), &l[0]);
    EXPECT_FALSE(taken.cancelled);
}

TEST(pid, has_its_parts) {
    const pid p = pid::of(0xFFFF'FFFE, 0xABCD);
    EXPECT_EQ(p.place(), 0xFFFF'FFFE);
    EXPECT_EQ(p.generation(), 0xABCDU);
    EXPECT_EQ(p.node(), 0);
    EXPECT_EQ(p.at(0x1234).node(), 0x1234);
    EXPECT_EQ(p.at(0x1234).at(0), p);
    EXPECT_TRUE(p);
    EXPECT_FALSE(pid{});
}

TEST(payload, holds_small_and_large_values_and_finds_them_by_their_type_alone) {
    const auto shared = std::make_shared<int>(3);
    payload small(42), text(std::string("a string that is too long to lie in itself")), counted(shared);
    payload large(std::array<std::uint64_t, 8>{1, 2, 3});
    EXPECT_EQ(*small.get<int>(), 42);
    EXPECT_EQ(small.get<unsigned>(), nullptr);
    EXPECT_EQ(text.get<std::string>()->substr(0, 8), "a string");
    EXPECT_EQ((*large.get<std::array<std::uint64_t, 8>>())[2], 3U);
    EXPECT_EQ(payload().get<int>(), nullptr);
    EXPECT_FALSE(payload());
    EXPECT_EQ(shared.use_count(), 2);
    payload moved(std::move(counted));
    EXPECT_FALSE(counted);
    EXPECT_EQ(shared.use_count(), 2);
    moved = std::move(large);
    EXPECT_EQ(shared.use_count(), 1) << "what it held is destroyed";
    EXPECT_TRUE(moved);
    EXPECT_FALSE(large);
    moved.reset();
    EXPECT_FALSE(moved);
    EXPECT_STREQ(*payload("literal").get<const char*>(), "literal");
}

TEST(payload, destroys_what_a_move_leaves_behind) {
    struct living {
        int& count;
        explicit living(int& c) : count(c) { ++count; }
        living(living&& other) noexcept : count(other.count) { ++count; }
        ~living() { --count; }
    };
    int count = 0;
    payload first{living(count)};
    payload second(std::move(first));
    EXPECT_EQ(count, 1);
    first = std::move(second);
    EXPECT_EQ(count, 1);
    first.reset();
    EXPECT_EQ(count, 0);
}

TEST(pending_calls, knows_each_tag_until_its_end) {
    apiary::pending_calls calls;
    apiary::pending_calls::tags more;
    const auto rest = [&more]() -> auto& { return more; };
    EXPECT_FALSE(calls.any());
    EXPECT_FALSE(calls.end(0, rest)) << "there is none";
    for (const std::uint64_t tag : {0U, 5U, 9U}) EXPECT_TRUE(calls.add(tag, rest));
    for (const std::uint64_t tag : {0U, 5U, 9U}) EXPECT_FALSE(calls.add(tag, rest)) << "in use";
    EXPECT_FALSE(calls.end(7, rest));
    EXPECT_TRUE(calls.end(0, rest)) << "the one that lies inside";
    EXPECT_FALSE(calls.end(0, rest));
    EXPECT_TRUE(calls.end(5, rest));
    EXPECT_FALSE(calls.end(5, rest));
    EXPECT_TRUE(calls.any());
    EXPECT_TRUE(calls.end(9, rest));
    EXPECT_FALSE(calls.any());
    EXPECT_TRUE(more.empty());
    EXPECT_TRUE(calls.add(9, rest)) << "again";
}

// The set of the others costs memory where it is asked for.
TEST(pending_calls, asks_for_the_set_of_the_others_only_where_there_are_several) {
    apiary::pending_calls calls;
    apiary::pending_calls::tags more;
    int asked = 0;
    std::vector<std::uint64_t> seen;
    const auto rest = [&]() -> auto& { return ++asked, more; };
    const auto visit = [&seen](std::uint64_t tag) { seen.push_back(tag); };
    EXPECT_TRUE(calls.add(5, rest));
    calls.each(visit, rest);
    EXPECT_EQ(seen, std::vector<std::uint64_t>({5}));
    EXPECT_EQ(asked, 0);
    EXPECT_TRUE(calls.add(9, rest));
    EXPECT_EQ(asked, 1);
    seen.clear();
    calls.each(visit, rest);
    EXPECT_EQ(seen, std::vector<std::uint64_t>({5, 9}));
    EXPECT_EQ(asked, 2);
}

TEST(process_links, are_named_one_after_the_other_from_1) {
    apiary::process_links links;
    for (std::uint32_t i = 1; i != 4; ++i) EXPECT_EQ(links.make(pid::of(i, 1)), i);
}

TEST(process_parker, of_a_check_begins_each_search_at_the_same_victim) {
    struct of_a_check {
        struct parker {};
    };
    using random = apiary::process_parker<of_a_check, true>::random;
    EXPECT_EQ(random(7).below(1), 0U);
    EXPECT_EQ(random(7).below(3), 0U);
}

// Counts how often two are compared, and one is hashed.
struct counted {
    static inline std::size_t comparisons = 0, hashes = 0;
    std::size_t operator()(std::uint64_t n) const {
        ++hashes;
        return std::hash<std::uint64_t>()(n);
    }
    bool operator()(std::uint64_t a, std::uint64_t b) const {
        ++comparisons;
        return a == b;
    }
};
using numbers = apiary::growing_set<std::uint64_t, counted, counted>;

TEST(growing_set, has_what_was_added_whether_there_are_few_or_many) {
    for (const std::uint64_t n : {std::uint64_t{1}, numbers::few, numbers::few + 1, 3 * numbers::few}) {
        numbers all;
        EXPECT_TRUE(all.empty());
        EXPECT_FALSE(all.erase(0));
        for (std::uint64_t i = 0; i != n; ++i) all.add(i);
        std::set<std::uint64_t> seen;
        all.each([&](std::uint64_t i) { EXPECT_TRUE(seen.insert(i).second); });
        EXPECT_EQ(seen.size(), n);
        EXPECT_FALSE(all.empty());
        EXPECT_EQ(all.find(n), nullptr);
        ASSERT_NE(all.find(n - 1), nullptr);
        EXPECT_EQ(*all.find(n - 1), n - 1);
        EXPECT_TRUE(all.erase(n - 1));
        EXPECT_EQ(all.find(n - 1), nullptr);
        EXPECT_FALSE(all.erase(n - 1));
        for (std::uint64_t i = 1; i != n; ++i) EXPECT_EQ(seen.erase(all.take_any()), 1U);
        EXPECT_TRUE(all.empty());
        all.add(7);
        all.add(7);
        EXPECT_TRUE(all.erase(7)) << "both";
        EXPECT_TRUE(all.empty());
    }
}

TEST(growing_set, has_no_table_any_more_when_the_last_of_many_is_erased) {
    numbers all;
    for (std::uint64_t i = 0; i != 2 * numbers::few; ++i) all.add(i);
    for (std::uint64_t i = 0; i != 2 * numbers::few; ++i) EXPECT_TRUE(all.erase(i));
    EXPECT_TRUE(all.empty());
    counted::hashes = 0;
    all.add(1);
    EXPECT_NE(all.find(1), nullptr);
    EXPECT_EQ(counted::hashes, 0U);
}

TEST(growing_set, is_no_table_while_there_are_few) {
    numbers all;
    counted::hashes = 0;
    for (std::uint64_t i = 0; i != numbers::few; ++i) all.add(i);
    EXPECT_NE(all.find(numbers::few - 1), nullptr);
    EXPECT_EQ(counted::hashes, 0U);
    all.add(numbers::few);
    EXPECT_NE(counted::hashes, 0U);
}

TEST(growing_set, compares_a_few_for_each_of_many) {
    numbers all;
    constexpr std::uint64_t n = 100'000;
    counted::comparisons = 0;
    for (std::uint64_t i = 0; i != n; ++i) {
        EXPECT_EQ(all.find(i), nullptr);
        all.add(i);
    }
    for (std::uint64_t i = 0; i != n; ++i) EXPECT_TRUE(all.erase(i));
    EXPECT_LT(counted::comparisons, 10 * n);
}

TEST(growing_set, tells_the_requests_of_many_with_many_tags_apart) {
    std::set<std::size_t> hashes;
    for (std::uint32_t place = 0; place != 100; ++place)
        for (std::uint32_t tag = 0; tag != 100; ++tag)
            hashes.insert(apiary::process_place<real_sync>::by_request()({pid::of(place, 1), tag}));
    EXPECT_GT(hashes.size(), 9'900U);
}

using process_place = apiary::process_place<real_sync>;
using events = apiary::event_list<real_sync>;

void add_event(events& to, apiary::event_type type, pid from, std::uint32_t call = 0) {
    to.append(apiary::event_blocks<real_sync>::make(type, from.value, apiary::yield_error::none, payload(), call));
}

TEST(process_place, is_told_that_nobody_answers_by_the_one_whom_it_has_asked_and_else_that_comes_late) {
    process_place p;
    const pid asked = pid::of(1, 1), other = pid::of(2, 1);
    int late = 0;
    const auto is_told = [&](pid by) {
        events come, unsorted;
        add_event(come, apiary::event_type::unanswered, by, 5);
        (void)p.sort(come, unsorted, [&] { ++late; }, [](pid) { return true; });
        return !come.empty();
    };
    EXPECT_FALSE(is_told(asked)) << "it has never asked anybody";
    EXPECT_TRUE(p.called_for(5));
    p.more().asks.add({5, asked});
    EXPECT_FALSE(is_told(other));
    EXPECT_TRUE(is_told(asked));
    EXPECT_FALSE(is_told(asked)) << "it waits for nobody any more";
    EXPECT_EQ(late, 3);
}

// So many live that there is room for one more; those that come then have ended by the next look.
TEST(process_place, looks_at_a_few_watchers_for_each_that_comes) {
    process_place p;
    constexpr std::uint32_t alive = 2047, all = 5000;
    events watches, unsorted;
    for (std::uint32_t i = 0; i != all; ++i) add_event(watches, apiary::event_type::watch, pid::of(i, 1));
    std::size_t looks = 0;
    (void)p.sort(
        watches, unsorted, [] {},
        [&](pid w) {
            ++looks;
            return w.place() < alive;
        });
    EXPECT_GE(p.more().watchers.size(), alive);
    EXPECT_LT(looks, 10 * all);
}

// It doubles, unless half of it became free when those that have ended were erased.
TEST(process_place, has_room_for_twice_as_many_watchers_when_more_than_half_of_them_live) {
    process_place p;
    std::uint32_t next = 0, alive_from = 0;
    const auto watched = [&](std::uint32_t n) {
        events watches, unsorted;
        for (std::uint32_t i = 0; i != n; ++i) add_event(watches, apiary::event_type::watch, pid::of(next++, 1));
        (void)p.sort(watches, unsorted, [] {}, [&](pid w) { return w.place() >= alive_from; });
    };
    watched(8);
    EXPECT_EQ(p.more().watchers.capacity(), 8U);
    alive_from = 4;
    watched(1);
    EXPECT_EQ(p.more().watchers.size(), 5U);
    EXPECT_EQ(p.more().watchers.capacity(), 8U) << "half of them live";
    watched(3);
    alive_from = 7;
    watched(1);
    EXPECT_EQ(p.more().watchers.size(), 6U);
    EXPECT_EQ(p.more().watchers.capacity(), 16U) << "one more than half";
}

TEST(process_place, needs_no_memory_to_forget_what_it_never_noted) {
    process_place p;
    const pid other = pid::of(1, 1);
    for (const auto type : {apiary::event_type::unwatch, apiary::event_type::unlink, apiary::event_type::linked_end}) {
        events come, unsorted;
        add_event(come, type, other);
        come.each([&p](const apiary::event& e) { p.take_back(e); });
        (void)p.sort(come, unsorted, [] {}, [](pid) { return true; });
    }
    EXPECT_FALSE(p.pay({other, 1}));
    EXPECT_FALSE(p.has_more());
}

TEST(process_place, keeps_the_count_of_a_bound_for_a_sender_that_comes_late) {
    process_place p;
    p.generation = 1;
    p.set_bound({.most = 1});
    const auto* const looked_at = &p.more();
    p.empty();
    EXPECT_FALSE(p.is_bounded());
    ASSERT_TRUE(p.has_more());
    EXPECT_EQ(&p.more(), looked_at);
}

TEST(mailbox_bound, has_at_most_the_largest_limit_and_its_policy) {
    apiary::mailbox_bound<real_sync> b;
    for (const apiary::when_full then : {apiary::when_full::refuse, apiary::when_full::drop_oldest}) {
        b.open(3, {.most = UINT32_MAX, .then = then});
        EXPECT_EQ(b.limit().most, apiary::mailbox_limit::largest);
        EXPECT_EQ(b.limit().then, then);
        EXPECT_EQ(b.count(3), 0U);
    }
}

TEST(mailbox_bound, counts_for_its_own_generation_alone) {
    apiary::mailbox_bound<real_sync> b;
    b.open(3, {.most = 2});
    apiary::when_full then{};
    EXPECT_EQ(b.take(3, then), apiary::bound_answer::taken);
    EXPECT_EQ(b.take(2, then), apiary::bound_answer::gone);
    EXPECT_FALSE(b.take_beyond(2));
    b.give_back(2, 1);
    EXPECT_EQ(b.count(2), 0U);
    EXPECT_EQ(b.count(3), 1U);
}

TEST(event_list, destroys_what_it_has) {
    const auto held = std::make_shared<int>(0);
    {
        events list;
        list.append(apiary::event_blocks<real_sync>::make(apiary::event_type::message, 0, apiary::yield_error::none, held));
        EXPECT_EQ(held.use_count(), 2);
    }
    EXPECT_EQ(held.use_count(), 1);
}

// The block that was given back last is the next that is given out.
TEST(event_blocks, give_their_memory_back_also_when_the_data_throw) {
    if constexpr (apiary::recycles_memory<real_sync>) {
        struct throws {
            throws() = default;
            throws(const throws&) { throw 1; }
        };
        const auto make = [](const auto& data) {
            auto* const n = apiary::event_blocks<real_sync>::make(apiary::event_type::message, 0, apiary::yield_error::none, data);
            apiary::event_blocks<real_sync>::release(n);
            return reinterpret_cast<std::uintptr_t>(n);
        };
        const std::uintptr_t block = make(0);
        EXPECT_EQ(make(0), block);
        EXPECT_THROW((void)make(throws()), int);
        EXPECT_EQ(make(0), block);
    }
}

TEST(seed_spinning, has_the_numbers_of_the_seed_and_leaves_the_others) {
    const auto p = apiary::seed_spinning({.steal_rounds = 7});
    EXPECT_EQ(p.looks_before_sleep, 16U);
    EXPECT_FALSE(p.sleeps_after_one);
    EXPECT_EQ(p.naps, 0U);
    EXPECT_EQ(p.steal_rounds, 7U);
}

struct small_table {
    static constexpr std::size_t chunk = 2, chunks = 3, batch = 2;
};
struct place {
    using link_type = place;
    real_sync::cell<place*> next;
    std::uint32_t index = 0, generation = 0;
};
using places = apiary::process_table<place, real_sync, 3, small_table>;

TEST(process_table, grows_to_its_limit_and_finds_what_is_there) {
    places t;
    EXPECT_EQ(t.find(0), nullptr);
    std::set<place*> all;
    for (std::uint32_t i = 0; i != 6; ++i) {
        place* const p = t.acquire(nullptr);
        ASSERT_NE(p, nullptr);
        EXPECT_EQ(t.find(p->index), p);
        EXPECT_EQ(p->generation, 1U);
        all.insert(p);
    }
    EXPECT_EQ(all.size(), 6U);
    EXPECT_EQ(t.acquire(nullptr), nullptr);
    EXPECT_EQ(t.find(6), nullptr);
    EXPECT_EQ(t.find(UINT32_MAX), nullptr);
    std::size_t seen = 0;
    t.each([&](place& p) { seen += all.count(&p); });
    EXPECT_EQ(seen, 6U);
}

// What lies behind the chunks is not null, as it is in a mutex that nobody has.
struct full_behind : real_sync {
    struct mutex {
        std::uint64_t bytes = UINT64_MAX;
    };
    struct lock {
        explicit lock(mutex&) {}
    };
};

TEST(process_table, has_no_place_of_the_number_behind_its_last) {
    apiary::process_table<place, full_behind, 3, small_table> t;
    EXPECT_EQ(t.find(t.max_places - 1), nullptr);
    EXPECT_EQ(t.find(t.max_places), nullptr);
}

TEST(process_table, gives_a_place_on_with_a_new_generation_until_they_are_used_up) {
    places t;
    place* const first = t.acquire(nullptr);
    for (std::uint32_t g = 1; g != 3; ++g) {
        EXPECT_EQ(first->generation, g);
        t.release(first, nullptr);
        EXPECT_EQ(t.acquire(nullptr), first) << "the newest first";
    }
    EXPECT_EQ(first->generation, 3U);
    t.release(first, nullptr);
    for (int i = 0; i != 5; ++i) EXPECT_NE(t.acquire(nullptr), first) << "retired";
    EXPECT_EQ(t.acquire(nullptr), nullptr);
}

TEST(process_table, a_spare_list_takes_and_gives_several_at_once) {
    places t;
    places::list spare;
    std::vector<place*> mine;
    for (int i = 0; i != 6; ++i) mine.push_back(t.acquire(&spare));
    EXPECT_TRUE(spare.empty());
    EXPECT_EQ(t.acquire(&spare), nullptr);
    for (place* p : mine) t.release(p, &spare);
    EXPECT_LT(spare.size(), 4U) << "some went back";
    const std::size_t left = spare.size();
    std::size_t others = 0;
    while (t.acquire(nullptr) != nullptr) ++others;
    EXPECT_EQ(others + left, 6U);
    t.give_back(spare, left);
    EXPECT_NE(t.acquire(nullptr), nullptr);
}

}  // namespace
}  // namespace process_parts_test
