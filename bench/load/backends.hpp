// The backends of fan_out: each listens on a port of its own and answers what it is asked, on the client's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "load/messages.hpp"
#include "load/sockets.hpp"

namespace apiary::load {

class backend final : public watched {
public:
    backend(poller& p, const messages& m, std::uint64_t number)
        : poller_(p),
          messages_(m),
          number_(number),
          listening_(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
        const sockaddr_in any = loopback(0);
        if (listening_.get() < 0 ||
            ::bind(listening_.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any) != 0 ||
            ::listen(listening_.get(), 4096) != 0)
            failed("a backend's socket");
        poller_.add(listening_.get(), *this);
    }
    backend(const backend&) = delete;
    backend& operator=(const backend&) = delete;

    [[nodiscard]] std::uint16_t port() const {
        sockaddr_in a{};
        socklen_t size = sizeof a;
        if (::getsockname(listening_.get(), reinterpret_cast<sockaddr*>(&a), &size) != 0) failed("getsockname");
        return ntohs(a.sin_port);
    }

    void on_event(bool) override {
        for (;;) {
            descriptor fd(::accept4(listening_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
            if (fd.get() >= 0)
                fronts_.push_back(std::make_unique<front>(*this, std::move(fd)));
            else if (errno == EAGAIN || errno == EWOULDBLOCK)
                return;
            else if (errno != EINTR && errno != ECONNABORTED)
                failed("a backend's accept");
        }
    }

    [[nodiscard]] std::uint64_t asked() const { return asked_; }
    // Requests that were none.
    [[nodiscard]] std::uint64_t wrong() const { return wrong_; }

private:
    struct front final : connection<front> {
        front(backend& b, descriptor fd) : connection(b.poller_, std::move(fd), b.messages_.bytes()), of(b) {}
        void on_message(std::byte* message) {
            ++of.asked_;
            if (!of.messages_.is_request(message)) ++of.wrong_;
            of.messages_.answer_as_backend(of.number_, message);
            send(message, of.messages_.bytes());
        }
        void on_end(int) { shut_down(); }
        backend& of;
    };

    poller& poller_;
    const messages& messages_;
    const std::uint64_t number_;
    descriptor listening_;
    std::vector<std::unique_ptr<front>> fronts_;
    std::uint64_t asked_ = 0, wrong_ = 0;
};

}  // namespace apiary::load
