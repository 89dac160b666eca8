// The await itself, whatever is awaited: a frame that is resumed elsewhere while await_suspend
// still runs, and an await that is completed and cancelled at the same time. Real coroutines, on
// frames that the engines watch.
#include <array>
#include <utility>

#include <apiary/coroutines/async_event.hpp>

#include "coroutine_scenario.hpp"

namespace waiter_check {
namespace {

using namespace apiary;
using namespace apiary::model;

// The least that can be awaited: something that happens once.
template <class Sync>
class happening {
public:
    class awaiting : public awaiter<awaiting, Sync> {
    public:
        explicit awaiting(happening& of) : of_(of) {}
        ~awaiting() { lives_.write(false); }
        bool await_ready() const { return false; }
        awaited await_resume() { return this->resumed(); }

        bool wait(stop_hooks<Sync>* stops) {
            const typename Sync::lock held(of_.mutex_);
            if (of_.happened_) return false;
            if (!this->listens(stops)) {
                Sync::reach("cancel.before");
                this->how.write(awaited::cancelled);
                return false;
            }
            of_.waiting_.append(*this);
            return true;
        }
        void cancel() noexcept {
            Sync::law(lives_.read(), "a cancel came to an awaiter that is being destroyed");
            {
                const typename Sync::lock held(of_.mutex_);
                if (!of_.waiting_.take(*this)) return Sync::reach("cancel.too_late");
            }
            this->how.write(awaited::cancelled);
            this->finish();
        }

    private:
        happening& of_;
        typename Sync::template cell<bool> lives_{true};
    };

    awaiting operator co_await() { return awaiting(*this); }

    void happens() {
        taken_waiters<Sync> all;
        {
            const typename Sync::lock held(mutex_);
            happened_ = true;
            while (awaiting* w = waiting_.take_first()) all.add(*w);
        }
        all.finish_all();
    }

private:
    friend awaiting;
    typename Sync::mutex mutex_;
    bool happened_ = false;  // by mutex_
    wait_list<awaiting> waiting_;
};

template <class Sync>
struct awaits_a_happening : coroutine_scenario<Sync> {
    using base = coroutine_scenario<Sync>;
    happening<Sync> it;
    stop_hooks<Sync> stop;
    typename Sync::template cell<int> made{0}, done{0}, cancelled{0};

    void happens() {
        made.write(1);
        it.happens();
    }
    coroutine<Sync> waits(typename base::place) {
        typename Sync::template cell<int> mine;
        mine.write(1);
        const awaited how = co_await it;
        mine.write(mine.read() + 1);  // the frame, on whichever thread this is
        auto& ends = how == awaited::done ? done : cancelled;
        ends.write(ends.read() + 1);
        if (how == awaited::done) Sync::law(made.read() == 1, "the await ended before what it waits for");
    }
    void after() { Sync::law(done.read() + cancelled.read() == 1, "an await did not end once"); }
};

template <class Sync>
struct resumed_while_it_suspends : awaits_a_happening<Sync> {
    static constexpr const char* what =
        "a coroutine awaits what happens meanwhile: it goes on elsewhere, and its frame goes, while await_suspend runs";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"waiter.brought_back"};
    void thread(unsigned i) {
        if (i == 1) return this->happens();
        this->waits(this->here());
    }
    void after() {
        awaits_a_happening<Sync>::after();
        Sync::law(this->cancelled.read() == 0, "cancelled by nobody");
    }
};
APIARY_CHECK(resumed_while_it_suspends);

template <class Sync>
struct cancelled_while_it_suspends : awaits_a_happening<Sync> {
    static constexpr const char* what =
        "a stop is asked for while a coroutine suspends: before, behind or during the registration it is cancelled";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"waiter.brought_back", "cancel.before"};
    void thread(unsigned i) {
        if (i == 1) return (void)this->stop.ask();
        this->waits(this->here(this->stop));
    }
    void after() {
        awaits_a_happening<Sync>::after();
        Sync::law(this->cancelled.read() == 1, "a stop did not cancel");
    }
};
APIARY_CHECK(cancelled_while_it_suspends);

template <class Sync>
struct await_against_cancel : awaits_a_happening<Sync> {
    static constexpr const char* what =
        "a coroutine that waits is completed and cancelled: it goes on once, and the frame stays until both have left";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"waiter.brought_back", "cancel.too_late", "stop_hooks.waited_for_the_call"};
    void before() { this->waits(this->here(this->stop)); }
    void thread(unsigned i) {
        if (i == 0) return this->happens();
        this->stop.ask();
    }
};
APIARY_CHECK(await_against_cancel);

template <class Sync>
struct await_against_both : awaits_a_happening<Sync> {
    static constexpr const char* what =
        "the same while the coroutine suspends: three threads, one of which lets it go on";
    static constexpr unsigned threads = 3;
    static constexpr std::array must_reach{"waiter.brought_back", "cancel.too_late"};
    void thread(unsigned i) {
        if (i == 0)
            this->waits(this->here(this->stop));
        else if (i == 1)
            this->happens();
        else
            this->stop.ask();
    }
};
APIARY_CHECK(await_against_both);

template <class Sync>
struct two_wait_for_it : awaits_a_happening<Sync> {
    static constexpr const char* what =
        "two coroutines wait, and are let go one behind the other: the first frame goes before the second is told";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"waiter.brought_back"};
    void before() { this->waits(this->here()); }
    void thread(unsigned i) {
        if (i == 0) return this->happens();
        second(this->here());
    }
    coroutine<Sync> second(typename awaits_a_happening<Sync>::place) {
        co_await this->it;
        Sync::law(this->made.read() == 1, "the await ended before what it waits for");
        both.write(1);
    }
    void after() {
        awaits_a_happening<Sync>::after();
        Sync::law(both.read() == 1, "one that waited was forgotten");
    }
    typename Sync::template cell<int> both{0};
};
APIARY_CHECK(two_wait_for_it);

// The shipped event. The coroutine that it lets go on is the last to use it, and destroys it.
template <class Sync>
struct event_scenario : coroutine_scenario<Sync> {
    static constexpr std::array engine_laws{"lifetime"};
    using base = coroutine_scenario<Sync>;
    using event = async_event<Sync>;
    event* it = nullptr;
    stop_hooks<Sync> stop;
    typename Sync::template cell<int> made{0}, ended{0};

    void before() { it = Sync::template create<event>(); }
    coroutine<Sync> waits(typename base::place) {
        const awaited how = co_await it->wait();
        ended.write(ended.read() + 1);
        if (how == awaited::cancelled) {
            Sync::reach("event.cancelled");
            co_return;
        }
        Sync::law(made.read() == 1, "the wait ended before the event was set");
        Sync::destroy(std::exchange(it, nullptr));
    }
    void set() {
        made.write(1);
        it->set();
    }
    void after() {
        Sync::law(ended.read() == 1, "a wait did not end once");
        if (it != nullptr) Sync::destroy(it);
    }
};
// A reset takes nothing back from a coroutine that the set let go on; one that comes to the wait after it waits for the next set.
template <class Sync>
struct event_is_reset : event_scenario<Sync> {
    static constexpr const char* what =
        "an event is set and reset while a coroutine begins to wait for it: it goes on, now or at the next set";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"event.left_waiting", "event.went_on"};
    void thread(unsigned i) {
        if (i == 0) return (void)this->waits_and_leaves_it(this->here());
        this->set();
        this->it->reset();
    }
    coroutine<Sync> waits_and_leaves_it(typename event_scenario<Sync>::base::place) {
        (void)co_await this->it->wait();
        Sync::law(this->made.read() == 1, "the wait ended before the event was set");
        this->ended.write(this->ended.read() + 1);
    }
    void after() {
        Sync::reach(this->ended.read() == 0 ? "event.left_waiting" : "event.went_on");
        Sync::law(!this->it->is_set(), "a reset was lost");
        if (this->ended.read() == 0) this->it->set();
        event_scenario<Sync>::after();
    }
};
APIARY_CHECK(event_is_reset);

template <class Sync>
struct event_goes_behind_the_wait : event_scenario<Sync> {
    static constexpr const char* what =
        "an event is set while a coroutine begins to wait for it; the coroutine destroys it as soon as it goes on";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"waiter.brought_back"};
    void thread(unsigned i) {
        if (i == 1) return this->set();
        this->waits(this->here());
    }
};
APIARY_CHECK(event_goes_behind_the_wait);
template <class Sync>
struct event_meets_a_cancel : event_scenario<Sync> {
    static constexpr const char* what =
        "the same, and a stop is asked for: the event is the coroutine's, or was cancelled";
    static constexpr unsigned threads = 3;
    static constexpr std::array must_reach{"waiter.brought_back", "event.cancelled"};
    void thread(unsigned i) {
        if (i == 0)
            this->waits(this->here(this->stop));
        else if (i == 1)
            this->set();
        else
            this->stop.ask();
    }
};
APIARY_CHECK(event_meets_a_cancel);

}  // namespace
}  // namespace waiter_check
