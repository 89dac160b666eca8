// run_together: threads that begin at once, so that they meet at what the test shares among them.
//
// On a real machine threads seldom meet at the step that matters. Therefore the tests that use this hand over plain
// data: where an order is missing, ThreadSanitizer and a hunt (model_check/hunt) then report a data race.
#pragma once

#include <array>
#include <latch>
#include <thread>

namespace apiary {

// Returns when all of them have.
template <class... Bodies>
void run_together(Bodies... bodies) {
    std::latch all_there(sizeof...(Bodies));
    const auto begins = [&all_there](auto& body) {
        return std::thread([&] {
            all_there.arrive_and_wait();
            body();
        });
    };
    std::array<std::thread, sizeof...(Bodies)> threads{begins(bodies)...};
    for (std::thread& t : threads) t.join();
}

}  // namespace apiary
