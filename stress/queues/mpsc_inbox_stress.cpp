// The inbox and the global pool under many producers: identity, order per producer, exactly one
// "was empty" per drain, recycled nodes, and a close while pushes are in flight.
#include <apiary/queues/global_pool.hpp>
#include <apiary/queues/mpsc_inbox.hpp>

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
using apiary::push_result;

struct node {
    chaos_sync::cell<node*> next;
    std::size_t producer = 0, number = 0;
};
using inbox = apiary::mpsc_inbox<node, chaos_sync>;
using pool = apiary::global_pool<node, chaos_sync>;

constexpr std::size_t each = 4000;

// Each producer's nodes must come out in the order it pushed them, and only then be freed.
class receiver_books {
public:
    receiver_books(apiary::stress::run& r, std::size_t producers)
        : run_(r), ledger_(producers * each), last_(producers, 0) {}
    void end(node* n) {
        const std::unique_ptr<node> owned(n);
        if (owned->number < last_[owned->producer])
            run_.fail("producer " + std::to_string(owned->producer) + ": number " + std::to_string(owned->number) +
                      " came after " + std::to_string(last_[owned->producer]));
        last_[owned->producer] = owned->number;
        ledger_.took(owned->producer * each + owned->number);
        run_.progress();
    }
    void settle() const { ledger_.settle(); }

private:
    apiary::stress::run& run_;
    apiary::claim_ledger<> ledger_;
    std::vector<std::size_t> last_;
};

void one_receiver(apiary::stress::run& r) {
    const std::size_t producers = r.opts.threads - 1;
    inbox in;
    receiver_books books(r, producers);
    std::atomic<std::uint64_t> was_empty{0};
    r.describe = [&] { return "inbox, one receiver: was_empty told " + std::to_string(was_empty) + " times"; };

    std::vector<std::thread> threads;
    for (std::size_t p = 0; p < producers; ++p)
        threads.emplace_back([&, p] {
            chaos::enter(p + 1);
            for (std::size_t i = 0; i < each; ++i) {
                auto n = std::make_unique<node>();
                n->producer = p;
                n->number = i;
                if (in.push(n.release()) == push_result::was_empty) was_empty.fetch_add(1);
            }
        });
    std::uint64_t drains = 0;
    for (std::size_t got = 0; got < producers * each;) {
        auto list = in.drain();
        if (list.empty()) continue;
        ++drains;
        while (node* n = list.pop_front()) {
            books.end(n);
            ++got;
        }
    }
    for (auto& t : threads) t.join();
    if (drains != was_empty)
        r.fail("'was empty' was told " + std::to_string(was_empty) + " times for " + std::to_string(drains) +
               " drains");
    books.settle();
}

void close_in_flight(apiary::stress::run& r) {
    const std::size_t producers = r.opts.threads - 1;
    inbox in;
    std::atomic<std::size_t> accepted{0};
    r.describe = [&] { return "inbox, close in flight: " + std::to_string(accepted) + " accepted"; };
    std::vector<std::thread> threads;
    for (std::size_t p = 0; p < producers; ++p)
        threads.emplace_back([&, p] {
            chaos::enter(p + 1);
            for (std::size_t i = 0; i < each / 8; ++i) {
                auto n = std::make_unique<node>();
                if (in.push(n.get()) == push_result::closed) return;
                (void)n.release();
                ++accepted;
                r.progress();
            }
        });
    std::size_t got = 0;
    const auto free_all = [&got](apiary::fifo_list<node> list) {
        while (node* n = list.pop_front()) {
            const std::unique_ptr<node> owned(n);
            ++got;
        }
    };
    chaos_sync::random_source random(r.seed);
    for (std::uint32_t i = random.below(200); i > 0; --i) free_all(in.drain());
    free_all(in.close());
    for (auto& t : threads) t.join();
    free_all(in.drain());
    if (got != accepted)
        r.fail(std::to_string(accepted) + " pushes were accepted and " + std::to_string(got) + " nodes came out");
}

void many_takers(apiary::stress::run& r) {
    const std::size_t takers = r.opts.threads > 3 ? 2 : 1;
    const std::size_t producers = r.opts.threads - takers;
    pool p;
    apiary::claim_ledger<> books(producers * each);
    std::atomic<std::size_t> got{0};
    r.describe = [&] { return "global pool: " + std::to_string(got) + " taken"; };
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < producers; ++i)
        threads.emplace_back([&, i] {
            chaos::enter(i + 1);
            for (std::size_t k = 0; k < each; ++k) {
                auto n = std::make_unique<node>();
                n->number = i * each + k;
                (void)p.push(n.release());
            }
        });
    for (std::size_t i = 0; i < takers; ++i)
        threads.emplace_back([&, i] {
            chaos::enter(100 + i);
            while (got.load() < producers * each) {
                std::array<node*, 16> batch;
                const std::size_t n = p.take(batch, takers);
                for (std::size_t k = 0; k < n; ++k) {
                    const std::unique_ptr<node> owned(batch[k]);
                    books.took(owned->number);
                    r.progress();
                    ++got;
                }
            }
        });
    for (auto& t : threads) t.join();
    books.settle();
}

}  // namespace

int main(int argc, char** argv) {
    return apiary::stress::main(argc, argv, "inbox and global pool under many producers", [](apiary::stress::run& r) {
        one_receiver(r);
        close_in_flight(r);
        many_takers(r);
    });
}
