// driver: budgets, shards, jobs and verdicts around the engine.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include <apiary/model_check/explorer/engine.hpp>
#include <apiary/model_check/explorer/trace.hpp>

namespace apiary::model::explorer {

namespace {

using steady = std::chrono::steady_clock;

constexpr const char* blind =
    "load buffering (RC11 forbids sb-rf cycles); more spurious failures, timeouts or reuses than stated; invariants "
    "are asked "
    "along one order of each graph; plain members are not watched";

// Fingerprints of complete graphs: tells a duplicate from a new one.
class seen_graphs {
public:
    // Beyond this many, graphs are counted without being compared, to bound the memory (32 bytes each).
    static constexpr std::uint64_t most = std::uint64_t{1} << 24;

    bool add(std::uint64_t f) {
        if (count_ >= most) return ++count_ != 0;
        if ((count_ + 1) * 2 > table_.size()) grow();
        return insert(table_, f == 0 ? 1 : f) && ++count_ != 0;
    }
    [[nodiscard]] std::uint64_t count() const { return count_; }

private:
    static bool insert(std::vector<std::uint64_t>& table, std::uint64_t f) {
        const std::size_t mask = table.size() - 1;
        std::size_t i = f * 0x9E37'79B9'7F4A'7C15U >> 20 & mask;
        for (; table[i] != 0; i = (i + 1) & mask)
            if (table[i] == f) return false;
        table[i] = f;
        return true;
    }
    void grow() {
        std::vector<std::uint64_t> bigger(table_.size() * 2);
        for (const std::uint64_t f : table_)
            if (f != 0) insert(bigger, f);
        table_.swap(bigger);
    }
    std::vector<std::uint64_t> table_ = std::vector<std::uint64_t>(1024);
    std::uint64_t count_ = 0;
};

run_limits limits_of(const choice_bounds& b) {
    run_limits l;
    l.most[weak_failures] = b.weak_failures;
    l.most[timeouts] = b.timeouts;
    l.most[spurious_wakes] = b.spurious_wakes;
    l.most[reuses] = b.reuses;
    l.steps_per_thread = b.steps;
    return l;
}

std::string counted(unsigned n, const char* one, const char* rest = "") {
    return std::to_string(n) + " " + one + (n == 1 ? "" : "s") + rest;
}

bool exhaustive(search_mode m) { return m == search_mode::standard || m == search_mode::full; }

class search {
public:
    // With a table, one of several jobs that share the exhaustive search.
    search(const program& p, const search_options& options, engine::claim* claims = nullptr, unsigned job = 0)
        : options_(options), claims_(claims), job_(job), engine_(p, limits_of(options.bounds)), program_(p) {
        const choice_bounds& b = options.bounds;
        v_.blind = blind;
        v_.bound = "RC11; at most " + counted(b.weak_failures, "spurious compare-exchange failure") + ", " +
                   counted(b.timeouts, "timeout") + ", " + counted(b.spurious_wakes, "spurious wake") + ", " +
                   counted(b.reuses, "reuse", " of freed memory") + "; " + counted(b.steps, "step", " a thread");
    }

    verdict run() {
        if (!possible()) return std::move(v_);
        if (!options_.replay.empty())
            replay();
        else if (exhaustive(options_.mode))
            exhaust();
        else if (options_.mode == search_mode::bound)
            hunt_with_few_preemptions();
        else
            hunt();
        v_.seconds = elapsed();
        v_.reached = engine_.reached();
        v_.sites = engine_.sites().executed();
        if (!options_.mutate_site.empty() && !engine_.sites().mutation_seen() && v_.result != outcome::fail) {
            v_.result = outcome::error;
            v_.reason = "no execution reached the mutated site " + options_.mutate_site;
        }
        return std::move(v_);
    }

    // Guesses how many executions the exhaustive search will have (Knuth 1975), and says so on stderr.
    std::uint64_t estimate() {
        constexpr unsigned least = 200, most = 5000;
        constexpr double most_seconds = 1;
        if (!possible()) return 0;
        std::uint64_t random = options_.seed * 0x9E37'79B9'7F4A'7C15U | 1U;
        double sum = 0, squares = 0, largest = 0;
        unsigned probes = 0, runs = 0, failures = 0;
        while (probes < least || (probes < most && elapsed() < most_seconds)) {
            const probe p = engine_.probe_once(random);
            if (p.end == run_end::nondeterministic) return 0;  // the search will say why
            failures += p.end == run_end::failed ? 1U : 0U;
            runs += p.runs;
            sum += p.executions;
            squares += p.executions * p.executions;
            largest = std::max(largest, p.executions);
            if (++probes >= least && elapsed() > 4 * most_seconds) break;
        }
        const double mean = sum / probes;
        const double error = std::sqrt(std::max(0.0, squares / probes - mean * mean) / (probes - 1));
        const double seconds = mean * elapsed() / runs;
        std::fprintf(stderr,
                     "estimate %s: about %.3g executions (standard error %.2g, largest probe %.2g, %u probes), %.2g s "
                     "in one job; only an estimate, more often too low than too high",
                     options_.label.c_str(), mean, error, largest, probes, seconds);
        if (failures != 0) std::fprintf(stderr, "; %u probes met a failure, where the search will end", failures);
        std::fputc('\n', stderr);
        return static_cast<std::uint64_t>(std::min(mean, 1e18) + 0.5);
    }

private:
    // False, with a reason, when there is nothing that could be run.
    bool possible() {
        if (!options_.mutate_site.empty() && !engine_.sites().mutate(options_.mutate_site, options_.mutate_order)) {
            v_.reason = "mutate_order is '" + options_.mutate_order +
                        "'; it can be relaxed, acquire, release, acq_rel, seq_cst or dropped";
            return false;
        }
        if (program_.threads > max_threads) {
            v_.reason = "the explorer takes at most " + std::to_string(max_threads) + " threads";
            return false;
        }
        return true;
    }

    [[nodiscard]] double elapsed() const { return std::chrono::duration<double>(steady::now() - started_).count(); }

    // True when the budget is spent.
    [[nodiscard]] bool spent(double most_seconds) {
        if (options_.max_executions != 0 && v_.executions >= options_.max_executions) return true;
        if ((++ticks_ & 63U) != 0) return false;
        const double now = elapsed();
        if (options_.progress && now >= next_progress_) show_progress(now);
        return most_seconds > 0 && now > most_seconds;
    }

    // Of the search tree, by weights (Knuth 1975). A shard's part weighs what the others' do, more or less.
    [[nodiscard]] double covered() const {
        return std::max(0.0, 1 - engine_.remaining_weight() * std::max(1U, options_.shards));
    }

    void show_progress(double now) {
        constexpr double seconds_between = 2;
        next_progress_ = now + seconds_between;
        std::string text = "progress " + options_.label;
        if (options_.shards > 1)
            text += " (part " + std::to_string(options_.shard) + "/" + std::to_string(options_.shards) + ")";
        char numbers[160];
        std::snprintf(numbers, sizeof numbers, ": %.0f s, %llu graphs, %llu executions, %.0f/s", now,
                      static_cast<unsigned long long>(seen_.count()), static_cast<unsigned long long>(v_.executions),
                      static_cast<double>(v_.executions) / now);
        text += numbers;
        if (exhaustive(options_.mode)) {
            std::snprintf(numbers, sizeof numbers, ", about %.1f %% covered", 100 * covered());
            text += numbers;
        }
        std::fprintf(stderr, "%s\n", text.c_str());
    }

    // Counts one run. True when the search goes on.
    bool count(run_end end) {
        switch (end) {
            case run_end::not_mine:
                return true;
            case run_end::blocked:
                ++v_.executions;
                ++v_.blocked;
                return true;
            case run_end::complete: {
                ++v_.executions;
                seen_.add(engine_.current().fingerprint());
                if (program_.outcome != nullptr) ++v_.outcomes[std::string(engine_.outcome())];
                return true;
            }
            case run_end::failed:
                ++v_.executions;
                if (attacks().go_on_after_failure) {
                    const std::string& reason = engine_.last_failure().reason;
                    ++v_.outcomes["! " + reason.substr(0, reason.find(':'))];
                    seen_.add(engine_.current().fingerprint());
                    return true;
                }
                v_.result = outcome::fail;
                return false;
            case run_end::nondeterministic:
                v_.result = outcome::error;
                v_.reason = engine_.last_failure().reason;
                if (!v_.reason.empty()) return false;
                v_.reason =
                    "the program does not repeat: an operation was not the one of the earlier run. Cause: state that "
                    "outlives an "
                    "execution, addresses that do not come from Sync::create, or uninitialised plain memory";
                return false;
        }
        return false;
    }

    [[nodiscard]] std::string symmetry() const {
        std::string threads;
        for (unsigned t = 0; t < program_.threads; ++t)
            if ((program_.alike >> t & 1U) != 0) threads.append(threads.empty() ? "" : ", ").append(std::to_string(t));
        return threads.empty() ? threads : "; symmetry of threads " + threads;
    }

    void exhaust() {
        v_.mode = "exhaustive";
        const double most = options_.max_seconds > 0             ? options_.max_seconds
                            : options_.mode == search_mode::full ? 0
                                                                 : 30;
        v_.bound += symmetry();
        engine_.shard(options_.shard, options_.shards, options_.shards > 1 || claims_ != nullptr ? 8 : 0);
        engine_.take_turns(claims_, job_);
        engine_.push_root();
        v_.result = outcome::pass;
        while (engine_.has_work()) {
            if (spent(most)) {
                v_.result = outcome::budget_ended;
                break;
            }
            if (!count(engine_.explore_next())) break;
        }
        v_.graphs = seen_.count();
        if (v_.graphs > seen_graphs::most)
            v_.bound +=
                "; graphs after the first " + std::to_string(seen_graphs::most) + " were not compared with each other";
        if (v_.result == outcome::budget_ended) {
            v_.mode = "unfinished";  // the word exhaustive is for searches that ended
            v_.bound += "; budget ended, about " + std::to_string(static_cast<int>(covered() * 100)) +
                        " % of the search tree covered";
        }
        if (v_.result == outcome::fail) {
            failure best = engine_.last_failure();
            minimise(best);
            draw(best);
        }
    }

    // Goes on for a moment: a failure with fewer steps is easier to read.
    void minimise(failure& best) {
        const auto began = steady::now();
        const std::string kind = best.reason.substr(0, best.reason.find(':'));
        for (unsigned runs = 0; runs < 20'000 && engine_.has_work(); ++runs) {
            if (std::chrono::duration<double>(steady::now() - began).count() > 0.5) break;
            if (engine_.explore_next() != run_end::failed) continue;
            const failure& f = engine_.last_failure();
            if (f.reason.substr(0, f.reason.find(':')) == kind && f.g.count() < best.g.count()) best = f;
        }
    }

    void show(const std::vector<trace_row>& rows) {
        const trace_view view = lay_out(rows, program_.threads);
        v_.trace = as_text(view);
        v_.trace_html = as_html(view);
    }

    void draw(const failure& f) {
        along_graph line(f.g, f.thread);
        std::vector<trace_row> rows;
        const run_end end = engine_.follow(line, &rows);
        v_.reason = end == run_end::failed ? engine_.last_failure().reason : f.reason;
        v_.replay = "x1:" + line.token();
        show(rows);
        if (end != run_end::failed) v_.trace += "(the failure did not show again on this line; please report it)\n";
    }

    void hunt() {
        const unsigned depth = options_.mode == search_mode::random ? 0 : options_.bound != 0 ? options_.bound : 3;
        v_.mode = depth == 0 ? "random" : "pct(" + std::to_string(depth) + ")";
        v_.bound += "; executions drawn at random, not all";
        hunter h(options_.seed + options_.shard * 0x1'0001U, depth);
        if (options_.max_executions == 0 && options_.max_seconds <= 0) options_.max_executions = 100'000;
        v_.result = outcome::pass;
        while (!spent(options_.max_seconds))
            if (!count(engine_.follow(h, nullptr))) break;
        v_.graphs = seen_.count();
        if (v_.result == outcome::fail) {
            const failure f = engine_.last_failure();
            draw(f);
        }
    }

    // Every line of execution with no preemption, then with one, and so on: systematic, and yet not all executions.
    void hunt_with_few_preemptions() {
        const unsigned most = options_.bound != 0 ? options_.bound : 2;
        v_.mode = "bound(" + std::to_string(most) + ")";
        if (options_.max_executions == 0 && options_.max_seconds <= 0) options_.max_seconds = 30;
        v_.result = outcome::pass;
        unsigned n = 0;
        for (bool more = true; more && n <= most; ++n) {
            few_preemptions lines(n, options_.shard, options_.shards);
            do {
                if (spent(options_.max_seconds)) {
                    v_.result = outcome::budget_ended;
                    more = false;
                    break;
                }
                const run_end end = engine_.follow(lines, nullptr);
                // What has fewer preemptions was counted in an earlier round.
                const bool is_new = lines.used() == n && lines.mine();
                if ((is_new || end == run_end::nondeterministic) && !count(end)) more = false;
            } while (more && lines.next());
            if (!more) break;
        }
        if (v_.result == outcome::pass)
            v_.bound +=
                "; every line of execution with at most " + counted(most, "preemption") + ", not all executions";
        if (v_.result == outcome::budget_ended)
            v_.bound += "; budget ended among the lines of execution with " + counted(n, "preemption");
        v_.graphs = seen_.count();
        if (v_.result == outcome::fail) {
            const failure f = engine_.last_failure();
            draw(f);
        }
    }

    void replay() {
        v_.mode = "replay";
        if (options_.replay.rfind("x1:", 0) != 0) {
            v_.reason = "the token is not one of this explorer's (x1:...)";
            return;
        }
        along_token line(options_.replay.substr(3));
        std::vector<trace_row> rows;
        v_.result = outcome::pass;
        const run_end end = engine_.follow(line, &rows);
        (void)count(end);
        if (end == run_end::failed) v_.reason = engine_.last_failure().reason;
        v_.replay = options_.replay;
        show(rows);
        if (line.off()) {
            v_.result = outcome::error;
            v_.reason =
                "the token does not fit this program: it was made by another version of the check or of the code";
        }
    }

    search_options options_;
    engine::claim* claims_;
    unsigned job_;
    engine engine_;
    const program& program_;
    verdict v_;
    seen_graphs seen_;
    steady::time_point started_ = steady::now();
    double next_progress_ = 2;
    unsigned ticks_ = 0;
};

// ---- jobs: one process for each part of the search -------------------------------------------------------

void put(std::string& out, const std::string& s) { out += std::to_string(s.size()) + " " + s; }
template <class Map>
void put_map(std::string& out, const Map& m) {
    put(out, std::to_string(m.size()));
    for (const auto& [key, value] : m) {
        put(out, key);
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string>)
            put(out, value);
        else
            put(out, std::to_string(value));
    }
}

struct reader {
    const std::string& text;
    std::size_t at = 0;
    std::string next() {
        const std::size_t space = text.find(' ', at);
        if (space == std::string::npos) return {};
        const std::size_t n = std::stoul(text.substr(at, space - at));
        std::string s = text.substr(space + 1, n);
        at = space + 1 + n;
        return s;
    }
    std::uint64_t count() {
        const std::string s = next();
        return s.empty() ? 0 : std::stoull(s);
    }
};

std::string pack(const verdict& v) {
    std::string out;
    put(out, std::to_string(static_cast<int>(v.result)));
    for (const std::string* s : {&v.mode, &v.bound, &v.reason, &v.trace, &v.trace_html, &v.replay, &v.blind})
        put(out, *s);
    for (const std::uint64_t n : {v.executions, v.graphs, v.blocked}) put(out, std::to_string(n));
    put_map(out, v.reached);
    put_map(out, v.outcomes);
    put_map(out, v.sites);
    return out;
}

verdict unpack(const std::string& text) {
    reader in{text};
    verdict v;
    if (text.empty()) {
        v.reason = "a job of the explorer died";
        return v;
    }
    v.result = static_cast<outcome>(in.count());
    for (std::string* s : {&v.mode, &v.bound, &v.reason, &v.trace, &v.trace_html, &v.replay, &v.blind}) *s = in.next();
    for (std::uint64_t* n : {&v.executions, &v.graphs, &v.blocked}) *n = in.count();
    for (auto* m : {&v.reached, &v.outcomes})
        for (std::uint64_t left = in.count(); left > 0; --left) {
            const std::string key = in.next();
            (*m)[key] = in.count();
        }
    for (std::uint64_t left = in.count(); left > 0; --left) {
        const std::string key = in.next();
        v.sites[key] = in.next();
    }
    return v;
}

// The worst of two: an error hides nothing, a failure outranks an ended budget.
unsigned rank(outcome o) {
    switch (o) {
        case outcome::pass:
            return 0;
        case outcome::budget_ended:
            return 1;
        case outcome::error:
            return 2;
        case outcome::fail:
            return 3;
    }
    return 2;
}

void merge(verdict& into, verdict&& part) {
    const std::uint64_t executions = into.executions + part.executions, graphs = into.graphs + part.graphs,
                        blocked = into.blocked + part.blocked;
    for (auto& [name, n] : part.reached) into.reached[name] += n;
    for (auto& [name, n] : part.outcomes) into.outcomes[name] += n;
    for (auto& [name, order] : part.sites) into.sites[name] = order;
    if (rank(part.result) > rank(into.result)) {
        part.reached = std::move(into.reached);
        part.outcomes = std::move(into.outcomes);
        part.sites = std::move(into.sites);
        into = std::move(part);
    }
    into.executions = executions;
    into.graphs = graphs;
    into.blocked = blocked;
}

verdict run_jobs(const program& p, const search_options& options) {
    const auto began = steady::now();
    struct job {
        pid_t pid;
        int from;
    };
    std::vector<job> jobs;
    engine::claim* claims = nullptr;
    if (exhaustive(options.mode)) {
        void* table = ::mmap(nullptr, engine::claims, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (table != MAP_FAILED) claims = static_cast<engine::claim*>(table);
    }
    for (unsigned i = 0; i < options.jobs; ++i) {
        int ends[2];
        if (::pipe(ends) != 0) break;
        const pid_t pid = ::fork();
        if (pid == 0) {
            ::close(ends[0]);
            search_options mine = options;
            mine.jobs = 1;
            if (claims == nullptr) {  // parts of a part: congruent to the shard modulo its count
                mine.shard = options.shard + options.shards * i;
                mine.shards = options.shards * options.jobs;
            }
            if (options.max_executions != 0) mine.max_executions = options.max_executions / options.jobs + 1;
            const std::string text = pack(search(p, mine, claims, i).run());
            for (std::size_t done = 0; done < text.size();) {
                const ssize_t n = ::write(ends[1], text.data() + done, text.size() - done);
                if (n <= 0) break;
                done += static_cast<std::size_t>(n);
            }
            ::_exit(0);
        }
        ::close(ends[1]);
        if (pid > 0) jobs.push_back({pid, ends[0]});
    }
    verdict all;
    bool first = true;
    for (const job& j : jobs) {
        std::string text;
        char buffer[65536];
        for (ssize_t n; (n = ::read(j.from, buffer, sizeof buffer)) > 0;)
            text.append(buffer, static_cast<std::size_t>(n));
        ::close(j.from);
        int status = 0;
        ::waitpid(j.pid, &status, 0);
        if (first)
            all = unpack(text);
        else
            merge(all, unpack(text));
        first = false;
    }
    if (jobs.size() < options.jobs) {
        all.result = outcome::error;
        all.reason = "the explorer could not start all jobs";
    }
    if (claims != nullptr) ::munmap(claims, engine::claims);
    all.seconds = std::chrono::duration<double>(steady::now() - began).count();
    return all;
}

}  // namespace

verdict explore(const program& p, const search_options& options) {
    const bool guess = options.estimate && options.replay.empty() && exhaustive(options.mode);
    const std::uint64_t estimated = guess ? search(p, options).estimate() : 0;
    verdict v = options.jobs > 1 && options.replay.empty() ? run_jobs(p, options) : search(p, options).run();
    v.estimated_executions = estimated;
    return v;
}

}  // namespace apiary::model::explorer
