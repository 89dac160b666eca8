// The hive itself, down to the parker seam: hive_core and its workers as they ship. Only threads, epoll and the
// block pool are left out. hive_check.cpp has the scenarios that are looked at whole, hive_large_check.cpp larger ones.
//
// A task that waits for another one is the oracle for work conservation: if the second task is left lying
// while a worker sleeps, nobody ever runs it, and the engine reports a deadlock.
#pragma once

#include <array>
#include <type_traits>

#include <apiary/contract/laws.hpp>
#include <apiary/events/parker_driver.hpp>
#include <apiary/model_check/register.hpp>
#include <apiary/schedulers/hive/hive_core.hpp>
#include <apiary/tasks/task_storage.hpp>

#include "../../workers/handshake.hpp"

namespace apiary::model {

constexpr hive_parameters small_parameters{.local_budget = 2,
                                           .global_batch = 2,
                                           .global_probe_interval = 3,
                                           .steal_rounds = 1,
                                           .looks_before_sleep = 0,
                                           .naps = 0,
                                           .search_ns = hive_parameters::for_ever};  // a late one only wakes more

// The parker that ships, or the one of the policy that it was checked against (parker_check): far fewer graphs.
template <class Sync, bool Shipped>
using core_of = std::conditional_t<Shipped, parker_driver<Sync>, parker_driver<Sync, typename Sync::parker>>;

// The same policy, under which a hive has steal-half queues where it would have deques: NAME_half is the check NAME there.
template <class Sync>
struct on_halves : Sync {};

template <class Sync>
struct local_parts : hive_parts<Sync> {
    static constexpr std::size_t room = hive_deque_limits<Sync>::max_capacity;
};
template <class Sync>
struct local_parts<on_halves<Sync>> : half_stealing_hive_parts<on_halves<Sync>> {
    static constexpr std::size_t room = hive_half_limits<on_halves<Sync>>::capacity;
};

template <class Sync, bool Shipped>
struct scenario_parts : local_parts<Sync> {
    using random = first_choice;
    using compute_driver = core_of<Sync, Shipped>;
};

// Tells the law when its worker blocks, and which one was woken.
template <class Sync, unsigned Workers, bool Shipped>
class watched_driver : public core_of<Sync, Shipped> {
public:
    void watch(quiescence_law<Sync, Workers>& law, unsigned worker) {
        law_ = &law;
        worker_ = worker;
        asleep_.store(0, std::memory_order_relaxed);
    }
    // From here on it says when it blocks; the others wait for that. Fewer races, a verdict on each that is left.
    void sleeps_first() { tells_ = true; }
    void await_sleep() {
        Sync::spin_until(asleep_, [](unsigned v) { return v == 1; });
    }
    void wait(std::int64_t deadline_ns) {
        if (tells_) asleep_.store(1, std::memory_order_release);
        tells_ = false;
        if (deadline_ns == core_of<Sync, Shipped>::forever) law_->parks(worker_);  // a nap ends by itself
        core_of<Sync, Shipped>::wait(deadline_ns);
        law_->resumed(worker_);
    }
    void wake() {
        law_->post_begins();
        core_of<Sync, Shipped>::wake();
        law_->wake_sent(worker_);
        law_->post_ends();
    }

private:
    quiescence_law<Sync, Workers>* law_ = nullptr;
    unsigned worker_ = 0;
    bool tells_ = false;  // the owner's, after before()
    typename Sync::template atomic<unsigned> asleep_;
};

// A hive of IO workers 0 … Io-1 and compute workers after them, on threads of the same number.
template <class Sync, unsigned Io, unsigned Compute, unsigned Posters, std::size_t Tasks, bool ShippedParker = false>
struct hive_scenario {
    static constexpr unsigned workers = Io + Compute;
    static constexpr unsigned threads = workers + Posters;
    using storage = heap_storage<Sync>;
    using core_type =
        hive_core<Sync, watched_driver<Sync, Io, ShippedParker>, storage, scenario_parts<Sync, ShippedParker>>;

    core_type hive;
    claim_ledger<Sync> ledger{Tasks};
    quiescence_law<Sync, Io> quiescence;
    typename Sync::template atomic<unsigned> ended;
    typename Sync::template atomic<unsigned> gate;  // one task opens it, another waits for that
    static constexpr unsigned nobody = ~0U;
    unsigned first_asleep = nobody;

    explicit hive_scenario(const hive_parameters& parameters = small_parameters) : hive(Io, Compute, parameters) {
        for (unsigned w = 0; w < Io; ++w) hive.io()[w]->driver().watch(quiescence, w);
    }
    void before() {
        ended.store(0, std::memory_order_relaxed);
        gate.store(0, std::memory_order_relaxed);
    }
    void open_gate(unsigned to = 1) { gate.store(to, std::memory_order_release); }
    void wait_for_gate(unsigned at_least = 1) {
        Sync::spin_until(gate, [at_least](unsigned v) { return v >= at_least; });
    }
    void invariant() { quiescence.verify(); }

    // In before(): IO worker `first` is asleep before anybody else starts.
    void sleeps_first(unsigned first) {
        first_asleep = first;
        hive.io()[first]->driver().sleeps_first();
    }
    // False: this thread is no worker.
    bool work_thread(unsigned i) {
        if (first_asleep != nobody && i != first_asleep) hive.io()[first_asleep]->driver().await_sleep();
        if (i >= workers) return false;
        if (i < Io)
            hive.io()[i]->run();
        else
            hive.compute()[i - Io]->run();
        return true;
    }

    // A task that ends `id` and, when it was the last one, stops the hive.
    template <class Body>
    task<Sync>* make(std::size_t id, Body body) {
        return storage::make([this, id, body] {
            if (Compute == 0) quiescence.finished_one();  // it has begun: nobody needs to be woken for it any more
            body();
            ledger.took(id);
            if (ended.fetch_add(1, std::memory_order_acq_rel) + 1 == Tasks) hive.request_stop(stop_mode::drain);
        });
    }
    task<Sync>* make(std::size_t id) {
        return make(id, [] {});
    }
    // A post to IO workers, with the law told before and after.
    template <class Post>
    void must(Post post, int tasks = 1) {
        quiescence.post_begins();
        for (int i = 0; i < tasks; ++i) quiescence.published();
        Sync::law(post(), "a post was refused although nobody had asked for a stop");
        quiescence.post_ends();
    }
    void after() {
        ledger.settle();
        Sync::law(hive.io_crew().idle().snapshot().value == 0 && hive.compute_crew().idle().snapshot().value == 0,
                  "the books of the idle set do not balance");
    }
};

// One way in against a stop: what was accepted has run in the end, what was refused has not.
template <class Sync, unsigned Io, unsigned Compute, unsigned Tasks>
struct stop_scenario : hive_scenario<Sync, Io, Compute, 2, Tasks> {
    static constexpr std::array must_reach{"stop.accepted", "stop.refused"};
    using base = hive_scenario<Sync, Io, Compute, 2, Tasks>;
    std::array<bool, Tasks> accepted{};
    std::array<bool, Tasks> ran{};

    task<Sync>* marker(std::size_t id) {
        return base::storage::make([this, id] { ran[id] = true; });
    }
    template <class Post>
    void post(std::size_t id, Post how) {
        task<Sync>* t = marker(id);
        accepted[id] = how(t);
        Sync::reach(accepted[id] ? "stop.accepted" : "stop.refused");
        if (!accepted[id]) t->drop();
    }
    template <std::size_t First>
    void post_two() {
        fifo_list<task<Sync>> batch;
        batch.push_back(marker(First));
        batch.push_back(marker(First + 1));
        accepted[First] = accepted[First + 1] = this->hive.post_list(batch);
        Sync::reach(accepted[First] ? "stop.accepted" : "stop.refused");
        while (task<Sync>* t = batch.pop_front()) t->drop();
    }
    // False: this thread is the poster.
    bool works_or_stops(unsigned i) {
        if (this->work_thread(i)) return true;
        if (i == Io + Compute + 1) this->hive.request_stop(stop_mode::drain);
        return i == Io + Compute + 1;
    }
    void after() { Sync::law(ran == accepted, "a task was accepted and stranded, or refused and run"); }
};

}  // namespace apiary::model
