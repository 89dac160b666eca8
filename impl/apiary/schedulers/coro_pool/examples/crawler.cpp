// A web crawler: every page that can be reached from the first, each once, up to eight requests at a time, each with a
// timeout. A page's links are branches of the coroutine that visits it, so the crawl is over when that of the first
// page is.
#include <apiary/coroutines/async_semaphore.hpp>
#include <apiary/coroutines/readable.hpp>
#include <apiary/coroutines/sleeping.hpp>
#include <apiary/coroutines/timer_thread.hpp>
#include <apiary/events/epoll_driver.hpp>
#include <apiary/schedulers/coro_pool/coro_pool.hpp>
#include <apiary/schedulers/coro_pool/when_any.hpp>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "local_site.hpp"

namespace {

using namespace apiary;
using namespace std::chrono_literals;
using world = timer_thread<real_sync, epoll_driver>;

struct connection {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    connection() {
        if (fd < 0) throw std::system_error(errno, std::generic_category(), "socket");
    }
    ~connection() { ::close(fd); }
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;
};

// It may lose against the timeout, and then ends after its parent: so it has its arguments by value, or of what
// outlives the pool.
co_task<std::string> get(world& w, std::uint16_t port, std::string path) {
    const connection c;
    sockaddr_in there{};
    there.sin_family = AF_INET;
    there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    there.sin_port = htons(port);
    (void)::connect(c.fd, reinterpret_cast<sockaddr*>(&there), sizeof there);
    awaited how = co_await writable(w, c.fd);
    const std::string request = "GET " + path + " HTTP/1.0\r\n\r\n";
    if (how == awaited::done) (void)::send(c.fd, request.data(), request.size(), MSG_NOSIGNAL);
    std::string text;
    char part[4096];
    for (;;) {
        how = co_await readable(w, c.fd);
        if (how != awaited::done) throw wait_cancelled();
        const ssize_t n = ::recv(c.fd, part, sizeof part, 0);
        if (n <= 0) co_return text;
        text.append(part, static_cast<std::size_t>(n));
    }
}
co_task<std::string> time_out(world& w, std::chrono::milliseconds limit) {
    const awaited how = co_await sleep_for(w, limit);
    if (how != awaited::done) throw wait_cancelled();
    co_return "";
}

constexpr unsigned most_requests = 8;

struct crawl {
    crawl(world& world_of, std::uint16_t port_of) : w(world_of), port(port_of) {}
    world& w;
    const std::uint16_t port;
    async_semaphore<> requests{most_requests};
    std::mutex mutex;
    std::set<std::string> seen;  // by mutex
    std::atomic<unsigned> answered = 0, timed_out = 0;
};

// Is given back whatever the request throws.
struct permit {
    async_semaphore<>& of;
    ~permit() { of.release(); }
};
co_task<std::string> request(crawl& c, std::string path) {
    const awaited may = co_await c.requests.acquire();
    if (may != awaited::done) throw wait_cancelled();
    const permit held{c.requests};
    auto [which, text] = co_await when_any(get(c.w, c.port, std::move(path)), time_out(c.w, 1s));
    ++(which == 0 ? c.answered : c.timed_out);
    co_return std::move(text);
}

co_task<> visit(crawl& c, std::string path) {
    {
        const std::lock_guard held(c.mutex);
        if (!c.seen.insert(path).second) co_return;
    }
    const std::string text = co_await request(c, path);
    std::vector<co_task<>> links;
    const std::string begin = "href=\"";
    for (std::size_t at = 0; (at = text.find(begin, at)) != std::string::npos;) {
        at += begin.size();
        links.push_back(visit(c, text.substr(at, text.find('"', at) - at)));
    }
    co_await when_all(std::move(links));
}

// One that is cancelled while it waits for an answer.
bool gives_its_permits_back(world& w, std::uint16_t port) {
    crawl c(w, port);
    coro_pool pool({.workers = 2});
    pool.start();
    if (!pool.spawn(visit(c, "/never"))) return false;
    while (c.requests.available() == most_requests && c.timed_out == 0) std::this_thread::yield();
    pool.stop(co_stop::cancel);
    return c.requests.available() == most_requests;
}

}  // namespace

int main() {
    constexpr int pages = 100;
    local_site site(pages);
    world w;
    std::thread times([&w] { w.run(); });
    const bool all_back = gives_its_permits_back(w, site.port());
    crawl c(w, site.port());
    coro_pool pool({.workers = 2});
    pool.start();
    sync_wait(pool, visit(c, "/0"));
    pool.stop();
    w.stop();
    times.join();
    std::printf("%u pages have answered, %u have not in time\n", c.answered.load(), c.timed_out.load());
    if (!all_back) std::puts("a crawl that was cancelled has kept permits");
    return all_back && c.timed_out >= 1 && c.answered + c.timed_out == c.seen.size() ? 0 : 1;
}
