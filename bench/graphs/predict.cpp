// Virtual time against reality: five graphs on two real workers, and what the virtual machine says of them.
//
//     task_graph_predict --profile FILE [--rounds N] [--cost NS] [--policy fifo|min_clock|critical_path|locality]
//                        [--picture FILE.svg]
//
// Every third round gives the costs: of each task the median of what it took, and of a submit and a hand-over. What these take
// more than on the virtual machine by that profile is plain instructions, which cost nothing there; so much is added to each submit
// and task. The prediction has these and nothing else. The other rounds are what it is held against: the median of their makespans; and those of one half
// against those of the other, round by round, say how much of a difference this machine could show (A/A half-width: 95 %,
// bootstrap of the trimmed mean of the logarithms). A kernel is a loop of so many iterations, not of so much time; the shortest
// takes --cost (10 us), a gemm of Cholesky six times that.
//
// --picture: Cholesky as it ran, and as 64 workers would run it. As a test it has few rounds, and asks for sound schedules alone.
#include <apiary/schedulers/task_graph/task_graph.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <graphs/graph_generators.hpp>
#include <graphs/graph_trace.hpp>
#include <graphs/virtual_graph.hpp>

namespace {

using apiary::graph_plan;
using apiary::graph_trace;
using apiary::ready_policy;

struct options {
    std::size_t rounds = 60;
    std::int64_t cost_ns = 10'000;
    ready_policy policy = ready_policy::locality;
    std::string picture;
    apiary::virt::prices priced;
};

struct subject {
    const char* name;
    graph_plan plan;
    std::vector<graph_trace> for_costs{};
    std::vector<double> submit_ns{}, first_half{}, second_half{};
};

void spin(std::uint64_t iterations) {
    std::uint64_t x = iterations;
    for (std::uint64_t i = 0; i != iterations; ++i) {
        x = x * 0x9E3779B97F4A7C15U + 1;
        asm volatile("" : "+r"(x));
    }
}

template <class T>
T median(std::vector<T> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

// The least of several: what interrupts only adds.
double iterations_per_ns() {
    constexpr std::uint64_t n = 200'000;
    double best = 0;
    for (int i = 0; i != 20; ++i) {
        const std::int64_t from = apiary::real_sync::now_ns();
        spin(n);
        best = std::max(best, static_cast<double>(n) / static_cast<double>(apiary::real_sync::now_ns() - from));
    }
    return best;
}

// From the end of a task to the begin of its consumer on the same worker.
const graph_plan& hand_overs() {
    static const graph_plan chain = apiary::chain_plan(2000, 0);
    return chain;
}
std::int64_t hand_over_ns(const graph_trace& trace) {
    std::vector<std::int64_t> gaps;
    for (std::size_t i = 1; i != trace.size(); ++i)
        if (trace[i].worker == trace[i - 1].worker) gaps.push_back(trace[i].begin_ns - trace[i - 1].end_ns);
    return gaps.empty() ? 0 : median(gaps);
}

// Half of the interval of the ratio between two series, round by round.
double half_width(const std::vector<double>& a, const std::vector<double>& b) {
    std::vector<double> d;
    for (std::size_t i = 0; i != std::min(a.size(), b.size()); ++i) d.push_back(std::log(a[i] / b[i]));
    if (d.empty()) return 0;
    const auto trimmed = [](std::vector<double> v) {
        std::sort(v.begin(), v.end());
        const std::size_t cut = v.size() / 5;
        double sum = 0;
        for (std::size_t i = cut; i != v.size() - cut; ++i) sum += v[i];
        return sum / static_cast<double>(v.size() - 2 * cut);
    };
    std::mt19937 random(1);
    std::vector<double> means;
    for (int i = 0; i != 2000; ++i) {
        std::vector<double> drawn;
        for (std::size_t k = 0; k != d.size(); ++k) drawn.push_back(d[random() % d.size()]);
        means.push_back(trimmed(drawn));
    }
    std::sort(means.begin(), means.end());
    return (means[1949] - means[49]) / 2;
}

struct plain_work {
    std::int64_t submit_ns = 0, task_ns = 0;
};
apiary::virtual_graph_report predict(const graph_plan& plan, std::vector<unsigned> workers, ready_policy policy,
                                     const apiary::virt::prices& priced, plain_work plain = {}) {
    return apiary::run_in_virtual_time(
        plan, {.graph = {.workers = std::move(workers), .submitter_helps = false, .policy = policy},
               .priced = priced,
               .submit_ns = plain.submit_ns,
               .task_ns = plain.task_ns});
}
double submit_ns_of(const apiary::plan_run& run, const graph_plan& plan) {
    return static_cast<double>(run.submitted_ns) / static_cast<double>(plan.size());
}

void draw(const subject& s, const graph_plan& measured, const options& o) {
    const auto wide = predict(measured, {64}, ready_policy::critical_path, o.priced);
    const std::string tasks = "Cholesky, " + std::to_string(s.plan.size()) + " tasks, ";
    const std::array<apiary::titled_trace, 2> runs{{
        {tasks + "2 real workers", &s.plan, &s.for_costs.back()},
        {tasks + "64 virtual workers, with the costs of the former", &s.plan, &wide.trace},
    }};
    std::ofstream out(o.picture);
    apiary::write_picture(out, runs);
    if (!out.flush()) throw std::invalid_argument("cannot write '" + o.picture + "'");
}

options read(int argc, char** argv) {
    options o;
    bool priced = false;
    for (int i = 1; i < argc; i += 2) {
        const std::string option = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
        if (option == "--rounds")
            o.rounds = std::max(3UL, std::strtoul(value.c_str(), nullptr, 10));
        else if (option == "--cost")
            o.cost_ns = static_cast<std::int64_t>(std::strtoul(value.c_str(), nullptr, 10));
        else if (option == "--policy")
            o.policy = apiary::policy_of(value);
        else if (option == "--picture")
            o.picture = value;
        else if (option == "--profile")
            o.priced = apiary::virt::read_profile(value), priced = true;
        else
            throw std::invalid_argument("no option '" + option +
                                        "'; there are --profile, --rounds, --cost, --policy, --picture");
    }
    if (!priced) throw std::invalid_argument("no --profile; bench/virtual/profiles has some");
    return o;
}

bool run(const options& o) {
    const double rate = iterations_per_ns();
    std::vector<subject> all{{"Cholesky, 12 tiles", apiary::cholesky_plan(12, 6 * o.cost_ns)},
                             {"stencil, 8 wide", apiary::stencil_plan(8, 50, o.cost_ns)},
                             {"fft, 8 wide", apiary::fft_plan(8, 50, o.cost_ns)},
                             {"wavefront, 20 squared", apiary::wavefront_plan(20, 20, o.cost_ns)},
                             {"random layers, 8 wide", apiary::layered_plan(1, 8, 50, o.cost_ns)}};
    apiary::task_graph g({.workers = {2}, .submitter_helps = false, .policy = o.policy});
    std::vector<std::int64_t> handed_over;
    for (std::size_t round = 0; round != o.rounds; ++round) {
        if (round % 3 == 0)
            handed_over.push_back(hand_over_ns(apiary::run_plan(g, hand_overs(), [](std::size_t) {}).trace));
        for (subject& s : all) {
            const auto one = apiary::run_plan(g, s.plan, [&](std::size_t i) {
                spin(static_cast<std::uint64_t>(rate * static_cast<double>(s.plan[i].cost_ns)));
            });
            const auto took = static_cast<double>(one.makespan_ns);
            if (round % 3 == 0) {
                s.for_costs.push_back(one.trace);
                s.submit_ns.push_back(submit_ns_of(one, s.plan));
            } else {
                (round % 3 == 1 ? s.first_half : s.second_half).push_back(took);
            }
        }
    }
    const std::int64_t hand_over = median(handed_over);
    // What the machine itself says of one.
    const std::int64_t virtual_hand_over = hand_over_ns(predict(hand_overs(), {2}, o.policy, o.priced).trace);
    std::printf(
        "| graph | tasks | predicted, us | measured, us | error | A/A half-width |\n|---|---|---|---|---|---|\n");
    std::vector<double> errors, widths;
    bool sound = true;
    for (subject& s : all) {
        const graph_plan measured = apiary::with_costs_of(s.plan, s.for_costs);
        const double virtual_submit = submit_ns_of(predict(measured, {2}, o.policy, o.priced), s.plan);
        const plain_work plain{std::max<std::int64_t>(0, std::llround(median(s.submit_ns) - virtual_submit)),
                               std::max<std::int64_t>(0, hand_over - virtual_hand_over)};
        const auto told = predict(measured, {2}, o.policy, o.priced, plain);
        sound = sound && told.trace.size() == s.plan.size() && told.makespan_ns >= told.critical_path_ns &&
                2 * told.makespan_ns >= told.work_ns;
        std::vector<double> both = s.first_half;
        both.insert(both.end(), s.second_half.begin(), s.second_half.end());
        const double real = median(both), predicted = static_cast<double>(told.makespan_ns);
        errors.push_back(std::abs(predicted / real - 1));
        widths.push_back(half_width(s.first_half, s.second_half));
        std::printf("| %s | %zu | %.0f | %.0f | %+.1f %% | %.1f %% |\n", s.name, s.plan.size(), predicted / 1e3,
                    real / 1e3, 100 * (predicted / real - 1), 100 * widths.back());
        if (!o.picture.empty() && &s == &all.front()) draw(s, measured, o);
    }
    std::printf("| median | | | | %.1f %% | %.1f %% |\n", 100 * median(errors), 100 * median(widths));
    std::printf("%zu rounds, hand-over %lld ns, on the machine %lld; policy %s\n", o.rounds,
                static_cast<long long>(hand_over), static_cast<long long>(virtual_hand_over), apiary::name_of(o.policy));
    if (!sound) std::fprintf(stderr, "a predicted schedule is none\n");
    return sound && g.close().consumed != 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(read(argc, argv)) ? 0 : 1;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "task_graph_predict: %s\n", e.what());
        return 2;
    }
}
