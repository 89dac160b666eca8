// One step of a worker at a time, on the test's thread: which task it takes, which worker it wakes and when, and what
// happens if a thief is faster or a constructor throws. Clock, driver, ready work and sources are the test's own.
#include <apiary/workers/crew.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <apiary/queues/chase_lev_deque.hpp>
#include <apiary/sync/real_sync.hpp>
#include <apiary/tasks/task_storage.hpp>
#include <apiary/timers/clock.hpp>
#include <apiary/workers/front_end.hpp>
#include <apiary/workers/in_range.hpp>
#include <apiary/workers/ready_work.hpp>
#include <apiary/workers/trace.hpp>

namespace worker_test {
namespace {

using apiary::stop_mode;
using apiary::worker_parameters;

// Counts the heavy fences, the partners of the light ones of workers that push.
struct told_sync : apiary::real_sync {
    static inline int heavy = 0;
    static void fence_heavy(site = {}) noexcept {
        ++heavy;
        real_sync::fence_heavy();
    }
    static inline unsigned processors_here = 3;
    static unsigned processors() noexcept { return processors_here; }
    static inline std::function<void()> on_yield;
    static void yield(site = {}) noexcept {
        if (on_yield) on_yield();
    }
};
using storage = apiary::heap_storage<told_sync>;
using job = apiary::job<told_sync>;

// Does not block, and tells the test that it was asked to.
struct told_driver {
    static constexpr std::int64_t forever = INT64_MAX;
    void wait(std::int64_t) {
        ++waits;
        if (on_wait) on_wait();
    }
    void poll() {
        if (on_poll) on_poll();
    }
    void wake() {
        if (on_wake) on_wake();
    }
    int waits = 0;
    std::function<void()> on_wait, on_wake, on_poll;
};
struct parts : apiary::default_parts<told_sync> {
    using driver = told_driver;
    using clock = apiary::manual_clock<told_sync>;
};

struct small_deque {
    static constexpr unsigned index_bits = 64;
    static constexpr std::size_t initial_capacity = 2, max_capacity = 8;
};
// If the test says so, a thief is faster between the owner's look and its step, and gets the task in its place.
struct raided_work : apiary::ready_work<told_sync, apiary::chase_lev_deque<job*, told_sync, small_deque>, job> {
    job* take_slot() {
        job* const t = ready_work::take_slot();
        return raids ? raid(t) : t;
    }
    bool pop(job*& t) {
        if (!ready_work::pop(t)) return false;
        return !raids || raid(t) != nullptr;
    }
    job* raid(job* t) {
        if (t == nullptr) return nullptr;
        raided = t;
        return nullptr;
    }
    bool raids = false;
    job* raided = nullptr;
};

template <class Crew, class Worker>
struct told_sources : apiary::no_sources<Crew, Worker> {
    using base = apiary::no_sources<Crew, Worker>;
    told_sources() { ++living; }
    ~told_sources() { --living; }
    void open() {
        if (refuses) throw std::runtime_error("no descriptor is left");
    }
    std::int64_t next_deadline() const { return due; }
    bool visible() const { return sees_something; }
    job* take() { return on_take ? on_take() : base::take(); }
    static inline int living = 0;
    static inline bool refuses = false;
    std::int64_t due = told_driver::forever;
    bool sees_something = false;
    std::function<job*()> on_take;
};
struct kind : apiary::default_kind<told_sync, parts> {
    using ready = raided_work;
    template <class Crew, class Worker>
    using sources = told_sources<Crew, Worker>;
};

template <class Kind>
class stepped_of : public apiary::front_end<told_sync, parts> {
public:
    using crew_type = apiary::crew<stepped_of, Kind>;
    using worker_type = typename crew_type::worker_type;

    explicit stepped_of(unsigned workers, const worker_parameters& p = {}) : crew(*this, p) {
        for (unsigned i = 0; i != workers; ++i) crew.table().attach(crew);
    }
    ~stepped_of() { stop(stop_mode::discard); }
    worker_type& operator[](unsigned i) { return *crew.table()[i]; }
    void stop(stop_mode how) { stop_crews(how, crew); }
    template <class F>
    void post(F f) {
        ASSERT_TRUE(crew.post(storage::make(std::move(f))));
    }
    template <class F>
    void post_local(worker_type& w, F f) {
        ASSERT_TRUE(w.post_local(storage::make(std::move(f))));
    }
    auto& idle() { return crew.idle(); }
    bool sleeps(unsigned i) { return idle().snapshot().sleeps(i); }
    crew_type crew;
};
using stepped = stepped_of<kind>;
using worker = stepped::worker_type;
using latch = apiary::latch<worker>;

TEST(worker, whose_slot_a_thief_empties_as_it_posts_keeps_the_new_task_alone) {
    stepped s(2);
    int ran = 0;
    s.post_local(s[0], [&] { ran += 1; });
    s[0].ready().raids = true;
    s.post_local(s[0], [&] { ran += 10; });
    s[0].ready().raids = false;
    EXPECT_EQ(s[0].ready().in_deque(), 0U) << "there was nothing to push";
    EXPECT_TRUE(s[0].turn_once());
    EXPECT_EQ(ran, 10);
    ASSERT_NE(s[0].ready().raided, nullptr);
    s[0].ready().raided->drop();
}

TEST(worker, wakes_another_when_the_new_task_is_there_to_be_taken) {
    stepped s(2);
    bool woken = false;
    s[1].driver().on_wake = [&] {
        woken = true;
        EXPECT_FALSE(s[0].ready().slot_looks_empty());
    };
    s.post_local(s[0], [] {});
    (void)s.idle().announce_sleep(1, false);
    s.post_local(s[0], [] {});
    EXPECT_TRUE(woken);
    s[1].driver().on_wake = nullptr;
}

TEST(worker, drops_no_task_for_which_a_thief_was_faster) {
    stepped s(2);
    for (int i = 0; i != 2; ++i) s.post_local(s[0], [] {});
    auto& ready = s[0].ready();
    job* const newest = ready.take_slot();
    ready.raids = true;
    s[0].drop_all();
    EXPECT_EQ(s[0].counters().discarded, 0U);
    newest->drop();
    ASSERT_NE(ready.raided, nullptr);
    ready.raided->drop();
}

TEST(worker, runs_no_older_task_when_the_last_of_the_interval_has_stopped_the_crew) {
    stepped s(2, {.global_probe_interval = 1});
    bool ran = false;
    s.post_local(s[0], [&] { ran = true; });
    s.post_local(s[0], [&] { s.stop(stop_mode::discard); });
    EXPECT_TRUE(s[0].turn_once());
    EXPECT_FALSE(ran);
}

// Each takes ten times as long as an interval may, so the interval shrinks to one task, and the old end comes first.
TEST(worker, whose_tasks_were_long_takes_its_oldest_until_they_are_short_again) {
    for (const bool more : {false, true}) {
        stepped s(2, {.global_probe_interval = 2, .probe_ns = 1000});
        std::vector<int> ran;
        bool oldest_first = false;
        std::function<void(int)> chain = [&](int left) {
            s.clock().advance(10'000);
            if (left != 0) return s.post_local(s[0], [&chain, left] { chain(left - 1); });
            oldest_first = s[0].takes_its_oldest();
            for (int i = 0; more && i != 3; ++i) s.post_local(s[0], [&ran, i] { ran.push_back(i); });
        };
        s.post_local(s[0], [&] { chain(10); });
        for (int i = 0; i != 100 && !oldest_first; ++i) (void)s[0].turn_once();
        ASSERT_TRUE(oldest_first);
        if (!more) {
            for (int i = 0; i != 100 && s[0].turn_once(); ++i) {}
            EXPECT_FALSE(s[0].turn_once()) << "nothing is left";
            continue;
        }
        ASSERT_TRUE(s[0].takes_its_oldest());
        if (ran.empty()) (void)s[0].turn_once();
        ASSERT_FALSE(ran.empty());
        EXPECT_EQ(ran[0], 0);
        EXPECT_FALSE(s[0].takes_its_oldest()) << "that one was short";
    }
}

// The sleeper announces its sleep after the posts, which find no sleeper.
TEST(worker, that_takes_a_task_of_the_pool_wakes_another_for_what_is_left_there) {
    stepped s(2, {.global_batch = 1});
    bool slept_on = true;
    s.post([&] { slept_on = s.sleeps(1); });
    s.post([] {});
    (void)s.idle().announce_sleep(1, false);
    EXPECT_TRUE(s[0].turn_once());
    EXPECT_FALSE(slept_on);
}

// A post has woken the worker. It must also find what others have pushed meanwhile: it looks after a heavy fence.
TEST(worker, that_has_searched_meets_the_pushers_before_it_looks_for_more) {
    stepped s(3);
    s[0].driver().on_wait = [&] { ASSERT_TRUE(s.idle().claim(0)); };
    s[0].sleep_once();
    (void)s.idle().announce_sleep(1, false);
    int fences = told_sync::heavy;
    s.post([&] { fences = told_sync::heavy - fences; });
    EXPECT_TRUE(s[0].turn_once());
    EXPECT_EQ(fences, 1);
}

constexpr worker_parameters leaving{.workers_per_searcher = 1, .few_awake = 1, .looks_before_sleep = 0, .naps = 0};

struct marking_kind : kind {
    static constexpr bool marks_pushes = true;
};

// Worker 2 falls asleep, and says how many heavy fences that took.
TEST(worker, that_marks_its_pushes_is_fenced_against_until_it_is_at_rest) {
    stepped_of<marking_kind> s(3, {.global_batch = 2, .looks_before_sleep = 0, .naps = 0});
    const auto fences = [&s] {
        const int before = told_sync::heavy;
        s[2].sleep_once();
        return told_sync::heavy - before;
    };
    EXPECT_EQ(fences(), 0) << "nobody has pushed";
    s.post_local(s[0], [] {});
    EXPECT_EQ(fences(), 1);
    EXPECT_TRUE(s[0].turn_once());
    EXPECT_EQ(fences(), 1) << "it may push again";
    s[0].sleep_once();
    EXPECT_EQ(fences(), 0);

    int in_the_first = -1;
    s.post([&] { in_the_first = fences(); });
    for (int i = 0; i != 5; ++i) s.post([] {});
    EXPECT_TRUE(s[0].turn_once());
    EXPECT_EQ(in_the_first, 0) << "it has pushed the rest of a batch, and has looked for a sleeper since";
    EXPECT_EQ(fences(), 0);
}

// Worker 0 has a task that worker 2 could steal.
TEST(worker, that_stays_awake_since_it_saw_work_counts_as_searching_if_its_kind_says_so) {
    for (const bool counts : {false, true}) {
        stepped s(3, {.workers_per_searcher = 1,
                      .few_awake = 2,
                      .lookers_count = counts,
                      .looks_before_sleep = 0,
                      .naps = 0});
        s.post_local(s[0], [] {});
        s[2].sleep_once();
        EXPECT_EQ(s[2].driver().waits, 0);
        EXPECT_EQ(s.idle().snapshot().searching(), counts ? 1U : 0U);
        EXPECT_FALSE(s.sleeps(2));
        EXPECT_TRUE(s[2].turn_once()) << "steals it";
        EXPECT_EQ(s.idle().snapshot().searching(), 0U);
    }
}

// Worker 0 has a task that worker 2 could steal.
TEST(worker, that_falls_asleep_where_nobody_searches_looks_and_stays) {
    stepped s(3, leaving);
    s.post_local(s[0], [] {});
    const int fences = told_sync::heavy;
    s[2].sleep_once();
    EXPECT_EQ(s[2].driver().waits, 0);
    EXPECT_EQ(told_sync::heavy - fences, 1);
}

TEST(worker, that_falls_asleep_beside_a_searcher_neither_steals_nor_looks) {
    stepped s(3, leaving);
    s.post_local(s[0], [] {});
    s.idle().start_searching();
    const int fences = told_sync::heavy;
    EXPECT_FALSE(s[2].turn_once());
    s[2].sleep_once();
    EXPECT_EQ(s[2].driver().waits, 1);
    EXPECT_EQ(told_sync::heavy - fences, 0);
    (void)s.idle().stop_searching();
    EXPECT_TRUE(s[2].turn_once()) << "nobody else looks any more";
}

TEST(worker, that_falls_asleep_where_threads_share_processors_looks_and_stays) {
    told_sync::processors_here = 2;
    stepped s(3, leaving);
    told_sync::processors_here = 3;
    s.post_local(s[0], [] {});
    s.idle().start_searching();
    s[2].sleep_once();
    EXPECT_EQ(s[2].driver().waits, 0);
}

TEST(worker, that_falls_asleep_beside_an_overdue_search_looks_and_stays) {
    stepped s(3, leaving);
    s.post_local(s[0], [] {});
    s.idle().start_searching();
    s.clock().set(leaving.search_ns + 1);
    s[2].sleep_once();
    EXPECT_EQ(s[2].driver().waits, 0);
}

TEST(worker, that_falls_asleep_beside_a_searcher_sees_what_has_come_for_it_alone) {
    stepped s(3, leaving);
    s.idle().start_searching();
    s[2].sources().sees_something = true;
    s[2].sleep_once();
    EXPECT_EQ(s[2].driver().waits, 0);
}

// Worker 1 is at worker 0, whose slot holds a task, and looks a second time before it takes it. `meanwhile` is called
// then.
template <class Meanwhile>
void while_a_thief_is_there(stepped& s, Meanwhile meanwhile) {
    told_sync::on_yield = [&] {
        told_sync::on_yield = nullptr;
        meanwhile();
    };
    (void)s[1].turn_once();
    ASSERT_FALSE(told_sync::on_yield) << "worker 1 has not come to it";
}

TEST(thief, passes_over_a_worker_at_which_another_is_and_takes_the_task_after_a_sleep_that_was_none) {
    stepped s(3, {.looks_before_sleep = 0, .naps = 0});
    for (int again = 0; again != 2; ++again) {
        int ran = 0;
        s.post_local(s[0], [&] { ++ran; });
        while_a_thief_is_there(s, [&] {
            EXPECT_FALSE(s[2].turn_once());
            EXPECT_FALSE(s[2].turn_once());
            s[2].sleep_once();
            EXPECT_EQ(s[2].driver().waits, 0);
            EXPECT_TRUE(s[2].turn_once());
            EXPECT_EQ(ran, 1);
        });
        s.post_local(s[0], [&] { ++ran; });
        EXPECT_TRUE(s[2].turn_once()) << "the first thief has gone";
        EXPECT_EQ(ran, 2);
    }
}

// It does not come to its look before a sleep: it waits for a timer, or spins.
TEST(thief, that_watches_the_clock_takes_the_task_once_it_has_seen_it) {
    stepped s(3, {.looks_before_sleep = 0, .naps = 0, .timer_spin_ns = 1000});
    s[2].sources().due = 1000;
    s.post_local(s[0], [] {});
    while_a_thief_is_there(s, [&] {
        EXPECT_FALSE(s[2].turn_once());
        s[2].sleep_once();
        EXPECT_TRUE(s[2].turn_once());
    });
}

TEST(thief, that_spins_takes_the_task_after_a_yield) {
    stepped s(3, {.looks_before_sleep = 0, .naps = 0, .idle_cpu = 1});
    s.post_local(s[0], [] {});
    while_a_thief_is_there(s, [&] {
        int looks = 0;
        while (!s[2].turn_once() && ++looks != 100) ASSERT_TRUE(s[2].look_on_once());
        EXPECT_GT(looks, 1);
        EXPECT_LT(looks, 20);
    });
}

TEST(thief, passes_over_nobody_where_thieves_take_no_turns_or_cannot_meet) {
    for (const unsigned processors : {2U, 3U}) {
        told_sync::processors_here = processors;
        stepped s(3, {.thieves_take_turns = processors == 2});
        s.post_local(s[0], [] {});
        while_a_thief_is_there(s, [&] { EXPECT_TRUE(s[2].turn_once()); });
    }
}

TEST(thief, passes_over_nobody_after_a_stop) {
    stepped s(3);
    int ran = 0;
    s.post_local(s[0], [&] { ++ran; });
    while_a_thief_is_there(s, [&] {
        s.stop(stop_mode::drain);
        s[2].run();
        EXPECT_EQ(ran, 1);
    });
}

TEST(worker, that_watches_the_clock_for_a_timer_sees_a_post_meanwhile_and_does_not_park) {
    stepped s(1, {.timer_spin_ns = 1000});
    s[0].sources().due = 1000;  // the clock stands at 0: just near enough to be watched
    s.post([] {});
    s[0].sleep_once();
    EXPECT_EQ(s[0].counters().parked, 0U);
}

// A post has woken the worker, and before it finds the work it is asked to leave.
TEST(worker, that_leaves_passes_its_search_on_where_there_is_work) {
    for (const bool work : {false, true}) {
        stepped s(2);
        s[0].driver().on_wait = [&] { ASSERT_TRUE(s.idle().claim(0)); };
        s[0].sleep_once();
        ASSERT_EQ(s.idle().snapshot().searching(), 1U);
        (void)s.idle().announce_sleep(1, false);
        if (work) s.post([] {});
        ASSERT_EQ(s.crew.detach(0), apiary::detach_result::detached);
        s[0].run();
        EXPECT_EQ(s.sleeps(1), !work);
    }
}

TEST(worker, that_cannot_be_opened_is_no_worker_and_its_place_can_be_had_again) {
    using sources = worker::sources_type;
    stepped s(1);
    ASSERT_EQ(sources::living, 1);
    const auto attach_in_vain = [&] {
        sources::refuses = true;
        EXPECT_THROW((void)s.crew.attach(), std::runtime_error);
        sources::refuses = false;
    };
    attach_in_vain();
    EXPECT_EQ(sources::living, 1) << "a new one is destroyed";
    EXPECT_EQ(s.crew.serving(), 1U);
    worker* const second = s.crew.attach();
    ASSERT_NE(second, nullptr);
    EXPECT_EQ(second->id(), 1U);
    ASSERT_EQ(s.crew.detach(1), apiary::detach_result::detached);
    second->run();
    attach_in_vain();
    EXPECT_EQ(sources::living, 2) << "one that was there stays";
    EXPECT_EQ(s.crew.attach(), second);
    EXPECT_EQ(s.crew.serving(), 2U);
}

constexpr auto always = [] { return true; };

TEST(helper, sees_what_comes_for_its_sources_before_it_sleeps) {
    stepped s(2, {.looks_before_sleep = 0});
    latch l(s[0], 1);
    auto& sources = s[0].sources();
    sources.on_take = [&]() -> job* {
        if (!std::exchange(sources.sees_something, true)) return nullptr;  // it comes just after this look
        return storage::make([&] { l.count_down(); });
    };
    s[0].driver().on_wait = [&] { l.count_down(); };
    s[0].help_until(l, always);
    EXPECT_EQ(s[0].driver().waits, 0);
    sources.on_take = nullptr;
}

TEST(helper, runs_all_that_its_sources_keep_before_it_sleeps) {
    stepped s(2, {.looks_before_sleep = 0});
    latch l(s[0], 1);
    s[0].sources().keep(storage::make([&] { l.count_down(); }));
    s[0].sources().keep(storage::make([] {}));
    s[0].help_until(l, always);
    EXPECT_EQ(s[0].driver().waits, 0);
}

// A post has woken it while it slept at the latch, and from then on it may not help.
TEST(helper, that_may_help_no_more_passes_its_search_on_before_it_blocks) {
    stepped s(2, {.looks_before_sleep = 0});
    latch l(s[0], 1);
    (void)s.idle().announce_sleep(1, false);
    s[0].driver().on_wait = [&] {
        if (s[0].driver().waits == 1) {
            ASSERT_TRUE(s.idle().claim(0));
            return;
        }
        EXPECT_EQ(s.idle().snapshot().searching(), 0U);
        l.count_down();
    };
    s[0].help_until(l, [&] { return s[0].driver().waits == 0; });
    EXPECT_EQ(s[0].driver().waits, 2);
    EXPECT_TRUE(s.sleeps(1)) << "there is no work";
}

TEST(valid, takes_each_number_at_its_least) {
    const worker_parameters least{.local_budget = 1, .global_batch = 1, .pool_visits = 1, .global_probe_interval = 1,
                                  .probe_ns = 1, .first_looks = 1, .steal_rounds = 1, .looks_before_sleep = 0,
                                  .long_yield_ns = 1, .yield_pays_ns = 1, .sleeps_after_long_yield = 0, .naps = 0,
                                  .nap_ns = 1, .search_ns = 1, .idle_cpu = 0, .spin_ns = 1, .timer_spin_ns = 0, .short_deque = 1,
                                  .long_deque_probes = 1};
    EXPECT_NO_THROW((void)apiary::valid("test", least));
}

TEST(valid, takes_a_share_of_a_processor_and_nothing_else) {
    for (const double share : {0.0, 1e-300, 0.5, 1.0}) EXPECT_NO_THROW((void)apiary::valid("test", {.idle_cpu = share}));
    const double none = std::numeric_limits<double>::quiet_NaN(), endless = std::numeric_limits<double>::infinity();
    for (const double share : {-1e-300, 1.0000001, -1.0, endless, -endless, none})
        EXPECT_THROW((void)apiary::valid("test", {.idle_cpu = share}), std::invalid_argument) << share;
    try {
        (void)apiary::valid("test", {.idle_cpu = 2.5});
        ADD_FAILURE() << "two and a half processors were accepted";
    } catch (const std::invalid_argument& e) {
        EXPECT_STREQ(e.what(), "test: idle_cpu is 2.5; it can be 0 to 1");
    }
}

// What run() does after a turn that found nothing. Each look of the spinner moves the clock.
struct spinning : stepped {
    explicit spinning(unsigned workers, double share, std::int64_t spin_ns = 100'000)
        : stepped(workers, {.looks_before_sleep = 0, .naps = 0, .idle_cpu = share, .spin_ns = spin_ns}) {}
    // True: it found something. False: it would sleep.
    bool spin(unsigned i) {
        while ((*this)[i].look_on_once())
            if ((*this)[i].turn_once()) return true;
        return false;
    }
};

// Another worker sleeps, and tells whether it is woken.
struct beside_a_sleeper : spinning {
    beside_a_sleeper() : spinning(2, 1) {
        (void)idle().announce_sleep(1, false);
        (*this)[1].driver().on_wake = [this] { woken = true; };
    }
    ~beside_a_sleeper() { (*this)[1].driver().on_wake = nullptr; }
    bool woken = false;
};

TEST(spinning_worker, takes_a_post_without_a_wake_and_the_poster_relies_on_it) {
    beside_a_sleeper s;
    bool ran = false;
    s[0].driver().on_poll = [&] {
        EXPECT_EQ(s.idle().snapshot().searching(), 1U);
        s.clock().advance(30'000);  // twice: more than search_ns, but the search goes on
        if (s.clock().now_ns() == 60'000) s.post([&] { ran = true; });
    };
    EXPECT_TRUE(s.spin(0));
    EXPECT_TRUE(ran);
    EXPECT_FALSE(s.woken);
    EXPECT_EQ(s.idle().snapshot().searching(), 0U);
    EXPECT_EQ(s[0].driver().waits, 0);
}

TEST(spinning_worker, wakes_another_for_what_it_leaves) {
    beside_a_sleeper s;
    s[0].driver().on_poll = [&] {
        s.post([&] { EXPECT_TRUE(s.woken) << "before the first runs, since it may be long"; });
        s.post([] {});
        s[0].driver().on_poll = nullptr;
    };
    EXPECT_TRUE(s.spin(0));
    EXPECT_TRUE(s.woken);
}

TEST(spinning_worker, sleeps_when_the_account_is_empty_and_searches_until_then) {
    spinning s(1, 0.5);
    int looks = 0;
    s[0].driver().on_poll = [&] { ++looks, s.clock().advance(10'000); };
    EXPECT_FALSE(s.spin(0));
    EXPECT_EQ(looks, 10);
    EXPECT_EQ(s.idle().snapshot().searching(), 1U) << "posts rely on it up to its last look";
    s[0].sleep_once();
    EXPECT_EQ(s.idle().snapshot().searching(), 0U);
    EXPECT_EQ(s[0].driver().waits, 1);
    EXPECT_FALSE(s.spin(0));
    EXPECT_EQ(looks, 10) << "once in a spell";
}

TEST(spinning_worker, is_relied_on_from_its_first_look_on) {
    beside_a_sleeper s;
    s.clock().advance(1'000'000);  // the last search was long ago
    s[0].driver().on_poll = [&] {
        s.post([] {});
        s[0].driver().on_poll = nullptr;
    };
    EXPECT_TRUE(s.spin(0));
    EXPECT_FALSE(s.woken);
}

TEST(spinning_worker, gives_its_loan_back_before_it_runs_what_it_found) {
    spinning s(1, 1);
    bool lent = true;
    s[0].driver().on_poll = [&] {
        s.clock().advance(10'000);
        s.post([&] { lent = s.crew.account().lend(s.clock().now_ns(), 1).most_ns == 0; });
        s[0].driver().on_poll = nullptr;
    };
    EXPECT_TRUE(s.spin(0));
    EXPECT_FALSE(lent);
}

// An idle spell goes on in the sleep, here for 10 ms, which save 10 us of looking, or with a whole processor 10 ms:
// after some of them it does not look.
TEST(spinning_worker, learns_from_its_sleeps_that_posts_are_rare) {
    for (const double share : {0.001, 1.0}) {
        spinning s(1, share, 10'000'000);
        int looks = 0;
        s[0].driver().on_poll = [&] { ++looks, s.clock().advance(1'000); };
        s[0].driver().on_wait = [&] {
            s.clock().advance(10'000'000);
            s.post([] {});
        };
        for (int spell = 0; spell != 32; ++spell) {
            if (spell == 16) looks = 0;
            EXPECT_FALSE(s.spin(0));
            s[0].sleep_once();
            EXPECT_TRUE(s[0].turn_once());
        }
        EXPECT_EQ(looks, 16) << "those of the turns that found the posts; share " << share;
    }
}

TEST(spinning_worker, ends_its_spin_at_a_stop) {
    spinning s(2, 1);
    int looks = 0;
    s[0].driver().on_poll = [&] {
        if (++looks == 3) s.stop(stop_mode::drain);
    };
    s[0].run();
    EXPECT_EQ(looks, 3);
    EXPECT_EQ(s.idle().snapshot().searching(), 0U);
    EXPECT_NE(s.crew.account().lend(0, 1).most_ns, 0) << "the loan was given back";
}

// A thread that waits for the processor gets it at the eighth look; if it keeps it, the spin is over.
TEST(spinning_worker, lets_others_have_the_processor_and_sleeps_where_they_want_it) {
    spinning s(1, 1, 1'000'000);
    int looks = 0, yields = 0;
    s[0].driver().on_poll = [&] { ++looks; };
    told_sync::on_yield = [&] {
        EXPECT_EQ(looks, 8 * ++yields);
        s.clock().advance(yields < 3 ? 1000 : 100'001);
    };
    EXPECT_FALSE(s.spin(0));
    EXPECT_EQ(yields, 3);
    EXPECT_NE(s.crew.account().lend(s.clock().now_ns(), 1).most_ns, 0) << "the loan was given back";
    told_sync::on_yield = nullptr;
}

TEST(spinning_worker, yields_for_a_second_look_before_it_spins_and_no_more_while_it_does) {
    stepped s(1, {.looks_before_sleep = 1, .sleeps_after_one = false, .naps = 0, .idle_cpu = 1, .spin_ns = 100'000});
    int looks = 0, yields = 0;
    told_sync::on_yield = [&] { ++yields; };
    s[0].driver().on_poll = [&] {
        s.clock().advance(10'000);
        if (++looks == 8) s.stop(stop_mode::drain);
    };
    s[0].run();
    told_sync::on_yield = nullptr;
    EXPECT_EQ(looks, 8);
    EXPECT_EQ(yields, 1);
    EXPECT_EQ(s[0].driver().waits, 0);
}

// Each eighth yield is timed, and the others are long: the worker goes on to yield before each sleep.
TEST(worker, judges_by_the_yields_that_it_times_alone) {
    stepped s(1, {.looks_before_sleep = 1, .sleeps_after_one = false, .naps = 0});
    int yields = 0;
    told_sync::on_yield = [&] {
        if (++yields % 8 != 0) s.clock().advance(200'000);
        if (yields == 16) s.stop(stop_mode::drain);
    };
    s[0].run();
    told_sync::on_yield = nullptr;
    EXPECT_EQ(s[0].driver().waits, 15);
}

TEST(spinning_worker, does_not_spin_on_a_contended_processor) {
    spinning s(1, 1);
    told_sync::on_yield = [&] { s.clock().advance(100'001); };
    EXPECT_FALSE(s.spin(0));
    told_sync::on_yield = nullptr;
    s.post([] {});
    EXPECT_TRUE(s[0].turn_once());
    s.post([] {});
    s[0].driver().on_wait = [&] { s.stop(stop_mode::drain); };
    s.clock().advance(1'000'000);
    s[0].driver().on_poll = [&] { s.clock().advance(1); };
    s[0].run();  // its look judges the yield
    EXPECT_EQ(s[0].driver().waits, 1);
    EXPECT_LE(s.clock().now_ns(), 1'100'005) << "it slept at its first look";
}

TEST(spinning_worker, is_one_of_a_crew_at_a_time) {
    spinning s(2, 1);
    s[0].driver().on_poll = [&] {
        EXPECT_FALSE(s.spin(1));
        s.clock().advance(60'000);
    };
    s[1].driver().on_poll = [] { ADD_FAILURE() << "a second spinner"; };
    EXPECT_FALSE(s.spin(0));
    s[1].driver().on_poll = nullptr;
}

TEST(spinning_worker, at_a_latch_runs_what_comes_and_ends_with_the_latch) {
    spinning s(1, 1);
    latch l(s[0], 2);
    int looks = 0;
    s[0].sources().on_take = [&]() -> job* {
        if (++looks == 3) l.count_down();
        return looks == 2 ? storage::make([&] { l.count_down(); }) : nullptr;
    };
    s[0].help_until(l, always);
    EXPECT_EQ(s[0].driver().waits, 0);
    EXPECT_EQ(s.idle().snapshot().searching(), 0U);
    s[0].sources().on_take = nullptr;
}

TEST(event_trace, writes_times_as_microseconds_and_what_each_event_was) {
    using event = apiary::event_trace::kind;
    apiary::event_trace all;
    all.span(event::task, 1'999, 4'899);
    all.instant(event::steal, 900, 3);
    std::ostringstream out;
    all.write(out, 7, "compute", 2);
    EXPECT_EQ(out.str(), R"({"name":"thread_name","ph":"M","pid":1,"tid":7,"args":{"name":"compute worker 2"}},
{"name":"task","cat":"hive","pid":1,"tid":7,"ts":1.999,"ph":"X","dur":2.900},
{"name":"steal","cat":"hive","pid":1,"tid":7,"ts":0.900,"ph":"i","s":"t","args":{"from":3}},
)");
}

TEST(event_trace, counts_what_it_leaves_out) {
    apiary::event_trace all;
    for (std::size_t i = 0; i != apiary::event_trace::max_events; ++i) all.span(apiary::event_trace::kind::park, 0, 1);
    EXPECT_EQ(all.left_out(), 0U);
    for (int i = 0; i != 2; ++i) all.span(apiary::event_trace::kind::park, 0, 1);
    EXPECT_EQ(all.left_out(), 2U);
}

}  // namespace
}  // namespace worker_test
