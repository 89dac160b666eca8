// The same checks, two ways: over explorer_sync, and over real_sync behind the compiler's
// instrumentation. Linked with one form or both of sources of checks. The same must be, of those with both,
//   always                     the verdict, the set of outcomes, the branches taken (Sync::reach);
//   where no thread may sleep  the number of graphs. A loop that a spurious failure sends round
//                              changes nothing, and as it is the round is left out. So where it has
//                              fewer both search again without such failures. What allocates may
//                              get freed memory again, which over Sync is the C library's: so
//                              where it has more both search again without such reuse.
//   of those under --rounds    all but that number and the branches of rounds: another thread sends
//                              their loops round, by a compare-exchange that it lets fail, and
//                              nothing turns that off. As it is there must be fewer graphs.
// A thread goes to sleep in one step of explorer_sync, and as it is in several: the queue of a futex
// stands apart from its word, and the kernel's barriers are fences. So there the graphs are others.
//
// Usage: PROGRAM [NAME …] [--rounds NAME …] [--without NAME …]
//        PROGRAM --weaken FILE [NAME …]     each order in FILE weakened, each of its fences taken out:
//                                           what a check sees over Sync its twin sees, too
//        PROGRAM --speed ROUNDS [NAME …]    processor time for each run of both, in pairs; 1: beyond three times in one of them
//        PROGRAM --search sync|as-is TIMES [NAME …]   nothing but the searches of one side: for counts of instructions
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <apiary/model_check/check.hpp>
#include <apiary/model_check/orders.hpp>

namespace {

using namespace apiary::model;

struct pair {
    const check_entry *over_sync, *as_is;
};

// Of the files that have twins here: over Sync a program holds more. Empty, and said, where a check that is to be compared has
// none.
std::vector<pair> pairs(const std::vector<std::string>& wanted, const std::set<std::string>& left_out) {
    std::vector<pair> all;
    std::set<std::string_view> files;
    for (const check_entry& e : registry())
        if (e.as_it_is) files.insert(e.file);
    bool complete = true;
    const auto is_missing = [&](const std::string& name, const char* what) {
        std::printf("%s: %s\n", name.c_str(), what);
        complete = false;
    };
    for (const std::string& name : wanted)
        if (std::ranges::none_of(registry(), [&](const check_entry& e) { return !e.as_it_is && e.name == name; }))
            is_missing(name, "no such check");
    for (const check_entry& e : registry()) {
        if (e.as_it_is || !e.run_explorer || e.too_large_to_exhaust || left_out.contains(e.name)) continue;
        if (!files.contains(e.file)) continue;
        if (!wanted.empty() && std::ranges::find(wanted, e.name) == wanted.end()) continue;
        const std::size_t before = all.size();
        for (const check_entry& t : registry())
            if (t.as_it_is && t.name == e.name) all.push_back({&e, &t});
        if (all.size() == before) is_missing(e.name, "no twin");
    }
    if (!complete) all.clear();
    return all;
}

search_options options() {
    search_options o;
    o.mode = search_mode::full;  // however long it takes
    return o;
}

template <class Map>
std::set<std::string> names(const Map& counted) {
    std::set<std::string> all;
    for (const auto& [name, n] : counted) all.insert(name);
    return all;
}

bool ran_one_of(const verdict& v, const std::set<std::string_view>& operations) {
    return std::ranges::any_of(v.sites,
                               [&](const auto& site) { return operations.contains(operation_of(site.first)); });
}

struct difference {
    std::string found;   // verdict, outcomes
    std::string rounds;  // what may be due to the rounds that as it is are left out
    std::string reuses;  // what may be due to memory that a thread gets again
    [[nodiscard]] std::string all() const { return found + rounds + reuses; }
};

difference compare(const verdict& over_sync, const verdict& as_is) {
    difference d;
    if (over_sync.result != as_is.result) d.found += " another verdict";
    if (names(over_sync.outcomes) != names(as_is.outcomes)) d.found += " other outcomes";
    // The parker that ships stands in for that of the policy, and takes branches of its own.
    const bool parks = ran_one_of(over_sync, {"park", "park_until", "unpark"});
    const std::set<std::string> left = names(over_sync.reached), right = names(as_is.reached);
    for (const std::string& name : left)
        if (!right.contains(name)) d.rounds += " " + name + " is not taken";
    for (const std::string& name : right)
        if (!left.contains(name) && !(parks && name.starts_with("parker."))) d.found += " " + name + " is taken";
    const bool sleeps = parks || ran_one_of(over_sync, {"futex wait", "wake_one", "wake_all"});
    if (!sleeps && as_is.graphs > over_sync.graphs) d.reuses += " more graphs";
    if (!sleeps && as_is.graphs < over_sync.graphs) d.rounds += " fewer graphs";
    return d;
}

// A search that came to no end has seen nothing.
bool is_red(const check_entry& over_sync, const verdict& v) {
    if (over_sync.kind != check_kind::litmus || v.result == outcome::error || v.result == outcome::budget_ended)
        return v.result == outcome::fail;
    const std::set<std::string> expected(over_sync.expected_rc11.begin(), over_sync.expected_rc11.end());
    return v.result != outcome::pass || names(v.outcomes) != expected;
}

void print(const char* what, const check_entry& e, const verdict& over_sync, const verdict& as_is) {
    const auto number = [](std::uint64_t n) { return static_cast<unsigned long long>(n); };
    std::printf("%-20s %-36s over Sync %8llu graphs, %.2f s; as it is %8llu graphs, %.2f s %s\n", what, e.name.c_str(),
                number(over_sync.graphs), over_sync.seconds, number(as_is.graphs), as_is.seconds, as_is.reason.c_str());
    std::fflush(stdout);
}

bool compare(const pair& p, bool has_rounds) {
    search_options o = options();
    verdict over_sync = p.over_sync->run_explorer(o), as_is = p.as_is->run_explorer(o);
    difference d = compare(over_sync, as_is);
    std::string but_for;
    const auto again_without = [&](unsigned choice_bounds::* choice, const char* what) {
        o.bounds.*choice = 0;
        over_sync = p.over_sync->run_explorer(o), as_is = p.as_is->run_explorer(o);
        d = compare(over_sync, as_is);
        but_for = what;
    };
    if (d.all() == d.reuses && !d.reuses.empty()) again_without(&choice_bounds::reuses, "same but for reuse");
    if (d.all() == d.rounds && !d.rounds.empty()) again_without(&choice_bounds::weak_failures, "same but for rounds");
    const bool goes_round = d.all() == d.rounds && !d.rounds.empty();
    std::string all = has_rounds && goes_round ? "" : d.all();
    if (has_rounds && !goes_round) all += " it has no rounds of that kind (--rounds)";
    if (!all.empty()) as_is.reason = all + ": " + as_is.reason;
    print(!all.empty() ? "DIFFER" : but_for.empty() ? "same" : but_for.c_str(), *p.over_sync, over_sync, as_is);
    return all.empty();
}

// Processor time of this thread. std::clock() moves by whole ticks while the timer that watches for loops is set.
double used_seconds() {
    timespec t{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// For each run, over as many searches as take a quarter of a second.
double per_run(const check_entry& e) {
    constexpr double enough = 0.25;
    const double since = used_seconds();
    double runs = 0;
    do runs += static_cast<double>(e.run_explorer(options()).executions);
    while (used_seconds() - since < enough);
    return (used_seconds() - since) / runs;
}

// The largest number of ratios that may be left out on either side of them in their order, so that the median of what they are
// drawn from lies between the others with a probability of 95 %.
std::size_t left_out_on_a_side(std::size_t n) {
    double below = std::pow(0.5, static_cast<double>(n)), one = below;
    std::size_t k = 0;
    for (; below <= 0.025 && k < n / 2; ++k) {
        one *= static_cast<double>(n - k) / static_cast<double>(k + 1);
        below += one;
    }
    return k == 0 ? 0 : k - 1;
}

// What code as it is may take of the time over Sync.
constexpr double most_times = 3;

// Each round runs one after the other, the first of them in turns. False: the whole interval lies beyond what it may take.
bool compare_speed(const pair& p, unsigned rounds) {
    (void)p.as_is->run_explorer(options());  // reads the places
    std::vector<double> ratios;
    for (unsigned r = 0; r != rounds; ++r) {
        const double first = per_run(r % 2 == 0 ? *p.over_sync : *p.as_is),
                     second = per_run(r % 2 == 0 ? *p.as_is : *p.over_sync);
        ratios.push_back(r % 2 == 0 ? second / first : first / second);
    }
    std::sort(ratios.begin(), ratios.end());
    const std::size_t out = left_out_on_a_side(ratios.size());
    const double least = ratios[out], most = ratios[ratios.size() - 1 - out];
    std::printf("%-36s as it is takes %.2f [%.2f, %.2f] of the time over Sync: %s\n", p.over_sync->name.c_str(),
                ratios[ratios.size() / 2], least, most,
                most <= most_times ? "within 3" : (least <= most_times ? "unresolved" : "BEYOND 3"));
    std::fflush(stdout);
    return least <= most_times;
}

void search(const pair& p, bool over_sync, unsigned times) {
    const check_entry& e = over_sync ? *p.over_sync : *p.as_is;
    std::uint64_t runs = 0;
    for (unsigned i = 0; i != times; ++i) runs += e.run_explorer(options()).executions;
    std::printf("%-36s %llu runs\n", e.name.c_str(), static_cast<unsigned long long>(runs));
}

// By "file:line", which means the same on both sides: what an operation there may be weakened to.
std::map<std::string, std::set<std::string>> orders_in(const std::string& file, const std::vector<pair>& all) {
    std::map<std::string, std::set<std::string>> found;
    for (const pair& p : all)
        for (const auto& [site, written] : p.over_sync->run_explorer(options()).sites) {
            const std::size_t colon = site.find(':');
            if (colon == std::string::npos || site.substr(0, colon).find(file) == std::string::npos) continue;
            for (const std::string& order : weaker(operation_of(site), written))
                found[site.substr(0, site.find(':', colon + 1))].insert(order);
        }
    return found;
}

// 0: not seen over Sync; 1: seen both ways; -1: as it is not seen.
int weaken(const std::string& place, const std::string& order, const std::vector<pair>& all) {
    search_options o = options();
    o.traceless = true;
    o.mutate_site = place;
    o.mutate_order = order;
    int result = 0;
    std::string by = "seen by none";
    for (const pair& p : all) {
        if (!is_red(*p.over_sync, p.over_sync->run_explorer(o))) continue;
        const verdict as_is = p.as_is->run_explorer(o);
        result = is_red(*p.over_sync, as_is) ? 1 : -1;
        by = (result == 1               ? "seen by "
              : as_is.mutation_met == 0 ? "NOT MET by "
                                        : "NOT SEEN by ") +
             p.over_sync->name + (as_is.reason.empty() ? "" : ": " + as_is.reason);
        break;
    }
    std::printf("%-44s %-8s %s\n", place.c_str(), order.c_str(), by.c_str());
    std::fflush(stdout);
    return result;
}

int weaken_all(const std::string& file, const std::vector<pair>& all) {
    unsigned seen = 0, bad = 0, mutants = 0;
    for (const auto& [place, orders] : orders_in(file, all))
        for (const std::string& order : orders) {
            const int result = weaken(place, order, all);
            ++mutants;
            seen += result == 1 ? 1U : 0U;
            bad += result == -1 ? 1U : 0U;
        }
    std::printf("%u mutants, %u seen both ways, %u not seen as it is\n", mutants, seen, bad);
    return bad == 0 && seen != 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    std::vector<std::string> wanted;
    std::set<std::string> left_out, with_rounds;
    std::string weakened;
    unsigned rounds = 0, times = 0;
    bool over_sync = false;
    for (int i = 1; i < argc; ++i) {
        const std::string_view word = argv[i];
        const bool has_next = i + 1 < argc;
        const auto names_behind = [&](std::set<std::string>& names) {
            while (i + 1 < argc && argv[i + 1][0] != '-') names.insert(argv[++i]);
        };
        if (word == "--speed" && has_next)
            rounds = static_cast<unsigned>(std::strtoul(argv[++i], nullptr, 10));
        else if (word == "--search" && i + 2 < argc) {
            over_sync = std::string_view(argv[++i]) == "sync";
            times = static_cast<unsigned>(std::strtoul(argv[++i], nullptr, 10));
        } else if (word == "--weaken" && has_next)
            weakened = argv[++i];
        else if (word == "--without")
            names_behind(left_out);
        else if (word == "--rounds")
            names_behind(with_rounds);
        else
            wanted.emplace_back(word);
    }
    const std::vector<pair> all = pairs(wanted, left_out);
    if (all.empty()) {
        std::printf("nothing to compare: no check of this program has a twin\n");
        return 1;
    }
    if (!weakened.empty()) return weaken_all(weakened, all);
    unsigned bad = 0;
    for (const pair& p : all)
        if (times != 0)
            search(p, over_sync, times);
        else if (rounds != 0)
            bad += compare_speed(p, rounds) ? 0U : 1U;
        else if (!compare(p, with_rounds.contains(p.over_sync->name)))
            ++bad;
    if (rounds == 0 && times == 0) std::printf("%zu checks, %u differ\n", all.size(), bad);
    return bad == 0 ? 0 : 1;
}
