// A fake subject: it speaks bench/contract/CLI.md, well or badly, measures nothing, and prints plausible figures.
//
// A race starts it some hundred times, so it is compiled, once for all tests (fakes.py). What it claims stands at the end of
// its own file: lines of `KEY VALUE`, then their length in LENGTH digits.

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

using number = long long;
using words = std::map<std::string, std::string>;

constexpr std::streamoff LENGTH = 8;

struct claims {
    std::string version, name, behaviour, columns, scenarios, tunables;
    double ns = 0, effect = 0;
    std::map<std::string, double> tuned;  // the factor of a NAME=VALUE
};

claims own_claims() {
    std::ifstream file("/proc/self/exe", std::ios::binary);
    file.seekg(-LENGTH, std::ios::end);
    std::streamoff length = 0;
    file >> length;
    file.clear();
    file.seekg(-LENGTH - length, std::ios::end);
    std::string text(static_cast<std::size_t>(length), '\0');
    file.read(text.data(), length);

    claims found;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        const auto space = line.find(' ');
        const std::string key = line.substr(0, space), value = line.substr(space + 1);
        if (key == "version") found.version = value;
        else if (key == "name") found.name = value;
        else if (key == "behaviour") found.behaviour = value;
        else if (key == "columns") found.columns = value;
        else if (key == "scenario") found.scenarios += value + '\n';
        else if (key == "tunable") found.tunables += value + '\n';
        else if (key == "ns") found.ns = std::stod(value);
        else if (key == "effect") found.effect = std::stod(value);
        else if (key == "tuned") found.tuned[value.substr(0, value.rfind(' '))] = std::stod(value.substr(value.rfind(' ') + 1));
        else std::exit(1);
    }
    return found;
}

std::string text(const char* form, double value) {
    char out[64];
    std::snprintf(out, sizeof out, form, value);
    return out;
}

std::string text(number value) { return std::to_string(value); }

std::string or_else(const words& given, const std::string& key, const std::string& otherwise) {
    const auto found = given.find(key);
    return found == given.end() ? otherwise : found->second;
}

/// The sum of mark(0) … mark(ops - 1) of CLI.md.
std::string check(number ops) {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(ops); ++i) {
        std::uint64_t z = i + 0x9E3779B97F4A7C15;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
        sum += (z ^ (z >> 31)) >> 32 << 32 | 1;
    }
    char out[17];
    std::snprintf(out, sizeof out, "%016llx", static_cast<unsigned long long>(sum));
    return out;
}

/// Of the round (its seed) and the arm (its folder), so that a test sees the same figures always.
std::mt19937_64 generator(const std::string& name, const std::string& seed, std::string program) {
    program.resize(std::min(program.size(), program.rfind('/')));
    std::uint64_t hash = 0xCBF29CE484222325;  // FNV-1a
    for (const unsigned char c : name + '\n' + seed + '\n' + program.substr(program.rfind('/') + 1)) hash = (hash ^ c) * 0x100000001B3;
    return std::mt19937_64(hash);
}

struct bucket {
    number low, high;
    auto operator<=>(const bucket&) const = default;
};

bucket bucket_of(number value) {
    const int shift = std::max(0, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(value))) - 8);
    const number low = value >> shift << shift;
    return {low, low + (number{1} << shift) - 1};
}

void write_histogram(const std::string& path, const std::vector<number>& late, number factor) {
    std::map<bucket, number> counts;
    for (const number value : late) ++counts[bucket_of(factor * value)];
    std::ofstream out(path);
    out << "value_lo_ns,value_hi_ns,count\n";
    for (const auto& [at, count] : counts) out << at.low << ',' << at.high << ',' << count << '\n';
}

std::vector<number> read_plan(const std::string& path) {
    std::vector<number> due;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);)
        if (line.at(0) != '#') due.push_back(std::stoll(line));
    return due;
}

/// Ends or delays the run as a behaviour that never measures does.
void misbehave(const std::string& behaviour) {
    if (behaviour == "crash") {
        std::fputs("about to fail\n", stderr);
        kill(getpid(), SIGSEGV);
    }
    if (behaviour == "hang" && fork() < 0) std::exit(1);
    if (behaviour == "hang" || behaviour == "sleep") std::this_thread::sleep_for(std::chrono::seconds(600));
    if (behaviour == "malformed") {
        std::puts("hello");
        std::exit(0);
    }
    if (behaviour == "unsupported") std::exit(3);
}

int run(const claims& claim, double ns, const words& options, const words& params, const std::string& program) {
    const std::string scenario = options.at("--scenario"), seed = options.at("--seed");
    auto rng = generator(claim.name, seed, program);
    const int warmup = std::stoi(options.at("--warmup-blocks"));
    words row{{"scenario", scenario}, {"workers", options.at("--workers")}, {"seed", seed}, {"status", "ok"},
              {"steady", text(number{warmup >= 2})}, {"warmup_blocks", text(number{std::min(2, warmup)})},
              {"blocks", options.at("--blocks")}, {"nvcsw", "3"}, {"nivcsw", "1"}, {"minflt", "100"}, {"maxrss_kib", "4000"}};
    number ops = 0;
    if (scenario == "post_throughput" || scenario == "spawn_many_remote_idle") {
        ops = std::stoll(or_else(params, "ops", "16384"));
        double slow = std::stod(or_else(options, "--slowdown-ns", "0")) / 64;
        // odd_control: large slow-downs slow it, as the calibration sees; the one of the race makes it faster.
        if (claim.behaviour == "odd_control" && 0 < slow && slow < 0.3 * ns && std::stoll(seed) >= 1000) slow = -0.3 * ns;
        const double each = ns * std::lognormal_distribution(0.0, 0.01)(rng) + claim.effect * slow;
        const auto count = static_cast<double>(ops);
        const number wall = std::llrint(each * count);
        row["wall_ns"] = text(wall);
        row["cpu_ns"] = text(number{std::llrint(2 * each * count)});
        row["ns_per_op"] = text("%.3f", static_cast<double>(wall) / count);
        row["ops_per_s"] = text("%.3f", 1e9 * count / static_cast<double>(wall));
    } else {
        row["warmup_blocks"] = "0";
        row["blocks"] = "1";
        row["steady"] = "";
        if (scenario == "post_latency") {
            const auto due = read_plan(options.at("--plan"));
            ops = static_cast<number>(due.size());
            row["offered_per_s"] = row["achieved_per_s"] = text("%.3f", 1e9 * static_cast<double>(ops) / static_cast<double>(due.back()));
            row["lateness_p99_ns"] = "1000";
        } else {
            ops = std::stoll(params.at("ops"));
        }
        std::vector<number> late(static_cast<std::size_t>(ops - ops / 10));
        std::lognormal_distribution spread(0.0, 0.5);
        for (number& one : late) one = std::llrint(ns * 100 * spread(rng));
        std::sort(late.begin(), late.end());
        const auto n = static_cast<number>(late.size());
        const auto percentile = [&](number permille, const char* column) {
            const number place = (permille * n + 999) / 1000;
            if (permille == 500 || n - place >= 100)
                row[column] = text(std::min(bucket_of(late[static_cast<std::size_t>(place - 1)]).high, late.back()));
        };
        percentile(500, "lat_p50_ns");
        percentile(900, "lat_p90_ns");
        percentile(950, "lat_p95_ns");
        percentile(990, "lat_p99_ns");
        row["lat_count"] = text(n);
        row["lat_min_ns"] = text(late.front());
        row["lat_max_ns"] = text(late.back());
        row["cpu_ns"] = "5000";
        if (options.contains("--hist")) write_histogram(options.at("--hist"), late, claim.behaviour == "shifted_histogram" ? 2 : 1);
    }
    row["ops"] = claim.behaviour == "bad_number" ? "many" : text(ops);
    row["check"] = claim.behaviour == "wrong_check" ? "0123456789abcdef" : check(ops);
    const bool wrong = claim.behaviour == "says_wrong";
    if (wrong) {
        row["status"] = "wrong";
        std::fputs("task 17 ran twice\n", stderr);
    }
    std::string cells;
    std::istringstream columns(claim.columns);
    for (std::string column; std::getline(columns, column, ',');) cells += ',' + row[column];
    std::printf("%s\n%s\n", claim.columns.c_str(), cells.c_str() + 1);
    return wrong ? 4 : 0;
}

}  // namespace

int main(int count, char** given) {
    const claims claim = own_claims();
    const std::vector<std::string> said(given + 1, given + count);
    const std::string verb = said.empty() ? "" : said[0];
    if (verb == "--version") return std::puts(claim.version.c_str()) < 0;
    if (verb == "--list") return std::fputs(claim.scenarios.c_str(), stdout) < 0;
    if (verb == "--tunables") {
        std::fputs(claim.tunables.c_str(), stdout);
        return claim.tunables.empty() ? 2 : 0;
    }
    words options, params;
    double ns = claim.ns;
    for (std::size_t i = 1; i + 1 < said.size(); i += 2) {
        const std::string& value = said[i + 1];
        if (said[i] == "--param") params[value.substr(0, value.find('='))] = value.substr(value.find('=') + 1);
        else if (said[i] == "--tune") ns *= claim.tuned.contains(value) ? claim.tuned.at(value) : 1;
        else options[said[i]] = value;
    }
    misbehave(claim.behaviour);
    return run(claim, ns, options, params, given[0]);
}
