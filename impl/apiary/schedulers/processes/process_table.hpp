// process_table: the places of all processes. It grows while other threads read it, and a place never moves.
//
// When to use it. To find a process by its pid without a lock. When not: where places are few and fixed (worker_table).
//
// Threads.   find, each: any. acquire, release: any. With a `spare` list of the caller's own most calls take no lock.
// Progress.  find: wait-free. acquire, release: take a mutex; with a spare list, once in `batch` calls.
// Memory.    Places come in chunks, and stay until the table is destroyed. Free places are reused, newest first.
// Errors.    acquire: std::bad_alloc, and the table is unchanged; null if max_places are taken.
//
// `Place` must have `index`, which the table writes once; `generation`, for its owner; and `next`, which links free
// places.
//
// Invariants
//   I1  chunks_[c] is written once, before any pid of that chunk exists; its places stay.
//   I2  A place is in exactly one list of free places, or has exactly one owner.
//   I3  A place is given out at most last_generation times, each time with a greater generation; then it is retired.
//
// Synchronisation
//   S1  acquire: store chunk (release) -> find: load (acquire). A thread that finds a chunk sees its places. A thread
//       that has a pid by other means, such as a message or a guess, is ordered after the growing thread by nothing
//       else.
//
// Checked by model_check/schedulers/processes/process_table_check.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <apiary/queues/fifo_list.hpp>
#include <apiary/sync/real_sync.hpp>

namespace apiary {

template <class Sync>
struct process_table_limits {
    static constexpr std::size_t chunk = Sync::checked ? 1 : 4096;  // a power of two
    static constexpr std::size_t chunks = Sync::checked ? 3 : 8192;
    static constexpr std::size_t batch = Sync::checked ? 1 : 32;  // places that move to or from a spare list at once
};

template <class Place, class Sync, std::uint64_t LastGeneration, class Limits = process_table_limits<Sync>>
class process_table {
    using atomic_chunk = typename Sync::template atomic<Place*>;

public:
    static constexpr std::size_t max_places = Limits::chunk * Limits::chunks;
    using list = fifo_list<typename Place::link_type>;

    process_table() {
        for (atomic_chunk& c : chunks_) c.store(nullptr, std::memory_order_relaxed);
    }
    process_table(const process_table&) = delete;
    process_table& operator=(const process_table&) = delete;
    ~process_table() {
        for (atomic_chunk& c : chunks_)
            if (Place* places = c.load(std::memory_order_relaxed)) Sync::destroy_array(places, Limits::chunk);
    }

    // Null if there is no such place yet.
    Place* find(std::uint32_t index) const {
        if (index >= max_places) return nullptr;
        Place* const places = chunks_[index / Limits::chunk].load(std::memory_order_acquire);  // S1
        return places == nullptr ? nullptr : places + index % Limits::chunk;
    }
    // Calls visit for every place, also for free ones.
    template <class Visit>
    void each(Visit visit) const {
        for (const atomic_chunk& c : chunks_) {
            Place* const places = c.load(std::memory_order_acquire);  // S1
            if (places == nullptr) return;
            for (std::size_t i = 0; i != Limits::chunk; ++i) visit(places[i]);
        }
    }

    // Takes a free place and gives it a new generation. `spare`: a list that only the calling thread uses, or null.
    [[nodiscard]] Place* acquire(list* spare) {
        Place* p = spare == nullptr ? nullptr : static_cast<Place*>(spare->pop_front());
        if (p == nullptr && (p = acquire_shared(spare)) == nullptr) return nullptr;
        ++p->generation;
        return p;
    }
    // Precondition: the place's process has been destroyed.
    void release(Place* p, list* spare) {
        if (p->generation == LastGeneration) {  // I3
            Sync::reach("process_table.retired");
            return;
        }
        if (spare == nullptr) {
            const typename Sync::lock held(mutex_);
            return free_.push_front(p);
        }
        spare->push_front(p);
        if (spare->size() == 2 * Limits::batch) give_back(*spare, Limits::batch);
    }
    // Moves n places of the list to the shared list.
    void give_back(list& spare, std::size_t n) {
        const typename Sync::lock held(mutex_);
        for (; n != 0; --n) free_.push_front(spare.pop_front());
    }

private:
    [[gnu::noinline]] Place* acquire_shared(list* spare) {
        const typename Sync::lock held(mutex_);
        if (free_.empty() && !grow()) return nullptr;
        auto* const p = static_cast<Place*>(free_.pop_front());
        if (spare != nullptr)
            for (std::size_t n = 1; n != Limits::batch && !free_.empty(); ++n) spare->push_back(free_.pop_front());
        return p;
    }
    // With the mutex held.
    bool grow() {
        if (used_ == Limits::chunks) return false;
        Place* const places = Sync::template create_array<Place>(Limits::chunk);
        for (std::size_t i = 0; i != Limits::chunk; ++i) {
            places[i].index = static_cast<std::uint32_t>(used_ * Limits::chunk + i);
            free_.push_back(&places[i]);
        }
        chunks_[used_++].store(places, std::memory_order_release);  // S1
        return true;
    }

    std::array<atomic_chunk, Limits::chunks> chunks_;
    typename Sync::mutex mutex_;
    list free_;             // by mutex_
    std::size_t used_ = 0;  // by mutex_
};

}  // namespace apiary
