// What a runtime easily misses, each once as it must pass and once with the mistake in it.
#include <apiary/check.hpp>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <thread>

// ---- the expected value of a compare-exchange -----------------------------------------------------------------

namespace {
struct node {
    int value = 0;
    node* next = nullptr;
};
void push(std::atomic<node*>& head, node* n) {
    n->next = nullptr;
    while (!head.compare_exchange_weak(n->next, n, std::memory_order_release, std::memory_order_relaxed)) {
    }
}
}  // namespace

// A failed exchange writes n->next: the loop changed something, and goes on.
APIARY_FAILING_SCENARIO(expected_on_the_heap, "two lies on one") {
    std::atomic<node*> head{nullptr};
    node* const one = new node{1};
    node* const two = new node{2};
    std::thread a([&] { push(head, one); }), b([&] { push(head, two); });
    a.join();
    b.join();
    const bool both = head.load() == two && two->next == one && one->next == nullptr;
    delete one;
    delete two;
    apiary::check(!both, "two lies on one");
}

APIARY_SCENARIO(expected_of_its_own, "expected_is_shared") {
    std::atomic<int> word{0};
    const auto set = [&](int to) {
        int expected = 0;
        word.compare_exchange_strong(expected, to);
        apiary::check(expected == 0 || expected == 3 - to, "neither");
    };
    std::thread a(set, 1), b(set, 2);
    a.join();
    b.join();
}

APIARY_FAILING_SCENARIO(expected_is_shared, "data race") {
    std::atomic<int> word{0};
    int expected = 0;
    const auto set = [&](int to) { word.compare_exchange_strong(expected, to, std::memory_order_relaxed); };
    std::thread a(set, 1), b(set, 2);
    a.join();
    b.join();
}

// ---- futexes ------------------------------------------------------------------------------------------------------

namespace {
struct event {
    std::atomic<int> word{0}, waiters{0};
    void wait() {
        waiters.store(1, std::memory_order_relaxed);
        while (word.load(std::memory_order_relaxed) == 0) ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, nullptr);
    }
    template <class Fence>
    void set(Fence between) {
        word.store(1, std::memory_order_relaxed);
        between();
        if (waiters.load(std::memory_order_relaxed) != 0) ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1);
    }
};
template <class Fence>
void one_waits_for_one(Fence between) {
    event e;
    std::thread waiter([&] { e.wait(); });
    e.set(between);
    waiter.join();
}
}  // namespace

APIARY_SCENARIO(waker_passes_a_fence, "waker_passes_a_compilers_fence") {
    one_waits_for_one([] { std::atomic_thread_fence(std::memory_order_seq_cst); });
}

// The barrier within the kernel's futex makes no processor pass one that does not itself.
APIARY_FAILING_SCENARIO(waker_passes_a_compilers_fence, "deadlock") {
    one_waits_for_one([] { std::atomic_signal_fence(std::memory_order_seq_cst); });
}
