// A10: post_to_worker races detach: the task lands in an inbox that nobody will read, and the post says it succeeded.
// A42: tasks taken from the global pool into a local queue are lost when their worker is detached.
//
// From: seed 002 sections 9.4 and 7.2: the detached worker is taken from the list, told to stop, and destroyed; "not
// responsible for its tasks" is no answer to a post that was told it was accepted.
// Seen by: both engines. Plain interleaving.
// Fixed twins: the worker closes its inbox, and gives back what it took; hive_attach_check holds the shipped worker
// to the same.
#include <array>

#include <apiary/model_check/register.hpp>
#include <apiary/queues/global_pool.hpp>
#include <apiary/queues/mpsc_inbox.hpp>

namespace a10_a42_worker_detached {
namespace {

using namespace apiary;

template <class Sync>
struct node {
    typename Sync::template cell<node*> next;
    bool ran = false;
};

enum class leaving { with_open_inbox, closes_inbox };

template <class Sync, leaving How>
struct post_races_detach {
    static constexpr unsigned threads = 3;
    mpsc_inbox<node<Sync>, Sync> inbox;
    typename Sync::template atomic<unsigned> detached;
    node<Sync> task;
    bool accepted = false;

    void before() { detached.store(0, std::memory_order_relaxed); }
    void thread(unsigned i) {
        if (i == 0) {  // the worker
            run_all(inbox.drain());
            Sync::spin_until(detached, [](unsigned v) { return v == 1; });
            run_all(How == leaving::closes_inbox ? inbox.close() : inbox.drain());
        } else if (i == 1) {
            detached.store(1, std::memory_order_seq_cst);
        } else if (detached.load(std::memory_order_seq_cst) == 0) {  // the worker is still in the list
            accepted = inbox.push(&task) != push_result::closed;
        }
    }
    void after() {
        if (accepted) Sync::law(task.ran, "identity: an accepted task was lost");
    }

private:
    void run_all(fifo_list<node<Sync>> list) {
        while (node<Sync>* t = list.pop_front()) t->ran = true;
    }
};

template <class Sync>
struct a10_inbox_left_open : post_races_detach<Sync, leaving::with_open_inbox> {
    static constexpr const char* what = "the worker reads its inbox a last time and goes; the post comes after that";
};
APIARY_EXHIBIT(a10_inbox_left_open, "an accepted task was lost");

template <class Sync>
struct a10_fixed : post_races_detach<Sync, leaving::closes_inbox> {
    static constexpr const char* what = "twin of A10: the last look closes the inbox, and a later post is refused";
    static constexpr const char* exhibit = "a10_inbox_left_open";
};
APIARY_CHECK(a10_fixed);

enum class local_queue { dropped, given_back };

template <class Sync, local_queue Rest>
struct detach_between_tasks {
    static constexpr unsigned threads = 2;
    global_pool<node<Sync>, Sync> pool;
    typename Sync::template atomic<unsigned> detached;
    std::array<node<Sync>, 2> tasks;

    void before() {
        detached.store(0, std::memory_order_relaxed);
        for (auto& t : tasks) Sync::law(pool.push(&t) != push_result::closed, "a push was refused by an open pool");
    }
    void thread(unsigned i) {
        if (i == 1) {
            detached.store(1, std::memory_order_relaxed);
            return;
        }
        std::array<node<Sync>*, 2> batch{};
        const std::size_t n = pool.take(batch, 1);
        for (std::size_t k = 0; k < n; ++k) {
            if (detached.load(std::memory_order_relaxed) == 0)
                batch[k]->ran = true;
            else if (Rest == local_queue::given_back)
                (void)pool.push(batch[k]);
        }
    }
    void after() {
        while (node<Sync>* t = pool.take_one()) t->ran = true;  // another worker
        for (auto& t : tasks) Sync::law(t.ran, "identity: an accepted task was lost");
    }
};

template <class Sync>
struct a42_batch_lost : detach_between_tasks<Sync, local_queue::dropped> {
    static constexpr const char* what = "a worker is detached with the rest of a batch in its local queue";
};
APIARY_EXHIBIT(a42_batch_lost, "an accepted task was lost");

template <class Sync>
struct a42_fixed : detach_between_tasks<Sync, local_queue::given_back> {
    static constexpr const char* what = "twin of A42: the rest goes back to the pool";
    static constexpr const char* exhibit = "a42_batch_lost";
};
APIARY_CHECK(a42_fixed);

}  // namespace
}  // namespace a10_a42_worker_detached
