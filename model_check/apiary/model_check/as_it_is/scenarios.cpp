// scenarios: APIARY_SCENARIO and apiary::check(), and what the explorer is given for them.
#include <apiary/check.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include <apiary/model_check/as_it_is/calls.hpp>
#include <apiary/model_check/as_it_is/image.hpp>
#include <apiary/model_check/as_it_is/run.hpp>
#include <apiary/model_check/as_it_is/runtime.hpp>
#include <apiary/model_check/as_it_is/tls.hpp>
#include <apiary/model_check/explorer/searcher.hpp>
#include <apiary/model_check/explorer/symmetry.hpp>
#include <apiary/model_check/never_reached.hpp>

extern "C" const bool apiary_allows_assembly, apiary_sees_values;  // image_begin.cpp

namespace apiary::model::as_it_is {

void compiled_is_linked();
void heap_is_linked();
void threads_are_linked();
void threads_of_c_are_linked();
void kernel_is_linked();
void refused_is_linked();
void shared_locks_are_linked();
void libstdcxx_is_linked();

verdict not_instrumented() {
    verdict v;
    v.result = outcome::fail;
    v.reason =
        "refused: the scenario was compiled without -fsanitize=thread. Remedy: name its source in "
        "apiary_check_as_is(NAME SOURCES …)";
    return v;
}

namespace {
constinit bool instrumentation_shows = false;
}
void told_that_it_shows() { instrumentation_shows = true; }

namespace {
// A replay's token ends so where the search took what came before thread 0's first event for none (twins.cpp).
constexpr std::string_view token_of_quiet = ",quiet";
}  // namespace

verdict run(const scenario& s, const search_options& options) {
    longest_loop = options.loop_seconds;
    tells_reach = options.reach;
    compiled_is_linked();
    heap_is_linked();
    threads_are_linked();
    threads_of_c_are_linked();
    kernel_is_linked();
    refused_is_linked();
    shared_locks_are_linked();
    libstdcxx_is_linked();
    explorer::program p{};
    p.name = s.name;
    p.size = p.alignment = 1;
    p.construct = [](void*) {};
    p.before = [](void*) { the_runtime().before(); };
    p.thread = [](void*, unsigned i) { the_runtime().thread(i); };
    p.after = [](void*) { the_runtime().after(); };
    p.destroy = [](void*) {};
    p.left = use_own_block;
    p.recognised =
        "a loop that waits is recognised where it comes back with the same registers and stack, and has changed "
        "nothing; one that counts, where its rounds read the same and do no more. Remedy, where it ends later: --bounds "
        "steps=";
    if (s.outcome != nullptr)
        p.outcome = [](void*, std::array<char, 128>& buffer) { return the_runtime().outcome(buffer); };
    p.no_finding = search_again;
    std::vector<thread_start> starts;
    for (unsigned nth = 0; nth + 1 < s.threads; ++nth) starts.push_back({0, nth});
    search_options asked = options;
    bool quietly = asked.replay.ends_with(token_of_quiet);
    if (quietly) asked.replay.resize(asked.replay.size() - token_of_quiet.size());
    // The parts of a search agree beforehand on what is left out: none may find out alone that threads are told apart.
    asked.alike = options.alike && explorer::is_exhaustive(options.mode) && options.shards == 1 && options.from.empty() &&
                  options.replay.empty();
    for (;;) {
        the_runtime().prepare(s, starts, asked, quietly);
        p.threads = static_cast<unsigned>(starts.size()) + 1;
        verdict v = explorer::explore(p, asked);
        if (v.result == outcome::fail && v.reason.starts_with(one_more_thread)) {
            const char* const by = v.reason.c_str() + one_more_thread.size();
            thread_start next;
            if (std::sscanf(by, "%u after %u", &next.by, &next.nth) == 2) starts.push_back(next);
            continue;
        }
        if ((v.result == outcome::fail && v.reason.starts_with(are_not_alike)) ||
            (v.result == outcome::error && v.reason.starts_with(explorer::not_alike))) {
            asked.alike = quietly = false;
            continue;
        }
        if (v.result == outcome::fail && v.reason == may_be_alike_quietly) {
            quietly = true;
            continue;
        }
        if (quietly && !v.replay.empty()) v.replay += token_of_quiet;
        if (quietly) v.bound += "; what the scenario takes from the heap before its first event is new memory";
        if (const std::size_t at = v.bound.find("; "); !apiary_sees_values && at != std::string::npos)
            v.bound.insert(at,
                           "; classes that calls take or return by value, ends of objects, and reads whose value "
                           "nobody uses, are not seen");
        v.bound +=
            "; at most " + std::to_string(most_failed_tries) + " failures of try_lock in a row on a lock that is held";
        std::erase_if(v.reached, [&](const auto& told) {
            const bool is_ours = told.first.starts_with(came_to_mark);
            if (is_ours) v.came_to[told.first.substr(came_to_mark.size())] += told.second;
            return is_ours;
        });
        std::erase_if(v.reached, [&](const auto& told) {
            const bool is_ours = told.first.starts_with(alike_mark);
            if (is_ours) v.bound += "; " + told.first + " (--alike: if the program looks at no address and no clock)";
            return is_ours;
        });
        if (v.reached.erase(runtime::rounds_were_cut) != 0)
            v.bound += std::string(runtime::bound_of_cuts) + " after " + std::to_string(options.bounds.rounds) +
                       " rounds that saw the same, and runs on as if the others saw it, too (--bounds rounds=)";
        if (v.reached.erase(runtime::loop_was_given_up) != 0)
            v.bound += std::string(runtime::bound_of_given_up) + " " + std::to_string(runtime::most_cut) +
                       " rounds is taken for one that waits, and what comes after it is not seen";
        if (options.plain_races_relaxed) {
            v.bound +=
                "; plain races are gone on from, and values that only another order of plain accesses shows are not "
                "seen";
            if (v.mode == "exhaustive") v.mode = "all but plain races";
        }
        if (instrumentation_shows)
            v.bound +=
                "; the program can see that it is instrumented (__has_feature), so that a library may be stronger here "
                "than as it ships";
        if (apiary_allows_assembly) {
            v.bound += "; assembly is allowed, and what it does is not seen";
            if (v.mode == "exhaustive") v.mode = "all but assembly";
        }
        if (v.result == outcome::pass && p.threads == 1) {
            v.result = outcome::error;
            v.reason =
                "nothing was checked: the scenario starts no thread. Remedy: std::jthread, std::thread or "
                "pthread_create in it, of objects compiled by apiary_check_as_is";
        }
        return v;
    }
}

namespace {
check_entry entry_of(const scenario& s, bool instrumented) {
    check_entry entry;
    entry.name = s.name;
    entry.what = "code as it is";
    entry.as_it_is = true;
    entry.threads = 1;
    entry.engines = entry.must_see = explorer_only;
    entry.one_engine_because = "only the explorer stands behind the compiler's instrumentation";
    entry.engine_laws = {"race"};
    entry.run_explorer = [s, instrumented](const search_options& options) {
        return instrumented ? run(s, options) : not_instrumented();
    };
    return entry;
}
}  // namespace

void reached(const char* name) {
    const outside_program now;
    explorer::reach(name);
}

bool add_twin(const char* name, const char* file, void (*body)(),
              std::string_view (*outcome)(std::array<char, 128>& buffer)) {
    const not_for_a_global now;
    registry().push_back(entry_of({name, body, nullptr, outcome}, true));
    registry().back().file = file;
    return true;
}

}  // namespace apiary::model::as_it_is

namespace apiary {

namespace as_it_is {

bool program_sees_the_instrumentation() {
    model::as_it_is::told_that_it_shows();
    return true;
}

bool add_scenario(scenario_text text, void (*body)(), bool instrumented, std::source_location at) {
    namespace model = apiary::model;
    const model::as_it_is::not_for_a_global now;
    model::check_entry entry = model::as_it_is::entry_of({text.name, body}, instrumented);
    entry.file = at.file_name();
    entry.exhibit = text.exhibit;
    entry.expected_reason = text.fails_with;
    if (text.fails_with[0] != '\0') entry.kind = model::check_kind::exhibit;
    model::registry().push_back(std::move(entry));
    return true;
}

}  // namespace as_it_is

void check(bool holds, const char* what, std::source_location at) {
    if (!model::as_it_is::in_program) {  // a global's, before main
        if (holds) return;
        std::fprintf(stderr, "%s:%u: outside of a scenario: %s\n", at.file_name(), at.line(), what);
        std::abort();
    }
    const model::as_it_is::outside_program now;
    model::explorer::law_asked();
    if (!holds) model::explorer::fail(what, at);
}

}  // namespace apiary
