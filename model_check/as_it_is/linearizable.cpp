// Types and their specifications, by scenarios that are generated; and for each specification a type that is wrong.
#include <apiary/specifications.hpp>

#include <array>
#include <atomic>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

namespace {

using apiary::call;
using apiary::scenarios;

// ---- stack ----------------------------------------------------------------------------------------------------------

// Treiber's, whose nodes go with the stack. `torn` takes the top by a load and a store.
template <bool torn>
class list_stack {
public:
    ~list_stack() {
        for (node* n = all_.load(std::memory_order_relaxed); n != nullptr;) delete std::exchange(n, n->older);
    }
    void push(int v) {
        auto* const n = new node{v};
        n->older = all_.load(std::memory_order_relaxed);
        while (!all_.compare_exchange_weak(n->older, n, std::memory_order_relaxed)) {
        }
        n->next = top_.load(std::memory_order_relaxed);
        while (!top_.compare_exchange_weak(n->next, n, std::memory_order_release, std::memory_order_relaxed)) {
        }
    }
    std::optional<int> pop() {
        node* n = top_.load(std::memory_order_acquire);
        if constexpr (torn) {
            if (n == nullptr) return {};
            top_.store(n->next, std::memory_order_release);
        } else {
            while (n != nullptr && !top_.compare_exchange_weak(n, n->next, std::memory_order_acquire)) {
            }
        }
        return n == nullptr ? std::nullopt : std::optional(n->value);
    }

private:
    struct node {
        int value;
        node* next = nullptr;
        node* older = nullptr;
    };
    std::atomic<node*> top_{nullptr}, all_{nullptr};
};
using treiber_stack = list_stack<false>;
using torn_stack = list_stack<true>;

// ---- queue, deque ------------------------------------------------------------------------------------------------------

class locked {
public:
    using value_type = int;
    void push_back(int v) {
        const std::lock_guard held(mutex_);
        all_.push_back(v);
    }
    void push_front(int v) {
        const std::lock_guard held(mutex_);
        all_.push_front(v);
    }
    bool pop_front(int& v) {
        const std::lock_guard held(mutex_);
        if (all_.empty()) return false;
        v = all_.front();
        all_.pop_front();
        return true;
    }
    bool pop_back(int& v) {
        const std::lock_guard held(mutex_);
        if (all_.empty()) return false;
        v = all_.back();
        all_.pop_back();
        return true;
    }

private:
    std::mutex mutex_;
    std::deque<int> all_;
};

struct locked_queue : locked {
    void push(int v) { push_back(v); }
    bool pop(int& v) { return pop_front(v); }
};
// Wrong: the last in is the first out.
struct stack_for_a_queue : locked {
    void push(int v) { push_back(v); }
    bool pop(int& v) { return pop_back(v); }
};
struct locked_deque : locked {
    std::optional<int> pop_back() {
        int v = 0;
        return locked::pop_back(v) ? std::optional(v) : std::nullopt;
    }
    std::optional<int> pop_front() {
        int v = 0;
        return locked::pop_front(v) ? std::optional(v) : std::nullopt;
    }
};
// Wrong: of one element both ends get it, where two threads look first.
struct deque_that_looks_first : locked_deque {
    std::optional<int> pop_front() {
        const std::optional<int> seen = locked_deque::pop_front();
        if (seen) push_front(*seen);
        (void)locked_deque::pop_front();
        return seen;
    }
};

// Of an owner at one end and thieves at the other.
struct locked_deque_of_owner : locked_deque {
    void push(int v) { push_back(v); }
    std::optional<int> pop() { return pop_back(); }
    std::optional<int> steal() { return pop_front(); }
};
// Wrong: thieves come to the owner's end.
struct deque_robbed_from_behind : locked_deque_of_owner {
    std::optional<int> steal() { return pop_back(); }
};

// ---- set, counter ----------------------------------------------------------------------------------------------------------

template <bool torn>
class flags {
public:
    bool insert(int v) { return !change(v, true); }
    bool erase(int v) { return change(v, false); }
    bool contains(int v) const { return all_[at(v)].load(); }

private:
    static std::size_t at(int v) { return static_cast<std::size_t>(v); }
    bool change(int v, bool to) {
        if constexpr (!torn) return all_[at(v)].exchange(to);
        const bool before = all_[at(v)].load();
        all_[at(v)].store(to);
        return before;
    }
    std::array<std::atomic<bool>, 3> all_{};
};
using flag_set = flags<false>;
using torn_set = flags<true>;

class atomic_counter {
public:
    long add(long n) { return now_.fetch_add(n); }
    long get() const { return now_.load(); }

private:
    std::atomic<long> now_{0};
};
class torn_counter {
public:
    long add(long n) {
        const long before = now_.load();
        now_.store(before + n);
        return before;
    }
    long get() const { return now_.load(); }

private:
    std::atomic<long> now_{0};
};

// ---- lock ---------------------------------------------------------------------------------------------------------------

template <bool torn>
class spin {
public:
    void lock() {
        while (!try_lock()) {
        }
    }
    bool try_lock() {
        if constexpr (!torn) return !held_.exchange(true, std::memory_order_acquire);
        if (held_.load(std::memory_order_acquire)) return false;
        held_.store(true, std::memory_order_relaxed);
        return true;
    }
    void unlock() { held_.store(false, std::memory_order_release); }

private:
    std::atomic<bool> held_{false};
};
using spinlocked = apiary::guarded_by<spin<false>>;
using mutex_locked = apiary::guarded_by<std::mutex>;
using locked_by_two = apiary::guarded_by<spin<true>>;
// The same without a race: what it guards is atomic, and only the comparison shows it.
class counted_by_two {
public:
    long section() {
        lock_.lock();
        const long n = before_.load(std::memory_order_relaxed);
        before_.store(n + 1, std::memory_order_relaxed);
        lock_.unlock();
        return n;
    }

private:
    spin<true> lock_;
    std::atomic<long> before_{0};
};

}  // namespace

APIARY_LINEARIZABLE(treiber_stack, apiary::stack_spec<int>, scenarios{.exhibit = "torn_stack"});
APIARY_NOT_LINEARIZABLE(torn_stack, apiary::stack_spec<int>, "not linearizable");

APIARY_LINEARIZABLE(locked_queue, apiary::queue_spec<int>, scenarios{.exhibit = "stack_for_a_queue"});
APIARY_NOT_LINEARIZABLE(stack_for_a_queue, apiary::queue_spec<int>, "not linearizable: pop() = 2 | push(1), push(2)");

// The type has commas, and its calls have the names that others give them. A full ring drops its first value, or its last.
namespace {
template <class V, unsigned room, bool drops_the_first>
class ring {
public:
    void Push(V v) {
        const std::lock_guard held(lock_);
        if (drops_the_first && last_ - first_ == room) ++first_;
        if (last_ - first_ != room) all_[last_++ % room] = v;
    }
    bool Pop(V& v) {
        const std::lock_guard held(lock_);
        if (first_ == last_) return false;
        v = all_[first_++ % room];
        return true;
    }

private:
    std::mutex lock_;
    std::array<V, room> all_{};
    unsigned first_ = 0, last_ = 0;
};
}  // namespace
APIARY_LINEARIZABLE(ring<int, 4, true>, apiary::queue_spec<int>, scenarios{.exhibit = "ring_int_1_true"});
APIARY_NOT_LINEARIZABLE(ring<int, 1, true>, apiary::queue_spec<int>, "not linearizable", scenarios{.last = 1});

APIARY_LINEARIZABLE(locked_deque, apiary::deque_spec<int>,
                    scenarios{.handovers = false, .values_alike = true, .exhibit = "deque_that_looks_first"});
APIARY_NOT_LINEARIZABLE(deque_that_looks_first, apiary::deque_spec<int>, "not linearizable");

const auto owner_pushes = call("push", [](auto& d, int v) { d.push(v); }, 1, 2).by(0);
const auto owner_pops = call("pop", [](auto& d) { return d.pop(); }).by(0);
const auto thief_steals = call("steal", [](auto& d) { return d.steal(); }).by(1);
APIARY_LINEARIZABLE(locked_deque_of_owner, apiary::deque_spec<int>,
                    scenarios{.operations = 3, .values_alike = true, .exhibit = "deque_robbed_from_behind"},
                    owner_pushes, owner_pops, thief_steals);
APIARY_NOT_LINEARIZABLE(deque_robbed_from_behind, apiary::deque_spec<int>, "not linearizable: push(1), push(2)",
                        scenarios{.operations = 3}, owner_pushes, owner_pops, thief_steals);

APIARY_LINEARIZABLE(flag_set, apiary::set_spec<int>,
                    scenarios{.handovers = false, .values_alike = true, .exhibit = "torn_set"});
APIARY_NOT_LINEARIZABLE(torn_set, apiary::set_spec<int>, "not linearizable: insert(1) = 1 | insert(1) = 1");

APIARY_LINEARIZABLE(atomic_counter, apiary::counter_spec, scenarios{.exhibit = "torn_counter"});
APIARY_NOT_LINEARIZABLE(torn_counter, apiary::counter_spec, "not linearizable: add(1) = 0 | add(1) = 0");

APIARY_LINEARIZABLE(spinlocked, apiary::lock_spec, apiary::lock_spec::with_try(),
                    std::get<0>(apiary::lock_spec::operations()), scenarios{.exhibit = "locked_by_two"});
APIARY_LINEARIZABLE(mutex_locked, apiary::lock_spec, scenarios{.threads = 3, .exhibit = "counted_by_two"});
APIARY_NOT_LINEARIZABLE(locked_by_two, apiary::lock_spec, "data race");
APIARY_NOT_LINEARIZABLE(counted_by_two, apiary::lock_spec, "not linearizable: section() = 0 | section() = 0");

// ---- orders between threads ------------------------------------------------------------------------------------------------

namespace {

// A lane for each producer; the consumer looks at the first one first. Only a producer that waits for another shows it.
class queue_of_lanes {
public:
    void push_a(int v) { lanes_[0].push_back(v); }
    void push_b(int v) { lanes_[1].push_back(v); }
    std::optional<int> pop() {
        for (locked& lane : lanes_)
            if (int v = 0; lane.pop_front(v)) return v;
        return {};
    }

private:
    std::array<locked, 2> lanes_;
};
struct lanes_spec : apiary::queue_spec<int> {
    void push_a(int v) { push(v); }
    void push_b(int v) { push(v); }
};
using lanes_without_handovers = queue_of_lanes;
const auto push_a = call("push_a", [](auto& q, int v) { q.push_a(v); }, 1).by(0);
const auto push_b = call("push_b", [](auto& q, int v) { q.push_b(v); }, 2).by(1);
const auto pop_by_third = call("pop", [](auto& q) { return q.pop(); }).by(2);

// A counting network of one balancer: quiescently consistent, and one thread may see its own numbers go back.
class balanced_counter {
public:
    long next() {
        const long way = balancer_.fetch_xor(1);
        return ways_[static_cast<std::size_t>(way)].fetch_add(2);
    }

private:
    std::atomic<long> balancer_{0};
    std::array<std::atomic<long>, 2> ways_{0, 1};
};
struct next_spec {
    long n = 0;
    long next() { return n++; }
    bool operator==(const next_spec&) const = default;
};
using quiescent_counter = balanced_counter;
const auto next_number = call("next", [](auto& c) { return c.next(); });
// What was put is never seen. To a thread that looked, that is a mistake: of look() it knows all of put(), and no more.
class forgetful {
public:
    void put() { there_.store(true, std::memory_order_release); }
    void look() { (void)there_.load(std::memory_order_acquire); }
    bool get() const { return false; }

private:
    std::atomic<bool> there_{false};
};
struct put_spec {
    bool there = false;
    void put() { there = true; }
    void look() {}
    bool get() const { return there; }
    bool operator==(const put_spec&) const = default;
};
using forgets_the_first = forgetful;
using nothing_put = forgetful;
const auto put = call("put", [](auto& r) { r.put(); }).by(0);
const auto look = call("look", [](auto& r) { r.look(); }).by(1);
const auto get = call("get", [](auto& r) { return r.get(); }).by(1);
const auto get_by_any = call("get", [](auto& r) { return r.get(); });
// Wrong even so: numbers are given twice.
struct stuck_counter {
    long next() { return now.load() == 2 ? 2 : now.fetch_add(1); }
    std::atomic<long> now{0};
};

}  // namespace

APIARY_NOT_LINEARIZABLE(queue_of_lanes, lanes_spec, "push_b(2) waits for push_a(1)",
                        scenarios{.threads = 3, .operations = 1}, push_a, push_b, pop_by_third);
APIARY_LINEARIZABLE(lanes_without_handovers, lanes_spec,
                    scenarios{.threads = 3, .operations = 1, .handovers = false, .exhibit = "queue_of_lanes"}, push_a,
                    push_b, pop_by_third);

APIARY_NOT_LINEARIZABLE(forgetful, put_spec, "not linearizable: put() | look(), get() = 0",
                        scenarios{.handovers = false}, put, look, get);
APIARY_NOT_LINEARIZABLE(forgets_the_first, put_spec, "not linearizable: put(); then get() = 0",
                        scenarios{.operations = 1, .first = 1}, put, get);
// No call has an event: at the start of two threads, neither comes before the other.
APIARY_LINEARIZABLE(nothing_put, put_spec, scenarios{.exhibit = "forgetful"}, get_by_any);

APIARY_NOT_LINEARIZABLE(balanced_counter, next_spec, "not linearizable", next_number);
APIARY_LINEARIZABLE(quiescent_counter, next_spec, scenarios{.last = 1, .quiescent = true, .exhibit = "stuck_counter"},
                    next_number);
APIARY_NOT_LINEARIZABLE(stuck_counter, next_spec, "not quiescently consistent", scenarios{.quiescent = true},
                        next_number);
