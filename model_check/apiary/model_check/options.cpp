// See options.hpp.
#include <apiary/model_check/options.hpp>

#include <charconv>
#include <cstdlib>

#include <apiary/model_check/orders.hpp>

namespace apiary::model {

const char* const usage =
    R"(usage: PROGRAM [NAME...] [options]      runs the checks named, or all

  --list [--json]           what there is: name, kind, engines, threads, what it checks
  --engine relacy|explorer|all
  --mode standard|random|pct|bound|full
                            relacy: standard varies uniform, burst and pct executions; bound and full
                            are systematic. explorer: standard and full are exhaustive; random, pct and
                            bound hunt
  --seed S                  of the random modes; default 1
  --budget 5s | 20000x      seconds or executions; may be given twice, the first to end counts
  --bound N                 preemptions (bound), depth (pct)
  --bounds NAME=N,...       explorer: what an execution may contain at most; default
                            cas=1,timeout=1,spurious=1,reuse=1,steps=1000 (failures of a weak
                            compare-exchange on a match, timeouts, wakes for nothing, reuses of freed memory;
                            steps of a thread, one more is a livelock)
  --plain-races=as-relaxed  of code as it is: goes on from a data race, as if both accesses were relaxed atomics; the verdict
                            is then not called exhaustive
  --loop-seconds S          of code as it is: seconds of processor time that a thread may spend in plain instructions and
                            nothing else; one that takes longer is in a loop without end; default 5
  --estimate                explorer: guesses the size of the exhaustive search on stderr, then starts it
  --progress                explorer: a line on stderr every two seconds; a terminal gets it unasked
  --timeout S               seconds until a simulation that says nothing is stopped
  --shard I/N               the I-th of N parts, I from 0
  --jobs N                  simulations at a time; default 1
  --mutate SITE=ORDER       weakens one operation: SITE is FILE:LINE[:COLUMN[:OPERATION]]; ORDER also dropped
  --mutate-all FILE         weakens every operation of FILE (a part of its name) by each legal step, one at a time,
                            and runs the checks that execute it; a table; red when one survives
  --mutate recheck:NAME     leaves one source out of a sleeper's last look
  --replay TOKEN            runs the one execution of a failure again and prints it
  --trace                   prints the trace of every failure, the expected ones too
  --no-trace                a failure is told as it was found: no search for a shorter one, no trace
  --json FILE               one line per verdict; - is standard output
  --html FILE               one page: every verdict, and every counterexample drawn, the expected ones too

exit: 0 everything as expected, 1 not, 2 the command line makes no sense; of --mutate also: no operation at SITE
ran that can have ORDER, or it has that order as written, so that nothing was weakened
)";

namespace {

template <class N>
bool number(std::string_view text, N& out) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    return error == std::errc{} && end == text.data() + text.size();
}

bool budget(const std::string& text, search_options& o) {
    if (text.size() < 2) return false;
    const std::string_view amount = std::string_view(text).substr(0, text.size() - 1);
    if (text.back() == 'x') return number(amount, o.max_executions) && o.max_executions != 0;
    if (text.back() == 's') return number(amount, o.max_seconds) && o.max_seconds > 0;
    return false;
}

bool mode(const std::string& text, search_mode& m) {
    if (text == "standard")
        m = search_mode::standard;
    else if (text == "random")
        m = search_mode::random;
    else if (text == "pct")
        m = search_mode::pct;
    else if (text == "bound")
        m = search_mode::bound;
    else if (text == "full")
        m = search_mode::full;
    else
        return false;
    return true;
}

bool engines(const std::string& text, unsigned& e) {
    if (text == "relacy")
        e = relacy_only;
    else if (text == "explorer")
        e = explorer_only;
    else if (text == "all")
        e = both_engines;
    else
        return false;
    return true;
}

bool shard(const std::string& text, search_options& o) {
    const std::size_t slash = text.find('/');
    return slash != std::string::npos && number(std::string_view(text).substr(0, slash), o.shard) &&
           number(std::string_view(text).substr(slash + 1), o.shards) && o.shards != 0 && o.shard < o.shards;
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
                                       {"steps", &choice_bounds::steps, 1}};
constexpr unsigned most_of_a_bound = 60'000;  // events of a thread are numbered in 16 bits

// What is wrong with it, or nothing.
std::string bounds(std::string_view text, choice_bounds& b) {
    std::string names;
    for (const named_bound& n : bound_names) names.append(names.empty() ? "" : ", ").append(n.name);
    for (bool more = true; more;) {
        const std::size_t comma = text.find(',');
        const std::string part(text.substr(0, comma));
        more = comma != std::string_view::npos;
        if (more) text.remove_prefix(comma + 1);
        const std::size_t equals = part.find('=');
        if (equals == std::string::npos) return "'" + part + "' of --bounds is not NAME=N; there are " + names;
        const std::string name = part.substr(0, equals), value = part.substr(equals + 1);
        const named_bound* known = nullptr;
        for (const named_bound& n : bound_names)
            if (name == n.name) known = &n;
        if (known == nullptr) return "'" + name + "' is no bound; there are " + names;
        unsigned n = 0;
        if (!number(std::string_view(value), n) || n < known->least || n > most_of_a_bound)
            return "'" + value + "' is no value for the bound " + name + "; it is a number from " +
                   std::to_string(known->least) + " to " + std::to_string(most_of_a_bound);
        b.*known->value = n;
    }
    return {};
}

bool mutation(const std::string& text, search_options& o) {
    const std::size_t equals = text.rfind('=');
    if (text.starts_with(recheck_prefix)) {
        o.mutate_site = text.substr(0, equals);
        o.mutate_order = recheck_left_out;
        const bool dropped = equals == std::string::npos || text.substr(equals + 1) == recheck_left_out;
        return dropped && o.mutate_site != recheck_prefix;
    }
    if (equals == std::string::npos) return false;
    o.mutate_site = text.substr(0, equals);
    o.mutate_order = text.substr(equals + 1);
    return !o.mutate_site.empty() && is_order(o.mutate_order);
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
    bool json = false;
    std::string explorers;  // an option given that is the explorer's alone
    for (int i = 1; i < argc && c.error.empty(); ++i) {
        const std::string option = argv[i];
        if (!option.starts_with("--")) {
            c.names.push_back(option);
            continue;
        }
        if (option == "--list") {
            c.list = true;
            continue;
        }
        if (option == "--help") {
            c.help = true;
            continue;
        }
        if (option == "--trace") {
            c.show_traces = true;
            continue;
        }
        if (option == "--no-trace") {
            c.search.traceless = true;
            continue;
        }
        if (option == "--plain-races=as-relaxed") {
            c.search.plain_races_relaxed = true;
            continue;
        }
        if (option == "--estimate" || option == "--progress") {
            (option == "--estimate" ? c.search.estimate : c.search.progress) = true;
            explorers = option;
            continue;
        }
        if (option == "--json" && (c.list || (i + 1 < argc && std::string(argv[i + 1]) == "--list"))) {
            json = true;
            continue;
        }
        if (i + 1 == argc) {
            c.error = "'" + option + "' needs a value, or is no option; --help lists the options";
            break;
        }
        const std::string value = argv[++i];
        bool good = true;
        if (option == "--engine")
            good = engines(value, c.engines);
        else if (option == "--mode")
            good = mode(value, c.search.mode);
        else if (option == "--seed")
            good = number(value, c.search.seed);
        else if (option == "--budget")
            good = budget(value, c.search);
        else if (option == "--bound")
            good = number(value, c.search.bound);
        else if (option == "--loop-seconds")
            good = number(value, c.search.loop_seconds) && c.search.loop_seconds != 0;
        else if (option == "--bounds") {
            c.error = bounds(value, c.search.bounds);
            explorers = option;
        } else if (option == "--shard")
            good = shard(value, c.search);
        else if (option == "--jobs")
            good = number(value, c.search.jobs) && c.search.jobs != 0;
        else if (option == "--mutate")
            good = mutation(value, c.search);
        else if (option == "--mutate-all")
            good = !(c.mutate_all = value).empty();
        else if (option == "--timeout")
            good = number(value, c.timeout_seconds) && c.timeout_seconds > 0;
        else if (option == "--replay")
            c.search.replay = value;
        else if (option == "--json")
            c.json_file = value;
        else if (option == "--html")
            c.html_file = value;
        else {
            c.error = "'" + option + "' is no option; --help lists the options";
            break;
        }
        if (!good && option == "--mutate")
            c.error = "'" + value + "' is no value for --mutate; it is SITE=ORDER, with ORDER one of " + orders_text;
        else if (!good)
            c.error = "'" + value + "' is no value for " + option + "; --help shows the form";
    }
    c.json_list = c.list && json;
    const bool hunts = c.search.mode != search_mode::standard && c.search.mode != search_mode::full;
    if (c.error.empty() && !explorers.empty() && (c.engines & explorer_only) == 0)
        c.error = "'" + explorers + "' is the explorer's; relacy has nothing of the kind";
    if (c.error.empty() && c.search.estimate && hunts)
        c.error = "--estimate is of the exhaustive search; a hunting mode ends by its budget: leave out --mode";
    if (c.error.empty() && !c.mutate_all.empty() && (!c.search.mutate_site.empty() || !c.search.replay.empty()))
        c.error = "--mutate-all runs every mutation by itself; leave out --mutate and --replay";
    if (c.error.empty() && !c.search.replay.empty() && c.names.size() != 1)
        c.error = "--replay runs one execution of one check; name that check";
    return c;
}

}  // namespace apiary::model
