// Workers that come and go: what a detached worker held runs elsewhere, a post to it is handed over or refused, and
// an attached one is found by wakes and thieves. The shipped hive_core and workers, down to the parker seam.
//
// A task that nobody runs ends in a deadlock: the last one stops the hive.
#include "hive_scenario.hpp"

#include <array>

#include <apiary/contract/laws.hpp>
#include <apiary/events/parker_driver.hpp>
#include <apiary/model_check/register.hpp>
#include <apiary/schedulers/hive/hive_core.hpp>
#include <apiary/tasks/task_storage.hpp>

namespace hive_attach_check {
namespace {

using namespace apiary;
using model::on_halves;
using model::small_parameters;

template <class Sync, unsigned Io, unsigned Compute, std::size_t Tasks>
struct attach_scenario {
    using storage = heap_storage<Sync>;
    using core_type =
        hive_core<Sync, parker_driver<Sync, typename Sync::parker>, storage, model::scenario_parts<Sync, false>>;

    core_type hive{Io, Compute, small_parameters};
    std::array<typename Sync::template atomic<unsigned>, Tasks> ended;

    attach_scenario() {
        for (auto& e : ended) e.store(0, std::memory_order_relaxed);
    }
    task<Sync>* make(std::size_t id) {
        return storage::make([this, id] { ended[id].fetch_add(1, std::memory_order_relaxed); });
    }
    void must(bool yes, const char* what) { Sync::law(yes, what); }
    // Alone, when every thread has ended: what was handed over lies in the pool, or in the main worker's inbox.
    void run_what_is_left() {
        for (auto* pool : {&hive.io_crew().pool(), &hive.compute_crew().pool()})
            while (task<Sync>* t = pool->take_one()) end(t);
        auto rest = hive.io()[0]->sources().mail().inbox.drain();
        while (task<Sync>* t = rest.pop_front()) end(t);
    }
    void each_ended_once(std::array<bool, Tasks> accepted) {
        run_what_is_left();
        for (std::size_t id = 0; id < Tasks; ++id) {
            const unsigned n = ended[id].load(std::memory_order_relaxed);
            must(n <= 1, "identity: a task ran twice");
            must(n == accepted[id], accepted[id] ? "identity: an accepted task was lost" : "a refused task ran");
        }
    }

private:
    void end(task<Sync>* t) { (void)t->run(); }
};

// Only the worker that leaves has a thread, so what it hands over stays where it was put.
template <class Sync>
struct detach_races_targeted_post : attach_scenario<Sync, 2, 0, 1> {
    static constexpr const char* what = "exhibit A10 repaired: a post to a worker that is being detached runs or is refused";
    static constexpr std::array must_reach{"crew.post_to_met_the_close", "sleeper.stayed"};
    static constexpr unsigned threads = 3;
    bool accepted = false;
    void thread(unsigned i) {
        if (i == 0) {
            this->hive.io()[1]->run();
        } else if (i == 1) {
            this->must(this->hive.detach_io(1) == detach_result::detached, "the detach was refused");
        } else {
            task<Sync>* t = this->make(0);
            accepted = this->hive.post_to(1, t);
            if (!accepted) t->drop();
        }
    }
    void after() { this->each_ended_once({accepted}); }
};
APIARY_CHECK(detach_races_targeted_post);

// What post_to_worker does when it names the worker whose task calls it.
template <class Sync>
struct detach_races_a_post_to_oneself : attach_scenario<Sync, 2, 0, 2> {
    static constexpr const char* what =
        "a task posts to its own worker, which is being detached: it is refused, or runs there or elsewhere";
    static constexpr std::array must_reach{"post_self.accepted", "post_self.refused", "hive.handed_over"};
    static constexpr unsigned threads = 2;
    bool accepted = false, left = false;  // of worker 1's thread
    void before() {
        auto* parent = detach_races_a_post_to_oneself::storage::make([this] {
            this->ended[0].fetch_add(1, std::memory_order_relaxed);
            if (left) return;  // handed over: it runs elsewhere
            task<Sync>* t = this->make(1);
            accepted = this->hive.io()[1]->sources().post(t);
            Sync::reach(accepted ? "post_self.accepted" : "post_self.refused");
            if (!accepted) t->drop();
        });
        this->must(this->hive.post_to(1, parent), "a post was refused");
    }
    void thread(unsigned i) {
        if (i == 0) {
            this->hive.io()[1]->run();
            left = true;
        } else {
            this->must(this->hive.detach_io(1) == detach_result::detached, "the detach was refused");
        }
    }
    void after() {
        this->run_what_is_left();  // first: the parent may be there
        this->each_ended_once({true, accepted});
    }
};
APIARY_CHECK(detach_races_a_post_to_oneself);

template <class Sync>
struct detach_is_answered_at_once : attach_scenario<Sync, 2, 0, 1> {
    static constexpr const char* what = "whoever has detached a worker is refused a post to it, and a second detach";
    static constexpr std::array must_reach{"sleeper.slept"};
    static constexpr unsigned threads = 2;
    void thread(unsigned i) {
        if (i == 0) {
            this->hive.io()[1]->run();
            return;
        }
        this->must(this->hive.detach_io(1) == detach_result::detached, "the detach was refused");
        this->must(this->hive.detach_io(1) == detach_result::unknown_worker, "it was detached twice");
        task<Sync>* t = this->make(0);
        this->must(!this->hive.post_to(1, t), "a detached worker took a post");
        t->drop();
    }
    void after() { this->each_ended_once({false}); }
};
APIARY_CHECK(detach_is_answered_at_once);

template <class Sync>
struct detach_keeps_the_batch : attach_scenario<Sync, 2, 0, 5> {
    static constexpr const char* what =
        "A42 repaired: a batch from the pool and a timer are at the worker that is detached: none is lost";
    static constexpr std::array must_reach{"hive.handed_over"};
    static constexpr unsigned threads = 2;
    void before() {
        fifo_list<task<Sync>> batch;
        for (std::size_t id = 0; id < 4; ++id) batch.push_back(this->make(id));
        this->must(this->hive.post_list(batch), "a post was refused");
        task<Sync>* timer = this->make(4);
        timer->deadline_ns = timer_heap<task<Sync>, Sync>::never;
        this->must(this->hive.post_to(1, timer), "a post was refused");
    }
    void thread(unsigned i) {
        if (i == 0)
            this->hive.io()[1]->run();
        else
            this->must(this->hive.detach_io(1) == detach_result::detached, "the detach was refused");
    }
    void after() { this->each_ended_once({true, true, true, true, true}); }
};
APIARY_CHECK(detach_keeps_the_batch);
template <class Sync>
using detach_keeps_the_batch_half = detach_keeps_the_batch<on_halves<Sync>>;
APIARY_CHECK(detach_keeps_the_batch_half);

template <class Sync>
struct detach_races_stop : attach_scenario<Sync, 2, 0, 1> {
    static constexpr const char* what = "a detach and a draining stop at once: the worker ends, and runs or hands over";
    static constexpr std::array must_reach{"hive.hand_over_met_the_stop", "hive.handed_over"};
    static constexpr unsigned threads = 3;
    void before() { this->must(this->hive.post_to(1, this->make(0)), "a post was refused"); }
    void thread(unsigned i) {
        if (i == 0)
            this->hive.io()[1]->run();
        else if (i == 1)
            (void)this->hive.detach_io(1);
        else
            this->hive.request_stop(stop_mode::drain);
    }
    void after() { this->each_ended_once({true}); }
};
APIARY_CHECK(detach_races_stop);

template <class Sync>
struct attach_races_stop : attach_scenario<Sync, 1, 0, 1> {
    static constexpr const char* what = "a worker that is attached while the hive stops sees the stop, or is refused";
    static constexpr std::array must_reach{"attach.met_the_stop", "sleeper.slept"};
    static constexpr unsigned threads = 2;
    void thread(unsigned i) {
        if (i == 1) {
            this->hive.request_stop(stop_mode::drain);
        } else if (auto* worker = this->hive.attach_io()) {
            worker->run();
        } else {
            Sync::reach("attach.met_the_stop");
        }
    }
    void after() { this->each_ended_once({false}); }
};
APIARY_CHECK(attach_races_stop);

template <class Sync>
struct attached_worker_is_woken : attach_scenario<Sync, 1, 0, 2> {
    static constexpr const char* what =
        "the main worker is at a task that waits for another; a worker is attached, and runs the other";
    static constexpr std::array must_reach{"crew.woke_one"};
    static constexpr unsigned threads = 3;
    typename Sync::template atomic<unsigned> gate;
    void before() {
        gate.store(0, std::memory_order_relaxed);
        auto* waits = attached_worker_is_woken::storage::make([this] {
            Sync::spin_until(gate, [](unsigned v) { return v == 1; });
            this->ended[0].fetch_add(1, std::memory_order_relaxed);
        });
        this->must(this->hive.post_to(0, waits), "a post was refused");
    }
    void thread(unsigned i) {
        if (i == 0) {
            this->hive.io()[0]->run();
        } else if (i == 1) {
            this->hive.attach_io()->run();
        } else {
            auto* opens = attached_worker_is_woken::storage::make([this] {
                this->ended[1].fetch_add(1, std::memory_order_relaxed);
                gate.store(1, std::memory_order_release);
                this->hive.request_stop(stop_mode::drain);
            });
            this->must(this->hive.post(opens), "a post was refused");
        }
    }
    void after() { this->each_ended_once({true, true}); }
};
APIARY_CHECK(attached_worker_is_woken);

// The attach is behind it: what is left is the theft by the peer that falls asleep. hive_handshake_check has the attach
// (lone_tasks_meet_the_newcomer).
template <class Sync>
struct lone_tasks_against_falling_asleep : attach_scenario<Sync, 1, 0, 2> {
    static constexpr const char* what =
        "the main worker, alone until now, has two tasks and begins the one that waits for the other; the peer, "
        "falling "
        "asleep, steals that: every behaviour";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"worker.stole", "sleeper.stayed"};
    typename Sync::template atomic<unsigned> gate;
    void before() {
        gate.store(0, std::memory_order_relaxed);
        auto* waits = heap_storage<Sync>::make([this] {
            this->ended[0].fetch_add(1, std::memory_order_relaxed);
            Sync::spin_until(gate, [](unsigned v) { return v == 1; });
        });
        auto* opens = heap_storage<Sync>::make([this] {
            this->ended[1].fetch_add(1, std::memory_order_relaxed);
            gate.store(1, std::memory_order_release);
            this->hive.request_stop(stop_mode::discard);  // a drain has more graphs, and no more to say
        });
        auto& here = *this->hive.io()[0];
        this->must(here.post_local(opens) && here.post_local(waits), "a post was refused");
        this->must(this->hive.attach_io() != nullptr, "the attach was refused");
    }
    void thread(unsigned i) { this->hive.io()[i]->run(); }
    // The stop drops `waits` when it had not begun.
    void after() { this->each_ended_once({this->ended[0].load(std::memory_order_relaxed) == 1, true}); }
};
APIARY_CHECK(lone_tasks_against_falling_asleep);
template <class Sync>
using lone_tasks_against_falling_asleep_half = lone_tasks_against_falling_asleep<on_halves<Sync>>;
APIARY_CHECK(lone_tasks_against_falling_asleep_half);

// A worker that is new pushes and waits, while the main worker, alone until now, falls asleep: idle_set::fence_against_pushers.
template <class Sync>
struct newcomer_is_met_by_who_falls_asleep : attach_scenario<Sync, 1, 0, 1> {
    static constexpr const char* what =
        "an attached worker posts a child and waits for it, while the main worker falls asleep: that one steals the "
        "child";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"worker.stole", "sleeper.slept", "sleeper.stayed"};
    typename Sync::template atomic<unsigned> ran;
    void before() { ran.store(0, std::memory_order_relaxed); }
    void thread(unsigned i) {
        if (i == 0) return this->hive.io()[0]->run();
        auto* worker = this->hive.attach_io();
        auto* child = heap_storage<Sync>::make([this] {
            this->ended[0].fetch_add(1, std::memory_order_relaxed);
            ran.store(1, std::memory_order_release);
        });
        this->must(worker->post_local(child), "a post was refused");
        Sync::spin_until(ran, [](unsigned v) { return v == 1; });
        this->hive.request_stop(stop_mode::discard);
        worker->run();
    }
    void after() { this->each_ended_once({true}); }
};
APIARY_CHECK(newcomer_is_met_by_who_falls_asleep);
template <class Sync>
using newcomer_is_met_by_who_falls_asleep_half = newcomer_is_met_by_who_falls_asleep<on_halves<Sync>>;
APIARY_CHECK(newcomer_is_met_by_who_falls_asleep_half);

// Nobody runs the new worker: an accepted post stays in its inbox.
template <class Sync, unsigned Life>
struct attach_scenario_of_life : attach_scenario<Sync, Life == 0 ? 1 : 2, 0, 1> {
    static constexpr std::array must_reach{"attach.accepted", "attach.refused"};
    static constexpr unsigned threads = 2;
    static constexpr unsigned id = 1 + attach_scenario < Sync, Life == 0 ? 1 : 2, 0,
                              1 > ::core_type::io_crew_type::table_type::id_stride *Life;
    bool accepted = false;
    void before() {
        if (Life == 0) return;
        (void)this->hive.detach_io(1);
        this->hive.io()[1]->run();
    }
    void thread(unsigned i) {
        if (i == 0) {
            this->must(this->hive.attach_io()->id() == id, "another id was expected");
            return;
        }
        task<Sync>* t = this->make(0);
        accepted = this->hive.post_to(id, t);
        Sync::reach(accepted ? "attach.accepted" : "attach.refused");
        if (!accepted) t->drop();
    }
    void after() {
        this->must(this->hive.io()[1]->sources().mail().inbox.looks_empty() != accepted,
                   "a post was accepted and did not arrive");
    }
};

template <class Sync>
struct attach_races_targeted_post : attach_scenario_of_life<Sync, 0> {
    static constexpr const char* what = "a post meets a worker that is being attached whole, or not at all";
};
APIARY_CHECK(attach_races_targeted_post);

template <class Sync>
struct reattach_races_targeted_post : attach_scenario_of_life<Sync, 1> {
    static constexpr const char* what = "the same for a worker in a slot that had one before";
};
APIARY_CHECK(reattach_races_targeted_post);

// What post_delayed does to choose a worker.
template <class Sync>
struct reattach_races_a_look_at_the_id : attach_scenario_of_life<Sync, 1> {
    using base = attach_scenario_of_life<Sync, 1>;
    static constexpr const char* what = "who looks for a worker's id meets it attached whole, or not at all";
    static constexpr std::array must_reach{"look.found_the_new_life"};
    void thread(unsigned i) {
        if (i == 0) return base::thread(i);
        const unsigned seen = this->hive.io()[1]->id();
        if (seen == base::id) Sync::reach("look.found_the_new_life");
        this->must(seen == base::id || seen == base::core_type::io_worker_type::sources_type::no_worker,
                   "an id of nobody");
    }
    void after() {}
};
APIARY_CHECK(reattach_races_a_look_at_the_id);

// The claimer goes on to use what the sleeper was before it slept: its place in the worker table.
template <class Sync>
struct claim_meets_the_sleeper : attach_scenario<Sync, 1, 0, 1> {
    static constexpr const char* what =
        "a sleeper is claimed after another has come and gone: its announce is acquired";
    static constexpr std::array must_reach{"attach.claimed_the_second"};
    static constexpr unsigned threads = 3;
    idle_set<Sync> idle;
    typename Sync::template cell<int> attached{0};
    void before() { attached.write(0); }
    void thread(unsigned i) {
        if (i == 0) {
            idle.announce_sleep(0, false);
            (void)idle.withdraw(0);
        } else if (i == 1) {
            attached.write(1);
            idle.announce_sleep(1, false);
        } else if (idle.claim_any() == 1U) {
            Sync::reach("attach.claimed_the_second");
            this->must(attached.read() == 1, "it was claimed before it was there");
        }
    }
};
APIARY_CHECK(claim_meets_the_sleeper);

template <class Sync>
struct reattached_slot_takes_no_old_post : attach_scenario<Sync, 2, 0, 1> {
    static constexpr const char* what =
        "a post to a worker whose slot is given again meanwhile: never to the next life's inbox";
    static constexpr std::array must_reach{"crew.post_to_met_the_close"};
    static constexpr unsigned threads = 2;
    bool accepted = false;
    void thread(unsigned i) {
        if (i == 1) {
            task<Sync>* t = this->make(0);
            accepted = this->hive.post_to(1, t);
            if (!accepted) t->drop();
            return;
        }
        auto* worker = this->hive.io()[1];
        (void)this->hive.detach_io(1);
        worker->run();  // hands over and leaves
        this->must(this->hive.attach_io() == worker, "the slot was not given again");
        this->must(worker->id() != 1, "an id was given twice");
    }
    void after() {
        this->must(this->hive.io()[1]->sources().mail().inbox.looks_empty(),
                   "a post to the worker before came to this one");
        this->each_ended_once({accepted});
    }
};
APIARY_CHECK(reattached_slot_takes_no_old_post);

}  // namespace
}  // namespace hive_attach_check
