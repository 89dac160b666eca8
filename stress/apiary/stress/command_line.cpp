// See command_line.hpp.
#include <apiary/stress/command_line.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <apiary/model_check/number.hpp>

namespace apiary::stress {
namespace {

void declare(CLI::App& app, options& o) {
    app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)->always_capture_default();
    const auto number = [&](const char* name, auto& into, auto least, auto most, const char* what) {
        app.add_option(name, into, what)
            ->transform(CLI::Validator(model::number_within<decltype(least)>(least, most), ""));
    };
    number("--seconds", o.seconds, 0.0, 1e9, "how long, at least one round");
    number("--seed", o.seed, std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max(),
           "repeats the decisions of a run; 0 draws one from the clock, and prints it");
    number("--threads", o.threads, 2U, 64U, "how many threads work");
    number("--watchdog", o.watchdog_seconds, 0.001, 1e9, "seconds without progress that count as a hang");
    app.add_flag("--one-cpu", o.one_cpu, "all threads on one CPU");
    app.add_option("--json", o.json, "FILE: appends the verdict as one JSON line");
}

}  // namespace

std::optional<int> read_command_line(int argc, char** argv, const char* what, const char* program, options& o) {
    bool list = false;
    CLI::App app(what, program);
    declare(app, o);
    app.add_flag("--list", list, "what this program stresses");
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        std::printf("%s", app.help().c_str());
        return 0;
    } catch (const CLI::ParseError& e) {
        std::fprintf(stderr, "%s: %s\n%s", program, e.what(), app.help().c_str());
        return 2;
    }
    if (!list) return std::nullopt;
    std::printf("%s: %s\n", program, what);
    return 0;
}

void write_verdict(const options& o, const char* program, const char* verdict, std::uint64_t seed, std::uint64_t rounds,
                   std::uint64_t steps, double seconds) {
    if (o.json.empty()) return;
    const nlohmann::ordered_json line = {{"program", program}, {"verdict", verdict},
                                         {"seed", seed},       {"rounds", rounds},
                                         {"steps", steps},     {"seconds", std::round(seconds * 10) / 10}};
    std::ofstream file(o.json, std::ios::app);
    file << line.dump() << std::endl;
    if (!file) {
        std::perror(o.json.c_str());
        std::_Exit(2);
    }
}

}  // namespace apiary::stress
