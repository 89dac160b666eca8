// The desk at which a policy hands ready tasks to idle workers, with the sleeper and the idle set of the engine: each task is run
// by one worker, the policy's, and nobody sleeps beside a task.
#include <array>
#include <cstdint>

#include <apiary/contract/laws.hpp>
#include <apiary/events/parker_driver.hpp>
#include <apiary/model_check/register.hpp>
#include <apiary/parking/idle_set.hpp>
#include <apiary/parking/sleeper.hpp>
#include <apiary/schedulers/task_graph/ready_desk.hpp>

namespace ready_desk_check {
namespace {

using namespace apiary;
using namespace apiary::model;

// `Bits`: workers to a bit of what the desk returns are workers / Bits.
template <class Sync, unsigned Threads, unsigned Bits = 64>
struct desk_scenario {
    static constexpr unsigned threads = Threads, workers = 2, most = 3;
    struct place {
        typename Sync::template cell<place*> next;
        typename Sync::template cell<unsigned> input;  // by the thread that makes it ready
        std::int64_t ahead() const { return 0; }
    };
    using desk_type = ready_desk<Sync, place, workers, Bits>;

    desk_type desk{ready_policy::min_clock};
    std::array<place, most> places;
    identity_ledger<Sync, most, Threads> ran;
    idle_set<Sync> idle;
    std::array<parker_driver<Sync, typename Sync::parker>, workers> drivers;

    place& make(unsigned id) {
        ran.put(id);
        places[id].input.write(id);
        return places[id];
    }
    void wake(typename desk_type::workers handed) {
        desk.for_each(handed, workers, [this](unsigned w) {
            if (idle.claim(w)) drivers[w].wake();
        });
    }
    void push(unsigned id) { wake(desk.push(make(id))); }
    void run(unsigned i, place& p) {
        const auto id = static_cast<unsigned>(&p - places.data());
        Sync::law(p.input.read() == id, "a task ran before it was ready");
        ran.took(i, id);
    }
    // By worker w, on thread i: one task.
    void run_one(unsigned i, unsigned w, std::int64_t worked) {
        sleeper<Sync, parker_driver<Sync, typename Sync::parker>> self(w, idle, drivers[w]);
        place* p = nullptr;
        while ((p = desk.take(w, worked)) == nullptr)
            self.sleep(parker_driver<Sync>::forever, [&] { return desk.visible(w); });
        (void)self.found_work();
        run(i, *p);
    }
    void after() { ran.settle(); }
};

template <class Sync>
struct task_meets_a_worker_falling_asleep : desk_scenario<Sync, 2> {
    static constexpr const char* what = "a task is handed to a worker that goes to sleep: it finds it, or is woken";
    static constexpr std::array must_reach{"sleeper.slept", "sleeper.stayed", "sleeper.stayed_and_was_claimed"};
    static constexpr std::array engine_laws{"deadlock"};
    void thread(unsigned i) {
        if (i == 0)
            this->run_one(0, 0, 0);
        else
            this->push(0);
    }
};
APIARY_CHECK(task_meets_a_worker_falling_asleep);

// Min-clock hand-over.
template <class Sync>
struct rested_worker_gets_the_task : desk_scenario<Sync, 2> {
    static constexpr const char* what =
        "both workers are idle, and the rested one falls asleep: the task is handed to it and to nobody else";
    static constexpr const char* exhibit = "a32_yields_and_sleeps";
    void before() {
        Sync::law(this->desk.take(0, 9) == nullptr, "a task from nowhere");
        Sync::law(this->desk.take(1, 3) == nullptr, "a task from nowhere");
    }
    void thread(unsigned i) {
        if (i == 0)
            this->run_one(0, 1, 3);
        else
            this->push(0);
    }
    void after() {
        Sync::law(!this->desk.visible(0), "a worker was handed what another should have");
        this->ran.settle();
    }
};
APIARY_CHECK(rested_worker_gets_the_task);

template <class Sync>
struct end_hands_on_to_an_idle_worker : desk_scenario<Sync, 2> {
    static constexpr const char* what =
        "a task ends and makes two ready while another worker goes idle: each runs one, the first when it looks again";
    static constexpr const char* exhibit = "a32_yields_and_sleeps";
    static constexpr std::array engine_laws{"deadlock"};
    void thread(unsigned i) {
        if (i == 1) return this->run_one(1, 1, 5);
        fifo_list<typename desk_scenario<Sync, 2>::place> made_ready;
        made_ready.push_back(&this->make(0)), made_ready.push_back(&this->make(1));
        const auto [next, handed] = this->desk.ended(0, 9, made_ready);
        this->wake(handed);
        if (next != nullptr) this->desk.keep(0, *next);  // as behind many tasks in a row
        this->run_one(0, 0, 9);
    }
};
APIARY_CHECK(end_hands_on_to_an_idle_worker);

template <class Sync, unsigned Bits>
struct two_tasks_and_two_workers : desk_scenario<Sync, 3, Bits> {
    static constexpr const char* exhibit = "a32_yields_and_sleeps";
    static constexpr std::array engine_laws{"deadlock"};
    void before() { Sync::law(this->desk.take(0, 1) == nullptr, "a task from nowhere"); }
    void thread(unsigned i) {
        if (i != 2) return this->run_one(i, i, i);
        this->push(0), this->push(1);
    }
};
template <class Sync>
struct two_tasks_for_two_workers : two_tasks_and_two_workers<Sync, 64> {
    static constexpr const char* what = "two tasks are handed out while two workers fall asleep: each runs one";
};
APIARY_CHECK(two_tasks_for_two_workers);
template <class Sync>
struct two_tasks_for_two_workers_of_a_bit : two_tasks_and_two_workers<Sync, 1> {
    static constexpr const char* what = "the same where both workers share a bit of those to be woken";
};
APIARY_CHECK(two_tasks_for_two_workers_of_a_bit);

// The submitter helps while it waits, and leaves; what it was handed meanwhile goes to the other.
template <class Sync>
struct idle_worker_leaves : desk_scenario<Sync, 3> {
    static constexpr const char* what =
        "an idle worker leaves while a task is handed to it: the other worker runs the task";
    static constexpr std::array must_reach{"ready_desk.gave_back"};
    static constexpr std::array engine_laws{"deadlock"};
    void before() { Sync::law(this->desk.take(0, 0) == nullptr, "a task from nowhere"); }
    void thread(unsigned i) {
        if (i == 2) return this->push(0);
        if (i == 1) return this->run_one(1, 1, 5);
        this->wake(this->desk.leave(0));
    }
};
APIARY_CHECK(idle_worker_leaves);

}  // namespace
}  // namespace ready_desk_check
