// msg_ping_pong, msg_count, msg_ring: two processes to and fro, one to another, a token in a ring. After Savina.
//
// contract/scenarios.toml says what a poor result means. Twins: tokio_baseline/src/scenarios/, subjects/go/messages.go,
// subjects/erlang/programs.erl.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "scenarios/messages.hpp"

namespace apiary::bench {

struct ping_pong_program {
    static constexpr std::string_view name = "msg_ping_pong", unit = "messages_per_op";
    static constexpr std::array parameters{parameter{.name = "pings", .standard = 40'000, .most = 1'000'000'000},
                                           calibrated_ops};
    std::uint64_t pings;

    explicit ping_pong_program(const run_options& o) : pings(o.param("pings")) {}
    [[nodiscard]] std::uint64_t ends() const { return 2; }
    [[nodiscard]] std::uint64_t answer() const { return pings * (2 * pings - 1); }
    [[nodiscard]] std::uint64_t units() const { return 2 * pings; }

    template <messenger R>
    struct on {
        using self = typename R::self;
        using address = typename R::address;
        enum kind : std::uint64_t { ball, end };

        struct other {
            operation<R>* all;
            address root;
            std::uint64_t sum = 0;

            void receive(self& me, letter m) {
                if (m.what == end) return all->end(me, sum);
                sum += m.number;
                me.send(root, {ball, m.number + 1});
            }
        };

        struct root {
            operation<R>* all;
            const ping_pong_program* program;
            std::uint64_t sum = 0;
            std::optional<address> partner = {};

            void start(self& me) {
                partner = me.spawn(other{all, me.me()});
                me.send(*partner, {ball, 0});
            }

            void receive(self& me, letter m) {
                sum += m.number;
                if (m.number + 1 < 2 * program->pings) return me.send(*partner, {ball, m.number + 1});
                me.send(*partner, {end, 0});
                all->end(me, sum);
            }
        };
    };
};

struct count_program {
    static constexpr std::string_view name = "msg_count", unit = "messages_per_op";
    static constexpr std::array parameters{parameter{.name = "messages", .standard = 1'000'000, .most = 1'000'000'000},
                                           calibrated_ops};
    std::uint64_t messages;

    explicit count_program(const run_options& o) : messages(o.param("messages")) {}
    [[nodiscard]] std::uint64_t ends() const { return 2; }
    [[nodiscard]] std::uint64_t answer() const { return messages * (messages - 1) / 2; }
    [[nodiscard]] std::uint64_t units() const { return messages; }

    template <messenger R>
    struct on {
        using self = typename R::self;
        using address = typename R::address;
        enum kind : std::uint64_t { add, tell };

        struct counter {
            operation<R>* all;
            address root;
            std::uint64_t sum = 0;

            void receive(self& me, letter m) {
                if (m.what == add) {
                    sum += m.number;
                    return;
                }
                me.send(root, {tell, sum});
                all->end(me, 0);
            }
        };

        struct root {
            operation<R>* all;
            const count_program* program;
            std::optional<address> to = {};
            std::uint64_t next = 0;

            void start(self& me) {
                to = me.spawn(counter{all, me.me()});
                go_on(me);
            }
            void go_on(self& me) {
                for (; next < program->messages; ++next)
                    if (!offer(me, *to, {add, next})) return;
                me.send(*to, {tell, 0});
            }
            void receive(self& me, letter m) { all->end(me, m.number); }
        };
    };
};

struct ring_program {
    static constexpr std::string_view name = "msg_ring", unit = "messages_per_op";
    static constexpr std::array parameters{
        parameter{.name = "processes", .standard = 100, .least = 2, .most = 1'000'000},
        parameter{.name = "hops", .standard = 100'000, .most = 1'000'000'000}, calibrated_ops};
    std::uint64_t processes, hops;

    explicit ring_program(const run_options& o) : processes(o.param("processes")), hops(o.param("hops")) {}
    [[nodiscard]] std::uint64_t ends() const { return processes; }
    [[nodiscard]] std::uint64_t answer() const { return hops * (hops + 1) / 2; }
    [[nodiscard]] std::uint64_t units() const { return hops; }

    template <messenger R>
    struct on {
        using self = typename R::self;
        using address = typename R::address;
        enum kind : std::uint64_t { token, end };

        struct node {
            operation<R>* all;
            const ring_program* program;
            std::optional<address> next = {};
            std::uint64_t sum = 0;

            void receive(self& me, letter m) {
                if (m.what == end) {
                    if (m.number > 1) me.send(*next, {end, m.number - 1});
                    return all->end(me, sum);
                }
                sum += m.number;
                if (m.number != 0) return me.send(*next, {token, m.number - 1});
                me.send(*next, {end, program->processes - 1});
                all->end(me, sum);
            }
        };

        struct root : node {
            root(operation<R>* of, const ring_program* with) : node{of, with} {}

            void start(self& me) {
                address to = me.me();
                for (std::uint64_t i = this->program->processes; --i != 0;)
                    to = me.spawn(node{this->all, this->program, to});
                this->next = to;
                me.send(to, {token, this->program->hops});
            }
        };
    };
};

using msg_ping_pong = message_scenario<ping_pong_program>;
using msg_count = message_scenario<count_program>;
using msg_ring = message_scenario<ring_program>;

}  // namespace apiary::bench
