// Each await in each situation: stopped before, cancelled meanwhile, closed, out of time, without memory, its frame
// gone, and two of these at once. A table of awaits times a table of situations: for each cell the one answer that is
// allowed, and what is left.
#include <apiary/coroutines/async_event.hpp>
#include <apiary/coroutines/async_mutex.hpp>
#include <apiary/coroutines/channel.hpp>
#include <apiary/coroutines/select.hpp>
#include <apiary/coroutines/sleeping.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <apiary/testing/plain_coroutine.hpp>

namespace await_matrix_test {
namespace {

using namespace std::chrono_literals;
using apiary::async_event;
using apiary::async_mutex;
using apiary::awaited;
using apiary::channel;
using apiary::coroutine_place;
using apiary::job;
using apiary::plain_coroutine;
using apiary::real_sync;
using apiary::resume_later;
using permits = apiary::async_semaphore<>;
using value = std::shared_ptr<int>;
using values = channel<value>;

// A service whose times come when the test says so.
struct steered_timers {
    using sync = real_sync;
    struct timed {
        job<>* what = nullptr;
    };
    std::int64_t now_ns() const { return now; }
    void at(std::int64_t, timed& t, job<>& what) {
        if (meanwhile) std::exchange(meanwhile, nullptr)(what);
        if (no_memory) throw std::bad_alloc();
        if (over) return (void)what.drop();
        t.what = &what;
        pending.push_back(&t);
    }
    void cancel(timed& t) {
        if (t.what == nullptr) return;
        std::erase(pending, &t);
        (void)std::exchange(t.what, nullptr)->drop();
    }
    void end_all(bool run) {
        while (!pending.empty()) {
            job<>& first = *std::exchange(pending.front()->what, nullptr);
            pending.erase(pending.begin());
            (void)(run ? first.run() : first.drop());
        }
    }
    std::int64_t now = 0;
    bool no_memory = false, over = false;
    std::function<void(job<>&)> meanwhile;  // while the next timer is begun; it may end the job
    std::vector<timed*> pending;
};

// How an await ended. What no enumerator of `awaited` says: it has not, and std::bad_alloc.
enum class answer { none, done, cancelled, closed, timed_out, no_memory };
void PrintTo(answer a, std::ostream* out) {
    *out << std::vector{"none", "done", "cancelled", "closed", "timed_out", "no_memory"}[static_cast<std::size_t>(a)];
}
answer as_answer(awaited how) {
    switch (how) {
        case awaited::done:
            return answer::done;
        case awaited::cancelled:
            return answer::cancelled;
        case awaited::closed:
            return answer::closed;
        case awaited::timed_out:
            return answer::timed_out;
        case awaited::would_wait:
            break;
    }
    ADD_FAILURE() << "an await answered that it would have to wait";
    return answer::none;
}

struct told {
    answer how = answer::none;
    int times = 0;
    void is(answer a) { how = a, ++times; }
    void is(awaited a) { is(as_answer(a)); }
};

// One of these is made for each cell, with nothing to be had.
struct subject {
    steered_timers timers;
    resume_later home;

    virtual ~subject() = default;
    virtual plain_coroutine<> waits(coroutine_place<>, told&) = 0;
    // What one wait waits for.
    virtual void provide() = 0;
    // How often that can be had now.
    virtual std::size_t left() = 0;
    virtual void close() {}
};

struct semaphore_subject : subject {
    permits of{0};
    void provide() override { of.release(); }
    std::size_t left() override { return of.available(); }
};
struct acquires final : semaphore_subject {
    plain_coroutine<> waits(coroutine_place<>, told& t) override {
        const awaited how = co_await of.acquire();
        t.is(how);
    }
};
// Guards are kept in the subject, so that what is left is looked at while they hold.
struct acquires_permit : semaphore_subject {
    std::vector<permits::permit> kept;
    plain_coroutine<> waits(coroutine_place<>, told& t) override {
        auto p = co_await of.acquire_permit();
        EXPECT_EQ(static_cast<bool>(p), p.how == awaited::done);
        t.is(p.how);
        if (p) kept.push_back(std::move(p));
    }
};
struct acquires_for final : acquires_permit {
    plain_coroutine<> waits(coroutine_place<>, told& t) override {
        try {
            auto p = co_await of.acquire_for(timers, 10ns);
            EXPECT_EQ(static_cast<bool>(p), p.how == awaited::done);
            t.is(p.how);
            if (p) kept.push_back(std::move(p));
        } catch (const std::bad_alloc&) {
            t.is(answer::no_memory);
        }
    }
};
struct selects_permit final : acquires_permit {
    plain_coroutine<> waits(coroutine_place<>, told& t) override {
        auto r = co_await apiary::select(of.acquire_permit());
        t.is(r.index() == 0 ? awaited::done : awaited::cancelled);
        if (r.index() == 0) kept.push_back(std::move(std::get<0>(r)));
    }
};

struct mutex_subject : subject {
    async_mutex<> of;
    async_mutex<>::holder other = of.try_lock();
    std::vector<async_mutex<>::holder> kept;
    void provide() override {
        if (other) return other.unlock();
        kept.clear();
    }
    std::size_t left() override { return of.try_lock() ? 1 : 0; }
};
struct locks final : mutex_subject {
    plain_coroutine<> waits(coroutine_place<>, told& t) override {
        auto held = co_await of.lock();
        t.is(held ? answer::done : answer::cancelled);
        if (held) kept.push_back(std::move(held));
    }
};
struct locks_for final : mutex_subject {
    plain_coroutine<> waits(coroutine_place<>, told& t) override {
        try {
            auto held = co_await of.lock_for(timers, 10ns);
            EXPECT_EQ(static_cast<bool>(held), held.how == awaited::done);
            t.is(held.how);
            if (held) kept.push_back(std::move(held));
        } catch (const std::bad_alloc&) {
            t.is(answer::no_memory);
        }
    }
};
struct selects_lock final : mutex_subject {
    plain_coroutine<> waits(coroutine_place<>, told& t) override {
        auto r = co_await apiary::select(of.lock());
        t.is(r.index() == 0 ? awaited::done : awaited::cancelled);
        if (r.index() == 0) kept.push_back(std::move(std::get<0>(r)));
    }
};

struct event_subject : subject {
    async_event<> of;
    void provide() override { of.set(); }
    std::size_t left() override { return of.is_set() ? 1 : 0; }
};
struct waits_at_event final : event_subject {
    plain_coroutine<> waits(coroutine_place<>, told& t) override {
        const awaited how = co_await of.wait();
        t.is(how);
    }
};
struct waits_at_event_for final : event_subject {
    plain_coroutine<> waits(coroutine_place<>, told& t) override {
        try {
            const awaited how = co_await of.wait_for(timers, 10ns);
            t.is(how);
        } catch (const std::bad_alloc&) {
            t.is(answer::no_memory);
        }
    }
};
struct selects_event final : event_subject {
    plain_coroutine<> waits(coroutine_place<>, told& t) override {
        auto r = co_await apiary::select(of.wait());
        t.is(r.index() == 0 ? awaited::done : awaited::cancelled);
    }
};

// Values are counted: each is in the channel, or with the one that received it.
template <std::size_t Capacity>
struct receive_subject : subject {
    values of{Capacity};
    value counted = std::make_shared<int>(1);
    std::vector<value> got;
    ~receive_subject() override {
        of.close();
        home.run_all();
        while (of.try_receive()) {
        }
        got.clear();
        EXPECT_EQ(counted.use_count(), 1) << "a value has leaked";
    }
    plain_coroutine<> sends(coroutine_place<>) {
        value mine = counted;
        (void)co_await of.send(mine);
    }
    void provide() override { sends({home}); }
    std::size_t left() override {
        std::size_t n = 0;
        while (of.try_receive()) ++n;
        return n;
    }
    void close() override { of.close(); }
    void receives(apiary::received<value>&& r, told& t) {
        EXPECT_EQ(r.value.has_value(), r.how == awaited::done);
        t.is(r.how);
        if (r) got.push_back(std::move(*r.value));
    }
};
template <std::size_t Capacity>
struct receives final : receive_subject<Capacity> {
    plain_coroutine<> waits(coroutine_place<>, told& t) override {
        auto r = co_await this->of.receive();
        receive_subject<Capacity>::receives(std::move(r), t);
    }
};
template <std::size_t Capacity>
struct receives_for final : receive_subject<Capacity> {
    plain_coroutine<> waits(coroutine_place<>, told& t) override {
        try {
            auto r = co_await this->of.receive_for(this->timers, 10ns);
            receive_subject<Capacity>::receives(std::move(r), t);
        } catch (const std::bad_alloc&) {
            t.is(answer::no_memory);
        }
    }
};
struct selects_receive final : receive_subject<1> {
    plain_coroutine<> waits(coroutine_place<>, told& t) override {
        auto r = co_await apiary::select(of.receive());
        if (r.index() == 0) receives(std::move(std::get<0>(r)), t);
        if (r.index() == 1) t.is(awaited::cancelled);
    }
};
struct selects_receive_or_time final : receive_subject<1> {
    plain_coroutine<> waits(coroutine_place<>, told& t) override {
        try {
            auto r = co_await apiary::select(of.receive(), apiary::after(timers, 10ns));
            if (r.index() == 0) receives(std::move(std::get<0>(r)), t);
            if (r.index() == 1) t.is(std::get<1>(r) == awaited::done ? awaited::timed_out : awaited::cancelled);
            if (r.index() == 2) t.is(awaited::cancelled);
        } catch (const std::bad_alloc&) {
            t.is(answer::no_memory);
        }
    }
};

// Full; what a sender waits for is room. What was not sent is still its own.
template <std::size_t Capacity>
struct send_subject : subject {
    values of{Capacity};
    value counted = std::make_shared<int>(1);
    send_subject() {
        for (std::size_t i = 0; i != Capacity; ++i) EXPECT_EQ(of.try_send(std::make_shared<int>(0)), awaited::done);
    }
    ~send_subject() override {
        of.close();
        home.run_all();
        while (of.try_receive()) {
        }
        EXPECT_EQ(counted.use_count(), 1) << "a value has leaked";
    }
    plain_coroutine<> receives(coroutine_place<>) { (void)co_await of.receive(); }
    void provide() override { receives({home}); }
    std::size_t left() override {
        std::size_t n = 0;
        while (of.try_send(std::make_shared<int>(0)) == awaited::done) ++n;
        return n;
    }
    void close() override { of.close(); }
    static void sent(awaited how, const value& mine, told& t) {
        EXPECT_EQ(mine == nullptr, how == awaited::done) << "it has gone where it was sent, and nowhere else";
        t.is(how);
    }
};
template <std::size_t Capacity>
struct sends final : send_subject<Capacity> {
    plain_coroutine<> waits(coroutine_place<>, told& t) override {
        value mine = this->counted;
        const awaited how = co_await this->of.send(mine);
        this->sent(how, mine, t);
    }
};
template <std::size_t Capacity>
struct sends_for final : send_subject<Capacity> {
    plain_coroutine<> waits(coroutine_place<>, told& t) override {
        value mine = this->counted;
        try {
            const awaited how = co_await this->of.send_for(this->timers, mine, 10ns);
            this->sent(how, mine, t);
        } catch (const std::bad_alloc&) {
            EXPECT_NE(mine, nullptr);
            t.is(answer::no_memory);
        }
    }
};

struct sleeps final : subject {
    plain_coroutine<> waits(coroutine_place<>, told& t) override {
        try {
            const awaited how = co_await apiary::sleep_until(timers, 10);
            t.is(how);
        } catch (const std::bad_alloc&) {
            t.is(answer::no_memory);
        }
    }
    void provide() override {
        timers.now = 10;
        timers.end_all(true);
    }
    std::size_t left() override { return timers.now == 10 ? 1 : 0; }
};

enum trait : unsigned {
    any = 0,
    closes = 1,    // it can be closed
    limited = 2,   // it has a time
    timed = 4,     // it needs memory, and ends with its service
    consumes = 8,  // what one has had no other has
    returns = 16,  // what was handed to a frame that goes is there again
    senders = 32,  // of closes: there is something to be had after a close, or not
    receivers = 64,
};

struct await {
    const char* name;
    std::unique_ptr<subject> (*make)();
    unsigned traits;
};
template <class S>
std::unique_ptr<subject> make() {
    return std::make_unique<S>();
}
const await awaits[] = {
    {"semaphore_acquire", make<acquires>, consumes | returns},
    {"semaphore_acquire_permit", make<acquires_permit>, consumes | returns},
    {"semaphore_acquire_for", make<acquires_for>, consumes | returns | limited | timed},
    {"select_permit", make<selects_permit>, consumes | returns},
    {"mutex_lock", make<locks>, consumes | returns},
    {"mutex_lock_for", make<locks_for>, consumes | returns | limited | timed},
    {"select_lock", make<selects_lock>, consumes | returns},
    {"event_wait", make<waits_at_event>, any},
    {"event_wait_for", make<waits_at_event_for>, limited | timed},
    {"select_event", make<selects_event>, any},
    {"receive", make<receives<1>>, consumes | closes | receivers},
    {"receive_without_room", make<receives<0>>, consumes | closes | receivers},
    {"receive_for", make<receives_for<1>>, consumes | closes | receivers | limited | timed},
    {"receive_for_without_room", make<receives_for<0>>, consumes | closes | receivers | limited | timed},
    {"select_receive", make<selects_receive>, consumes | closes | receivers},
    {"select_receive_or_time", make<selects_receive_or_time>, consumes | closes | receivers | limited | timed},
    {"send", make<sends<1>>, consumes | closes | senders},
    {"send_without_room", make<sends<0>>, consumes | closes | senders},
    {"send_for", make<sends_for<1>>, consumes | closes | senders | limited | timed},
    {"send_for_without_room", make<sends_for<0>>, consumes | closes | senders | limited | timed},
    {"sleep", make<sleeps>, timed},
};

// What happens, a letter each:
//   N no memory, and what one waits for is provided while a timer is begun   W no memory, and the timer's job is
//   dropped B begins to wait, stoppable   2 another begins, which no stop reaches   P what one waits for is provided
//   S stop   C close   T its time comes   Z no time at all   E the service ends   M no memory for a timer
//   R those that were let go on run   D they are dropped   X the frame of B goes while it waits
// After it: how B has ended, how the other has, whether B was suspended, and how much is left of what was provided.
enum left_over { nothing, one, one_if_returned };
struct situation {
    const char* name;
    const char* script;
    unsigned needs;
    answer first, second;
    left_over left;
};
using enum answer;
const situation situations[] = {
    {"there", "PB", any, done, none, nothing},
    {"provided_later", "BPR", any, done, none, nothing},
    {"stopped_before_and_there", "SPB", any, done, none, nothing},
    {"there_and_stopped_before", "PSB", any, done, none, nothing},
    {"stopped_before", "SBP", any, cancelled, none, one},
    {"stopped_before_and_the_other_waits", "2SBPR", any, cancelled, done, nothing},
    {"stopped_before_and_the_other_comes", "SB2PR", any, cancelled, done, nothing},
    {"cancelled", "BSRP", any, cancelled, none, one},
    {"cancelled_and_provided_before_it_runs", "BSPR", any, cancelled, none, one},
    {"provided_and_stopped_before_it_runs", "BPSR", any, done, none, nothing},
    {"cancelled_before_the_other", "B2SPR", any, cancelled, done, nothing},
    {"cancelled_after_the_other", "2BSPR", any, cancelled, done, nothing},
    {"two_in_their_order", "B2PRPR", any, done, done, nothing},
    {"gone_while_it_waits", "BXP", any, none, none, one},
    {"gone_while_it_waits_and_stopped", "BXSP", any, none, none, one},
    {"gone_before_the_other", "B2XPR", any, none, done, nothing},
    {"gone_after_the_other", "2BXPR", any, none, done, nothing},
    {"dropped_after_the_hand_over", "BPD", any, none, none, one_if_returned},
    {"dropped_after_the_hand_over_and_the_stop", "BPSD", any, none, none, one_if_returned},
    {"dropped_after_its_cancel", "BSDP", any, none, none, one},
    {"dropped_after_its_cancel_and_provided_before", "BSPD", any, none, none, one},

    {"closed_before", "CB", closes, closed, none, nothing},
    {"closed_meanwhile", "BCR", closes, closed, none, nothing},
    {"both_closed_meanwhile", "B2CR", closes, closed, closed, nothing},
    {"stopped_and_closed_before", "SCB", closes, closed, none, nothing},
    {"closed_and_stopped_before", "CSB", closes, closed, none, nothing},
    {"closed_and_stopped_before_it_runs", "BCSR", closes, closed, none, nothing},
    {"cancelled_and_closed_before_it_runs", "BSCR", closes, cancelled, none, nothing},
    {"provided_and_closed_before_it_runs", "BPCR", closes, done, none, nothing},
    {"stopped_before_and_closed_meanwhile", "SB2CR", closes, cancelled, closed, nothing},
    {"dropped_after_the_close", "BCD", closes, none, none, nothing},
    {"gone_and_closed", "BXC", closes, none, none, nothing},
    {"closed_twice", "BCCR", closes, closed, none, nothing},

    {"out_of_time", "BTRP", limited, timed_out, none, one},
    {"out_of_time_and_provided_before_it_runs", "BTPR", limited, timed_out, none, one},
    {"out_of_time_and_stopped_before_it_runs", "BTSRP", limited, timed_out, none, one},
    {"cancelled_and_out_of_time_before_it_runs", "BSTRP", limited, cancelled, none, one},
    {"provided_and_out_of_time_before_it_runs", "BPTR", limited, done, none, nothing},
    {"out_of_time_before_the_other", "B2TRP", limited, timed_out, timed_out, one},
    {"no_time", "ZBP", limited, timed_out, none, one},
    {"no_time_and_there", "ZPB", limited, done, none, nothing},
    {"no_time_and_stopped_before", "ZSBP", limited, timed_out, none, one},
    {"no_time_and_there_and_stopped_before", "ZPSB", limited, done, none, nothing},
    {"no_time_and_no_memory", "ZMBP", limited, timed_out, none, one},
    {"no_time_and_the_service_over", "ZEBP", limited, timed_out, none, one},
    {"gone_and_out_of_time", "BXTP", limited, none, none, one},
    {"dropped_after_its_time", "BTDP", limited, none, none, one},
    {"dropped_after_the_hand_over_and_out_of_time", "BPTD", limited, none, none, one_if_returned},

    {"closed_and_no_time", "CZB", closes | limited, closed, none, nothing},
    {"closed_and_out_of_time_before_it_runs", "BCTR", closes | limited, closed, none, nothing},
    {"out_of_time_and_closed_before_it_runs", "BTCR", closes | limited, timed_out, none, nothing},
    {"closed_and_no_memory", "CMB", closes | limited, closed, none, nothing},
    {"closed_and_the_service_over", "CEB", closes | limited, closed, none, nothing},

    {"no_memory", "MBP", timed, no_memory, none, one},
    {"no_memory_and_stopped_before", "MSBP", timed, no_memory, none, one},
    {"no_memory_and_there", "MPB", timed, done, none, nothing},
    {"no_memory_for_the_other", "BM2PR", timed, done, no_memory, nothing},
    {"no_memory_and_the_job_was_dropped", "WBP", timed, no_memory, none, one},
    {"no_memory_and_the_job_was_dropped_and_stopped_before", "WSBP", timed, no_memory, none, one},
    {"no_memory_and_provided_meanwhile", "NB", limited, done, none, nothing},
    {"no_memory_and_provided_meanwhile_and_stopped_before", "SNB", limited, done, none, nothing},
    {"the_service_over", "EBP", timed, cancelled, none, one},
    {"the_service_over_and_stopped_before", "ESBP", timed, cancelled, none, one},
    {"the_service_over_and_there", "EPB", timed, done, none, nothing},
    {"the_service_ends", "BERP", timed, cancelled, none, one},
    {"the_service_ends_and_provided_before_it_runs", "BEPR", timed, cancelled, none, one},
    {"provided_and_the_service_ends_before_it_runs", "BPER", timed, done, none, nothing},
    {"cancelled_and_the_service_ends_before_it_runs", "BSERP", timed, cancelled, none, one},
    {"the_service_ends_and_stopped_before_it_runs", "BESRP", timed, cancelled, none, one},
    {"gone_and_the_service_ends", "BXEP", timed, none, none, one},
    {"dropped_after_the_service_ended", "BEDP", timed, none, none, one},
};

struct cell {
    const await* of;
    const situation* in;
};
void PrintTo(const cell& c, std::ostream* out) { *out << c.in->script; }

std::vector<cell> cells() {
    std::vector<cell> all;
    for (const await& a : awaits)
        for (const situation& s : situations)
            if ((a.traits & s.needs) == s.needs) all.push_back({&a, &s});
    return all;
}

struct await_matrix : testing::TestWithParam<cell> {
    void happens(char what) {
        subject& s = *of;
        switch (what) {
            case 'B': {
                const auto made = s.waits({s.home, &stop}, first);
                suspended = first.times == 0;
                frame = made.frame;
                return;
            }
            case '2':
                s.waits({s.home}, second);
                return;
            case 'P':
                return s.provide();
            case 'S':
                return (void)stop.ask();
            case 'C':
                return s.close();
            case 'T':
                return s.timers.end_all(true);
            case 'Z':
                s.timers.now = INT64_MAX;
                return;
            case 'E':
                s.timers.over = true;
                return s.timers.end_all(false);
            case 'M':
                s.timers.no_memory = true;
                return;
            case 'N':
                s.timers.meanwhile = [&s](job<>&) { s.provide(); };
                s.timers.no_memory = true;
                return;
            case 'W':
                s.timers.meanwhile = [](job<>& j) { (void)j.drop(); };
                s.timers.no_memory = true;
                return;
            case 'R':
                return (void)s.home.run_all();
            case 'D':
                while (!s.home.waiting.empty()) (void)s.home.next()->drop();
                return;
            case 'X':
                return frame.destroy();
            default:
                FAIL() << "no such letter: " << what;
        }
    }
    // Named before the hooks: a frame that waits at the end leaves them.
    apiary::stop_hooks<> stop;
    told first, second;
    bool suspended = false;
    std::coroutine_handle<> frame;
    std::unique_ptr<subject> of;
};

TEST_P(await_matrix, gives_the_one_answer_that_is_allowed_and_loses_nothing) {
    const auto& [a, in] = GetParam();
    of = a->make();
    const std::string_view script = in->script;
    for (const char what : script) happens(what);
    EXPECT_EQ(first.how, in->first);
    EXPECT_EQ(second.how, in->second);
    EXPECT_EQ(first.times, in->first == none ? 0 : 1);
    EXPECT_EQ(second.times, in->second == none ? 0 : 1);
    const bool must_wait = script.substr(0, script.find('B')).find_first_of("PSCZEMNW") == std::string_view::npos;
    EXPECT_EQ(suspended, must_wait) << "what need not wait, or cannot, is over where it stands";
    std::size_t left = in->left == one || (in->left == one_if_returned && (a->traits & returns) != 0) ? 1 : 0;
    if ((a->traits & consumes) == 0) left = script.find_first_of("PN") == std::string_view::npos ? 0 : 1;
    (void)of->home.run_all();
    EXPECT_EQ(of->left(), left);
    (void)of->home.run_all();
    EXPECT_TRUE(of->timers.pending.empty()) << "a timer is left";
    (void)stop.ask();
    EXPECT_TRUE(of->home.waiting.empty()) << "a stop has found one that had gone on";
}

INSTANTIATE_TEST_SUITE_P(each, await_matrix, testing::ValuesIn(cells()), [](const testing::TestParamInfo<cell>& c) {
    return std::string(c.param.of->name) + "_" + c.param.in->name;
});

// The time comes while its select looks at the arms after it, and what these wait for comes just before: it stays.
template <class Awaitable>
plain_coroutine<> selects_time_or(coroutine_place<>, steered_timers& t, Awaitable (*of)(void*), void* from, std::size_t& won) {
    auto r = co_await apiary::select(apiary::after(t, 10ns), of(from));
    won = r.index();
}
template <class Awaitable>
void the_time_was_first(subject& s, Awaitable (*of)(void*), void* from, std::size_t left) {
    std::size_t won = 9;
    s.timers.meanwhile = [&s](job<>& time) {
        s.provide();
        (void)time.run();
        s.timers.over = true;  // nothing more to be begun
    };
    selects_time_or({s.home}, s.timers, of, from, won);
    s.home.run_all();
    EXPECT_EQ(won, 0U);
    EXPECT_EQ(s.left(), left) << "given to one that had gone on elsewhere";
}

TEST(selecting, an_arm_that_could_be_had_when_another_had_won_takes_nothing) {
    selects_permit p;
    the_time_was_first<permits::acquiring_permit>(
        p, [](void* of) { return static_cast<permits*>(of)->acquire_permit(); }, &p.of, 1);
    selects_lock m;
    the_time_was_first<async_mutex<>::locking>(m, [](void* of) { return static_cast<async_mutex<>*>(of)->lock(); }, &m.of, 1);
    selects_event e;
    the_time_was_first<async_event<>::awaiting>(e, [](void* of) { return static_cast<async_event<>*>(of)->wait(); }, &e.of, 1);
    selects_receive c;
    the_time_was_first<values::receive_call>(c, [](void* of) { return static_cast<values*>(of)->receive(); }, &c.of, 1);
}

plain_coroutine<> selects_either(coroutine_place<>, permits& one, permits& other) {
    auto r = co_await apiary::select(one.acquire_permit(), other.acquire_permit());
    (void)r;
}

TEST(selecting, the_frame_that_goes_with_a_permit_of_its_second_arm_gives_it_back) {
    apiary::resume_later home;
    permits one(0), other(0);
    const auto waiting = selects_either({home}, one, other);
    other.release(1);
    home.waiting.clear();
    waiting.frame.destroy();
    EXPECT_TRUE(other.try_acquire());
    EXPECT_FALSE(one.try_acquire());
}

// Guards as values: what is assigned over is given back, what is moved from holds nothing, and a self-move changes
// nothing.
template <class Guard, class Take, class Free>
void a_guard_is_a_value(Take take, Free is_free) {
    {
        Guard a = take(0), b = take(1);
        EXPECT_FALSE(is_free(0) || is_free(1));
        a = std::move(b);
        EXPECT_TRUE(a);
        EXPECT_FALSE(is_free(1)) << "it has moved";
        { const Guard goes = std::move(b); }
        EXPECT_TRUE(is_free(0)) << "what was assigned over is held by nobody";
        EXPECT_FALSE(is_free(1));
        Guard& same = a;
        a = std::move(same);
        EXPECT_TRUE(a);
        EXPECT_FALSE(is_free(1)) << "a self-move lets nothing go";
    }
    EXPECT_TRUE(is_free(0) && is_free(1));
    {
        Guard a = take(0);
        a = take(1);
        EXPECT_TRUE(is_free(0)) << "assigned over by a temporary: given back at once";
        EXPECT_FALSE(is_free(1));
        Guard c = std::move(a);
        EXPECT_FALSE(a);
        EXPECT_TRUE(c);
        std::swap(a, c);
        EXPECT_TRUE(a);
        EXPECT_FALSE(c);
        EXPECT_FALSE(is_free(1));
        c = std::move(a);
        a = take(0);
        std::swap(a, c);
        EXPECT_FALSE(is_free(0) || is_free(1));
    }
    EXPECT_TRUE(is_free(0) && is_free(1));
}

TEST(guards, a_holder_of_a_mutex_is_a_value) {
    async_mutex<> of[2];
    using holder = async_mutex<>::holder;
    a_guard_is_a_value<holder>([&](int i) { return of[i].try_lock(); },
                               [&](int i) { return static_cast<bool>(of[i].try_lock()); });
    holder empty, held = of[0].try_lock();
    held = std::move(empty);
    { const holder goes = std::move(empty); }
    EXPECT_FALSE(held);
    EXPECT_TRUE(of[0].try_lock()) << "an empty one was assigned over it";
    held.unlock();  // of nothing
}

TEST(guards, a_permit_is_a_value_and_says_why_it_holds_none) {
    permits of[2] = {permits(1), permits(1)};
    using permit = permits::permit;
    const auto take = [&](int i) { return of[i].try_acquire() ? permit(of[i]) : permit(awaited::timed_out); };
    a_guard_is_a_value<permit>(take, [&](int i) { return of[i].available() == 1; });
    permit a = take(0), why(awaited::timed_out);
    a = std::move(why);
    EXPECT_FALSE(a);
    EXPECT_EQ(a.how, awaited::timed_out);
    { const permit goes = std::move(why); }
    EXPECT_EQ(of[0].available(), 1U);
    a = take(0);
    EXPECT_EQ(a.how, awaited::done);
    a.release();
    a.release();
    EXPECT_EQ(of[0].available(), 1U) << "released once";
}

TEST(guards, a_holder_with_a_reason_is_assigned_with_it) {
    using holder = async_mutex<>::holder_or_why;
    async_mutex<> of[2];
    steered_timers timers;
    resume_later home;
    holder held[2] = {holder(awaited::timed_out), holder(awaited::cancelled)};
    const auto locks_it = [&](coroutine_place<>, std::size_t i) -> plain_coroutine<> {
        auto h = co_await of[i].lock_for(timers, 10ns);
        held[i] = std::move(h);
    };
    for (std::size_t i = 0; i != 2; ++i) locks_it({home}, i);
    EXPECT_TRUE(held[0] && held[1]);
    EXPECT_EQ(held[0].how, awaited::done);
    held[0] = std::move(held[1]);
    held[1] = holder(awaited::timed_out);
    EXPECT_EQ(held[1].how, awaited::timed_out);
    EXPECT_TRUE(of[0].try_lock());
    EXPECT_FALSE(of[1].try_lock());
    held[0] = holder(awaited::cancelled);
    EXPECT_FALSE(held[0]);
    EXPECT_EQ(held[0].how, awaited::cancelled);
    EXPECT_TRUE(of[1].try_lock());
}

TEST(guards, what_was_received_is_a_value) {
    apiary::received<value> a(std::make_shared<int>(1)), b(std::make_shared<int>(2)), none(awaited::closed);
    const std::weak_ptr<int> first = *a.value;
    a = std::move(b);
    EXPECT_TRUE(first.expired());
    EXPECT_EQ(**a.value, 2);
    const auto copy = a;
    EXPECT_EQ(copy.value, a.value);
    a = std::move(none);
    EXPECT_FALSE(a);
    EXPECT_FALSE(a.value.has_value());
    EXPECT_EQ(a.how, awaited::closed);
    auto moved = std::move(a);
    EXPECT_EQ(moved.how, awaited::closed);
}

}  // namespace
}  // namespace await_matrix_test
