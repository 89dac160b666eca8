// A scenario as the command line sees it: a name, parameters, and a function that measures one runtime.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <apiary/bench/adapter.hpp>
#include <apiary/bench/blocks.hpp>
#include <apiary/bench/histogram.hpp>
#include <apiary/bench/row.hpp>

namespace apiary::bench {

// Thrown for bad input; it names the bad word and the names that exist. Exit status 2.
struct bad_arguments : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Thrown if this subject cannot run the scenario with these parameters, though it can with others. Exit status 3.
struct unsupported_here : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct parameter {
    std::string_view name;
    std::optional<std::uint64_t> standard;  // none: the scenario works it out
    std::uint64_t least = 1;
    std::uint64_t most = std::uint64_t{1} << 32;
    std::span<const std::string_view> words = {};  // where the value is one of these words; its index then
};

struct run_options {
    unsigned workers = 0;
    std::uint64_t seed = 1;
    block_settings blocks;
    std::int64_t slowdown_ns = 0;
    std::vector<std::int64_t> plan;               // open-loop scenarios only
    std::string plan_path, hist_path, load_path;  // of served scenarios, for the load program
    std::map<std::string, std::uint64_t> params;  // given or standard

    [[nodiscard]] std::uint64_t param(const std::string& name) const { return params.at(name); }
    [[nodiscard]] std::optional<std::uint64_t> optional_param(const std::string& name) const {
        const auto found = params.find(name);
        return found == params.end() ? std::nullopt : std::optional(found->second);
    }
};

struct report {
    row measured;
    histogram latency;                    // empty where the scenario has none
    std::vector<std::string> complaints;  // why status is `wrong`

    void wrong(std::string why) {
        measured.status = "wrong";
        complaints.push_back(std::move(why));
    }

    // Compares a finished account with the expected answer.
    void audit(const std::string& what, std::uint64_t sum, std::uint64_t expected);
};

struct scenario_entry {
    std::string_view name;
    bool open_loop;  // needs a plan
    std::span<const parameter> parameters;
    report (*measure)(const run_options&);  // null: this subject cannot express the scenario
    bool served = false;                    // the load program asks, and writes the histogram
};

// The entry of one scenario for one runtime. A Scenario has name, open_loop, parameters,
// expressible<Runtime> and measure<Runtime>(options), and `served` if it is.
template <class Scenario, runtime_adapter Runtime>
[[nodiscard]] constexpr scenario_entry entry_of() {
    scenario_entry e{Scenario::name, Scenario::open_loop, Scenario::parameters, nullptr};
    if constexpr (requires { Scenario::served; }) e.served = Scenario::served;
    if constexpr (Scenario::template expressible<Runtime>) e.measure = &Scenario::template measure<Runtime>;
    return e;
}

// Counters that the runtime keeps itself, over its whole life.
template <class Runtime>
void fill_counters(row& r, const Runtime& runtime) {
    if constexpr (counting_runtime<Runtime>) {
        const runtime_counters seen = runtime.counters();
        r.wakes = seen.wakes;
        r.parks = seen.parks;
        r.steals = seen.steals;
    }
}

}  // namespace apiary::bench
