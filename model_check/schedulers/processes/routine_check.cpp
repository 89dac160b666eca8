// A routine as it ships, on a worker that runs to its end: its wait ends once, by what it waits for, by its time, or by a
// cancel; what it has not received is buried; its frame goes.
#include <apiary/schedulers/processes/routine.hpp>

#include "processes_scenario.hpp"

namespace routine_check {
namespace {

using namespace apiary;
using model::processes_scenario;

template <class Sync>
struct routines : processes_scenario<Sync, 1, 1> {
    using self = basic_routine_self<Sync>;
    // A local of the frame.
    struct guard {
        explicit guard(unsigned& n) : frames(n) { ++frames; }
        guard(const guard&) = delete;
        guard& operator=(const guard&) = delete;
        ~guard() { --frames; }
        unsigned& frames;
    };
    unsigned frames = 0, begun = 0, received = 0, slept = 0, timed_out = 0, cancelled = 0;
    std::atomic<unsigned> accepted = 0;
    pid id;

    void begin(typename basic_routine_process<Sync>::body b) {
        this->make();
        id = this->core->spawn(as_process<Sync>(std::move(b))).id;
        this->core->close_the_door();
        this->turn();
        Sync::law(begun == 1, "a routine has not begun");
    }
    void send() {
        if (this->core->send(id, 1) == send_answer::accepted) ++accepted;
    }
    void after_the_end() {
        this->end();
        Sync::law(frames == 0, "a frame is left, or went twice");
        Sync::law(received + this->letters == accepted, "an accepted message was neither received nor buried");
    }
};

template <class Sync>
struct sleep_against_stop : routines<Sync> {
    static constexpr const char* what = "a routine sleeps while all is told to stop: its sleep ends, once, or is cancelled";
    static constexpr std::array must_reach{"routine.slept", "routine.cancelled"};
    void before() {
        this->begin([this](auto& me) { return sleeps(*this, me); });
    }
    static basic_routine<Sync> sleeps(sleep_against_stop& in, basic_routine_self<Sync>& me) {
        const typename routines<Sync>::guard here(in.frames);
        ++in.begun;
        try {
            co_await me.sleep(1'000);
            ++in.slept;
        } catch (const wait_cancelled&) {
            ++in.cancelled;
        }
    }
    void thread(unsigned i) {
        if (i == 0) return this->work(0);
        this->core->request_stop();
    }
    void after() {
        this->after_the_end();
        Sync::law(this->slept + this->cancelled == 1, "a sleep did not end once");
        Sync::reach(this->slept == 1 ? "routine.slept" : "routine.cancelled");
    }
};
APIARY_CHECK(sleep_against_stop);

template <class Sync>
struct limit_against_message : routines<Sync> {
    static constexpr const char* what =
        "a message comes while a receive's time ends: the wait ends once, and the message is received or buried";
    static constexpr std::array must_reach{"routine.received", "routine.buried", "routine.refused"};
    void before() {
        this->begin([this](auto& me) { return waits(*this, me); });
    }
    static basic_routine<Sync> waits(limit_against_message& in, basic_routine_self<Sync>& me) {
        const typename routines<Sync>::guard here(in.frames);
        ++in.begun;
        ++(co_await me.receive_for(1'000) ? in.received : in.timed_out);
    }
    void thread(unsigned i) {
        if (i == 0) return this->work(0);
        this->send();
    }
    void after() {
        this->after_the_end();
        Sync::law(this->received + this->timed_out == 1, "a wait did not end once");
        if (this->received == 1) return Sync::reach("routine.received");
        Sync::reach(this->accepted == 1 ? "routine.buried" : "routine.refused");
    }
};
APIARY_CHECK(limit_against_message);

// Killed where it waits, with a message inside that it does not want.
template <class Sync>
struct wanted_against_kill : routines<Sync> {
    unsigned looked = 0;
    static constexpr const char* what = "a routine is killed while it passes over a message: buried, and its frame goes";
    static constexpr std::array must_reach{"routine.passed_over", "routine.never_seen"};
    void before() {
        this->begin([this](auto& me) { return wants(*this, me); });
    }
    static basic_routine<Sync> wants(wanted_against_kill& in, basic_routine_self<Sync>& me) {
        const typename routines<Sync>::guard here(in.frames);
        ++in.begun;
        for (;;)
            (void)co_await me.receive([&in](event&) {
                ++in.looked;
                return false;
            });
    }
    void thread(unsigned i) {
        if (i == 0) return this->work(0);
        this->send();
        Sync::law(this->core->kill(this->id) == send_answer::accepted, "a living process could not be killed");
    }
    void after() {
        this->after_the_end();
        Sync::reach(this->looked != 0 ? "routine.passed_over" : "routine.never_seen");
    }
};
APIARY_CHECK(wanted_against_kill);

}  // namespace
}  // namespace routine_check
