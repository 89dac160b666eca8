// See searcher.hpp.
#include <apiary/model_check/explorer/searcher.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include <apiary/model_check/explorer/cxx20.hpp>
#include <apiary/model_check/number.hpp>

namespace apiary::model::explorer {

namespace {

using steady = std::chrono::steady_clock;

constexpr const char* blind =
    "load buffering (RC11 forbids sb-rf cycles); more spurious failures, timeouts or reuses than stated; invariants "
    "are asked along one order of each graph";

run_limits limits_of(const choice_bounds& b) {
    run_limits l;
    l.most[weak_failures] = b.weak_failures;
    l.most[timeouts] = b.timeouts;
    l.most[spurious_wakes] = b.spurious_wakes;
    l.most[reuses] = b.reuses;
    l.steps_per_thread = b.steps;
    return l;
}

constexpr const char* whole_tree = "all";

std::string counted(unsigned n, const char* one, const char* rest = "") {
    return std::to_string(n) + " " + one + (n == 1 ? "" : "s") + rest;
}

// As text: the numbers with points between them, and n zeros as 0*n.
std::string text_of(const trail& way) {
    std::string out;
    for (std::size_t i = 0, n = 1; i < way.size(); i += n, n = 1) {
        while (way[i] == 0 && i + n < way.size() && way[i + n] == 0) ++n;
        out.append(out.empty() ? "" : ".").append(std::to_string(way[i]));
        if (n > 1) out.append("*").append(std::to_string(n));
    }
    return out.empty() ? whole_tree : out;
}

bool read_trail(std::string_view text, trail& way) {
    constexpr std::uint32_t longest = 1U << 20;
    text = text.substr(0, text.find('@'));
    if (text == whole_tree) return true;
    if (text.ends_with('.')) return false;
    while (!text.empty()) {
        std::string_view part = text.substr(0, text.find('.'));
        text.remove_prefix(std::min(text.size(), part.size() + 1));
        const std::size_t star = part.find('*');
        std::uint32_t child = 0, times = 1;
        if (!read_number(part.substr(0, star), child)) return false;
        if (star != std::string_view::npos && !read_number(part.substr(star + 1), times)) return false;
        if (times > longest - way.size()) return false;  // before it is held: a short text may say much
        way.insert(way.end(), times, child);
    }
    return !way.empty();
}

std::string kind_of(const std::string& reason) { return reason.substr(0, reason.find(':')); }

}  // namespace

part_board::part_board(unsigned jobs) {
    pthread_barrierattr_t shared;
    ::pthread_barrierattr_init(&shared);
    ::pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    ::pthread_barrier_init(&turn, &shared, jobs);
    ::pthread_barrierattr_destroy(&shared);
}

void add_counts(verdict& into, const verdict& part) {
    into.executions += part.executions;
    into.graphs += part.graphs;
    into.blocked += part.blocked;
    into.acted |= part.acted;
    into.mutation_met |= part.mutation_met;
    for (const auto& [name, n] : part.reached) into.reached[name] += n;
    for (const auto& [name, n] : part.outcomes) into.outcomes[name] += n;
    for (const auto& [name, n] : part.laws) into.laws[name] += n;
    for (const auto& [name, n] : part.came_to) into.came_to[name] += n;
    for (const auto& [name, order] : part.sites) into.sites[name] = order;
}

searcher::searcher(const program& p, const search_options& options, const company& with)
    : options_(options), with_(with), engine_(p, limits_of(options.bounds)), program_(p) {
    const choice_bounds& b = options.bounds;
    v_.blind = blind;
    v_.bound = "RC11; at most " + counted(b.weak_failures, "spurious compare-exchange failure") + ", " +
               counted(b.timeouts, "timeout") + ", " + counted(b.spurious_wakes, "spurious wake") + ", " +
               counted(b.reuses, "reuse", " of freed memory") + "; " + counted(b.steps, "step", " a thread");
    if (in_parts(options) && with_.board == nullptr) {
        own_board_ = std::make_unique<part_board>(1);
        with_.board = own_board_.get();
    }
}

verdict searcher::run() {
    if (!possible()) return std::move(v_);
    if (!options_.replay.empty())
        replay();
    else if (is_exhaustive(options_.mode))
        exhaust();
    else if (options_.mode == search_mode::bound)
        hunt_with_few_preemptions();
    else
        hunt();
    v_.seconds = elapsed();
    close(v_);
    v_.sites = engine_.sites().executed();
    v_.mutation_met = engine_.sites().mutation_seen() ? 1 : 0;
    return std::move(v_);
}

std::uint64_t searcher::estimate() {
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

// False, with a reason, when there is nothing that could be run.
bool searcher::possible() {
    if (!options_.mutate_site.empty() && !engine_.sites().mutate(options_.mutate_site, options_.mutate_order)) {
        v_.reason = "mutate_order is '" + options_.mutate_order +
                    "'; it can be relaxed, acquire, release, acq_rel, seq_cst or dropped";
        return false;
    }
    engine_.sites().change(options_.changes);
    if (program_.threads > max_threads) {
        v_.reason = "the explorer takes at most " + std::to_string(max_threads) + " threads";
        return false;
    }
    return true;
}

double searcher::elapsed() const { return std::chrono::duration<double>(steady::now() - started_).count(); }

// Asks the clock now and then.
bool searcher::is_late(double most_seconds) {
    if ((++ticks_ & 63U) != 0) return false;
    const double now = elapsed();
    if (options_.progress && now >= next_progress_) show_progress(now);
    return most_seconds > 0 && now > most_seconds;
}

// Of the search tree, by weights (Knuth 1975). A shard's part weighs what the others' do, more or less.
double searcher::covered(double weight_left) const {
    return std::max(0.0, 1 - weight_left * std::max(1U, options_.shards));
}

void searcher::show_progress(double now) {
    constexpr double seconds_between = 2;
    next_progress_ = now + seconds_between;
    std::string text = "progress " + options_.label;
    if (with_.jobs > 1) text += " (job " + std::to_string(with_.job) + "/" + std::to_string(with_.jobs) + ")";
    if (options_.shards > 1)
        text += " (part " + std::to_string(options_.shard) + "/" + std::to_string(options_.shards) + ")";
    char numbers[160];
    std::snprintf(numbers, sizeof numbers, ": %.0f s, %llu graphs, %llu executions, %.0f/s", now,
                  static_cast<unsigned long long>(graphs_shown_), static_cast<unsigned long long>(runs_shown_),
                  static_cast<double>(runs_shown_) / now);
    text += numbers;
    if (options_.max_executions != 0)
        text += ", of at most " + std::to_string(options_.max_executions);
    else if (is_exhaustive(options_.mode)) {
        std::snprintf(numbers, sizeof numbers, ", about %.1f %% covered", 100 * covered(engine_.remaining_weight()));
        text += numbers;
    }
    std::fprintf(stderr, "%s\n", text.c_str());
}

// Counts one run. True when the search goes on.
bool searcher::count(run_end end, verdict& into, seen_graphs& seen) {
    const auto counts_graph = [&] {
        const bool fresh = seen.add(engine_.current().fingerprint());
        into.graphs += fresh ? 1U : 0U;
        graphs_shown_ += fresh ? 1U : 0U;
    };
    switch (end) {
        case run_end::not_mine:
            return true;
        case run_end::blocked:
            ++into.executions, ++runs_shown_;
            ++into.blocked;
            return true;
        case run_end::complete:
            if (leave_out_what_cxx20_forbids && cxx20_forbids(engine_.current())) return true;
            ++into.executions, ++runs_shown_;
            counts_graph();
            if (program_.outcome != nullptr) ++into.outcomes[std::string(engine_.outcome())];
            return true;
        case run_end::failed:
            ++into.executions, ++runs_shown_;
            if (attacks().go_on_after_failure) {
                ++into.outcomes["! " + kind_of(engine_.last_failure().reason)];
                counts_graph();
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

// What the engine has counted since the last time.
void searcher::close(verdict& v) {
    for (const auto& [name, n] : std::exchange(engine_.reached(), {})) v.reached[name] += n;
    for (std::size_t k = 0; k != law_kinds.size(); ++k) v.laws[law_kinds[k]] += std::exchange(engine_.laws()[k], 0);
    v.acted |= engine_.acted();
}

std::string searcher::symmetry() const {
    std::string threads;
    for (unsigned t = 0; t < program_.threads; ++t)
        if ((program_.alike >> t & 1U) != 0) threads.append(threads.empty() ? "" : ", ").append(std::to_string(t));
    return threads.empty() ? threads : "; symmetry of threads " + threads;
}

void searcher::exhaust() {
    v_.mode = "exhaustive";
    v_.bound += symmetry();
    v_.result = outcome::pass;
    engine_.shard(options_.shard, options_.shards, options_.shards > 1 || with_.claims != nullptr ? 8 : 0);
    engine_.take_turns(with_.claims, with_.job);
    if (options_.from.empty()) engine_.push_root();
    if (!options_.from.empty())
        exhaust_from();
    else if (with_.board != nullptr)
        exhaust_within_budget();
    else
        exhaust_all();
    if (options_.shards > 1 && v_.mode == "exhaustive")
        v_.mode = "shard " + std::to_string(options_.shard) + "/" + std::to_string(options_.shards);
    if (v_.graphs > seen_graphs::most)
        v_.bound +=
            "; graphs after the first " + std::to_string(seen_graphs::most) + " were not compared with each other";
    if (v_.result == outcome::fail) draw_shortest();
}

void searcher::exhaust_all() {
    const double most = options_.max_seconds > 0 ? options_.max_seconds : options_.mode == search_mode::full ? 0 : 30;
    while (engine_.has_work()) {
        if (is_late(most)) return ended_by_budget(engine_.remaining_weight());
        if (!count(engine_.explore_next(), v_, seen_)) return;
    }
}

// A part of a search. What comes before it on its way was counted by the part that left it.
void searcher::exhaust_from() {
    v_.mode = "part";
    engine_.keep_ways();
    for (const std::string& text : options_.from) {
        trail way;
        if (read_trail(text, way) && engine_.push_at(std::move(way))) continue;
        v_.result = outcome::error;
        v_.reason =
            "this search has no part '" + text + "': it was named by another version of the check or of the code";
        return;
    }
    verdict uncounted;
    close(uncounted);
    while (engine_.has_work() && (options_.max_executions == 0 || v_.executions < options_.max_executions)) {
        if (options_.max_seconds > 0 && is_late(options_.max_seconds)) break;
        if (!count(engine_.explore_next(), v_, seen_)) return;
    }
    if (!engine_.has_work()) return;
    v_.result = outcome::budget_ended;
    char weight[32];
    for (const work_item& w : engine_.take_work()) {
        std::snprintf(weight, sizeof weight, "@%.6g", w.weight);
        v_.left.append(v_.left.empty() ? "" : " ").append(text_of(w.way)).append(weight);
    }
}

void searcher::ended_by_budget(double weight_left) {
    v_.result = outcome::budget_ended;
    v_.mode = "unfinished";  // the word exhaustive is for searches that ended
    v_.bound += "; budget ended, about " + std::to_string(static_cast<int>(covered(weight_left) * 100)) +
                " % of the search tree covered";
}

void searcher::exhaust_within_budget() {
    if (!deal_parts()) return;
    take_turns();
    if (v_.result != outcome::pass || with_.board->stopped != parts_of_a_search) return;
    double left = 0;
    bool ended = true;
    for (const part_board::part& p : now_) left += p.weight, ended = ended && p.ended;
    if (!ended) ended_by_budget(left);
}

// Every job makes the same first runs; they are counted in one of them. False when they were the whole search.
bool searcher::deal_parts() {
    constexpr std::size_t enough = 4 * parts_of_a_search;
    verdict first;
    bool goes_on = true;
    while (goes_on && engine_.has_work() && engine_.work_size() < enough && first.executions < options_.max_executions)
        goes_on = count(engine_.explore_shallowest(), first, seen_);
    close(first);
    used_ = first.executions;
    if (with_.job == 0) add_counts(v_, first);
    if (!goes_on && with_.job != 0) v_.result = outcome::pass, v_.reason.clear();
    if (!goes_on || !engine_.has_work()) return false;
    parts_.resize(parts_of_a_search);
    std::vector<work_item> work = engine_.take_work();
    for (part_board::part& p : now_) p.ended = true;
    for (std::size_t i = 0; i != work.size(); ++i) {
        const std::size_t k = i % parts_of_a_search;
        now_[k].weight += work[i].weight;
        now_[k].ended = false;
        if (mine(k)) parts_[k].work.push_back(std::move(work[i]));
    }
    return true;
}

void searcher::take_turns() {
    part_board& board = *with_.board;
    const std::uint64_t most = options_.max_executions != 0 ? options_.max_executions : ~std::uint64_t{0};
    std::uint64_t quantum = 256;
    for (bool more = true; more; quantum *= 2) {
        const auto live =
            static_cast<std::uint64_t>(std::ranges::count_if(now_, [](const part_board::part& p) { return !p.ended; }));
        std::uint64_t left = most - used_;
        if (live == 0 || left == 0) return;
        const std::uint64_t share = std::max(std::uint64_t{1}, std::min(quantum, left / live));
        for (unsigned k = 0; k != parts_of_a_search; ++k) {
            if (now_[k].ended) continue;
            const std::uint64_t granted = std::min(share, left);
            left -= granted;
            if (mine(k)) turn_of(k, granted);
        }
        ::pthread_barrier_wait(&board.turn);
        const unsigned stopped = board.stopped;
        for (unsigned k = 0; k != parts_of_a_search; ++k) {
            if (now_[k].ended) continue;
            now_[k] = board.parts[k];
            used_ += now_[k].executions;
            if (mine(k) && k <= stopped) add_counts(v_, parts_[k].round);
        }
        more = stopped == parts_of_a_search && !board.late;
        if (!more && !(stopped != parts_of_a_search && mine(stopped)))  // a failure here came after the first one
            v_.result = outcome::pass, v_.reason.clear();
        ::pthread_barrier_wait(&board.turn);
    }
}

// So many executions of one part. At a failure the engine keeps its work, for a shorter one to be found.
void searcher::turn_of(unsigned k, std::uint64_t executions) {
    part_board& board = *with_.board;
    part& p = parts_[k];
    p.round = {};
    if (p.lines == nullptr) engine_.give_work(std::move(p.work));
    bool stopped = false;
    while (!stopped && p.round.executions < executions && (p.lines != nullptr || engine_.has_work())) {
        if (board.stopped.load(std::memory_order_relaxed) < k) break;
        if (is_late(options_.max_seconds)) {
            board.late = true;
            break;
        }
        stopped =
            !count(p.lines != nullptr ? engine_.follow(*p.lines, nullptr) : engine_.explore_next(), p.round, *p.seen);
    }
    close(p.round);
    board.parts[k] = {p.round.executions, engine_.remaining_weight(), p.lines == nullptr && !engine_.has_work()};
    if (!stopped) {
        if (p.lines == nullptr) p.work = engine_.take_work();
        return;
    }
    for (unsigned first = board.stopped; k < first && !board.stopped.compare_exchange_weak(first, k);) {
    }
}

// A failure with fewer events is easier to read, and one that C++20 allows goes before all that it forbids. By runs and not
// by time: the same search tells the same story.
void searcher::minimise(failure& best) {
    constexpr unsigned most_runs = 5'000;
    std::string kind = kind_of(best.reason);
    bool best_is_forbidden = cxx20_forbids(best.g);
    engine_.look_beyond(false);
    for (unsigned runs = 0; runs < most_runs && engine_.has_work(); ++runs) {
        if (engine_.explore_next() != run_end::failed) continue;
        const failure& f = engine_.last_failure();
        if (program_.no_finding != nullptr && f.reason.starts_with(program_.no_finding)) continue;
        const bool is_better = kind_of(f.reason) == kind && f.g.count() < best.g.count();
        if (!best_is_forbidden && (!is_better || cxx20_forbids(f.g))) continue;
        if (best_is_forbidden && !is_better && cxx20_forbids(f.g)) continue;
        best = f;
        kind = kind_of(f.reason);
        best_is_forbidden = cxx20_forbids(f.g);
    }
}

void searcher::draw_shortest() {
    failure best = engine_.last_failure();
    if (is_no_finding(best)) return;
    close(v_);
    minimise(best);
    draw(best);
    verdict uncounted;
    close(uncounted);
}

void searcher::show(const std::vector<trace_row>& rows) {
    if (options_.traceless) return;
    const trace_view view = lay_out(rows, program_.threads);
    v_.trace = as_text(view);
    v_.trace_html = as_html(view);
}

bool searcher::is_no_finding(const failure& f) {
    if (program_.no_finding == nullptr || !f.reason.starts_with(program_.no_finding)) return false;
    v_.reason = f.reason;
    return true;
}

// What RC11 allows and C++20 does not is a false alarm by design.
void searcher::name_the_model(const graph& g) {
    if (cxx20_forbids(g))
        v_.reason +=
            "; RC11 allows this execution, and C++20's order of seq_cst operations forbids it ([atomics.order] 4): a false "
            "alarm by design, unless another execution fails, too";
}

void searcher::draw(const failure& f) {
    if (is_no_finding(f)) return;
    const unsigned gave_up = f.g.used(timeouts);
    engine_.allow_timeouts(gave_up);
    along_graph line(f.g, f.thread);
    std::vector<trace_row> rows;
    const run_end end = engine_.follow(line, rows_for(rows));
    v_.reason = end == run_end::failed ? engine_.last_failure().reason : f.reason;
    name_the_model(f.g);
    v_.replay = "x1:" + (gave_up > options_.bounds.timeouts ? "+" + std::to_string(gave_up) + "," : "") + line.token();
    show(rows);
    if (end != run_end::failed) v_.trace += "(the failure did not show again on this line; please report it)\n";
}

void searcher::hunt() {
    const unsigned depth = options_.mode == search_mode::random ? 0 : options_.bound != 0 ? options_.bound : 3;
    v_.mode = depth == 0 ? "random" : "pct(" + std::to_string(depth) + ")";
    v_.bound += "; executions drawn at random, not all";
    if (options_.max_executions == 0 && options_.max_seconds <= 0) options_.max_executions = 100'000;
    parts_.resize(parts_of_a_search);
    for (unsigned k = 0; k != parts_of_a_search; ++k)
        parts_[k].lines = std::make_unique<hunter>(
            options_.seed + (std::uint64_t{options_.shard} * parts_of_a_search + k) * 0x1'0001U, depth);
    v_.result = outcome::pass;
    take_turns();
    v_.graphs = 0;  // one may be met in several parts
    if (v_.result == outcome::fail) {
        const failure f = engine_.last_failure();
        draw(f);
    }
}

// Every line of execution with no preemption, then with one, and so on: systematic, and yet not all executions.
void searcher::hunt_with_few_preemptions() {
    const unsigned most = options_.bound != 0 ? options_.bound : 2;
    v_.mode = "bound(" + std::to_string(most) + ")";
    if (options_.max_executions == 0 && options_.max_seconds <= 0) options_.max_seconds = 30;
    const auto spent = [&] {
        return (options_.max_executions != 0 && v_.executions >= options_.max_executions) ||
               is_late(options_.max_seconds);
    };
    v_.result = outcome::pass;
    unsigned n = 0;
    for (bool more = true; more && n <= most; ++n) {
        few_preemptions lines(n, options_.shard, options_.shards);
        do {
            if (spent()) {
                v_.result = outcome::budget_ended;
                more = false;
                break;
            }
            const run_end end = engine_.follow(lines, nullptr);
            // What has fewer preemptions was counted in an earlier round.
            const bool is_new = lines.used() == n && lines.mine();
            if ((is_new || end == run_end::nondeterministic) && !count(end, v_, seen_)) more = false;
        } while (more && lines.next());
        if (!more) break;
    }
    if (v_.result == outcome::pass)
        v_.bound += "; every line of execution with at most " + counted(most, "preemption") + ", not all executions";
    if (v_.result == outcome::budget_ended)
        v_.bound += "; budget ended among the lines of execution with " + counted(n, "preemption");
    if (v_.result == outcome::fail) {
        const failure f = engine_.last_failure();
        draw(f);
    }
}

void searcher::replay() {
    v_.mode = "replay";
    if (options_.replay.rfind("x1:", 0) != 0) {
        v_.reason = "the token is not one of this explorer's (x1:...)";
        return;
    }
    std::string token = options_.replay.substr(3);
    if (token.starts_with('+')) {  // more timeouts than the bound has
        const std::size_t end = std::min(token.find(','), token.size());
        engine_.allow_timeouts(static_cast<unsigned>(std::strtoul(token.c_str() + 1, nullptr, 10)));
        token.erase(0, end + 1);
    }
    along_token line(std::move(token));
    std::vector<trace_row> rows;
    v_.result = outcome::pass;
    const run_end end = engine_.follow(line, rows_for(rows));
    (void)count(end, v_, seen_);
    if (end == run_end::failed) {
        v_.reason = engine_.last_failure().reason;
        name_the_model(engine_.last_failure().g);
    }
    v_.replay = options_.replay;
    show(rows);
    if (line.off()) {
        v_.result = outcome::error;
        v_.reason = "the token does not fit this program: it was made by another version of the check or of the code";
    }
}

}  // namespace apiary::model::explorer
