// process_looks: shows a person what a running scheduler does: one process (look), and steps that do not return
// (stalled). A layer of process_core.
//
// When to use it. As the base of process_lives; process_core.hpp has the order of the layers. When not: elsewhere.
//
// Threads.  look: any; in a step only with wait_ns 0. stalled: any but a worker, since it waits. show: the worker
//           that has the process.
// Errors.   Without memory look and stalled throw std::bad_alloc.
//
// Synchronisation: the question's parker. The worker writes the view, then unparks the asker. The asker reads the view
// only if it was unparked, and not after a timeout.
// Tested by processes_links_test.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include <apiary/schedulers/processes/process_messages.hpp>
#include <apiary/schedulers/processes/process_view.hpp>

namespace apiary {

template <class Sync>
class process_looks : public process_messages<Sync> {
    using base = process_messages<Sync>;

public:
    using typename base::node;
    using typename base::place;

    // Shows a process. Its state is known at once; the caller waits up to `wait_ns` for the rest, which a worker fills
    // in when it comes to the process (process_view.hpp).
    process_view look(pid which, std::int64_t wait_ns = 10'000'000) {
        process_view at_once;
        place* const p = base::find(which);
        if (p == nullptr || !p->word.looks_alive(which.generation())) return at_once;
        at_once.lives = true;
        at_once.state = p->word.state();
        if (wait_ns <= 0) return at_once;
        const auto question = std::make_shared<process_question<Sync>>();
        question->view = at_once;
        node* const n = blocks::make(event_type::look, 0, yield_error::none, question);
        if (base::push(base::current(), *p, which.generation(), n, true) != send_answer::accepted) return {};
        const std::int64_t now = base::now_ns(), until = wait_ns < Sync::forever - now ? now + wait_ns : Sync::forever;
        const bool told = question->asker.park_until(until);
        return told ? question->view : at_once;
    }
    // The steps that run now and still run after `ns`. The caller sleeps meanwhile, unless all ends sooner. Not in a
    // step.
    std::vector<stalled_step> stalled(std::int64_t ns) {
        const auto before = running_steps();
        for (std::int64_t left = ns; left > 0 && !base::stopping(); left -= 10'000'000)
            Sync::sleep_ns(std::min<std::int64_t>(left, 10'000'000));
        const auto after = running_steps();
        std::vector<stalled_step> same;
        for (unsigned i = 0; i != before.size(); ++i)
            if (before[i].id && before[i].id == after[i].id && before[i].runs == after[i].runs)
                same.push_back({before[i].id, i});
        return same;
    }

protected:
    using typename base::blocks;
    using base::base;

    // Answers those that asked by look(). `events`: events that have come and that no step has seen. Without memory for
    // the answer the asker gets the same view as if no worker had come in time.
    void show(place& p, event_list<Sync>& looks, const event_list<Sync>& events) noexcept {
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
            question->asker.unpark();  // the token publishes the view
        }
    }

private:
    struct sample {
        pid id;
        std::uint64_t runs;
    };
    // For each worker, the process whose step it runs, if it runs one.
    std::vector<sample> running_steps() {
        std::vector<sample> all;
        for (unsigned i = 0; i != base::crew().table().size(); ++i) {
            auto& w = *base::crew().table()[i];
            all.push_back({w.sources().running(), w.counters().run});
        }
        return all;
    }
    static void show(place& p, process_view& v, const event_list<Sync>& events) {
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
};

}  // namespace apiary
