// hive_echo: an echo server and its clients, on two hives in one process. Each connection sends numbered messages and
// wants every one back as it was; when one has ended, another takes its place until the time is up.
//
//     hive_echo [--connections 1000] [--messages 20] [--seconds 0]     (0: every connection once)
//
// Exit code: 0 every message came back, 1 not, 2 the command line makes no sense, 77 too few descriptors.
#include "echo.hpp"

#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <thread>

#include <apiary/schedulers/hive/hive.hpp>

namespace {

using apiary::hive;
using clock_type = std::chrono::steady_clock;

struct options {
    unsigned connections = 1000, messages = 20, seconds = 0;
};

bool parse(int argc, char** argv, options& o) {
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string_view name = argv[i];
        unsigned* value = name == "--connections" ? &o.connections
                          : name == "--messages"  ? &o.messages
                          : name == "--seconds"   ? &o.seconds
                                                  : nullptr;
        char* end = nullptr;
        const unsigned long n = std::strtoul(argv[i + 1], &end, 10);
        if (value == nullptr || *end != '\0' || n > 1'000'000) return false;
        *value = static_cast<unsigned>(n);
    }
    return argc % 2 == 1 && o.connections > 0 && o.messages > 0;
}

bool allow_descriptors(rlim_t wanted) {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
    if (limit.rlim_cur >= wanted) return true;
    if (limit.rlim_max != RLIM_INFINITY && limit.rlim_max < wanted) return false;
    limit.rlim_cur = wanted;
    return ::setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

// Keeps `connections` of them going on the clients' hive.
class crowd {
public:
    crowd(hive& h, unsigned workers, std::uint16_t port, const options& o)
        : hive_(h),
          workers_(workers),
          port_(port),
          opts_(o),
          until_(clock_type::now() + std::chrono::seconds(o.seconds)) {}

    void start() {
        running_ = opts_.connections;
        for (unsigned i = 0; i < opts_.connections; ++i) next(i % workers_);
    }
    unsigned long long good() const { return good_; }
    unsigned long long bad() const { return bad_; }

private:
    void next(unsigned worker) {
        const std::uint64_t name = names_.fetch_add(1);
        const bool posted = hive_.post_to_worker(worker, [this, name, worker] {
            const auto ended = [this, worker](bool ok) {
                (ok ? good_ : bad_).fetch_add(1);
                if (ok && clock_type::now() < until_)
                    next(worker);
                else
                    left();
            };
            (new apiary::examples::echo_client(hive_, name, opts_.messages, port_, ended))->start();
        });
        if (!posted) left();
    }
    void left() {
        if (running_.fetch_sub(1) == 1) hive_.request_stop();
    }

    hive& hive_;
    const unsigned workers_;
    const std::uint16_t port_;
    const options opts_;
    const clock_type::time_point until_;
    std::atomic<std::uint64_t> names_{0};
    std::atomic<unsigned> running_{0};
    std::atomic<unsigned long long> good_{0}, bad_{0};
};

}  // namespace

int main(int argc, char** argv) {
    options o;
    if (!parse(argc, argv, o)) {
        std::fprintf(stderr, "usage: hive_echo [--connections N] [--messages N] [--seconds N]\n");
        return 2;
    }
    if (!allow_descriptors(2 * o.connections + 64)) {
        std::fprintf(stderr, "hive_echo: %u connections need %u descriptors; raise the limit (ulimit -Hn)\n",
                     o.connections, 2 * o.connections + 64);
        return 77;
    }
    constexpr unsigned workers = 2;
    hive servers({.io_workers = workers}), clients({.io_workers = workers});
    const int listening = apiary::examples::listening_socket(0, static_cast<int>(o.connections));
    apiary::examples::echo_server<hive> server(servers, workers, listening);
    if (!servers.post_to_worker(0, [&] {
            if (servers.watch(server) != apiary::watch_result::watched) std::abort();
        }))
        return 1;
    std::thread server_thread([&] { servers.run(); });

    crowd all(clients, workers, apiary::examples::port_of(listening), o);
    all.start();
    clients.run();
    servers.request_stop();
    server_thread.join();

    std::printf("hive_echo: %llu connections of %u messages came back, %llu did not; %d left open\n", all.good(),
                o.messages, all.bad(), server.open());
    return all.bad() == 0 && all.good() >= o.connections && server.open() == 0 ? 0 : 1;
}
