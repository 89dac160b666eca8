// The probes written by hand with std::atomic: the code that real_sync must not cost more than.
#include <atomic>
#include <cstdint>
#include <new>

#include "probes/hand_written_deque.hpp"

using word = std::atomic<std::uint64_t>;
using deque = hand_written::deque<std::uint64_t>;

struct worker {
    std::uint64_t id;
};
inline constinit thread_local worker* here = nullptr;

extern "C" {

std::uint64_t probe_load_relaxed(const word& w) { return w.load(std::memory_order_relaxed); }
std::uint64_t probe_load_acquire(const word& w) { return w.load(std::memory_order_acquire); }
std::uint64_t probe_load_seq_cst(const word& w) { return w.load(std::memory_order_seq_cst); }
void probe_store_relaxed(word& w, std::uint64_t v) { w.store(v, std::memory_order_relaxed); }
void probe_store_release(word& w, std::uint64_t v) { w.store(v, STRONGER(std::memory_order_release)); }
void probe_store_seq_cst(word& w, std::uint64_t v) { w.store(v, std::memory_order_seq_cst); }
std::uint64_t probe_exchange(word& w, std::uint64_t v) { return w.exchange(v, std::memory_order_acq_rel); }
std::uint64_t probe_fetch_add(word& w, std::uint64_t v) { return w.fetch_add(v, std::memory_order_relaxed); }
bool probe_cas_strong(word& w, std::uint64_t& e, std::uint64_t v) {
    return w.compare_exchange_strong(e, v, std::memory_order_seq_cst, std::memory_order_relaxed);
}
bool probe_cas_weak(word& w, std::uint64_t& e, std::uint64_t v) {
    return w.compare_exchange_weak(e, v, std::memory_order_release, std::memory_order_relaxed);
}
void probe_fence_acquire() { std::atomic_thread_fence(STRONGER(std::memory_order_acquire)); }
void probe_fence_seq_cst() { std::atomic_thread_fence(std::memory_order_seq_cst); }
std::uint64_t probe_cell(std::uint64_t& c) { return c++; }

std::uint64_t probe_publish(word& data, word& flag, std::uint64_t v) {
    data.store(v, std::memory_order_relaxed);
    flag.store(1, std::memory_order_release);
    return flag.load(std::memory_order_acquire);
}

struct job {
    explicit job(std::uint64_t v) : argument(v) {}
    std::uint64_t argument;
    word done{0};
};
void hand_over(job&);
std::uint64_t probe_scoped(std::uint64_t v) {
    job mine(v);
    hand_over(mine);
    return mine.done.load(std::memory_order_acquire);
}

std::uint64_t probe_current() {
    const worker* const mine = here;
    return mine != nullptr ? mine->id : 0;
}
void probe_set_current(worker& w) { here = &w; }

void* probe_allocate() { return ::operator new(96); }
void probe_deallocate(void* p) { ::operator delete(p); }
void* probe_allocate_aligned() { return ::operator new(128, std::align_val_t{64}); }

// flatten: how far the inliner goes is not the question here.
[[gnu::flatten]] bool probe_deque_push(deque::owner& d, std::uint64_t v) { return d.try_push(v); }
[[gnu::flatten]] bool probe_deque_pop(deque::owner& d, std::uint64_t& v) { return d.try_pop(v); }
using stolen = apiary::steal_result<std::uint64_t>;
[[gnu::flatten]] void probe_deque_steal(deque::thief& d, stolen& s) { s = d.steal(); }

}  // extern "C"
