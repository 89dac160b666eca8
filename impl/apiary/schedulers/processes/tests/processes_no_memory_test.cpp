// A scheduler of processes of which each allocation fails in turn. Of no_memory_test, which replaces operator new.
#include <apiary/schedulers/processes/offload.hpp>
#include <apiary/schedulers/processes/processes.hpp>
#include <apiary/schedulers/processes/routine.hpp>
#include <apiary/schedulers/processes/supervisor.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <apiary/testing/allocation_sweep.hpp>

namespace {

using apiary::attempt;
using apiary::event;
using apiary::event_type;
using apiary::init_answer;
using apiary::payload;
using apiary::pid;
using apiary::send_answer;

// The policy that ships, but each event and each frame is an object of the heap, and the table grows by one place at a time.
struct heap_events : apiary::real_sync {};

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
    std::atomic<int> spawned = 0, closed = 0;
    std::atomic<int> watched = 0, watches_told = 0, watchers_gone = 0;
    std::atomic<int> called = 0, calls_over = 0, callers_gone = 0;

    std::string adds_up() const {
        std::string wrong;
        const auto equal = [&wrong](const char* what, int a, int b) {
            if (a != b) wrong += std::string(what) + ": " + std::to_string(a) + " and " + std::to_string(b) + "\n";
        };
        equal("sent; taken or dead", sent, taken + dead);
        equal("spawned, closed", spawned, closed);
        equal("watched; told or gone", watched, watches_told + watchers_gone);
        equal("called; over or gone", called, calls_over + callers_gone);
        return wrong;
    }
};

void count(std::atomic<int>& n, send_answer a) { n += a == send_answer::accepted ? 1 : 0; }

struct counted : process {
    explicit counted(ledger& l) : books(l) {}
    init_answer init(context&, std::string_view, payload) override { return init_answer::ready; }
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
    init_answer init(context& c, std::string_view, payload) override {
        c.mailbox = {.most = most, .then = apiary::when_full::suspend_sender};
        return init_answer::ready;
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
            ++books.spawned, ++watches, ++books.watched;
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
                if (answer) ++books.spawned, made = answer.id;
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
        if (in_a_coroutine) --books.spawned;  // it is no `counted`
        for (const int i : {1, 2}) (void)attempt([&] { count(books.sent, all.send(in_a_coroutine, i)); });
        if (spawn([&] {
                using children = std::vector<apiary::basic_supervisor<heap_events>::child>;
                return std::make_unique<apiary::basic_supervisor<heap_events>>(
                    children{{[] { return std::make_unique<supervised>(); }}, {[] { return std::make_unique<supervised>(); }}});
            }))
            --books.spawned;  // nor is this
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

}  // namespace
