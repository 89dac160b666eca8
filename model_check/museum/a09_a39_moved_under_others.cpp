// A09 and A39: a vector that grows under threads that index it; a process that goes idle over a message, or blocks for ever.
//
// From: seed 002 section 5.2; seed 001 "wake flag".
// Seen by: both engines. A09 is a data race or a use after free; A39 plain interleaving.
// Fixed twins: fixed slots behind a count; the shipped word of a process, where state and mailbox are one and a cancel ends a block.
#include <array>

#include <apiary/model_check/register.hpp>

#include "shipped_process.hpp"

namespace a09_a39_moved_under_others {
namespace {

using namespace apiary;

constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;
constexpr auto seq_cst = std::memory_order_seq_cst;

// A09. One thread attaches a second worker while another looks for a sleeper.
template <class Sync>
class growing_flags {
    using flag = typename Sync::template atomic<bool>;

public:
    growing_flags() {
        flags_.write(Sync::template create_array<flag>(1));
        flags_.read()[0].store(false, relaxed);
        size_.write(1);
    }
    ~growing_flags() { Sync::destroy_array(flags_.read(), size_.read()); }
    void attach() {
        flag* const old = flags_.read();
        flag* const larger = Sync::template create_array<flag>(2);
        larger[0].store(old[0].load(relaxed), relaxed);
        larger[1].store(true, relaxed);
        flags_.write(larger);
        size_.write(2);
        Sync::destroy_array(old, 1);
    }
    unsigned sleepers() const {
        unsigned n = 0;
        for (std::size_t i = 0; i < size_.read(); ++i) n += flags_.read()[i].load(acquire) ? 1U : 0U;
        return n;
    }

private:
    typename Sync::template cell<flag*> flags_{nullptr};
    typename Sync::template cell<std::size_t> size_{0};
};
template <class Sync>
class fixed_flags {
public:
    fixed_flags() { flags_[0].store(false, relaxed); }
    void attach() {
        flags_[1].store(true, relaxed);
        size_.store(2, release);  // with the acquire below: a thread that counts the slot finds it ready
    }
    unsigned sleepers() const {
        unsigned n = 0;
        for (std::size_t i = 0; i < size_.load(acquire); ++i) n += flags_[i].load(acquire) ? 1U : 0U;
        return n;
    }

private:
    std::array<typename Sync::template atomic<bool>, 2> flags_;
    typename Sync::template atomic<std::size_t> size_{1};
};
template <class Sync, class Flags>
struct attach_and_look {
    static constexpr unsigned threads = 2;
    Flags flags;
    unsigned seen = 0;
    void thread(unsigned i) {
        if (i == 0)
            flags.attach();
        else
            seen = flags.sleepers();
    }
    void after() { Sync::law(seen <= 1, "a sleeper that is none"); }
};
template <class Sync>
struct a09_growing_vector : attach_and_look<Sync, growing_flags<Sync>> {
    static constexpr const char* what = "the flags move to a larger array while a poster indexes them";
};
APIARY_EXHIBIT(a09_growing_vector, "data race");
template <class Sync>
struct a09_fixed : attach_and_look<Sync, fixed_flags<Sync>> {
    static constexpr const char* what =
        "twin of A09: all slots are there from the start, and a count says how many are in use";
    static constexpr const char* exhibit = "a09_growing_vector";
};
APIARY_CHECK(a09_fixed);

// A39. A process that runs empties its mailbox and goes idle; a sender queues it only when it is idle.
template <class Sync>
struct a39_message_before_idle {
    static constexpr const char* what = "a message between the last look into the mailbox and 'idle' queues nobody";
    static constexpr unsigned threads = 2;
    typename Sync::template atomic<bool> running{true};
    typename Sync::template atomic<unsigned> mailbox{0}, queued{0};

    void run_until_idle() {
        (void)mailbox.exchange(0, seq_cst);
        // A message that comes here finds the process running.
        running.store(false, seq_cst);
    }
    void thread(unsigned i) {
        if (i == 0) {
            run_until_idle();
            return;
        }
        mailbox.fetch_add(1, seq_cst);
        bool idle = false;
        if (running.compare_exchange_strong(idle, true, seq_cst, seq_cst)) queued.store(1, relaxed);
    }
    void after() {
        Sync::law(mailbox.load(relaxed) == 0 || queued.load(relaxed) != 0,
                  "a message is left to a process that is idle");
    }
};
APIARY_EXHIBIT(a39_message_before_idle, "left to a process");
template <class Sync>
struct a39_fixed : museum::one_shipped_process<Sync, process_state::ready, process_state::idle> {
    static constexpr const char* what =
        "twin of A39: a process cannot become idle over a message that lies in the same word";
    static constexpr const char* exhibit = "a39_message_before_idle";
    static constexpr unsigned threads = 2;
    void thread(unsigned i) {
        if (i == 0)
            this->run();
        else
            this->send(0, false);
    }
    void after() { this->expect(1); }
};
APIARY_CHECK(a39_fixed);

// And the stop: it cancels a blocked process, from where no edge leads to ready.
template <class Sync>
struct a39_cancel_has_no_edge {
    static constexpr const char* what = "a stop sets the flag of a blocked process, and makes it ready for nobody";
    static constexpr unsigned threads = 2;
    enum state : unsigned { running, blocked, ready };
    typename Sync::template atomic<unsigned> process{running};
    typename Sync::template atomic<bool> cancelled{false};

    void thread(unsigned i) {
        if (i == 0) {  // the process: waits for a completion that the stop will not let come
            unsigned now = running;
            process.compare_exchange_strong(now, blocked, seq_cst, relaxed);
            if (cancelled.load(seq_cst)) return;
            Sync::spin_until(process, [](unsigned s) { return s == ready; });
        } else {
            cancelled.store(true, seq_cst);
        }
    }
};
APIARY_EXHIBIT(a39_cancel_has_no_edge, "deadlock");
template <class Sync>
struct a39_cancel_fixed : museum::one_shipped_process<Sync, process_state::ready, process_state::blocked> {
    static constexpr const char* what = "twin of A39: cancel leads from blocked to ready";
    static constexpr const char* exhibit = "a39_cancel_has_no_edge";
    static constexpr unsigned threads = 2;
    void thread(unsigned i) {
        if (i == 0)
            this->run();
        else if (this->process.cancel())
            this->run();
    }
    void after() { Sync::law(this->process.cancelled(), "a cancel did not reach a process that blocks"); }
};
APIARY_CHECK(a39_cancel_fixed);

}  // namespace
}  // namespace a09_a39_moved_under_others
