// byte_stream: a connected socket that coroutines read and write. One may read while another one writes.
//
//     byte_stream s(world, accepted);               // it owns the descriptor from here on
//     const transfer got = co_await s.read_some_for(buffer, 5s);        // done, with 0 bytes: the peer sends no more
//     const transfer put = co_await s.write_all(std::span(buffer).first(got.bytes));
//
// When to use it. For the connections of a server or a client, on a descriptor service (descriptor_service.hpp): a
// hive's worker, or a timer_thread with epoll. When not: for listening sockets, pipes and timers; await readable.hpp.
//
// How it works. A call that need not wait calls the system and is done. Otherwise it waits in the stream, and the
// watching thread completes it: it reads or writes, and then lets the coroutine go on. The stream is watched from its
// first wait to its end, and the system reports each change once. So the kernel is called only to read, to write and to
// report.
//
// Threads.   read_some, write_all: any; one coroutine reads and one writes at a time. close: any.
// Progress.  A mutex, held during a call of the system that does not block (several calls for a long write).
// Result.    how, bytes, error (an errno).
//              done        read: at least one byte, or 0: the peer has shut down its half. write: all of them.
//              timed_out   the deadline has come; a write says how many bytes it has written.
//              cancelled   a stop was asked for, or the service ended; a write says the same.
//              closed      with an error: what the system said (ECONNRESET, EPIPE, ENOTSOCK, EBADF), or EBUSY: another
//                          coroutine reads, or writes, at the moment; or why it cannot be watched. Without: close().
// Errors.    The service's std::bad_alloc leaves the await that would have to wait. If the constructor throws it, the
//            descriptor is still the caller's.
// Lifetime.  The stream must outlive its awaits. A frame that waits may be destroyed. Destroying a stream while a frame
//            waits ends the program. The service outlives the stream. A close that finds no memory for its message ends
//            the program, too.
// Closing.   close() ends all waits and closes the descriptor, on the watching thread. The system does not report that
//            other code has closed a descriptor: the wait then lasts until its deadline or a stop (event_source.hpp). A
//            close does not flush: the system sends later what it has not sent yet.
// Long writes. If the peer reads as fast as the watching thread writes, one write_all keeps that thread until all is
//              written: split long writes.
// Bad input. A deadline that has passed: one try, without a wait. Bytes and the deadline at the same time: the watching
//            thread finds one of them first, and the bytes stay if that is the deadline. An empty buffer: done, with
//            0 bytes, whatever the socket. A socket in blocking mode: no call blocks, because each passes MSG_DONTWAIT.
//
// Invariants, all under mutex_
//   I1  may_[side] is false only if the system has said that this side would block, and has not reported it since. The
//       thread that reports sets it, and completes what waits. So no report falls between a look and a wait.
//   I2  A waiting operation is taken out once: the watching thread completes it, or a cancel or a deadline withdraws
//       it.
//   I3  The descriptor is closed once, by the thread that finds the stream closed and no longer watched.
//
// Short reads. A TCP socket that gives fewer bytes than there is room for has given all, unless the peer has ended or
// hung up; so no call asks again. (A read ends before urgent data, too: what follows it waits for the next report.)
//
// Checked by model_check/coroutines/byte_stream_check.cpp. Tested by byte_stream_test.cpp.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

#include <apiary/coroutines/awaiter.hpp>
#include <apiary/coroutines/descriptor_service.hpp>
#include <apiary/coroutines/limited.hpp>
#include <apiary/events/event_source.hpp>
#include <apiary/tasks/job.hpp>
#include <apiary/timers/clock.hpp>

namespace apiary {

struct transfer {
    awaited how = awaited::done;
    std::size_t bytes = 0;
    int error = 0;
};

// The calls of the system, which a check replaces. They return the number of bytes, or a negative errno.
struct socket_calls {
    std::ptrdiff_t read(int fd, std::byte* into, std::size_t n) {
        const auto got = ::recv(fd, into, n, MSG_DONTWAIT);
        return got < 0 ? -errno : got;
    }
    std::ptrdiff_t write(int fd, const std::byte* from, std::size_t n) {
        const auto put = ::send(fd, from, n, MSG_DONTWAIT | MSG_NOSIGNAL);
        return put < 0 ? -errno : put;
    }
    // True if a read of fewer bytes than there was room for has taken all.
    bool short_read_is_last(int fd) {
        int protocol = 0;
        socklen_t size = sizeof protocol;
        return ::getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) == 0 && protocol == IPPROTO_TCP;
    }
    void close(int fd) { ::close(fd); }
};

template <descriptor_service Service, class Calls = socket_calls>
class byte_stream {
    using sync = typename Service::sync;
    template <class T>
    using cell = typename sync::template cell<T>;
    using lock = typename sync::lock;
    enum side : std::uint8_t { reads, writes };
    class core;

    // Both ways: bytes from `at`, of which some are done.
    class [[nodiscard]] operation : public awaiter<operation, sync> {
    public:
        operation(core& of, side& s, std::byte*& at, std::size_t& size) : of_(of), side_(s), at_(at), size_(size) {}
        ~operation() {
            if (this->left()) (void)withdraw();
        }

        bool await_ready() const { return false; }
        transfer await_resume() {
            const awaited ended = this->resumed();
            return {ended, done_.read(), error_.read()};
        }

        // For the base class awaiter.
        bool wait(stop_hooks<sync>* stops) {
            for (;;) {
                {
                    const lock held(of_.mutex_);
                    if (of_.ends_at_once(*this)) return false;
                    if (!of_.must_be_watched_first()) {
                        if (!this->listens(stops)) {
                            this->how.write(awaited::cancelled);
                            return false;
                        }
                        of_.waiting_[side_].write(this);
                        return true;
                    }
                }
                of_.begin_to_watch();
            }
        }
        void cancel() noexcept {
            if (!withdraw()) return sync::reach("byte_stream.cancelled_too_late");
            this->how.write(awaited::cancelled);
            this->finish();
        }
        // For limited.
        bool look() {
            const lock held(of_.mutex_);
            of_.may_[side_].write(true);
            return of_.ends_at_once(*this);
        }
        bool withdraw() noexcept {
            const lock held(of_.mutex_);
            if (of_.waiting_[side_].read() != this) return false;
            of_.waiting_[side_].write(nullptr);
            return true;
        }

    private:
        friend core;
        // True: the operation is over.
        bool ends(awaited why, int error) {
            this->how.write(why);
            error_.write(error);
            return true;
        }

        core& of_;
        const side side_;
        std::byte* const at_;
        const std::size_t size_;
        cell<std::size_t> done_{0};
        cell<int> error_{0};
    };

    // A message to the watching thread.
    struct message : job<sync> {
        message(typename job<sync>::end_function f, core& c) : job<sync>(f), of(c) {}
        core& of;
        typename Service::timed timed;
    };

    // Owned by the stream, the watch, and each message that is under way.
    class core final : public descriptor_source {
    public:
        core(Service& s, int descriptor, Calls c)
            : descriptor_source(descriptor), service_(s), calls_(c), begin_(&begin_it, *this), end_(&end_it, *this) {
            owners_.store(1, std::memory_order_relaxed);
            short_read_is_last_ = calls_.short_read_is_last(descriptor);
        }

        void on_ready(readiness r) noexcept override {
            of_both completed;
            {
                const lock held(mutex_);
                if (r.ended || r.hung_up) told_the_end_.write(true);
                completed = {r.readable || r.hung_up ? goes_on(reads) : nullptr,
                             r.writable || r.hung_up ? goes_on(writes) : nullptr};
            }
            finish(completed);
        }
        void on_gone(gone why) noexcept override {
            if (why == gone::descriptor_closed)
                is_off(awaited::closed, EBADF, false);  // the number belongs to another file by now
            else
                is_off(awaited::cancelled, 0, true);
            release();
        }

        void close() {
            bool watched;
            {
                const lock held(mutex_);
                if (closed_.read()) return;
                closed_.write(true);
                watched = phase_.read() == phase::watched;
                own();  // for the message, which may be over, and with it the watch, before this call
            }
            const of_both ended = end_all(awaited::closed, 0);
            if (watched) {
                service_.there(end_.timed, end_);
            } else {
                close_if_off();
                release();
            }
            finish(ended);  // last: the service may end, too
        }
        void release() {
            if (owners_.fetch_sub(1, std::memory_order_acq_rel) == 1) sync::destroy(this);
        }
        bool waits() {
            const lock held(mutex_);
            return waiting_[reads].read() != nullptr || waiting_[writes].read() != nullptr;
        }

    private:
        friend operation;
        friend byte_stream;
        enum class phase : std::uint8_t { fresh, begins, watched, off };
        using of_both = std::array<operation*, 2>;  // by side

        // ---- With mutex_ held.
        // False: it must wait.
        bool ends_at_once(operation& o) {
            if (waiting_[o.side_].read() != nullptr) return o.ends(awaited::closed, EBUSY);
            if (closed_.read()) return o.ends(awaited::closed, 0);
            if (o.size_ == 0) return o.ends(awaited::done, 0);
            if (!descriptor_closed_.read() && may_[o.side_].read() && completes(o)) return true;
            return phase_.read() == phase::off && o.ends(why_off_.read(), error_off_.read());
        }
        bool must_be_watched_first() {
            if (phase_.read() != phase::fresh) return false;
            phase_.write(phase::begins);
            own();
            return true;
        }
        // Calls the system, on a side that may be ready. False: the call would block.
        bool completes(operation& o) {
            for (;;) {
                const std::size_t before = o.done_.read();
                const std::size_t room = o.size_ - before;
                const std::ptrdiff_t n = o.side_ == reads ? calls_.read(descriptor(), o.at_ + before, room)
                                                          : calls_.write(descriptor(), o.at_ + before, room);
                if (n == -EINTR) continue;
                if (n == -EAGAIN || n == -EWOULDBLOCK) {
                    may_[o.side_].write(false);  // I1
                    return false;
                }
                if (n < 0) return o.ends(awaited::closed, static_cast<int>(-n));
                o.done_.write(before + static_cast<std::size_t>(n));
                if (o.side_ == reads) {
                    const bool all = static_cast<std::size_t>(n) < room && n != 0 && short_read_is_last_ &&
                                     phase_.read() == phase::watched && !told_the_end_.read();
                    if (all) may_[reads].write(false);  // I1: it would
                    return o.ends(awaited::done, 0);
                }
                if (o.done_.read() == o.size_) return o.ends(awaited::done, 0);
            }
        }
        // The side is ready. Returns the operation that waits, if it is complete now.
        operation* goes_on(side s) {
            may_[s].write(true);  // I1
            operation* const o = waiting_[s].read();
            if (o == nullptr || !completes(*o)) return nullptr;
            waiting_[s].write(nullptr);  // I2
            return o;
        }

        // ---- Without it.
        static void finish(const of_both& taken) {
            for (operation* o : taken)
                if (o != nullptr) o->finish();
        }
        of_both end_all(awaited why, int error) {
            const lock held(mutex_);
            of_both taken;
            for (const side s : {reads, writes}) {
                taken[s] = waiting_[s].read();
                if (taken[s] == nullptr) continue;
                waiting_[s].write(nullptr);  // I2
                taken[s]->ends(why, error);
            }
            return taken;
        }

        void begin_to_watch() {
            try {
                service_.there(begin_.timed, begin_);
            } catch (...) {
                {
                    // The service may have dropped the message already, which was the end of the stream then.
                    const lock held(mutex_);
                    if (phase_.read() != phase::begins) throw;
                    phase_.write(phase::fresh);
                }
                const of_both ended = end_all(awaited::closed, ENOMEM);  // the other side may rely on this message
                close_if_off();
                finish(ended);
                release();
                throw;
            }
        }
        static bool begin_it(job<sync>& self, job_end how, any_worker*) {
            core& c = static_cast<message&>(self).of;
            if (how == job_end::run)
                c.begin();
            else
                c.is_off(awaited::cancelled, 0, true);
            c.release();
            return true;
        }
        // On the watching thread.
        void begin() noexcept {
            bool wanted;
            {
                const lock held(mutex_);
                wanted = !closed_.read();
            }
            if (!wanted) return is_off(awaited::closed, 0, true);
            own();  // for the watch
            watch_result r;
            int error = EPERM;
            try {
                r = service_.watch(*this, {.read = true, .write = true, .once = true});
            } catch (...) {
                r = watch_result::bad_descriptor;
                error = ENOMEM;
            }
            if (r != watch_result::watched) {
                if (r == watch_result::worker_ends)
                    is_off(awaited::cancelled, 0, true);
                else
                    is_off(awaited::closed, r == watch_result::watched_before ? EBUSY : error, true);
                return release();
            }
            bool closed;
            {
                const lock held(mutex_);
                phase_.write(phase::watched);
                closed = closed_.read();
            }
            if (closed) end();  // what is ready meanwhile the watch reports
        }
        static bool end_it(job<sync>& self, job_end how, any_worker*) {
            core& c = static_cast<message&>(self).of;
            if (how == job_end::run) c.end();
            c.release();  // dropped: the service ends, and on_gone has come or will come
            return true;
        }
        // Called on the watching thread, which then no longer watches.
        void end() {
            {
                const lock held(mutex_);
                if (phase_.read() != phase::watched) return;  // on_gone came before
            }
            is_off(awaited::closed, 0, service_.unwatch(*this));
            release();
        }
        void is_off(awaited why, int error, bool still_ours) {
            {
                const lock held(mutex_);
                phase_.write(phase::off);
                why_off_.write(why);
                error_off_.write(error);
                if (!still_ours) descriptor_closed_.write(true);
            }
            const of_both ended = end_all(why, error);
            close_if_off();
            finish(ended);
        }
        void close_if_off() {
            {
                const lock held(mutex_);
                const bool off = phase_.read() == phase::off || phase_.read() == phase::fresh;
                if (!closed_.read() || !off || descriptor_closed_.read()) return;
                descriptor_closed_.write(true);  // I3
            }
            calls_.close(descriptor());
        }
        void own() { owners_.fetch_add(1, std::memory_order_relaxed); }

        Service& service_;
        [[no_unique_address]] Calls calls_;
        message begin_, end_;
        typename sync::template atomic<std::uint32_t> owners_;
        bool short_read_is_last_;
        // Guarded by mutex_.
        typename sync::mutex mutex_;
        std::array<cell<operation*>, 2> waiting_{cell<operation*>(nullptr), cell<operation*>(nullptr)};
        std::array<cell<bool>, 2> may_{cell<bool>(true), cell<bool>(true)};  // I1
        cell<bool> told_the_end_{false};
        cell<phase> phase_{phase::fresh};
        cell<awaited> why_off_{awaited::cancelled};
        cell<int> error_off_{0};
        cell<bool> closed_{false}, descriptor_closed_{false};
    };

public:
    byte_stream(Service& s, int descriptor, Calls calls = {})
        : service_(s), core_(sync::template create<core>(s, descriptor, calls)) {}
    ~byte_stream() {
        if (core_->waits()) sync::fail("a stream was destroyed while a coroutine waits for it; close it first");
        close();
        core_->release();
    }
    byte_stream(const byte_stream&) = delete;
    byte_stream& operator=(const byte_stream&) = delete;

    int descriptor() const { return core_->descriptor(); }
    void close() noexcept { core_->close(); }

    operation read_some(std::span<std::byte> into) { return make(reads, into.data(), into.size()); }
    operation write_all(std::span<const std::byte> from) { return make(writes, writable(from), from.size()); }

    // The same with a limit (limited.hpp).
    limited<operation, Service> read_some_until(std::span<std::byte> into, std::int64_t deadline_ns) {
        return make(deadline_ns, reads, into.data(), into.size());
    }
    limited<operation, Service> write_all_until(std::span<const std::byte> from, std::int64_t deadline_ns) {
        return make(deadline_ns, writes, writable(from), from.size());
    }
    template <class Rep, class Period>
    limited<operation, Service> read_some_for(std::span<std::byte> into, std::chrono::duration<Rep, Period> delay) {
        return read_some_until(into, deadline_after(service_.now_ns(), delay));
    }
    template <class Rep, class Period>
    limited<operation, Service> write_all_for(std::span<const std::byte> from,
                                              std::chrono::duration<Rep, Period> delay) {
        return write_all_until(from, deadline_after(service_.now_ns(), delay));
    }

private:
    static std::byte* writable(std::span<const std::byte> from) { return const_cast<std::byte*>(from.data()); }
    operation make(side s, std::byte* at, std::size_t size) { return {*core_, s, at, size}; }
    limited<operation, Service> make(std::int64_t deadline_ns, side s, std::byte* at, std::size_t size) {
        return {service_, deadline_ns, *core_, s, at, size};
    }

    Service& service_;
    core* const core_;
};

}  // namespace apiary
