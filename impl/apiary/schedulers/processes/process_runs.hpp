// process_runs: one run of a process on a worker, from what has come to what it waits for, and its end. Included by process_core.hpp,
// behind it; nobody else includes it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <new>
#include <utility>
#include <vector>

#include <apiary/schedulers/processes/process_core.hpp>

namespace apiary {

template <class Sync>
void process_core<Sync>::run(place& p, worker_type& w) noexcept {
    const auto [newest, cancel] = p.word.start(p.generation);
    bool calls = false;
    event_list<Sync> events(newest, [&calls](event_type t) { calls |= t != event_type::message; });
    typename place::arrived what;
    if (calls) {
        event_list<Sync> unsorted;
        what = p.sort(events, unsorted, [this] { books_.late_completion(); }, [this](pid by) { return lives(by); });
        if (!what.looks.empty()) show(p, what.looks, events);
        if (what.killed)
            return end(p, w, what.linked ? process_end::linked : process_end::killed, std::move(events),
                       unread_by::none, std::move(unsorted));
        if (!unsorted.empty()) [[unlikely]]
            return threw(p, w, std::make_exception_ptr(std::bad_alloc()), std::move(events), unread_by::none,
                         std::move(unsorted));
    }
    if (at_phase(forcing)) [[unlikely]]
        return end(p, w, process_end::forced, std::move(events), unread_by::none);
    const bool cancelled = cancel && !p.cancel_told;
    if (cancelled) p.cancel_told = true;
    if (p.has_more() && !p.more().kept.empty()) {
        p.more().kept.append(std::move(events));
        events = std::move(p.more().kept);
    }
    if (p.is_bounded()) [[unlikely]]
        drop_oldest(w, p, events);
    if (p.suspended) [[unlikely]] {
        p.completed_meanwhile = p.completed_meanwhile || what.completed;
        if (!what.room && !cancelled) {
            return keep(p, w, std::move(events)) ? settle(p, w) : void();
        }
        resume(p);
        what.completed = p.completed_meanwhile;
        p.completed_meanwhile = false;
    }
    // A wake for nothing: what it was for has come before, or was not called for (museum, B31).
    const bool for_nothing = p.waits == process_state::blocked ? !what.completed : events.empty();
    if (for_nothing && !cancelled && p.waits != process_state::ready) {
        Sync::reach("process_core.woken_for_nothing");
        return keep(p, w, std::move(events)) ? settle(p, w) : void();
    }
    auto cancel_is = cancel_comes::not_now;
    if (cancelled) [[unlikely]]
        cancel_is = events.empty() ? cancel_comes::alone : cancel_comes::last;
    step(p, w, std::move(events), cancel_is);
}

// For a later run. False: there was no memory, and the process has ended.
template <class Sync>
bool process_core<Sync>::keep(place& p, worker_type& w, event_list<Sync>&& events) {
    try {
        if (!events.empty()) p.more().kept.append(std::move(events));
        return true;
    } catch (const std::bad_alloc&) {
        threw(p, w, std::current_exception(), std::move(events), unread_by::none);
        return false;
    }
}

template <class Sync>
void process_core<Sync>::step(place& p, worker_type& w, event_list<Sync>&& events, cancel_comes cancel) {
    if (p.is_bounded()) [[unlikely]]
        mail_taken(w, p, events);
    ++p.steps;
    basic_event_batch<Sync> batch(std::move(events), cancel);
    basic_step_output<Sync> out(*this, w, p, p.id());
    std::exception_ptr thrown;
    w.sources().in_step(p.id());
    try {
        p.body->step(batch, out);
    } catch (...) {
        thrown = std::current_exception();
    }
    w.sources().in_step({});
    if (thrown != nullptr) [[unlikely]]
        return threw(p, w, std::move(thrown), std::move(batch.rest()), unread_by::a_step);
    if (!batch.rest().empty() && !out.finished_) {
        no_answers(&w, p, batch.rest());
        bury_of_a_step(p, dead_letter::unread, std::move(batch.rest()));
    }
    const auto ends = [&](process_end how) { end(p, w, how, std::move(batch.rest()), unread_by::a_step); };
    bool misused = out.misused_;
    if (!misused && !w.sources().commands().empty()) {
        try {
            misused = !dispatch(p, w);
        } catch (const std::bad_alloc&) {
            return threw(p, w, std::current_exception(), std::move(batch.rest()), unread_by::a_step);
        }
    }
    if (misused) {
        w.sources().commands().clear();
        return ends(process_end::misused);
    }
    if (out.finished_) return ends(process_end::finished);
    p.waits = out.waits_;
    if (p.waits == process_state::blocked && !p.calls.any()) return ends(process_end::misused);
    if (batch.left_the_cancel_behind_others()) [[unlikely]] {
        if (p.suspended) resume(p);
        return step(p, w, {}, cancel_comes::alone);
    }
    settle(p, w, out.sent_to_itself_);
}

template <class Sync>
void process_core<Sync>::settle(place& p, worker_type& w, bool lets_others_run) {
    const process_state waits = p.suspended ? process_state::blocked : p.waits;
    if (!p.word.settle(p.generation, waits)) return;
    if (waits == process_state::ready || lets_others_run) return queue_behind(p, w);
    queue(p, &w);
}

// Closes the mailbox, buries what nobody took, and tells the end to those that wait for it, for an answer or for room.
// Runs after close and destructor, so that they find closed what the process held. Returns the number of messages that
// were left.
template <class Sync>
std::uint64_t process_core<Sync>::close_mailbox(place& p, worker_type* here, process_end how,
                                                event_list<Sync>&& unsorted) noexcept {
    const pid id = p.id();
    const auto end_for = [&](node* n, event_type what) -> node* {
        n->what = event{what, yield_error::none, held_sender::none, 0, id.value, payload(how)};
        return n;
    };
    event_list<Sync> left, looks;
    unsorted.append(event_list<Sync>(p.word.finish(p.generation).newest, [](event_type) {}));
    // Nothing is noted any more. The node of a watch or a link is that of its answer.
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
    show(p, looks, left);
    if (p.is_bounded()) left.each([&](event& e) { let_sender_go(here, id, e); });
    if (p.has_more()) {
        const auto tell = [&](pid whom, event_type what) {
            if (lives(whom)) tell_end(here, whom, make_promised(what, id, payload(how)));
        };
        for (const pid watcher : p.more().watchers) tell(watcher, event_type::ended);
        p.more().links.each([&](const auto& l) { tell(l.whom, event_type::linked_end); });
        p.more().owed.each([&](reply_to r) { no_answer(here, id, r); });
    }
    return books_.bury(id, dead_letter::ended, std::move(left), false);
}
// The end of one that it is linked to ends it, also when it blocks.
template <class Sync>
void process_core<Sync>::tell_end(worker_type* here, pid to, node* n) noexcept {
    place* const p = find(to);
    if (p == nullptr) return blocks::release(n);
    (void)push(here, *p, to.generation(), n, n->what.type == event_type::linked_end);
}

// False: a tag was in use, or called for twice. Then nothing of this step is carried out. Passes on std::bad_alloc: the calls before
// that one have been.
template <class Sync>
bool process_core<Sync>::dispatch(place& p, worker_type& w) {
    auto& commands = w.sources().commands();
    bool fine = true;
    for (const basic_command<Sync>& c : commands) fine = fine && p.called_for(c.tag);
    for (std::size_t i = 0; fine && i != commands.size(); ++i) carry_out(w, std::move(commands[i]));
    commands.clear();
    return fine;
}
template <class Sync>
void process_core<Sync>::carry_out(worker_type& w, basic_command<Sync>&& c) {
    const pid from = c.from;
    const std::uint64_t tag = c.tag;
    const auto* const deadline = c.id == sleep_command ? c.arguments.template get<std::int64_t>() : nullptr;
    if (deadline != nullptr) {
        node* const told = make_completion(tag);
        try {
            return w.sources().sleep(*deadline, from, told);
        } catch (...) {
            blocks::release(told);
            throw;
        }
    }
    const auto handler = config_.handlers.find(c.id);
    if (handler == config_.handlers.end())
        return (void)complete_by(&w, from, tag, payload(), yield_error::unknown_command);
    bool threw = false;
    try {
        handler->second(*this, std::move(c));
    } catch (...) {
        threw = true;
    }
    if (threw) (void)complete_by(&w, from, tag, payload(), yield_error::handler_threw);
}

// As if its step had.
template <class Sync>
void process_core<Sync>::threw(place& p, worker_type& w, std::exception_ptr thrown, event_list<Sync>&& unread,
                               unread_by by, event_list<Sync>&& unsorted) noexcept {
    books_.threw();
    w.sources().commands().clear();
    // An exception that leaves the handler ends the program: the process could not end any more.
    if (base::on_exception()) base::on_exception()(thrown);
    thrown = nullptr;  // while the process lives: what the exception's destructor spawns has a crew
    end(p, w, process_end::threw, std::move(unread), by, std::move(unsorted));
}

template <class Sync>
void process_core<Sync>::end(place& p, worker_type& w, process_end how, event_list<Sync>&& unread, unread_by by,
                             event_list<Sync>&& unsorted) noexcept {
    const pid id = p.id();
    std::uint64_t lost = 0;
    if (p.suspended) resume(p);
    w.sources().in_step(id);  // a close that does not return is named, too
    p.body->close();
    p.body.reset();
    w.sources().in_step({});
    if (p.has_more()) lost += p.more().undelivered;
    const auto bury = [&](event_list<Sync>&& events, bool of_a_step) {
        if (p.is_bounded()) events.each([&](event& e) { let_sender_go(&w, id, e); });
        lost += books_.bury(id, dead_letter::ended, std::move(events), of_a_step);
    };
    if (p.has_more()) bury(std::move(p.more().kept), false);
    bury(std::move(unread), by == unread_by::a_step);
    lost += close_mailbox(p, &w, how, std::move(unsorted));
    p.empty();
    if (!at_phase(running)) books_.ended(id, how, lost);
    table_.release(&p, spare(&w));
    leave();
}

// To those that asked by look(). `events`: what has come and no step has seen. Without memory for it, as if nobody had come to it.
template <class Sync>
void process_core<Sync>::show(place& p, event_list<Sync>& looks, const event_list<Sync>& events) noexcept {
    while (node* n = looks.pop()) {
        const auto question = *n->what.data.template get<process_question_ptr<Sync>>();
        blocks::release(n);
        process_view at_once;
        at_once.lives = question->view.lives;
        at_once.state = question->view.state;
        try {
            show(p, question->view, events);
        } catch (const std::bad_alloc&) {
            question->view = std::move(at_once);
        }
        question->asker.unpark();  // the token has the view with it
    }
}
template <class Sync>
void process_core<Sync>::show(place& p, process_view& v, const event_list<Sync>& events) {
    v.told = true;
    v.steps = p.steps;
    const auto count = [&v](const event& e) { v.mail += e.is_mail() ? 1U : 0U; };
    events.each(count);
    p.calls.each([&v](std::uint64_t tag) { v.calls.push_back(tag); }, [&p]() -> auto& { return p.more().tags; });
    if (!p.has_more()) return;
    p.more().kept.each(count);
    p.more().links.each([&v](const auto& l) { v.linked.push_back(l.whom); });
    v.watchers = p.more().watchers;
    p.more().asks.each([&v](const auto& a) { v.waits_for.push_back(a.whom); });
    if (p.suspended) v.waits_for.push_back(p.more().suspended_by);
}

template <class Sync>
process_view process_core<Sync>::look(pid which, std::int64_t wait_ns) {
    process_view at_once;
    place* const p = find(which);
    if (p == nullptr || !p->word.looks_alive(which.generation())) return at_once;
    at_once.lives = true;
    at_once.state = p->word.state();
    if (wait_ns <= 0) return at_once;
    const auto question = std::make_shared<process_question<Sync>>();
    question->view = at_once;
    node* const n = blocks::make(event_type::look, 0, yield_error::none, question);
    if (push(current(), *p, which.generation(), n, true) != send_answer::accepted) return {};
    const std::int64_t now = now_ns(), until = wait_ns < Sync::forever - now ? now + wait_ns : Sync::forever;
    const bool told = question->asker.park_until(until);
    return told ? question->view : at_once;
}

template <class Sync>
std::vector<stalled_step> process_core<Sync>::stalled(std::int64_t ns) {
    struct sample {
        pid id;
        std::uint64_t runs;
    };
    const auto look = [this] {
        std::vector<sample> all;
        for (unsigned i = 0; i != crew_.table().size(); ++i) {
            auto& w = *crew_.table()[i];
            all.push_back({w.sources().running(), w.counters().run});
        }
        return all;
    };
    const auto before = look();
    for (std::int64_t left = ns; left > 0 && !over(); left -= 10'000'000)
        Sync::sleep_ns(std::min<std::int64_t>(left, 10'000'000));
    const auto behind = look();
    std::vector<stalled_step> same;
    for (unsigned i = 0; i != before.size(); ++i)
        if (before[i].id && before[i].id == behind[i].id && before[i].runs == behind[i].runs)
            same.push_back({before[i].id, i});
    return same;
}

}  // namespace apiary
