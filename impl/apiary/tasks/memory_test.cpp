// What the block pool asks of the heap, and what it keeps: nothing in the steady state; it loses no block, whichever
// thread frees it and however late, also while there is no memory. The same for the blocks of frames. A program of its
// own: it replaces operator new.
#include <apiary/tasks/frame_storage.hpp>
#include <apiary/tasks/task_storage.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <future>
#include <new>
#include <set>
#include <thread>
#include <vector>

#include <apiary/testing/replaced_new.hpp>

namespace {

// Of slabs, which are aligned, and of what is as large as a magazine.
std::atomic<int> large_allocations{0}, slabs{0};
thread_local bool heap_is_empty = false;  // for this thread

}  // namespace

void apiary::before_allocation(std::size_t bytes, std::size_t alignment) {
    if (alignment > alignof(std::max_align_t) || (bytes > 1000 && bytes < 1300)) ++large_allocations;
    if (alignment > alignof(std::max_align_t)) ++slabs;
    if (heap_is_empty) throw std::bad_alloc();
}

namespace {

using storage = apiary::pooled_storage<>;
using task = storage::task_type;
using blocks = std::vector<task*>;

blocks make(int n) {
    blocks made;
    made.reserve(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i) made.push_back(storage::make([] {}));
    return made;
}
void end_all(const blocks& made) {
    for (task* t : made) t->drop();
}
void on_a_thread(const std::function<void()>& work) { std::thread(work).join(); }

TEST(task_blocks, are_the_same_ones_again_and_again) {
    on_a_thread([] {
        end_all(make(500));
        const blocks first = make(500);
        const std::set<task*> known(first.begin(), first.end());
        EXPECT_EQ(known.size(), 500U) << "no block is handed out twice";
        end_all(first);
        const int before = large_allocations;
        for (int round = 0; round < 5; ++round) {
            const blocks again = make(500);
            EXPECT_EQ(std::set<task*>(again.begin(), again.end()), known);
            end_all(again);
        }
        EXPECT_EQ(large_allocations, before);
    });
}

// One thread makes, another ends: full magazines go one way, empty ones the other.
TEST(task_blocks, come_back_from_a_thread_that_only_ends_tasks) {
    const auto round = [] {
        const blocks made = make(122);
        on_a_thread([&] { end_all(made); });
    };
    for (int i = 0; i < 10; ++i) round();
    const int before = large_allocations;
    for (int i = 0; i < 50; ++i) round();
    EXPECT_EQ(large_allocations, before) << "neither a slab nor a magazine is made any more";
}

TEST(task_blocks, come_back_from_a_thread_that_only_makes_tasks) {
    const auto round = [] {
        blocks made;
        on_a_thread([&] { made = make(30); });
        end_all(made);
    };
    for (int i = 0; i < 400; ++i) round();
    const int before = large_allocations;
    for (int i = 0; i < 50; ++i) round();
    EXPECT_EQ(large_allocations, before) << "neither a slab nor a magazine is made any more";
}

// Destroyed after the pool's own thread_local object, which was made later.
struct works_late {
    ~works_late() {
        if (!armed) return;
        end_all(make(1));
        end_all(make(200));
    }
    bool armed = false;
};
thread_local works_late late;

TEST(task_blocks, come_back_from_what_a_thread_does_behind_its_end) {
    const auto round = [](bool before_too) {
        on_a_thread([before_too] {
            late.armed = true;
            if (before_too) end_all(make(1));
        });
    };
    for (int i = 0; i < 10; ++i) round(i % 2 == 0);
    const int before = large_allocations;
    for (int i = 0; i < 50; ++i) round(i % 2 == 0);
    EXPECT_EQ(large_allocations, before) << "neither a slab nor a magazine is made any more";
}

// Makes a task at its end, which another thread ends.
struct makes_late {
    ~makes_late() {
        if (to != nullptr) *to = storage::make([] {});
    }
    task** to = nullptr;
};
thread_local makes_late late_maker;

TEST(task_blocks, come_back_from_a_thread_that_makes_one_behind_its_end) {
    const auto round = [] {
        task* made = nullptr;
        on_a_thread([&] {
            late_maker.to = &made;
            end_all(make(1));
        });
        end_all({made});
    };
    for (int i = 0; i < 400; ++i) round();
    const int before = large_allocations;
    for (int i = 0; i < 200; ++i) round();
    EXPECT_EQ(large_allocations, before) << "neither a slab nor a magazine is made any more";
}

// Takes every block at its end, until there is no memory, and puts some back.
struct wants_more_late {
    ~wants_more_late() {
        if (taken == nullptr) return;
        heap_is_empty = true;
        try {
            for (;;) taken->push_back(storage::make([] {}));
        } catch (const std::bad_alloc&) {
        }
        heap_is_empty = false;
        for (int i = 0; i < 100; ++i) {
            taken->back()->drop();
            taken->pop_back();
        }
    }
    blocks* taken = nullptr;
};
thread_local wants_more_late late_and_refused;

TEST(task_blocks, come_back_from_a_thread_that_finds_no_memory_behind_its_end) {
    blocks kept;
    kept.reserve(100'000);
    const auto round = [&] {
        kept.clear();
        on_a_thread([&] {
            late_and_refused.taken = &kept;
            end_all(make(1));
        });
        end_all(kept);
    };
    end_all(make(5'000));
    for (int i = 0; i < 10; ++i) round();
    const std::size_t before = kept.size();
    for (int i = 0; i < 10; ++i) round();
    EXPECT_EQ(kept.size(), before) << "as many blocks as there were";
}

TEST(task_blocks, are_kept_down_to_the_last_one) {
    blocks kept;
    task* last = nullptr;
    on_a_thread([&] {
        kept = make(122);
        last = kept.back();
        kept.pop_back();
        last->drop();  // the only one in the magazine that the thread leaves
    });
    on_a_thread([&] {
        const blocks again = make(1);
        EXPECT_EQ(again[0], last);
        end_all(again);
    });
    end_all(kept);
}

// A thread that has no magazine and gets none: its blocks are linked, and the next that makes tasks has them.
TEST(task_blocks, are_released_without_memory_and_none_is_lost) {
    constexpr int n = 50'000;  // more than there are magazines for
    const blocks made = make(n);
    on_a_thread([&] {
        heap_is_empty = true;
        end_all(made);
        heap_is_empty = false;
    });
    const int before = slabs;
    const blocks again = make(n);
    EXPECT_EQ(slabs, before);
    EXPECT_EQ(std::set<task*>(again.begin(), again.end()).size(), again.size()) << "no block is handed out twice";
    end_all(again);
}

TEST(frame_blocks, are_released_without_memory_and_none_is_lost) {
    if (!apiary::frame_storage<apiary::real_sync>::recycles) GTEST_SKIP() << "frames come from the heap under a sanitizer";
    constexpr std::size_t bytes = 1'000, n = 2'000;
    std::vector<void*> made(n);
    for (void*& p : made) p = apiary::frame_blocks::allocate(bytes);
    const std::set<void*> known(made.begin(), made.end());
    on_a_thread([&] {
        heap_is_empty = true;
        for (void* const p : made) apiary::frame_blocks::release(p, bytes);
        heap_is_empty = false;
    });
    for (void*& p : made) p = apiary::frame_blocks::allocate(bytes);
    EXPECT_EQ(std::set<void*>(made.begin(), made.end()), known);
    for (void* const p : made) apiary::frame_blocks::release(p, bytes);
}

TEST(heap_objects, of_tasks_and_frames_go_back_to_the_heap) {
    using heap = apiary::heap_storage<apiary::real_sync>;
    auto* const t = heap::make([] {});
    std::uint64_t before = apiary::deallocations;
    t->drop();
    EXPECT_EQ(apiary::deallocations - before, 1U);
    using frames = apiary::frame_storage<apiary::heap_frames>;
    void* const p = frames::allocate(100);
    before = apiary::deallocations;
    frames::release(p, 100);
    EXPECT_EQ(apiary::deallocations - before, 1U);
}

// A policy of its own has a pool of its own, of which nobody else has taken anything.
template <int>
struct apart : apiary::real_sync {};

// A thread that has no magazine yet, and another one, too: what the one releases is not the other's while it lives.
TEST(task_blocks, that_a_new_thread_releases_are_its_own) {
    using pool = apiary::basic_task_block_pool<apart<1>>;
    void* const block = pool::allocate();
    std::promise<void> released, made;
    std::thread releases([&] {
        pool::release(block);
        released.set_value();
        made.get_future().wait();
    });
    released.get_future().wait();
    on_a_thread([&] {
        void* const other = pool::allocate();
        EXPECT_NE(other, block);
        pool::release(other);
    });
    made.set_value();
    releases.join();
}

TEST(task_blocks, of_which_one_was_released_without_memory_are_no_fewer) {
    using pool = apiary::basic_task_block_pool<apart<2>>;
    void* alone = nullptr;
    on_a_thread([&] { alone = pool::allocate(); });
    on_a_thread([&] {
        heap_is_empty = true;
        pool::release(alone);
        heap_is_empty = false;
    });
    on_a_thread([&] {
        const int before = slabs;
        std::set<void*> all;
        for (int i = 0; i != 122; ++i) all.insert(pool::allocate());
        EXPECT_EQ(slabs, before) << "the slab has as many";
        EXPECT_TRUE(all.contains(alone));
        for (void* const p : all) pool::release(p);
    });
}

template <class Frames>
int slabs_of_many_rounds(std::size_t bytes, std::size_t n, auto gives_back) {
    const auto round = [&] {
        std::vector<void*> taken(n);
        on_a_thread([&] {
            for (void*& p : taken) p = Frames::allocate(bytes);
        });
        gives_back(taken);
    };
    for (int i = 0; i != 10; ++i) round();
    const int before = slabs;
    for (int i = 0; i != 50; ++i) round();
    return slabs - before;
}

TEST(frame_blocks, of_each_size_come_back_from_a_thread_that_ends) {
    using frames = apiary::basic_frame_blocks<apart<3>>;
    for (std::size_t bytes = 1; bytes <= frames::step * frames::classes; bytes += frames::step)
        EXPECT_EQ(slabs_of_many_rounds<frames>(bytes, 3,
                                               [bytes](const std::vector<void*>& all) {
                                                   on_a_thread([&] {
                                                       for (void* const p : all) frames::release(p, bytes);
                                                   });
                                               }),
                  0)
            << bytes;
}

// The depot notes in a frame how many come after it. What the frame held before is no number.
TEST(frame_blocks, that_were_written_to_are_counted_all_the_same) {
    using frames = apiary::basic_frame_blocks<apart<4>>;
    constexpr std::size_t bytes = 1'000;
    const auto give_back = [](const std::vector<void*>& all) {
        for (void* const p : all) {
            std::memset(p, 0x7F, bytes);
            frames::release(p, bytes);
        }
    };
    on_a_thread([&] {
        std::vector<void*> many(40);
        for (void*& p : many) p = frames::allocate(bytes);
        give_back(many);
    });
    on_a_thread([&] {
        give_back({frames::allocate(bytes)});  // so it has the depot's
        EXPECT_EQ(slabs_of_many_rounds<frames>(bytes, 20, give_back), 0) << "it keeps all that it is given";
    });
}

// Makes a frame at the thread's end, after its blocks have gone back.
using late_frames = apiary::basic_frame_blocks<apart<5>>;
struct makes_a_late_frame {
    ~makes_a_late_frame() {
        if (to != nullptr) *to = late_frames::allocate(100);
    }
    void** to = nullptr;
};
thread_local makes_a_late_frame late_frame;

TEST(frame_blocks, come_back_from_a_thread_that_takes_one_behind_its_end) {
    const auto round = [] {
        void* made = nullptr;
        on_a_thread([&] {
            late_frame.to = &made;
            std::vector<void*> before(5);
            for (void*& p : before) p = late_frames::allocate(100);
            for (void* const p : before) late_frames::release(p, 100);
        });
        late_frames::release(made, 100);
    };
    for (int i = 0; i != 200; ++i) round();
    const int before = slabs;
    for (int i = 0; i != 50; ++i) round();
    EXPECT_EQ(slabs, before);
}

}  // namespace
