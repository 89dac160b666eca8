// Two features at once, as tables: what happens to a supervisor in each of its phases, and a mailbox of each policy
// whose process has sent to itself in its init, is full, and is then taken from, cancelled, killed or stopped.
#include <gtest/gtest.h>

#include <apiary/schedulers/processes/supervisor.hpp>

#include <algorithm>
#include <atomic>
#include <memory>
#include <new>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "acting.hpp"

namespace process_matrix_test {
namespace {

using namespace apiary;

// A child. A message 0: it finishes; 1: it throws. `heeds`: a cancel ends it.
struct ward {
    struct body : process {
        explicit body(ward& w) : of(w) {}
        init_answer init(context& c, std::string_view, payload) override {
            if (of.refuses.exchange(false)) return init_answer::failed;
            of.id = c.self.value;
            ++of.living;
            return init_answer::ready;
        }
        void step(events& batch, output& out) override {
            while (event* e = batch.next()) {
                if (e->type == event_type::cancel) {
                    ++of.cancels;
                    if (of.heeds) out.finish();
                } else {
                    if (*e->data.get<int>() == 1) throw 1;
                    out.finish();
                }
            }
        }
        void close() noexcept override { --of.living; }
        ward& of;
    };
    supervisor::child child() {
        return {[this] {
            ++starts;
            if (make_throws.exchange(false)) throw std::bad_alloc();
            return std::make_unique<body>(*this);
        }};
    }
    std::atomic<std::uint64_t> id = 0;
    std::atomic<int> starts = 0, cancels = 0, living = 0;
    std::atomic<bool> refuses = false, make_throws = false;
    bool heeds = true;
};

constexpr auto all_of_them = restart_strategy::one_for_all, one_of_them = restart_strategy::one_for_one;
constexpr int lives = -1, finished = static_cast<int>(process_end::finished), threw = static_cast<int>(process_end::threw),
              killed = static_cast<int>(process_end::killed);

// The supervisor has two children and allows one failure. The first child heeds a cancel, the second ignores it. A
// letter stands for each event:
//   f F  the first, the second, throws        e E  finishes
//   c k s  the supervisor is cancelled, killed; the scheduler is told to stop
//   p  the patience of its newest stop is over      q  that of its first
//   r  the first's next init refuses          m  its next `make` throws
struct supervised_case {
    const char* name;
    restart_strategy strategy;
    const char* script;
    int first_starts, second_starts, second_cancels, end;
};
const supervised_case supervised_cases[] = {
    {"restarting", all_of_them, "f", 1, 1, 1, lives},
    {"restarting_and_the_last_finishes", all_of_them, "fE", 2, 2, 1, lives},
    {"restarting_and_the_last_throws", all_of_them, "fF", 2, 2, 1, lives},
    {"restarting_and_out_of_patience", all_of_them, "fp", 2, 2, 1, lives},
    {"restarting_and_cancelled", all_of_them, "fc", 1, 1, 1, lives},
    {"restarting_and_cancelled_and_the_last_finishes", all_of_them, "fcE", 1, 1, 1, finished},
    {"restarting_and_cancelled_and_the_last_throws", all_of_them, "fcF", 1, 1, 1, finished},
    {"restarting_and_cancelled_and_out_of_patience", all_of_them, "fcp", 1, 1, 1, finished},
    {"restarting_and_cancelled_and_an_earlier_patience_over", all_of_them, "fcq", 1, 1, 1, lives},
    {"restarting_and_cancelled_and_both_patiences_over", all_of_them, "fcqp", 1, 1, 1, finished},
    {"restarting_and_killed", all_of_them, "fk", 1, 1, 1, killed},
    {"restarting_and_stopped", all_of_them, "fs", 1, 1, 1, lives},
    {"restarting_and_stopped_and_the_last_finishes", all_of_them, "fsE", 1, 1, 1, finished},
    {"restarting_and_cancelled_twice", all_of_them, "fccE", 1, 1, 1, finished},
    {"restarting_and_cancelled_and_killed", all_of_them, "fck", 1, 1, 1, killed},
    {"restarting_and_an_init_refuses", all_of_them, "rfE", 2, 1, 1, threw},
    {"restarting_and_a_make_throws", all_of_them, "mfE", 2, 1, 1, threw},
    {"restarted_and_a_late_patience", all_of_them, "fEq", 2, 2, 1, lives},
    {"restarted_and_cancelled", all_of_them, "fEcE", 2, 2, 2, finished},
    {"restarted_and_cancelled_and_out_of_patience", all_of_them, "fEcp", 2, 2, 2, finished},
    {"restarted_and_cancelled_and_an_earlier_patience_over", all_of_them, "fEcq", 2, 2, 2, lives},
    {"one_failure_too_many", all_of_them, "fEf", 2, 2, 1, threw},
    {"a_failure_while_restarting_is_none_too_many", all_of_them, "fFEe", 2, 2, 1, finished},
    {"one_failure_too_many_after_one_while_restarting", all_of_them, "fFF", 2, 2, 1, threw},
    {"one_failure_too_many_of_the_other", all_of_them, "FF", 2, 2, 0, threw},
    {"the_last_one_fails", all_of_them, "eF", 1, 2, 0, lives},
    {"the_last_one_fails_and_finishes", all_of_them, "eFE", 1, 2, 0, finished},
    {"the_last_one_fails_too_often", all_of_them, "eFF", 1, 2, 0, threw},
    {"ending", all_of_them, "c", 1, 1, 1, lives},
    {"ending_and_the_last_finishes", all_of_them, "cE", 1, 1, 1, finished},
    {"ending_and_the_last_throws", all_of_them, "cF", 1, 1, 1, finished},
    {"ending_and_out_of_patience", all_of_them, "cp", 1, 1, 1, finished},
    {"ending_and_cancelled_again", all_of_them, "ccE", 1, 1, 1, finished},
    {"ending_and_stopped", all_of_them, "csE", 1, 1, 1, finished},
    {"ending_and_killed", all_of_them, "ck", 1, 1, 1, killed},
    {"finished_one_and_ending", all_of_them, "ecE", 1, 1, 1, finished},
    {"stopped", all_of_them, "s", 1, 1, 1, lives},
    {"stopped_and_the_last_finishes", all_of_them, "sE", 1, 1, 1, finished},
    {"killed", all_of_them, "k", 1, 1, 0, killed},
    {"all_finished", all_of_them, "eE", 1, 1, 0, finished},
    {"a_patience_that_never_began", all_of_them, "q", 1, 1, 0, lives},

    {"one_again", one_of_them, "f", 2, 1, 0, lives},
    {"the_other_again", one_of_them, "F", 1, 2, 0, lives},
    {"one_and_the_other_too_many", one_of_them, "fF", 2, 1, 0, threw},
    {"one_too_many", one_of_them, "ff", 2, 1, 0, threw},
    {"one_again_and_ending", one_of_them, "fcE", 2, 1, 1, finished},
    {"one_again_and_ending_and_the_last_throws", one_of_them, "fcF", 2, 1, 1, finished},
    {"one_again_and_killed", one_of_them, "fk", 2, 1, 0, killed},
    {"one_again_and_all_finish", one_of_them, "feE", 2, 1, 0, finished},
    {"one_init_refuses", one_of_them, "rf", 2, 1, 0, threw},
    {"one_make_throws", one_of_them, "mf", 2, 1, 0, threw},
    {"one_ending_and_out_of_patience", one_of_them, "cp", 1, 1, 1, finished},
    {"one_ending_and_killed", one_of_them, "ck", 1, 1, 1, killed},
    {"one_killed", one_of_them, "k", 1, 1, 0, killed},
    {"one_stopped_and_the_last_throws", one_of_them, "sF", 1, 1, 1, finished},
};
void PrintTo(const supervised_case& c, std::ostream* out) { *out << c.script; }

struct supervisor_matrix : testing::TestWithParam<supervised_case> {};

// One worker, so that what was sent first is done first.
TEST_P(supervisor_matrix, does_in_each_phase_what_is_allowed_and_leaves_no_child) {
    const supervised_case& in = GetParam();
    ward first, second;
    second.heeds = false;
    std::atomic<int> how = lives;
    std::atomic<bool> watched = false;
    {
        processes all({.workers = 1, .stop_ns = 0});
        const pid s = all.spawn(std::make_unique<supervisor>(
                                    std::vector<supervisor::child>{first.child(), second.child()},
                                    supervisor::options{.strategy = in.strategy,
                                                        .restarts = 1,
                                                        .within_ns = 3'600'000'000'000,
                                                        .patience_ns = 3'600'000'000'000}))
                          .id;
        // It outlives a stop, to be told.
        (void)all.spawn(std::make_unique<acting>([&](event_batch& batch, step_output& out) {
            if (!watched.exchange(true)) {
                EXPECT_EQ(out.watch(s), send_answer::accepted);
            }
            while (event* e = batch.next())
                if (e->type == event_type::ended) how = static_cast<int>(*e->data.get<process_end>()), out.finish();
        }));
        wait_for([&] { return watched.load(); });
        // Each answer comes after what the worker had to do before: the ends of children and what the supervisor did
        // about them.
        const pid probe = all.spawn(std::make_unique<acting>([](event_batch& batch, step_output&) {
                                 while (batch.next() != nullptr) {  // outlives a stop, too
                                 }
                             }))
                              .id;
        const auto settle = [&] {
            for (int i = 0; i != 4; ++i) (void)all.look(s, real_sync::forever), (void)all.look(probe, real_sync::forever);
        };
        settle();
        std::uint64_t stops = 0;
        for (const char* at = in.script; *at != '\0'; ++at) {
            const auto tell = [&](ward& w, int what) { EXPECT_EQ(all.send(pid{w.id}, what), send_answer::accepted); };
            switch (*at) {
                case 'f':
                    stops += in.strategy == all_of_them && second.living == 1 ? 1U : 0U;
                    tell(first, 1);
                    break;
                case 'F':
                    tell(second, 1);
                    break;
                case 'e':
                    tell(first, 0);
                    break;
                case 'E':
                    tell(second, 0);
                    break;
                case 'c':
                    ++stops;
                    EXPECT_EQ(all.cancel(s), send_answer::accepted);
                    break;
                case 'k':
                    EXPECT_EQ(all.kill(s), send_answer::accepted);
                    break;
                case 's':
                    ++stops;
                    all.request_stop();
                    break;
                case 'p':
                    (void)all.complete_yield(s, stops);
                    break;
                case 'q':
                    (void)all.complete_yield(s, 1);
                    break;
                case 'r':
                    first.refuses = true;
                    break;
                case 'm':
                    first.make_throws = true;
                    break;
                default:
                    FAIL() << *at;
            }
            settle();
        }
        EXPECT_EQ(all.lives(s), in.end == lives);
        EXPECT_EQ(how, in.end);
        EXPECT_EQ(first.starts, in.first_starts);
        EXPECT_EQ(second.starts, in.second_starts);
        EXPECT_EQ(second.cancels, in.second_cancels);
        if (in.end != lives) {
            EXPECT_EQ(first.living + second.living, 0) << "a child outlives its supervisor";
        }
    }
    EXPECT_EQ(first.living + second.living, 0);
}
INSTANTIATE_TEST_SUITE_P(each, supervisor_matrix, testing::ValuesIn(supervised_cases),
                         [](const testing::TestParamInfo<supervised_case>& c) { return std::string(c.param.name); });

// One that heeds the cancel of a restart has finished, and is no less to be started again.
TEST(supervisor_phases, what_a_restart_has_cancelled_is_started_again_also_if_it_is_not_the_last_to_end) {
    ward first, second, third;
    second.heeds = false;
    processes all({.workers = 1, .stop_ns = 0});
    const auto made = all.spawn(
        std::make_unique<supervisor>(std::vector<supervisor::child>{first.child(), second.child(), third.child()},
                                     supervisor::options{.strategy = all_of_them, .patience_ns = 3'600'000'000'000}));
    EXPECT_TRUE(made);
    wait_for([&] { return first.living + second.living + third.living == 3; });
    EXPECT_EQ(all.send(pid{first.id}, 1), send_answer::accepted);
    wait_for([&] { return second.cancels == 1 && third.living == 0; });
    for (int i = 0; i != 4; ++i) (void)all.look(made.id, real_sync::forever);
    EXPECT_EQ(all.send(pid{second.id}, 0), send_answer::accepted);
    wait_for([&] { return second.starts == 2 && second.living == 1; });
    for (int i = 0; i != 4; ++i) (void)all.look(made.id, real_sync::forever);
    EXPECT_EQ(first.starts, 2);
    EXPECT_EQ(third.starts, 2);
}

// A bound of two. The process sends so many to itself in its init, before the bound holds; its first step takes
// these. Then it is filled by a step that sends in nobody's name, which no policy suspends, and something happens.
enum class then_it_is { taken_from, cancelled, made_to_end, stopped };
struct mailbox_case {
    when_full policy;
    int init_sends;
    then_it_is what;
};
void PrintTo(const mailbox_case& c, std::ostream* out) {
    *out << static_cast<int>(c.policy) << ", " << c.init_sends << ", " << static_cast<int>(c.what);
}
std::vector<mailbox_case> mailbox_cases() {
    std::vector<mailbox_case> cases;
    for (const when_full policy : {when_full::refuse, when_full::suspend_sender, when_full::drop_oldest})
        for (const int sends : {0, 1, 2, 3, 5})
            for (const then_it_is what :
                 {then_it_is::taken_from, then_it_is::cancelled, then_it_is::made_to_end, then_it_is::stopped})
                cases.push_back({policy, sends, what});
    return cases;
}

struct mailbox_matrix : testing::TestWithParam<mailbox_case> {};

TEST_P(mailbox_matrix, counts_what_lies_in_it_and_nothing_else) {
    const mailbox_case& in = GetParam();
    struct receiver : process {
        receiver(const mailbox_case& c, std::atomic<int>& step, std::atomic<int>& may, std::vector<int>& to)
            : of(c), steps(step), allowed(may), got(to) {}
        init_answer init(context& c, std::string_view, payload) override {
            for (int i = 0; i != of.init_sends; ++i) EXPECT_EQ(c.scheduler.send(c.self, i), send_answer::accepted);
            c.mailbox = {.most = 2, .then = of.policy};
            return init_answer::ready;
        }
        void step(events& batch, output& out) override {
            while (event* e = batch.next())
                if (e->type == event_type::cancel)
                    out.finish();
                else
                    got.push_back(*e->data.get<int>());
            ++steps;
            wait_for([&] { return steps <= allowed; });
        }
        const mailbox_case& of;
        std::atomic<int>&steps, &allowed;
        std::vector<int>& got;
    };
    const int room = in.policy == when_full::drop_oldest ? 4 : 2;  // twice: what does not run drops nothing
    const int kept_of_init = in.policy == when_full::drop_oldest ? std::min(in.init_sends, 2) : in.init_sends;
    std::atomic<int> steps = 0, allowed = 0, sent = -1;
    std::vector<int> got;
    processes all({.workers = 2});
    const pid to = all.spawn(std::make_unique<receiver>(in, steps, allowed, got)).id;
    wait_for([&] { return steps == 1; });
    const pid filler = all.spawn(on_events([&](event&, step_output& out) {
                              int n = 0;
                              while (out.scheduler().send(to, 100 + n) == send_answer::accepted) ++n;
                              sent = n;
                          }))
                           .id;
    const auto fills = [&] {
        sent = -1;
        EXPECT_EQ(all.send(filler, 0), send_answer::accepted);
        wait_for([&] { return sent != -1; });
        return sent.load();
    };
    EXPECT_EQ(got.size(), static_cast<std::size_t>(kept_of_init));
    EXPECT_EQ(fills(), room) << "what init had sent was not counted";
    EXPECT_EQ(fills(), 0);
    switch (in.what) {
        case then_it_is::taken_from:
            for (int i = 1; i != 4; ++i) {
                allowed = i;
                wait_for([&] { return steps == i + 1; });
                EXPECT_EQ(fills(), room) << "as many as were taken or dropped";
                EXPECT_EQ(got.size(), static_cast<std::size_t>(kept_of_init + 2 * i));
            }
            break;
        case then_it_is::cancelled:
            EXPECT_EQ(all.cancel(to), send_answer::accepted);
            EXPECT_EQ(fills(), 0) << "a cancel takes no room and makes none";
            break;
        case then_it_is::made_to_end:
            EXPECT_EQ(all.kill(to), send_answer::accepted);
            EXPECT_EQ(fills(), 0);
            break;
        case then_it_is::stopped:
            all.request_stop();
            break;
    }
    allowed = 100;
    if (in.what != then_it_is::taken_from) wait_for([&] { return !all.lives(to); });
    const auto report = all.stop(real_sync::forever);
    EXPECT_TRUE(report.over);
    if (in.what == then_it_is::taken_from) return;
    const bool read_all = in.what != then_it_is::made_to_end;
    EXPECT_EQ(got.size(), static_cast<std::size_t>(kept_of_init + (read_all ? 2 : 0)));
    // What was dropped or not read; of each process the last word.
    const int dropped = room - 2 + in.init_sends - kept_of_init;
    EXPECT_EQ(all.counters().dead_letters, static_cast<std::uint64_t>(read_all ? dropped : in.init_sends - kept_of_init + room));
}
INSTANTIATE_TEST_SUITE_P(each, mailbox_matrix, testing::ValuesIn(mailbox_cases()));

// By one worker, whose newest free place is given out first: what the last process there waited for is not the next
// one's wait.
TEST(mailbox_phases, one_that_was_killed_while_it_waited_closes_no_circle_of_the_next_in_its_place) {
    struct bounded : acting {
        using acting::acting;
        init_answer init(context& c, std::string_view, payload) override {
            c.mailbox = {.most = 1, .then = when_full::suspend_sender};
            return init_answer::ready;
        }
    };
    std::atomic<int> circles = 0, phase = 0;
    send_answer said = send_answer::full;
    pid receiver, waited;
    processes all(
        {.workers = 1, .stop_ns = 0, .on_full_circle = [&](const std::vector<pid>&) { ++circles; }});
    const auto ignores = [](event_batch& batch, step_output&) {
        while (batch.next() != nullptr) {
        }
    };
    // In each step all but it stand still; it goes on when they have done what the last step began.
    receiver = all.spawn(std::make_unique<bounded>([&](event_batch& batch, step_output& out) {
                      while (batch.next() != nullptr) {
                      }
                      if (phase == 1) {
                          const pid next = out.spawn(std::make_unique<bounded>(ignores)).id;
                          EXPECT_EQ(next.place(), waited.place());
                          EXPECT_EQ(out.send(next, 0), send_answer::accepted);
                          said = out.send(next, 0);  // full: it waits
                          phase = 2;
                      }
                  }))
                   .id;
    std::atomic<bool> sent = false;
    // A step that fills the receiver and lets the other wait for it, kills that, and lets it end before the receiver
    // is stepped.
    const pid waits = all.spawn(std::make_unique<bounded>([&](event_batch& batch, step_output& out) {
                   while (batch.next() != nullptr) {
                   }
                   if (sent.exchange(true)) return;
                   waited = out.self();
                   EXPECT_EQ(out.send(receiver, 0), send_answer::accepted);
                   EXPECT_EQ(out.send(receiver, 0), send_answer::accepted);
                   EXPECT_EQ(out.scheduler().kill(out.self()), send_answer::accepted);
                   phase = 1;
               }))
                .id;
    wait_for([&] { return phase == 2 || !all.lives(waits); });
    for (int i = 0; i != 4; ++i) (void)all.look(receiver, 1'000'000);
    if (phase != 2) {
        EXPECT_EQ(all.send(receiver, 0), send_answer::accepted);
        wait_for([&] { return phase == 2; });
    }
    EXPECT_EQ(said, send_answer::accepted);
    EXPECT_EQ(circles, 0);
}

}  // namespace
}  // namespace process_matrix_test
