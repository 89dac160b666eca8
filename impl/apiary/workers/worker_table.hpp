// worker_table: the workers of a crew, in fixed slots that any thread indexes without a lock.
//
// When to use it. Once for each crew. A slot gets its worker once and keeps it until the end. A detached worker goes
// out of service, and the next attach takes it into service again, under a new id. So no reader ever meets a freed or
// moved worker (exhibit A09), and a wake that comes too late reaches a driver that still exists.
//
// Threads.   size, operator[], find: any. The rest: with the mutex of the crew's owner held.
// Progress.  size, operator[], find: wait-free.
// Ids.       slot + id_stride * life. The first workers are 0, 1, 2, …; an id comes back after its slot has been
//            attached 2^23 times.
//
// Invariants
//   I1  workers_[s] is written once, before used_ exceeds s.
//   I2  A slot is given again only after its worker has left: its queues are empty, and its run() is about to return.
//
// Synchronisation
//   S1  attach: store used_ (release) -> size: load (acquire). Publishes the worker. A thread that learns of a worker
//       from the idle set's word sees it through that word (idle_set S1).
//
// Checked by model_check/schedulers/hive/{hive_attach,hive_logic}_check.cpp.
#pragma once

#include <array>
#include <cstdint>

#include <apiary/sync/real_sync.hpp>

namespace apiary {

enum class detach_result {
    detached,        // it is leaving: later posts to it are refused, and the other workers get its work
    unknown_worker,  // no worker has that id, or it was detached before
    main_worker,     // it runs on the thread of run(), and stays
    last_worker,     // no other worker could run the posts of this kind
    stopped,         // the whole scheduler is ending
};

template <class Worker, class Sync, unsigned MaxWorkers>
class worker_table {
public:
    static constexpr unsigned max_workers = MaxWorkers;
    static constexpr unsigned id_stride = 512;
    static_assert(max_workers <= id_stride);

    worker_table() { used_.store(0, std::memory_order_relaxed); }
    worker_table(const worker_table&) = delete;
    worker_table& operator=(const worker_table&) = delete;
    ~worker_table() {
        const unsigned n = size();
        for (unsigned s = 0; s < n; ++s) Sync::destroy((*this)[s]);
    }

    // How many slots have a worker, in service or not.
    unsigned size() const { return used_.load(std::memory_order_acquire); }  // S1
    Worker* operator[](unsigned slot) const { return workers_[slot].read(); }

    // The worker of this id's slot, or null. Its sources know whether it has the id now.
    Worker* find(unsigned id) const { return id % id_stride < size() ? (*this)[id % id_stride] : nullptr; }

    // Null if every slot is in service. Lets out what the worker's constructor throws.
    template <class Crew>
    Worker* attach(Crew& crew) {
        const unsigned used = size();
        unsigned s = 0;
        while (s < used && service_[s] != service::out) ++s;
        if (s == max_workers) return nullptr;
        if (s == used) workers_[s].write(Sync::template create<Worker>(crew, s));
        Worker* worker = (*this)[s];
        try {
            worker->enter_service(s + id_stride * lives_[s]);
        } catch (...) {
            if (s == used) Sync::destroy(worker);
            throw;
        }
        ++lives_[s];
        service_[s] = service::in;
        ++serving_;
        if (s == used) used_.store(s + 1, std::memory_order_release);  // S1
        return worker;
    }

    // Asks the worker to leave. At least `least` workers stay.
    detach_result detach(unsigned id, unsigned least) {
        Worker* worker = find(id);
        if (worker == nullptr || worker->id() != id || service_[id % id_stride] != service::in)
            return detach_result::unknown_worker;
        if (serving_ == least) return detach_result::last_worker;
        --serving_;
        service_[id % id_stride] = service::leaving;
        worker->ask_to_leave();
        return detach_result::detached;
    }

    // The worker holds no work any more.
    void left(unsigned slot) {
        if (service_[slot] == service::leaving) service_[slot] = service::out;
    }

    unsigned serving() const { return serving_; }

private:
    enum class service : std::uint8_t { out, in, leaving };

    std::array<typename Sync::template cell<Worker*>, max_workers> workers_;
    typename Sync::template atomic<unsigned> used_;
    // Guarded by the mutex of the crew's owner.
    std::array<service, max_workers> service_{};
    std::array<unsigned, max_workers> lives_{};
    unsigned serving_ = 0;
};

}  // namespace apiary
