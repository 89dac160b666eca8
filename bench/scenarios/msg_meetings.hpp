// chameneos, big, bounded_buffer: many processes that meet at one, or at each other. After Savina.
//
// contract/scenarios.toml says what a poor result means. Twins: as in msg_pairs.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <queue>
#include <string_view>
#include <vector>

#include "scenarios/messages.hpp"

namespace apiary::bench {

struct chameneos_program {
    static constexpr std::string_view name = "chameneos", unit = "messages_per_op";
    static constexpr std::array parameters{
        parameter{.name = "processes", .standard = 100, .least = 2, .most = 1'000'000},
        parameter{.name = "meetings", .standard = 200'000, .most = 1'000'000'000}, calibrated_ops};
    std::uint64_t processes, meetings;

    explicit chameneos_program(const run_options& o) : processes(o.param("processes")), meetings(o.param("meetings")) {}
    [[nodiscard]] std::uint64_t ends() const { return processes + 1; }
    [[nodiscard]] std::uint64_t answer() const { return 2 * meetings; }
    [[nodiscard]] std::uint64_t units() const { return 4 * meetings; }

    template <messenger R>
    struct on {
        using self = typename R::self;
        using address = typename R::address;
        enum kind : std::uint64_t { meet, change, end };

        // Number and colour in one.
        static std::uint64_t both(std::uint64_t number, std::uint64_t colour) { return number * 3 + colour; }

        struct creature {
            operation<R>* all;
            address mall;
            std::uint64_t number, colour, met = 0;

            void start(self& me) { me.send(mall, {meet, both(number, colour)}); }
            void receive(self& me, letter m) {
                if (m.what == end) return all->end(me, met);
                ++met;
                if (m.what == meet) {
                    const std::uint64_t other = m.number % 3;
                    if (other != colour) colour = 3 - colour - other;
                    me.send(all->peers[m.number / 3], {change, colour});
                } else {
                    colour = m.number;
                }
                me.send(mall, {meet, both(number, colour)});
            }
        };

        struct root {
            operation<R>* all;
            const chameneos_program* program;
            std::optional<std::uint64_t> first = {};
            std::uint64_t met = 0, told = 0;

            void start(self& me) {
                for (std::uint64_t i = 0; i < program->processes; ++i)
                    all->peers.push_back(me.spawn(creature{all, me.me(), i, i % 3}));
            }
            void receive(self& me, letter m) {
                const std::uint64_t number = m.number / 3;
                if (met == program->meetings) {
                    me.send(all->peers[number], {end, 0});
                    if (++told == program->processes) all->end(me, 0);
                } else if (!first) {
                    first = number;
                } else {
                    ++met;
                    me.send(all->peers[*first], m);
                    first.reset();
                }
            }
        };
    };
};

struct big_program {
    static constexpr std::string_view name = "big", unit = "messages_per_op";
    static constexpr std::array parameters{parameter{.name = "processes", .standard = 120, .most = 1'000'000},
                                           parameter{.name = "pings", .standard = 20'000, .most = 1'000'000},
                                           calibrated_ops};
    std::uint64_t processes, pings;

    explicit big_program(const run_options& o) : processes(o.param("processes")), pings(o.param("pings")) {}
    [[nodiscard]] std::uint64_t ends() const { return processes + 1; }
    [[nodiscard]] std::uint64_t answer() const {
        return pings * (processes * (processes - 1) / 2) + processes * (pings * (pings - 1) / 2);
    }
    [[nodiscard]] std::uint64_t units() const { return 2 * processes * pings; }
    template <messenger R>
    static constexpr bool suits = !requires { R::sends_wait; };

    template <messenger R>
    struct on {
        using self = typename R::self;
        using address = typename R::address;
        enum kind : std::uint64_t { begin, ask, reply, done, end };

        struct node {
            operation<R>* all;
            const big_program* program;
            address root;
            std::uint64_t number, random, k = 0, sum = 0;

            void receive(self& me, letter m) {
                switch (m.what) {
                    case begin:
                        return next(me);
                    case ask:
                        sum += m.number;
                        return me.send(all->peers[m.number], {reply, m.number});
                    case reply:
                        sum += k;
                        if (++k < program->pings) return next(me);
                        return me.send(root, {done, 0});
                    default:
                        return all->end(me, sum);
                }
            }
            void next(self& me) {
                random = random * 16'807 % 2'147'483'647;
                me.send(all->peers[random % program->processes], {ask, number});
            }
        };

        struct root {
            operation<R>* all;
            const big_program* program;
            std::uint64_t ready = 0;

            void start(self& me) {
                for (std::uint64_t i = 0; i < program->processes; ++i)
                    all->peers.push_back(me.spawn(node{all, program, me.me(), i, i + 1}));
                for (const address& to : all->peers) me.send(to, {begin, 0});
            }
            void receive(self& me, letter) {
                if (++ready < program->processes) return;
                for (const address& to : all->peers) me.send(to, {end, 0});
                all->end(me, 0);
            }
        };
    };
};

struct buffer_program {
    static constexpr std::string_view name = "bounded_buffer", unit = "messages_per_op";
    static constexpr std::array parameters{parameter{.name = "capacity", .standard = 50, .most = 1'000'000},
                                           parameter{.name = "producers", .standard = 40, .most = 1'000'000},
                                           parameter{.name = "consumers", .standard = 40, .most = 1'000'000},
                                           parameter{.name = "items", .standard = 1000, .most = 1'000'000},
                                           calibrated_ops};
    std::uint64_t capacity, producers, consumers, items;

    explicit buffer_program(const run_options& o)
        : capacity(o.param("capacity")),
          producers(o.param("producers")),
          consumers(o.param("consumers")),
          items(o.param("items")) {}
    [[nodiscard]] std::uint64_t ends() const { return producers + consumers + 1; }
    [[nodiscard]] std::uint64_t answer() const { return producers * items * (producers * items - 1) / 2; }
    [[nodiscard]] std::uint64_t units() const { return 4 * producers * items; }

    template <messenger R>
    struct on {
        using self = typename R::self;
        using address = typename R::address;
        enum kind : std::uint64_t { ask, item, free, end };

        struct producer {
            operation<R>* all;
            address buffer;
            std::uint64_t next;

            void receive(self& me, letter m) {
                if (m.what == end) return all->end(me, 0);
                me.send(buffer, {item, next++});
            }
        };

        struct consumer {
            operation<R>* all;
            address buffer;
            std::uint64_t number, sum = 0;

            void start(self& me) { me.send(buffer, {free, number}); }
            void receive(self& me, letter m) {
                if (m.what == end) return all->end(me, sum);
                sum += m.number;
                me.send(buffer, {free, number});
            }
        };

        struct root {
            operation<R>* all;
            const buffer_program* program;
            std::vector<address> producers = {}, consumers = {};
            std::queue<std::uint64_t> held = {}, willing = {}, idle = {};
            std::uint64_t asked = 0, left = 0;

            void start(self& me) {
                left = program->producers * program->items + program->consumers;
                for (std::uint64_t p = 0; p < program->producers; ++p) {
                    producers.push_back(me.spawn(producer{all, me.me(), p * program->items}));
                    willing.push(p);
                }
                for (std::uint64_t c = 0; c < program->consumers; ++c)
                    consumers.push_back(me.spawn(consumer{all, me.me(), c}));
                ask_for_more(me);
            }

            void receive(self& me, letter m) {
                if (m.what == item) {
                    --asked;
                    held.push(m.number);
                    if ((m.number + 1) % program->items != 0) willing.push(m.number / program->items);
                } else {
                    idle.push(m.number);
                    if (--left == 0) return finish(me);
                }
                if (!held.empty() && !idle.empty()) {
                    me.send(consumers[idle.front()], {item, held.front()});
                    held.pop();
                    idle.pop();
                }
                ask_for_more(me);
            }

            void ask_for_more(self& me) {
                for (; !willing.empty() && held.size() + asked < program->capacity; ++asked) {
                    me.send(producers[willing.front()], {ask, 0});
                    willing.pop();
                }
            }

            void finish(self& me) {
                for (const address& to : producers) me.send(to, {end, 0});
                for (const address& to : consumers) me.send(to, {end, 0});
                all->end(me, 0);
            }
        };
    };
};

using chameneos = message_scenario<chameneos_program>;
using big = message_scenario<big_program>;
using bounded_buffer = message_scenario<buffer_program>;

}  // namespace apiary::bench
