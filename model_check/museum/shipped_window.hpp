// The window of task_graph as it ships, behind the calls of task_ring: the twin of what task_ring does wrong.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include <apiary/schedulers/task_graph/task_window.hpp>

namespace apiary::museum {

template <class Sync, unsigned Window>
class shipped_window {
    struct words {
        static constexpr unsigned reference_bits = 4, edge_bits = 4, lap_bits = 1;
    };
    struct nothing {};
    static constexpr unsigned most_tasks = 4, block = output_ring::grain;
    static constexpr unsigned slots = Window == 3 ? 4 : Window;
    using window = task_window<Sync, words, nothing>;
    using slot = typename window::slot;

public:
    shipped_window() { window_.begin_scope(); }

    // By the submitter. Empty: its scope is in its own way.
    template <class... Producers>
    std::optional<unsigned> submit(bool& ready, Producers... producers) {
        const std::array<task_id, sizeof...(Producers)> after{producers...};
        bool stuck = false;
        typename window::submitted_task s{nullptr, false};
        try {
            s = window_.submit(after, block, [](slot&) {}, [this](slot& w) { wait(w); });
        } catch (const window_stuck&) {
            stuck = true;
        }
        if (stuck) return std::nullopt;
        ready = s.ready;
        const auto task = static_cast<unsigned>(s.task->id.read());
        tasks_[task].write(s.task);
        return task;
    }
    void end_scope() {
        window_.end_scope();
        window_.begin_scope();
    }
    void advance() { window_.reclaim(); }

    template <class OnReady>
    void complete(unsigned task, OnReady on_ready) {
        window_.complete(
            *tasks_[task].read(), window::no_cause, [&](slot& s) { on_ready(static_cast<unsigned>(s.id.read())); },
            [this] { parker_.unpark(); });
    }
    unsigned head() const { return static_cast<unsigned>(window_.reclaimed()); }

private:
    void wait(slot& s) {
        if (!s.out.watch()) parker_.park();
    }

    window window_{{slots, 8, most_tasks* block}};
    std::array<typename Sync::template cell<slot*>, most_tasks> tasks_;
    typename Sync::parker parker_;
};

}  // namespace apiary::museum
