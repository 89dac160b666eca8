// scenario: one program on one scheduler, on the virtual machine; and what was measured of it.
//
// Thread 0 stands outside: it builds the scheduler, starts the threads of its workers, hands in work, verifies each answer
// and ends them. Where bench/scenarios has the program as a template over a runtime, that template is what runs.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <apiary/bench/ledger.hpp>
#include <apiary/sync/cache_line.hpp>
#include <apiary/virtual/virtual_sync.hpp>
#include <apiary/virtual/virtual_team.hpp>

namespace apiary::virt {

// An answer that is wrong.
struct wrong_answer : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct measured {
    std::uint64_t operations = 0;
    picoseconds took = 0;
    machine::counts counts;
    std::vector<moves::row> table;
    // What a real subject answers, too, given the same parameters: bench/contract/CLI.md.
    std::uint64_t check = 0;
    std::string flags;
    std::map<std::string, std::uint64_t> params;
};

struct scenario {
    std::string_view subject, name;
    std::string_view operation;  // what is counted, in a word
    // The body of thread 0. Brief: as little work as shows that the answers are right.
    measured (*run)(machine& m, unsigned workers, bool brief);
};
std::span<const scenario> fork_join_scenarios();
std::span<const scenario> coro_pool_scenarios();
std::span<const scenario> hive_scenarios();
std::span<const scenario> process_scenarios();
std::span<const scenario> task_graph_scenarios();

// How much work: little, or what occupies up to 16 workers, or more.
inline unsigned sized(unsigned workers, bool brief, unsigned little, unsigned usual, unsigned much) {
    return brief ? little : workers <= 16 ? usual : much;
}

// Bodies in whose place plain instructions run.
inline void work(picoseconds t) { machine::current()->spend(t); }

// What is measured: everything between its beginning and end.
class stopwatch {
public:
    explicit stopwatch(machine& m) : m_(m) {
        m.clear_counts();
        began_ = m.now();
    }
    measured stop(std::uint64_t operations) const {
        measured all{operations, m_.now() - began_, m_.counted(), {}, 0, {}, {}};
        const host_section tables;
        all.table = m_.moved().table();
        return all;
    }

private:
    machine& m_;
    picoseconds began_;
};

// The threads of a scheduler's core, which has none itself; their end is waited for.
class team : public virtual_team {
public:
    template <class F>
    team(unsigned workers, F run_worker) {
        for (unsigned i = 0; i != workers; ++i) start([run_worker, i] { run_worker(i); });
    }
};

// As bench::ledger: each task adds the mark of its number to one word, and the last one wakes thread 0.
class ledger {
public:
    void open(std::uint64_t tasks) {
        tasks_ = static_cast<std::uint32_t>(tasks);
        sum_.store(0, std::memory_order_relaxed);
        over_.exchange(0, std::memory_order_relaxed);
        expected_ = bench::expected_sum(tasks);
    }
    void complete(std::uint64_t number) {
        const std::uint32_t tasks = tasks_;
        const std::uint64_t m = bench::mark(number);
        const std::uint64_t now = sum_.fetch_add(m, std::memory_order_release) + m;
        if (static_cast<std::uint32_t>(now) != tasks) return;
        over_.exchange(1, std::memory_order_release);
        over_.wake_one();
    }
    // Throws wrong_answer if a task was lost, ran twice or was another.
    void wait() {
        while (over_.load(std::memory_order_acquire) == 0) (void)over_.wait(0, virtual_sync::forever);
        if (sum_.load(std::memory_order_acquire) != expected_) throw wrong_answer("the sum of the tasks' marks is wrong");
    }

private:
    alignas(cache_line) virtual_sync::atomic<std::uint64_t> sum_{0};
    std::uint32_t tasks_ = 0;
    alignas(cache_line) virtual_sync::futex over_{0};
    std::uint64_t expected_ = 0;
};

inline void expect_answer(std::uint64_t found, std::uint64_t expected) {
    if (found != expected)
        throw wrong_answer("the answer is " + std::to_string(found) + ", and should be " + std::to_string(expected));
}

// An object that the tables name by its type.
template <class T>
class made {
public:
    template <class... A>
    explicit made(A&&... a) : p_(virtual_sync::create<T>(std::forward<A>(a)...)) {}
    ~made() { virtual_sync::destroy(p_); }
    made(const made&) = delete;
    made& operator=(const made&) = delete;
    T& operator*() const { return *p_; }
    T* operator->() const { return p_; }
    T* get() const { return p_; }

private:
    T* p_;
};

}  // namespace apiary::virt
