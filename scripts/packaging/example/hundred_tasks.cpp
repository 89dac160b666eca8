// A hundred tasks on a hive, run to their end.
#include <atomic>
#include <cstdio>

#include <apiary/schedulers/hive/hive.hpp>
#include <apiary/version.hpp>

int main() {
    apiary::hive h({.io_workers = 2});
    std::atomic<int> ran{0};
    for (int i = 0; i < 100; ++i)
        if (!h.post_micro([&] {
                if (ran.fetch_add(1) + 1 == 100) h.request_stop();
            }))
            return 1;
    h.run();
    std::printf("apiary %s ran %d tasks\n", apiary::library_version, ran.load());
    return ran == 100 ? 0 : 1;
}
