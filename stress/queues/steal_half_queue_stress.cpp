// The steal-half queue among workers: each pushes to and pops from its own queue in bursts, and robs the others when
// its own is empty; overflow goes to a locked pool, as in a scheduler.
#include <apiary/queues/steal_half_queue.hpp>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
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
using apiary::steal_status;

// A heap object per element, so that a sanitizer sees an element used twice or not at all, and plain
// data written before the push and read after the theft.
struct payload {
    std::size_t id;
    std::size_t copy;
};

// A small ring, so that it overflows; narrow positions, so that they wrap all the time.
struct small_limits {
    static constexpr unsigned index_bits = 6;
    static constexpr unsigned version_bits = 40;
    static constexpr std::size_t capacity = 16;
};
using queue = apiary::steal_half_queue<payload*, chaos_sync, small_limits>;

class scheduler {
public:
    static constexpr std::size_t each = 6000;

    explicit scheduler(apiary::stress::run& r)
        : run_(r), workers_(r.opts.threads), books_(r.opts.threads * each), queues_(r.opts.threads) {}

    void work(unsigned me) {
        chaos::enter(me + 1);
        auto own = queues_[me].own();
        chaos_sync::random_source random(run_.seed + me);
        std::size_t made = 0;
        while (ended_.load(std::memory_order_relaxed) != books_.size()) {
            for (std::uint32_t burst = random.below(random.below(8) == 0 ? 40 : 4); burst > 0 && made != each;
                 --burst) {
                const std::size_t id = me * each + made++;
                own.push(new payload{id, ~id}, [this](std::span<payload*> older) { overflow(older); });
            }
            payload* p = nullptr;
            for (std::uint32_t burst = 1 + random.below(5); burst > 0 && own.try_pop(p); --burst) end(p);
            if (random.below(16) == 0 && own.try_pop_oldest(p)) end(p);
            if (own.size() == 0 || random.below(4) == 0) look_elsewhere(me, own, random);
        }
    }

    std::string describe() const {
        return std::to_string(ended_) + " of " + std::to_string(books_.size()) + " ended, " +
               std::to_string(overflowed_) + " went through the pool, " + std::to_string(moved_) + " moved in thefts";
    }
    void settle() const { books_.settle(); }

private:
    void look_elsewhere(unsigned me, queue::owner& own, chaos_sync::random_source& random) {
        const unsigned victim = (me + 1 + random.below(workers_ - 1)) % workers_;
        const auto got = own.steal_half(queues_[victim].share());
        if (got.status == steal_status::taken) {
            moved_.fetch_add(got.moved, std::memory_order_relaxed);
            end(got.value);
            return;
        }
        payload* p = nullptr;
        {
            const std::lock_guard held(pool_mutex_);
            if (pool_.empty()) return;
            p = pool_.back();
            pool_.pop_back();
        }
        end(p);
    }
    void overflow(std::span<payload*> older) {
        overflowed_.fetch_add(older.size(), std::memory_order_relaxed);
        const std::lock_guard held(pool_mutex_);
        pool_.insert(pool_.end(), older.begin(), older.end());
    }
    void end(payload* p) {
        const std::unique_ptr<payload> owned(p);
        if (owned->copy != ~owned->id) run_.fail("a payload arrived torn");
        books_.took(owned->id);
        ended_.fetch_add(1, std::memory_order_relaxed);
        run_.progress();
    }

    apiary::stress::run& run_;
    const unsigned workers_;
    apiary::claim_ledger<> books_;
    std::vector<queue> queues_;
    std::mutex pool_mutex_;
    std::vector<payload*> pool_;
    std::atomic<std::size_t> ended_{0}, overflowed_{0}, moved_{0};
};

void body(apiary::stress::run& r) {
    scheduler s(r);
    r.describe = [&] { return "steal-half: " + s.describe(); };
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < r.opts.threads; ++i) threads.emplace_back([&, i] { s.work(i); });
    for (auto& t : threads) t.join();
    s.settle();
}

}  // namespace

int main(int argc, char** argv) {
    return apiary::stress::main(argc, argv, "steal-half queues of workers that rob each other", body);
}
