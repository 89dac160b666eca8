// litmus_test: the hunt's memory model against the sets of the explorer's oracle.
//
// Each program of litmus/explorer_table.inc, and random ones, is run by itself: random steps, and a random choice among
// what weak_memory allows. Whatever is shown must be in the set; a program stops at its complete set. What is not shown
// within the runs must be in `unshown` below, by name, and what is there must not be shown.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <apiary/model_check/explorer/tests/oracle.hpp>
#include <apiary/model_check/explorer/tests/random_programs.hpp>

#include "../../litmus/explorer_programs.hpp"
#include "../runtime/weak_memory.hpp"

namespace {

using namespace apiary;
using namespace apiary::hunt;
namespace oracle = apiary::model::explorer::oracle;
using oracle::op;

// Allowed by RC11, and never shown: psc goes against the order of execution in all executions with these outcomes.
struct missing {
    std::string_view name, outcomes;
};
constexpr missing unshown[] = {
#include "unshown.inc"
};

std::uint64_t state = 1;
std::size_t below(std::size_t n) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return static_cast<std::size_t>((state >> 11) % n);
}

class execution {
public:
    explicit execution(const oracle::program& p) : program_(p), next_(p.threads.size()), seen_(p.threads.size()) {
        for (location& l : locations_) l.order.emplace_back();
        views_.resize(p.threads.size() + 1);
        for (unsigned t = 0; t < views_.size(); ++t) {
            views_[t].id = t;
            views_[t].happened.set(t, 1);
        }
    }

    std::string outcome() {
        for (;;) {
            std::vector<unsigned> ready;
            for (unsigned t = 0; t < next_.size(); ++t)
                if (next_[t] < program_.threads[t].size()) ready.push_back(t);
            if (ready.empty()) break;
            const unsigned t = ready[below(ready.size())];
            step(t, program_.threads[t][next_[t]++]);
        }
        std::string text;
        const auto add = [&](std::uint64_t value) { text += (text.empty() ? "" : " ") + std::to_string(value); };
        for (const auto& thread : seen_)
            for (const std::uint64_t value : thread) add(value);
        for (const unsigned l : program_.finals) add(static_cast<std::uint64_t>(locations_[l].order.back().value));
        return text;
    }

private:
    void step(unsigned t, const oracle::instruction& i) {
        view& v = views_[t];
        location& l = locations_[i.location];
        switch (i.what) {
            case op::load: {
                const std::size_t from = memory_.oldest(v, l, i.order);
                saw(t, memory_.read(v, l, from + below(l.order.size() - from), i.order));
                break;
            }
            case op::store: {
                std::vector<std::size_t> places;
                for (std::size_t at = memory_.first_place(v, l, i.order); at <= l.order.size(); ++at)
                    if (!weak_memory::is_tied(l, at)) places.push_back(at);
                memory_.write(v, l, places[below(places.size())], i.value, i.order);
                break;
            }
            case op::fetch_add: {
                std::vector<std::size_t> from;
                for (std::size_t at = memory_.oldest(v, l, i.order); at < l.order.size(); ++at)
                    if (!weak_memory::is_tied(l, at + 1)) from.push_back(at);
                const std::size_t which = from[below(from.size())];
                saw(t, memory_.change(v, l, which, l.order[which].value + i.value, i.order));
                break;
            }
            case op::cas: {
                std::vector<std::size_t> from;
                const std::size_t success = memory_.oldest(v, l, i.order),
                                  failure = memory_.oldest(v, l, i.failure_order);
                for (std::size_t at = std::min(success, failure); at < l.order.size(); ++at)
                    if (l.order[at].value == i.expected ? at >= success && !weak_memory::is_tied(l, at + 1)
                                                        : at >= failure)
                        from.push_back(at);
                const std::size_t which = from[below(from.size())];
                saw(t, l.order[which].value == i.expected ? memory_.change(v, l, which, i.value, i.order)
                                                          : memory_.read(v, l, which, i.failure_order));
                break;
            }
            case op::fence:
                if (i.order == model::explorer::heavy_order)
                    memory_.heavy_fence(std::span(views_));
                else if (i.order != model::explorer::light_order)
                    memory_.fence(v, i.order);
                break;
        }
    }
    void saw(unsigned t, wide_value value) { seen_[t].push_back(static_cast<std::uint64_t>(value)); }

    const oracle::program& program_;
    weak_memory memory_;
    location locations_[3];
    std::vector<view> views_;
    std::vector<std::size_t> next_;
    std::vector<std::vector<std::uint64_t>> seen_;
};

struct answer {
    std::set<std::string> wrong, absent;
    std::uint64_t runs = 0;
};
answer search(const oracle::program& p, const std::set<std::string>& allowed, std::uint64_t most) {
    answer a;
    std::set<std::string> shown;
    while (a.runs < most && shown.size() < allowed.size()) {
        ++a.runs;
        std::string text = execution(p).outcome();
        (allowed.contains(text) ? shown : a.wrong).insert(std::move(text));
    }
    std::set_difference(allowed.begin(), allowed.end(), shown.begin(), shown.end(),
                        std::inserter(a.absent, a.absent.begin()));
    return a;
}

std::string joined(const std::set<std::string>& all) {
    std::string text;
    for (const std::string& one : all) text += (text.empty() ? "" : "|") + one;
    return text;
}

int failures = 0;
void expect(bool holds, const std::string& name, const char* what, const std::string& outcomes) {
    if (holds) return;
    ++failures;
    std::printf("%s: %s: %s\n", name.c_str(), what, outcomes.c_str());
}

}  // namespace

int main(int argc, char** argv) {
    const std::uint64_t most = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 20'000;
    const unsigned random = argc > 2 ? static_cast<unsigned>(std::strtoul(argv[2], nullptr, 10)) : 300;
    std::map<std::string, std::string> known;
    for (const missing& m : unshown) known.emplace(m.name, m.outcomes);

    std::uint64_t longest = 0, programs = 0;
    for (const model::litmus_line& line : model::litmus_lines) {
        const oracle::program p = oracle::parse(line.code);
        const auto sets = model::outcomes_of(line);
        const answer a = search(p, {sets.begin(), sets.end()}, most);
        const std::string name(line.name);
        expect(a.wrong.empty(), name, "shown, and RC11 forbids it", joined(a.wrong));
        expect(joined(a.absent) == known[name], name, "differs from unshown.inc: not shown", joined(a.absent));
        if (a.absent.empty()) longest = std::max(longest, a.runs);
        ++programs;
    }
    // Among random programs the unshown are counted, not named.
    oracle::generator draw(48);
    std::uint64_t complete = 0, absent = 0, outcomes = 0;
    for (unsigned i = 0; i < random; ++i) {
        const oracle::program p = draw.next();
        std::set<std::string> allowed;
        for (const auto& [text, graphs] : oracle::enumerate(p).outcomes) allowed.insert(text);
        const answer a = search(p, allowed, most);
        expect(a.wrong.empty(), oracle::print(p), "shown, and RC11 forbids it", joined(a.wrong));
        if (argc > 3 && !a.absent.empty())
            std::printf("%s: not shown: %s\n", oracle::print(p).c_str(), joined(a.absent).c_str());
        complete += a.absent.empty() ? 1u : 0u;
        absent += a.absent.size();
        outcomes += allowed.size();
    }
    std::printf(
        "%llu programs of the table, complete within %llu runs; of %u random "
        "ones %llu complete, %llu of %llu outcomes not shown within %llu runs\n",
        static_cast<unsigned long long>(programs), static_cast<unsigned long long>(longest), random,
        static_cast<unsigned long long>(complete), static_cast<unsigned long long>(absent),
        static_cast<unsigned long long>(outcomes), static_cast<unsigned long long>(most));
    return failures == 0 ? 0 : 1;
}
