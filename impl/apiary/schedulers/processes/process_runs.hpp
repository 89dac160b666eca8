// process_runs: one run of a process on a worker: takes its events, steps it, and notes what it waits for next. A layer
// of process_core.
//
// When to use it. As the base of process_core, which has the order of the layers. When not: elsewhere.
//
// Threads.  The worker that has the process.
// Progress. That of the step, of the handlers that it calls for, and of a close.
// Errors.   An exception that leaves a step ends its process. So does a lack of memory for a call of the step, or for
//           noting or keeping events.
//
// Synchronisation: process_word S1, S2.
// Checked by model_check/schedulers/processes. Tested by process_turns_test.cpp and process_told_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <utility>

#include <apiary/schedulers/processes/process_lives.hpp>
#include <apiary/schedulers/processes/process_output.hpp>

namespace apiary {

template <class Sync>
class process_runs : public process_lives<Sync> {
    using base = process_lives<Sync>;
    using unread_by = typename base::unread_by;

public:
    using typename base::node;
    using typename base::place;
    using typename base::worker_type;
    static constexpr std::uint32_t sleep_command = UINT32_MAX;

    // The end function of a place, which is a job.
    static bool run_it(job<Sync>& self, job_end how, any_worker* by) {
        Sync::law(how == job_end::run, "processes: the crew has ended, and a process lives");
        auto& w = *static_cast<worker_type*>(by);
        w.owner().run(static_cast<place&>(self), w);
        return true;
    }

protected:
    using typename base::blocks;
    using base::base;
    using base::books_;
    using base::end;

private:
    void run(place& p, worker_type& w) noexcept {
        const auto [newest, cancel] = p.word.start(p.generation);
        bool calls = false;
        event_list<Sync> events(newest, [&calls](event_type t) { calls |= t != event_type::message; });
        typename place::arrived what;
        if (calls) {
            event_list<Sync> unsorted;
            what = p.sort(events, unsorted, [this] { books_.late_completion(); }, [this](pid by) { return base::lives(by); });
            if (!what.looks.empty()) base::show(p, what.looks, events);
            if (what.killed)
                return end(p, w, what.linked ? process_end::linked : process_end::killed, std::move(events),
                           unread_by::none, std::move(unsorted));
            if (!unsorted.empty()) [[unlikely]]
                return threw(p, w, std::make_exception_ptr(std::bad_alloc()), std::move(events), unread_by::none,
                             std::move(unsorted));
        }
        if (base::at_phase(base::forcing)) [[unlikely]]
            return end(p, w, process_end::forced, std::move(events), unread_by::none);
        const bool cancelled = cancel && !p.cancel_told;
        if (cancelled) p.cancel_told = true;
        if (p.has_more() && !p.more().kept.empty()) {
            p.more().kept.append(std::move(events));
            events = std::move(p.more().kept);
        }
        if (p.is_bounded()) [[unlikely]]
            base::drop_oldest(w, p, events);
        if (p.suspended) [[unlikely]] {
            p.completed_meanwhile = p.completed_meanwhile || what.completed;
            if (!what.room && !cancelled) {
                return keep(p, w, std::move(events)) ? settle(p, w) : void();
            }
            what.room ? base::resume(p) : base::resume_by_cancel(p);
            what.completed = p.completed_meanwhile;
            p.completed_meanwhile = false;
        }
        // Woken for nothing: the awaited event came before, or the completion is not one that the process called for
        // (museum, B31).
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
    // Keeps the events for a later run. False: there was no memory, and the process has ended.
    [[nodiscard]] bool keep(place& p, worker_type& w, event_list<Sync>&& events) {
        try {
            if (!events.empty()) p.more().kept.append(std::move(events));
            return true;
        } catch (const std::bad_alloc&) {
            threw(p, w, std::current_exception(), std::move(events), unread_by::none);
            return false;
        }
    }
    void step(place& p, worker_type& w, event_list<Sync>&& events, cancel_comes cancel) {
        if (p.is_bounded()) [[unlikely]]
            base::mail_taken(w, p, events);
        ++p.steps;
        basic_event_batch<Sync> batch(std::move(events), cancel);
        basic_step_output<Sync> out(base::core(), w, p, p.id());
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
            base::no_answers(&w, p, batch.rest());
            base::bury_of_a_step(p, dead_letter::unread, std::move(batch.rest()));
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
            if (p.suspended) base::resume_by_cancel(p);
            return step(p, w, {}, cancel_comes::alone);
        }
        settle(p, w, out.sent_to_itself_);
    }
    void settle(place& p, worker_type& w, bool lets_others_run = false) {
        const process_state waits = p.suspended ? process_state::blocked : p.waits;
        if (!p.word.settle(p.generation, waits)) return;
        if (waits == process_state::ready || lets_others_run) return base::queue_behind(p, w);
        base::queue(p, &w);
    }
    // Carries out the calls of a step. False: a tag is in use, or is used twice; none of them is carried out. Passes on
    // std::bad_alloc; the earlier calls have been carried out then.
    bool dispatch(place& p, worker_type& w) {
        auto& commands = w.sources().commands();
        bool fine = true;
        for (const basic_command<Sync>& c : commands) fine = fine && p.called_for(c.tag);
        for (std::size_t i = 0; fine && i != commands.size(); ++i) carry_out(w, std::move(commands[i]));
        commands.clear();
        return fine;
    }
    void carry_out(worker_type& w, basic_command<Sync>&& c) {
        const pid from = c.from;
        const std::uint64_t tag = c.tag;
        const auto* const deadline = c.id == sleep_command ? c.arguments.template get<std::int64_t>() : nullptr;
        if (deadline != nullptr) {
            node* const told = base::make_completion(tag);
            try {
                return w.sources().sleep(*deadline, from, told);
            } catch (...) {
                blocks::release(told);
                throw;
            }
        }
        const auto handler = base::config_.handlers.find(c.id);
        if (handler == base::config_.handlers.end())
            return (void)base::complete_by(&w, from, tag, payload(), yield_error::unknown_command);
        bool threw = false;
        try {
            handler->second(base::core(), std::move(c));
        } catch (...) {
            threw = true;
        }
        if (threw) (void)base::complete_by(&w, from, tag, payload(), yield_error::handler_threw);
    }
    // Ends the process as if its step had thrown.
    void threw(place& p, worker_type& w, std::exception_ptr thrown, event_list<Sync>&& unread, unread_by by,
               event_list<Sync>&& unsorted = {}) noexcept {
        books_.threw();
        w.sources().commands().clear();
        // If the handler throws, the program ends: the process could not be ended any more.
        if (base::on_exception()) base::on_exception()(thrown);
        thrown = nullptr;  // while the process still lives: the exception's destructor may spawn
        end(p, w, process_end::threw, std::move(unread), by, std::move(unsorted));
    }
};

}  // namespace apiary
