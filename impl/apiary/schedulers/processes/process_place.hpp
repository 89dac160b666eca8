// process_place: one place of the table, and what its process is to the scheduler: a job, a word, the process itself, and what
// it has called for. 64 bytes; an idle process has nothing else here.
//
// When to use it. In process_core. Threads. word: any. index: any, once the place was found. The rest: the holder of the word.
// Tested by process_parts_test.cpp, and as part of the scheduler.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <apiary/schedulers/processes/process.hpp>
#include <apiary/schedulers/processes/process_word.hpp>
#include <apiary/tasks/job.hpp>

namespace apiary {

template <class Sync>
struct process_limits {
    static constexpr unsigned generation_bits = Sync::checked ? 2 : 16;
};

// The tags of what a process has called for. One lies inside, since most call for one thing at a time; `more` has the others.
class pending_calls {
public:
    using tags = std::vector<std::uint64_t>;

    bool any() const { return count_ != 0; }
    // False: it is in use.
    template <class More>
    [[nodiscard]] bool add(std::uint64_t tag, More more) {
        if (count_ == 0) {
            first_ = tag;
        } else {
            tags& rest = more();
            if (first_ == tag || std::find(rest.begin(), rest.end(), tag) != rest.end()) return false;
            rest.push_back(tag);
        }
        ++count_;
        return true;
    }
    // False: there is none of that tag; it has ended before, or never began.
    template <class More>
    [[nodiscard]] bool end(std::uint64_t tag, More more) {
        if (count_ == 0) return false;
        if (count_ == 1 && first_ != tag) return false;
        if (count_ != 1) {
            tags& rest = more();
            if (first_ == tag) {
                first_ = rest.back();
            } else {
                const auto at = std::find(rest.begin(), rest.end(), tag);
                if (at == rest.end()) return false;
                *at = rest.back();
            }
            rest.pop_back();
        }
        --count_;
        return true;
    }

private:
    std::uint64_t first_ = 0;  // when count_ is not 0
    std::uint32_t count_ = 0;
};

template <class Sync>
struct alignas(64) process_place : job<Sync> {
    using link_type = job<Sync>;
    using node = event_node<Sync>;
    using word_type = process_word<node, Sync, process_limits<Sync>>;

    process_place();  // process_core.hpp

    // What few processes have.
    struct rest {
        pending_calls::tags tags;
        std::vector<pid> watchers;
        event_list<Sync> kept;  // messages that wait for the end of a block
    };
    rest& more() {
        if (more_ == nullptr) more_ = std::make_unique<rest>();
        return *more_;
    }
    bool has_more() const { return more_ != nullptr; }
    pid id() const { return pid::of(index, generation); }

    [[nodiscard]] bool called_for(std::uint64_t tag) {
        return calls.add(tag, [this]() -> auto& { return more().tags; });
    }
    [[nodiscard]] bool call_ends(std::uint64_t tag) {
        return calls.end(tag, [this]() -> auto& { return more().tags; });
    }
    // Takes out of what has come what is not for the process: kills, watches, completions that were not called for or do not
    // come first. `late()` is told of these.
    struct arrived {
        bool completed = false, killed = false;
    };
    template <class Late>
    arrived sort(event_list<Sync>& events, Late late) {
        arrived what;
        event_list<Sync> for_it;
        while (node* n = events.pop()) {
            const event& e = n->what;
            const bool ends_a_call = e.type == event_type::completed && call_ends(e.tag);
            if (ends_a_call || e.type == event_type::message || e.type == event_type::ended) {
                what.completed |= ends_a_call;
                for_it.append(n);
                continue;
            }
            if (e.type == event_type::completed) late();
            if (e.type == event_type::watch) more().watchers.push_back({e.tag});
            what.killed |= e.type == event_type::kill;
            event_blocks<Sync>::release(n);
        }
        events = std::move(for_it);
        return what;
    }

    // For the next process.
    void empty() {
        body.reset();
        more_.reset();
        calls = {};
        waits = process_state::ready;
        cancel_told = false;
    }

    word_type word;
    std::uint32_t index = 0;
    std::uint32_t generation = 0;
    std::unique_ptr<basic_process<Sync>> body;
    [[no_unique_address]] pending_calls calls;
    process_state waits = process_state::ready;  // what the last step said; ready: it wants to run
    bool cancel_told = false;

private:
    std::unique_ptr<rest> more_;
};
static_assert(sizeof(process_place<real_sync>) == 64);

}  // namespace apiary
