// A scenario that was compiled without the instrumentation: nothing of it would be seen.
#include <apiary/check.hpp>

#include <thread>

APIARY_FAILING_SCENARIO(without_instrumentation, "refused: the scenario was compiled without -fsanitize=thread") {
    int n = 0;
    std::thread a([&] { ++n; }), b([&] { ++n; });
    a.join();
    b.join();
}
