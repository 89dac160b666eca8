// A TCP echo server and clients for it, on the hive's event loop: an example of event sources.
//
//     echo_server server(hive, port);   // listens on worker 0; each connection lives on one IO worker
//     echo_client client(hive, …);      // sends numbered messages, and wants each back as it was
//
// Threads. Every object belongs to the IO worker that watches it, and is made there.
#pragma once

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <system_error>

#include <apiary/events/event_source.hpp>

namespace apiary::examples {

inline int checked(int result, const char* what) {
    if (result < 0) throw std::system_error(errno, std::generic_category(), what);
    return result;
}

inline sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

inline int listening_socket(std::uint16_t port, int backlog) {
    const int fd = checked(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), "socket");
    const sockaddr_in address = loopback(port);
    if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0 || ::listen(fd, backlog) < 0) {
        const int error = errno;
        ::close(fd);
        throw std::system_error(error, std::generic_category(), "listening on port " + std::to_string(port));
    }
    return fd;
}

inline std::uint16_t port_of(int fd) {
    sockaddr_in address{};
    socklen_t size = sizeof address;
    checked(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), "getsockname");
    return ntohs(address.sin_port);
}

// One accepted connection: sends back what it reads. Deletes itself when the peer or the worker ends.
template <class Hive>
class echo_connection final : public descriptor_source {
public:
    echo_connection(Hive& h, int fd, std::atomic<int>& open) : descriptor_source(fd), hive_(h), open_(open) { ++open_; }

    void on_ready(readiness) noexcept override {
        if (!write_back() || !read_more()) end();
    }
    void on_gone(gone) noexcept override { close_and_delete(); }

    void start() {
        if (hive_.watch(*this) != watch_result::watched) close_and_delete();
    }

private:
    // False: the connection has ended.
    bool read_more() {
        if (waiting_ != 0) return true;  // the peer does not read: let it feel that
        const ssize_t n = ::read(descriptor(), buffer_.data(), buffer_.size());
        if (n == 0) return false;
        if (n < 0) return errno == EAGAIN || errno == EINTR;
        from_ = 0;
        waiting_ = static_cast<std::size_t>(n);
        return write_back();
    }
    bool write_back() {
        const bool was_waiting = waiting_ != 0;
        while (waiting_ != 0) {
            const ssize_t n = ::send(descriptor(), buffer_.data() + from_, waiting_, MSG_NOSIGNAL);
            if (n < 0 && errno == EINTR) continue;
            if (n < 0 && errno == EAGAIN) return hive_.rewatch(*this, {.read = false, .write = true});
            if (n < 0) return false;
            from_ += static_cast<std::size_t>(n);
            waiting_ -= static_cast<std::size_t>(n);
        }
        return !was_waiting || hive_.rewatch(*this, {.read = true, .write = false});
    }
    void end() {
        hive_.unwatch(*this);
        close_and_delete();
    }
    void close_and_delete() {
        ::close(descriptor());
        --open_;
        delete this;
    }

    Hive& hive_;
    std::atomic<int>& open_;
    std::array<char, 4096> buffer_;
    std::size_t from_ = 0, waiting_ = 0;
};

// Accepts on the worker that watches it, and spreads the connections over the IO workers.
template <class Hive>
class echo_server final : public descriptor_source {
public:
    echo_server(Hive& h, unsigned workers, int listening) : descriptor_source(listening), hive_(h), workers_(workers) {}
    ~echo_server() { ::close(descriptor()); }

    int open() const { return open_; }

    void on_ready(readiness) noexcept override {
        for (;;) {
            const int fd = ::accept4(descriptor(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
            if (fd < 0) return;  // EAGAIN; on any other error the next readiness tries again
            const auto serve = [this, fd] { (new echo_connection<Hive>(hive_, fd, open_))->start(); };
            if (!hive_.post_to_worker(next_++ % workers_, serve)) ::close(fd);
        }
    }

private:
    Hive& hive_;
    const unsigned workers_;
    unsigned next_ = 0;
    std::atomic<int> open_{0};
};

// Sends `messages` numbered messages, one after the other came back. Calls `ended(ok)` once, and deletes itself.
template <class Hive, class Ended>
class echo_client final : public descriptor_source {
public:
    echo_client(Hive& h, std::uint64_t name, std::uint64_t messages, std::uint16_t port, Ended ended)
        : descriptor_source(connected(port)), hive_(h), name_(name), messages_(messages), ended_(ended) {}

    void start() {
        if (descriptor() < 0 || hive_.watch(*this, {.read = false, .write = true}) != watch_result::watched) end(false);
    }
    void on_ready(readiness) noexcept override {
        // A new connection is writable first; then every message is small enough to be written at once.
        if (sent_ == 0) {
            if (!hive_.rewatch(*this, {.read = true, .write = false}) || !send_next()) end(false);
            return;
        }
        while (got_ < message_bytes) {
            const ssize_t n = ::read(descriptor(), answer_.data() + got_, message_bytes - got_);
            if (n < 0 && errno == EINTR) continue;
            if (n < 0 && errno == EAGAIN) return;
            if (n <= 0) return end(false);
            got_ += static_cast<std::size_t>(n);
        }
        if (answer_ != message_) return end(false);  // another connection's bytes, or in another order
        if (sent_ == messages_) return end(true);
        if (!send_next()) end(false);
    }
    void on_gone(gone) noexcept override { close_and_delete(false); }

private:
    static constexpr std::size_t message_bytes = 64;

    static int connected(std::uint16_t port) {
        const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        const sockaddr_in address = loopback(port);
        if (fd < 0) return -1;
        if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 || errno == EINPROGRESS) {
            const int on = 1;
            ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
            return fd;
        }
        ::close(fd);
        return -1;
    }
    bool send_next() {
        ++sent_;
        got_ = 0;
        for (std::size_t i = 0; i < message_bytes; i += 16) {
            std::memcpy(message_.data() + i, &name_, 8);
            std::memcpy(message_.data() + i + 8, &sent_, 8);
        }
        return ::send(descriptor(), message_.data(), message_bytes, MSG_NOSIGNAL) ==
               static_cast<ssize_t>(message_bytes);
    }
    void end(bool ok) {
        hive_.unwatch(*this);
        close_and_delete(ok);
    }
    void close_and_delete(bool ok) {
        if (descriptor() >= 0) ::close(descriptor());
        ended_(ok);
        delete this;
    }

    Hive& hive_;
    const std::uint64_t name_, messages_;
    Ended ended_;
    std::uint64_t sent_ = 0;
    std::size_t got_ = 0;
    std::array<char, message_bytes> message_{}, answer_{};
};

}  // namespace apiary::examples
