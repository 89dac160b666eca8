// taskflow 292: what is handed over by its deque; and the deque's array, where it grows.
#include <atomic>
#include <cassert>
#include <cstdint>
#include <thread>
#include <vector>

#include <apiary/check.hpp>
#include <tsq.hpp>

namespace {
struct task {
    int value = 0;
};
void handed_over(std::int64_t capacity, int tasks) {
    tf::TaskQueue<task*> q(capacity);
    task all[2];
    std::thread thief([&] {
        if (const task* const stolen = q.steal()) apiary::check(stolen->value == 7, "not what was pushed");
    });
    for (int k = 0; k < tasks; ++k) {
        all[k].value = 7;
        q.push(&all[k]);
    }
    thief.join();
}
}  // namespace
APIARY_SCENARIO(handed_over_by_a_fence) { handed_over(2, 1); }
APIARY_SCENARIO(grows) { handed_over(1, 2); }
