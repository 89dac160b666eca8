// The slot under theft: an owner puts and takes by plain stores and loads; thieves steal all the time, each after the
// system's own heavy fence; a race detector watches the payloads.
#include <apiary/queues/lifo_slot.hpp>

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
using ledger = apiary::claim_ledger<>;

// A heap object per element, so that a sanitizer sees an element used twice or not at all, and plain
// data written before the put and read after the theft.
struct payload {
    std::size_t id;
    std::size_t copy;
};
using slot = apiary::lifo_slot<payload, chaos_sync>;

bool consume(ledger& books, apiary::stress::run& r, payload* p) {
    if (p == nullptr) return false;
    const std::unique_ptr<payload> owned(p);
    if (owned->copy != ~owned->id) r.fail("a payload arrived torn");
    books.took(owned->id);
    r.progress();
    return true;
}

void body(apiary::stress::run& r) {
    constexpr std::size_t ids = 100'000;
    ledger books(ids);
    slot s;
    std::atomic<bool> done{false};
    r.describe = [&] { return "slot: the owner " + std::string(done ? "has ended" : "is still at work"); };

    std::vector<std::thread> thieves;
    for (unsigned i = 1; i < r.opts.threads; ++i)
        thieves.emplace_back([&, i] {
            chaos::enter(i);
            while (!done.load()) consume(books, r, s.steal());
        });

    chaos_sync::random_source random(r.seed);
    for (std::size_t id = 0; id < ids; ++id) {
        s.put(std::make_unique<payload>(payload{id, ~id}).release());
        // Now and then the owner pauses, so that thieves win, too.
        for (std::uint32_t wait = random.below(4) == 0 ? random.below(4000) : 0; wait > 0; --wait) chaos_sync::relax();
        consume(books, r, s.take());
    }
    done = true;
    for (auto& t : thieves) t.join();
    books.settle();
}

}  // namespace

int main(int argc, char** argv) { return apiary::stress::main(argc, argv, "slot under theft", body); }
