// Relays: what is sent to a process of another node, what comes in from one, and what does not go that way.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <vector>

#include "acting.hpp"

namespace {

using namespace apiary;

TEST(processes_relay, gets_what_is_sent_to_other_nodes) {
    std::vector<int> sent;
    processes all({.workers = 1, .relay = [&](pid to, payload& data) {
                       EXPECT_EQ(to.place(), 9U);
                       sent.push_back(*data.get<int>());
                       return to.node() == 3 ? send_answer::accepted : send_answer::no_such_process;
                   }});
    const pid there = pid::of(9, 1).at(3);
    EXPECT_EQ(all.send(there, 1), send_answer::accepted);
    EXPECT_EQ(all.send(there.at(4), payload(2)), send_answer::no_such_process);
    EXPECT_EQ(sent, (std::vector<int>{1, 2}));
    processes alone({.workers = 1});
    EXPECT_EQ(alone.send(there, 1), send_answer::no_such_process);
}

// Each scheduler is a node of the other: its number here.
struct nodes {
    std::array<processes*, 3> all{};
    processes_config config() {
        return {.workers = 2,
                .relay = [this](pid to, payload& data) { return all[to.node()]->send(to.at(0), std::move(data)); }};
    }
};
struct ping {
    pid back;  // as the receiver names it: a relay is not told the sender
    int n;
};

TEST(processes_relay, two_schedulers_relay_to_each_other) {
    constexpr int rounds = 1000;
    nodes n;
    processes one(n.config()), two(n.config());
    n.all = {nullptr, &one, &two};
    const pid there = two.spawn(on_events([&](event& e, step_output& out) {
                             EXPECT_EQ(&out.scheduler(), &two);
                             EXPECT_FALSE(e.from()) << "nobody has sent what comes in";
                             const ping p = *e.data.get<ping>();
                             if (p.n == rounds) return out.finish();
                             EXPECT_EQ(out.send(p.back, p.n + 1), send_answer::accepted);
                         }))
                          .id.at(2);
    int got = 0;
    (void)one.spawn(std::make_unique<acting>([&, begun = false](event_batch& batch, step_output& out) mutable {
        const auto send = [&] { EXPECT_EQ(out.send(there, ping{out.self().at(1), got}), send_answer::accepted); };
        if (!std::exchange(begun, true)) send();
        while (event* e = batch.next()) {
            EXPECT_EQ(*e->data.get<int>(), ++got);
            EXPECT_FALSE(e->from());
            send();
            if (got == rounds) out.finish();
        }
    }));
    one.join();
    two.join();
    EXPECT_EQ(got, rounds);
    EXPECT_EQ(one.counters().dead_letters + two.counters().dead_letters, 0U);
}

TEST(processes_relay, what_the_other_node_refuses_is_refused_here_and_the_payload_is_still_there) {
    nodes n;
    processes one(n.config()), two(n.config());
    n.all = {nullptr, &one, &two};
    const pid gone = two.spawn(on_events([](event&, step_output& out) { out.finish(); })).id.at(2);
    EXPECT_EQ(one.send(gone, 1), send_answer::accepted);
    two.join();
    payload kept(5);
    EXPECT_NE(one.send(gone, std::move(kept)), send_answer::accepted);
    ASSERT_NE(kept.get<int>(), nullptr);
    EXPECT_EQ(*kept.get<int>(), 5);
}

TEST(processes_relay, takes_messages_and_nothing_else) {
    int relayed = 0;
    processes all({.workers = 1, .relay = [&](pid, payload&) { return ++relayed, send_answer::accepted; }});
    const pid there = pid::of(1, 1).at(3);
    (void)all.spawn(std::make_unique<acting>([&](event_batch&, step_output& out) {
        EXPECT_EQ(out.request(there, 1, 0), send_answer::no_such_process);
        EXPECT_EQ(out.request(there, 1, 0), send_answer::no_such_process) << "its tag is free again";
        EXPECT_EQ(out.watch(there), send_answer::no_such_process);
        EXPECT_EQ(out.link(there), send_answer::no_such_process);
        EXPECT_EQ(out.answer({there, 1}, 0), send_answer::no_such_process);
        EXPECT_EQ(out.send(there, 0), send_answer::accepted);
        out.finish();
    }));
    EXPECT_EQ(all.kill(there), send_answer::no_such_process);
    EXPECT_EQ(all.cancel(there), send_answer::no_such_process);
    EXPECT_EQ(all.complete_yield(there, 1), send_answer::no_such_process);
    EXPECT_FALSE(all.look(there).lives);
    all.join();
    EXPECT_EQ(relayed, 1);
}

TEST(processes_relay, what_it_throws_leaves_the_send) {
    processes all({.workers = 1, .relay = [](pid, payload&) -> send_answer { throw 1; }});
    const pid there = pid::of(1, 1).at(3);
    EXPECT_THROW((void)all.send(there, 0), int);
    (void)all.spawn(std::make_unique<acting>([&](event_batch&, step_output& out) {
        EXPECT_THROW((void)out.send(there, 0), int);
        (void)out.send(there, 0);
    }));
    all.join();
    EXPECT_EQ(all.counters().exceptions, 1U) << "a step's, as any other";
}

}  // namespace
