// What the standard leaves undefined, and most machines let pass: memory orders that an operation cannot have.
#include <apiary/check.hpp>

#include <atomic>
#include <cstdint>
#include <thread>

// ---- memory orders ------------------------------------------------------------------------------------------------

namespace {
template <class Ask>
void beside_another(Ask ask) {
    std::atomic<int> n{0};
    std::thread a([&] { ask(n); }), b([&] { n.store(1); });
    a.join();
    b.join();
}
void with_a_flag(void (*ask)(std::atomic_flag&)) {
    std::atomic_flag f;
    std::thread a([&] { ask(f); }), b([&] { f.test_and_set(); });
    a.join();
    b.join();
}
struct two_words {
    std::uint64_t a = 0, b = 0;
};
// No constant where the operation is compiled.
volatile std::memory_order found_when_run = std::memory_order_acq_rel;
}  // namespace

APIARY_SCENARIO(orders_that_each_may_have, "load_release") {
    beside_another([](std::atomic<int>& n) {
        int expected = n.load(std::memory_order_consume);
        n.store(2, std::memory_order_release);
        n.compare_exchange_strong(expected, 3, std::memory_order_relaxed, std::memory_order_seq_cst);
        n.compare_exchange_strong(expected, 3, std::memory_order_release, std::memory_order_acquire);
        n.compare_exchange_weak(expected, 3, std::memory_order_acq_rel);
        n.compare_exchange_weak(expected, 3, std::memory_order_release);
        n.fetch_add(1, std::memory_order_consume);
        std::atomic_thread_fence(std::memory_order_consume);
    });
}
APIARY_FAILING_SCENARIO(load_release,
                        "undefined behaviour: load with the order release at model_check/as_it_is/misuse.cpp:") {
    beside_another([](std::atomic<int>& n) { (void)n.load(std::memory_order_release); });
}
APIARY_FAILING_SCENARIO(load_acq_rel, "undefined behaviour: load with the order acq_rel") {
    beside_another([](std::atomic<int>& n) { (void)n.load(std::memory_order_acq_rel); });
}
APIARY_FAILING_SCENARIO(load_by_an_order_found_when_run, "undefined behaviour: load with the order acq_rel") {
    beside_another([](std::atomic<int>& n) { (void)n.load(found_when_run); });
}
APIARY_FAILING_SCENARIO(store_acquire,
                        "undefined behaviour: store with the order acquire at model_check/as_it_is/misuse.cpp:") {
    beside_another([](std::atomic<int>& n) { n.store(2, std::memory_order_acquire); });
}
APIARY_FAILING_SCENARIO(store_consume, "undefined behaviour: store with the order consume") {
    beside_another([](std::atomic<int>& n) { n.store(2, std::memory_order_consume); });
}
APIARY_FAILING_SCENARIO(store_acq_rel, "undefined behaviour: store with the order acq_rel") {
    beside_another([](std::atomic<int>& n) { n.store(2, std::memory_order_acq_rel); });
}
APIARY_FAILING_SCENARIO(
    exchange_fails_release,
    "undefined behaviour: compare_exchange_strong with the failure order release at model_check/as_it_is/misuse") {
    beside_another([](std::atomic<int>& n) {
        int expected = 0;
        n.compare_exchange_strong(expected, 3, std::memory_order_seq_cst, std::memory_order_release);
    });
}
APIARY_FAILING_SCENARIO(exchange_fails_acq_rel,
                        "undefined behaviour: compare_exchange_weak with the failure order acq_rel") {
    beside_another([](std::atomic<int>& n) {
        int expected = 0;
        n.compare_exchange_weak(expected, 3, std::memory_order_acq_rel, std::memory_order_acq_rel);
    });
}
APIARY_FAILING_SCENARIO(wait_release, "undefined behaviour: load with the order release") {
    beside_another([](std::atomic<int>& n) { n.wait(7, std::memory_order_release); });
}
APIARY_FAILING_SCENARIO(flag_is_tested_by_release, "undefined behaviour: load with the order release") {
    with_a_flag([](std::atomic_flag& f) { (void)f.test(std::memory_order_release); });
}
APIARY_FAILING_SCENARIO(flag_is_cleared_by_acquire, "undefined behaviour: store with the order acquire") {
    with_a_flag([](std::atomic_flag& f) { f.clear(std::memory_order_acquire); });
}
APIARY_FAILING_SCENARIO(sixteen_bytes_are_loaded_by_release, "undefined behaviour: load with the order release") {
    alignas(16) two_words both;
    std::thread a([&] { (void)std::atomic_ref(both).load(std::memory_order_release); });
    std::thread b([&] { std::atomic_ref(both).store({1, 2}); });
    a.join();
    b.join();
}
APIARY_FAILING_SCENARIO(store_acquire_before_any_thread, "undefined behaviour: store with the order acquire") {
    std::atomic<int> n{0};
    n.store(1, std::memory_order_acquire);
    std::thread a([&] { n.store(2); });
    a.join();
}
