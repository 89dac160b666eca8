// See simulation.hpp.
#include <apiary/model_check/relacy/simulation.hpp>

#include <charconv>
#include <optional>
#include <sstream>
#include <vector>

#include <apiary/model_check/trace_table.hpp>

namespace apiary::model::relacy_detail {

namespace {

constexpr const char* blind_random =
    "no load buffering; stores append to modification order; a load sees at most 2 stores back; a strong CAS never "
    "sees a stale value; C++11 release sequences; plain members of heap objects are not watched";
constexpr const char* blind_tree =
    "no load buffering; stores append to modification order; a load sees at most 1 store back; a strong CAS never "
    "sees a stale value; C++11 release sequences; freed memory is never recycled; plain members of heap objects are "
    "not watched";

std::vector<std::string> split(const std::string& text, char at) {
    std::vector<std::string> parts;
    std::istringstream in(text);
    for (std::string part; std::getline(in, part, at);) parts.push_back(part);
    return parts;
}

template <class N>
bool to_number(const std::string& text, N& out) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    return error == std::errc{} && end == text.data() + text.size();
}

std::optional<std::memory_order> order_of(const std::string& name) {
    if (name == "relaxed" || name == "dropped") return std::memory_order_relaxed;
    if (name == "acquire") return std::memory_order_acquire;
    if (name == "release") return std::memory_order_release;
    if (name == "acq_rel") return std::memory_order_acq_rel;
    if (name == "seq_cst") return std::memory_order_seq_cst;
    return std::nullopt;
}

const char* name_of(std::memory_order order) {
    switch (order) {
        case std::memory_order_relaxed:
            return "relaxed";
        case std::memory_order_consume:
            return "consume";
        case std::memory_order_acquire:
            return "acquire";
        case std::memory_order_release:
            return "release";
        case std::memory_order_acq_rel:
            return "acq_rel";
        case std::memory_order_seq_cst:
            break;
    }
    return "seq_cst";
}

}  // namespace

simulation::simulation(const search_options& options, int threads) : options_(options), threads_(threads) {
    world& w = the_world;
    w.seed = options.seed;
    w.shard = options.shard;
    w.shards = options.shards == 0 ? 1 : options.shards;
    w.max_executions = options.max_executions;
    if (w.max_executions == 0 && options.max_seconds <= 0) w.max_executions = 20'000;
    if (options.max_seconds > 0)
        w.deadline = started_ + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                    std::chrono::duration<double>(options.max_seconds));
    switch (options.mode) {
        case search_mode::standard:
            how_ = "mixed";
            break;
        case search_mode::random:
            how_ = "random";
            w.strategy = world::hunt::uniform;
            break;
        case search_mode::pct:
            w.strategy = world::hunt::pct;
            w.depth = options.bound == 0 ? 3 : options.bound;
            how_ = "pct" + std::to_string(w.depth);
            break;
        case search_mode::bound:
            systematic_ = true;
            w.bound = options.bound == 0 ? 2 : options.bound;
            how_ = "bound" + std::to_string(w.bound);
            break;
        case search_mode::full:
            systematic_ = true;
            w.unbounded = true;
            how_ = "full";
            break;
    }
    if (!options.replay.empty()) apply_token(options.replay);
    if (!options.mutate_site.empty()) apply_mutation(options.mutate_site, options.mutate_order);

    params_.output_stream = &silence_;
    params_.progress_stream = &silence_;
    params_.iteration_count = ~rl::iteration_t{0};
    params_.execution_depth_limit = 5'000;
    // Relacy asks this type how far back a load may read, and whether condition variables wake for nothing.
    params_.search_type = systematic_ ? rl::sched_bound : rl::sched_random;
}

void simulation::apply_token(const std::string& token) {
    world& w = the_world;
    const std::vector<std::string> part = split(token, '-');
    const std::string name = part.empty() ? "" : part[0];
    bool good = false;
    if (part.size() == 4) {
        std::uint64_t execution = 0;
        systematic_ = false;
        if (name == "mixed")
            w.strategy = world::hunt::mixed, good = true;
        else if (name == "random")
            w.strategy = world::hunt::uniform, good = true;
        else if (name.starts_with("pct"))
            w.strategy = world::hunt::pct, good = to_number(name.substr(3), w.depth);
        good = good && to_number(part[1], w.seed) && to_number(part[2], execution) && execution != 0 &&
               to_number(part[3], w.replay_steps);
        w.shard = execution - 1;
        w.shards = 1;
    } else if (part.size() == 2) {
        systematic_ = true;
        w.unbounded = name == "full";
        good = w.unbounded || (name.starts_with("bound") && to_number(name.substr(5), w.bound));
        decisions_ = part[1];
        good = good && decisions_.find_first_not_of("0123456789abcdefghijklmnopqrstuvwxyz") == std::string::npos;
        w.decisions = decisions_;
        w.shards = 1;
    }
    if (!good) {
        error_ = "'" + token + "' is no token of this engine; a verdict of a failed check names one";
        return;
    }
    how_ = name;
    replaying_ = true;
    w.tracing = true;
    w.max_executions = 1;
}

void simulation::apply_mutation(const std::string& site, const std::string& order) {
    world& w = the_world;
    w.mutating = true;
    if (site.starts_with(recheck_prefix)) {
        w.mutate_recheck = keep(site.substr(std::string_view(recheck_prefix).size()));
        return;
    }
    // file:line:column:operation, where the last two may be left out; the operation of a compare-exchange
    // may end in ".failure".
    const std::vector<std::string> part = split(site, ':');
    const std::optional<std::memory_order> wanted = order_of(order);
    bool good = part.size() >= 2 && part.size() <= 4 && wanted.has_value() && to_number(part[1], w.mutate_line);
    if (good && part.size() >= 3) good = to_number(part[2], w.mutate_column);
    if (!good) {
        error_ = "cannot mutate '" + site + "=" + order +
                 "': it reads FILE:LINE[:COLUMN[:OPERATION]]=ORDER, with ORDER "
                 "one of relaxed, acquire, release, acq_rel, seq_cst, dropped";
        return;
    }
    w.mutate_file = keep(part[0]);
    if (part.size() == 4) {
        std::string operation = part[3];
        w.mutate_failure_order = operation.ends_with(failure_site);
        if (w.mutate_failure_order) operation.resize(operation.size() - failure_site.size());
        w.mutate_operation = keep(operation);
    }
    w.mutate_order = *wanted;
    w.mutate_order_name = keep(order);
}

std::string_view simulation::keep(const std::string& text) {
    kept_.push_back(text);
    return kept_.back();
}

void simulation::ended(rl::test_result_e result, const char* state) {
    result_ = result;
    state_ = state;
}

std::string simulation::token() const {
    // Relacy writes the number of its iteration and a space, then our scheduler's state.
    const std::size_t space = state_.find(' ');
    std::string mine = space == std::string::npos ? "" : state_.substr(space + 1);
    if (systematic_) return how_ + "-" + mine;
    for (char& c : mine)
        if (c == ' ') c = '-';
    return how_ + "-" + std::to_string(the_world.seed) + "-" + mine;
}

std::string simulation::reason() const {
    if (the_world.law != nullptr) return the_world.law;
    switch (result_) {
        case rl::test_result_data_race:
            return "data race";
        case rl::test_result_access_to_freed_memory:
            return "access to freed memory";
        case rl::test_result_double_free:
            return "double free";
        case rl::test_result_memory_leak:
            return "memory leak";
        case rl::test_result_resource_leak:
            return "leak of an atomic, a cell or a mutex";
        case rl::test_result_unitialized_access:
            return "uninitialised read";
        case rl::test_result_deadlock:
            return "deadlock: every thread that has not ended is blocked";
        case rl::test_result_livelock:
            return "livelock: more than " + std::to_string(params_.execution_depth_limit) + " steps";
        default:
            return rl::test_result_str(result_);
    }
}

verdict simulation::conclude() {
    const world& w = the_world;
    verdict v;
    v.mode = how_;
    v.executions = w.executions;
    v.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
    v.blind = systematic_ ? blind_tree : blind_random;
    if (!ready()) {
        v.reason = error_;
        return v;
    }
    if (systematic_)
        v.bound = (w.unbounded ? "any number of" : "at most " + std::to_string(w.bound)) + std::string(" preemptions");
    else
        v.bound = "drawn executions, seed " + std::to_string(w.seed);

    for (const counted_name& r : w.reached)
        if (r.name != nullptr) v.reached[r.name] += r.count;
    for (std::size_t k = 0; k != law_kinds.size(); ++k) v.laws[law_kinds[k]] = w.laws[k];
    v.acted = w.acted;
    for (const counted_name& r : w.rechecked)
        if (r.name != nullptr) v.sites[recheck_prefix + std::string(r.name)] = recheck_kept;
    for (const counted_outcome& o : w.outcomes)
        if (o.count != 0) v.outcomes[o.text.data()] = o.count;
    for (const site_record& s : w.sites) {
        if (s.file == nullptr) continue;
        const std::string name = std::string(place_of(s.file)) + ":" + std::to_string(s.line) + ":" +
                                 std::to_string(s.column) + ":" + s.operation;
        v.sites[name] = name_of(s.order);
        if (std::string_view(s.operation).starts_with("compare_exchange"))
            v.sites[name + std::string(failure_site)] = name_of(s.failure);
    }

    if (result_ != rl::test_result_success) {
        v.result = outcome::fail;
        v.reason = reason();
        v.replay = replaying_ ? options_.replay : token();
    } else if (systematic_ && !replaying_ && !w.finished) {
        v.result = outcome::budget_ended;
        v.reason = "the budget ended before every schedule within the bound was tried";
    } else {
        v.result = outcome::pass;
    }
    v.mutation_met = w.mutation_met ? 1 : 0;
    if (replaying_) write_trace(v);
    return v;
}

void simulation::write_trace(verdict& v) const {
    std::vector<trace_row> rows;
    const auto add = [&](const step& s) -> trace_row* {
        // What one thread alone does before and after the others is told by its stores.
        if (s.thread < 0 && !s.pending && !s.writes) return nullptr;
        trace_row row;
        row.function = s.at.function_name();
        row.thread = s.thread;
        row.file = s.at.file_name();
        row.line = s.at.line();
        row.column = s.at.column();
        row.operation = s.operation;
        row.object = reinterpret_cast<std::uintptr_t>(s.object);
        row.text = s.text.data();
        row.wrote = s.wrote;
        row.read = s.read;
        row.reads = s.reads && !s.plain;
        row.writes = s.writes && !s.plain;
        rows.push_back(row);
        return &rows.back();
    };
    std::vector<std::size_t> row_of;
    for (const step& s : the_world.steps) {
        row_of.push_back(rows.size());
        add(s);
    }
    if (result_ == rl::test_result_deadlock) {
        for (const step& s : the_world.open)
            if (s.pending) add(s)->text = "waits, and nobody is left to wake it";
    }
    const step& last = the_world.open[the_world.column_of_running()];
    if (result_ == rl::test_result_success || result_ == rl::test_result_deadlock || !last.pending) {
        trace_row end;
        end.operation = "end";
        end.text = result_ == rl::test_result_success ? "the execution ends, no law is broken" : v.reason;
        end.failed = result_ != rl::test_result_success;
        rows.push_back(end);
    } else {
        trace_row* row = add(last);
        row->failed = true;
        row->text = last.operation == std::string_view("fail") ? v.reason : "<- " + v.reason;
        if (result_ == rl::test_result_data_race) row->note = conflict(last, row_of);
    }
    const trace_view view = lay_out(rows, static_cast<unsigned>(threads_));
    v.trace = as_text(view);
    v.trace_html = as_html(view);
}

// The other half of a race: the last access of another thread to the same cell.
std::string simulation::conflict(const step& racing, const std::vector<std::size_t>& row_of) {
    const bool writes = std::string_view(racing.operation) != "read";
    for (std::size_t i = the_world.steps.size(); i-- != 0;) {
        const step& other = the_world.steps[i];
        if (other.object != racing.object || other.thread == racing.thread || !(writes || other.writes)) continue;
        return "races with row " + std::to_string(row_of[i] + 1) + ": no release and acquire between the two";
    }
    return "";
}

}  // namespace apiary::model::relacy_detail
