// hive on the virtual machine, whole but for its event loop: tasks that a task posts, and tasks that a thread outside
// posts. Epoll waits for the system, and the hive refuses it here.
#include <apiary/events/parker_driver.hpp>
#include <apiary/schedulers/hive/hive.hpp>

#include "virtual/scenarios/scenario.hpp"

namespace apiary::virt {

namespace {

using S = virtual_sync;
using hive_type = basic_hive<S, parker_driver<S>, pooled_storage<S>>;

void must(bool accepted) {
    if (!accepted) throw wrong_answer("a post was refused");
}

// post_all(hive, account, tasks) hands in the tasks of one operation.
template <class PostAll>
measured run(machine& m, unsigned workers, bool brief, PostAll post_all) {
    const std::uint64_t tasks = brief ? 300 : 10'000;
    const made<ledger> account;
    const made<hive_type> hive(hive_config{.io_workers = workers});
    team main_worker(1, [h = hive.get()](unsigned) { h->run(); });
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
    hive->request_stop();
    main_worker.join();
    if (hive->report().run < 3 * tasks) throw wrong_answer("the report knows of fewer tasks than were run");
    return all;
}

measured spawn_many_local(machine& m, unsigned workers, bool brief) {
    return run(m, workers, brief, [](hive_type& hive, ledger& account, std::uint64_t tasks) {
        must(hive.post_micro([h = &hive, a = &account, tasks] {
            for (std::uint64_t i = 0; i != tasks; ++i) must(h->post_micro([a, i] { a->complete(i); }));
        }));
    });
}
measured post_throughput(machine& m, unsigned workers, bool brief) {
    return run(m, workers, brief, [](hive_type& hive, ledger& account, std::uint64_t tasks) {
        for (std::uint64_t i = 0; i != tasks; ++i) must(hive.post_micro([a = &account, i] { a->complete(i); }));
    });
}

constexpr scenario all[] = {
    {"hive", "post_throughput", "task", &post_throughput},
    {"hive", "spawn_many_local", "task", &spawn_many_local},
};

}  // namespace

std::span<const scenario> hive_scenarios() { return all; }

}  // namespace apiary::virt
