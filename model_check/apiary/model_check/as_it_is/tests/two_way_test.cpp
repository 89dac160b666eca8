// One program, two ways: over Sync, and over std::atomic behind the compiler's instrumentation, there by eight bytes and by
// sixteen. The explorer must find the same number of graphs and the same outcomes, and so must brute force (the oracle).
//
// Usage: as_it_is_two_way_test [--programs N] [--seed S]
#include "two_way.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "../../../../litmus/explorer_programs.hpp"

#include <apiary/model_check/as_it_is/runtime.hpp>
#include <apiary/model_check/explorer/tests/interpreter.hpp>
#include <apiary/model_check/explorer/tests/random_programs.hpp>

namespace {

using namespace apiary::model;
namespace oracle = explorer::oracle;

two_way::program now;
std::vector<std::uint64_t> seen[5];

bool translate(const oracle::program& p) {
    std::memset(&now, 0, sizeof now);
    if (p.threads.size() > two_way::program::most_threads || p.finals.size() > two_way::program::most_finals)
        return false;
    for (const auto& t : p.threads) {
        if (t.size() > two_way::program::most_instructions) return false;
        for (const oracle::instruction& i : t)
            now.code[now.threads][now.length[now.threads]++] = {static_cast<two_way::op>(i.what),
                                                                static_cast<std::uint8_t>(i.location),
                                                                static_cast<std::uint8_t>(i.order),
                                                                static_cast<std::uint8_t>(i.failure_order),
                                                                i.value,
                                                                i.expected};
        ++now.threads;
    }
    for (const unsigned f : p.finals) now.final_locations[now.finals++] = f;
    return true;
}

std::string_view outcome_text_of_all(std::array<char, 128>& buffer) {
    std::string text;
    for (const auto& t : seen)
        for (const std::uint64_t v : t) {
            if (!text.empty()) text += ' ';
            text += std::to_string(v);
        }
    std::memcpy(buffer.data(), text.data(), std::min(text.size(), buffer.size()));
    return {buffer.data(), text.size()};
}

void forget_all() {
    for (auto& t : seen) t.clear();
}
const as_it_is::scenario plain{"two_way", two_way::run, forget_all, outcome_text_of_all},
    wide{"two_way_wide", two_way::run_wide, forget_all, outcome_text_of_all};

bool same(const as_it_is::scenario& scenario, const std::string& name, const oracle::program& p) {
    if (!translate(p)) {
        std::printf("%s: too large for the test\n", name.c_str());
        return false;
    }
    oracle::current = p;
    const verdict over_sync = run_explorer<oracle::interpreted>({});
    const verdict as_is = as_it_is::run(scenario, {});
    const oracle::answer brute = oracle::enumerate(p);
    if (as_is.result == outcome::pass && as_is.graphs == over_sync.graphs && as_is.graphs == brute.graphs &&
        as_is.blocked == 0 && as_is.outcomes == over_sync.outcomes && as_is.outcomes == brute.outcomes)
        return true;
    std::printf(
        "%s %s: as it is %llu graphs, %zu outcomes (%llu blocked; %s), over Sync %llu, %zu, brute force %llu, %zu\n%s",
        scenario.name, name.c_str(), static_cast<unsigned long long>(as_is.graphs), as_is.outcomes.size(),
        static_cast<unsigned long long>(as_is.blocked), as_is.reason.c_str(),
        static_cast<unsigned long long>(over_sync.graphs), over_sync.outcomes.size(),
        static_cast<unsigned long long>(brute.graphs), brute.outcomes.size(), oracle::print(p).c_str());
    return false;
}

}  // namespace

namespace two_way {
const program* current() { return &now; }
void saw(unsigned thread, std::uint64_t value) {
    const as_it_is::outside_program quiet;
    seen[thread].push_back(value);
}
}  // namespace two_way

int main(int argc, char** argv) {
    std::uint64_t programs = 300, seed = 1;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (std::strcmp(argv[i], "--programs") == 0) programs = std::strtoull(argv[i + 1], nullptr, 10);
        if (std::strcmp(argv[i], "--seed") == 0) seed = std::strtoull(argv[i + 1], nullptr, 10);
    }
    unsigned bad = 0;
    for (const litmus_line& line : litmus_lines)
        for (const as_it_is::scenario* s : {&plain, &wide})
            if (!same(*s, std::string(line.name), oracle::parse(line.code))) ++bad;
    oracle::generator random(seed);
    for (std::uint64_t n = 0; n < programs && bad < 5; ++n)
        if (!same(n % 2 == 0 ? plain : wide, "program " + std::to_string(n), random.next())) ++bad;
    std::printf(
        "%zu litmus programs, each by eight bytes and by sixteen, %llu random ones (seed %llu), %u complaints\n",
        litmus_lines.size(), static_cast<unsigned long long>(programs), static_cast<unsigned long long>(seed), bad);
    return bad == 0 ? 0 : 1;
}
