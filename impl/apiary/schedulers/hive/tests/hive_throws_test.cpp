// What a post throws, and what it has then posted: nothing. Callables that throw while they are moved in, a heap that
// gives out at every allocation in turn, and posts by what is destroyed last on a thread. A program of its own: it
// replaces operator new.
#include <apiary/schedulers/hive/hive.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <climits>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <semaphore>
#include <span>
#include <stdexcept>
#include <thread>
#include <vector>

#include <apiary/testing/replaced_new.hpp>
#include <apiary/testing/stepped_hive.hpp>

namespace {

using namespace std::chrono_literals;
using apiary::hive;

// This thread's allocations until one fails; below zero: none fails.
thread_local int allocations_left = -1;

}  // namespace

void apiary::before_allocation(std::size_t, std::size_t) {
    if (allocations_left >= 0 && allocations_left-- == 0) throw std::bad_alloc();
}

namespace {

// Counts the live ones, and throws at the move that it is told.
template <std::size_t Bytes>
struct throws_when_moved {
    struct books {
        std::atomic<int> alive{0}, ran{0};
        int moves_left = -1;  // of this thread's
    };
    explicit throws_when_moved(books& b) : b_(&b) { ++b.alive; }
    throws_when_moved(throws_when_moved&& other) : b_(other.b_) {
        if (b_->moves_left >= 0 && b_->moves_left-- == 0) throw std::runtime_error("moved");
        ++b_->alive;
    }
    throws_when_moved& operator=(throws_when_moved&&) = delete;
    ~throws_when_moved() { --b_->alive; }
    void operator()() { ++b_->ran; }

private:
    books* b_;
    std::array<std::byte, Bytes> ballast_{};
};

// Every way to post, at every move that it makes.
template <std::size_t Bytes>
void every_post_at_every_move() {
    using callable = throws_when_moved<Bytes>;
    typename callable::books b;
    hive h({.io_workers = 2, .compute_workers = 1});
    std::size_t posted = 0, thrown = 0;
    const auto at_every_move = [&](auto post) {
        for (int at = 0;; ++at) {
            b.moves_left = at;
            try {
                post();
                b.moves_left = -1;
                ++posted;
                return;
            } catch (const std::runtime_error&) {
                ++thrown;
                EXPECT_EQ(b.alive, static_cast<int>(posted)) << "at move " << at;
                ASSERT_LT(at, 100);
            }
        }
    };
    at_every_move([&] { EXPECT_TRUE(h.post_micro(callable(b))); });
    at_every_move([&] { EXPECT_TRUE(h.post_to_pool(callable(b))); });
    at_every_move([&] { EXPECT_TRUE(h.post_to_worker(1, callable(b))); });
    at_every_move([&] { EXPECT_TRUE(h.post_compute(callable(b))); });
    at_every_move([&] { EXPECT_TRUE(h.post_delayed(callable(b), 0ns)); });
    EXPECT_GE(thrown, 5U);

    // A batch: all or none, whichever of its elements throws.
    {
        std::array<callable, 3> batch{callable(b), callable(b), callable(b)};
        for (const auto post : {&hive::post_micro_batch<callable, 3>, &hive::post_compute_batch<callable, 3>})
            for (int at = 0; at < 3; ++at) {
                b.moves_left = at;
                EXPECT_THROW((void)(h.*post)(std::span(batch)), std::runtime_error) << at;
                EXPECT_EQ(b.alive, static_cast<int>(posted) + 3);
            }
    }
    EXPECT_EQ(b.alive, static_cast<int>(posted));
    h.request_stop();
    h.run();
    EXPECT_EQ(b.ran, static_cast<int>(posted));
    EXPECT_EQ(b.alive, 0);
    EXPECT_EQ(h.report().run, posted);
    EXPECT_EQ(h.report().refused, 0U);
}

TEST(throws, a_callable_that_throws_while_it_is_moved_in_posts_nothing) {
    every_post_at_every_move<8>();    // inside the task
    every_post_at_every_move<200>();  // in a heap object of its own
}

// Takes every task block there is, so that the next post must allocate all that it can.
std::vector<void*> take_all_blocks() {
    std::vector<void*> blocks;
    for (;;) {
        blocks.reserve(blocks.size() + 1);
        allocations_left = 0;
        try {
            blocks.push_back(apiary::task_block_pool::allocate());
        } catch (const std::bad_alloc&) {
            return blocks;
        }
        allocations_left = -1;
    }
}

TEST(throws, a_post_without_memory_has_posted_nothing) {
    std::atomic<int> ran{0};
    hive h({.io_workers = 2, .compute_workers = 1});
    std::size_t posted = 0;
    const auto token = std::make_shared<int>(0);
    // `least`: what it allocates whatever earlier tests left behind: a slab of blocks, and an object for a large
    // callable.
    const auto at_every_allocation = [&](int least, auto post) {
        int thrown = 0;
        for (int at = 0, n = 0; n == 0; ++at) {
            ASSERT_LT(at, 100);
            const std::vector<void*> blocks = take_all_blocks();
            allocations_left = at;
            try {
                n = post() ? 1 : -1;
            } catch (const std::bad_alloc&) {
                ++thrown;
            }
            allocations_left = -1;
            EXPECT_GE(n, 0);
            posted += n == 1 ? 1 : 0;
            for (void* block : blocks) apiary::task_block_pool::release(block);
        }
        EXPECT_GE(thrown, least);
        EXPECT_EQ(token.use_count(), static_cast<long>(posted) + 3);  // small and large hold one each
    };
    const std::array<std::byte, 100> ballast{};
    const auto small = [token, &ran] { ++ran; };
    const auto large = [token, &ran, ballast] { ran += ballast[0] == std::byte{} ? 1 : 2; };
    at_every_allocation(1, [&] { return h.post_micro(small); });
    at_every_allocation(2, [&] { return h.post_micro(large); });
    at_every_allocation(2, [&] { return h.post_to_pool(large); });
    at_every_allocation(2, [&] { return h.post_to_worker(1, large); });
    at_every_allocation(2, [&] { return h.post_compute(large); });
    at_every_allocation(2, [&] { return static_cast<bool>(h.post_delayed(large, 0ns)); });
    h.request_stop();
    h.run();
    EXPECT_EQ(ran, static_cast<int>(posted));
    EXPECT_EQ(token.use_count(), 3);
    EXPECT_EQ(h.report().run, posted);
}

// A deque that cannot grow refuses, and the pool takes the task: what was accepted runs.
TEST(throws, a_worker_whose_heap_gives_out_runs_what_it_accepted) {
    std::atomic<int> ran{0};
    int accepted = 0, thrown = 0;
    hive h({.io_workers = 2});
    ASSERT_TRUE(h.post_micro([&] {
        // Earlier tests left blocks behind, and a thief gives back those that it runs.
        const std::vector<void*> blocks = take_all_blocks();
        for (int i = 0; i < 5000; ++i) {
            allocations_left = 0;
            try {
                accepted += h.post_micro([&ran] { ++ran; });
            } catch (const std::bad_alloc&) {
                ++thrown;
                allocations_left = -1;
                accepted += h.post_micro([&ran] { ++ran; });  // what the storage needs
            }
        }
        allocations_left = -1;
        for (void* block : blocks) apiary::task_block_pool::release(block);
        h.request_stop();
    }));
    h.run();
    EXPECT_GT(thrown, 0);
    EXPECT_EQ(ran, accepted);
}

// Counts those that there are.
struct counted_driver : apiary::epoll_driver {
    counted_driver() { ++alive; }
    ~counted_driver() { --alive; }
    static inline std::atomic<int> alive{0};
};

TEST(throws, an_attach_without_memory_has_attached_nothing) {
    for (const bool runs : {false, true}) {
        apiary::basic_hive<apiary::real_sync, counted_driver, apiary::pooled_storage<>> h({.io_workers = 2});
        std::thread running;
        std::atomic<int> ran{0};
        if (runs) {
            running = std::thread([&h] { h.run(); });
            ASSERT_TRUE(h.post_micro([&ran] { ++ran; }));
            while (ran == 0) std::this_thread::yield();
        }
        const auto at_every_allocation = [](auto attach, auto serving) {
            const unsigned before = serving();
            for (int at = 0;; ++at) {
                ASSERT_LT(at, 100);
                std::optional<unsigned> id;
                allocations_left = at;
                try {
                    id = attach();
                } catch (const std::bad_alloc&) {
                }
                allocations_left = -1;
                EXPECT_EQ(serving(), before + (id ? 1 : 0)) << "at allocation " << at;
                if (id) {
                    EXPECT_GT(at, 1);
                    return;
                }
            }
        };
        at_every_allocation([&h] { return h.attach_io_worker(); }, [&h] { return h.io_workers(); });
        EXPECT_EQ(counted_driver::alive, 3);
        EXPECT_FALSE(h.post_compute([] {})) << "there is none yet";
        at_every_allocation([&h] { return h.attach_compute_worker(); }, [&h] { return h.compute_workers(); });
        EXPECT_TRUE(h.post_compute([&ran] { ++ran; }));
        h.request_stop();
        if (runs)
            running.join();
        else
            h.run();
        EXPECT_EQ(ran, runs ? 2 : 1);
        EXPECT_EQ(h.report().run, static_cast<std::uint64_t>(ran));
    }
    EXPECT_EQ(counted_driver::alive, 0);
}

// A table of descriptors that grew by this number would take 32 GB.
TEST(throws, a_number_that_is_no_descriptors_is_refused_without_memory) {
    struct silent final : apiary::descriptor_source {
        explicit silent(int fd) : descriptor_source(fd) {}
        void on_ready(apiary::readiness) noexcept override {}
    };
    apiary::epoll_driver driver;
    silent source(INT_MAX);
    allocations_left = 0;
    std::optional<apiary::watch_result> answer;
    try {
        answer = driver.watch(source, {});
    } catch (const std::bad_alloc&) {
    }
    allocations_left = -1;
    EXPECT_EQ(answer, apiary::watch_result::bad_descriptor);
}

struct without_memory : testing::Test, apiary::still_script {
    std::unique_ptr<core_type> h = std::make_unique<core_type>(2U, 0U, apiary::hive_parameters{});
    auto& mail(unsigned worker) { return h->io()[worker]->sources().mail().inbox; }
};

TEST_F(without_memory, a_timer_that_was_accepted_comes_in_again_until_it_is_due) {
    h->clock().set(1000);
    for (const std::int64_t deadline : {1000, 1001}) {
        ASSERT_TRUE(h->post_to(1, noting("timer", deadline)));
        allocations_left = 0;
        h->io()[1]->sources().collect();
        ASSERT_EQ(allocations_left, -1);
        EXPECT_EQ(mail(1).looks_empty(), deadline == 1000) << deadline;
        EXPECT_TRUE(mail(0).looks_empty());
    }
    h->clock().set(1001);
    while (h->io()[1]->turn_once()) continue;
    EXPECT_EQ(log.size(), 2U);
}

TEST_F(without_memory, a_timer_of_a_worker_that_leaves_goes_to_the_main_worker_or_is_dropped) {
    for (const bool main_worker_left : {false, true}) {
        ASSERT_TRUE(h->post_to(1, noting("timer", 5000)));
        if (main_worker_left) (void)mail(0).close();  // as at the end of its life
        allocations_left = 0;
        EXPECT_TRUE(h->io()[1]->sources().hand_over_timed());
        ASSERT_EQ(allocations_left, -1);
        EXPECT_EQ(mail(0).looks_empty(), main_worker_left);
        EXPECT_EQ(h->io()[1]->counters().discarded, main_worker_left ? 1U : 0U);
        h = std::make_unique<core_type>(2U, 0U, apiary::hive_parameters{});
    }
    EXPECT_TRUE(log.empty());
}

TEST(throws, a_run_that_cannot_start_a_thread_accounts_for_every_task) {
    for (int threads = 0; threads < 3; ++threads) {
        hive h({.io_workers = 3, .compute_workers = 1});
        const auto token = std::make_shared<int>(0);
        for (const unsigned worker : {0U, 1U, 2U}) ASSERT_TRUE(h.post_to_worker(worker, [token] {}));
        ASSERT_TRUE(h.post_micro([token] {}));
        ASSERT_TRUE(h.post_compute([token] {}));
        ASSERT_TRUE(h.post_delayed([token] {}, 1h));
        int answered = 0;
        std::shared_ptr<int> attaches(token.get(), [&h, &answered](int*) { answered += !h.attach_io_worker(); });
        ASSERT_TRUE(h.post_to_worker(0, [last = std::move(attaches)] {}));  // dropped where nothing is held
        allocations_left = threads;
        EXPECT_THROW(h.run(), std::bad_alloc);
        allocations_left = -1;
        EXPECT_EQ(answered, 1);
        EXPECT_EQ(h.report().run + h.report().discarded, 7U) << threads << " threads were started";
        EXPECT_EQ(token.use_count(), 1);
        EXPECT_FALSE(h.post_micro([] {}));
        EXPECT_FALSE(h.attach_io_worker());
    }
}

// A user's loop that only waits to be woken, on the thread that brought it.
struct waiting_loop {
    static constexpr std::int64_t forever = INT64_MAX;
    std::counting_semaphore<> woken{0};
    std::thread::id home;
    void here() const { EXPECT_EQ(std::this_thread::get_id(), home); }
    void wait(std::int64_t) { here(), woken.acquire(); }
    void poll() { here(); }
    void wake() { woken.release(); }
};

TEST(throws, a_run_that_cannot_start_a_thread_lets_its_guest_go) {
    for (int allocations = 0; allocations < 3; ++allocations) {
        hive h({.io_workers = 2, .compute_workers = 1});
        waiting_loop loop;
        std::binary_semaphore sits(0);
        std::atomic<unsigned> id{0};
        std::thread guest([&] {
            EXPECT_TRUE(h.attach_this_thread(
                loop, [&](unsigned mine) { loop.home = std::this_thread::get_id(), id = mine, sits.release(); }));
        });
        sits.acquire();
        EXPECT_TRUE(h.post_to_worker(id, [] {}));
        allocations_left = allocations;
        EXPECT_THROW(h.run(), std::bad_alloc);
        allocations_left = -1;
        guest.join();
        EXPECT_EQ(h.report().run + h.report().discarded, 1U);
        EXPECT_FALSE(h.attach_this_thread(loop));
    }
}

// Destroyed after everything that its thread has made later, the blocks of task_storage among them.
struct posts_at_the_end {
    hive* h = nullptr;
    std::atomic<int>* ran = nullptr;
    std::atomic<int>* accepted = nullptr;
    void arm(hive& at, std::atomic<int>& counted, std::atomic<int>& yes) { h = &at, ran = &counted, accepted = &yes; }
    ~posts_at_the_end() {
        if (h == nullptr) return;
        for (int i = 0; i < 300; ++i) *accepted += h->post_micro([r = ran] { ++*r; });
        *accepted += static_cast<bool>(h->post_delayed([r = ran] { ++*r; }, 0ns));
    }
};
thread_local posts_at_the_end at_the_end;

TEST(throws, a_post_by_a_thread_local_destructor_is_a_post) {
    std::atomic<int> ran{0}, accepted{0};
    hive h({.io_workers = 2});
    std::thread running([&h] { h.run(); });
    std::thread([&] {
        at_the_end.arm(h, ran, accepted);
        (void)h.post_micro([] {});
    }).join();
    EXPECT_EQ(accepted, 301);
    // On a worker's thread, which a detach ends.
    ASSERT_TRUE(h.post_to_worker(1, [&] { at_the_end.arm(h, ran, accepted); }));
    ASSERT_TRUE(h.post_to_worker(1, [&] { (void)h.detach_io_worker(1); }));
    while (accepted != 602) std::this_thread::yield();
    h.request_stop();
    running.join();
    EXPECT_EQ(ran, 602);
}

TEST(throws, a_delay_that_is_no_number_counts_as_none) {
    hive h({});
    bool ran = false;
    ASSERT_TRUE(h.post_delayed([&ran] { ran = true; }, std::chrono::duration<double>(std::nan(""))));
    h.request_stop();
    h.run();
    EXPECT_TRUE(ran);
}

}  // namespace
