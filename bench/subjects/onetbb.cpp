// Subject `onetbb`: oneTBB, one arena of N worker slots and task_arena::enqueue, its call for fire-and-forget
// work from outside. It has no batch call and no timers.
//
// Its tasks come from oneTBB's own pools and not from operator new: the column `allocs` stays empty.
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/version.h>

#include <string>
#include <utility>

#include "scenarios/list.hpp"

namespace {

namespace tbb = oneapi::tbb;

class onetbb {
public:
    static constexpr std::string_view name = "onetbb";
    static std::string version() { return ::TBB_runtime_version(); }

    // oneTBB counts the main thread as one of its threads, and it is none of our workers: hence one more.
    // No slot is reserved for threads outside, so all N go to workers.
    explicit onetbb(unsigned workers)
        : threads_(tbb::global_control::max_allowed_parallelism, workers + 1), arena_(static_cast<int>(workers), 0) {
        arena_.initialize();
    }

    ~onetbb() {
        arena_.terminate();
        tbb::finalize(workers_, std::nothrow);  // joins them
    }

    onetbb(const onetbb&) = delete;
    onetbb& operator=(const onetbb&) = delete;

    template <class F>
    void post(F&& task) {
        arena_.enqueue(std::forward<F>(task));
    }

private:
    tbb::task_scheduler_handle workers_{tbb::attach{}};
    tbb::global_control threads_;
    tbb::task_arena arena_;
};

}  // namespace

int main(int argc, char** argv) { return apiary::bench::subject_main<onetbb>(argc, argv); }
