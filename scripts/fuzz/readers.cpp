// readers: what people and programs hand to the C++ of this tree, read under libFuzzer: readers TARGET [OPTIONS] [CORPUS…].
//
// A reader takes bytes, and may refuse them in its own way. Whatever else it throws, a sanitizer's report, a hang, and an answer
// that contradicts itself are findings. `readers TARGET FILE` tries one input again.
//
// g++ has no fuzzer, but it tells each edge and each comparison (-fsanitize-coverage=trace-pc,trace-cmp). libFuzzer hears
// comparisons by itself; edges are counted here, and told as counters, which it hears, too.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <string_view>

#include <apiary/bench/plan.hpp>
#include <apiary/model_check/explorer/tests/exhibits.hpp>
#include <apiary/model_check/verdict_wire.hpp>
#include <apiary/virtual/prices.hpp>
#include <graphs/graph_plan.hpp>

namespace {

void must(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "NOT SO: %s\n", what);
    std::abort();
}

// An open-loop plan (a subject's --plan).
void plan(std::string_view text) {
    std::istringstream in{std::string(text)};
    try {
        const auto times = apiary::bench::read_plan(in, "plan");
        must(!times.empty() && times.front() >= 0 && std::is_sorted(times.begin(), times.end()), "what is read ascends");
    } catch (const apiary::bench::bad_plan&) {
    }
}

// A task graph as text. A graph that was read is written, and reads again as the same graph.
void graph(std::string_view text) {
    std::istringstream in{std::string(text)};
    try {
        const apiary::graph_plan read = apiary::read_plan(in);
        std::ostringstream first, second, drawn;
        apiary::write_plan(first, read);
        std::istringstream again(first.str());
        apiary::write_plan(second, apiary::read_plan(again));
        must(first.str() == second.str(), "what is written is read as it was");
        apiary::write_graphviz(drawn, read);
        must(apiary::ways_to_the_end(read).size() == read.size(), "each task has a way to the end");
    } catch (const std::invalid_argument&) {
    }
}

// A profile of the virtual machine (virtual --profile), and one price of it (--price).
void profile(std::string_view text) {
    try {
        (void)apiary::virt::parse_profile(text, "profile");
    } catch (const apiary::virt::profile_error&) {
    }
    try {
        apiary::virt::prices prices;
        apiary::virt::change_price(prices, text.substr(0, text.find('\n')));
    } catch (const apiary::virt::profile_error&) {
    }
}

// The verdict that a check's process sends to the one that judges it; its code may have written over it.
void verdict(std::string_view bytes) {
    const auto read = apiary::model::from_wire(bytes);
    if (!read) return;
    const std::string once = apiary::model::to_wire(*read);
    const auto again = apiary::model::from_wire(once);
    must(again.has_value() && apiary::model::to_wire(*again) == once, "a verdict that is sent on is the same");
}

using small = apiary::model::explorer::lost_wake<apiary::model::explorer_sync>;

// The token of a failure (prove --replay).
void token(std::string_view text) {
    apiary::model::search_options options;
    options.replay = "x1:" + std::string(text);
    (void)apiary::model::run_explorer<small>(options);
}

// Parts of a search, as a night's units name them (--from).
void parts(std::string_view text) {
    apiary::model::search_options options;
    std::istringstream lines{std::string(text)};
    for (std::string line; std::getline(lines, line);)
        if (!line.empty()) options.from.push_back(line);
    if (options.from.empty()) return;
    options.max_executions = 20;
    const auto found = apiary::model::run_explorer<small>(options);
    must(found.executions <= options.max_executions, "its budget holds");
}

struct target {
    std::string_view name;
    void (*read)(std::string_view);
};
constexpr std::array targets{target{"plan", plan},       target{"graph", graph}, target{"profile", profile},
                             target{"verdict", verdict}, target{"token", token}, target{"parts", parts}};
const target* chosen = nullptr;

// A place in it for each edge, by where its code lies: two may share one. No class, whose code would have edges itself.
constexpr std::size_t places = 1 << 15;
std::uint8_t edges[places];

}  // namespace

extern "C" {

void __sanitizer_cov_8bit_counters_init(std::uint8_t* begin, std::uint8_t* end);

// Before libFuzzer's own, which refuses it, by the order of the link.
__attribute__((no_sanitize_coverage, no_sanitize("address", "undefined"))) void __sanitizer_cov_trace_pc() {
    const auto at = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
    ++edges[(at ^ at >> 15) % places];
}

// Comparisons of floating point, of which only g++ tells.
void __sanitizer_cov_trace_cmpf(float, float) {}
void __sanitizer_cov_trace_cmpd(double, double) {}

// The explorer replaces operator new, and not its form without exceptions.
const char* __asan_default_options() { return "alloc_dealloc_mismatch=0"; }

int LLVMFuzzerInitialize(int* count, char*** words) {
    const std::string_view name = *count > 1 ? (*words)[1] : "";
    for (const target& one : targets)
        if (one.name == name) chosen = &one;
    if (chosen == nullptr) {
        std::fprintf(stderr, "readers TARGET [OPTIONS] [CORPUS...]; the targets:");
        for (const target& one : targets) std::fprintf(stderr, " %s", one.name.data());
        std::fprintf(stderr, "\n");
        std::exit(2);
    }
    std::copy(*words + 2, *words + *count + 1, *words + 1);
    --*count;
    __sanitizer_cov_8bit_counters_init(edges, edges + places);
    return 0;
}

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    chosen->read({reinterpret_cast<const char*>(bytes), size});
    return 0;
}
}
