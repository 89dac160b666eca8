// What the Relacy policy and the run share during one simulation: the budget, the counters of reach and
// outcome, the sites that ran, the mutation, the virtual clock, and the trace while an execution is replayed.
//
// One object per process, as there is one simulation per process. Nothing in here may use operator new
// while a simulation runs: Relacy would take the memory for the check's own (leaks, decisions). Hence
// fixed arrays, and Relacy's raw allocator for the trace.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include <apiary/model_check/check.hpp>
#include <apiary/model_check/orders.hpp>
#include <apiary/model_check/relacy/relacy_include.hpp>

namespace apiary::model::relacy_detail {

template <class T>
using raw_vector = typename rl::vector<T>::type;

struct step {
    int thread = -1;  // -1: before or after the threads
    std::source_location at;
    const char* operation = "";
    const void* object = nullptr;
    std::array<char, 64> text{};
    std::uint32_t wrote = 0, read = 0;
    bool reads = false, writes = false, plain = false, pending = false;
};

struct counted_name {
    const char* name = nullptr;
    std::uint64_t count = 0;
};

// A pointer of each modelled thread's own; before and after the threads it is the first.
struct thread_pointer {
    static constexpr unsigned most_threads = 6;
    const void* key = nullptr;
    std::array<void*, most_threads + 1> of{};
};

struct counted_outcome {
    std::array<char, 128> text{};
    std::uint64_t count = 0;
};

struct site_record {
    const char* file = nullptr;
    std::uint_least32_t line = 0, column = 0;
    const char* operation = nullptr;
    std::memory_order order{}, failure{};
};

enum class phase { before, threads, after };

class world {
public:
    static constexpr unsigned most_threads = thread_pointer::most_threads;

    // --- set by the run before the simulation
    bool tracing = false;
    std::uint64_t seed = 1, shard = 0, shards = 1;
    std::uint64_t max_executions = 0;
    std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
    enum class hunt { mixed, uniform, pct } strategy = hunt::mixed;
    unsigned depth = 3;              // pct: priority changes + 1
    unsigned bound = 0;              // tree search: preemptions
    bool unbounded = false;          // tree search: full
    std::string_view decisions;      // tree search: replay
    std::uint64_t replay_steps = 0;  // pct: expected length, part of the token
    std::string_view mutate_file, mutate_operation;
    std::uint_least32_t mutate_line = 0, mutate_column = 0;
    std::memory_order mutate_order{};
    std::string_view mutate_order_name;
    std::string_view mutate_recheck;  // the source of a last look to leave out
    bool mutating = false, mutate_failure_order = false, mutate_drop = false, mutation_met = false;

    // --- told by the simulation
    std::uint64_t executions = 0;
    bool finished = false;      // tree search: every decision tried
    const char* law = nullptr;  // Sync::fail's text
    int running = -1;           // the thread that was scheduled last
    phase stage = phase::before;
    std::uint32_t next_store = 0;
    std::int64_t now = 0;
    raw_vector<step> steps;
    std::array<step, most_threads + 1> open{};  // the operation each thread is in
    std::array<counted_name, 128> reached{}, rechecked{};
    std::array<std::uint64_t, law_kinds.size()> laws{};
    std::uint32_t acted = 0;  // a bit for each thread
    std::array<counted_outcome, 64> outcomes{};
    std::array<site_record, 1024> sites{};
    std::array<thread_pointer, 16> thread_pointers{};

    void begin_execution() {
        ++executions;
        law = nullptr;
        stage = phase::before;
        next_store = 0;
        now = 1'000'000;
        thread_pointers.fill({});
        if (tracing) {
            steps.clear();
            open.fill(step{});
        }
    }

    bool budget_is_spent() const {
        if (max_executions != 0 && executions >= max_executions) return true;
        return executions % 64 == 0 && std::chrono::steady_clock::now() >= deadline;
    }

    // The law was asked. Those of the engine count in the threads: before and after them there is nobody to race with,
    // nor to wait for. Memory may be lost everywhere.
    void asked(law_kind what) {
        const bool counts = what == law_kind::check || what == law_kind::lifetime || stage == phase::threads;
        if (counts) ++laws[static_cast<std::size_t>(what)];
    }
    // The running thread does something that is watched.
    void acts() {
        if (stage == phase::threads && running >= 0) acted |= 1U << running;
    }

    // Null where there are more keys than places.
    void** thread_slot(const void* key) {
        for (thread_pointer& p : thread_pointers) {
            if (p.key == nullptr) p.key = key;
            if (p.key == key) return &p.of[column_of_running()];
        }
        return nullptr;
    }

    void count_reach(const char* name) { count(reached, name); }

    // Whether this source of a last look is looked at.
    bool recheck(const char* name) {
        count(rechecked, name);
        if (!mutating || name != mutate_recheck) return true;
        mutation_met = true;
        return false;
    }

    void count_outcome(std::string_view text) {
        for (counted_outcome& o : outcomes) {
            if (o.count == 0) text.copy(o.text.data(), o.text.size() - 1);
            if (text == o.text.data()) {
                ++o.count;
                return;
            }
        }
    }

    // Notes that the site ran, and gives the order it runs with.
    std::memory_order visit(const std::source_location& at, const char* operation, std::memory_order order,
                            std::memory_order failure, bool asks_failure_order) {
        std::size_t slot =
            (reinterpret_cast<std::uintptr_t>(at.file_name()) / 8 + at.line() * 31 + at.column()) % sites.size();
        for (std::size_t tries = 0; tries != sites.size(); ++tries, slot = (slot + 1) % sites.size()) {
            site_record& s = sites[slot];
            if (s.file == nullptr) s = {at.file_name(), at.line(), at.column(), operation, order, failure};
            if (s.line == at.line() && s.column == at.column() && s.file == at.file_name() &&
                std::strcmp(s.operation, operation) == 0)
                break;
        }
        if (mutating && at.line() == mutate_line && (mutate_column == 0 || at.column() == mutate_column) &&
            mutate_failure_order == asks_failure_order && std::string_view(at.file_name()).ends_with(mutate_file) &&
            (mutate_operation.empty() || mutate_operation == operation) &&
            can_have(asks_failure_order ? failure_site : operation, mutate_order_name)) {
            mutation_met = true;
            return mutate_order;
        }
        return asks_failure_order ? failure : order;
    }

    // --- the trace
    std::size_t column_of_running() const {
        return stage == phase::threads && running >= 0 ? static_cast<std::size_t>(running) + 1 : 0;
    }
    void open_step(std::size_t column, const std::source_location& at, const char* operation, const void* object) {
        step s;
        s.thread = static_cast<int>(column) - 1;
        s.at = at;
        s.operation = operation;
        s.object = object;
        s.pending = true;
        open[column] = s;
    }
    step& close_step(std::size_t column) {
        open[column].pending = false;
        steps.push_back(open[column]);
        return steps.back();
    }

private:
    static void count(std::array<counted_name, 128>& list, const char* name) {
        for (counted_name& r : list) {
            if (r.name == nullptr) r.name = name;
            if (r.name == name || std::strcmp(r.name, name) == 0) {
                ++r.count;
                return;
            }
        }
    }
};

inline world the_world;

}  // namespace apiary::model::relacy_detail
