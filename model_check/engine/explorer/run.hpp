// run: a check, given to the explorer.
#pragma once

#include <array>
#include <new>
#include <string_view>
#include <typeinfo>

#include <apiary/model_check/check_traits.hpp>
#include <apiary/model_check/explorer/explorer_sync.hpp>
#include <apiary/model_check/litmus.hpp>

namespace apiary::model {

// Check: a check template instantiated with explorer_sync.
template <class Check>
verdict run_explorer(const search_options& options) {
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
    return explorer::explore(p, options);
}

}  // namespace apiary::model
