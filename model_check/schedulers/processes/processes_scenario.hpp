// Whole schedulers of processes without their threads: workers, processes that count what they are told, and the laws of an end.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include <apiary/model_check/modelled_threads.hpp>
#include <apiary/model_check/register.hpp>
#include <apiary/schedulers/processes/process_core.hpp>
#include <apiary/workers/parameters.hpp>

namespace apiary::model {

// The oracle's counts are std::atomic, which is no part of what is checked.
struct seen {
    std::atomic<unsigned> steps = 0, messages = 0, completed = 0, cancels = 0, closed = 0;
};

template <class Sync>
class watched : public basic_process<Sync> {
    using base = basic_process<Sync>;

public:
    using body = std::function<void(event&, typename base::output&)>;
    watched(seen& s, body first, body on) : seen_(s), first_(std::move(first)), on_(std::move(on)) {}

    init_answer init(typename base::context&, std::string_view, payload) override {
        plain_.write(0);
        return init_answer::ready;
    }
    void step(typename base::events& batch, typename base::output& out) override {
        plain_.write(plain_.read() + 1);  // a cell: two steps at a time, or one that does not see the last, are a race
        if (seen_.steps++ == 0 && first_) {
            event none;
            first_(none, out);
        }
        while (event* e = batch.next()) {
            if (e->type == event_type::message) ++seen_.messages;
            if (e->type == event_type::completed) ++seen_.completed;
            if (e->type == event_type::cancel) ++seen_.cancels;
            on_(*e, out);
        }
    }
    void close() noexcept override {
        Sync::law(seen_.closed++ == 0, "a process was closed twice");
        if (holds != nullptr) holds->write(false);
    }

    typename Sync::template cell<bool>* holds = nullptr;  // something, until its close

private:
    seen& seen_;
    const body first_, on_;
    typename Sync::template cell<unsigned> plain_{0};
};

// A process with a bound.
template <class Sync>
class bounded : public watched<Sync> {
    using base = watched<Sync>;

public:
    bounded(seen& s, mailbox_limit l, typename base::body first, typename base::body on)
        : base(s, std::move(first), std::move(on)), limit_(l) {}
    init_answer init(typename basic_process<Sync>::context& c, std::string_view m, payload p) override {
        c.mailbox = limit_;
        return base::init(c, m, std::move(p));
    }

private:
    const mailbox_limit limit_;
};

template <class Sync, unsigned Workers, unsigned Others>
struct processes_scenario {
    static constexpr unsigned threads = Workers + Others;
    using core_type = process_core<Sync>;
    using config_type = basic_process_config<Sync>;
    using output = basic_step_output<Sync>;
    using body = typename watched<Sync>::body;

    std::array<seen, 2> of;
    std::array<typename Sync::template cell<bool>, 2> holds;  // a cell: to see it before the close is a race
    std::atomic<unsigned> letters = 0;
    std::unique_ptr<core_type> core;

    void make() {
        config_type c;
        c.parameters = handshake_parameters;
        c.handlers[1] = [](core_type&, basic_command<Sync>&&) {};
        c.on_dead_letter = [this](pid, dead_letter, event&) { ++letters; };
        core = std::make_unique<core_type>(Workers, c);
    }
    // Ends when it is cancelled.
    pid spawn(unsigned i, body first = {}, body on = {}) {
        if (!on)
            on = [](event& e, output& out) {
                if (e.type == event_type::cancel) out.finish();
            };
        return core->spawn(process(i, std::move(first), std::move(on))).id;
    }
    std::unique_ptr<basic_process<Sync>> process(unsigned i, body first, body on = {}) {
        if (!on) on = [](event&, output&) {};
        auto made = std::make_unique<watched<Sync>>(of[i], std::move(first), std::move(on));
        holds[i].write(true);
        made->holds = &holds[i];
        return made;
    }
    void work(unsigned i) {
        auto* const w = core->crew().table()[i];
        Sync::set_current(w);
        w->run();
        Sync::set_current(static_cast<typename core_type::worker_type*>(nullptr));
    }
    // False: there was nothing to do.
    bool turn_on(unsigned i) {
        auto* const w = core->crew().table()[i];
        Sync::set_current(w);
        const bool worked = w->turn_once();
        Sync::set_current(static_cast<typename core_type::worker_type*>(nullptr));
        return worked;
    }
    // What a worker finds first is run before the others begin.
    void turn() { Sync::law(turn_on(0), "there was nothing to run"); }
    void end() {
        Sync::law(core->over(), "the workers left, and the end was not told");
        Sync::law(core->counters().living == 0, "the workers left, and something lives");
        for (unsigned i = 0; i != Workers; ++i)
            Sync::law(!core->crew().table()[i]->sources().running(), "a step is said to run, and all has ended");
        Sync::law(core->crew().idle().snapshot().searching() == 0, "the books of the idle set do not balance");
    }
};

}  // namespace apiary::model
