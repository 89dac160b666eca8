// global_queue on the virtual machine, whole: the floor. Tasks that a task posts, tasks that a thread outside posts, and
// fib by scopes. It is a specification with one lock: its curves are there to be seen, and mended by nobody.
#include <apiary/schedulers/global_queue/global_queue.hpp>

#include "virtual/scenarios/scenario.hpp"

namespace apiary::virt {

namespace {

using S = virtual_sync;
using queue_type = basic_global_queue<S>;
using scope = queue_type::task_scope;

void must(bool accepted) {
    if (!accepted) throw wrong_answer("a post was refused");
}

// operation(queue) is done twice, the first time to warm up.
template <class Operation>
measured run(machine& m, unsigned workers, std::uint64_t operations, Operation operation) {
    const made<queue_type> queue(global_queue_config{.workers = workers});
    queue->start();
    operation(*queue);
    const stopwatch watch(m);
    operation(*queue);
    measured all = watch.stop(operations);
    queue->request_stop();
    queue->join();
    return all;
}

template <class PostAll>
measured tasks(machine& m, unsigned workers, bool brief, PostAll post_all) {
    const std::uint64_t n = brief ? 300 : 10'000;
    const made<ledger> account;
    return run(m, workers, n, [&](queue_type& queue) {
        account->open(n);
        post_all(queue, *account, n);
        account->wait();
    });
}
measured spawn_many_local(machine& m, unsigned workers, bool brief) {
    return tasks(m, workers, brief, [](queue_type& queue, ledger& account, std::uint64_t n) {
        must(queue.post([q = &queue, a = &account, n] {
            for (std::uint64_t i = 0; i != n; ++i) must(q->post([a, i] { a->complete(i); }));
        }));
    });
}
measured post_throughput(machine& m, unsigned workers, bool brief) {
    return tasks(m, workers, brief, [](queue_type& queue, ledger& account, std::uint64_t n) {
        for (std::uint64_t i = 0; i != n; ++i) must(queue.post([a = &account, i] { a->complete(i); }));
    });
}

std::uint64_t fib_of(queue_type& queue, unsigned n) {
    work(1'325);  // as in fork_join's
    if (n < 2) return n;
    std::uint64_t a = 0;
    scope children(queue);
    must(children.run([&queue, &a, n] { a = fib_of(queue, n - 1); }));
    const std::uint64_t b = fib_of(queue, n - 2);
    (void)children.wait();
    return a + b;
}
measured fib(machine& m, unsigned workers, bool brief) {
    const unsigned n = brief ? 10 : 16;
    std::uint64_t a = 0, b = 1;
    for (unsigned i = 0; i != n; ++i) b = std::exchange(a, b) + b;
    return run(m, workers, b - 1, [&](queue_type& queue) {
        std::uint64_t found = 0;
        must(queue.post([&] { found = fib_of(queue, n); }));
        queue.wait_idle();
        expect_answer(found, a);
    });
}

constexpr scenario all[] = {
    {"global_queue", "fib", "fork", &fib},
    {"global_queue", "post_throughput", "task", &post_throughput},
    {"global_queue", "spawn_many_local", "task", &spawn_many_local},
};

}  // namespace

std::span<const scenario> global_queue_scenarios() { return all; }

}  // namespace apiary::virt
