// The event count: no notify is missed, none ends more waits than it says, and the books balance.
//
// Small ones run with the parker that ships; the rest with the abstract one it is checked against (parker_check).
#include <apiary/parking/event_count.hpp>

#include <array>

#include <apiary/model_check/register.hpp>

#include "event_count_scenarios.hpp"

namespace event_count_check {
namespace {

using namespace apiary;
using namespace apiary::model;

// Two bits for every field: the epoch wraps within a check.
struct narrow {
    static constexpr unsigned index_bits = 2, epoch_bits = 2;
};

template <class Sync>
using shipped = event_count<Sync, narrow>;
template <class Sync>
using on_abstract = event_count<Sync, narrow, typename Sync::parker>;

template <class Sync>
struct event_notify_one : a_piece_each<Sync, shipped<Sync>, 1> {
    static constexpr const char* what =
        "one waiter, one post, the parker that ships: the work is seen or the waiter wakes";
    static constexpr std::array must_reach{"event_count.commit_took_a_signal"};
};
APIARY_CHECK(event_notify_one);

template <class Sync>
struct event_two_tasks_two_waiters : a_piece_each<Sync, on_abstract<Sync>, 2> {
    static constexpr const char* what =
        "two posts, two notify_one, two waiters: each gets a piece while the other holds its own";
    static constexpr std::array must_reach{"event_count.commit_took_a_signal", "event_count.cancel_took_its_signal"};
    static constexpr bool too_large_to_exhaust = true;
};
APIARY_CHECK(event_two_tasks_two_waiters);

template <class Sync>
struct event_cancel_leaves_the_signal : one_leaves<Sync, shipped<Sync>> {
    static constexpr const char* what =
        "two are about to wait, one signal, the other one leaves: the signal stays for who waits";
    static constexpr std::array must_reach{"event_count.cancel_left_a_signal"};
};
APIARY_CHECK(event_cancel_leaves_the_signal);

// Each waits once: what the notify_all was for is there when the wait ends.
template <class Sync>
struct event_notify_all : event_scenario<Sync, on_abstract<Sync>, 2> {
    static constexpr const char* what = "two waiters for one flag, notify_all: both go on and see it, committed or not";
    static constexpr std::array must_reach{"event_count.notify_all_met_both"};
    static constexpr unsigned threads = 3;
    typename Sync::template atomic<bool> flag{false};

    void thread(unsigned i) {
        if (i == 2) {
            flag.store(true, relaxed);
            this->events.notify_all();
            return;
        }
        this->events.prepare_wait();
        if (flag.load(relaxed)) return this->events.cancel_wait();
        this->events.commit_wait(i);
        Sync::law(flag.load(relaxed), "a wait ended before what it waited for");
    }
};
APIARY_CHECK(event_notify_all);

template <class Sync>
struct event_notify_two : event_scenario<Sync, on_abstract<Sync>, 2> {
    static constexpr const char* what = "two wait, committed or about to, and one notify(2) ends both waits";
    static constexpr std::array must_reach{"event_count.notify_woke", "event_count.notify_signalled"};
    static constexpr unsigned threads = 3;
    typename Sync::template atomic<unsigned> prepared{0};

    void thread(unsigned i) {
        if (i == 2) {
            Sync::spin_until(prepared, [](unsigned n) { return n == 2; });
            this->events.notify(2);
            return;
        }
        this->events.prepare_wait();
        prepared.fetch_add(1, relaxed);
        this->events.commit_wait(i);
    }
};
APIARY_CHECK(event_notify_two);

// Waiters without a condition, so that every wait that ends was ended by a notify.
template <class Sync>
struct event_no_over_release : event_scenario<Sync, on_abstract<Sync>, 2> {
    static constexpr const char* what = "two wait, one notify_one: at most one goes on before the notify_all";
    static constexpr std::array must_reach{"event_count.notify_woke", "event_count.notify_signalled"};
    static constexpr unsigned threads = 3;
    typename Sync::template atomic<unsigned> prepared{0};
    typename Sync::template atomic<bool> all{false};
    std::array<bool, 2> early{};

    void thread(unsigned i) {
        if (i < 2) {
            this->events.prepare_wait();
            prepared.fetch_add(1, relaxed);
            this->events.commit_wait(i);
            early[i] = !all.load(relaxed);  // ended by the notify_all: sees what was stored before it (E2)
            return;
        }
        Sync::spin_until(prepared, [](unsigned n) { return n == 2; });
        this->events.notify_one();
        all.store(true, relaxed);
        this->events.notify_all();
    }
    void after() {
        Sync::law(!early[0] || !early[1], "one notify_one ended two waits");
        event_scenario<Sync, on_abstract<Sync>, 2>::after();
    }
};
APIARY_CHECK(event_no_over_release);

// What a notify brings with it, without any help by the condition.
template <class Sync>
struct event_brings_what_was_published : event_scenario<Sync, shipped<Sync>, 1> {
    static constexpr const char* what = "plain data written before a notify is read after the wait that it ends";
    static constexpr std::array must_reach{"event_count.notify_woke", "event_count.commit_took_a_signal"};
    static constexpr unsigned threads = 2;
    typename Sync::template atomic<bool> prepared{false};
    typename Sync::template cell<int> data{0};

    void thread(unsigned i) {
        if (i == 0) {
            this->events.prepare_wait();
            prepared.store(true, relaxed);
            this->events.commit_wait(0);
            Sync::law(data.read() == 1, "the data of the notify is not there");
            return;
        }
        Sync::spin_until(prepared, [](bool p) { return p; });
        data.write(1);
        this->events.notify_one();
    }
};
APIARY_CHECK(event_brings_what_was_published);

// Workers about to sleep while a post and then a stop come: quit against prepare.
template <class Sync, std::size_t Workers>
struct quit_against_prepare : event_scenario<Sync, on_abstract<Sync>, Workers> {
    static constexpr unsigned threads = Workers + 1;
    pieces_of_work<Sync> work;
    typename Sync::template atomic<bool> quit{false};
    std::array<bool, Workers> got{};

    void thread(unsigned i) {
        if (i == Workers) {
            work.add();
            this->events.notify_one();
            quit.store(true, std::memory_order_release);
            this->events.notify_all();
            return;
        }
        this->wait_until(i, [&] {
            const bool last_look = quit.load(std::memory_order_acquire);
            got[i] = work.take();
            return got[i] || last_look;
        });
    }
    void after() {
        unsigned all = 0;
        for (const bool g : got) all += g ? 1U : 0U;
        Sync::law(all == 1, "the piece was taken by none, or twice");
        event_scenario<Sync, on_abstract<Sync>, Workers>::after();
    }
};
template <class Sync>
struct event_quit_against_prepare : quit_against_prepare<Sync, 1> {
    static constexpr const char* what = "a post and a quit against a worker about to wait: it takes the post, or ends";
    static constexpr std::array must_reach{"event_count.commit_sleeps", "event_count.commit_took_a_signal"};
};
APIARY_CHECK(event_quit_against_prepare);
template <class Sync>
struct event_quit_against_two : quit_against_prepare<Sync, 2> {
    static constexpr const char* what =
        "a post and a quit against two workers about to wait: one takes the post, both end";
    static constexpr std::array must_reach{"event_count.notify_all_met_both", "event_count.commit_took_a_signal"};
    static constexpr bool too_large_to_exhaust = true;
};
APIARY_CHECK(event_quit_against_two);

template <class Sync>
struct event_stack_comes_back : stack_comes_back<Sync, on_abstract<Sync>, 1> {
    static constexpr const char* what =
        "a notifier stands still between look and change while the waiter it saw goes and comes back";
    static constexpr std::array must_reach{"event_count.notify_lost"};
};
APIARY_CHECK(event_stack_comes_back);

}  // namespace
}  // namespace event_count_check
