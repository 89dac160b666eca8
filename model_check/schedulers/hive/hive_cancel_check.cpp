// A timer's callable is ended once, by its worker or by a canceller, whatever their order; and a timer that is put off
// while its worker comes to it either runs or is filed again, under the time that was noted last.
#include <array>

#include <apiary/model_check/register.hpp>
#include <apiary/schedulers/hive/delayed.hpp>
#include <apiary/tasks/task_storage.hpp>

#include "timer_record.hpp"

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
        auto* block = Sync::template create<delayed_callable<callable, Sync>>(std::int64_t{100}, callable(this));
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
        if (entry->block().looks_cancelled()) {
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

// A session that only its own timer keeps alive: the callable destroys the handle through which it is being cancelled,
// and is not at its end. The worker's sweep may drop the task at any moment of this.
template <class Sync>
struct cancel_of_its_own_handle {
    static constexpr const char* what = "a callable that owns the handle that cancels it, while the worker sweeps";
    static constexpr std::array must_reach{"own_handle.swept", "own_handle.not_swept"};
    static constexpr unsigned threads = 2;
    using storage = heap_storage<Sync>;

    struct callable {
        cancel_of_its_own_handle* s;
        typename Sync::template atomic<int> member;
        explicit callable(cancel_of_its_own_handle* scenario) : s(scenario) {
            member.store(1, std::memory_order_relaxed);
        }
        callable(callable&& other) noexcept : callable(std::exchange(other.s, nullptr)) {}
        callable& operator=(callable&&) = delete;
        ~callable() {
            if (s == nullptr) return;
            s->handle = {};
            Sync::law(member.load(std::memory_order_relaxed) == 1, "a callable was freed while it was being destroyed");
        }
        void operator()() {}
    };

    task<Sync>* queued = nullptr;
    delayed_handle<Sync> handle;  // the canceller's
    bool swept = false;

    void before() {
        auto* block = Sync::template create<delayed_callable<callable, Sync>>(std::int64_t{100}, callable(this));
        handle = delayed_handle<Sync>(block);
        queued = storage::make(delayed_entry<Sync>(block));
        swept = false;
    }
    void thread(unsigned i) {
        if (i != 0) return Sync::law(handle.cancel(), "nothing else ended the timer");
        swept = queued->template target<delayed_entry<Sync>, storage>()->block().looks_cancelled();
        Sync::reach(swept ? "own_handle.swept" : "own_handle.not_swept");
        if (swept) (void)queued->drop();
    }
    void after() {
        if (!swept) (void)queued->drop();
        Sync::law(!handle, "the callable was not destroyed");
    }
};
APIARY_CHECK(cancel_of_its_own_handle);

// Another thread puts the timer off, in two steps, and may cancel it after that. Meanwhile its worker comes to it once
// at the time under which it is filed, and once more if it has to file it again. `seen` is what the last call that
// succeeded has left for the callable, which runs or is dropped.
template <class Sync, bool Cancels, job_end How>
struct put_off_scenario : timer_record<Sync, put_off_scenario<Sync, Cancels, How>> {
    static constexpr unsigned threads = 2;
    using record = timer_record<Sync, put_off_scenario>;
    using typename record::storage;

    task<Sync>* queued = nullptr;
    job_end how{};
    std::int64_t now = 0;

    std::int64_t runs_at() const { return now; }
    void before() {
        record::before();
        queued = this->made();
    }
    void thread(unsigned i) {
        if (i == 0) return work();
        delayed_handle<Sync> mine = std::move(this->handle);
        for (int step = 1; step != 3; ++step) {
            this->left.store(step, std::memory_order_relaxed);
            const std::int64_t later = 100 + 50 * step;
            const rearm_result r = mine.block()->put_off(later);
            Sync::law(r != rearm_result::not_here, "a later time is noted on any thread");
            if (r == rearm_result::over) break;
            this->noted = step, this->due = later;
        }
        if (this->noted == 2) Sync::law(mine.block()->put_off(150) != rearm_result::rearmed, "an earlier time was noted");
        if constexpr (Cancels) this->cancelled = mine.cancel();
    }
    void work() {
        const auto* entry = queued->template target<delayed_entry<Sync>, storage>();
        now = 100;
        if constexpr (How == job_end::run) {
            while (const std::int64_t later = entry->block().becomes_due(now)) {
                Sync::law(later > now, "a timer was filed again under a time that has come");
                now = later;
            }
            how = queued->run();
        } else {
            how = queued->drop();
        }
    }
    void after() {
        Sync::law(this->cancelled == (how == job_end::cancelled), "worker and handle disagree");
        this->ended_once(how == job_end::drop);
    }
};

template <class Sync>
struct put_off_races_run : put_off_scenario<Sync, false, job_end::run> {
    static constexpr const char* what = "a timer that is due, and put off at the same time";
    static constexpr std::array must_reach{"delayed.was_put_off", "delayed.put_off_too_late"};
};
APIARY_CHECK(put_off_races_run);

template <class Sync>
struct put_off_and_cancel_race_run : put_off_scenario<Sync, true, job_end::run> {
    static constexpr const char* what = "a timer that is due, put off and cancelled at the same time";
    static constexpr std::array must_reach{"delayed.was_put_off", "delayed.put_off_too_late", "delayed.was_cancelled"};
};
APIARY_CHECK(put_off_and_cancel_race_run);

template <class Sync>
struct put_off_races_drop : put_off_scenario<Sync, false, job_end::drop> {
    static constexpr const char* what = "a timer that a stop discards, and put off at the same time";
    static constexpr std::array must_reach{"delayed.put_off_too_late"};
};
APIARY_CHECK(put_off_races_drop);

}  // namespace
}  // namespace hive_cancel_check
