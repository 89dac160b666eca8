// A computation elsewhere, awaited: its end against the suspension, against a cancel, and against a scheduler that drops it.
#include <array>
#include <atomic>
#include <memory>
#include <utility>

#include <apiary/coroutines/on_compute.hpp>

#include "coroutine_scenario.hpp"

namespace on_compute_check {
namespace {

using namespace apiary;
using namespace apiary::model;

// A scheduler of one task.
template <class Sync>
class one_place {
    struct task {
        virtual ~task() = default;
        virtual void run() = 0;
    };

public:
    template <class F>
    bool post_compute(F f) {
        struct posted : task {
            explicit posted(F f) : f_(std::move(f)) {}
            void run() override { f_(); }
            F f_;
        };
        const typename Sync::lock held(mutex_);
        if (closed_) return false;
        task_ = std::make_unique<posted>(std::move(f));
        changed_.notify_all();
        return true;
    }
    void run_one() {
        std::unique_ptr<task> mine;
        {
            typename Sync::lock held(mutex_);
            while (task_ == nullptr) changed_.wait(held);
            mine = std::move(task_);
        }
        mine->run();
    }
    // What is there goes, and nothing more comes.
    void close() {
        std::unique_ptr<task> dropped;
        const typename Sync::lock held(mutex_);
        closed_ = true;
        dropped = std::move(task_);
        if (dropped != nullptr) Sync::reach("on_compute.dropped");
    }

private:
    typename Sync::mutex mutex_;
    typename Sync::condvar changed_;
    std::unique_ptr<task> task_;
    bool closed_ = false;
};

template <class Sync>
struct computing_scenario : coroutine_scenario<Sync> {
    static constexpr unsigned threads = 2;
    one_place<Sync> elsewhere;
    stop_hooks<Sync> stop;
    std::atomic<int> ran = 0, done = 0, cancelled = 0;  // std::atomic: the oracle is no part of what is checked

    template <class F>
    using awaited_call = computing<one_place<Sync>, F, Sync>;

    coroutine<Sync> computes(typename coroutine_scenario<Sync>::place) {
        const auto callable = [this] { return ++ran, 7; };
        try {
            const int seven = co_await awaited_call<decltype(callable)>(elsewhere, callable);
            Sync::law(seven == 7, "another value than the callable's");
            ++done;
        } catch (const wait_cancelled&) {
            ++cancelled;
        }
    }
    void after() {
        Sync::law(done + cancelled == 1, "a computation did not end once");
        Sync::law(ran == done, "a computation was cancelled, and has run; or neither");
    }
};

template <class Sync>
struct computation_ends_while_its_coroutine_suspends : computing_scenario<Sync> {
    static constexpr const char* what = "a computation ends while its coroutine still suspends: it goes on once";
    static constexpr std::array must_reach{"waiter.brought_back", "awaiter.went_on"};
    void thread(unsigned i) {
        if (i == 0) return this->elsewhere.run_one();
        this->computes(this->here());
    }
    void after() {
        computing_scenario<Sync>::after();
        Sync::law(this->done == 1, "cancelled by nobody");
    }
};
APIARY_CHECK(computation_ends_while_its_coroutine_suspends);

template <class Sync>
struct computation_throws : computing_scenario<Sync> {
    static constexpr const char* what =
        "a callable throws while its coroutine still suspends: the exception leaves the await";
    static constexpr std::array must_reach{"waiter.brought_back", "awaiter.went_on"};
    struct thrown {};
    coroutine<Sync> catches(typename coroutine_scenario<Sync>::place) {
        const auto callable = [this]() -> int {
            ++this->ran;
            throw thrown();
        };
        try {
            using call = typename computing_scenario<Sync>::template awaited_call<decltype(callable)>;
            (void)co_await call(this->elsewhere, callable);
            Sync::law(false, "a value came of a callable that threw");
        } catch (const thrown&) {
            ++this->done;
        }
    }
    void thread(unsigned i) {
        if (i == 0) return this->elsewhere.run_one();
        this->catches(this->here());
    }
};
APIARY_CHECK(computation_throws);

template <class Sync>
struct computation_meets_a_cancel : computing_scenario<Sync> {
    static constexpr const char* what = "a stop is asked for while a computation begins: it runs, or is cancelled";
    static constexpr std::array must_reach{"computing.ran", "computing.cancelled"};
    void before() { this->computes(this->here(this->stop)); }
    void thread(unsigned i) {
        if (i == 0) return this->elsewhere.run_one();
        this->stop.ask();
    }
    void after() {
        computing_scenario<Sync>::after();
        Sync::reach(this->done == 1 ? "computing.ran" : "computing.cancelled");
    }
};
APIARY_CHECK(computation_meets_a_cancel);

template <class Sync>
struct computation_meets_the_end : computing_scenario<Sync> {
    static constexpr const char* what = "a scheduler refuses a computation, or drops it: its coroutine is told once";
    static constexpr std::array must_reach{"on_compute.dropped", "awaiter.went_on"};
    void thread(unsigned i) {
        if (i == 0) return this->elsewhere.close();
        this->computes(this->here());
    }
    // Posted after the close it was refused; before it, dropped.
    void after() {
        this->elsewhere.close();
        computing_scenario<Sync>::after();
        Sync::law(this->cancelled == 1, "a computation has run on nothing");
    }
};
APIARY_CHECK(computation_meets_the_end);

}  // namespace
}  // namespace on_compute_check
