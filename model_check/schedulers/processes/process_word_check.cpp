// The word of a process as it ships: every event is received once or refused, in the order of its sender; the process runs on one
// thread at a time; nothing that should wake it is lost; and what is sent to one process never reaches the next of its place.
//
// A queue here is one cell: the thread that is told to queue the process writes its link and hands it to the worker that runs it
// on that thread.
#include <array>
#include <cstddef>

#include <apiary/contract/laws.hpp>
#include <apiary/model_check/register.hpp>
#include <apiary/schedulers/processes/process_word.hpp>

namespace process_word_check {
namespace {

using namespace apiary;

struct narrow {
    static constexpr unsigned generation_bits = 2;
};

template <class Sync>
struct alignas(16) letter {
    typename Sync::template cell<letter*> next;
    typename Sync::template cell<std::size_t> id;
};

// Senders are threads, which run the process themselves when they are told to queue it. Event `i` is thread i's.
template <class Sync, unsigned Threads, process_state Waits = process_state::idle, std::size_t Events = Threads>
struct one_process {
    static constexpr unsigned threads = Threads;
    using word_type = process_word<letter<Sync>, Sync, narrow>;
    using letter_type = letter<Sync>;

    word_type word;
    std::array<letter_type, Events> letters;
    identity_ledger<Sync, Events, 1> ledger;
    std::array<bool, Events> accepted{};
    typename Sync::template cell<unsigned> link{0}, runs{0};  // the job's, and the process's own
    typename Sync::template cell<bool> finished{false}, cancelled{false};
    bool blocks = Waits == process_state::blocked;

    void open() {
        word.open(1);
        link.write(0), runs.write(0), finished.write(false), cancelled.write(false);
    }
    void take(letter_type* newest) {
        for (letter_type* l = newest; l != nullptr; l = l->next.read()) ledger.took(0, l->id.read());
    }
    // What a worker does with a process that it has from a queue: one run after the other, while it is told to queue it.
    void work() {
        for (;;) {
            (void)link.read();
            const auto [newest, cancel] = word.start(1);
            runs.write(runs.read() + 1);  // the cell sees a second worker
            if (runs.read() == 2) Sync::reach("process_word.ran_twice");
            take(newest);
            if (cancel) cancelled.write(true);
            if (ends_at(runs.read(), cancel)) {
                take(word.finish(1).newest);
                return finished.write(true);
            }
            const process_state waits = waits_behind(runs.read());
            const bool again = word.settle(1, waits);
            Sync::law(again || waits != process_state::ready, "a process that wants to run again was left lying");
            if (!again) return;
            Sync::reach("process_word.news_at_the_end_of_a_run");
            link.write(runs.read());
        }
    }
    virtual bool ends_at(unsigned, bool) { return false; }
    virtual process_state waits_behind(unsigned) { return Waits; }
    virtual ~one_process() = default;

    push_answer send(std::size_t i, bool calls) {
        letters[i].id.write(i);
        const push_answer a = word.push(1, &letters[i], calls);
        accepted[i] = a == push_answer::accepted || a == push_answer::woke;
        if (!accepted[i]) Sync::reach("process_word.refused");
        if (a == push_answer::woke) queue();
        return a;
    }
    void queue() {
        Sync::reach("process_word.woke");
        link.write(100);  // as a queue does, before another thread runs it
        work();
    }
    void settle() {
        for (std::size_t i = 0; i != Events; ++i)
            if (accepted[i]) ledger.put(i);
        ledger.settle();
    }
};

template <class Sync>
struct word_two_senders_to_an_idle_one : one_process<Sync, 2> {
    static constexpr const char* what =
        "two messages to an idle process: each is received once, by one worker at a time";
    static constexpr std::array must_reach{"process_word.woke", "process_word.news_at_the_end_of_a_run"};
    void before() {
        this->open();
        (void)this->word.start(1);
        Sync::law(!this->word.settle(1, process_state::idle), "news of nothing");
    }
    void thread(unsigned i) { (void)this->send(i, false); }
    void after() { this->settle(); }
};
APIARY_CHECK(word_two_senders_to_an_idle_one);

template <class Sync>
struct word_message_against_settle : one_process<Sync, 2, process_state::idle, 2> {
    static constexpr const char* what = "two messages while a run begins and ends: none is left to an idle process";
    static constexpr std::array must_reach{"process_word.woke", "process_word.news_at_the_end_of_a_run"};
    void before() { this->open(); }
    void thread(unsigned i) {
        if (i == 0) return this->work();
        (void)this->send(0, false);
        (void)this->send(1, false);
    }
    void after() { this->settle(); }
};
APIARY_CHECK(word_message_against_settle);

// The call must end the block; the message must not, and is there when the call does.
template <class Sync>
struct word_call_against_block : one_process<Sync, 3, process_state::blocked, 3> {
    static constexpr const char* what =
        "a message and a completion while a process blocks: the completion ends the block";
    static constexpr std::array must_reach{"process_word.woke", "process_word.news_at_the_end_of_a_run"};
    void before() { this->open(); }
    void thread(unsigned i) {
        if (i == 0) return this->work();
        const push_answer a = this->send(i - 1, i == 2);
        Sync::law(i == 2 || a == push_answer::accepted, "a message ended a block");
    }
    void after() {
        Sync::law(this->word.state() == process_state::blocked, "a block did not last, or was not begun again");
        // After the last run: a message that came late waits for the next completion.
        this->send(2, true);
        this->settle();
    }
};
APIARY_CHECK(word_call_against_block);

template <class Sync>
struct word_cancel_reaches_a_block : one_process<Sync, 2, process_state::blocked, 1> {
    static constexpr const char* what = "a cancel while a process goes from running to blocked: it is told, once";
    static constexpr std::array must_reach{"process_word.woke", "process_word.news_at_the_end_of_a_run"};
    typename Sync::template cell<int> why{0};
    void before() {
        this->open();
        why.write(0);
        this->accepted[0] = false;
    }
    bool ends_at(unsigned, bool cancel) override {
        if (cancel) Sync::law(why.read() == 1, "a cancel does not show what came before it");
        return cancel;
    }
    void thread(unsigned i) {
        if (i == 0) return this->work();
        why.write(1);
        const push_answer first = this->word.cancel_any();
        const push_answer second = first == push_answer::woke ? push_answer::accepted : this->word.cancel(1);
        if (first == push_answer::woke || second == push_answer::woke) this->queue();
    }
    void after() { Sync::law(this->cancelled.read() && this->finished.read(), "a cancel was lost"); }
};
APIARY_CHECK(word_cancel_reaches_a_block);

// Its first run says again(); after the later ones it waits as the others do.
template <class Sync>
struct word_runs_again_against_a_message : one_process<Sync, 2, process_state::idle, 2> {
    static constexpr const char* what =
        "two messages to a process that runs again at once: each is received, by one worker at a time";
    static constexpr std::array must_reach{"process_word.ran_twice", "process_word.woke"};
    void before() { this->open(); }
    process_state waits_behind(unsigned run) override { return run == 1 ? process_state::ready : process_state::idle; }
    void thread(unsigned i) {
        if (i == 0) return this->work();
        (void)this->send(0, false);
        (void)this->send(1, false);
    }
    void after() {
        Sync::law(this->runs.read() >= 2, "a process that wants to run again was left lying");
        this->settle();
    }
};
APIARY_CHECK(word_runs_again_against_a_message);
template <class Sync>
struct word_runs_again_against_a_cancel : one_process<Sync, 2, process_state::blocked, 1> {
    static constexpr const char* what = "a cancel of a process that runs again at once, and blocks then: it is told";
    static constexpr std::array must_reach{"process_word.ran_twice", "process_word.woke", "word.told_in_the_first_run"};
    void before() {
        this->open();
        this->accepted[0] = false;
    }
    process_state waits_behind(unsigned run) override {
        return run == 1 ? process_state::ready : process_state::blocked;
    }
    bool ends_at(unsigned run, bool cancel) override {
        if (cancel && run == 1) Sync::reach("word.told_in_the_first_run");
        return cancel;
    }
    void thread(unsigned i) {
        if (i == 0) return this->work();
        const push_answer a = this->word.cancel(1);
        Sync::law(a == push_answer::accepted || a == push_answer::woke, "a living process could not be cancelled");
        if (a == push_answer::woke) this->queue();
    }
    void after() { Sync::law(this->cancelled.read() && this->finished.read(), "a cancel was lost"); }
};
APIARY_CHECK(word_runs_again_against_a_cancel);

// The process ends in its first or second run. Accepted: received, or given back by finish. Refused: it is told so.
template <class Sync, unsigned Runs>
struct word_ends_under_messages : one_process<Sync, 2, process_state::idle, 2> {
    void before() { this->open(); }
    bool ends_at(unsigned run, bool) override { return run == Runs; }
    void thread(unsigned i) {
        if (i == 0) return this->work();
        const push_answer first = this->send(0, false), second = this->send(1, false);
        Sync::law(first != push_answer::completing || second == push_answer::completing, "a process came back");
    }
    void after() { this->settle(); }
};
template <class Sync>
struct word_ends_at_once : word_ends_under_messages<Sync, 1> {
    static constexpr const char* what =
        "two messages to a process that ends in its only run: received, buried or refused";
    static constexpr std::array must_reach{"process_word.refused"};
};
APIARY_CHECK(word_ends_at_once);
template <class Sync>
struct word_ends_in_the_next_run : word_ends_under_messages<Sync, 2> {
    static constexpr const char* what = "the same when it ends in its second run, which a message must wake";
    static constexpr std::array must_reach{"process_word.refused", "process_word.woke", "process_word.ran_twice"};
};
APIARY_CHECK(word_ends_in_the_next_run);

// The place is given on while a sender is about to push. What it sends reaches its process or nobody.
template <class Sync>
struct word_stale_sender {
    static constexpr const char* what = "a sender has its pid, and the place gets its next process before it pushes";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"word.reached_the_first", "word.too_late", "word.completing"};
    using word_type = process_word<letter<Sync>, Sync, narrow>;
    word_type word;
    letter<Sync> mail;
    typename Sync::template cell<int> body{1};  // the process: which one
    push_answer told = push_answer::accepted;
    bool received = false;
    void before() {
        word.open(1);
        body.write(1);
        mail.id.write(0);
    }
    void thread(unsigned i) {
        if (i == 1) {
            told = word.push(1, &mail, true);
            return;
        }
        (void)word.start(1);
        received = word.finish(1).newest != nullptr;
        body.write(2);
        word.open(2);
        auto next = word.start(2);
        Sync::law(next.newest == nullptr, "a message reached the next process of its place");
        Sync::law(!word.settle(2, process_state::blocked), "a call reached the next process of its place");
        Sync::law(!word.looks_alive(1) && word.looks_alive(2), "a pid leads to another process");
    }
    void after() {
        if (told == push_answer::accepted) Sync::reach("word.reached_the_first");
        if (told == push_answer::no_such_process) Sync::reach("word.too_late");
        if (told == push_answer::completing) Sync::reach("word.completing");
        Sync::law(told != push_answer::woke, "a ready process was queued again");
        Sync::law(word.finish(2).newest == nullptr, "a message reached the next process of its place");
    }
};
APIARY_CHECK(word_stale_sender);

}  // namespace
}  // namespace process_word_check
