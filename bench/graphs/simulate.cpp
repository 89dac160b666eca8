// What a graph would do on other workers: task_graph itself in virtual time, as a program.
//
//     task_graph_simulate GRAPH --profile FILE [--workers 64,64] [--policy fifo|min_clock|critical_path|locality] [--window N]
//                         [--costs fixed|uniform|exponential] [--seed N] [--submit NS] [--task NS] [--transfer NS]
//                         [--trace FILE] [--picture FILE.svg] [--dot FILE] [--text FILE]
//
// GRAPH is a file (graph_plan.hpp has the form), or one of cholesky:TILES, lu:TILES, wavefront:SIDE, chain:TASKS, tree:DEPTH, and
// stencil, nearest, spread, random_nearest, fft, layered with :WIDTH, with tasks of 10 us; the updates of cholesky and lu are of
// type 1 when there are two types. The submitter helps nobody. bench/virtual/profiles has profiles.
#include <graphs/virtual_graph.hpp>

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include <graphs/drawn_costs.hpp>
#include <graphs/graph_generators.hpp>

namespace {

constexpr std::int64_t cost_ns = 10'000;
constexpr std::uint64_t most_depth = 40;  // of a tree: 2^41 tasks

template <class T = std::uint64_t>
T number(const std::string& what, const std::string& word, T most = std::numeric_limits<T>::max()) {
    T value{};
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size() || value < 0 || value > most)
        throw std::invalid_argument(what + " is '" + word + "'; it must be a number, at most " + std::to_string(most));
    return value;
}

apiary::graph_plan load(const std::string& name, std::size_t types) {
    const std::size_t colon = name.find(':');
    const std::string shape = name.substr(0, colon);
    if (colon != std::string::npos) {
        const std::uint64_t n = number(shape, name.substr(colon + 1), shape == "tree" ? most_depth : UINT64_MAX);
        if (shape == "lu") return apiary::lu_plan(n, cost_ns, types > 1 ? 1 : 0);
        if (shape == "nearest") return apiary::nearest_plan(n, 100, cost_ns);
        if (shape == "spread") return apiary::spread_plan(n, 100, cost_ns);
        if (shape == "random_nearest") return apiary::random_nearest_plan(1, n, 100, cost_ns);
        if (shape == "cholesky") return apiary::cholesky_plan(n, cost_ns, types > 1 ? 1 : 0);
        if (shape == "wavefront") return apiary::wavefront_plan(n, n, cost_ns);
        if (shape == "stencil") return apiary::stencil_plan(n, 100, cost_ns);
        if (shape == "fft") return apiary::fft_plan(n, 100, cost_ns);
        if (shape == "tree") return apiary::tree_plan(static_cast<unsigned>(n), cost_ns);
        if (shape == "layered") return apiary::layered_plan(1, n, 100, cost_ns);
        if (shape == "chain") return apiary::chain_plan(n, cost_ns);
        throw std::invalid_argument("no shape '" + shape +
                                    "'; there are cholesky, lu, wavefront, stencil, nearest, spread, random_nearest, "
                                    "fft, tree, layered, chain");
    }
    std::ifstream in(name);
    if (!in) throw std::invalid_argument("cannot read '" + name + "'");
    return apiary::read_plan(in);
}

template <class T>
T word_of(const std::string& what, const std::string& word, const std::map<std::string, T>& words) {
    const auto found = words.find(word);
    if (found != words.end()) return found->second;
    std::string all;
    for (const auto& [name, value] : words) all += ' ' + name;
    throw std::invalid_argument("no " + what + " '" + word + "'; there are" + all);
}

void simulate(const std::vector<std::string>& words) {
    if (words.empty()) throw std::invalid_argument("which graph? the head of simulate.cpp has the options");
    apiary::virtual_graph_config config{.graph = {.submitter_helps = false}};
    auto costs = apiary::cost_model::fixed;
    std::uint64_t seed = 1;
    bool priced = false;
    std::map<std::string, std::string> files;
    for (std::size_t i = 1; i < words.size(); i += 2) {
        const std::string &option = words[i], value = i + 1 < words.size() ? words[i + 1] : "";
        if (option == "--workers") {
            config.graph.workers.clear();
            std::istringstream each(value);
            for (std::string n; std::getline(each, n, ',');)
                config.graph.workers.push_back(number<unsigned>(option, n));
        } else if (option == "--policy") {
            config.graph.policy = apiary::policy_of(value);
        } else if (option == "--costs") {
            costs = word_of<apiary::cost_model>("cost model", value,
                                                       {{"fixed", apiary::cost_model::fixed},
                                                        {"uniform", apiary::cost_model::uniform},
                                                        {"exponential", apiary::cost_model::exponential}});
        } else if (option == "--window") {
            config.graph.window = number(option, value);
        } else if (option == "--seed") {
            seed = number(option, value);
        } else if (option == "--submit") {
            config.submit_ns = number<std::int64_t>(option, value);
        } else if (option == "--profile") {
            config.priced = apiary::virt::read_profile(value);
            priced = true;
        } else if (option == "--task") {
            config.task_ns = number<std::int64_t>(option, value);
        } else if (option == "--transfer") {
            config.transfer_ns_per_kb = number<std::int64_t>(option, value);
        } else if (option == "--trace" || option == "--picture" || option == "--dot" || option == "--text") {
            files[option] = value;
        } else {
            throw std::invalid_argument("no option '" + option + "'");
        }
    }
    if (!priced) throw std::invalid_argument("no --profile; bench/virtual/profiles has some");
    const apiary::graph_plan plan =
        apiary::with_drawn_costs(load(words[0], config.graph.workers.size()), costs, seed);
    const apiary::virtual_graph_report r = apiary::run_in_virtual_time(plan, config);
    for (const auto& [option, name] : files) {
        std::ofstream out(name);
        if (option == "--trace") apiary::write_trace(out, plan, r.trace);
        if (option == "--picture") {
            const apiary::titled_trace picture{words[0], &plan, &r.trace};
            apiary::write_picture(out, {&picture, 1});
        }
        if (option == "--dot") apiary::write_graphviz(out, plan);
        if (option == "--text") apiary::write_plan(out, plan);
        if (!out.flush()) throw std::invalid_argument("cannot write '" + name + "'");
    }
    const auto ms = [](std::int64_t ns) { return static_cast<double>(ns) / 1e6; };
    std::printf("%zu tasks, %zu ran; all were submitted at %.3f ms\n", plan.size(), r.trace.size(), ms(r.submitted_ns));
    std::printf("makespan %.3f ms, critical path %.3f ms, work %.3f ms; %llu lines moved, %llu sleeps\n", ms(r.makespan_ns),
                ms(r.critical_path_ns), ms(r.work_ns), static_cast<unsigned long long>(r.counts.moves),
                static_cast<unsigned long long>(r.counts.sleeps));
    for (std::size_t t = 0; t != r.types.size(); ++t)
        std::printf("type %zu: %u workers, %zu tasks, used %.1f %%; received %llu bytes\n", t, r.types[t].workers,
                    r.types[t].ran, 100 * r.types[t].utilisation,
                    static_cast<unsigned long long>(r.types[t].received_bytes));
}

}  // namespace

int main(int argc, char** argv) {
    try {
        simulate(std::vector<std::string>(argv + 1, argv + argc));
    } catch (const std::exception& e) {
        std::fprintf(stderr, "task_graph_simulate: %s\n", e.what());
        return 2;
    }
    return 0;
}
