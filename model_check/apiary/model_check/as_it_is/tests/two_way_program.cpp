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

// The compilers instrument a compare-exchange only where its orders are constants.
template <std::memory_order Success>
std::uint64_t cas_with(word& a, std::uint64_t expected, std::uint64_t desired, int failure) {
    if (failure == 0)
        a.compare_exchange_strong(expected, desired, Success, std::memory_order_relaxed);
    else if (failure == 2)
        a.compare_exchange_strong(expected, desired, Success, std::memory_order_acquire);
    else
        a.compare_exchange_strong(expected, desired, Success, std::memory_order_seq_cst);
    return expected;
}

std::uint64_t cas(word& a, const instruction& i) {
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

}  // namespace

void run() {
    word words[3] = {0, 0, 0};
    const program* const p = current();
    const auto body = [&](unsigned t) {
        for (unsigned k = 0; k < p->length[t]; ++k) {
            const instruction& i = p->code[t][k];
            word& a = words[i.location];
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

}  // namespace two_way
