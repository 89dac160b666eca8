// msg_create, msg_throughput, idle_processes: one process starts many and sends to them. After Savina, but for the
// last.
//
// contract/scenarios.toml says what a poor result means. Twins: as in msg_pairs.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "scenarios/messages.hpp"

namespace apiary::bench {

// What the programs that spawn so many processes have in common.
struct spawned_crowd {
    std::uint64_t processes;

    explicit spawned_crowd(const run_options& o) : processes(o.param("processes")) {}
    [[nodiscard]] std::uint64_t ends() const { return processes + 1; }
    [[nodiscard]] std::uint64_t answer() const { return processes * (processes - 1); }
    [[nodiscard]] std::uint64_t units() const { return processes; }
};

struct create_program : spawned_crowd {
    static constexpr std::string_view name = "msg_create", unit = "spawns_per_op";
    static constexpr std::array parameters{parameter{.name = "processes", .standard = 40'000, .most = 1 << 24},
                                           calibrated_ops};
    using spawned_crowd::spawned_crowd;

    template <messenger R>
    struct on {
        using self = typename R::self;

        struct child {
            operation<R>* all;
            std::uint64_t number;

            void receive(self& me, letter m) { all->end(me, number + m.number); }
        };

        struct root {
            operation<R>* all;
            const create_program* program;

            void start(self& me) {
                const std::uint64_t n = program->processes;
                for (std::uint64_t i = 0; i < n; ++i) me.send(me.spawn(child{all, i}), {0, i});
                all->end(me, 0);
            }
            void receive(self&, letter) {}
        };
    };
};

struct throughput_program {
    static constexpr std::string_view name = "msg_throughput", unit = "messages_per_op";
    static constexpr std::array parameters{
        parameter{.name = "processes", .standard = 60, .most = 1'000'000},
        parameter{.name = "messages", .standard = 10'000, .most = 1'000'000'000},
        parameter{.name = "rounds", .standard = 0, .least = 0, .most = 1'000'000'000}, calibrated_ops};
    std::uint64_t processes, messages, rounds;

    explicit throughput_program(const run_options& o)
        : processes(o.param("processes")), messages(o.param("messages")), rounds(o.param("rounds")) {}
    [[nodiscard]] std::uint64_t ends() const { return processes + 1; }
    [[nodiscard]] std::uint64_t answer() const { return processes * (messages * (messages - 1) / 2); }
    [[nodiscard]] std::uint64_t units() const { return processes * messages; }

    template <messenger R>
    struct on {
        using self = typename R::self;

        struct child {
            operation<R>* all;
            std::uint64_t left;
            std::uint64_t sum = 0;

            void receive(self& me, letter m) {
                sum += m.number;
                if (--left == 0) all->end(me, sum);
            }
        };

        struct root {
            operation<R>* all;
            const throughput_program* program;
            std::vector<typename R::address> children = {};
            std::uint64_t next = 0;
            std::size_t to = 0;  // whom it is sent next

            void start(self& me) {
                for (std::uint64_t i = 0; i < program->processes; ++i)
                    children.push_back(me.spawn(child{all, program->messages}));
                go_on(me);
            }
            void receive(self& me, letter) { go_on(me); }

            void go_on(self& me) {
                // The end of the round that it is in, also where it goes on in the middle of one.
                const std::uint64_t rounds = program->rounds == 0 ? program->messages : program->rounds;
                const std::uint64_t until = std::min(next - next % rounds + rounds, program->messages);
                for (; next < until; ++next, to = 0)
                    for (; to != children.size(); ++to)
                        if (!offer(me, children[to], {0, next})) return;
                if (next < program->messages) return me.send(me.me(), {0, 0});
                children = {};
                all->end(me, 0);
            }
        };
    };
};

struct idle_program : spawned_crowd {
    static constexpr std::string_view name = "idle_processes", unit = "spawns_per_op";
    static constexpr std::array parameters{parameter{.name = "processes", .standard = 100'000, .most = 1 << 24},
                                           calibrated_ops};
    using spawned_crowd::spawned_crowd;

    template <messenger R>
    struct on {
        using self = typename R::self;
        using address = typename R::address;

        struct child {
            operation<R>* all;
            const idle_program* program;
            address root;
            std::uint64_t number;

            void start(self& me) {
                if (all->waiting.fetch_add(1, std::memory_order_acq_rel) + 1 == program->processes)
                    me.send(root, {0, 0});
            }
            void receive(self& me, letter m) { all->end(me, number + m.number); }
        };

        struct root {
            operation<R>* all;
            const idle_program* program;
            std::vector<address> children = {};

            void start(self& me) {
                children.reserve(program->processes);
                for (std::uint64_t i = 0; i < program->processes; ++i)
                    children.push_back(me.spawn(child{all, program, me.me(), i}));
            }
            void receive(self& me, letter) {
                if (!all->peak) all->peak = peak_resident_bytes();
                for (std::uint64_t i = 0; i < children.size(); ++i) me.send(children[i], {0, i});
                children = {};
                all->end(me, 0);
            }
        };
    };
};

using msg_create = message_scenario<create_program>;
using msg_throughput = message_scenario<throughput_program>;
using idle_processes = message_scenario<idle_program>;

}  // namespace apiary::bench
