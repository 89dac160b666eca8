// comes_true: waits until other threads have made a condition true. For tests in which nothing else would end the wait:
// after ten seconds it returns false.
#pragma once

#include <chrono>
#include <thread>

namespace apiary {

template <class Condition>
bool comes_true(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!condition()) {
        if (std::chrono::steady_clock::now() > end) return false;
        std::this_thread::yield();
    }
    return true;
}

}  // namespace apiary
