// bare_pool under stress: pools of several sizes come and go. Threads outside post tasks, which post others or throw, and one
// thread stops the pool in the middle, by a drain or by a discard. Each accepted task ends once; the report counts them all.
#include <apiary/schedulers/bare_pool/bare_pool.hpp>

#include <atomic>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include <apiary/contract/laws.hpp>
#include <apiary/stress/harness.hpp>
#include <apiary/sync/chaos_sync.hpp>

namespace {

using apiary::chaos_sync;
using apiary::stop_mode;
using pool_type = apiary::basic_bare_pool<chaos_sync, apiary::heap_storage<chaos_sync>>;

constexpr std::size_t ids_per_round = 4000;

struct books {
    apiary::claim_ledger<> ledger{ids_per_round};
    std::atomic<std::size_t> next{0}, accepted{0}, ran{0}, thrown{0};
};

// Ends its id, and posts two more for every third one.
struct body {
    apiary::stress::run* r;
    pool_type* pool;
    books* b;
    std::size_t id;

    void operator()() const {
        b->ledger.took(id);
        b->ran.fetch_add(1);
        r->progress();
        if (id % 3 == 0)
            for (int n = 0; n != 2; ++n) (void)post(*r, *pool, *b);
        if (id % 97 == 0) {
            b->thrown.fetch_add(1);
            throw id;
        }
    }
    // False: the pool is stopped, or the ids are used up.
    static bool post(apiary::stress::run& r, pool_type& pool, books& b) {
        const std::size_t id = b.next.fetch_add(1);
        if (id >= ids_per_round || !pool.post(body{&r, &pool, &b, id})) return false;
        b.accepted.fetch_add(1);
        return true;
    }
};

void round(apiary::stress::run& r, chaos_sync::random_source& random) {
    books b;
    pool_type pool(1 + random.below(r.opts.threads), [](const std::exception_ptr&) {});
    r.describe = [&] {
        return "bare_pool: accepted " + std::to_string(b.accepted) + ", ran " + std::to_string(b.ran);
    };
    const auto how = random.below(2) == 0 ? stop_mode::drain : stop_mode::discard;
    const std::size_t stop_at = random.below(2 * ids_per_round);  // half of the rounds end before a stop
    std::vector<std::thread> posters;
    for (unsigned p = 0; p != 2; ++p)
        posters.emplace_back([&, p] {
            apiary::chaos::enter(1000 + p);
            while (body::post(r, pool, b))
                if (p == 0 && b.next.load() >= stop_at) pool.request_stop(how);
        });
    for (std::thread& t : posters) t.join();
    pool.stop(how);
    const apiary::stop_report report = pool.report();
    if (report.run != b.ran) r.fail("the report counts other tasks than ran");
    if (report.exceptions != b.thrown) r.fail("the report counts other exceptions than were thrown");
    if (report.run + report.discarded != b.accepted) r.fail("an accepted task has no end");
    if (how == stop_mode::drain && report.discarded != 0) r.fail("a drain dropped a task");
}

void churn(apiary::stress::run& r) {
    chaos_sync::random_source random(r.seed);
    for (int n = 0; n != 20; ++n) round(r, random);
}

}  // namespace

int main(int argc, char** argv) { return apiary::stress::main(argc, argv, "bare_pool", churn); }
