// Subject `caf`: the C++ Actor Framework, event-based actors on its work-stealing scheduler with N threads. A process
// is an actor whose state lies in its handler, a letter a message of two integers, sent by the sending actor's own
// `send`, which queues the actor that has become ready at the sender's worker.
//
// Tasks cannot be posted to it. Its memory comes from operator new.
//
// A thief of its stealing scheduler walks through all actors that its victim has ready: with a thief, idle_processes of
// a hundred thousand does not end within 30 s. With sharing=1 it has CAF's other scheduler, of one queue for all.
#include <caf/all.hpp>
#include <caf/config.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "scenarios/list.hpp"

namespace {

using apiary::bench::letter;

class with_workers : public caf::actor_system_config {
public:
    with_workers(unsigned workers, bool sharing) {
#if CAF_VERSION >= 1800
        set("caf.scheduler.max-threads", std::size_t{workers});
        if (sharing) set("caf.scheduler.policy", "sharing");
#else
        set("scheduler.max-threads", std::size_t{workers});
        if (sharing) set("scheduler.policy", caf::atom("sharing"));
#endif
    }
};

class caf_actors {
public:
    static constexpr std::string_view name = "caf";
    static std::string version() {
        return std::to_string(CAF_MAJOR_VERSION) + "." + std::to_string(CAF_MINOR_VERSION) + "." +
               std::to_string(CAF_PATCH_VERSION);
    }

    static constexpr std::array tunables{
        apiary::bench::parameter{.name = "sharing", .standard = 0, .least = 0, .most = 1}};
    static void tune(std::string_view, std::uint64_t value) { sharing_ = value != 0; }

    explicit caf_actors(unsigned workers) : config_(workers, sharing_), system_(config_) {}

    using address = caf::actor;

    class self {
    public:
        explicit self(caf::event_based_actor* actor) : actor_(actor) {}

        template <class P>
        address spawn(P process) {
            return actor_->spawn(body<P>, std::move(process));
        }
        void send(const address& to, letter message) { actor_->send(to, message.what, message.number); }
        address me() { return caf::actor(actor_); }
        void stop() {
            stopped_ = true;
            actor_->quit();
        }
        [[nodiscard]] bool stopped() const { return stopped_; }

    private:
        caf::event_based_actor* actor_;
        bool stopped_ = false;
    };

    template <class P>
    void begin(P process) {
        system_.spawn(body<P>, std::move(process));
    }

private:
    // An actor calls this when it first runs, to say how it handles messages.
    template <class P>
    static caf::behavior body(caf::event_based_actor* actor, P process) {
        self me(actor);
        apiary::bench::start_process(process, me);
        if (me.stopped()) return {};
        return {[actor, mine = std::move(process)](std::uint64_t what, std::uint64_t number) mutable {
            self now(actor);
            apiary::bench::deliver(mine, now, {what, number});
        }};
    }

    static inline bool sharing_ = false;

    with_workers config_;
    caf::actor_system system_;  // ends when its last actor has
};

}  // namespace

int main(int argc, char** argv) { return apiary::bench::subject_main<caf_actors>(argc, argv); }
