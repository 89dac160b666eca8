// A global starts a thread before main: refused at once, where the program starts. Its destructor would wait for that thread.
#include <apiary/check.hpp>

#include <atomic>
#include <thread>

namespace {
std::atomic<int> word;
const std::jthread pool([] { word.store(1); });
}  // namespace

APIARY_SCENARIO(never_begun) {
    std::thread a([] { word.store(2); });
    a.join();
}
