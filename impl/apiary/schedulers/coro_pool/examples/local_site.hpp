// A web site of its own for the crawler, on a port that the system chooses: page k links to the pages 2k + 1 and 2k +
// 2, and page 3 to one that is never answered.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

class local_site {
public:
    explicit local_site(int pages) : pages_(pages) {
        sockaddr_in here{};
        here.sin_family = AF_INET;
        here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof here;
        auto* const address = reinterpret_cast<sockaddr*>(&here);
        if (::bind(listener_, address, size) != 0 || ::listen(listener_, 64) != 0 ||
            ::getsockname(listener_, address, &size) != 0)
            std::abort();
        port_ = ntohs(here.sin_port);
        thread_ = std::thread([this] { serve(); });
    }
    ~local_site() {
        ::shutdown(listener_, SHUT_RDWR);
        thread_.join();
        ::close(listener_);
        for (const int s : unanswered_) ::close(s);
    }

    std::uint16_t port() const { return port_; }

private:
    void serve() {
        for (int s; (s = ::accept(listener_, nullptr, nullptr)) >= 0;) {
            std::string request;
            char c = 0;
            while (!request.ends_with("\r\n\r\n") && ::recv(s, &c, 1, 0) == 1) request += c;
            if (request.starts_with("GET /never ")) {
                unanswered_.push_back(s);
                continue;
            }
            if (!request.starts_with("GET /")) {  // the other side has gone
                ::close(s);
                continue;
            }
            const int page = std::atoi(request.c_str() + sizeof "GET /" - 1);
            std::string answer = "HTTP/1.0 200 OK\r\n\r\n";
            for (const int next : {2 * page + 1, 2 * page + 2})
                if (next < pages_) answer += "<a href=\"/" + std::to_string(next) + "\">next</a>\n";
            if (page == 3) answer += "<a href=\"/never\">late</a>\n";
            (void)::send(s, answer.data(), answer.size(), MSG_NOSIGNAL);
            ::close(s);
        }
    }

    const int pages_;
    const int listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
    std::uint16_t port_ = 0;
    std::vector<int> unanswered_;
    std::thread thread_;
};
