// hive on the virtual machine: tasks that a task posts, and tasks that a thread outside posts.
#include <apiary/events/parker_driver.hpp>
#include <apiary/schedulers/hive/hive_core.hpp>

#include "virtual/scenarios/scenario.hpp"

namespace apiary::virt {

namespace {

using S = virtual_sync;
using storage = heap_storage<S>;  // its blocks come from the machine's magazines
using core = hive_core<S, parker_driver<S>, storage>;
using worker = core::io_worker_type;

void must(bool accepted) {
    if (!accepted) throw wrong_answer("a post was refused");
}

// post_all(core, account, tasks) hands in the tasks of one operation.
template <class PostAll>
measured run(machine& m, unsigned workers, bool brief, PostAll post_all) {
    const std::uint64_t tasks = brief ? 300 : 10'000;
    const made<ledger> account;
    const made<core> hive(workers, 0U, hive_parameters{});
    team threads(workers, [c = hive.get()](unsigned i) {
        worker* const w = c->io()[i];
        S::set_current(w);
        w->run();
        S::set_current<worker>(nullptr);
    });
    const auto once = [&] {
        account->open(tasks);
        post_all(*hive, *account, tasks);
        account->wait();
    };
    once();
    const stopwatch watch(m);
    once();
    once();
    measured all = watch.stop(2 * tasks);
    hive->request_stop(stop_mode::drain);
    threads.join();
    return all;
}

measured spawn_many_local(machine& m, unsigned workers, bool brief) {
    return run(m, workers, brief, [](core& hive, ledger& account, std::uint64_t tasks) {
        must(hive.post(storage::make([a = &account, tasks] {
            worker& here = *S::current<worker>();
            for (std::uint64_t i = 0; i != tasks; ++i) must(here.post_local(storage::make([a, i] { a->complete(i); })));
        })));
    });
}
measured post_throughput(machine& m, unsigned workers, bool brief) {
    return run(m, workers, brief, [](core& hive, ledger& account, std::uint64_t tasks) {
        for (std::uint64_t i = 0; i != tasks; ++i) must(hive.post(storage::make([a = &account, i] { a->complete(i); })));
    });
}

constexpr scenario all[] = {
    {"hive", "post_throughput", "task", &post_throughput},
    {"hive", "spawn_many_local", "task", &spawn_many_local},
};

}  // namespace

std::span<const scenario> hive_scenarios() { return all; }

}  // namespace apiary::virt
