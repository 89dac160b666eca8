// Every kind of access that compilers instrument, in each size: what a compiler calls for it must be there, and do it.
// compilers_test.py compiles this by clang-19, too.
#include <apiary/check.hpp>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>

namespace {

struct base {
    virtual ~base() = default;
    virtual int number() const { return 1; }
};
struct derived : base {
    int number() const override { return 2; }
};
struct [[gnu::packed]] packed {
    char first = 0;
    std::uint16_t two = 0;
    std::uint32_t four = 0;
    std::uint64_t eight = 0;
};
struct large {
    std::uint64_t words[9] = {};
    bool operator==(const large&) const = default;
};
struct alignas(16) pair {
    std::uint64_t low = 0, high = 0;
    bool operator==(const pair&) const = default;
};

int first_use() {
    static const int one = std::make_unique<derived>()->number();
    return one;
}
thread_local int mine = 3;

template <class T>
void plain_and_volatile() {
    static T word;
    static volatile T seen_by_hardware;
    word = 1;
    seen_by_hardware = 2;
    std::thread a([] {
        apiary::check(word == 1 && seen_by_hardware == 2, "a plain write is lost");
        word = static_cast<T>(word + 4);
        seen_by_hardware = static_cast<T>(seen_by_hardware + 4);
    });
    a.join();
    apiary::check(word == 5 && seen_by_hardware == 6, "a plain read sees another value");
}

template <class T>
void each_operation() {
    static std::atomic<T> word;
    word.store(12, std::memory_order_release);
    std::thread a([] {
        apiary::check(word.load(std::memory_order_acquire) == 12);
        apiary::check(word.fetch_add(5) == 12 && word.fetch_sub(3) == 17 && word.fetch_or(1) == 14);
        apiary::check(word.fetch_and(13) == 15 && word.fetch_xor(6) == 13 && word.exchange(9) == 11);
        apiary::check(__atomic_fetch_nand(reinterpret_cast<T*>(&word), T{1}, __ATOMIC_ACQ_REL) == 9);
        apiary::check(word.load() == static_cast<T>(~T{1}));
        T expected = 0;
        apiary::check(!word.compare_exchange_strong(expected, 7) && expected == static_cast<T>(~T{1}));
        while (!word.compare_exchange_weak(expected, 7, std::memory_order_acq_rel, std::memory_order_acquire)) {
        }
    });
    a.join();
    apiary::check(word.load(std::memory_order_relaxed) == 7, "a change is lost");
}

}  // namespace

APIARY_SCENARIO(plain_accesses, "races_with_a_packed_member") {
    plain_and_volatile<std::uint8_t>();
    plain_and_volatile<std::uint16_t>();
    plain_and_volatile<std::uint32_t>();
}
APIARY_SCENARIO(larger_accesses, "races_with_a_packed_member") {
    plain_and_volatile<std::uint64_t>();
    static packed p;
    static large from, to;
    static pair two;
    static char text[40];
    std::thread a([] {
        p.two = 2, p.four = 4, p.eight = 8;
        from.words[8] = 8;
        to = from;
        two = {5, 6};
        std::memset(text, 'x', sizeof text);
        std::memcpy(text + 8, "abcdefgh", 8);
        std::memmove(text + 1, text, 30);
    });
    a.join();
    apiary::check(p.two == 2 && p.four == 4 && p.eight == 8 && to == from && two == pair{5, 6});
    apiary::check(std::memcmp(text + 8, "xabcdefgh", 9) == 0);
}
APIARY_FAILING_SCENARIO(races_with_a_packed_member, "data race") {
    static packed p;
    std::thread a([] { p.eight = 8; });
    if (p.eight == 8) apiary::check(p.four == 0);
    a.join();
}
APIARY_SCENARIO(objects_and_statics, "races_with_a_packed_member") {
    std::thread a([] { apiary::check(first_use() == 2 && ++mine == 4); });
    apiary::check(first_use() == 2 && ++mine == 4);
    a.join();
}
APIARY_SCENARIO(atomic_operations, "order_is_not_kept") {
    each_operation<std::uint8_t>();
    each_operation<std::uint16_t>();
    each_operation<std::uint32_t>();
    each_operation<std::uint64_t>();
}
APIARY_SCENARIO(atomic_operations_of_sixteen_bytes, "order_is_not_kept") {
    static std::atomic<pair> word;
    const bool is_lock_free = word.is_lock_free();  // of clang with -mcx16 it is
    std::thread a([] {
        word.store({1, 2});
        pair expected{};
        while (!word.compare_exchange_weak(expected, {3, 4}, std::memory_order_acq_rel, std::memory_order_acquire)) {
        }
        apiary::check(word.exchange({5, 6}, std::memory_order_acq_rel) == pair{3, 4});
    });
    const pair seen = word.load(std::memory_order_acquire);
    apiary::check(seen.high == 0 || seen.high == seen.low + 1, "torn");
    a.join();
    pair expected{5, 6};
    apiary::check(word.compare_exchange_strong(expected, {7, 8}));
    apiary::check(word.is_lock_free() == is_lock_free);
}
APIARY_SCENARIO(fences, "order_is_not_kept") {
    static std::atomic<int> data, flag;
    std::thread a([] {
        data.store(1, std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_release);
        flag.store(1, std::memory_order_relaxed);
    });
    if (flag.load(std::memory_order_relaxed) == 1) {
        std::atomic_thread_fence(std::memory_order_acquire);
        std::atomic_signal_fence(std::memory_order_seq_cst);
        apiary::check(data.load(std::memory_order_relaxed) == 1, "stale");
    }
    a.join();
}
APIARY_FAILING_SCENARIO(order_is_not_kept, "stale") {
    static std::atomic<int> data, flag;
    std::thread a([] {
        data.store(1, std::memory_order_relaxed);
        flag.store(1, std::memory_order_relaxed);
    });
    if (flag.load(std::memory_order_acquire) == 1) apiary::check(data.load(std::memory_order_relaxed) == 1, "stale");
    a.join();
}
