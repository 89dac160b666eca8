// Two defects of seed 002 that need one thread only.
//
//   A06  7.2 step 5: a batch is moved out of the global pool into the local deque, and a local push fails. The task
//        is lost when nobody looks at the result; or it is posted again after it was moved from, and is empty.
//   A08  4.3 against 14.2: the inbox is a list with the newest first. Taken as it is, each producer's order is reversed.
//
// Fixed twins: the shipped pool, deque and inbox, used as the hive uses them.
#include <array>
#include <span>
#include <utility>

#include <apiary/contract/laws.hpp>
#include <apiary/model_check/register.hpp>
#include <apiary/queues/chase_lev_deque.hpp>
#include <apiary/queues/global_pool.hpp>
#include <apiary/queues/mpsc_inbox.hpp>

namespace a06_a08_seed_002_queues {
namespace {

using namespace apiary;

// A task that owns something: once moved from, it is empty.
class owned_task {
public:
    explicit owned_task(std::size_t id) : id_(id) {}
    owned_task(owned_task&& other) noexcept : id_(std::exchange(other.id_, none)) {}
    owned_task& operator=(owned_task&&) = delete;
    bool empty() const { return id_ == none; }
    std::size_t id() const { return id_; }

private:
    static constexpr std::size_t none = ~std::size_t{0};
    std::size_t id_;
};

template <class Sync>
struct node {
    typename Sync::template cell<node*> next;
    std::size_t id = 0;
};

enum class refused_push { ignored, reposted_after_move, given_back };

template <class Sync, refused_push Refused>
struct batch_into_a_small_deque {
    static constexpr unsigned threads = 1;
    static constexpr std::size_t count = 4;
    struct two {
        static constexpr unsigned index_bits = 64;
        static constexpr std::size_t initial_capacity = 2, max_capacity = 2;
    };

    std::array<node<Sync>, count> nodes;
    global_pool<node<Sync>, Sync> pool;
    chase_lev_deque<node<Sync>*, Sync, two> deque;
    typename chase_lev_deque<node<Sync>*, Sync, two>::owner owner = deque.own();
    identity_ledger<Sync, count, 1> ledger;

    void before() {
        for (std::size_t id = 0; id != count; ++id) {
            nodes[id].id = id;
            ledger.put(id);
            Sync::law(pool.push(&nodes[id]) != push_result::closed, "an open pool refused a push");
        }
    }
    void thread(unsigned) {
        std::array<node<Sync>*, count> batch{};
        const std::size_t n = pool.take(batch, 1);
        for (std::size_t i = 0; i != n; ++i) {
            owned_task task(batch[i]->id);
            if constexpr (Refused == refused_push::reposted_after_move) {
                const owned_task handed_over(std::move(task));  // into a slot that it does not get
                if (owner.try_push(batch[i])) continue;
            } else if (owner.try_push(batch[i])) {
                continue;
            }
            if (Refused == refused_push::ignored) continue;
            Sync::law(!task.empty(), "an empty task was posted again");
            Sync::law(pool.push(batch[i]) != push_result::closed, "an open pool refused a push");
        }
    }
    void after() {
        for (node<Sync>* n = nullptr; owner.try_pop(n);) ledger.took(0, n->id);
        while (node<Sync>* n = pool.take_one()) ledger.took(0, n->id);
        ledger.settle();
    }
};

template <class Sync>
struct a06_refused_push_ignored : batch_into_a_small_deque<Sync, refused_push::ignored> {
    static constexpr const char* what = "the local deque refuses two of a batch, and nobody looks";
};
APIARY_EXHIBIT(a06_refused_push_ignored, "an element was lost");

template <class Sync>
struct a06_reposted_after_move : batch_into_a_small_deque<Sync, refused_push::reposted_after_move> {
    static constexpr const char* what =
        "the local deque refuses a task that has been moved from, and it is posted again";
};
APIARY_EXHIBIT(a06_reposted_after_move, "an empty task");

template <class Sync>
struct a06_fixed : batch_into_a_small_deque<Sync, refused_push::given_back> {
    static constexpr const char* what =
        "twin of A06: a refused push changes nothing, and the node goes back to the pool";
    static constexpr const char* exhibit = "a06_refused_push_ignored";
};
APIARY_CHECK(a06_fixed);

template <class Sync, bool Reversed>
struct two_in_order {
    static constexpr unsigned threads = 1;
    std::array<node<Sync>, 2> nodes;
    mpsc_inbox<node<Sync>, Sync> inbox;
    fifo_law<Sync, 1> order;

    void before() {
        for (std::size_t id = 0; id != 2; ++id) {
            nodes[id].id = id;
            Sync::law(inbox.push(&nodes[id]) != push_result::closed, "an open inbox refused a push");
        }
    }
    void thread(unsigned) {
        if constexpr (Reversed) {
            auto list = inbox.drain();
            while (node<Sync>* n = list.pop_front()) order.got(0, n->id);
        } else {
            for (node<Sync>* n = inbox.take_chain(); n != nullptr; n = n->next.read()) order.got(0, n->id);
        }
    }
};

template <class Sync>
struct a08_list_not_reversed : two_in_order<Sync, false> {
    static constexpr const char* what = "the list is used as it comes, newest first";
};
APIARY_EXHIBIT(a08_list_not_reversed, "another order");

template <class Sync>
struct a08_fixed : two_in_order<Sync, true> {
    static constexpr const char* what = "twin of A08: drain gives the oldest first";
    static constexpr const char* exhibit = "a08_list_not_reversed";
};
APIARY_CHECK(a08_fixed);

}  // namespace
}  // namespace a06_a08_seed_002_queues
