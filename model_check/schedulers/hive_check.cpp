// The hive itself, down to the parker seam: hive_core and its workers as they ship, two IO workers and one
// poster. Only threads, epoll and the block pool are left out.
//
// A task that waits for another one is the oracle for work conservation: if the second task is left lying
// while a worker sleeps, nobody ever runs it, and the engine reports a deadlock.
#include <array>
#include <type_traits>

#include <apiary/contract/laws.hpp>
#include <apiary/model_check/register.hpp>
#include <apiary/parking/parker_core.hpp>
#include <apiary/schedulers/hive/hive_core.hpp>
#include <apiary/tasks/task_storage.hpp>

namespace {

using namespace apiary;

constexpr hive_parameters small_parameters{
    .local_budget = 2, .global_batch = 2, .global_probe_interval = 3, .steal_rounds = 1};

// The parker that ships where one IO worker makes that affordable; else what it was checked against (parker_check).
template <class Sync, unsigned Workers>
using core_of = std::conditional_t<Workers == 1, parker_core<Sync>, parker_core<Sync, typename Sync::parker>>;

// Tells the law when its worker blocks, and who was woken.
template <class Sync, unsigned Workers>
class watched_core : public core_of<Sync, Workers> {
public:
    void watch(quiescence_law<Sync, Workers>& law, unsigned worker) {
        law_ = &law;
        worker_ = worker;
    }
    void wait(std::int64_t deadline_ns) {
        law_->parks(worker_);
        core_of<Sync, Workers>::wait(deadline_ns);
        law_->resumed(worker_);
    }
    void wake() {
        law_->post_begins();
        core_of<Sync, Workers>::wake();
        law_->wake_sent(worker_);
        law_->post_ends();
    }

private:
    quiescence_law<Sync, Workers>* law_ = nullptr;
    unsigned worker_ = 0;
};

// A hive of IO workers 0 … Io-1 and compute workers behind them, on threads of the same number.
template <class Sync, unsigned Io, unsigned Compute, unsigned Posters, std::size_t Tasks>
struct hive_scenario {
    static constexpr unsigned workers = Io + Compute;
    static constexpr unsigned threads = workers + Posters;
    static constexpr bool too_large_to_exhaust = true;
    using storage = heap_storage<Sync>;
    using core_type = hive_core<Sync, watched_core<Sync, Io>, storage>;

    core_type hive{Io, Compute, small_parameters};
    claim_ledger<Sync> ledger{Tasks};
    quiescence_law<Sync, Io> quiescence;
    typename Sync::template atomic<unsigned> ended;
    typename Sync::template atomic<unsigned> gate;  // one task opens it, another waits for that

    hive_scenario() {
        for (unsigned w = 0; w < Io; ++w) hive.io()[w]->core().watch(quiescence, w);
    }
    void before() {
        ended.store(0, std::memory_order_relaxed);
        gate.store(0, std::memory_order_relaxed);
    }
    void open_gate() { gate.store(1, std::memory_order_release); }
    void wait_for_gate() {
        Sync::await(gate, [](unsigned v) { return v == 1; });
    }
    void invariant() { quiescence.verify(); }

    bool work_thread(unsigned i) {
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
        if (!post()) Sync::fail("a post was refused although nobody had asked for a stop");
        quiescence.post_ends();
    }
    void after() {
        ledger.settle();
        if (hive.idle_io().snapshot().value != 0 || hive.idle_compute().snapshot().value != 0)
            Sync::fail("the books of the idle set do not balance");
    }
};

// Small enough for a verdict on every behaviour.
template <class Sync>
struct hive_one_worker_one_post : hive_scenario<Sync, 1, 0, 1, 1> {
    static constexpr const char* what = "one worker that falls asleep, one post, one stop: every behaviour";
    static constexpr bool too_large_to_exhaust = false;
    void thread(unsigned i) {
        if (this->work_thread(i)) return;
        this->must([this] { return this->hive.post(this->make(0)); });
    }
};
APIARY_CHECK(hive_one_worker_one_post);

template <class Sync>
struct hive_one_worker_targeted_post : hive_scenario<Sync, 1, 0, 1, 1> {
    static constexpr const char* what =
        "one worker that falls asleep, one post to its inbox, one stop: every behaviour";
    static constexpr bool too_large_to_exhaust = false;
    void thread(unsigned i) {
        if (this->work_thread(i)) return;
        this->must([this] { return this->hive.post_to(0, this->make(0)); });
    }
};
APIARY_CHECK(hive_one_worker_targeted_post);

template <class Sync>
struct hive_two_workers_one_post : hive_scenario<Sync, 2, 0, 1, 1> {
    // Exhausted in about two million graphs: `prove --budget 300s hive_two_workers_one_post`.
    static constexpr const char* what = "two workers that fall asleep, one post, one stop";
    void thread(unsigned i) {
        if (this->work_thread(i)) return;
        this->must([this] { return this->hive.post(this->make(0)); });
    }
};
APIARY_CHECK(hive_two_workers_one_post);

template <class Sync>
struct hive_one_compute_worker_one_post : hive_scenario<Sync, 1, 1, 1, 1> {
    static constexpr const char* what =
        "an IO and a compute worker that fall asleep, one compute post, one stop: every behaviour";
    static constexpr bool too_large_to_exhaust = false;
    void thread(unsigned i) {
        if (this->work_thread(i)) return;
        if (!this->hive.post_compute(this->make(0))) Sync::fail("a post was refused");
    }
};
APIARY_CHECK(hive_one_compute_worker_one_post);

template <class Sync>
struct hive_runs_every_post : hive_scenario<Sync, 2, 0, 1, 2> {
    static constexpr const char* what = "two workers that fall asleep, one poster of two tasks: both run, once";
    void thread(unsigned i) {
        if (this->work_thread(i)) return;
        this->must([this] { return this->hive.post(this->make(0)); });
        this->must([this] { return this->hive.post(this->make(1)); });
    }
};
APIARY_CHECK(hive_runs_every_post);

template <class Sync>
struct hive_batch_feeds_both_workers : hive_scenario<Sync, 2, 0, 1, 2> {
    static constexpr const char* what =
        "a batch of two whose first task waits for the second: the other worker is woken";
    void thread(unsigned i) {
        if (this->work_thread(i)) return;
        fifo_list<task<Sync>> batch;
        batch.push_back(this->make(0, [this] { this->wait_for_gate(); }));
        batch.push_back(this->make(1, [this] { this->open_gate(); }));
        this->must([&] { return this->hive.post_list(batch); }, 2);
    }
};
APIARY_CHECK(hive_batch_feeds_both_workers);

template <class Sync>
struct hive_surplus_wakes_a_peer : hive_scenario<Sync, 2, 0, 1, 2> {
    static constexpr const char* what =
        "a task posts a child and waits for it: the sleeping peer is woken and steals it";
    void thread(unsigned i) {
        if (this->work_thread(i)) return;
        auto* parent = this->make(0, [this] {
            auto* t = this->make(1, [this] { this->open_gate(); });
            this->must([&] { return this->hive.io()[0]->post_local(t); });
            this->wait_for_gate();
        });
        this->must([&] { return this->hive.post_to(0, parent); });
    }
};
APIARY_CHECK(hive_surplus_wakes_a_peer);

template <class Sync>
struct hive_targeted_posts_arrive : hive_scenario<Sync, 2, 0, 1, 3> {
    static constexpr const char* what = "posts to each worker's inbox wake that worker, beside an untargeted post";
    void thread(unsigned i) {
        if (this->work_thread(i)) return;
        this->must([this] { return this->hive.post_to(1, this->make(0)); });
        this->must([this] { return this->hive.post(this->make(1)); });
        this->must([this] { return this->hive.post_to(0, this->make(2)); });
    }
};
APIARY_CHECK(hive_targeted_posts_arrive);

template <class Sync>
struct hive_compute_is_woken : hive_scenario<Sync, 1, 2, 1, 2> {
    static constexpr const char* what =
        "two compute tasks, the first waits for the second: both compute workers are woken";
    void thread(unsigned i) {
        if (this->work_thread(i)) return;
        auto* first = this->make(0, [this] { this->wait_for_gate(); });
        auto* then = this->make(1, [this] { this->open_gate(); });
        if (!this->hive.post_compute(first) || !this->hive.post_compute(then)) Sync::fail("a post was refused");
    }
};
APIARY_CHECK(hive_compute_is_woken);

template <class Sync>
struct hive_stop_races_posts : hive_scenario<Sync, 2, 0, 2, 4> {
    static constexpr const char* what =
        "posts and a batch race a draining stop: each is run or refused, and every worker ends";
    using base = hive_scenario<Sync, 2, 0, 2, 4>;
    std::array<bool, 4> accepted{};
    std::array<bool, 4> ran{};

    void thread(unsigned i) {
        if (this->work_thread(i)) return;
        if (i == 3) {
            this->hive.request_stop(stop_mode::drain);
            return;
        }
        post(0, [this](auto* t) { return this->hive.post(t); });
        fifo_list<task<Sync>> batch;
        batch.push_back(marker(1));
        batch.push_back(marker(2));
        accepted[1] = accepted[2] = this->hive.post_list(batch);
        while (task<Sync>* t = batch.pop_front()) discard<typename base::storage>(t);
        post(3, [this](auto* t) { return this->hive.post_to(1, t); });
    }
    task<Sync>* marker(std::size_t id) {
        return base::storage::make([this, id] { ran[id] = true; });
    }
    template <class Post>
    void post(std::size_t id, Post how) {
        task<Sync>* t = marker(id);
        accepted[id] = how(t);
        if (!accepted[id]) discard<typename base::storage>(t);
    }
    void after() {
        if (ran != accepted) Sync::fail("a task was accepted and stranded, or refused and run");
    }
};
APIARY_CHECK(hive_stop_races_posts);

template <class Sync>
struct hive_stop_races_compute_posts : hive_scenario<Sync, 1, 1, 2, 2> {
    static constexpr const char* what = "compute posts race a draining stop: each is run or refused";
    using base = hive_scenario<Sync, 1, 1, 2, 2>;
    std::array<bool, 2> accepted{};
    std::array<bool, 2> ran{};

    void thread(unsigned i) {
        if (this->work_thread(i)) return;
        if (i == 3) {
            this->hive.request_stop(stop_mode::drain);
            return;
        }
        for (std::size_t id = 0; id < 2; ++id) {
            task<Sync>* t = base::storage::make([this, id] { ran[id] = true; });
            accepted[id] = this->hive.post_compute(t);
            if (!accepted[id]) discard<typename base::storage>(t);
        }
    }
    void after() {
        if (ran != accepted) Sync::fail("a compute task was accepted and stranded, or refused and run");
    }
};
APIARY_CHECK(hive_stop_races_compute_posts);

}  // namespace
