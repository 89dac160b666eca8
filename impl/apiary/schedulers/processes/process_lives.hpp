// process_lives: how a process begins and ends, and the stop of them all. A layer of process_core.
//
// When to use it. As the base of process_runs; process_core.hpp has the order of the layers. When not: elsewhere.
//
// Threads.  spawn, request_stop, force, wait_until, report: any. hold: a step, a handler, or a thread that has a
//           hold. end: the worker that has the process.
// Progress. spawn: that of init, and sometimes a mutex. request_stop, force: a walk over all places. end: that of the
//           process's close.
// Errors.   Without memory a spawn returns `failed`, and report throws std::bad_alloc. All other calls need none.
//
// Invariants
//   I1  two_doors counts a process from before its place is opened until it is destroyed. So while an event can wake a
//       process, its crew lives. It also counts an offloaded call until that is completed.
//
// Synchronisation
//   S1  spawn: open the place, light fence, load phase_; request_stop: store phase_, heavy fence, look at every place.
//       Store buffering: if the walk misses the process, its spawner sees the phase and cancels it.
//   two_doors S1, then front_end S1: a thread that has waited for the end sees everything that any process did.
//   S2  The last step of the stop holds the mutex (front_end I2), and a thread that waits for the end takes the mutex
//       after that. So when the wait returns, the thread that ended the crew touches nothing any more, and the
//       scheduler may be destroyed.
//
// Checked by model_check/schedulers/processes: processes_check, processes_gone_check.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <string_view>
#include <utility>

#include <apiary/queues/linked_list.hpp>
#include <apiary/schedulers/processes/process_looks.hpp>
#include <apiary/workers/two_doors.hpp>

namespace apiary {

template <class Sync>
class process_lives : public process_looks<Sync> {
    using base = process_looks<Sync>;

public:
    using process_type = basic_process<Sync>;
    using parker = typename process_parts<Sync>::parker;
    using typename base::node;
    using typename base::place;
    using typename base::worker_type;

    // Runs init on the calling thread. If the answer is true, the process exists and its first step is queued.
    spawn_answer spawn(std::unique_ptr<process_type> body, std::string_view method = {}, payload input = {}) {
        return spawn_by(base::current(), std::move(body), method, std::move(input), {});
    }
    template <class Process, class... Args>
    spawn_answer spawn_new(std::string_view method, payload input, Args&&... args) {
        return spawn(std::make_unique<Process>(std::forward<Args>(args)...), method, std::move(input));
    }

    // Any thread, also in a step; returns at once. Refuses all later spawns from outside, and asks every process to
    // end. Precondition: destruction has not begun. All processes may have ended before this returns.
    void request_stop() {
        raise_phase(base::cancelling);
        close_the_door();
        wake_all_processes();
    }
    // Refuses all later spawns from outside. No process is told.
    void close_the_door() {
        if (doors_.close(all_shares())) end_crew();
    }
    // Call it after request_stop. Every process then ends without a further step when a worker comes to it, and spawns
    // nothing more.
    void force() {
        raise_phase(base::forcing);
        wake_all_processes();
    }
    bool over() const { return base::stopping(); }
    // Waits until all has ended, or until the deadline. True if all has ended. Needs no memory.
    bool wait_until(std::int64_t deadline_ns) {
        typename Sync::template scoped<waiting> me;
        bool listed = false;
        {
            const typename Sync::lock held(base::mutex());
            listed = !over();
            if (listed) waiting_.all.append(&*me);
        }
        while (!over() && (deadline_ns == Sync::forever || base::now_ns() < deadline_ns)) {
            if (deadline_ns == Sync::forever)
                me->told.park();
            else
                (void)me->told.park_until(deadline_ns);
        }
        const typename Sync::lock held(base::mutex());  // S2
        if (listed) waiting_.all.remove(&*me);
        return over();
    }
    process_stop_report report() {
        const bool ended = over();  // read before the books: if true, these are complete
        process_stop_report r = books_.report();
        r.over = ended;
        if (r.over) return r;
        base::table_.each([&r](place& p) {
            const process_state s = p.word.state();
            if (s == process_state::running || s == process_state::called)
                r.in_a_step.push_back(pid::of(p.index, p.word.generation()));
        });
        return r;
    }

    // For a call of a process that another thread completes: the end of the scheduler waits until that thread lets go.
    // Precondition of hold: a step or a handler runs, or another hold is kept.
    void hold(held_call<Sync>& c) {
        doors_.enter_inside();
        books_.held(c);
    }
    void let_go(held_call<Sync>& c) {
        books_.let_go(c);
        leave(nullptr);
    }

protected:
    using typename base::blocks;
    // Whether the unread events of a process were in the batch of a step.
    enum class unread_by : std::uint8_t { a_step, none };
    using base::at_phase;
    using base::base;
    using base::books_;
    using base::let_sender_go;
    using base::no_answer;

    spawn_answer spawn_by(worker_type* here, std::unique_ptr<process_type> body, std::string_view method,
                          payload&& input, pid parent, bool watched = false) {
        if (body == nullptr) return {{}, spawn_error::no_process};
        if (here != nullptr)
            doors_.enter_inside(here->sources().living());  // its step runs, so it counts as living work
        else if (!doors_.enter())
            return {{}, spawn_error::stopping};
        place* p = nullptr;
        spawn_answer told;
        try {
            if (!at_phase(base::forcing)) p = base::table_.acquire(spare(here));
        } catch (const std::bad_alloc&) {
            told.thrown = std::current_exception();
        }
        if (p == nullptr) {
            told.error = spawn_error::no_place;
            if (at_phase(base::forcing)) told.error = spawn_error::stopping;
            if (told.thrown != nullptr) told.error = spawn_error::failed;
            leave(here);
            return told;
        }
        p->body = std::move(body);
        p->word.open(p->generation);
        told.id = p->id();
        init_answer said = init_answer::failed;
        try {
            // Until the process is queued, its place belongs to this thread alone. A later watch could find that the
            // child has ended.
            if (watched) p->more().watchers.push_back(parent);
            basic_process_context<Sync> context{base::core(), told.id, parent};
            said = p->body->init(context, method, std::move(input));
            if (said == init_answer::unknown_method) told.error = spawn_error::unknown_method;
            if (said == init_answer::failed) told.error = spawn_error::failed;
            if (told && context.mailbox.most != 0) p->set_bound(context.mailbox);
        } catch (...) {
            told.error = spawn_error::failed;
            told.thrown = std::current_exception();
        }
        if (!told) {
            if (p->has_more()) p->more().watchers.clear();  // the spawn's answer tells the parent
            if (said == init_answer::ready) p->body->close();  // there was no memory for its bound
            p->body.reset();
            (void)close_mailbox(*p, here, process_end::refused);
            p->empty();
            base::table_.release(p, spare(here));
            leave(here);
            told.id = {};
            return told;
        }
        books_.spawned();
        Sync::fence_light();  // S1
        if (!at_phase(base::running)) [[unlikely]]
            (void)p->word.cancel(p->generation);  // never woke: it is ready, so this thread queues it
        base::queue(*p, here);
        return told;
    }

    void end(place& p, worker_type& w, process_end how, event_list<Sync>&& unread, unread_by by,
             event_list<Sync>&& unsorted = {}) noexcept {
        const pid id = p.id();
        std::uint64_t lost = 0;
        if (p.suspended) base::resume(p);
        w.sources().in_step(id);  // so that a close that does not return is named, too
        p.body->close();
        p.body.reset();
        w.sources().in_step({});
        if (p.has_more()) lost += p.more().undelivered;
        const auto bury = [&](event_list<Sync>&& events, bool of_a_step) {
            // A handler of dead letters that sends again until there is room ends. A step's have given theirs back.
            if (p.is_bounded() && !of_a_step) base::mail_taken(w, p, events);
            lost += books_.bury(id, dead_letter::ended, std::move(events), of_a_step);
        };
        if (p.has_more()) bury(std::move(p.more().kept), false);
        bury(std::move(unread), by == unread_by::a_step);
        lost += close_mailbox(p, &w, how, std::move(unsorted));
        p.empty();
        if (!at_phase(base::running)) books_.ended(id, how, lost);
        base::table_.release(&p, spare(&w));
        leave(&w);
    }

    // No process lives, and none can be spawned any more. Ends the workers, and the waits of threads for the end.
    void end_crew() { base::stop_crews(stop_mode::drain, base::crew_, waiting_); }

    // The number of living processes: a hint.
    std::uint64_t living() const { return doors_.living(all_shares()); }

private:
    // A thread that waits for the end.
    struct waiting {
        parker told;
        typename Sync::template cell<waiting*> before{nullptr}, behind{nullptr};
    };
    // All waiting threads; the mutex guards the list. The stop wakes them together with the workers.
    struct waiting_threads {
        linked_list<waiting> all;
        static void close() {}
        void wake_all() {
            for (waiting* w = all.front(); w != nullptr; w = w->behind.read()) w->told.unpark();
        }
    };

    auto all_shares() const {
        return [this](auto f) {
            for (unsigned i = 0; i != base::crew_.table().size(); ++i) f(base::crew_.table()[i]->sources().living());
        };
    }
    static fifo_list<job<Sync>>* spare(worker_type* here) {
        return here == nullptr ? nullptr : &here->sources().spare_places();
    }
    void leave(worker_type* here) {
        if (here != nullptr ? doors_.leave(here->sources().living()) : doors_.leave()) end_crew();
    }
    // Closes the mailbox, buries the messages in it, and reports the end to processes that wait for it, for an answer
    // or for room. It runs after close and destructor, so that a process that hears of the end finds released what this
    // one held. Returns the number of messages that were left.
    std::uint64_t close_mailbox(place& p, worker_type* here, process_end how,
                                event_list<Sync>&& unsorted = {}) noexcept {
        const pid id = p.id();
        const auto end_for = [&](node* n, event_type what) -> node* {
            n->what = event{what, yield_error::none, held_sender::none, 0, 0, id.value, payload(how)};
            return n;
        };
        event_list<Sync> left, looks;
        unsorted.append(event_list<Sync>(p.word.finish(p.generation).newest, [](event_type) {}));
        // Requests and watches are answered at once. The answer to a watch or a link reuses that event's node.
        while (node* n = unsorted.pop()) {
            const event_type type = n->what.type;
            const pid by{n->what.tag};
            if (type == event_type::request) no_answer(here, id, n->what.reply());
            if (type == event_type::completed || type == event_type::unanswered) books_.late_completion();
            p.take_back(n->what);
            if (type == event_type::watch)
                tell_end(here, by, end_for(n, event_type::ended));
            else if (type == event_type::link)
                tell_end(here, by, end_for(n, event_type::linked_end));
            else if (type == event_type::look)
                looks.append(n);
            else if (n->what.is_mail())
                left.append(n);
            else
                blocks::release(n);
        }
        base::show(p, looks, left);
        if (p.is_bounded()) left.each([&](event& e) { let_sender_go(here, id, e); });
        if (p.has_more()) {
            const auto tell = [&](pid whom, event_type what) {
                if (base::lives(whom)) tell_end(here, whom, base::make_promised(what, id, payload(how)));
            };
            for (const pid watcher : p.more().watchers) tell(watcher, event_type::ended);
            p.more().links.each([&](const auto& l) { tell(l.whom, event_type::linked_end); });
            p.more().owed.each([&](reply_to r) { no_answer(here, id, r); });
        }
        return books_.bury(id, dead_letter::ended, std::move(left), false);
    }
    // A linked_end also ends a process that blocks.
    void tell_end(worker_type* here, pid to, node* n) noexcept {
        place& p = *base::find(to);  // it asked, so it has a place
        (void)base::push(here, p, to.generation(), n, n->what.type == event_type::linked_end);
    }

    void raise_phase(typename base::phase to) {
        std::uint8_t seen = base::phase_.load(std::memory_order_relaxed);
        while (seen < to &&
               !base::phase_.compare_exchange_weak(seen, to, std::memory_order_relaxed, std::memory_order_relaxed)) {
        }
    }
    void wake_all_processes() {
        Sync::fence_heavy();  // S1
        worker_type* const here = base::current();
        base::table_.each([this, here](place& p) { (void)base::queued(p.word.cancel_any(), p, here); });
    }
    two_doors<Sync> doors_;
    waiting_threads waiting_;  // threads that wait for the end
};

}  // namespace apiary
