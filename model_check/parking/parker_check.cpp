// The parker that ships, against the abstract one that the policies bring and the large checks use.
//
// Refinement: each small program below runs over both, and both must show exactly the same outcomes. So whatever
// is proved with the abstract parker holds with this one, as far as these programs tell them apart.
#include <array>

#include <apiary/model_check/register.hpp>
#include <apiary/parking/core_seat.hpp>
#include <apiary/parking/parker.hpp>
#include <apiary/parking/poll_parker.hpp>

namespace parker_check {
namespace {

using namespace apiary;
using model::outcomes;

constexpr auto relaxed = std::memory_order_relaxed;

// ---- one set of outcomes, two parkers ----------------------------------------------------------------

template <class Sync, class Parker>
struct one_unpark {
    static constexpr unsigned threads = 2;
    Parker parker;
    typename Sync::template atomic<int> x{0};
    int token = -1, data = -1, again = -1;

    void thread(unsigned i) {
        if (i == 1) {
            x.store(1, relaxed);
            parker.unpark();
            return;
        }
        token = parker.park_until(Sync::now_ns() + 5);
        data = x.load(relaxed);
        again = token == 1 ? parker.park_until(Sync::now_ns()) : -1;
    }
    auto outcome() const { return std::array{token, data, again}; }
    // Never "1 0": the token brings what was written before it. Never "1 1 1": nobody makes up a second one.
    static constexpr outcomes rc11{"0 0 -1", "0 1 -1", "1 1 0"};
};

template <class Sync, class Parker>
struct two_unparks {
    static constexpr unsigned threads = 3;
    Parker parker;
    typename Sync::template atomic<int> x{0}, y{0};
    std::array<int, 2> seen_x{-1, -1}, seen_y{-1, -1};

    void thread(unsigned i) {
        if (i == 1) {
            x.store(1, relaxed);
            parker.unpark();
        } else if (i == 2) {
            y.store(1, relaxed);
            parker.unpark();
        } else {
            parker.park();
            look(0);
            if (parker.park_until(Sync::now_ns() + 5)) look(1);
        }
    }
    void look(std::size_t round) {
        seen_x[round] = x.load(relaxed);
        seen_y[round] = y.load(relaxed);
    }
    auto outcome() const { return std::array{seen_x[0], seen_y[0], seen_x[1], seen_y[1]}; }
    // The first park sees at least one of them. When a second token was taken, both.
    static constexpr outcomes rc11{"0 1 -1 -1", "0 1 1 1", "1 0 -1 -1", "1 0 1 1", "1 1 -1 -1", "1 1 1 1"};
};

template <class Sync, class Parker>
struct unpark_comes_first {
    static constexpr unsigned threads = 2;
    Parker parker;
    std::array<int, 2> got{-1, -1};

    void before() {
        parker.unpark();
        parker.unpark();
    }
    void thread(unsigned i) {
        if (i == 1) return;
        for (int& g : got) g = parker.park_until(Sync::now_ns() + 5);
    }
    auto outcome() const { return got; }
    static constexpr outcomes rc11{"1 0"};  // it stays, and two are one
};

// Each thread stores its word, wakes the other, and waits for it: two parkers, both directions.
template <class Sync, class Parker>
struct two_threads_meet {
    static constexpr unsigned threads = 2;
    std::array<Parker, 2> parkers;
    std::array<typename Sync::template atomic<int>, 2> words;
    std::array<int, 2> seen{-1, -1};

    void before() {
        for (auto& w : words) w.store(0, relaxed);
    }
    void thread(unsigned i) {
        words[i].store(1, relaxed);
        parkers[1 - i].unpark();
        parkers[i].park();
        seen[i] = words[1 - i].load(relaxed);
    }
    auto outcome() const { return seen; }
    static constexpr outcomes rc11{"1 1"};
};

// The word goes twice through all its states.
template <class Sync, class Parker>
struct two_rounds {
    static constexpr unsigned threads = 2;
    Parker to, fro;
    typename Sync::template atomic<int> x{0};
    std::array<int, 2> seen{-1, -1};

    void thread(unsigned i) {
        for (int round = 0; round < 2; ++round) {
            if (i == 0) {
                to.park();
                seen[static_cast<std::size_t>(round)] = x.load(relaxed);
                fro.unpark();
            } else {
                x.store(round + 1, relaxed);
                to.unpark();
                fro.park();
            }
        }
    }
    auto outcome() const { return seen; }
    static constexpr outcomes rc11{"1 2"};
};

#define APIARY_BOTH_PARKERS(program, text)                                \
    template <class Sync>                                                 \
    struct parker_##program : program<Sync, basic_parker<Sync>> {         \
        static constexpr const char* what = text;                         \
    };                                                                    \
    APIARY_LITMUS(parker_##program);                                      \
    template <class Sync>                                                 \
    struct abstract_##program : program<Sync, typename Sync::parker> {    \
        static constexpr const char* what = "the abstract parker: " text; \
    };                                                                    \
    APIARY_LITMUS(abstract_##program)

APIARY_BOTH_PARKERS(one_unpark, "an unpark against a deadline: a token brings what was written before it");
APIARY_BOTH_PARKERS(two_unparks, "two unparks, two parks: one token or two, and never one without its data");
APIARY_BOTH_PARKERS(unpark_comes_first, "two unparks come first: the token stays, and is one");
APIARY_BOTH_PARKERS(two_threads_meet, "two threads wake each other and wait");
APIARY_BOTH_PARKERS(two_rounds, "a park, an answer, and a park again");

// ---- what only the shipped one has -------------------------------------------------------------------

template <class Sync>
struct parker_token_at_the_deadline : one_unpark<Sync, basic_parker<Sync>> {
    static constexpr const char* what = "every way a park can end is taken, the token that comes with the deadline too";
    static constexpr std::array must_reach{"parker.token_was_there", "parker.token_at_the_deadline",
                                           "parker.timed_out"};
    void after() {
        if (this->token == 1) Sync::law(this->data == 1, "a token came without what was written before it");
    }
};
APIARY_CHECK(parker_token_at_the_deadline);

template <class Sync>
struct parker_many_unparks {
    static constexpr const char* what = "two threads unpark, one waits for both of them: none is missed";
    static constexpr std::array engine_laws{"deadlock"};
    static constexpr std::array must_reach{"parker.token_over_token", "parker.token_was_there"};
    static constexpr std::array alike{1U, 2U};
    static constexpr unsigned threads = 3;
    basic_parker<Sync> parker;
    typename Sync::template atomic<unsigned> come{0};

    void thread(unsigned i) {
        if (i == 0) {
            while (come.load(relaxed) != 2) parker.park();
            return;
        }
        come.fetch_add(1, relaxed);
        parker.unpark();
    }
};
APIARY_CHECK(parker_many_unparks);

// ---- the one that also polls -------------------------------------------------------------------------

// The system call is an abstract parker, which an interrupt unparks: one that is late ends a later poll, as an edge of epoll does.
template <class Sync>
struct poll_parker_with_kernel {
    poll_parker<Sync> parker;
    typename Sync::parker kernel;

    void poll() {
        parker.poll_until_woken([this] { kernel.park(); });
    }
    void unpark() {
        parker.unpark([this] { kernel.unpark(); });
    }
};

template <class Sync>
struct poll_brings_what_was_written : poll_parker_with_kernel<Sync> {
    static constexpr const char* what = "an unpark against a poll: it ends, and what was written before is seen";
    static constexpr std::array must_reach{"poll_parker.token_was_there", "poll_parker.interrupted"};
    static constexpr unsigned threads = 2;
    typename Sync::template cell<int> x{0};

    void thread(unsigned i) {
        if (i == 1) {
            x.write(1);
            return this->unpark();
        }
        this->poll();
        Sync::law(x.read() == 1, "a poll ended without a wake");
    }
};
APIARY_CHECK(poll_brings_what_was_written);

template <class Sync, bool PollsFirst>
struct poll_and_park_in_turn : poll_parker_with_kernel<Sync> {
    static constexpr std::array must_reach{"poll_parker.interrupted", "parker.token_was_there"};
    static constexpr std::array alike{1U, 2U};
    static constexpr unsigned threads = 3;
    typename Sync::template atomic<unsigned> come{0};

    void thread(unsigned i) {
        if (i != 0) {
            come.fetch_add(1, relaxed);
            return this->unpark();
        }
        for (bool polls = PollsFirst; come.load(relaxed) != 2; polls = !polls)
            if (polls)
                this->poll();
            else
                (void)this->parker.park_until(Sync::forever);
    }
};
template <class Sync>
struct poll_then_park : poll_and_park_in_turn<Sync, true> {
    static constexpr const char* what = "two threads unpark one that polls, then parks, in turn: none is missed";
    static constexpr std::array engine_laws{"deadlock"};
};
APIARY_CHECK(poll_then_park);
template <class Sync>
struct park_then_poll : poll_and_park_in_turn<Sync, false> {
    static constexpr const char* what = "the same with the park first";
    static constexpr std::array engine_laws{"deadlock"};
};
APIARY_CHECK(park_then_poll);

// ---- the same in an event loop of the user's, which goes -----------------------------------------------

template <class Sync, unsigned Wakers>
struct core_that_goes {
    static constexpr std::array engine_laws{"deadlock", "lifetime"};
    static constexpr unsigned threads = 1 + Wakers;
    struct core {
        typename Sync::parker kernel;
        typename Sync::template cell<int> made{1};
        typename Sync::template atomic<unsigned> woken{0};
        void wake() {
            Sync::law(made.read() == 1, "a wake came to a core that is not made");
            woken.fetch_add(1, relaxed);
            kernel.unpark();
        }
    };
    poll_parker<Sync> parker;
    core_seat<core, Sync> seat;

    void live() {
        typename Sync::template scoped<core> here;
        seat.sit(*here);
        parker.poll_until_woken([&here] { here->kernel.park(); });
        seat.leave();
    }
    void wake() {
        parker.unpark([this] { (void)seat.wake(); });
    }
};
template <class Sync>
struct core_goes_behind_its_wake : core_that_goes<Sync, 1> {
    static constexpr const char* what = "a core ends by a wake that is still on its way in it: the wake ends first";
    static constexpr std::array must_reach{"core_seat.waited_for_a_waker", "core_seat.woke_behind_the_end",
                                           "poll_parker.interrupted"};
    void thread(unsigned i) { i == 0 ? this->live() : this->wake(); }
};
APIARY_CHECK(core_goes_behind_its_wake);
template <class Sync>
struct next_core_meets_a_late_wake : core_that_goes<Sync, 2> {
    static constexpr const char* what =
        "two wakes, and two cores one behind the other: each wake meets one of them, or none";
    static constexpr std::array must_reach{"core_seat.waited_for_a_waker", "poll_parker.interrupted"};
    static constexpr std::array alike{1U, 2U};
    typename Sync::template atomic<unsigned> come{0};
    void thread(unsigned i) {
        if (i != 0) {
            come.fetch_add(1, relaxed);
            return this->wake();
        }
        this->live();
        if (come.load(relaxed) == 1) this->live();  // the other wake is still to come
    }
};
APIARY_CHECK(next_core_meets_a_late_wake);

}  // namespace
}  // namespace parker_check
