// A16, A17 and B31: how a process of seed 001 is woken, and what a wake means.
//
// From: seed 001 "wake flag" and "message routing" (A16 takes the obvious reading where the seed leaves the detail
// open); B31 march #310.
// Seen by: both engines, plain interleaving.
// Fixed twin: the shipped word of a process, in the same scenario.
#include <apiary/model_check/register.hpp>

#include "process_state.hpp"
#include "shipped_process.hpp"

namespace a16_a17_process_wakes {
namespace {

using namespace apiary;
using namespace apiary::museum;

// One process whose mailbox only counts. The thread that must enqueue it runs it, and stands for the worker that would.
template <class Sync, process_defect Defect, unsigned First, unsigned Waits>
struct one_process {
    using state_type = seed_process_state<Sync, Defect>;
    using state = typename state_type::state;

    state_type process{state{First}};
    typename Sync::template atomic<unsigned> mailbox{0};
    typename Sync::template cell<unsigned> received{0};

    void run() {
        do {
            process.start();
            received.write(received.read() + take());  // the cell sees a second worker
        } while (process.settle(state{Waits}));
    }
    // Looks first, as inboxes do, and relaxed: the wake that announced the event has ordered it.
    unsigned take() {
        if (mailbox.load(std::memory_order_relaxed) == 0) return 0;
        return mailbox.exchange(0, std::memory_order_relaxed);
    }
    void send(typename state_type::wake why) {
        mailbox.fetch_add(1, std::memory_order_relaxed);
        if (process.signal(why)) run();
    }
    void expect(unsigned events) {
        Sync::law(received.read() == events, "an event was lost: it lies in the mailbox of a process that waits");
    }
};

constexpr unsigned idle = 0, blocked = 1, queued = 2;  // seed_process_state's, which has a policy

template <class Sync, process_defect Defect>
struct completion_against_block : one_process<Sync, Defect, queued, blocked> {
    static constexpr unsigned threads = 2;
    void thread(unsigned i) {
        if (i == 0)
            this->run();
        else
            this->send(seed_process_state<Sync, Defect>::completion);
    }
    void after() { this->expect(1); }
};
template <class Sync>
struct a16_flag_in_its_own_word : completion_against_block<Sync, process_defect::flag_in_its_own_word> {
    static constexpr const char* what = "a completion between the look at the flag and the store of Blocked is lost";
};
APIARY_EXHIBIT(a16_flag_in_its_own_word, "an event was lost");
template <class Sync>
struct a16_fixed : one_shipped_process<Sync, process_state::ready, process_state::blocked> {
    static constexpr const char* what = "twin of A16: state, flag and mailbox are one word";
    static constexpr const char* exhibit = "a16_flag_in_its_own_word";
    static constexpr unsigned threads = 2;
    void thread(unsigned i) {
        if (i == 0)
            this->run();
        else
            this->send(0, true);
    }
    void after() { this->expect(1); }
};
APIARY_CHECK(a16_fixed);

// A17. Only the thread that runs it is looked at: what else two workers spoil would be found first, now and then.
template <class Sync, process_defect Defect>
struct two_senders {
    static constexpr unsigned threads = 2;
    using state_type = seed_process_state<Sync, Defect>;
    state_type process{state_type::idle};
    typename Sync::template atomic<unsigned> on_workers{0};

    void thread(unsigned) {
        bool enqueued = process.signal(state_type::message);
        while (enqueued) {
            process.start();
            Sync::law(on_workers.fetch_add(1, std::memory_order_relaxed) == 0, "the process runs on two workers");
            on_workers.fetch_sub(1, std::memory_order_relaxed);
            enqueued = process.settle(state_type::idle);
        }
    }
};
template <class Sync>
struct a17_woken_by_a_store : two_senders<Sync, process_defect::woken_by_a_store> {
    static constexpr const char* what = "two senders see Idle, and the second overwrites Running";
};
APIARY_EXHIBIT(a17_woken_by_a_store, "runs on two workers");
template <class Sync>
struct a17_fixed {
    static constexpr const char* what = "twin of A17: one of the two moves the state, the other only adds its message";
    static constexpr const char* exhibit = "a17_woken_by_a_store";
    static constexpr unsigned threads = 2;
    shipped_process<Sync> process{process_state::idle};
    typename Sync::template atomic<unsigned> on_workers{0};
    void thread(unsigned i) {
        bool enqueued = process.send(i, false);
        while (enqueued) {
            process.start();
            Sync::law(on_workers.fetch_add(1, std::memory_order_relaxed) == 0, "the process runs on two workers");
            on_workers.fetch_sub(1, std::memory_order_relaxed);
            enqueued = process.settle(process_state::idle);
        }
    }
};
APIARY_CHECK(a17_fixed);

// B31. The run that took the message ends before its wake arrives; the wake then finds nothing.
template <class Sync, bool EmptyMeansKilled>
struct late_wake : one_process<Sync, process_defect::none, queued, idle> {
    static constexpr unsigned threads = 2;
    using state_type = seed_process_state<Sync>;
    typename Sync::template cell<bool> killed{false};

    void run() {
        do {
            this->process.start();
            const unsigned events = this->take();
            if (EmptyMeansKilled && events == 0) {
                killed.write(true);
                return this->process.finish();
            }
            this->received.write(this->received.read() + events);
        } while (this->process.settle(state_type::idle));
    }
    void before() { this->mailbox.store(1, std::memory_order_relaxed); }
    void thread(unsigned i) {
        if (i == 0) return run();
        this->mailbox.fetch_add(1, std::memory_order_relaxed);
        if (this->process.signal(state_type::message)) run();
    }
    void after() {
        Sync::law(!killed.read(), "a living process was taken for killed");
        this->expect(2);
    }
};
template <class Sync>
struct b31_empty_means_killed : late_wake<Sync, true> {
    static constexpr const char* what = "a late wake finds an empty mailbox, which is read as \"killed\"";
};
APIARY_EXHIBIT(b31_empty_means_killed, "taken for killed");
template <class Sync>
struct b31_fixed : one_shipped_process<Sync, process_state::ready, process_state::idle> {
    static constexpr const char* what =
        "twin of B31: a wake brings its message with it, and two come in one run or in two";
    static constexpr const char* exhibit = "b31_empty_means_killed";
    static constexpr unsigned threads = 2;
    bool killed = false;  // of the one that runs it
    void run() {
        do {
            const unsigned events = this->process.start();
            killed = killed || events == 0;
            this->received.write(this->received.read() + events);
        } while (this->process.settle(process_state::idle));
    }
    void before() { Sync::law(!this->process.send(0, false), "a ready process was queued again"); }
    void thread(unsigned i) {
        if (i == 0) return run();
        if (this->process.send(1, false)) run();
    }
    void after() {
        Sync::law(!killed, "a living process was taken for killed");
        this->expect(2);
    }
};
APIARY_CHECK(b31_fixed);

}  // namespace
}  // namespace a16_a17_process_wakes
