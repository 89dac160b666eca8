// apiary_virtual: one point, a scenario of a subject with so many workers on the virtual machine, in a process of its own.
//
//     apiary_virtual --list
//     apiary_virtual --tunables
//     apiary_virtual SUBJECT SCENARIO WORKERS --profile FILE [--price NAME=NUMBER]… [--tune NAME=NUMBER]… [--virtual-ms N]
//                    [--param NAME=NUMBER]… [--brief]
//
// Writes JSON. Exit status: 0 measured and verified; 1 a wrong answer, a deadlock or no end; 2 bad arguments; 3 no memory.
#include <charconv>
#include <cstdio>
#include <cstring>
#include <exception>
#include <map>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "virtual/scenarios/scenario.hpp"

namespace {

using namespace apiary::virt;

struct bad_arguments : std::runtime_error {
    using std::runtime_error::runtime_error;
};

std::vector<scenario> all_scenarios() {
    std::vector<scenario> all;
    for (const auto part : {coro_pool_scenarios(), fork_join_scenarios(), global_queue_scenarios(), hive_scenarios(),
                            process_scenarios(), task_graph_scenarios()})
        all.insert(all.end(), part.begin(), part.end());
    return all;
}

std::string quoted(std::string_view s) {
    std::string q = "\"";
    for (const char c : s) {
        if (c == '"' || c == '\\') q += '\\';
        if (static_cast<unsigned char>(c) >= ' ') q += c;
    }
    return q + '"';
}
std::string number(double x) {
    char text[64];
    std::snprintf(text, sizeof text, "%.4f", x);
    return text;
}
std::string each(double x, std::uint64_t operations) { return number(x / static_cast<double>(operations)); }
std::string each_ns(picoseconds t, std::uint64_t operations) { return each(static_cast<double>(t) / 1000, operations); }

// As rows have it.
std::string as_check(std::uint64_t sum) {
    char text[17];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(sum));
    return text;
}

std::string as_json(const scenario& s, unsigned workers, const measured& m) {
    const auto n = m.operations;
    std::string j = "{\"subject\": " + quoted(s.subject) + ", \"scenario\": " + quoted(s.name) +
                    ", \"operation\": " + quoted(s.operation) + ", \"workers\": " + std::to_string(workers) +
                    ", \"operations\": " + std::to_string(n) + ", \"ns\": " + each_ns(m.took, n);
    const std::pair<const char*, std::uint64_t> counts[] = {
        {"moves", m.counts.moves},   {"accesses", m.counts.operations}, {"blocks", m.counts.blocks}, {"sleeps", m.counts.sleeps},
        {"wakes", m.counts.wakes},   {"yields", m.counts.yields},       {"heavy_fences", m.counts.barriers},
    };
    for (const auto& [name, count] : counts)
        j += std::string(", \"") + name + "\": " + each(static_cast<double>(count), n);
    j += ", \"check\": " + quoted(as_check(m.check)) + ", \"flags\": " + quoted(m.flags) + ", \"params\": {";
    for (const char* between = ""; const auto& [name, value] : m.params)
        j += std::exchange(between, ", ") + quoted(name) + ": " + std::to_string(value);
    j += "}, \"lines\": [";
    for (std::size_t i = 0; i != m.table.size(); ++i) {
        const moves::row& r = m.table[i];
        j += std::string(i == 0 ? "\n" : ",\n") + "  {\"object\": " + quoted(r.object) +
             ", \"offset\": " + std::to_string(r.offset) + ", \"moves\": " + each(static_cast<double>(r.count), n) +
             ", \"queued_ns\": " + each_ns(r.queued, n) + ", \"ns\": " + each_ns(r.stalled, n) + ", \"places\": [";
        for (std::size_t k = 0; k != r.places.size(); ++k) {
            const moves::place_row& p = r.places[k];
            j += std::string(k == 0 ? "" : ", ") + "{\"place\": " + quoted(p.file + ":" + std::to_string(p.line)) +
                 ", \"function\": " + quoted(p.function) + ", \"access\": " + quoted(std::string_view(&p.kind, 1)) +
                 ", \"moves\": " + each(static_cast<double>(p.count), n) + ", \"ns\": " + each_ns(p.stalled, n) + "}";
        }
        j += "]}";
    }
    return j + "\n]}\n";
}

template <class T>
T number_of(std::string_view what, std::string_view word, T least, T most) {
    T n{};
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), n);
    if (error != std::errc{} || end != word.data() + word.size() || n < least || n > most)
        throw bad_arguments(std::string(what) + " is \"" + std::string(word) + "\"\n  cause:  it can be " +
                            std::to_string(least) + " to " + std::to_string(most) + "\n  remedy: a number within");
    return n;
}

// Threads that a program starts beside its workers: each block has a producer of its own.
constexpr unsigned threads_outside = 8;
// Crews have at most so many workers.
constexpr unsigned most_workers = 256;

// NAME=NUMBER, of those that are known.
std::pair<std::string_view, std::uint64_t> change_of(std::string_view option, std::string_view word,
                                                     std::span<const apiary::bench::parameter> known, const scenario& s) {
    const std::string_view name = word.substr(0, word.find('='));
    std::string names;
    for (const apiary::bench::parameter& p : known) {
        names += (names.empty() ? "" : ", ") + std::string(p.name);
        if (p.name == name && name != word)
            return {name, number_of<std::uint64_t>(std::string(option) + " " + std::string(name), word.substr(name.size() + 1), p.least,
                                                   p.words.empty() ? p.most : p.words.size() - 1)};
    }
    throw bad_arguments(std::string(option) + " " + std::string(word) + " is no NAME=NUMBER of " + std::string(s.subject) + " " +
                        std::string(s.name) + "\n  cause:  its numbers are: " + (names.empty() ? "none" : names) +
                        "\n  remedy: one of them");
}

struct call {
    scenario what{};
    unsigned workers = 0;
    prices priced;
    std::int64_t virtual_ms = 10'000;
    bool brief = false;
    sizes given;
};

call parse(const std::vector<std::string_view>& words) {
    std::vector<std::string_view> plain, changes, tuned, sized;
    std::optional<std::string> profile;
    call c;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string_view w = words[i];
        if (!w.starts_with("--")) {
            plain.push_back(w);
            continue;
        }
        if (w == "--brief") {
            c.brief = true;
            continue;
        }
        if (w != "--profile" && w != "--price" && w != "--tune" && w != "--param" && w != "--virtual-ms")
            throw bad_arguments(std::string(w) + " is no option\n  cause:  these are: --list, --tunables, --profile, --price, "
                                "--tune, --param, --virtual-ms, --brief\n  remedy: one of them");
        if (++i == words.size()) throw bad_arguments(std::string(w) + " needs a value");
        if (w == "--profile") profile = std::string(words[i]);
        if (w == "--price") changes.push_back(words[i]);
        if (w == "--tune") tuned.push_back(words[i]);
        if (w == "--param") sized.push_back(words[i]);
        if (w == "--virtual-ms") c.virtual_ms = number_of<std::int64_t>(w, words[i], 1, 1'000'000);
    }
    if (plain.size() != 3)
        throw bad_arguments("a point is SUBJECT SCENARIO WORKERS, and --profile FILE\n  remedy: --list names them");
    std::string known;
    bool found = false;
    for (const scenario& s : all_scenarios()) {
        known += (known.empty() ? "" : ", ") + std::string(s.subject) + " " + std::string(s.name);
        if (s.subject != plain[0] || s.name != plain[1]) continue;
        c.what = s;
        found = true;
    }
    if (!found)
        throw bad_arguments("there is no scenario \"" + std::string(plain[0]) + " " + std::string(plain[1]) +
                            "\"\n  cause:  these are: " + known + "\n  remedy: one of them");
    c.workers = number_of<unsigned>("WORKERS", plain[2], 1, most_workers);
    if (!profile)
        throw bad_arguments("no --profile\n  cause:  each operation has a price\n  remedy: --profile "
                            "bench/virtual/profiles/flat.profile");
    c.priced = read_profile(*profile);
    for (const std::string_view change : changes) change_price(c.priced, change);
    for (const std::string_view one : tuned) {
        const auto [name, value] = change_of("--tune", one, c.what.tunables, c.what);
        c.what.tune(name, value);
    }
    for (const std::string_view one : sized) {
        const auto [name, value] = change_of("--param", one, c.what.parameters, c.what);
        c.given[std::string(name)] = value;
    }
    return c;
}

// A line for each number of each scheduler: subject, name, as it ships, least, most.
int tell_tunables() {
    std::string_view last;
    for (const scenario& s : all_scenarios())
        for (bool fresh = std::exchange(last, s.subject) != s.subject; const apiary::bench::parameter& p : s.tunables)
            if (fresh)
                std::printf("%s %s %llu %llu %llu\n", std::string(s.subject).c_str(), std::string(p.name).c_str(),
                            static_cast<unsigned long long>(p.standard.value_or(0)), static_cast<unsigned long long>(p.least),
                            static_cast<unsigned long long>(p.most));
    return 0;
}

int refuse(int status, const std::exception& e) {
    std::fprintf(stderr, "apiary_virtual: %s\n", e.what());
    return status;
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::string_view> words(argv + 1, argv + argc);
    if (words.size() == 1 && words[0] == "--list") {
        for (const scenario& s : all_scenarios())
            std::printf("%.*s %.*s %.*s\n", static_cast<int>(s.subject.size()), s.subject.data(), static_cast<int>(s.name.size()),
                        s.name.data(), static_cast<int>(s.operation.size()), s.operation.data());
        return 0;
    }
    if (words.size() == 1 && words[0] == "--tunables") return tell_tunables();
    try {
        const call c = parse(words);
        measured all;
        machine m(c.priced, c.workers + 1 + threads_outside, c.virtual_ms * 1'000'000'000);
        m.start("outside", [&] { all = c.what.run(m, c.workers, c.brief, c.given); });
        m.run();
        std::fputs(as_json(c.what, c.workers, all).c_str(), stdout);
        return std::fflush(stdout) == 0 ? 0 : 3;
    } catch (const bad_arguments& e) {
        return refuse(2, e);
    } catch (const profile_error& e) {
        return refuse(2, e);
    } catch (const std::invalid_argument& e) {  // of a scheduler, which cannot be so here
        return refuse(2, e);
    } catch (const std::bad_alloc& e) {
        return refuse(3, e);
    } catch (const std::exception& e) {
        return refuse(1, e);
    }
}
