// task_graph under stress: random graphs whose tasks write plain data for their consumers, yield and throw. The windows
// have several sizes, and some grow; the workers have several types; every policy runs. The results and the set of
// cancelled tasks equal those of a serial run.
#include <apiary/schedulers/task_graph/task_graph.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <apiary/stress/harness.hpp>
#include <apiary/sync/chaos_sync.hpp>

namespace {

using apiary::chaos;
using apiary::chaos_sync;
using apiary::task_id;
using graph_type = apiary::basic_task_graph<chaos_sync>;

// The seed alone determines it.
struct node {
    std::vector<task_id> after;
    std::uint32_t bytes;
    std::uint8_t type;
    bool throws, yields;
    std::int8_t priority;
};

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
    std::uint64_t x = (a ^ b * 0xBF58476D1CE4E5B9U) + 0x94D049BB133111EBU;
    x ^= x >> 31;
    return x * 0x9E3779B97F4A7C15U;
}

void body(apiary::stress::run& r) {
    chaos_sync::random_source random(r.seed);
    chaos::enter(0);
    const unsigned types = 1 + random.below(3);
    const std::size_t window = std::size_t{1} << random.below(9);
    apiary::task_graph_config config{.workers = {},
                                     .submitter_helps = random.below(2) == 0,
                                     .window = window,
                                     .dependencies = std::size_t{1} << (2 + random.below(7)),
                                     .output_bytes = 16U << random.below(9),
                                     .at_once = 1 + random.below(8),
                                     .policy = static_cast<apiary::ready_policy>(random.below(4)),
                                     .window_most = random.below(4) == 0 ? 512U : 0U};
    // Now and then more workers than one idle word holds.
    for (unsigned t = 0; t != types; ++t)
        config.workers.push_back((random.below(32) == 0 ? 60 : 1) + random.below(r.opts.threads));

    constexpr std::size_t tasks = 2000;
    const unsigned reach = 1U << random.below(11), throws_one_in = random.below(3) == 0 ? 100 : 0;
    const bool with_scopes =
        window >= 16 && config.dependencies >= 64 && config.output_bytes >= 16 * 64 && random.below(2) == 0;
    std::vector<node> nodes(tasks);
    std::vector<std::uint64_t> expected(tasks), hash(tasks);
    std::size_t threw = 0, cancelled = 0;
    for (task_id id = 0; id != tasks; ++id) {
        node& n = nodes[id];
        for (unsigned left = random.below(5); left != 0 && id != 0; --left)
            n.after.push_back(id - 1 - random.below(static_cast<std::uint32_t>(std::min<std::uint64_t>(id, reach))));
        n.bytes =
            random.below(2) == 0 ? 0 : 8 * (1 + random.below(static_cast<std::uint32_t>(config.output_bytes / 8)) % 12);
        n.type = static_cast<std::uint8_t>(random.below(types));
        n.throws = throws_one_in != 0 && random.below(throws_one_in) == 0;
        n.yields = random.below(64) == 0;
        n.priority = static_cast<std::int8_t>(random.below(3));
        std::uint64_t h = mix(id, 1);
        bool poisoned = false;
        for (const task_id p : n.after) poisoned |= expected[p] == 0, h = mix(h, expected[p]);
        if (poisoned || n.throws) h = 0;
        expected[id] = h;
        (poisoned ? cancelled : threw) += h == 0 ? 1 : 0;
    }

    graph_type g(config);
    r.describe = [&] {
        std::string s = "submitted " + std::to_string(g.submitted()) + ", reclaimed " + std::to_string(g.reclaimed()) +
                        ", window " + std::to_string(window) + ", policy " + apiary::name_of(config.policy);
        for (unsigned t = 0; t != types; ++t) {
            const auto c = g.counters(t);
            s += "; type " + std::to_string(t) + ": ran " + std::to_string(c.ran) + ", cancelled " +
                 std::to_string(c.cancelled) + ", parked " + std::to_string(c.parked);
        }
        return s;
    };
    {
        std::optional<graph_type::scope> open;
        for (task_id id = 0; id != tasks; ++id) {
            if (with_scopes && id % 7 == 0) open.emplace(g);
            const node& n = nodes[id];
            (void)g.submit(n.after,
                           [&](auto& t) {
                               const node& me = nodes[t.id()];
                               r.progress();
                               if (me.yields) std::this_thread::yield();
                               std::uint64_t h = mix(t.id(), 1);
                               for (std::size_t i = 0; i != t.inputs(); ++i) {
                                   const std::uint64_t value = hash[me.after[i]];
                                   for (std::size_t k = 0; k != t.input(i).size() / 8; ++k)
                                       if (t.template input<std::uint64_t>(i)[k] != value)
                                           r.fail("an input is not what its producer put out");
                                   h = mix(h, value);
                               }
                               if (me.throws) throw t.id();
                               hash[t.id()] = h;
                               for (std::size_t k = 0; k != t.output().size() / 8; ++k)
                                   t.template output<std::uint64_t>()[k] = h;
                           },
                           {.type = n.type, .bytes = n.bytes, .priority = n.priority, .ahead_ns = n.priority});
            if (id % 7 == 5) open.reset();
            if (random.below(500) == 0) g.wait();
        }
    }
    const auto report = g.close();
    if (hash != expected) r.fail("a task's result is not the serial run's");
    if (report.submitted != tasks || report.consumed != tasks) r.fail("submitted and consumed are not the same");
    std::uint64_t ran = 0, thrown = 0, dropped = 0;
    for (const auto& c : report.types) ran += c.ran, thrown += c.thrown, dropped += c.cancelled;
    if (thrown != threw || dropped != cancelled || ran + dropped != tasks)
        r.fail("what ran, threw and was cancelled is not the serial run's");
    for (const auto& f : g.failures())
        if (!nodes[f.cause].throws || expected[f.task] != 0) r.fail("a task failed for a cause that is none");
}

}  // namespace

int main(int argc, char** argv) { return apiary::stress::main(argc, argv, "task graph of random tasks", body); }
