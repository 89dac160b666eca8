// process_messages: sends and requests, and mailboxes that have a bound. A layer of process_core.
//
// When to use it. As the base of process_looks; process_core.hpp has the order of the layers. When not: elsewhere.
//
// Mailboxes with a bound (mailbox_bound.hpp). A send takes room before it pushes. If there is no room and the policy
// suspends senders, the mailbox takes the message beyond its bound, at most one for each wait of a sender, and the
// message names the sender that waits for it, and the wait, since a cancel may end that sooner. When a step of the
// receiver gets the message, or it is buried, the receiver's worker lets that sender go. So there is no list of waiting
// senders, and a sender can be forgotten only together with its message (I1).
//
// Circles. A bounded process that waits for room in a full mailbox notes whose mailbox it is (rest::waits_for, guarded
// by circles_mutex_). The process that would close a circle follows these notes, finds itself, and is refused; the
// circle is reported. Only bounded processes can be in a circle.
//
// Threads.  send, send_from, bury: any. The rest: the worker that runs the process.
// Progress. A send is lock-free, except for the allocation of an event; a send to a full mailbox waits or takes a
//           mutex, as its policy says.
// Errors.   Without memory a send throws std::bad_alloc, and nothing has changed.
//
// Invariants
//   I1  Every accepted message is taken by a step or becomes a dead letter.
//
// Synchronisation: the circles are guarded by their mutex. A push publishes an event by process_word S1.
// Checked by model_check/schedulers/processes: processes_mail_check, processes_full_check.
#pragma once

#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include <apiary/schedulers/processes/process_events.hpp>
#include <apiary/workers/thread_latch.hpp>

namespace apiary {

// A thread that sleeps until its message is taken. The message points to it instead of naming a sender.
template <class Sync>
struct sender_outside {
    explicit sender_outside(pid s) : sender(s) {}
    thread_latch<Sync> taken;
    const pid sender;
};

template <class Sync>
class process_messages : public process_events<Sync> {
    using base = process_events<Sync>;

public:
    using typename base::node;
    using typename base::place;
    using typename base::worker_type;

    // If the send is refused, a payload that was passed still has its value. If the mailbox is full and its policy
    // suspends the sender, the calling thread blocks; a worker of this scheduler is refused instead, since its steps
    // send by their output.
    template <class T>
    send_answer send(pid to, T&& data) {
        return send_by(base::current(), nullptr, {}, to, std::forward<T>(data));
    }
    // As send, for a message that a relay brings in. `from` names the sender as this scheduler knows it: answers to it
    // go through this scheduler's relay. It is not validated.
    template <class T>
    send_answer send_from(pid from, pid to, T&& data) {
        return send_by(base::current(), nullptr, from, to, std::forward<T>(data));
    }
    // For a process that keeps events which it has taken out of its batches: its close passes those that are left to
    // this. Each is a dead letter, as if it had never been taken, and is in the report.
    void bury(pid self, event&& e) {
        event letter = std::move(e);
        if (!letter.is_mail() && letter.type != event_type::ended) return;
        books_.dead(self, dead_letter::ended, letter);
        if (place* const p = find(self)) note_undelivered(*p, 1);
    }

protected:
    using typename base::blocks;
    using base::base;
    using base::books_;
    using base::config_;
    using base::find;
    using base::queued;

    // `from`: the process whose step sends, or null.
    template <class T>
    send_answer send_by(worker_type* here, place* from, pid sender, pid to, T&& data,
                        event_type type = event_type::message, std::uint32_t call = 0) {
        if (to.node() != 0) [[unlikely]]
            return type == event_type::message ? relay(sender, to, std::forward<T>(data)) : send_answer::no_such_process;
        place* const p = base::table_.find(to.place());
        if (p == nullptr) return send_answer::no_such_process;
        // Make the event first: meanwhile other senders would take the place's line away again (impl/DECISIONS.md,
        // D239).
        node* const n = blocks::make(type, sender.value, yield_error::none, std::forward<T>(data), call);
        p->word.asks_to_push();
        send_answer a = send_answer::accepted;
        if (p->is_bounded()) [[unlikely]] {
            try {
                a = send_bounded(here, from, *p, to, n);
            } catch (...) {  // no memory for the sender's rest, or an exception of on_full_circle
                if constexpr (std::is_same_v<T, payload>) data = std::move(n->what.data);
                blocks::release(n);
                throw;
            }
        } else {
            const push_answer pushed = p->word.push(to.generation(), n, false);
            if (pushed == push_answer::accepted) return send_answer::accepted;
            a = queued(pushed, *p, here);
        }
        if (a == send_answer::accepted) return a;
        if constexpr (std::is_same_v<T, payload>) data = std::move(n->what.data);
        blocks::release(n);
        return a;
    }
    // Precondition: `from` has called for the tag.
    template <class T>
    send_answer request_by(worker_type& here, place& from, pid to, std::uint32_t tag, T&& data) {
        send_answer a = send_answer::no_such_process;
        try {
            from.more().asks.add({tag, to});
            a = send_by(&here, &from, from.id(), to, std::forward<T>(data), event_type::request, tag);
        } catch (...) {
            (void)from.call_ends(tag);
            throw;
        }
        if (a != send_answer::accepted) (void)from.call_ends(tag);
        return a;
    }

    // The message that suspended `p` has been taken, or `p` no longer waits for it.
    void resume(place& p) {
        p.suspended = false;
        if (!p.is_bounded()) return;
        const typename Sync::lock held(circles_mutex_);
        p.more().waits_for.write({});
    }
    // A cancel ends its wait. It comes once, but ends two waits if a step waits again and leaves it in its batch.
    void resume_by_cancel(place& p) {
        resume(p);
        ++p.more().wait;
    }
    // For a bounded process: accounts for the events that its step is about to get.
    void mail_taken(worker_type& here, place& p, event_list<Sync>& events) {
        std::uint64_t n = 0;
        bool waited_for = false;
        events.each([&](const event& e) {
            n += e.is_mail() ? 1U : 0U;
            waited_for |= e.held != held_sender::none;
        });
        if (n == 0) return;
        p.more().bound.give_back(p.generation, n);
        if (waited_for) events.each([&](event& e) { let_sender_go(&here, p.id(), e); });
    }
    // A process that waits here has a place, which stays.
    void let_sender_go(worker_type* here, pid receiver, event& e) {
        const held_sender held = std::exchange(e.held, held_sender::none);
        if (held == held_sender::thread) {
            auto* const outside = reinterpret_cast<sender_outside<Sync>*>(e.tag);
            e.tag = outside->sender.value;
            outside->taken.count_down();
        }
        if (held != held_sender::process) return;
        waits_no_more(e.from(), e.wait);
        place& p = *find(e.from());
        if (!p.word.looks_alive(e.from().generation())) return;
        node* const room = base::make_promised(event_type::room, receiver);
        room->what.wait = e.wait;
        (void)base::push(here, p, e.from().generation(), room, true);
    }
    // With drop_oldest: drops the oldest messages beyond the bound.
    void drop_oldest(worker_type& here, place& p, event_list<Sync>& events) {
        const mailbox_limit limit = p.more().bound.limit();
        if (limit.then != when_full::drop_oldest) return;
        std::uint64_t n = 0;
        events.each([&n](const event& e) { n += e.is_mail() ? 1U : 0U; });
        if (n <= limit.most) return;
        std::uint64_t left = n - limit.most;
        p.more().bound.give_back(p.generation, left);
        event_list<Sync> kept, dropped;
        while (node* e = events.pop()) {
            const bool drops = left != 0 && e->what.is_mail();
            left -= drops ? 1U : 0U;
            (drops ? dropped : kept).append(e);
        }
        events = std::move(kept);
        base::no_answers(&here, p, dropped);
        bury_of_a_step(p, dead_letter::dropped, std::move(dropped));
    }
    // The process goes on. Letters that are lost after a stop has begun are in the report.
    void bury_of_a_step(place& p, dead_letter why, event_list<Sync>&& events) {
        const std::uint64_t letters = books_.bury(p.id(), why, std::move(events), true);
        if (letters != 0 && !base::at_phase(base::running)) note_undelivered(p, letters);
    }

private:
    // If it refuses or throws, the node still belongs to the caller.
    send_answer send_bounded(worker_type* here, place* from, place& p, pid to, node* n) {
        auto& bound = p.more().bound;
        when_full then{};
        const bound_answer found = bound.take(to.generation(), then);
        if (found == bound_answer::gone) return send_answer::no_such_process;
        if (found == bound_answer::full) {
            // Nobody gives back the room of an ended process. Relaxed is enough: a load of the word that happens after
            // the change to its end reads that change or a later one.
            if (!p.word.looks_alive(to.generation())) return base::refusal(&p, to);
            Sync::reach("process_core.full");
            return then == when_full::suspend_sender ? send_to_full(here, from, p, to, n) : send_answer::full;
        }
        // With drop_oldest, a receiver that blocks is woken so that it can drop messages.
        const bool calls = then == when_full::drop_oldest && bound.count(to.generation()) > bound.limit().most;
        return queued(p.word.push(to.generation(), n, calls), p, here);  // a refusal: it has ended, and needs no room
    }
    // Pushes beyond the bound; the sender then waits.
    [[gnu::noinline]] send_answer send_to_full(worker_type* here, place* from, place& p, pid to, node* n) {
        const auto push_beyond = [&] {
            if (!p.more().bound.take_beyond(to.generation())) return send_answer::no_such_process;
            return queued(p.word.push(to.generation(), n, false), p, here);
        };
        if (from != nullptr) {
            if (!suspend(*from, to)) return send_answer::full;
            n->what.held = held_sender::process;
            n->what.wait = from->more().wait;
            const send_answer a = push_beyond();
            if (a != send_answer::accepted) resume(*from);
            return a;
        }
        if (here != nullptr) return send_answer::full;
        sender_outside<Sync> me(n->what.from());
        n->what.held = held_sender::thread;
        n->what.tag = reinterpret_cast<std::uintptr_t>(&me);
        const send_answer a = push_beyond();
        if (a == send_answer::accepted) me.taken.wait();
        return a;
    }
    // False: an earlier send of this step has suspended the process already, or its wait would close a circle.
    bool suspend(place& from, pid by) {
        if (from.suspended) return false;
        if (from.is_bounded()) {
            std::vector<pid> circle;
            {
                const typename Sync::lock held(circles_mutex_);
                // A process on this way cannot end and leave its place to another meanwhile: it would first have to
                // note, under this mutex, that it no longer waits.
                for (pid at = by; at && at != from.id();) {
                    circle.push_back(at);
                    place& p = *find(at);
                    const bool there = p.word.looks_alive(at.generation()) && p.is_bounded();
                    at = there ? p.more().waits_for.read().in : pid{};
                    if (at == from.id()) circle.push_back(at);
                }
                if (by == from.id()) circle.push_back(by);
                if (circle.back() != from.id()) circle.clear();
                if (circle.empty()) from.more().waits_for.write({by, from.more().wait});
            }
            if (!circle.empty()) {
                books_.full_circle();
                if (config_.on_full_circle) config_.on_full_circle(circle);
                return false;
            }
        }
        from.more().suspended_by = by;
        from.suspended = true;
        return true;
    }
    // Called before the sender's worker comes to the sender, so that a message of the receiver to it closes no circle
    // meanwhile.
    void waits_no_more(pid sender, std::uint8_t number) {
        place& p = *find(sender);
        const typename Sync::lock held(circles_mutex_);
        // With the mutex held, a sender that lives and waits cannot be a later process of that place.
        if (!p.word.looks_alive(sender.generation()) || !p.is_bounded()) return;
        if (p.more().waits_for.read().number == number) p.more().waits_for.write({});
    }
    // Without memory for the process's own entry, only the sum in the report counts them.
    void note_undelivered(place& p, std::uint64_t letters) noexcept {
        try {
            p.more().undelivered += letters;
        } catch (const std::bad_alloc&) {
            if (!base::at_phase(base::running)) books_.undelivered(letters);
        }
    }
    template <class T>
    send_answer relay(pid from, pid to, T&& data) {
        if (!config_.relay) return send_answer::no_such_process;
        if constexpr (std::is_same_v<std::remove_cvref_t<T>, payload>) {
            return config_.relay(from, to, data);
        } else {
            payload wrapped(std::forward<T>(data));
            return config_.relay(from, to, wrapped);
        }
    }

    typename Sync::mutex circles_mutex_;  // guards rest::waits_for of all places
};

}  // namespace apiary
