// The scheduler as it ships: bounded mailboxes, requests and links. A sender that waits goes on, once, when its message is taken or
// buried; a request is answered once; two that are linked end together.
#include "processes_scenario.hpp"

namespace processes_mail_check {
namespace {

using namespace apiary;
using model::bounded;
using model::processes_scenario;
using model::seen;

// A thread outside fills a mailbox of one and blocks; the receiver takes, or is killed.
template <class Sync, bool Killed>
struct thread_at_a_full_mailbox : processes_scenario<Sync, 1, 1> {
    pid id;
    void before() {
        this->make();
        id = this->core
                 ->spawn(std::make_unique<bounded<Sync>>(this->of[0],
                                                         mailbox_limit{.most = 1, .then = when_full::suspend_sender},
                                                         typename thread_at_a_full_mailbox::body{},
                                                         [n = 0](event& e, auto& out) mutable {
                                                             if (e.type == event_type::cancel || ++n == 2) out.finish();
                                                         }))
                 .id;
        Sync::law(this->core->send(id, 1) == send_answer::accepted, "an empty mailbox refuses");
        this->core->close_the_door();
    }
    void thread(unsigned i) {
        if (i == 0) return this->work(0);
        if (Killed) Sync::law(this->core->kill(id) == send_answer::accepted, "a living process could not be killed");
        const send_answer second = this->core->send(id, 2);
        Sync::law(Killed || second == send_answer::accepted, "a mailbox that suspends its senders refuses");
        Sync::reach(second == send_answer::accepted ? "mail.accepted" : "mail.refused");
    }
    void after() {
        this->end();
        const seen& s = this->of[0];
        Sync::law(s.closed == 1 && (Killed || s.messages == 2), "an accepted message was lost");
    }
};
template <class Sync>
struct thread_waits_for_room : thread_at_a_full_mailbox<Sync, false> {
    static constexpr const char* what = "a thread sends to a full mailbox: it goes on when its message is taken";
    static constexpr std::array must_reach{"process_core.full", "thread_latch.waited", "sleeper.slept"};
    static constexpr std::array engine_laws{"deadlock"};
};
APIARY_CHECK(thread_waits_for_room);
template <class Sync>
struct thread_waits_for_the_dead : thread_at_a_full_mailbox<Sync, true> {
    static constexpr const char* what = "the same when the receiver is killed: its message is buried, and it goes on";
    static constexpr std::array must_reach{"mail.accepted", "mail.refused", "process_core.full"};
    static constexpr std::array engine_laws{"deadlock"};
};
APIARY_CHECK(thread_waits_for_the_dead);

// A process sends two to a mailbox of one: suspended, and resumed once, when the receiver takes or is killed. One turn each at a
// time; what is left after them.
template <class Sync, bool Killed>
struct process_at_a_full_mailbox : processes_scenario<Sync, 2, 0> {
    pid sink;
    unsigned accepted = 0;
    void before() {
        this->make();
        sink = this->core
                   ->spawn(std::make_unique<bounded<Sync>>(this->of[1],
                                                           mailbox_limit{.most = 1, .then = when_full::suspend_sender},
                                                           typename process_at_a_full_mailbox::body{},
                                                           [n = 0](event&, auto& out) mutable {
                                                               if (++n == 2) out.finish();
                                                           }))
                   .id;
        this->turn();  // it is idle
        (void)this->core->spawn(std::make_unique<sender>(*this));
        this->core->close_the_door();
    }
    class sender : public basic_process<Sync> {
        using base = basic_process<Sync>;

    public:
        explicit sender(process_at_a_full_mailbox& in) : in_(in) {}
        init_answer init(typename base::context&, std::string_view, payload) override { return init_answer::ready; }
        void step(typename base::events&, typename base::output& out) override {
            if (in_.of[0].steps++ == 1) return out.finish();
            for (int n = 0; n != 2; ++n) {
                const send_answer a = out.send(in_.sink, n);
                Sync::law(a == send_answer::accepted || (Killed && a != send_answer::full),
                          "a mailbox that suspends its senders refuses");
                if (a == send_answer::accepted) ++in_.accepted;
            }
            out.again();
        }
        void close() noexcept override { ++in_.of[0].closed; }

    private:
        process_at_a_full_mailbox& in_;
    };
    void thread(unsigned i) {
        if (Killed && i == 1)
            Sync::law(this->core->kill(sink) == send_answer::accepted, "a living process could not be killed");
        (void)this->turn_on(i);
    }
    void after() {
        for (unsigned n = 0; n != 10 && !this->core->over(); ++n) (void)this->turn_on(n % 2);
        this->end();
        const seen& s = this->of[1];
        Sync::law(this->of[0].steps == 2 && this->of[0].closed == 1, "a suspended process was lost, or stepped twice");
        Sync::law(s.messages + this->letters == accepted && s.closed == 1, "an accepted message was lost");
        Sync::law(Killed || s.messages == 2, "a message to one that lives was lost");
        if (this->letters == 2) Sync::reach("mail.both_buried");
        if (accepted < 2) Sync::reach("mail.refused");
    }
};
template <class Sync>
struct process_waits_for_room : process_at_a_full_mailbox<Sync, false> {
    static constexpr const char* what =
        "a process sends to a full mailbox: it is stepped again when its message is taken";
    static constexpr std::array must_reach{"process_core.full"};
};
APIARY_CHECK(process_waits_for_room);
template <class Sync>
struct process_waits_for_the_dead : process_at_a_full_mailbox<Sync, true> {
    static constexpr const char* what =
        "the same when the receiver is killed: its messages are buried, and the sender is stepped again";
    static constexpr std::array must_reach{"process_core.full", "mail.both_buried", "mail.refused"};
};
APIARY_CHECK(process_waits_for_the_dead);

// A sender that has nothing but a pid from the thread that spawned finds the whole bound, or none yet.
template <class Sync>
struct bound_is_whole_when_it_is_seen {
    static constexpr const char* what = "a sender meets a place that gets its bound: it sees all of it, or none";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"mail.bounded", "mail.unbounded"};
    process_place<Sync> place;
    void before() { place.generation = 1; }
    void thread(unsigned i) {
        if (i == 0) return place.set_bound({.most = 1});
        const bool bounded = place.is_bounded();
        Sync::reach(bounded ? "mail.bounded" : "mail.unbounded");
        when_full then{};
        Sync::law(!bounded || place.more().bound.take(1, then) == bound_answer::taken,
                  "a bound was seen before it was there");
    }
    void after() {}
};
APIARY_CHECK(bound_is_whole_when_it_is_seen);

// A request to one that is killed meanwhile: an answer, or the word that there is none; once.
template <class Sync>
struct request_against_kill : processes_scenario<Sync, 1, 1> {
    static constexpr const char* what = "a request's receiver is killed: the asker is told once, an answer or none";
    static constexpr std::array must_reach{"mail.answered", "mail.no_answer", "mail.refused"};
    pid server;
    void before() {
        this->make();
        server = this->spawn(1, {}, [](event& e, auto& out) { (void)out.answer(e.reply(), 1); });
        (void)this->spawn(
            0,
            [this](event&, auto& out) {
                if (out.request(server, 3, 0) == send_answer::accepted) return out.block();
                Sync::reach("mail.refused");
                out.finish();
            },
            [](event& e, auto& out) {
                Sync::law(e.type == event_type::completed && e.tag == 3, "an asker is told of something else");
                Sync::reach(e.error == yield_error::none ? "mail.answered" : "mail.no_answer");
                out.finish();
            });
        this->core->close_the_door();
    }
    void thread(unsigned i) {
        if (i == 0) return this->work(0);
        Sync::law(this->core->kill(server) == send_answer::accepted, "a living process could not be killed");
    }
    void after() {
        this->end();
        Sync::law(this->of[0].closed == 1 && this->of[0].completed <= 1, "an asker was told twice");
    }
};
APIARY_CHECK(request_against_kill);

// Two link to each other's neighbour while one is killed: linked, the other ends with it; refused, it knows.
template <class Sync>
struct link_against_end : processes_scenario<Sync, 1, 1> {
    static constexpr const char* what = "a process links to another that is killed: it ends too, or is refused";
    static constexpr std::array must_reach{"links.linked", "links.refused"};
    pid other;
    send_answer answer = send_answer::full;
    void before() {
        this->make();
        other = this->spawn(1);
        (void)this->spawn(0, [this](event&, auto& out) {
            answer = out.link(other);
            if (answer != send_answer::accepted) out.finish();
        });
        this->core->close_the_door();
    }
    void thread(unsigned i) {
        if (i == 0) return this->work(0);
        Sync::law(this->core->kill(other) == send_answer::accepted, "a living process could not be killed");
    }
    void after() {
        this->end();
        Sync::law(this->of[0].closed == 1, "a linked process lives on");
        Sync::reach(answer == send_answer::accepted ? "links.linked" : "links.refused");
    }
};
APIARY_CHECK(link_against_end);

// Both ends at once, on two workers: one links while the other runs for the last time.
template <class Sync>
struct link_in_the_last_run : processes_scenario<Sync, 2, 0> {
    static constexpr const char* what = "a process links to another in that one's last run, which fails: it ends too";
    static constexpr std::array must_reach{"links.linked", "links.refused"};
    pid other;
    send_answer answer = send_answer::full;
    void before() {
        this->make();
        other = this->spawn(1, [](event&, auto& out) { out.block(); });  // misused: it ends, and not by finish
        (void)this->spawn(0, [this](event&, auto& out) {
            answer = out.link(other);
            if (answer != send_answer::accepted) out.finish();
        });
        this->core->close_the_door();
    }
    void thread(unsigned i) { (void)this->turn_on(i); }
    void after() {
        for (unsigned n = 0; n != 6 && !this->core->over(); ++n) (void)this->turn_on(n % 2);
        this->end();
        Sync::law(this->of[0].closed == 1, "a linked process lives on");
        Sync::reach(answer == send_answer::accepted ? "links.linked" : "links.refused");
    }
};
APIARY_CHECK(link_in_the_last_run);

}  // namespace
}  // namespace processes_mail_check
