// exhibits: the smallest programs that show each thing the explorer has to see.
#pragma once

#include <stdexcept>

#include <apiary/model_check/explorer/run.hpp>
#include <apiary/queues/chase_lev_deque.hpp>

namespace apiary::model::explorer {

inline constexpr auto rlx = std::memory_order_relaxed;
inline constexpr auto acq = std::memory_order_acquire;
inline constexpr auto rel = std::memory_order_release;
inline constexpr auto acq_rel = std::memory_order_acq_rel;

template <class Sync>
struct two_threads {
    static constexpr unsigned threads = 2;
    template <class T>
    using atomic = typename Sync::template atomic<T>;
    template <class T>
    using cell = typename Sync::template cell<T>;
    atomic<int> x{0}, y{0};
    cell<int> data{0};
};

template <class Sync>
struct race : two_threads<Sync> {
    void thread(unsigned i) {
        if (i == 0) {
            this->data.write(1);
            this->x.store(1, rlx);
        } else if (this->x.load(acq) == 1) {
            (void)this->data.read();
        }
    }
};

template <class Sync>
struct publication : two_threads<Sync> {
    void thread(unsigned i) {
        if (i == 0) {
            this->data.write(1);
            this->x.store(1, rel);
        } else if (this->x.load(acq) == 1 && this->data.read() != 1) {
            Sync::fail("not published");
        }
    }
};

template <class Sync>
struct store_buffering : two_threads<Sync> {
    int seen[2] = {1, 1};
    void thread(unsigned i) {
        (i == 0 ? this->x : this->y).store(1, rel);
        seen[i] = (i == 0 ? this->y : this->x).load(acq);
    }
    void after() {
        if (seen[0] == 0 && seen[1] == 0) Sync::fail("both missed");
    }
};

template <class Sync>
struct heap_node {
    typename Sync::template atomic<int> value{1};
};

template <class Sync>
struct holder : two_threads<Sync> {
    using node = heap_node<Sync>;
    typename Sync::template atomic<node*> head{nullptr};
    void before() { head.store(Sync::template create<node>(), rlx); }
};

template <class Sync>
struct use_after_free : holder<Sync> {
    void thread(unsigned i) {
        auto* p = this->head.load(acq);
        if (i == 0)
            Sync::destroy(p);
        else
            (void)p->value.load(rlx);
    }
};

template <class Sync>
struct double_free : holder<Sync> {
    void thread(unsigned i) {
        if (i == 0) {
            Sync::destroy(this->head.load(rlx));
            this->x.store(1, rel);
        } else if (this->x.load(acq) == 1) {
            Sync::destroy(this->head.load(rlx));
        }
    }
};

template <class Sync>
struct leak : holder<Sync> {
    void thread(unsigned) {}
};

template <class Sync>
struct uninitialised_atomic : two_threads<Sync> {
    typename Sync::template atomic<int> never;
    void thread(unsigned i) {
        if (i == 0)
            never.store(1, rlx);
        else
            (void)never.load(rlx);
    }
};

template <class Sync>
struct uninitialised_cell : two_threads<Sync> {
    typename Sync::template cell<int> never;
    void thread(unsigned i) {
        if (i == 0) (void)never.read();
    }
};

// The node's construction does not happen before the reader's use of it.
template <class Sync>
struct relaxed_publication : two_threads<Sync> {
    typename Sync::template atomic<heap_node<Sync>*> head{nullptr};
    void thread(unsigned i) {
        if (i == 0)
            head.store(Sync::template create<heap_node<Sync>>(), rlx);
        else if (auto* p = head.load(acq))
            (void)p->value.load(rlx);
    }
    void after() { Sync::destroy(head.load(rlx)); }
};

template <class Sync>
struct abba : two_threads<Sync> {
    typename Sync::mutex a, b;
    void thread(unsigned i) {
        const typename Sync::lock first(i == 0 ? a : b);
        const typename Sync::lock second(i == 0 ? b : a);
    }
};

// Looks, then sleeps, without the mutex around both.
template <class Sync>
struct lost_wake : two_threads<Sync> {
    typename Sync::mutex m;
    typename Sync::condvar cv;
    void thread(unsigned i) {
        if (i == 0) {
            this->x.store(1, rel);
            cv.notify_one();
        } else if (this->x.load(acq) == 0) {
            typename Sync::lock held(m);
            cv.wait(held);
        }
    }
};

template <class Sync>
struct missed_pulse : two_threads<Sync> {
    void thread(unsigned i) {
        if (i == 0) {
            this->x.store(1, rel);
            this->x.store(0, rel);
        } else {
            Sync::spin_until(this->x, [](int v) { return v == 1; });
        }
    }
};

template <class Sync>
struct awaited : two_threads<Sync> {
    void thread(unsigned i) {
        if (i == 0) {
            this->data.write(5);
            this->x.store(1, rel);
            Sync::spin_until(this->y, [](int v) { return v == 1; });
            this->data.write(6);
        } else {
            Sync::spin_until(this->x, [](int v) { return v == 1; });
            if (this->data.read() != 5) Sync::fail("not seen");
            this->y.store(1, rel);
        }
    }
};

template <class Sync>
struct endless : two_threads<Sync> {
    void thread(unsigned i) {
        while (i == 0 && this->x.load(rlx) == 0) Sync::relax();
    }
};

template <class Sync>
struct throws : two_threads<Sync> {
    void thread(unsigned i) {
        if (i == 0) this->x.store(1, rlx);
        if (i == 1 && this->x.load(rlx) == 1) throw std::runtime_error("thrown");
    }
};

template <class Sync>
struct foreign_unlock : two_threads<Sync> {
    typename Sync::mutex m;
    void thread(unsigned i) {
        if (i == 1) m.unlock();
    }
};

// Nobody is there yet to wake it.
template <class Sync>
struct waits_before_the_threads : two_threads<Sync> {
    typename Sync::futex word{0};
    void before() { (void)word.wait(0, Sync::forever); }
    void thread(unsigned) { word.wake_all(); }
};
template <class Sync>
struct waits_after_the_threads : two_threads<Sync> {
    typename Sync::mutex m;
    typename Sync::condvar cv;
    void thread(unsigned) { cv.notify_all(); }
    void after() {
        typename Sync::lock held(m);
        cv.wait(held);
    }
};

template <class Sync>
struct broken_invariant : two_threads<Sync> {
    void thread(unsigned) {
        this->x.fetch_add(1, rlx);
        this->x.fetch_sub(1, rlx);
    }
    void invariant() {
        if (this->x.load(rlx) >= 2) Sync::fail("never two");
    }
};

// The word comes back although the node is another one: the compare-exchange takes it for the old node.
template <class Sync>
struct aba : holder<Sync> {
    using node = typename holder<Sync>::node;
    node* taken = nullptr;
    bool changed = false;
    void thread(unsigned i) {
        if (i == 0) {
            node* seen = this->head.load(acq);
            const int generation = this->x.load(acq);
            if (seen == nullptr || !this->head.compare_exchange_strong(seen, nullptr, acq_rel, rlx)) return;
            taken = seen;
            changed = this->x.load(acq) != generation;
        } else {
            node* old = this->head.exchange(nullptr, acq_rel);
            if (old == nullptr) return;
            Sync::destroy(old);
            node* fresh = Sync::template create<node>();
            this->x.store(1, rel);
            this->head.store(fresh, rel);
        }
    }
    void after() {
        if (changed) Sync::fail("the compare-exchange succeeded on another node");
        Sync::destroy(taken);
        Sync::destroy(this->head.load(rlx));
    }
};

template <class Sync>
struct weak_failure : two_threads<Sync> {
    void thread(unsigned i) {
        int expected = 0;
        if (i == 0 && !this->x.compare_exchange_weak(expected, 1, rlx, rlx))
            Sync::fail("failed although the value matched");
    }
};

// An `if` where a `while` belongs.
template <class Sync>
struct spurious_wake : two_threads<Sync> {
    typename Sync::mutex m;
    typename Sync::condvar cv;
    bool posted = false;
    void thread(unsigned i) {
        typename Sync::lock held(m);
        if (i == 0) {
            posted = true;
            cv.notify_one();
        } else {
            if (!posted) cv.wait(held);
            if (!posted) Sync::fail("woke for nothing");
        }
    }
};

template <class Sync>
struct wait_with_predicate : two_threads<Sync> {
    typename Sync::mutex m;
    typename Sync::condvar cv;
    bool posted = false;
    void thread(unsigned i) {
        typename Sync::lock held(m);
        if (i == 0) {
            posted = true;
            cv.notify_one();
        } else {
            while (!posted) cv.wait(held);
        }
    }
};

template <class Sync>
struct timeout : two_threads<Sync> {
    typename Sync::parker p;
    void thread(unsigned i) {
        if (i == 0)
            p.unpark();
        else if (!p.park_until(5))
            Sync::fail("timed out");
    }
};

// One notification for two waiters whose conditions differ: the wrong one may take it.
template <class Sync>
struct two_waiters {
    static constexpr unsigned threads = 3;
    typename Sync::mutex m;
    typename Sync::condvar cv;
    unsigned turn = 0;
    unsigned woken = 0;
    void thread(unsigned i) {
        typename Sync::lock held(m);
        if (i == 0) {
            turn = 1;
            cv.notify_one();
            return;
        }
        if (turn == 0) cv.wait(held);
        if (turn == 1 && i == 2) Sync::fail("the second waiter took it");
        if (turn == 1) turn = 2;
        cv.notify_all();
    }
};

template <class Sync>
struct two_waiters_fixed {
    static constexpr unsigned threads = 3;
    typename Sync::mutex m;
    typename Sync::condvar cv;
    unsigned turn = 0;
    void thread(unsigned i) {
        typename Sync::lock held(m);
        while (i != 0 && turn == 0) cv.wait(held);
        turn = 1;
        cv.notify_all();
    }
};

template <class Sync>
struct locked_counter {
    static constexpr unsigned threads = 3;
    typename Sync::mutex m;
    typename Sync::template cell<int> n{0};
    void thread(unsigned) {
        const typename Sync::lock held(m);
        n.write(n.read() + 1);
    }
    void after() {
        if (n.read() != 3) Sync::fail("an increment is lost");
    }
};

// Three threads that do the same, each adding once and looking once.
template <class Sync>
struct three_alike {
    static constexpr unsigned threads = 3;
    static constexpr std::array alike{0U, 1U, 2U};
    typename Sync::template atomic<int> x{0};

    void thread(unsigned) {
        x.fetch_add(1, std::memory_order_relaxed);
        if (x.load(std::memory_order_relaxed) > 3) Sync::fail("too many");
    }
};
// The same without the word.
template <class Sync>
struct three_unmarked : three_alike<Sync> {
    static constexpr std::array<unsigned, 0> alike{};
};
// Says that its threads are alike, and is wrong.
template <class Sync>
struct not_alike : three_alike<Sync> {
    void thread(unsigned i) { this->x.store(static_cast<int>(i), std::memory_order_relaxed); }
};

template <class Sync>
struct parked_handover : two_threads<Sync> {
    typename Sync::parker p;
    void thread(unsigned i) {
        if (i == 0) {
            this->data.write(3);
            p.unpark();
        } else {
            p.park();
            if (this->data.read() != 3) Sync::fail("not handed over");
        }
    }
};

// The shipped deque with payloads behind pointers, two thieves, growth: its orders carry weight here.
struct small_deque : deque_limits {
    static constexpr std::size_t initial_capacity = 2, max_capacity = 4;
};
template <class Sync>
struct deque_payload {
    static constexpr unsigned threads = 3;
    struct task {
        typename Sync::template cell<int> times{0};
    };
    using deque = chase_lev_deque<task*, Sync, small_deque>;
    task tasks[3];
    deque d;
    typename deque::owner own = d.own();

    static void run(task* t) {
        if (t == nullptr) Sync::fail("a slot that no push has filled");
        t->times.write(t->times.read() + 1);
    }
    void thread(unsigned i) {
        if (i == 0) {
            task* t = nullptr;
            push(0);
            push(1);
            if (own.try_pop(t)) run(t);
            push(2);
            if (own.try_pop(t)) run(t);
        } else {
            const auto got = d.share().steal();
            if (got.status == steal_status::taken) run(got.value);
        }
    }
    void push(unsigned i) {
        tasks[i].times.write(0);
        if (!own.try_push(&tasks[i])) Sync::fail("full");
    }
    void after() {
        task* t = nullptr;
        while (own.try_pop(t)) run(t);
        for (const task& each : tasks)
            if (each.times.read() != 1) Sync::fail("a task did not run exactly once");
    }
};

}  // namespace apiary::model::explorer
