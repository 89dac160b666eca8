// searcher: one process's share of a search, with its budget and its verdict.
//
// An exhaustive search without a budget of executions is shared by claims: whichever job comes first to a subtree takes
// it. With one, and in the modes that draw lines, the search is cut into a fixed number of *parts* by a rule that knows
// nothing of jobs or time, and the parts take turns by a fixed rule: a budget visits the same executions
// on every machine, and with any number of jobs.
//
// The rule. The first runs, from the shallowest graphs, are made until there are enough graphs to start from; these are
// dealt to the parts in turn. Then rounds: each part that has work left makes as many executions as it is granted
// (256, then twice that, and so on, as long as the budget lasts). What a part leaves is granted to the others, so
// that a search that fits the budget is finished. Executions are ordered by round and part; the first failure in that
// order is the verdict, and what comes after it does not count.
#pragma once

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <apiary/model_check/explorer/engine.hpp>
#include <apiary/model_check/explorer/seen_graphs.hpp>
#include <apiary/model_check/explorer/trace.hpp>

namespace apiary::model::explorer {

inline constexpr unsigned parts_of_a_search = 16;

// What the jobs of a search in parts share. Written by a part's job during a round, read between two waits at `turn`.
struct part_board {
    explicit part_board(unsigned jobs);

    struct part {
        std::uint64_t executions = 0;  // in this round
        double weight = 0;             // of what is left to do
        bool ended = false;
    };
    pthread_barrier_t turn;
    std::atomic<unsigned> stopped{parts_of_a_search};  // the first part that met a failure
    std::atomic<bool> late{false};                     // the time is over
    std::array<part, parts_of_a_search> parts;
};

// Adds what was counted in another part of the search.
void add_counts(verdict& into, const verdict& part);

[[nodiscard]] inline bool is_exhaustive(search_mode m) { return m == search_mode::standard || m == search_mode::full; }
// Whether it runs in parts.
[[nodiscard]] inline bool in_parts(const search_options& o) {
    return is_exhaustive(o.mode) ? o.max_executions != 0 : o.mode != search_mode::bound;
}

class searcher {
public:
    // One of `jobs` processes: with a board when the search is in parts, else with claims. Alone with neither.
    struct company {
        unsigned job = 0, jobs = 1;
        engine::claim* claims = nullptr;
        part_board* board = nullptr;
    };

    searcher(const program& p, const search_options& options, const company& with);
    searcher(const program& p, const search_options& options) : searcher(p, options, company{}) {}

    verdict run();
    // Guesses how many executions the exhaustive search will have (Knuth 1975), and says so on stderr.
    std::uint64_t estimate();

private:
    struct part {
        std::vector<work_item> work;    // of an exhaustive search
        std::unique_ptr<hunter> lines;  // of one that draws
        std::unique_ptr<seen_graphs> seen = std::make_unique<seen_graphs>();
        verdict round;  // counts of this round
    };

    bool possible();
    [[nodiscard]] double elapsed() const;
    bool is_late(double most_seconds);
    [[nodiscard]] double covered(double weight_left) const;
    void show_progress(double now);
    bool count(run_end end, verdict& into, seen_graphs& seen);
    void close(verdict& v);
    [[nodiscard]] std::string symmetry() const;
    void exhaust();
    void exhaust_all();
    void exhaust_from();
    void exhaust_within_budget();
    bool deal_parts();
    [[nodiscard]] bool mine(std::size_t k) const { return k % with_.jobs == with_.job; }
    void take_turns();
    void turn_of(unsigned k, std::uint64_t executions);
    void ended_by_budget(double weight_left);
    void hunt();
    void hunt_with_few_preemptions();
    void replay();
    void minimise(failure& best);
    void name_the_model(const graph& g);
    void show(const std::vector<trace_row>& rows);
    std::vector<trace_row>* rows_for(std::vector<trace_row>& rows) { return options_.traceless ? nullptr : &rows; }
    void draw(const failure& f);
    bool is_no_finding(const failure& f);
    void draw_shortest();

    search_options options_;
    company with_;
    engine engine_;
    const program& program_;
    verdict v_;
    seen_graphs seen_;
    std::vector<part> parts_;                                // of this job, by number
    std::array<part_board::part, parts_of_a_search> now_{};  // all, as they were before this round
    std::uint64_t used_ = 0;                                 // executions of all parts
    std::unique_ptr<part_board> own_board_;
    std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
    double next_progress_ = 2;
    std::uint64_t runs_shown_ = 0, graphs_shown_ = 0;
    unsigned ticks_ = 0;
};

}  // namespace apiary::model::explorer
