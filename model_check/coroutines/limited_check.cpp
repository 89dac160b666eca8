// Waits with a limit: the time against a send, a release, a close and a stop. Each value is received once or lies in the channel,
// each permit is held or free.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <new>

#include <apiary/coroutines/async_semaphore.hpp>
#include <apiary/coroutines/channel.hpp>
#include <apiary/coroutines/limited.hpp>
#include <apiary/coroutines/timer_thread.hpp>

#include "coroutine_scenario.hpp"

namespace limited_check {
namespace {

using namespace apiary;
using namespace apiary::model;

constexpr std::chrono::nanoseconds soon(10);

template <class Sync>
struct limited_scenario : coroutine_scenario<Sync> {
    using base = coroutine_scenario<Sync>;
    timer_thread<Sync, parker_driver<Sync, typename Sync::parker>> timers;
    channel<int, Sync> c{1};
    stop_hooks<Sync> stop;
    // std::atomic: the oracle is no part of what is checked.
    std::atomic<int> sent = 0, received = 0, timed_out = 0, closed = 0, cancelled = 0;

    coroutine<Sync> receives(typename base::place) {
        const auto r = co_await c.receive_for(timers, soon);
        ended(r.how);
    }
    void ended(awaited how) {
        ++(how == awaited::done        ? received
           : how == awaited::timed_out ? timed_out
           : how == awaited::closed    ? closed
                                       : cancelled);
    }
    void sends() {
        if (c.try_send(1) == awaited::done) ++sent;
    }
    void after() {
        Sync::law(received + timed_out + closed + cancelled == 1, "a wait did not end once");
        const int left = c.try_receive() ? 1 : 0;
        Sync::law(received + left == sent, "a value was lost, or came twice");
        Sync::reach(received == 1    ? "limited.was_served"
                    : timed_out == 1 ? "limited.timed_out"
                                     : "limited.ended_otherwise");
    }
};

template <class Sync>
struct send_meets_the_time : limited_scenario<Sync> {
    static constexpr const char* what =
        "a value is sent to a receiver whose time comes: it is received, or lies in the channel";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"limited.was_served", "limited.timed_out", "limited.came_too_late",
                                           "timer_thread.cancelled_too_late", "wait_limit.waited_for_the_job"};
    void before() { this->receives(this->here()); }
    void thread(unsigned i) {
        if (i == 0) return this->timers.run();
        this->sends();
        this->timers.stop();
    }
};
APIARY_CHECK(send_meets_the_time);

template <class Sync>
struct receive_begins_while_both_come : limited_scenario<Sync> {
    static constexpr const char* what = "a receiver begins to wait while a value is sent and while its time comes";
    static constexpr unsigned threads = 3;
    static constexpr std::array must_reach{"limited.was_served", "awaiter.went_on", "channel.need_not_wait"};
    void thread(unsigned i) {
        if (i == 0) return this->timers.run();
        if (i == 1) return (void)this->receives(this->here());
        this->sends();
        this->timers.stop();
    }
};
APIARY_CHECK(receive_begins_while_both_come);

template <class Sync>
struct close_meets_the_time : limited_scenario<Sync> {
    static constexpr const char* what = "a channel closes while a receiver's time comes: it is told one of the two";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"limited.timed_out", "limited.came_too_late", "limited.ended_otherwise"};
    void before() { this->receives(this->here()); }
    void thread(unsigned i) {
        if (i == 0) return this->timers.run();
        (void)this->c.close();
        this->timers.stop();
    }
};
APIARY_CHECK(close_meets_the_time);

template <class Sync>
struct stop_meets_the_time_and_a_send : limited_scenario<Sync> {
    static constexpr const char* what = "a stop, a send and the time at once: one of them ends the wait";
    static constexpr unsigned threads = 3;
    static constexpr std::array must_reach{"limited.was_served", "limited.timed_out", "limited.ended_otherwise",
                                           "limited.cancelled_too_late"};
    void before() { this->receives(this->here(this->stop)); }
    void thread(unsigned i) {
        if (i == 0) return this->timers.run();
        if (i == 1) return this->sends();
        this->stop.ask();
        this->timers.stop();
    }
};
APIARY_CHECK(stop_meets_the_time_and_a_send);

template <class Sync>
struct release_meets_the_time : coroutine_scenario<Sync> {
    static constexpr const char* what =
        "a permit is released while the time of the first that waits comes: it has it, or the second; it goes back "
        "then";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"limited.came_too_late", "acquire.was_served", "acquire.timed_out"};
    using base = coroutine_scenario<Sync>;
    timer_thread<Sync, parker_driver<Sync, typename Sync::parker>> timers;
    async_semaphore<Sync> s{1};
    std::atomic<int> first = 0, second = 0, timed_out = 0, holds = 0;
    coroutine<Sync> acquires_for(typename base::place) {
        auto p = co_await s.acquire_for(timers, soon);
        if (p) Sync::law(++holds == 1, "two hold one permit");
        ++(p ? first : timed_out);
        if (p) --holds;
    }
    coroutine<Sync> acquires(typename base::place) {
        auto p = co_await s.acquire_permit();
        Sync::law(++holds == 1, "two hold one permit");
        ++second;
        --holds;
    }
    void before() {
        Sync::law(s.try_acquire(), "the first permit");
        acquires_for(this->here());
        acquires(this->here());
    }
    void thread(unsigned i) {
        if (i == 0) return timers.run();
        s.release();
        timers.stop();
    }
    void after() {
        Sync::law(first + timed_out == 1 && second == 1, "a wait did not end once");
        Sync::law(s.available() == 1, "a permit was lost, or made");
        Sync::reach(first == 1 ? "acquire.was_served" : "acquire.timed_out");
    }
};
APIARY_CHECK(release_meets_the_time);

// A service without memory for a timer. It may have dropped the job by then, which ends the wait.
template <class Sync, bool Drops>
struct full_service {
    using sync = Sync;
    struct timed {};
    std::int64_t now_ns() const { return 0; }
    void at(std::int64_t, timed&, job<Sync>& what) {
        if (Drops) what.drop();
        throw std::bad_alloc();
    }
    void cancel(timed&) { Sync::law(false, "a timer is cancelled that the service never took"); }
};

template <class Sync, bool Drops>
struct no_memory_for_the_time : coroutine_scenario<Sync> {
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"limited.was_served", "limited.had_no_memory"};
    using base = coroutine_scenario<Sync>;
    full_service<Sync, Drops> timers;
    channel<int, Sync> c{1};
    std::atomic<int> sent = 0, received = 0, refused = 0;
    coroutine<Sync> receives(typename base::place) {
        try {
            const auto r = co_await c.receive_for(timers, soon);
            Sync::law(r.how == awaited::done, "a wait that was not refused was not served");
            ++received;
        } catch (const std::bad_alloc&) {
            ++refused;
        }
    }
    void thread(unsigned i) {
        if (i == 0) return (void)receives(this->here());
        if (c.try_send(1) == awaited::done) ++sent;
    }
    void after() {
        Sync::law(received + refused == 1, "a wait did not end once");
        const int left = c.try_receive() ? 1 : 0;
        Sync::law(received + left == sent, "a value was lost, or came twice");
        Sync::reach(received == 1 ? "limited.was_served" : "limited.had_no_memory");
    }
};
template <class Sync>
struct no_memory_while_a_value_comes : no_memory_for_the_time<Sync, false> {
    static constexpr const char* what =
        "there is no memory for the time while a value comes: it throws, or has the value";
};
APIARY_CHECK(no_memory_while_a_value_comes);
template <class Sync>
struct no_memory_and_the_job_is_dropped : no_memory_for_the_time<Sync, true> {
    static constexpr const char* what = "the same, and the service has dropped the job before it throws";
};
APIARY_CHECK(no_memory_and_the_job_is_dropped);

// A wait that its structure ends by `cancelled` of its own accord, as a byte_stream does when its service ends.
template <class Sync>
struct may_be_given_up {
    class waiting : public awaiter<waiting, Sync> {
    public:
        explicit waiting(may_be_given_up& of) : of_(of) {}
        bool await_ready() { return false; }
        awaited await_resume() { return this->resumed(); }
        bool wait(stop_hooks<Sync>* stops) {
            const typename Sync::lock held(of_.mutex);
            if (!this->listens(stops) || of_.given_up.read()) {
                this->how.write(awaited::cancelled);
                return false;
            }
            of_.all.append(*this);
            return true;
        }
        void cancel() noexcept { Sync::law(false, "nobody asks for a stop"); }
        bool look() { return false; }
        bool withdraw() noexcept {
            const typename Sync::lock held(of_.mutex);
            return of_.all.take(*this);
        }

    private:
        may_be_given_up& of_;
    };
    void give_up() {
        waiting* w;
        {
            const typename Sync::lock held(mutex);
            given_up.write(true);
            w = all.take_first();
        }
        if (w == nullptr) return;
        w->how.write(awaited::cancelled);
        w->finish();
    }
    typename Sync::mutex mutex;
    typename Sync::template cell<bool> given_up{false};
    wait_list<waiting> all;
};
template <class Sync>
struct no_memory_while_it_is_given_up : coroutine_scenario<Sync> {
    static constexpr const char* what =
        "there is no memory for the time while another thread cancels the wait: it throws, or is cancelled, once";
    static constexpr unsigned threads = 2;
    static constexpr std::array engine_laws{"lifetime"};
    static constexpr std::array must_reach{"limited.was_cancelled", "limited.had_no_memory"};
    using base = coroutine_scenario<Sync>;
    using service = full_service<Sync, false>;
    service timers;
    may_be_given_up<Sync> it;
    std::atomic<int> cancelled = 0, refused = 0;

    coroutine<Sync> waits(typename base::place) {
        try {
            const awaited how = co_await limited<typename may_be_given_up<Sync>::waiting, service>(timers, 1, it);
            Sync::law(how == awaited::cancelled, "a wait ended that nobody ended");
            ++cancelled;
        } catch (const std::bad_alloc&) {
            ++refused;
        }
    }
    void thread(unsigned i) {
        if (i == 0) return (void)waits(this->here());
        it.give_up();
    }
    void after() {
        Sync::law(cancelled + refused == 1, "a wait did not end once");
        Sync::reach(cancelled == 1 ? "limited.was_cancelled" : "limited.had_no_memory");
    }
};
APIARY_CHECK(no_memory_while_it_is_given_up);

}  // namespace
}  // namespace limited_check
