// The deque under theft: one owner pushes and pops in bursts, thieves steal all the time, the deque grows from two
// slots, and a race detector watches the payloads.
#include <apiary/queues/chase_lev_deque.hpp>

#include <array>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include <apiary/contract/laws.hpp>
#include <apiary/stress/harness.hpp>
#include <apiary/sync/chaos_sync.hpp>

namespace {

using apiary::chaos;
using apiary::chaos_sync;
using apiary::steal_status;
using ledger = apiary::claim_ledger<>;

// A heap object per element, so that a sanitizer sees an element used twice or not at all, and plain
// data written before the push and read after the theft.
struct payload {
    std::size_t id;
    std::size_t copy;
};

struct small_limits {
    static constexpr unsigned index_bits = 64;
    static constexpr std::size_t initial_capacity = 2;
    static constexpr std::size_t max_capacity = 256;
};
using deque = apiary::chase_lev_deque<payload*, chaos_sync, small_limits>;

void consume(ledger& books, apiary::stress::run& r, payload* p) {
    const std::unique_ptr<payload> owned(p);
    if (owned->copy != ~owned->id) r.fail("a payload arrived torn");
    books.took(owned->id);
    r.progress();
}

void body(apiary::stress::run& r) {
    constexpr std::size_t ids = 20'000;
    ledger books(ids);
    deque d;
    std::atomic<bool> done{false};
    r.describe = [&] { return "deque: the owner " + std::string(done ? "has ended" : "is still at work"); };

    std::vector<std::thread> thieves;
    for (unsigned i = 1; i < r.opts.threads; ++i)
        thieves.emplace_back([&, i] {
            chaos::enter(i);
            const auto thief = d.share();
            for (;;) {
                const bool last_look = done.load();
                const auto got = thief.steal();
                if (got.status == steal_status::taken)
                    consume(books, r, got.value);
                else if (got.status == steal_status::empty && last_look)
                    return;
            }
        });

    auto owner = d.own();
    chaos_sync::random_source random(r.seed);
    const auto pop_one = [&] {
        payload* p = nullptr;
        if (!owner.try_pop(p)) return false;
        consume(books, r, p);
        return true;
    };
    for (std::size_t id = 0; id < ids;) {
        for (std::uint32_t burst = random.below(random.below(16) == 0 ? 400 : 4); burst > 0 && id < ids; --burst) {
            auto p = std::make_unique<payload>(payload{id, ~id});
            if (!owner.try_push(p.get())) {  // full: the caller still has it
                pop_one();
                continue;
            }
            (void)p.release();
            ++id;
        }
        for (std::uint32_t burst = random.below(5); burst > 0; --burst) pop_one();
    }
    while (pop_one()) {
    }
    done = true;
    for (auto& t : thieves) t.join();
    books.settle();
}

}  // namespace

int main(int argc, char** argv) { return apiary::stress::main(argc, argv, "deque under theft, growing", body); }
