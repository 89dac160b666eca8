// APIARY_CHECK, APIARY_EXHIBIT, APIARY_LITMUS: name a check template once, get it under every engine.
//
//     APIARY_CHECK(last_element);                                  // must pass, both engines
//     APIARY_CHECK(last_element, model::relacy_only);              // says why: `one_engine`
//     APIARY_EXHIBIT(b01_stale_array, "uninitialised", model::both_engines);
//     APIARY_LITMUS(sb_relaxed);
//
// An exhibit names the engines that must see it. The others are asked as well where it says why they pass it:
// `relacy_passes`, `explorer_passes`.
#pragma once

#if defined(APIARY_AS_IT_IS)
#include <apiary/model_check/as_it_is/register_twin.hpp>
#else

#include <source_location>
#include <utility>

#include <apiary/model_check/check.hpp>
#include <apiary/model_check/check_traits.hpp>
#include <apiary/model_check/litmus.hpp>
#include <apiary/model_check/trace_table.hpp>
#if !defined(APIARY_MODEL_NO_RELACY)
#include <apiary/model_check/relacy/run.hpp>
#endif
#if __has_include(<apiary/model_check/explorer/run.hpp>) && !defined(APIARY_MODEL_NO_EXPLORER)
#define APIARY_MODEL_HAS_EXPLORER 1
#include <apiary/model_check/explorer/explorer_sync.hpp>
#include <apiary/model_check/explorer/run.hpp>
#endif

namespace apiary::model {

#if defined(APIARY_SOURCE_ROOT)
[[maybe_unused]] static const bool traces_name_this_project = sources_are_at(APIARY_SOURCE_ROOT);
#endif

template <template <class> class Check, class Sync>
void describe(check_entry& entry) {
    using check = Check<Sync>;
    entry.what = check::what;
    entry.threads = check::threads;
    entry.must_reach = must_reach_of<check>();
    entry.engine_laws = engine_laws_of<check>();
    if constexpr (requires { check::exhibit; }) entry.exhibit = check::exhibit;
    if constexpr (requires { check::too_large_to_exhaust; }) entry.too_large_to_exhaust = check::too_large_to_exhaust;
    if constexpr (requires { check::one_engine; }) entry.one_engine_because = check::one_engine;
    if constexpr (requires { check::relacy_passes; }) entry.passes_because = check::relacy_passes;
    if constexpr (requires { check::explorer_passes; }) entry.passes_because = check::explorer_passes;
    if constexpr (requires { check::rc11; }) {
        entry.expected_rc11 = check::rc11.copy();
        entry.expected_relacy = entry.expected_rc11;
    }
    if constexpr (requires { check::relacy; }) {
        entry.expected_relacy = check::relacy.copy();
        entry.relacy_differs = check::relacy_differs;
    }
}

// The engines that are asked: those named, and the one that is said to pass it.
template <template <class> class Check, class Sync, unsigned Named>
constexpr unsigned asked() {
    unsigned engines = Named;
    if constexpr (requires { Check<Sync>::relacy_passes; }) engines |= relacy_only;
    if constexpr (requires { Check<Sync>::explorer_passes; }) engines |= explorer_only;
    return engines;
}

template <template <class> class Check, unsigned Named>
bool add_check(const char* name, check_kind kind, const char* reason,
               std::source_location at = std::source_location::current()) {
    check_entry entry;
    entry.name = name;
    entry.file = at.file_name();
    entry.kind = kind;
    entry.expected_reason = reason;
    entry.engines = 0;
    entry.must_see = Named;
#if !defined(APIARY_MODEL_NO_RELACY)
    if constexpr ((asked<Check, relacy_sync, Named>() & relacy_only) != 0) {
        describe<Check, relacy_sync>(entry);
        entry.engines |= relacy_only;
        entry.run_relacy = [](const search_options& o) { return run_relacy<Check<relacy_sync>>(o); };
    }
#endif
#if defined(APIARY_MODEL_HAS_EXPLORER)
    if constexpr ((asked<Check, explorer_sync, Named>() & explorer_only) != 0) {
        describe<Check, explorer_sync>(entry);
        entry.engines |= explorer_only;
        entry.run_explorer = [](const search_options& o) { return run_explorer<Check<explorer_sync>>(o); };
    }
#endif
    if (entry.engines != 0) registry().push_back(std::move(entry));
    return true;
}

}  // namespace apiary::model

#define APIARY_MODEL_REGISTER(name, kind, reason, engines)        \
    [[maybe_unused]] static const bool apiary_registered_##name = \
        ::apiary::model::add_check<name, engines>(#name, ::apiary::model::check_kind::kind, reason)

#define APIARY_MODEL_FIRST(first, ...) first
#define APIARY_CHECK(name, ...) \
    APIARY_MODEL_REGISTER(name, check, "", APIARY_MODEL_FIRST(__VA_ARGS__ __VA_OPT__(, )::apiary::model::both_engines))
#define APIARY_LITMUS(name, ...) \
    APIARY_MODEL_REGISTER(name, litmus, "", APIARY_MODEL_FIRST(__VA_ARGS__ __VA_OPT__(, )::apiary::model::both_engines))
#define APIARY_EXHIBIT(name, reason, ...)        \
    APIARY_MODEL_REGISTER(name, exhibit, reason, \
                          APIARY_MODEL_FIRST(__VA_ARGS__ __VA_OPT__(, )::apiary::model::both_engines))

#endif  // APIARY_AS_IT_IS
