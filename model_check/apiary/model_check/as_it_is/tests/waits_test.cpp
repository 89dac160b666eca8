// Waiting loops lose nothing: random programs of loops around locks, once as they are, so that their rounds are recognised, and
// once with loops that count their rounds and give up. What the latter see where nobody gives up, the former must see, and
// nothing else.
//
// Usage: as_it_is_waits_test [--programs N] [--seed S]
#include "waits.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include <apiary/model_check/as_it_is/runtime.hpp>

namespace {

using namespace apiary::model;

waits::program now;
std::vector<unsigned> seen[waits::program::most_threads];

std::string_view outcome_text(std::array<char, 128>& buffer) {
    std::string text;
    for (const auto& t : seen) {
        text += '|';
        for (const unsigned v : t) text += ' ' + std::to_string(v);
    }
    std::memcpy(buffer.data(), text.data(), std::min(text.size(), buffer.size()));
    return {buffer.data(), std::min(text.size(), buffer.size())};
}
const as_it_is::scenario scenario{"waits", waits::run,
                                  [] {
                                      for (auto& t : seen) t.clear();
                                  },
                                  outcome_text};

const char* name_of(waits::op what) {
    constexpr const char* names[waits::ops] = {"try_until_locked", "poll",     "set",  "lock_both",
                                               "spin_on_a_bit",    "try_once", "lock", "count"};
    return names[static_cast<unsigned>(what)];
}
std::string text_of(const waits::program& p) {
    std::string text;
    for (unsigned t = 0; t < p.threads; ++t) {
        text += t == 0 ? "" : " || ";
        for (unsigned k = 0; k < p.length[t]; ++k)
            text +=
                std::string(k == 0 ? "" : "; ") + name_of(p.code[t][k].what) + ' ' + std::to_string(p.code[t][k].mutex);
    }
    return text;
}

waits::program random_program() {
    const auto below = [](unsigned n) { return static_cast<unsigned>(std::rand()) % n; };
    waits::program p{};
    p.threads = 2 + (below(3) == 0 ? 1 : 0);
    for (unsigned t = 0; t < p.threads; ++t) {
        p.length[t] = 1 + below(p.threads == 2 ? 2 : 1);
        for (unsigned k = 0; k < p.length[t]; ++k)
            p.code[t][k] = {static_cast<waits::op>(below(waits::ops)), static_cast<std::uint8_t>(below(2))};
    }
    return p;
}

// Whether a poll may have no answer: nobody sets what it asks for, but behind a poll.
bool may_wait_for_ever(const waits::program& p) {
    const auto is_set = [&](unsigned asks, unsigned before, unsigned mutex) {
        for (unsigned t = 0; t < p.threads; ++t)
            for (unsigned k = 0; k < (t == asks ? before : p.length[t]); ++k) {
                if (p.code[t][k].what == waits::op::set && p.code[t][k].mutex == mutex) return true;
                if (t != asks && p.code[t][k].what == waits::op::poll) break;
            }
        return false;
    };
    for (unsigned t = 0; t < p.threads; ++t)
        for (unsigned k = 0; k < p.length[t]; ++k)
            if (p.code[t][k].what == waits::op::poll && !is_set(t, k, p.code[t][k].mutex)) return true;
    return false;
}

struct tally {
    unsigned compared = 0, endless = 0, large = 0, bad = 0;
};

void compare(waits::program p, tally& sum) {
    search_options options;
    options.max_executions = 60'000;
    now = p;
    const verdict waits_for_ever = as_it_is::run(scenario, options);
    now.rounds = 3;
    const verdict counts = as_it_is::run(scenario, options);
    if (counts.result != outcome::pass || counts.mode != "exhaustive") {
        ++sum.large;
        if (counts.result == outcome::fail)
            std::printf("%s: %s\n", text_of(p).c_str(), counts.reason.c_str()), ++sum.bad;
        return;
    }
    std::set<std::string> of_loops, of_counts;
    bool gives_up = false;
    for (const auto& o : waits_for_ever.outcomes) of_loops.insert(std::string(o.first));
    for (const auto& o : counts.outcomes) {
        const std::string text(o.first);
        if (text.find(" 99") == std::string::npos)
            of_counts.insert(text);
        else
            gives_up = true;
    }
    if (waits_for_ever.result == outcome::fail && may_wait_for_ever(p) && gives_up &&
        waits_for_ever.reason.starts_with("deadlock")) {
        ++sum.endless;
        return;
    }
    ++sum.compared;
    if (waits_for_ever.result == outcome::pass && of_loops == of_counts) return;
    ++sum.bad;
    std::printf("%s: %zu outcomes of loops that wait (%s), %zu of loops that count\n", text_of(p).c_str(),
                of_loops.size(), waits_for_ever.reason.c_str(), of_counts.size());
    for (const std::string& o : of_counts)
        if (!of_loops.contains(o)) std::printf("  lost: %s\n", o.c_str());
    for (const std::string& o : of_loops)
        if (!of_counts.contains(o)) std::printf("  more: %s\n", o.c_str());
}

}  // namespace

namespace waits {
const program* current() { return &now; }
void saw(unsigned thread, unsigned value) {
    const as_it_is::outside_program quiet;
    seen[thread].push_back(value);
}
}  // namespace waits

int main(int argc, char** argv) {
    unsigned programs = 200, seed = 1;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (std::strcmp(argv[i], "--programs") == 0) programs = static_cast<unsigned>(std::atoi(argv[i + 1]));
        if (std::strcmp(argv[i], "--seed") == 0) seed = static_cast<unsigned>(std::atoi(argv[i + 1]));
    }
    std::srand(seed);
    tally sum;
    for (unsigned n = 0; n < programs && sum.bad < 5; ++n) compare(random_program(), sum);
    std::printf("%u random programs (seed %u): %u compared, %u wait for ever, %u too large; %u complaints\n", programs,
                seed, sum.compared, sum.endless, sum.large, sum.bad);
    return sum.bad == 0 && sum.compared > programs / 2 ? 0 : 1;
}
