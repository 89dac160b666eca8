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

APIARY_SCENARIO(used_before_main, "used_before_main_by_all") { threads_have_their_own(1); }
APIARY_FAILING_SCENARIO(used_before_main_by_all, "another thread's") { threads_have_their_own(2); }
