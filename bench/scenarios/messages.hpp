// The frame of the scenarios of messages: one operation is one program of processes, complete (bench/contract/CLI.md).
//
// A Program has name, parameters, a constructor from run_options, and
//     std::uint64_t ends() const;      // how many processes end in an operation
//     std::uint64_t answer() const;    // the sum of their values
//     // The flag of the row: an operation has units() of unit.
//     static constexpr std::string_view unit;  std::uint64_t units() const;
//     template <messenger R> struct on { struct root; };   // the first process, made from {operation*, program*}
//     template <messenger R> static constexpr bool suits;   // optional: not every R can do it
//
// Threads.  open: the main thread. All else: processes. `end` is the last act of a process, since after the last `end`
// the main thread may open the next operation.
//
// Synchronisation: each process adds its value, then takes itself off `left_` (acq_rel). The last process to do so
// continues the release sequence of the others, so it sees the whole sum.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <apiary/bench/closed_loop.hpp>
#include <apiary/bench/messages.hpp>

namespace apiary::bench {

template <messenger R>
class operation {
    using number = typename host<R>::sync::template atomic<std::uint64_t>;

public:
    explicit operation(ledger_of<R>& account) : account_(account) {}

    // `mark` is the operation's number less the expected answer.
    void open(std::uint64_t mark, std::uint64_t processes) {
        peers.clear();
        waiting.store(0, std::memory_order_relaxed);
        sum_.store(0, std::memory_order_relaxed);
        left_.store(processes, std::memory_order_relaxed);
        mark_ = mark;
    }

    // Adds a value for a process that goes on, or fails.
    void add(std::uint64_t value) { sum_.fetch_add(value, std::memory_order_relaxed); }
    void end(typename R::self& me, std::uint64_t value) {
        me.stop();
        add(value);
        if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1)
            account_.complete(mark_ + sum_.load(std::memory_order_relaxed));
    }

    std::vector<typename R::address> peers;  // filled by the root before it tells any process to begin
    number waiting{0};                       // processes that have counted themselves in
    std::optional<std::uint64_t> peak;       // resident bytes with all of them waiting, in the first operation

private:
    ledger_of<R>& account_;
    std::uint64_t mark_ = 0;
    number sum_{0}, left_{0};
};

template <class Program>
class message_scenario {
public:
    static constexpr std::string_view name = Program::name;
    static constexpr bool open_loop = false;
    static constexpr auto parameters = Program::parameters;
    template <class Runtime>
    static constexpr bool expressible = [] {
        if constexpr (!messenger<Runtime>)
            return false;
        else if constexpr (requires { Program::template suits<Runtime>; })
            return Program::template suits<Runtime>;
        else
            return true;
    }();

    template <messenger Runtime>
    static report measure(const run_options& options) {
        using root = typename Program::template on<Runtime>::root;
        const Program program(options);
        if constexpr (requires { Runtime::most_processes; })
            if (program.ends() - 1 > Runtime::most_processes)
                throw unsupported_here("more than " + std::to_string(Runtime::most_processes) +
                                       " processes would take too much memory");
        letter_slowdown_ns = options.slowdown_ns;
        ledger_of<Runtime> account(0);
        std::optional<operation<Runtime>> all;  // outlives the processes; its addresses go before the runtime does
        Runtime runtime(options.workers);
        all.emplace(account);
        const std::uint64_t before = peak_resident_bytes();
        report result = measure_blocks(settings_of(options, 1), runtime, [&](std::uint64_t ops) {
            return run_iterations(account, ops, 1, [&](std::uint64_t i) {
                all->open(i - program.answer(), program.ends());
                runtime.begin(root{&*all, &program});
            });
        });
        result.measured.add_flag(std::string(Program::unit) + "=" + std::to_string(program.units()));
        if (all->peak)
            result.measured.add_flag("bytes_each=" + std::to_string((*all->peak - before) / program.units()));
        all->peers.clear();
        return result;
    }
};

}  // namespace apiary::bench
