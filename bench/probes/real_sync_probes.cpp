// The probes written with the policy real_sync. Each has a twin of the same name in hand_written_probes.cpp.
#include <cstdint>

#include <apiary/queues/chase_lev_deque.hpp>
#include <apiary/sync/real_sync.hpp>

using policy = apiary::real_sync;
using word = policy::atomic<std::uint64_t>;
using deque = apiary::chase_lev_deque<std::uint64_t>;

extern "C" {

std::uint64_t probe_load_relaxed(const word& w) { return w.load(std::memory_order_relaxed); }
std::uint64_t probe_load_acquire(const word& w) { return w.load(std::memory_order_acquire); }
std::uint64_t probe_load_seq_cst(const word& w) { return w.load(std::memory_order_seq_cst); }
void probe_store_relaxed(word& w, std::uint64_t v) { w.store(v, std::memory_order_relaxed); }
void probe_store_release(word& w, std::uint64_t v) { w.store(v, std::memory_order_release); }
void probe_store_seq_cst(word& w, std::uint64_t v) { w.store(v, std::memory_order_seq_cst); }
std::uint64_t probe_exchange(word& w, std::uint64_t v) { return w.exchange(v, std::memory_order_acq_rel); }
std::uint64_t probe_fetch_add(word& w, std::uint64_t v) { return w.fetch_add(v, std::memory_order_relaxed); }
bool probe_cas_strong(word& w, std::uint64_t& e, std::uint64_t v) {
    return w.compare_exchange_strong(e, v, std::memory_order_seq_cst, std::memory_order_relaxed);
}
bool probe_cas_weak(word& w, std::uint64_t& e, std::uint64_t v) {
    return w.compare_exchange_weak(e, v, std::memory_order_release, std::memory_order_relaxed);
}
void probe_fence_acquire() { policy::fence(std::memory_order_acquire); }
void probe_fence_seq_cst() { policy::fence(std::memory_order_seq_cst); }
std::uint64_t probe_cell(policy::cell<std::uint64_t>& c) {
    const std::uint64_t before = c.read();
    c.write(before + 1);
    return before;
}

// A publication through two words: the policy may add no code between the operations.
std::uint64_t probe_publish(word& data, word& flag, std::uint64_t v) {
    data.store(v, std::memory_order_relaxed);
    flag.store(1, std::memory_order_release);
    return flag.load(std::memory_order_acquire);
}

// A job on the stack that is shown to another thread: a constructor, two words, an end.
struct job {
    explicit job(std::uint64_t v) : argument(v) {}
    std::uint64_t argument;
    word done{0};
};
void hand_over(job&);
std::uint64_t probe_scoped(std::uint64_t v) {
    policy::scoped<job> mine(v);
    hand_over(*mine);
    return mine->done.load(std::memory_order_acquire);
}

struct worker {
    std::uint64_t id;
};
std::uint64_t probe_current() {
    const worker* const here = policy::current<worker>();
    return here != nullptr ? here->id : 0;
}
void probe_set_current(worker& w) { policy::set_current(&w); }

void* probe_allocate() { return policy::allocate(96, 16); }
void probe_deallocate(void* p) { policy::deallocate(p, 96, 16); }
void* probe_allocate_aligned() { return policy::allocate(128, 64); }

// flatten: how far the inliner goes is not the question here.
[[gnu::flatten]] bool probe_deque_push(deque::owner& d, std::uint64_t v) { return d.try_push(v); }
[[gnu::flatten]] bool probe_deque_pop(deque::owner& d, std::uint64_t& v) { return d.try_pop(v); }
using stolen = apiary::steal_result<std::uint64_t>;
[[gnu::flatten]] void probe_deque_steal(deque::thief& d, stolen& s) { s = d.steal(); }

}  // extern "C"
