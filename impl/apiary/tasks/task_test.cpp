// Tasks and their storage: exactly one ending, whatever the callable's size and however it ends.
#include <apiary/tasks/task_storage.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

namespace task_test {
namespace {

using pooled_storage = apiary::pooled_storage<>;
using task = apiary::task<>;
using heap_storage = apiary::heap_storage<apiary::real_sync>;

TEST(task, runs_a_small_callable_and_destroys_it) {
    auto token = std::make_shared<int>(0);
    task t([token] { ++*token; });
    EXPECT_EQ(token.use_count(), 2);
    t.run();
    EXPECT_EQ(*token, 1);
    EXPECT_EQ(token.use_count(), 1);
}

TEST(task, runs_a_large_callable_and_destroys_it) {
    auto token = std::make_shared<int>(0);
    task t([token, ballast = std::array<long, 20>{}] { *token += 1 + static_cast<int>(ballast[3]); });
    t.run();
    EXPECT_EQ(*token, 1);
    EXPECT_EQ(token.use_count(), 1);
}

TEST(task, drop_destroys_without_running) {
    auto token = std::make_shared<int>(0);
    task small([token] { ++*token; });
    task large([token, ballast = std::array<long, 20>{}] { *token += static_cast<int>(ballast[0]) + 1; });
    small.drop();
    large.drop();
    EXPECT_EQ(*token, 0);
    EXPECT_EQ(token.use_count(), 1);
}

TEST(task, takes_a_callable_that_can_only_be_moved) {
    int seen = 0;
    task t([p = std::make_unique<int>(7), &seen] { seen = *p; });
    t.run();
    EXPECT_EQ(seen, 7);
}

TEST(task, lets_an_exception_out_after_destroying_the_callable) {
    auto token = std::make_shared<int>(0);
    task small([token] { throw std::runtime_error("small"); });
    task large([token, ballast = std::array<long, 20>{}] { throw ballast[0]; });
    EXPECT_THROW(small.run(), std::runtime_error);
    EXPECT_THROW(large.run(), long);
    EXPECT_EQ(token.use_count(), 1);
}

template <class Storage>
void makes_and_releases_many() {
    std::vector<typename Storage::task_type*> tasks;
    int runs = 0;
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 1000; ++i) tasks.push_back(Storage::make([&runs] { ++runs; }));
        EXPECT_EQ(std::set(tasks.begin(), tasks.end()).size(), 1000U) << "no block is handed out twice";
        for (auto* t : tasks) t->run();
        tasks.clear();
    }
    EXPECT_EQ(runs, 3000);
}

TEST(task_storage, heap) { makes_and_releases_many<heap_storage>(); }
TEST(task_storage, pooled) { makes_and_releases_many<pooled_storage>(); }

TEST(task_storage, blocks_may_be_freed_by_another_thread_and_come_back) {
    std::set<void*> first_round;
    for (int round = 0; round < 4; ++round) {
        std::vector<task*> made;
        for (int i = 0; i < 1000; ++i) made.push_back(pooled_storage::make([] {}));
        std::thread([&made] {
            for (auto* t : made) t->drop();
        }).join();
        if (round == 0) first_round.insert(made.begin(), made.end());
        if (round == 3) {
            std::size_t again = 0;
            for (auto* t : made) again += first_round.count(t);
            EXPECT_GT(again, 500U) << "the depot recycles what other threads freed";
        }
    }
}

TEST(task, has_no_prefetch_hint_until_it_is_left_one) {
    task t([] {}), before([] {});
    EXPECT_EQ(t.prefetch_hint(), nullptr);
    t.leave_prefetch_hint(&before);
    EXPECT_EQ(t.prefetch_hint(), &before);
    EXPECT_LT(t.deadline_ns, 0) << "no deadline";
    t.drop();
    before.drop();
}

TEST(task_storage, a_prefetch_hint_leads_to_the_block_of_some_allocations_ago) {
    constexpr std::size_t tasks = 1000, ahead = 8;
    std::vector<task*> made;
    std::size_t led_there = 0;
    for (std::size_t i = 0; i < tasks; ++i) {
        task* t = made.emplace_back(pooled_storage::make([] {}));
        pooled_storage::leave_prefetch_hint(t);
        led_there += i >= ahead && t->prefetch_hint() == made[i - ahead];
    }
    EXPECT_GT(led_there, tasks / 2) << "only where a magazine begins it leads elsewhere";
    for (auto* t : made) t->drop();
}

// A job of a test's own, on its stack: it notes how it ended and by which worker, and throws when it is told to.
struct noting_job : apiary::job<> {
    noting_job() : job(&end_it) {}
    static bool end_it(job& self, apiary::job_end how, apiary::any_worker* by) {
        auto& mine = static_cast<noting_job&>(self);
        mine.told.push_back(how);
        mine.by = by;
        if (mine.throws && how == apiary::job_end::run) throw std::runtime_error("thrown by its end function");
        return !mine.cancelled;
    }
    std::vector<apiary::job_end> told;
    apiary::any_worker* by = nullptr;
    bool throws = false, cancelled = false;
};
struct some_worker : apiary::any_worker {};

TEST(job, is_told_how_it_ends_and_by_which_worker) {
    noting_job ran, dropped;
    some_worker w;
    EXPECT_EQ(ran.run(&w), apiary::job_end::run);
    EXPECT_EQ(ran.told, std::vector{apiary::job_end::run});
    EXPECT_EQ(ran.by, &w);
    EXPECT_EQ(dropped.drop(), apiary::job_end::drop);
    EXPECT_EQ(dropped.told, std::vector{apiary::job_end::drop});
    EXPECT_EQ(dropped.by, nullptr);
}

TEST(job, says_when_it_had_been_cancelled) {
    noting_job ran, dropped;
    ran.cancelled = dropped.cancelled = true;
    EXPECT_EQ(ran.run(), apiary::job_end::cancelled);
    EXPECT_EQ(dropped.drop(), apiary::job_end::cancelled);
}

TEST(job, that_throws_is_told_to_drop_before_the_exception_goes_on) {
    noting_job j;
    some_worker w;
    j.throws = true;
    EXPECT_THROW(j.run(&w), std::runtime_error);
    EXPECT_EQ(j.told, (std::vector{apiary::job_end::run, apiary::job_end::drop}));
    EXPECT_EQ(j.by, &w);
}

struct counting_storage {
    static inline int released = 0;
    static void release(task*) noexcept { ++released; }
};

TEST(task, gives_its_block_back_once_however_it_ends) {
    const auto each = [](auto callable) {
        counting_storage::released = 0;
        task ran(apiary::made_by<counting_storage>(), callable), dropped(apiary::made_by<counting_storage>(), callable);
        ran.run();
        EXPECT_EQ(counting_storage::released, 1);
        dropped.drop();
        EXPECT_EQ(counting_storage::released, 2);
    };
    each([] {});
    each([ballast = std::array<long, 20>{}] { EXPECT_EQ(ballast[0], 0); });
    counting_storage::released = 0;
    task throws(apiary::made_by<counting_storage>(), [] { throw std::runtime_error("thrown"); });
    EXPECT_THROW(throws.run(), std::runtime_error);
    EXPECT_EQ(counting_storage::released, 1);
}

// Marks the block as the storage's own: an object destroyed after that is another task's by then.
struct reusing_storage {
    static inline bool released = false;
    static void release(task*) noexcept { released = true; }
};

TEST(task, gives_its_block_back_behind_its_callable) {
    struct looks_at_the_end {
        bool& early;
        void operator()() const {}
        ~looks_at_the_end() { early = !reusing_storage::released; }
    };
    for (const bool run : {true, false}) {
        bool early = false;
        task t(apiary::made_by<reusing_storage>(), looks_at_the_end{early});
        reusing_storage::released = early = false;
        (void)(run ? t.run() : t.drop());
        EXPECT_TRUE(reusing_storage::released);
        EXPECT_TRUE(early) << "destroyed in a block that was given back";
    }
}

TEST(task, that_is_told_of_its_end_may_have_been_cancelled) {
    std::vector<apiary::job_end> told;
    const auto noting = [&told](apiary::job_end how) {
        told.push_back(how);
        return told.size() == 1 ? how : apiary::job_end::cancelled;
    };
    task first(noting), second(noting);
    EXPECT_EQ(first.drop(), apiary::job_end::drop);
    EXPECT_EQ(second.run(), apiary::job_end::cancelled);
    EXPECT_EQ(told, (std::vector{apiary::job_end::drop, apiary::job_end::run}));
}

TEST(task, knows_its_callable_by_type_and_storage) {
    const auto callable = [] {};
    using type = std::decay_t<decltype(callable)>;
    task loose(callable);
    EXPECT_NE((loose.target<type, apiary::no_storage>()), nullptr);
    EXPECT_EQ((loose.target<type, counting_storage>()), nullptr);
    loose.drop();
}

struct refuses_to_be_copied_in {
    refuses_to_be_copied_in() = default;
    refuses_to_be_copied_in(const refuses_to_be_copied_in&) { throw std::runtime_error("copy"); }
    refuses_to_be_copied_in& operator=(const refuses_to_be_copied_in&) = default;
    void operator()() const {}
};

TEST(task_storage, a_throwing_callable_costs_no_block) {
    const refuses_to_be_copied_in f;
    task* before = pooled_storage::make([] {});
    before->drop();
    EXPECT_THROW((void)pooled_storage::make(f), std::runtime_error);
    task* after = pooled_storage::make([] {});
    EXPECT_EQ(before, after);
    after->drop();
}

TEST(task_storage, a_throwing_callable_costs_no_heap_object_either) {
    const refuses_to_be_copied_in f;
    EXPECT_THROW((void)heap_storage::make(f), std::runtime_error);
    struct large {
        refuses_to_be_copied_in inner;
        std::array<long, 20> ballast{};
        void operator()() const {}
    } const boxed;
    EXPECT_THROW((void)pooled_storage::make(boxed), std::runtime_error);  // the leak checker looks after the box
}

struct at_the_edge {
    std::array<std::byte, task::inline_bytes - sizeof(void*)> ballast{};
    std::array<const void*, 1>* where;
    void operator()() const { (*where)[0] = this; }
};
struct one_word_more : at_the_edge {
    void* more = nullptr;
};

TEST(task, callables_up_to_the_stated_size_live_inside_and_larger_ones_do_not) {
    std::array<const void*, 1> ran_at{};
    const auto inside = [&ran_at](auto callable) {
        task t(callable);
        t.run();
        const auto* begin = reinterpret_cast<const std::byte*>(&t);
        const auto* at = static_cast<const std::byte*>(ran_at[0]);
        return std::less_equal<>()(begin, at) && std::less<>()(at, begin + sizeof t);
    };
    static_assert(sizeof(at_the_edge) == task::inline_bytes);
    EXPECT_TRUE(inside(at_the_edge{{}, &ran_at}));
    EXPECT_FALSE(inside(one_word_more{{{}, &ran_at}}));
}

TEST(task_storage, a_thread_that_ends_gives_its_blocks_back) {
    std::set<void*> first;
    const auto use = [](std::set<void*>& blocks) {
        std::thread([&blocks] {
            std::vector<task*> made;
            for (int i = 0; i < 122; ++i) made.push_back(pooled_storage::make([] {}));
            blocks.insert(made.begin(), made.end());
            for (auto* t : made) t->drop();
        }).join();
    };
    use(first);
    std::set<void*> second;
    use(second);
    EXPECT_EQ(first, second) << "the next thread gets the magazine that the last one left";
}

}  // namespace
}  // namespace task_test
