// A check: a small program of a few threads, written once, run by any engine.
//
//     template <class Sync>
//     struct last_element {                       // fresh object for every execution
//         static constexpr const char* what = "one element, the owner and one thief";
//         static constexpr unsigned threads = 2;
//         void before();                          // one thread, before the others start
//         void thread(unsigned i);                // each thread
//         void invariant();                       // optional: after every step of any thread
//         void after();                           // one thread, when all have ended
//         static constexpr std::array must_reach{"deque.pop_lost_last"};   // optional: red when never reached
//         static constexpr std::array engine_laws{"deadlock"};             // optional: rests on the engine's own laws
//         static constexpr const char* exhibit = "b01_publish";            // the defect that it is known to see
//         static constexpr bool too_large_to_exhaust = true;               // optional: the explorer need not finish
//     };
//     APIARY_CHECK(last_element);                          // must pass
//     APIARY_EXHIBIT(b01_publish, "uninitialised", apiary::model::both_engines);   // must fail, for this reason
//
// Where the engines cannot agree, the check says why, or scripts/apiary prove is red:
//         static constexpr const char* relacy_passes = "why";     // of an exhibit with explorer_only: Relacy is asked, and
//         static constexpr const char* explorer_passes = "why";   // must pass it; and the other way round
//         static constexpr const char* one_engine = "why";        // of a check that only one engine is asked
//
// Laws are Sync::law(holds, "what is wrong where it does not") and the ledgers of contract/laws.hpp. Beside them
// an engine looks for data races, bad accesses, leaks, deadlocks and livelocks. A check that asked no law is red, and so
// is a check with a thread that ran nothing that is watched. Where an engine's law is the point, `engine_laws` names it,
// and it must have been asked.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace apiary::model {

enum class engine : unsigned { relacy = 1, explorer = 2 };
constexpr unsigned relacy_only = 1, explorer_only = 2, both_engines = 3;

enum class search_mode { standard, random, pct, bound, full };
enum class check_kind { check, exhibit, litmus };
enum class outcome { pass, fail, budget_ended, error };

// How often an execution may take what the program cannot see coming, and how long a thread may go on: what the
// word "all" of an explorer's verdict is limited to.
struct choice_bounds {
    unsigned weak_failures = 1, timeouts = 1, spurious_wakes = 1, reuses = 1;
    unsigned steps = 1000;  // of one thread; one step more is a livelock
    unsigned rounds = 8;    // of code as it is: of a loop that counts, which saw the same; those after them are cut
    bool operator==(const choice_bounds&) const = default;
};

// Laws, and how often they were asked: the check's own (Sync::law, the ledgers of contract/laws.hpp), and what an engine
// asks unasked. race: a cell is touched in a thread. deadlock: a thread comes to a wait without deadline (park, spin_until, a
// condition variable, a futex, a mutex). lifetime: an object is created (leak, double free, use after free).
enum class law_kind : std::size_t { check, race, deadlock, lifetime };
inline constexpr std::array<const char*, 4> law_kinds{"check", "race", "deadlock", "lifetime"};

// A source of a sleeper's last look (Sync::recheck) among the sites: "recheck:NAME", as written "kept", mutated
// "dropped".
inline constexpr const char *recheck_prefix = "recheck:", *recheck_kept = "kept", *recheck_left_out = "dropped";

// What to run and how far. Zero means the engine's own default.
// One operation of the source gets another order, in all that was compiled of it: a template's instances, copies inlined.
struct order_change {
    std::string site;     // "file:line:operation" or "file:line:column:operation"; a failure order ends in ".failure"
    std::string written;  // the order that it has in the source: two operations of one line may differ by it. Empty:
                          // any, and the site may be "file:line" alone, as in mutate_site
    std::string to;
};

struct search_options {
    search_mode mode = search_mode::standard;
    std::uint64_t seed = 1;
    std::uint64_t max_executions = 0;
    double max_seconds = 0;
    bool brief = false;  // without a budget, a part of the executions where a search does not end by itself (runner.cpp)
    unsigned bound = 0;  // preemptions, for the hunting modes
    std::string replay;  // token of an earlier verdict; runs that one execution and prints it
    unsigned shard = 0, shards = 1;
    unsigned jobs = 1;
    choice_bounds bounds;              // explorer
    bool estimate = false;             // explorer: says how large the exhaustive search may be, before it starts
    bool traceless = false;            // a failure is told as found: no shorter one is looked for, no trace is drawn
    bool plain_races_relaxed = false;  // of code as it is: a plain race is gone on from, and the bound says so
    // Of code as it is: the one race that is looked for, as two places "path/queue.hpp:12". All others are gone on from.
    std::pair<std::string, std::string> race_in_question;
    bool reach = false;         // of code as it is: verdict::came_to is asked for
    bool alike = false;         // of code as it is: threads with the same function and bytes are taken as alike
    unsigned loop_seconds = 5;  // of code as it is: processor time in plain instructions, then it is an endless loop
    std::vector<std::string> from;  // explorer: the parts of the tree to search; what is not finished comes back in `left`
    bool progress = false;      // explorer: a line on stderr every two seconds
    std::string label;          // what those lines call the check
    // Mutation: the site to weaken, "file:line:column:operation", and the order it gets ("relaxed", "acquire",
    // "release", "acq_rel", "dropped"); or "recheck:NAME" and "dropped".
    std::string mutate_site, mutate_order;
    std::vector<order_change> changes;  // explorer: any number of orders at once, beside that one
};

struct [[nodiscard]] verdict {
    outcome result = outcome::error;
    std::string mode;   // as run: "random", "pct(3)", "bound(2)", "full", "exhaustive", "unfinished"
    std::string bound;  // in words: what the verdict is limited to
    std::uint64_t executions = 0;
    std::uint64_t graphs = 0;                // distinct complete execution graphs; 0 where the engine does not know
    std::uint64_t blocked = 0;               // runs that ended without a complete graph
    std::uint64_t estimated_executions = 0;  // before the start, where asked for; a guess
    double seconds = 0;
    std::string reason;                             // of a failure, one line
    std::string trace, trace_html;                  // of a failure, for a person
    std::string replay;                             // token
    std::string blind;                              // what this engine cannot see, one line
    std::map<std::string, std::uint64_t> reached;   // Sync::reach names
    std::map<std::string, std::uint64_t> outcomes;  // litmus: outcome -> executions
    std::map<std::string, std::string> sites;       // atomic sites executed: site -> order as written
    std::map<std::string, std::uint64_t> laws;      // by law_kinds: how often each was asked
    std::map<std::string, std::uint64_t> came_to;   // of code as it is: what never_reached.hpp asks for -> executions
    std::uint64_t mutation_met = 0;                 // whether the mutated operation ran: 1
    std::uint64_t acted = 0;                        // a bit for each thread that ran a watched operation
    std::string left;  // of a part of a search: the parts that it did not finish, TRAIL@WEIGHT
};

struct check_entry {
    std::string name;
    std::string what;
    std::string file;
    check_kind kind = check_kind::check;
    unsigned threads = 0;
    std::string expected_reason;       // exhibits: a part of the reason
    unsigned engines = both_engines;   // those that are asked
    unsigned must_see = both_engines;  // exhibits: the others are asked, too, and must pass
    std::string passes_because;        // exhibits: why an engine passes it
    std::string one_engine_because;    // why only one engine is asked
    std::vector<std::string> must_reach;
    std::vector<std::string> engine_laws;  // of law_kinds: the engine's laws that this check rests on
    std::string exhibit;                   // the defect that this check is known to see
    std::vector<std::string> expected_rc11, expected_relacy;  // litmus: the sets of outcomes, per engine
    bool as_it_is = false;  // of ordinary C++: an exhibit stands beside what it is of, and not in the museum
    bool too_large_to_exhaust = false;  // the explorer may end by its budget, and the verdict says so
    std::string relacy_differs;         // litmus: why the two sets differ
    std::function<verdict(const search_options&)> run_relacy, run_explorer;
};

std::vector<check_entry>& registry();

}  // namespace apiary::model
