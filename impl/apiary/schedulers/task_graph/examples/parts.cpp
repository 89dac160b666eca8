// What the steps cost that a task is made of, beside what the seed estimates of them (README.md, "The seed's
// estimates").
//
//     task_graph_parts [--rounds N]
//
// Median over the rounds, ns for each; two threads where it says so. A cycle is what a loop of dependent additions
// takes. As a test it has one round.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include <apiary/queues/chase_lev_deque.hpp>
#include <apiary/schedulers/task_graph/fan_out.hpp>
#include <apiary/schedulers/task_graph/join_counter.hpp>
#include <apiary/sync/real_sync.hpp>

namespace {

constexpr std::int64_t times = 200'000;
std::size_t rounds = 1;
double cycle_ns = 0;

template <class Step>
double measure(Step step, bool by_two) {
    std::vector<double> ns;
    for (std::size_t round = 0; round != rounds; ++round) {
        std::atomic<int> there = 0;
        const auto loop = [&] {
            ++there;
            while (by_two && there != 2) {
            }
            for (std::int64_t i = 0; i != times; ++i) step();
        };
        std::thread other;
        if (by_two) other = std::thread(loop);
        const std::int64_t from = apiary::real_sync::now_ns();
        loop();
        if (by_two) other.join();
        ns.push_back(static_cast<double>(apiary::real_sync::now_ns() - from) / static_cast<double>(times));
    }
    std::sort(ns.begin(), ns.end());
    return ns[ns.size() / 2];
}
template <class Step>
void print(const char* what, const char* estimate, Step step, bool by_two = false) {
    const double ns = measure(step, by_two);
    std::printf("| %s | %s | %.1f | %.0f |\n", what, estimate, ns, ns / cycle_ns);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 3 && std::strcmp(argv[1], "--rounds") == 0) rounds = std::max(1UL, std::strtoul(argv[2], nullptr, 10));
    std::uint64_t x = 1;
    cycle_ns = measure(
                   [&x] {
                       for (int i = 0; i != 100; ++i) {
                           x += 1;
                           asm volatile("" : "+r"(x));
                       }
                   },
                   false) /
               100;
    std::atomic<std::uint64_t> word = 0;
    std::mutex mutex;
    std::uint64_t held = 0;
    int element = 0;
    apiary::chase_lev_deque<int*> deque;
    auto mine = deque.own();
    apiary::join_counter<> join;
    apiary::fan_out<> out;
    std::printf("| step | the seed, cycles | ns | cycles |\n|---|---|---|---|\n");
    print("atomic addition", "10 to 50", [&word] { word.fetch_add(1, std::memory_order_acq_rel); });
    print("the same by two threads at once", "", [&word] { word.fetch_add(1, std::memory_order_acq_rel); }, true);
    const auto exchange = [&word] {
        std::uint64_t seen = word.load(std::memory_order_relaxed);
        while (!word.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel, std::memory_order_relaxed)) {
        }
    };
    print("compare-exchange", "50 to 100", exchange);
    print("the same by two threads at once", "", exchange, true);
    print("push and pop of a worker's deque", "20 to 30", [&] {
        int* got = nullptr;
        if (!mine.try_push(&element) || !mine.try_pop(got)) std::abort();
    });
    const auto locked = [&] {
        const std::lock_guard<std::mutex> lock(mutex);
        ++held;
    };
    print("lock and unlock", "", locked);
    print("the same, contended by two threads", "100 to 1000", locked, true);
    print("an edge: link and arrival", "", [&] {
        join.expect(1);
        out.open(0, false);
        (void)out.link(0, 1, false, [](std::uint32_t) {});
        (void)join.arrive();
    });
    print("an end: the list is closed and taken", "", [&] {
        out.open(0, false);
        (void)out.close(false);
    });
    return held == 0;
}
