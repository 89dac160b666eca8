// A process that starts its run by a plain store loses a message (after seed 001, "wake flag").
//
// The defect: a queued process begins its run with state.store(running) and then empties its mailbox. A
// sender puts its message into the mailbox, sets the wake flag in the state, finds the process queued, and
// relies on the run to come. The store wipes the flag without reading it, so nothing orders the run behind
// the sender: its look at the mailbox may come *before* the message in the mailbox's own order, although the
// store came *after* the flag. The run ends, nobody was told, and the message stays.
//
// The repair: start the run by a read-modify-write, which reads the flag and synchronises with its sender. Fixed twins: that, and the
// shipped word, where the mailbox is in the same word.
//
// Seen by the explorer only. It takes two words whose orders disagree; Relacy appends every store to the end
// of its word's order at the time it runs.
#include <apiary/model_check/register.hpp>

#include "shipped_process.hpp"

namespace process_starts_by_a_store {
namespace {

using namespace apiary;

template <class Sync, bool StartByStore>
struct process_with_a_message {
    static constexpr unsigned threads = 2;
    static constexpr unsigned idle = 0, queued = 1, running = 2, flag = 4;

    typename Sync::template atomic<unsigned> state;
    typename Sync::template atomic<unsigned> mailbox;  // how many messages
    typename Sync::template cell<unsigned> received{0};

    void before() {
        state.store(queued, std::memory_order_relaxed);
        mailbox.store(0, std::memory_order_relaxed);
    }
    // One worker at a time owns the process: it runs until nobody has set the flag meanwhile.
    void run_process() {
        for (;;) {
            if constexpr (StartByStore)
                state.store(running, std::memory_order_release);
            else
                state.exchange(running, std::memory_order_acq_rel);
            received.write(received.read() + mailbox.exchange(0, std::memory_order_acquire));
            unsigned expected = running;
            if (state.compare_exchange_strong(expected, idle, std::memory_order_acq_rel, std::memory_order_acquire))
                return;
        }
    }
    void thread(unsigned i) {
        if (i == 0) {
            run_process();
            return;
        }
        mailbox.fetch_add(1, std::memory_order_release);
        const unsigned before_flag = state.fetch_or(flag, std::memory_order_acq_rel);
        // Idle: nobody will run it, so this thread does, standing for the worker that it would wake.
        if (before_flag == idle) run_process();
    }
    void after() { Sync::law(received.read() == 1, "a message was lost: it lies in the mailbox of an idle process"); }
};

template <class Sync>
struct process_starts_by_a_store : process_with_a_message<Sync, true> {
    static constexpr const char* what = "a run that starts by a plain store wipes a wake flag it has not read";
    static constexpr const char* relacy_passes =
        "it takes two words whose orders disagree; Relacy appends every store to the end of its word's order";
};
APIARY_EXHIBIT(process_starts_by_a_store, "a message was lost", apiary::model::explorer_only);

template <class Sync>
struct process_starts_by_an_exchange : process_with_a_message<Sync, false> {
    static constexpr const char* what = "the fixed twin: the run starts by an exchange";
    static constexpr const char* exhibit = "process_starts_by_a_store";
};
APIARY_CHECK(process_starts_by_an_exchange);

template <class Sync>
struct shipped_process_starts : museum::one_shipped_process<Sync, process_state::ready, process_state::idle> {
    static constexpr const char* what = "the shipped word: one exchange starts the run and takes the messages";
    static constexpr const char* exhibit = "process_starts_by_a_store";
    static constexpr unsigned threads = 2;
    void thread(unsigned i) {
        if (i == 0)
            this->run();
        else
            this->send(0, false);
    }
    void after() { this->expect(1); }
};
APIARY_CHECK(shipped_process_starts);

}  // namespace
}  // namespace process_starts_by_a_store
