// What a task graph may be asked for beyond one submitter and one window: several submitters that take turns, and a window that
// gets another size.
#include "window_scenario.hpp"

namespace task_graph_options_check {
namespace {

using namespace apiary;
using namespace apiary::model;

template <class Sync>
struct window_is_resized : window_scenario<Sync, 2, 2> {
    static constexpr const char* what =
        "a window gets another size while its tasks end: their slots go behind their last users";
    static constexpr std::array must_reach{"task_window.resized", "window.waited"};
    static constexpr std::array engine_laws{"deadlock"};
    void before() { this->submit({}), this->submit({0}, 0); }
    void thread(unsigned i) {
        if (i == 1) return this->run(1, 0);
        Sync::law(this->window.resize(4, 2, [this](auto& s) { this->wait(s); }),
                  "nothing kept the window from its size");
        this->submit({1}), this->submit({2});
        this->run(0, 2);
    }
    void after() { this->everything_is_consumed(); }
};
APIARY_CHECK(window_is_resized);

template <class Sync>
struct scope_keeps_the_window_as_it_is : window_scenario<Sync, 2, 2> {
    static constexpr const char* what =
        "a scope keeps a task that ends: the window keeps its size, and the output stays";
    static constexpr std::array must_reach{"window.waited"};
    void before() {
        this->window.begin_scope();
        this->submit({});
    }
    void thread(unsigned i) {
        if (i == 1) return this->run(1, 0);
        Sync::law(!this->window.resize(4, 2, [this](auto& s) { this->wait(s); }), "a slot went while a scope held it");
        Sync::law(this->window.slots() == 2, "the window has another size");
        this->submit({0}, 0);
        this->run(0, 1);
    }
    void after() { this->everything_is_consumed(); }
};
APIARY_CHECK(scope_keeps_the_window_as_it_is);

// Any thread may be the submitter, one at a time: basic_task_graph::submitter_turn.
template <class Sync>
struct submitters_take_turns : window_scenario<Sync, 2, 3, 4, 4> {
    static constexpr const char* what =
        "two threads submit to a full window, in turns: both wait for the oldest task, each with its own";
    static constexpr std::array must_reach{"window.waited", "task_window.full"};
    static constexpr std::array engine_laws{"deadlock"};
    static constexpr std::array alike{0U, 1U};
    typename Sync::mutex turns;

    void before() { this->submit({}, 0), this->submit({0}, 0); }
    void thread(unsigned i) {
        if (i == 2) return this->run(2, 0);
        task_id mine = 0;
        {
            const typename Sync::lock turn(turns);
            mine = this->submit({}, 0);
        }
        this->run(i, mine);
    }
    void after() { this->everything_is_consumed(); }
};
APIARY_CHECK(submitters_take_turns);

}  // namespace
}  // namespace task_graph_options_check
