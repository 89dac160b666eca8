// The base of schedulers: the first stop decides; if a thread cannot be started, those started before are stopped; and
// a concept names a missing member.
#include <apiary/workers/front_end.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include <apiary/sync/cache_line.hpp>
#include <apiary/testing/plain_crew.hpp>
#include <apiary/workers/concepts.hpp>

namespace front_end_test {
namespace {

using apiary::front_end;
using apiary::stop_mode;

// Two crews of one owner, which record what a stop does to them.
struct crew_that_tells {
    char name;
    std::vector<char>* told;
    void close() noexcept { told->push_back(name); }
    void wake_all() { told->push_back(static_cast<char>(name - 'a' + 'A')); }
};
struct owner : front_end<> {
    std::vector<char> told;
    std::vector<crew_that_tells> many{{'a', &told}, {'b', &told}};
    crew_that_tells one{'c', &told};
    bool stop(stop_mode how) { return stop_crews(how, many, one); }
};

TEST(front_end, closes_all_crews_before_it_wakes_the_first) {
    owner o;
    EXPECT_FALSE(o.stopping());
    EXPECT_FALSE(o.discarding());
    EXPECT_TRUE(o.stop(stop_mode::drain));
    EXPECT_EQ(o.told, (std::vector{'a', 'b', 'c', 'A', 'B', 'C'}));
    EXPECT_TRUE(o.stopping());
}

TEST(front_end, obeys_the_first_stop_alone) {
    owner drained, discarded;
    EXPECT_TRUE(drained.stop(stop_mode::drain));
    EXPECT_FALSE(drained.stop(stop_mode::discard));
    EXPECT_FALSE(drained.discarding());
    EXPECT_TRUE(discarded.stop(stop_mode::discard));
    EXPECT_FALSE(discarded.stop(stop_mode::drain));
    EXPECT_TRUE(discarded.discarding());
    EXPECT_EQ(discarded.told.size(), 9U) << "the second call wakes nobody";
}

// impl/DECISIONS.md D166: no member that a derived class writes often shares a line with the flag that its workers read
// for each task.
struct writes_often : front_end<> {
    std::uint64_t count = 0;
};
TEST(front_end, has_lines_of_its_own) {
    writes_often w;
    const auto base = reinterpret_cast<std::uintptr_t>(static_cast<front_end<>*>(&w));
    EXPECT_EQ(base % apiary::cache_line, 0U);
    EXPECT_GE(reinterpret_cast<std::uintptr_t>(&w.count) - base, apiary::cache_line);
}

TEST(thread_team, has_no_thread_left_when_one_cannot_be_started) {
    apiary::thread_team team;
    std::atomic<bool> stopped = false;
    std::atomic<int> ran = 0;
    const auto start = [&](unsigned i) {
        if (i == 2) throw std::runtime_error("no thread");
        team.start([&] {
            stopped.wait(false);
            ++ran;
        });
    };
    const auto stop = [&] {
        stopped = true;
        stopped.notify_all();
    };
    EXPECT_THROW(apiary::start_all(team, 3, start, stop), std::runtime_error);
    EXPECT_EQ(ran, 2) << "their ends were not waited for";
}

TEST(thread_team, that_gave_its_threads_up_waits_for_none) {
    apiary::thread_team team;
    std::atomic<bool> ran = false;
    team.start([&] { ran = true, ran.notify_all(); });
    ran.wait(false);
    team.detach();
    EXPECT_NO_THROW(team.join());
}

// What the engine asks of its users. A crew of these types would name the missing member in one line.
using sources = apiary::plain_crew::worker_type::sources_type;
static_assert(apiary::worker_sources<sources>);
struct never_says_what_is_urgent : sources {
    void urgent() const;
};
struct keeps_nothing : sources {
    void keep(task_type*) = delete;
};
static_assert(!apiary::worker_sources<never_says_what_is_urgent> && !apiary::worker_sources<keeps_nothing>);

static_assert(apiary::crew_kind<apiary::default_kind<>> && apiary::crew_kind<apiary::plain_kind>);
struct has_no_clock : apiary::default_kind<> {
    struct parts {};
};
static_assert(!apiary::crew_kind<has_no_clock> && !apiary::crew_kind<int>);

static_assert(apiary::crew_owner<front_end<>> && apiary::crew_owner<apiary::plain_crew>);
struct never_stops : front_end<> {
    void stopping() const;
};
static_assert(!apiary::crew_owner<never_stops> && !apiary::crew_owner<sources>);

}  // namespace
}  // namespace front_end_test
