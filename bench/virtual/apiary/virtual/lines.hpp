// lines: where each 64-byte line is, and what an access to it costs. A MESI-like protocol.
//
// A line is owned by one processor, or lies as clean copies with some, or is in no cache. A load of a line that another
// one owns leaves clean copies with both; a store or a read-modify-write makes its processor the owner, and takes it from
// all others. Accesses that move a line queue at it. Until the request has come to the former owner, that one still has
// the line; where several requests queue, each requester keeps the line for the same time after it arrives. A processor
// keeps four such lines at a time, and forgets the oldest for a fifth. A store does not wait for its line, but no
// processor runs farther ahead of its stores than prices say.
//
// A line that is asked for ahead is taken or copied at once, and comes when a load or store would have brought it. The
// first access that needs it waits for the rest. A processor waits for 16 copies at a time; it asks for no further one.
//
// Threads. One thread of the host.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <unordered_map>

#include <apiary/virtual/arena.hpp>
#include <apiary/virtual/prices.hpp>

namespace apiary::virt {

enum class access : char { load = 'L', store = 'S', change = 'X', ahead = 'P' };

// What the model needs of a processor: its clock, and when its last store will be done.
struct processor_times {
    picoseconds clock = 0, stores_done = 0;
};

class lines {
public:
    struct outcome {
        bool moved = false;
        bool waited = false;  // for a line that became its own
        picoseconds queued = 0, cost = 0;
    };

    lines(const prices& p, unsigned processors);
    ~lines();
    lines(const lines&) = delete;
    lines& operator=(const lines&) = delete;

    // Advances the times of processor c by an access to the line of that address; `hit` is its price where c has the line.
    outcome touch(std::uintptr_t address, access kind, unsigned c, processor_times& times, picoseconds hit);
    // Asks for a line to be read (load) or written (store), and goes on.
    outcome ask_ahead(std::uintptr_t address, access kind, unsigned c, const processor_times& times);
    // Whether an access would cost no more than a hit; a store is then taken as done.
    bool has(std::uintptr_t address, access kind, unsigned c) {
        line& l = at(address);
        if (l.watched && kind != access::load) return false;
        if (waits_for(l, c)) return false;
        if (l.owner != static_cast<int>(c)) return kind == access::load && has_copy(l, c);
        if (l.on_its_way) return false;
        l.changed = l.changed || kind != access::load;
        return true;
    }
    // Threads wait for a store or change of that line, and the thread that makes it asks for them.
    void watch(std::uintptr_t address) { at(address).watched = true; }
    [[nodiscard]] bool was_watched(std::uintptr_t address) {
        line& l = at(address);
        const bool was = l.watched;
        l.watched = false;
        return was;
    }

private:
    struct alignas(32) line {
        picoseconds busy_until = 0;      // an earlier access that moves it ends then
        picoseconds former_has = 0;      // until then, at most
        std::uint64_t* copies = nullptr;  // a bit for each processor
        std::int16_t owner = -1;
        std::uint16_t copy_count = 0;
        bool on_its_way : 1 = false;  // asked for ahead, until busy_until
        bool watched : 1 = false;
        bool changed : 1 = false;  // by its owner
    };
    // A line that others have asked for: this processor still has it from one time to another.
    struct kept {
        const line* which = nullptr;
        picoseconds from = 0, until = 0;
    };
    // Copies that a processor has asked for ahead. An entry goes when the copy is there or the line has to be asked for again.
    struct copies_ahead {
        struct entry {
            const line* which;
            picoseconds comes;
        };
        std::array<entry, 16> of;  // as many requests as a core has under way, about
        std::size_t count = 0;
    };
    struct page {
        std::array<line, 64> lines;
    };

    line& at(std::uintptr_t address) {
        page* const p = pages_[the_arena().page_of(address)];
        return p == nullptr ? at_first(address) : p->lines[address / arena::line % 64];
    }
    line& at_first(std::uintptr_t address);  // of its page; or beyond the arena
    bool has_copy(const line& l, unsigned c) const {
        return l.copy_count != 0 && ((l.copies[c / 64] >> (c % 64)) & 1U) != 0;
    }
    void add_copy(line& l, unsigned c);
    void drop_copies(line& l);
    bool far(unsigned a, unsigned b) const { return a / p_.cluster != b / p_.cluster; }
    bool has_far_copy(const line& l, unsigned c) const;
    picoseconds price_of_move(const line& l, access kind, unsigned c, bool others) const;
    bool load_takes(const line& l) const { return p_.load_takes != 0 && l.owner >= 0 && l.changed; }
    void give_to(line& l, unsigned c, picoseconds start, picoseconds cost);
    void leave_copies(line& l, unsigned c, picoseconds start, picoseconds cost);
    const kept* still_has(const line& l, unsigned c, picoseconds now) const;
    bool waits_for(const line& l, unsigned c) const {
        const copies_ahead& a = ahead_[c];
        for (std::size_t i = 0; i != a.count; ++i)
            if (a.of[i].which == &l) return true;
        return false;
    }
    picoseconds take_arrival(const line& l, unsigned c);  // of a copy that was asked for ahead, and forgets it; else 0

    const prices p_;
    const unsigned words_;
    host_vector<std::array<kept, 4>> kept_;  // by processor, the newest first; a fifth pushes out the oldest
    host_vector<copies_ahead> ahead_;        // by processor
    page** const pages_;  // of the arena, and then null
    // What lies elsewhere: stacks, static data.
    std::unordered_map<std::uintptr_t, page*, std::hash<std::uintptr_t>, std::equal_to<>,
                       host_memory<std::pair<const std::uintptr_t, page*>>>
        elsewhere_;
    std::array<std::pair<std::uintptr_t, page*>, 1024> recent_{};  // of these
};

}  // namespace apiary::virt
