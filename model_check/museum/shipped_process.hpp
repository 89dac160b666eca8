// The word of a process as it ships, behind what the exhibits of process schedulers ask of theirs: the twin of each.
//
// When to use it. For the fixed twins of A16, A17, A19, A39, B30, B31 and C03.
#pragma once

#include <array>
#include <cstddef>

#include <apiary/schedulers/processes/process_word.hpp>

namespace apiary::museum {

template <class Sync>
class shipped_process {
    struct alignas(16) letter {
        typename Sync::template cell<letter*> next;
    };

public:
    explicit shipped_process(process_state first) {
        word_.open(1);
        if (first == process_state::ready) return;
        (void)word_.start(1);
        (void)word_.settle(1, first);
    }
    // Event i, which is sent once. True: the caller must enqueue the process.
    [[nodiscard]] bool send(std::size_t i, bool calls) {
        last_ = word_.push(1, &letters_[i], calls);
        return last_ == push_answer::woke;
    }
    push_answer last_answer() const { return last_; }  // of the one thread that sends
    [[nodiscard]] bool cancel() { return word_.cancel(1) == push_answer::woke; }
    unsigned start() { return count(word_.start(1)); }
    [[nodiscard]] bool settle(process_state waits) { return word_.settle(1, waits); }
    unsigned finish() { return count(word_.finish(1)); }
    bool cancelled() const { return cancelled_; }

private:
    unsigned count(typename process_word<letter, Sync>::taken t) {
        cancelled_ = cancelled_ || t.cancelled;
        unsigned n = 0;
        for (letter* l = t.newest; l != nullptr; l = l->next.read()) ++n;
        return n;
    }

    process_word<letter, Sync> word_;
    std::array<letter, 3> letters_;
    push_answer last_ = push_answer::accepted;
    bool cancelled_ = false;  // by the worker that runs it
};

// One process. The thread that must enqueue it runs it, and stands for the worker that would.
template <class Sync, process_state First, process_state Waits>
struct one_shipped_process {
    shipped_process<Sync> process{First};
    typename Sync::template cell<unsigned> received{0};

    void run() {
        do {
            received.write(received.read() + process.start());  // the cell sees a second worker
        } while (process.settle(Waits));
    }
    void send(std::size_t i, bool calls) {
        if (process.send(i, calls)) run();
    }
    void expect(unsigned events) {
        Sync::law(received.read() == events, "an event was lost: it lies in the mailbox of a process that waits");
    }
};

}  // namespace apiary::museum
