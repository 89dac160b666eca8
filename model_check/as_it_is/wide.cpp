// Atomics of sixteen bytes: a pointer and a tag beside it.
#include <apiary/check.hpp>

#include <atomic>
#include <cstdint>
#include <thread>

namespace {

// A stack of Treiber's over nodes that are never freed. The tag is what tells a node that has come back from one that has
// never gone (IBM System/370 Principles of Operation, free-pool list).
template <bool Tagged>
class tagged_stack {
public:
    struct node {
        std::atomic<node*> next{nullptr};
        int value = 0;
    };
    void push(node* n) {
        head old = top_.load(std::memory_order_relaxed);
        do n->next.store(old.first, std::memory_order_relaxed);
        while (!top_.compare_exchange_weak(old, {n, old.tag + Tagged}, std::memory_order_release,
                                           std::memory_order_relaxed));
    }
    node* pop(std::memory_order order = std::memory_order_acquire) {
        head old = top_.load(order);
        while (old.first != nullptr &&
               !top_.compare_exchange_weak(old, {old.first->next.load(std::memory_order_relaxed), old.tag + Tagged},
                                           std::memory_order_acq_rel, order)) {
        }
        return old.first;
    }

private:
    struct alignas(16) head {
        node* first = nullptr;
        std::uintptr_t tag = 0;
    };
    std::atomic<head> top_{head{}};
};

// One thread pops; the other pops two and puts the first of them back.
template <class Stack>
void node_comes_back() {
    Stack s;
    typename Stack::node a, b;
    s.push(&b);
    s.push(&a);
    std::atomic<int> had_b{0};
    std::thread other([&] {
        auto* const first = s.pop();
        auto* const second = s.pop();
        had_b += (first == &b) + (second == &b);
        if (first == &a) s.push(first);
    });
    auto* const mine = s.pop();
    had_b += mine == &b;
    other.join();
    for (auto* n = s.pop(); n != nullptr; n = s.pop()) had_b += n == &b;
    apiary::check(had_b == 1, "a node was popped twice, or lost");
}

template <class Stack>
void hands_over(std::memory_order pops) {
    Stack s;
    typename Stack::node one;
    std::thread pusher([&] {
        one.value = 7;
        s.push(&one);
    });
    if (auto* const n = s.pop(pops)) apiary::check(n->value == 7, "stale");
    pusher.join();
}

}  // namespace

APIARY_SCENARIO(tagged_stack_is_safe, "untagged_stack_mistakes_a_node") { node_comes_back<tagged_stack<true>>(); }
APIARY_FAILING_SCENARIO(untagged_stack_mistakes_a_node, "a node was popped twice, or lost") {
    node_comes_back<tagged_stack<false>>();
}
APIARY_SCENARIO(tagged_stack_hands_over, "untagged_stack_mistakes_a_node") {
    hands_over<tagged_stack<true>>(std::memory_order_acquire);
}

// ---- its memory -------------------------------------------------------------------------------------------------

namespace {
struct alignas(16) pair {
    std::uint64_t low = 0, high = 0;
    bool operator==(const pair&) const = default;
};
pair apart(int n) { return {static_cast<std::uint64_t>(n), ~static_cast<std::uint64_t>(n)}; }
std::atomic<pair> shared_pair{apart(1)};
}  // namespace

// Both halves or none.
APIARY_SCENARIO(wide_is_not_torn, "wide_is_not_read_late") {
    std::thread a([] { shared_pair.store(apart(2), std::memory_order_relaxed); });
    std::thread b([] { shared_pair.exchange(apart(3), std::memory_order_relaxed); });
    const pair seen = shared_pair.load(std::memory_order_relaxed);
    apiary::check(seen == apart(1) || seen == apart(2) || seen == apart(3), "torn");
    a.join();
    b.join();
    apiary::check(shared_pair.load() != apart(1), "static variables are put back");
}
APIARY_FAILING_SCENARIO(wide_is_not_read_late, "stale") {
    std::thread a([] { shared_pair.store(apart(2), std::memory_order_relaxed); });
    const pair seen = shared_pair.load(std::memory_order_relaxed);
    a.join();
    apiary::check(seen == apart(2), "stale");
}

// A plain read sees the last store in the modification order, in each half; a plain write begins another atomic.
APIARY_SCENARIO(wide_is_read_plainly, "wide_races_with_a_plain_read") {
    static pair word;
    const auto set = [](int n) {
        pair v = apart(n);
        __atomic_store(&word, &v, __ATOMIC_RELAXED);
    };
    std::thread a(set, 1), b(set, 2);
    a.join();
    b.join();
    pair last;
    __atomic_load(&word, &last, __ATOMIC_RELAXED);
    apiary::check(word.high == last.high && word.low == last.low, "a plain read sees another value");
    word.high = 5;
    __atomic_load(&word, &last, __ATOMIC_RELAXED);
    apiary::check(last.high == 5 && (last.low == 1 || last.low == 2), "a plain write was lost");
}
APIARY_FAILING_SCENARIO(wide_races_with_a_plain_read, "data race") {
    static pair word;
    std::thread a([] {
        pair v = apart(1);
        __atomic_store(&word, &v, __ATOMIC_RELEASE);
    });
    apiary::check(word.high == 0 || word.high == ~std::uint64_t{1});
    a.join();
}
APIARY_FAILING_SCENARIO(half_of_a_wide_one, "refused: atomic operations of different sizes") {
    static pair word;
    std::thread a([] {
        pair v = apart(1);
        __atomic_store(&word, &v, __ATOMIC_RELEASE);
    });
    a.join();
    apiary::check(__atomic_load_n(&word.high, __ATOMIC_ACQUIRE) != 0);
}
APIARY_FAILING_SCENARIO(wide_is_not_aligned, "refused: an atomic that is not aligned") {
    static pair words[2];
    __extension__ using both = unsigned __int128;
    static both* volatile at = reinterpret_cast<both*>(&words[0].high);
    std::thread a([] { __atomic_store_n(at, 1, __ATOMIC_RELAXED); });
    a.join();
}
APIARY_FAILING_SCENARIO(twenty_four_bytes, "refused: an atomic of 24 bytes (model_check") {
    struct three {
        std::uint64_t words[3];
    };
    static std::atomic<three> larger;
    std::thread a([] { larger.store({}); });
    a.join();
}
