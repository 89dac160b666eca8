// Defects of linked queues with many producers and one receiver, beside B15.
//
//   B14  stdexec #1812: an intrusive queue is never without a node: when the receiver takes the last, it puts its own
//        `nil` node after it. nil's old link is not taken away, and the list is a cycle; or it is taken away
//        after nil can be found, together with the node that somebody has just hung there.
//   B16  ponyc #5820: a thread that is not the receiver asks the oldest node whether it has a successor. The receiver
//        has freed that node meanwhile, a producer has made it the newest, and so it has none: a queue that holds
//        nodes reads as empty.
//
// Seen by: both engines. Interleaving; B16 needs nodes that are used again, here without ever being freed.
// Fixed twins: nil is cut before it is pushed, and the shipped inbox; emptiness from one word that counts, as
// the shipped inbox decides it from its head word, and never from a node; and the shipped word of a process, likewise.
#include <array>
#include <cstddef>
#include <utility>

#include <apiary/contract/laws.hpp>
#include <apiary/model_check/register.hpp>
#include <apiary/queues/mpsc_inbox.hpp>
#include <apiary/schedulers/processes/process_word.hpp>

namespace b14_b16_linked_mpsc {
namespace {

using namespace apiary;

enum class nil_link { cut_before, never_cut, cut_after };

template <class Sync, nil_link Nil>
class nil_queue {
public:
    struct node {
        typename Sync::template atomic<node*> next{nullptr};
        std::size_t id = 0;
    };

    void push(node* n) {
        n->next.store(nullptr, std::memory_order_relaxed);
        link(n);
    }
    // Null when empty, or while a push is between its two steps.
    node* pop() {
        node* taken = oldest_;
        node* following = taken->next.load(std::memory_order_acquire);
        if (taken == &nil_) {
            if (following == nullptr) return nullptr;
            oldest_ = taken = following;
            following = taken->next.load(std::memory_order_acquire);
        }
        if (following == nullptr) {
            if (taken != newest_.load(std::memory_order_acquire)) return nullptr;
            if (Nil == nil_link::cut_before) nil_.next.store(nullptr, std::memory_order_relaxed);
            link(&nil_);
            if (Nil == nil_link::cut_after) nil_.next.store(nullptr, std::memory_order_relaxed);
            following = taken->next.load(std::memory_order_acquire);
            if (following == nullptr) return nullptr;
        }
        oldest_ = following;
        return taken;
    }

private:
    void link(node* n) {
        node* previous = newest_.exchange(n, std::memory_order_acq_rel);
        previous->next.store(n, std::memory_order_release);
    }

    node nil_;
    typename Sync::template atomic<node*> newest_{&nil_};
    node* oldest_ = &nil_;  // the receiver's
};

template <class Sync>
class shipped_queue {
public:
    struct node {
        typename Sync::template cell<node*> next;
        std::size_t id = 0;
    };
    void push(node* n) { Sync::law(inbox_.push(n) != push_result::closed, "an open inbox refused a push"); }
    node* pop() {
        if (ready_.empty()) ready_ = inbox_.drain();
        return ready_.pop_front();
    }

private:
    mpsc_inbox<node, Sync> inbox_;
    fifo_list<node> ready_;
};

// A process's mailbox, which is a list by its word: the receiver takes all of it by one exchange.
template <class Sync>
class shipped_mailbox {
public:
    struct alignas(16) node {
        typename Sync::template cell<node*> next;
        std::size_t id = 0;
    };
    shipped_mailbox() { word_.open(1); }
    void push(node* n) {
        Sync::law(word_.push(1, n, false) == push_answer::accepted, "a process that is ready was queued, or has ended");
    }
    node* pop() {
        if (taken_ == nullptr) {
            for (node* n = word_.start(1).newest; n != nullptr;) {
                node* const older = n->next.read();
                n->next.write(std::exchange(taken_, n));
                n = older;
            }
            (void)word_.settle(1, process_state::ready);
        }
        node* const n = taken_;
        if (n != nullptr) taken_ = n->next.read();
        return n;
    }

private:
    process_word<node, Sync> word_;
    node* taken_ = nullptr;  // the receiver's, oldest first
};

template <class Sync, class Queue>
struct two_pushes_three_pops {
    static constexpr unsigned threads = 2;
    Queue queue;
    std::array<typename Queue::node, 2> nodes;
    identity_ledger<Sync, 2, 1> ledger;

    void pop() {
        if (typename Queue::node* n = queue.pop()) ledger.took(0, n->id);
    }
    void before() {
        for (std::size_t id = 0; id != 2; ++id) nodes[id].id = id, ledger.put(id);
    }
    void thread(unsigned i) {
        if (i == 0)
            queue.push(&nodes[0]), queue.push(&nodes[1]);
        else
            pop(), pop(), pop();
    }
    void after() {
        for (unsigned n = 0; n != 3; ++n) pop();
        ledger.settle();
    }
};

template <class Sync>
struct b14_nil_never_cut : two_pushes_three_pops<Sync, nil_queue<Sync, nil_link::never_cut>> {
    static constexpr const char* what = "nil goes back into the list with its old link: the list is a cycle";
};
APIARY_EXHIBIT(b14_nil_never_cut, "identity: ");

template <class Sync>
struct b14_nil_cut_late : two_pushes_three_pops<Sync, nil_queue<Sync, nil_link::cut_after>> {
    static constexpr const char* what = "nil's link is cleared when somebody has already hung a node there";
};
APIARY_EXHIBIT(b14_nil_cut_late, "an element was lost");

template <class Sync>
struct b14_nil_cut_before : two_pushes_three_pops<Sync, nil_queue<Sync, nil_link::cut_before>> {
    static constexpr const char* what = "twin of B14: nil's link is cleared before anybody can find it";
    static constexpr const char* exhibit = "b14_nil_never_cut";
};
APIARY_CHECK(b14_nil_cut_before);

template <class Sync>
struct b14_fixed : two_pushes_three_pops<Sync, shipped_queue<Sync>> {
    static constexpr const char* what = "twin of B14: the shipped inbox, which has no such node";
    static constexpr const char* exhibit = "b14_nil_never_cut";
};
APIARY_CHECK(b14_fixed);

template <class Sync>
struct b14_process_fixed : two_pushes_three_pops<Sync, shipped_mailbox<Sync>> {
    static constexpr const char* what = "twin of B14: a process's mailbox, which has no such node either";
    static constexpr const char* exhibit = "b14_nil_never_cut";
};
APIARY_CHECK(b14_process_fixed);

template <class Sync, bool AsksANode>
class probed_queue {
public:
    struct node {
        typename Sync::template atomic<node*> next{nullptr};
    };

    void push(node* n) {
        n->next.store(nullptr, std::memory_order_relaxed);
        node* previous = newest_.exchange(n, std::memory_order_acq_rel);
        previous->next.store(n, std::memory_order_release);
        inside_.fetch_add(1, std::memory_order_release);
    }
    // Gives back the node in front of the one received, which is free now; null when there is nothing.
    node* receive() {
        node* front = oldest_.load(std::memory_order_relaxed);
        node* following = front->next.load(std::memory_order_acquire);
        if (following == nullptr) return nullptr;
        oldest_.store(following, std::memory_order_release);
        inside_.fetch_sub(1, std::memory_order_release);
        return front;
    }
    // Anybody.
    bool looks_empty() const {
        if constexpr (!AsksANode) return inside_.load(std::memory_order_acquire) == 0;
        // To compare `oldest_` with `newest_` is no better: the one read first may have come back as the other.
        return oldest_.load(std::memory_order_acquire)->next.load(std::memory_order_acquire) == nullptr;
    }

private:
    node first_;
    typename Sync::template atomic<node*> newest_{&first_}, oldest_{&first_};
    typename Sync::template atomic<int> inside_{0};
};

// Two nodes are inside and at most one is received: the queue is never empty.
template <class Sync, bool AsksANode>
struct probe_against_reuse {
    static constexpr unsigned threads = 3;
    using queue_type = probed_queue<Sync, AsksANode>;
    queue_type queue;
    std::array<typename queue_type::node, 2> nodes;
    typename Sync::template atomic<typename queue_type::node*> free{nullptr};

    void before() { queue.push(&nodes[0]), queue.push(&nodes[1]); }
    void thread(unsigned i) {
        if (i == 0) free.store(queue.receive(), std::memory_order_release);
        if (i == 1)
            if (auto* n = free.load(std::memory_order_acquire)) queue.push(n);
        if (i == 2) Sync::law(!queue.looks_empty(), "a queue that holds nodes reads as empty");
    }
};

template <class Sync>
struct b16_recycled_node_asked : probe_against_reuse<Sync, true> {
    static constexpr const char* what =
        "a probe asks a node that was received, and is now the newest, for its successor";
};
APIARY_EXHIBIT(b16_recycled_node_asked, "reads as empty");

template <class Sync>
struct b16_fixed : probe_against_reuse<Sync, false> {
    static constexpr const char* what = "twin of B16: a probe reads one word of the queue, and no node";
    static constexpr const char* exhibit = "b16_recycled_node_asked";
};
APIARY_CHECK(b16_fixed);

// A process's mailbox is asked by the compare-exchange that ends its run: whether its word has a node, and no node of it.
// Node 0 was received before that run ends, and is sent again meanwhile.
template <class Sync>
struct b16_process_fixed {
    static constexpr unsigned threads = 3;
    static constexpr const char* what =
        "twin of B16: a process waits only when its word has no node, used again or not";
    static constexpr const char* exhibit = "b16_recycled_node_asked";
    struct alignas(16) node {
        typename Sync::template cell<node*> next;
    };
    process_word<node, Sync> word;
    std::array<node, 2> nodes;
    typename Sync::template atomic<node*> free{nullptr};
    typename Sync::template cell<unsigned> received{0};
    typename Sync::template atomic<unsigned> sent{0};

    void before() {
        word.open(1);
        send(&nodes[0]);
    }
    // True: this thread runs the process, and stands for the worker that would.
    bool send(node* n) {
        sent.fetch_add(1, std::memory_order_relaxed);
        return word.push(1, n, false) == push_answer::woke;
    }
    void run() {
        do {
            for (node* n = word.start(1).newest; n != nullptr;) {
                node* const older = n->next.read();
                received.write(received.read() + 1);
                if (n == &nodes[0]) free.store(n, std::memory_order_release);
                n = older;
            }
        } while (word.settle(1, process_state::idle));
    }
    void thread(unsigned i) {
        if (i == 0) run();
        if (i == 1 && send(&nodes[1])) run();
        if (i == 2)
            if (node* n = free.exchange(nullptr, std::memory_order_acquire); n != nullptr && send(n)) run();
    }
    void after() {
        Sync::law(received.read() == sent.load(std::memory_order_relaxed),
                  "a mailbox that holds a message read as empty, and its process waits");
    }
};
APIARY_CHECK(b16_process_fixed);

}  // namespace
}  // namespace b14_b16_linked_mpsc
