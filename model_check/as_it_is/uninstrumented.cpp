// A scenario that was compiled without the instrumentation: nothing of it would be seen.
#include <apiary/check.hpp>
#include <apiary/specifications.hpp>

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
