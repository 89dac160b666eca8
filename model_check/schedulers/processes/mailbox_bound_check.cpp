// The bound of a mailbox as it ships: no more than it allows have room, what was taken is given back, and a sender that comes late
// takes nothing of the next process of its place.
#include <array>
#include <atomic>

#include <apiary/model_check/register.hpp>
#include <apiary/schedulers/processes/mailbox_bound.hpp>

namespace mailbox_bound_check {
namespace {

using namespace apiary;

// Two senders, each of two messages, and a receiver that takes what has come: a bound of two.
template <class Sync>
struct bound_holds {
    static constexpr const char* what = "two senders and a receiver at a bound of two: never three have room";
    static constexpr unsigned threads = 3;
    static constexpr std::array must_reach{"bound.full", "bound.taken"};
    static constexpr std::array alike{0U, 1U};
    mailbox_bound<Sync, 2> bound;
    typename Sync::template atomic<unsigned> pushed{0};  // stands for the mailbox
    std::atomic<unsigned> accepted = 0, received = 0;

    void before() { bound.open(1, {.most = 2}); }
    void receive() {
        const unsigned n = pushed.exchange(0, std::memory_order_acq_rel);
        Sync::law(n <= 2, "more messages lie in a mailbox than its bound allows");
        if (n != 0) bound.give_back(1, n);
        received += n;
    }
    void thread(unsigned i) {
        if (i == 2) return receive();
        for (unsigned n = 0; n != 2; ++n) {
            when_full then{};
            const bound_answer r = bound.take(1, then);
            Sync::law(r != bound_answer::gone && then == when_full::refuse, "a sender was told of another process");
            Sync::reach(r == bound_answer::taken ? "bound.taken" : "bound.full");
            if (r != bound_answer::taken) continue;
            ++accepted;
            pushed.fetch_add(1, std::memory_order_acq_rel);
        }
    }
    void after() {
        receive();
        Sync::law(accepted == received && bound.count(1) == 0, "room was lost, or given back twice");
    }
};
APIARY_CHECK(bound_holds);

// The place gets its next process, with another limit, while a sender of the last one takes room.
template <class Sync>
struct bound_of_the_next {
    static constexpr const char* what =
        "a sender takes room while its receiver's place is given on: of its own, or gone";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"bound.taken", "bound.gone"};
    mailbox_bound<Sync, 2> bound;
    void before() { bound.open(1, {.most = 1, .then = when_full::refuse}); }
    void thread(unsigned i) {
        if (i == 0) return bound.open(2, {.most = 7, .then = when_full::suspend_sender});
        for (unsigned n = 0; n != 2; ++n) {
            when_full then = when_full::refuse;
            const bound_answer r = bound.take(1, then);
            Sync::law(r == bound_answer::gone ||
                          (then == when_full::refuse && r == (n == 0 ? bound_answer::taken : bound_answer::full)),
                      "a sender has the limit of another process");
            Sync::reach(r == bound_answer::gone ? "bound.gone" : "bound.taken");
        }
        if (bound.take_beyond(1)) bound.give_back(1, 1);
        bound.give_back(1, 1);
    }
    void after() { Sync::law(bound.count(2) == 0, "a sender has taken room of the next process"); }
};
APIARY_CHECK(bound_of_the_next);

// A sender that knows the new process and its limit has both from the count alone.
template <class Sync>
struct bound_shows_its_limit {
    static constexpr const char* what = "a sender that sees the generation of a process sees its limit";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"bound.taken", "bound.gone"};
    mailbox_bound<Sync, 2> bound;
    void before() { bound.open(1, {.most = 0, .then = when_full::refuse}); }
    void thread(unsigned i) {
        if (i == 0) return bound.open(2, {.most = 1, .then = when_full::suspend_sender});
        when_full then = when_full::refuse;
        const bound_answer r = bound.take(2, then);
        Sync::law(r != bound_answer::full && (r == bound_answer::gone || then == when_full::suspend_sender),
                  "a sender has the limit of the process before");
        Sync::reach(r == bound_answer::gone ? "bound.gone" : "bound.taken");
    }
    void after() {}
};
APIARY_CHECK(bound_shows_its_limit);

}  // namespace
}  // namespace mailbox_bound_check
