// Streams of coroutines on a hive's workers: the bridge of coroutines/one_worker.hpp.
#include <apiary/coroutines/byte_stream.hpp>
#include <apiary/coroutines/one_worker.hpp>
#include <apiary/coroutines/readable.hpp>

#include <gtest/gtest.h>

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <span>
#include <vector>

#include <apiary/testing/plain_coroutine.hpp>
#include <apiary/testing/running_hive.hpp>

namespace hive_streams_test {
namespace {

using namespace std::chrono_literals;
using apiary::awaited;
using apiary::byte_stream;
using apiary::coroutine_place;
using apiary::hive;
using apiary::one_worker;
using apiary::plain_coroutine;
using apiary::resume_here;
using apiary::running_hive;
using apiary::transfer;
using apiary::wait_for;
using stream = byte_stream<one_worker<hive>>;

struct to_a_hive final : apiary::home<apiary::real_sync> {
    explicit to_a_hive(hive& to) : h(to) {}
    void resume(apiary::job<>& j) noexcept override {
        if (!h.post_micro([&j] { (void)j.run(); })) (void)j.run();
    }
    hive& h;
};
struct both_ends {
    both_ends() { EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0); }
    int fd[2];
};
struct counts {
    std::atomic<int> ended = 0, done = 0, cancelled = 0, timed_out = 0;
    void add(awaited how) {
        ++(how == awaited::done ? done : how == awaited::cancelled ? cancelled : timed_out);
        ++ended;
    }
};

plain_coroutine<> echoes(coroutine_place<>, stream& s, counts& c) {
    std::array<std::byte, 1000> part;
    for (;;) {
        const transfer got = co_await s.read_some(part);
        if (got.how != awaited::done || got.bytes == 0) {
            c.add(got.how);
            co_return;
        }
        const transfer put = co_await s.write_all_for(std::span(part).first(got.bytes), 1h);
        EXPECT_EQ(put.how, awaited::done);
    }
}
plain_coroutine<> sends(coroutine_place<>, stream& s, std::size_t bytes, counts& c) {
    std::vector<std::byte> all(bytes);
    for (std::size_t i = 0; i != bytes; ++i) all[i] = static_cast<std::byte>(i * 7);
    const transfer put = co_await s.write_all(all);
    c.add(put.how);
    ::shutdown(s.descriptor(), SHUT_WR);
}
plain_coroutine<> receives(coroutine_place<>, stream& s, std::size_t bytes, counts& c) {
    std::array<std::byte, 777> part;
    for (std::size_t at = 0; at != bytes;) {
        const transfer got = co_await s.read_some_for(part, 1h);
        EXPECT_GT(got.bytes, 0U);
        if (got.bytes == 0) break;
        for (std::size_t i = 0; i != got.bytes; ++i, ++at) EXPECT_EQ(part[i], static_cast<std::byte>(at * 7));
    }
    c.add(awaited::done);
}
plain_coroutine<> reads_for(coroutine_place<>, stream& s, std::chrono::nanoseconds limit, counts& c) {
    std::byte b;
    const transfer got = co_await s.read_some_for(std::span(&b, 1), limit);
    c.add(got.how);
}
plain_coroutine<> waits(coroutine_place<>, one_worker<hive>& w, int fd, bool to_read, counts& c) {
    const awaited how = to_read ? co_await readable(w, fd) : co_await writable(w, fd);
    c.add(how);
}

// Each connection's four coroutines go on at any worker, and each stream has one that watches.
TEST(streams_on_a_hive, carry_bytes_both_ways_at_once) {
    running_hive r({.io_workers = 2});
    to_a_hive home(r.h);
    std::array<one_worker<hive>, 2> workers{{{r.h, 0}, {r.h, 1}}};
    constexpr std::size_t bytes = 300'000;
    counts c;
    for (unsigned i = 0; i != 4; ++i) {
        const both_ends e;
        stream server(workers[i % 2], e.fd[0]), client(workers[i / 2], e.fd[1]);
        echoes({home}, server, c);
        receives({home}, client, bytes, c);
        sends({home}, client, bytes, c);
        wait_for(c.ended, static_cast<int>(3 * (i + 1)));
    }
    EXPECT_EQ(c.done, 12);
    r.stop();
}

TEST(streams_on_a_hive, end_at_a_deadline_and_with_the_hive) {
    counts c;
    both_ends e;
    running_hive r({.io_workers = 2});
    to_a_hive home(r.h);
    resume_here<> here;
    one_worker<hive> w(r.h, 1), nowhere(r.h, 17);
    stream s(w, e.fd[0]), other(nowhere, e.fd[1]);
    reads_for({home}, s, 1us, c);
    wait_for(c.timed_out, 1);
    reads_for({home}, other, 1h, c);
    EXPECT_EQ(c.cancelled, 1) << "no such worker";
    reads_for({here}, s, 1h, c);
    r.stop();
    EXPECT_EQ(c.cancelled, 2);
    reads_for({here}, s, 1h, c);
    EXPECT_EQ(c.cancelled, 3);
}

// What was posted to it is handed over, and another worker must not watch in its place.
TEST(streams_on_a_hive, of_a_worker_that_is_detached_are_cancelled) {
    counts c;
    both_ends e, busy;
    running_hive r({.io_workers = 2});
    resume_here<> here;
    one_worker<hive> w(r.h, 1);
    stream s(w, e.fd[0]), late(w, busy.fd[0]);
    reads_for({here}, s, 1h, c);
    std::atomic<bool> holds = false, lets_go = false;
    ASSERT_TRUE(r.h.post_to_worker(1, [&] {
        holds = true;
        while (!lets_go) std::this_thread::yield();
    }));
    while (!holds) std::this_thread::yield();
    reads_for({here}, late, 1h, c);
    EXPECT_EQ(r.h.detach_io_worker(1), apiary::detach_result::detached);
    s.close();
    lets_go = true;
    wait_for(c.ended, 2);
    EXPECT_EQ(c.cancelled, 1) << "the late one; the other was closed";
    EXPECT_EQ(::write(busy.fd[1], "x", 1), 1);
    ::close(e.fd[1]);
    ::close(busy.fd[1]);
    r.stop();
}

TEST(readable_on_a_hive, and_writable_wait_at_one_worker) {
    counts reader, writer;
    both_ends e;
    running_hive r({.io_workers = 1});
    to_a_hive home(r.h);
    one_worker<hive> w(r.h, 0);
    waits({home}, w, e.fd[0], true, reader);
    waits({home}, w, e.fd[0], false, writer);
    wait_for(writer.done, 1);
    EXPECT_EQ(reader.ended, 0);
    EXPECT_EQ(::write(e.fd[1], "x", 1), 1);
    wait_for(reader.done, 1);
    r.stop();
    ::close(e.fd[0]);
    ::close(e.fd[1]);
}

// The worker drains: it runs the message that begins the watch, and watches nothing any more.
TEST(readable_on_a_hive, that_stops_before_it_watches_is_cancelled_and_not_closed) {
    counts reader;
    both_ends e;
    hive h({.io_workers = 1});
    one_worker<hive> w(h, 0);
    resume_here<> home;
    ASSERT_TRUE(h.post_to_worker(0, [&] {
        waits({home}, w, e.fd[0], true, reader);
        h.request_stop();
    }));
    h.run();
    EXPECT_EQ(reader.cancelled, 1);
    EXPECT_EQ(reader.ended, 1);
    ::close(e.fd[0]);
    ::close(e.fd[1]);
}

}  // namespace
}  // namespace hive_streams_test
