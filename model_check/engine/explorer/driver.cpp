// driver: budgets, shards, jobs and verdicts around the engine.
#include <sys/wait.h>
#include <unistd.h>

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

class search {
public:
    search(const program& p, const search_options& options) : options_(options), engine_(p, limits_), program_(p) {
        v_.blind = blind;
        v_.bound = "RC11; at most " + std::to_string(limits_.most[weak_failures]) +
                   " spurious compare-exchange failure, " + std::to_string(limits_.most[timeouts]) + " timeout, " +
                   std::to_string(limits_.most[spurious_wakes]) + " spurious wake, " +
                   std::to_string(limits_.most[reuses]) + " reuse of freed memory; " +
                   std::to_string(limits_.steps_per_thread) + " steps a thread";
    }

    verdict run() {
        if (!options_.mutate_site.empty() && !engine_.sites().mutate(options_.mutate_site, options_.mutate_order)) {
            v_.reason = "mutate_order is '" + options_.mutate_order +
                        "'; it can be relaxed, acquire, release, acq_rel, seq_cst or dropped";
            return std::move(v_);
        }
        if (program_.threads > max_threads) {
            v_.reason = "the explorer takes at most " + std::to_string(max_threads) + " threads";
            return std::move(v_);
        }
        if (!options_.replay.empty())
            replay();
        else if (options_.mode == search_mode::standard || options_.mode == search_mode::full)
            exhaust();
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

private:
    [[nodiscard]] double elapsed() const { return std::chrono::duration<double>(steady::now() - started_).count(); }

    // True when the budget is spent.
    [[nodiscard]] bool spent(double most_seconds) {
        if (options_.max_executions != 0 && v_.executions >= options_.max_executions) return true;
        if (most_seconds <= 0 || (++ticks_ & 63U) != 0) return false;
        return elapsed() > most_seconds;
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
                v_.reason =
                    "the program does not repeat: an operation was not the one of the earlier run. Cause: state that "
                    "outlives an "
                    "execution, addresses that do not come from Sync::create, or uninitialised plain memory";
                return false;
        }
        return false;
    }

    void exhaust() {
        v_.mode = "exhaustive";
        const double most = options_.max_seconds > 0             ? options_.max_seconds
                            : options_.mode == search_mode::full ? 0
                                                                 : 30;
        engine_.shard(options_.shard, options_.shards, options_.shards > 1 ? 8 : 0);
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
            const double covered = 1 - engine_.remaining_weight();
            v_.bound += "; budget ended, about " + std::to_string(static_cast<int>(covered * 100)) +
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

    void draw(const failure& f) {
        along_graph line(f.g, f.thread);
        std::vector<trace_row> rows;
        const run_end end = engine_.follow(line, &rows);
        v_.reason = end == run_end::failed ? engine_.last_failure().reason : f.reason;
        v_.replay = "x1:" + line.token();
        v_.trace = render_trace(rows, program_.threads);
        if (end != run_end::failed) v_.trace += "(the failure did not show again on this line; please report it)\n";
    }

    void hunt() {
        const unsigned depth = options_.mode == search_mode::random ? 0 : options_.bound != 0 ? options_.bound : 3;
        v_.mode = depth == 0 ? "random" : "pct(" + std::to_string(depth) + ")";
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
        v_.trace = render_trace(rows, program_.threads);
        if (line.off()) {
            v_.result = outcome::error;
            v_.reason =
                "the token does not fit this program: it was made by another version of the check or of the code";
        }
    }

    search_options options_;
    run_limits limits_;
    engine engine_;
    const program& program_;
    verdict v_;
    seen_graphs seen_;
    steady::time_point started_ = steady::now();
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
    for (const std::string* s : {&v.mode, &v.bound, &v.reason, &v.trace, &v.replay, &v.blind}) put(out, *s);
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
    for (std::string* s : {&v.mode, &v.bound, &v.reason, &v.trace, &v.replay, &v.blind}) *s = in.next();
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
    for (unsigned i = 0; i < options.jobs; ++i) {
        int ends[2];
        if (::pipe(ends) != 0) break;
        const pid_t pid = ::fork();
        if (pid == 0) {
            ::close(ends[0]);
            search_options mine = options;
            mine.jobs = 1;
            // Parts of a part: congruent to the shard modulo its count.
            mine.shard = options.shard + options.shards * i;
            mine.shards = options.shards * options.jobs;
            if (options.max_executions != 0) mine.max_executions = options.max_executions / options.jobs + 1;
            const std::string text = pack(search(p, mine).run());
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
    all.seconds = std::chrono::duration<double>(steady::now() - began).count();
    return all;
}

}  // namespace

verdict explore(const program& p, const search_options& options) {
    if (options.jobs > 1 && options.replay.empty()) return run_jobs(p, options);
    return search(p, options).run();
}

}  // namespace apiary::model::explorer
