// Subject `onetbb`: oneTBB, one arena of N worker slots. task_arena::enqueue, its call for fire-and-forget work, for
// posts from outside; task_group::run for children; enqueue again for a task that lets others go first.
//
// Fork-join: a task_group per node, parallel_invoke for two branches, and task_arena::execute for the root: the main
// thread takes one of the N slots. Graphs: a flow graph of continue_nodes, which the main thread builds in the arena
// and then starts; it can start the same graph again. Compute tasks: a second arena of lower priority. It has no batch
// call, no timers and no way to aim at a worker. Its tasks come from oneTBB's own pools and not from operator new: the
// column `allocs` stays empty.
#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/parallel_invoke.h>
#include <oneapi/tbb/parallel_reduce.h>
#include <oneapi/tbb/parallel_scan.h>
#include <oneapi/tbb/parallel_sort.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scenarios/list.hpp"
#include "subjects/onetbb_version.hpp"

#ifndef APIARY_ONETBB_NAME
#define APIARY_ONETBB_NAME "onetbb"
#endif

namespace {

namespace tbb = oneapi::tbb;

// A newer oneTBB has one means to keep the workers of an arena looking for work: a parallel phase.
#if TBB_INTERFACE_VERSION >= 12200
#define APIARY_ONETBB_HAS_PHASES 1
#else
#define APIARY_ONETBB_HAS_PHASES 0
#endif

class onetbb_in_a_phase;

class onetbb {
public:
    static constexpr std::string_view name = APIARY_ONETBB_NAME;
#if APIARY_ONETBB_HAS_PHASES
    using looks_always = onetbb_in_a_phase;  // latency_vs_load idle_cpu=100
#endif
    static std::string version() { return apiary::bench::onetbb_version(); }

    // oneTBB counts the main thread as one of its threads, but it is none of our workers: hence one more. No slot is
    // reserved for threads outside, so all N go to workers.
    explicit onetbb(unsigned workers)
        : threads_(tbb::global_control::max_allowed_parallelism, workers + 1), arena_(static_cast<int>(workers), 0) {
        arena_.initialize();
    }

    onetbb(unsigned workers, unsigned compute_workers)
        : threads_(tbb::global_control::max_allowed_parallelism, workers + compute_workers + 1),
          arena_(static_cast<int>(workers), 0),
          compute_(static_cast<int>(compute_workers), 0, tbb::task_arena::priority::low) {
        arena_.initialize();
        compute_.initialize();
    }

    ~onetbb() noexcept {
        children_.wait();
        arena_.terminate();
        compute_.terminate();
        tbb::finalize(workers_, std::nothrow);  // joins them
    }

    onetbb(const onetbb&) = delete;
    onetbb& operator=(const onetbb&) = delete;

    template <class F>
    void post(F&& task) {
        arena_.enqueue(std::forward<F>(task));
    }

    template <class F>
    void spawn(F&& task) {
        children_.run(std::forward<F>(task));
    }

    template <class F>
    void yield(std::uint64_t, F&& task) {
        arena_.enqueue(std::forward<F>(task));
    }

    template <class F>
    void repost(F&& task) {
        post(std::forward<F>(task));
    }

    template <class F>
    void post_compute(F&& task) {
        compute_.enqueue(std::forward<F>(task));
    }

    template <class F>
    void call(F&& root) {
        arena_.execute(std::forward<F>(root));
    }

    template <class F, class G>
    static void fork_join(F&& f, G&& g) {
        tbb::parallel_invoke(std::forward<F>(f), std::forward<G>(g));
    }

    // Called in the arena, by the main thread.
    struct loops {
        using range = tbb::blocked_range<std::uint64_t>;

        template <class Body>
        static void for_each(std::uint64_t n, Body body) {
            tbb::parallel_for(std::uint64_t{0}, n, body);
        }
        template <class Map>
        static std::uint64_t reduce(std::uint64_t n, Map map) {
            return tbb::parallel_reduce(
                range(0, n), std::uint64_t{0},
                [&map](const range& part, std::uint64_t sum) {
                    for (std::uint64_t i = part.begin(); i != part.end(); ++i) sum += map(i);
                    return sum;
                },
                std::plus<>());
        }
        static void scan(const std::uint64_t* in, std::uint64_t* out, std::uint64_t n) {
            tbb::parallel_scan(
                range(0, n), std::uint64_t{0},
                [in, out](const range& part, std::uint64_t sum, bool final) {
                    const std::uint64_t end = part.end();
                    if (final)
                        for (std::uint64_t i = part.begin(); i != end; ++i) out[i] = sum += in[i];
                    else
                        for (std::uint64_t i = part.begin(); i != end; ++i) sum += in[i];
                    return sum;
                },
                std::plus<>());
        }
        static void sort(std::uint64_t* first, std::uint64_t n) { tbb::parallel_sort(first, first + n); }
    };
    template <class F>
    void with_loops(F&& root) {
        arena_.execute([&root] { root(loops()); });
    }

    // Each task is a node that counts its predecessors.
    class flow_graph {
    public:
        template <class F>
        void submit(std::uint64_t id, std::span<const std::uint64_t> producers, F task) {
            auto& mine = nodes_.emplace_back(graph_, [task](const tbb::flow::continue_msg& done) {
                task();
                return done;
            });
            for (const std::uint64_t producer : producers) tbb::flow::make_edge(nodes_[producer], mine);
            if (producers.empty()) roots_.push_back(id);
        }

        void run() {
            for (const std::uint64_t id : roots_) nodes_[id].try_put(tbb::flow::continue_msg());
            graph_.wait_for_all();
        }

    private:
        tbb::flow::graph graph_;
        std::deque<tbb::flow::continue_node<tbb::flow::continue_msg>> nodes_;
        std::vector<std::uint64_t> roots_;
    };

    template <class Build>
    void graph(std::uint64_t, Build build) {
        arena_.execute([&build] {
            flow_graph all;
            build(all);
            all.run();
        });
    }

    class prebuilt_graph {
    public:
        template <class Build>
        prebuilt_graph(tbb::task_arena& arena, Build build) : arena_(arena) {
            arena_.execute([this, &build] { build(all_.emplace()); });
        }
        void run() {
            arena_.execute([this] { all_->run(); });
        }

    private:
        tbb::task_arena& arena_;
        std::optional<flow_graph> all_;  // made in the arena, where its tasks run
    };

    template <class Build>
    prebuilt_graph prebuilt(std::uint64_t, Build build) {
        return {arena_, build};
    }

    class scope {
    public:
        template <class F>
        void run(F&& task) {
            group_.run(std::forward<F>(task));
        }
        void wait() { group_.wait(); }

    private:
        tbb::task_group group_;
    };

private:
    friend onetbb_in_a_phase;

    tbb::task_scheduler_handle workers_{tbb::attach{}};
    tbb::global_control threads_;
    tbb::task_arena arena_, compute_;
    tbb::task_group children_;
};

#if APIARY_ONETBB_HAS_PHASES
class onetbb_in_a_phase : public onetbb {
public:
    explicit onetbb_in_a_phase(unsigned workers) : onetbb(workers) { arena_.start_parallel_phase(); }
    ~onetbb_in_a_phase() { arena_.end_parallel_phase(); }
};
#endif

}  // namespace

int main(int argc, char** argv) { return apiary::bench::subject_main<onetbb>(argc, argv); }
