// The specification itself: one lock and condition variables, with spurious wake-ups. Two workers, a poster
// that waits for idleness, and a stop.
#include <array>

#include <apiary/contract/laws.hpp>
#include <apiary/model_check/register.hpp>
#include <apiary/schedulers/global_queue/global_queue.hpp>

namespace global_queue_check {
namespace {

using namespace apiary;

template <class Sync>
struct global_queue_idle_means_all_ended {
    static constexpr const char* what =
        "wait_idle returns when a task and the one it posted have ended, not when the queue is empty";
    static constexpr std::array must_reach{"global_queue.waited_for_idle"};
    static constexpr std::array alike{0U, 1U};
    static constexpr unsigned threads = 3;

    basic_global_queue<Sync> queue{{.workers = 2}};
    claim_ledger<Sync> ledger{2};
    typename Sync::template cell<int> ended{0};

    void thread(unsigned i) {
        if (i < 2) {
            queue.work();
            return;
        }
        const bool accepted = queue.post([this] {
            ledger.took(0);
            const bool in = queue.post([this] {
                ledger.took(1);
                ended.write(1);
            });
            Sync::law(in, "refused before the stop");
        });
        Sync::law(accepted, "refused before the stop");
        queue.wait_idle();
        Sync::law(ended.read() == 1, "idle was told while a task had not ended");
        queue.request_stop(stop_mode::drain);
    }
    void after() { ledger.settle(); }
};
APIARY_CHECK(global_queue_idle_means_all_ended);

template <class Sync>
struct global_queue_stop_races_a_post {
    static constexpr const char* what = "a post races a stop: it is run, discarded or refused, and every worker ends";
    static constexpr std::array must_reach{"queue.run", "queue.discarded", "queue.refused"};
    static constexpr std::array alike{0U, 1U};
    static constexpr unsigned threads = 4;

    basic_global_queue<Sync> queue{{.workers = 2}};
    bool accepted = false, ran = false;

    void thread(unsigned i) {
        if (i < 2)
            queue.work();
        else if (i == 2)
            accepted = queue.post([this] { ran = true; });
        else
            queue.request_stop(stop_mode::discard);
    }
    void after() {
        const stop_report r = queue.report();
        Sync::reach(r.run != 0 ? "queue.run" : r.discarded != 0 ? "queue.discarded" : "queue.refused");
        Sync::law(accepted ? r.run + r.discarded == 1 : r.refused == 1, "the report does not add up");
        Sync::law((r.run == 1) == ran, "the report says run and the task says no, or the other way round");
    }
};
APIARY_CHECK(global_queue_stop_races_a_post);

}  // namespace
}  // namespace global_queue_check
