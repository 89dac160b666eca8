// The shipped global pool under its scenarios: every node taken once, whoever takes; nothing is left behind unseen.
#include <array>
#include <cstddef>
#include <span>

#include <apiary/contract/laws.hpp>
#include <apiary/model_check/register.hpp>
#include <apiary/queues/global_pool.hpp>

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
    std::size_t take(unsigned thread, std::size_t most, std::size_t sharers) {
        std::array<node_type*, Ids> out{};
        const std::size_t n = pool.take(std::span(out).first(most), sharers);
        for (std::size_t i = 0; i != n; ++i) ledger.took(thread, out[i]->id.read());
        return n;
    }
    void settle() {
        while (take(Threads, 1, 1) != 0) {
        }
        if (!pool.looks_empty()) Sync::fail("a pool that gave everything does not look empty");
        for (std::size_t id = 0; id != Ids; ++id)
            if (accepted[id]) ledger.put(id);
        ledger.settle();
    }
    void after() { settle(); }
};

template <class Sync>
struct pool_two_takers : pool_scenario<Sync, 2, 3> {
    static constexpr const char* what = "one producer of two nodes, two takers that share: each node once";
    void thread(unsigned i) {
        if (i == 2)
            this->send(0), this->send(1);
        else
            this->take(i, 1, 2);
    }
};
APIARY_CHECK(pool_two_takers);

// What a taker leaves in `ready_` is announced by has_ready_: whoever looks afterwards sees it.
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
            if (this->pool.looks_empty()) Sync::fail("a node was left behind and the pool looks empty");
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

}  // namespace
