// Waiting for a descriptor: readiness, a cancel and the end of the service against each other. The
// driver is a model of epoll_driver: a parker, and one descriptor that becomes ready for good.
#include <array>
#include <atomic>
#include <utility>

#include <apiary/coroutines/readable.hpp>
#include <apiary/coroutines/timer_thread.hpp>

#include "coroutine_scenario.hpp"

namespace readable_check {
namespace {

using namespace apiary;
using namespace apiary::model;

template <class Sync>
class one_descriptor {
public:
    static constexpr std::int64_t forever = INT64_MAX;
    one_descriptor() { state_.store(quiet, std::memory_order_relaxed); }

    void wait(std::int64_t) {
        if (source_ == nullptr || state() == quiet) parker_.park();
    }
    void poll() {
        if (source_ == nullptr) return;
        const unsigned now = state();
        if (now == ready) source_->on_ready({.readable = true});
        if (now == closed) std::exchange(source_, nullptr)->on_gone(gone::descriptor_closed);
    }
    void wake() { parker_.unpark(); }

    watch_result watch(event_source& s, interest) {
        source_ = &s;
        return watch_result::watched;
    }
    bool unwatch(event_source& s) { return std::exchange(source_, nullptr) == &s; }
    void end_sources() {
        if (event_source* const s = std::exchange(source_, nullptr)) s->on_gone(gone::worker_ended);
    }

    // Any thread.
    void becomes_ready() { becomes(ready); }
    void is_closed() { becomes(closed); }  // and its number comes back: a poll tells

private:
    static constexpr unsigned quiet = 0, ready = 1, closed = 2;

    unsigned state() const { return state_.load(std::memory_order_acquire); }
    void becomes(unsigned now) {
        state_.store(now, std::memory_order_release);
        wake();
    }

    typename Sync::parker parker_;
    typename Sync::template atomic<unsigned> state_;
    event_source* source_ = nullptr;  // the thread's
};

template <class Sync>
struct waiting_scenario : coroutine_scenario<Sync> {
    using base = coroutine_scenario<Sync>;
    timer_thread<Sync, one_descriptor<Sync>> service;
    stop_hooks<Sync> stop;
    std::atomic<int> done = 0, cancelled = 0, closed = 0;  // std::atomic: the oracle is no part of what is checked

    coroutine<Sync> waits(typename base::place) {
        const awaited how = co_await readable(service, 3);
        ++(how == awaited::done ? done : how == awaited::closed ? closed : cancelled);
        service.stop();
    }
    void after() { Sync::law(done + cancelled + closed == 1, "an await did not end once"); }
};

template <class Sync>
struct ready_meets_a_cancel : waiting_scenario<Sync> {
    static constexpr const char* what =
        "a descriptor becomes ready while the await is cancelled: it ends once, off the driver";
    static constexpr unsigned threads = 3;
    static constexpr std::array must_reach{"waiter.brought_back", "readable.off_behind_a_cancel", "ended.ready",
                                           "ended.cancelled"};
    void before() { this->waits(this->here(this->stop)); }
    void thread(unsigned i) {
        if (i == 0) return this->service.run();
        if (i == 1) return this->service.driver().becomes_ready();
        this->stop.ask();
    }
    void after() {
        waiting_scenario<Sync>::after();
        Sync::reach(this->done == 1 ? "ended.ready" : "ended.cancelled");
    }
};
APIARY_CHECK(ready_meets_a_cancel);

template <class Sync>
struct cancel_meets_the_end : waiting_scenario<Sync> {
    static constexpr const char* what =
        "an await is cancelled while the service ends: the message runs, is dropped or refused, and the await ends "
        "once";
    static constexpr unsigned threads = 3;
    static constexpr std::array must_reach{"waiter.brought_back", "readable.off_behind_a_cancel"};
    void before() { this->waits(this->here(this->stop)); }
    void thread(unsigned i) {
        if (i == 0) return this->service.run();
        if (i == 1) return this->service.stop();
        this->stop.ask();
    }
    void after() {
        waiting_scenario<Sync>::after();
        Sync::law(this->cancelled == 1, "it was ready for nobody");
    }
};
APIARY_CHECK(cancel_meets_the_end);

template <class Sync>
struct descriptor_closed_meets_a_cancel : waiting_scenario<Sync> {
    static constexpr const char* what =
        "the driver tells that the descriptor was closed while the await is cancelled: it ends once, as one of both";
    static constexpr unsigned threads = 3;
    static constexpr std::array must_reach{"readable.off_behind_a_cancel", "ended.closed", "ended.cancelled"};
    void before() { this->waits(this->here(this->stop)); }
    void thread(unsigned i) {
        if (i == 0) return this->service.run();
        if (i == 1) return this->service.driver().is_closed();
        this->stop.ask();
    }
    void after() {
        waiting_scenario<Sync>::after();
        Sync::law(this->done == 0, "closed, and ready all the same");
        Sync::reach(this->closed == 1 ? "ended.closed" : "ended.cancelled");
    }
};
APIARY_CHECK(descriptor_closed_meets_a_cancel);

template <class Sync>
struct ready_while_it_suspends : waiting_scenario<Sync> {
    static constexpr const char* what =
        "a coroutine begins to wait for what becomes ready: the thread sees it, and it goes on";
    static constexpr unsigned threads = 3;
    static constexpr std::array must_reach{"waiter.brought_back", "awaiter.went_on"};
    void thread(unsigned i) {
        if (i == 0) return this->service.run();
        if (i == 1) return this->service.driver().becomes_ready();
        this->waits(this->here());
    }
    void after() {
        waiting_scenario<Sync>::after();
        Sync::law(this->done == 1, "cancelled by nobody");
    }
};
APIARY_CHECK(ready_while_it_suspends);

}  // namespace
}  // namespace readable_check
