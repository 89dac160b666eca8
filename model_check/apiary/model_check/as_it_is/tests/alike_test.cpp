// Symmetry of threads as they are loses nothing: random programs with one or two sets of threads that are alike, searched with
// symmetry and without. The same verdicts, and the same outcomes, where what each thread saw is told without its name.
//
// Usage: as_it_is_alike_test [--programs N] [--seed S]
#include "alike.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include <apiary/model_check/as_it_is/runtime.hpp>

namespace {

using namespace apiary::model;

alike::program now;
std::vector<unsigned> seen[explorer::max_threads];

// Thread 0's, and then those of each set in the order of what they saw.
std::string_view outcome_text(std::array<char, 128>& buffer) {
    auto all = std::vector<std::vector<unsigned>>(std::begin(seen), std::end(seen));
    const auto first = all.begin() + 1, second = first + now.threads[1];
    std::sort(first, second);
    std::sort(second, second + now.threads[2]);
    std::string text;
    for (const auto& t : all) {
        if (&t - all.data() > static_cast<std::ptrdiff_t>(now.threads[1] + now.threads[2])) break;
        text += '|';
        for (const unsigned v : t) text += ' ' + std::to_string(v);
    }
    return {buffer.data(), text.copy(buffer.data(), buffer.size())};
}
const as_it_is::scenario scenario{"alike", alike::run,
                                  [] {
                                      for (auto& t : seen) t.clear();
                                  },
                                  outcome_text};

std::string text_of(const alike::program& p) {
    constexpr const char* names[alike::ops] = {"load", "store",      "add",        "exchange", "critical", "trial",
                                               "wait", "notify_one", "notify_all", "fence",    "park",     "wake"};
    std::string text;
    for (unsigned kind = 0; kind < alike::program::kinds; ++kind) {
        text += (kind == 0 ? "" : " || ") + std::to_string(p.threads[kind]) + " x";
        for (unsigned k = 0; k < p.length[kind]; ++k) {
            const alike::action& a = p.code[kind][k];
            text.append(" ").append(names[static_cast<unsigned>(a.what)]);
            for (const unsigned n : {a.location, a.order, a.value}) text += ' ' + std::to_string(n);
            text += ';';
        }
    }
    return text;
}

alike::program random_program() {
    const auto below = [](unsigned n) { return static_cast<unsigned>(std::rand()) % n; };
    alike::program p{};
    p.threads[0] = 1;
    p.threads[1] = 2 + (below(4) == 0 ? 1 : 0);
    p.threads[2] = p.threads[1] == 2 && below(3) == 0 ? 2 : 0;
    std::uint8_t value = 1;
    for (unsigned kind = 0; kind < alike::program::kinds; ++kind) {
        const bool few = kind == 2 || p.threads[1] == 3 || p.threads[2] != 0;
        p.length[kind] = p.threads[kind] == 0 ? 0 : (kind == 0 ? 0U : 1U) + below(few ? 2 : 3);
        for (unsigned k = 0; k < p.length[kind]; ++k)
            p.code[kind][k] = {static_cast<alike::op>(below(alike::ops)), static_cast<std::uint8_t>(below(2)),
                               static_cast<std::uint8_t>(below(3)), value++};
    }
    return p;
}

struct tally {
    std::uint64_t graphs = 0, fewer = 0;
    unsigned compared = 0, failed = 0, large = 0, bad = 0;
};

std::set<std::string> outcomes_of(const verdict& v) {
    std::set<std::string> all;
    for (const auto& o : v.outcomes) all.insert(std::string(o.first));
    return all;
}

void compare(const alike::program& p, tally& sum) {
    now = p;
    search_options options;
    options.max_executions = 30'000;
    options.alike = false;
    const verdict whole = as_it_is::run(scenario, options);
    options.alike = true;
    const verdict some = as_it_is::run(scenario, options);
    const auto kind = [](const verdict& v) { return v.reason.substr(0, v.reason.find(':')); };
    const auto complain = [&](const std::string& what) {
        ++sum.bad;
        std::printf("%s: %s\n  without symmetry %s, with it %s\n", text_of(p).c_str(), what.c_str(), whole.reason.c_str(),
                    some.reason.c_str());
    };
    if (whole.result == outcome::budget_ended) {
        ++sum.large;
        return;
    }
    if (some.result != whole.result || kind(some) != kind(whole)) return complain("another verdict");
    if (whole.result == outcome::fail) {
        ++sum.failed;
        return;
    }
    if (some.bound.find("symmetry of threads 1, 2") == std::string::npos) return complain("no symmetry: " + some.bound);
    ++sum.compared;
    sum.graphs += whole.graphs;
    sum.fewer += some.graphs;
    const auto all = outcomes_of(whole), kept = outcomes_of(some);
    if (some.graphs > whole.graphs) complain("more graphs with symmetry");
    if (all == kept) return;
    complain("other outcomes");
    for (const std::string& o : all)
        if (!kept.contains(o)) std::printf("  lost: %s\n", o.c_str());
    for (const std::string& o : kept)
        if (!all.contains(o)) std::printf("  more: %s\n", o.c_str());
}

}  // namespace

namespace alike {
const program* current() { return &now; }
void saw(unsigned value) {
    const as_it_is::outside_program quiet;
    seen[as_it_is::the_runtime().self()].push_back(value);
}
}  // namespace alike

int main(int argc, char** argv) {
    unsigned programs = 200, seed = 1;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (std::strcmp(argv[i], "--programs") == 0) programs = static_cast<unsigned>(std::atoi(argv[i + 1]));
        if (std::strcmp(argv[i], "--seed") == 0) seed = static_cast<unsigned>(std::atoi(argv[i + 1]));
    }
    std::srand(seed);
    tally sum;
    for (unsigned n = 0; n < programs && sum.bad < 5; ++n) compare(random_program(), sum);
    std::printf(
        "%u random programs (seed %u): %u compared, %llu graphs and %llu with symmetry; %u fail with and without, %u too "
        "large; %u complaints\n",
        programs, seed, sum.compared, static_cast<unsigned long long>(sum.graphs),
        static_cast<unsigned long long>(sum.fewer), sum.failed, sum.large, sum.bad);
    return sum.bad == 0 && sum.compared > programs / 3 && sum.fewer * 4 < sum.graphs * 3 ? 0 : 1;
}
