// What every check of this rung has in common: coroutines that go on where they are brought back.
#pragma once

#include <apiary/model_check/register.hpp>
#include <apiary/testing/plain_coroutine.hpp>

namespace apiary::model {

template <class Sync>
using coroutine = plain_coroutine<Sync>;

template <class Sync>
struct coroutine_scenario {
    using place = typename coroutine<Sync>::place;
    resume_here<Sync> home;

    place here() { return {home}; }
    place here(stop_hooks<Sync>& s) { return {home, &s}; }
};

}  // namespace apiary::model
