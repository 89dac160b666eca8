// The shipped MPSC inbox under its scenarios: every node once, in order per producer, told once that the
// inbox was empty, run or refused at a close. Its exhibit is museum/b15.
#include <array>
#include <cstddef>

#include <apiary/contract/laws.hpp>
#include <apiary/model_check/register.hpp>
#include <apiary/queues/mpsc_inbox.hpp>

namespace mpsc_inbox_check {
namespace {

using namespace apiary;

template <class Sync>
struct node {
    typename Sync::template cell<node*> next;
    typename Sync::template cell<std::size_t> id;
};

// Producers are threads 0 .. Producers-1 and send Each nodes; the receiver is the last thread. Node `p * Each + k`
// is producer p's k-th.
template <class Sync, unsigned Producers, std::size_t Each>
struct inbox_scenario {
    static constexpr unsigned threads = Producers + 1;
    static constexpr unsigned receiver = Producers;
    static constexpr std::size_t count = Producers * Each;
    using node_type = node<Sync>;

    mpsc_inbox<node_type, Sync> inbox;
    std::array<node_type, count> nodes;
    identity_ledger<Sync, count, 1> ledger;
    fifo_law<Sync, Producers> order;
    std::array<std::size_t, Producers> told_empty{}, refused{};
    std::size_t emptied = 0;  // drains that took something

    push_result send(unsigned producer, std::size_t k) {
        const std::size_t id = producer * Each + k;
        nodes[id].id.write(id);
        const push_result result = inbox.push(&nodes[id]);
        if (result == push_result::was_empty) ++told_empty[producer];
        if (result == push_result::closed) ++refused[producer];
        return result;
    }

    void receive(fifo_list<node_type> list) {
        if (!list.empty()) ++emptied;
        if (emptied == 2) Sync::reach("inbox.filled_twice");
        if (list.size() > 1) Sync::reach("inbox.several_at_once");
        while (node_type* n = list.pop_front()) {
            const std::size_t id = n->id.read();
            ledger.took(0, id);
            order.got(id / Each, id % Each);
        }
    }

    std::size_t all_told_empty() const {
        std::size_t sum = 0;
        for (const std::size_t n : told_empty) sum += n;
        return sum;
    }

    // The ledger hears only now what was sent, so that the producers share nothing with each other but the inbox.
    void settle() {
        for (std::size_t p = 0; p != Producers; ++p)
            for (std::size_t k = 0; k + refused[p] < Each; ++k) ledger.put(p * Each + k);
        ledger.settle();
        Sync::law(all_told_empty() == emptied, "was_empty was not told exactly once for each filling");
    }
};

template <class Sync, unsigned Producers, std::size_t Each>
struct inbox_each_once : inbox_scenario<Sync, Producers, Each> {
    static constexpr std::array must_reach{"inbox.filled_twice", "inbox.several_at_once"};
    void thread(unsigned i) {
        if (i == this->receiver) {
            this->receive(this->inbox.drain());
            this->receive(this->inbox.drain());
        } else {
            for (std::size_t k = 0; k != Each; ++k) this->send(i, k);
        }
    }
    void after() {
        this->receive(this->inbox.drain());
        Sync::law(this->inbox.looks_empty(), "a drained inbox does not look empty");
        this->settle();
    }
};

template <class Sync>
struct inbox_one_producer : inbox_each_once<Sync, 1, 2> {
    static constexpr const char* what = "one producer, two nodes, a receiver that drains twice: each once, in order";
};
APIARY_CHECK(inbox_one_producer);

template <class Sync>
struct inbox_two_producers : inbox_each_once<Sync, 2, 2> {
    static constexpr const char* what =
        "two producers of two nodes, a receiver that drains twice: each once, in order per producer";
};
APIARY_CHECK(inbox_two_producers);

template <class Sync>
struct inbox_list_against_push : inbox_scenario<Sync, 2, 2> {
    static constexpr const char* what = "one producer sends a list of two at once, the other two single nodes";
    static constexpr std::array must_reach{"inbox.filled_twice", "inbox.several_at_once"};
    void thread(unsigned i) {
        if (i == this->receiver) {
            this->receive(this->inbox.drain());
        } else if (i == 0) {
            fifo_list<node<Sync>> list;
            for (std::size_t k = 0; k != 2; ++k) {
                this->nodes[k].id.write(k);
                list.push_back(&this->nodes[k]);
            }
            if (this->inbox.push_list(list) == push_result::was_empty) ++this->told_empty[0];
        } else {
            this->send(1, 0), this->send(1, 1);
        }
    }
    void after() {
        this->receive(this->inbox.drain());
        this->settle();
    }
};
APIARY_CHECK(inbox_list_against_push);

// The receiver sleeps on a parker when the inbox is empty; only a push that was told `was_empty` wakes it. One
// wake too few is a deadlock.
template <class Sync>
struct inbox_was_empty_wakes : inbox_scenario<Sync, 2, 1> {
    static constexpr const char* what =
        "the pushes that are told was_empty, and they alone, wake the sleeping receiver";
    static constexpr std::array must_reach{"inbox.filled_twice", "inbox.several_at_once"};
    typename Sync::parker parker;
    void thread(unsigned i) {
        if (i != this->receiver) {
            if (this->send(i, 0) == push_result::was_empty) parker.unpark();
            return;
        }
        while (this->ledger.taken_by(0) != this->count) {
            parker.park();
            this->receive(this->inbox.drain());
        }
    }
    void after() { this->settle(); }
};
APIARY_CHECK(inbox_was_empty_wakes);

// A receiver that is awake may take a node before its sender's wake arrives: the wake then finds nothing, and must
// neither be lost for the next node nor be missed by it.
template <class Sync>
struct inbox_late_wake : inbox_scenario<Sync, 1, 2> {
    static constexpr const char* what = "a wake that arrives when its node has been taken: the receiver sleeps again";
    static constexpr std::array must_reach{"inbox.woken_for_nothing"};
    typename Sync::parker parker;
    void thread(unsigned i) {
        if (i != this->receiver) {
            for (std::size_t k = 0; k != 2; ++k)
                if (this->send(0, k) == push_result::was_empty) parker.unpark();
            return;
        }
        this->receive(this->inbox.drain());
        while (this->ledger.taken_by(0) != this->count) {
            parker.park();
            if (this->inbox.looks_empty()) Sync::reach("inbox.woken_for_nothing");
            this->receive(this->inbox.drain());
        }
    }
    void after() { this->settle(); }
};
APIARY_CHECK(inbox_late_wake);

template <class Sync>
struct inbox_close_against_push : inbox_scenario<Sync, 2, 1> {
    static constexpr const char* what =
        "close with pushes in flight: each push is received or told closed, never stranded";
    void thread(unsigned i) {
        if (i == this->receiver) {
            this->receive(this->inbox.drain());
            this->receive(this->inbox.close());
        } else if (this->send(i, 0) == push_result::closed) {
            Sync::reach("inbox.push_refused");
        }
    }
    void after() {
        Sync::law(this->inbox.drain().empty() && this->inbox.close().empty(), "a closed inbox holds a node");
        this->settle();
    }
    static constexpr std::array must_reach{"inbox.push_refused"};
};
APIARY_CHECK(inbox_close_against_push);

// The receiver hands each node back at once, and the producer sends it again: the head word returns to a
// value that another producer may still hold.
template <class Sync>
struct inbox_recycled_nodes {
    static constexpr const char* what = "nodes come back and are sent again while another producer holds the old head";
    static constexpr unsigned threads = 3;
    static constexpr unsigned laps = 2;
    static constexpr std::array must_reach{"inbox.recycled"};

    mpsc_inbox<node<Sync>, Sync> inbox;
    node<Sync> travelling, other;
    typename Sync::template atomic<unsigned> back{0};
    std::array<std::size_t, 3> seen{};  // by the receiver: laps of `travelling`, then `other`

    void receive() {
        fifo_list<node<Sync>> list = inbox.drain();
        while (node<Sync>* n = list.pop_front()) {
            ++seen[n->id.read()];
            if (n == &travelling) back.fetch_add(1, std::memory_order_release);
        }
    }
    void thread(unsigned i) {
        if (i == 0) {
            for (unsigned lap = 0; lap != laps; ++lap) {
                // It is ours again when the receiver has counted it.
                if (lap != 0 && back.load(std::memory_order_acquire) != lap) return;
                if (lap != 0) Sync::reach("inbox.recycled");
                travelling.id.write(lap);
                (void)inbox.push(&travelling);
            }
        } else if (i == 1) {
            other.id.write(2);
            (void)inbox.push(&other);
        } else {
            receive(), receive();
        }
    }
    void after() {
        receive();
        Sync::law(seen[0] == 1 && seen[1] <= 1 && seen[2] == 1, "identity: a recycled node was lost or left twice");
        Sync::law(seen[0] + seen[1] == back.load(std::memory_order_relaxed), "identity: a lap was lost");
    }
};
APIARY_CHECK(inbox_recycled_nodes);

// A closing receiver against a list: it goes in whole, or comes back whole and unlinked.
template <class Sync>
struct inbox_close_against_list : inbox_scenario<Sync, 2, 2> {
    static constexpr const char* what =
        "close with a list in flight, behind another producer's node: all of it or nothing";
    static constexpr std::array must_reach{"inbox.list_refused", "inbox.list_refused_after_a_try"};
    void thread(unsigned i) {
        if (i == this->receiver) {
            this->receive(this->inbox.close());
        } else if (i == 0) {
            fifo_list<node<Sync>> list;
            for (std::size_t k = 0; k != 2; ++k) {
                this->nodes[k].id.write(k);
                list.push_back(&this->nodes[k]);
            }
            const bool looked_open = !this->inbox.looks_empty();
            const push_result result = this->inbox.push_list(list);
            if (result == push_result::was_empty) ++this->told_empty[0];
            if (result != push_result::closed) return;
            Sync::reach("inbox.list_refused");
            if (looked_open) Sync::reach("inbox.list_refused_after_a_try");
            this->refused[0] = 2;
            for (std::size_t k = 0; k != 2; ++k)
                Sync::law(list.pop_front() == &this->nodes[k], "a refused list came back in another order");
            Sync::law(list.empty(), "a refused list came back longer than it was");
        } else {
            this->send(1, 0), this->send(1, 1);
        }
    }
    void after() { this->settle(); }
};
APIARY_CHECK(inbox_close_against_list);

// Too large to exhaust, and for Relacy's hunting modes.
template <class Sync>
struct inbox_three_producers : inbox_each_once<Sync, 3, 4> {
    static constexpr const char* what = "three producers of four nodes, a receiver that drains twice";
    static constexpr const char* one_engine =
        "too large for the explorer: it is for hunting; the small checks beside it are exhausted";
};
APIARY_CHECK(inbox_three_producers, model::relacy_only);

}  // namespace
}  // namespace mpsc_inbox_check
