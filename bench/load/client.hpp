// The client: sends the requests of a plan over its connections, each at its time, and holds every answer to what it
// must be.
//
// Request i leaves on connection i mod C, answered or not what went before. The rules of the times are the injector's
// (apiary/bench/injector.hpp); where that sleeps or looks at the clock, the client takes answers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <apiary/bench/injector.hpp>

#include "load/messages.hpp"
#include "load/sockets.hpp"

namespace apiary::load {

class client {
public:
    client(poller& p, const messages& m, std::size_t connections, std::uint16_t port, std::size_t requests)
        : poller_(p), messages_(m), answered_ns_(requests), request_(m.bytes()) {
        links_.reserve(connections);
        for (std::size_t c = 0; c < connections; ++c) links_.push_back(std::make_unique<link>(*this, c, port));
    }

    // Some requests over each connection, one at a time.
    void warm_up() {
        const std::size_t each = std::max<std::size_t>(3, 2000 / links_.size());
        for (std::size_t k = 0; k < each && wrong_.empty(); ++k) {
            answers_ = 0;
            for (const auto& l : links_) {
                l->next = warm | (k * links_.size() + l->number);
                send(*l, l->next);
            }
            wait_for_answers(links_.size());
        }
        for (const auto& l : links_) l->next = l->number;
        answers_ = 0;
    }

    // `looks`: the client has a processor that the server has not, and looks at the clock before each request.
    void run(std::span<const std::int64_t> plan, bool looks) {
        injected_ = bench::inject(
            plan, [this](std::size_t i) { send(*links_[i % links_.size()], i); }, takes_answers{*this}, looks);
        wait_for_answers(plan.size());
    }

    // Lets the server end each connection. An answer that nobody asked for is found here, too.
    void close() {
        for (const auto& l : links_) l->shut_down();
        const auto over = [this] { return std::ranges::all_of(links_, [](const auto& l) { return l->ended(); }); };
        for (std::int64_t until = bench::now_ns() + patience_ns; !over();) {
            if (bench::now_ns() > until) return complain("the server has not ended its connections");
            poller_.poll(patience_ns);
        }
    }

    [[nodiscard]] const bench::injection& injected() const { return injected_; }
    [[nodiscard]] std::span<const std::int64_t> answered_ns() const { return answered_ns_; }  // 0: not
    [[nodiscard]] std::uint64_t sent() const { return sent_; }                                // with the warm-up
    [[nodiscard]] std::uint64_t sum() const { return sum_; }
    [[nodiscard]] const std::string& wrong() const { return wrong_; }

private:
    static constexpr std::uint64_t warm = std::uint64_t{1} << 63;  // numbers of the warm-up
    static constexpr std::int64_t patience_ns = 5'000'000'000;     // without an answer

    struct link final : connection<link> {
        link(client& c, std::size_t n, std::uint16_t port)
            : connection(c.poller_, connected(port), c.messages_.bytes()), of(c), number(n), next(n) {}
        void on_message(std::byte* message) { of.take(*this, message); }
        void on_end(int error) { of.ended(*this, error); }
        client& of;
        const std::size_t number;
        std::uint64_t next;  // to be answered
    };

    struct takes_answers {
        client& of;
        unsigned late = 0;
        void sleep_until(std::int64_t due_ns) { of.poller_.poll_until(due_ns); }
        void look() { of.poller_.poll(0); }
        void is_late() {
            if (++late % 8 == 0) of.poller_.poll(0);
        }
    };

    static descriptor connected(std::uint16_t port) {
        descriptor fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        const sockaddr_in to = loopback(port);
        if (fd.get() < 0 || ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0)
            failed("a connection to the server, on port " + std::to_string(port));
        if (::fcntl(fd.get(), F_SETFL, O_NONBLOCK) != 0) failed("O_NONBLOCK");
        return fd;
    }

    void send(link& l, std::uint64_t number) {
        ++sent_;
        messages_.write_request(number, request_.data());
        l.send(request_.data(), request_.size());
    }
    void take(link& l, const std::byte* message) {
        if (closing(l)) return complain("an answer that nobody asked for");
        if (!messages_.is_answer(message, l.next))
            return complain("connection " + std::to_string(l.number) + ": not the answer to its next request");
        ++answers_;
        if (l.next & warm) return;
        answered_ns_[l.next] = bench::now_ns();
        sum_ += bench::mark(l.next);
        l.next += links_.size();
    }
    [[nodiscard]] bool closing(const link& l) const { return !(l.next & warm) && l.next >= answered_ns_.size(); }
    void ended(const link& l, int error) {
        const bool within = l.within_a_message();
        if (closing(l) && error == 0 && !within) return;
        complain("the server has ended connection " + std::to_string(l.number) + (within ? " within a message" : "") +
                 (error == 0 ? "" : ": ") + (error == 0 ? "" : std::strerror(error)));
    }
    void wait_for_answers(std::size_t n) {
        for (std::size_t before = answers_; answers_ < n && wrong_.empty(); before = answers_) {
            const std::int64_t until = bench::now_ns() + patience_ns;
            while (answers_ == before && wrong_.empty()) {
                if (bench::now_ns() > until)
                    return complain(std::to_string(n - answers_) + " of " + std::to_string(n) +
                                    " requests have no answer");
                poller_.poll(patience_ns);
            }
        }
    }
    void complain(std::string what) {
        if (wrong_.empty()) wrong_ = std::move(what);
    }

    poller& poller_;
    const messages& messages_;
    std::vector<std::unique_ptr<link>> links_;
    std::vector<std::int64_t> answered_ns_;  // by request
    std::vector<std::byte> request_;
    bench::injection injected_;
    std::size_t answers_ = 0;
    std::uint64_t sent_ = 0, sum_ = 0;
    std::string wrong_;  // the first thing that was
};

}  // namespace apiary::load
