// One handshake of the shipped hive, without what stands around it: the workers take turns and sleep as run() makes them,
// but there is no stop. A worker ends when it has run its share, so each search is small enough to be exhausted.
//
// The tasks need each other: while one waits, its worker is as good as at a long task, and the other task must be run
// by another worker. A wake that is missing is then a deadlock.
#pragma once

#include "../../workers/handshake.hpp"
#include "hive_scenario.hpp"

#include <array>
#include <atomic>
#include <climits>
#include <cstdint>

#include <apiary/model_check/register.hpp>
#include <apiary/parking/idle_sets.hpp>
#include <apiary/schedulers/hive/hive_core.hpp>
#include <apiary/tasks/task_storage.hpp>

namespace apiary::model {

template <class Sync>
struct handshake_parts : local_parts<Sync> {
    using random = first_choice;
    using compute_driver = announcing_driver<Sync>;
};

// The same policy, under which each worker of a crew has an idle word of its own: NAME_words is the check NAME there.
template <class Sync>
struct on_words : Sync {};
template <class Sync>
struct handshake_parts<on_words<Sync>> : local_parts<on_words<Sync>> {
    using random = first_choice;
    using compute_driver = announcing_driver<on_words<Sync>>;
    using idle = idle_sets<on_words<Sync>, 1, 3>;
};
// The same policy, under which one worker looks on before it sleeps: NAME_spins is the check NAME there. A checker's time
// stands still meanwhile, so it looks once.
template <class Sync>
struct on_spins : Sync {};
template <class Sync>
constexpr hive_parameters usual_parameters<on_spins<Sync>> = [] {
    hive_parameters p = handshake_parameters;
    p.idle_cpu = 1;
    p.search_ns = 1;  // the worker that looks on prolongs its search
    return p;
}();
template <class Sync>
constexpr hive_parameters usual_parameters<on_halves<Sync>> = usual_parameters<Sync>;
// What is reached where a post counts on a searcher.
template <class Sync>
constexpr const char* relied = "idle_set.relied_on_a_searcher";
template <class Sync>
constexpr const char* relied<on_words<Sync>> = "idle_sets.relied_on_another";

template <class Sync, unsigned Io, unsigned Compute = 0>
struct handshake {
    using storage = heap_storage<Sync>;
    using core_type = hive_core<Sync, announcing_driver<Sync>, storage, handshake_parts<Sync>>;
    static constexpr std::size_t tasks = 2;
    static constexpr std::uint64_t any_number = UINT64_MAX;
    static constexpr bool and_ends = true;

    core_type hive;
    unsigned spinner = usual_parameters<Sync>.idle_cpu != 0 ? 0 : UINT_MAX;
    std::array<std::atomic<unsigned>, tasks> times{};  // std::atomic: the oracle is no part of what is checked
    std::array<typename Sync::template atomic<unsigned>, tasks> begun;
    typename Sync::template atomic<unsigned> over;

    explicit handshake(const hive_parameters& parameters = usual_parameters<Sync>) : hive(Io, Compute, parameters) {
        for (auto& b : begun) b.store(0, std::memory_order_relaxed);
        over.store(0, std::memory_order_relaxed);
    }
    auto& io(unsigned slot) { return *hive.io()[slot]; }
    auto& compute(unsigned slot) { return *hive.compute()[slot]; }

    // Task 0 does not end before task 1 has begun: each needs a worker of its own.
    task<Sync>* waits(bool ends = false) {
        return storage::make([this, ends] {
            begin(0);
            await_begun(1);
            if (ends) end();
        });
    }
    task<Sync>* opens(std::size_t id = 1) {
        return storage::make([this, id] { begin(id); });
    }
    // A task that needs nobody.
    task<Sync>* alone() {
        return storage::make([this] {
            begin(0);
            end();
        });
    }
    void begin(std::size_t id) {
        ++times[id];
        begun[id].store(1, std::memory_order_release);
    }
    void await_begun(std::size_t id) {
        Sync::spin_until(begun[id], [](unsigned v) { return v == 1; });
    }
    // In after(): so many tasks have run, each once.
    void expect(unsigned ran) {
        Sync::law(times[0] <= 1 && times[1] <= 1, "identity: a task ran twice");
        Sync::law(times[0] + times[1] == ran, "identity: a task was lost");
    }
    // What run() does at a stop, without its doors: each worker is woken, and sees that it may go.
    void end() {
        over.store(1, std::memory_order_relaxed);
        for (unsigned w = 0; w < hive.io().size(); ++w) io(w).driver().wake();
        for (unsigned w = 0; w < hive.compute().size(); ++w) compute(w).driver().wake();
    }
    void must(bool posted) { Sync::law(posted, "a post was refused although nobody had asked for a stop"); }

    // Until it has run so many tasks, or all is over.
    template <class Worker>
    void work(Worker& worker, std::uint64_t share = 1) {
        for (;;) {
            if (worker.turn_once()) {
                if (worker.books().tasks_run() >= share) return;
            } else if (worker.index() != spinner || !worker.look_on_once()) {
                worker.sleep_once();
            } else if (worker.books().tasks_run() >= share) {
                return;
            }
            if (over.load(std::memory_order_relaxed) == 1) return;
        }
    }
};

}  // namespace apiary::model
