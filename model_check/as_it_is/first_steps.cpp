// Ordinary C++, as anybody writes it; nothing in it knows of a checker but the words APIARY_SCENARIO and check.
#include <apiary/check.hpp>

#include <atomic>
#include <thread>

APIARY_SCENARIO(store_buffering, "store_buffering_relaxed") {
    std::atomic<int> x{0}, y{0};
    int a = -1, b = -1;
    {
        std::jthread one([&] { x.store(1), a = y.load(); });
        std::jthread two([&] { y.store(1), b = x.load(); });
    }
    apiary::check(a == 1 || b == 1, "two seq_cst stores and both loads read the old value");
}

APIARY_FAILING_SCENARIO(store_buffering_relaxed, "both loads read the old value") {
    std::atomic<int> x{0}, y{0};
    int a = -1, b = -1;
    {
        std::jthread one([&] { x.store(1, std::memory_order_release), a = y.load(std::memory_order_acquire); });
        std::jthread two([&] { y.store(1, std::memory_order_release), b = x.load(std::memory_order_acquire); });
    }
    apiary::check(a == 1 || b == 1, "both loads read the old value");
}

APIARY_SCENARIO(message_passing, "message_passing_relaxed") {
    int data = 0;
    std::atomic<int> flag{0};
    std::jthread writer([&] {
        data = 42;
        flag.store(1, std::memory_order_release);
    });
    std::jthread reader([&] {
        if (flag.load(std::memory_order_acquire) == 1) apiary::check(data == 42, "the message is stale");
    });
}

APIARY_FAILING_SCENARIO(message_passing_relaxed, "data race") {
    int data = 0;
    std::atomic<int> flag{0};
    std::jthread writer([&] {
        data = 42;
        flag.store(1, std::memory_order_relaxed);
    });
    std::jthread reader([&] {
        if (flag.load(std::memory_order_acquire) == 1) apiary::check(data == 42, "the message is stale");
    });
}

// Gone on from with --plain-races=as-relaxed, and the verdict says so.
APIARY_FAILING_SCENARIO(two_count_plainly, "data race") {
    int n = 0;
    std::thread a([&] { ++n; }), b([&] { ++n; });
    a.join();
    b.join();
    apiary::check(n != 0);
}
