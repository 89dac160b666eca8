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
    std::atomic<unsigned> told[2] = {0, 0}, data[2] = {0, 0};
    unsigned kept[program::most_threads] = {0, 0, 0};  // each its thread's own
};

// Rounds are counted: up to a bound, or in a circle of five.
class counter {
public:
    explicit counter(unsigned rounds) : rounds_(rounds) {}
    bool next() {
        ++n_;
        if (rounds_ == 0) n_ %= 5;
        return rounds_ == 0 || n_ != rounds_;
    }

private:
    unsigned n_ = 0, rounds_;
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
        case op::keep:
            s.kept[t] = 0;
            if (rounds == 0) {
                while (s.kept[t] == 0) s.kept[t] = s.told[i].load(std::memory_order_acquire);
            } else {
                unsigned n = 0;
                while (n < rounds && s.kept[t] == 0) s.kept[t] = s.told[i].load(std::memory_order_acquire), ++n;
                if (s.kept[t] == 0) return false;
            }
            saw(t, 40 + s.data[i].load(std::memory_order_relaxed));
            return true;
        case op::look:
            for (counter c(rounds); s.told[i].load(std::memory_order_acquire) == 0;)
                if (!c.next()) return false;
            saw(t, 40 + s.data[i].load(std::memory_order_relaxed));
            return true;
        case op::keep_and_look: {
            const auto look = [&](unsigned at) {
                s.kept[t] = s.told[at].load(std::memory_order_relaxed);
                return s.kept[t] != 0;
            };
            for (counter c(rounds); !look(i) && !look(1 - i);)
                if (!c.next()) return false;
            saw(t, 50 + s.data[i].load(std::memory_order_relaxed));
            return true;
        }
        case op::rise:
            s.kept[t] = 0;
            for (unsigned n = 0; s.told[i].load(std::memory_order_acquire) == 0; n += n < 9 ? 1 : 0) {
                if (rounds != 0 && n == rounds) return false;
                if (n == 2) s.told[1 - i].fetch_add(1, std::memory_order_release);
                s.kept[t] = n / 2;
                if (rounds != 0 && s.kept[t] == 2 && s.data[i].load(std::memory_order_relaxed) == 0)
                    s.data[i].store(5, std::memory_order_relaxed);
            }
            saw(t, 60 + s.data[i].load(std::memory_order_relaxed));
            return true;
        case op::tell:
            s.data[i].store(t + 1, std::memory_order_relaxed);
            saw(t, 70 + s.told[i].fetch_add(1, std::memory_order_release));
            return true;
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
