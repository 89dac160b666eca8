// Whole pools, as textbooks have them: workers that are alike, a mutex, a condition variable and a queue of tasks. And
// threads that only seem alike. pools_test.py searches all of it without symmetry, too.
#include <apiary/check.hpp>

#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <queue>
#include <thread>
#include <vector>

namespace {

// `Mistake` names what is wrong with it.
enum class mistake { none, asks_once, tells_one_of_the_end, asks_without_the_lock, takes_without_the_lock };

template <mistake Mistake>
class pool {
public:
    explicit pool(unsigned workers) {
        for (unsigned i = 0; i != workers; ++i) threads_.emplace_back([this] { work(); });
    }
    ~pool() {
        {
            const std::lock_guard<std::mutex> held(mutex_);
            stops_ = true;
        }
        if constexpr (Mistake == mistake::tells_one_of_the_end)
            changed_.notify_one();
        else
            changed_.notify_all();
        for (std::thread& t : threads_) t.join();
    }
    void post(std::function<void()> task) {
        {
            const std::lock_guard<std::mutex> held(mutex_);
            tasks_.push(std::move(task));
        }
        changed_.notify_one();
    }

private:
    void work() {
        for (;;) {
            std::function<void()> task;
            if constexpr (Mistake == mistake::asks_without_the_lock)
                if (stops_) return;
            {
                std::unique_lock<std::mutex> held(mutex_);
                if constexpr (Mistake == mistake::asks_once) {
                    if (!stops_ && tasks_.empty()) changed_.wait(held);
                } else {
                    changed_.wait(held, [this] { return stops_ || !tasks_.empty(); });
                }
                if (tasks_.empty()) {
                    if (stops_) return;
                    apiary::check(false, "a worker goes on without a task");
                }
                if constexpr (Mistake == mistake::takes_without_the_lock) held.unlock();
                task = std::move(tasks_.front());
                tasks_.pop();
            }
            task();
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::queue<std::function<void()>> tasks_;
    bool stops_ = false;
    std::vector<std::thread> threads_;
};

template <mistake Mistake, unsigned Tasks>
void run_tasks(unsigned workers) {
    int ran[Tasks] = {};
    {
        pool<Mistake> p(workers);
        for (int& r : ran) p.post([&r] { ++r; });
    }
    for (const int r : ran) apiary::check(r == 1, "a task does not run once");
}

}  // namespace

APIARY_SCENARIO(pool_of_two_runs_one_task, "pool_of_two_tells_one_of_the_end") { run_tasks<mistake::none, 1>(2); }
APIARY_SCENARIO(pool_of_two_runs_two_tasks, "pool_of_two_tells_one_of_the_end") { run_tasks<mistake::none, 2>(2); }
APIARY_SCENARIO(pool_of_three_runs_one_task, "pool_of_two_asks_once") { run_tasks<mistake::none, 1>(3); }
APIARY_FAILING_SCENARIO(pool_of_two_tells_one_of_the_end, "deadlock") { run_tasks<mistake::tells_one_of_the_end, 1>(2); }
APIARY_FAILING_SCENARIO(pool_of_two_asks_once, "a worker goes on without a task") { run_tasks<mistake::asks_once, 2>(2); }
APIARY_FAILING_SCENARIO(pool_of_two_asks_without_the_lock, "data race") { run_tasks<mistake::asks_without_the_lock, 1>(2); }
APIARY_FAILING_SCENARIO(pool_of_three_takes_without_the_lock, "data race") { run_tasks<mistake::takes_without_the_lock, 2>(3); }

// ---- what tells threads apart that are alike (as_it_is/twins.cpp) -------------------------------------------------------
//
// Each fails where the thread that was started second comes first, and in no other execution.

namespace {
std::mutex line;
int came;  // guarded by it

// Whether this thread is the first to come.
bool comes_first() {
    const std::lock_guard<std::mutex> held(line);
    return came++ == 0;
}

template <class F>
void join_in_a_row(F f) {
    std::thread a(f), b(f);
    a.join();
    b.join();
}
}  // namespace

// T1
APIARY_FAILING_SCENARIO(told_apart_by_name, "the second came first") {
    static std::thread::id first;
    join_in_a_row([] {
        const std::lock_guard<std::mutex> held(line);
        if (came++ == 0)
            first = std::this_thread::get_id();
        else
            apiary::check(first < std::this_thread::get_id(), "the second came first");
    });
}
APIARY_FAILING_SCENARIO(told_apart_by_a_join_of_itself, "a thread is joined that was joined") {
    static pthread_t a;
    const auto f = [](void*) -> void* {
        if (comes_first()) apiary::check(::pthread_join(a, nullptr) == EDEADLK);
        return nullptr;
    };
    pthread_t b{};
    ::pthread_create(&a, nullptr, f, nullptr);
    ::pthread_create(&b, nullptr, f, nullptr);
    ::pthread_join(a, nullptr);
    ::pthread_join(b, nullptr);
}
APIARY_FAILING_SCENARIO(told_apart_by_the_name_of_a_thread_that_it_starts, "the second came first") {
    static std::thread::id named[2];
    join_in_a_row([] {
        const bool first = comes_first();
        std::thread([first] { named[first ? 0 : 1] = std::this_thread::get_id(); }).join();
    });
    apiary::check(named[0] < named[1], "the second came first");
}
// T2
APIARY_FAILING_SCENARIO(told_apart_by_the_clock_at_its_start, "the second came first") {
    static std::chrono::steady_clock::time_point first;
    const auto f = [] {
        const std::lock_guard<std::mutex> held(line);
        const auto now = std::chrono::steady_clock::now();
        if (came++ == 0)
            first = now;
        else
            apiary::check(first <= now, "the second came first");
    };
    std::thread a(f);
    (void)std::chrono::steady_clock::now();
    (void)std::chrono::steady_clock::now();
    std::thread b(f);
    a.join();
    b.join();
}
APIARY_FAILING_SCENARIO(told_apart_by_a_write_between_the_starts, "data race") {
    static int plain;
    static std::atomic<int> relaxed;  // so that the first does not know what the second knew
    const auto f = [] {
        if (relaxed.fetch_add(1, std::memory_order_relaxed) != 0) apiary::check(plain == 1);
    };
    std::thread a(f);
    plain = 1;
    std::thread b(f);
    a.join();
    b.join();
}
namespace {
struct order {
    std::atomic<int>* go;
    int number;
};
int number_of_the_first;  // guarded by `line`
void* obeys(void* p) {
    auto* const mine = static_cast<order*>(p);
    if (mine->go->load(std::memory_order_acquire) == 0) return nullptr;
    const std::lock_guard<std::mutex> held(line);
    if (came++ == 0)
        number_of_the_first = mine->number;
    else
        apiary::check(number_of_the_first != 2, "the second came first");
    return nullptr;
}
}  // namespace
APIARY_FAILING_SCENARIO(told_apart_by_an_argument_that_changes, "the second came first") {
    std::atomic<int> go = 0;
    auto* const one = new order{&go, 1};
    auto* const other = new order{&go, 1};
    pthread_t a{}, b{};
    ::pthread_create(&a, nullptr, obeys, one);
    ::pthread_create(&b, nullptr, obeys, other);
    other->number = 2;
    go.store(1, std::memory_order_release);
    ::pthread_join(a, nullptr);
    ::pthread_join(b, nullptr);
    delete one;
    delete other;
}
// T3
namespace {
std::atomic<int> first_is_done;
void tells_if_first() {
    if (comes_first()) first_is_done.store(1);
}
}  // namespace
APIARY_FAILING_SCENARIO(told_apart_by_an_event_between_the_joins, "the second came first") {
    std::thread a(tells_if_first), b(tells_if_first);
    a.join();
    const int seen = first_is_done.load();
    b.join();
    apiary::check(seen == 1, "the second came first");
}
APIARY_FAILING_SCENARIO(told_apart_by_a_read_between_the_joins, "data race") {
    static int plain;
    const auto f = [] {
        if (comes_first()) plain = 1;
    };
    std::thread a(f), b(f);
    a.join();
    const int seen = plain;
    b.join();
    apiary::check(seen == 1 || seen == 0);
}
// What a third has written, and the first to come knows of.
APIARY_FAILING_SCENARIO(told_apart_by_what_one_of_them_was_told, "data race") {
    alignas(64) static int plain;
    alignas(64) static std::atomic<int> told;
    const auto f = [] {
        const bool is_first = comes_first();
        while (is_first && told.load(std::memory_order_acquire) == 0) {
        }
    };
    std::thread a(f), b(f);
    std::thread third([] {
        plain = 1;
        told.store(1, std::memory_order_release);
    });
    a.join();
    const int seen = plain;
    b.join();
    third.join();
    apiary::check(seen == 1);
}
APIARY_FAILING_SCENARIO(told_apart_by_the_clock_between_the_joins, "the second came first") {
    const auto f = [] {
        if (comes_first()) std::this_thread::sleep_for(std::chrono::seconds(1));
    };
    std::thread a(f), b(f);
    const auto before = std::chrono::steady_clock::now();
    a.join();
    const auto between = std::chrono::steady_clock::now();
    b.join();
    apiary::check(between - before >= std::chrono::seconds(1), "the second came first");
}
APIARY_FAILING_SCENARIO(told_apart_by_one_that_nobody_joins, "the second came first") {
    std::thread a(tells_if_first), b(tells_if_first);
    a.join();
    b.detach();
    apiary::check(first_is_done.load() == 1, "the second came first");
}
APIARY_FAILING_SCENARIO(told_apart_by_a_result, "the second came first") {
    const auto f = [](void*) -> void* { return comes_first() ? &came : nullptr; };
    pthread_t a{}, b{};
    ::pthread_create(&a, nullptr, f, nullptr);
    ::pthread_create(&b, nullptr, f, nullptr);
    void* result = nullptr;
    ::pthread_join(a, &result);
    ::pthread_join(b, nullptr);
    apiary::check(result != nullptr, "the second came first");
}
// T4
APIARY_FAILING_SCENARIO(told_apart_by_what_it_writes, "the second came first") {
    static std::atomic<unsigned> lowest;
    join_in_a_row([] {
        int local = 0;
        const auto number = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(&local) >> 19 & 7);
        apiary::check(lowest.exchange(number) <= number, "the second came first");
    });
}
// The vector has given a block back before the first event: with --alike that is none, and its replay must know.
APIARY_FAILING_SCENARIO(vector_gave_memory_back_and_both_are_late, "both are late") {
    static std::atomic<int> go, late;
    const auto f = [] { late.fetch_add(go.load()); };
    std::vector<std::thread> all;
    all.emplace_back(f);
    all.emplace_back(f);
    void** volatile block = new void*(nullptr);
    go.store(1);
    for (std::thread& t : all) t.join();
    delete block;
    apiary::check(late != 2, "both are late");
}
// Two kinds of threads, alike each among themselves.
APIARY_SCENARIO(two_put_and_two_take, "two_put_and_two_take_what_is_not_there") {
    static std::atomic<int> put, taken;
    const auto puts = [] { put.fetch_add(1, std::memory_order_release); };
    const auto takes = [] {
        if (put.load(std::memory_order_acquire) > 0) taken.fetch_add(1);
    };
    std::thread a(puts), b(puts), c(takes), d(takes);
    for (std::thread* t : {&a, &b, &c, &d}) t->join();
    apiary::check(put == 2 && taken <= 2);
}
APIARY_FAILING_SCENARIO(two_put_and_two_take_what_is_not_there, "taken before it was put") {
    static std::atomic<int> put, taken;
    const auto puts = [] { put.fetch_add(1, std::memory_order_release); };
    const auto takes = [] {
        const int seen = put.load(std::memory_order_acquire);
        apiary::check(taken.fetch_add(1) < 1 || seen == 2, "taken before it was put");
    };
    std::thread a(puts), b(puts), c(takes), d(takes);
    for (std::thread* t : {&a, &b, &c, &d}) t->join();
}
