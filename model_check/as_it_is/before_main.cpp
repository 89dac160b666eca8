// What globals do before main, when nothing is checked yet: it is done as it always is.
#include <apiary/check.hpp>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace {
thread_local std::vector<int> of_a_thread;
std::mutex lock;
std::condition_variable posted;
const struct global {
    global() {
        of_a_thread.push_back(1);
        const std::lock_guard held(lock);
        posted.notify_all();
    }
} made_before_main;
std::atomic<int> word;

void threads_have_their_own(std::size_t others) {
    std::thread a([=] {
        of_a_thread.push_back(2);
        const std::lock_guard held(lock);
        posted.notify_one();
        apiary::check(of_a_thread.size() == others, "another thread's");
    });
    word.store(1);
    a.join();
}
}  // namespace

namespace {
// Of the heap from before main: each execution finds it as it was made.
struct kept {
    std::atomic<int> count{0};
    int written = 0;
};
kept* const on_the_heap = new kept;
std::vector<int> grown{1, 2, 3};

void count_on_the_heap(bool one_writes_plainly) {
    apiary::check(on_the_heap->written == 0 && on_the_heap->count.load() == 0 && grown.size() == 3, "not put back");
    std::thread a([=] {
        if (one_writes_plainly) on_the_heap->written = 1;
        on_the_heap->count.fetch_add(1);
    });
    if (one_writes_plainly) on_the_heap->written = 2;
    on_the_heap->count.fetch_add(1);
    grown.push_back(4);
    a.join();
    apiary::check(on_the_heap->count.load() == 2 && grown.back() == 4, "lost");
}
}  // namespace

APIARY_SCENARIO(heap_from_before_main, "heap_from_before_main_races") { count_on_the_heap(false); }
APIARY_FAILING_SCENARIO(heap_from_before_main_races, "data race") { count_on_the_heap(true); }
APIARY_FAILING_SCENARIO(heap_from_before_main_is_freed, "access to freed memory") {
    std::thread a([] { on_the_heap->count.load(); });
    delete on_the_heap;
    a.join();
}

APIARY_SCENARIO(used_before_main, "used_before_main_by_all") { threads_have_their_own(1); }
APIARY_FAILING_SCENARIO(used_before_main_by_all, "another thread's") { threads_have_their_own(2); }
