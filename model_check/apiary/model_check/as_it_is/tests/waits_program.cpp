// Threads that wait in loops, or give up after so many rounds, as ordinary C++.
#include "waits.hpp"

#include <atomic>
#include <mutex>
#include <optional>
#include <thread>

namespace waits {

namespace {

struct shared {
    std::mutex mutexes[2];
    unsigned visits[2] = {0, 0};      // each guarded by its mutex
    bool is_set[2] = {false, false};  // the same
    std::atomic<unsigned> word{0};
    unsigned visits_of_the_word = 0;  // guarded by its lowest bit
    std::atomic<unsigned> owners{1};
};

// std::lock with a bound; false: it gave up.
bool lock_both(std::mutex& first, std::mutex& second, unsigned rounds) {
    std::mutex* wanted[2] = {&first, &second};
    for (unsigned round = 0; round < rounds; ++round) {
        std::mutex &one = *wanted[round % 2], &other = *wanted[1 - round % 2];
        one.lock();
        if (other.try_lock()) return true;
        one.unlock();
    }
    return false;
}

// Each loop twice: a count of the rounds is a state of its own, so that the one that counts is executed as it is.
bool does(unsigned t, const action& a, shared& s, unsigned rounds) {
    const unsigned i = a.mutex;
    std::mutex& m = s.mutexes[i];
    switch (a.what) {
        case op::try_until_locked:
            if (rounds == 0) {
                while (!m.try_lock()) std::this_thread::yield();
            } else {
                unsigned n = 0;
                while (n < rounds && !m.try_lock()) ++n;
                if (n == rounds) return false;
            }
            saw(t, s.visits[i]++);
            m.unlock();
            return true;
        case op::poll:
            for (unsigned n = 0; rounds == 0 || n < rounds; n += rounds == 0 ? 0 : 1) {
                const std::lock_guard held(m);
                if (s.is_set[i]) return true;
            }
            return false;
        case op::set: {
            const std::lock_guard held(m);
            saw(t, s.visits[i]++);
            s.is_set[i] = true;
            return true;
        }
        case op::lock_both: {
            std::mutex& other = s.mutexes[1 - i];
            if (rounds == 0)
                std::lock(m, other);
            else if (!lock_both(m, other, rounds))
                return false;
            saw(t, s.visits[0]++);
            saw(t, s.visits[1]++);
            other.unlock();
            m.unlock();
            return true;
        }
        case op::spin_on_a_bit:
            if (rounds == 0) {
                while ((s.word.fetch_or(1, std::memory_order_acquire) & 1U) != 0) {
                }
            } else {
                unsigned n = 0;
                while (n < rounds && (s.word.fetch_or(1, std::memory_order_acquire) & 1U) != 0) ++n;
                if (n == rounds) return false;
            }
            saw(t, s.visits_of_the_word++);
            s.word.store(0, std::memory_order_release);
            return true;
        case op::try_once:
            if (m.try_lock()) {
                saw(t, 10 + s.visits[i]);
                m.unlock();
            } else {
                saw(t, 20);
            }
            return true;
        case op::count: {  // as std::weak_ptr::lock does; the number comes back to what it was
            unsigned before = s.owners.load(std::memory_order_relaxed);
            if (rounds == 0) {
                while (!s.owners.compare_exchange_strong(before, before + 1, std::memory_order_acq_rel,
                                                         std::memory_order_relaxed)) {
                }
            } else {
                unsigned n = 0;
                while (n < rounds && !s.owners.compare_exchange_strong(before, before + 1, std::memory_order_acq_rel,
                                                                       std::memory_order_relaxed))
                    ++n;
                if (n == rounds) return false;
            }
            saw(t, 30 + before);
            s.owners.fetch_sub(1, std::memory_order_acq_rel);
            return true;
        }
        case op::lock: {
            const std::lock_guard held(m);
            saw(t, s.visits[i]++);
            return true;
        }
    }
    return false;
}

}  // namespace

void run() {
    shared s;
    const program* const p = current();
    const auto body = [&](unsigned t) {
        for (unsigned k = 0; k < p->length[t]; ++k)
            if (!does(t, p->code[t][k], s, p->rounds)) return saw(t, gave_up);
    };
    std::optional<std::thread> threads[program::most_threads];
    for (unsigned t = 0; t < p->threads; ++t) threads[t].emplace(body, t);
    for (unsigned t = 0; t < p->threads; ++t) threads[t]->join();
}

}  // namespace waits
