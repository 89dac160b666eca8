// What a worker has if its kind has nothing of its own: no_ready_work and no_sources hold nothing, promise
// nothing, and refuse nothing that they are given to keep.
#include <apiary/workers/no_ready_work.hpp>
#include <apiary/workers/no_sources.hpp>

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include <apiary/sync/real_sync.hpp>
#include <apiary/tasks/task_storage.hpp>

namespace no_sources_test {
namespace {

using apiary::real_sync;
using apiary::steal_status;
using storage = apiary::heap_storage<real_sync>;
using task_type = apiary::task<real_sync>;
using words = std::vector<std::string>;

TEST(no_ready_work, holds_nothing_and_takes_nothing) {
    apiary::no_ready_work<real_sync> none;
    task_type* t = storage::make([] {});
    EXPECT_FALSE(none.push_all(std::array{t}));
    EXPECT_EQ(none.in_deque(), 0U);
    EXPECT_FALSE(none.waits());
    EXPECT_TRUE(none.deque_looks_empty());
    EXPECT_TRUE(none.slot_looks_empty());
    EXPECT_EQ(none.take_slot(), nullptr);
    task_type* out = t;
    EXPECT_FALSE(none.pop(out));
    EXPECT_EQ(none.steal_oldest().status, steal_status::empty);
    EXPECT_EQ(none.steal_from(none, true).status, steal_status::empty);
    t->drop();
}

struct crew_that_takes_lists {
    bool stopping() const { return stopped; }
    bool post_list(apiary::fifo_list<task_type>& tasks) {
        ++lists;
        if (closed) return false;
        while (task_type* t = tasks.pop_front()) t->run();
        return true;
    }
    bool stopped = false, closed = false;
    int lists = 0;
};

struct kind_without_sources {
    using sync = real_sync;
    using task_type = apiary::task<real_sync>;
    struct driver {
        static constexpr std::int64_t forever = 4711;
    };
};

struct worker_without_sources : apiary::no_sources<kind_without_sources, worker_without_sources> {
    crew_that_takes_lists& crew() { return crew_; }
    crew_that_takes_lists& owner() { return crew_; }
    void drop(task_type* t) { t->drop(); }
    void run_task(task_type* t) { t->run(); }
    crew_that_takes_lists crew_;
};

class no_sources : public testing::Test {
protected:
    // Puts it in front of those before it: a worker keeps a batch from its last task to its first.
    void keep(const char* name) {
        sources.keep(storage::make([this, name] { log.emplace_back(name); }));
    }
    worker_without_sources worker;
    worker_without_sources& sources = worker;
    words log;
};

TEST_F(no_sources, have_nothing_urgent_and_have_an_id) {
    sources.enter(7);
    sources.open();
    EXPECT_EQ(sources.id(), 7U);
    EXPECT_EQ(sources.incarnation(), 7U);
    keep("kept");
    sources.collect();
    EXPECT_FALSE(sources.urgent());
    EXPECT_FALSE(sources.visible()) << "nobody else may take it";
    EXPECT_EQ(sources.next_deadline(), kind_without_sources::driver::forever);
    EXPECT_EQ(sources.pending(), 0U);
    EXPECT_TRUE(sources.run_some());
    EXPECT_FALSE(sources.run_some()) << "it has run";
    EXPECT_EQ(log, words{"kept"});
}

TEST_F(no_sources, what_is_kept_runs_in_its_order_until_the_stop) {
    for (const char* name : {"3", "2", "1"}) keep(name);
    EXPECT_TRUE(sources.run_some());
    EXPECT_EQ(log, (words{"1", "2", "3"}));
    log.clear();
    keep("2");
    sources.keep(storage::make([this] { worker.crew_.stopped = true; }));
    EXPECT_TRUE(sources.run_some());
    EXPECT_EQ(log, words{}) << "a stop decides what becomes of the rest";
    sources.close();
    task_type* rest = sources.take();
    ASSERT_NE(rest, nullptr);
    worker.run_task(rest);
    EXPECT_EQ(log, words{"2"});
    EXPECT_EQ(sources.take(), nullptr);
}

TEST_F(no_sources, a_detached_worker_hands_over_what_it_kept_and_no_empty_list) {
    EXPECT_TRUE(sources.hand_over_timed());
    EXPECT_TRUE(sources.hand_over_kept());
    EXPECT_EQ(worker.crew_.lists, 0);
    for (const char* name : {"2", "1"}) keep(name);
    worker.crew_.closed = true;
    EXPECT_FALSE(sources.hand_over_kept()) << "it is this worker's to end";
    worker.crew_.closed = false;
    EXPECT_TRUE(sources.hand_over_kept());
    EXPECT_EQ(log, (words{"1", "2"}));
    EXPECT_EQ(sources.take(), nullptr);
}

TEST_F(no_sources, of_a_worker_that_never_ran_drop_what_they_kept) {
    keep("kept");
    sources.drop_all();
    EXPECT_EQ(sources.take(), nullptr);
    EXPECT_EQ(log, words{});
}

}  // namespace
}  // namespace no_sources_test
