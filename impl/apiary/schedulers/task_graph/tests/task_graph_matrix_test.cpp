// Each call of a graph in each situation: empty, stopped before, stopped or cancelled meanwhile, full, kept full by a
// scope, grown, without memory, destroyed with tasks that have not run. A table of situations times a list of calls:
// for each cell the one answer that is allowed. Then the graph must still work, and has run, cancelled and forgotten
// what it had to, and nothing else.
#include <apiary/schedulers/task_graph/task_graph.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <new>
#include <ostream>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "empty_heap.hpp"

namespace task_graph_matrix_test {
namespace {

using apiary::ready_policy;
using apiary::task_id;
using apiary::task_options;
using apiary::testing::without_memory;

// Tells when the thread that closes sleeps: it has its turn then, and keeps it until the graph is closed.
struct watched : apiary::real_sync {
    static inline thread_local bool closes = false;
    static inline std::atomic<bool> closing = false;
    static void reach(const char* what) noexcept {
        if (closes && std::string_view(what) == "helping.blocked") closing = true;
    }
};
using graph = apiary::basic_task_graph<watched>;

constexpr std::uint32_t heap = 64;
constexpr std::size_t slots = 4;

// What is done before the call. A letter stands for each step:
//   T X  a task; one that throws        A Y  the same after the newest
//   D    one after the newest, twice
//   O B  one with an output of 16 bytes; of half of the heap      N  one that throws, with an output
//   S E  a scope begins; the newest one ends      W  a wait      C  a close
//   Q    another thread is in the middle of a close
//   M    there is no memory from here on, for the thread that calls
// The answers, in the order of the calls below:
//   d done   l std::logic_error   a std::invalid_argument   t std::length_error   s window_stuck   m std::bad_alloc
//   r refuses_copies   -  no such call here
struct situation {
    const char* name;
    const char* script;
    const char* answers;
    std::size_t dependencies = 8, window = slots, window_most = 0;
};

//   p     submit: a task without producers      a     after the newest           b     after the oldest and the newest
//   o h   with 16 bytes, with the whole heap    l     of a large callable        r     whose callable cannot be copied
//   x     that will throw                       u     after one that is unknown  z     with more than the heap
//   y     of a type without workers             w     wait                       c     close
//   s e   begin a scope, end the newest         v g   output, state of the newest
//   f n   failures; counters and progress       q     destroyed, with whatever is open and has not run
constexpr char calls[] = "paboh" "lrx" "uzy" "wc" "se" "vg" "fn" "q";
constexpr const char* call_names[] = {
    "submit", "submit_after", "submit_after_two", "submit_16_bytes", "submit_the_heap", "submit_a_large_one",
    "submit_an_uncopyable_one", "submit_one_that_throws", "submit_after_an_unknown", "submit_too_many_bytes",
    "submit_of_no_type", "wait", "close", "begin_a_scope", "end_a_scope", "output", "state", "failures", "counters",
    "destroy"};

const situation situations[] = {
    //                                   paboh lrx uzy wc se vg fn q
    {"empty", "",                       "d--dd" "drd" "ata" "dd" "d-" "--" "dd" "d"},
    {"not_run_yet", "T",                "ddddd" "drd" "ata" "dd" "d-" "dd" "dd" "d"},
    {"all_ended", "TW",                 "ddddd" "drd" "ata" "dd" "d-" "dd" "dd" "d"},
    {"a_producer_throws_meanwhile", "X", "ddddd" "drd" "ata" "dd" "d-" "dd" "dd" "d"},
    {"a_producer_threw", "XW",          "ddddd" "drd" "ata" "dd" "d-" "dd" "dd" "d"},
    {"its_producer_was_cancelled", "XAW", "ddddd" "drd" "ata" "dd" "d-" "dd" "dd" "d"},
    {"an_output_threw_in_a_scope", "SNW", "dddds" "drd" "ata" "dd" "dd" "dd" "dd" "d"},
    {"an_output_stays", "SOW",          "dddds" "drd" "ata" "dd" "dd" "dd" "dd" "d"},
    {"an_output_is_held_after_its_scope", "SOAE", "ddddd" "drd" "ata" "dd" "d-" "dd" "dd" "d"},

    {"full", "TTTT",                    "ddddd" "drd" "ata" "dd" "d-" "dd" "dd" "d"},
    {"full_of_a_chain", "TAAA",         "ddddd" "drd" "ata" "dd" "d-" "dd" "dd" "d"},
    {"full_of_what_is_cancelled_meanwhile", "XAAA", "ddddd" "drd" "ata" "dd" "d-" "dd" "dd" "d"},
    {"full_and_cancelled_at_the_end", "TAYA", "ddddd" "drd" "ata" "dd" "d-" "dd" "dd" "d"},
    {"full_a_second_time", "TTTTXAAA",  "ddddd" "drd" "ata" "dd" "d-" "dd" "dd" "d"},
    {"full_and_all_ended", "TTTTW",     "ddddd" "drd" "ata" "dd" "d-" "dd" "dd" "d"},
    {"full_and_held_after_its_scope", "SOAETT", "ddddd" "drd" "ata" "dd" "d-" "dd" "dd" "d"},
    {"full_and_kept", "STTTT",          "sssss" "sss" "ata" "dd" "dd" "dd" "dd" "d"},
    {"full_and_kept_and_all_ended", "STTTTW", "sssss" "sss" "ata" "dd" "dd" "dd" "dd" "d"},
    {"full_and_kept_by_two_scopes", "STTSTT", "sssss" "sss" "ata" "dd" "dd" "dd" "dd" "d"},
    {"full_and_kept_but_for_the_oldest", "TSTTT", "ddddd" "drd" "ata" "dd" "dd" "dd" "dd" "d"},
    {"kept_and_full_of_what_is_cancelled", "SXAAA", "sssss" "sss" "ata" "dd" "dd" "dd" "dd" "d"},
    {"dependencies_are_full", "TDD",    "ddddd" "drd" "ata" "dd" "d-" "dd" "dd" "d", 4},
    {"dependencies_are_full_and_kept", "STDD", "dssdd" "drd" "ata" "dd" "dd" "dd" "dd" "d", 4},
    {"dependencies_are_full_of_what_is_cancelled", "XDD", "ddddd" "drd" "ata" "dd" "d-" "dd" "dd" "d", 4},
    {"the_heap_is_full", "BB",          "ddddd" "drd" "ata" "dd" "d-" "dd" "dd" "d"},
    {"the_heap_is_full_of_what_throws", "NAB", "ddddd" "drd" "ata" "dd" "d-" "dd" "dd" "d"},
    {"the_heap_is_full_and_kept", "SBB", "dddss" "dsd" "ata" "dd" "dd" "dd" "dd" "d"},
    {"the_heap_wraps", "OBWB",          "ddddd" "drd" "ata" "dd" "d-" "dd" "dd" "d"},
    {"grown", "TTTTTTTTTT",             "ddddd" "drd" "ata" "dd" "d-" "dd" "dd" "d", 8, 2, 8},
    {"grown_over_one_that_threw", "XTTTTTTTTA", "ddddd" "drd" "ata" "dd" "d-" "dd" "dd" "d", 8, 2, 8},
    {"about_to_grow_and_kept", "TTTTSTT", "sssss" "sss" "ata" "dd" "dd" "dd" "dd" "d", 8, 2, 8},

    {"stopped_before", "TC",            "lllll" "lll" "lll" "dd" "l-" "dd" "dd" "d"},
    {"stopped_before_any", "C",         "l--ll" "lll" "lll" "dd" "l-" "--" "dd" "d"},
    {"stopped_over_one_that_threw", "XAC", "lllll" "lll" "lll" "dd" "l-" "dd" "dd" "d"},
    {"stopped_with_a_scope", "STC",     "lllll" "lll" "lll" "dd" "ll" "dd" "dd" "d"},
    {"stopped_meanwhile", "TQ",         "lllll" "lll" "lll" "dd" "l-" "--" "dd" "-"},
    {"stopped_meanwhile_and_full", "TTTTQ", "lllll" "lll" "lll" "dd" "l-" "--" "dd" "-"},
    {"stopped_meanwhile_over_one_that_threw", "XAQ", "lllll" "lll" "lll" "dd" "l-" "--" "dd" "-"},

    {"no_memory", "TM",                 "ddddd" "mrd" "mmm" "dm" "m-" "dd" "dd" "d"},
    {"no_memory_and_full", "TTTTM",     "ddddd" "mrd" "mmm" "dm" "m-" "dd" "dd" "d"},
    {"no_memory_and_kept_full", "STTTTM", "mmmmm" "mmm" "mmm" "dm" "md" "dd" "dd" "d"},
    {"no_memory_and_one_threw", "XAWM", "ddddd" "mrd" "mmm" "dm" "m-" "dd" "md" "d"},
    {"no_memory_to_grow", "TTTTTTTM",   "ddddd" "mrd" "mmm" "dm" "m-" "dd" "dd" "d", 8, 2, 8},
    {"no_memory_and_stopped", "TCM",    "mmmmm" "mmm" "mmm" "dm" "m-" "dd" "dd" "d"},
};

struct cell {
    const situation* in;
    std::size_t call;
    unsigned workers;
    ready_policy policy;
};
void PrintTo(const cell& c, std::ostream* out) { *out << c.in->script << ", then " << calls[c.call]; }

std::vector<cell> cells() {
    std::vector<cell> all;
    for (const situation& s : situations)
        for (std::size_t call = 0; calls[call] != 0; ++call)
            for (const unsigned workers : {0U, 1U})
                for (const ready_policy policy : {ready_policy::locality, ready_policy::min_clock}) {
                    if (s.answers[call] == '-') continue;
                    // No thread may find out about a failure without memory; and none throws where the submitter has
                    // none.
                    if (std::string_view(s.script).ends_with('M') && calls[call] == 'x' && workers == 0) continue;
                    all.push_back({&s, call, workers, policy});
                }
    return all;
}

struct refuses_copies {};
struct thrown_by_a_task {};

struct task_graph_matrix : testing::TestWithParam<cell> {
    // What is known of a task: of whom it is a consumer, and what became of it.
    struct known {
        std::vector<task_id> after;
        std::set<task_id> causes;  // the tasks that throw, on which it depends
        bool throws = false, in_a_scope = false;
        bool cancelled() const { return !causes.empty(); }
        std::uint32_t bytes = 0;
        std::atomic<int> ran = 0, empty_inputs = 0, wrong_inputs = 0;
    };
    std::deque<known> tasks;
    std::shared_ptr<int> held = std::make_shared<int>();
    std::atomic<bool> released = true;
    std::unique_ptr<graph> g;
    std::deque<graph::scope> scopes;
    std::thread closer;
    bool several = false, closed = false;

    // The callable of task `id`.
    struct body {
        void operator()(auto& t) const {
            while (!m->released) std::this_thread::yield();
            known& k = m->tasks[id];
            ++k.ran;
            if (t.id() != id || t.inputs() != k.after.size()) ++k.wrong_inputs;
            for (std::size_t i = 0; i != k.after.size(); ++i) {
                const auto* in = t.template input<task_id>(i);
                if (in == nullptr)
                    ++k.empty_inputs;
                else if (*in != k.after[i])
                    ++k.wrong_inputs;
            }
            if (k.bytes != 0) *t.template output<task_id>() = id;
            if (t.output().size() != k.bytes) ++k.wrong_inputs;
            if (k.throws) throw thrown_by_a_task();
        }
        task_graph_matrix* m;
        task_id id;
        std::shared_ptr<int> held;
    };
    struct large : body {
        std::array<long, 10> more{};
    };
    struct uncopyable : body {
        explicit uncopyable(body b) : body(std::move(b)) {}
        uncopyable(const uncopyable& o) : body(o) { throw refuses_copies(); }
    };

    template <class F = body>
    void submit(std::vector<task_id> after, std::uint32_t bytes = 0, bool throws = false, std::uint8_t type = 0) {
        const task_id id = tasks.size();
        const task_options options{.type = type, .bytes = bytes};
        {
            known& k = tasks.emplace_back();
            k.after = after, k.throws = throws, k.bytes = bytes, k.in_a_scope = !scopes.empty();
            for (const task_id p : after) {
                if (p >= id) continue;
                const known& producer = tasks[p];
                k.causes.insert(producer.causes.begin(), producer.causes.end());
                if (producer.throws && !producer.cancelled()) k.causes.insert(p);
            }
        }
        const F f = made<F>({this, id, held});
        const bool memory = !std::exchange(apiary::testing::heap_is_empty, out_of_memory);
        try {
            EXPECT_EQ(g->submit(std::span<const task_id>(after), f, options), id);
        } catch (...) {
            apiary::testing::heap_is_empty = !memory;
            tasks.pop_back();
            throw;
        }
        apiary::testing::heap_is_empty = !memory;
    }
    template <class F>
    static F made(body b) {
        if constexpr (std::is_same_v<F, uncopyable>)
            return F(std::move(b));
        else
            return F{std::move(b)};
    }
    task_id newest() const { return tasks.size() - 1; }
    void end_scopes() {
        while (!scopes.empty()) scopes.pop_back();
    }
    bool out_of_memory = false;

    void happens(char what) {
        switch (what) {
            case 'T':
                return submit({});
            case 'X':
                return submit({}, 0, true);
            case 'A':
                return submit({newest()});
            case 'Y':
                return submit({newest()}, 0, true);
            case 'D':
                return submit({newest(), newest()});
            case 'O':
                return submit({}, 16);
            case 'B':
                return submit({}, heap / 2);
            case 'N':
                return submit({}, heap / 2, true);
            case 'S':
                return (void)scopes.emplace_back(*g);
            case 'E':
                return scopes.pop_back();
            case 'W':
                return g->wait();
            case 'C':
                closed = true;
                return (void)g->close();
            case 'M':
                out_of_memory = true;
                return;
            case 'Q':
                watched::closing = false;
                closer = std::thread([this] {
                    watched::closes = true;
                    (void)g->close();
                });
                while (!watched::closing) std::this_thread::yield();
                closed = released = true;
                return;
            default:
                FAIL() << "no such letter: " << what;
        }
    }

    template <class F>
    void quietly(F f) {  // without memory, if there is none
        const bool before = std::exchange(apiary::testing::heap_is_empty, out_of_memory);
        try {
            f();
        } catch (...) {
            apiary::testing::heap_is_empty = before;
            throw;
        }
        apiary::testing::heap_is_empty = before;
    }
    void calls_it(char what) {
        switch (what) {
            case 'p':
                return submit({});
            case 'a':
                return submit({newest()});
            case 'b':
                return submit({0, newest()});
            case 'o':
                return submit({}, 16);
            case 'h':
                return submit({}, heap);
            case 'l':
                return submit<large>({});
            case 'r':
                return submit<uncopyable>({}, 16);
            case 'x':
                return submit({}, 0, true);
            case 'u':
                return submit({tasks.size()});
            case 'z':
                return submit({}, heap + 1);
            case 'y':
                return submit({}, 0, false, 1);
            case 'w':
                quietly([this] { g->wait(); });
                for (const known& k : tasks) EXPECT_TRUE(k.ran == 1 || k.cancelled());
                return;
            case 'c':
                closed = true;
                return quietly([this] { (void)g->close(); });
            case 's':
                return quietly([this] { scopes.emplace_back(*g); });
            case 'e':
                quietly([this] { scopes.back().end(); });
                EXPECT_THROW(scopes.back().end(), std::logic_error) << "a second time";
                return scopes.pop_back();
            case 'v':
                return quietly([this] {
                    const auto out = g->output(newest());
                    if (out.empty()) return;
                    EXPECT_EQ(*reinterpret_cast<const task_id*>(out.data()), newest());
                });
            case 'g':
                return quietly([this] { (void)g->state(newest()); });
            case 'f':
                return quietly([this] { (void)g->failures(); });
            case 'n':
                return quietly([this] {
                    const auto p = g->progress();
                    EXPECT_LE(p.begun, p.submitted);
                    EXPECT_LE(p.submitted, tasks.size());
                    EXPECT_LE(g->counters(0).ran, tasks.size());
                });
            case 'q':
                return quietly([this] {
                    end_scopes();
                    g.reset();
                });
            default:
                FAIL() << "no such call: " << what;
        }
    }
    char answer_to(char call) {
        try {
            calls_it(call);
            return 'd';
        } catch (const apiary::window_stuck&) {
            return 's';
        } catch (const std::invalid_argument&) {
            return 'a';
        } catch (const std::length_error&) {
            return 't';
        } catch (const std::logic_error&) {
            return 'l';
        } catch (const std::bad_alloc&) {
            return 'm';
        } catch (const refuses_copies&) {
            return 'r';
        }
    }

    void everything_is_as_it_must_be() {
        std::size_t failed = 0, cancelled_ones = 0;
        for (task_id id = 0; id != tasks.size(); ++id) {
            const known& k = tasks[id];
            EXPECT_EQ(k.ran, k.cancelled() ? 0 : 1) << "task " << id;
            EXPECT_EQ(k.wrong_inputs, 0) << "task " << id;
            if (k.cancelled() || k.throws) ++failed;
            if (k.cancelled()) ++cancelled_ones;
            if (g == nullptr) continue;
            // In a scope an output stays.
            int kept = 0;
            for (const task_id p : k.after) kept += tasks[p].bytes != 0 && tasks[p].in_a_scope && k.in_a_scope ? 1 : 0;
            EXPECT_LE(k.empty_inputs + kept, static_cast<int>(k.after.size()))
                << "task " << id << " has not got what a task has put out";
        }
        EXPECT_EQ(held.use_count(), 1) << "a callable is left";
        if (g == nullptr) return;
        const auto failures = g->failures();
        EXPECT_EQ(failures.size(), failed);
        for (const auto& f : failures) {
            const auto& of = tasks[f.task].causes;
            EXPECT_EQ(f.thrown != nullptr, of.empty()) << "task " << f.task;
            EXPECT_TRUE(of.empty() ? f.cause == f.task : of.contains(f.cause)) << "task " << f.task << ", cause " << f.cause;
        }
        const auto all = g->counters(0);
        EXPECT_EQ(all.begun(), tasks.size());
        EXPECT_EQ(all.cancelled, cancelled_ones);
        EXPECT_EQ(all.thrown, failed - cancelled_ones);
    }
};

TEST_P(task_graph_matrix, gives_the_one_answer_that_is_allowed_and_goes_on) {
    const auto& [in, call, workers, policy] = GetParam();
    several = std::string_view(in->script).find('Q') != std::string_view::npos;
    released = !several;
    g = std::make_unique<graph>(apiary::task_graph_config{.workers = {several ? 1 : workers, 0},
                                                          .submitter_helps = !several,
                                                          .window = in->window,
                                                          .dependencies = in->dependencies,
                                                          .output_bytes = heap,
                                                          .policy = policy,
                                                          .several_submitters = several,
                                                          .window_most = in->window_most});
    for (const char* what = in->script; *what != 0; ++what) happens(*what);
    EXPECT_EQ(answer_to(calls[call]), in->answers[call]);
    if (closer.joinable()) closer.join();
    out_of_memory = false;
    if (g != nullptr && !closed) {
        EXPECT_EQ(g->submitted(), tasks.size()) << "a submit that throws has submitted nothing";
        end_scopes();
        // All that there is of room can be had again.
        submit({}, heap);
        submit({newest()}, 0, false);
        g->wait();
        submit({}, heap);
        for (std::size_t i = 0; i != 2 * slots; ++i) submit({newest(), newest(), newest(), newest()});
        g->wait();
        EXPECT_EQ(g->submitted(), tasks.size());
        const auto report = g->close();
        EXPECT_EQ(report.consumed, report.submitted);
        EXPECT_EQ(report.open_scopes, 0U);
    }
    end_scopes();
    everything_is_as_it_must_be();
}

INSTANTIATE_TEST_SUITE_P(each, task_graph_matrix, testing::ValuesIn(cells()), [](const testing::TestParamInfo<cell>& c) {
    return std::string(call_names[c.param.call]) + "_when_" + c.param.in->name + (c.param.workers == 0 ? "" : "_by_a_worker") +
           (c.param.policy == ready_policy::locality ? "" : "_by_policy");
});

}  // namespace
}  // namespace task_graph_matrix_test
