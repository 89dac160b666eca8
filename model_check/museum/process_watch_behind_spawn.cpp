// C20: a process spawns another and then watches it. Another worker has run the child to its end in between: the watch is refused,
// and how the child ended is told to nobody. A supervisor that relied on it restarted the child that had thrown, and not its siblings.
//
// From: this project's own first supervisor; a stress of its tests, once in 2,100 runs.
// Seen by: both engines, plain interleaving.
// Fixed twin: spawn_watched, which puts the parent among the child's watchers before the child is queued.
#include "../schedulers/processes/processes_scenario.hpp"

namespace process_watch_behind_spawn {
namespace {

using namespace apiary;
using namespace apiary::model;

template <class Sync, bool AtOnce>
struct parent_and_child : processes_scenario<Sync, 2, 0> {
    std::atomic<unsigned> told = 0;
    void before() {
        this->make();
        (void)this->spawn(
            0,
            [this](event&, auto& out) {
                auto child = this->process(1, [](event&, auto& o) { o.finish(); });
                if constexpr (AtOnce) {
                    (void)out.spawn_watched(std::move(child));
                } else {
                    const pid made = out.spawn(std::move(child)).id;
                    if (out.watch(made) != send_answer::accepted) out.finish();
                }
            },
            [this](event&, auto& out) {
                ++told;
                out.finish();
            });
        this->core->close_the_door();
    }
    void thread(unsigned i) { (void)this->turn_on(i); }
    void after() {
        for (unsigned n = 0; n != 6 && !this->core->over(); ++n) (void)this->turn_on(n % 2);
        Sync::law(told == 1, "a parent was not told how its child ended");
    }
};
template <class Sync>
struct process_watch_behind_spawn : parent_and_child<Sync, false> {
    static constexpr const char* what = "a child is spawned, and then watched: it may have ended in between";
};
APIARY_EXHIBIT(process_watch_behind_spawn, "not told how its child ended");
template <class Sync>
struct process_spawn_watched : parent_and_child<Sync, true> {
    static constexpr const char* what = "twin of C20: the child has its watcher before any worker can run it";
    static constexpr const char* exhibit = "process_watch_behind_spawn";
};
APIARY_CHECK(process_spawn_watched);

}  // namespace
}  // namespace process_watch_behind_spawn
