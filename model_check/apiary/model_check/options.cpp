// See options.hpp.
#include <apiary/model_check/options.hpp>

#include <CLI/CLI.hpp>

#include <fstream>
#include <limits>
#include <map>

#include <apiary/model_check/number.hpp>
#include <apiary/model_check/orders.hpp>

namespace apiary::model {

namespace {

const std::map<std::string, search_mode> modes = {{"standard", search_mode::standard},
                                                  {"random", search_mode::random},
                                                  {"pct", search_mode::pct},
                                                  {"bound", search_mode::bound},
                                                  {"full", search_mode::full}};
const std::map<std::string, unsigned> engines = {
    {"relacy", relacy_only}, {"explorer", explorer_only}, {"all", both_engines}};

constexpr double most_seconds = 1e9;

CLI::ValidationError no_value(const std::string& option, const std::string& seen, const std::string& form) {
    return CLI::ValidationError("'" + seen + "' is no value for " + option + "; it is " + form);
}

void budget(const std::string& text, search_options& o) {
    const std::string_view amount = std::string_view(text).substr(0, text.empty() ? 0 : text.size() - 1);
    const bool good = text.ends_with('x') ? read_number(amount, o.max_executions) && o.max_executions != 0
                      : text.ends_with('s')
                          ? read_number(amount, o.max_seconds) && o.max_seconds > 0 && o.max_seconds <= most_seconds
                          : false;
    if (!good) throw no_value("--budget", text, "seconds, as 5s, or executions, as 20000x");
}

void shard(const std::string& text, search_options& o) {
    const std::size_t slash = text.find('/');
    if (slash == std::string::npos || !read_number(std::string_view(text).substr(0, slash), o.shard) ||
        !read_number(std::string_view(text).substr(slash + 1), o.shards) || o.shards == 0 || o.shard >= o.shards)
        throw no_value("--shard", text, "I/N, with I from 0 to N - 1");
}

// A line for each part of the tree.
void from(const std::string& name, search_options& o) {
    std::ifstream file(name);
    for (std::string line; std::getline(file, line);)
        if (!line.empty()) o.from.push_back(line);
    if (o.from.empty())
        throw no_value("--from", name, "a file that names a part of the tree in each line; all is the whole");
}

struct named_bound {
    const char* name;
    unsigned choice_bounds::* value;
    unsigned least;
};
constexpr named_bound bound_names[] = {{"cas", &choice_bounds::weak_failures, 0},
                                       {"timeout", &choice_bounds::timeouts, 0},
                                       {"spurious", &choice_bounds::spurious_wakes, 0},
                                       {"reuse", &choice_bounds::reuses, 0},
                                       {"steps", &choice_bounds::steps, 1},
                                       {"rounds", &choice_bounds::rounds, 2}};
constexpr unsigned most_of_a_bound = 60'000;  // events of a thread are numbered in 16 bits

// One NAME=N of the list.
void bound(const std::string& part, choice_bounds& b) {
    std::string names;
    for (const named_bound& n : bound_names) names.append(names.empty() ? "" : ", ").append(n.name);
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos)
        throw CLI::ValidationError("'" + part + "' of --bounds is not NAME=N; there are " + names);
    const std::string name = part.substr(0, equals), value = part.substr(equals + 1);
    const named_bound* known = nullptr;
    for (const named_bound& n : bound_names)
        if (name == n.name) known = &n;
    if (known == nullptr) throw CLI::ValidationError("'" + name + "' is no bound; there are " + names);
    unsigned n = 0;
    if (!read_number(std::string_view(value), n) || n < known->least || n > most_of_a_bound)
        throw no_value("the bound " + name, value,
                       "a number from " + std::to_string(known->least) + " to " + std::to_string(most_of_a_bound));
    b.*known->value = n;
}

void mutation(const std::string& text, search_options& o) {
    const std::size_t equals = text.rfind('=');
    const bool whole = equals != std::string::npos;
    const bool recheck = text.starts_with(recheck_prefix);
    const std::string site = text.substr(0, equals);
    const std::string order = whole ? text.substr(equals + 1) : recheck ? recheck_left_out : "";
    const bool good =
        recheck ? order == recheck_left_out && site != recheck_prefix : !site.empty() && is_order(order);
    if (!good) throw no_value("--mutate", text, std::string("SITE=ORDER, with ORDER one of ") + orders_text);
    if (o.mutate_site.empty()) {
        o.mutate_site = site;
        o.mutate_order = order;
        return;
    }
    if (recheck || o.mutate_site.starts_with(recheck_prefix))
        throw CLI::ValidationError("'" + text + "': a recheck is left out alone; give --mutate once");
    o.changes.push_back({site, "", order});
}

}  // namespace

std::string bounds_text(const choice_bounds& b) {
    std::string out;
    for (const named_bound& n : bound_names) {
        if (!out.empty()) out += ',';
        out.append(n.name).append("=").append(std::to_string(b.*n.value));
    }
    return out;
}

command parse(int argc, const char* const* argv) {
    command c;
    search_options& o = c.search;
    CLI::App app("Runs the checks named, or all of this program.", "PROGRAM");
    app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    const auto on = [&](const char* name, bool& set, const char* what) { return app.add_flag(name, set, what); };
    const auto number = [&](const char* name, auto& into, auto least, auto most, const char* what) {
        app.add_option(name, into, what)->transform(CLI::Validator(number_within<decltype(least)>(least, most), ""));
    };
    const auto one_of = [&](const char* name, const auto& known, auto& into, const char* what) {
        app.add_option_function<std::string>(
               name, [&known, &into](const std::string& seen) { into = known.at(seen); }, what)
            ->check(CLI::IsMember(known));
    };
    const auto read = [&](const char* name, auto reader, auto& into, const char* what) {
        return app
            .add_option_function<std::vector<std::string>>(
                name,
                [reader, &into](const std::vector<std::string>& given) {
                    for (const std::string& text : given) reader(text, into);
                },
                what)
            ->allow_extra_args(false)
            ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    };
    app.add_option("NAME", c.names, "a check of this program")->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    on("--list", c.list, "with or without --json: name, kind, engines, threads, what each checks");
    one_of("--engine", engines, c.engines, "which engine checks");
    one_of("--mode", modes, o.mode,
           "relacy: standard varies uniform, burst and pct executions; bound and full are systematic. explorer: "
           "standard and full are exhaustive; random, pct and bound hunt");
    number("--seed", o.seed, std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max(),
           "of the random modes; default 1");
    read("--budget", budget, o, "5s or 20000x: seconds or executions; given twice, the first to end counts");
    on("--brief", o.brief,
       "without --budget: a third of the executions where a search does not end by itself, which are 60000 of relacy's "
       "and 100000 of explorer's; of relacy's a twelfth where the explorer exhausts the same check. A "
       "failure's shorter story is looked for in 500 executions of each bound, not 100000");
    number("--bound", o.bound, 0U, std::numeric_limits<unsigned>::max(), "preemptions (bound), depth (pct)");
    const CLI::Option* const bounds =
        read("--bounds", bound, o.bounds,
             "explorer: NAME=N,...: what an execution may contain at most; default "
             "cas=1,timeout=1,spurious=1,reuse=1,steps=1000,rounds=8 (failures of a weak compare-exchange on a match, "
             "timeouts, wakes for nothing, reuses of freed memory; steps of a thread, one more is a livelock; of code "
             "as it is: rounds of a loop that counts which saw the same, before they are cut)")
            ->delimiter(',');
    app.add_option_function<std::string>(
           "--plain-races", [&o](const std::string&) { o.plain_races_relaxed = true; },
           "of code as it is: goes on from a data race, as if both accesses were relaxed atomics; the verdict is then "
           "not called exhaustive")
        ->check(CLI::IsMember({"as-relaxed"}));
    app.add_flag_function(
        "--alike", [&o](std::int64_t) { o.alike = true; },
        "of code as it is: threads that start with the same function and bytes are taken as alike, until something tells "
        "them apart: fewer executions. For programs that look at no address and no clock; the verdict's bound says so. "
        "Searches that are exhaustive and whole heed it, others do not");
    number("--loop-seconds", o.loop_seconds, 1U, 1'000'000U,
           "of code as it is: seconds of processor time that a thread may spend in plain instructions and "
           "nothing else; one that takes longer is in a loop without end; default 5");
    const CLI::Option* const estimate =
        on("--estimate", o.estimate, "explorer: guesses the size of the exhaustive search on stderr, then starts it");
    const CLI::Option* const progress =
        on("--progress", o.progress, "explorer: a line on stderr every two seconds; a terminal gets it unasked");
    number("--timeout", c.timeout_seconds, 0.001, most_seconds,
           "seconds until a simulation that says nothing is stopped");
    read("--shard", shard, o, "I/N: the I-th of N parts, I from 0");
    const CLI::Option* const parts = read("--from", from, o,
                                          "FILE: explorer: searches the parts of the tree that FILE names, one a line "
                                          "(all: the whole). What its budget leaves, "
                                          "the verdict gives back as \"left\", TRAIL@WEIGHT, to be named in another "
                                          "FILE; what must be reached and asked is "
                                          "for the sum of all parts to say");
    number("--jobs", o.jobs, 1U, 10'000U, "simulations at a time; default 1");
    read("--mutate", mutation, o,
         "SITE=ORDER: weakens one operation: SITE is FILE:LINE[:COLUMN[:OPERATION]]; ORDER also dropped. recheck:NAME "
         "leaves one source out of a sleeper's last look. Given several times (explorer): all of them at once");
    app.add_option("--mutate-all", c.mutate_all,
                   "FILE: weakens every operation of FILE (a part of its name) by each legal step, one at a time, and "
                   "runs the checks that execute it; a table; red when one survives. Then which orders are needed, "
                   "free (alone, and all together) or never reached; where a check is red, which order is missing. "
                   "--json FILE has these words, too");
    app.add_option("--arbitrate", c.arbitrate,
                   "REPORT: the text of a ThreadSanitizer report, - is standard input: whether the scenarios, with exact "
                   "fences, have that race; exit: 0 none within the bound, and what keeps the places apart; 1 a race, with "
                   "its table; 3 undecided, and why");
    app.add_option("--reach", c.reach,
                   "FILE: of code as it is, and of the scenarios that found nothing wrong: what no execution came to of "
                   "FILE (a part of its name; all: each but the C++ library's): operations, compare-exchanges that never "
                   "failed, waits that never slept, counters that never came round, slots never filled again, mutexes that "
                   "nobody waited for, memory never used again; and what would reach it. Of each verdict in --json, too");
    app.add_option("--patch", c.patch_file, "FILE: of --mutate-all, a diff that gives each operation the order advised");
    app.add_option("--replay", o.replay, "TOKEN: runs the one execution of a failure again and prints it");
    on("--trace", c.show_traces, "prints the trace of every failure, the expected ones too");
    on("--no-trace", o.traceless, "a failure is told as it was found: no search for a shorter one, no trace");
    const CLI::Option* const json =
        app.add_option("--json", c.json_file, "FILE: one line per verdict; - is standard output")->expected(0, 1);
    app.add_option("--html", c.html_file, "FILE: every verdict, and every counterexample drawn, the expected ones too");
    app.footer(
        "exit: 0 everything as expected, 1 not, 2 the command line makes no sense; of --mutate also: no operation at "
        "SITE\nran that can have ORDER, or it has that order as written, so that nothing was weakened");
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        c.help = app.help();
        return c;
    } catch (const CLI::ParseError& e) {
        c.error = std::string(e.what()) + "; --help lists the options";
        return c;
    }
    c.json_list = c.list && json->count() != 0;
    o.reach = !c.reach.empty();
    const bool hunts = o.mode != search_mode::standard && o.mode != search_mode::full;
    for (const CLI::Option* const option : {bounds, estimate, progress})
        if (option->count() != 0 && (c.engines & explorer_only) == 0)
            c.error = "'" + option->get_name() + "' is the explorer's; relacy has nothing of the kind";
    if (json->count() != 0 && c.json_file.empty() && !c.list) c.error = "--json needs a FILE, or stands beside --list";
    if (o.estimate && hunts)
        c.error = "--estimate is of the exhaustive search; a hunting mode ends by its budget: leave out --mode";
    if (!c.mutate_all.empty() && (!o.mutate_site.empty() || !o.replay.empty()))
        c.error = "--mutate-all runs every mutation by itself; leave out --mutate and --replay";
    if (!c.arbitrate.empty() && (!c.mutate_all.empty() || !o.mutate_site.empty() || !o.replay.empty()))
        c.error = "--arbitrate searches for one race in the code as it stands; leave out --mutate, --mutate-all and --replay";
    if (parts->count() != 0 && (c.engines != explorer_only || hunts || o.shards != 1 || !o.replay.empty() ||
                                !c.mutate_all.empty() || c.names.size() != 1))
        c.error =
            "--from divides the exhaustive search of one check: it needs NAME and --engine explorer, and no --mode, "
            "--shard, "
            "--replay or --mutate-all";
    if (!c.reach.empty() && (!c.mutate_all.empty() || !c.arbitrate.empty() || !o.replay.empty() || !o.mutate_site.empty()))
        c.error =
            "--reach is of whole searches of the code as it stands; leave out --mutate, --mutate-all, --arbitrate and "
            "--replay";
    if (!c.patch_file.empty() && c.mutate_all.empty()) c.error = "--patch needs --mutate-all FILE beside it";
    if (!o.replay.empty() && c.names.size() != 1) c.error = "--replay runs one execution of one check; name that check";
    return c;
}

}  // namespace apiary::model
