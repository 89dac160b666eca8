// Parses a subject's command line with CLI11; every refusal names the bad word and the names that exist.
#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <vector>

#include <apiary/bench/command_line.hpp>
#include <apiary/bench/plan.hpp>

namespace apiary::bench {

namespace {

template <class Range>
std::string names_of(const Range& things) {
    std::string all;
    for (const auto& thing : things) all.append(all.empty() ? "" : ", ").append(thing.name);
    return all.empty() ? "none" : all;
}

// A whole number in decimal digits; CLI11 would also take octal, hexadecimal and "+1".
std::uint64_t whole_number(const std::string& what, const std::string& seen, std::uint64_t least, std::uint64_t most) {
    std::uint64_t value = 0;
    const char* const end = seen.data() + seen.size();
    const auto [stop, error] = std::from_chars(seen.data(), end, value);
    if (seen.empty() || error != std::errc() || stop != end || value < least || value > most)
        throw bad_arguments(what + ": expected a whole number from " + std::to_string(least) + " to " +
                            std::to_string(most) + ", seen '" + seen + "'");
    return value;
}

// The index of a word among those that exist.
std::uint64_t one_of(const std::string& what, const std::string& seen, std::span<const std::string_view> words) {
    const auto found = std::find(words.begin(), words.end(), seen);
    if (found != words.end()) return static_cast<std::uint64_t>(found - words.begin());
    std::string all;
    for (const std::string_view word : words) all.append(all.empty() ? "" : ", ").append(word);
    throw bad_arguments(what + ": seen '" + seen + "'; there are: " + all);
}

// The options as text: whole_number reads the numbers, so there is one kind of message.
struct words {
    std::string scenario, workers, seed = "1", warmup_blocks = "5", blocks = "3", block_ms = "100", slowdown_ns = "0";
    std::string plan, hist, load;
    std::vector<std::string> params, tune;
    bool version = false, list = false, tunables = false;
};

const scenario_entry& find_scenario(const subject& who, const std::string& name) {
    for (const scenario_entry& s : who.scenarios)
        if (s.name == name) return s;
    throw bad_arguments("--scenario: unknown scenario '" + name + "'; there are: " + names_of(who.scenarios));
}

// KEY=VALUE, each of `owner`'s parameters at most once.
std::map<std::string, std::uint64_t> read_pairs(const std::string& option, std::string_view owner,
                                                std::span<const parameter> parameters,
                                                const std::vector<std::string>& given) {
    std::map<std::string, std::uint64_t> found;
    for (const std::string& text : given) {
        const std::size_t sign = text.find('=');
        if (sign == std::string::npos) throw bad_arguments(option + ": expected KEY=VALUE, seen '" + text + "'");
        const std::string key = text.substr(0, sign);
        const auto known =
            std::find_if(parameters.begin(), parameters.end(), [&](const parameter& p) { return p.name == key; });
        if (known == parameters.end())
            throw bad_arguments(option + ": " + std::string(owner) + " has no parameter '" + key +
                                "'; there are: " + names_of(parameters));
        const std::string what = option + " " + key, seen = text.substr(sign + 1);
        const std::uint64_t value = known->words.empty() ? whole_number(what, seen, known->least, known->most)
                                                         : one_of(what, seen, known->words);
        if (!found.emplace(key, value).second) throw bad_arguments(option + ": '" + key + "' is given twice");
    }
    return found;
}

void read_params(run_options& options, const scenario_entry& scenario, const std::vector<std::string>& given) {
    options.params = read_pairs("--param", scenario.name, scenario.parameters, given);
    for (const parameter& p : scenario.parameters)
        if (p.standard) options.params.emplace(p.name, *p.standard);
}

void read_plan_option(run_options& options, const scenario_entry& scenario, const std::string& path) {
    if (scenario.open_loop && path.empty())
        throw bad_arguments(std::string(scenario.name) + " is an open-loop scenario: --plan FILE is required");
    if (!scenario.open_loop) return;  // a runner may hand the plan of a round to every scenario
    try {
        options.plan = read_plan_file(path);
    } catch (const bad_plan& e) {
        throw bad_arguments(std::string("--plan: ") + e.what());
    }
}

void read_load_option(run_options& options, const scenario_entry& scenario, const words& w) {
    if (!scenario.served) return;  // as with a plan
    if (w.load.empty())
        throw bad_arguments(std::string(scenario.name) +
                            " is asked by another program: --load PATH is required (bench/load, apiary_load)");
    options.plan_path = w.plan;
    options.hist_path = w.hist;
    options.load_path = w.load;
}

run_call checked(const subject& who, const words& w) {
    run_call call;
    call.scenario = &find_scenario(who, w.scenario);
    run_options& o = call.options;
    o.workers = static_cast<unsigned>(whole_number("--workers", w.workers, 1, 1024));
    o.seed = whole_number("--seed", w.seed, 0, UINT64_MAX);
    o.blocks.warmup_blocks = static_cast<unsigned>(whole_number("--warmup-blocks", w.warmup_blocks, 0, 1000));
    o.blocks.blocks = static_cast<unsigned>(whole_number("--blocks", w.blocks, 1, 1000));
    o.blocks.block_ns = static_cast<std::int64_t>(whole_number("--block-ms", w.block_ms, 1, 60'000)) * 1'000'000;
    o.slowdown_ns = static_cast<std::int64_t>(whole_number("--slowdown-ns", w.slowdown_ns, 0, 1'000'000'000));
    if (!w.hist.empty()) call.hist_path = w.hist;
    call.tuned = read_pairs("--tune", who.name, who.tunables, w.tune);
    if (call.scenario->measure == nullptr) return call;
    read_params(o, *call.scenario, w.params);
    read_plan_option(o, *call.scenario, w.plan);
    read_load_option(o, *call.scenario, w);
    return call;
}

CLI::App* declare(CLI::App& app, words& w) {
    app.require_subcommand(0, 1);
    app.option_defaults()->always_capture_default();
    app.add_flag("--version", w.version, "one JSON line: subject, its version, language, build");
    app.add_flag("--list", w.list, "the scenarios that this subject can express");
    app.add_flag("--tunables", w.tunables, "the runtime's own numbers: name, default, least, most");
    CLI::App* run = app.add_subcommand("run", "measures one scenario and prints its row");
    run->add_option("--scenario", w.scenario, "which scenario")->required();
    run->add_option("--workers", w.workers, "threads that execute tasks")->required();
    run->add_option("--param", w.params, "KEY=VALUE, may be repeated")->allow_extra_args(false);
    run->add_option("--tune", w.tune, "KEY=VALUE, a number of the runtime's own, may be repeated")
        ->allow_extra_args(false);
    run->add_option("--seed", w.seed, "recorded in the row");
    run->add_option("--warmup-blocks", w.warmup_blocks, "at most so many");
    run->add_option("--blocks", w.blocks, "measured blocks");
    run->add_option("--block-ms", w.block_ms, "a calibrated block lasts at least this long");
    run->add_option("--plan", w.plan, "release times of an open-loop scenario");
    run->add_option("--hist", w.hist, "file for the latency histogram");
    run->add_option("--load", w.load, "the program that asks, in server scenarios");
    run->add_option("--slowdown-ns", w.slowdown_ns, "every 64th task of a thread busy-waits this long besides");
    return run;
}

std::string options_of(const CLI::App& app) {
    std::string all;
    for (const CLI::Option* option : app.get_options()) all.append(all.empty() ? "" : ", ").append(option->get_name());
    return all;
}

}  // namespace

call parse(const subject& who, int argc, const char* const* argv) {
    words w;
    CLI::App app("The subject '" + std::string(who.name) + "': one runtime behind bench/contract/CLI.md.",
                 std::string(who.name));
    const CLI::App* const run = declare(app, w);
    call result;
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        result.help_text = run->parsed() ? run->help() : app.help();
        return result;
    } catch (const CLI::ParseError& e) {
        throw bad_arguments(
            std::string(e.what()) +
            "\nthe calls are: --version, --tunables, --list, run; the options of run are: " + options_of(*run));
    }
    if (int{w.version} + int{w.list} + int{w.tunables} + int{run->parsed()} != 1)
        throw bad_arguments("expected exactly one of: --version, --tunables, --list, run");
    result.kind = w.version ? call::version : w.list ? call::list : w.tunables ? call::tunables : call::run;
    if (result.kind == call::run) result.run_words = checked(who, w);
    return result;
}

}  // namespace apiary::bench
