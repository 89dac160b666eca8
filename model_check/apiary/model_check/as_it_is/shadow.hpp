// shadow: what the execution under way has done to each byte, and which bytes are atomics.
//
// The program's memory is real, and plain accesses go to it. What is kept here, by eight bytes: the latest accesses of each
// thread, for races; and the explorer's locations, which begin with the first atomic access and end with the next
// plain write (a new object in the same place). The memory that is watched lies in a few ranges, each with a table of its own.
//
// Invariants
//   W1  Plain writes to one byte stand in the list in the order of happens-before: any other pair is a race.
//   W2  A location's name is a function of its address and of the plain write that made it, so that it is the same in
//       every run that replays the same graph. A futex's queue has it of the address alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <apiary/model_check/explorer/api.hpp>
#include <apiary/model_check/explorer/graph.hpp>

namespace apiary::model::as_it_is {

// `end`: of an object, whose bytes stay; as a write it is the last. `queue`: a futex by its address, which needs no object there.
enum class access_kind : std::uint8_t { read, write, atomic_read, atomic_write, allocation, release, end, queue };
constexpr bool is_atomic(access_kind a) {
    return a == access_kind::atomic_read || a == access_kind::atomic_write || a == access_kind::queue;
}
constexpr bool writes(access_kind a) { return a != access_kind::read && a != access_kind::atomic_read; }
constexpr bool plain_write(access_kind a) { return writes(a) && !is_atomic(a); }

// An access: what it leaves in a granule. All but its place stands in one word, since so much is done with these.
class touch {
public:
    touch() = default;
    constexpr touch(void* where, unsigned when, unsigned started, unsigned thread, unsigned mask, access_kind how)
        : touch(where, std::uint64_t{when} | std::uint64_t{started} << 16 | std::uint64_t{thread} << 32, mask, how) {}
    // By its moment(), which the accesses in front of the same event have in common.
    constexpr touch(void* where, std::uint64_t moment, unsigned mask, access_kind how)
        : pc(where), bits_(moment | std::uint64_t{mask} << 40 | static_cast<std::uint64_t>(how) << 48) {}

    void* pc = nullptr;
    // One plus the index of the thread's event that it stands in front of.
    [[nodiscard]] constexpr std::uint16_t when() const { return static_cast<std::uint16_t>(bits_); }
    // Threads that were, by then.
    [[nodiscard]] constexpr std::uint8_t started() const { return static_cast<std::uint8_t>(bits_ >> 16); }
    [[nodiscard]] constexpr std::uint64_t moment() const { return bits_ & 0xFF'FFFF'FFFFU; }
    [[nodiscard]] constexpr std::uint8_t thread() const { return static_cast<std::uint8_t>(bits_ >> 32); }
    // Bytes of the granule.
    [[nodiscard]] constexpr std::uint8_t mask() const { return static_cast<std::uint8_t>(bits_ >> 40); }
    [[nodiscard]] constexpr access_kind how() const { return static_cast<access_kind>(bits_ >> 48); }
    // The same thread, bytes and kind.
    [[nodiscard]] constexpr bool repeats(const touch& x) const { return (bits_ ^ x.bits_) >> 32 == 0; }

private:
    std::uint64_t bits_ = 0;
};

// An atomic, a mutex, a queue of waiters, a library's lock: what the explorer has a location for.
enum class role : std::uint8_t { atomic, mutex, queue, guard };
struct located {
    explorer::object* at;  // stays where it is until the run ends
    std::int8_t offset;    // from the granule: one of sixteen bytes stands in two of them, in the second with -8
    std::uint8_t size;
    role what;
    [[nodiscard]] bool is(std::size_t its_offset, std::size_t its_size, role its_role) const {
        return offset == static_cast<std::ptrdiff_t>(its_offset) && size == its_size && what == its_role;
    }
    [[nodiscard]] unsigned mask() const {  // bytes of the granule
        const unsigned all = (1U << size) - 1U;
        return (offset < 0 ? all >> -offset : all << offset) & 0xFFU;
    }
};

constexpr bool is_of_a_life(access_kind a) { return a == access_kind::allocation || a == access_kind::release; }
constexpr bool conflict(access_kind a, access_kind b) {
    if (a == access_kind::queue || b == access_kind::queue) return is_of_a_life(a) || is_of_a_life(b);
    return (writes(a) || writes(b)) && !(is_atomic(a) && is_atomic(b));
}

// Sets of threads, one in each 16 bits: of those that read, write, read atomically, write atomically.
using thread_sets = std::uint64_t;
constexpr thread_sets in_set_of(access_kind a, unsigned threads) {
    const access_kind of = a <= access_kind::atomic_write ? a
                           : a == access_kind::queue      ? access_kind::atomic_write
                                                          : access_kind::write;
    return thread_sets{threads} << explorer::max_threads * static_cast<unsigned>(of);
}
// One thread in the set of each kind that conflicts with this one. A queue's stand in the set of atomic writes, which they are
// taken for here: check_touch() tells them apart.
inline constexpr std::array<thread_sets, 8> sets_against = [] {
    std::array<thread_sets, 8> each{};
    for (std::size_t i = 0; i != each.size(); ++i) {
        auto a = static_cast<access_kind>(i);
        if (a == access_kind::queue) a = access_kind::atomic_write;
        for (const access_kind b :
             {access_kind::read, access_kind::write, access_kind::atomic_read, access_kind::atomic_write})
            if (conflict(a, b)) each[i] |= in_set_of(b, 1);
    }
    return each;
}();
constexpr thread_sets in_sets_against(access_kind a) { return sets_against[static_cast<std::size_t>(a)]; }

// The touches of a granule. Adding one where there is room takes no call.
class touch_list {
public:
    [[nodiscard]] bool is_full() const { return size_ == room_; }
    [[nodiscard]] bool is_empty() const { return size_ == 0; }
    void add(touch x) {
        if (is_full()) grow();
        add_in_room(x);
    }
    [[gnu::always_inline]] void add_in_room(touch x) { all_[size_++] = x; }
    [[nodiscard]] touch* begin() const { return all_.get(); }
    [[nodiscard]] touch* end() const { return all_.get() + size_; }
    [[nodiscard]] touch& last() const { return end()[-1]; }
    void end_at(const touch* end) { size_ = static_cast<std::uint32_t>(end - begin()); }
    void grow();

private:
    std::unique_ptr<touch[]> all_;
    std::uint32_t size_ = 0, room_ = 0;
};

struct alignas(64) granule {
    static constexpr std::size_t bytes = 8;
    std::uint32_t run = 0;
    thread_sets have = 0;     // in the set of a kind: those with such a touch
    thread_sets against = 0;  // in the set of a kind: those with a touch that conflicts with it
    std::uint8_t given = 0;   // bytes of the heap that have an owner
    touch_list touches;
    std::vector<located> atomics;

    void begin_run(std::uint32_t now) {
        run = now;
        have = against = 0;
        given = 0;
        touches.end_at(touches.begin());
        atomics.clear();
    }
    void add(touch now) {
        if (now.thread() != explorer::main_thread) {
            have |= in_set_of(now.how(), 1) << now.thread();
            against |= in_sets_against(now.how()) << now.thread();
        }
        if (now.how() == access_kind::allocation) given |= now.mask();
        if (now.how() == access_kind::release) given &= static_cast<std::uint8_t>(~now.mask());
        touches.add(now);
    }
    // All of it goes back to the heap after every other thread has ended: what they did there is over.
    void is_freed_alone(touch now) {
        touches.end_at(touches.begin());
        have = against = 0;
        add(now);
    }
    // Takes a thread's read or write in (no beginning or end of memory) where nothing has to be asked of another, or was asked already. False: all
    // have to be looked at. Never allocates. `how` is that of `now`: a caller may know it when it is compiled.
    [[gnu::always_inline]] bool takes(touch now, access_kind how, bool on_heap) {
        const thread_sets own = in_set_of(how, 1) << now.thread();
        if ((have & own) != 0) {
            if (!touches.last().repeats(now)) return takes_again(now, on_heap);
            touches.last() = now;
            return true;
        }
        if (!is_alone_in(how, own, now.mask(), on_heap) || touches.is_full()) return false;
        have |= own;
        against |= in_sets_against(how) << now.thread();
        touches.add_in_room(now);
        return true;
    }

private:
    // No other thread has touched it so that it conflicts, and it is there.
    [[nodiscard]] bool is_alone_in(access_kind how, thread_sets own, std::uint8_t mask, bool on_heap) const {
        return (against & (in_set_of(how, 0xFFFF) ^ own)) == 0 && !(on_heap && (mask & ~given) != 0);
    }
    bool takes_again(touch now, bool on_heap);
};

class shadow {
public:
    shadow() : names_(1024) {}
    void watch(std::uintptr_t begin, std::uintptr_t bytes, bool is_heap = false);
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
        bool is_heap = false;
        const range* next = nullptr;  // with the same upper bits
        [[nodiscard]] bool has(std::uintptr_t address) const { return address - begin < bytes; }
    };
    [[nodiscard, gnu::always_inline]] const range* range_of(std::uintptr_t address) const {
        const range* r = by_top_[address >> top_shift < by_top_.size() ? address >> top_shift : 0];
        for (; r != nullptr; r = r->next)
            if (r->has(address)) return r;
        return nullptr;
    }
    // What is there already; null: nothing yet in this run.
    granule* found_in(const range& r, std::uintptr_t address) {
        const std::uint32_t index = index_in(r, address);
        if (index == 0) return nullptr;
        granule& g = granules_[index - 1];
        return g.run == run_ ? &g : nullptr;
    }
    // Null where one would have to be made.
    [[gnu::always_inline]] granule* ready_in(const range& r, std::uintptr_t address) {
        const std::uint32_t index = index_in(r, address);
        if (index == 0) return nullptr;
        granule& g = granules_[index - 1];
        if (g.run != run_) g.begin_run(run_);
        return &g;
    }
    [[gnu::always_inline]] granule& in(const range& r, std::uintptr_t address) {
        granule* const g = ready_in(r, address);
        return g != nullptr ? *g : new_granule(r, address);
    }
    // A number that stands for a location in every run.
    std::uint32_t name(std::uintptr_t address, role what, unsigned thread, unsigned when);

private:
    struct known_name {
        std::uintptr_t address;
        std::uint64_t rest;
        bool operator==(const known_name&) const = default;
    };
    static std::uint32_t& index_in(const range& r, std::uintptr_t address) {
        return r.granules[(address - r.begin) / granule::bytes];
    }
    granule& new_granule(const range& r, std::uintptr_t address);

    static constexpr unsigned top_shift = 40;  // no range crosses its multiples
    std::array<range, 6> ranges_;
    std::size_t used_ = 0;
    std::array<const range*, 32> by_top_{};  // by the upper bits of an address
    std::vector<granule> granules_;
    std::vector<std::vector<std::pair<known_name, std::uint32_t>>> names_;
    std::uint32_t run_ = 0, next_name_ = 0;
};

}  // namespace apiary::model::as_it_is
