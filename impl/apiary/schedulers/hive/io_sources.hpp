// io_sources: the sources of an IO worker of the hive: an inbox for tasks that others post to this worker, a private
// queue, and timers.
//
// When to use it. For workers to which others post by their id, or that keep timers. When not: for other workers, which
// have no_sources.
//
// Threads.  mail, id, pending: any thread. enter, open, leave: the worker table, with the mutex of the crew's owner
//           held. drop_all: any thread, if no worker of the crew runs any more. All other functions: the thread that
//           runs the worker.
// Progress. mail, id, open, leave: wait-free. enter allocates. run_some runs at most local_budget timers and as many
//           tasks.
// Order.    The private queue is first in, first out. Timers run by their deadlines, and those of one deadline in the
//           order in which they came.
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
// model_check/schedulers/hive/{hive,hive_attach,hive_cancel}_check.cpp; tested by hive_beat_test, hive_timers_test and
// hive_attach_test. DECISIONS.md: D9, D17, D19, D31, D33.
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
class io_sources {
    using sync = typename Crew::sync;
    using inbox_type = typename Crew::parts::template inbox<task<sync>>;

public:
    using task_type = task<sync>;
    static constexpr unsigned no_worker = UINT_MAX;

    // Others post to this worker here. Each life of the worker has a mailbox of its own, which is closed at the end of
    // that life and kept until the end of the worker (I1).
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
        while (task_type* t = timers_.pop()) self().drop(t);
    }

    // ---- The doors.
    // The open mailbox; it has another id if this worker is not in service.
    mailbox& mail() const { return *mail_.load(std::memory_order_acquire); }  // S1
    unsigned id() const { return mail().id.read(); }
    // The same for the worker's own thread, also while the worker leaves.
    unsigned incarnation() const { return own_mail_->id.read(); }
    void enter(unsigned id) { own_mail_ = sync::template create<mailbox>(id, own_mail_); }
    void open() { mail_.store(own_mail_, std::memory_order_release); }  // S1
    void leave() { mail_.store(&gone_, std::memory_order_relaxed); }

    // For a task on this worker: posts to this worker, after all that others have posted to it before. False: the
    // hive has been stopped or this worker is detached, and the task is still the caller's.
    [[nodiscard]] bool post(task_type* t) {
        if (self().owner().stopping() || self().leaving()) return false;
        if (!inbox().looks_empty()) collect();
        private_.push_back(t);
        return true;
    }
    // For a task on this worker: keeps a timer, which is never early. False: the hive has been stopped.
    [[nodiscard]] bool post_delayed(task_type* t) {
        if (self().owner().stopping()) return false;
        keep_timer(t);
        return true;
    }

    // ---- For the worker's loop (worker_sources).
    void collect() noexcept { sort_in(inbox().drain()); }
    bool run_some() {
        bool worked = run_due_timers();
        worked |= run_private();
        return worked;
    }
    bool urgent() const { return !inbox().looks_empty() || timer_due(); }
    std::int64_t next_deadline() const { return timers_.next_deadline(); }
    bool visible() const { return sync::recheck("io_sources.inbox") && !inbox().looks_empty(); }
    void keep(task_type* t) { private_.push_front(t); }
    std::size_t pending() const { return timers_.size(); }

    // After a detach: refuses every later post to this worker, and gives the timers to the main worker.
    bool hand_over_timed() {
        sort_in(inbox().close());
        while (task_type* t = timers_.pop())
            if (!self().crew().post_to(main_id, t)) {
                timers_.add(t);
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
            while (task_type* t = timers_.pop_due(now)) private_.push_back(t);
        }
        while (task_type* t = timers_.pop()) self().drop(t);
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
    // The poster of this timer is gone, and cannot be told that there is no memory. So the timer comes in again and
    // again by the inbox, for which the worker stays awake, until there is memory or the timer is due. After the end
    // of the inbox it goes to the main worker, as all timers do.
    void keep_accepted_timer(task_type* t) noexcept {
        try {
            return keep_timer(t);
        } catch (const std::bad_alloc&) {
        }
        if (t->deadline_ns <= self().owner().now_ns()) return private_.push_back(t);
        if (inbox().push(t) == push_result::closed && !self().crew().post_to(main_id, t)) self().drop(t);
    }

    // Cancelled timers stay in the wheel. A sweep drops them when it has grown to twice the size that the last sweep
    // left. So a sweep costs each timer a constant, and the wheel holds at most twice as many timers as were live at
    // once, or first_sweep.
    void keep_timer(task_type* t) {
        if (timers_.held() >= sweep_at_) {
            sync::reach("hive.swept_timers");
            timers_.remove_if(
                [](const task_type& held) {
                    const auto* entry = held.template target<delayed_entry<sync>, Storage>();
                    return entry != nullptr && entry->looks_cancelled();
                },
                [this](task_type* gone) { self().drop(gone); });
            sweep_at_ = std::max(first_sweep, 2 * timers_.held());
        }
        timers_.add(t);
    }

    // Runs the timers that are due now; timers that these start have to wait for the next turn.
    bool run_due_timers() {
        if (timers_.empty()) return false;
        const std::int64_t now = self().owner().now_ns();
        std::size_t left = self().crew().parameters().local_budget;
        for (; left > 0; --left) {
            task_type* t = timers_.pop_due(now);
            if (t == nullptr) break;
            self().tallies().fired(now - t->deadline_ns);
            self().run_task(t);
            if (self().owner().stopping()) return true;
        }
        return left != self().crew().parameters().local_budget;
    }

    // Runs the private queue as it was at the start of the turn.
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
