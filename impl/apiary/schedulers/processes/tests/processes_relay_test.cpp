// Relays: what is sent to a process of another node, what comes in from one, and what does not go that way.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <vector>

#include "acting.hpp"

namespace processes_relay_test {
namespace {

using namespace apiary;

TEST(processes_relay, gets_what_is_sent_to_other_nodes) {
    std::vector<int> sent;
    processes all({.workers = 1, .relay = [&](pid from, pid to, payload& data) {
                       EXPECT_FALSE(from) << "a thread outside";
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
    processes_config config(std::uint16_t own) {
        return {.workers = 2, .relay = [this, own](pid from, pid to, payload& data) {
                    return all[to.node()]->send_from(from ? from.at(own) : from, to.at(0), std::move(data));
                }};
    }
};

TEST(processes_relay, one_that_gets_a_message_from_elsewhere_answers_its_sender) {
    constexpr int rounds = 1000;
    nodes n;
    processes one(n.config(1)), two(n.config(2));
    n.all = {nullptr, &one, &two};
    const pid there = two.spawn(on_events([&](event& e, step_output& out) {
                             EXPECT_EQ(&out.scheduler(), &two);
                             const int round = *e.data.get<int>();
                             if (round == rounds) return out.finish();
                             EXPECT_EQ(e.from().node(), 1);
                             EXPECT_EQ(out.send(e.from(), round + 1), send_answer::accepted);
                         }))
                          .id.at(2);
    int got = 0;
    (void)one.spawn(std::make_unique<acting>([&, begun = false](event_batch& batch, step_output& out) mutable {
        const auto send = [&] { EXPECT_EQ(out.send(there, got), send_answer::accepted); };
        if (!std::exchange(begun, true)) send();
        while (event* e = batch.next()) {
            EXPECT_EQ(*e->data.get<int>(), ++got);
            EXPECT_EQ(e->from(), there);
            send();
            if (got == rounds) out.finish();
        }
    }));
    one.join();
    two.join();
    EXPECT_EQ(got, rounds);
    EXPECT_EQ(one.counters().dead_letters + two.counters().dead_letters, 0U);
}

TEST(processes_relay, a_message_of_a_thread_is_from_nobody_elsewhere_too) {
    nodes n;
    processes one(n.config(1)), two(n.config(2));
    n.all = {nullptr, &one, &two};
    const pid there = two.spawn(on_events([](event& e, step_output& out) {
                             EXPECT_FALSE(e.from());
                             out.finish();
                         }))
                          .id.at(2);
    EXPECT_EQ(one.send(there, 1), send_answer::accepted);
    two.join();
}

// The relay's thread sleeps in most of these sends, and the message names it meanwhile.
TEST(processes_relay, the_sender_of_a_message_that_has_waited_for_room_is_told_too) {
    constexpr int messages = 100;
    nodes n;
    processes one(n.config(1)), two(n.config(2));
    n.all = {nullptr, &one, &two};
    struct bounded : acting {
        using acting::acting;
        init_answer init(context& c, std::string_view, payload) override {
            c.mailbox = {.most = 1, .then = when_full::suspend_sender};
            return init_answer::ready;
        }
    };
    int left = messages;
    const pid there = two.spawn(std::make_unique<bounded>([&](event_batch& batch, step_output& out) {
                             while (event* e = batch.next()) {
                                 EXPECT_EQ(out.send(e->from(), *e->data.get<int>()), send_answer::accepted);
                                 if (--left == 0) out.finish();
                             }
                         }))
                          .id.at(2);
    int next = 0;
    (void)one.spawn(std::make_unique<acting>([&, begun = false](event_batch& batch, step_output& out) mutable {
        for (int i = std::exchange(begun, true) ? messages : 0; i != messages; ++i)
            EXPECT_EQ(out.send(there, i), send_answer::accepted);
        while (event* e = batch.next()) EXPECT_EQ(*e->data.get<int>(), next++);
        if (next == messages) out.finish();
    }));
    one.join();
    two.join();
    EXPECT_EQ(next, messages);
}

TEST(processes_relay, what_the_other_node_refuses_is_refused_here_and_the_payload_is_still_there) {
    nodes n;
    processes one(n.config(1)), two(n.config(2));
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
    processes all({.workers = 1, .relay = [&](pid, pid, payload&) { return ++relayed, send_answer::accepted; }});
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
    processes all({.workers = 1, .relay = [](pid, pid, payload&) -> send_answer { throw 1; }});
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
}  // namespace processes_relay_test
