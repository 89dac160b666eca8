// graph_trace: when which worker ran which task of a plan: of a run on real workers (run_plan) or in virtual
// time (virtual_graph.hpp). As a picture, as a file for Perfetto, and as costs for the next prediction.
//
// When to use it. To see a schedule, and to compare one with what was predicted. When not: for what the
// engine's threads do between tasks (workers/trace.hpp).
//
// Threads. run_plan: the graph's submitter. The rest: any, after it.
// Tested by graph_trace_test.cpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <ostream>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <graphs/graph_plan.hpp>

namespace apiary {

struct traced_task {
    std::uint64_t task;  // its place in the plan
    unsigned type, worker;
    std::int64_t begin_ns, end_ns;
};
using graph_trace = std::vector<traced_task>;  // by their ends, then their begins

struct plan_run {
    std::int64_t makespan_ns = 0, submitted_ns = 0;  // the last task's end; when the last one was submitted
    graph_trace trace;
};

// Submits the plan to a graph with no tasks in it, and waits. kernel(place) is what a task does. A task that threw, or was
// cancelled, is not in the trace. When a submit throws, that goes on after the end of what was submitted.
template <class Graph, class Kernel>
plan_run run_plan(Graph& g, const graph_plan& plan, Kernel kernel) {
    plan_run r;
    constexpr std::uint64_t has_not_ended = UINT64_MAX;
    r.trace.assign(plan.size(), {.task = has_not_ended, .type = 0, .worker = 0, .begin_ns = 0, .end_ns = 0});
    const std::int64_t from = g.now_ns();
    const auto timed = [&r, &g, &plan, kernel, from](auto& context, std::size_t i) {
        traced_task& t = r.trace[i];
        t.begin_ns = g.now_ns() - from;
        kernel(i);
        t.end_ns = g.now_ns() - from;
        t.worker = context.worker();
        t.type = plan[i].type;
        t.task = i;
    };
    try {
        submit_plan(g, plan, [&timed](auto& context, std::size_t i) { timed(context, i); });
    } catch (...) {
        g.wait();  // for those that were submitted: they write to r
        throw;
    }
    r.submitted_ns = g.now_ns() - from;
    g.wait();
    std::erase_if(r.trace, [](const traced_task& t) { return t.task == has_not_ended; });
    std::sort(r.trace.begin(), r.trace.end(), [](const traced_task& a, const traced_task& b) {
        return std::tie(a.end_ns, a.begin_ns, a.task) < std::tie(b.end_ns, b.begin_ns, b.task);
    });
    if (!r.trace.empty()) r.makespan_ns = r.trace.back().end_ns;
    return r;
}

// The plan, with the median of what each task took in the traces as its cost. A task of no trace keeps its own.
inline graph_plan with_costs_of(graph_plan plan, std::span<const graph_trace> traces) {
    std::vector<std::vector<std::int64_t>> took(plan.size());
    for (const graph_trace& trace : traces)
        for (const traced_task& t : trace) took[t.task].push_back(t.end_ns - t.begin_ns);
    for (std::size_t i = 0; i != plan.size(); ++i) {
        if (took[i].empty()) continue;
        const auto middle = took[i].begin() + static_cast<std::ptrdiff_t>(took[i].size() / 2);
        std::nth_element(took[i].begin(), middle, took[i].end());
        plan[i].cost_ns = *middle;
    }
    return plan;
}

namespace detail {
inline std::string microseconds(std::int64_t ns) {
    const std::string thousandths = std::to_string(1000 + ns % 1000);
    return std::to_string(ns / 1000) + '.' + thousandths.substr(1);
}
inline std::string escaped(std::string_view text) {
    std::string to;
    for (const char c : text) {
        if (c == '<')
            to += "&lt;";
        else if (c == '&')
            to += "&amp;";
        else if (c == '"')
            to += "&quot;";
        else
            to += c;
    }
    return to;
}
}  // namespace detail

// For chrome://tracing and Perfetto: a row for each worker.
inline void write_trace(std::ostream& out, const graph_plan& plan, const graph_trace& trace) {
    out << "[";
    const char* between = "\n";
    for (const traced_task& t : trace) {
        out << std::exchange(between, ",\n") << R"({"ph":"X","name":")";
        for (const char c : plan[t.task].name) out << (c == '"' || c == '\\' ? "\\" : "") << c;
        out << R"(","pid":)" << t.type << R"(,"tid":)" << t.worker << R"(,"ts":)" << detail::microseconds(t.begin_ns)
            << R"(,"dur":)" << detail::microseconds(t.end_ns - t.begin_ns) << '}';
    }
    out << "\n]\n";
}

// Part of an SVG picture, from `top` on: a row for each worker that ran anything, time from left to right; one colour for each
// kind of task, which is its name up to the first '_'. Returns its lower edge.
inline unsigned draw_trace(std::ostream& out, const graph_plan& plan, const graph_trace& trace, std::string_view title,
                           unsigned top) {
    constexpr unsigned left = 80, across = 1100, heading = 24;
    static constexpr const char* colours[] = {"#d1495b", "#edae49", "#66a182", "#2e4057",
                                              "#8d96a3", "#00798c", "#b07aa1", "#9c755f"};
    std::map<std::pair<unsigned, unsigned>, unsigned> row;
    std::map<std::string, std::size_t> kinds;
    std::int64_t end = 1;
    for (const traced_task& t : trace) {
        row.try_emplace({t.type, t.worker}, 0);
        kinds.try_emplace(plan[t.task].name.substr(0, plan[t.task].name.find('_')), 0);
        end = std::max(end, t.end_ns);
    }
    const unsigned high = row.size() > 16 ? 6 : 20;
    unsigned y = top + heading;
    for (auto& [worker, at] : row) at = std::exchange(y, y + high + 1);
    out << "<text x=\"" << left << "\" y=\"" << top + 16 << "\">" << detail::escaped(title) << ": "
        << detail::microseconds(end) << " us</text>\n";
    unsigned x = left + across / 2;
    for (auto& [kind, colour] : kinds) {
        colour = static_cast<std::size_t>(std::distance(kinds.begin(), kinds.find(kind))) % std::size(colours);
        out << "<rect x=\"" << x << "\" y=\"" << top + 6 << "\" width=\"10\" height=\"10\" fill=\"" << colours[colour]
            << "\"/><text x=\"" << x + 14 << "\" y=\"" << top + 16 << "\">" << detail::escaped(kind) << "</text>\n";
        x += 90;
    }
    for (const auto& [worker, at] : row)
        if (high > 10)
            out << "<text x=\"4\" y=\"" << at + 14 << "\">" << worker.first << '/' << worker.second << "</text>\n";
    const auto place = [end](std::int64_t ns) { return static_cast<double>(ns) * across / static_cast<double>(end); };
    for (const traced_task& t : trace) {
        const std::string& name = plan[t.task].name;
        out << "<rect x=\"" << left + place(t.begin_ns) << "\" y=\"" << row[{t.type, t.worker}] << "\" width=\""
            << place(t.end_ns - t.begin_ns) << "\" height=\"" << high << "\" fill=\""
            << colours[kinds[name.substr(0, name.find('_'))]] << "\"><title>" << detail::escaped(name)
            << "</title></rect>\n";
    }
    return y + 16;
}

// A picture of several runs below each other.
struct titled_trace {
    std::string title;
    const graph_plan* plan;
    const graph_trace* trace;
};
inline void write_picture(std::ostream& out, std::span<const titled_trace> runs) {
    std::ostringstream inside;
    inside.precision(6);
    unsigned y = 4;
    for (const titled_trace& r : runs) y = draw_trace(inside, *r.plan, *r.trace, r.title, y);
    out << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1200\" height=\"" << y
        << "\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
        << inside.str() << "</svg>\n";
}

}  // namespace apiary
