// process_events: delivers an event to a process, and decides which thread queues a process that the event has woken.
// It is the lowest layer of process_core, and has the members that all layers share.
//
// When to use it. As the base of process_messages; process_core.hpp has the order of the layers. When not: elsewhere.
//
// Threads.  Everything: any thread.
// Progress. cancel: lock-free. complete_yield, answer, kill: lock-free, except for the allocation of an event.
// Errors.   Without memory for the event a call throws std::bad_alloc, and nothing has changed. cancel and complete
//           need none.
//
// Invariants
//   I1  The thread that learns that it made a process ready (process_word I2) queues it: on its own worker, or in the
//       crew's pool.
//
// Checked by model_check/schedulers/processes, as part of the scheduler.
#pragma once

#include <atomic>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include <apiary/schedulers/processes/process_books.hpp>
#include <apiary/schedulers/processes/process_config.hpp>
#include <apiary/schedulers/processes/process_place.hpp>
#include <apiary/schedulers/processes/process_table.hpp>
#include <apiary/workers/crew.hpp>
#include <apiary/workers/front_end.hpp>
#include <apiary/workers/in_range.hpp>

namespace apiary {

template <class Sync>
class process_events : public front_end<Sync, process_parts<Sync>> {
    using base = front_end<Sync, process_parts<Sync>>;

public:
    using place = process_place<Sync>;
    using node = event_node<Sync>;
    using config_type = basic_process_config<Sync>;
    using crew_type = apiary::crew<process_core<Sync>, process_kind<Sync>>;
    using worker_type = typename crew_type::worker_type;

    // Completes a call: the process gets the first completion of its tag. A later one, or one for a tag that the
    // process never called by, is counted and dropped; but if the process has called by that tag again, it ends that
    // call. A completion may come before the calling step has returned.
    template <class T = payload>
    send_answer complete_yield(pid to, std::uint64_t tag, T&& data = {}, yield_error error = yield_error::none) {
        return complete_by(current(), to, tag, std::forward<T>(data), error);
    }
    // Answers a request. The first answer counts; later ones are counted as late and dropped. In a step use
    // output.answer.
    template <class T = payload>
    send_answer answer(reply_to what, T&& data = {}) {
        return complete_by(current(), what.to, what.tag, std::forward<T>(data), yield_error::none);
    }
    // Asks the process to end. However often this is called, the process is told once.
    send_answer cancel(pid to) {
        place* const p = find(to);
        return p == nullptr ? send_answer::no_such_process : queued(p->word.cancel(to.generation()), *p, current());
    }
    // Ends the process when a worker comes to it; it is not stepped any more.
    send_answer kill(pid to) { return tell(current(), {}, to, event_type::kill); }
    // A hint: the answer may be old when it is read.
    bool lives(pid to) const {
        const place* const p = find(to);
        return p != nullptr && p->word.looks_alive(to.generation());
    }

    // Makes the completion of a call in advance, for a thread that could later tell nobody that it has no memory. Pass
    // it to complete().
    node* make_completion(std::uint64_t tag) {
        return blocks::make(event_type::completed, tag, yield_error::none, payload());
    }
    // As complete_yield, but without an allocation. Destroys the completion if it is refused.
    send_answer complete(pid to, node* completion) noexcept { return complete_by(current(), to, completion); }

    // For the crew, its workers, and steps on them.
    crew_type& crew() { return crew_; }
    const crew_type& crew() const { return crew_; }
    void timer_fired(worker_type& w, pid id, node* completion) { (void)complete_by(&w, id, completion); }
    // The worker of this scheduler that runs on the calling thread, or null.
    worker_type* current() {
        worker_type* const w = Sync::template current<worker_type>();
        return w != nullptr && &w->owner() == this ? w : nullptr;
    }

protected:
    using blocks = event_blocks<Sync>;
    enum phase : std::uint8_t { running, cancelling, forcing };

    process_events(process_core<Sync>& core, const config_type& config)
        : base(config.on_exception),
          config_(config),
          books_(config_.on_dead_letter),
          crew_(core, valid("processes", config.parameters)) {
        phase_.store(running, std::memory_order_relaxed);
    }
    ~process_events() = default;

    process_core<Sync>& core() { return static_cast<process_core<Sync>&>(*this); }

    // Relaxed: a process that was cancelled sees the phase through its word, and a spawner through the fences of
    // process_lives S1.
    bool at_phase(phase p) const { return phase_.load(std::memory_order_relaxed) == p; }
    place* find(pid to) const { return to.node() == 0 ? table_.find(to.place()) : nullptr; }

    // I1. `here`: the worker that runs on this thread, or null.
    void queue(place& p, worker_type* here) {
        const bool posted = here != nullptr && !config_.wakes_into_pool ? here->post_local(&p) : crew_.post(&p);
        Sync::law(posted, "processes: the crew has ended, and a process lives");
    }
    // Queues it after the processes that are ready on this thread's worker.
    void queue_behind(place& p, worker_type& here) {
        if (config_.wakes_into_pool || !here.sources().put_behind(&p)) queue(p, nullptr);
    }
    send_answer queued(push_answer a, place& p, worker_type* here) {
        if (a == push_answer::woke) queue(p, here);
        if (a == push_answer::no_such_process) return send_answer::no_such_process;
        return a == push_answer::completing ? send_answer::completing : send_answer::accepted;
    }
    // If the push is refused, the node is destroyed.
    send_answer push(worker_type* here, place& p, std::uint64_t generation, node* n, bool calls) {
        const send_answer a = queued(p.word.push(generation, n, calls), p, here);
        if (a != send_answer::accepted) blocks::release(n);
        return a;
    }
    static send_answer refusal(place* p, pid to) {
        return p != nullptr && p->word.generation() == to.generation() ? send_answer::completing
                                                                       : send_answer::no_such_process;
    }
    // Makes an event that was promised when something was accepted, and so cannot be refused any more.
    static node* make_promised(event_type what, pid about, payload&& data = {}, std::uint32_t call = 0) noexcept {
        try {
            return blocks::make(what, about.value, yield_error::none, std::move(data), call);
        } catch (const std::bad_alloc&) {
            Sync::fail(
                "processes: no memory to tell a process what it was promised: an end, an answer, or that there is room");
        }
    }

    // Sends an event of the scheduler itself. A kill and the event `room` end a block; links and watches do not.
    send_answer tell(worker_type* here, pid from, pid to, event_type what, std::uint32_t which = 0) {
        place* const p = find(to);
        if (p == nullptr || !p->word.looks_alive(to.generation())) return refusal(p, to);
        node* const n = blocks::make(what, from.value, yield_error::none, payload(), which);
        return push(here, *p, to.generation(), n, what == event_type::kill || what == event_type::room);
    }
    template <class T>
    send_answer complete_by(worker_type* here, pid to, std::uint64_t tag, T&& data, yield_error error) {
        place* const p = find(to);
        if (p == nullptr || !p->word.looks_alive(to.generation())) {
            books_.late_completion();
            return refusal(p, to);
        }
        node* const n = blocks::make(event_type::completed, tag, error, std::forward<T>(data));
        const send_answer a = queued(p->word.push(to.generation(), n, true), *p, here);
        if (a == send_answer::accepted) return a;
        if constexpr (std::is_same_v<T, payload>) data = std::move(n->what.data);
        blocks::release(n);
        books_.late_completion();
        return a;
    }
    send_answer complete_by(worker_type* here, pid to, node* completion) noexcept {
        place* const p = find(to);
        send_answer a = send_answer::no_such_process;
        if (p != nullptr)
            a = push(here, *p, to.generation(), completion, true);
        else
            blocks::release(completion);
        if (a != send_answer::accepted) books_.late_completion();
        return a;
    }
    // Tells the sender of a request that `receiver` will not answer. The sender checks whether it still waits for that
    // receiver.
    void no_answer(worker_type* here, pid receiver, reply_to what) {
        place& p = *find(what.to);  // it asked, so it has a place
        send_answer a = send_answer::no_such_process;
        if (p.word.looks_alive(what.to.generation())) {
            node* const n = make_promised(event_type::unanswered, receiver, {}, what.tag);
            a = push(here, p, what.to.generation(), n, true);
        }
        if (a != send_answer::accepted) books_.late_completion();
    }
    void no_answers(worker_type* here, place& p, const event_list<Sync>& unread) {
        unread.each([&](const event& e) {
            if (e.type == event_type::request && p.pay(e.reply())) no_answer(here, p.id(), e.reply());
        });
    }

    typename Sync::template atomic<std::uint8_t> phase_;  // written by process_lives
    const config_type config_;
    process_books<Sync> books_;
    process_table<place, Sync, place::word_type::last_generation> table_;
    crew_type crew_;
};

}  // namespace apiary
