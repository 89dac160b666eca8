// A scheduler of processes of which each allocation fails in turn. Of no_memory_test, which replaces operator new.
#include <apiary/schedulers/processes/offload.hpp>
#include <apiary/schedulers/processes/processes.hpp>
#include <apiary/schedulers/processes/routine.hpp>
#include <apiary/schedulers/processes/supervisor.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <apiary/testing/allocation_sweep.hpp>

#include "turned.hpp"

namespace {

using apiary::attempt;
using apiary::event;
using apiary::event_type;
using apiary::init_answer;
using apiary::payload;
using apiary::pid;
using apiary::send_answer;

// The policy that ships, but each event and each frame is an object of the heap, and the table grows by one place at
// a time. It counts those objects, so that none is forgotten.
struct heap_events : apiary::real_sync {
    static inline std::atomic<int> living = 0;

    template <class T, class... Args>
    static T* create(Args&&... args) {
        T* const made = apiary::real_sync::create<T>(std::forward<Args>(args)...);
        ++living;
        return made;
    }
    template <class T>
    static void destroy(T* p) noexcept {
        --living;
        apiary::real_sync::destroy(p);
    }
};

}  // namespace

template <>
struct apiary::process_table_limits<heap_events> {
    static constexpr std::size_t chunk = 1, chunks = 64, batch = 1;
};

namespace {

using process = apiary::basic_process<heap_events>;
using processes = apiary::basic_processes<heap_events>;
using command = apiary::basic_command<heap_events>;
using routine = apiary::basic_routine<heap_events>;
using routine_self = apiary::basic_routine_self<heap_events>;

struct ledger {
    std::atomic<int> sent = 0, taken = 0, dead = 0;  // messages: accepted, given to a step, dead letters
    std::atomic<int> ready = 0, closed = 0;          // inits that said so
    std::atomic<int> watched = 0, watches_told = 0, watchers_gone = 0;
    std::atomic<int> called = 0, calls_over = 0, callers_gone = 0;

    std::string adds_up() const {
        std::string wrong;
        const auto equal = [&wrong](const char* what, int a, int b) {
            if (a != b) wrong += std::string(what) + ": " + std::to_string(a) + " and " + std::to_string(b) + "\n";
        };
        equal("sent; taken or dead", sent, taken + dead);
        equal("ready, closed", ready, closed);
        equal("watched; told or gone", watched, watches_told + watchers_gone);
        equal("called; over or gone", called, calls_over + callers_gone);
        return wrong;
    }
};

void count(std::atomic<int>& n, send_answer a) { n += a == send_answer::accepted ? 1 : 0; }

struct counted : process {
    explicit counted(ledger& l) : books(l) {}
    init_answer init(context&, std::string_view, payload) override {
        ++books.ready;
        return init_answer::ready;
    }
    void close() noexcept override {
        ++books.closed;
        books.watchers_gone += watches;
        books.callers_gone += calls;
    }
    ledger& books;
    int watches = 0, calls = 0;  // that are not over
};

// Answers requests; ends when it is told to. `most`: its bound.
struct echo : counted {
    explicit echo(ledger& l, std::uint32_t m = 0) : counted(l), most(m) {}
    init_answer init(context& c, std::string_view method, payload input) override {
        c.mailbox = {.most = most, .then = apiary::when_full::suspend_sender};
        return counted::init(c, method, std::move(input));
    }
    void step(events& batch, output& out) override {
        while (event* e = batch.next()) {
            if (e->type == event_type::cancel) return out.finish();
            if (e->type == event_type::message) ++books.taken;
            if (e->type == event_type::request) (void)out.answer(e->reply(), 1);
        }
    }
    const std::uint32_t most;
};

// Two that are linked, of which the first has the other end.
struct one_of_two : counted {
    one_of_two(ledger& l, pid o) : counted(l), other(o) {}
    void step(events& batch, output& out) override {
        while (event* e = batch.next()) {
            if (e->type == event_type::cancel) return out.finish();
            ++books.taken;
        }
        if (!other || std::exchange(linked, true)) return;
        if (out.link(other) == send_answer::accepted) (void)out.scheduler().kill(other);
    }
    const pid other;
    bool linked = false;
};

// Of a supervisor, which spawns it by itself.
struct supervised : process {
    init_answer init(context&, std::string_view, payload) override { return init_answer::ready; }
    void step(events& batch, output& out) override {
        while (event* e = batch.next())
            if (e->type == event_type::cancel) return out.finish();
    }
};

constexpr std::uint32_t at_once = 1, throws = 2, elsewhere = 3;

// Does all that a step can, each once, and finishes when that is over.
struct busy : counted {
    busy(ledger& l, pid e, pid b) : counted(l), of_others(e), bounded(b) {}
    void step(events& batch, output& out) override {
        while (event* e = batch.next()) {
            if (e->type == event_type::cancel) return out.finish();
            if (e->is_mail()) ++books.taken;
            if (e->type == event_type::ended) --watches, ++books.watches_told;
            if (e->type == event_type::completed) --calls, ++books.calls_over;
        }
        begin(out);
        if (done == 11 && calls == 0 && watches == 0) return out.finish();
        if (done != 11) out.again();
    }
    // What throws is not done, and not tried again.
    void begin(output& out) {
        switch (done++) {
            case 0: return calls_for([&] { out.sleep(1'000, 1); });
            case 1: return calls_for([&] { out.sleep(2'000, 2); });
            case 2: return calls_for([&] { out.call(at_once, 3, std::string(100, 'x')); });
            case 3: return calls_for([&] { out.call(throws, 4); });
            case 4: return sends(of_others, out, std::string(100, 'x'));
            case 5: return sends(out.self(), out, 5);
            case 6: return sends(bounded, out, 6), sends(bounded, out, 7);
            case 7:
                return calls_for([&] {
                    out.call(elsewhere, 6, apiary::offloaded([] { return payload(std::string(100, 'z')); }));
                });
            case 8: return requests(out);
            case 9: return spawns(out);
            case 10: return watches_one(out);
            default: --done;
        }
    }
    template <class Call>
    void calls_for(Call call) {
        if (!attempt(call)) return;
        ++calls;
        ++books.called;
    }
    template <class T>
    void sends(pid to, output& out, T what) {
        (void)attempt([&] { count(books.sent, out.send(to, payload(std::move(what)))); });
    }
    void requests(output& out) {
        (void)attempt([&] {
            if (out.request(of_others, 5, 7) != send_answer::accepted) return;
            ++calls, ++books.called;
        });
    }
    void spawns(output& out) {
        (void)attempt([&] {
            const auto made = out.spawn_watched(std::make_unique<echo>(books));
            if (!made) return;
            ++watches, ++books.watched;
            (void)out.scheduler().cancel(made.id);
        });
    }
    void watches_one(output& out) {
        (void)attempt([&] {
            if (out.watch(of_others) != send_answer::accepted) return;
            ++watches, ++books.watched;
            (void)out.scheduler().cancel(of_others);
        });
    }
    const pid of_others, bounded;
    int done = 0;
};

// A routine's mail is taken by the routine, or is a dead letter.
routine waits_with_limits(routine_self& me, ledger& books, pid other) {
    if (co_await me.receive_for(1'000)) ++books.taken;
    co_await me.sleep(1'000);
    (void)co_await me.call_for(1'000'000'000, other, 8);
    (void)co_await me.receive([](event& e) { return e.data.get<int>() != nullptr && *e.data.get<int>() == 2; });
    ++books.taken;
}

struct run_of_processes {
    void run() {
        processes all({.workers = 2,
                       .stop_ns = 30'000'000'000,
                       .handlers = {{at_once,
                                     [](auto& core, command&& c) {
                                         (void)core.complete_yield(c.from, c.tag, std::string(100, 'y'));
                                     }},
                                    {throws, [](auto&, command&&) { throw 1; }},
                                    {elsewhere, apiary::offload_to<bool (*)(std::function<void()>), heap_events>([](auto f) {
                                         f();
                                         return true;
                                     })}},
                       .on_dead_letter = [this](pid, apiary::dead_letter, event& e) {
                           ++told;
                           if (e.type == event_type::message) ++books.dead;
                       }});
        const auto spawn = [&](auto make) {
            pid made;
            (void)attempt([&] {
                const auto answer = all.spawn(make());
                if (answer) made = answer.id;
            });
            return made;
        };
        const pid other = spawn([&] { return std::make_unique<echo>(books); });
        const pid bounded = spawn([&] { return std::make_unique<echo>(books, 1U); });
        const pid linked = spawn([&] { return std::make_unique<one_of_two>(books, pid{}); });
        (void)spawn([&] { return std::make_unique<one_of_two>(books, linked); });
        const pid in_a_coroutine = spawn([&] {
            return apiary::as_process<heap_events>([&, other](routine_self& me) { return waits_with_limits(me, books, other); });
        });
        for (const int i : {1, 2}) (void)attempt([&] { count(books.sent, all.send(in_a_coroutine, i)); });
        (void)spawn([&] {
            using children = std::vector<apiary::basic_supervisor<heap_events>::child>;
            return std::make_unique<apiary::basic_supervisor<heap_events>>(children{
                {[] { return std::make_unique<supervised>(); }}, {[] { return std::make_unique<supervised>(); }}});
        });
        const pid does_all = spawn([&] { return std::make_unique<busy>(books, other, bounded); });
        (void)attempt([&] { (void)all.look(other); });
        while (all.lives(does_all)) std::this_thread::yield();
        (void)attempt([&] { (void)all.stop(); });  // without memory it has stopped all, and has no report
        over = all.over();
        living = all.counters().living;
        dead_letters = all.counters().dead_letters;
        stopped = true;
    }
    std::string wrong() const {
        std::string wrong = books.adds_up();
        if (heap_events::living != 0) wrong += std::to_string(heap_events::living) + " events or timers are forgotten\n";
        if (stopped && !over) wrong += "the stop is not over\n";
        if (living != 0) wrong += "some live\n";
        if (stopped && static_cast<int>(dead_letters) != told) wrong += "dead letters are not counted\n";
        return wrong;
    }

    ledger books;
    std::atomic<int> told = 0;  // dead letters, and unread ends
    bool over = false, stopped = false;
    std::uint64_t living = 0, dead_letters = 0;
};

TEST(processes_no_memory, each_allocation_of_a_run_may_fail) {
    apiary::fail_each_allocation<run_of_processes>({"processes: no memory to tell a process what it was promised"});
}

// ---- one operation without memory, its workers in the hand of the test

using turned = apiary::basic_turned<heap_events>;
using events = apiary::basic_event_batch<heap_events>;
using output = apiary::basic_step_output<heap_events>;
using apiary::process_end;

struct acts : process {
    explicit acts(std::function<void(events&, output&)> f) : step_(std::move(f)) {}
    init_answer init(context&, std::string_view, payload) override { return init_answer::ready; }
    void step(events& batch, output& out) override { step_(batch, out); }
    const std::function<void(events&, output&)> step_;
};
std::unique_ptr<process> acting(std::function<void(events&, output&)> f) { return std::make_unique<acts>(std::move(f)); }
void ignore(events& batch) {
    while (batch.next() != nullptr) {
    }
}
constexpr std::uint32_t nothing = 1;  // a command that nobody completes
apiary::basic_process_config<heap_events> with_nothing() { return {.handlers = {{nothing, [](auto&, command&&) {}}}}; }

// Runs f, in which the n-th allocation fails. True: it had so many.
template <class F>
bool without_the_nth(std::int64_t n, F f) {
    apiary::detail::later_ones_fail = false;
    apiary::detail::allocations_left = n;
    f();
    return apiary::detail::allocations_left.exchange(apiary::detail::none_fails) <= 0;
}
// For each n in turn, until f has fewer allocations; f gets a scheduler of its own and makes itself what is to fail.
template <class F>
void each_in_turn(F f) {
    std::int64_t n = 1;
    while (f(n)) ++n;
    EXPECT_GT(n, 1) << "it allocates nothing";
    EXPECT_EQ(heap_events::living, 0) << "events or timers are forgotten";
}

TEST(no_memory_set, has_what_it_had_when_it_cannot_grow) {
    each_in_turn([](std::int64_t n) {
        apiary::growing_set<std::uint64_t> set;
        for (std::uint64_t i = 0; i != set.few; ++i) set.add(i);
        bool added = false;
        const bool failed = without_the_nth(n, [&] { added = attempt([&] { set.add(set.few); }); });
        EXPECT_NE(added, failed);
        for (std::uint64_t i = 0; i != set.few; ++i) EXPECT_NE(set.find(i), nullptr) << i << " is lost";
        EXPECT_EQ(set.find(set.few) != nullptr, added);
        for (std::uint64_t i = 0; i != set.few; ++i) EXPECT_TRUE(set.erase(i));
        EXPECT_EQ(set.empty(), !added);
        return failed;
    });
}

TEST(no_memory_table, a_chunk_for_which_there_was_none_leaves_no_hole) {
    using core = apiary::process_core<heap_events>;
    apiary::process_table<core::place, heap_events, 3> table;
    EXPECT_TRUE(without_the_nth(1, [&] { EXPECT_FALSE(attempt([&] { (void)table.acquire(nullptr); })); }));
    core::place* const p = table.acquire(nullptr);
    ASSERT_NE(p, nullptr);
    EXPECT_EQ(p->index, 0U);
    EXPECT_EQ(table.find(0), p);
    int places = 0;
    table.each([&](core::place&) { ++places; });
    EXPECT_EQ(places, 1);
}

TEST(no_memory_processes, a_spawn_says_that_it_has_failed_and_is_counted_nowhere) {
    each_in_turn([](std::int64_t n) {
        turned t;
        auto body = acting([](events& batch, output&) { ignore(batch); });
        apiary::spawn_answer said;
        const bool failed = without_the_nth(n, [&] { said = t.all.spawn(std::move(body)); });
        EXPECT_EQ(said.error, failed ? apiary::spawn_error::failed : apiary::spawn_error::none);
        EXPECT_EQ(said.thrown != nullptr, failed);
        EXPECT_EQ(t.all.counters().living, failed ? 0U : 1U);
        return failed;
    });
}

TEST(no_memory_processes, one_whose_init_was_ready_is_closed_though_there_was_none_for_its_bound) {
    int failed_for_the_bound = 0;
    each_in_turn([&](std::int64_t n) {
        ledger l;
        {
            turned t;
            auto body = std::make_unique<echo>(l, 1U);
            apiary::spawn_answer said;
            const bool failed = without_the_nth(n, [&] { said = t.all.spawn(std::move(body)); });
            EXPECT_EQ(said.error, failed ? apiary::spawn_error::failed : apiary::spawn_error::none);
            if (!failed) return false;
            failed_for_the_bound += l.ready;
            EXPECT_EQ(l.closed, l.ready);
        }
        EXPECT_EQ(l.closed, l.ready) << "once";
        return true;
    });
    EXPECT_EQ(failed_for_the_bound, 1);
}

// A receiver gets a watch, a request, a message and another request, and one of the four allocations by which it notes
// these fails. `killed`: it has been killed before all that.
void requests_are_told(bool killed) {
    using apiary::detail::allocations_left, apiary::detail::none_fails;
    for (std::int64_t n = 1; n != 5; ++n) {
        std::vector<int> buried;
        buried.reserve(3);  // no allocation of the receiver's
        const auto bury = [&](pid, apiary::dead_letter, event& e) { buried.push_back(*e.data.get<int>()); };
        turned t(1, {.on_dead_letter = bury});
        int told = 0, ended = -1;
        const pid receiver = t.spawn(acting([](events& batch, output&) { ignore(batch); }));
        t.turns();
        (void)t.spawn(acting([&, begun = false](events& batch, output& out) mutable {
            while (event* e = batch.next()) {
                if (e->type == event_type::ended) ended = static_cast<int>(*e->data.get<process_end>());
                if (e->type != event_type::completed) continue;
                EXPECT_EQ(e->error, apiary::yield_error::no_answer);
                ++told;
            }
            if (std::exchange(begun, true)) return;
            if (killed) (void)t.all.kill(receiver);
            EXPECT_EQ(out.watch(receiver), send_answer::accepted);
            EXPECT_EQ(out.request(receiver, 1, 1), send_answer::accepted);
            EXPECT_EQ(out.send(receiver, 2), send_answer::accepted);
            EXPECT_EQ(out.request(receiver, 3, 3), send_answer::accepted);
            allocations_left = n;  // the receiver's, which may run in the same turn
        }));
        t.turns();
        EXPECT_LE(allocations_left.exchange(none_fails), 0);
        EXPECT_FALSE(t.all.lives(receiver));
        EXPECT_EQ(ended, static_cast<int>(killed ? process_end::killed : process_end::threw));
        EXPECT_EQ(told, 2) << "of two requests that nobody answers";
        EXPECT_EQ(buried, (std::vector{1, 2, 3})) << "each once, in their order";
        EXPECT_EQ(t.all.counters().exceptions, killed ? 0U : 1U);
    }
    EXPECT_EQ(heap_events::living, 0) << "events are forgotten";
}

TEST(no_memory_processes, one_that_cannot_note_what_has_come_ends_and_those_that_asked_are_told) {
    requests_are_told(false);
}

TEST(no_memory_processes, one_that_is_killed_and_cannot_note_what_has_come_tells_those_that_asked) {
    requests_are_told(true);
}

// It blocks, and is woken by a completion that it has not called for: a message that came before that has to wait.
TEST(no_memory_processes, one_that_cannot_keep_its_messages_ends) {
    each_in_turn([](std::int64_t n) {
        turned t(1, with_nothing());
        const pid p = t.spawn(acting([](events& batch, output& out) {
            ignore(batch);
            out.call(nothing, 1);
            out.block();
        }));
        t.turns();
        EXPECT_EQ(t.all.send(p, 1), send_answer::accepted);
        EXPECT_EQ(t.all.complete_yield(p, 2), send_answer::accepted);
        const bool failed = without_the_nth(n, [&] { EXPECT_TRUE(t.turn()); });
        EXPECT_EQ(t.all.lives(p), !failed);
        EXPECT_EQ(t.all.counters().exceptions, failed ? 1U : 0U);
        EXPECT_EQ(t.all.counters().dead_letters, failed ? 1U : 0U);
        return failed;
    });
}

TEST(no_memory_processes, one_that_cannot_call_for_what_it_says_ends_and_forgets_nothing) {
    each_in_turn([](std::int64_t n) {
        turned t(1, with_nothing());
        int steps = 0;
        const pid p = t.spawn(acting([&](events& batch, output& out) {
            ignore(batch);
            if (steps++ != 0) return;
            out.sleep(0, 1);
            out.sleep(3'600'000'000'000, 2);
            out.call(nothing, 3);
            out.block();
        }));
        const bool failed = without_the_nth(n, [&] { EXPECT_TRUE(t.turn()); });
        EXPECT_EQ(t.all.lives(p), !failed);
        EXPECT_EQ(t.all.counters().exceptions, failed ? 1U : 0U);
        t.turns();
        EXPECT_EQ(steps, failed ? 1 : 2);
        return failed;
    });
}

// Two that are linked by the second try end together.
TEST(no_memory_processes, a_link_for_which_there_was_none_is_not_made_and_can_be_made_later) {
    each_in_turn([](std::int64_t n) {
        turned t;
        const pid other = t.spawn(acting([](events& batch, output&) { ignore(batch); }));
        t.turns();
        bool failed = false;
        const pid p = t.spawn(acting([&, begun = false](events& batch, output& out) mutable {
            ignore(batch);
            if (std::exchange(begun, true)) return;
            bool made = false;
            failed = without_the_nth(n, [&] { made = attempt([&] { (void)out.link(other); }); });
            EXPECT_NE(made, failed);
            EXPECT_EQ(out.link(other), send_answer::accepted);
        }));
        t.turns();
        EXPECT_EQ(t.all.kill(other), send_answer::accepted);
        t.turns();
        EXPECT_FALSE(t.all.lives(p)) << "it was told that it is linked, and lives on";
        return failed;
    });
}

TEST(no_memory_processes, the_messages_of_one_that_cannot_note_them_are_in_the_sum_of_the_report) {
    turned t;
    const pid p = t.spawn(acting([](events&, output&) {}));
    t.turns();
    EXPECT_EQ(t.all.send(p, 1), send_answer::accepted);
    t.all.request_stop();
    EXPECT_TRUE(without_the_nth(1, [&] { EXPECT_TRUE(t.turn()); }));
    EXPECT_TRUE(t.all.lives(p));
    EXPECT_EQ(t.all.report().undelivered, 1U);
}

TEST(no_memory_processes, an_entry_of_the_report_for_which_there_was_none_is_counted) {
    turned t;
    const pid p = t.spawn(acting([](events& batch, output&) { ignore(batch); }));
    t.turns();
    t.all.request_stop();
    EXPECT_EQ(t.all.kill(p), send_answer::accepted);
    EXPECT_TRUE(without_the_nth(1, [&] { EXPECT_TRUE(t.turn()); }));
    EXPECT_FALSE(t.all.lives(p));
    const auto report = t.all.report();
    EXPECT_EQ(report.unlisted, 1U);
    EXPECT_TRUE(report.forced.empty());
}

TEST(no_memory_processes, a_look_that_could_not_be_answered_says_so) {
    turned t(1, with_nothing());
    const pid p = t.spawn(acting([](events& batch, output& out) {
        ignore(batch);
        for (const std::uint64_t tag : {1U, 2U}) out.call(nothing, tag);
        out.block();
    }));
    t.turns();
    apiary::process_view seen;
    std::thread looks([&] { seen = t.all.look(p, 3'600'000'000'000); });
    while (t.all.crew().pool().looks_empty()) std::this_thread::yield();
    EXPECT_TRUE(without_the_nth(1, [&] { EXPECT_TRUE(t.turn()); }));
    looks.join();
    EXPECT_TRUE(seen.lives);
    EXPECT_EQ(seen.state, apiary::process_state::blocked);
    EXPECT_FALSE(seen.told);
    EXPECT_TRUE(seen.calls.empty());
}

// The children end by the cancel, which needs no memory.
TEST(no_memory_processes, a_supervisor_that_cannot_kill_its_children_cancels_them) {
    turned t;
    int cancelled = 0;
    const auto make = [&] {
        return acting([&](events& batch, output& out) {
            while (const event* e = batch.next())
                if (e->type == event_type::cancel) ++cancelled, out.finish();
        });
    };
    const pid s = t.spawn(std::make_unique<apiary::basic_supervisor<heap_events>>(
        std::vector<apiary::basic_supervisor<heap_events>::child>{{make}}));
    t.turns();
    EXPECT_EQ(t.all.kill(s), send_answer::accepted);
    EXPECT_TRUE(without_the_nth(1, [&] { EXPECT_TRUE(t.turn()); }));
    EXPECT_FALSE(t.all.lives(s));
    t.turns();
    EXPECT_EQ(cancelled, 1);
    EXPECT_EQ(t.all.counters().living, 0U);
}

TEST(no_memory_processes, a_routine_that_cannot_keep_a_message_ends_and_the_message_is_a_dead_letter) {
    each_in_turn([](std::int64_t n) {
        turned t;
        int got = 0;
        const pid p = t.spawn(apiary::as_process<heap_events>([&](routine_self& me) -> routine {
            for (;;) {
                (void)co_await me.receive();
                ++got;
            }
        }));
        t.turns();
        for (int i = 0; i != 3; ++i) EXPECT_EQ(t.all.send(p, i), send_answer::accepted);
        const bool failed = without_the_nth(n, [&] { EXPECT_TRUE(t.turn()); });
        EXPECT_EQ(t.all.lives(p), !failed);
        EXPECT_EQ(t.all.counters().dead_letters, failed ? 3U : 0U);
        EXPECT_EQ(got, failed ? 0 : 3);
        return failed;
    });
}

// Its call has been sent when there is none for the limit. The next wait is for a message, and the answer ends none.
TEST(no_memory_processes, a_call_of_a_routine_that_has_none_for_its_limit_leaves_nothing_to_the_next_wait) {
    using apiary::detail::allocations_left, apiary::detail::none_fails;
    int asked_and_failed = 0;
    each_in_turn([&](std::int64_t n) {
        turned t;
        std::vector<apiary::reply_to> asked;
        std::vector<int> got;
        bool caught = false;
        const pid server = t.spawn(acting([&](events& batch, output&) {
            while (const event* e = batch.next()) asked.push_back(e->reply());
        }));
        t.turns();
        const pid r = t.spawn(apiary::as_process<heap_events>([&](routine_self& me) -> routine {
            allocations_left = n;
            try {
                (void)co_await me.call_for(3'600'000'000'000, server, 1);
            } catch (const std::bad_alloc&) {
                caught = true;
            }
            allocations_left = none_fails;
            for (;;) got.push_back(*(co_await me.receive()).data.get<int>());
        }));
        EXPECT_TRUE(t.turn());
        const bool failed = allocations_left.exchange(none_fails) <= 0 || caught;
        t.turns();
        if (!caught) return failed;  // if it failed, then when the step had returned: the process has ended
        asked_and_failed += asked.empty() ? 0 : 1;
        for (const int i : {7, 8}) {
            EXPECT_EQ(t.all.send(r, i), send_answer::accepted);
            t.turns();
            EXPECT_EQ(got.size(), i == 7 ? 1U : 2U) << "it waits for a message, and one has come";
            for (const apiary::reply_to to : asked) EXPECT_EQ(t.all.answer(to, 5), send_answer::accepted);
            t.turns();
        }
        EXPECT_EQ(got, (std::vector{7, 8}));
        return failed;
    });
    EXPECT_GT(asked_and_failed, 0) << "none failed between the call and its limit";
}

// The timer of the first wait fires when the second has found none for its own.
TEST(no_memory_processes, a_limit_for_which_a_routine_had_none_ends_no_later_wait) {
    using apiary::detail::allocations_left, apiary::detail::none_fails;
    turned t;
    bool caught = false, in_time = false;
    const pid r = t.spawn(apiary::as_process<heap_events>([&](routine_self& me) -> routine {
        (void)co_await me.receive_for(5'000'000);
        allocations_left = 1;
        try {
            (void)co_await me.receive_for(1);
        } catch (const std::bad_alloc&) {
            caught = true;
        }
        allocations_left = none_fails;
        (void)co_await me.receive();
        in_time = (co_await me.receive_for(3'600'000'000'000)).has_value();
    }));
    t.turns();
    EXPECT_EQ(t.all.send(r, 1), send_answer::accepted);
    t.turns();
    allocations_left = none_fails;
    if (!caught) return;  // the machine stood still until the first timer had fired
    const std::int64_t fired = t.all.now_ns() + 10'000'000;
    while (t.all.now_ns() < fired) (void)t.turn();
    for (const int i : {2, 3}) {
        EXPECT_EQ(t.all.send(r, i), send_answer::accepted) << "its time is over at once";
        t.turns();
    }
    EXPECT_TRUE(in_time);
}

// Two messages more lie in it than are taken, so it never is empty. What is taken is forgotten.
TEST(no_memory_processes, a_routine_needs_no_more_memory_however_many_messages_it_has_taken) {
    for (const bool chooses : {false, true}) {
        turned t;
        const auto is = [](int n) { return [n](event& e) { return *e.data.get<int>() == n; }; };
        const pid p = t.spawn(apiary::as_process<heap_events>([&](routine_self& me) -> routine {
            for (;;) {
                (void)co_await me.receive(is(0));
                if (chooses)
                    (void)co_await me.receive(is(1));
                else
                    (void)co_await me.receive();
            }
        }));
        for (int i = 0; i != 2; ++i) EXPECT_EQ(t.all.send(p, 1), send_answer::accepted);
        const auto allocations = [&](int rounds) {
            using apiary::detail::allocations_left;
            constexpr std::int64_t most = 1'000'000;
            allocations_left = most;
            for (int i = 0; i != 2 * rounds; ++i) {
                EXPECT_EQ(t.all.send(p, 1 - i % 2), send_answer::accepted);
                t.turns();
            }
            return most - allocations_left.exchange(apiary::detail::none_fails);
        };
        (void)allocations(16);
        const std::int64_t one = allocations(1);
        EXPECT_GT(one, 0);
        EXPECT_EQ(allocations(100), 100 * one);
    }
}

TEST(no_memory_processes, a_completion_that_was_made_before_and_finds_nobody_is_not_forgotten) {
    {
        turned t;
        EXPECT_EQ(t.all.complete({}, t.all.make_completion(1)), send_answer::no_such_process);
        EXPECT_EQ(t.all.complete(pid::of(7, 1), t.all.make_completion(1)), send_answer::no_such_process);
        const pid p = t.spawn(acting([](events&, output& out) { out.finish(); }));
        t.turns();
        EXPECT_EQ(t.all.complete(p, t.all.make_completion(1)), send_answer::completing);
        EXPECT_EQ(t.all.counters().late_completions, 3U);
    }
    EXPECT_EQ(heap_events::living, 0);
}

TEST(no_memory_processes, what_is_told_to_one_that_has_ended_needs_none) {
    turned t;
    const pid p = t.spawn(acting([](events&, output& out) { out.finish(); }));
    t.turns();
    EXPECT_FALSE(without_the_nth(1, [&] {
        EXPECT_EQ(t.all.kill(p), send_answer::completing);
        EXPECT_EQ(t.all.complete_yield(p, 1), send_answer::completing);
        EXPECT_EQ(t.all.answer({p, 1}), send_answer::completing);
    }));
    EXPECT_EQ(t.all.counters().late_completions, 2U);
}

// It is killed while it waits for room; then its message is taken.
TEST(no_memory_processes, one_that_has_ended_is_not_told_that_there_is_room) {
    turned t(1, with_nothing());
    int steps = 0;
    struct narrow : acts {
        using acts::acts;
        init_answer init(context& c, std::string_view, payload) override {
            c.mailbox = {.most = 1, .then = apiary::when_full::suspend_sender};
            return init_answer::ready;
        }
    };
    const pid receiver = t.spawn(std::make_unique<narrow>([&](events& batch, output& out) {
        ignore(batch);
        if (++steps != 1) return;
        out.call(nothing, 1);
        out.block();
    }));
    t.turns();
    const pid sender = t.spawn(acting([&](events& batch, output& out) {
        ignore(batch);
        for (int i = 0; i != 2; ++i) EXPECT_EQ(out.send(receiver, i), send_answer::accepted);
    }));
    t.turns();
    EXPECT_EQ(t.all.kill(sender), send_answer::accepted);
    t.turns();
    EXPECT_FALSE(t.all.lives(sender));
    EXPECT_EQ(t.all.complete_yield(receiver, 1), send_answer::accepted);
    EXPECT_FALSE(without_the_nth(1, [&] { t.turns(); }));
    EXPECT_EQ(steps, 2);
}

// The spawn notes its watcher before init, which refuses.
TEST(no_memory_processes, a_place_whose_process_was_refused_keeps_nothing_for_the_next_one) {
    struct refusing : process {
        init_answer init(context&, std::string_view, payload) override { return init_answer::failed; }
        void step(events&, output&) override {}
    };
    turned t;
    bool begun = false;
    (void)t.spawn(acting([&](events& batch, output& out) {
        ignore(batch);
        if (std::exchange(begun, true)) return;
        const auto allocations = [&out] {
            using apiary::detail::allocations_left;
            constexpr std::int64_t most = 1'000;
            allocations_left = most;
            EXPECT_EQ(out.spawn_watched(std::make_unique<refusing>()).error, apiary::spawn_error::failed);
            return most - allocations_left.exchange(apiary::detail::none_fails);
        };
        (void)allocations();  // the table's, too
        EXPECT_EQ(allocations(), 3) << "of the child, of what its place notes beside itself, and of a watcher";
    }));
    t.turns();
    EXPECT_TRUE(begun);
}

// It sleeps for ever, and is killed: its timer goes with its worker.
TEST(no_memory_processes, a_timer_that_is_left_at_the_end_is_not_forgotten) {
    {
        turned t;
        const pid p = t.spawn(acting([](events& batch, output& out) {
            ignore(batch);
            out.sleep(3'600'000'000'000, 1);
            out.block();
        }));
        t.turns();
        EXPECT_EQ(t.all.kill(p), send_answer::accepted);
    }
    EXPECT_EQ(heap_events::living, 0);
}

}  // namespace
