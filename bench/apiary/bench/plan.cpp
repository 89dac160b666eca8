// Reads plan files; every complaint names the file, the line and its text.
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <string_view>

#include <apiary/bench/plan.hpp>

namespace apiary::bench {

namespace {

// Printable and short enough for one line of standard error.
std::string shorten(std::string_view line) {
    constexpr std::size_t most = 40;
    std::string seen;
    for (const char c : line.substr(0, most)) seen += c >= ' ' && c <= '~' ? c : '?';
    return line.size() > most ? seen + "..." : seen;
}

std::int64_t parse_time(std::string_view line, const std::string& where) {
    const bool digits =
        !line.empty() && std::all_of(line.begin(), line.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!digits)
        throw bad_plan(where + "expected one non-negative integer (nanoseconds) and nothing else, seen '" +
                       shorten(line) + "'");
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
    if (error != std::errc() || end != line.data() + line.size())
        throw bad_plan(where + "the number is too large, seen '" + shorten(line) + "'");
    return value;
}

}  // namespace

std::vector<std::int64_t> read_plan(std::istream& in, const std::string& name) {
    std::vector<std::int64_t> times;
    std::string line;
    for (std::size_t number = 1; std::getline(in, line); ++number) {
        if (line.starts_with('#')) continue;
        const std::string where = name + ": line " + std::to_string(number) + ": ";
        const std::int64_t time = parse_time(line, where);
        if (!times.empty() && time < times.back())
            throw bad_plan(where + "the times must ascend, seen " + std::to_string(time) + " after " +
                           std::to_string(times.back()));
        times.push_back(time);
    }
    if (in.bad()) throw bad_plan(name + ": reading failed: " + std::strerror(errno));
    if (times.empty()) throw bad_plan(name + ": no release time in it; one integer per line is expected");
    return times;
}

std::vector<std::int64_t> read_plan_file(const std::string& path) {
    std::ifstream in(path);
    if (!in) throw bad_plan(path + ": cannot be opened: " + std::strerror(errno));
    return read_plan(in, path);
}

}  // namespace apiary::bench
