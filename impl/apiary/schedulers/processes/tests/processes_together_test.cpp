// The word of a process and the table of places, whose threads meet: senders, the one that runs the process, a
// canceller, and one that finds a place while the table grows.
#include <apiary/schedulers/processes/process_table.hpp>
#include <apiary/schedulers/processes/process_word.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>

#include <apiary/sync/real_sync.hpp>
#include <apiary/testing/run_together.hpp>

#include "acting.hpp"

namespace processes_together_test {
namespace {

using namespace apiary;

struct alignas(16) letter {
    real_sync::cell<letter*> next;
    int number = 0;  // written before the push, read after the start that takes it
};

// The thread that is told to queue the process runs it. What a run leaves is the next run's: plain data.
struct one_process {
    process_word<letter> word;
    process_state waits;
    int link = 0, runs = 0, sum = 0, why = 0;
    bool cancelled = false;

    explicit one_process(process_state waits_for) : waits(waits_for) {
        word.open(1);
        (void)word.start(1);
        EXPECT_FALSE(word.settle(1, waits));
    }
    void take(letter* newest) {
        for (letter* l = newest; l != nullptr; l = l->next.read()) sum += l->number;
    }
    void queued() {
        link = runs;  // as a queue writes it
        for (;;) {
            const auto [newest, cancel] = word.start(1);
            ++runs;
            take(newest);
            EXPECT_TRUE(!cancel || why == 7);
            cancelled |= cancel;
            if (!word.settle(1, waits)) return;
            link = runs;
        }
    }
    void sends(letter& l, int number, bool calls) {
        l.number = number;
        const push_answer told = word.push(1, &l, calls);
        EXPECT_NE(told, push_answer::no_such_process);
        if (told == push_answer::woke) queued();
    }
    void cancels() {
        why = 7;
        if (word.cancel(1) == push_answer::woke) queued();
    }
};

TEST(processes_together, messages_of_two_senders_are_received_once) {
    for (int round = 0; round != 6; ++round) {
        one_process p(process_state::idle);
        std::array<letter, 3> all;
        run_together([&] { p.sends(all[0], 1, false); },
                     [&] {
                         p.sends(all[1], 10, false);
                         p.sends(all[2], 100, true);
                     });
        EXPECT_EQ(p.sum, 111);
    }
}

TEST(processes_together, a_cancel_and_a_call_end_a_block) {
    for (int round = 0; round != 6; ++round) {
        one_process p(process_state::blocked);
        letter l;
        run_together([&] { p.cancels(); }, [&] { p.sends(l, 1, true); });
        EXPECT_TRUE(p.cancelled);
        EXPECT_EQ(p.sum, 1);
    }
}

TEST(processes_together, the_end_of_a_process_returns_what_no_run_has_taken) {
    for (int round = 0; round != 6; ++round) {
        one_process p(process_state::idle);
        letter first, second, third;
        p.sends(first, 1, false);
        bool accepted = false;
        run_together(
            [&] {
                second.number = 10;
                const push_answer told = p.word.push(1, &second, false);
                accepted = told == push_answer::woke || told == push_answer::accepted;
                if (told == push_answer::woke) p.take(p.word.finish(1).newest);
            },
            [&] {
                if (p.word.push(1, &third, true) != push_answer::woke) return;
                p.take(p.word.start(1).newest);
                p.take(p.word.finish(1).newest);
            });
        EXPECT_EQ(p.word.state(), process_state::complete);
        EXPECT_EQ(p.sum, accepted ? 11 : 1);
    }
}

struct place {
    using link_type = place;
    real_sync::cell<place*> next;
    int made = 1;
    std::uint32_t index = 0, generation = 0;
};
struct narrow {
    static constexpr std::size_t chunk = 1, chunks = 3, batch = 1;
};

TEST(processes_together, a_place_that_is_found_is_whole) {
    for (int round = 0; round != 6; ++round) {
        process_table<place, real_sync, 3, narrow> table;
        std::array<place*, 3> got{};
        run_together(
            [&] {
                for (place*& one : got) one = table.acquire(nullptr);
            },
            [&] {
                for (std::uint32_t i = 0; i != 3; ++i) {
                    const place* const p = table.find(i);
                    EXPECT_TRUE(p == nullptr || p->made == 1);
                }
            },
            [&] { table.each([](place& p) { EXPECT_EQ(p.made, 1); }); });
        for (std::uint32_t i = 0; i != 3; ++i) EXPECT_EQ(got[i], table.find(i));
    }
}

TEST(processes_together, a_sender_that_guesses_a_pid_finds_a_bound_whole) {
    processes all({.workers = 1});
    int received = 0;
    std::atomic<int> spawned = 0;  // 1: yes; -1: no, and then the sender gives up
    run_together(
        [&] {
            const auto count = [&](event_batch& batch, step_output& out) {
                while (event* e = batch.next()) received += e->type == event_type::message ? 1 : 0;
                if (received != 0) out.finish();
            };
            spawned = all.spawn(std::make_unique<bounded>(mailbox_limit{.most = 2}, count)) ? 1 : -1;
        },
        [&] {
            while (all.send(pid::of(0, 1), 5) != send_answer::accepted && spawned >= 0) std::this_thread::yield();
        });
    ASSERT_EQ(spawned, 1);
    all.join();
    EXPECT_EQ(received, 1);
}

}  // namespace
}  // namespace processes_together_test
