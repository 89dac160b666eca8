// The scheduler as it ships, without its threads: workers from run() to their end, processes that are spawned, sent to, cancelled
// and killed by others meanwhile. What was accepted is received or buried; every cancel is told; the end is reached, once, and
// after everything that lived.
#include <cstddef>
#include <new>

#include "processes_scenario.hpp"

namespace processes_check {
namespace {

using namespace apiary;
using model::processes_scenario;
using model::seen;
using model::watched;

// One worker, one process, one thread that sends and then stops it all.
template <class Sync>
struct send_and_stop : processes_scenario<Sync, 1, 1> {
    static constexpr const char* what =
        "a message, then the stop: received before the cancel or buried; the worker ends";
    static constexpr std::array must_reach{"sleeper.slept", "processes.received"};
    pid id;
    bool sent = false;
    void before() {
        this->make();
        id = this->spawn(0);
    }
    void thread(unsigned i) {
        if (i == 0) return this->work(0);
        sent = this->core->send(id, 1) == send_answer::accepted;
        this->core->request_stop();
    }
    void after() {
        this->end();
        const seen& s = this->of[0];
        Sync::law(sent && s.messages + this->letters == 1, "an accepted message was neither received nor buried");
        Sync::law(s.cancels == 1 && s.closed == 1, "a cancel was not told once");
        if (s.messages == 1) Sync::reach("processes.received");
    }
};
APIARY_CHECK(send_and_stop);

// The thread that waits for the end reads what processes wrote.
template <class Sync>
struct end_is_waited_for : processes_scenario<Sync, 1, 1> {
    static constexpr const char* what = "a thread waits until all has ended: it sees what the last process did";
    static constexpr std::array must_reach{"processes.waited", "sleeper.slept"};
    typename Sync::template cell<int> made{0};
    void before() {
        made.write(0);
        this->make();
        (void)this->spawn(0, [this](event&, auto& out) {
            made.write(1);
            out.finish();
        });
    }
    void thread(unsigned i) {
        if (i == 0) return this->work(0);
        this->core->close_the_door();
        Sync::law(this->core->wait_until(Sync::forever), "a wait for the end came back before it");
        Sync::law(made.read() == 1, "the end does not show what a process did");
        Sync::reach("processes.waited");
    }
    void after() { this->end(); }
};
APIARY_CHECK(end_is_waited_for);

// A report that says that it is over has all that have ended.
template <class Sync>
struct report_against_end : processes_scenario<Sync, 1, 1> {
    static constexpr const char* what = "a report is made while the last process ends: if it is over, the process is in it";
    static constexpr std::array must_reach{"processes.over", "processes.not_over"};
    void before() {
        this->make();
        (void)this->spawn(0);
        this->core->request_stop();
    }
    void thread(unsigned i) {
        if (i == 0) return this->work(0);
        const auto report = this->core->report();
        Sync::law(!report.over || report.ended == 1, "a report is over, and does not have one that has ended");
        Sync::reach(report.over ? "processes.over" : "processes.not_over");
    }
    void after() { this->end(); }
};
APIARY_CHECK(report_against_end);

// A stop and a spawn from outside: refused, or told to end.
template <class Sync>
struct spawn_against_stop : processes_scenario<Sync, 1, 2> {
    static constexpr const char* what =
        "a spawn races the stop: refused, or the process is told to end; the worker ends";
    static constexpr std::array must_reach{"processes.refused", "processes.spawned"};
    pid id;
    void before() { this->make(); }
    void thread(unsigned i) {
        if (i == 0) return this->work(0);
        if (i == 1) return this->core->request_stop();
        id = this->spawn(0);
        Sync::reach(id ? "processes.spawned" : "processes.refused");
    }
    void after() {
        this->end();
        const seen& s = this->of[0];
        Sync::law(s.closed == (id ? 1U : 0U) && s.cancels == s.closed,
                  "a process was missed by the stop, or told twice");
    }
};
APIARY_CHECK(spawn_against_stop);

// The same where there is no memory for a place: the spawn was counted among the living, and is so no more.
template <class Sync>
struct without_places : Sync {
    template <class T>
    static T* create_array(std::size_t) {
        throw std::bad_alloc();
    }
};
template <class Sync>
struct refused_spawn_against_stop : processes_scenario<without_places<Sync>, 1, 2> {
    static constexpr const char* what = "a spawn without memory for its place races the stop: refused; the worker ends";
    static constexpr std::array must_reach{"processes.no_memory", "processes.stopping"};
    void before() { this->make(); }
    void thread(unsigned i) {
        if (i == 0) return this->work(0);
        if (i == 1) return this->core->request_stop();
        const spawn_answer said = this->core->spawn(this->process(0, {}));
        Sync::law(!said && (said.error == spawn_error::stopping || said.thrown != nullptr), "it was not refused so");
        Sync::reach(said.thrown != nullptr ? "processes.no_memory" : "processes.stopping");
    }
    void after() { this->end(); }
};
APIARY_CHECK(refused_spawn_against_stop);

// The same from a step, where the door is open until the last has ended.
template <class Sync>
struct child_against_stop : processes_scenario<Sync, 1, 1> {
    static constexpr const char* what = "a process spawns another while the stop comes: both are told to end, and do";
    static constexpr std::array must_reach{"processes.spawned"};
    void before() {
        this->make();
        (void)this->spawn(0, [this](event&, auto&) {
            Sync::law(static_cast<bool>(this->spawn(1)), "living work was refused");
            Sync::reach("processes.spawned");
        });
    }
    void thread(unsigned i) {
        if (i == 0) return this->work(0);
        this->core->request_stop();
    }
    void after() {
        this->end();
        for (const seen& s : this->of)
            Sync::law(s.closed == 1 && s.cancels == 1, "a process was missed by the stop, or told twice");
    }
};
APIARY_CHECK(child_against_stop);

// Two threads complete the same call of a blocked process.
template <class Sync>
struct two_completions : processes_scenario<Sync, 1, 2> {
    static constexpr const char* what =
        "two threads complete one call: one is told to the process, the other is counted";
    static constexpr std::array must_reach{"sleeper.slept", "processes.both_accepted", "processes.one_refused"};
    pid id;
    std::array<send_answer, 2> told{};
    void before() {
        this->make();
        id = this->spawn(
            0,
            [](event&, auto& out) {
                out.call(1, 7);
                out.block();
            },
            [](event&, auto& out) { out.finish(); });
        this->core->close_the_door();
        this->turn();  // it has called, and blocks
    }
    void thread(unsigned i) {
        if (i == 0) return this->work(0);
        told[i - 1] = this->core->complete_yield(id, 7, static_cast<int>(i));
    }
    void after() {
        this->end();
        Sync::law(this->of[0].completed == 1, "a call was completed twice, or not at all");
        Sync::law(this->core->counters().late_completions == 1, "a late completion was not counted");
        const bool both = told[0] == send_answer::accepted && told[1] == send_answer::accepted;
        Sync::reach(both ? "processes.both_accepted" : "processes.one_refused");
    }
};
APIARY_CHECK(two_completions);

// One is killed while another sends to it. The place may be free before the send.
template <class Sync>
struct kill_against_send : processes_scenario<Sync, 1, 2> {
    static constexpr const char* what =
        "a kill races a message: received, buried or refused; the process is closed once";
    static constexpr std::array must_reach{"processes.buried", "processes.refused"};
    pid id;
    send_answer told = send_answer::full;
    void before() {
        this->make();
        id = this->spawn(0);
        this->core->close_the_door();
        this->turn();
    }
    void thread(unsigned i) {
        if (i == 0) return this->work(0);
        if (i == 1)
            Sync::law(this->core->kill(id) == send_answer::accepted, "a living process could not be killed");
        else
            told = this->core->send(id, 1);
    }
    void after() {
        this->end();
        const seen& s = this->of[0];
        Sync::law(s.closed == 1 && s.cancels == 0, "a killed process was not closed once");
        Sync::law(s.messages + this->letters == (told == send_answer::accepted ? 1U : 0U),
                  "an accepted message was neither received nor buried");
        if (this->letters == 1) Sync::reach("processes.buried");
        if (told != send_answer::accepted) Sync::reach("processes.refused");
    }
};
APIARY_CHECK(kill_against_send);

// A stop that forces: after the walk of the cancels nobody lingers, also one that ignores its cancel.
template <class Sync>
struct force_ends_the_stubborn : processes_scenario<Sync, 1, 1> {
    static constexpr const char* what = "a process ignores its cancel: the force ends it, wherever it is";
    static constexpr std::array must_reach{"processes.told_first", "processes.never_told"};
    void before() {
        this->make();
        (void)this->spawn(0, {}, [](event&, auto&) {});
    }
    void thread(unsigned i) {
        if (i == 0) return this->work(0);
        this->core->request_stop();
        this->core->force();
    }
    void after() {
        this->end();
        const seen& s = this->of[0];
        Sync::law(s.closed == 1 && s.cancels <= 1, "a process was not closed once");
        Sync::reach(s.cancels == 1 ? "processes.told_first" : "processes.never_told");
        const auto report = this->core->report();
        Sync::law(report.over && report.forced.size() == 1 && report.ended == 0, "the report is wrong");
    }
};
APIARY_CHECK(force_ends_the_stubborn);

// One process begins to watch another while that is killed. Accepted: it is told, once. Refused: it knows.
template <class Sync>
struct watch_against_end : processes_scenario<Sync, 1, 1> {
    static constexpr const char* what = "a process begins to watch another that is killed: told once, or refused";
    static constexpr std::array must_reach{"processes.told", "processes.refused"};
    pid watched;
    send_answer answer = send_answer::full;
    unsigned told = 0;
    void before() {
        this->make();
        watched = this->spawn(1);  // first in the pool: the kill comes before its first step, or after it
        (void)this->spawn(
            0,
            [this](event&, auto& out) {
                answer = out.watch(watched);
                if (answer != send_answer::accepted) out.finish();
            },
            [this](event& e, auto& out) {
                Sync::law(e.type == event_type::ended && e.from() == watched, "a watcher is told of another");
                ++told;
                out.finish();
            });
        this->core->close_the_door();
    }
    void thread(unsigned i) {
        if (i == 0) return this->work(0);
        Sync::law(this->core->kill(watched) == send_answer::accepted, "a living process could not be killed");
    }
    void after() {
        this->end();
        Sync::law(told == (answer == send_answer::accepted ? 1U : 0U), "a watcher was not told once how it ended");
        Sync::reach(told == 1 ? "processes.told" : "processes.refused");
    }
};
APIARY_CHECK(watch_against_end);

// The same on two workers: the watch may come while the watched process runs for the last time.
template <class Sync>
struct watch_in_the_last_run : processes_scenario<Sync, 2, 0> {
    static constexpr const char* what =
        "a process is watched while it runs for the last time: the watcher is told, or refused";
    static constexpr std::array must_reach{"processes.told", "processes.refused"};
    pid watched;
    send_answer answer = send_answer::full;
    unsigned told = 0;
    void before() {
        this->make();
        watched = this->spawn(1, [](event&, auto& out) { out.finish(); });
        (void)this->spawn(
            0,
            [this](event&, auto& out) {
                answer = out.watch(watched);
                if (answer != send_answer::accepted) out.finish();
            },
            [this](event&, auto& out) {
                ++told;
                out.finish();
            });
        this->core->close_the_door();
    }
    // One turn each, and what is left after them: whole workers have too many behaviours.
    void thread(unsigned i) { (void)this->turn_on(i); }
    void after() {
        for (unsigned n = 0; n != 6 && !this->core->over(); ++n) (void)this->turn_on(n % 2);
        this->end();
        Sync::law(told == (answer == send_answer::accepted ? 1U : 0U), "a watcher was not told once how it ended");
        Sync::reach(told == 1 ? "processes.told" : "processes.refused");
    }
};
APIARY_CHECK(watch_in_the_last_run);

// The watcher is stolen by the other worker while the one that ends the watched process is not done with it.
template <class Sync>
struct end_is_told_behind_the_close : processes_scenario<Sync, 2, 0> {
    static constexpr const char* what =
        "a process ends while its watcher runs on another worker: what it held is closed when that is told";
    static constexpr std::array must_reach{"worker.stole"};
    void before() {
        this->make();
        const pid watched = this->spawn(1, {}, [](event&, auto& out) { out.finish(); });
        (void)this->spawn(
            0,
            [watched](event&, auto& out) {
                Sync::law(out.watch(watched) == send_answer::accepted, "a living process was not found");
            },
            [this](event&, auto& out) {
                Sync::law(!this->holds[1].read(), "a watcher is told of an end before the close");
                out.finish();
            });
        this->core->close_the_door();
        while (this->turn_on(0)) {
        }
        Sync::law(this->core->send(watched, 1) == send_answer::accepted, "a living process was not found");
    }
    void thread(unsigned i) {
        for (unsigned n = 0; n != 2; ++n) (void)this->turn_on(i);
    }
    void after() {
        for (unsigned n = 0; n != 6 && !this->core->over(); ++n) (void)this->turn_on(n % 2);
        this->end();
        for (const seen& s : this->of) Sync::law(s.closed == 1, "a process was not closed once");
    }
};
APIARY_CHECK(end_is_told_behind_the_close);

// Two that link and unlink, each on a worker of its own: at their first step, and at a message 1. Message 2 asks both in the end,
// neither of which has taken what the other one says there, and ends them.
template <class Sync>
struct two_that_link : processes_scenario<Sync, 2, 0> {
    using worker = typename processes_scenario<Sync, 2, 0>::core_type::worker_type;
    using output = typename processes_scenario<Sync, 2, 0>::output;
    using body = typename processes_scenario<Sync, 2, 0>::body;
    pid first, second;
    bool first_has = false, second_has = false;

    static void link(output& out, pid to) {
        Sync::law(out.link(to) == send_answer::accepted, "a living process was not found");
    }
    static void unlink(output& out, pid to) {
        Sync::law(out.unlink(to) == send_answer::accepted, "a link was not found");
    }
    void send(unsigned to, int what) {
        Sync::set_current(this->core->crew().table()[to]);  // to its own worker
        Sync::law(this->core->send(to == 0 ? first : second, what) == send_answer::accepted, "one ended by itself");
        Sync::set_current(static_cast<worker*>(nullptr));
    }
    void make(body first_begins, body second_begins, body of_first = {}, body of_second = {}) {
        processes_scenario<Sync, 2, 0>::make();
        const auto asked_in_the_end = [](body then, auto is_asked) {
            return [then, is_asked](event& e, output& out) {
                if (*e.data.template get<int>() == 1) return then(e, out);
                is_asked(out);
                out.finish();
            };
        };
        first = this->spawn(0, first_begins, asked_in_the_end(of_first, [this](output& out) {
                                send(1, 2);
                                Sync::law(this->turn_on(1), "there was nothing to run");
                                first_has = out.unlink(second) != send_answer::no_such_process;
                            }));
        second = this->spawn(1, second_begins, asked_in_the_end(of_second, [this](output& out) {
                                 second_has = out.unlink(first) != send_answer::no_such_process;
                             }));
        this->core->close_the_door();
    }
    void thread(unsigned i) { (void)this->turn_on(i); }
    void turns() {
        for (unsigned n = 0; n != 8 && !this->core->over(); ++n) (void)this->turn_on(n % 2);
    }
    void after() {
        turns();
        send(0, 2);
        turns();
        Sync::law(first_has == second_has, "one of two has a link, and the other has not");
        Sync::reach(first_has ? "processes.linked" : "processes.unlinked");
        this->end();
    }
};

// One links and takes it back while the other links to it, perhaps before it has seen any of that.
template <class Sync>
struct links_that_cross : two_that_link<Sync> {
    static constexpr const char* what =
        "a process links to another and unlinks while that one links to it: both have the link in the end, or neither";
    static constexpr std::array must_reach{"processes.linked", "processes.unlinked"};
    void before() {
        this->make(
            [this](event&, auto& out) {
                this->link(out, this->second);
                this->unlink(out, this->second);
            },
            [this](event&, auto& out) { this->link(out, this->first); });
    }
};
APIARY_CHECK(links_that_cross);

// Both have linked before. What the first takes back it has seen before it begins to.
template <class Sync>
struct link_against_unlink : two_that_link<Sync> {
    static constexpr const char* what =
        "of two that are linked one unlinks while the other links: both have the link in the end, or neither; both, if "
        "the unlink had begun";
    static constexpr std::array must_reach{"processes.linked", "processes.unlinked", "processes.had_begun"};
    std::atomic<bool> begun = false;
    bool had_begun = false;
    void before() {
        this->make([this](event&, auto& out) { this->link(out, this->second); },
                   [this](event&, auto& out) { this->link(out, this->first); },
                   [this](event&, auto& out) {
                       begun = true;
                       this->unlink(out, this->second);
                   },
                   [this](event&, auto& out) {
                       had_begun = begun;
                       this->link(out, this->first);
                   });
        this->turns();
        for (const unsigned i : {0U, 1U}) this->send(i, 1);
    }
    void after() {
        two_that_link<Sync>::after();
        Sync::law(this->first_has || !had_begun, "a link was accepted and is lost");
        if (had_begun) Sync::reach("processes.had_begun");
    }
};
APIARY_CHECK(link_against_unlink);

// A child that is watched from its spawn, and ends at once, perhaps on the other worker before the spawn has returned.
template <class Sync>
struct spawn_watched_against_end : processes_scenario<Sync, 2, 0> {
    static constexpr const char* what = "a child is watched from its spawn and ends at once: its parent is told, once";
    static constexpr std::array must_reach{"processes.told", "processes.ended_first"};
    std::atomic<unsigned> told = 0;
    void before() {
        this->make();
        (void)this->spawn(
            0,
            [this](event&, auto& out) {
                auto child = this->process(1, [](event&, auto& o) { o.finish(); });
                Sync::law(static_cast<bool>(out.spawn_watched(std::move(child))), "living work was refused");
                if (this->of[1].closed == 1) Sync::reach("processes.ended_first");
            },
            [this](event& e, auto& out) {
                Sync::law(e.type == event_type::ended, "a watcher is told of something else");
                ++told;
                out.finish();
            });
        this->core->close_the_door();
    }
    void thread(unsigned i) { (void)this->turn_on(i); }
    void after() {
        for (unsigned n = 0; n != 6 && !this->core->over(); ++n) (void)this->turn_on(n % 2);
        this->end();
        Sync::law(told == 1, "a watcher was not told once how it ended");
        Sync::reach("processes.told");
    }
};
APIARY_CHECK(spawn_watched_against_end);

// A process has started two others, sent itself a message, and lets them run; a thief takes what it can get meanwhile.
template <class Sync>
struct others_run_first : processes_scenario<Sync, 2, 0> {
    static constexpr const char* what =
        "a process that sends to itself waits behind what is ready on its worker, of which a thief takes some: all run";
    static constexpr std::array must_reach{"process_ready.others_first", "process_ready.thieves_have_the_others",
                                           "process_ready.took_from_behind"};
    seen second;
    void before() {
        this->make();
        const auto ends = [](event&, auto& out) { out.finish(); };
        (void)this->spawn(
            0,
            [this, ends](event&, auto& out) {
                Sync::law(static_cast<bool>(out.spawn(this->process(1, ends))), "living work was refused");
                auto other = std::make_unique<watched<Sync>>(second, ends, typename others_run_first::body{});
                Sync::law(static_cast<bool>(out.spawn(std::move(other))), "living work was refused");
                Sync::law(out.send(out.self(), 1) == send_answer::accepted, "a process does not find itself");
            },
            ends);
        this->core->close_the_door();
        this->turn();
        Sync::law(this->of[0].steps == 1 && this->of[0].messages == 0, "it did not let others run");
    }
    // The thief has a turn for each of the three.
    void thread(unsigned i) {
        for (unsigned n = 0; n != 1 + 2 * i; ++n) (void)this->turn_on(i);
    }
    void after() {
        for (unsigned n = 0; n != 8 && !this->core->over(); ++n) (void)this->turn_on(n % 2);
        this->end();
        Sync::law(this->of[0].messages == 1, "a message to itself was lost");
        for (const seen* s : {&this->of[0], &this->of[1], &second})
            Sync::law(s->closed == 1, "a process was not closed once");
    }
};
APIARY_CHECK(others_run_first);

// Two workers; a process that was woken lies in the slot of the one, and the other may steal it.
template <class Sync>
struct last_one_out : processes_scenario<Sync, 2, 0> {
    static constexpr const char* what = "two workers, the last process in the slot of one: both leave, after its end";
    static constexpr std::array must_reach{"worker.stole", "sleeper.slept"};
    void before() {
        this->make();
        const pid last = this->spawn(1, {}, [](event&, auto& out) { out.finish(); });
        (void)this->spawn(0, [last](event&, auto& out) {
            Sync::law(out.send(last, 1) == send_answer::accepted, "a living process was not found");
            out.finish();
        });
        this->core->close_the_door();
        for (unsigned i = 0; this->of[0].closed == 0; ++i) {
            Sync::law(i != 4, "a process that is ready does not run");
            this->turn();
        }
    }
    void thread(unsigned i) { this->work(i); }
    void after() {
        this->end();
        for (const seen& s : this->of) Sync::law(s.closed == 1, "a process was not closed once");
        Sync::law(this->of[1].messages == 1, "an accepted message was lost");
    }
};
APIARY_CHECK(last_one_out);

}  // namespace
}  // namespace processes_check
