// io_sources: what an IO worker of the hive has beside its ready work: an inbox for what others
// post to this worker, a private queue, and timers.
//
// When to use it. For workers that others post to by their id, or that keep timers. When not:
// no_sources.
//
// Threads.  mail, id, pending: any. The rest: the thread that runs the worker, but enter, open,
//           leave: the worker table, with the mutex of the crew's owner held.
// Progress. mail, id, open, leave: wait-free. enter allocates. run_some runs at most local_budget
//           timers and as many tasks.
// Order.    The private queue is first in, first out; timers run by their deadlines, those of one
//           deadline as they came.
//
// Invariants
//   I1  A mailbox has one id for ever, and its inbox is closed once: a late post finds it closed,
//       and never the next life's.
//   I2  While the worker is out of service mail() is a closed mailbox that has no worker's id.
//
// Synchronisation
//   S1  open: store mail_ (release) -> mail: load (acquire). Publishes the mailbox and its id.
//       leave needs no order: what it shows was made with the worker.
//
// The concept that this meets: worker_sources (workers/concepts.hpp). Checked by
// model_check/schedulers/hive/{hive,hive_attach,hive_cancel}_check.cpp; tested by hive_beat_test,
// hive_timers_test and hive_attach_test. Source: seed 002 sections 4.1, 4.2 and 5; DECISIONS.md D9,
// D17, D19, D31, D33.
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
#include <apiary/timers/timer_heap.hpp>

namespace apiary {

template <class Crew, class Worker, class Storage>
class io_sources {
    using sync = typename Crew::sync;
    using inbox_type = typename Crew::parts::template inbox<task<sync>>;

public:
    using task_type = task<sync>;
    static constexpr unsigned no_worker = UINT_MAX;

    // Where others post to this worker. One for each of its lives, closed at the end of that life and kept until
    // the end of all: a post that comes late finds it closed, and never the next life's.
    struct mailbox {
        mailbox(unsigned worker_id, mailbox* before) : id(worker_id), older(before) {}
        const typename sync::template cell<unsigned> id;  // the checked policies see a read of an unpublished one
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
    // What was posted to a worker that never ran. Nothing comes any more.
    void drop_all() {
        fifo_list<task_type> arrived;
        if (own_mail_ != nullptr) arrived = inbox().drain();
        while (task_type* t = arrived.pop_front()) self().drop(t);
        while (task_type* t = private_.pop_front()) self().drop(t);
        while (task_type* t = timers_.pop()) self().drop(t);
    }

    // ---- The doors.
    // Of another id when this worker is not in service.
    mailbox& mail() const { return *mail_.load(std::memory_order_acquire); }  // S1
    unsigned id() const { return mail().id.read(); }
    // The same, from its own thread, also while it leaves.
    unsigned incarnation() const { return own_mail_->id.read(); }
    void enter(unsigned id) { own_mail_ = sync::template create<mailbox>(id, own_mail_); }
    void open() { mail_.store(own_mail_, std::memory_order_release); }  // S1
    void leave() { mail_.store(&gone_, std::memory_order_relaxed); }

    // From a task on this worker, to this worker: behind what others have posted to it before. False: the hive has been stopped
    // or this worker is detached, and the task is still the caller's.
    [[nodiscard]] bool post(task_type* t) {
        if (self().owner().stopping() || self().leaving()) return false;
        if (!inbox().looks_empty()) collect();
        private_.push_back(t);
        return true;
    }
    // From a task on this worker; never early. False: the hive has been stopped.
    [[nodiscard]] bool post_delayed(task_type* t) {
        if (self().owner().stopping()) return false;
        keep_timer(t);
        return true;
    }

    // ---- What the worker's loop asks for.
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

    // After a detach. From here on what is posted to this worker is refused; its timers go to the main worker.
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

    // After the stop. Timers that are not due are dropped.
    void close() {
        sort_in(inbox().close());  // from here on post_to is refused
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
    // Its poster is gone, and cannot be told that there is no memory. So it comes in again and again by the inbox, for which the
    // worker stays awake, until there is some or it is due. After the end of the inbox it goes the way of all timers.
    void keep_accepted_timer(task_type* t) noexcept {
        try {
            return keep_timer(t);
        } catch (const std::bad_alloc&) {
        }
        if (t->deadline_ns <= self().owner().now_ns()) return private_.push_back(t);
        if (inbox().push(t) == push_result::closed && !self().crew().post_to(main_id, t)) self().drop(t);
    }

    // Timers that were cancelled stay in the heap, and are swept out when it has grown to twice what the last sweep left: a
    // constant for each timer, and no more cancelled ones than twice the live ones and first_sweep.
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

    // Those that are due now; what they start is due later.
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

    // As far as it was there at the start of the turn.
    bool run_private() {
        const std::size_t there = std::min(private_.size(), self().crew().parameters().local_budget);
        for (std::size_t left = there; left > 0 && !self().owner().stopping(); --left) {
            self().run_task(private_.pop_front());
            if (timer_due()) break;
        }
        return there > 0;
    }

    // Asks the clock only when there is something to ask for.
    bool timer_due() const { return !timers_.empty() && timers_.next_deadline() <= self().owner().now_ns(); }

    inbox_type& inbox() const { return own_mail_->inbox; }
    Worker& self() { return static_cast<Worker&>(*this); }
    const Worker& self() const { return static_cast<const Worker&>(*this); }

    static constexpr std::size_t first_sweep = sync::checked ? 1 : 64;
    static constexpr unsigned main_id = 0;  // the main worker's, which never leaves while the hive runs

    mailbox gone_{no_worker, nullptr};
    mailbox* own_mail_ = nullptr;
    fifo_list<task_type> private_;
    timer_heap<task_type, sync> timers_;
    std::size_t sweep_at_ = first_sweep;
    typename sync::template atomic<mailbox*> mail_;  // other threads read it
};

}  // namespace apiary
