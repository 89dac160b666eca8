// Exact driver of the structures: the instructions of a push, a pop, a steal, a claim, a timer, a spin.
#include <array>
#include <cstdint>

#include <apiary/parking/idle_set.hpp>
#include <apiary/queues/chase_lev_deque.hpp>
#include <apiary/queues/global_pool.hpp>
#include <apiary/queues/mpsc_inbox.hpp>
#include <apiary/timers/timer_heap.hpp>
#include <apiary/workers/idle_spin.hpp>

#include "exact/exact.hpp"

namespace {

using apiary::real_sync;
using apiary::exact::must;

struct node {
    real_sync::cell<node*> next{nullptr};
    std::int64_t deadline_ns = 0;
};

// The most expensive pop: it races for the last element.
void deque_push_pop(std::uint64_t n) {
    apiary::chase_lev_deque<std::uint64_t> d;
    auto owner = d.own();
    std::uint64_t value = 0;
    for (std::uint64_t i = 0; i < n; ++i) must(owner.try_push(i) && owner.try_pop(value) && value == i, "deque");
}

void deque_steal(std::uint64_t n) {
    apiary::chase_lev_deque<std::uint64_t> d;
    auto owner = d.own();
    const auto thief = d.share();
    for (std::uint64_t i = 0; i < n; ++i) {
        must(owner.try_push(i), "deque");
        must(thief.steal().status == apiary::steal_status::taken, "steal");
    }
}

void inbox_push_drain(std::uint64_t n) {
    apiary::mpsc_inbox<node> inbox;
    node one;
    for (std::uint64_t i = 0; i < n; ++i) {
        must(inbox.push(&one) == apiary::push_result::was_empty, "inbox");
        auto list = inbox.drain();
        must(list.pop_front() == &one, "inbox");
    }
}

// Sixteen at a time, as a worker takes them.
void pool_push_take(std::uint64_t n) {
    apiary::global_pool<node> pool;
    std::array<node, 16> nodes;
    std::array<node*, 16> taken{};
    for (std::uint64_t i = 0; i < n; i += nodes.size()) {
        for (node& one : nodes) must(pool.push(&one) != apiary::push_result::closed, "pool");
        must(pool.take(taken, 1) == nodes.size() && taken[0] == nodes.data(), "pool");
    }
}

// A worker lies down, is claimed, wakes and finds work.
void idle_sleep_claim(std::uint64_t n) {
    apiary::idle_set<real_sync> idle;
    for (std::uint64_t i = 0; i < n; ++i) {
        idle.announce_sleep(3, false);
        must(idle.claim_any() == 3U, "idle set");
        must(!idle.withdraw(3), "idle set");
        idle.stop_searching();
    }
}

// The look of a post when all workers run.
void idle_nobody_sleeps(std::uint64_t n) {
    apiary::idle_set<real_sync> idle;
    for (std::uint64_t i = 0; i < n; ++i) must(!idle.claim_any(), "idle set");
}

// Among 64 pending timers the earliest expires, and is armed again after all others.
void timer_insert_expire(std::uint64_t n) {
    apiary::timer_heap<node> heap;
    std::array<node, 64> timers;
    std::int64_t now = 0;
    for (node& t : timers) {
        t.deadline_ns = ++now;
        heap.add(&t);
    }
    for (std::uint64_t i = 0; i < n; ++i) {
        node* due = heap.pop_due(now);
        must(due == &timers[i % timers.size()], "timers");
        due->deadline_ns = ++now;
        heap.add(due);
    }
}

void timer_insert_cancel(std::uint64_t n) {
    apiary::timer_heap<node> heap;
    std::array<node, 64> timers;
    for (std::size_t i = 0; i < timers.size(); ++i) {
        timers[i].deadline_ns = static_cast<std::int64_t>(i);
        heap.add(&timers[i]);
    }
    node one;
    one.deadline_ns = 20;
    for (std::uint64_t i = 0; i < n; ++i) must(heap.cancel(heap.add(&one)) == &one, "timers");
}

// An idle spell: a loan, eight looks, of which the last would yield, and the rest of the loan is given back.
void idle_spin_eight_looks(std::uint64_t n) {
    const apiary::worker_parameters p{.idle_cpu = 1};
    apiary::idle_account<real_sync> account(p);
    apiary::idle_spin spin(p);
    std::int64_t now = 0;
    for (std::uint64_t i = 0; i < n; ++i) {
        now += p.spin_ns;
        const std::int64_t least = spin.wants(now, i);
        must(least != 0 && spin.begin(account.lend(now, least)), "no spin");
        for (int looks = 1; looks <= 8; ++looks) {
            must(spin.yields_now() == (looks == 8), "a yield at the wrong look");
            spin.idle_until(++now);
            must(!spin.over(), "the spin is over");
        }
        spin.end(account);
    }
}

constexpr std::array operations{
    apiary::exact::operation{"deque_push_pop", &deque_push_pop},
    apiary::exact::operation{"deque_steal", &deque_steal},
    apiary::exact::operation{"inbox_push_drain", &inbox_push_drain},
    apiary::exact::operation{"pool_push_take", &pool_push_take},
    apiary::exact::operation{"idle_sleep_claim", &idle_sleep_claim},
    apiary::exact::operation{"idle_nobody_sleeps", &idle_nobody_sleeps},
    apiary::exact::operation{"timer_insert_expire", &timer_insert_expire},
    apiary::exact::operation{"timer_insert_cancel", &timer_insert_cancel},
    apiary::exact::operation{"idle_spin_eight_looks", &idle_spin_eight_looks},
};

}  // namespace

int main(int argc, char** argv) { return apiary::exact::main_of(operations, argc, argv); }
