// A subject that must be found out: it runs the first of two tasks twice in place of the second, and fires
// timers early. It is a test of the harness, not a runtime: everything runs in the call itself.
#include <chrono>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "scenarios/list.hpp"

namespace {

class wrong_runtime {
public:
    static constexpr std::string_view name = "wrong";
    static std::string version() { return "0"; }

    explicit wrong_runtime(unsigned) {}

    template <class F>
    void post(F&& task) {
        if (first_) {
            std::exchange(first_, std::nullopt).value()();
        } else {
            first_.emplace(task);
            task();
        }
    }

    // The order of the calls is kept, so that a chain of timers does not become a recursion.
    template <class F>
    void post_delayed(std::chrono::nanoseconds, F&& task) {
        timers_.emplace_back(std::forward<F>(task));
        if (std::exchange(firing_, true)) return;
        for (; !timers_.empty(); timers_.pop_front()) timers_.front()();
        firing_ = false;
    }

private:
    std::optional<std::function<void()>> first_;
    std::deque<std::function<void()>> timers_;
    bool firing_ = false;
};

}  // namespace

int main(int argc, char** argv) { return apiary::bench::subject_main<wrong_runtime>(argc, argv); }
