// register_twin: APIARY_CHECK of a check over Sync, as an ordinary program over real_sync and threads of the system. A source
// of checks that is compiled with APIARY_AS_IT_IS registers its twins in place of its checks: the headers that ship, exactly
// as they ship, under the same scenarios.
#pragma once

#include <pthread.h>

#include <array>

#include <apiary/check.hpp>
#include <apiary/model_check/check_traits.hpp>
#include <apiary/sync/real_sync.hpp>

namespace apiary::model {

namespace as_it_is {

template <class Check>
void run_twin() {
    real_sync::at_failure = [](const char* what) { apiary::check(false, what); };
    struct {
        Check check;
    } held;
    struct one {
        Check* check;
        unsigned number;
    };
    call_before(held.check);
    std::array<one, Check::threads> ones{};
    std::array<pthread_t, Check::threads> threads{};
    for (unsigned i = 1; i < Check::threads; ++i) {
        ones[i] = {&held.check, i};
        ::pthread_create(
            &threads[i], nullptr,
            [](void* p) -> void* {
                const one mine = *static_cast<const one*>(p);
                mine.check->thread(mine.number);
                return nullptr;
            },
            &ones[i]);
    }
    held.check.thread(0);
    for (unsigned i = 1; i < Check::threads; ++i) ::pthread_join(threads[i], nullptr);
    call_after(held.check);
}

}  // namespace as_it_is

}  // namespace apiary::model

#define APIARY_CHECK(name, ...)                             \
    [[maybe_unused]] static const bool apiary_twin_##name = \
        ::apiary::as_it_is::add_scenario({#name}, ::apiary::model::as_it_is::run_twin<name<::apiary::real_sync>>)
