// What a deadline adds to a read of a stream that must wait: two coroutines of one hive worker send a message to and
// fro over a TCP connection, with deadlines for their reads and without. impl/DECISIONS.md, D240.
#include <benchmark/benchmark.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>

#include <apiary/coroutines/byte_stream.hpp>
#include <apiary/coroutines/one_worker.hpp>
#include <apiary/schedulers/hive/hive.hpp>
#include <apiary/testing/plain_coroutine.hpp>

#include "micro/micro.hpp"

namespace {

using apiary::awaited;
using apiary::coroutine_place;
using apiary::hive;
using apiary::plain_coroutine;
using apiary::transfer;
using apiary::micro::must;
using service = apiary::one_worker<hive>;
using stream = apiary::byte_stream<service>;
using message = std::array<std::byte, 64>;

std::array<int, 2> connection() {
    const int listening = ::socket(AF_INET, SOCK_STREAM, 0), client = ::socket(AF_INET, SOCK_STREAM, 0), on = 1;
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    auto* const name = reinterpret_cast<sockaddr*>(&at);
    must(::bind(listening, name, size) == 0 && ::listen(listening, 1) == 0 &&
             ::getsockname(listening, name, &size) == 0 && ::connect(client, name, size) == 0,
         "a connection");
    const int server = ::accept(listening, nullptr, nullptr);
    ::close(listening);
    for (const int fd : {client, server})
        must(::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0, "TCP_NODELAY");
    return {client, server};
}

template <bool Limited>
plain_coroutine<> answers(coroutine_place<>, stream& s) {
    for (message m;;) {
        transfer got;
        if constexpr (Limited)
            got = co_await s.read_some_for(m, std::chrono::seconds(30));
        else
            got = co_await s.read_some(m);
        if (got.bytes == 0) break;
        const transfer put = co_await s.write_all(m);
        must(put.how == awaited::done, "an answer");
    }
}

template <bool Limited>
plain_coroutine<> asks(coroutine_place<>, stream& s, benchmark::State& state, hive& h) {
    message m{};
    while (state.KeepRunning()) {
        const transfer put = co_await s.write_all(m);
        must(put.how == awaited::done, "a request");
        transfer got;
        if constexpr (Limited)
            got = co_await s.read_some_for(m, std::chrono::seconds(30));
        else
            got = co_await s.read_some(m);
        must(got.bytes == m.size(), "an answer is whole");
    }
    h.request_stop(apiary::stop_mode::discard);
}

template <bool Limited>
void round_trip(benchmark::State& state) {
    static apiary::resume_here<> here;
    hive h({.io_workers = 1});
    service w(h, 0);
    const std::array<int, 2> ends = connection();
    stream client(w, ends[0]), server(w, ends[1]);
    must(h.post_micro([&] {
        answers<Limited>({here}, server);
        asks<Limited>({here}, client, state, h);
    }),
         "a post");
    h.run();
}
BENCHMARK(round_trip<false>)->Name("round_trip/no_deadline");
BENCHMARK(round_trip<true>)->Name("round_trip/deadlines");

}  // namespace

BENCHMARK_MAIN();
