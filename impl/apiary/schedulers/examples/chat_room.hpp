// chat_room: a chat room: every guest hears what each guest says. Sockets are the event sources of a hive; the room,
// and each guest in it, is a process.
//
// A guest that reads slowly delays no other: its process waits until the socket takes more, and meanwhile its mailbox
// drops the oldest lines.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include <apiary/schedulers/hive/hive.hpp>
#include <apiary/schedulers/processes/processes.hpp>
#include <apiary/schedulers/processes/routine.hpp>

namespace apiary::examples {

using line = std::shared_ptr<const std::string>;
struct joined {};
struct hung_up {};
struct open_socket {
    explicit open_socket(int fd) : descriptor(fd) {}
    ~open_socket() { ::close(descriptor); }
    const int descriptor;
};

inline routine room(routine_self& me, std::atomic<std::size_t>& count) {
    std::vector<pid> members;
    for (;; count = members.size()) {
        event e = co_await me.receive();
        if (const line* said = e.data.get<line>())
            for (const pid to : members) (void)me.send(to, line(*said));
        else if (e.type == event_type::ended)
            std::erase(members, e.from());
        else if (me.out().watch(e.from()) == send_answer::accepted)
            members.push_back(e.from());
    }
}

inline routine member(routine_self& me, std::shared_ptr<open_socket> socket, pid room) {
    (void)me.send(room, joined{});
    for (std::string text;;) {
        do {  // sends all lines that have come at once
            event e = co_await me.receive();
            if (e.data.get<hung_up>() != nullptr) co_return;
            text += **e.data.get<line>();
        } while (me.has_mail());
        while (!text.empty()) {
            const ssize_t n = ::send(socket->descriptor, text.data(), text.size(), MSG_NOSIGNAL);
            if (n < 0 && errno != EAGAIN && errno != EINTR) co_return;
            if (n > 0) text.erase(0, static_cast<std::size_t>(n));
            if (n < 0) co_await me.sleep(1'000'000);
        }
    }
}

// One connection, on the worker of the hive that watches it: it passes what comes in to the room, line by line.
class connection final : public descriptor_source {
public:
    connection(hive& h, processes& all, pid room, const std::shared_ptr<open_socket>& s)
        : descriptor_source(s->descriptor), hive_(h), all_(all), room_(room), socket_(s) {
        auto body = [s, room](routine_self& me) { return member(me, s, room); };
        member_ = all.spawn(as_process(body, {.most = 100'000, .then = when_full::drop_oldest})).id;
        if (hive_.watch(*this) != watch_result::watched) on_gone({});
    }
    void on_ready(readiness) noexcept override {
        std::array<char, 4096> buffer;
        const ssize_t n = ::read(descriptor(), buffer.data(), buffer.size());
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (n <= 0) return hive_.unwatch(*this), on_gone({});
        text_.append(buffer.data(), static_cast<std::size_t>(n));
        for (std::size_t end; (end = text_.find('\n')) != std::string::npos; text_.erase(0, end + 1))
            (void)all_.send(room_, std::make_shared<const std::string>(text_.substr(0, end + 1)));
    }
    void on_gone(gone) noexcept override {
        (void)all_.send(member_, hung_up{});
        delete this;
    }

private:
    hive& hive_;
    processes& all_;
    const pid room_;
    pid member_;
    const std::shared_ptr<open_socket> socket_;
    std::string text_;
};

class chat_server final : public descriptor_source {
public:
    chat_server(hive& h, processes& all, pid room, int listening)
        : descriptor_source(listening), hive_(h), all_(all), room_(room) {}
    void on_ready(readiness) noexcept override {
        for (int fd; (fd = ::accept4(descriptor(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;)
            new connection(hive_, all_, room_, std::make_shared<open_socket>(fd));
    }

private:
    hive& hive_;
    processes& all_;
    const pid room_;
};

}  // namespace apiary::examples
