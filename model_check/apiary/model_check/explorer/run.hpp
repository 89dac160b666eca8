// run: a check, given to the explorer.
#pragma once

#include <algorithm>
#include <array>
#include <new>
#include <string_view>
#include <typeinfo>

#include <apiary/model_check/check_traits.hpp>
#include <apiary/model_check/explorer/explorer_sync.hpp>
#include <apiary/model_check/litmus.hpp>

namespace apiary::model {

template <class Check>
explorer::program program_of() {
    explorer::program p{};
    p.name = typeid(Check).name();
    p.threads = Check::threads;
    p.size = sizeof(Check);
    p.alignment = alignof(Check);
    p.construct = [](void* where) { ::new (where) Check; };
    p.before = [](void* c) { call_before(*static_cast<Check*>(c)); };
    p.thread = [](void* c, unsigned i) { static_cast<Check*>(c)->thread(i); };
    p.after = [](void* c) { call_after(*static_cast<Check*>(c)); };
    p.destroy = [](void* c) { static_cast<Check*>(c)->~Check(); };
    if constexpr (has_invariant<Check>) p.invariant = [](void* c) { call_invariant(*static_cast<Check*>(c)); };
    if constexpr (records_outcome<Check>)
        p.outcome = [](void* c, std::array<char, 128>& buffer) {
            return outcome_text(*static_cast<Check*>(c), buffer);
        };
    if constexpr (has_alike<Check>)
        static_assert(std::ranges::all_of(Check::alike, [](unsigned t) { return t < Check::threads; }));
#if !defined(APIARY_MODEL_NO_SYMMETRY)
    if constexpr (has_alike<Check>)
        for (const unsigned t : Check::alike) p.alike |= static_cast<std::uint16_t>(1U << t);
#endif
    return p;
}

// Check: a check template instantiated with explorer_sync.
template <class Check>
verdict run_explorer(const search_options& options) {
    return explorer::explore(program_of<Check>(), options);
}

}  // namespace apiary::model
