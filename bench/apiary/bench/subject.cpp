// Does the call on the command line: prints the version or the list, or runs one scenario and prints its row.
#include <gnu/libc-version.h>

#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>

#include <apiary/bench/allocation_count.hpp>
#include <apiary/bench/command_line.hpp>
#include <apiary/bench/host.hpp>
#include <apiary/bench/subject.hpp>

namespace apiary::bench {

namespace {

enum exit_status { measured = 0, machine_failed = 1, bad_input = 2, unsupported = 3, wrong = 4 };

// Compiler, flags and allocator; without commas or quotes, so that it fits a CSV cell and JSON as it is.
std::string build_id() {
    std::string id =
        std::string(APIARY_COMPILER) + "; flags=" + APIARY_FLAGS + "; allocator=glibc-" + ::gnu_get_libc_version();
    if (allocation_count()) id += "+counting";
    for (char& c : id)
        if (c == ',' || c == '"' || c == '\\') c = ' ';
    return id;
}

void print_version(const subject& who) {
    std::cout << R"({"subject":")" << who.name << R"(","subject_version":")" << who.version
              << R"(","language":"c++","build_id":")" << build_id() << "\"}\n";
}

int measure(const subject& who, const run_call& call) {
    if (call.scenario->measure == nullptr) {
        std::cerr << who.name << ": unsupported: " << call.scenario->name
                  << " cannot be expressed by this runtime; --list names what can\n";
        return unsupported;
    }
    // The file is opened first, so that a wrong path costs no measurement.
    std::ofstream hist;
    if (call.hist_path) {
        hist.open(*call.hist_path, std::ios::trunc);
        if (!hist) throw bad_arguments("--hist: cannot write '" + *call.hist_path + "'");
    }

    for (const auto& [name, value] : call.tuned) who.tune(name, value);
    report result = call.scenario->measure(call.options);
    const usage u = process_usage();
    row& r = result.measured;
    r.scenario = call.scenario->name;
    r.workers = call.options.workers;
    r.seed = call.options.seed;
    r.nvcsw = u.nvcsw;
    r.nivcsw = u.nivcsw;
    r.minflt = u.minflt;
    r.maxrss_kib = u.maxrss_kib;
    std::cout << measured_columns << '\n' << r.to_csv() << '\n' << std::flush;

    if (call.hist_path && !call.scenario->served) {
        result.latency.write_csv(hist);
        hist.flush();
        if (!hist) throw std::runtime_error("--hist: writing '" + *call.hist_path + "' failed");
    }
    for (const std::string& why : result.complaints) std::cerr << who.name << ": wrong: " << why << '\n';
    return result.complaints.empty() ? measured : wrong;
}

}  // namespace

void report::audit(const std::string& what, std::uint64_t sum, std::uint64_t expected) {
    if (sum == expected) return;
    char text[128];
    std::snprintf(text, sizeof text, ": the sum is %016llx, expected %016llx: a task was lost, run twice or swapped",
                  static_cast<unsigned long long>(sum), static_cast<unsigned long long>(expected));
    wrong(what + text);
}

int run_subject(const subject& who, int argc, char** argv) {
    try {
        const call asked = parse(who, argc, argv);
        switch (asked.kind) {
            case call::help:
                std::cout << asked.help_text;
                break;
            case call::version:
                print_version(who);
                break;
            case call::list:
                for (const scenario_entry& s : who.scenarios)
                    if (s.measure != nullptr) std::cout << s.name << '\n';
                break;
            case call::tunables:
                for (const parameter& p : who.tunables)
                    std::cout << p.name << ' ' << *p.standard << ' ' << p.least << ' ' << p.most << '\n';
                break;
            case call::run:
                return measure(who, asked.run_words);
        }
        std::cout << std::flush;
        if (!std::cout) throw std::runtime_error("cannot write the answer to standard output");
        return measured;
    } catch (const bad_arguments& e) {
        std::cerr << who.name << ": " << e.what() << '\n';
        return bad_input;
    } catch (const unsupported_here& e) {
        std::cerr << who.name << ": unsupported: " << e.what() << '\n';
        return unsupported;
    } catch (const std::exception& e) {
        std::cerr << who.name << ": " << e.what() << '\n';
        return machine_failed;
    }
}

}  // namespace apiary::bench
