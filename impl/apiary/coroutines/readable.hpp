// readable, writable: a coroutine suspends until a descriptor is ready.
//
//     timer_thread<real_sync, epoll_driver> world;
//     std::thread t([&] { world.run(); });
//     const awaited how = co_await readable(world, socket);
//     world.stop();  t.join();
//
// When to use it. Before an accept, and for descriptors that are no sockets, on a descriptor service
// (descriptor_service.hpp). When not: to read and write a socket (byte_stream.hpp): here each await goes to the
// watching thread and back, and costs two calls of the kernel besides.
//
// Threads.   The service's thread brings the coroutine back; it goes on where its home says.
// Duplex.    One coroutine may wait to read while another one waits to write to the same descriptor.
// Result.    done: ready, hung up or with an error; the next read or write tells. closed: it cannot be watched: no
//            descriptor, a regular file, no memory in the kernel, or another coroutine waits here for the same of it.
//            cancelled: a stop was asked for, or the service ended.
// Errors.    The service's std::bad_alloc leaves the await, and nothing is watched.
// Lifetime.  A frame must not be destroyed while it waits for a descriptor: that ends the program. Cancel it instead. A
//            cancel that finds no memory for its message ends the program, too.
// Closing.   Cancel, then close. A wait whose descriptor other code has closed goes on until a cancel, until the number
//            is watched for another wait, or until the service ends; in the last two cases it is closed.
//
// Invariants
//   I1  The service's thread watches the source, between `start_` and `off`; off comes once.
//   I2  One of off and cancel claims the await. If off did, it finishes the await. If a cancel did, the second of its
//       two parts finishes the await: the source is off; the message to the thread (`stop_`) has ended. So nothing
//       refers to the frame when it goes.
//
// Synchronisation. second_of_two, for the parts and for the coroutine: the finishing thread has the other thread's use
// of the frame before its own. The claim needs no order: off and cancel each learn what it decides by the service or
// the driver.
//
// Checked by model_check/coroutines/readable_check.cpp. Tested by readable_test.cpp and service_matrix_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>

#include <apiary/coroutines/awaiter.hpp>
#include <apiary/coroutines/descriptor_service.hpp>
#include <apiary/coroutines/second_of_two.hpp>
#include <apiary/events/event_source.hpp>
#include <apiary/tasks/job.hpp>

namespace apiary {

template <descriptor_service Service>
class [[nodiscard]] descriptor_wait : public awaiter<descriptor_wait<Service>, typename Service::sync> {
    using sync = typename Service::sync;

public:
    descriptor_wait(Service& s, int descriptor, interest what)
        : service_(s), what_(what), source_(*this, descriptor), start_(&start_it, *this), stop_(&stop_it, *this) {
        claimed_.store(false, std::memory_order_relaxed);
    }
    ~descriptor_wait() {
        if (this->left() && !over_.read())
            sync::fail("a frame was destroyed while it waits for a descriptor; cancel it");
    }

    bool await_ready() const { return false; }
    awaited await_resume() { return this->resumed(); }

    // For the base class awaiter.
    bool wait(stop_hooks<sync>* stops) {
        service_.there(start_.timed, start_);
        if (!this->listens(stops)) cancel();
        return this->stays_suspended(suspended_and_over_);
    }
    void cancel() noexcept {
        if (claim()) service_.there(stop_.timed, stop_);
    }

private:
    // A message to the service's thread, which runs it; any thread may drop it.
    struct step : job<sync> {
        step(typename job<sync>::end_function f, descriptor_wait& w) : job<sync>(f), of(w) {}
        descriptor_wait& of;
        typename Service::timed timed;
    };
    struct source final : descriptor_source {
        source(descriptor_wait& w, int descriptor) : descriptor_source(descriptor), of(w) {}
        void on_ready(readiness) noexcept override {
            (void)of.service_.unwatch(*this);
            of.watched_.write(false);
            of.off(awaited::done);
        }
        void on_gone(gone why) noexcept override {
            of.watched_.write(false);
            of.off(why == gone::worker_ended ? awaited::cancelled : awaited::closed);
        }
        descriptor_wait& of;
    };

    static bool start_it(job<sync>& self, job_end how, any_worker*) {
        auto& w = static_cast<step&>(self).of;
        const watch_result answer = how == job_end::run ? w.watch() : watch_result::worker_ends;
        if (answer != watch_result::watched)
            w.off(answer == watch_result::worker_ends ? awaited::cancelled : awaited::closed);
        return true;
    }
    watch_result watch() noexcept {
        try {
            const watch_result answer = service_.watch(source_, what_);
            watched_.write(answer == watch_result::watched);
            return answer;
        } catch (...) {  // the kernel or the process has no memory
            return watch_result::bad_descriptor;
        }
    }

    static bool stop_it(job<sync>& self, job_end how, any_worker*) {
        auto& w = static_cast<step&>(self).of;
        if (how == job_end::run && w.watched_.read()) {
            (void)w.service_.unwatch(w.source_);
            w.part();
        }
        w.part();
        return true;
    }

    bool claim() noexcept { return !claimed_.exchange(true, std::memory_order_relaxed); }  // I2

    // The source is no longer watched, or never was.
    void off(awaited how_it_ended) {
        if (claim()) return end(how_it_ended);
        sync::reach("readable.off_behind_a_cancel");
        part();
    }
    void part() {
        if (parts_.second()) end(awaited::cancelled);
    }
    void end(awaited how_it_ended) {
        this->how.write(how_it_ended);
        over_.write(true);
        if (suspended_and_over_.second()) this->finish();
    }

    Service& service_;
    const interest what_;
    typename sync::template cell<bool> watched_{false};  // only for the service's thread
    source source_;
    step start_, stop_;
    typename sync::template atomic<bool> claimed_;
    second_of_two<sync> parts_, suspended_and_over_;
    typename sync::template cell<bool> over_{false};
};

template <descriptor_service Service>
descriptor_wait<Service> readable(Service& s, int descriptor) {
    return {s, descriptor, {.read = true, .write = false}};
}
template <descriptor_service Service>
descriptor_wait<Service> writable(Service& s, int descriptor) {
    return {s, descriptor, {.read = false, .write = true}};
}

}  // namespace apiary
