// register_twin: APIARY_CHECK and APIARY_LITMUS of a check over Sync, as an ordinary program over
// real_sync and threads of the system. A source of checks that is compiled with APIARY_AS_IT_IS
// registers its twins in place of its checks: the headers that ship, under the same scenarios.
#pragma once

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <new>
#include <string_view>

#include <apiary/check.hpp>
#include <apiary/model_check/check_traits.hpp>
#include <apiary/model_check/litmus.hpp>
#include <apiary/parking/parker.hpp>
#include <apiary/sync/real_sync.hpp>

namespace apiary::model::as_it_is {

// The checker's side (scenarios.cpp).
void reached(const char* name);
bool add_twin(const char* name, const char* file, void (*body)(),
              std::string_view (*outcome)(std::array<char, 128>& buffer));

// real_sync, and what scenarios ask of a checker's policy beside it: a parker of the policy's own,
// here the one that ships; a wait of which a checker sees that it waits; the marks of the branches
// that were taken. Each operation of a header under check is real_sync's.
struct twin_sync : real_sync {
    using parker = basic_parker<twin_sync>;

    template <class T, class Done>
    static T spin_until(const atomic<T>& a, Done done, site = {}) {
        for (;;) {
            const T value = a.load(std::memory_order_acquire);
            if (done(value)) return value;
        }
    }
    static void reach(const char* name) { reached(name); }
};

template <class Check>
struct twin {
    // Static, as what threads share mostly is; the check is made anew in each execution.
    alignas(Check) static inline std::array<std::byte, sizeof(Check)> room;
    static inline std::array<char, 128> text;
    static inline std::size_t length;

    struct one {
        Check* check;
        unsigned number;
    };

    static void run() {
        real_sync::at_failure = [](const char* what) { apiary::check(false, what); };
        auto* const check = ::new (room.data()) Check;
        std::array<one, Check::threads> ones{};
        std::array<pthread_t, Check::threads> threads{};
        call_before(*check);
        for (unsigned i = 1; i < Check::threads; ++i) {
            ones[i] = {check, i};
            ::pthread_create(
                &threads[i], nullptr,
                [](void* p) -> void* {
                    const one mine = *static_cast<const one*>(p);
                    mine.check->thread(mine.number);
                    return nullptr;
                },
                &ones[i]);
        }
        check->thread(0);
        for (unsigned i = 1; i < Check::threads; ++i) ::pthread_join(threads[i], nullptr);
        call_after(*check);
        if constexpr (records_outcome<Check>) length = outcome_text(*check, text).size();
        check->~Check();
    }
    static std::string_view outcome(std::array<char, 128>& buffer) {
        buffer = text;
        return {buffer.data(), length};
    }
    static bool add(const char* name, const char* file) {
        if constexpr (records_outcome<Check>) return add_twin(name, file, run, outcome);
        return add_twin(name, file, run, nullptr);
    }
};

}  // namespace apiary::model::as_it_is

#define APIARY_CHECK(name, ...)                             \
    [[maybe_unused]] static const bool apiary_twin_##name = \
        ::apiary::model::as_it_is::twin<name<::apiary::model::as_it_is::twin_sync>>::add(#name, __FILE__)
#define APIARY_LITMUS(name, ...) APIARY_CHECK(name)
