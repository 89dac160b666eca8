// The sockets of the load program: non-blocking, edge-triggered, all in one epoll, on one thread.
#pragma once

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <apiary/bench/host.hpp>

namespace apiary::load {

[[noreturn]] inline void failed(const std::string& what) {
    throw std::system_error(errno, std::generic_category(), what);
}

class descriptor {
public:
    explicit descriptor(int fd = -1) : fd_(fd) {}
    ~descriptor() {
        if (fd_ >= 0) ::close(fd_);
    }
    descriptor(descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    descriptor& operator=(descriptor&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    [[nodiscard]] int get() const { return fd_; }

private:
    int fd_;
};

inline sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_port = htons(port);
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return a;
}

inline void send_at_once(int fd) {
    const int on = 1;
    if (::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0) failed("TCP_NODELAY");
}

// A descriptor that the poller watches, and that hears of its events.
class watched {
public:
    virtual void on_event(bool ends) = 0;  // the peer sends no more than what there is to read, or has hung up

protected:
    ~watched() = default;
};

class poller {
public:
    poller() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
        if (epoll_.get() < 0) failed("epoll_create1");
    }
    void add(int fd, watched& w) {
        epoll_event e{};
        e.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
        e.data.ptr = &w;
        if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &e) != 0) failed("epoll_ctl");
    }
    // Tells what is ready, after at most so long.
    void poll(std::int64_t most_ns) {
        std::array<epoll_event, 64> events;
        const timespec timeout{.tv_sec = most_ns / 1'000'000'000, .tv_nsec = most_ns % 1'000'000'000};
        const int n = ::epoll_pwait2(epoll_.get(), events.data(), events.size(), &timeout, nullptr);
        if (n < 0 && errno != EINTR) failed("epoll_pwait2");
        for (int i = 0; i < n; ++i) tell(events[static_cast<std::size_t>(i)]);
    }
    void poll_until(std::int64_t due_ns) {
        for (std::int64_t now = bench::now_ns(); now < due_ns; now = bench::now_ns()) poll(due_ns - now);
    }

private:
    static void tell(const epoll_event& e) {
        static_cast<watched*>(e.data.ptr)->on_event((e.events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0);
    }

    descriptor epoll_;
};

// A connection that carries messages of one size each way. Reads whatever there is, and keeps what the peer does not
// take yet.
template <class Of>
class connection : public watched {
public:
    connection(poller& p, descriptor fd, std::size_t bytes) : fd_(std::move(fd)), bytes_(bytes) {
        send_at_once(fd_.get());
        p.add(fd_.get(), *this);
    }
    virtual ~connection() = default;
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;

    void send(const std::byte* at, std::size_t size) {
        if (unsent_.empty()) {
            const std::size_t put = put_some(at, size);
            at += put;
            size -= put;
        }
        unsent_.insert(unsent_.end(), at, at + size);
    }
    void shut_down() { (void)::shutdown(fd_.get(), SHUT_WR); }
    [[nodiscard]] bool ended() const { return ended_; }
    [[nodiscard]] bool within_a_message() const { return !begun_.empty(); }

    void on_event(bool ends) final {
        flush();
        while (!ended_) {
            static std::array<std::byte, 1 << 18> room;  // one thread
            const ssize_t n = ::recv(fd_.get(), room.data(), room.size(), 0);
            if (n < 0 && errno == EINTR) continue;
            if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
            if (n <= 0) {
                ended_ = true;
                return mine().on_end(n == 0 ? 0 : errno);
            }
            take({room.data(), static_cast<std::size_t>(n)});
            if (!ends && static_cast<std::size_t>(n) < room.size()) return;  // that was all
        }
    }

private:
    Of& mine() { return static_cast<Of&>(*this); }

    std::size_t put_some(const std::byte* at, std::size_t size) {
        std::size_t put = 0;
        while (put != size && !broken_) {
            const ssize_t n = ::send(fd_.get(), at + put, size - put, MSG_NOSIGNAL);
            if (n >= 0)
                put += static_cast<std::size_t>(n);
            else if (errno == EAGAIN || errno == EWOULDBLOCK)
                break;
            else if (errno != EINTR)
                broken_ = true;  // the next read tells
        }
        return broken_ ? size : put;
    }
    void flush() {
        if (unsent_.empty()) return;
        unsent_.erase(unsent_.begin(),
                      unsent_.begin() + static_cast<std::ptrdiff_t>(put_some(unsent_.data(), unsent_.size())));
    }
    void take(std::span<std::byte> part) {
        if (!begun_.empty()) {
            const std::size_t more = std::min(bytes_ - begun_.size(), part.size());
            begun_.insert(begun_.end(), part.begin(), part.begin() + static_cast<std::ptrdiff_t>(more));
            part = part.subspan(more);
            if (begun_.size() != bytes_) return;
            mine().on_message(begun_.data());
            begun_.clear();
        }
        for (; part.size() >= bytes_; part = part.subspan(bytes_)) mine().on_message(part.data());
        begun_.assign(part.begin(), part.end());
    }

    descriptor fd_;
    const std::size_t bytes_;
    std::vector<std::byte> unsent_, begun_;
    bool ended_ = false, broken_ = false;
};

}  // namespace apiary::load
