// The interpreter of explorer/tests/interpreter.hpp once more, as ordinary C++: std::atomic, std::thread.
#include "two_way.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <optional>
#include <thread>

namespace two_way {

namespace {

using word = std::atomic<std::uint64_t>;

// The same in sixteen bytes: a value in both halves, so that none of them says everything.
class wide_word {
public:
    __extension__ using both = unsigned __int128;
    wide_word(std::uint64_t v) : v_(of(v)) {}
    std::uint64_t load(std::memory_order order) const { return half(__atomic_load_n(&v_, static_cast<int>(order))); }
    void store(std::uint64_t v, std::memory_order order) { __atomic_store_n(&v_, of(v), static_cast<int>(order)); }
    std::uint64_t fetch_add(std::uint64_t v, std::memory_order order) {
        return half(__atomic_fetch_add(&v_, of(v), static_cast<int>(order)));
    }
    [[gnu::always_inline]] void compare_exchange_strong(std::uint64_t& expected, std::uint64_t desired,
                                                        std::memory_order success, std::memory_order failure) {
        both seen = of(expected);
        __atomic_compare_exchange_n(&v_, &seen, of(desired), false, static_cast<int>(success),
                                    static_cast<int>(failure));
        expected = half(seen);
    }

private:
    static both of(std::uint64_t v) { return static_cast<both>(v) << 64 | v; }
    static std::uint64_t half(both v) {
        return v == of(static_cast<std::uint64_t>(v)) ? static_cast<std::uint64_t>(v) : 999;
    }
    alignas(16) both v_;
};

// The compilers instrument a compare-exchange only where its orders are constants.
template <std::memory_order Success, class Word>
std::uint64_t cas_with(Word& a, std::uint64_t expected, std::uint64_t desired, int failure) {
    if (failure == 0)
        a.compare_exchange_strong(expected, desired, Success, std::memory_order_relaxed);
    else if (failure == 2)
        a.compare_exchange_strong(expected, desired, Success, std::memory_order_acquire);
    else
        a.compare_exchange_strong(expected, desired, Success, std::memory_order_seq_cst);
    return expected;
}

template <class Word>
std::uint64_t cas(Word& a, const instruction& i) {
    switch (i.order) {
        case 0:
            return cas_with<std::memory_order_relaxed>(a, i.expected, i.value, i.failure_order);
        case 2:
            return cas_with<std::memory_order_acquire>(a, i.expected, i.value, i.failure_order);
        case 3:
            return cas_with<std::memory_order_release>(a, i.expected, i.value, i.failure_order);
        case 4:
            return cas_with<std::memory_order_acq_rel>(a, i.expected, i.value, i.failure_order);
        default:
            return cas_with<std::memory_order_seq_cst>(a, i.expected, i.value, i.failure_order);
    }
}

void fence(int order) {
    switch (order) {
        case 6:
            std::atomic_signal_fence(std::memory_order_seq_cst);
            break;
        case 7:
            ::syscall(SYS_membarrier, 8, 0, 0);
            break;
        case 2:
            std::atomic_thread_fence(std::memory_order_acquire);
            break;
        case 3:
            std::atomic_thread_fence(std::memory_order_release);
            break;
        case 4:
            std::atomic_thread_fence(std::memory_order_acq_rel);
            break;
        default:
            std::atomic_thread_fence(std::memory_order_seq_cst);
            break;
    }
}

template <class Word>
void run_over() {
    Word words[3] = {0, 0, 0};
    const program* const p = current();
    const auto body = [&](unsigned t) {
        for (unsigned k = 0; k < p->length[t]; ++k) {
            const instruction& i = p->code[t][k];
            Word& a = words[i.location];
            const auto order = static_cast<std::memory_order>(i.order);
            switch (i.what) {
                case op::load:
                    saw(t, a.load(order));
                    break;
                case op::store:
                    a.store(i.value, order);
                    break;
                case op::fetch_add:
                    saw(t, a.fetch_add(i.value, order));
                    break;
                case op::cas:
                    saw(t, cas(a, i));
                    break;
                case op::fence:
                    fence(i.order);
                    break;
            }
        }
    };
    std::optional<std::thread> threads[program::most_threads];
    for (unsigned t = 0; t < p->threads; ++t) threads[t].emplace(body, t);
    for (unsigned t = 0; t < p->threads; ++t) threads[t]->join();
    for (unsigned k = 0; k < p->finals; ++k) saw(4, words[p->final_locations[k]].load(std::memory_order_relaxed));
}

}  // namespace

void run() { run_over<word>(); }
void run_wide() { run_over<wide_word>(); }

}  // namespace two_way
