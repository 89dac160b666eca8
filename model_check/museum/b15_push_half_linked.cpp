// B15: a linked MPSC queue pushes in two steps, exchange the head and then link the predecessor; between the two the
// list is cut, and everything behind the cut reads as "empty", pushes included that have long returned.
//
// From: helio #215, Vyukov's intrusive MPSC queue.
// Seen by: both engines. Plain interleaving.
// Fixed twins: the shipped inbox and the shipped word of a process, where a push is one compare-exchange.
#include <apiary/model_check/register.hpp>
#include <apiary/queues/mpsc_inbox.hpp>
#include <apiary/schedulers/processes/process_word.hpp>

namespace b15_push_half_linked {
namespace {

using namespace apiary;

template <class Sync>
class linked_queue {
    struct node {
        typename Sync::template atomic<node*> next{nullptr};
    };

public:
    void push(unsigned producer) {
        node* n = &nodes_[producer];
        node* previous = newest_.exchange(n, std::memory_order_acq_rel);
        // The window: `previous` is no longer the newest and does not yet lead to its successor.
        previous->next.store(n, std::memory_order_release);
    }
    bool pop_any() {
        node* following = oldest_->next.load(std::memory_order_acquire);
        if (following == nullptr) return false;
        oldest_ = following;
        return true;
    }

private:
    node nodes_[2];
    node stub_;
    typename Sync::template atomic<node*> newest_{&stub_};
    node* oldest_ = &stub_;  // the receiver's
};

template <class Sync>
class shipped_queue {
    struct node {
        typename Sync::template cell<node*> next;
    };

public:
    void push(unsigned producer) {
        Sync::law(inbox_.push(&nodes_[producer]) != push_result::closed, "an open inbox refused a push");
    }
    bool pop_any() { return !inbox_.drain().empty(); }

private:
    mpsc_inbox<node, Sync> inbox_;
    node nodes_[2];
};

// A process's mailbox: the push that has returned is in its word, where the run takes it from.
template <class Sync>
class shipped_mailbox {
    struct alignas(16) node {
        typename Sync::template cell<node*> next;
    };

public:
    shipped_mailbox() { word_.open(1); }
    void push(unsigned producer) {
        Sync::law(word_.push(1, &nodes_[producer], false) == push_answer::accepted, "a ready process was queued again");
    }
    bool pop_any() { return word_.start(1).newest != nullptr; }

private:
    process_word<node, Sync> word_;
    node nodes_[2];
};

// Producer 1 says when its push has returned; from then on the receiver must find something.
template <class Sync, class Queue>
struct completed_push_is_visible {
    static constexpr unsigned threads = 3;
    Queue queue;
    typename Sync::template atomic<bool> returned{false};

    void thread(unsigned i) {
        if (i == 0) queue.push(0);
        if (i == 1) {
            queue.push(1);
            returned.store(true, std::memory_order_release);
        }
        if (i == 2 && returned.load(std::memory_order_acquire))
            Sync::law(queue.pop_any(), "a push that has returned reads as empty");
    }
};

template <class Sync>
struct b15_push_half_linked : completed_push_is_visible<Sync, linked_queue<Sync>> {
    static constexpr const char* what = "a push between its exchange and its link hides every later push";
};
APIARY_EXHIBIT(b15_push_half_linked, "reads as empty");

template <class Sync>
struct b15_fixed : completed_push_is_visible<Sync, shipped_queue<Sync>> {
    static constexpr const char* what = "twin of B15: a push is one compare-exchange";
    static constexpr const char* exhibit = "b15_push_half_linked";
};
APIARY_CHECK(b15_fixed);

template <class Sync>
struct b15_process_fixed : completed_push_is_visible<Sync, shipped_mailbox<Sync>> {
    static constexpr const char* what = "twin of B15: a send to a process is one compare-exchange of its word";
    static constexpr const char* exhibit = "b15_push_half_linked";
};
APIARY_CHECK(b15_process_fixed);

}  // namespace
}  // namespace b15_push_half_linked
