// What the explorer reports, that it repeats, that its parts add up, and that nothing of the model can be taken away
// unnoticed.
#include <sys/resource.h>

#include <cstdio>
#include <string>
#include <vector>

#include "../../../../litmus/explorer_programs.hpp"

#include <apiary/model_check/explorer/graph.hpp>
#include <apiary/model_check/explorer/tests/complaints.hpp>
#include <apiary/model_check/explorer/tests/exhibits.hpp>
#include <apiary/model_check/explorer/tests/in_parts.hpp>
#include <apiary/model_check/explorer/tests/interpreter.hpp>
#include <apiary/model_check/explorer/trace.hpp>

namespace {

using namespace apiary::model;
using namespace apiary::model::explorer;

bool fails_with(const verdict& v, const char* reason) {
    return v.result == apiary::model::outcome::fail && v.reason.find(reason) != std::string::npos;
}

// ---- every kind of failure, and its replay -------------------------------------------------------------

template <class Check>
void must_fail(const char* name, const char* reason) {
    const verdict v = run_explorer<Check>({});
    expect(fails_with(v, reason), std::string(name) + " fails with '" + reason + "', but: " + v.reason);
    expect(!v.trace.empty(), std::string(name) + " has a trace");
    search_options again;
    again.replay = v.replay;
    const verdict r = run_explorer<Check>(again);
    expect(fails_with(r, reason) && r.trace == v.trace, std::string(name) + " replays " + v.replay + ": " + r.reason);
}

template <class Check>
void must_pass(const char* name) {
    const verdict v = run_explorer<Check>({});
    expect(v.result == apiary::model::outcome::pass, std::string(name) + " passes, but: " + v.reason + "\n" + v.trace);
    expect(v.executions == v.graphs + v.blocked, std::string(name) + " explores nothing twice");
}

void reports() {
    must_fail<race<explorer_sync>>("race", "data race");
    must_fail<use_after_free<explorer_sync>>("use_after_free", "access to freed memory");
    must_fail<double_free<explorer_sync>>("double_free", "double free");
    must_fail<leak<explorer_sync>>("leak", "memory leak");
    must_fail<uninitialised_atomic<explorer_sync>>("uninitialised_atomic", "uninitialised read");
    must_fail<uninitialised_cell<explorer_sync>>("uninitialised_cell", "uninitialised read");
    must_fail<relaxed_publication<explorer_sync>>("relaxed_publication", "uninitialised read");
    must_fail<abba<explorer_sync>>("abba", "deadlock");
    must_fail<lost_wake<explorer_sync>>("lost_wake", "deadlock");
    must_fail<missed_pulse<explorer_sync>>("missed_pulse", "deadlock");
    must_fail<waits_before_the_threads<explorer_sync>>("waits_before_the_threads", "waits outside the threads");
    must_fail<waits_after_the_threads<explorer_sync>>("waits_after_the_threads", "waits outside the threads");
    must_fail<endless<explorer_sync>>("endless", "livelock");
    must_fail<throws<explorer_sync>>("throws", "exception");
    must_fail<foreign_unlock<explorer_sync>>("foreign_unlock", "unlock");
    must_fail<store_buffering<explorer_sync>>("store_buffering", "both missed");
    must_fail<broken_invariant<explorer_sync>>("broken_invariant", "never two");
    must_fail<aba<explorer_sync>>("aba", "another node");
    must_fail<weak_failure<explorer_sync>>("weak_failure", "failed although");
    must_fail<spurious_wake<explorer_sync>>("spurious_wake", "woke for nothing");
    must_fail<timeout<explorer_sync>>("timeout", "timed out");
    must_fail<two_waiters<explorer_sync>>("two_waiters", "second waiter");
    must_pass<locked_counter<explorer_sync>>("locked_counter");
    must_pass<wait_with_predicate<explorer_sync>>("wait_with_predicate");
    must_pass<parked_handover<explorer_sync>>("parked_handover");
    must_pass<publication<explorer_sync>>("publication");
    must_pass<awaited<explorer_sync>>("awaited");
}

// ---- shards, jobs, hunting ------------------------------------------------------------------------------

void symmetry() {
    const verdict some = run_explorer<three_alike<explorer_sync>>({}),
                  all = run_explorer<three_unmarked<explorer_sync>>({});
    expect(some.result == apiary::model::outcome::pass &&
               some.bound.find("symmetry of threads 0, 1, 2") != std::string::npos,
           "the bound tells of symmetry: " + some.bound);
    expect(all.bound.find("symmetry") == std::string::npos, "and does not where there is none: " + all.bound);
    expect(some.graphs * 6 == all.graphs, "three threads alike have " + std::to_string(some.graphs) +
                                              " graphs, unmarked " + std::to_string(all.graphs));
    const verdict wrong = run_explorer<not_alike<explorer_sync>>({});
    expect(wrong.result == apiary::model::outcome::error && wrong.reason.find("are not") != std::string::npos,
           "threads that are not alike are seen: " + wrong.reason);
}

template <class Check>
void parts_add_up(const char* name) {
    const verdict whole = run_explorer<Check>({});
    for (const unsigned n : {2U, 3U, 7U}) {
        std::uint64_t executions = 0, graphs = 0, blocked = 0;
        for (unsigned i = 0; i < n; ++i) {
            search_options part;
            part.shard = i;
            part.shards = n;
            const verdict v = run_explorer<Check>(part);
            executions += v.executions;
            graphs += v.graphs;
            blocked += v.blocked;
        }
        expect(executions == whole.executions && graphs == whole.graphs && blocked == whole.blocked,
               std::string(name) + ": " + std::to_string(n) + " shards have " + std::to_string(executions) +
                   " executions, the whole " + std::to_string(whole.executions));
    }
    for (const unsigned jobs : {2U, 3U}) {
        search_options shared;
        shared.jobs = jobs;
        const verdict v = run_explorer<Check>(shared);
        expect(v.executions == whole.executions && v.graphs == whole.graphs && v.blocked == whole.blocked &&
                   v.sites == whole.sites && v.reached == whole.reached,
               std::string(name) + ": " + std::to_string(jobs) + " jobs have " + std::to_string(v.executions) +
                   " executions, the whole " + std::to_string(whole.executions));
        std::uint64_t executions = 0;
        shared.shards = 2;
        for (shared.shard = 0; shared.shard < 2; ++shared.shard) executions += run_explorer<Check>(shared).executions;
        expect(executions == whole.executions, std::string(name) + ": two shards, each in several jobs");
    }
    for (const std::uint64_t budget : {1U, 7U, 100U}) {
        const auto [sum, parts, wrong] = apiary::model::explorer::in_parts<Check>({}, budget);
        expect(wrong.empty(), std::string(name) + ": " + wrong);
        expect(sum.executions == whole.executions && sum.graphs == whole.graphs && sum.blocked == whole.blocked &&
                   sum.sites == whole.sites && sum.reached == whole.reached && sum.laws == whole.laws &&
                   sum.acted == whole.acted,
               std::string(name) + ": " + std::to_string(parts) + " parts of " + std::to_string(budget) + " have " +
                   std::to_string(sum.executions) + " executions, the whole " + std::to_string(whole.executions));
    }
    for (const char* nowhere : {"9999", "0*100000", "x", "1.", "", "0*2000000", "0*4294967295.0*4294967295"}) {
        search_options part;
        part.from = {nowhere};
        const verdict v = run_explorer<Check>(part);
        expect(v.result == apiary::model::outcome::error && v.reason.find("has no part") != std::string::npos,
               std::string(name) + ": no part " + nowhere + ": " + v.reason);
    }
}

// Of a text of a kilobyte no part has half a gigabyte: it is refused before it is held.
void a_part_without_end() {
    const auto held = [] {
        rusage used{};
        ::getrusage(RUSAGE_SELF, &used);
        return used.ru_maxrss;
    };
    std::string name;
    for (int i = 0; i != 128; ++i) name += "0*1048576.";
    search_options part;
    part.from = {name + "0"};
    const long before = held();
    expect(run_explorer<store_buffering<explorer_sync>>(part).result == apiary::model::outcome::error, "there is no such part");
    expect(held() - before < 64 * 1024, "and it took " + std::to_string(held() - before) + " KiB to say so");
}

void hunts() {
    for (const search_mode mode : {search_mode::random, search_mode::pct}) {
        search_options o;
        o.mode = mode;
        o.max_executions = 20'000;
        const verdict v = run_explorer<store_buffering<explorer_sync>>(o);
        expect(fails_with(v, "both missed"), "hunting finds store buffering");
        search_options again;
        again.replay = v.replay;
        const verdict r = run_explorer<store_buffering<explorer_sync>>(again);
        expect(fails_with(r, "both missed"), "what was hunted replays");
    }
    search_options small;
    small.max_executions = 100;
    const verdict v = run_explorer<deque_payload<explorer_sync>>(small);
    expect(v.result == apiary::model::outcome::budget_ended && v.bound.find("% of the search") != std::string::npos,
           "a budget ends");
}

// ---- bounds, estimates, few preemptions ------------------------------------------------------------------

template <class Check>
void needs_bound(const char* name, unsigned choice_bounds::* bound, const char* in_words) {
    search_options none;
    none.bounds.*bound = 0;
    const verdict v = run_explorer<Check>(none);
    expect(v.result == apiary::model::outcome::pass, std::string(name) + " passes when its choice is bounded to 0");
    expect(v.bound.find(in_words) != std::string::npos, std::string(name) + " states '" + in_words + "': " + v.bound);
}

// Fails only after two of a choice.
template <class Sync>
struct two_weak_failures : two_threads<Sync> {
    void thread(unsigned i) {
        if (i != 0) return;
        int failures = 0, expected = 0;
        while (!this->x.compare_exchange_weak(expected, 1, rlx, rlx)) expected = 0, ++failures;
        if (failures == 2) Sync::fail("failed twice");
    }
};

void bounds() {
    needs_bound<weak_failure<explorer_sync>>("weak_failure", &choice_bounds::weak_failures,
                                             "0 spurious compare-exchange failures");
    needs_bound<timeout<explorer_sync>>("timeout", &choice_bounds::timeouts, "0 timeouts");
    needs_bound<spurious_wake<explorer_sync>>("spurious_wake", &choice_bounds::spurious_wakes, "0 spurious wakes");
    needs_bound<aba<explorer_sync>>("aba", &choice_bounds::reuses, "0 reuses of freed memory");
    must_pass<two_weak_failures<explorer_sync>>("two_weak_failures");
    search_options o;
    o.bounds.weak_failures = 2;
    const verdict v = run_explorer<two_weak_failures<explorer_sync>>(o);
    expect(fails_with(v, "failed twice"), "a bound of two allows two: " + v.reason);
    o.replay = v.replay;
    expect(fails_with(run_explorer<two_weak_failures<explorer_sync>>(o), "failed twice"),
           "it replays under its bounds");
    search_options short_threads;
    short_threads.bounds.steps = 3;
    expect(fails_with(run_explorer<deque_payload<explorer_sync>>(short_threads), "more than 3 steps"),
           "steps are bounded");
}

template <class Check>
void estimates(const char* name) {
    search_options o;
    o.estimate = true;
    o.label = name;
    const verdict v = run_explorer<Check>(o), plain = run_explorer<Check>({});
    const auto guessed = static_cast<double>(v.estimated_executions), real = static_cast<double>(v.executions);
    expect(guessed > real / 2 && guessed < real * 2,
           std::string(name) + ": estimated " + std::to_string(guessed) + ", were " + std::to_string(real));
    expect(v.executions == plain.executions && v.graphs == plain.graphs && v.reached == plain.reached,
           std::string(name) + ": an estimate changes the search");
    expect(plain.estimated_executions == 0, "no estimate unasked");
}

// Wrong only when thread 1 comes between the two additions: read-modify-writes read the latest, so it takes a preemption.
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

verdict with_preemptions(verdict (*run)(const search_options&), unsigned n, unsigned shard = 0, unsigned shards = 1) {
    search_options o;
    o.mode = search_mode::bound;
    o.bound = n;
    o.shard = shard;
    o.shards = shards;
    return run(o);
}

template <class Check>
void enough_preemptions_show_all(const char* name) {
    const verdict all = run_explorer<Check>({}), bounded = with_preemptions(run_explorer<Check>, 20);
    expect(bounded.result == apiary::model::outcome::pass && bounded.graphs == all.graphs,
           std::string(name) + ": lines with any number of preemptions show " + std::to_string(bounded.graphs) +
               " graphs, there are " + std::to_string(all.graphs));
    std::uint64_t lines = 0;
    for (unsigned i = 0; i < 3; ++i) lines += with_preemptions(run_explorer<Check>, 20, i, 3).executions;
    expect(lines == bounded.executions, std::string(name) + ": three parts have " + std::to_string(lines) +
                                            " lines, the whole " + std::to_string(bounded.executions));
}

void few_preemptions_hunt() {
    // A switch where a thread ends is no preemption.
    {
        search_options o;
        o.mode = search_mode::bound;
        const verdict v = run_explorer<seen_half_way<explorer_sync>>(o);
        expect(fails_with(v, "half-way") && v.mode == "bound(2)", "a preemption is found: " + v.reason);
        o.mode = search_mode::standard;
        o.replay = v.replay;
        expect(fails_with(run_explorer<seen_half_way<explorer_sync>>(o), "half-way"), "and replays");
    }
    few_preemptions none(0, 0, 1);
    expect(!none.next(), "an empty line has no next");
    const verdict v = with_preemptions(run_explorer<locked_counter<explorer_sync>>, 1);
    expect(v.bound.find("not all executions") != std::string::npos && v.mode == "bound(1)", "never called exhaustive");
    enough_preemptions_show_all<publication<explorer_sync>>("publication");
    enough_preemptions_show_all<awaited<explorer_sync>>("awaited");
    enough_preemptions_show_all<parked_handover<explorer_sync>>("parked_handover");
    search_options cut;
    cut.mode = search_mode::bound;
    cut.max_executions = 10;
    expect(run_explorer<deque_payload<explorer_sync>>(cut).result == apiary::model::outcome::budget_ended,
           "lines that were not followed are no pass");
}

// ---- mutation --------------------------------------------------------------------------------------------

void mutation() {
    const verdict plain = run_explorer<deque_payload<explorer_sync>>({});
    expect(plain.result == apiary::model::outcome::pass, "the shipped deque passes: " + plain.reason + plain.trace);
    unsigned killed = 0, tried = 0;
    std::string survivors;
    for (const auto& [site, order] : plain.sites) {
        if (site.find("chase_lev_deque") == std::string::npos || order == "relaxed") continue;
        const bool is_fence = site.find(":fence") != std::string::npos;
        search_options o;
        o.mutate_site = site;
        o.mutate_order = is_fence ? "dropped" : "relaxed";
        const verdict v = run_explorer<deque_payload<explorer_sync>>(o);
        ++tried;
        expect(v.result != apiary::model::outcome::error, "mutation of " + site + ": " + v.reason);
        if (v.result == apiary::model::outcome::fail)
            ++killed;
        else
            survivors += "\n    " + site + " (" + order + ")";
    }
    std::printf("mutation of the deque by one check: %u of %u killed; the rest needs other checks or is free here:%s\n",
                killed, tried, survivors.c_str());
    // The two fences and the publication by bottom have to be noticed.
    expect(killed >= 4, "mutations are noticed");
    search_options nowhere;
    nowhere.mutate_site = "no/such/file.hpp:1:1:store";
    nowhere.mutate_order = "relaxed";
    expect(run_explorer<locked_counter<explorer_sync>>(nowhere).mutation_met == 0, "a mutation of nothing is told");
}

// ---- attacks: delete a part of the model; something must notice ------------------------------------------

std::string all_sets() {
    std::string text;
    for (const litmus_line& line : litmus_lines) {
        oracle::current = oracle::parse(line.code);
        const verdict v = run_explorer<oracle::interpreted>({});
        for (const auto& [name, n] : v.outcomes) text += name + "|";
        text += "\n";
    }
    return text;
}

void attack_litmus(const char* name, bool attack::* part, const std::string& right) {
    attacks().*part = true;
    const std::string wrong = all_sets();
    attacks().*part = false;
    unsigned changed = 0;
    std::size_t a = 0, b = 0;
    for (std::size_t i = 0; i < litmus_lines.size(); ++i) {
        const std::size_t an = right.find('\n', a), bn = wrong.find('\n', b);
        changed += right.substr(a, an - a) != wrong.substr(b, bn - b) ? 1U : 0U;
        a = an + 1;
        b = bn + 1;
    }
    std::printf("without %-22s %2u litmus tests change\n", name, changed);
    expect(changed > 0, std::string("a litmus test notices the loss of ") + name);
}

// ---- modes: each finds what is planted, and says what its end means -----------------------------------------

void modes() {
    struct mode {
        search_mode what;
        const char* name;
        apiary::model::outcome ended;
        const char* words;
    };
    using apiary::model::outcome;
    for (const mode& m :
         {mode{search_mode::standard, "unfinished", outcome::budget_ended, "% of the search tree covered"},
          mode{search_mode::full, "unfinished", outcome::budget_ended, "% of the search tree covered"},
          mode{search_mode::bound, "bound(2)", outcome::budget_ended, "budget ended among the lines of execution with"},
          mode{search_mode::pct, "pct(3)", outcome::pass, "drawn at random, not all"},
          mode{search_mode::random, "random", outcome::pass, "drawn at random, not all"}}) {
        search_options o;
        o.mode = m.what;
        o.max_executions = 20'000;
        expect(fails_with(run_explorer<seen_half_way<explorer_sync>>(o), "half-way"),
               std::string(m.name) + " finds a planted defect");
        o.max_executions = 20;
        const verdict v = run_explorer<deque_payload<explorer_sync>>(o);
        expect(v.result == m.ended && v.mode == m.name && v.bound.find(m.words) != std::string::npos,
               std::string(m.name) + ", ended by its budget, says so: " + v.mode + ", " + v.bound);
    }
    search_options short_of_time;
    short_of_time.max_executions = 20;
    const verdict few = run_explorer<deque_payload<explorer_sync>>(short_of_time);
    const verdict all = run_explorer<deque_payload<explorer_sync>>({});
    expect(few.mode != "exhaustive" && all.mode == "exhaustive", "exhaustive is said of a search that ended, only");
}

template <class Check>
void attack_exhibit(const char* name, bool attack::* part) {
    attacks().*part = true;
    const verdict v = run_explorer<Check>({});
    attacks().*part = false;
    std::printf("without %-22s its exhibit %s\n", name,
                v.result == apiary::model::outcome::pass ? "passes, and is missed" : "still fails");
    expect(v.result == apiary::model::outcome::pass, std::string("an exhibit depends on ") + name + ": " + v.reason);
}

void attack_everything() {
    const std::string right = all_sets();
    attack_litmus("read coherence", &attack::no_read_coherence, right);
    attack_litmus("write coherence", &attack::no_write_coherence, right);
    attack_litmus("atomicity", &attack::no_atomicity, right);
    attack_litmus("psc_base", &attack::no_psc_base, right);
    attack_litmus("psc_F", &attack::no_psc_fence, right);
    attack_litmus("light fences", &attack::no_light_fence, right);
    attack_litmus("synchronises-with", &attack::no_synchronisation, right);
    attack_litmus("release sequences", &attack::no_release_sequence, right);
    attack_litmus("acquire fences", &attack::no_acquire_fence, right);
    attack_litmus("release fences", &attack::no_release_fence, right);
    attack_litmus("C++20 (C++11 instead)", &attack::old_release_sequence, right);
    attack_litmus("revisits", &attack::no_revisit, right);
    attack_exhibit<weak_failure<explorer_sync>>("weak failures", &attack::no_weak_failure);
    attack_exhibit<aba<explorer_sync>>("reuse of memory", &attack::no_reuse);
    attack_exhibit<spurious_wake<explorer_sync>>("spurious wakes", &attack::no_spurious_wake);
    attack_exhibit<timeout<explorer_sync>>("timeouts", &attack::no_timeout);
    attack_exhibit<race<explorer_sync>>("race detection", &attack::no_race_detection);
    attack_exhibit<leak<explorer_sync>>("lifetimes", &attack::no_lifetime);
}

}  // namespace

int main() {
    reports();
    parts_add_up<deque_payload<explorer_sync>>("deque");
    parts_add_up<locked_counter<explorer_sync>>("locked_counter");
    parts_add_up<two_waiters_fixed<explorer_sync>>("two_waiters_fixed");
    symmetry();
    a_part_without_end();
    hunts();
    bounds();
    estimates<deque_payload<explorer_sync>>("deque");
    estimates<locked_counter<explorer_sync>>("locked_counter");
    estimates<two_waiters_fixed<explorer_sync>>("two_waiters_fixed");
    few_preemptions_hunt();
    modes();
    mutation();
    attack_everything();
    return apiary::model::told();
}
