// A random graph that a seed determines, the function that each of its tasks computes from its inputs, and a sequential
// run of it to compare with. For tests and stress.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace apiary::testing {

struct random_graph {
    struct node {
        std::vector<std::uint64_t> after;
        std::uint32_t bytes = 0;  // 0, or a multiple of 8
        std::uint8_t type = 0;
        bool throws = false;
    };
    std::vector<node> nodes;

    // `reach`: how many tasks back a producer may lie at most. `one_in`: one task in so many throws; 0: none does.
    random_graph(std::uint64_t seed, std::size_t tasks, std::size_t reach, unsigned types, unsigned one_in) {
        state_ = seed * 0x9E3779B97F4A7C15U | 1U;
        for (std::size_t id = 0; id != tasks; ++id) {
            node n;
            for (std::uint64_t left = draw(4); left != 0 && id != 0; --left)
                n.after.push_back(id - 1 - draw(std::min(id, reach)));
            n.bytes = static_cast<std::uint32_t>(draw(3) == 0 ? 0 : 8 * (1 + draw(12)));
            n.type = static_cast<std::uint8_t>(draw(types));
            n.throws = one_in != 0 && draw(one_in) == 0;
            nodes.push_back(n);
        }
    }

    static std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
        std::uint64_t x = (a ^ b * 0xBF58476D1CE4E5B9U) + 0x94D049BB133111EBU;
        x ^= x >> 31;
        return x * 0x9E3779B97F4A7C15U;
    }

    struct result {
        std::vector<std::uint64_t> hash;  // 0: the task was cancelled, or threw
        std::size_t threw = 0, cancelled = 0;
    };
    result serial() const {
        result r;
        for (std::size_t id = 0; id != nodes.size(); ++id) {
            std::uint64_t h = mix(id, 1);
            bool poisoned = false;
            for (const std::uint64_t p : nodes[id].after) poisoned |= r.hash[p] == 0, h = mix(h, r.hash[p]);
            if (poisoned)
                ++r.cancelled, h = 0;
            else if (nodes[id].throws)
                ++r.threw, h = 0;
            r.hash.push_back(h);
        }
        return r;
    }

private:
    std::uint64_t draw(std::uint64_t n) {
        state_ ^= state_ >> 12, state_ ^= state_ << 25, state_ ^= state_ >> 27;
        return (state_ * 0x2545F4914F6CDD1DU >> 33) % n;
    }
    std::uint64_t state_;
};

// Submits the graph and compares the results. Each task writes a cell of its own, which its consumers read: plain data,
// so a race detector sees a missing order. A task with an output fills it, and its consumers check it. Calls
// wrong(what) for each difference.
template <class Graph, class Wrong>
void run_and_compare(Graph& g, const random_graph& graph, bool with_scopes, Wrong wrong) {
    std::vector<std::uint64_t> hash(graph.nodes.size());
    struct threw {};
    {
        std::optional<typename Graph::scope> open;
        for (std::size_t id = 0; id != graph.nodes.size(); ++id) {
            if (with_scopes && id % 5 == 0) open.emplace(g);
            const auto& n = graph.nodes[id];
            const auto got = g.submit(n.after,
                                      [&n, &hash, &wrong](auto& t) {
                                          std::uint64_t h = random_graph::mix(t.id(), 1);
                                          for (std::size_t i = 0; i != t.inputs(); ++i) {
                                              const std::uint64_t value = hash[n.after[i]];
                                              for (std::size_t k = 0; k != t.input(i).size() / 8; ++k)
                                                  if (t.template input<std::uint64_t>(i)[k] != value)
                                                      wrong("an input is not what its producer put out");
                                              h = random_graph::mix(h, value);
                                          }
                                          if (n.throws) throw threw{};
                                          hash[t.id()] = h;
                                          for (std::size_t k = 0; k != t.output().size() / 8; ++k)
                                              t.template output<std::uint64_t>()[k] = h;
                                      },
                                      {.type = n.type, .bytes = n.bytes});
            if (got != id) wrong("ids do not count from 0");
            if (id % 5 == 3) open.reset();
        }
    }
    const auto report = g.close();
    const auto expected = graph.serial();
    if (hash != expected.hash) wrong("a task's result is not the serial run's");
    if (report.submitted != graph.nodes.size() || report.consumed != report.submitted)
        wrong("submitted and consumed are not the same");
    std::size_t ran = 0, thrown = 0, cancelled = 0;
    for (const auto& c : report.types) ran += c.ran, thrown += c.thrown, cancelled += c.cancelled;
    if (thrown != expected.threw || cancelled != expected.cancelled || ran + cancelled != graph.nodes.size())
        wrong("the counts of what threw, was cancelled and ran are not the serial run's");
    for (const auto& f : g.failures()) {
        if (expected.hash[f.task] != 0) wrong("a task failed that should not");
        if (!graph.nodes[f.cause].throws || expected.hash[f.cause] != 0) wrong("the cause of a failure did not throw");
        if ((f.thrown != nullptr) != (f.task == f.cause)) wrong("an exception is not with its task");
    }
}

}  // namespace apiary::testing
