// The hive under all its features at once: outside posts, batches, targeted posts, timers and their cancelling, compute
// tasks, tasks that post tasks, exceptions, workers that are attached and detached, and a stop in the middle, drained
// or discarded. The seed chooses deques or steal-half queues. A lost wake-up ends in the watchdog.
#include <apiary/schedulers/hive/hive.hpp>

#include <atomic>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <apiary/contract/laws.hpp>
#include <apiary/stress/harness.hpp>
#include <apiary/sync/chaos_sync.hpp>

namespace {

using apiary::chaos;
using apiary::chaos_sync;
using apiary::stop_mode;
template <class Storage, class Parts>
using hive_with = apiary::basic_hive<chaos_sync, apiary::epoll_driver, Storage, Parts>;

// Small enough that a batch, a theft and an overflow meet on it.
struct ring_of_eight {
    static constexpr unsigned index_bits = 16, version_bits = 32;
    static constexpr std::size_t capacity = 8;
};
struct on_halves : apiary::hive_parts<chaos_sync> {
    template <class Node>
    using local = apiary::steal_half_queue<Node*, chaos_sync, ring_of_eight>;
};

constexpr std::size_t ids_per_round = 6000;

template <class Hive>
class workload {
public:
    workload(apiary::stress::run& r, Hive& h) : run_(r), hive_(h) {}

    // Does one post of a kind that the generator draws. False if the hive refused it or the ids are used up.
    bool post_something(chaos_sync::random_source& random) {
        switch (random.below(16)) {
            case 0:
                return post_batch(1 + random.below(40), [&](auto batch) { return hive_.post_micro_batch(batch); });
            case 1:
            case 2:
                return post_one(
                    [&](auto f) { return hive_.post_to_worker(random.below(3) + (random.below(4) == 0 ? 64 : 0), f); });
            case 3:
                return post_one([&](auto f) {
                    auto timer = hive_.post_delayed(f, std::chrono::microseconds(random.below(300)));
                    const bool accepted = static_cast<bool>(timer);
                    if (random.below(2) == 0 && timer.cancel()) cancelled_.fetch_add(1);
                    return accepted;
                });
            case 4:
                return post_one([&](auto f) { return hive_.post_compute(f); });
            case 5:
                return post_batch(1 + random.below(4), [&](auto batch) { return hive_.post_compute_batch(batch); });
            default:
                return post_one([&](auto f) { return hive_.post_micro(f); });
        }
    }

    std::size_t accepted() const { return accepted_; }
    std::size_t ended() const { return ended_; }
    std::size_t cancelled() const { return cancelled_; }
    std::string state() const {
        return "hive: accepted " + std::to_string(accepted_) + ", ended " + std::to_string(ended_) + ", cancelled " +
               std::to_string(cancelled_);
    }

private:
    // The body of every task: it ends its id, and by its number spawns children or throws.
    void body(std::size_t id) {
        books_.took(id);
        run_.progress();
        if (id % 5 == 0) {
            chaos_sync::random_source random(run_.seed ^ id);
            for (std::uint32_t n = random.below(4); n > 0; --n) post_something(random);
        }
        ended_.fetch_add(1);
        if (id % 97 == 0) throw id;
    }

    template <class Post>
    bool post_one(Post post) {
        const std::size_t id = next_id_.fetch_add(1);
        if (id >= ids_per_round) return false;
        // Counted before it is posted: a task may have ended before the post returns.
        accepted_.fetch_add(1);
        if (post([this, id] { body(id); })) return true;
        accepted_.fetch_sub(1);
        return false;
    }

    template <class Post>
    bool post_batch(std::size_t n, Post post) {
        const std::size_t first = next_id_.fetch_add(n);
        if (first + n > ids_per_round) return false;
        std::vector<std::function<void()>> batch;
        for (std::size_t i = 0; i < n; ++i) batch.emplace_back([this, id = first + i] { body(id); });
        accepted_.fetch_add(n);
        const std::size_t done = post(std::span(batch));
        if (done != 0 && done != n) run_.fail("a batch was split");
        if (done == 0) accepted_.fetch_sub(n);
        return done == n;
    }

    apiary::stress::run& run_;
    Hive& hive_;
    apiary::claim_ledger<> books_{ids_per_round};
    std::atomic<std::size_t> next_id_{0}, accepted_{0}, ended_{0}, cancelled_{0};
};

template <class Hive>
void body(apiary::stress::run& r) {
    chaos_sync::random_source random(r.seed);
    const unsigned producers = 1 + r.opts.threads / 3;
    const unsigned workers = std::max(1U, r.opts.threads - producers);
    Hive h({.io_workers = workers, .compute_workers = 1 + random.below(2)});
    workload work(r, h);
    r.describe = [&] { return work.state(); };
    const bool stop_in_the_middle = random.below(2) == 0;
    const stop_mode how = random.below(2) == 0 ? stop_mode::drain : stop_mode::discard;

    std::vector<std::thread> threads;
    for (unsigned p = 0; p < producers; ++p)
        threads.emplace_back([&, p] {
            chaos::enter(p + 1);
            chaos_sync::random_source own(r.seed * 31 + p);
            while (work.post_something(own)) {
                // Long enough now and then for every worker to fall asleep.
                if (own.below(256) == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
            }
        });
    // Workers come and go; no task is lost with one.
    std::atomic<bool> enough{false};
    std::thread restless([&] {
        chaos::enter(51);
        chaos_sync::random_source own(r.seed * 37);
        std::vector<unsigned> io{1, 2}, compute{0, 1};
        while (!enough) {
            const bool of_io = own.below(2) == 0;
            auto& ids = of_io ? io : compute;
            if (ids.size() < 3) {
                try {
                    if (const auto id = of_io ? h.attach_io_worker() : h.attach_compute_worker()) ids.push_back(*id);
                } catch (const std::length_error&) {
                    // On a busy machine those detached before may still be leaving: their threads have not run yet.
                }
            } else {
                const auto which = ids.begin() + own.below(static_cast<std::uint32_t>(ids.size()));
                const auto gone = of_io ? h.detach_io_worker(*which) : h.detach_compute_worker(*which);
                if (gone == apiary::detach_result::main_worker) r.fail("it was not the main worker");
                if (gone == apiary::detach_result::detached && of_io && h.post_to_worker(*which, [] {}))
                    r.fail("a detached worker took a post");
                if (gone != apiary::detach_result::last_worker) ids.erase(which);
            }
            std::this_thread::sleep_for(std::chrono::microseconds(own.below(300)));
        }
    });
    std::thread stopper([&] {
        chaos::enter(50);
        if (stop_in_the_middle) {
            std::this_thread::sleep_for(std::chrono::microseconds(100 * random.below(200)));
        } else {
            for (auto& t : threads) t.join();
            threads.clear();
            // Quiescence: without a stop all accepted tasks must end. `accepted` is read last, because running tasks
            // can still raise it.
            for (;;) {
                const std::size_t ended = work.ended() + work.cancelled();
                if (ended == work.accepted()) break;
                std::this_thread::sleep_for(std::chrono::microseconds(100));
            }
        }
        h.request_stop(how);
    });
    h.run();
    enough = true;
    restless.join();
    stopper.join();
    for (auto& t : threads) t.join();

    const auto report = h.report();
    if (report.run != work.ended())
        r.fail("the report says " + std::to_string(report.run) + " ran, the tasks say " + std::to_string(work.ended()));
    if (report.cancelled != work.cancelled())
        r.fail("the report says " + std::to_string(report.cancelled) + " were cancelled, the handles say " +
               std::to_string(work.cancelled()));
    if (report.run + report.discarded + report.cancelled != work.accepted())
        r.fail("accepted " + std::to_string(work.accepted()) + ", run " + std::to_string(report.run) + ", discarded " +
               std::to_string(report.discarded) + ", cancelled " + std::to_string(report.cancelled));
    if (!stop_in_the_middle && report.discarded != 0)
        r.fail("a task was discarded although all had ended before the stop");
}

// One heap object per task, so that sanitizers see each; recycled blocks, because those ship.
template <class Parts>
void body_on(apiary::stress::run& r) {
    if (r.seed % 2 == 0)
        body<hive_with<apiary::heap_storage<chaos_sync>, Parts>>(r);
    else
        body<hive_with<apiary::pooled_storage<chaos_sync>, Parts>>(r);
}

}  // namespace

int main(int argc, char** argv) {
    return apiary::stress::main(argc, argv, "hive: posts, timers, stops, workers that come and go, all at once",
                                [](apiary::stress::run& r) {
                                    if (r.seed % 4 < 2)
                                        body_on<apiary::hive_parts<chaos_sync>>(r);
                                    else
                                        body_on<on_halves>(r);
                                });
}
