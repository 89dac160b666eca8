// linearizable: APIARY_LINEARIZABLE. Each generated scenario is a scenario as any other (run.hpp); at its end the calls,
// and what they returned, are compared with the sequential specification.
//
// A call precedes another that begins with a clock that covers all events of its thread until it ended. README.md says why
// it is that order.
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <apiary/model_check/as_it_is/generated.hpp>
#include <apiary/model_check/as_it_is/history.hpp>
#include <apiary/model_check/as_it_is/run.hpp>
#include <apiary/model_check/as_it_is/runtime.hpp>
#include <apiary/model_check/explorer/searcher.hpp>

namespace apiary::model::as_it_is {

verdict not_instrumented();

namespace {

using ::apiary::as_it_is::linearizable_text;
using ::apiary::as_it_is::operation_text;
using ::apiary::as_it_is::part;
using ::apiary::as_it_is::returned_value;
using ::apiary::as_it_is::specification_text;
using ::apiary::as_it_is::step;

class state : public sequential {
public:
    state(const linearizable_text& of, void* at) : of_(of), at_(at) {}
    ~state() override { of_.states.drop(at_); }
    state(const state&) = delete;
    state& operator=(const state&) = delete;
    [[nodiscard]] std::unique_ptr<sequential> copy() const override {
        return std::make_unique<state>(of_, of_.states.copy(at_));
    }
    [[nodiscard]] bool equals(const sequential& other) const override {
        return of_.states.equal(at_, static_cast<const state&>(other).at_);
    }
    bool accepts(const history::call& c) override {
        const operation_text& o = of_.operations[c.operation];
        if (of_.states.allows != nullptr && of_.states.allows(o.name.c_str(), c.returned)) return true;
        return o.on_specification(at_, c.argument) == c.returned;
    }

private:
    const linearizable_text& of_;
    void* at_;
};

// A call of the execution under way.
struct done_call {
    unsigned which = 0, call = 0;
    bool ended = false;
    returned_value returned{};
    unsigned thread = 0, ends = 0;   // by events of its thread
    explorer::vector_clock known{};  // when it began
};

struct {
    const linearizable_text* text = nullptr;
    const std::vector<generated_call>* calls = nullptr;
    const generated* now = nullptr;
    std::vector<done_call> done;
    std::vector<history> explained;  // of the scenario under way
} current;

bool is_thread(unsigned which) { return which < static_cast<unsigned>(part::first); }

bool precedes(const done_call& a, const done_call& b) {
    if (a.which == b.which) return a.call < b.call;
    const auto place = [](unsigned which) {
        return which == static_cast<unsigned>(part::first) ? 0 : is_thread(which) ? 1 : 2;
    };
    if (place(a.which) != place(b.which)) return place(a.which) < place(b.which);
    // Of a thread that had no event yet, what tells of the call is the first one after it.
    return b.known[a.thread] >= std::max(a.ends, 1U);
}

history history_of() {
    history h;
    for (const done_call& b : current.done) {
        const generated_call& c = (*current.calls)[current.now->of(b.which)[b.call]];
        h.calls.push_back({c.operation, c.value, b.returned});
        std::uint32_t bits = 0;
        for (std::size_t i = 0; i < current.done.size(); ++i)
            if (precedes(current.done[i], b)) bits |= 1U << i;
        h.before.push_back(bits);
    }
    if (current.text->plan.quiescent) h.before = across_quiescence(h.before);
    return h;
}

std::string call_text(unsigned which, unsigned call, bool with_result) {
    const generated_call& c = (*current.calls)[current.now->of(which)[call]];
    std::string text =
        current.text->operations[c.operation].name + "(" + (c.has_value ? std::to_string(c.value) : "") + ")";
    if (!with_result) return text;
    for (const done_call& d : current.done)
        if (d.which == which && d.call == call && d.ended) {
            if (d.returned.what == returned_value::kind::empty) text += " = empty";
            if (d.returned.what == returned_value::kind::value) text += " = " + std::to_string(d.returned.value);
        }
    return text;
}

std::string scenario_text(bool with_results) {
    const auto program = [&](unsigned which) {
        std::string text;
        for (unsigned k = 0; k < current.now->of(which).size(); ++k)
            text += (k == 0 ? "" : ", ") + call_text(which, k, with_results);
        return text;
    };
    std::string text;
    for (unsigned t = 0; t < current.now->threads.size(); ++t)
        if (!current.now->threads[t].empty()) text += (text.empty() ? "" : " | ") + program(t);
    if (!current.now->first.empty()) text = program(static_cast<unsigned>(part::first)) + "; then " + text;
    if (!current.now->last.empty()) text += "; then " + program(static_cast<unsigned>(part::last));
    const generated::handover& w = current.now->waits;
    if (w.is_one())
        text += "; " + call_text(static_cast<unsigned>(w.to), w.before, false) + " waits for " +
                call_text(static_cast<unsigned>(w.from), w.after, false);
    return text;
}

std::string what_is_broken() {
    return current.text->plan.quiescent ? "not quiescently consistent: " : "not linearizable: ";
}

constexpr std::array counted{"generated", "exhausted", "cut"};

// One scenario. Most are small, and jobs take longer to start than the search takes: they share only what is large, where it
// is exhausted without a budget of executions.
verdict run_one(const scenario& s, search_options o) {
    constexpr std::uint64_t small = 2'000;
    const bool alone_first = o.jobs > 1 && o.max_executions == 0 && o.replay.empty() && explorer::is_exhaustive(o.mode);
    if (alone_first) {
        search_options alone = o;
        alone.jobs = 1;
        alone.max_executions = small;
        verdict v = run(s, alone);
        if (v.result != outcome::budget_ended) return v;
        if (o.max_seconds > 0) o.max_seconds = std::max(1e-3, o.max_seconds - v.seconds);
    } else {
        o.jobs = 1;
    }
    return run(s, o);
}

// What the searches of all scenarios have cut stands in the one bound, whichever scenario came to it.
void add_what_was_cut(std::string& all, const std::string& bound) {
    for (const std::string_view words : {runtime::bound_of_cuts, runtime::bound_of_given_up})
        if (const std::size_t at = bound.find(words); at != std::string::npos && all.find(words) == std::string::npos)
            all += bound.substr(at, bound.find("; ", at + 1) - at);
}

// All scenarios, one after another, until one fails.
verdict run_scenarios(const linearizable_text& text, void (*body)(), const search_options& options) {
    const auto began = std::chrono::steady_clock::now();
    const auto elapsed = [&] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    };
    std::vector<generated_call> calls;
    for (unsigned o = 0; o < text.operations.size(); ++o) {
        const operation_text& op = text.operations[o];
        if (!op.has_value) calls.push_back({o, false, 0, op.only_thread});
        for (const long value : op.values) calls.push_back({o, true, value, op.only_thread});
    }
    verdict all;
    const std::vector<generated> every = generate(text.plan, calls, all.reason);
    if (every.empty()) {
        all.result = outcome::fail;
        all.reason = "refused: " + all.reason;
        return all;
    }
    std::size_t only = every.size();
    search_options o = options;
    if (!options.replay.empty()) {
        const char *const begin = options.replay.data(), *const end = begin + options.replay.size();
        const auto [dot, error] = std::from_chars(begin, end, only);
        if (error != std::errc{} || dot == end || *dot != '.' || only >= every.size()) {
            all.reason = "'" + options.replay + "' is no token of this check: NUMBER.TOKEN, of its " +
                         std::to_string(every.size()) + " scenarios";
            return all;
        }
        o.replay.assign(dot + 1, end);
    }
    current.text = &text;
    current.calls = &calls;
    std::uint64_t exhausted = 0, cut = 0;
    if (options.estimate)
        std::fprintf(stderr, "estimate %s: %zu scenarios; how large they are is not guessed\n", options.label.c_str(),
                     every.size());
    o.estimate = false;
    double next_progress = 2;
    all.result = outcome::pass;
    for (std::size_t i = 0; i < every.size() && all.result != outcome::fail && all.result != outcome::error; ++i) {
        if (only != every.size() && i != only) continue;
        if (options.max_seconds > 0) o.max_seconds = options.max_seconds - elapsed();
        if (options.max_executions != 0)
            o.max_executions = options.max_executions - std::min(options.max_executions, all.executions);
        if ((options.max_seconds > 0 && o.max_seconds <= 0) || (options.max_executions != 0 && o.max_executions == 0)) {
            ++cut;
            continue;
        }
        if (options.progress && elapsed() >= next_progress) {
            next_progress = elapsed() + 2;
            std::fprintf(stderr, "progress %s: %.0f s, %zu of %zu scenarios\n", options.label.c_str(), elapsed(), i,
                         every.size());
        }
        current.now = &every[i];
        current.explained.clear();
        o.label = options.label + " " + scenario_text(false);
        const auto started = std::ranges::count_if(every[i].threads, [](const auto& t) { return !t.empty(); });
        const auto forget = [] { current.done.clear(); };
        const scenario s{text.name.c_str(), body, forget, nullptr, 1U + static_cast<unsigned>(started)};
        verdict v = run_one(s, o);
        explorer::add_counts(all, v);
        all.blind = v.blind;
        if (i == 0 || i == only)
            all.bound = v.bound;
        else
            add_what_was_cut(all.bound, v.bound);
        const bool complete = v.result == outcome::pass && v.mode.starts_with("exhaustive");
        exhausted += complete ? 1U : 0U;
        if (v.result == outcome::budget_ended) ++cut;
        if (all.mode.empty() || (v.mode != all.mode && !complete)) all.mode = v.mode;
        if (v.result != outcome::fail && v.result != outcome::error) continue;
        all.result = v.result;
        all.mode = v.mode;
        all.reason =
            v.reason.starts_with(what_is_broken()) ? v.reason : v.reason + " [in " + scenario_text(false) + "]";
        all.trace = std::move(v.trace);
        all.trace_html = std::move(v.trace_html);
        if (!v.replay.empty()) all.replay = std::to_string(i) + "." + v.replay;
    }
    all.seconds = elapsed();
    const std::uint64_t numbers[] = {every.size(), exhausted, cut};
    std::string told;
    for (std::size_t k = 0; k < counted.size(); ++k)
        told += (k == 0 ? "" : ", ") + std::to_string(numbers[k]) + " " + counted[k];
    all.bound += "; at most " + std::to_string(text.plan.threads) + " threads with " +
                 std::to_string(text.plan.operations) + " operations; scenarios: " + told;
    if (all.result == outcome::pass && cut != 0) {
        all.result = outcome::budget_ended;
        all.mode = "unfinished";
        all.reason = "not finished: some scenarios were cut; --budget gives more";
    }
    return all;
}

}  // namespace

}  // namespace apiary::model::as_it_is

namespace apiary::as_it_is {

namespace model = apiary::model;
using model::as_it_is::current;

unsigned threads_of_scenario() { return static_cast<unsigned>(current.now->threads.size()); }

unsigned calls_of(unsigned which) { return static_cast<unsigned>(current.now->of(which).size()); }

bool waits_before(unsigned thread, unsigned call) {
    return current.now->waits.to == static_cast<int>(thread) && current.now->waits.before == call;
}

bool hands_over_after(unsigned thread, unsigned call) {
    return current.now->waits.from == static_cast<int>(thread) && current.now->waits.after == call;
}

step begin_call(unsigned which, unsigned call) {
    const model::as_it_is::outside_program now;
    model::as_it_is::runtime& r = model::as_it_is::the_runtime();
    r.effect();
    current.done.push_back({which, call, false, {}, r.self(), r.engine().next_index(), r.engine().knowledge()});
    const model::as_it_is::generated_call& c = (*current.calls)[current.now->of(which)[call]];
    return {current.text->operations[c.operation].on_type, c.value};
}

void end_call(unsigned which, unsigned call, returned_value returned) {
    const model::as_it_is::outside_program now;
    model::as_it_is::runtime& r = model::as_it_is::the_runtime();
    r.effect();
    for (auto& d : current.done)
        if (d.which == which && d.call == call) {
            d.ended = true;
            d.returned = returned;
            d.ends = r.engine().next_index();
        }
}

void compare_with_specification() {
    const model::as_it_is::outside_program now;
    model::explorer::law_asked();
    // In the order of the scenario, so that the same history is known again.
    std::ranges::sort(current.done, {}, [](const auto& d) { return d.which * 64 + d.call; });
    const model::as_it_is::history h = model::as_it_is::history_of();
    if (std::ranges::find(current.explained, h) != current.explained.end()) return;
    const model::as_it_is::state initial(*current.text, current.text->states.make());
    if (model::as_it_is::linearizable(h, initial)) {
        current.explained.push_back(h);
        return;
    }
    model::as_it_is::runtime::engine().fail(model::as_it_is::what_is_broken() + model::as_it_is::scenario_text(true) +
                                            " [" + current.text->specification + "]");
}

bool add_linearizable(linearizable_text text, void (*body)(), bool instrumented, std::source_location at) {
    model::check_entry entry;
    for (const char c : text.name) {
        const bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (fits)
            entry.name += c;
        else if (!entry.name.empty() && entry.name.back() != '_')
            entry.name += '_';
    }
    if (entry.name.ends_with('_')) entry.name.pop_back();
    entry.what = "as if one after the other: " + text.specification;
    entry.file = at.file_name();
    entry.as_it_is = true;
    entry.threads = 1;
    entry.engines = entry.must_see = model::explorer_only;
    entry.one_engine_because = "only the explorer stands behind the compiler's instrumentation";
    entry.exhibit = text.plan.exhibit.at;
    entry.expected_reason = text.fails_with;
    if (text.fails_with[0] != '\0') entry.kind = model::check_kind::exhibit;
    entry.run_explorer = [text = std::move(text), body, instrumented](const model::search_options& options) {
        if (!instrumented) return model::as_it_is::not_instrumented();
        return model::as_it_is::run_scenarios(text, body, options);
    };
    model::registry().push_back(std::move(entry));
    return true;
}

}  // namespace apiary::as_it_is
