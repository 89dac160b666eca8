// The scenarios of the event count, over any that has its five calls: the one that ships, and the exhibits' broken ones.
#pragma once

#include <array>
#include <cstddef>

namespace apiary::model {

inline constexpr auto relaxed = std::memory_order_relaxed;

// Pieces of work that several threads may take.
template <class Sync>
class pieces_of_work {
public:
    void add() { pieces_.fetch_add(1, relaxed); }
    bool take() {
        unsigned n = pieces_.load(relaxed);
        while (n != 0)
            if (pieces_.compare_exchange_strong(n, n - 1, relaxed, relaxed)) return true;
        return false;
    }

private:
    typename Sync::template atomic<unsigned> pieces_{0};
};

template <class Sync, class Events, std::size_t Waiters>
struct event_scenario {
    Events events{Waiters};

    // Until `done`, waiting in between.
    template <class Done>
    void wait_until(std::size_t waiter, Done done) {
        for (;;) {
            events.prepare_wait();
            if (done()) {
                events.cancel_wait();
                return;
            }
            events.commit_wait(waiter);
        }
    }
    void invariant() {
        const auto w = events.snapshot();
        Sync::law(w.signals() <= w.before(), "more signals than threads they could be for");
        if (w.signals() != 0) Sync::law(w.top() == 0, "a signal is open while a committed waiter sleeps");
    }
    void after() {
        const auto w = events.snapshot();
        Sync::law(w.top() == 0 && w.before() == 0 && w.signals() == 0, "the books of the event count do not balance");
    }
};

// As many posts as waiters, each followed by a notify_one. Every waiter takes a piece, and keeps it until all have
// one: a piece that lies there while somebody sleeps is a deadlock.
template <class Sync, class Events, std::size_t Waiters>
struct a_piece_each : event_scenario<Sync, Events, Waiters> {
    static constexpr unsigned threads = Waiters + 1;
    pieces_of_work<Sync> work;
    typename Sync::template atomic<unsigned> taken{0};

    void thread(unsigned i) {
        if (i == Waiters) {
            for (std::size_t n = 0; n < Waiters; ++n) {
                work.add();
                this->events.notify_one();
            }
            return;
        }
        this->wait_until(i, [this] { return work.take(); });
        taken.fetch_add(1, relaxed);
        Sync::spin_until(taken, [](unsigned n) { return n == Waiters; });
    }
};

// Two are about to wait, and a third posts for one of them. The second finds another reason to go, and goes.
template <class Sync, class Events>
struct one_leaves : event_scenario<Sync, Events, 2> {
    static constexpr unsigned threads = 3;
    pieces_of_work<Sync> work;

    void thread(unsigned i) {
        if (i == 0) {
            this->wait_until(0, [this] { return work.take(); });
        } else if (i == 1) {
            this->events.prepare_wait();
            this->events.cancel_wait();
        } else {
            work.add();
            this->events.notify_one();
        }
    }
};

// Waiter 0 waits, and then `ComesBack` times more; waiter 1 waits once, and lies below it. One notifier may stand still
// with an old look at the stack, while the other one empties it and waiter 0 comes back alone. If the word then looks the
// same, a waiter that has long gone is put back on the stack.
template <class Sync, class Events, unsigned ComesBack>
struct stack_comes_back : event_scenario<Sync, Events, 2> {
    static constexpr unsigned threads = 4;
    static constexpr bool too_large_to_exhaust = true;
    typename Sync::template atomic<unsigned> stage{0};  // of waiter 0: odd, it is about to wait
    typename Sync::template atomic<unsigned> other{0};

    void thread(unsigned i) {
        Events& count = this->events;
        if (i == 0) {
            for (unsigned round = 0; round <= ComesBack; ++round) {
                count.prepare_wait();
                stage.store(2 * round + 1, std::memory_order_release);
                count.commit_wait(0);
                stage.store(2 * round + 2, std::memory_order_release);
                // Not alike: it must not come back early enough to take the signal of the other.
                Sync::spin_until(other, [](unsigned n) { return n == 2; });
            }
        } else if (i == 1) {
            count.prepare_wait();
            other.store(1, std::memory_order_release);
            count.commit_wait(1);
            other.store(2, std::memory_order_release);
        } else if (i == 2) {
            count.notify_one();
        } else {
            Sync::spin_until(other, [](unsigned n) { return n != 0; });
            for (unsigned round = 0; round <= ComesBack; ++round) {
                const unsigned now = Sync::spin_until(stage, [round](unsigned n) { return n > 2 * round; });
                if (round == 0)
                    count.notify_all();
                else if (now == 2 * round + 1)  // else the other notifier has ended this wait
                    count.notify_one();
            }
        }
    }
};

}  // namespace apiary::model
