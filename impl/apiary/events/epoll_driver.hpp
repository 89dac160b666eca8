// epoll_driver: the event loop in which an IO worker blocks; the only file that knows epoll and eventfd.
//
// While it watches nothing it blocks on a futex (poll_parker), where a wake and a wait cost less than with epoll. The
// eventfd that interrupts epoll is registered edge-triggered and never read: each write is a new edge, which epoll
// keeps until a call reports it.
//
// A wait only collects the events; the next poll tells the sources. So no source is called while its worker still
// counts as asleep. A generation marks stale events of a source that was unwatched in the same batch.
//
// Two sources may share a descriptor, one that reads and one that writes (full duplex): epoll has one entry for it,
// with the events that either source wants. When one of them leaves, the other one is still watched.
//
// A worker that has an event loop of its own brings it as a guest. Until end_sources the worker waits in it and polls
// it, and epoll watches nothing for this worker. Wakes remain this driver's tokens: the guest is woken only if its
// worker waits in it.
//
// Threads. wait, poll, watch, rewatch, unwatch, host, end_sources: the worker that owns it. wake: any.
// Errors.  The constructor throws std::system_error if the process is out of descriptors, or the kernel has no
//          epoll_pwait2.
// Side effect. The first wait with a deadline sets the thread's timer slack to 1 ns and leaves it so, except beside a
// guest.
#pragma once

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <system_error>
#include <utility>
#include <vector>

#include <apiary/events/driver.hpp>
#include <apiary/events/event_source.hpp>
#include <apiary/parking/core_seat.hpp>
#include <apiary/parking/poll_parker.hpp>
#include <apiary/sync/real_sync.hpp>

namespace apiary {

class epoll_driver {
public:
    static constexpr std::int64_t forever = INT64_MAX;
    static constexpr bool waits_for_the_system = true;  // not for a policy with threads of its own

    epoll_driver() : epoll_(checked(::epoll_create1(EPOLL_CLOEXEC), "epoll_create1")) {
        wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        epoll_event e{};
        e.events = EPOLLIN | EPOLLET;
        e.data.u64 = wake_tag;
        if (wake_ < 0 || ::epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_, &e) < 0) {
            const int error = errno;
            close_all();
            throw std::system_error(error, std::generic_category(), "eventfd for a worker's wake-ups");
        }
        const timespec none{};
        if (::epoll_pwait2(epoll_, &e, 1, &none, nullptr) < 0 && errno != EINTR) {
            const int error = errno;
            close_all();
            throw std::system_error(error, std::generic_category(), "epoll_pwait2 (it needs Linux 5.11 or newer)");
        }
    }
    ~epoll_driver() { close_all(); }
    epoll_driver(const epoll_driver&) = delete;
    epoll_driver& operator=(const epoll_driver&) = delete;

    // Blocks until a wake, an event or the deadline (now_ns). May return early.
    void wait(std::int64_t deadline_ns) {
        // The default slack of 50 us would be added to every timer; the setting is the thread's own.
        if (deadline_ns != forever && !slack_set_) slack_set_ = ::prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0) == 0;
        if (watched_ == 0) {
            (void)parker_.park_until(deadline_ns);
        } else {
            parker_.poll_until_woken([&] {
                if (guest_core* const guest = guest_.core())
                    guest->wait(deadline_ns);
                else
                    collect_until(deadline_ns);
            });
        }
    }

    // Tells the sources what is ready, without blocking. It makes a system call only if there are sources.
    void poll() {
        if (watched_ == 0) {
            ready_ = 0;
            return;
        }
        if (guest_core* const guest = guest_.core()) return guest->poll();
        const timespec none{};
        if (ready_ == 0) collect(&none);
        // A source's call may watch, unwatch, and even poll again: copy the batch and mark it used first.
        std::array<epoll_event, batch> events;
        const int n = std::exchange(ready_, 0);
        std::copy_n(events_.begin(), n, events.begin());
        for (int i = 0; i < n; ++i) tell(events[static_cast<std::size_t>(i)]);
    }

    // From then on polls report to the source. Throws std::bad_alloc, and std::system_error if the kernel has no
    // memory.
    [[nodiscard]] watch_result watch(event_source& source, interest what) {
        if (guest_.core() != nullptr) return watch_result::wrong_backend;  // the guest's loop does not know this source
        if (source.backend() != event_backend::epoll) {
            std::fprintf(stderr,
                         "apiary: warning: an event source for another kind of event loop was refused; "
                         "this worker's driver speaks epoll, so derive it from descriptor_source\n");
            assert(!"an event source for another kind of event loop");
            return watch_result::wrong_backend;
        }
        const int fd = source.descriptor();
        if (fd < 0) return watch_result::bad_descriptor;
        const auto at = static_cast<std::size_t>(fd);
        if (at >= watches_.size()) {
            // The table grows up to the number, which may be any number if it belongs to no descriptor.
            if (::fcntl(fd, F_GETFD) < 0) return watch_result::bad_descriptor;
            watches_.resize(at + 1);
        }
        epoll_event e = wanted(what, {fd, watches_[at].generation + 1});
        if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &e) < 0) {
            if (errno == EBADF || errno == EPERM) return watch_result::bad_descriptor;
            if (errno == EEXIST && watches_[at].sources() != 0) return join(source, what);
            // Else the entry is one of a descriptor that was closed before it was unwatched, and that has a duplicate.
            if (errno != EEXIST || ::epoll_ctl(epoll_, EPOLL_CTL_MOD, fd, &e) < 0)
                throw std::system_error(errno, std::generic_category(), "epoll_ctl: watching a descriptor");
        }
        const entry before = watches_[at];
        watches_[at] = {{&source, nullptr}, {what, {}}, before.generation + 1};
        ++watched_;
        watched_ -= before.sources();
        forget_turn(source);
        for (event_source* const lost : before.of)
            if (lost != nullptr) forget_turn(*lost);
        // The kernel had forgotten the descriptor without telling these sources.
        in_turn(before.of, [&](std::size_t, event_source& lost) {
            if (&lost != &source) lost.on_gone(gone::descriptor_closed);
        });
        return watch_result::watched;  // on_gone comes last: by then one of them may be watched again
    }

    // False: the source is not watched here, its descriptor was closed, or the descriptor's other source already has
    // the direction that it asks for; then it keeps what it had.
    bool rewatch(event_source& source, interest what) {
        const std::size_t side = side_of(source);
        if (side == nowhere) return false;
        entry& w = watches_[static_cast<std::size_t>(source.descriptor())];
        const std::size_t other = 1 - side;
        if (w.of[other] != nullptr && !apart(what, w.wants[other])) return false;
        if (!modify(source.descriptor(), w.of[other] == nullptr ? what : both(what, w.wants[other]))) return false;
        w.wants[side] = what;
        return true;
    }

    // False: the source is not watched here, or its descriptor was closed before. It is not called again in either
    // case.
    bool unwatch(event_source& source) {
        forget_turn(source);
        const std::size_t side = side_of(source);
        if (side == nowhere) return false;
        const int fd = source.descriptor();
        entry& w = watches_[static_cast<std::size_t>(fd)];
        w.of[side] = nullptr;
        ++w.generation;
        --watched_;
        if (w.of[1 - side] != nullptr) return modify(fd, w.wants[1 - side]);
        return ::epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr) == 0;
    }

    // Call it before the worker runs. The guest must outlive the end of end_sources.
    void host(guest_core& guest) {
        guest_.sit(guest);
        watched_ = 1;
        slack_set_ = true;  // leave the timer slack alone: the thread is the user's
    }

    // The worker ends: tells this to every source. From then on a guest is neither waited in nor woken.
    void end_sources() {
        slack_set_ = false;  // the next worker in this place has a thread of its own
        if (guest_.core() != nullptr) {
            guest_.leave();
            watched_ = 0;
        }
        for (std::size_t at = 0; at < watches_.size(); ++at) {
            for (std::size_t side = 0; side < 2; ++side) {
                event_source* const source = watches_[at].of[side];
                if (source == nullptr) continue;
                const bool still_open = unwatch(*source);
                source->on_gone(still_open ? gone::worker_ended : gone::descriptor_closed);
            }
        }
    }

    std::size_t watched() const { return watched_; }

    void wake() noexcept {
        parker_.unpark([this] {
            if (guest_.wake()) return;
            const std::uint64_t one = 1;
            // It can fail only by counter overflow, 2^64 wakes away, and then a wake is pending anyway.
            [[maybe_unused]] const auto written = ::write(wake_, &one, sizeof one);
        });
    }

private:
    static int checked(int fd, const char* what) {
        if (fd < 0) throw std::system_error(errno, std::generic_category(), what);
        return fd;
    }
    void close_all() noexcept {
        if (wake_ >= 0) ::close(wake_);
        ::close(epoll_);
    }

    static constexpr std::size_t batch = 64;
    static constexpr std::uint64_t wake_tag = UINT64_MAX;

    // The descriptor, and how often its number has been watched.
    struct tag {
        int descriptor;
        std::uint32_t generation;
    };
    // The sources of a descriptor, and what each wants. Of two sources one wants to read and the other one to write.
    struct entry {
        std::array<event_source*, 2> of{};
        std::array<interest, 2> wants{};
        std::uint32_t generation = 0;

        std::size_t sources() const { return std::size_t{of[0] != nullptr} + std::size_t{of[1] != nullptr}; }
    };
    static constexpr std::size_t nowhere = 2;
    // A source that is to be called after the call of the descriptor's first source has returned. Null: none is, or it
    // has left meanwhile. Turns nest if a call polls or watches.
    struct turn {
        event_source* next;
        turn* outer;
    };

    static bool apart(interest a, interest b) {
        return a.read != a.write && a.read == b.write && a.write == b.read && !a.once && !b.once;
    }
    static interest both(interest a, interest b) { return {.read = a.read || b.read, .write = a.write || b.write}; }

    static epoll_event wanted(interest what, tag t) {
        epoll_event e{};
        e.events = (what.read ? EPOLLIN | EPOLLRDHUP : 0U) | (what.write ? static_cast<unsigned>(EPOLLOUT) : 0U) |
                   (what.once ? static_cast<unsigned>(EPOLLET) : 0U);
        e.data.u64 = std::uint64_t{static_cast<std::uint32_t>(t.descriptor)} << 32 | t.generation;
        return e;
    }
    // Which of its descriptor's two places the source has here.
    std::size_t side_of(const event_source& source) const {
        const auto at = static_cast<std::size_t>(source.descriptor());
        if (source.descriptor() < 0 || at >= watches_.size()) return nowhere;
        const auto& of = watches_[at].of;
        return static_cast<std::size_t>(std::find(of.begin(), of.end(), &source) - of.begin());
    }
    // Adds a second source to a descriptor that epoll watches already.
    watch_result join(event_source& source, interest what) {
        entry& w = watches_[static_cast<std::size_t>(source.descriptor())];
        if (w.sources() != 1) return watch_result::watched_before;
        const std::size_t first = w.of[0] != nullptr ? 0 : 1;
        if (w.of[first] == &source || !apart(what, w.wants[first])) return watch_result::watched_before;
        if (!modify(source.descriptor(), both(what, w.wants[first])))
            throw std::system_error(errno, std::generic_category(), "epoll_ctl: watching a descriptor for two sources");
        w.of[1 - first] = &source;
        w.wants[1 - first] = what;
        ++watched_;
        forget_turn(source);
        return watch_result::watched;
    }
    bool modify(int fd, interest what) {
        epoll_event e = wanted(what, {fd, watches_[static_cast<std::size_t>(fd)].generation});
        return ::epoll_ctl(epoll_, EPOLL_CTL_MOD, fd, &e) == 0;
    }

    void collect_until(std::int64_t deadline_ns) {
        if (deadline_ns == forever) return collect(nullptr);
        const std::int64_t left = deadline_ns - real_sync::now_ns();
        timespec timeout{};
        if (left > 0) {
            timeout.tv_sec = left / 1'000'000'000;
            timeout.tv_nsec = left % 1'000'000'000;
        }
        collect(&timeout);
    }
    void collect(const timespec* timeout) {
        ready_ = std::max(::epoll_pwait2(epoll_, events_.data(), static_cast<int>(batch), timeout, nullptr), 0);
    }

    void tell(const epoll_event& e) {
        if (e.data.u64 == wake_tag) return;
        const auto at = static_cast<std::size_t>(e.data.u64 >> 32);
        const auto generation = static_cast<std::uint32_t>(e.data.u64);
        const readiness is{.readable = (e.events & (EPOLLIN | EPOLLRDHUP)) != 0,
                           .writable = (e.events & EPOLLOUT) != 0,
                           .hung_up = (e.events & (EPOLLHUP | EPOLLERR)) != 0,
                           .ended = (e.events & EPOLLRDHUP) != 0};
        if (watches_[at].generation != generation) return;
        in_turn(watches_[at].of, [&](std::size_t side, event_source& source) {
            const interest wants = watches_[at].wants[side];
            const readiness its{is.readable && wants.read, is.writable && wants.write, is.hung_up,
                                is.ended && wants.read};
            if (its.readable || its.writable || its.hung_up) source.on_ready(its);
        });
    }
    // Calls both sources of a descriptor. The first call may end the watch of the second source, and that source
    // itself. It may also end its own watch; the second source still has its turn then. Otherwise a source that leaves
    // and comes back at each report would be the only one that is told.
    template <class Call>
    void in_turn(std::array<event_source*, 2> of, Call call) {
        turn second{of[1], turns_};
        turns_ = &second;
        if (of[0] != nullptr) call(0, *of[0]);
        turns_ = second.outer;
        if (second.next != nullptr) call(1, *second.next);
    }
    void forget_turn(const event_source& source) {
        for (turn* t = turns_; t != nullptr; t = t->outer)
            if (t->next == &source) t->next = nullptr;
    }

    int epoll_;
    int wake_ = -1;
    poll_parker<real_sync> parker_;
    core_seat<guest_core> guest_;
    bool slack_set_ = false;
    int ready_ = 0;               // entries of events_ that are not reported yet
    std::size_t watched_ = 0;     // sources in watches_; 1 with a guest
    turn* turns_ = nullptr;       // the innermost one
    std::vector<entry> watches_;  // by descriptor
    std::array<epoll_event, batch> events_;
};

}  // namespace apiary
