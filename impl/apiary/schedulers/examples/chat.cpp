// chat: a chat room and its guests, over sockets, in one process. Each guest says a line, and must hear each guest's
// line once.
//
//     chat [--clients 1000]
//
// Exit code: 0 all heard all, 1 not, 2 the command line makes no sense, 77 too few descriptors.
#include "chat_room.hpp"

#include <netinet/in.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <system_error>
#include <thread>

namespace {

using namespace apiary;
using namespace apiary::examples;

int checked(int result, const char* what) {
    if (result < 0) throw std::system_error(errno, std::generic_category(), what);
    return result;
}
sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_port = htons(port);
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return a;
}

// Says "N\n" when told to, and counts whose lines it hears.
class guest final : public descriptor_source {
public:
    guest(unsigned name, unsigned of, std::uint16_t port, std::atomic<unsigned>& contented,
          std::atomic<unsigned>& wrong)
        : descriptor_source(checked(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket")),
          name_(name),
          heard_(of, false),
          contented_(contented),
          wrong_(wrong) {
        const sockaddr_in to = loopback(port);
        checked(::connect(descriptor(), reinterpret_cast<const sockaddr*>(&to), sizeof to), "connect");
    }
    ~guest() { ::close(descriptor()); }
    void speak() {
        const std::string said = std::to_string(name_) + "\n";
        if (::send(descriptor(), said.data(), said.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(said.size())) ++wrong_;
    }
    void on_ready(readiness) noexcept override {
        std::array<char, 16384> buffer;
        const ssize_t n = ::recv(descriptor(), buffer.data(), buffer.size(), MSG_DONTWAIT);
        if (n <= 0) return;
        text_.append(buffer.data(), static_cast<std::size_t>(n));
        std::size_t from = 0;
        for (std::size_t end; (end = text_.find('\n', from)) != std::string::npos; from = end + 1) {
            const unsigned long who = std::strtoul(text_.c_str() + from, nullptr, 10);
            if (who >= heard_.size() || heard_[who]) {
                ++wrong_;
                continue;
            }
            heard_[who] = true;
            if (++lines_ == heard_.size()) ++contented_;
        }
        text_.erase(0, from);
    }
    void on_gone(gone) noexcept override {}

private:
    const unsigned name_;
    std::vector<bool> heard_;
    std::size_t lines_ = 0;
    std::string text_;
    std::atomic<unsigned>&contented_, &wrong_;
};

template <class Condition>
void wait_for(Condition c) {
    while (!c()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace

int main(int argc, char** argv) {
    char* end = nullptr;
    const bool given = argc == 3 && std::string_view(argv[1]) == "--clients";
    const unsigned long n = given ? std::strtoul(argv[2], &end, 10) : 1000;
    if ((argc != 1 && !given) || (end != nullptr && *end != '\0') || n < 1 || n > 100'000)
        return std::fputs("usage: chat [--clients N]\n", stderr), 2;
    const auto clients = static_cast<unsigned>(n);
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 77;
    limit.rlim_cur = std::max<rlim_t>(limit.rlim_cur, 2 * clients + 64);
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0)
        return std::fprintf(stderr, "chat: %u guests need %u descriptors (ulimit -Hn)\n", clients, 2 * clients + 64),
               77;

    const int listening = checked(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), "socket");
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    checked(::bind(listening, reinterpret_cast<sockaddr*>(&address), sizeof address), "bind");
    checked(::listen(listening, 4096), "listen");
    checked(::getsockname(listening, reinterpret_cast<sockaddr*>(&address), &size), "getsockname");

    std::atomic<std::size_t> members = 0;
    std::atomic<unsigned> contented = 0, wrong = 0;
    std::vector<std::unique_ptr<guest>> guests;
    processes all({.workers = 2});  // goes last: the hive's connections know it
    const auto the_room = all.spawn(as_process([&](routine_self& me) { return room(me, members); }));
    hive sockets({.io_workers = 1});
    chat_server server(sockets, all, the_room.id, listening);
    std::thread io([&] { sockets.run(); });
    const auto on_io = [&](auto f) {
        if (!sockets.post_to_worker(0, f)) std::abort();
    };
    on_io([&] {
        if (sockets.watch(server) != watch_result::watched) std::abort();
    });
    for (unsigned i = 0; i != clients; ++i)
        guests.push_back(std::make_unique<guest>(i, clients, ntohs(address.sin_port), contented, wrong));
    wait_for([&] { return members == clients; });

    const auto from = std::chrono::steady_clock::now();
    on_io([&] {
        for (auto& g : guests) {
            if (sockets.watch(*g) != watch_result::watched) std::abort();
            g->speak();
        }
    });
    wait_for([&] { return contented == clients || wrong != 0; });
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - from;
    // Half of them leave; the room hears of it.
    on_io([&] {
        for (unsigned i = 0; i != clients / 2; ++i) {
            sockets.unwatch(*guests[i]);
            guests[i].reset();
        }
    });
    wait_for([&] { return members == clients - clients / 2; });
    sockets.request_stop();
    io.join();
    ::close(listening);
    const auto report = all.stop(60'000'000'000);
    std::printf("chat: each of %u guests heard %u lines, in %.0f ms; %u were wrong, %zu forced\n", clients, clients,
                took.count(), wrong.load(), report.forced.size());
    return wrong == 0 && report.over && report.forced.empty() ? 0 : 1;
}
