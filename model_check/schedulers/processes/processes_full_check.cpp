// The scheduler as it ships: full mailboxes. Of two processes that would wait for each other one is refused, and only then; one that
// is killed while it waits ends; one that drops its oldest keeps its newest.
#include "processes_scenario.hpp"

namespace processes_full_check {
namespace {

using namespace apiary;
using model::bounded;
using model::processes_scenario;
using model::seen;

// Two of a bound of one send two to each other, each in its first step. Both steps at a time: the last send closes the circle. One
// behind the other: the first goes on when its messages are taken.
template <class Sync>
struct circle_of_two : processes_scenario<Sync, 2, 0> {
    static constexpr const char* what = "two processes with full mailboxes send to each other: one of them is told";
    static constexpr std::array must_reach{"process_core.full", "full.circle", "full.no_circle"};
    using core_type = typename processes_scenario<Sync, 2, 0>::core_type;
    std::array<pid, 2> ids;
    std::array<std::atomic<unsigned>, 2> accepted{};
    std::atomic<unsigned> told_full = 0, named = 0;

    void before() {
        typename circle_of_two::config_type c;
        c.parameters = model::handshake_parameters;
        c.on_full_circle = [this](const std::vector<pid>& circle) {
            ++named;
            Sync::law(circle.size() == 2 && circle[0] != circle[1], "a circle of two has other names");
        };
        this->core = std::make_unique<core_type>(2, c);
        for (unsigned i = 0; i != 2; ++i)
            ids[i] = this->core
                         ->spawn(std::make_unique<bounded<Sync>>(
                             this->of[i], mailbox_limit{.most = 1, .then = when_full::suspend_sender},
                             [this, i](event&, auto& out) { send_two(i, out); },
                             [](event& e, auto& out) {
                                 if (e.type == event_type::cancel) out.finish();
                             }))
                         .id;
    }
    void send_two(unsigned i, typename circle_of_two::output& out) {
        for (int n = 0; n != 2; ++n) {
            const send_answer a = out.send(ids[1 - i], n);
            Sync::law(a == send_answer::accepted || (n == 1 && a == send_answer::full), "a send to one that lives");
            ++(a == send_answer::accepted ? accepted[1 - i] : told_full);
        }
    }
    void thread(unsigned i) { (void)this->turn_on(i); }
    void after() {
        for (unsigned n = 0; n != 8; ++n) (void)this->turn_on(n % 2);
        for (unsigned i = 0; i != 2; ++i)
            Sync::law(this->of[i].messages == accepted[i], "one waits for room that is there, for ever");
        Sync::law(told_full <= 1 && named == told_full && this->core->counters().full_circles == told_full,
                  "a circle was not told to one of two");
        Sync::reach(told_full == 1 ? "full.circle" : "full.no_circle");
        this->core->request_stop();
        for (unsigned n = 0; n != 8 && !this->core->over(); ++n) (void)this->turn_on(n % 2);
        this->end();
        Sync::law(this->of[0].closed == 1 && this->of[1].closed == 1, "a process was not closed once");
    }
};
APIARY_CHECK(circle_of_two);

// A process waits for room. It is killed while the receiver takes its message, and so tells it that there is room.
template <class Sync>
struct suspended_one_is_killed : processes_scenario<Sync, 2, 0> {
    static constexpr const char* what = "a process that waits for room is killed while its message is taken: it ends";
    static constexpr std::array must_reach{"process_core.full", "full.ended_first", "full.taken_first"};
    static constexpr mailbox_limit one{.most = 1, .then = when_full::suspend_sender};
    pid sink, sender;
    bool ended_first = false;

    void before() {
        this->make();
        const auto until_cancelled = [this](event& e, auto& out) {
            if (e.type == event_type::cancel) return out.finish();
            if (this->of[1].messages == 2) ended_first = !this->core->lives(sender);
        };
        sink = this->core->spawn(std::make_unique<bounded<Sync>>(this->of[1], one, nullptr, until_cancelled)).id;
        this->turn();  // it is idle
        const auto send_two = [this](event&, auto& out) {
            for (int n = 0; n != 2; ++n)
                Sync::law(out.send(sink, n) == send_answer::accepted, "a mailbox that suspends its senders refuses");
        };
        sender =
            this->core->spawn(std::make_unique<bounded<Sync>>(this->of[0], one, send_two, [](event&, auto&) {})).id;
        this->turn();  // it is suspended
    }
    void thread(unsigned i) {
        if (i == 0) Sync::law(this->core->kill(sender) == send_answer::accepted, "one that waits could not be killed");
        (void)this->turn_on(i);
    }
    void after() {
        for (unsigned n = 0; n != 6; ++n) (void)this->turn_on(n % 2);
        Sync::law(this->of[0].closed == 1 && this->of[0].steps == 1, "a killed process was not closed, or was stepped");
        Sync::law(this->of[1].messages == 2, "an accepted message was lost");
        Sync::reach(ended_first ? "full.ended_first" : "full.taken_first");
        this->core->request_stop();
        for (unsigned n = 0; n != 6 && !this->core->over(); ++n) (void)this->turn_on(n % 2);
        this->end();
    }
};
APIARY_CHECK(suspended_one_is_killed);

// A thread sends three to one that has room for one, and cancels it. One turn meanwhile; what is left after it.
template <class Sync>
struct oldest_are_dropped : processes_scenario<Sync, 1, 1> {
    static constexpr const char* what = "a receiver drops its oldest while a thread sends: the newest is received";
    static constexpr std::array must_reach{"process_core.full", "full.dropped", "full.none_dropped"};
    pid id;
    unsigned accepted = 0;
    int newest = -1, got = -1;  // got: of the one worker alone

    void before() {
        this->make();
        id = this->core
                 ->spawn(std::make_unique<bounded<Sync>>(this->of[0],
                                                         mailbox_limit{.most = 1, .then = when_full::drop_oldest},
                                                         typename oldest_are_dropped::body{},
                                                         [this](event& e, auto& out) {
                                                             if (e.type == event_type::cancel) return out.finish();
                                                             const int n = *e.data.template get<int>();
                                                             Sync::law(n > got, "messages changed their order");
                                                             got = n;
                                                         }))
                 .id;
        this->core->close_the_door();
    }
    void thread(unsigned i) {
        if (i == 0) return (void)this->turn_on(0);
        for (int n = 0; n != 3; ++n)
            if (this->core->send(id, n) == send_answer::accepted) ++accepted, newest = n;
        Sync::law(accepted >= 2, "twice the bound is not there");
        Sync::law(this->core->cancel(id) == send_answer::accepted, "a living process could not be cancelled");
    }
    void after() {
        for (unsigned n = 0; n != 4 && !this->core->over(); ++n) (void)this->turn_on(0);
        this->end();
        const seen& s = this->of[0];
        Sync::law(s.messages + this->letters == accepted && s.closed == 1, "an accepted message was lost");
        Sync::law(got == newest, "the newest was dropped");
        Sync::reach(this->letters == 0 ? "full.none_dropped" : "full.dropped");
    }
};
APIARY_CHECK(oldest_are_dropped);

// A thread sends two messages, the second when the receiver is killed. Where the second has room, the receiver ends before that
// send, between the send's look at the room and its push, or after. Where it has none, the receiver has ended, or is told full.
template <class Sync, when_full Then, std::uint32_t Most = 1>
struct full_one_is_killed : processes_scenario<Sync, 1, 1> {
    pid id;
    unsigned accepted = 0, full = 0;
    void before() {
        this->make();
        id = this->core
                 ->spawn(std::make_unique<bounded<Sync>>(this->of[0], mailbox_limit{.most = Most, .then = Then},
                                                         typename full_one_is_killed::body{}, [](event&, auto&) {}))
                 .id;
        this->core->close_the_door();
        this->turn();  // it is idle
        send();
        Sync::law(accepted == 1, "an empty mailbox refuses");
        Sync::law(this->core->kill(id) == send_answer::accepted, "a living process could not be killed");
    }
    void send() {
        const send_answer said = this->core->send(id, 1);
        accepted += said == send_answer::accepted ? 1U : 0U;
        full += said == send_answer::full ? 1U : 0U;
    }
    void thread(unsigned i) {
        if (i == 0) return (void)this->turn_on(0);
        send();
    }
    void after() {
        this->end();
        const seen& s = this->of[0];
        Sync::law(s.closed == 1, "a process was not closed once");
        Sync::law(this->letters == accepted, "an accepted message was not buried");
        Sync::reach(full != 0 ? "full.refused" : accepted == 2 ? "full.buried" : "full.gone");
    }
};
template <class Sync>
struct refusing_one_is_killed : full_one_is_killed<Sync, when_full::refuse> {
    static constexpr const char* what = "a receiver that refuses what is too much ends meanwhile: full, or gone";
    static constexpr std::array must_reach{"full.refused", "full.gone"};
};
APIARY_CHECK(refusing_one_is_killed);
template <class Sync>
struct refusing_one_with_room_is_killed : full_one_is_killed<Sync, when_full::refuse, 2> {
    static constexpr const char* what = "a receiver that refuses what is too much ends while it has room: buried, or gone";
    static constexpr std::array must_reach{"full.buried", "full.gone"};
};
APIARY_CHECK(refusing_one_with_room_is_killed);
template <class Sync>
struct dropping_one_is_killed : full_one_is_killed<Sync, when_full::drop_oldest> {
    static constexpr const char* what = "a receiver that drops its oldest ends meanwhile: buried, or gone";
    static constexpr std::array must_reach{"full.buried", "full.gone"};
};
APIARY_CHECK(dropping_one_is_killed);

}  // namespace
}  // namespace processes_full_check
