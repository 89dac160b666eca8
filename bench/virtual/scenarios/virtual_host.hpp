// virtual_host: the virtual machine as the host of a subject's adapter (apiary/bench/real_host.hpp); and run_scenario, by
// which a scenario of bench/scenarios, the one that real subjects race, runs on it.
//
// Threads. Those of the machine.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <apiary/bench/adapter.hpp>
#include <apiary/bench/scenario.hpp>

#include "virtual/scenarios/scenario.hpp"

namespace apiary::virt {

// Memory that the machine does not see. Processors read a long array ahead and this machine does not, so it would stall
// at each of its lines.
template <class T>
struct unseen_memory {
    using value_type = T;
    unseen_memory() = default;
    template <class U>
    explicit unseen_memory(const unseen_memory<U>&) {}
    T* allocate(std::size_t n) {
        const host_section outside;
        return std::allocator<T>().allocate(n);
    }
    void deallocate(T* p, std::size_t n) { std::allocator<T>().deallocate(p, n); }
    bool operator==(const unseen_memory&) const { return true; }
};

struct virtual_host {
    using sync = virtual_sync;
    using threads = virtual_team;
    using account = bench::line_for_each_thread<sync>;
    template <class T>
    using large = unseen_memory<T>;
    template <class T>
    using plain = unseen_memory<T>;

    static std::int64_t now_ns() noexcept { return sync::now_ns(); }
    static void yield() noexcept { machine::current()->yield(); }
    static unsigned thread_number() noexcept { return machine::number_of_running(); }

    static void computes(std::uint64_t units = 1) noexcept {
        if (body != 0) machine::current()->spend(body * static_cast<picoseconds>(units));
    }

    class signal {
    public:
        void lower() noexcept { raised_.store(0, std::memory_order_relaxed); }
        void raise() noexcept {
            raised_.store(1, std::memory_order_release);
            raised_.wake_one();
        }
        void wait() const noexcept {
            while (raised_.load(std::memory_order_acquire) == 0) (void)raised_.wait(0, sync::forever);
        }

    private:
        mutable sync::futex raised_{0};
    };

    // Of each block: the counts of the last one are kept.
    class counters {
    public:
        void start() { machine::current()->clear_counts(); }
        void stop() {
            const machine& m = *machine::current();
            counted = m.counted();
            const host_section tables;
            table = m.moved().table();
        }
        [[nodiscard]] std::int64_t cpu_ns() const { return 0; }
        [[nodiscard]] std::optional<std::uint64_t> allocs() const { return {}; }
    };

    static inline picoseconds body = 0;  // of a unit of what a program computes
    static inline machine::counts counted;
    static inline std::vector<moves::row> table;
};

// How many of the units in which it is told an operation has, at such sizes.
inline std::uint64_t one_unit(const sizes&) { return 1; }
// The name of a parameter, as a template's argument.
template <std::size_t N>
struct parameter_name {
    char text[N]{};
    constexpr parameter_name(const char (&name)[N]) { std::copy_n(name, N, text); }  // NOLINT: "n" is to become one
};
template <parameter_name... Names>
std::uint64_t product(const sizes& s) {
    return (s.at(Names.text) * ...);
}

// One block to warm up, then the block that is measured. Throws wrong_answer.
template <class Scenario, class Runtime>
measured run_scenario(unsigned workers, const sizes& chosen, std::uint64_t (*units)(const sizes&)) {
    static_assert(Scenario::template expressible<Runtime>);
    bench::run_options options;
    options.workers = workers;
    for (const bench::parameter& p : Scenario::parameters)
        if (p.standard) options.params.emplace(p.name, *p.standard);
    for (const auto& [name, value] : chosen) options.params[name] = value;
    options.blocks.warmup_blocks = options.blocks.blocks = 1;
    const bench::report r = Scenario::template measure<Runtime>(options);
    if (!r.complaints.empty()) throw wrong_answer(r.complaints.front());
    const host_section outlives;
    return {r.measured.ops.value() * units(options.params),
            static_cast<picoseconds>(r.measured.wall_ns.value()) * 1000,
            virtual_host::counted,
            virtual_host::table,
            r.measured.check.value(),
            r.measured.flags,
            options.params};
}

// A program of bench/scenarios on one scheduler: its sizes with so many workers, the units of an operation, and the time of
// a body that the machine does not see.
template <class Program, sizes (*Of)(unsigned workers, bool brief), std::uint64_t (*Units)(const sizes&) = one_unit,
          picoseconds Body = 0>
struct sized_program {
    template <class Runtime>
    static constexpr scenario on(std::string_view operation) {
        scenario s{Runtime::name, Program::name, operation, Program::parameters,
                   [](machine&, unsigned workers, bool brief, sizes given) {
                       virtual_host::body = Body;
                       given.merge(Of(workers, brief));
                       return run_scenario<Program, Runtime>(workers, given, Units);
                   }};
        if constexpr (bench::tunable_runtime<Runtime>) {
            s.tunables = Runtime::tunables;
            s.tune = &Runtime::tune;
        }
        return s;
    }
};

}  // namespace apiary::virt
