// Waiting loops lose nothing: random programs of loops around locks, once as they are, so that their rounds are recognised, and
// once with loops that count their rounds and give up. What the latter see where nobody gives up, the former must see, and
// nothing else. Those that count are run with a larger count, too: once with rounds that are cut as early as any may be, once
// without; they must end and see the same, those that give up as well.
//
// Usage: as_it_is_waits_test [--programs N] [--seed S]
#include "waits.hpp"

#include <cstdio>
#include <cstdlib>
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
    return {buffer.data(), text.copy(buffer.data(), buffer.size())};
}
const as_it_is::scenario scenario{"waits", waits::run,
                                  [] {
                                      for (auto& t : seen) t.clear();
                                  },
                                  outcome_text};

const char* name_of(waits::op what) {
    constexpr const char* names[waits::ops] = {"try_until_locked", "poll",     "set",  "lock_both",
                                               "spin_on_a_bit",    "try_once", "lock", "count",
                                               "keep",             "look",     "keep_and_look", "rise", "tell"};
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
            p.code[t][k] = {below(4) == 0 ? waits::op::tell : static_cast<waits::op>(below(waits::ops)),
                            static_cast<std::uint8_t>(below(2))};
    }
    return p;
}

bool asks(waits::op what) {
    return what == waits::op::poll || what == waits::op::keep || what == waits::op::look ||
           what == waits::op::keep_and_look || what == waits::op::rise;
}
// Whether it ends the wait of a loop that asks.
bool answers(const waits::action& a, const waits::action& asked) {
    if (asked.what == waits::op::poll) return a.what == waits::op::set && a.mutex == asked.mutex;
    return a.what == waits::op::tell && (a.mutex == asked.mutex || asked.what == waits::op::keep_and_look);
}

// Whether a loop may have no answer: nobody gives it, but after another loop that asks.
bool may_wait_for_ever(const waits::program& p) {
    const auto is_answered = [&](unsigned by, unsigned before) {
        for (unsigned t = 0; t < p.threads; ++t)
            for (unsigned k = 0; k < (t == by ? before : p.length[t]); ++k) {
                if (answers(p.code[t][k], p.code[by][before])) return true;
                if (t != by && asks(p.code[t][k].what)) break;
            }
        return false;
    };
    for (unsigned t = 0; t < p.threads; ++t)
        for (unsigned k = 0; k < p.length[t]; ++k)
            if (asks(p.code[t][k].what) && !is_answered(t, k)) return true;
    return false;
}

struct tally {
    unsigned compared = 0, endless = 0, large = 0, cut = 0, bad = 0;
};

std::set<std::string> outcomes_of(const verdict& v) {
    std::set<std::string> all;
    for (const auto& o : v.outcomes) all.insert(std::string(o.first));
    return all;
}

void say_difference(const std::set<std::string>& wanted, const std::set<std::string>& seen_now) {
    for (const std::string& o : wanted)
        if (!seen_now.contains(o)) std::printf("  lost: %s\n", o.c_str());
    for (const std::string& o : seen_now)
        if (!wanted.contains(o)) std::printf("  more: %s\n", o.c_str());
}

// Rounds of loops that count, cut and not.
void compare_cut(const waits::program& p, tally& sum) {
    search_options options;
    options.max_executions = 20'000;
    now = p;
    now.rounds = 6;
    options.bounds.rounds = 1000;
    const verdict whole = as_it_is::run(scenario, options);
    if (whole.result == outcome::pass && whole.mode != "exhaustive") return;
    options.bounds.rounds = 2;
    const verdict cut = as_it_is::run(scenario, options);
    if (cut.bound.find("is cut after 2 rounds") == std::string::npos) {
        if (cut.result == whole.result && cut.graphs == whole.graphs) return;
    } else {
        ++sum.cut;
    }
    if (cut.result == whole.result && outcomes_of(cut) == outcomes_of(whole) && cut.graphs <= whole.graphs) return;
    ++sum.bad;
    std::printf("%s: %zu outcomes with rounds that are cut (%s), %zu without (%s)\n", text_of(p).c_str(),
                cut.outcomes.size(), cut.reason.c_str(), whole.outcomes.size(), whole.reason.c_str());
    say_difference(outcomes_of(whole), outcomes_of(cut));
}

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
    const std::set<std::string> of_loops = outcomes_of(waits_for_ever);
    std::set<std::string> of_counts;
    bool gives_up = false;
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
    say_difference(of_counts, of_loops);
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
    for (unsigned n = 0; n < programs && sum.bad < 5; ++n) {
        const waits::program p = random_program();
        compare(p, sum);
        compare_cut(p, sum);
    }
    std::printf("%u random programs (seed %u): %u compared, %u wait for ever, %u too large, %u with rounds cut; %u complaints\n",
                programs, seed, sum.compared, sum.endless, sum.large, sum.cut, sum.bad);
    return sum.bad == 0 && sum.compared > programs / 4 && sum.cut > programs / 4 ? 0 : 1;
}
