// restart_storm: processes fail as soon as they are told to, and a supervisor starts each of them again. Not Savina's.
//
// contract/scenarios.toml says what a poor result means. Twin: subjects/erlang/programs.erl. No other library in
// the race restarts failed processes: ractor and CAF only report a failure.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "scenarios/messages.hpp"

namespace apiary::bench {

struct storm_program {
    static constexpr std::string_view name = "restart_storm", unit = "restarts_per_op";
    static constexpr std::array parameters{parameter{.name = "processes", .standard = 100, .most = 100'000},
                                           parameter{.name = "restarts", .standard = 1000, .most = 1'000'000},
                                           calibrated_ops};
    std::uint64_t processes, restarts;

    explicit storm_program(const run_options& o) : processes(o.param("processes")), restarts(o.param("restarts")) {}
    [[nodiscard]] std::uint64_t ends() const { return processes + 1; }
    [[nodiscard]] std::uint64_t answer() const { return restarts * (restarts - 1) / 2 + restarts + processes; }
    [[nodiscard]] std::uint64_t units() const { return restarts; }
    template <messenger R>
    static constexpr bool suits = supervising<R>;

    template <supervising R>
    struct on {
        using self = typename R::self;
        using address = typename R::address;
        enum kind : std::uint64_t { started, fail, end, ended };

        struct child {
            operation<R>* all;
            address root;
            std::uint64_t number;

            void start(self& me) {
                all->peers[number] = me.me();  // its own place: the root reads it after this letter
                me.send(root, {started, number});
            }
            void receive(self& me, letter m) {
                if (m.what == fail) {
                    all->add(m.number);
                    me.fail();
                }
                me.send(root, {ended, number});
                all->end(me, 0);
            }
        };

        struct root {
            operation<R>* all;
            const storm_program* program;
            std::uint64_t starts = 0, failures = 0, gone = 0;

            void start(self& me) {
                all->peers.assign(program->processes, me.me());
                me.supervise(program->processes, program->restarts,
                             [shared = all, to = me.me()](std::uint64_t i) { return child{shared, to, i}; });
            }
            void receive(self& me, letter m) {
                if (m.what == ended) {
                    if (++gone == program->processes) all->end(me, starts);
                    return;
                }
                ++starts;
                const bool again = failures != program->restarts;
                me.send(all->peers[m.number], again ? letter{fail, failures++} : letter{end, 0});
            }
        };
    };
};

using restart_storm = message_scenario<storm_program>;

}  // namespace apiary::bench
