// More thread-local data than a modelled thread has room for.
#include <apiary/check.hpp>

#include <array>
#include <atomic>
#include <thread>

thread_local std::array<char, 200'000> large;

APIARY_FAILING_SCENARIO(more_thread_locals_than_there_is_room, "refused: more than 128 KiB of thread-local data") {
    std::atomic<int> word{0};
    std::thread a([&] {
        large[100] = 1;
        word.store(large[100]);
    });
    a.join();
}
