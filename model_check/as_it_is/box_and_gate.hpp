// A box that gives memory back, and a gate that threads wait at: what --reach is tested on, beside the textbooks' queues
// (orders_test.py).
#pragma once

#include <atomic>
#include <mutex>

namespace textbook {

class box {
public:
    ~box() { delete at_.load(std::memory_order_acquire); }
    void put(int value) { delete at_.exchange(new int(value), std::memory_order_acq_rel); }

private:
    std::atomic<int*> at_{nullptr};
};

class gate {
public:
    void pass() { open_.wait(false, std::memory_order_acquire); }
    void open() {
        open_.store(true, std::memory_order_release);
        open_.notify_all();
    }

private:
    std::atomic<bool> open_{false};
};

// An index that is stored masked.
class turnstile {
public:
    void pass() { at_.store((at_.load(std::memory_order_relaxed) + 1) % 4, std::memory_order_release); }

private:
    std::atomic<unsigned> at_{0};
};

class meter {
public:
    void tick() { at_.fetch_add(1, std::memory_order_relaxed); }
    void clear() { at_.store(0, std::memory_order_relaxed); }

private:
    std::atomic<unsigned> at_{0};
};

// Its states are numbers that rise by one: no counter.
class lamp {
public:
    void light() { at_.store(1, std::memory_order_release); }
    void burn_out() { at_.store(2, std::memory_order_release); }

private:
    std::atomic<unsigned> at_{0};
};

class till {
public:
    void pay(int n) {
        const std::lock_guard own(lock_);
        sum_ += n;
    }

private:
    std::mutex lock_;
    int sum_ = 0;
};

}  // namespace textbook
