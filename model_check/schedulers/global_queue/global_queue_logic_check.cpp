// The specification's waits: which waiters are woken, and how many, when the last task ends, is thrown away, or comes in a batch.
#include <array>
#include <span>
#include <utility>

#include <apiary/contract/laws.hpp>
#include <apiary/model_check/register.hpp>
#include <apiary/schedulers/global_queue/global_queue.hpp>

namespace global_queue_logic_check {
namespace {

using namespace apiary;

template <class Sync>
struct global_queue_discard_ends_every_wait_for_idleness {
    static constexpr const char* what =
        "two threads wait for idleness, no worker runs, a stop discards the only task: both waits end";
    static constexpr std::array must_reach{"global_queue.waited_for_idle"};
    static constexpr std::array alike{0U, 1U};
    static constexpr unsigned threads = 3;

    basic_global_queue<Sync> queue{{.workers = 1}};
    claim_ledger<Sync> destroyed{1};

    // A callable whose end is its destruction, once.
    struct never_runs {
        explicit never_runs(claim_ledger<Sync>& l) : ledger(&l) {}
        never_runs(never_runs&& other) noexcept : ledger(std::exchange(other.ledger, nullptr)) {}
        ~never_runs() {
            if (ledger != nullptr) ledger->took(0);
        }
        void operator()() const { Sync::law(false, "a discarded task ran"); }
        claim_ledger<Sync>* ledger;
    };

    void before() { Sync::law(queue.post(never_runs(destroyed)), "refused before the stop"); }
    void thread(unsigned i) {
        if (i == 2) return queue.request_stop(stop_mode::discard);
        queue.wait_idle();
    }
    void after() {
        destroyed.settle();
        Sync::law(queue.report().discarded == 1, "the report does not add up");
    }
};
APIARY_CHECK(global_queue_discard_ends_every_wait_for_idleness);

template <class Sync>
struct global_queue_last_task_ends_every_wait_for_idleness {
    static constexpr const char* what = "two threads wait for idleness, a worker ends the only task: both waits end";
    static constexpr std::array must_reach{"global_queue.waited_for_idle"};
    static constexpr std::array alike{0U, 1U};
    static constexpr unsigned threads = 3;

    basic_global_queue<Sync> queue{{.workers = 1}};
    claim_ledger<Sync> ledger{1};
    typename Sync::template cell<int> ended{0};

    void before() {
        const bool accepted = queue.post([this] {
            ledger.took(0);
            ended.write(1);
        });
        Sync::law(accepted, "refused before the stop");
    }
    void thread(unsigned i) {
        if (i == 2) return queue.work();
        queue.wait_idle();
        Sync::law(ended.read() == 1, "idle was told while a task had not ended");
        queue.request_stop();
    }
    void after() { ledger.settle(); }
};
APIARY_CHECK(global_queue_last_task_ends_every_wait_for_idleness);

// The first task of the batch waits for the second: a worker that sleeps on is a deadlock. The stop waits for both.
template <class Sync>
struct global_queue_batch_feeds_both_workers {
    static constexpr const char* what =
        "two workers fall asleep, a batch of two comes whose first task waits for the second: both are woken";
    static constexpr std::array must_reach{"global_queue.waited_for_work", "global_queue.waited_for_idle"};
    static constexpr std::array alike{0U, 1U};
    static constexpr unsigned threads = 3;

    basic_global_queue<Sync> queue{{.workers = 2}};
    claim_ledger<Sync> ledger{2};
    typename Sync::template atomic<unsigned> gate{0};

    struct part {
        global_queue_batch_feeds_both_workers* of;
        std::size_t id;
        void operator()() const {
            if (id == 0) Sync::spin_until(of->gate, [](unsigned v) { return v == 1; });
            of->ledger.took(id);
            if (id == 1) of->gate.store(1, std::memory_order_release);
        }
    };

    void thread(unsigned i) {
        if (i < 2) return queue.work();
        std::array<part, 2> batch{{{this, 0}, {this, 1}}};
        Sync::law(queue.post_batch(std::span(batch)) == 2, "refused before the stop");
        queue.wait_idle();
        ledger.settle();  // before the stop: idle means that both have ended
        queue.request_stop();
    }
    void after() { Sync::law(queue.report().run == 2 && queue.report().exceptions == 0, "the report does not add up"); }
};
APIARY_CHECK(global_queue_batch_feeds_both_workers);

}  // namespace
}  // namespace global_queue_logic_check
