// process_core: the processes of one scheduler and the crew that runs them: spawn, send, completions, cancels, the end.
//
// When to use it. Through processes.hpp, which only adds threads and the wait for the end; or alone, where a check or a test
// brings its own threads.
//
// Threads.  Everything: any thread, after the constructor has returned; a thread that runs a worker has said so by
//           Sync::set_current. Handlers, listener, relay: called on any thread that ends, steps or sends to a process.
// Progress. send, complete_yield, cancel, kill: lock-free, but for the allocation of an event. spawn: init's, and now and then a
//           mutex. request_stop: a walk over all places.
// Errors.   Without memory for it a spawn says `failed`, and the rest throws std::bad_alloc; nothing has changed then. What needs
//           none, and what cannot be refused any more: README.md, "Bad input".
//
// Invariants
//   I1  The thread that is told that a process is ready (process_word I2) queues it: on its own worker, next or after
//       the ready ones, or in the crew's pool.
//   I2  What lives is counted by two_doors from before the place is open until the process is destroyed: so the crew that
//       a wake finds is there. So is what was offloaded, until it is completed.
//   I3  Every message that was accepted is taken by a step, or is a dead letter.
//
// Synchronisation
//   S1  spawn: open the place, light fence, load phase_; request_stop: store phase_, heavy fence, look at every place.
//       Store buffering: a process that the walk misses is cancelled by its spawner.
//   front_end S1: what any process did is seen by the thread that waited for the end.
//   S2  The stop does its last with the mutex held (front_end I2), and a thread that waits for the end takes it after that. So the
//       thread that ended the crew touches nothing any more, and all of it may go.
//
// Checked by model_check/schedulers/processes. Stressed by stress/schedulers/processes. The protocol: README.md.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <apiary/queues/linked_list.hpp>
#include <apiary/schedulers/processes/process_books.hpp>
#include <apiary/schedulers/processes/process_config.hpp>
#include <apiary/schedulers/processes/process_place.hpp>
#include <apiary/schedulers/processes/process_table.hpp>
#include <apiary/schedulers/processes/process_view.hpp>
#include <apiary/workers/crew.hpp>
#include <apiary/workers/front_end.hpp>
#include <apiary/workers/two_doors.hpp>

namespace apiary {

template <class Sync>
class process_core : public front_end<Sync, process_parts<Sync>> {
    using base = front_end<Sync, process_parts<Sync>>;

public:
    using place = process_place<Sync>;
    using node = event_node<Sync>;
    using blocks = event_blocks<Sync>;
    using parker = typename process_parts<Sync>::parker;
    using process_type = basic_process<Sync>;
    using config_type = basic_process_config<Sync>;
    using crew_type = apiary::crew<process_core, process_kind<Sync>>;
    using worker_type = typename crew_type::worker_type;
    static constexpr std::uint32_t sleep_command = UINT32_MAX;

    // Precondition: 1 <= workers <= crew_type::max_workers.
    process_core(unsigned workers, const config_type& config)
        : base(config.on_exception), config_(config), books_(config_.on_dead_letter), crew_(*this, config.parameters) {
        phase_.store(running, std::memory_order_relaxed);
        for (unsigned i = 0; i != workers; ++i) crew_.table().attach(crew_);
    }
    // Precondition: the end has come, or no process lives; no worker runs.
    ~process_core() {
        if (!over()) end_crew();
    }

    // Runs init on the calling thread. When it returns true the process exists and its first step is queued.
    spawn_answer spawn(std::unique_ptr<process_type> body, std::string_view method = {}, payload input = {}) {
        return spawn_by(current(), std::move(body), method, std::move(input), {});
    }
    template <class Process, class... Args>
    spawn_answer spawn_new(std::string_view method, payload input, Args&&... args) {
        return spawn(std::make_unique<Process>(std::forward<Args>(args)...), method, std::move(input));
    }

    // Refused, a payload that is given is still there. A full mailbox whose policy it is to suspend the sender blocks the thread; not
    // one of this scheduler's workers, which is refused: there it is the step's output that sends.
    template <class T>
    send_answer send(pid to, T&& data) {
        return send_by(current(), nullptr, {}, to, std::forward<T>(data));
    }
    // The same, of what a relay brings in: `from` is the sender as it is named here, whom an answer reaches by the relay of this
    // scheduler. Not checked.
    template <class T>
    send_answer send_from(pid from, pid to, T&& data) {
        return send_by(current(), nullptr, from, to, std::forward<T>(data));
    }
    // Tells the process the first completion of a tag. Later ones, and those for a tag that it never called for, are
    // counted and dropped, unless the process has called by that tag again: then they end that call. A completion may
    // come before the step that called has returned.
    template <class T = payload>
    send_answer complete_yield(pid to, std::uint64_t tag, T&& data = {}, yield_error error = yield_error::none) {
        return complete_by(current(), to, tag, std::forward<T>(data), error);
    }
    // The process is told to end; once, however often it is asked.
    send_answer cancel(pid to) {
        place* const p = find(to);
        return p == nullptr ? send_answer::no_such_process : queued(p->word.cancel(to.generation()), *p, current());
    }
    // Answers a request. Only the first answer counts; later ones are counted as late and dropped. A step uses
    // output.answer.
    template <class T = payload>
    send_answer answer(reply_to what, T&& data = {}) {
        return complete_by(current(), what.to, what.tag, std::forward<T>(data), yield_error::none);
    }
    // For a process that keeps events which it has taken out of its batches: its close gives the rest back here. Each
    // is a dead letter, as if it had not been taken, and is in the report.
    void bury(pid self, event&& e);
    // It ends when its worker comes to it, and is not stepped any more.
    send_answer kill(pid to) { return tell(current(), {}, to, event_type::kill); }
    // What it is doing. Its state at once; the rest when a worker comes to it, waited for until the deadline (process_view.hpp).
    process_view look(pid which, std::int64_t wait_ns = 10'000'000);
    // The steps that run now, and still do when so long has passed. The caller waits; not in a step.
    std::vector<stalled_step> stalled(std::int64_t ns);
    // A hint.
    bool lives(pid to) const {
        const place* const p = find(to);
        return p != nullptr && p->word.looks_alive(to.generation());
    }

    // Any thread, also in a step; returns at once. No more spawns from outside; every process is told to end. Not
    // beside destruction: all may have ended before it returns.
    void request_stop() {
        raise_phase(cancelling);
        close_the_door();
        wake_all_processes();
    }
    // For a call that a process has begun and another thread completes: the end waits until the latter lets go.
    // Precondition of hold: a step or a handler runs, or a hold is kept.
    void hold(held_call<Sync>& c) {
        doors_.enter_inside();
        books_.held(c);
    }
    void let_go(held_call<Sync>& c) {
        books_.let_go(c);
        leave();
    }
    // The memory for the completion of a call, for a thread that could not tell that it had none for it then. It goes by complete.
    node* make_completion(std::uint64_t tag) {
        return blocks::make(event_type::completed, tag, yield_error::none, payload());
    }
    // As complete_yield, but without an allocation. A completion that is refused is destroyed.
    send_answer complete(pid to, node* completion) noexcept { return complete_by(current(), to, completion); }
    // The same without telling anybody.
    void close_the_door() {
        if (doors_.close()) end_crew();
    }
    // After request_stop: from now on a process that comes to a worker ends without a step, and spawns nothing more.
    void force() {
        raise_phase(forcing);
        wake_all_processes();
    }
    bool over() const { return base::stopping(); }
    using base::now_ns;
    // Until it is over, or the deadline. Needs no memory.
    bool wait_until(std::int64_t deadline_ns) {
        typename Sync::template scoped<waiting> me;
        bool listed = false;
        {
            const typename Sync::lock held(base::mutex());
            listed = !over();
            if (listed) waiting_.all.append(&*me);
        }
        while (!over() && (deadline_ns == Sync::forever || now_ns() < deadline_ns)) {
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
        const bool ended = over();  // before the books: then they are complete
        process_stop_report r = books_.report();
        r.over = ended;
        if (r.over) return r;
        table_.each([&r](place& p) {
            const process_state s = p.word.state();
            if (s == process_state::running || s == process_state::called)
                r.in_a_step.push_back(pid::of(p.index, p.word.generation()));
        });
        return r;
    }

    process_counters counters() const {
        process_counters c = books_.counters();
        c.living = doors_.living();
        const worker_counters all = crew_.counters();
        c.runs = all.run;
        c.stolen = all.stolen;
        c.parked = all.parked;
        c.woken = all.woken;
        return c;
    }

    // For the crew, its workers, and steps on them.
    crew_type& crew() { return crew_; }
    const crew_type& crew() const { return crew_; }
    void timer_fired(worker_type& w, pid id, node* completion) { (void)complete_by(&w, id, completion); }
    // The worker whose thread this is, if it is one of this scheduler.
    worker_type* current() {
        worker_type* const w = Sync::template current<worker_type>();
        return w != nullptr && &w->owner() == this ? w : nullptr;
    }

    static bool run_it(job<Sync>& self, job_end how, any_worker* by) {
        Sync::law(how == job_end::run, "processes: the crew has ended, and a process lives");
        auto& w = *static_cast<worker_type*>(by);
        w.owner().run(static_cast<place&>(self), w);
        return true;
    }

private:
    friend basic_step_output<Sync>;
    enum phase : std::uint8_t { running, cancelling, forcing };
    // Whether what a process leaves unread was in the batch of a step.
    enum class unread_by : std::uint8_t { a_step, none };
    // A thread that waits for the end.
    struct waiting {
        parker told;
        typename Sync::template cell<waiting*> before{nullptr}, behind{nullptr};
    };
    // All of them, by the mutex. The stop wakes them as it wakes the workers.
    struct waiting_threads {
        linked_list<waiting> all;
        static void close() {}
        void wake_all() {
            for (waiting* w = all.front(); w != nullptr; w = w->behind.read()) w->told.unpark();
        }
    };

    place* find(pid to) const { return to.node() == 0 ? table_.find(to.place()) : nullptr; }

    // I1. `here`: the worker whose thread this is, or null.
    void queue(place& p, worker_type* here) {
        const bool posted = here != nullptr && !config_.wakes_into_pool ? here->post_local(&p) : crew_.post(&p);
        Sync::law(posted, "processes: the crew has ended, and a process lives");
    }
    // After the ready ones of that worker, which is this thread's.
    void queue_behind(place& p, worker_type& here) {
        if (config_.wakes_into_pool || !here.sources().put_behind(&p)) queue(p, nullptr);
    }
    send_answer queued(push_answer a, place& p, worker_type* here) {
        if (a == push_answer::woke) queue(p, here);
        if (a == push_answer::no_such_process) return send_answer::no_such_process;
        return a == push_answer::completing ? send_answer::completing : send_answer::accepted;
    }
    // Of an event that was promised when something was accepted: it cannot be refused any more.
    static node* make_promised(event_type what, pid about, payload&& data = {}) noexcept {
        try {
            return blocks::make(what, about.value, yield_error::none, std::move(data));
        } catch (const std::bad_alloc&) {
            Sync::fail(
                "processes: no memory to tell a process what it was promised: an end, an answer, or that there is room");
        }
    }
    // process_messages.hpp
    send_answer push(worker_type* here, place& p, std::uint64_t generation, node* n, bool calls);
    template <class T>
    send_answer send_by(worker_type* here, place* from, pid sender, pid to, T&& data,
                        event_type type = event_type::message, std::uint32_t call = 0);
    send_answer send_bounded(worker_type* here, place* from, place& p, pid to, node* n);
    send_answer send_to_full(worker_type* here, place* from, place& p, pid to, node* n);
    static send_answer refusal(place* p, pid to) {
        return p != nullptr && p->word.generation() == to.generation() ? send_answer::completing
                                                                       : send_answer::no_such_process;
    }
    template <class T>
    send_answer relay(pid from, pid to, T&& data);
    template <class T>
    send_answer request_by(worker_type& here, place& from, pid to, std::uint32_t tag, T&& data);
    send_answer tell(worker_type* here, pid from, pid to, event_type what, std::uint32_t which = 0);
    template <class T>
    send_answer complete_by(worker_type* here, pid to, std::uint64_t tag, T&& data, yield_error error);
    send_answer complete_by(worker_type* here, pid to, node* completion) noexcept;
    bool suspend(place& from, pid by);
    void resume(place& p);
    void mail_taken(worker_type& here, place& p, event_list<Sync>& events);
    void drop_oldest(worker_type& here, place& p, event_list<Sync>& events);
    void bury_of_a_step(place& p, dead_letter why, event_list<Sync>&& events);
    void note_undelivered(place& p, std::uint64_t letters) noexcept;
    void let_sender_go(worker_type* here, pid receiver, event& e);
    void waits_no_more(pid sender, pid receiver);
    void no_answer(worker_type* here, pid receiver, reply_to what);
    void no_answers(worker_type* here, place& p, const event_list<Sync>& unread);

    // process_runs.hpp
    void run(place& p, worker_type& w) noexcept;
    void step(place& p, worker_type& w, event_list<Sync>&& events, cancel_comes cancel);
    void settle(place& p, worker_type& w, bool lets_others_run = false);
    std::uint64_t close_mailbox(place& p, worker_type* here, process_end how, event_list<Sync>&& unsorted = {}) noexcept;
    void tell_end(worker_type* here, pid to, node* n) noexcept;
    [[nodiscard]] bool keep(place& p, worker_type& w, event_list<Sync>&& events);
    bool dispatch(place& p, worker_type& w);
    void carry_out(worker_type& w, basic_command<Sync>&& c);
    void threw(place& p, worker_type& w, std::exception_ptr thrown, event_list<Sync>&& unread, unread_by by,
               event_list<Sync>&& unsorted = {}) noexcept;
    void end(place& p, worker_type& w, process_end how, event_list<Sync>&& unread, unread_by by,
             event_list<Sync>&& unsorted = {}) noexcept;
    void show(place& p, event_list<Sync>& looks, const event_list<Sync>& events) noexcept;
    static void show(place& p, process_view& v, const event_list<Sync>& events);

    spawn_answer spawn_by(worker_type* here, std::unique_ptr<process_type> body, std::string_view method,
                          payload&& input, pid parent, bool watched = false) {
        if (body == nullptr) return {{}, spawn_error::no_process};
        if (here != nullptr)
            doors_.enter_inside();  // what runs there lives
        else if (!doors_.enter())
            return {{}, spawn_error::stopping};
        place* p = nullptr;
        spawn_answer told;
        try {
            if (!at_phase(forcing)) p = table_.acquire(spare(here));
        } catch (const std::bad_alloc&) {
            told.thrown = std::current_exception();
        }
        if (p == nullptr) {
            told.error = spawn_error::no_place;
            if (at_phase(forcing)) told.error = spawn_error::stopping;
            if (told.thrown != nullptr) told.error = spawn_error::failed;
            leave();
            return told;
        }
        p->body = std::move(body);
        p->word.open(p->generation);
        told.id = p->id();
        try {
            // Until it is queued its place is this thread's alone. A later watch may find that the child has ended.
            if (watched) p->more().watchers.push_back(parent);
            basic_process_context<Sync> context{*this, told.id, parent};
            const init_answer said = p->body->init(context, method, std::move(input));
            if (said == init_answer::unknown_method) told.error = spawn_error::unknown_method;
            if (said == init_answer::failed) told.error = spawn_error::failed;
            if (told && context.mailbox.most != 0) p->set_bound(context.mailbox);
        } catch (...) {
            told.error = spawn_error::failed;
            told.thrown = std::current_exception();
        }
        if (!told) {
            if (p->has_more()) p->more().watchers.clear();  // the answer tells it
            p->body.reset();
            (void)close_mailbox(*p, here, process_end::refused);
            p->empty();
            table_.release(p, spare(here));
            leave();
            told.id = {};
            return told;
        }
        books_.spawned();
        Sync::fence_light();  // S1
        if (!at_phase(running)) [[unlikely]]
            (void)p->word.cancel(p->generation);  // it is ready: nobody else queues it
        queue(*p, here);
        return told;
    }
    static fifo_list<job<Sync>>* spare(worker_type* here) {
        return here == nullptr ? nullptr : &here->sources().spare_places();
    }

    void raise_phase(phase to) {
        std::uint8_t seen = phase_.load(std::memory_order_relaxed);
        while (seen < to &&
               !phase_.compare_exchange_weak(seen, to, std::memory_order_relaxed, std::memory_order_relaxed)) {
        }
    }
    // Relaxed: a process that was cancelled has it from its word, a spawner by the fences of S1.
    bool at_phase(phase p) const { return phase_.load(std::memory_order_relaxed) == p; }
    void wake_all_processes() {
        Sync::fence_heavy();  // S1
        worker_type* const here = current();
        table_.each([this, here](place& p) { (void)queued(p.word.cancel_any(), p, here); });
    }
    void leave() {
        if (doors_.leave()) end_crew();
    }
    // Nothing lives, and nothing ever will. The workers end, and the threads that wait for it.
    void end_crew() { base::stop_crews(stop_mode::drain, crew_, waiting_); }

    const config_type config_;
    typename Sync::template atomic<std::uint8_t> phase_;
    typename Sync::mutex circles_mutex_;  // of rest::waits_for, of all places
    process_books<Sync> books_;
    waiting_threads waiting_;             // for the end
    two_doors<Sync> doors_;
    process_table<place, Sync, place::word_type::last_generation> table_;
    crew_type crew_;
};

}  // namespace apiary

#include <apiary/schedulers/processes/process_messages.hpp>
#include <apiary/schedulers/processes/process_output.hpp>
#include <apiary/schedulers/processes/process_runs.hpp>
