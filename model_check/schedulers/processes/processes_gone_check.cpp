// A scheduler of processes that goes as soon as a wait for its end is over: what the end waits for touches it no more.
#include <utility>

#include <apiary/schedulers/processes/offload.hpp>

#include "processes_scenario.hpp"

namespace processes_gone_check {
namespace {

using namespace apiary;
using model::handshake_parameters;
using model::seen;
using model::watched;

// The thread that waits is the worker, too: its thread would be joined after the wait.
template <class Sync>
struct goes_behind_the_wait {
    static constexpr unsigned threads = 2;
    static constexpr std::array engine_laws{"lifetime"};
    using core_type = process_core<Sync>;
    using output = basic_step_output<Sync>;
    using body = typename watched<Sync>::body;
    core_type* core = nullptr;
    seen s;

    void make(body first, basic_process_config<Sync> c = {}) {
        c.parameters = handshake_parameters;
        core = Sync::template create<core_type>(1U, c);
        (void)core->spawn(
            std::make_unique<watched<Sync>>(s, std::move(first), [](event&, output& out) { out.finish(); }));
    }
    auto* worker() {
        auto* const w = core->crew().table()[0];
        Sync::set_current(w);
        return w;
    }
    void turn() {
        Sync::law(worker()->turn_once(), "there was nothing to run");
        no_worker();
    }
    void no_worker() { Sync::set_current(static_cast<typename core_type::worker_type*>(nullptr)); }
    void work_and_go() {
        core->close_the_door();
        worker()->run();
        no_worker();
        Sync::law(core->wait_until(Sync::forever), "a wait for the end came back before it");
        Sync::destroy(core);
        Sync::law(s.closed == 1, "a process was not closed once");
    }
};

template <class Sync>
struct offload_against_the_end : goes_behind_the_wait<Sync> {
    static constexpr const char* what =
        "what was offloaded is completed elsewhere, and all ends by that and goes: the completion is over by then";
    static constexpr std::array must_reach{"sleeper.slept"};
    std::function<void()> posted;
    void before() {
        basic_process_config<Sync> c;
        c.handlers[1] = offload_to<std::function<bool(std::function<void()>)>, Sync>([this](std::function<void()> job) {
            posted = std::move(job);
            return true;
        });
        this->make(
            [](event&, auto& out) {
                out.call(1, 7, offloaded([] { return payload(1); }));
                out.block();
            },
            c);
        this->turn();
        Sync::law(static_cast<bool>(posted), "nothing was offloaded");
    }
    void thread(unsigned i) {
        if (i == 0) return this->work_and_go();
        posted();
    }
    void after() { Sync::law(this->s.completed == 1, "what was offloaded was not told once"); }
};
APIARY_CHECK(offload_against_the_end);

}  // namespace
}  // namespace processes_gone_check
