// The global queue under all its features at once: outside posts, batches, scopes of threads outside and of tasks,
// trees of tasks whose parents wait, waits for all tasks that help to run them, exceptions, and a stop in the middle,
// drained or discarded. A lost wake-up ends in the watchdog.
#include <apiary/schedulers/global_queue/parallel_for.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <span>
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
using queue_type = apiary::basic_global_queue<chaos_sync>;
using scope = queue_type::task_scope;

constexpr std::size_t ids_per_round = 4000;

class workload {
    struct task {
        workload* of;
        std::size_t id;
        void operator()() const { of->body(id); }
        auto as_parent() const {
            return [t = *this](scope& children) { t.of->parent(t.id, children); };
        }
    };

public:
    workload(apiary::stress::run& r, queue_type& q) : run_(r), queue_(q) {}

    // Does one operation of a kind that the generator draws. False if it was refused or the ids are used up.
    bool do_something(chaos_sync::random_source& random) {
        switch (random.below(8)) {
            case 0:
                return post_batch(1 + random.below(20));
            case 1:
                return open_scope(random);
            case 2:
                return loop(1 + random.below(20), 1 + random.below(4));
            case 3:
                return post([this](task t) { return queue_.post(t.as_parent()); });
            default:
                return post([this](task t) { return queue_.post(t); });
        }
    }

    std::size_t accepted() const { return accepted_; }
    std::size_t ended() const { return ended_; }
    std::size_t thrown() const { return thrown_; }
    std::size_t asked() const { return asked_; }
    std::size_t chunks_ran() const { return chunks_ran_; }
    std::string state() const {
        return "global_queue: accepted " + std::to_string(accepted_) + ", ended " + std::to_string(ended_);
    }

private:
    void end(std::size_t id) {
        books_.took(id);
        run_.progress();
        ended_.fetch_add(1);
    }
    // Ends its id, and by its number posts others or throws.
    void body(std::size_t id) {
        if (id % 5 == 0) {
            chaos_sync::random_source random(run_.seed ^ id);
            for (std::uint32_t n = random.below(3); n > 0; --n) do_something(random);
        }
        end(id);
        if (id % 97 == 0) {
            thrown_.fetch_add(1);
            throw id;
        }
    }
    // Has children, which have children by the same rule. It waits for them itself or leaves the wait to the end of its
    // scope.
    void parent(std::size_t id, scope& children) {
        for (std::size_t n = id % 4; n > 0; --n)
            (void)post([&](task t) { return n % 2 == 0 ? children.run(t.as_parent()) : children.run(t); });
        if (id % 3 != 0) wait_for(children);
        end(id);
        if (id % 53 == 0) {
            thrown_.fetch_add(1);
            throw id;
        }
    }

    void wait_for(scope& s) {
        try {
            (void)s.wait();
        } catch (const std::size_t id) {
            if (id >= ids_per_round) run_.fail("an exception came that no task has thrown");
        }
    }

    bool open_scope(chaos_sync::random_source& random) {
        scope s(queue_);
        bool all = true;
        for (std::uint32_t n = random.below(6); n > 0; --n)
            all = post([&](task t) { return n % 2 == 0 ? s.run(t.as_parent()) : s.run(t); }) && all;
        if (random.below(4) != 0) wait_for(s);
        return all;
    }

    bool loop(std::size_t size, std::size_t grain) {
        const std::size_t first = next_id_.fetch_add(size);
        if (first + size > ids_per_round) return false;
        const std::size_t chunks = (size - 1) / grain + 1;
        asked_.fetch_add(chunks);
        std::atomic<std::size_t> ran{0};
        const bool whole = apiary::parallel_for(queue_, first, first + size,
                                                [&](std::size_t from, std::size_t to) {
                                                    for (std::size_t id = from; id != to; ++id) books_.took(id);
                                                    run_.progress();
                                                    ran.fetch_add(1);
                                                    chunks_ran_.fetch_add(1);
                                                },
                                                {.grain = grain});
        if (whole != (ran == chunks))
            run_.fail("parallel_for tells " + std::to_string(whole) + " of a loop of which " + std::to_string(ran) +
                      " of " + std::to_string(chunks) + " chunks ran");
        return whole;
    }

    template <class Post>
    bool post(Post accept) {
        const std::size_t id = next_id_.fetch_add(1);
        if (id >= ids_per_round) return false;
        asked_.fetch_add(1);
        accepted_.fetch_add(1);  // before: it may have ended when the post returns
        if (accept(task{this, id})) return true;
        accepted_.fetch_sub(1);
        return false;
    }

    bool post_batch(std::size_t n) {
        const std::size_t first = next_id_.fetch_add(n);
        if (first + n > ids_per_round) return false;
        std::vector<std::function<void()>> batch;
        for (std::size_t i = 0; i < n; ++i) batch.emplace_back(task{this, first + i});
        asked_.fetch_add(n);
        accepted_.fetch_add(n);
        const std::size_t done = queue_.post_batch(std::span(batch));
        if (done != 0 && done != n) run_.fail("a batch was split");
        if (done == 0) accepted_.fetch_sub(n);
        return done == n;
    }

    apiary::stress::run& run_;
    queue_type& queue_;
    apiary::claim_ledger<> books_{ids_per_round};
    std::atomic<std::size_t> next_id_{0}, accepted_{0}, ended_{0}, thrown_{0}, asked_{0}, chunks_ran_{0};
};

void body(apiary::stress::run& r) {
    chaos_sync::random_source random(r.seed);
    const unsigned producers = 1 + r.opts.threads / 3;
    queue_type q({.workers = std::max(1U, r.opts.threads - producers)});
    workload work(r, q);
    r.describe = [&] { return work.state(); };
    const bool stop_in_the_middle = random.below(2) == 0;
    const stop_mode how = random.below(2) == 0 ? stop_mode::drain : stop_mode::discard;
    q.start();

    std::vector<std::thread> threads;
    for (unsigned p = 0; p < producers; ++p)
        threads.emplace_back([&, p] {
            chaos::enter(p + 1);
            chaos_sync::random_source own(r.seed * 31 + p);
            while (work.do_something(own)) {
                const std::uint32_t draw = own.below(256);
                // Long enough now and then for every worker to fall asleep; or waits for all, and helps.
                if (draw == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
                if (draw == 1) (void)q.wait();
                if (draw == 2) q.wait_idle();
            }
        });
    chaos::enter(50);
    if (stop_in_the_middle) {
        std::this_thread::sleep_for(std::chrono::microseconds(100 * random.below(100)));
        q.request_stop(how);
    }
    for (auto& t : threads) t.join();
    if (!stop_in_the_middle) {
        // All accepted tasks end without a stop; every second time a thread outside helps.
        if (how == stop_mode::drain)
            (void)q.wait();
        else
            q.wait_idle();
        if (work.ended() != work.accepted()) r.fail("idle was told while a task had not ended");
        q.request_stop(how);
    }
    q.join();

    const auto report = q.report();
    if (report.run != work.ended() + work.chunks_ran())
        r.fail("the report says " + std::to_string(report.run) + " ran, the tasks say " +
               std::to_string(work.ended() + work.chunks_ran()));
    // An exception of a child also leaves its parent.
    if (report.exceptions < work.thrown()) r.fail("an exception was not counted");
    if (report.run + report.discarded + report.refused != work.asked())
        r.fail("posted " + std::to_string(work.asked()) + ", run " + std::to_string(report.run) + ", discarded " +
               std::to_string(report.discarded) + ", refused " + std::to_string(report.refused));
    if (!stop_in_the_middle && report.discarded != 0)
        r.fail("a task was discarded although all had ended before the stop");
}

}  // namespace

int main(int argc, char** argv) {
    return apiary::stress::main(argc, argv, "global_queue: posts, trees, scopes, loops, waits and stops, all at once",
                                body);
}
