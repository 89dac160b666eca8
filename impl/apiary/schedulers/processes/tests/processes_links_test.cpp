// Links, watches that are taken back, requests of a state machine, and what one sees from outside: look, stalled,
// trace.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <sstream>
#include <string>
#include <vector>

#include "acting.hpp"

namespace processes_links_test {
namespace {

using namespace apiary;

enum class does { finish, fail };

// Ends as it is told; links to `other` first.
std::unique_ptr<process> member(pid other, std::atomic<int>& linked, std::atomic<int>& closed) {
    return std::make_unique<acting>(
        [&linked, other, begun = false](event_batch& batch, step_output& out) mutable {
            if (!std::exchange(begun, true)) {
                if (other) {
                    EXPECT_EQ(out.link(other), send_answer::accepted);
                    EXPECT_EQ(out.link(other), send_answer::accepted) << "again";
                }
                ++linked;
            }
            while (event* e = batch.next()) {
                if (e->type == event_type::cancel) return out.finish();
                if (const does* d = e->data.get<does>()) {
                    if (*d == does::fail) throw 1;
                    return out.finish();
                }
            }
        },
        [&closed] { ++closed; });
}

TEST(processes_links, one_that_fails_takes_with_it_those_it_is_linked_to_and_one_that_finishes_does_not) {
    for (const bool from_the_linker : {false, true})
        for (const does what : {does::fail, does::finish}) {
            processes all({.workers = 2, .stop_ns = 1'000'000});
            std::atomic<int> linked = 0, closed = 0, how = -1;
            const pid a = all.spawn(member({}, linked, closed)).id;
            wait_for([&] { return linked == 1; });
            const pid b = all.spawn(member(a, linked, closed)).id;
            const pid c = all.spawn(member(b, linked, closed)).id;
            wait_for([&] { return linked == 3; });
            std::atomic<bool> watching = false;
            const pid other = what == does::finish ? b : from_the_linker ? a : c;
            (void)all.spawn(std::make_unique<acting>([&, begun = false](event_batch& batch, step_output& out) mutable {
                if (!std::exchange(begun, true)) {
                    EXPECT_EQ(out.watch(other), send_answer::accepted);
                    watching = true;
                }
                while (event* e = batch.next())
                    if (e->type == event_type::ended) how = static_cast<int>(*e->data.get<process_end>());
            }));
            wait_for([&] { return watching.load(); });
            EXPECT_EQ(all.send(from_the_linker ? c : a, what), send_answer::accepted);
            if (what == does::fail) {
                wait_for([&] { return closed == 3; });
                wait_for([&] { return how == static_cast<int>(process_end::linked); });
            } else {
                wait_for([&] { return closed == 1; });
                // After what the end of the other has told it, if anything.
                EXPECT_EQ(all.send(b, does::finish), send_answer::accepted);
                wait_for([&] { return how != -1; });
                EXPECT_EQ(how, static_cast<int>(process_end::finished));
            }
        }
}

TEST(processes_links, an_unlinked_one_lives_on_and_a_link_to_the_dead_is_refused) {
    processes all({.workers = 1, .stop_ns = 1'000'000});
    std::atomic<int> linked = 0, closed = 0;
    const pid a = all.spawn(member({}, linked, closed)).id;
    wait_for([&] { return linked == 1; });
    std::atomic<bool> unlinked = false, finished = false;
    const pid b = all.spawn(on_events([&](event&, step_output& out) {
                         if (unlinked) return finished = true, out.finish();
                         EXPECT_EQ(out.link(out.self()), send_answer::accepted) << "to itself: nothing";
                         EXPECT_EQ(out.link(a), send_answer::accepted);
                         EXPECT_EQ(out.unlink(a), send_answer::accepted);
                         EXPECT_EQ(out.unlink(a), send_answer::no_such_process);
                         EXPECT_NE(out.link(pid{}), send_answer::accepted);
                         unlinked = true;
                     }))
                      .id;
    EXPECT_EQ(all.send(b, 0), send_answer::accepted);
    wait_for([&] { return unlinked.load(); });
    EXPECT_EQ(all.send(a, does::fail), send_answer::accepted);
    wait_for([&] { return closed == 1; });
    const auto seen = all.look(b, real_sync::forever);
    EXPECT_TRUE(seen.lives && seen.told);
    EXPECT_TRUE(seen.linked.empty());
    EXPECT_EQ(all.send(b, 0), send_answer::accepted);
    wait_for([&] { return !all.lives(b); });
    EXPECT_TRUE(finished) << "by its own step, after the end of the other";
}

TEST(processes_links, a_link_and_its_unlink_that_cross_with_a_link_leave_it_at_both_ends) {
    processes all({.workers = 2, .stop_ns = 1'000'000});
    std::atomic<int> at = 0;
    std::atomic<std::uint64_t> first = 0;
    const auto member = [](std::function<void(step_output&)> begin) {
        return std::make_unique<acting>([begin, begun = false](event_batch& batch, step_output& out) mutable {
            if (!std::exchange(begun, true)) begin(out);
            while (event* e = batch.next())
                if (e->type == event_type::cancel) out.finish();
        });
    };
    const pid b = all.spawn(member([&](step_output& out) {
                         at = 1;
                         wait_for([&] { return at == 2; });
                         EXPECT_EQ(out.link({first}), send_answer::accepted);
                         at = 3;
                     }))
                      .id;
    wait_for([&] { return at == 1; });
    const pid a = all.spawn(member([&](step_output& out) {
                         EXPECT_EQ(out.link(b), send_answer::accepted);
                         EXPECT_EQ(out.unlink(b), send_answer::accepted);
                         first = out.self().value;
                         at = 2;
                     }))
                      .id;
    wait_for([&] { return at == 3; });
    EXPECT_EQ(all.look(a, real_sync::forever).linked, std::vector{b});
    EXPECT_EQ(all.look(b, real_sync::forever).linked, std::vector{a});
    EXPECT_EQ(all.kill(b), send_answer::accepted);
    wait_for([&] { return !all.lives(a); });
}

TEST(process_links, an_unlink_takes_back_what_its_sender_has_made_and_has_seen) {
    const pid other = pid::of(1, 1);
    process_links links;
    links.made(other, 5);
    ASSERT_NE(links.find(other), nullptr);
    EXPECT_EQ(links.find(other)->theirs, 5U);
    links.taken_back(other, 0);
    EXPECT_EQ(links.find(other), nullptr);
    links.taken_back(other, 0);  // there is none
    links.made(other, 5);
    links.taken_back(other, 3);  // of a link that this end has taken back meanwhile
    EXPECT_EQ(links.find(other), nullptr);
    const std::uint32_t old = links.make(other);
    EXPECT_TRUE(links.erase(other));
    EXPECT_FALSE(links.erase(other));
    const std::uint32_t name = links.make(other);
    links.made(other, 6);
    EXPECT_EQ(links.find(other)->theirs, 6U);
    links.taken_back(other, old);
    ASSERT_NE(links.find(other), nullptr) << "the other has not seen the new one";
    EXPECT_EQ(links.find(other)->theirs, 0U);
    links.taken_back(other, name);
    EXPECT_EQ(links.find(other), nullptr);
}

TEST(processes_links, the_end_of_a_linked_one_ends_the_blocked) {
    processes all({.workers = 1, .stop_ns = 1'000'000, .handlers = {{1, [](auto&, process_command&&) {}}}});
    std::atomic<int> linked = 0, closed = 0;
    const pid a = all.spawn(member({}, linked, closed)).id;
    std::atomic<bool> blocks = false;
    const pid b = all.spawn(std::make_unique<acting>([&](event_batch&, step_output& out) {
                         EXPECT_EQ(out.link(a), send_answer::accepted);
                         out.call(1, 1);
                         out.block();
                         blocks = true;
                     }))
                      .id;
    wait_for([&] { return blocks.load(); });
    EXPECT_EQ(all.kill(a), send_answer::accepted);
    wait_for([&] { return !all.lives(b); });
    EXPECT_EQ(closed, 1);
}

TEST(processes_links, a_watch_that_was_taken_back_tells_nothing) {
    processes all({.workers = 1, .stop_ns = 1'000'000});
    const pid watched = all.spawn(deaf()).id;
    std::atomic<int> told = 0;
    std::atomic<bool> back = false;
    const pid watcher =
        all.spawn(std::make_unique<acting>([&, begun = false](event_batch& batch, step_output& out) mutable {
               if (!std::exchange(begun, true)) {
                   EXPECT_EQ(out.watch(watched), send_answer::accepted);
                   EXPECT_EQ(out.watch(watched), send_answer::accepted);
                   EXPECT_EQ(out.unwatch(watched), send_answer::accepted);
                   back = true;
               }
               while (event* e = batch.next())
                   if (e->type == event_type::cancel)
                       out.finish();
                   else
                       ++told;
           }))
            .id;
    wait_for([&] { return back.load(); });
    EXPECT_TRUE(all.look(watched, real_sync::forever).watchers.empty());
    EXPECT_EQ(all.kill(watched), send_answer::accepted);
    wait_for([&] { return !all.lives(watched); });
    EXPECT_TRUE(all.look(watcher, real_sync::forever).told);
    EXPECT_TRUE(all.stop(real_sync::forever).over);
    EXPECT_EQ(told, 0);
}

TEST(processes_links, watchers_that_have_ended_are_left_out) {
    processes all({.workers = 1, .stop_ns = 1'000'000});
    const pid watched = all.spawn(deaf()).id;
    std::atomic<bool> watches = false, told = false;
    const pid stays = all.spawn(std::make_unique<acting>([&](event_batch& batch, step_output& out) {
                             if (!watches) (void)out.watch(watched);
                             watches = true;
                             while (event* e = batch.next())
                                 if (e->type == event_type::ended) told = true, out.finish();
                         }))
                          .id;
    wait_for([&] { return watches.load(); });
    for (int i = 0; i != 1000; ++i)
        (void)all.spawn(std::make_unique<acting>([watched](event_batch&, step_output& out) {
            EXPECT_EQ(out.watch(watched), send_answer::accepted);
            out.finish();
        }));
    wait_for([&] { return all.counters().living == 2; });
    const auto watchers = all.look(watched, real_sync::forever).watchers;
    EXPECT_LT(watchers.size(), 100U);
    EXPECT_EQ(std::count(watchers.begin(), watchers.end(), stays), 1);
    EXPECT_EQ(all.kill(watched), send_answer::accepted);
    wait_for([&] { return told.load(); });
}

TEST(processes_links, a_request_is_answered_once_by_the_tag_it_was_given) {
    processes all({.workers = 2, .stop_ns = 1'000'000});
    const pid server = all.spawn(on_events([](event& e, step_output& out) {
                              ASSERT_EQ(e.type, event_type::request);
                              const int n = *e.data.get<int>();
                              EXPECT_EQ(out.answer(e.reply(), n + 1), send_answer::accepted);
                              (void)out.answer(e.reply(), n + 2);  // counted, and dropped
                          }))
                           .id;
    std::vector<std::pair<std::uint64_t, int>> got;
    (void)all.spawn(std::make_unique<acting>([&, begun = false](event_batch& batch, step_output& out) mutable {
        if (!std::exchange(begun, true)) {
            for (std::uint32_t tag : {5U, 9U})
                EXPECT_EQ(out.request(server, tag, static_cast<int>(tag)), send_answer::accepted);
        }
        while (event* e = batch.next()) got.emplace_back(e->tag, *e->data.get<int>());
        got.size() == 2 ? out.finish() : out.block();
    }));
    wait_for([&] { return all.counters().living == 1; });
    EXPECT_TRUE(all.stop(real_sync::forever).over);
    EXPECT_EQ(got, (std::vector<std::pair<std::uint64_t, int>>{{5, 6}, {9, 10}}));
    EXPECT_EQ(all.counters().late_completions, 2U);
}

TEST(processes_links, the_end_of_a_receiver_ends_no_later_request_to_another_by_the_same_tag) {
    std::vector<reply_to> kept;
    std::vector<yield_error> told;
    processes all({.workers = 1, .stop_ns = 1'000'000});
    struct forwarded {
        reply_to whom;
    };
    const auto answers = [](reply_to r, step_output& out) { EXPECT_EQ(out.answer(r, 1), send_answer::accepted); };
    const pid b =
        all.spawn(on_events([&](event& e, step_output& out) { answers(e.data.get<forwarded>()->whom, out); })).id;
    const pid a = all.spawn(on_events([&](event& e, step_output& out) {
                         EXPECT_EQ(out.send(b, forwarded{e.reply()}), send_answer::accepted);
                     }))
                      .id;
    const pid c = all.spawn(on_events([&](event& e, step_output& out) {
                         e.type == event_type::request ? kept.push_back(e.reply()) : answers(kept[0], out);
                     }))
                      .id;
    std::atomic<bool> asked_c = false;
    const pid p = all.spawn(std::make_unique<acting>([&](event_batch& batch, step_output& out) {
                         while (event* e = batch.next()) {
                             if (e->type == event_type::cancel) return out.finish();
                             told.push_back(e->error);
                         }
                         if (told.size() == 2) return out.finish();
                         EXPECT_EQ(out.request(told.empty() ? a : c, 5, 0), send_answer::accepted);
                         asked_c = !told.empty();
                         out.block();
                     }))
                      .id;
    wait_for([&] { return asked_c.load(); });
    EXPECT_EQ(all.kill(a), send_answer::accepted);
    wait_for([&] { return !all.lives(a); });
    EXPECT_TRUE(all.look(p, real_sync::forever).lives);
    EXPECT_EQ(all.send(c, 0), send_answer::accepted);
    wait_for([&] { return !all.lives(p); });
    (void)all.stop(real_sync::forever);  // `lives` is a hint: what p has done is seen after the workers' end
    EXPECT_EQ(told, (std::vector{yield_error::none, yield_error::none}));
}

TEST(processes_links, a_request_whose_payload_throws_leaves_no_call) {
    struct throws {
        throws() = default;
        throws(const throws&) { throw 1; }
    };
    processes all({.workers = 1, .stop_ns = 1'000'000});
    const pid server = all.spawn(on_events([](event& e, step_output& out) { (void)out.answer(e.reply()); })).id;
    std::atomic<int> answers = 0;
    (void)all.spawn(std::make_unique<acting>([&, begun = false](event_batch& batch, step_output& out) mutable {
        while (batch.next() != nullptr) ++answers;
        if (std::exchange(begun, true)) return out.finish();
        const throws data;
        EXPECT_THROW((void)out.request(server, 1, data), int);
        EXPECT_EQ(out.request(server, 1, 0), send_answer::accepted) << "the tag is free";
        out.block();
    }));
    wait_for([&] { return all.counters().living == 1; });
    EXPECT_EQ(answers, 1);
}

TEST(processes_links, an_answer_whose_payload_throws_leaves_the_request_to_be_answered) {
    struct throws {
        throws() = default;
        throws(const throws&) { throw 1; }
    };
    enum class then { lets_it_out, answers_again, finishes_later };
    for (const then what : {then::lets_it_out, then::answers_again, then::finishes_later}) {
        processes all({.workers = 1, .stop_ns = 1'000'000});
        const pid server = all.spawn(on_events([&](event& e, step_output& out) {
                                  if (e.type == event_type::message) return out.finish();
                                  const throws data;
                                  if (what == then::lets_it_out) (void)out.answer(e.reply(), data);
                                  EXPECT_THROW((void)out.answer(e.reply(), data), int);
                                  if (what == then::answers_again) (void)out.answer(e.reply(), 7);
                                  if (what == then::finishes_later) (void)out.send(out.self(), 0);
                              }))
                               .id;
        std::atomic<int> told = -1;
        (void)all.spawn(std::make_unique<acting>([&, begun = false](event_batch& batch, step_output& out) mutable {
            if (!std::exchange(begun, true)) (void)out.request(server, 1, 0);
            event* const e = batch.next();
            if (e == nullptr) return out.block();
            EXPECT_EQ(e->type, event_type::completed);
            EXPECT_EQ(e->error, what == then::answers_again ? yield_error::none : yield_error::no_answer);
            const int* const n = e->data.get<int>();
            told = n == nullptr ? 0 : *n;
            out.finish();
        }));
        wait_for([&] { return told != -1; });
        EXPECT_EQ(told, what == then::answers_again ? 7 : 0);
    }
}

// By lists that are looked through it took minutes.
TEST(processes_links, one_has_as_many_requests_at_a_time_as_it_likes_and_so_has_their_receiver) {
    constexpr std::uint32_t n = 200'000;
    processes all({.workers = 1});
    std::vector<reply_to> kept;
    const pid server = all.spawn(on_events([&](event& e, step_output& out) {
                              kept.push_back(e.reply());
                              if (kept.size() != n) return;
                              for (const reply_to r : kept) (void)out.answer(r, 1);
                          }))
                           .id;
    std::uint32_t answers = 0;
    std::atomic<bool> over = false;
    (void)all.spawn(std::make_unique<acting>([&, begun = false](event_batch& batch, step_output& out) mutable {
        for (std::uint32_t tag = 0; !begun && tag != n; ++tag) (void)out.request(server, tag, 0);
        begun = true;
        while (event* e = batch.next()) answers += e->error == yield_error::none ? 1U : 0U;
        if (answers != n) return out.block();
        out.finish();
        over = true;
    }));
    wait_for([&] { return over.load(); });
    EXPECT_EQ(answers, n);
    EXPECT_EQ(all.counters().late_completions, 0U);
}

TEST(processes_links, a_request_by_a_tag_that_is_in_use_ends_the_process) {
    processes all({.workers = 1, .stop_ns = 1'000'000});
    const pid server = all.spawn(deaf()).id;
    std::atomic<int> closed = 0;
    (void)all.spawn(std::make_unique<acting>(
        [&](event_batch&, step_output& out) {
            EXPECT_EQ(out.request(server, 1, 0), send_answer::accepted);
            (void)out.request(server, 1, 0);
            out.block();
        },
        [&] { ++closed; }));
    wait_for([&] { return closed == 1; });
}

TEST(processes_look, tells_state_steps_mail_and_whom_it_waits_for) {
    processes all({.workers = 1, .stop_ns = 1'000'000, .handlers = {{1, [](auto&, process_command&&) {}}}});
    std::vector<event> kept;
    const pid silent = all.spawn(on_events([&](event& e, step_output&) { kept.push_back(std::move(e)); })).id;
    std::atomic<int> steps = 0;
    const pid blocks = all.spawn(std::make_unique<acting>([&](event_batch& batch, step_output& out) {
                              while (event* e = batch.next())
                                  if (e->type == event_type::cancel) return out.finish();
                              if (steps == 1) {
                                  EXPECT_EQ(out.request(silent, 77, 1), send_answer::accepted);
                                  out.call(1, 3);
                                  out.block();
                              }
                              ++steps;
                          }))
                           .id;
    wait_for([&] { return steps == 1; });
    EXPECT_EQ(all.send(blocks, 1), send_answer::accepted);
    wait_for([&] { return steps == 2; });
    for (int i = 0; i != 3; ++i) EXPECT_EQ(all.send(blocks, i), send_answer::accepted);
    const process_view seen = all.look(blocks, real_sync::forever);
    EXPECT_TRUE(seen.lives && seen.told);
    EXPECT_EQ(seen.steps, 2U);
    EXPECT_EQ(seen.mail, 3U);
    EXPECT_EQ(seen.calls, (std::vector<std::uint64_t>{77, 3}));
    EXPECT_EQ(seen.waits_for, std::vector{silent});
    EXPECT_EQ(all.look(blocks, 0).told, false);
    wait_for([&] { return all.look(blocks, 0).state == process_state::blocked; });
    EXPECT_EQ(steps, 2) << "no step is told";
    EXPECT_FALSE(all.look(pid{}).lives);
    EXPECT_TRUE(all.stop(real_sync::forever).over);
    EXPECT_FALSE(all.look(blocks).lives);
}

TEST(processes_look, names_a_step_that_does_not_return_and_no_other) {
    std::atomic<bool> in_step = false, go = false;
    std::atomic<std::uint64_t> told = 0;
    std::atomic<int> times = 0;
    processes all({.workers = 2, .stop_ns = 1'000'000, .stall_ns = 2'000'000, .on_stall = [&](const stalled_step& s) {
                       told = s.id.value;
                       ++times;
                   }});
    EXPECT_TRUE(all.stalled(1'000'000).empty());
    const pid hangs = all.spawn(std::make_unique<acting>([&](event_batch&, step_output& out) {
                             in_step = true;
                             wait_for([&] { return go.load(); });
                             out.finish();
                         }))
                          .id;
    wait_for([&] { return in_step.load(); });
    const auto found = all.stalled(1'000'000);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].id, hangs);
    EXPECT_LT(found[0].worker, 2U);
    const process_view seen = all.look(hangs, 1'000'000);
    EXPECT_EQ(seen.state, process_state::running);
    EXPECT_FALSE(seen.told);
    wait_for([&] { return told == hangs.value; });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(times, 1) << "once";
    go = true;
    all.join();
    EXPECT_TRUE(all.stalled(1'000'000).empty());
}

TEST(processes_look, does_not_name_a_step_that_returns_meanwhile) {
    std::atomic<bool> in_step = false, asked = false, answered = false;
    processes all({.workers = 1});
    (void)all.spawn(std::make_unique<acting>([&](event_batch&, step_output& out) {
        in_step = true;
        wait_for([&] { return asked.load(); });
        // Nothing says that the first of the two looks is over. An answer that does not wait for the second finds
        // this step yet.
        const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
        wait_for([&] { return answered || std::chrono::steady_clock::now() > end; });
        out.finish();
    }));
    wait_for([&] { return in_step.load(); });
    all.close_the_door();  // so the end of that step is the end of all, for which an hour's look does not wait
    asked = true;
    const auto found = all.stalled(3'600'000'000'000);
    answered = true;
    EXPECT_TRUE(found.empty());
}

TEST(processes_look, nobody_looks_for_stalled_steps_when_nobody_is_to_be_told) {
    std::atomic<bool> in_step = false, go = false;
    processes all({.workers = 1, .stall_ns = 1});
    (void)all.spawn(std::make_unique<acting>([&](event_batch&, step_output& out) {
        in_step = true;
        wait_for([&] { return go.load(); });
        out.finish();
    }));
    wait_for([&] { return in_step.load(); });
    EXPECT_EQ(all.stalled(20'000'000).size(), 1U) << "who asks is told";
    go = true;
}

TEST(processes_look, a_stall_of_a_nanosecond_is_looked_for_and_one_of_none_is_not) {
    for (const std::int64_t ns : {0, 1}) {
        std::atomic<int> told = 0;
        std::atomic<bool> go = false;
        processes all({.workers = 1, .stall_ns = ns, .on_stall = [&](const stalled_step&) { ++told; }});
        (void)all.spawn(std::make_unique<acting>([&](event_batch&, step_output& out) {
            wait_for([&] { return go.load(); });
            out.finish();
        }));
        if (ns != 0) wait_for([&] { return told != 0; });
        while (all.stalled(5'000'000).empty()) {
        }
        EXPECT_EQ(told != 0, ns != 0);
        go = true;
    }
}

struct traced : real_sync {
    using process_trace = event_trace;
};

TEST(processes_look, writes_what_its_workers_did_when_its_policy_is_traced) {
    using scheduler = basic_processes<traced>;
    struct counts : basic_process<traced> {
        init_answer init(context&, std::string_view, payload) override { return init_answer::ready; }
        void step(events& batch, output& out) override {
            while (batch.next() != nullptr)
                if (++n == 3) out.finish();
        }
        int n = 0;
    };
    scheduler all({.workers = 1});
    const auto made = all.spawn(std::make_unique<counts>());
    for (int i = 0; i != 3; ++i) EXPECT_EQ(all.send(made.id, i), send_answer::accepted);
    all.join();
    wait_for([&] { return all.counters().living == 0; });
    (void)all.stop();
    std::ostringstream text;
    all.write_trace(text);
    EXPECT_NE(text.str().find("process worker 0"), std::string::npos);
    EXPECT_NE(text.str().find("\"name\":\"task\""), std::string::npos);
    EXPECT_NE(text.str().find("\"tid\":1"), std::string::npos) << "0 is no track of a worker's";
}

TEST(processes_look, refuses_a_negative_stall) {
    EXPECT_THROW(processes({.workers = 1, .stall_ns = -1}), std::invalid_argument);
}

}  // namespace
}  // namespace processes_links_test
