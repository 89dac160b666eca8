// steal_half_queue: a worker's bounded run queue. Its owner pushes and pops at the tail, newest first; a thief takes
// the older half at the head, in one compare-exchange, into its own queue.
//
// When to use it. For the ready tasks of one worker when a theft should pay for many. When not: when one element at a
// time is enough (chase_lev_deque grows, and its thieves never wait for each other), or when several threads push
// (mpsc_inbox, global_pool).
//
// Threads.   owner: one thread at a time, through the one `owner` handle. thief: any thread; copyable.
// Progress.  push, try_push, try_pop, try_pop_oldest: wait-free, except a push that overflows, which retries if a thief
//            was faster. steal_half: wait-free; after a rival it reports `lost_race`. It is not obstruction-free: a
//            thief that stops between its claim and its release keeps every other thief out. It never stops the owner,
//            which goes on popping and pushing and, when the ring is full, overflows one element at a time.
// Elements.  Trivially copyable, of any size: plain data, which exactly one thread reads at a time.
// Memory.    A fixed ring. An element that does not fit goes to the sink that push names.
//
// The head is one word of three fields: `real`, the oldest element that can still be taken; `claimed`, how many below
// it a thief is copying out just now; `version`, which every claim and every pop moves. `steal` is real - claimed: the
// oldest slot that may not yet be reused.
//
// Invariants
//   I1  Elements are the slots [real, tail), and the claimed ones [steal, real). tail - steal <= capacity.
//   I2  The thread that moves `real` from r to r+n owns the elements that were in [r, r+n). Only one thief at a time
//       has a claim.
//   I3  A claim rests on a tail that was read after the head: a pop in between has moved `version`, and the claim
//       fails. So pop needs only one read-modify-write of the head to know what is left to it.
//   I4  Fewer than 2^version_bits claims and pops happen between a thief's load of the head and its claim; beyond that
//       the whole word can come back (exhibit B11). index_bits alone may wrap as often as it likes.
//   I5  Elements in a thief's hands are in no queue for a moment: a thief that has moved some must look for a sleeper
//       afterwards (idle_set I3), or a worker that saw both queues empty is not woken.
//
// Synchronisation
//   S1  push, pop: store tail (release) -> steal_half: load tail (acquire). Publishes the slots. A pop's store is a
//       release, too: in C++20 a later relaxed store would not continue a push's.
//   S2  steal_half: subtract its claim (release) -> push, and steal_half into this queue: load head (acquire). The
//       slots were read before they are reused.
//   S3  pop, try_pop_oldest, overflow, a thief's release: read-modify-writes of the head (release) -> steal_half: load
//       head (acquire). A thief that sees the version or `real` that they left sees no older tail. No fence: both sides
//       change one word. A claim itself is relaxed: no thread acts on it before its release.
//   S4  A pusher, and a thief that has moved some (I5), issues a light fence before it checks for sleepers; a worker
//       that announces its sleep issues a heavy one before it looks here (idle_set S2). Neither push, steal_half nor
//       looks_empty orders it.
//
// Checked by model_check/queues/steal_half_queue_check.cpp. Stressed by stress/queues/steal_half_queue_stress.cpp.
//
// After Tokio's run queue (steal and real head, half to the victim's rival) and Hendler, Shavit: Non-blocking
// steal-half work queues, PODC 2002. The version field lets the owner pop at the young end.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include <apiary/queues/ring_index.hpp>
#include <apiary/queues/steal_result.hpp>
#include <apiary/sync/cache_line.hpp>
#include <apiary/sync/real_sync.hpp>

namespace apiary {

struct steal_half_limits {
    static constexpr unsigned index_bits = 16;
    static constexpr unsigned version_bits = 32;
    static constexpr std::size_t capacity = 256;  // slots; a power of two
};

// The packed head, readable. `version` stands in the topmost bits, so that its carry leaves the word.
template <class Limits>
struct steal_half_word {
    using index = ring_index<Limits::index_bits>;
    static_assert(2 * Limits::index_bits + Limits::version_bits <= 64 && Limits::version_bits > 0);
    static constexpr std::uint64_t one_claimed = std::uint64_t{1} << Limits::index_bits;
    static constexpr std::uint64_t one_version = std::uint64_t{1} << (64 - Limits::version_bits);

    std::uint64_t value = 0;

    constexpr std::uint64_t real() const { return value & index::mask; }
    constexpr std::uint64_t claimed() const { return (value >> Limits::index_bits) & index::mask; }
    constexpr std::uint64_t steal() const { return index::add(real(), index::mask + 1 - claimed()); }

    // Takes the oldest n out; `claimed` of them are being copied. Precondition: nothing is claimed.
    constexpr steal_half_word without(std::uint64_t n, std::uint64_t claimed) const {
        const std::uint64_t version = (value & ~(one_version - 1)) + one_version;
        return {version | claimed * one_claimed | index::add(real(), n)};
    }
};

template <class T, class Sync = real_sync, class Limits = steal_half_limits>
class steal_half_queue {
    static_assert(std::is_trivially_copyable_v<T>);
    using index = ring_index<Limits::index_bits>;
    using position = typename index::value;
    using word = steal_half_word<Limits>;
    static constexpr std::size_t capacity = Limits::capacity;
    static_assert((capacity & (capacity - 1)) == 0);
    static_assert(capacity <= index::mask / 2, "I1: the distance of two positions must fit the signed width");

public:
    using limits = Limits;

    steal_half_queue() {
        head_.store(0, std::memory_order_relaxed);
        tail_.store(0, std::memory_order_relaxed);
    }
    steal_half_queue(const steal_half_queue&) = delete;
    steal_half_queue& operator=(const steal_half_queue&) = delete;

    class owner;

    class thief {
    public:
        // A hint. It does not miss an element whose push precedes it in the order of fences (S4), except one in a
        // thief's hands (I5).
        bool looks_empty() const { return queue_->size() == 0; }

    private:
        friend class steal_half_queue;
        explicit thief(steal_half_queue* q) : queue_(q) {}
        steal_half_queue* queue_;
    };

    class owner {
    public:
        owner(owner&& other) noexcept : queue_(other.queue_) { other.queue_ = nullptr; }
        owner& operator=(owner&&) = delete;

        // False if the ring is full; then nothing has changed.
        [[nodiscard]] bool try_push(T value) { return queue_->push(value); }

        // Pushes all values by one store, or none; afterwards the first is the newest. An empty queue has room for half
        // of the ring: a thief may still be copying the other half. Precondition: `values` is not empty.
        [[nodiscard]] bool try_push_all(std::span<const T> values) { return queue_->push_all(values); }

        // Always succeeds. If the ring is full it first hands the older half to `sink(std::span<T>)`, oldest first, or,
        // while a thief is at work, only this value. `sink` must not throw, nor use this queue.
        template <class Sink>
        void push(T value, Sink&& sink) {
            while (!queue_->push(value))
                if (queue_->overflow(value, sink)) return;
        }

        // Takes the newest. False if empty.
        [[nodiscard]] bool try_pop(T& out) { return queue_->pop(out); }

        // Takes the oldest, against starvation at that end. False if empty, or if a thief was faster or is at work.
        [[nodiscard]] bool try_pop_oldest(T& out) { return queue_->take_oldest({&out, 1}) == 1; }

        // The same for up to out.size() of the oldest elements, oldest first. Returns how many.
        [[nodiscard]] std::size_t try_pop_oldest(std::span<T> out) { return queue_->take_oldest(out); }

        // Takes the older half of `victim`, which must be another queue: returns one element to run at once, and puts
        // the others into this queue, as far as there is room.
        [[nodiscard]] steal_half_result<T> steal_half(const thief& victim) { return queue_->steal(*victim.queue_); }

        // Exact for the owner, except for concurrent thefts, which only make it smaller.
        std::size_t size() const { return queue_->size(); }

    private:
        friend class steal_half_queue;
        explicit owner(steal_half_queue* q) : queue_(q) {}
        steal_half_queue* queue_;
    };

    // The one owner handle; a second call breaks a law.
    owner own() {
        if (owned_) Sync::fail("steal_half_queue: own() called twice; there is one owner");
        owned_ = true;
        return owner(this);
    }

    thief share() { return thief(this); }

private:
    using slot = typename Sync::template cell<T>;
    slot& at(position i) { return slots_[i & (capacity - 1)]; }

    static std::size_t room(word head, position tail) {
        return capacity - static_cast<std::size_t>(index::distance(head.steal(), tail));
    }

    bool push(T value) { return push_all(std::span<const T, 1>(&value, 1)); }

    template <std::size_t Extent>
    bool push_all(std::span<const T, Extent> values) {
        const position tail = tail_.load(std::memory_order_relaxed);
        const word head{head_.load(std::memory_order_acquire)};  // S2
        if (room(head, tail) < values.size()) return false;
        const position end = index::add(tail, values.size());
        position i = end;
        for (const T& value : values) {
            i = index::add(i, index::mask);  // i - 1
            at(i).write(value);
        }
        tail_.store(end, std::memory_order_release);  // S1
        return true;
    }

    bool pop(T& out) {
        const position tail = tail_.load(std::memory_order_relaxed);
        const word seen{head_.load(std::memory_order_relaxed)};
        if (index::distance(seen.real(), tail) <= 0) return false;  // real only grows: it is empty indeed
        const position last = index::add(tail, index::mask);        // tail - 1
        tail_.store(last, std::memory_order_release);               // S1
        // I3, S3: claims from now on see the new tail; this sees the claims made until now.
        const word head{head_.fetch_add(word::one_version, std::memory_order_release)};
        if (index::distance(head.real(), last) < 0) {
            Sync::reach("steal_half.pop_lost_last");
            // Relaxed: with this tail the queue is empty, and a claim on an older head fails.
            tail_.store(tail, std::memory_order_relaxed);
            return false;
        }
        out = at(last).read();
        return true;
    }

    // Takes up to out.size() of the oldest. The owner needs no claim: nobody else writes slots.
    std::size_t take_oldest(std::span<T> out) {
        word head{head_.load(std::memory_order_relaxed)};
        const std::int64_t waiting = index::distance(head.real(), tail_.load(std::memory_order_relaxed));
        const std::size_t n = std::min(out.size(), static_cast<std::size_t>(waiting));
        if (n == 0 || head.claimed() != 0) return 0;
        if (!head_.compare_exchange_strong(head.value, head.without(n, 0).value, std::memory_order_release,  // S3
                                           std::memory_order_relaxed)) {
            Sync::reach("steal_half.owner_lost");
            return 0;
        }
        for (std::size_t i = 0; i != n; ++i) out[i] = at(index::add(head.real(), i)).read();
        return n;
    }

    // The ring was full. True: the sink took `value` itself. False: push should try again.
    template <class Sink>
    [[gnu::noinline]] bool overflow(T value, Sink& sink) {
        if (word{head_.load(std::memory_order_relaxed)}.claimed() != 0) {
            Sync::reach("steal_half.overflow_one");
            sink(std::span<T>(&value, 1));
            return true;
        }
        std::array<T, std::max<std::size_t>(capacity / 2, 1)> older;
        const std::size_t n = take_oldest(older);
        if (n != 0) {
            Sync::reach("steal_half.overflow_half");
            sink(std::span<T>(older).first(n));
        }
        return false;
    }

    steal_half_result<T> steal(steal_half_queue& victim) {
        const position tail = tail_.load(std::memory_order_relaxed);
        // Elements that others are still copying out of this queue count: their slots are not free (exhibit B10).
        const std::size_t most = 1 + room(word{head_.load(std::memory_order_acquire)}, tail);  // S2

        word head{victim.head_.load(std::memory_order_acquire)};  // S3; before the tail (I3)
        const std::int64_t waiting = index::distance(head.real(), victim.tail_.load(std::memory_order_acquire));  // S1
        if (waiting <= 0) return {steal_status::empty, T{}, 0};
        if (head.claimed() != 0) {
            Sync::reach("steal_half.rival_at_work");
            return {steal_status::lost_race, T{}, 0};
        }
        const std::size_t n = std::min((static_cast<std::size_t>(waiting) + 1) / 2, most);
        if (!victim.head_.compare_exchange_strong(head.value, head.without(n, n).value,
                                                  std::memory_order_relaxed,  // no thread acts on it before its release
                                                  std::memory_order_relaxed)) {
            Sync::reach("steal_half.steal_lost");
            return {steal_status::lost_race, T{}, 0};
        }
        // Until the release nothing here may throw or wait: the claim keeps all other thieves out (exhibit B12).
        const T oldest = victim.at(head.real()).read();
        for (std::size_t i = 1; i != n; ++i)
            at(index::add(tail, i - 1)).write(victim.at(index::add(head.real(), i)).read());
        victim.head_.fetch_sub(n * word::one_claimed, std::memory_order_release);    // S2
        if (n > 1) tail_.store(index::add(tail, n - 1), std::memory_order_release);  // S1
        return {steal_status::taken, oldest, n - 1};
    }

    std::size_t size() const {
        const position tail = tail_.load(std::memory_order_relaxed);
        const word head{head_.load(std::memory_order_relaxed)};
        const std::int64_t n = index::distance(head.real(), tail);
        return n > 0 ? static_cast<std::size_t>(n) : 0;
    }

    alignas(cache_line) typename Sync::template atomic<std::uint64_t> head_;  // thieves, and pop
    alignas(cache_line) typename Sync::template atomic<position> tail_;       // owner
    std::array<slot, capacity> slots_;
    bool owned_ = false;
};

}  // namespace apiary
