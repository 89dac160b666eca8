// The hooks themselves: an add and a remove against the stop, on hooks that go as soon as they are removed.
#include <array>

#include <apiary/coroutines/stop_hooks.hpp>
#include <apiary/model_check/register.hpp>

namespace stop_hooks_check {
namespace {

using namespace apiary;
using namespace apiary::model;

template <class Sync>
struct told : stop_hook<Sync> {
    typename Sync::template cell<bool> lives{true};
    typename Sync::template cell<int> calls{0};
    ~told() { lives.write(false); }
    static void call(stop_hook<Sync>& h) noexcept {
        auto& me = static_cast<told&>(h);
        Sync::law(me.lives.read(), "a call came to a hook that is being destroyed");
        me.calls.write(me.calls.read() + 1);
    }
};

// One that begins to listen, and ends, while a stop is asked for.
template <class Sync>
struct hook_meets_the_stop {
    static constexpr const char* what =
        "a hook is added and removed while a stop is asked for: called once or not, and never behind its remove";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"hook.refused", "hook.called", "hook.removed_before",
                                           "stop_hooks.waited_for_the_call"};
    static constexpr std::array engine_laws{"lifetime"};
    stop_hooks<Sync> hooks;
    void thread(unsigned i) {
        if (i == 1) {
            Sync::law(hooks.ask(), "the first ask said that it was not");
            return;
        }
        auto* const h = Sync::template create<told<Sync>>();
        if (hooks.add(*h, &told<Sync>::call)) {
            stop_hooks<Sync>::remove(*h);
            Sync::law(h->calls.read() <= 1, "a hook was called twice");
            Sync::reach(h->calls.read() == 1 ? "hook.called" : "hook.removed_before");
        } else {
            Sync::reach("hook.refused");
            Sync::law(h->calls.read() == 0, "a hook was refused, and called");
        }
        Sync::destroy(h);
    }
};
APIARY_CHECK(hook_meets_the_stop);

template <class Sync>
struct two_ask_for_the_stop {
    static constexpr const char* what =
        "two threads ask for the stop, one of two hooks is removed meanwhile: one asks, and the other stays called "
        "once";
    static constexpr unsigned threads = 3;
    static constexpr std::array must_reach{"ask.second"};
    stop_hooks<Sync> hooks;
    told<Sync> stays, goes;
    typename Sync::template atomic<int> first{0};
    void before() {
        first.store(0, std::memory_order_relaxed);
        Sync::law(hooks.add(goes, &told<Sync>::call) && hooks.add(stays, &told<Sync>::call),
                  "a hook was refused before the stop");
    }
    void thread(unsigned i) {
        if (i == 2) {
            stop_hooks<Sync>::remove(goes);
            Sync::law(goes.calls.read() <= 1, "a hook was called twice");
            return;
        }
        if (hooks.ask())
            first.fetch_add(1, std::memory_order_relaxed);
        else
            Sync::reach("ask.second");
    }
    void after() {
        Sync::law(first.load(std::memory_order_relaxed) == 1, "not one ask was the first");
        Sync::law(stays.calls.read() == 1, "a hook that stayed was not called once");
        stop_hooks<Sync>::remove(stays);
    }
};
APIARY_CHECK(two_ask_for_the_stop);

// What a call lets go on may go on inside it: the parent of when_any, whose stop asks that of its children. The last child
// removes the parent's hook, on the stack of the parent's own call.
template <class Sync>
struct ask_inside_a_call {
    static constexpr const char* what =
        "a call asks other hooks, and what those let go on removes the first: inside the call or beside it";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"hook.inside", "stop_hooks.waited_for_the_call"};
    struct first : stop_hook<Sync> {
        ask_inside_a_call* check;
        typename Sync::template cell<int> uses{0};
    };
    struct second : stop_hook<Sync> {
        ask_inside_a_call* check;
    };
    stop_hooks<Sync> parents, childrens;
    first parent;
    second child;
    typename Sync::template cell<bool> inside{false};
    void before() {
        parent.check = child.check = this;
        Sync::law(parents.add(parent, &parents_call) && childrens.add(child, &childs_call), "a hook was refused");
    }
    static void parents_call(stop_hook<Sync>& h) noexcept {
        auto& me = static_cast<first&>(h);
        me.uses.write(1);
        me.check->childrens.ask();
    }
    static void childs_call(stop_hook<Sync>& h) noexcept {
        ask_inside_a_call& check = *static_cast<second&>(h).check;
        stop_hooks<Sync>::remove(check.parent);
        Sync::reach(check.parent.uses.read() == 1 ? "hook.inside" : "hook.removed_before");
        check.parent.uses.write(2);  // the frame goes
    }
    void thread(unsigned i) {
        if (i == 0)
            parents.ask();
        else
            childrens.ask();
    }
};
APIARY_CHECK(ask_inside_a_call);

}  // namespace
}  // namespace stop_hooks_check
