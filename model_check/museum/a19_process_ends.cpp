// A19: a process ends while somebody sends to it. A message that was accepted is dropped without an error; a pid is
// given to a new process while a sender still holds it.
//
// From: seed 001 "process states".
// Seen by: both engines, plain interleaving.
// Fixed twin: the shipped word of a process. The exchange that ends it closes its mailbox; and a push names its generation, so that
// nobody needs to hold a place. For the second half also a slot that counts its holders.
#include <array>

#include <apiary/model_check/register.hpp>
#include <apiary/queues/mpsc_inbox.hpp>

#include "shipped_process.hpp"

namespace a19_process_ends {
namespace {

using namespace apiary;

// A process with a mailbox ends; a sender is told whether its message was accepted.
template <class Sync>
struct a19_message_dropped {
    static constexpr const char* what = "a message lands between the last look into the mailbox and Complete";
    static constexpr unsigned threads = 2;
    struct letter {
        typename Sync::template cell<letter*> next;
    };

    typename Sync::template atomic<bool> complete{false};
    mpsc_inbox<letter, Sync> mailbox;
    std::array<letter, 2> letters;
    unsigned accepted = 0, settled = 0;  // received, or handed back

    bool send(letter& l) {
        if (complete.load(std::memory_order_relaxed)) return false;
        return mailbox.push(&l) != push_result::closed;
    }
    void thread(unsigned i) {
        if (i == 1) {
            for (letter& l : letters) accepted += send(l) ? 1U : 0U;
            return;
        }
        settled += static_cast<unsigned>(mailbox.drain().size());
        complete.store(true, std::memory_order_relaxed);
    }
    void after() { Sync::law(settled == accepted, "an accepted message was dropped without an error"); }
};
APIARY_EXHIBIT(a19_message_dropped, "dropped without an error");
template <class Sync>
struct a19_fixed {
    static constexpr const char* what =
        "twin of A19: the process ends by the exchange that gives back what was in its mailbox";
    static constexpr const char* exhibit = "a19_message_dropped";
    static constexpr unsigned threads = 2;
    museum::shipped_process<Sync> process{process_state::ready};
    unsigned accepted = 0, settled = 0;
    void thread(unsigned i) {
        if (i == 0) {
            settled += process.start();
            settled += process.finish();
            return;
        }
        for (std::size_t n = 0; n != 2; ++n) {
            (void)process.send(n, false);
            accepted += process.last_answer() == push_answer::accepted ? 1U : 0U;
        }
    }
    void after() { Sync::law(settled == accepted, "an accepted message was dropped without an error"); }
};
APIARY_CHECK(a19_fixed);

// A slot of the pid table: generation, whether its process has ended, and how many senders hold it, in one word. The
// slot is free for the next generation when the process has ended and nobody holds it: told to exactly one caller.
template <class Sync, bool Held>
class pid_slot {
    static constexpr unsigned ended = 0x80, generation = 0x100;

public:
    pid_slot() { word_.store(0, std::memory_order_relaxed); }

    // False: that process is gone.
    [[nodiscard]] bool hold(unsigned pid) {
        unsigned seen = word_.load(std::memory_order_relaxed);
        do {
            if (seen / generation != pid || (seen & ended) != 0) return false;
            if constexpr (!Held) return true;
        } while (!word_.compare_exchange_weak(seen, seen + 1, std::memory_order_acquire,
                                              std::memory_order_relaxed));  // reuse
        return true;
    }
    // True: the slot is free, and the caller's: it has acquired what the process and every holder have done.
    [[nodiscard]] bool drop() {
        if constexpr (!Held) return false;
        return free_if(word_.fetch_sub(1, std::memory_order_acq_rel) - 1);
    }
    [[nodiscard]] bool end() { return free_if(word_.fetch_or(ended, std::memory_order_acq_rel) | ended); }

    // The caller's slot gets its next process. Returns the pid.
    unsigned reuse() {
        const unsigned pid = word_.load(std::memory_order_relaxed) / generation + 1;
        word_.store(pid * generation, std::memory_order_release);  // hold
        return pid;
    }

private:
    static bool free_if(unsigned word) { return word % generation == ended; }

    typename Sync::template atomic<unsigned> word_;
};

template <class Sync, bool Held>
struct pid_against_reuse {
    static constexpr unsigned threads = 2;
    pid_slot<Sync, Held> slot;
    typename Sync::template atomic<unsigned> mailbox{0};  // for whom the last message is, plus one
    typename Sync::template cell<unsigned> body{0};       // the process, by its pid

    void before() { body.write(0); }
    void start_next() {
        mailbox.store(0, std::memory_order_relaxed);  // dead letters
        body.write(body.read() + 1);
        Sync::law(slot.reuse() == body.read(), "the slot was not given on once");
    }
    void thread(unsigned i) {
        if (i == 0) {
            body.write(0);
            if (slot.end()) start_next();
            return;
        }
        if (slot.hold(0)) {
            mailbox.store(0 + 1, std::memory_order_relaxed);
            if (slot.drop()) start_next();
        }
        if (Held && slot.hold(1)) {  // without the hold nothing is ordered, and that would be found first
            Sync::law(body.read() == 1, "a pid leads to another process");
            Sync::law(!slot.drop(), "a living process lost its slot");
        }
    }
    void after() {
        Sync::law(body.read() == 1, "the slot was not given on once");
        Sync::law(mailbox.load(std::memory_order_relaxed) == 0, "a message reached the next process of its slot");
    }
};
template <class Sync>
struct a19_pid_reused : pid_against_reuse<Sync, false> {
    static constexpr const char* what =
        "a sender has looked its pid up, and the slot gets a new process before it sends";
};
APIARY_EXHIBIT(a19_pid_reused, "reached the next process");
template <class Sync>
struct a19_pid_fixed : pid_against_reuse<Sync, true> {
    static constexpr const char* what = "twin of A19: the last holder of a slot gives it on";
    static constexpr const char* exhibit = "a19_pid_reused";
};
APIARY_CHECK(a19_pid_fixed);

// The shipped one: the place has its next process while the sender holds the pid of the last.
template <class Sync>
struct a19_pid_shipped {
    static constexpr const char* what = "twin of A19: the word that a send would change has the generation in it";
    static constexpr const char* exhibit = "a19_pid_reused";
    static constexpr unsigned threads = 2;
    struct alignas(16) letter {
        typename Sync::template cell<letter*> next;
    };
    process_word<letter, Sync> word;
    letter mail;
    typename Sync::template cell<unsigned> body{0};
    void before() {
        word.open(1);
        body.write(1);
    }
    void thread(unsigned i) {
        if (i == 1) {
            (void)word.push(1, &mail, false);
            return;
        }
        (void)word.start(1);
        (void)word.finish(1);  // dead letters
        body.write(body.read() + 1);
        word.open(2);
    }
    void after() {
        Sync::law(body.read() == 2, "the slot was not given on once");
        Sync::law(word.start(2).newest == nullptr, "a message reached the next process of its slot");
    }
};
APIARY_CHECK(a19_pid_shipped);

}  // namespace
}  // namespace a19_process_ends
