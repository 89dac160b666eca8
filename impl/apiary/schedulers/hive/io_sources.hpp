// io_sources: the sources of an IO worker of the hive: an inbox for tasks that others post to this worker, a private
// queue, and timers.
//
// When to use it. For workers to which others post by their id, or that keep timers. When not: for other workers, which
// have no_sources.
//
// Threads.  mail, id, pending: any thread. enter, open, leave: the worker table, with the mutex of the crew's owner
//           held. drop_all: any thread, if no worker of the crew runs any more. All other functions: the thread that
//           runs the worker.
// Progress. mail, id, open, leave: wait-free. enter allocates. run_some looks at no more than local_budget timers and
//           runs as many tasks.
// Order.    The private queue is first in, first out. Timers run by their deadlines, and those of one deadline in the
//           order in which they were filed under it.
//
// Invariants
//   I1  A mailbox has one id for ever, and its inbox is closed once: a late post finds it closed, and never the inbox
//       of the worker's next life.
//   I2  While the worker is out of service, mail() is a closed mailbox that has no worker's id.
//
// Synchronisation
//   S1  open: store mail_ (release) -> mail: load (acquire). Publishes the mailbox and its id. leave needs no order:
//       the mailbox that it shows was made with the worker.
//
// It meets the concept worker_sources (workers/concepts.hpp). Checked by
// model_check/schedulers/hive/{hive,hive_attach,hive_cancel,hive_timers}_check.cpp; tested by hive_beat_test,
// hive_timers_test and hive_attach_test. DECISIONS.md: D9, D17, D19, D31, D33, D228.
#pragma once

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include <apiary/queues/fifo_list.hpp>
#include <apiary/queues/mpsc_inbox.hpp>
#include <apiary/schedulers/hive/delayed.hpp>
#include <apiary/tasks/task.hpp>
#include <apiary/timers/timer_wheel.hpp>

namespace apiary {

template <class Crew, class Worker, class Storage>
class io_sources : public timer_keeper<typename Crew::sync> {
    using sync = typename Crew::sync;
    using inbox_type = typename Crew::parts::template inbox<task<sync>>;

public:
    using task_type = task<sync>;
    static constexpr unsigned no_worker = UINT_MAX;

    // The address for posts to this worker. Each life of the worker has a mailbox of its own, which is closed at the
    // end of that life and kept until the worker is destroyed (I1).
    struct mailbox {
        mailbox(unsigned worker_id, mailbox* before) : id(worker_id), older(before) {}
        const typename sync::template cell<unsigned> id;  // a checked policy sees a read of an id that is not published
        mailbox* const older;
        inbox_type inbox;
    };

    io_sources() {
        (void)gone_.inbox.close();
        mail_.store(&gone_, std::memory_order_relaxed);
    }
    io_sources(const io_sources&) = delete;
    io_sources& operator=(const io_sources&) = delete;
    ~io_sources() {
        while (own_mail_ != nullptr) sync::destroy(std::exchange(own_mail_, own_mail_->older));
    }
    // Drops what was posted to a worker that never ran. Precondition: no more posts come.
    void drop_all() {
        fifo_list<task_type> arrived;
        if (own_mail_ != nullptr) arrived = inbox().drain();
        while (task_type* t = arrived.pop_front()) self().drop(t);
        while (task_type* t = private_.pop_front()) self().drop(t);
        while (task_type* t = take_timer()) self().drop(t);
    }

    // ---- The doors.
    // The mailbox that is open now; its id is another one while this worker is out of service.
    mailbox& mail() const { return *mail_.load(std::memory_order_acquire); }  // S1
    unsigned id() const { return mail().id.read(); }
    // The id, for the worker's own thread. It stays valid while the worker leaves.
    unsigned incarnation() const { return own_mail_->id.read(); }
    void enter(unsigned id) { own_mail_ = sync::template create<mailbox>(id, own_mail_); }
    void open() { mail_.store(own_mail_, std::memory_order_release); }  // S1
    void leave() { mail_.store(&gone_, std::memory_order_relaxed); }

    // For a task on this worker: posts to this worker, after everything that other threads have posted to it so far.
    // False: the hive has been stopped or this worker is detached, and the task still belongs to the caller.
    [[nodiscard]] bool post(task_type* t) {
        if (self().owner().stopping() || self().leaving()) return false;
        if (!inbox().looks_empty()) collect();
        private_.push_back(t);
        return true;
    }
    // For a task on this worker: keeps a timer, which never runs early. False: the hive has been stopped.
    [[nodiscard]] bool post_delayed(task_type* t) {
        if (self().owner().stopping()) return false;
        keep_timer(t);
        return true;
    }

    // For a task on this worker: gives a timer another time, an earlier one, too, if this worker keeps it.
    [[nodiscard]] rearm_result rearm(delayed_block<sync>& timer, std::int64_t deadline_ns) {
        if (timer.keeper_here() != this) return timer.put_off(deadline_ns);
        bool moves = false;
        const rearm_result how = timer.rearm(deadline_ns, moves);
        if (moves) {
            (void)timers_.move(timer.place(), deadline_ns);
            timer.filed(this, &forget, timer.place(), deadline_ns);
        }
        return how;
    }

    // ---- For the worker's loop (worker_sources).
    void collect() noexcept { sort_in(inbox().drain()); }
    bool run_some() {
        bool worked = run_due_timers();
        worked |= run_private();
        return worked;
    }
    bool urgent() const { return !inbox().looks_empty() || timer_due(); }
    bool waits() const { return !private_.empty() || urgent(); }  // a task that this worker alone runs
    std::int64_t next_deadline() const { return timers_.next_deadline(); }
    bool visible() const { return sync::recheck("io_sources.inbox") && !inbox().looks_empty(); }
    void keep(task_type* t) { private_.push_front(t); }
    std::size_t pending() const { return timers_.size(); }

    // After a detach: refuses every later post to this worker, and gives the timers to the main worker.
    bool hand_over_timed() {
        sort_in(inbox().close());
        while (task_type* t = take_timer())
            if (!self().crew().post_to(main_id, t)) {
                file(t);
                return false;
            }
        return true;
    }
    bool hand_over_kept() {
        if (private_.empty()) return true;
        if (!self().crew().post_list(private_)) {
            sync::reach("hive.hand_over_met_the_stop");
            return false;
        }
        sync::reach("hive.handed_over");
        return true;
    }

    // After the stop: drops the timers that are not due.
    void close() {
        sort_in(inbox().close());  // from here on every post_to is refused
        if (!self().owner().discarding()) {
            const std::int64_t now = timers_.empty() ? 0 : self().owner().now_ns();
            while (task_type* t = timers_.pop_due(now))
                if (!filed_again(t)) private_.push_back(t);
        }
        while (task_type* t = take_timer()) self().drop(t);
    }
    task_type* take() { return private_.pop_front(); }

private:
    void sort_in(fifo_list<task_type> arrived) noexcept {
        while (task_type* t = arrived.pop_front()) {
            if (t->deadline_ns == 0)
                private_.push_back(t);
            else
                keep_accepted_timer(t);
        }
    }
    // The timer was accepted, so its poster cannot be told that there is no memory. The timer goes round through the
    // inbox, and the worker stays awake for it, until there is memory or the timer is due. After the end of the inbox
    // it goes to the main worker, as all timers do.
    void keep_accepted_timer(task_type* t) noexcept {
        try {
            return keep_timer(t);
        } catch (const std::bad_alloc&) {
        }
        if (t->deadline_ns <= self().owner().now_ns() && !was_put_off(t)) return private_.push_back(t);
        if (inbox().push(t) == push_result::closed && !self().crew().post_to(main_id, t)) self().drop(t);
    }

    // Timers that other threads have cancelled stay in the wheel. Once the wheel has twice the size that the last sweep
    // left, a sweep drops them. So a sweep costs each timer a constant, and the wheel never holds more than the larger
    // of first_sweep and twice as many timers as were live at once.
    void keep_timer(task_type* t) {
        if (timers_.held() >= sweep_at_) {
            sync::reach("hive.swept_timers");
            timers_.remove_if(
                [](const task_type& held) {
                    const auto* entry = entry_of(held);
                    return entry != nullptr && entry->block().looks_cancelled();
                },
                [this](task_type* gone) { self().drop(gone); });
            sweep_at_ = std::max(first_sweep, 2 * timers_.held());
        }
        file(t);
    }
    void file(task_type* t) {
        const timer_handle at = timers_.add(t);
        if (const auto* entry = entry_of(*t)) entry->block().filed(this, &forget, at, t->deadline_ns);
    }
    // Null if there are no more.
    task_type* take_timer() {
        task_type* const t = timers_.pop();
        if (t != nullptr)
            if (const auto* entry = entry_of(*t)) entry->block().taken_out();
        return t;
    }
    // For a timer whose time has come, and that is in no wheel. True: it was put off meanwhile, and has the later time
    // now. False: from now on it stays due, and nobody keeps it.
    static bool was_put_off(task_type* t) {
        const auto* entry = entry_of(*t);
        if (entry == nullptr) return false;
        const std::int64_t later = entry->block().becomes_due(t->deadline_ns);
        if (later == 0) {
            entry->block().taken_out();
            return false;
        }
        t->deadline_ns = later;
        return true;
    }
    // Called with a timer that pop_due has given. True: it was put off, and is kept again, even if the later time has
    // come, too: other timers may be due before it. That allocates nothing, since the wheel has the room from which
    // the timer has just come.
    bool filed_again(task_type* t) {
        if (!was_put_off(t)) return false;
        file(t);
        return true;
    }
    static void forget(timer_keeper<sync>& keeper, delayed_block<sync>& timer) {
        auto& mine = static_cast<io_sources&>(keeper);
        mine.self().drop(mine.timers_.cancel(timer.place()));
    }
    // Null for a timed task that post_delayed has not made.
    static const delayed_entry<sync>* entry_of(const task_type& t) {
        return t.template target<delayed_entry<sync>, Storage>();
    }

    // Runs the timers that are due now; one that was put off counts against the budget, too. Timers that these post
    // wait for the next turn.
    bool run_due_timers() {
        if (timers_.empty()) return false;
        const std::int64_t now = self().owner().now_ns();
        std::size_t left = self().crew().parameters().local_budget;
        for (; left > 0; --left) {
            task_type* t = timers_.pop_due(now);
            if (t == nullptr) break;
            if (filed_again(t)) continue;
            self().tallies().fired(now - t->deadline_ns);
            self().run_task(t);
            if (self().owner().stopping()) return true;
        }
        return left != self().crew().parameters().local_budget;
    }

    // Runs the tasks that were in the private queue when the turn began.
    bool run_private() {
        const std::size_t there = std::min(private_.size(), self().crew().parameters().local_budget);
        for (std::size_t left = there; left > 0 && !self().owner().stopping(); --left) {
            self().run_task(private_.pop_front());
            if (timer_due()) break;
        }
        return there > 0;
    }

    // Reads the clock only if there is a timer.
    bool timer_due() const { return !timers_.empty() && timers_.next_deadline() <= self().owner().now_ns(); }

    inbox_type& inbox() const { return own_mail_->inbox; }
    Worker& self() { return static_cast<Worker&>(*this); }
    const Worker& self() const { return static_cast<const Worker&>(*this); }

    static constexpr std::size_t first_sweep = sync::checked ? 1 : 64;
    static constexpr unsigned main_id = 0;  // the id of the main worker, which stays while the hive runs

    mailbox gone_{no_worker, nullptr};
    mailbox* own_mail_ = nullptr;
    fifo_list<task_type> private_;
    timer_wheel<task_type, sync> timers_;
    std::size_t sweep_at_ = first_sweep;
    typename sync::template atomic<mailbox*> mail_;  // S1; other threads read it
};

}  // namespace apiary
