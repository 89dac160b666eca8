// process_place: one place of the table. It has the job that workers run, the word, the process itself, and the calls
// that the process waits for. 64 bytes; an idle process has nothing else here.
//
// When to use it. In process_core. When not: elsewhere.
// Threads. word: any. index, is_bounded: any, once the place was found. more().bound: any, after is_bounded.
//          more().waits_for: any, with the core's circles_mutex_. The rest: the holder of the word.
// Synchronisation
//   S1  set_bound: store bounded_ (release) -> is_bounded: load (acquire): the bound, and the memory that has it. A
//       sender may have guessed the pid, and so have nothing else from the thread that spawned.
// Tested by process_parts_test.cpp, and as part of the scheduler.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <vector>

#include <apiary/schedulers/processes/growing_set.hpp>
#include <apiary/schedulers/processes/process.hpp>
#include <apiary/schedulers/processes/process_word.hpp>
#include <apiary/tasks/job.hpp>

namespace apiary {

template <class Sync>
struct process_limits {
    static constexpr unsigned generation_bits = Sync::checked ? 2 : 16;
};

// The tags that a process has called for. One lies inside, since most processes call for one thing at a time; the set
// that `more` returns has the others.
class pending_calls {
public:
    using tags = growing_set<std::uint64_t>;

    bool any() const { return count_ != 0; }
    template <class Visit, class More>
    void each(Visit visit, More more) const {
        if (count_ == 0) return;
        visit(first_);
        if (count_ > 1) more().each(visit);
    }
    // False: the tag is in use.
    template <class More>
    [[nodiscard]] bool add(std::uint64_t tag, More more) {
        if (count_ == 0) {
            first_ = tag;
        } else {
            tags& rest = more();
            if (first_ == tag || rest.find(tag) != nullptr) return false;
            rest.add(tag);
        }
        ++count_;
        return true;
    }
    // False: no call has that tag; it has ended before, or never began.
    template <class More>
    [[nodiscard]] bool end(std::uint64_t tag, More more) {
        if (count_ == 0) return false;
        if (count_ == 1 && first_ != tag) return false;
        if (count_ != 1) {
            tags& rest = more();
            if (first_ == tag)
                first_ = rest.take_any();
            else if (!rest.erase(tag))
                return false;
        }
        --count_;
        return true;
    }

private:
    std::uint64_t first_ = 0;  // when count_ is not 0
    std::uint32_t count_ = 0;
};

// The links of a process, as it knows them. Either of the two may make a link, or both at a time; each gives its link
// a name. An unlink takes back all that its sender has made, and names the other's link that it has seen. So a link
// that the other makes meanwhile stays, at both ends (links_that_cross).
class process_links {
public:
    struct link {
        pid whom;
        mutable std::uint32_t mine = 0, theirs = 0;  // their names; 0: there is none
    };

    template <class Visit>
    void each(Visit visit) const {
        all_.each(visit);
    }
    const link* find(pid whom) const { return all_.find({whom}); }
    // Returns its name. Precondition: there is none.
    std::uint32_t make(pid whom) {
        if (++last_name_ == 0) ++last_name_;
        all_.add({whom, last_name_, 0});
        return last_name_;
    }
    // The other process has made a link.
    void made(pid by, std::uint32_t name) {
        if (const link* const l = find(by))
            l->theirs = name;
        else
            all_.add({by, 0, name});
    }
    // The other process takes all back, but a link of this one that it has not seen.
    void taken_back(pid by, std::uint32_t seen) {
        const link* const l = find(by);
        if (l == nullptr) return;
        l->theirs = 0;
        if (l->mine == 0 || l->mine == seen) (void)erase(by);
    }
    bool erase(pid whom) { return all_.erase({whom}); }

private:
    struct by_whom {
        std::size_t operator()(const link& l) const { return std::hash<std::uint64_t>()(l.whom.value); }
        bool operator()(const link& a, const link& b) const { return a.whom == b.whom; }
    };
    growing_set<link, by_whom, by_whom> all_;
    std::uint32_t last_name_ = 0;
};

template <class Sync>
struct alignas(64) process_place : job<Sync> {
    using link_type = job<Sync>;
    using node = event_node<Sync>;
    using word_type = process_word<node, Sync, process_limits<Sync>>;

    process_place() : link_type(&process_core<Sync>::run_it) {}

    struct asked {
        std::uint64_t tag;
        pid whom;
    };
    struct by_tag {
        std::size_t operator()(const asked& a) const { return std::hash<std::uint64_t>()(a.tag); }
        bool operator()(const asked& a, const asked& b) const { return a.tag == b.tag; }
    };
    struct by_request {
        // Both count up from small numbers.
        std::size_t operator()(const reply_to& r) const { return r.to.value * 0x9E37'79B9'7F4A'7C15 + r.tag; }
    };
    // State that few processes have.
    struct rest {
        pending_calls::tags tags;
        std::vector<pid> watchers;
        process_links links;
        growing_set<reply_to, by_request> owed;   // requests that it has received, and not answered
        growing_set<asked, by_tag, by_tag> asks;  // requests of its own
        event_list<Sync> kept;                    // events that wait for the end of a block
        mailbox_bound<Sync, process_limits<Sync>::generation_bits> bound;
        bool was_bounded = false;       // then it stays with its place: a sender that comes late may be looking at it
        pid suspended_by;               // whose mailbox was full
        std::uint64_t undelivered = 0;  // for the report: messages that were buried before its end
        // The same as suspended_by, of a bounded process, for those that look for circles. By the core's
        // circles_mutex_.
        typename Sync::template cell<pid> waits_for{pid{}};

        void clear() {
            tags = decltype(tags)();  // not clear(): that keeps the memory
            watchers = std::vector<pid>();
            links = process_links();
            owed = decltype(owed)();
            asks = decltype(asks)();
            suspended_by = {};
            undelivered = 0;
        }
    };
    rest& more() {
        if (more_ == nullptr) more_ = std::make_unique<rest>();
        return *more_;
    }
    bool has_more() const { return more_ != nullptr; }
    pid id() const { return pid::of(index, generation); }
    // For senders. True: more().bound is there, and names the generation that it is for.
    bool is_bounded() const { return bounded_.load(std::memory_order_acquire) != 0; }  // S1
    // Before the process is queued.
    void set_bound(mailbox_limit l) {
        more().was_bounded = true;
        more().bound.open(generation, l);
        bounded_.store(1, std::memory_order_release);  // S1
    }

    [[nodiscard]] bool called_for(std::uint64_t tag) {
        return calls.add(tag, [this]() -> auto& { return more().tags; });
    }
    [[nodiscard]] bool call_ends(std::uint64_t tag) {
        if (!calls.end(tag, [this]() -> auto& { return more().tags; })) return false;
        if (has_more()) (void)more().asks.erase({tag, {}});
        return true;
    }
    // Takes the events that are not for the process out of `events`: kills, watches, completions that were not called
    // for or are not the first. Calls `late()` for each such completion; `lives(pid)` says whether a watcher lives.
    // Without memory to note a request, a watch or a link it stops there, and `unsorted` has that event and all after
    // it.
    struct arrived {
        bool completed = false, killed = false, linked = false, room = false;
        event_list<Sync> looks;
    };
    template <class Late, class Lives>
    arrived sort(event_list<Sync>& events, event_list<Sync>& unsorted, Late late, Lives lives) {
        arrived what;
        event_list<Sync> for_it;
        while (node* n = events.pop()) {
            event& e = n->what;
            try {
                if (e.type == event_type::unanswered) ends_as_unanswered(e);
                const bool ends_a_call = e.type == event_type::completed && call_ends(e.tag);
                if (e.type == event_type::request) more().owed.add(e.reply());
                if (ends_a_call || e.is_mail() || e.type == event_type::ended) {
                    what.completed |= ends_a_call;
                    for_it.append(n);
                } else if (e.type == event_type::look) {
                    what.looks.append(n);
                } else {
                    if (e.type == event_type::completed || e.type == event_type::unanswered) late();
                    tell(e, what, lives);
                    event_blocks<Sync>::release(n);
                }
            } catch (const std::bad_alloc&) {
                unsorted.append(n);
                unsorted.append(std::move(events));
                break;
            }
        }
        events = std::move(for_it);
        return what;
    }
    // Forgets a watch or a link, if the event takes one back.
    void take_back(const event& e) {
        if (!has_more()) return;
        if (e.type == event_type::unwatch) std::erase(more().watchers, pid{e.tag});
        if (e.type == event_type::unlink) more().links.taken_back(pid{e.tag}, e.call);
    }
    // A request is answered, or never will be. False: that was known before.
    bool pay(reply_to r) { return has_more() && more().owed.erase(r); }

    // Makes the place ready for its next process. Precondition: the last one is destroyed.
    void empty() {
        bounded_.store(0, std::memory_order_relaxed);
        if (has_more() && more().was_bounded)
            more_->clear();
        else
            more_.reset();
        calls = {};
        steps = 0;
        waits = process_state::ready;
        cancel_told = suspended = completed_meanwhile = false;
    }

    word_type word;
    std::uint32_t index = 0;
    std::uint16_t generation = 0;
    process_state waits : 4 = process_state::ready;  // what the last step said; ready: it wants to run
    bool cancel_told : 1 = false;
    bool suspended : 1 = false;  // by more().suspended_by: it waits for room there, and then for what `waits` says
    bool completed_meanwhile : 1 = false;  // a call ended while it was suspended

private:
    typename Sync::template atomic<std::uint8_t> bounded_{0};

    // The tag may be another request's by now, if the answer to this one came from elsewhere.
    void ends_as_unanswered(event& e) {
        if (!has_more()) return;
        const asked* const a = more_->asks.find({e.call, {}});
        if (a == nullptr || a->whom != pid{e.tag}) return;
        e.type = event_type::completed;
        e.error = yield_error::no_answer;
        e.tag = e.call;
    }
    // A watcher that ends does not say so. So those that have ended are erased before the list grows.
    template <class Lives>
    void watched(pid by, Lives lives) {
        std::vector<pid>& all = more().watchers;
        if (all.size() == all.capacity()) {
            std::erase_if(all, [&lives](pid w) { return !lives(w); });
            if (all.size() > all.capacity() / 2) all.reserve(2 * all.capacity());
        }
        all.push_back(by);
    }
    // Notes an event that is for the scheduler.
    template <class Lives>
    void tell(event& e, arrived& what, Lives lives) {
        const pid by{e.tag};
        switch (e.type) {
            case event_type::kill:
                what.killed = true;
                break;
            case event_type::watch:
                watched(by, lives);
                break;
            case event_type::link:
                more().links.made(by, e.call);
                break;
            case event_type::unwatch:
            case event_type::unlink:
                take_back(e);
                break;
            case event_type::linked_end:
                if (has_more() && more().links.erase(by) && *e.data.template get<process_end>() != process_end::finished)
                    what.killed = what.linked = true;
                break;
            case event_type::room:
                what.room |= suspended && more().suspended_by == by;
                break;
            default:
                break;
        }
    }

public:
    std::unique_ptr<basic_process<Sync>> body;
    [[no_unique_address]] pending_calls calls;
    std::uint32_t steps = 0;

private:
    std::unique_ptr<rest> more_;
};
static_assert(sizeof(process_place<real_sync>) == 64);

}  // namespace apiary
