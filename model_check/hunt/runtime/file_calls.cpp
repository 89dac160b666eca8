// file_calls: reads and writes that may wait, poll, select, epoll, eventfd, timerfd, pipes and socket pairs.
//
// The kernel does the work; this file replaces the waiting. A write happens before the read that gets it; epoll_ctl
// happens before an epoll_wait that answers. Which descriptor an answer of epoll is about is not known, so it acquires
// from all: a race may be missed by that.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "machine.hpp"
#include "shadow.hpp"
#include "times.hpp"

using namespace apiary::hunt;

namespace {

constexpr int most_files = 1024;
struct file {
    vector_clock written;  // what a reader of it knows
    int peer = -1;  // a write here is read there; -1: here
};
union never_destroyed {
    file all[most_files];
    constexpr never_destroyed() : all{} {}
    ~never_destroyed() {}
} kept;
file (&files)[most_files] = kept.all;

bool is_followed(int fd) { return fd >= 3 && fd < most_files; }
void releases_to(thread& t, int fd) {
    if (!is_followed(fd)) return;
    const int to = files[fd].peer >= 0 ? files[fd].peer : fd;
    weak_memory::release(t.sees, files[to].written);
}
void acquires_from(thread& t, int fd) {
    if (is_followed(fd)) weak_memory::acquire(t.sees, files[fd].written);
}
void acquires_from_all(thread& t) {
    for (const file& f : files)
        if (!f.written.empty()) weak_memory::acquire(t.sees, f.written);
}
void are_joined(int a, int b) {
    if (!is_followed(a) || !is_followed(b)) return;
    files[a].peer = b;
    files[b].peer = a;
}
bool blocks(int fd) { return (machine::call(SYS_fcntl, fd, F_GETFL) & O_NONBLOCK) == 0; }

long transfer(long number, int fd, short events, const char* what, std::uintptr_t place, long b, long c, long d = 0,
              long e = 0, long f = 0) {
    long result = 0;
    {
        const call here(fd >= 3 ? what : "output", place);
        if (!here || fd < 3) return here.answered(machine::call(number, fd, b, c, d, e, f));
        the_scheduler.changed(here.me());
        const bool asks_alone = (number == SYS_recvfrom || number == SYS_sendto) && (d & MSG_DONTWAIT) != 0;
        bool interrupted = false;
        if (!asks_alone && blocks(fd)) {
            pollfd waited{fd, events, 0};
            while (!interrupted && !the_scheduler.wait_for_files(here.me(), &waited, 1, forever))
                interrupted = here.me().signalled == handled::ends;
        }
        if (events == POLLOUT) releases_to(here.me(), fd);
        result = interrupted ? -EINTR : machine::call(number, fd, b, c, d, e, f);
        if (events == POLLIN && result >= 0) acquires_from(here.me(), fd);
    }
    return machine::answered(result);
}

// For the kernel, where no run is under way.
long in_milliseconds(const timespec* t) {
    return t == nullptr ? -1 : t->tv_sec * 1000 + (t->tv_nsec + 999'999) / 1'000'000;
}

// Lets through, while a call waits, what its mask does. A signal that was blocked until then comes at once.
class mask {
public:
    mask(const call& here, const sigset_t* wanted) : me_(here && wanted != nullptr ? &here.me() : nullptr) {
        if (me_ == nullptr) return;
        the_scheduler.needs_own_threads();
        std::uint64_t pending = 0;
        machine::call(SYS_rt_sigpending, machine::word(&pending), sizeof pending);
        the_scheduler.lets_through(*me_);
        becomes(reinterpret_cast<const std::uint64_t*>(wanted), &before_);
        ended_ = (pending & ~*reinterpret_cast<const std::uint64_t*>(wanted)) != 0;
    }
    ~mask() {
        if (me_ != nullptr) becomes(&before_, nullptr);
    }
    mask(const mask&) = delete;
    mask& operator=(const mask&) = delete;
    bool ended_the_wait() const { return ended_; }

private:
    void becomes(const std::uint64_t* to, std::uint64_t* from) const {
        me_->inside = false;  // a handler is the program's
        machine::call(SYS_rt_sigprocmask, SIG_SETMASK, machine::word(to), machine::word(from), sizeof *to);
        me_->inside = true;
    }
    thread* me_;
    std::uint64_t before_ = 0;
    bool ended_ = false;
};

// Waits for the files, then asks the kernel by `asks`, which waits no more. Nothing is ready and a handler ran: EINTR.
template <class F>
long asked_when_ready(const call& here, pollfd* all, std::uint32_t count, std::uint64_t deadline,
                      const sigset_t* wanted, F asks) {
    const mask during(here, wanted);
    if (during.ended_the_wait()) return -EINTR;
    for (;;) {
        the_scheduler.wait_for_files(here.me(), all, count, deadline);
        const handled by_signals = here.me().signalled;
        const long result = asks();
        if (result != 0 || by_signals == handled::none) return result;
        if (by_signals >= handled::restarts) return -EINTR;
    }
}

int epoll_until(int fd, epoll_event* events, int most, std::uint64_t deadline, long milliseconds,
                const sigset_t* wanted, std::uintptr_t place) {
    long result = 0;
    {
        const call here("epoll_wait", place);
        const auto asks = [&] {
            return machine::call(SYS_epoll_wait, fd, machine::word(events), most, here ? 0 : milliseconds);
        };
        pollfd waited{fd, POLLIN, 0};
        result = here ? asked_when_ready(here, &waited, 1, deadline, wanted, asks) : asks();
        if (here && result > 0) {
            the_scheduler.changed(here.me());
            acquires_from_all(here.me());
        }
    }
    return static_cast<int>(machine::answered(result));
}

int poll_until(pollfd* all, nfds_t count, std::uint64_t deadline, long milliseconds, const sigset_t* wanted,
               std::uintptr_t place) {
    long result = 0;
    {
        const call here("poll", place);
        const auto asks = [&] {
            return machine::call(SYS_poll, machine::word(all), static_cast<long>(count), here ? 0 : milliseconds);
        };
        result = here ? asked_when_ready(here, all, static_cast<std::uint32_t>(count), deadline, wanted, asks) : asks();
        if (here && result > 0)
            for (nfds_t i = 0; i < count; ++i)
                if (all[i].revents != 0) acquires_from(here.me(), all[i].fd);
    }
    return static_cast<int>(machine::answered(result));
}

// Waits as poll does, and then lets the kernel fill in the sets. `left` of the time, as Linux tells it.
int select_until(int count, fd_set* reads, fd_set* writes, fd_set* fails, std::uint64_t deadline, const timespec* t,
                 const sigset_t* wanted, std::uintptr_t place, timespec* left = nullptr) {
    long result = 0;
    {
        const call here("select", place);
        timespec now{};
        // The kernel empties the sets where it finds nothing.
        fd_set* const given[] = {reads, writes, fails};
        fd_set first[3];
        for (int i = 0; i < 3; ++i)
            if (given[i] != nullptr) first[i] = *given[i];
        const auto asks = [&] {
            for (int i = 0; i < 3; ++i)
                if (given[i] != nullptr) *given[i] = first[i];
            return machine::call(SYS_pselect6, count, machine::word(reads), machine::word(writes), machine::word(fails),
                                 machine::word(t));
        };
        if (here && (count < 0 || (t != nullptr && (t->tv_sec < 0 || t->tv_nsec < 0 || t->tv_nsec >= 1'000'000'000)))) {
            t = &now;
            count = -1;  // the kernel says that it is wrong, and waits for nothing
        } else if (here) {
            pollfd all[FD_SETSIZE];
            std::uint32_t asked = 0;
            for (int fd = 0; fd < count && fd < FD_SETSIZE; ++fd) {
                const auto is_in = [fd](const fd_set* set, short events) {
                    return set != nullptr && FD_ISSET(fd, set) ? events : short{0};
                };
                const int events = is_in(reads, POLLIN) | is_in(writes, POLLOUT) | is_in(fails, POLLPRI);
                if (events != 0) all[asked++] = {fd, static_cast<short>(events), 0};
            }
            t = &now;
            // A descriptor that poll tells of and select does not (the other end has hung up, and only exceptions are
            // asked for) is waited for no more.
            for (bool again = true; again;) {
                result = asked_when_ready(here, all, asked, deadline, wanted, asks);
                again = false;
                for (std::uint32_t i = 0; i < asked && result == 0; ++i) {
                    if (all[i].fd < 0 || (all[i].revents & (POLLHUP | POLLERR)) == 0 || (all[i].events & POLLIN) != 0)
                        continue;
                    again = true;
                    all[i].fd = -1;
                }
            }
            if (left != nullptr) {
                const std::uint64_t rest = deadline > the_scheduler.now ? deadline - the_scheduler.now : 0;
                *left = {static_cast<time_t>(rest / second), static_cast<long>(rest % second)};
            }
        } else if (t != nullptr) {
            now = *t;  // the kernel would write there what is left
            t = &now;
        }
        if (!here || count < 0) result = asks();
        if (!here && left != nullptr) *left = now;
        if (here && result > 0 && reads != nullptr)
            for (int fd = 0; fd < count && fd < FD_SETSIZE; ++fd)
                if (FD_ISSET(fd, reads)) acquires_from(here.me(), fd);
    }
    return static_cast<int>(machine::answered(result));
}

}  // namespace

extern "C" {

ssize_t read(int fd, void* to, std::size_t bytes) {
    return transfer(SYS_read, fd, POLLIN, "read", CALLER, machine::word(to), static_cast<long>(bytes));
}
ssize_t write(int fd, const void* from, std::size_t bytes) {
    return transfer(SYS_write, fd, POLLOUT, "write", CALLER, machine::word(from), static_cast<long>(bytes));
}
ssize_t recv(int fd, void* to, std::size_t bytes, int how) {
    return transfer(SYS_recvfrom, fd, POLLIN, "recv", CALLER, machine::word(to), static_cast<long>(bytes), how);
}
ssize_t send(int fd, const void* from, std::size_t bytes, int how) {
    return transfer(SYS_sendto, fd, POLLOUT, "send", CALLER, machine::word(from), static_cast<long>(bytes), how);
}
int eventfd_read(int fd, eventfd_t* v) { return read(fd, v, sizeof *v) == sizeof *v ? 0 : -1; }
int eventfd_write(int fd, eventfd_t v) { return write(fd, &v, sizeof v) == sizeof v ? 0 : -1; }

int pipe2(int* ends, int how) noexcept {
    const long result = machine::call(SYS_pipe2, machine::word(ends), how);
    if (result == 0) are_joined(ends[0], ends[1]);
    return static_cast<int>(machine::answered(result));
}
int pipe(int* ends) noexcept { return pipe2(ends, 0); }
int socketpair(int domain, int type, int protocol, int* ends) noexcept {
    const long result = machine::call(SYS_socketpair, domain, type, protocol, machine::word(ends));
    if (result == 0) are_joined(ends[0], ends[1]);
    return static_cast<int>(machine::answered(result));
}
int close(int fd) {
    const call here("close", CALLER);
    if (is_followed(fd)) {
        const int peer = files[fd].peer;
        files[fd] = {};
        if (peer >= 0) files[peer].peer = -1;
        for (std::size_t i = 0; i < the_scheduler.timers.size(); ++i)
            if (the_scheduler.timers[i].file == fd)
                the_scheduler.timers.erase(the_scheduler.timers.begin() + static_cast<std::ptrdiff_t>(i--));
    }
    return static_cast<int>(here.answered(machine::call(SYS_close, fd)));
}

int epoll_ctl(int set, int what, int fd, epoll_event* event) noexcept {
    const call here("epoll_ctl", CALLER);
    if (here) {
        the_scheduler.changed(here.me());
        releases_to(here.me(), set);
    }
    return static_cast<int>(here.answered(machine::call(SYS_epoll_ctl, set, what, fd, machine::word(event))));
}
int epoll_wait(int fd, epoll_event* events, int most, int milliseconds) {
    return epoll_until(fd, events, most, after_milliseconds(milliseconds), milliseconds, nullptr, CALLER);
}
int epoll_pwait(int fd, epoll_event* events, int most, int milliseconds, const sigset_t* wanted) {
    return epoll_until(fd, events, most, after_milliseconds(milliseconds), milliseconds, wanted, CALLER);
}
int epoll_pwait2(int fd, epoll_event* events, int most, const timespec* t, const sigset_t* wanted) {
    return epoll_until(fd, events, most, after(t), in_milliseconds(t), wanted, CALLER);
}
int poll(pollfd* all, nfds_t count, int milliseconds) {
    return poll_until(all, count, after_milliseconds(milliseconds), milliseconds, nullptr, CALLER);
}
int ppoll(pollfd* all, nfds_t count, const timespec* t, const sigset_t* wanted) {
    return poll_until(all, count, after(t), in_milliseconds(t), wanted, CALLER);
}
int select(int count, fd_set* reads, fd_set* writes, fd_set* fails, timeval* t) {
    if (t == nullptr) return select_until(count, reads, writes, fails, forever, nullptr, nullptr, CALLER);
    const timespec span{t->tv_sec + t->tv_usec / 1'000'000, t->tv_usec % 1'000'000 * 1000};
    timespec left = span;
    const int result = select_until(count, reads, writes, fails, after(&span), &span, nullptr, CALLER, &left);
    *t = {left.tv_sec, left.tv_nsec / 1000};
    return result;
}
int pselect(int count, fd_set* reads, fd_set* writes, fd_set* fails, const timespec* t, const sigset_t* wanted) {
    return select_until(count, reads, writes, fails, t == nullptr ? forever : after(t), t, wanted, CALLER);
}

int timerfd_create(int, int how) noexcept {
    const call here("timerfd_create", CALLER);
    if (!here) return static_cast<int>(here.answered(machine::call(SYS_timerfd_create, CLOCK_MONOTONIC, how)));
    static_assert(int{TFD_NONBLOCK} == int{EFD_NONBLOCK} && int{TFD_CLOEXEC} == int{EFD_CLOEXEC});
    const long fd = machine::call(SYS_eventfd2, 0, how);
    if (fd >= 0) the_scheduler.timers.push_back({static_cast<int>(fd), forever, 0});
    return static_cast<int>(here.answered(fd));
}
int timerfd_settime(int fd, int how, const itimerspec* wanted, itimerspec* before) noexcept {
    const call here("timerfd_settime", CALLER);
    for (file_timer& timer : the_scheduler.timers) {
        if (timer.file != fd) continue;
        if (before != nullptr) *before = {};
        const timespec &value = wanted->it_value, &interval = wanted->it_interval;
        const bool disarmed = value.tv_sec == 0 && value.tv_nsec == 0;
        timer.deadline = disarmed ? forever : (how & TFD_TIMER_ABSTIME) != 0 ? until(&value) : after(&value);
        timer.interval =
            static_cast<std::uint64_t>(interval.tv_sec) * second + static_cast<std::uint64_t>(interval.tv_nsec);
        pollfd old{fd, POLLIN, 0};  // what expired before is forgotten
        std::uint64_t count = 0;
        if (machine::call(SYS_poll, machine::word(&old), 1, 0) > 0)
            machine::call(SYS_read, fd, machine::word(&count), sizeof count);
        if (here) releases_to(here.me(), fd);
        the_scheduler.armed(timer.deadline);
        return 0;
    }
    return static_cast<int>(
        here.answered(machine::call(SYS_timerfd_settime, fd, how, machine::word(wanted), machine::word(before))));
}
}
