// epoll_core: the event loop an IO worker blocks in; the only file that knows epoll and eventfd.
//
// The eventfd is registered edge-triggered and never read: each write is a new edge, which epoll keeps
// until a wait reports it. That saves a system call per wake, and makes the wake as sticky as a token.
//
// Threads. wait, poll: the worker that owns it. wake: any.
// Errors.  The constructor throws std::system_error when the process is out of descriptors, or the
//          kernel has no epoll_pwait2.
// The first wait with a deadline sets the thread's timer slack to 1 ns, and leaves it so.
// Source:  seed 002 sections 6.3 and 10.
#pragma once

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

#include <apiary/sync/real_sync.hpp>

namespace apiary {

class epoll_core {
public:
    static constexpr std::int64_t forever = INT64_MAX;

    epoll_core() : epoll_(checked(::epoll_create1(EPOLL_CLOEXEC), "epoll_create1")) {
        wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        epoll_event e{};
        e.events = EPOLLIN | EPOLLET;
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
    ~epoll_core() { close_all(); }
    epoll_core(const epoll_core&) = delete;
    epoll_core& operator=(const epoll_core&) = delete;

    // Blocks until a wake, an event or the deadline (now_ns). May return early.
    void wait(std::int64_t deadline_ns) {
        epoll_event event{};
        if (deadline_ns == forever) {
            ::epoll_pwait2(epoll_, &event, 1, nullptr, nullptr);
            return;
        }
        // The default slack of 50 us would be added to every timer; the setting is the thread's own.
        if (!slack_set_) slack_set_ = ::prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0) == 0;
        const std::int64_t left = deadline_ns - real_sync::now_ns();
        timespec timeout{};
        if (left > 0) {
            timeout.tv_sec = left / 1'000'000'000;
            timeout.tv_nsec = left % 1'000'000'000;
        }
        ::epoll_pwait2(epoll_, &event, 1, &timeout, nullptr);
    }

    // Dispatches what is ready without blocking. Nothing to do as long as only the wake is registered.
    void poll() {}

    void wake() noexcept {
        const std::uint64_t one = 1;
        // It cannot fail but by counter overflow, 2^64 wakes away, when the wake is pending anyway.
        [[maybe_unused]] const auto written = ::write(wake_, &one, sizeof one);
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

    int epoll_;
    int wake_ = -1;
    bool slack_set_ = false;
};

}  // namespace apiary
