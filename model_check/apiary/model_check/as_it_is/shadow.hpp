// shadow: what the execution under way has done to each byte, and which bytes are atomics.
//
// The program's memory is real, and plain accesses go to it. What is kept here, by eight bytes: the latest accesses of each
// thread, for races; and the explorer's locations, which begin with the first atomic access and end with the next
// plain write (a new object in the same place). The memory that is watched lies in a few ranges, each with a table of its own.
//
// Invariants
//   W1  Plain writes to one byte stand in the list in the order of happens-before: any other pair is a race.
//   W2  A location's name is a function of its address and of the plain write that made it, so that it is the same in
//       every run that replays the same graph.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <apiary/model_check/explorer/api.hpp>
#include <apiary/model_check/explorer/graph.hpp>

namespace apiary::model::as_it_is {

enum class access_kind : std::uint8_t { read, write, allocation, release, atomic_read, atomic_write };
constexpr bool is_atomic(access_kind a) { return a == access_kind::atomic_read || a == access_kind::atomic_write; }
constexpr bool writes(access_kind a) { return a != access_kind::read && a != access_kind::atomic_read; }
constexpr bool plain_write(access_kind a) { return writes(a) && !is_atomic(a); }

struct touch {
    void* pc;
    std::uint16_t when;  // one plus the index of the thread's event that it stands in front of
    std::uint8_t thread;
    std::uint8_t mask;  // bytes of the granule
    access_kind how;
    std::uint8_t started;  // threads that were, by then
};

// An atomic, a mutex, a queue of waiters: what the explorer has a location for.
enum class role : std::uint8_t { atomic, mutex, queue, guard };
struct located {
    explorer::object* at;  // stays where it is until the run ends
    std::int8_t offset;    // from the granule: one of sixteen bytes stands in two of them, in the second with -8
    std::uint8_t size;
    role what;
    [[nodiscard]] unsigned mask() const {  // bytes of the granule
        const unsigned all = (1U << size) - 1U;
        return (offset < 0 ? all >> -offset : all << offset) & 0xFFU;
    }
};

constexpr bool is_of_a_life(access_kind a) { return a == access_kind::allocation || a == access_kind::release; }
constexpr bool conflict(access_kind a, access_kind b) {
    return (writes(a) || writes(b)) && !(is_atomic(a) && is_atomic(b));
}

struct granule {
    static constexpr std::size_t bytes = 8;
    std::uint32_t run = 0;
    std::vector<touch> touches;
    std::vector<located> atomics;

    // Takes an access in where nothing has to be asked of another, or was asked already: of the same thread's same access
    // all in front of it was, and a thread knows more and more. False: all have to be looked at.
    bool takes(const touch& now, bool on_heap) {
        bool others = false, lives = !on_heap;
        for (std::size_t i = touches.size(); i-- > 0;) {
            touch& x = touches[i];
            const bool own = x.thread == now.thread;
            if (own && x.mask == now.mask && x.how == now.how) {
                if (others) return false;
                x.when = now.when;
                x.pc = now.pc;
                x.started = now.started;
                return true;
            }
            if (x.how == access_kind::release) return false;
            if (!own && x.thread != explorer::main_thread && conflict(x.how, now.how)) return false;
            if (x.how == access_kind::allocation && (x.mask & now.mask) == now.mask) lives = true;
            // A plain write stays behind other writes: the order of those counts.
            others = others || (now.how == access_kind::write && x.how != access_kind::read);
        }
        if (!lives || touches.size() == touches.capacity()) return false;
        touches.push_back(now);
        return true;
    }
    // Before the threads begin: only whether the memory is there.
    [[nodiscard]] bool is_given(std::uint8_t mask) const {
        for (std::size_t i = touches.size(); i-- > 0;)
            if ((touches[i].mask & mask) != 0 && is_of_a_life(touches[i].how))
                return touches[i].how == access_kind::allocation;
        return false;
    }
};

class shadow {
public:
    shadow() : names_(1024) {}
    void watch(std::uintptr_t begin, std::uintptr_t bytes);
    void begin_run() { ++run_; }
    [[nodiscard]] bool watches(std::uintptr_t address) const { return range_of(address) != nullptr; }
    // Of this run; empty when nothing was there. Good until the next call. Null where nothing is watched.
    granule* find(std::uintptr_t address) {
        const range* const r = range_of(address);
        return r == nullptr ? nullptr : &in(*r, address);
    }
    granule& at(std::uintptr_t address) { return *find(address); }
    // The same of several granules that stand in one range.
    struct range {
        std::uintptr_t begin = 0, bytes = 0;
        std::uint32_t* granules = nullptr;  // by eight bytes: an index into granules_, plus one
        [[nodiscard]] bool has(std::uintptr_t address) const { return address - begin < bytes; }
    };
    [[nodiscard]] const range* range_of(std::uintptr_t address) const {
        for (const range& r : ranges_)
            if (r.has(address)) return &r;
        return nullptr;
    }
    // What is there already; null: nothing yet in this run.
    granule* found_in(const range& r, std::uintptr_t address) {
        const std::uint32_t index = r.granules[(address - r.begin) / granule::bytes];
        if (index == 0) return nullptr;
        granule& g = granules_[index - 1];
        return g.run == run_ ? &g : nullptr;
    }
    granule& in(const range& r, std::uintptr_t address) {
        std::uint32_t& index = r.granules[(address - r.begin) / granule::bytes];
        if (index == 0) index = new_granule();
        granule& g = granules_[index - 1];
        if (g.run != run_) {
            g.run = run_;
            g.touches.clear();
            g.atomics.clear();
        }
        return g;
    }
    // A number that stands for a location in every run.
    std::uint32_t name(std::uintptr_t address, role what, unsigned thread, unsigned when);

private:
    struct known_name {
        std::uintptr_t address;
        std::uint64_t rest;
        bool operator==(const known_name&) const = default;
    };
    std::uint32_t new_granule();

    std::array<range, 5> ranges_;
    std::size_t used_ = 0;
    std::vector<granule> granules_;
    std::vector<std::vector<std::pair<known_name, std::uint32_t>>> names_;
    std::uint32_t run_ = 0, next_name_ = 0;
};

}  // namespace apiary::model::as_it_is
