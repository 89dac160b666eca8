// apiary_load: the client of the server scenarios, and the backends of fan_out. A subject starts it as a child and
// speaks with it by lines on standard input and output: bench/contract/CLI.md, "Servers".
//
//     apiary_load --scenario NAME --connections C --bytes B [--backends n --ask k] --plan FILE [--hist FILE] [--seed S]
//
// The environment's APIARY_LOAD_PROCESSOR is the processor that it takes for itself; without one it shares its parent's.
// It raises the limit of descriptors, its own and its parent's, to what the system allows.
//
// Exit code: 0 done, 1 the machine or the subject failed it, 2 bad arguments, 4 an answer was wrong after the end.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

#include <apiary/bench/open_loop.hpp>
#include <apiary/bench/plan.hpp>

#include "load/backends.hpp"
#include "load/client.hpp"

namespace {

using namespace apiary::load;
namespace bench = apiary::bench;

struct asked {
    bool fan_out = false;
    std::uint64_t connections = 0, bytes = 0, backends = 0, ask = 0, seed = 1;
    std::vector<std::int64_t> plan;
    std::string hist;
};

std::uint64_t number(const std::string& what, const std::string& seen, std::uint64_t least, std::uint64_t most) {
    std::uint64_t n = 0;
    const char* const end = seen.data() + seen.size();
    const auto [stop, error] = std::from_chars(seen.data(), end, n);
    if (seen.empty() || error != std::errc() || stop != end || n < least || n > most)
        throw bench::bad_arguments(what + ": expected a whole number from " + std::to_string(least) + " to " +
                                   std::to_string(most) + ", seen '" + seen + "'");
    return n;
}

asked parse(int argc, char** argv) {
    std::map<std::string, std::string> words{{"--scenario", ""},  {"--connections", ""}, {"--bytes", ""},
                                             {"--backends", "0"}, {"--ask", "0"},        {"--plan", ""},
                                             {"--hist", ""},      {"--seed", "1"}};
    for (int i = 1; i < argc; i += 2) {
        const auto found = words.find(argv[i]);
        if (found == words.end() || i + 1 == argc) {
            std::string all;
            for (const auto& [name, value] : words) all += (all.empty() ? "" : ", ") + name;
            throw bench::bad_arguments("seen '" + std::string(argv[i]) + "'; expected a value after each of: " + all);
        }
        found->second = argv[i + 1];
    }
    asked a;
    a.fan_out = words["--scenario"] == "fan_out";
    if (!a.fan_out && words["--scenario"] != "echo")
        throw bench::bad_arguments("--scenario: seen '" + words["--scenario"] + "'; there are: echo, fan_out");
    a.connections = number("--connections", words["--connections"], 1, 20'000);
    a.bytes = number("--bytes", words["--bytes"], 16, 65'536);
    a.backends = number("--backends", words["--backends"], a.fan_out, a.fan_out ? 64 : 0);
    a.ask = number("--ask", words["--ask"], a.fan_out, a.backends);
    a.seed = number("--seed", words["--seed"], 0, UINT64_MAX);
    a.plan = bench::read_plan_file(words["--plan"]);
    a.hist = words["--hist"];
    return a;
}

void allow_descriptors(const asked& a) {
    const std::uint64_t wanted = a.connections * (1 + a.backends) + a.backends + 32;  // here, or at the server
    for (const pid_t whose : {0, ::getppid()}) {
        rlimit limit{};
        if (::prlimit(whose, RLIMIT_NOFILE, nullptr, &limit) != 0) failed("RLIMIT_NOFILE");
        if (limit.rlim_max < wanted)
            throw std::runtime_error(std::to_string(a.connections) + " connections need " + std::to_string(wanted) +
                                     " descriptors, and the hard RLIMIT_NOFILE is " + std::to_string(limit.rlim_max) +
                                     " (ulimit -Hn)");
        limit.rlim_cur = limit.rlim_max;
        if (::prlimit(whose, RLIMIT_NOFILE, &limit, nullptr) != 0) failed("RLIMIT_NOFILE");
    }
}

// True: it has a processor for itself, or there is more than one for all.
bool take_processor() {
    const char* const named = std::getenv("APIARY_LOAD_PROCESSOR");
    if (named == nullptr) return bench::usable_processors() > 1;
    const auto n = number("APIARY_LOAD_PROCESSOR", named, 0, CPU_SETSIZE - 1);
    cpu_set_t of_server, own;
    if (::sched_getaffinity(::getppid(), sizeof of_server, &of_server) != 0) failed("the server's processors");
    CPU_ZERO(&own);
    CPU_SET(n, &own);
    if (::sched_setaffinity(0, sizeof own, &own) != 0) failed("APIARY_LOAD_PROCESSOR=" + std::string(named));
    return !CPU_ISSET(n, &of_server);
}

void say(const std::string& line) {
    std::cout << line << '\n' << std::flush;
    if (!std::cout) throw std::runtime_error("the server does not listen to what this program says");
}

std::string heard(const std::string& expected) {
    std::string line;
    if (!std::getline(std::cin, line) || line.rfind(expected, 0) != 0)
        throw std::runtime_error("expected '" + expected + "…' of the server, seen '" + line.substr(0, 60) + "'");
    return line.substr(expected.size());
}

std::string cell(const bench::row::count& n) { return n ? std::to_string(*n) : ""; }
std::string cell(const bench::row::real& n) { return n ? bench::short_decimal(*n) : ""; }

std::string end_line(const client& c, const bench::report& r, std::int64_t wall_ns, bool wrong) {
    const bench::row& m = r.measured;
    char check[17];
    std::snprintf(check, sizeof check, "%016llx", static_cast<unsigned long long>(c.sum()));
    return "end wrong=" + std::to_string(int{wrong}) + " ops=" + cell(m.ops) + " wall_ns=" + std::to_string(wall_ns) +
           " offered_per_s=" + cell(m.offered_per_s) + " achieved_per_s=" + cell(m.achieved_per_s) +
           " lat_count=" + cell(m.lat_count) + " lat_min_ns=" + cell(m.lat_min_ns) +
           " lat_p50_ns=" + cell(m.lat_p50_ns) + " lat_p90_ns=" + cell(m.lat_p90_ns) +
           " lat_p95_ns=" + cell(m.lat_p95_ns) + " lat_p99_ns=" + cell(m.lat_p99_ns) +
           " lat_p999_ns=" + cell(m.lat_p999_ns) + " lat_max_ns=" + cell(m.lat_max_ns) +
           " lateness_p99_ns=" + cell(m.lateness_p99_ns) + " check=" + check + " flags=" + m.flags;
}

// What was wrong with the server, if anything. An answer of a front may be right although its backends were not asked.
std::string wrong_with(const client& c, const std::vector<std::unique_ptr<backend>>& backends, std::uint64_t ask) {
    if (!c.wrong().empty()) return c.wrong();
    std::uint64_t asked = 0;
    for (const auto& b : backends) {
        if (b->wrong() != 0) return "a backend was asked what is no request";
        asked += b->asked();
    }
    if (asked == ask * c.sent()) return "";
    return "for " + std::to_string(c.sent()) + " requests the backends were asked " + std::to_string(asked) +
           " times, which should be " + std::to_string(ask * c.sent());
}

int serve(const asked& a) {
    allow_descriptors(a);
    const bool looks = take_processor();
    poller p;
    const messages m(a.bytes, a.backends, a.ask, a.seed);
    std::vector<std::unique_ptr<backend>> backends;
    std::string ports = "backends";
    for (std::uint64_t b = 0; b < a.backends; ++b) {
        backends.push_back(std::make_unique<backend>(p, m, b));
        ports += ' ' + std::to_string(backends.back()->port());
    }
    say(ports);
    const auto port = static_cast<std::uint16_t>(number("port", heard("port "), 1, UINT16_MAX));
    client c(p, m, a.connections, port, a.plan.size());
    c.warm_up();
    if (!c.wrong().empty()) throw std::runtime_error("in the warm-up: " + c.wrong());
    say("begin");
    (void)heard("go");
    c.run(a.plan, looks);

    std::vector<std::int64_t> answered(c.answered_ns().begin(), c.answered_ns().end());
    std::int64_t last = 0;
    for (std::size_t i = 0; i < answered.size(); ++i) {
        if (answered[i] == 0) answered[i] = c.injected().zero_ns + a.plan[i];  // of a run that is wrong
        last = std::max(last, answered[i] - c.injected().zero_ns);
    }
    const bench::report r = bench::open_loop::figures(a.plan, answered, c.injected());
    if (!a.hist.empty()) {
        std::ofstream hist(a.hist, std::ios::trunc);
        r.latency.write_csv(hist);
        if (!hist.flush()) throw std::runtime_error("--hist: writing '" + a.hist + "' failed");
    }
    say(end_line(c, r, last, !wrong_with(c, backends, a.ask).empty()));
    c.close();
    const std::string wrong = wrong_with(c, backends, a.ask);
    if (wrong.empty()) return 0;
    std::cerr << "apiary_load: " << wrong << '\n';
    return 4;
}

}  // namespace

int main(int argc, char** argv) {
    (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)::signal(SIGPIPE, SIG_IGN);
    try {
        return serve(parse(argc, argv));
    } catch (const bench::bad_arguments& e) {
        std::cerr << "apiary_load: " << e.what() << '\n';
        return 2;
    } catch (const bench::bad_plan& e) {
        std::cerr << "apiary_load: --plan: " << e.what() << '\n';
        return 2;
    } catch (const std::exception& e) {
        std::cerr << "apiary_load: " << e.what() << '\n';
        return 1;
    }
}
