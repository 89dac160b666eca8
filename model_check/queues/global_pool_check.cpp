// The shipped global pool under its scenarios: every node taken once, whichever thread takes; nothing is left behind unseen.
#include <array>
#include <cstddef>
#include <span>

#include <apiary/contract/laws.hpp>
#include <apiary/model_check/register.hpp>
#include <apiary/queues/global_pool.hpp>

namespace global_pool_check {
namespace {

using namespace apiary;

template <class Sync>
struct node {
    typename Sync::template cell<node*> next;
    typename Sync::template cell<std::size_t> id;
};

template <class Sync, std::size_t Ids, unsigned Threads>
struct pool_scenario {
    static constexpr unsigned threads = Threads;
    using node_type = node<Sync>;

    global_pool<node_type, Sync> pool;
    std::array<node_type, Ids> nodes;
    std::array<bool, Ids> accepted{};
    identity_ledger<Sync, Ids, Threads + 1> ledger;

    void send(std::size_t id) {
        nodes[id].id.write(id);
        accepted[id] = pool.push(&nodes[id]) != push_result::closed;
    }
    // All or nothing, nodes first .. first + n - 1.
    void send_list(std::size_t first, std::size_t n) {
        fifo_list<node_type> list;
        for (std::size_t id = first; id != first + n; ++id) {
            nodes[id].id.write(id);
            list.push_back(&nodes[id]);
        }
        const bool in = pool.push_list(list) != push_result::closed;
        Sync::law(in == list.empty(), "a list was neither taken whole nor left as it was");
        for (std::size_t id = first; id != first + n; ++id) accepted[id] = in;
    }
    std::size_t take(unsigned thread, std::size_t most, std::size_t sharers) {
        std::array<node_type*, Ids> out{};
        const std::size_t n = pool.take(std::span(out).first(most), sharers);
        for (std::size_t i = 0; i != n; ++i) ledger.took(thread, out[i]->id.read());
        return n;
    }
    void settle() {
        while (take(Threads, 1, 1) != 0) {
        }
        Sync::law(pool.looks_empty(), "a pool that gave everything does not look empty");
        for (std::size_t id = 0; id != Ids; ++id)
            if (accepted[id]) ledger.put(id);
        ledger.settle();
    }
    void after() { settle(); }
};

template <class Sync>
struct pool_two_takers : pool_scenario<Sync, 2, 3> {
    static constexpr const char* what = "one producer of two nodes, two takers that share: each node once";
    static constexpr std::array must_reach{"pool.both_took"};
    static constexpr std::array alike{0U, 1U};
    void thread(unsigned i) {
        if (i == 2)
            this->send(0), this->send(1);
        else
            this->take(i, 1, 2);
    }
    void after() {
        if (this->ledger.taken_by(0) != 0 && this->ledger.taken_by(1) != 0) Sync::reach("pool.both_took");
        this->settle();
    }
};
APIARY_CHECK(pool_two_takers);

// What a taker leaves in `ready_` is announced by has_ready_: a thread that looks afterwards sees it.
template <class Sync>
struct pool_remainder_is_visible : pool_scenario<Sync, 2, 2> {
    static constexpr const char* what = "a taker that leaves a node behind: after it, the pool does not look empty";
    typename Sync::template atomic<unsigned> took{0};
    void before() { this->send(0), this->send(1); }
    void thread(unsigned i) {
        if (i == 0) {
            took.store(static_cast<unsigned>(this->take(0, 1, 2)), std::memory_order_release);
        } else if (took.load(std::memory_order_acquire) == 1) {
            Sync::reach("pool.looked_at_the_remainder");
            Sync::law(!this->pool.looks_empty(), "a node was left behind and the pool looks empty");
        }
    }
    static constexpr std::array must_reach{"pool.looked_at_the_remainder"};
};
APIARY_CHECK(pool_remainder_is_visible);

template <class Sync>
struct pool_close_against_push : pool_scenario<Sync, 2, 3> {
    static constexpr const char* what =
        "close against a push and a take: each push is taken or refused, what is inside stays";
    static constexpr std::array must_reach{"pool.push_refused"};
    void before() { this->send(0); }
    void thread(unsigned i) {
        if (i == 0) {
            this->send(1);
            if (!this->accepted[1]) Sync::reach("pool.push_refused");
        }
        if (i == 1) this->take(1, 1, 1);
        if (i == 2) this->pool.close();
    }
};
APIARY_CHECK(pool_close_against_push);

template <class Sync>
struct pool_batches : pool_scenario<Sync, 4, 4> {
    static constexpr const char* what = "a batch of two and two single nodes, two takers of batches: each node once";
    static constexpr std::array must_reach{"pool.took_a_batch", "pool.both_took"};
    static constexpr std::array alike{0U, 1U};
    void thread(unsigned i) {
        if (i == 3) this->send_list(0, 2);
        if (i == 2) this->send(2), this->send(3);
        if (i < 2 && this->take(i, 2, 1) == 2) Sync::reach("pool.took_a_batch");
    }
    void after() {
        if (this->ledger.taken_by(0) != 0 && this->ledger.taken_by(1) != 0) Sync::reach("pool.both_took");
        this->settle();
    }
};
APIARY_CHECK(pool_batches);

// One taker, so that the order of what it gets is the order of the pool.
template <class Sync>
struct pool_order : pool_scenario<Sync, 4, 3> {
    static constexpr const char* what = "two producers, one taker of batches: each producer's nodes come in its order";
    static constexpr std::array must_reach{"pool.took_a_batch"};
    void thread(unsigned i) {
        if (i == 0) this->send_list(0, 2);
        if (i == 1) this->send(2), this->send(3);
        if (i == 2) {
            if (this->take(2, 3, 1) > 1) Sync::reach("pool.took_a_batch");
            this->take(2, 3, 1);
        }
    }
    void after() {
        while (this->take(2, 4, 1) != 0) {
        }
        fifo_law<Sync, 2> order;
        for (std::size_t n = 0; n != this->ledger.taken_by(2); ++n) {
            const std::size_t id = this->ledger.taken(2, n);
            order.got(id / 2, id % 2);
        }
        this->settle();
    }
};
APIARY_CHECK(pool_order);

template <class Sync>
struct pool_close_against_list : pool_scenario<Sync, 3, 3> {
    static constexpr const char* what = "close against a batch and a take: the batch is in whole, or refused whole";
    static constexpr std::array must_reach{"pool.list_refused", "pool.list_accepted"};
    void before() { this->send(0); }
    void thread(unsigned i) {
        if (i == 0) {
            this->send_list(1, 2);
            Sync::reach(this->accepted[1] ? "pool.list_accepted" : "pool.list_refused");
        }
        if (i == 1) this->take(1, 2, 1);
        if (i == 2) this->pool.close();
    }
};
APIARY_CHECK(pool_close_against_list);

// Too large to exhaust, and for Relacy's hunting modes.
template <class Sync>
struct pool_many : pool_scenario<Sync, 9, 5> {
    static constexpr const char* what = "three producers of batches and single nodes, two takers that come three times";
    static constexpr const char* one_engine =
        "too large for the explorer: it is for hunting; the small checks beside it are exhausted";
    static constexpr std::array must_reach{"pool.took_a_batch"};
    void thread(unsigned i) {
        if (i < 3) {
            this->send_list(3 * i, 2);
            this->send(3 * i + 2);
        } else {
            for (unsigned k = 0; k != 3; ++k)
                if (this->take(i, 3, 2) > 1) Sync::reach("pool.took_a_batch");
        }
    }
};
APIARY_CHECK(pool_many, model::relacy_only);

}  // namespace
}  // namespace global_pool_check
