// What a server is to do in the scenarios echo and fan_out, for the adapters' servers.
//
//     class server {                                   // of an adapter; adapter.hpp
//         server(Runtime& runtime, const serving& what);   // serves from here on
//         ~server();                                   // waits until accept has failed and every connection has ended
//     };
//
// The listening socket is non-blocking and not the server's. An accept fails for good when the harness shuts it down.
#pragma once

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <vector>

#include <apiary/bench/adapter.hpp>
#include <apiary/bench/ledger.hpp>

namespace apiary::bench {

class serving {
public:
    int listening = -1;
    std::size_t bytes = 0;                // of a message
    std::vector<std::uint16_t> backends;  // ports on 127.0.0.1; none: echo
    std::uint64_t ask = 0;                // so many of them for a request
    std::int64_t slowdown_ns = 0;

    // echo. Makes answers of whole requests, in place.
    void answer(std::span<std::byte> whole) const noexcept {
        for (std::size_t at = 0; at != whole.size(); at += bytes) finish(&whole[at], mix(number_of(&whole[at])));
    }

    // fan_out. The j-th backend to ask, j < ask; what a backend has answered; the answer of the front.
    [[nodiscard]] std::size_t backend(const std::byte* message, std::uint64_t j) const noexcept {
        return static_cast<std::size_t>((number_of(message) + j) % backends.size());
    }
    [[nodiscard]] static std::uint64_t part_of(const std::byte* answer) noexcept { return word(answer + 8); }
    void finish(std::byte* message, std::uint64_t sum) const noexcept {
        std::memcpy(message + 8, &sum, sizeof sum);
        ledger::slow_down(slowdown_ns);
    }

    static void send_at_once(int fd) noexcept {
        const int on = 1;
        (void)::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }

    // A connection to a backend, in blocking mode. Where there is none, its reads and writes say so.
    static int connected(std::uint16_t port) {
        const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(port);
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (fd < 0 || ::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0)
            std::perror("a connection to a backend");
        send_at_once(fd);
        return fd;
    }

private:
    static std::uint64_t word(const std::byte* at) noexcept {
        std::uint64_t n;
        std::memcpy(&n, at, sizeof n);
        return n;
    }
    static std::uint64_t number_of(const std::byte* message) noexcept { return word(message); }
};

// What a connection has read, and not answered yet.
class requests {
public:
    explicit requests(std::size_t bytes) : bytes_(bytes), all_(std::max<std::size_t>(bytes, 16'384)) {}

    [[nodiscard]] std::span<std::byte> room() { return std::span(all_).subspan(have_); }  // never empty after drop
    void add(std::size_t read) { have_ += read; }
    [[nodiscard]] std::span<std::byte> whole() { return std::span(all_).first(have_ - have_ % bytes_); }
    // Of whole().
    void drop(std::size_t answered) {
        std::memmove(all_.data(), all_.data() + answered, have_ - answered);
        have_ -= answered;
    }

private:
    const std::size_t bytes_;
    std::vector<std::byte> all_;
    std::size_t have_ = 0;
};

template <class R>
concept server_runtime = runtime_adapter<R> && std::constructible_from<typename R::server, R&, const serving&>;

}  // namespace apiary::bench
