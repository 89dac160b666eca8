// check: what a scenario of code as it is says. Ordinary C++; apiary_check_as_is(NAME SOURCES …) compiles it.
//
//     APIARY_SCENARIO(two_producers) {
//         my_queue<int> q;
//         std::jthread a([&] { q.push(1); }), b([&] { q.push(2); });
//         int x = 0;
//         if (q.pop(x)) apiary::check(x == 1 || x == 2, "what was popped was pushed");
//     }
//
// Every execution of it that the explorer's model allows is run, within the stated bounds. A failed check, a data race, a
// deadlock, a use of freed memory, a leak, an exception that leaves a thread and a crash are found unasked.
//
// When not: code over `Sync` has explorer_sync (model_check/README.md), which is faster and sees the same.
#pragma once

#include <source_location>

namespace apiary {

namespace as_it_is {
#if defined(APIARY_INSTRUMENTED)  // by instrumented.hpp, which apiary_check_as_is() includes first
inline namespace instrumented {
constexpr bool is_instrumented = true;
}
#else
inline namespace blind {
constexpr bool is_instrumented = false;
}
#endif
struct scenario_text {
    const char* name;
    const char* fails_with = "";  // part of the reason for which it must fail
    const char* exhibit = "";     // the scenario that shows that this one can fail
};
bool add_scenario(scenario_text text, void (*body)(), bool instrumented = is_instrumented,
                  std::source_location at = std::source_location::current());
bool program_sees_the_instrumentation();  // each verdict then says so
#if defined(APIARY_SHOWS_THE_INSTRUMENTATION)
[[maybe_unused]] static const bool shows_the_instrumentation = program_sees_the_instrumentation();
#endif
}  // namespace as_it_is

// A law: where it does not hold, the verdict is red and shows the execution.
void check(bool holds, const char* what = "apiary::check() does not hold",
           std::source_location at = std::source_location::current());

}  // namespace apiary

#define APIARY_AS_IT_IS_SCENARIO(name, ...)                                         \
    static void name();                                                             \
    [[maybe_unused]] static const bool apiary_scenario_##name =                     \
        ::apiary::as_it_is::add_scenario({#name __VA_OPT__(, ) __VA_ARGS__}, name); \
    static void name()

// Must pass. The second argument, if any, is the name of a scenario that fails: what shows that this one can.
#define APIARY_SCENARIO(name, ...) APIARY_AS_IT_IS_SCENARIO(name, "" __VA_OPT__(, ) __VA_ARGS__)
// Must fail, for a reason that has this text.
#define APIARY_FAILING_SCENARIO(name, reason) APIARY_AS_IT_IS_SCENARIO(name, reason)
