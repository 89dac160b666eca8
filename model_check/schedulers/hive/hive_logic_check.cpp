// Slips in the hive's logic that no memory order shows: a searcher that recruits nobody, a batch whose last task is lost, a
// task that nobody puts back, posts that a stop should refuse, a slot of the worker table that is shown or given again too early.
#include <array>

#include <apiary/queues/steal_half_queue.hpp>
#include <apiary/workers/local_queue.hpp>
#include <apiary/workers/worker_table.hpp>

#include "hive_scenario.hpp"

namespace hive_logic_check {
namespace {

using namespace apiary;
using namespace apiary::model;

// Thread 0 posts, and is then the next worker, which counts as asleep from the start: it takes what it was woken for.
template <class Sync>
struct hive_searcher_recruits_the_next : hive_scenario<Sync, 2, 0, 0, 2> {
    static constexpr const char* what =
        "worker 1, woken for a task of its own, is counted on by a second post; before it runs the first, which waits "
        "for "
        "the second, it wakes the next";
    static constexpr std::array must_reach{"crew.post_to_woke", "crew.woke_one", "idle_set.relied_on_a_searcher"};
    using base = hive_scenario<Sync, 2, 0, 0, 2>;
    void before() {
        base::before();
        this->hive.io_crew().idle().announce_sleep(0, false);
        this->sleeps_first(1);
    }
    void thread(unsigned i) {
        if (i == 1) return (void)this->work_thread(1);
        auto& next = *this->hive.io()[0];
        this->hive.io()[1]->driver().await_sleep();
        this->must([this] { return this->hive.post_to(1, this->make(0, [this] { this->wait_for_gate(); })); });
        this->must([this] { return this->hive.post(this->make(1, [this] { this->open_gate(); })); });
        next.driver().wait(parker_driver<Sync>::forever);
        Sync::law(!this->hive.io_crew().idle().withdraw(0), "the next worker was woken and not claimed");
        this->hive.io_crew().idle().stop_searching();
        task<Sync>* t = this->hive.io_crew().pool().take_one();
        Sync::law(t != nullptr, "the next worker was woken for nothing");
        t->run();
    }
};
APIARY_CHECK(hive_searcher_recruits_the_next);

// Of two workers each takes half of what waits: the first two as one batch, of which the second goes to its deque.
template <class Sync>
struct hive_batch_runs_to_its_last : hive_scenario<Sync, 2, 0, 0, 4> {
    static constexpr const char* what =
        "four tasks wait in the pool, two are taken at once: each runs once, the last too";
    static constexpr std::array must_reach{"sleeper.slept"};
    using base = hive_scenario<Sync, 2, 0, 0, 4>;
    void before() {
        base::before();
        fifo_list<task<Sync>> batch;
        for (std::size_t id = 0; id < 4; ++id) batch.push_back(this->make(id));
        this->must([&] { return this->hive.post_list(batch); }, 4);
    }
    void thread(unsigned i) {
        if (i == 0) return (void)this->work_thread(0);
        this->hive.io()[1]->driver().wait(parker_driver<Sync>::forever);  // until the stop: it takes nothing
        Sync::reach("sleeper.slept");
    }
};
APIARY_CHECK(hive_batch_runs_to_its_last);
template <class Sync>
using hive_batch_runs_to_its_last_half = hive_batch_runs_to_its_last<on_halves<Sync>>;
APIARY_CHECK(hive_batch_runs_to_its_last_half);

// One child more than slot and deque hold: it displaces the one before, for which only the pool has room, or nobody.
template <class Sync>
struct hive_stop_races_an_overflow : hive_scenario<Sync, 2, 0, 0, 1> {
    static constexpr const char* what =
        "a post that overflows into the pool races a draining stop: what was accepted runs, also what was displaced";
    static constexpr std::array must_reach{"worker.put_back", "overflow.accepted", "overflow.refused"};
    using base = hive_scenario<Sync, 2, 0, 0, 1>;
    static constexpr std::size_t children = local_parts<Sync>::room + 2;
    std::array<bool, children> accepted{}, ran{};

    void before() {
        base::before();
        auto* parent = base::storage::make([this] {
            for (std::size_t id = 0; id < children; ++id) {
                auto* child = base::storage::make([this, id] { ran[id] = true; });
                accepted[id] = this->hive.io()[0]->post_local(child);
                if (!accepted[id]) child->drop();
            }
            Sync::reach(accepted[children - 1] ? "overflow.accepted" : "overflow.refused");
            this->ledger.took(0);
        });
        Sync::law(this->hive.post_to(0, parent), "a post was refused although nobody had asked for a stop");
    }
    void thread(unsigned i) {
        if (i == 0) return this->hive.io()[0]->run();
        this->hive.request_stop(stop_mode::drain);
    }
    void invariant() {}
    void after() {
        base::after();
        Sync::law(ran == accepted, "a task was accepted and stranded, or refused and run");
    }
};
APIARY_CHECK(hive_stop_races_an_overflow);
template <class Sync>
using hive_stop_races_an_overflow_half = hive_stop_races_an_overflow<on_halves<Sync>>;
APIARY_CHECK(hive_stop_races_an_overflow_half);

// Worker 1 looks for work meanwhile, and must find none that came late.
template <class Sync>
struct hive_stop_is_looked_at_by_its_own_task : hive_scenario<Sync, 2, 0, 0, 1> {
    static constexpr const char* what =
        "a task stops the hive, discarding: what it posts afterwards is refused, and what waits is not run";
    static constexpr std::array must_reach{"stop.refused_all"};
    using base = hive_scenario<Sync, 2, 0, 0, 1>;
    task<Sync>* forbidden() {
        return base::storage::make([] { Sync::law(false, "a task ran after the stop that discards it"); });
    }
    template <class Post>
    void refused(Post post) {
        auto* t = forbidden();
        Sync::law(!post(t), "a post was accepted after the stop");
        t->drop();
    }
    void before() {
        base::before();
        auto* stops = base::storage::make([this] {
            auto& worker = *this->hive.io()[0];
            this->ledger.took(0);
            Sync::law(worker.post_local(forbidden()) && worker.sources().post(forbidden()),
                      "a post was refused although nobody had asked for a stop");
            this->hive.request_stop(stop_mode::discard);
            refused([&](auto* t) { return worker.post_local(t); });
            refused([&](auto* t) { return worker.sources().post(t); });
            refused([&](auto* t) { return worker.sources().post_delayed(t); });
            refused([&](auto* t) { return this->hive.post(t); });
            refused([&](auto* t) { return this->hive.post_to(0, t); });
            refused([&](auto* t) { return this->hive.post_to(1, t); });
            Sync::reach("stop.refused_all");
        });
        Sync::law(this->hive.post_to(0, stops), "a post was refused although nobody had asked for a stop");
    }
    void thread(unsigned i) {
        if (i == 0) return this->hive.io()[0]->run();
        this->hive.io()[1]->driver().wait(parker_driver<Sync>::forever);  // ends with the stop's wake
        this->hive.io()[1]->run();
    }
    void invariant() {}
};
APIARY_CHECK(hive_stop_is_looked_at_by_its_own_task);

// Thread 0 asks it to leave while it falls asleep; the other compute worker stays, and has nothing to do.
template <class Sync>
struct hive_compute_worker_wakes_to_leave : hive_scenario<Sync, 1, 2, 0, 1> {
    static constexpr const char* what = "a compute worker that falls asleep is detached: it leaves";
    static constexpr std::array must_reach{"sleeper.slept"};
    static constexpr unsigned threads = 2;
    void thread(unsigned i) {
        if (i == 1) return this->hive.compute()[1]->run();
        Sync::law(this->hive.detach_compute(1) == detach_result::detached, "it was not detached");
        this->ledger.took(0);
    }
};
APIARY_CHECK(hive_compute_worker_wakes_to_leave);

// ----- The local queue alone -----

// Five tasks for a ring of four, which a thief robs meanwhile.
template <class Sync, bool Accepts>
struct half_overflow {
    static constexpr std::array must_reach{"local.half_overflowed", "local.one_overflowed", "local.there_was_room"};
    static constexpr unsigned threads = 2;
    struct node {
        std::size_t id = 0;
        typename Sync::template cell<node*> next{};
    };
    using queue_type = local_queue<node, steal_half_queue<node*, Sync, hive_half_limits<Sync>>>;
    std::array<node, hive_half_limits<Sync>::capacity + 1> nodes;
    queue_type queue, loot;
    claim_ledger<Sync> ledger{hive_half_limits<Sync>::capacity + 1};

    void took_all_of(queue_type& from) {
        for (node* n = nullptr; from.pop(n);) ledger.took(n->id);
    }
    void before() {
        for (std::size_t id = 0; id != nodes.size(); ++id) nodes[id].id = id;
        for (std::size_t id = 0; id != nodes.size() - 1; ++id)
            Sync::law(queue.push(&nodes[id], [](auto&) { return false; }), "there was room");
    }
    void thread(unsigned i) {
        if (i == 1) {
            if (const auto got = loot.steal_from(queue); got.status == steal_status::taken) ledger.took(got.value->id);
            return took_all_of(loot);
        }
        std::size_t posted = 0;
        node* last = &nodes.back();
        const bool pushed = queue.push(last, [&](fifo_list<node>& rest) {
            posted = rest.size();
            while (node* n = Accepts ? rest.pop_front() : nullptr) ledger.took(n->id);
            return Accepts;
        });
        Sync::law(pushed == (Accepts || posted == 0), "a push that was refused says so");
        if (!pushed) ledger.took(last->id);  // it is still the caller's
        Sync::reach(posted == 0   ? "local.there_was_room"
                    : posted == 1 ? "local.one_overflowed"
                                  : "local.half_overflowed");
    }
    void after() {
        took_all_of(queue);
        ledger.settle();
    }
};
template <class Sync>
struct local_queue_posts_what_overflows : half_overflow<Sync, true> {
    static constexpr const char* what = "a push meets a full ring beside a thief: what overflows is posted, once";
};
APIARY_CHECK(local_queue_posts_what_overflows);
template <class Sync>
struct local_queue_keeps_what_is_refused : half_overflow<Sync, false> {
    static constexpr const char* what = "the same where the pool refuses: the ring keeps all but the new task";
};
APIARY_CHECK(local_queue_keeps_what_is_refused);

// ----- The worker table alone -----

template <class Sync>
struct lone_hive {};

// What a worker writes in each of its lives, and which thread may read it, as cells: a reader that comes too early races.
template <class Sync>
struct table_member {
    table_member(lone_hive<Sync>&, unsigned s) : slot(s) { leaving.store(false, std::memory_order_relaxed); }
    void enter_service(unsigned id) { incarnation.write(id); }
    void ask_to_leave() { leaving.store(true, std::memory_order_release); }
    unsigned id() const { return incarnation.read(); }
    const unsigned slot;
    typename Sync::template cell<unsigned> incarnation{~0U};
    typename Sync::template atomic<bool> leaving;
};

template <class Sync>
struct table_shows_a_worker_that_is_ready {
    static constexpr const char* what =
        "a thread that finds a worker in the table finds it in service, while another is attached";
    static constexpr std::array must_reach{"table.found", "table.not_yet"};
    static constexpr unsigned threads = 2;
    using member = table_member<Sync>;
    lone_hive<Sync> hive;
    worker_table<member, Sync, 3> workers;
    claim_ledger<Sync> ledger{2};

    void thread(unsigned i) {
        if (i == 0) {
            for (unsigned n = 0; n < 2; ++n)
                if (workers.attach(hive) != nullptr) ledger.took(n);
            return;
        }
        const member* found = workers.find(1);
        Sync::reach(found != nullptr ? "table.found" : "table.not_yet");
        Sync::law(found == nullptr || (found->id() == 1 && found->slot == 1), "a worker of another id was found");
        for (unsigned s = 0; s < workers.size(); ++s)
            Sync::law(workers[s]->id() == s, "a slot counts before its worker is in service");
    }
    void after() {
        ledger.settle();
        Sync::law(workers.size() == 2 && workers.serving() == 2, "the table's books do not balance");
    }
};
APIARY_CHECK(table_shows_a_worker_that_is_ready);

// The worker writes its incarnation's end until it has left; the thread that attaches writes the next incarnation.
template <class Sync>
struct table_gives_a_slot_again_when_its_worker_has_left {
    static constexpr const char* what =
        "a worker is detached, and another attached while it still ends: it gets a slot of its own";
    static constexpr std::array must_reach{"table.same_slot", "table.another_slot"};
    static constexpr unsigned threads = 2;
    using member = table_member<Sync>;
    lone_hive<Sync> hive;
    worker_table<member, Sync, 3> workers;
    typename Sync::mutex mutex;
    claim_ledger<Sync> ledger{2};

    void before() {
        (void)workers.attach(hive);
        (void)workers.attach(hive);
    }
    void thread(unsigned i) {
        if (i == 1) {
            member& me = *workers[1];
            Sync::spin_until(me.leaving, [](bool leaves) { return leaves; });
            me.incarnation.write(~0U);
            ledger.took(1);
            const typename Sync::lock held(mutex);
            workers.left(1);
            return;
        }
        {
            const typename Sync::lock held(mutex);
            Sync::law(workers.detach(1, 1) == detach_result::detached, "worker 1 was not detached");
            Sync::law(workers.serving() == 1, "a worker that leaves still counts");
        }
        const typename Sync::lock held(mutex);
        member* fresh = workers.attach(hive);
        Sync::law(fresh != nullptr, "there are slots left");
        Sync::reach(fresh->slot == 1 ? "table.same_slot" : "table.another_slot");
        Sync::law(fresh->slot != 1 || fresh->id() != 1, "an id was given twice");
        ledger.took(0);
    }
    void after() { ledger.settle(); }
};
APIARY_CHECK(table_gives_a_slot_again_when_its_worker_has_left);

}  // namespace
}  // namespace hive_logic_check
