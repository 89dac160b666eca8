// A scenario that was compiled without the instrumentation: nothing of it would be seen.
#include <apiary/check.hpp>
#include <apiary/specifications.hpp>

#include <pthread.h>

#include <optional>
#include <thread>

APIARY_FAILING_SCENARIO(without_instrumentation, "refused: the scenario was compiled without -fsanitize=thread") {
    int n = 0;
    std::thread a([&] { ++n; }), b([&] { ++n; });
    a.join();
    b.join();
}

namespace {
struct stack_without_instrumentation {
    void push(int) {}
    std::optional<int> pop() { return {}; }
};
}  // namespace
APIARY_NOT_LINEARIZABLE(stack_without_instrumentation, apiary::stack_spec<int>,
                        "refused: the scenario was compiled without -fsanitize=thread");

// What a library's constructor does, before any scenario: refused in the program under check alone (faults.cpp).
namespace {
[[maybe_unused]] const int key_of_a_library = [] {
    pthread_key_t key = 0;
    return ::pthread_key_create(&key, nullptr);
}();
}  // namespace
