// Waits for a family: a thread that waits runs what is queued, sleeps when all that is left runs elsewhere, and is woken by what
// it could run, by the last task's end, and by a stop.
#include <array>

#include <apiary/contract/laws.hpp>
#include <apiary/model_check/register.hpp>
#include <apiary/schedulers/global_queue/global_queue.hpp>

namespace global_queue_family_check {
namespace {

using namespace apiary;

template <class Sync>
using scope_of = typename basic_global_queue<Sync>::task_scope;

// The worker is inside a task that goes on when another one has run, which only the thread that waits can do: one that sleeps
// on is a deadlock. (Or that thread runs the first one, and the worker the other.)
template <class Sync, bool Below>
struct waiter_is_woken_to_help {
    static constexpr std::array must_reach{"global_queue.waited_for_family"};
    static constexpr std::array engine_laws{"deadlock"};
    static constexpr unsigned threads = 2;

    basic_global_queue<Sync> queue{{.workers = 1}};
    claim_ledger<Sync> ledger{2};
    typename Sync::template atomic<unsigned> gate{0};
    typename Sync::template cell<int> made{0};

    void second() {
        ledger.took(1);
        made.write(1);
        gate.store(1, std::memory_order_release);
    }
    template <class Post>
    void first(Post post) {
        ledger.took(0);
        Sync::law(post(), "refused before the stop");
        Sync::spin_until(gate, [](unsigned v) { return v == 1; });
    }
    void thread(unsigned i) {
        if (i == 0) return queue.work();
        if constexpr (Below) {
            auto* const scope = Sync::template create<scope_of<Sync>>(queue);
            const bool accepted = scope->run(
                [this](scope_of<Sync>& children) { first([&] { return children.run([this] { second(); }); }); });
            Sync::law(accepted, "refused before the stop");
            Sync::law(scope->wait(), "the wait tells of a stop that was not");
            Sync::destroy(scope);
        } else {
            Sync::law(queue.post([this] { first([&] { return queue.post([this] { second(); }); }); }),
                      "refused before the stop");
            Sync::law(queue.wait(), "the wait tells of a stop that was not");
        }
        Sync::law(made.read() == 1, "the wait was over while a task had not ended");
        queue.request_stop();
    }
    void after() { ledger.settle(); }
};
template <class Sync>
struct global_queue_waiter_helps_below_its_scope : waiter_is_woken_to_help<Sync, true> {
    static constexpr const char* what =
        "a thread sleeps in a wait for a scope, the worker's task makes a grandchild and needs it: the sleeper runs it";
};
APIARY_CHECK(global_queue_waiter_helps_below_its_scope);
template <class Sync>
struct global_queue_waiter_helps_all : waiter_is_woken_to_help<Sync, false> {
    static constexpr const char* what =
        "a thread outside sleeps in wait(), the worker's task posts another and needs it: the sleeper runs it";
};
APIARY_CHECK(global_queue_waiter_helps_all);

template <class Sync>
struct global_queue_parent_joins_its_children {
    static constexpr const char* what =
        "two workers: a parent waits for two children inside its task, sees what they made, and frees the scope";
    static constexpr std::array must_reach{"global_queue.waited_for_family", "global_queue.waited_for_work"};
    static constexpr std::array alike{0U, 1U};
    static constexpr unsigned threads = 2;

    basic_global_queue<Sync> queue{{.workers = 2}};
    claim_ledger<Sync> ledger{2};
    std::array<typename Sync::template cell<int>, 2> made;

    void before() {
        const bool accepted = queue.post([this] {
            auto* const scope = Sync::template create<scope_of<Sync>>(queue);
            for (unsigned c = 0; c != 2; ++c) {
                const bool in = scope->run([this, c] {
                    ledger.took(c);
                    made[c].write(1);
                });
                Sync::law(in, "refused before the stop");
            }
            Sync::law(scope->wait(), "the wait tells of a stop that was not");
            Sync::destroy(scope);
            Sync::law(made[0].read() + made[1].read() == 2, "a parent does not see what its child has made");
            queue.request_stop();
        });
        Sync::law(accepted, "refused before the stop");
    }
    void thread(unsigned) { queue.work(); }
    void after() {
        ledger.settle();
        Sync::law(queue.report().run == 3, "the report does not add up");
    }
};
APIARY_CHECK(global_queue_parent_joins_its_children);

template <class Sync>
struct global_queue_last_task_ends_every_wait {
    static constexpr const char* what = "two threads wait for all tasks, a worker ends the only one: both waits end";
    static constexpr std::array must_reach{"global_queue.waited_for_family"};
    static constexpr std::array alike{0U, 1U};
    static constexpr unsigned threads = 3;

    basic_global_queue<Sync> queue{{.workers = 1}};
    typename Sync::template cell<int> ended{0};

    void before() {
        Sync::law(queue.post([this] { ended.write(1); }), "refused before the stop");
    }
    void thread(unsigned i) {
        if (i == 2) return queue.work();
        Sync::law(queue.wait(), "the wait tells of a stop that was not");
        Sync::law(ended.read() == 1, "the wait was over while a task had not ended");
        queue.request_stop();
    }
    void after() { Sync::law(queue.report().run == 1, "the report does not add up"); }
};
APIARY_CHECK(global_queue_last_task_ends_every_wait);

// Each has what the other's end tells nothing about.
template <class Sync>
struct global_queue_each_sleeper_is_told {
    static constexpr const char* what = "two threads wait for a scope each, a worker runs the tasks: both waits end";
    static constexpr std::array must_reach{"global_queue.waited_for_family"};
    static constexpr std::array alike{1U, 2U};
    static constexpr unsigned threads = 3;

    basic_global_queue<Sync> queue{{.workers = 1}};
    typename Sync::template atomic<unsigned> gone{0};

    void thread(unsigned i) {
        if (i == 0) return queue.work();
        typename Sync::template cell<int> made{0};
        {
            scope_of<Sync> scope(queue);
            Sync::law(scope.run([&made] { made.write(1); }), "refused before the stop");
            Sync::law(scope.wait(), "the wait tells of a stop that was not");
        }
        Sync::law(made.read() == 1, "the wait was over while a task had not ended");
        if (gone.fetch_add(1, std::memory_order_relaxed) == 1) queue.request_stop();
    }
    void after() { Sync::law(queue.report().run == 2, "the report does not add up"); }
};
APIARY_CHECK(global_queue_each_sleeper_is_told);

template <class Sync, stop_mode How>
struct stop_during_a_wait {
    static constexpr unsigned threads = 3;

    basic_global_queue<Sync> queue{{.workers = 1}};
    claim_ledger<Sync> ledger{2};
    unsigned accepted = 0, answers = 0;

    void thread(unsigned i) {
        if (i == 0) return queue.work();
        if (i == 2) return queue.request_stop(How);
        auto* const scope = Sync::template create<scope_of<Sync>>(queue);
        for (unsigned c = 0; c != 2; ++c) accepted += scope->run([this, c] { ledger.took(c); });
        answers = scope->wait() ? 1 : 2;
        Sync::destroy(scope);
    }
    void after() {
        const stop_report r = queue.report();
        Sync::reach(r.discarded != 0 ? "queue.discarded" : r.refused != 0 ? "queue.refused" : "queue.run");
        Sync::law(r.run + r.discarded == accepted && accepted + r.refused == 2, "the report does not add up");
        Sync::law(answers == (r.discarded == 0 ? 1U : 2U), "the wait does not tell what the stop dropped");
        if (r.run == 2) ledger.settle();
    }
};
template <class Sync>
struct global_queue_drains_during_a_wait : stop_during_a_wait<Sync, stop_mode::drain> {
    static constexpr const char* what =
        "a stop that drains races two children and the wait for them: nothing is dropped, all ends";
    static constexpr std::array must_reach{"queue.run", "queue.refused", "global_queue.waited_for_family"};
};
APIARY_CHECK(global_queue_drains_during_a_wait);
template <class Sync>
struct global_queue_discards_during_a_wait : stop_during_a_wait<Sync, stop_mode::discard> {
    static constexpr const char* what =
        "a stop that discards races two children and the wait for them: the wait ends and tells";
    static constexpr std::array must_reach{"queue.run", "queue.refused", "queue.discarded",
                                           "global_queue.waited_for_family"};
};
APIARY_CHECK(global_queue_discards_during_a_wait);

}  // namespace
}  // namespace global_queue_family_check
