// See runner.hpp.
#include <apiary/model_check/runner.hpp>

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <list>
#include <optional>
#include <set>
#include <utility>

#include <apiary/model_check/job.hpp>
#include <apiary/model_check/options.hpp>

namespace apiary::model {

namespace {

using clock = std::chrono::steady_clock;

bool is_exhaustive(search_mode m) { return m == search_mode::standard || m == search_mode::full; }

bool must_see(const task& t) { return (t.check->must_see & static_cast<unsigned>(t.with)) != 0; }

// What a search gets that was given no budget. Executions, so that its verdict does not depend on the machine; an
// exhibit stops at its failure and may therefore look longer. The explorer's searches that should end by
// themselves have no such number: seconds that a slow machine does not use up, and red when they are over.
constexpr std::uint64_t explorer_executions = 100'000, hunting_executions = 60'000, brief_part = 3, brief_part_beside_all = 12;
search_options with_default_budget(search_options o, const task& t) {
    if (o.max_executions != 0 || o.max_seconds > 0) return o;
    // Where the explorer sees all behaviours of the same check, Relacy is there to disagree, and does so early.
    const bool beside_all = (t.check->engines & explorer_only) != 0 && !t.check->too_large_to_exhaust;
    const std::uint64_t part = !o.brief ? 1 : beside_all ? brief_part_beside_all : brief_part;
    if (t.with == engine::explorer) {
        if (t.check->too_large_to_exhaust && is_exhaustive(o.mode))
            o.max_executions = explorer_executions / part;
        else
            o.max_seconds = 600;
        return o;
    }
    switch (t.check->kind) {
        case check_kind::check:
            o.max_executions = hunting_executions / part;
            break;
        case check_kind::litmus:
            o.max_executions = 20'000;
            break;
        case check_kind::exhibit:
            o.max_executions = must_see(t) ? 2'000'000 : hunting_executions / part;
            break;
    }
    return o;
}

// One simulation on its way, and how long it may take.
class child {
public:
    child(const task& t, const search_options& options, double timeout_seconds)
        : options_(with_default_budget(options, t)), job_([&] { return simulate(t); }, job::group::own) {
        if (timeout_seconds <= 0) timeout_seconds = options_.max_seconds > 0 ? options_.max_seconds * 2 + 120 : 1800;
        deadline_ = clock::now() + std::chrono::milliseconds(static_cast<std::int64_t>(timeout_seconds * 1000));
    }

    int descriptor() const { return job_.descriptor(); }
    bool done() const { return job_.done(); }
    verdict& result() { return job_.result(); }
    void pump() { job_.pump(); }
    // Past the deadline the verdict is an error.
    void watch_clock() {
        if (clock::now() > deadline_) job_.stop("the simulation did not end within its time; it was stopped");
    }

private:
    verdict simulate(const task& t) {
        ::dup2(STDERR_FILENO, STDOUT_FILENO);  // what an engine says of itself is no verdict
        options_.label = t.check->name;
        return t.with == engine::relacy ? t.check->run_relacy(options_) : t.check->run_explorer(options_);
    }

    search_options options_;
    job job_;
    clock::time_point deadline_;
};

// SIGINT, SIGTERM and SIGHUP while simulations run: they are killed and reaped, and then the signal has its effect.
class stop_signals {
public:
    stop_signals() {
        struct sigaction by_us{};
        by_us.sa_handler = [](int s) { came_ = s; };
        for (std::size_t i = 0; i != count; ++i) ::sigaction(signals[i], &by_us, &before_[i]);
    }
    ~stop_signals() {
        for (std::size_t i = 0; i != count; ++i) ::sigaction(signals[i], &before_[i], nullptr);
    }
    stop_signals(const stop_signals&) = delete;
    stop_signals& operator=(const stop_signals&) = delete;
    static int came() { return came_; }

private:
    static constexpr std::size_t count = 3;
    static constexpr int signals[count] = {SIGINT, SIGTERM, SIGHUP};
    static inline volatile std::sig_atomic_t came_ = 0;
    struct sigaction before_[count];
};

// The outcomes that one set has and the other lacks, as text.
std::string lacking(const std::set<std::string>& have, const std::set<std::string>& other) {
    std::string text;
    for (const std::string& o : have)
        if (!other.contains(o)) text += (text.empty() ? "" : ", ") + std::string("(") + o + ")";
    return text;
}

void judge_litmus(const task& t, verdict& v) {
    if (v.result != outcome::pass) return;
    const std::vector<std::string>& list = t.with == engine::relacy ? t.check->expected_relacy : t.check->expected_rc11;
    const std::set<std::string> expected(list.begin(), list.end());
    std::set<std::string> seen;
    for (const auto& [text, count] : v.outcomes) seen.insert(text);
    const std::string extra = lacking(seen, expected), missing = lacking(expected, seen);
    if (extra.empty() && missing.empty()) return;
    v.result = outcome::fail;
    v.reason = (extra.empty() ? "" : "saw " + extra + ", not expected") +
               (extra.empty() || missing.empty() ? "" : "; ") +
               (missing.empty() ? "" : "never saw " + missing + ", expected");
}

// What a verdict that found nothing wrong has not looked at: seen, cause, remedy. Empty when all is well.
std::string did_nothing(const task& t, const verdict& v) {
    const std::string in_none = " in any of " + std::to_string(v.executions) + " executions. ";
    if (v.executions != 0 && v.blocked == v.executions)
        return "nothing was checked: none of " + std::to_string(v.executions) +
               " executions came to its end within the bounds. Cause: more waits with deadlines have to give up than "
               "may. Remedy: a larger bound (--bounds timeout=2)";
    const bool litmus = t.check->kind == check_kind::litmus;  // may have more threads than it needs
    for (unsigned i = 0; i != t.check->threads; ++i)
        if ((v.acted >> i & 1U) == 0 && !(litmus && v.acted != 0))
            return "nothing was checked: thread " + std::to_string(i) + " ran no operation that an engine watches" +
                   in_none +
                   "Cause: what it shares is plain or std::atomic, or it does nothing. Remedy: typename Sync::template "
                   "atomic<T> and cell<T>, Sync::mutex, Sync::parker (WRITING_CHECKS.md, section 2); fewer threads";
    if (litmus) return {};  // its law is the set of outcomes
    const auto asked = [&](const std::string& law) {
        const auto found = v.laws.find(law);
        return found != v.laws.end() && found->second != 0;
    };
    for (const std::string& law : t.check->engine_laws)
        if (!asked(law))
            return "nothing was checked: the check rests on the engine's law '" + law + "', which was never asked" +
                   in_none + "Cause: no thread comes to " +
                   (law == "race"       ? "a cell (Sync::cell)"
                    : law == "deadlock" ? "a wait without deadline (park, spin_until, condvar, futex, mutex)"
                                        : "an object of Sync::create") +
                   ". Remedy: another scenario, or another of engine_laws";
    if (t.check->engine_laws.empty() && !asked(law_kinds[0]))
        return "nothing was checked: no law was evaluated" + in_none +
               "Cause: the check asserts nothing, or its ledger is never used. Remedy: Sync::law(condition, \"what is "
               "wrong without it\") in thread(), invariant() or after(), or a ledger of contract/laws.hpp; where an "
               "engine's own law is the point, static constexpr std::array engine_laws{\"deadlock\"} (race, lifetime)";
    return {};
}

bool as_expected(const task& t, verdict& v, search_mode mode, bool replaying) {
    if (t.check->kind == check_kind::exhibit && !must_see(t)) {
        if (v.result == outcome::fail) v.reason = std::string(engine_name(t.with)) + " sees it after all: " + v.reason;
        return replaying || v.result == outcome::pass || v.result == outcome::budget_ended;
    }
    if (t.check->kind == check_kind::exhibit) {
        if (v.result == outcome::fail && v.reason.find(t.check->expected_reason) != std::string::npos) return true;
        if (v.result == outcome::fail) v.reason += " (expected: \"" + t.check->expected_reason + "\")";
        if (v.result == outcome::pass) v.reason = "not caught; expected to fail: \"" + t.check->expected_reason + "\"";
        return false;
    }
    // Relacy never proves anything, so a search cut short says as much as any other; the explorer's pass
    // means "all", and must not be claimed for less.
    if (v.result == outcome::budget_ended) {
        if (v.reason.empty()) v.reason = "not finished: " + v.bound;
        const bool allowed =
            t.check->too_large_to_exhaust || (mode == search_mode::bound && t.check->kind != check_kind::litmus);
        if (t.with != engine::relacy && !allowed) return false;
    } else if (v.result != outcome::pass || replaying) {
        return v.result == outcome::pass;
    }
    std::string never;
    for (const std::string& name : t.check->must_reach)
        if (!v.reached.contains(name)) never += (never.empty() ? "" : ", ") + name;
    if (never.empty()) return true;
    v.reason = "never reached " + never;
    return false;
}

const char* word_of(outcome o) {
    switch (o) {
        case outcome::pass:
            return "pass";
        case outcome::fail:
            return "fail";
        case outcome::budget_ended:
            return "budget";
        case outcome::error:
            break;
    }
    return "error";
}

judged judge(const task& t, verdict v, const search_options& o) {
    judged j;
    j.ran = t;
    if (t.check->kind == check_kind::litmus && o.replay.empty()) judge_litmus(t, v);
    const bool found_nothing = v.result == outcome::pass || v.result == outcome::budget_ended;
    // A mutation elsewhere is no error of this check; main says when it ran nowhere.
    if (found_nothing && !o.mutate_site.empty() && v.mutation_met == 0)
        v.reason = "the mutated operation does not run here";
    // Of a mutant it would look like a kill. One execution that is replayed need not meet everything.
    // Nor need a part of a search: that is judged of all parts together, when they are put together.
    if (found_nothing && o.mutate_site.empty() && o.replay.empty() && o.from.empty()) {
        if (std::string nothing = did_nothing(t, v); !nothing.empty())
            v.result = outcome::error, v.reason = std::move(nothing);
    }
    j.as_expected = (found_nothing && !o.from.empty()) || as_expected(t, v, o.mode, !o.replay.empty());
    j.verdict_word = word_of(v.result);
    if (!v.replay.empty()) {
        j.replay_line = t.check->name + " --engine " + engine_name(t.with) + " --replay " + v.replay;
        if (t.with == engine::explorer && o.bounds != choice_bounds{})
            j.replay_line += " --bounds " + bounds_text(o.bounds);
        if (o.plain_races_relaxed) j.replay_line += " --plain-races=as-relaxed";
        if (!o.mutate_site.empty()) {
            j.replay_line += " --mutate " + o.mutate_site + "=" + o.mutate_order;
            for (const order_change& c : o.changes) j.replay_line += " --mutate " + c.site + "=" + c.to;
        }
    }
    if (t.with == engine::relacy) j.differs = t.check->relacy_differs;
    if (t.check->kind == check_kind::exhibit && !must_see(t)) j.differs = t.check->passes_because;
    j.found = std::move(v);
    // Of code as it is the compiler tells them.
    if (t.with == engine::explorer && !t.check->as_it_is) j.found.blind += "; plain members are not watched";
    return j;
}

// One check on its way to a verdict: searched; after a failure of a random search, looked for again with few
// preemptions, which gives a shorter story; then replayed for its trace.
struct running {
    enum class step { search, shorten, replay };
    static constexpr unsigned most_preemptions = 3;

    running(std::size_t i, const task& t, const search_options& o, double timeout_seconds, step s, verdict first,
            unsigned n)
        : index(i), process(t, o, timeout_seconds), at(s), found(std::move(first)), preemptions(n) {}

    std::size_t index;
    child process;
    step at;
    verdict found;         // by the search; its token may be the shortened one's
    unsigned preemptions;  // while shortening
};

search_options to_shorten(search_options o, unsigned preemptions) {
    o.mode = search_mode::bound;
    o.bound = preemptions;
    o.max_executions = o.brief ? 500 : 100'000;
    o.max_seconds = 3;
    o.shard = 0, o.shards = 1;
    return o;
}

search_options to_replay(search_options o, const std::string& token) {
    o.replay = token;
    return o;
}

}  // namespace

const char* engine_name(engine e) { return e == engine::relacy ? "relacy" : "explorer"; }

const char* kind_name(check_kind k) {
    switch (k) {
        case check_kind::check:
            return "check";
        case check_kind::exhibit:
            return "exhibit";
        case check_kind::litmus:
            break;
    }
    return "litmus";
}

bool run_all(const std::vector<task>& tasks, const search_options& options, double timeout_seconds,
             const std::function<void(const judged&)>& told) {
    std::vector<std::optional<verdict>> verdicts(tasks.size());
    std::list<running> now;
    std::size_t next = 0, tell = 0;
    bool all_good = true;

    using step = running::step;
    const auto start = [&](std::size_t index, const search_options& o, step s, verdict found, unsigned preemptions) {
        now.emplace_back(index, tasks[index], o, timeout_seconds, s, std::move(found), preemptions);
    };
    const auto fetch_trace = [&](std::size_t index, verdict found) {
        const search_options o = to_replay(options, found.replay);
        start(index, o, step::replay, std::move(found), 0);
    };
    const auto shorten = [&](std::size_t index, verdict found, unsigned preemptions) {
        start(index, to_shorten(options, preemptions), step::shorten, std::move(found), preemptions);
    };
    const auto settle = [&](running& r) {
        verdict v = std::move(r.process.result());
        switch (r.at) {
            case step::search:
                if (v.result != outcome::fail || !v.trace.empty() || v.replay.empty() || options.traceless)
                    verdicts[r.index] = std::move(v);
                else if (options.mode == search_mode::bound || options.mode == search_mode::full)
                    fetch_trace(r.index, std::move(v));
                else
                    shorten(r.index, std::move(v), 1);
                return;
            case step::shorten:
                if (v.result == outcome::fail && v.reason == r.found.reason)
                    r.found.replay = v.replay;
                else if (r.preemptions != running::most_preemptions)
                    return shorten(r.index, std::move(r.found), r.preemptions + 1);
                return fetch_trace(r.index, std::move(r.found));
            case step::replay:
                if (v.result != outcome::fail || v.reason != r.found.reason) {
                    r.found.result = outcome::error;
                    r.found.reason += " — but its replay said: " + std::string(word_of(v.result)) + " " + v.reason;
                }
                r.found.trace = std::move(v.trace);
                r.found.trace_html = std::move(v.trace_html);
                verdicts[r.index] = std::move(r.found);
                return;
        }
    };

    adopt_orphans();
    const stop_signals signals;
    while (tell != tasks.size()) {
        if (const int s = stop_signals::came(); s != 0) {
            now.clear();
            ::signal(s, SIG_DFL);
            ::raise(s);
        }
        while (now.size() < std::max(1U, options.jobs) && next != tasks.size()) {
            start(next, options, step::search, {}, 0);
            ++next;
        }
        std::vector<pollfd> wait;
        for (const running& r : now) wait.push_back({r.process.descriptor(), POLLIN, 0});
        ::poll(wait.data(), wait.size(), 1000);
        std::size_t i = 0;
        for (running& r : now) {
            if (wait[i++].revents != 0) r.process.pump();
            r.process.watch_clock();
        }
        for (auto r = now.begin(); r != now.end();) {
            if (r->process.done()) {
                settle(*r);  // may append to `now`
                r = now.erase(r);
            } else {
                ++r;
            }
        }
        for (; tell != tasks.size() && verdicts[tell].has_value(); ++tell) {
            const judged j = judge(tasks[tell], std::move(*verdicts[tell]), options);
            all_good = all_good && j.as_expected;
            told(j);
        }
    }
    return all_good;
}

}  // namespace apiary::model
