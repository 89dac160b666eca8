// An IO worker's timers, in its sources as they ship: a timer is put off, made earlier or cancelled while its worker
// runs its timers, files them again, hands them over to the main worker, or ends. Each ends once, and never early.
//
// Around the sources stands a worker of this file: a clock that its own thread moves, and a stop.
#include <array>

#include <apiary/model_check/register.hpp>
#include <apiary/schedulers/hive/io_sources.hpp>
#include <apiary/schedulers/hive/parts.hpp>
#include <apiary/tasks/task_storage.hpp>
#include <apiary/workers/parameters.hpp>

#include "timer_record.hpp"

namespace hive_timers_check {
namespace {

using namespace apiary;

template <class Sync>
class lone_worker;

template <class Sync>
struct lone_crew {
    using sync = Sync;
    using parts = hive_parts<Sync>;
    bool post_to(unsigned id, task<Sync>* t) {
        return workers[id]->mail().inbox.push(t) != push_result::closed;
    }
    bool post_list(fifo_list<task<Sync>>&) { return false; }
    const worker_parameters& parameters() const { return numbers; }
    const worker_parameters numbers{.local_budget = 2};
    std::array<lone_worker<Sync>*, 2> workers{};
};

template <class Sync>
class lone_worker : public io_sources<lone_crew<Sync>, lone_worker<Sync>, heap_storage<Sync>> {
public:
    explicit lone_worker(lone_crew<Sync>& c, unsigned id) : crew_(c) {
        c.workers[id] = this;
        this->enter(id);
        this->open();
    }
    ~lone_worker() { this->drop_all(); }

    // For the sources.
    lone_crew<Sync>& crew() { return crew_; }
    const lone_worker& owner() const { return *this; }
    lone_worker& tallies() { return *this; }
    bool stopping() const { return stops; }
    bool discarding() const { return discards; }
    bool leaving() const { return false; }
    std::int64_t now_ns() const { return now; }
    void fired(std::int64_t late) { Sync::law(late >= 0, "a timer was early"); }
    void run_task(task<Sync>* t) { (void)t->run(); }
    void drop(task<Sync>* t) { (void)t->drop(); }

    // For the scenarios, on the worker's own thread.
    void begins() { Sync::template set_current<timer_keeper<Sync>>(this); }
    void turn(std::int64_t at) {
        now = at;
        this->collect();
        (void)this->run_some();
    }
    void ends() {
        stops = true;
        this->close();
        while (task<Sync>* t = this->take()) run_task(t);
    }
    std::int64_t now = 0;
    bool stops = false, discards = false;

private:
    lone_crew<Sync>& crew_;
};

template <class Sync>
struct timer_scenario : timer_record<Sync, timer_scenario<Sync>> {
    static constexpr unsigned threads = 2;
    using record = timer_record<Sync, timer_scenario>;
    using typename record::storage;
    using worker = lone_worker<Sync>;

    lone_crew<Sync> crew;
    worker main{crew, 0}, other{crew, 1};

    // The clock of the worker whose thread this is.
    std::int64_t runs_at() const {
        return Sync::template current<timer_keeper<Sync>>() == &other ? other.now : main.now;
    }
    task<Sync>* another(std::int64_t deadline_ns) {
        task<Sync>* const t = storage::make([] {});
        t->deadline_ns = deadline_ns;
        return t;
    }
    void arm(worker& by) {
        task<Sync>* const t = this->made();
        t->deadline_ns = 100;
        Sync::law(by.post_delayed(t), "a timer was refused");
    }
    rearm_result rearm(worker* by, std::int64_t deadline_ns) {
        this->left.store(this->noted + 1, std::memory_order_relaxed);
        auto& timer = *this->handle.block();
        const rearm_result r = by != nullptr ? by->rearm(timer, deadline_ns) : timer.put_off(deadline_ns);
        if (r == rearm_result::rearmed) ++this->noted, this->due = deadline_ns;
        return r;
    }
    void cancel() { this->cancelled = this->handle.cancel(); }
    // ---- In after().
    void ended_once(bool was_dropped = false) { record::ended_once(was_dropped); }
    void last_turns() {
        main.begins();
        for (int i = 0; i != 3; ++i) main.turn(1000);
    }
};

// The worker comes to the timer at its first time and at both later ones. Meanwhile another worker's thread gives it
// these, and may cancel it. In between the worker arms another timer, and so sweeps.
template <class Sync, bool Cancels>
struct rearm_meets_fire : timer_scenario<Sync> {
    using base = timer_scenario<Sync>;
    void before() {
        base::before();
        this->arm(this->main);
    }
    void thread(unsigned i) {
        if (i == 0) {
            this->main.begins();
            for (const std::int64_t at : {100, 150, 200}) {
                this->main.turn(at);
                if (Cancels && at == 100) (void)this->main.post_delayed(this->another(INT64_MAX));
            }
            return;
        }
        this->other.begins();
        for (const std::int64_t later : {150, 200}) {
            const rearm_result r = this->rearm(&this->other, later);
            Sync::law(r != rearm_result::not_here, "a later time is noted on any thread");
            if (r == rearm_result::over) break;
        }
        if (this->noted == 2)
            Sync::law(this->rearm(&this->other, 120) != rearm_result::rearmed, "an earlier time was noted");
        if (Cancels) this->cancel();
    }
    void after() {
        this->last_turns();
        this->ended_once();
        Sync::law(this->main.pending() == (Cancels ? 1 : 0), "a timer was left behind");
    }
};

template <class Sync>
struct rearm_races_fire : rearm_meets_fire<Sync, false> {
    static constexpr const char* what = "a worker runs its timers, while another one puts one of them off, twice";
    static constexpr std::array must_reach{"delayed.was_put_off", "delayed.put_off_too_late"};
};
APIARY_CHECK(rearm_races_fire);

template <class Sync>
struct rearm_and_cancel_race_fire : rearm_meets_fire<Sync, true> {
    static constexpr const char* what =
        "a worker runs its timers and sweeps them, while another one puts one of them off, and then cancels it";
    static constexpr std::array must_reach{"delayed.was_put_off", "delayed.was_cancelled", "hive.swept_timers"};
};
APIARY_CHECK(rearm_and_cancel_race_fire);

// A thread puts the timer off, and sends its handle to the worker that keeps it. A task there makes the timer earlier,
// twice so that it must be filed anew, and at last later; or cancels it.
template <class Sync, bool Cancels>
struct keeper_gets_the_handle : timer_scenario<Sync> {
    using base = timer_scenario<Sync>;
    bool in_time = false;
    void before() {
        base::before();
        this->arm(this->main);
    }
    void thread(unsigned i) {
        if (i == 0) {
            this->main.begins();
            for (const std::int64_t at : {20, 60, 100, 150}) this->main.turn(at);
            return;
        }
        (void)this->rearm(nullptr, 300);
        task<Sync>* const t = base::storage::make([this] { Cancels ? cancels() : makes_earlier(); });
        Sync::law(this->crew.post_to(0, t), "a post was refused");
    }
    void makes_earlier() {
        for (const std::int64_t at : {150, 50, 60}) {
            const rearm_result r = this->rearm(&this->main, at);
            Sync::law(r != rearm_result::not_here, "its own worker makes a timer earlier");
            if (r == rearm_result::over) return;
        }
        in_time = this->main.now == 20;
        if (in_time) Sync::reach("rearm.moved");
    }
    void cancels() {
        this->cancel();
        Sync::law(this->main.pending() == 0, "its own worker's cancel has left an empty task");
        Sync::reach(this->cancelled ? "cancel.unlinked" : "cancel.too_late");
    }
    void after() {
        this->last_turns();
        this->ended_once();
        Sync::law(this->main.pending() == 0, "a timer was left behind");
        Sync::law(!in_time || this->ran_at == 60, "a timer that was made earlier was late");
    }
};

template <class Sync>
struct keeper_makes_earlier : keeper_gets_the_handle<Sync, false> {
    static constexpr const char* what =
        "a thread puts a timer off and sends its handle to the timer's worker, which makes it earlier, and later again";
    static constexpr std::array must_reach{"rearm.moved", "delayed.was_put_off"};
};
APIARY_CHECK(keeper_makes_earlier);

template <class Sync>
struct keeper_cancels : keeper_gets_the_handle<Sync, true> {
    static constexpr const char* what =
        "a thread puts a timer off and sends its handle to the timer's worker, which cancels it: nothing is left of it";
    static constexpr std::array must_reach{"cancel.unlinked", "cancel.too_late", "delayed.was_put_off"};
};
APIARY_CHECK(keeper_cancels);

// Worker 1 leaves, and gives its timer to the main worker, which files it and comes to it. The handle is with a third
// thread, with the worker that leaves, whose place in the table has its next life then, or with the main worker.
template <class Sync>
struct hand_over_scenario : timer_scenario<Sync> {
    using base = timer_scenario<Sync>;
    void before() {
        base::before();
        this->arm(this->other);
    }
    void hands_over() {
        this->other.begins();
        Sync::law(this->other.hand_over_timed(), "nobody has stopped");
    }
    void main_runs() {
        this->main.begins();
        for (const std::int64_t at : {90, 100, 150}) this->main.turn(at);
    }
    void puts_off_and_cancels(typename base::worker* by) {
        (void)this->rearm(by, 150);
        this->cancel();
    }
    void after() {
        this->last_turns();
        this->ended_once();
        Sync::law(this->other.pending() == 0, "a timer stayed where it was");
    }
};

template <class Sync>
struct rearm_races_hand_over : hand_over_scenario<Sync> {
    static constexpr const char* what =
        "a worker leaves and hands its timer over, which the main worker files and runs, while a thread puts it off";
    static constexpr unsigned threads = 3;
    static constexpr std::array must_reach{"delayed.was_put_off", "delayed.put_off_too_late"};
    void thread(unsigned i) {
        if (i == 0) return this->hands_over();
        if (i == 1) return this->main_runs();
        (void)this->rearm(nullptr, 150);
    }
};
APIARY_CHECK(rearm_races_hand_over);

template <class Sync>
struct next_life_has_the_handle : hand_over_scenario<Sync> {
    static constexpr const char* what =
        "a worker that left runs again, and puts off and cancels the timer that it handed over, while the main worker "
        "comes to it";
    static constexpr std::array must_reach{"delayed.was_put_off", "delayed.put_off_too_late", "delayed.was_cancelled"};
    void thread(unsigned i) {
        if (i == 1) return this->main_runs();
        this->hands_over();
        this->puts_off_and_cancels(&this->other);
    }
};
APIARY_CHECK(next_life_has_the_handle);

template <class Sync>
struct main_has_the_handle : hand_over_scenario<Sync> {
    static constexpr const char* what =
        "the main worker puts off and cancels a timer that a worker hands over to it, wherever it is";
    static constexpr std::array must_reach{"main.found_it_filed", "main.found_it_away"};
    void thread(unsigned i) {
        if (i == 0) return this->hands_over();
        this->main.begins();
        this->main.turn(50);
        const bool filed = this->main.pending() == 1;
        Sync::reach(filed ? "main.found_it_filed" : "main.found_it_away");
        Sync::law(this->rearm(&this->main, 150) == rearm_result::rearmed, "nobody else ends it");
        this->main.turn(100);
        this->cancel();
        Sync::law(this->cancelled, "nobody else ends it");
        Sync::law(!filed || this->main.pending() == 0, "its own worker's cancel has left an empty task");
    }
};
APIARY_CHECK(main_has_the_handle);

// The main worker ends meanwhile, so the worker that leaves may keep its timer, and ends as after a stop.
template <class Sync>
struct hand_over_meets_stop : hand_over_scenario<Sync> {
    static constexpr const char* what =
        "a worker hands its timer over to the main worker, which ends, while a thread puts it off and cancels it";
    static constexpr unsigned threads = 3;
    static constexpr std::array must_reach{"hand_over.refused", "hand_over.accepted", "delayed.was_cancelled"};
    using base = hand_over_scenario<Sync>;
    void thread(unsigned i) {
        if (i == 0) {
            this->other.begins();
            const bool accepted = this->other.hand_over_timed();
            Sync::reach(accepted ? "hand_over.accepted" : "hand_over.refused");
            if (!accepted) this->other.ends();
        } else if (i == 1) {
            this->main.begins();
            this->main.now = 100;
            this->main.ends();
        } else {
            this->puts_off_and_cancels(nullptr);
        }
    }
    void after() {
        this->ended_once(!this->cancelled && this->ran.read() == 0);
        Sync::law(this->main.pending() + this->other.pending() == 0, "a timer was left behind");
    }
};
APIARY_CHECK(hand_over_meets_stop);

// A stop that drains runs what is due and drops the rest.
template <class Sync, bool Discards>
struct rearm_meets_stop : timer_scenario<Sync> {
    using base = timer_scenario<Sync>;
    void before() {
        base::before();
        this->arm(this->main);
    }
    void thread(unsigned i) {
        if (i == 0) {
            this->main.begins();
            this->main.now = 100;
            this->main.discards = Discards;
            return this->main.ends();
        }
        (void)this->rearm(nullptr, 150);
        if (this->noted == 0) Sync::reach("stop.came_first");
        this->cancel();
    }
    void after() {
        const bool dropped = !this->cancelled && this->ran.read() == 0;
        this->ended_once(dropped);
        Sync::law(!dropped || Discards || this->noted == 1, "a drain dropped a timer that was due");
        Sync::law(this->main.pending() == 0, "a timer was left behind");
    }
};

template <class Sync>
struct rearm_races_drain : rearm_meets_stop<Sync, false> {
    static constexpr const char* what = "a stop drains, while the timer that is due is put off, and then cancelled";
    static constexpr std::array must_reach{"stop.came_first", "delayed.was_put_off", "delayed.was_cancelled"};
};
APIARY_CHECK(rearm_races_drain);

template <class Sync>
struct rearm_races_discard : rearm_meets_stop<Sync, true> {
    static constexpr const char* what = "a stop discards, while the timer that is due is put off, and then cancelled";
    static constexpr std::array must_reach{"stop.came_first", "delayed.was_cancelled"};
};
APIARY_CHECK(rearm_races_discard);

// The handle comes to the worker that keeps the timer, which ends: it queues what is due behind the task that cancels.
template <class Sync>
struct cancel_meets_a_queued_timer : timer_scenario<Sync> {
    static constexpr const char* what =
        "a stop drains and queues a timer that is due, behind a task that cancels it, which a thread may still send";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"queued.cancelled_there", "queued.cancelled_outside"};
    using base = timer_scenario<Sync>;
    void before() {
        base::before();
        this->arm(this->main);
    }
    void thread(unsigned i) {
        if (i == 0) {
            this->main.begins();
            this->main.now = 100;
            return this->main.ends();
        }
        task<Sync>* const t = base::storage::make([this] {
            this->cancel();
            Sync::law(this->cancelled, "the timer began before a task that came before it");
            Sync::reach("queued.cancelled_there");
        });
        if (this->crew.post_to(0, t)) return;
        t->drop();
        this->cancel();
        if (this->cancelled) Sync::reach("queued.cancelled_outside");
    }
    void after() {
        this->ended_once();
        Sync::law(this->main.pending() == 0, "a timer was left behind");
    }
};
APIARY_CHECK(cancel_meets_a_queued_timer);

}  // namespace
}  // namespace hive_timers_check
