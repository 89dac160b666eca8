// A timer's callable is ended once, by its worker or by a canceller, whatever their order.
#include <array>

#include <apiary/model_check/register.hpp>
#include <apiary/schedulers/hive/delayed.hpp>
#include <apiary/tasks/task_storage.hpp>

namespace hive_cancel_check {
namespace {

using namespace apiary;

// The worker ends the task as `How` says, while the holder of the handle cancels and lets go.
template <class Sync, job_end How>
struct cancel_scenario {
    static constexpr std::array must_reach{"delayed.was_cancelled", "delayed.cancelled_too_late"};
    static constexpr unsigned threads = 2;
    using storage = heap_storage<Sync>;

    // Its cells are touched by the thread that ends the callable: two of them are a race.
    struct callable {
        cancel_scenario* s;
        explicit callable(cancel_scenario* scenario) : s(scenario) {}
        callable(callable&& other) noexcept : s(std::exchange(other.s, nullptr)) {}
        callable& operator=(callable&&) = delete;
        ~callable() {
            if (s != nullptr) s->destroyed.write(s->destroyed.read() + 1);
        }
        void operator()() { s->ran.write(s->ran.read() + 1); }
    };

    typename Sync::template cell<int> ran{0}, destroyed{0};
    task<Sync>* queued = nullptr;
    delayed_handle<Sync> handle;
    job_end how{};
    bool cancelled = false;

    void before() {
        ran.write(0);
        destroyed.write(0);
        auto* block = Sync::template create<delayed_callable<callable, Sync>>(callable(this));
        handle = delayed_handle<Sync>(block);
        queued = storage::make(delayed_entry<Sync>(block));
    }
    void thread(unsigned i) {
        if (i == 0) {
            how = How == job_end::run ? queued->run() : queued->drop();
        } else {
            delayed_handle<Sync> mine = std::move(handle);
            cancelled = mine.cancel();
            Sync::law(!mine.cancel(), "a timer was cancelled twice");
        }
    }
    void after() {
        Sync::law(cancelled == (how == job_end::cancelled), "worker and handle disagree");
        Sync::law(ran.read() == (how == job_end::run ? 1 : 0), "a timer ran and was cancelled, or neither");
        Sync::law(destroyed.read() == 1, "the callable was not destroyed once");
    }
};

template <class Sync>
struct cancel_races_run : cancel_scenario<Sync, job_end::run> {
    static constexpr const char* what = "a timer that is due, and cancelled at the same time";
};
APIARY_CHECK(cancel_races_run);

template <class Sync>
struct cancel_races_drop : cancel_scenario<Sync, job_end::drop> {
    static constexpr const char* what = "a timer that a stop discards, and cancelled at the same time";
};
APIARY_CHECK(cancel_races_drop);

// The worker's sweep meets the cancel: it asks whether the timer looks cancelled, and drops it then, else runs it when it is due.
template <class Sync>
struct cancel_races_sweep : cancel_scenario<Sync, job_end::run> {
    static constexpr const char* what = "a worker that sweeps its timers, while one of them is cancelled";
    static constexpr std::array must_reach{"cancel.swept", "cancel.not_swept", "delayed.was_cancelled"};
    using base = cancel_scenario<Sync, job_end::run>;
    void thread(unsigned i) {
        if (i != 0) return base::thread(i);
        const auto* entry = this->queued->template target<delayed_entry<Sync>, typename base::storage>();
        Sync::law(entry != nullptr, "a timer is not known as one");
        if (entry->looks_cancelled()) {
            Sync::reach("cancel.swept");
            this->how = this->queued->drop();
            Sync::law(this->how == job_end::cancelled, "a sweep dropped a timer that was not cancelled");
        } else {
            Sync::reach("cancel.not_swept");
            base::thread(0);
        }
    }
};
APIARY_CHECK(cancel_races_sweep);

}  // namespace
}  // namespace hive_cancel_check
