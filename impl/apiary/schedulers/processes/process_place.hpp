// process_place: one place of the table: the job that workers run, the word, the process itself, and the calls that the
// process waits for. An idle process needs no more than these 64 bytes here.
//
// When to use it. In process_core. When not: elsewhere.
// Threads. word: any. index, is_bounded: any, once the place was found. more().bound: any, after is_bounded.
//          more().waits_for: any, with the core's circles_mutex_. The rest: the holder of the word.
// Synchronisation
//   S1  set_bound: store bounded_ (release) -> is_bounded: load (acquire): publishes the bound and the memory that has
//       it. A sender may have guessed the pid, so that nothing else orders it after the spawning thread.
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

// The tags of open calls. One is stored here, because most processes have one call at a time; the others are in the set
// that `more` returns.
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
    // False: an open call has this tag.
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
    // False: no open call has that tag.
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
    std::uint64_t first_ = 0;  // valid if count_ is not 0
    std::uint32_t count_ = 0;
};

// The links of one process, as it sees them. Either process may make a link, or both at the same time; each gives a
// name to the link that it makes. An unlink takes back all links that its sender has made, and names the newest link of
// the other process that the sender knows. So a link that the other makes meanwhile stays, on both sides
// (links_that_cross).
class process_links {
public:
    struct link {
        pid whom;
        mutable std::uint32_t mine = 0, theirs = 0;  // the names; 0: that side has made no link
    };

    template <class Visit>
    void each(Visit visit) const {
        all_.each(visit);
    }
    const link* find(pid whom) const { return all_.find({whom}); }
    // Makes a link, or makes one that is there anew, and returns its name.
    std::uint32_t make(pid whom) {
        if (++last_name_ == 0) ++last_name_;
        if (const link* const l = find(whom))
            l->mine = last_name_;
        else
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
    // The other process takes its links back, and this one's, unless this one has made a link that the other does not
    // know.
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
        // Both fields count up from small numbers, so mix them.
        std::size_t operator()(const reply_to& r) const { return r.to.value * 0x9E37'79B9'7F4A'7C15 + r.tag; }
    };
    struct wait_for_room {
        pid in;  // null: it does not wait
        std::uint8_t number = 0;
    };
    // State that few processes have: what is of one process alone, and what stays with the place.
    struct of_one {
        pending_calls::tags tags;
        std::vector<pid> watchers;
        process_links links;
        growing_set<reply_to, by_request> owed;   // requests that it has received and not answered
        growing_set<asked, by_tag, by_tag> asks;  // requests that it has sent and whose answer it waits for
        pid suspended_by;                         // the process whose mailbox was full
        // The number of its present wait for room: of those before, a cancel has ended so many before there was room.
        // The room for these may come later.
        std::uint8_t wait = 0;
        std::uint64_t undelivered = 0;  // for the report: messages that were buried while the process went on
    };
    struct rest : of_one {
        event_list<Sync> kept;  // events kept until a block ends
        mailbox_bound<Sync, process_limits<Sync>::generation_bits> bound;
        bool was_bounded = false;       // keeps `rest` with the place, because a late sender may look at it
        // As suspended_by and wait, for a bounded process; read by those that look for circles. Guarded by the core's
        // circles_mutex_.
        typename Sync::template cell<wait_for_room> waits_for{wait_for_room{}};

        void clear() { static_cast<of_one&>(*this) = of_one(); }  // gives the memory back, too
    };
    rest& more() {
        if (more_ == nullptr) more_ = std::make_unique<rest>();
        return *more_;
    }
    bool has_more() const { return more_ != nullptr; }
    pid id() const { return pid::of(index, generation); }
    // For senders. True: more().bound is set, and says for which generation.
    bool is_bounded() const { return bounded_.load(std::memory_order_acquire); }  // S1
    // Call it before the process is queued.
    void set_bound(mailbox_limit l) {
        more().was_bounded = true;
        more().bound.open(generation, l);
        bounded_.store(true, std::memory_order_release);  // S1
    }

    [[nodiscard]] bool called_for(std::uint64_t tag) {
        return calls.add(tag, [this]() -> auto& { return more().tags; });
    }
    [[nodiscard]] bool call_ends(std::uint64_t tag) {
        if (!calls.end(tag, [this]() -> auto& { return more().tags; })) return false;
        if (has_more()) (void)more().asks.erase({tag, {}});
        return true;
    }
    // Takes out of `events` all that are not for the step: kills, watches, completions without an open call. Calls
    // `late()` for each such completion. `lives(pid)` says whether a watcher lives. If there is no memory to note a
    // request, a watch or a link, it stops there: `unsorted` then has that event and all after it.
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
    // Forgets a watch or a link if the event takes one back.
    void take_back(const event& e) {
        if (!has_more()) return;
        if (e.type == event_type::unwatch) std::erase(more().watchers, pid{e.tag});
        if (e.type == event_type::unlink) more().links.taken_back(pid{e.tag}, e.call);
    }
    // A request has been answered, or never will be. False: it was not owed any more.
    bool pay(reply_to r) { return has_more() && more().owed.erase(r); }

    // Makes the place ready for its next process. Precondition: the former process has been destroyed.
    void empty() {
        bounded_.store(false, std::memory_order_relaxed);
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
    process_state waits : 4 = process_state::ready;  // what the process waits for, by its last step; ready: for nothing
    bool cancel_told : 1 = false;
    bool suspended : 1 = false;  // by more().suspended_by: it waits for room there, and then for what `waits` says
    bool completed_meanwhile : 1 = false;  // a call ended while it was suspended

private:
    typename Sync::template atomic<bool> bounded_{false};

    // If the answer to this request came from elsewhere, its tag may belong to another request by now.
    void ends_as_unanswered(event& e) {
        if (!has_more()) return;
        const asked* const a = more_->asks.find({e.call, {}});
        if (a == nullptr || a->whom != pid{e.tag}) return;
        e.type = event_type::completed;
        e.error = yield_error::no_answer;
        e.tag = e.call;
    }
    // A watcher that ends does not take its watch back, so watches of ended processes are erased before the list grows.
    template <class Lives>
    void watched(pid by, Lives lives) {
        std::vector<pid>& all = more().watchers;
        if (all.size() == all.capacity()) {
            std::erase_if(all, [&lives](pid w) { return !lives(w); });
            if (all.size() > all.capacity() / 2) all.reserve(2 * all.capacity());
        }
        all.push_back(by);
    }
    // Handles an event that is for the scheduler.
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
                what.room |= suspended && more().wait == e.wait;
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
