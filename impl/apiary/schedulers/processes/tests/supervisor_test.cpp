// Supervisors: which child is started again, with which others, and when that ends.
#include <gtest/gtest.h>

#include <apiary/schedulers/processes/supervisor.hpp>
#include <apiary/testing/comes_true.hpp>

#include <atomic>
#include <stdexcept>
#include <vector>

#include "acting.hpp"

namespace supervisor_test {
namespace {

using namespace apiary;

// So many children that note their pids; a message `true` makes one throw, `false` finish.
struct family {
    struct one {
        std::atomic<std::uint64_t> id = 0;
        std::atomic<int> starts = 0, cancels = 0;
    };
    std::array<one, 3> all;

    std::vector<supervisor::child> children() {
        std::vector<supervisor::child> made;
        for (one& o : this->all)
            made.push_back({[&o] {
                return std::make_unique<acting>([&o, begun = false](event_batch& batch, step_output& out) mutable {
                    if (!std::exchange(begun, true)) {
                        o.id = out.self().value;
                        ++o.starts;
                    }
                    while (event* e = batch.next()) {
                        if (e->type == event_type::cancel) {
                            ++o.cancels;
                            return out.finish();
                        }
                        if (*e->data.get<bool>()) throw std::runtime_error("child");
                        out.finish();
                    }
                });
            }});
        return made;
    }
    void wait_for_starts(int a, int b, int c) {
        wait_for([&] { return all[0].starts == a && all[1].starts == b && all[2].starts == c; });
    }
    pid of(std::size_t i) const { return {all[i].id}; }
};

// Watches one, and notes how it ended. A process that has ended cannot be watched, so a test
// that lets one end waits for `watches` first.
constexpr int watches = -2;
std::unique_ptr<process> watching(pid which, std::atomic<int>& how) {
    return std::make_unique<acting>([&how, which, begun = false](event_batch& batch, step_output& out) mutable {
        if (!std::exchange(begun, true)) {
            EXPECT_EQ(out.watch(which), send_answer::accepted);
            how = watches;
        }
        while (event* e = batch.next()) {
            if (e->type == event_type::ended) how = static_cast<int>(*e->data.get<process_end>());
            out.finish();
        }
    });
}

TEST(supervisor, starts_one_again_for_one) {
    processes all({.workers = 2});
    family f;
    (void)all.spawn(std::make_unique<supervisor>(f.children()));
    f.wait_for_starts(1, 1, 1);
    const pid before = f.of(1);
    EXPECT_EQ(all.send(before, true), send_answer::accepted);
    f.wait_for_starts(1, 2, 1);
    EXPECT_NE(f.of(1), before);
    const pid killed = f.of(2);
    EXPECT_EQ(all.kill(killed), send_answer::accepted);
    f.wait_for_starts(1, 2, 2);
    // Its successor begins before the books know of its end: the stop may still report that one.
    for (const auto& one : all.stop(real_sync::forever).forced) EXPECT_EQ(one.id, killed);
    for (const auto& one : f.all) EXPECT_EQ(one.cancels, 1) << "the stop tells each, and so does their supervisor";
}

TEST(supervisor, starts_one_again_when_the_last_one_has_been_closed_and_destroyed) {
    struct exclusive : acting {
        exclusive(std::atomic<int>& held, std::atomic<int>& starts)
            : acting([](events&, output&) { throw 1; },
                     [&held] {
                         std::this_thread::sleep_for(std::chrono::milliseconds(2));  // long enough for the other worker
                         --held;
                     }) {
            EXPECT_EQ(++held, 1) << "what the last one held is held yet";
            ++starts;
        }
    };
    std::atomic<int> held = 0, starts = 0, how = -1;
    processes all({.workers = 2});
    std::vector<supervisor::child> children{{[&] { return std::make_unique<exclusive>(held, starts); }}};
    const auto made = all.spawn(std::make_unique<supervisor>(
        std::move(children), supervisor::options{.restarts = 20, .within_ns = real_sync::forever}));
    EXPECT_TRUE(made);
    all.join();
    EXPECT_EQ(starts, 21);
    EXPECT_EQ(held, 0);
}

TEST(supervisor, starts_all_again_for_all_but_those_that_had_finished) {
    processes all({.workers = 2});
    family f;
    (void)all.spawn(
        std::make_unique<supervisor>(f.children(), supervisor::options{.strategy = restart_strategy::one_for_all}));
    f.wait_for_starts(1, 1, 1);
    EXPECT_EQ(all.send(f.of(0), false), send_answer::accepted);
    wait_for([&] { return all.counters().living == 3; });
    EXPECT_EQ(all.send(f.of(1), true), send_answer::accepted);
    f.wait_for_starts(1, 2, 2);
    EXPECT_EQ(f.all[2].cancels, 1);
    EXPECT_EQ(all.send(f.of(2), true), send_answer::accepted);
    f.wait_for_starts(1, 3, 3);
}

TEST(supervisor, starts_the_last_one_again_for_all_when_the_others_have_finished) {
    processes all({.workers = 2});
    family f;
    (void)all.spawn(
        std::make_unique<supervisor>(f.children(), supervisor::options{.strategy = restart_strategy::one_for_all}));
    f.wait_for_starts(1, 1, 1);
    for (std::size_t i = 0; i != 2; ++i) EXPECT_EQ(all.send(f.of(i), false), send_answer::accepted);
    wait_for([&] { return all.counters().living == 2; });
    EXPECT_EQ(all.send(f.of(2), true), send_answer::accepted);
    wait_for([&] { return f.all[2].starts == 2 || all.counters().living == 0; });
    EXPECT_EQ(f.all[2].starts, 2);
    EXPECT_EQ(f.all[0].starts, 1);
}

TEST(supervisor, starts_none_again_for_all_before_the_last_has_ended) {
    std::atomic<int> fail_starts = 0, slow_starts = 0;
    std::atomic<std::uint64_t> failing = 0, slow = 0;
    std::atomic<bool> cancelled = false;
    processes all({.workers = 2, .stop_ns = 1'000'000});
    const auto fails = [&] {
        return std::make_unique<acting>([&, begun = false](event_batch& batch, step_output& out) mutable {
            if (!std::exchange(begun, true)) failing = out.self().value, ++fail_starts;
            while (event* e = batch.next()) {
                if (e->type == event_type::cancel) return out.finish();
                throw 1;
            }
        });
    };
    const auto heeds_late = [&] {
        return std::make_unique<acting>([&, begun = false](event_batch& batch, step_output& out) mutable {
            if (!std::exchange(begun, true)) slow = out.self().value, ++slow_starts;
            while (event* e = batch.next())
                if (e->type == event_type::cancel)
                    cancelled = true;
                else
                    out.finish();
        });
    };
    const auto made = all.spawn(std::make_unique<supervisor>(
        std::vector<supervisor::child>{{fails}, {deaf}, {heeds_late}},
        supervisor::options{.strategy = restart_strategy::one_for_all, .patience_ns = 3'600'000'000'000}));
    wait_for([&] { return fail_starts == 1 && slow_starts == 1 && all.counters().living == 4; });
    EXPECT_EQ(all.send(pid{failing}, 0), send_answer::accepted);
    wait_for([&] { return cancelled.load(); });
    wait_for([&] { return all.counters().living == 2 || slow_starts == 2; });
    // The second is answered after the step that the end of the other may have come with.
    for (int i = 0; i != 2; ++i) EXPECT_TRUE(all.look(made.id, real_sync::forever).told);
    EXPECT_EQ(slow_starts, 1);
    EXPECT_EQ(all.counters().living, 2U);
    EXPECT_EQ(all.send(pid{slow}, 0), send_answer::accepted);
    wait_for([&] { return fail_starts == 2 && slow_starts == 2; });
}

TEST(supervisor, finishes_when_all_have) {
    processes all({.workers = 2});
    family f;
    std::atomic<int> how = -1;
    const auto made = all.spawn(std::make_unique<supervisor>(f.children()));
    (void)all.spawn(watching(made.id, how));
    f.wait_for_starts(1, 1, 1);
    wait_for([&] { return how == watches; });
    for (std::size_t i = 0; i != 3; ++i) EXPECT_EQ(all.send(f.of(i), false), send_answer::accepted);
    all.join();
    EXPECT_EQ(how, static_cast<int>(process_end::finished));
    f.wait_for_starts(1, 1, 1);
}

TEST(supervisor, gives_up_on_a_child_that_dies_for_ever_and_takes_the_others_with_it) {
    for (const restart_strategy strategy : {restart_strategy::one_for_one, restart_strategy::one_for_all}) {
        std::atomic<int> starts = 0, others_closed = 0, how = -1, told = 0;
        processes all({.workers = 2, .on_exception = [&](const std::exception_ptr& e) {
                           try {
                               std::rethrow_exception(e);
                           } catch (const supervisor_gave_up&) {
                               ++told;
                           } catch (int) {
                           }
                       }});
        std::atomic<bool> go = false;
        const auto made = all.spawn(std::make_unique<supervisor>(
            std::vector<supervisor::child>{
                {[&] { return on_events([](event&, step_output&) {}, [&] { ++others_closed; }); }}, {[&] {
                    return std::make_unique<acting>([&](event_batch&, step_output&) {
                        wait_for([&] { return go.load(); });
                        ++starts;
                        throw 1;
                    });
                }}},
            supervisor::options{.strategy = strategy, .restarts = 4, .within_ns = 3'600'000'000'000}));
        (void)all.spawn(watching(made.id, how));
        wait_for([&] { return how == watches; });
        go = true;
        all.join();
        EXPECT_EQ(starts, 5) << "the first, and four restarts";
        EXPECT_EQ(how, static_cast<int>(process_end::threw));
        EXPECT_EQ(told, 1);
        EXPECT_EQ(others_closed, strategy == restart_strategy::one_for_one ? 1 : 5);
    }
}

TEST(supervisor, gives_up_on_a_child_whose_init_refuses) {
    struct refuses : process {
        init_answer init(context&, std::string_view, payload) override { return init_answer::failed; }
        void step(events&, output&) override {}
    };
    int made = 0;
    processes all({.workers = 1});
    (void)all.spawn(std::make_unique<supervisor>(
        std::vector<supervisor::child>{{[&] { return ++made, std::make_unique<refuses>(); }}}));
    all.join();
    EXPECT_EQ(made, 4);
    EXPECT_EQ(all.counters().exceptions, 1U);
}

TEST(supervisor, starts_all_again_when_one_of_them_refuses_its_init) {
    struct refuses_once : process {
        explicit refuses_once(std::atomic<int>& n) : inits(n) {}
        init_answer init(context&, std::string_view, payload) override {
            return ++inits == 1 ? init_answer::failed : init_answer::ready;
        }
        void step(events& batch, output& out) override {
            while (batch.next() != nullptr) out.finish();
        }
        std::atomic<int>& inits;
    };
    for (const restart_strategy strategy : {restart_strategy::one_for_one, restart_strategy::one_for_all}) {
        std::atomic<int> inits = 0, first_closed = 0;
        processes all({.workers = 2});
        (void)all.spawn(std::make_unique<supervisor>(
            std::vector<supervisor::child>{
                {[&] { return on_events([](event&, step_output&) {}, [&] { ++first_closed; }); }},
                {[&] { return std::make_unique<refuses_once>(inits); }}},
            supervisor::options{.strategy = strategy}));
        wait_for([&] { return inits == 2 && all.counters().living == 3; });
        EXPECT_EQ(first_closed, strategy == restart_strategy::one_for_one ? 0 : 1) << "its sibling had failed";
    }
}

TEST(supervisor, allows_as_many_failures_again_when_time_has_passed) {
    processes all({.workers = 2});
    family f;
    (void)all.spawn(std::make_unique<supervisor>(f.children(), supervisor::options{.restarts = 1, .within_ns = 1}));
    for (int n = 1; n != 6; ++n) {
        f.wait_for_starts(n, 1, 1);
        EXPECT_EQ(all.send(f.of(0), true), send_answer::accepted);
    }
    f.wait_for_starts(6, 1, 1);
}

TEST(supervisor, kills_those_that_do_not_heed_a_cancel) {
    processes all({.workers = 2});
    const auto made = all.spawn(std::make_unique<supervisor>(std::vector<supervisor::child>{{[] {
                                                                 return std::make_unique<acting>(
                                                                     [](event_batch& batch, step_output&) {
                                                                         while (batch.next() != nullptr) {
                                                                         }
                                                                     });
                                                             }}},
                                                             supervisor::options{.patience_ns = 1'000'000}));
    wait_for([&] { return all.counters().living == 2; });
    EXPECT_EQ(all.cancel(made.id), send_answer::accepted);
    all.join();
}

TEST(supervisor, the_patience_of_an_earlier_stop_kills_nobody_in_a_later_one) {
    std::atomic<int> starts = 0, by_themselves = 0;
    std::atomic<bool> cancelled = false;
    std::atomic<std::uint64_t> slow = 0;
    processes all({.workers = 2});
    const auto heeds_late = [&] {
        return std::make_unique<acting>(
            [&, first = false, begun = false](event_batch& batch, step_output& out) mutable {
                if (!std::exchange(begun, true)) {
                    first = ++starts == 1;
                    slow = out.self().value;
                }
                while (event* e = batch.next()) {
                    if (e->type == event_type::cancel && first) return out.finish();
                    if (e->type == event_type::cancel) cancelled = true;
                    if (e->type == event_type::message) return (void)++by_themselves, out.finish();
                }
            });
    };
    std::atomic<std::uint64_t> failing = 0;
    const auto fails = [&] {
        return std::make_unique<acting>([&, begun = false](event_batch& batch, step_output& out) mutable {
            if (!std::exchange(begun, true)) failing = out.self().value;  // not again by the step that throws
            while (batch.next() != nullptr) throw 1;
        });
    };
    const auto made = all.spawn(std::make_unique<supervisor>(
        std::vector<supervisor::child>{{fails}, {heeds_late}},
        supervisor::options{.strategy = restart_strategy::one_for_all, .patience_ns = 3'600'000'000'000}));
    wait_for([&] { return starts == 1 && failing != 0; });
    EXPECT_EQ(all.send(pid{failing.exchange(0)}, 0), send_answer::accepted);
    wait_for([&] { return starts == 2 && failing != 0; });
    EXPECT_EQ(all.send(pid{failing}, 0), send_answer::accepted);
    wait_for([&] { return cancelled.load(); });
    EXPECT_EQ(all.complete_yield(made.id, 1), send_answer::accepted) << "as the timer of the first stop";
    // The second is answered after the step that the first may have come with.
    for (int i = 0; i != 2; ++i) EXPECT_TRUE(all.look(made.id, real_sync::forever).told);
    (void)all.send(pid{slow}, 0);
    wait_for([&] { return starts == 3; });
    EXPECT_EQ(by_themselves, 1);
}

// Counts those that live; one that nobody ends lives until the stop.
struct counted {
    std::atomic<int> started = 0, closed = 0;
    supervisor::child child() {
        return {[this] {
            ++started;
            return on_events([](event&, step_output&) {}, [this] { ++closed; });
        }};
    }
};

TEST(supervisor, one_that_is_killed_takes_its_children_with_it) {
    processes all({.workers = 2});
    counted c;
    const auto made = all.spawn(std::make_unique<supervisor>(std::vector<supervisor::child>{c.child(), c.child()}));
    wait_for([&] { return all.counters().living == 3; });
    EXPECT_EQ(all.kill(made.id), send_answer::accepted);
    EXPECT_TRUE(comes_true([&] { return all.counters().living == 0; }));
    EXPECT_EQ(c.closed, 2);
}

TEST(supervisor, one_whose_make_throws_takes_its_children_with_it) {
    processes all({.workers = 2});
    counted c;
    (void)all.spawn(std::make_unique<supervisor>(
        std::vector<supervisor::child>{c.child(), {[]() -> std::unique_ptr<process> { throw 1; }}}));
    EXPECT_TRUE(comes_true([&] { return all.counters().exceptions == 1 && all.counters().living == 0; }));
    EXPECT_EQ(c.started, 1);
    EXPECT_EQ(c.closed, 1);
}

// A supervisor of `c`, as a child of another.
supervisor::child one_below(counted& c) {
    return {[&c] { return std::make_unique<supervisor>(std::vector<supervisor::child>{c.child(), c.child()}); }};
}

TEST(supervisor, one_that_gives_up_ends_those_below_its_supervisors) {
    processes all({.workers = 2});
    counted c;
    std::atomic<bool> go = false;
    (void)all.spawn(std::make_unique<supervisor>(
        std::vector<supervisor::child>{one_below(c), {[&] {
                                           return std::make_unique<acting>([&](event_batch&, step_output&) {
                                               wait_for([&] { return go.load(); });
                                               throw 1;
                                           });
                                       }}},
        supervisor::options{.restarts = 0}));
    wait_for([&] { return all.counters().living == 5; });
    go = true;
    EXPECT_TRUE(comes_true([&] { return all.counters().living == 0; }));
    EXPECT_EQ(c.started, 2);
    EXPECT_EQ(c.closed, 2);
    EXPECT_EQ(all.counters().exceptions, 2U) << "the child's, and that it gave up";
}

TEST(supervisor, one_that_is_started_again_has_its_children_once) {
    processes all({.workers = 2});
    counted c;
    std::atomic<std::uint64_t> inner = 0;
    struct named : supervisor {
        named(std::vector<child> of, std::atomic<std::uint64_t>& i) : supervisor(std::move(of)), id(i) {}
        init_answer init(context& x, std::string_view m, payload p) override {
            id = x.self.value;
            return supervisor::init(x, m, std::move(p));
        }
        std::atomic<std::uint64_t>& id;
    };
    (void)all.spawn(std::make_unique<supervisor>(std::vector<supervisor::child>{
        {[&] { return std::make_unique<named>(std::vector<supervisor::child>{c.child(), c.child()}, inner); }}}));
    wait_for([&] { return all.counters().living == 4; });
    EXPECT_EQ(all.kill(pid{inner}), send_answer::accepted);
    wait_for([&] { return c.started == 4; });
    EXPECT_TRUE(comes_true([&] { return c.closed == 2 && all.counters().living == 4; }));
}

}  // namespace
}  // namespace supervisor_test
