// A few tasks in a narrow window, run by the threads of a check. A task reads what its producers made, as plain data and in their
// output blocks, and makes something itself: what is not ordered is a data race, and what is reclaimed too early is another's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

#include <apiary/contract/laws.hpp>
#include <apiary/model_check/register.hpp>
#include <apiary/schedulers/task_graph/task_window.hpp>

namespace apiary::model {

struct narrow_words {
    static constexpr unsigned reference_bits = 3, edge_bits = 3, lap_bits = 1;
};

template <class Sync, std::size_t Slots, std::size_t Threads, std::size_t Dependencies = 4, std::uint64_t Blocks = 4>
struct window_scenario {
    static constexpr unsigned threads = Threads;
    static constexpr std::size_t most_tasks = 5;
    static constexpr std::uint32_t block = output_ring::grain;
    struct nothing {};
    using window_type = task_window<Sync, narrow_words, nothing>;
    using slot = typename window_type::slot;
    static constexpr task_id no_cause = window_type::no_cause;

    window_type window{{Slots, Dependencies, Blocks* block}};
    identity_ledger<Sync, most_tasks, Threads> ran;
    std::array<typename Sync::template cell<task_id>, most_tasks> made;       // by each task
    std::array<typename Sync::template cell<task_id>, Blocks> blocks;         // what lies in the output heap
    std::array<typename Sync::template atomic<slot*>, most_tasks> handed_on;  // to another thread
    std::array<typename Sync::template cell<task_id>, most_tasks> cancelled_for;
    std::array<std::array<task_id, 2>, most_tasks> inputs{};  // the graph, which is no part of what is checked
    std::array<unsigned, most_tasks> input_count{};
    // How the submitter waits. The cell stands for whatever it prepares for the thread that notifies it.
    typename Sync::parker parker;
    typename Sync::template cell<bool> asked;

    window_scenario() {
        for (auto& h : handed_on) h.store(nullptr, std::memory_order_relaxed);
        asked.write(false);
    }

    // By the submitter. What is ready at once is in handed_on.
    task_id submit(std::initializer_list<task_id> after, std::uint32_t blocks_out = 1) {
        const task_id id = window.submitted();
        input_count[id] = static_cast<unsigned>(after.size());
        std::copy(after.begin(), after.end(), inputs[id].begin());
        ran.put(id);
        const auto [s, ready] = window.submit(
            std::span(after.begin(), after.size()), blocks_out * block, [](slot&) {}, [this](slot& w) { wait(w); });
        if (ready) hand_on(*s);
        return id;
    }
    void wait(slot& s) {
        asked.write(true);
        if (!s.out.watch()) {
            Sync::reach("window.waited");
            parker.park();
        }
        asked.write(false);
    }
    void notify() {
        Sync::law(asked.read(), "the submitter was notified, and did not wait");
        parker.unpark();
    }

    void hand_on(slot& s) { handed_on[s.id.read()].store(&s, std::memory_order_release); }
    // By thread i: a task that is ready, and then those that it makes ready, unless `keep` hands those on.
    void run(unsigned i, task_id id, bool keep = true, bool throws = false) {
        slot* s = handed_on[id].load(std::memory_order_acquire);
        Sync::law(s != nullptr, "a task was not ready");
        run_slot(i, *s, keep, throws);
    }
    void run_when_ready(unsigned i, task_id id) {
        run_slot(i, *Sync::spin_until(handed_on[id], [](slot* s) { return s != nullptr; }), true, false);
    }
    // If the submit has made it ready.
    void run_if_handed_on(unsigned i, task_id id) {
        if (handed_on[id].load(std::memory_order_acquire) != nullptr) run(i, id);
    }
    void run_slot(unsigned i, slot& s, bool keep, bool throws) {
        const task_id id = s.id.read();
        ran.took(i, id);
        task_id cause = s.cause.load(std::memory_order_relaxed);
        cancelled_for[id].write(cause);
        if (cause == no_cause) {
            s.in.start();
            read_inputs(s);
            made[id].write(id);
            for (std::uint32_t b = 0; b != s.bytes.read() / block; ++b) blocks[s.output_at() / block + b].write(id);
            if (throws) cause = id;
        }
        if (cause != no_cause) window.failures().add({id, cause, nullptr});
        std::array<slot*, 2> mine{};
        unsigned n = 0;
        window.complete(
            s, cause,
            [&](slot& c) {
                if (keep)
                    mine[n++] = &c;
                else
                    hand_on(c);
            },
            [this] { notify(); });
        for (unsigned k = 0; k != n; ++k) run_slot(i, *mine[k], true, false);
    }
    void read_inputs(slot& s) {
        const task_id id = s.id.read();
        for (unsigned k = 0; k != input_count[id]; ++k) {
            const task_id p = inputs[id][k];
            Sync::law(made[p].read() == p, "a task ran before its producer");
            const slot* in = window.input(s, k);
            if (in == nullptr) continue;
            Sync::reach("window.read_an_input");
            for (std::uint32_t b = 0; b != in->bytes.read() / block; ++b)
                Sync::law(blocks[in->output_at() / block + b].read() == p, "a task read another's output");
        }
    }

    // Alone, at the end.
    void everything_is_consumed() {
        while (window.open_scopes() != 0) window.end_scope();
        window.reclaim();
        Sync::law(window.reclaimed() == window.submitted(), "a task was never consumed");
        Sync::law(window.ring().in_use() == 0, "an output was never reclaimed");
        ran.settle();
    }
};

}  // namespace apiary::model
