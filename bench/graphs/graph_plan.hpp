// graph_plan: a task graph as data: what to submit, in an order in which producers come first. As text, as
// a drawing for Graphviz, and submitted to a task_graph.
//
// When to use it. For graphs from files or generators (graph_generators.hpp), and to run them in virtual time
// (virtual_graph.hpp). When not: for a program's own graph, which it submits as it goes.
//
// The text: a line for each task, `#` begins a comment.
//
//   NAME [type N] [cost N] [bytes N] [priority N] [after NAME…]
//
// Costs are nanoseconds. Names are words; tasks may stand in any order. What is missing is 0.
//
// Threads. Each function: any, on plans that no other thread changes; submit_plan: the graph's submitter.
// Errors. read_plan throws std::invalid_argument with the line's number: an unknown word or producer, a
//         number out of range, a name given twice; or with the names of a cycle.
// Tested by graph_plan_test.cpp.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <functional>
#include <istream>
#include <limits>
#include <ostream>
#include <queue>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace apiary {

struct planned_task {
    std::string name;
    std::uint8_t type = 0;
    std::int8_t priority = 0;
    std::uint32_t bytes = 0;
    std::int64_t cost_ns = 0;
    std::vector<std::uint64_t> after{};  // places of producers in the plan, all smaller than its own
};

using graph_plan = std::vector<planned_task>;

namespace detail {

struct plan_line {
    planned_task task;
    std::vector<std::string> after;
    std::size_t number;
};

[[noreturn]] inline void plan_error(std::size_t line, const std::string& what) {
    throw std::invalid_argument("graph file, line " + std::to_string(line) + ": " + what);
}

template <class T>
T plan_number(const plan_line& l, const std::string& key, const std::string& word) {
    T value{};
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size())
        plan_error(l.number, key + " is '" + word + "'; it can be " + std::to_string(std::numeric_limits<T>::min()) +
                                 " to " + std::to_string(std::numeric_limits<T>::max()));
    return value;
}

inline plan_line read_plan_line(std::istringstream& words, std::size_t number) {
    plan_line l{{}, {}, number};
    std::string key, word;
    words >> l.task.name;
    while (words >> key) {
        if (key == "after") {
            while (words >> word) l.after.push_back(word);
            return l;
        }
        if (!(words >> word)) plan_error(number, "nothing stands behind '" + key + "'");
        if (key == "type")
            l.task.type = plan_number<std::uint8_t>(l, key, word);
        else if (key == "cost")
            l.task.cost_ns = plan_number<std::int64_t>(l, key, word);
        else if (key == "bytes")
            l.task.bytes = plan_number<std::uint32_t>(l, key, word);
        else if (key == "priority")
            l.task.priority = plan_number<std::int8_t>(l, key, word);
        else
            plan_error(number, "unknown word '" + key + "'; there are type, cost, bytes, priority and after");
        if (l.task.cost_ns < 0) plan_error(number, "cost is negative");
    }
    return l;
}

// The tasks of one cycle among those that are left.
inline std::string cycle_of(const std::vector<plan_line>& lines, const std::vector<std::vector<std::size_t>>& after,
                            const std::vector<std::size_t>& missing) {
    std::size_t at = 0;
    while (missing[at] == 0) ++at;
    std::vector<std::size_t> seen(lines.size(), 0), path;
    while (seen[at] == 0) {
        seen[at] = 1;
        path.push_back(at);
        // A task that is left has a producer that is left.
        at = *std::find_if(after[at].begin(), after[at].end(), [&](std::size_t p) { return missing[p] != 0; });
    }
    std::string names = lines[at].task.name;
    for (std::size_t i = path.size(); path[--i] != at;) names += " -> " + lines[path[i]].task.name;
    return names + " -> " + lines[at].task.name;
}

// A function of its own: in a lambda clang checks task(place) also where it is left out.
template <class Task, class Context>
void call_planned(Task& task, Context& context, std::size_t place) {
    if constexpr (std::is_invocable_v<Task&, Context&, std::size_t>)
        task(context, place);
    else
        task(place);
}

}  // namespace detail

// In an order in which producers come first, and otherwise that of the file.
inline graph_plan read_plan(std::istream& in) {
    std::vector<detail::plan_line> lines;
    std::unordered_map<std::string, std::size_t> by_name;
    std::string text;
    for (std::size_t number = 1; std::getline(in, text); ++number) {
        std::istringstream words(text.substr(0, text.find('#')));
        if (!(words >> std::ws) || words.eof()) continue;
        lines.push_back(detail::read_plan_line(words, number));
        if (!by_name.emplace(lines.back().task.name, lines.size() - 1).second)
            detail::plan_error(number, "a second task '" + lines.back().task.name + "'");
    }
    std::vector<std::vector<std::size_t>> after(lines.size()), consumers(lines.size());
    std::vector<std::size_t> missing(lines.size());
    std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
    for (std::size_t i = 0; i != lines.size(); ++i) {
        for (const std::string& name : lines[i].after) {
            const auto producer = by_name.find(name);
            if (producer == by_name.end()) detail::plan_error(lines[i].number, "unknown producer '" + name + "'");
            after[i].push_back(producer->second);
            consumers[producer->second].push_back(i);
        }
        missing[i] = after[i].size();
        if (missing[i] == 0) ready.push(i);
    }
    graph_plan plan;
    std::vector<std::uint64_t> place(lines.size());
    while (!ready.empty()) {
        const std::size_t i = ready.top();
        ready.pop();
        place[i] = plan.size();
        plan.push_back(std::move(lines[i].task));
        for (const std::size_t p : after[i]) plan.back().after.push_back(place[p]);
        for (const std::size_t c : consumers[i])
            if (--missing[c] == 0) ready.push(c);
    }
    if (plan.size() != lines.size())
        throw std::invalid_argument("graph file: a cycle: " + detail::cycle_of(lines, after, missing));
    return plan;
}

inline void write_plan(std::ostream& out, const graph_plan& plan) {
    for (const planned_task& t : plan) {
        out << t.name;
        if (t.type != 0) out << " type " << unsigned{t.type};
        if (t.cost_ns != 0) out << " cost " << t.cost_ns;
        if (t.bytes != 0) out << " bytes " << t.bytes;
        if (t.priority != 0) out << " priority " << int{t.priority};
        if (!t.after.empty()) out << " after";
        for (const std::uint64_t p : t.after) out << ' ' << plan[p].name;
        out << '\n';
    }
}

// A colour for each worker type, of eight.
inline void write_graphviz(std::ostream& out, const graph_plan& plan) {
    out << "digraph tasks {\n  node [shape=box, style=filled, colorscheme=set38]\n";
    for (std::size_t i = 0; i != plan.size(); ++i) {
        out << "  t" << i << " [label=\"";
        for (const char c : plan[i].name) out << (c == '"' || c == '\\' ? "\\" : "") << c;
        out << "\", fillcolor=" << 1 + plan[i].type % 8 << "]\n";
    }
    for (std::size_t i = 0; i != plan.size(); ++i)
        for (const std::uint64_t p : plan[i].after) out << "  t" << p << " -> t" << i << '\n';
    out << "}\n";
}

// Of each task, what it and the longest way after it cost; INT64_MAX where that is more.
inline std::vector<std::int64_t> ways_to_the_end(const graph_plan& plan) {
    std::vector<std::int64_t> ways(plan.size());
    for (std::size_t i = plan.size(); i-- != 0;) {
        if (__builtin_add_overflow(ways[i], plan[i].cost_ns, &ways[i])) ways[i] = INT64_MAX;
        for (const std::uint64_t p : plan[i].after) {
            if (p >= i)
                throw std::invalid_argument("graph plan: task '" + plan[i].name +
                                            "' comes before a producer of its own");
            ways[p] = std::max(ways[p], ways[i]);
        }
    }
    return ways;
}

// Submits all of it; task(place) or task(context, place) is what the task at that place does. What the graph had before stays.
template <class Graph, class Task>
void submit_plan(Graph& g, const graph_plan& plan, Task task) {
    const std::vector<std::int64_t> ways = ways_to_the_end(plan);
    std::vector<std::uint64_t> ids, after;  // ids: of each place; other submitters' tasks may lie between
    ids.reserve(plan.size());
    for (std::size_t i = 0; i != plan.size(); ++i) {
        after.clear();
        for (const std::uint64_t p : plan[i].after) after.push_back(ids[p]);
        ids.push_back(g.submit(
            after, [task, i](auto& context) mutable { detail::call_planned(task, context, i); },
            {.type = plan[i].type, .bytes = plan[i].bytes, .priority = plan[i].priority, .ahead_ns = ways[i]}));
    }
}

}  // namespace apiary
