// Exact driver of the hive: one IO worker on the main thread, with a driver that never blocks. It counts the
// instructions of a post, its way through the pool or the deque, its run and its recycling, and the heap calls and
// wakes per task.
#include <array>
#include <cstdint>

#include <apiary/schedulers/hive/hive.hpp>

#include "exact/exact.hpp"

namespace {

using apiary::real_sync;
using apiary::exact::must;

// No thread may wait here: it would wait for ever.
struct counting_driver {
    static constexpr std::int64_t forever = INT64_MAX;
    static inline std::uint64_t wakes = 0;

    void wait(std::int64_t) { must(false, "the worker went to sleep"); }
    void poll() {}
    void wake() { ++wakes; }
};

using storage = apiary::pooled_storage<>;
using exact_hive = apiary::basic_hive<real_sync, counting_driver, storage>;

// The counts may not depend on time.
constexpr apiary::hive_parameters untimed{.probe_ns = INT64_MAX};

std::uint64_t ran = 0;

// N posts from outside, then a drain.
void post_and_run(std::uint64_t n) {
    exact_hive h(apiary::hive_config{.io_workers = 1, .parameters = untimed});
    ran = 0;
    for (std::uint64_t i = 0; i < n; ++i) must(h.post_micro([] { ++ran; }), "refused");
    h.request_stop();
    h.run();
    must(ran == n, "a task was lost");
}

void post_to_worker_and_run(std::uint64_t n) {
    exact_hive h(apiary::hive_config{.io_workers = 1, .parameters = untimed});
    ran = 0;
    for (std::uint64_t i = 0; i < n; ++i) must(h.post_to_worker(0, [] { ++ran; }), "refused");
    // A stop closes the inbox only when its worker comes to it: the tasks inside still run.
    h.request_stop();
    h.run();
    must(ran == n, "a task was lost");
}

// A task hands on to the next, n times, by the worker's own slot.
struct hop {
    exact_hive* h;
    std::uint64_t left;

    void operator()() const {
        ++ran;
        if (left == 0)
            h->request_stop();
        else
            must(h->post_micro(hop{h, left - 1}), "refused");
    }
};

void successor(std::uint64_t n) {
    exact_hive h(apiary::hive_config{.io_workers = 1, .parameters = untimed});
    ran = 0;
    must(h.post_micro(hop{&h, n - 1}), "refused");
    h.run();
    must(ran == n, "a task was lost");
}

// The same ways beside a second worker, which never runs: other workers could steal these tasks.
using core_type = apiary::hive_core<real_sync, counting_driver, storage>;

struct shared_hop {
    core_type* core;
    std::uint64_t left;

    void operator()() const {
        ++ran;
        if (left == 0)
            core->request_stop(apiary::stop_mode::drain);
        else
            must(core->io()[0]->post_local(storage::make(shared_hop{core, left - 1})), "refused");
    }
};

void shared_successor(std::uint64_t n) {
    core_type core(2, 0, untimed);
    ran = 0;
    must(core.post(storage::make(shared_hop{&core, n - 1})), "refused");
    core.io()[0]->run();
    must(ran == n, "a task was lost");
}

// Does the same as hive::post_micro from outside.
template <class F>
bool post(core_type& core, F callable) {
    auto* t = storage::make(callable);
    storage::leave_prefetch_hint(t);
    return core.post(t);
}

// N posts from outside, taken in batches by the beat.
void shared_post_and_run(std::uint64_t n) {
    core_type core(2, 0, untimed);
    ran = 0;
    for (std::uint64_t i = 1; i < n; ++i) must(post(core, [] { ++ran; }), "refused");
    must(post(core, shared_hop{&core, 0}), "refused");
    core.io()[0]->run();
    must(ran == n, "a task was lost");
}

// Each post meets one sleeping worker and wakes it; the task is taken and dropped. Flattened: otherwise the size of
// this program would decide whether g++ inlines the driver's own take from the pool.
[[gnu::flatten]] void post_to_a_sleeper(std::uint64_t n) {
    core_type core(1, 0, untimed);
    counting_driver::wakes = 0;
    for (std::uint64_t i = 0; i < n; ++i) {
        core.io_crew().idle().announce_sleep(0, false);
        must(post(core, [] {}), "refused");
        must(!core.io_crew().idle().withdraw(0), "not claimed");
        core.io_crew().idle().stop_searching();
        core.io_crew().pool().take_one()->drop();
    }
    apiary::exact::count("wakes", counting_driver::wakes);
}

// The same while the worker runs: no wake.
[[gnu::flatten]] void post_to_a_runner(std::uint64_t n) {
    core_type core(1, 0, untimed);
    counting_driver::wakes = 0;
    for (std::uint64_t i = 0; i < n; ++i) {
        must(post(core, [] {}), "refused");
        core.io_crew().pool().take_one()->drop();
    }
    apiary::exact::count("wakes", counting_driver::wakes);
}

constexpr std::array operations{
    apiary::exact::operation{"post_and_run", &post_and_run},
    apiary::exact::operation{"post_to_worker_and_run", &post_to_worker_and_run},
    apiary::exact::operation{"successor", &successor},
    apiary::exact::operation{"shared_successor", &shared_successor},
    apiary::exact::operation{"shared_post_and_run", &shared_post_and_run},
    apiary::exact::operation{"post_to_a_sleeper", &post_to_a_sleeper},
    apiary::exact::operation{"post_to_a_runner", &post_to_a_runner},
};

}  // namespace

int main(int argc, char** argv) { return apiary::exact::main_of(operations, argc, argv); }
