// Programs of which ThreadSanitizer reports a race, and what --arbitrate says of the report (arbitrate_test.py).
#include <apiary/check.hpp>

#include <atomic>
#include <thread>

namespace {

struct message {
    int data = 0;
    std::atomic<int> flag{0};
};

void send_by_a_fence(message& m) {
    m.data = 42;  // written
    std::atomic_thread_fence(std::memory_order_release);  // the release fence
    m.flag.store(1, std::memory_order_relaxed);
}

template <bool Acquires>
void receive_by_a_fence(message& m) {
    if (m.flag.load(std::memory_order_relaxed) == 0) return;
    if (Acquires) std::atomic_thread_fence(std::memory_order_acquire);  // the acquire fence
    apiary::check(m.data == 42, "the message is there");  // read
}

void send_by_an_order(message& m) {
    m.data = 42;  // written by an order
    m.flag.store(1, std::memory_order_release);  // the releasing store
}

void receive_by_an_order(message& m) {
    if (m.flag.load(std::memory_order_acquire) == 1)  // the acquiring load
        apiary::check(m.data == 42, "the message is there");  // read by an order
}

void write_when_all_are_gone(message& m) { m.data = 0; }  // written alone

}  // namespace

// The scenarios of each dispute are named, so that the others have no part in it.
APIARY_SCENARIO(fences_hand_over, "fence_is_missing") {
    message m;
    std::jthread sender([&] { send_by_a_fence(m); }), receiver([&] { receive_by_a_fence<true>(m); });
}

APIARY_FAILING_SCENARIO(fence_is_missing, "data race") {
    message m;
    std::jthread sender([&] { send_by_a_fence(m); }), receiver([&] { receive_by_a_fence<false>(m); });
}

APIARY_SCENARIO(orders_hand_over, "fence_is_missing") {
    message m;
    {
        std::jthread sender([&] { send_by_an_order(m); }), receiver([&] { receive_by_an_order(m); });
    }
    write_when_all_are_gone(m);
    apiary::check(m.data == 0, "nobody else writes it");
}
