// What a check template may leave out, and how an engine calls what is there.
//
// Only `threads`, `what` and `thread(i)` are required; before(), after(), invariant(), must_reach, engine_laws and
// exhibit are optional. An engine calls through these functions, so that both engines agree on the defaults.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <apiary/model_check/check.hpp>

namespace apiary::model {

template <class Check>
concept has_before = requires(Check& check) { check.before(); };
template <class Check>
concept has_after = requires(Check& check) { check.after(); };
template <class Check>
concept has_invariant = requires(Check& check) { check.invariant(); };
// `static constexpr std::array alike{1U, 2U}`: threads that do the same, whatever their number.
template <class Check>
concept has_alike = requires { Check::alike; };
template <class Check>
concept has_must_reach = requires { Check::must_reach; };

template <class Check>
void call_before(Check& check) {
    if constexpr (has_before<Check>) check.before();
}
template <class Check>
void call_after(Check& check) {
    if constexpr (has_after<Check>) check.after();
}
template <class Check>
void call_invariant(Check& check) {
    if constexpr (has_invariant<Check>) check.invariant();
}

template <class Check>
std::vector<std::string> must_reach_of() {
    std::vector<std::string> names;
    if constexpr (has_must_reach<Check>)
        for (const char* name : Check::must_reach) names.emplace_back(name);
    return names;
}

template <class Check>
std::vector<std::string> engine_laws_of() {
    std::vector<std::string> names;
    if constexpr (requires { Check::engine_laws; }) {
        constexpr auto is_engines = [](std::string_view name) {
            return std::any_of(law_kinds.begin() + 1, law_kinds.end(), [&](const char* k) { return name == k; });
        };
        static_assert(std::all_of(Check::engine_laws.begin(), Check::engine_laws.end(), is_engines),
                      "engine_laws has names of these: race, deadlock, lifetime");
        names.assign(Check::engine_laws.begin(), Check::engine_laws.end());
    }
    return names;
}

}  // namespace apiary::model
