// Threads that run one code, as ordinary C++.
#include "alike.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace alike {

namespace {

struct shared {
    std::atomic<unsigned> words[2] = {0, 0};
    std::mutex mutex;
    std::condition_variable changed;
    unsigned visits = 0, posts = 0;  // guarded by it
    std::atomic<unsigned> gate{0};
};

void does(const action& a, shared& s) {
    constexpr std::memory_order loads[] = {std::memory_order_relaxed, std::memory_order_acquire, std::memory_order_seq_cst};
    constexpr std::memory_order stores[] = {std::memory_order_relaxed, std::memory_order_release, std::memory_order_seq_cst};
    constexpr std::memory_order both[] = {std::memory_order_relaxed, std::memory_order_acq_rel, std::memory_order_seq_cst};
    std::atomic<unsigned>& word = s.words[a.location];
    switch (a.what) {
        case op::load:
            return saw(word.load(loads[a.order]));
        case op::store:
            return word.store(a.value, stores[a.order]);
        case op::add:
            return saw(word.fetch_add(10, both[a.order]));
        case op::exchange:
            return saw(word.exchange(a.value, both[a.order]));
        case op::critical: {
            const std::lock_guard<std::mutex> held(s.mutex);
            return saw(s.visits++);
        }
        case op::trial:
            if (!s.mutex.try_lock()) return saw(99);
            saw(s.visits++);
            return s.mutex.unlock();
        case op::wait: {
            std::unique_lock<std::mutex> held(s.mutex);
            if (a.order == 0)
                s.changed.wait(held);  // wakes for nothing are seen
            else
                s.changed.wait(held, [&] { return s.posts != 0; });
            return saw(s.posts == 0 ? 0 : s.posts--);
        }
        case op::notify_one:
        case op::notify_all: {
            {
                const std::lock_guard<std::mutex> held(s.mutex);
                ++s.posts;
            }
            a.what == op::notify_one ? s.changed.notify_one() : s.changed.notify_all();
            return;
        }
        case op::fence:
            return std::atomic_thread_fence(both[1 + a.order / 2]);
        case op::park:
            s.gate.wait(0);
            return saw(s.gate.load());
        case op::wake:
            s.gate.store(1);
            s.gate.notify_one();
            return;
    }
}

void does_all(unsigned kind, shared& s) {
    const program& p = *current();
    for (unsigned k = 0; k < p.length[kind]; ++k) does(p.code[kind][k], s);
}

}  // namespace

void run() {
    shared s;
    std::vector<std::thread> threads;
    const program& p = *current();
    for (unsigned n = 0; n < p.threads[1]; ++n) threads.emplace_back([&s] { does_all(1, s); });
    for (unsigned n = 0; n < p.threads[2]; ++n) threads.emplace_back([&s] { does_all(2, s); });
    does_all(0, s);
    for (std::thread& t : threads) t.join();
    saw(s.words[0].load() * 100 + s.words[1].load());
}

}  // namespace alike
