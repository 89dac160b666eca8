// process_messages: how events reach processes: sends, requests, completions, and bounded mailboxes. Included by process_core.hpp,
// behind it; nobody else includes it.
//
// A mailbox with a bound (mailbox_bound.hpp). A send takes room before it pushes. Where there is none and the policy is to suspend the
// sender, the message is taken in beyond the bound, one for each sender, and names the sender that waits for it. When the receiver
// takes it to a step, or buries it, its worker lets that sender go. So nobody keeps a list of those that wait, and none can be
// forgotten that is not a message forgotten (I3 of process_core).
//
// A circle: a process that waits for a full mailbox says for whose (rest::waits_for, by circles_mutex_). The last one of a
// circle finds itself on that way, is refused, and the circle is named. Only bounded processes can be in one.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include <apiary/schedulers/processes/process_core.hpp>
#include <apiary/workers/thread_latch.hpp>

namespace apiary {

template <class Sync>
send_answer process_core<Sync>::push(worker_type* here, place& p, std::uint64_t generation, node* n, bool calls) {
    const send_answer a = queued(p.word.push(generation, n, calls), p, here);
    if (a != send_answer::accepted) blocks::release(n);
    return a;
}

template <class Sync>
template <class T>
send_answer process_core<Sync>::send_by(worker_type* here, place* from, pid sender, pid to, T&& data, event_type type,
                                        std::uint32_t call) {
    if (to.node() != 0) [[unlikely]]
        return type == event_type::message ? relay(sender, to, std::forward<T>(data)) : send_answer::no_such_process;
    place* const p = table_.find(to.place());
    if (p == nullptr || !p->word.looks_alive(to.generation())) return refusal(p, to);
    node* const n = blocks::make(type, sender.value, yield_error::none, std::forward<T>(data));
    n->what.call = call;
    send_answer a = send_answer::accepted;
    if (p->is_bounded()) [[unlikely]] {
        try {
            a = send_bounded(here, from, *p, to, n);
        } catch (...) {  // no memory for its place's rest; or the listener of full circles
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

// Refused, and when it throws, the node is the caller's.
template <class Sync>
send_answer process_core<Sync>::send_bounded(worker_type* here, place* from, place& p, pid to, node* n) {
    auto& bound = p.more().bound;
    when_full then{};
    const bound_answer found = bound.take(to.generation(), then);
    if (found == bound_answer::gone) return send_answer::no_such_process;
    if (found == bound_answer::full) {
        Sync::reach("process_core.full");
        return then == when_full::suspend_sender ? send_to_full(here, from, p, to, n) : send_answer::full;
    }
    // One that drops its oldest is called out of a block to do so.
    const bool calls = then == when_full::drop_oldest && bound.count(to.generation()) > bound.limit().most;
    const send_answer a = queued(p.word.push(to.generation(), n, calls), p, here);
    if (a != send_answer::accepted) bound.give_back(to.generation(), 1);
    return a;
}

// A thread that sleeps until its message is taken. The message names it in place of the sender.
template <class Sync>
struct sender_outside {
    explicit sender_outside(pid s) : sender(s) {}
    thread_latch<Sync> taken;
    const pid sender;
};

// Beyond the bound, and its sender waits.
template <class Sync>
[[gnu::noinline]] send_answer process_core<Sync>::send_to_full(worker_type* here, place* from, place& p, pid to,
                                                               node* n) {
    const auto push_beyond = [&] {
        auto& bound = p.more().bound;
        if (!bound.take_beyond(to.generation())) return send_answer::no_such_process;
        const send_answer a = queued(p.word.push(to.generation(), n, false), p, here);
        if (a != send_answer::accepted) bound.give_back(to.generation(), 1);
        return a;
    };
    if (from != nullptr) {
        if (!suspend(*from, to)) return send_answer::full;
        n->what.held = held_sender::process;
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

// False: it is suspended already, by an earlier send of this step, or would wait for itself.
template <class Sync>
bool process_core<Sync>::suspend(place& from, pid by) {
    if (from.suspended) return false;
    if (from.is_bounded()) {
        std::vector<pid> circle;
        {
            const typename Sync::lock held(circles_mutex_);
            // Of those on the way none can end, and give its place on, before it has said, by this mutex, that it waits no more.
            for (pid at = by; at && at != from.id();) {
                circle.push_back(at);
                place* const p = find(at);
                const bool there = p != nullptr && p->word.looks_alive(at.generation()) && p->is_bounded();
                at = there ? p->more().waits_for.read() : pid{};
                if (at == from.id()) circle.push_back(at);
            }
            if (by == from.id()) circle.push_back(by);
            if (circle.back() != from.id()) circle.clear();
            if (circle.empty()) from.more().waits_for.write(by);
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
// Its message has been taken, or it does not wait for that any more.
template <class Sync>
void process_core<Sync>::resume(place& p) {
    p.suspended = false;
    if (!p.is_bounded()) return;
    const typename Sync::lock held(circles_mutex_);
    p.more().waits_for.write({});
}

// A step gets these, of a bounded process.
template <class Sync>
void process_core<Sync>::mail_taken(worker_type& here, place& p, event_list<Sync>& events) {
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
template <class Sync>
void process_core<Sync>::let_sender_go(worker_type* here, pid receiver, event& e) {
    const held_sender held = std::exchange(e.held, held_sender::none);
    if (held == held_sender::thread) {
        auto* const outside = reinterpret_cast<sender_outside<Sync>*>(e.tag);
        e.tag = outside->sender.value;
        outside->taken.count_down();
    }
    if (held != held_sender::process) return;
    waits_no_more(e.from(), receiver);
    place* const p = find(e.from());
    if (p == nullptr || !p->word.looks_alive(e.from().generation())) return;
    (void)push(here, *p, e.from().generation(), make_promised(event_type::room, receiver), true);
}
// Before its worker comes to it: what the receiver sends to it meanwhile closes no circle.
template <class Sync>
void process_core<Sync>::waits_no_more(pid sender, pid receiver) {
    place* const p = find(sender);
    const typename Sync::lock held(circles_mutex_);
    // Under the mutex: a process that lives and waits is no later process of that place.
    if (p == nullptr || !p->word.looks_alive(sender.generation()) || !p->is_bounded()) return;
    if (p->more().waits_for.read() == receiver) p->more().waits_for.write({});
}
// A receiver of that policy drops the oldest messages beyond its bound.
template <class Sync>
void process_core<Sync>::drop_oldest(worker_type& here, place& p, event_list<Sync>& events) {
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
    no_answers(&here, p, dropped);
    bury_of_a_step(p, dead_letter::dropped, std::move(dropped));
}
template <class Sync>
void process_core<Sync>::bury(pid self, event&& e) {
    event letter = std::move(e);
    if (!letter.is_mail() && letter.type != event_type::ended) return;
    books_.dead(self, dead_letter::ended, letter);
    if (place* const p = find(self)) note_undelivered(*p, 1);
}
// While the process goes on. The report of a stop has what was lost since it began.
template <class Sync>
void process_core<Sync>::bury_of_a_step(place& p, dead_letter why, event_list<Sync>&& events) {
    const std::uint64_t letters = books_.bury(p.id(), why, std::move(events), true);
    if (letters != 0 && !at_phase(running)) note_undelivered(p, letters);
}
// Without memory for the entry of that process only the sum of the report has them.
template <class Sync>
void process_core<Sync>::note_undelivered(place& p, std::uint64_t letters) noexcept {
    try {
        p.more().undelivered += letters;
    } catch (const std::bad_alloc&) {
        if (!at_phase(running)) books_.undelivered(letters);
    }
}
template <class Sync>
void process_core<Sync>::no_answers(worker_type* here, place& p, const event_list<Sync>& unread) {
    unread.each([&](const event& e) {
        if (e.type == event_type::request && p.pay(e.reply())) no_answer(here, p.id(), e.reply());
    });
}
// Of the receiver: the request's sender knows whether it waits for that one.
template <class Sync>
void process_core<Sync>::no_answer(worker_type* here, pid receiver, reply_to what) {
    place* const p = find(what.to);
    send_answer a = send_answer::no_such_process;
    if (p != nullptr && p->word.looks_alive(what.to.generation())) {
        node* const n = make_promised(event_type::unanswered, receiver);
        n->what.call = what.tag;
        a = push(here, *p, what.to.generation(), n, true);
    }
    if (a != send_answer::accepted) books_.late_completion();
}

template <class Sync>
template <class T>
send_answer process_core<Sync>::relay(pid from, pid to, T&& data) {
    if (!config_.relay) return send_answer::no_such_process;
    if constexpr (std::is_same_v<std::remove_cvref_t<T>, payload>) {
        return config_.relay(from, to, data);
    } else {
        payload wrapped(std::forward<T>(data));
        return config_.relay(from, to, wrapped);
    }
}

// Precondition: `from` has called for the tag.
template <class Sync>
template <class T>
send_answer process_core<Sync>::request_by(worker_type& here, place& from, pid to, std::uint32_t tag, T&& data) {
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

// An event of the scheduler's own. A kill and the word that there is room end a block; links and watches do not.
template <class Sync>
send_answer process_core<Sync>::tell(worker_type* here, pid from, pid to, event_type what, std::uint32_t which) {
    place* const p = find(to);
    if (p == nullptr || !p->word.looks_alive(to.generation())) return refusal(p, to);
    node* const n = blocks::make(what, from.value, yield_error::none, payload());
    n->what.call = which;
    return push(here, *p, to.generation(), n, what == event_type::kill || what == event_type::room);
}
template <class Sync>
template <class T>
send_answer process_core<Sync>::complete_by(worker_type* here, pid to, std::uint64_t tag, T&& data, yield_error error) {
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

template <class Sync>
send_answer process_core<Sync>::complete_by(worker_type* here, pid to, node* completion) noexcept {
    place* const p = find(to);
    send_answer a = send_answer::no_such_process;
    if (p != nullptr)
        a = push(here, *p, to.generation(), completion, true);
    else
        blocks::release(completion);
    if (a != send_answer::accepted) books_.late_completion();
    return a;
}

}  // namespace apiary
