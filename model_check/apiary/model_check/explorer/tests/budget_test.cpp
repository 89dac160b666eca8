// A budget of executions gives the same evidence on every machine: with any number of jobs the same executions are
// visited, and the verdict is the same to the letter.
#include <cstdio>
#include <string>

#include <apiary/model_check/explorer/run.hpp>
#include <apiary/model_check/explorer/tests/complaints.hpp>
#include <apiary/model_check/explorer/tests/exhibits.hpp>

namespace {

using namespace apiary::model;
using namespace apiary::model::explorer;

template <class Sync>
struct seen_half_way : two_threads<Sync> {
    void thread(unsigned i) {
        if (i == 0) {
            this->x.fetch_add(1, acq_rel);
            this->x.fetch_add(1, acq_rel);
        } else if (this->x.fetch_add(0, acq_rel) == 1) {
            Sync::fail("half-way");
        }
    }
};

// Wrong in one of 1,680 orders: thread 2 comes first, thread 1 next, thread 0 last.
template <class Sync>
struct wrong_in_one_order {
    static constexpr unsigned threads = 3;
    typename Sync::template atomic<unsigned> x{0};
    unsigned seen[3] = {};
    void thread(unsigned i) {
        for (unsigned k = 0; k != 3; ++k) seen[i] += x.fetch_add(1, acq_rel);
    }
    void after() { Sync::law(seen[0] != 6 + 7 + 8 || seen[1] != 3 + 4 + 5, "the one order"); }
};

bool same_evidence(const verdict& a, const verdict& b) {
    return a.result == b.result && a.mode == b.mode && a.bound == b.bound && a.executions == b.executions &&
           a.graphs == b.graphs && a.blocked == b.blocked && a.reason == b.reason && a.replay == b.replay &&
           a.trace == b.trace && a.reached == b.reached && a.outcomes == b.outcomes && a.laws == b.laws &&
           a.acted == b.acted;
}

// A budget of executions visits the same ones with any number of jobs.
template <class Check>
void a_budget_is_the_same_for_any_jobs(const char* name, search_options o, outcome ends) {
    const verdict alone = run_explorer<Check>(o);
    expect(alone.result == ends, std::string(name) + " ends as it should: " + alone.reason + alone.bound);
    expect(alone.executions <= o.max_executions, std::string(name) + ": a budget is kept");
    for (const unsigned jobs : {1U, 2U, 3U, 20U}) {
        o.jobs = jobs;
        const verdict v = run_explorer<Check>(o);
        expect(same_evidence(v, alone), std::string(name) + ": " + std::to_string(jobs) + " jobs have " +
                                            std::to_string(v.executions) + " executions and " +
                                            std::to_string(v.graphs) + " graphs, one has " +
                                            std::to_string(alone.executions) + " and " + std::to_string(alone.graphs) +
                                            "; " + v.bound + " / " + alone.bound + "; " + v.reason);
    }
}

void budgets() {
    const verdict whole = run_explorer<deque_payload<explorer_sync>>({});
    search_options o;
    for (const std::uint64_t most : {std::uint64_t{10}, std::uint64_t{100}, whole.executions - 1}) {
        o.max_executions = most;
        a_budget_is_the_same_for_any_jobs<deque_payload<explorer_sync>>("a cut search", o, outcome::budget_ended);
        expect(run_explorer<deque_payload<explorer_sync>>(o).executions == most, "all of a budget is used");
    }
    // What one part leaves the others get: a search that fits its budget ends.
    for (const std::uint64_t most : {whole.executions, whole.executions + 1}) {
        o.max_executions = most;
        a_budget_is_the_same_for_any_jobs<deque_payload<explorer_sync>>("a search that fits", o, outcome::pass);
        const verdict v = run_explorer<deque_payload<explorer_sync>>(o);
        expect(v.executions == whole.executions && v.graphs == whole.graphs && v.blocked == whole.blocked &&
                   v.reached == whole.reached && v.laws == whole.laws && v.sites == whole.sites,
               "in parts a search sees what it sees in one");
    }
    o.max_executions = 20'000;
    a_budget_is_the_same_for_any_jobs<seen_half_way<explorer_sync>>("a failing search", o, outcome::fail);
    a_budget_is_the_same_for_any_jobs<wrong_in_one_order<explorer_sync>>("a failure far away", o, outcome::fail);
    for (const search_mode mode : {search_mode::random, search_mode::pct, search_mode::bound}) {
        o.mode = mode;
        o.max_executions = 333;
        a_budget_is_the_same_for_any_jobs<deque_payload<explorer_sync>>(
            "a hunt", o, mode == search_mode::bound ? outcome::budget_ended : outcome::pass);
        o.max_executions = 20'000;
        a_budget_is_the_same_for_any_jobs<seen_half_way<explorer_sync>>("a hunt that fails", o, outcome::fail);
    }
}

}  // namespace

int main() {
    budgets();
    return apiary::model::told();
}
