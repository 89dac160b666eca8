// Streams on a service that the test steps by itself: its clock stands still, and epoll is asked when the test says so.
#include <apiary/coroutines/byte_stream.hpp>
#include <apiary/coroutines/timer_thread.hpp>
#include <apiary/events/epoll_driver.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <apiary/testing/plain_coroutine.hpp>

namespace byte_stream_test {
namespace {

using apiary::awaited;
using apiary::byte_stream;
using apiary::coroutine_place;
using apiary::epoll_driver;
using apiary::manual_clock;
using apiary::plain_coroutine;
using apiary::real_sync;
using apiary::resume_here;
using apiary::timer_thread;
using apiary::transfer;
using apiary::watch_result;
using namespace std::chrono_literals;

struct service : timer_thread<real_sync, epoll_driver, manual_clock<>> {
    void there(timed& t, apiary::job<>& what) {
        if (no_memory) {
            if (meanwhile) meanwhile();
            if (drops) (void)what.drop();
            throw std::bad_alloc();
        }
        ++messages;
        timer_thread::there(t, what);
    }
    watch_result watch(apiary::event_source& source, apiary::interest what) {
        if (refuses_without_memory) throw std::bad_alloc();
        return refuses ? *refuses : timer_thread::watch(source, what);
    }
    void step() {
        (void)run_due();
        driver().wait(0);
        driver().poll();
    }
    bool no_memory = false, drops = false, refuses_without_memory = false;
    std::optional<watch_result> refuses;  // what a watch says
    int messages = 0;
    std::function<void()> meanwhile;
};
using stream = byte_stream<service>;

void ask(bool ok, const char* what) {
    if (!ok) throw std::runtime_error(what);
}

// The first end is a stream's; the other one is the test's own.
struct ends {
    explicit ends(bool tcp = false) {
        if (!tcp) {
            ask(::socketpair(AF_UNIX, SOCK_STREAM, 0, fd) == 0, "socketpair");
            return;
        }
        const int listening = ::socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in a{};
        a.sin_family = AF_INET;
        a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof a;
        auto* const name = reinterpret_cast<sockaddr*>(&a);
        ask(::bind(listening, name, size) == 0 && ::listen(listening, 1) == 0, "listen");
        ask(::getsockname(listening, name, &size) == 0, "getsockname");
        fd[1] = ::socket(AF_INET, SOCK_STREAM, 0);
        ask(::connect(fd[1], name, size) == 0, "connect");
        fd[0] = ::accept(listening, nullptr, nullptr);
        ::close(listening);
    }
    ~ends() { hang_up(); }
    void hang_up() {
        if (fd[1] >= 0) ::close(fd[1]);
        fd[1] = -1;
    }
    void reset() {
        const linger at_once{1, 0};
        ask(::setsockopt(fd[1], SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once) == 0, "linger");
        hang_up();
    }
    void put(const char* text) const { ASSERT_GT(::send(fd[1], text, std::char_traits<char>::length(text), 0), 0); }
    int fd[2] = {-1, -1};
};
bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

struct result {
    transfer t;
    std::atomic<int> ended = 0;
    bool no_memory = false;
    void is(transfer with) {
        t = with;
        ++ended;
    }
    bool done(std::size_t bytes) const {
        return ended == 1 && t.how == awaited::done && t.bytes == bytes && t.error == 0;
    }
    bool closed(int error) const { return ended == 1 && t.how == awaited::closed && t.error == error; }
};
using bytes = std::vector<std::byte>;

plain_coroutine<> reads(coroutine_place<>, stream& s, std::span<std::byte> into, result& r) {
    try {
        const transfer t = co_await s.read_some(into);
        r.is(t);
    } catch (const std::bad_alloc&) {
        r.no_memory = true;
    }
}
plain_coroutine<> writes(coroutine_place<>, stream& s, std::span<const std::byte> from, result& r) {
    try {
        const transfer t = co_await s.write_all(from);
        r.is(t);
    } catch (const std::bad_alloc&) {
        r.no_memory = true;
    }
}
plain_coroutine<> reads_until(coroutine_place<>, stream& s, std::span<std::byte> into, std::int64_t when, result& r) {
    const transfer t = co_await s.read_some_until(into, when);
    r.is(t);
}
plain_coroutine<> writes_for(coroutine_place<>, stream& s, std::span<const std::byte> from,
                             std::chrono::nanoseconds delay, result& r) {
    const transfer t = co_await s.write_all_for(from, delay);
    r.is(t);
}

struct byte_streams : testing::Test {
    service w;
    resume_here<> home;
    ends e;
    bytes some = bytes(64), more = bytes(4 << 20, std::byte{7});  // more than a socket takes
    result read, read_again, written;
};

TEST_F(byte_streams, read_what_there_is_at_once_and_wait_for_what_there_is_not) {
    stream s(w, e.fd[0]);
    e.put("hello");
    reads({home}, s, some, read);
    EXPECT_TRUE(read.done(5)) << "without the service";
    reads({home}, s, some, read_again);
    w.step();
    EXPECT_EQ(read_again.ended, 0);
    e.put("you");
    w.step();
    EXPECT_TRUE(read_again.done(3));
}

// Full duplex: a reader waits while a writer does, and each goes on by itself.
TEST_F(byte_streams, are_read_and_written_at_the_same_time) {
    stream s(w, e.fd[0]);
    reads({home}, s, some, read);
    writes({home}, s, more, written);
    w.step();
    EXPECT_EQ(read.ended + written.ended, 0);
    e.put("now");
    w.step();
    EXPECT_TRUE(read.done(3));
    EXPECT_EQ(written.ended, 0);
    bytes got;
    for (std::array<std::byte, 65536> part; written.ended == 0; w.step())
        for (std::ptrdiff_t n; (n = ::recv(e.fd[1], part.data(), part.size(), MSG_DONTWAIT)) > 0;)
            got.insert(got.end(), part.begin(), part.begin() + n);
    EXPECT_TRUE(written.done(more.size()));
    for (std::array<std::byte, 65536> part; got.size() < more.size();) {
        const auto n = ::recv(e.fd[1], part.data(), part.size(), 0);
        got.insert(got.end(), part.begin(), part.begin() + n);
    }
    EXPECT_EQ(got, more);
}

TEST_F(byte_streams, tell_a_second_reader_that_there_is_one) {
    stream s(w, e.fd[0]);
    reads({home}, s, some, read);
    reads({home}, s, some, read_again);
    EXPECT_TRUE(read_again.closed(EBUSY));
    writes({home}, s, some, written);
    EXPECT_TRUE(written.done(64)) << "a writer is none";
    e.put("x");
    w.step();
    EXPECT_TRUE(read.done(1));
}

TEST_F(byte_streams, end_at_their_deadline_and_say_what_a_write_has_written) {
    stream s(w, e.fd[0]);
    reads_until({home}, s, some, 1000, read);
    writes_for({home}, s, more, 2us, written);
    w.step();
    EXPECT_EQ(read.ended + written.ended, 0);
    w.clock().set(1000);
    w.step();
    EXPECT_EQ(read.ended, 1);
    EXPECT_EQ(read.t.how, awaited::timed_out);
    EXPECT_EQ(written.ended, 0);
    w.clock().set(2000);
    w.step();
    EXPECT_EQ(written.t.how, awaited::timed_out);
    EXPECT_GT(written.t.bytes, 0U);
    EXPECT_LT(written.t.bytes, more.size());
    e.put("late");
    reads({home}, s, some, read_again);
    w.step();
    EXPECT_TRUE(read_again.done(4)) << "a deadline takes nothing along";
}

TEST_F(byte_streams, look_once_if_the_deadline_has_passed) {
    w.clock().set(5000);
    stream s(w, e.fd[0]);
    reads_until({home}, s, some, 4999, read);
    EXPECT_EQ(read.ended, 1);
    EXPECT_EQ(read.t.how, awaited::timed_out);
    e.put("there");
    reads_until({home}, s, some, -1, read_again);
    EXPECT_TRUE(read_again.done(5));
    writes_for({home}, s, more, -1s, written);
    EXPECT_EQ(written.t.how, awaited::timed_out);
    EXPECT_GT(written.t.bytes, 0U);
}

// Either may be found first.
TEST_F(byte_streams, lose_no_byte_that_comes_together_with_their_deadline) {
    for (const bool byte_first : {false, true}) {
        ends peer;
        stream s(w, peer.fd[0]);
        result ended, next;
        const std::int64_t deadline = w.now_ns() + 1000;
        reads_until({home}, s, some, deadline, ended);
        w.step();
        peer.put("x");
        w.clock().set(deadline);
        if (byte_first) {
            w.driver().wait(0);
            w.driver().poll();
        }
        w.step();
        if (byte_first) {
            EXPECT_TRUE(ended.done(1));
            continue;
        }
        EXPECT_EQ(ended.ended, 1);
        EXPECT_EQ(ended.t.how, awaited::timed_out);
        EXPECT_EQ(ended.t.bytes, 0U);
        reads({home}, s, some, next);
        EXPECT_TRUE(next.done(1));
    }
}

TEST_F(byte_streams, serve_an_empty_buffer_at_once) {
    stream s(w, e.fd[0]);
    reads({home}, s, {}, read);
    writes({home}, s, {}, written);
    EXPECT_TRUE(read.done(0) && written.done(0));
}

TEST_F(byte_streams, are_cancelled_by_a_stop_unless_they_need_not_wait) {
    stream s(w, e.fd[0]);
    apiary::stop_hooks<> stop;
    reads({home, &stop}, s, some, read);
    writes({home, &stop}, s, more, written);
    w.step();
    (void)stop.ask();
    EXPECT_EQ(read.t.how, awaited::cancelled);
    EXPECT_EQ(written.t.how, awaited::cancelled);
    EXPECT_GT(written.t.bytes, 0U);
    reads({home, &stop}, s, some, read_again);
    EXPECT_EQ(read_again.t.how, awaited::cancelled) << "asked before";
    e.put("x");
    w.step();
    result served;
    reads({home, &stop}, s, some, served);
    EXPECT_TRUE(served.done(1));
}

// A half-closed peer sends no more, and reads on.
TEST_F(byte_streams, say_that_the_peer_sends_no_more_each_time_and_write_on) {
    for (const bool tcp : {false, true}) {
        ends peer(tcp);
        stream s(w, peer.fd[0]);
        result first, rest, end, again, put;
        reads({home}, s, some, first);
        w.step();
        peer.put("the last");
        ASSERT_EQ(::shutdown(peer.fd[1], SHUT_WR), 0);
        while (first.ended == 0) w.step();
        EXPECT_TRUE(first.done(8));
        for (result* r : {&end, &again}) {  // the report of the end may have come together with the bytes
            reads({home}, s, some, *r);
            while (r->ended == 0) w.step();
            EXPECT_TRUE(r->done(0));
        }
        writes({home}, s, some, put);
        EXPECT_TRUE(put.done(64));
        bytes got(64);
        EXPECT_EQ(::recv(peer.fd[1], got.data(), 64, MSG_WAITALL), 64);
    }
}

TEST_F(byte_streams, of_tcp_lose_nothing_when_a_read_is_short_and_when_it_is_full) {
    ends peer(true);
    stream s(w, peer.fd[0]);
    bytes four(4);
    result waited, rest_of_it;
    reads({home}, s, four, waited);
    w.step();
    peer.put("ten bytes!");
    while (waited.ended == 0) w.step();
    EXPECT_TRUE(waited.done(4));
    reads({home}, s, four, rest_of_it);
    EXPECT_TRUE(rest_of_it.done(4)) << "a full read leaves some";
    reads({home}, s, four, read);
    while (read.ended == 0) w.step();
    EXPECT_TRUE(read.done(2)) << "short: the rest of ten";
    reads({home}, s, four, read_again);
    w.step();
    EXPECT_EQ(read_again.ended, 0);
    peer.put("!");
    while (read_again.ended == 0) w.step();
    EXPECT_TRUE(read_again.done(1));
}

TEST_F(byte_streams, of_messages_take_one_at_a_time) {
    ends peer;
    int fd[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fd), 0);
    stream s(w, fd[0]);
    reads({home}, s, some, read);
    w.step();
    ASSERT_EQ(::send(fd[1], "one", 3, 0), 3);
    ASSERT_EQ(::send(fd[1], "second", 6, 0), 6);
    w.step();
    EXPECT_TRUE(read.done(3));
    reads({home}, s, some, read_again);
    EXPECT_TRUE(read_again.done(6)) << "there is no other report";
    ::close(fd[1]);
}

TEST_F(byte_streams, say_that_the_peer_has_reset) {
    ends peer(true);
    stream s(w, peer.fd[0]);
    reads({home}, s, some, read);
    w.step();
    peer.reset();
    while (read.ended == 0) w.step();
    EXPECT_TRUE(read.closed(ECONNRESET));
    writes({home}, s, some, written);
    EXPECT_TRUE(written.closed(EPIPE)) << "and no signal";
    reads({home}, s, some, read_again);
    EXPECT_TRUE(read_again.done(0));
}

// The error of the socket can be had once.
TEST_F(byte_streams, tell_a_reader_of_the_reset_also_where_a_writer_waits) {
    ends peer(true);
    stream s(w, peer.fd[0]);
    reads({home}, s, some, read);
    const bytes much(64 << 20);
    writes({home}, s, much, written);
    w.step();
    ASSERT_EQ(read.ended + written.ended, 0);
    peer.reset();
    while (read.ended == 0 || written.ended == 0) w.step();
    EXPECT_TRUE(read.closed(ECONNRESET));
    EXPECT_TRUE(written.closed(EPIPE));
}

TEST_F(byte_streams, refuse_what_is_no_socket) {
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    {
        stream s(w, pipe[0]), none(w, -1), unknown(w, 1'000'000), listening(w, ::socket(AF_INET, SOCK_STREAM, 0));
        result a, b, c, d;
        reads({home}, s, some, a);
        EXPECT_TRUE(a.closed(ENOTSOCK));
        reads({home}, none, some, b);
        EXPECT_TRUE(b.closed(EBADF));
        writes({home}, unknown, some, c);
        EXPECT_TRUE(c.closed(EBADF));
        reads({home}, listening, some, d);
        EXPECT_TRUE(d.closed(ENOTCONN));
        reads({home}, none, {}, read);
        EXPECT_TRUE(read.done(0));
        stream regular(w, ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
        reads({home}, regular, some, written);
        EXPECT_TRUE(written.closed(ENOTSOCK));
        none.close();
        none.close();
    }
    EXPECT_FALSE(is_open(pipe[0])) << "owned all the same";
    ::close(pipe[1]);
}

TEST_F(byte_streams, end_what_waits_when_they_are_closed_and_close_the_descriptor_once) {
    const int fd = e.fd[0];
    stream s(w, fd);
    reads({home}, s, some, read);
    writes({home}, s, more, written);
    w.step();
    s.close();
    EXPECT_TRUE(read.closed(0) && written.closed(0));
    EXPECT_TRUE(is_open(fd)) << "the service watches it";
    w.step();
    EXPECT_FALSE(is_open(fd));
    const int heir = ::fcntl(e.fd[1], F_DUPFD, fd);
    ASSERT_EQ(heir, fd);
    s.close();
    w.step();
    EXPECT_TRUE(is_open(heir)) << "another's by now";
    reads({home}, s, some, read_again);
    EXPECT_TRUE(read_again.closed(0));
    ::close(heir);
}

TEST_F(byte_streams, send_one_message_however_often_they_are_closed_before_it_arrives) {
    const int fd = e.fd[0];
    {
        stream s(w, fd);
        reads({home}, s, some, read);
        w.step();
        w.messages = 0;
        s.close();
        s.close();
    }
    EXPECT_EQ(w.messages, 1);
    w.step();
    EXPECT_FALSE(is_open(fd));
    EXPECT_TRUE(read.closed(0));
}

TEST_F(byte_streams, close_a_descriptor_that_is_not_watched_yet) {
    const int fd = e.fd[0];
    {
        stream s(w, fd);
    }
    EXPECT_FALSE(is_open(fd)) << "never watched: at once";
    ends other;
    const int second = other.fd[0];
    {
        stream s(w, second);
        reads({home}, s, some, read);
        s.close();
        EXPECT_TRUE(read.closed(0));
    }
    EXPECT_TRUE(is_open(second)) << "the message is under way";
    w.step();
    EXPECT_FALSE(is_open(second));
}

TEST_F(byte_streams, wait_on_when_others_close_the_descriptor_until_the_deadline_or_its_number_comes_back) {
    const int fd = e.fd[0];
    stream s(w, fd);
    reads_until({home}, s, some, 1000, read);
    w.step();
    ::close(fd);
    e.hang_up();
    w.step();
    EXPECT_EQ(read.ended, 0);
    w.clock().set(1000);
    w.step();
    EXPECT_EQ(read.t.how, awaited::timed_out);
    writes({home}, s, some, written);
    EXPECT_TRUE(written.closed(EBADF));
    ends heir;
    ASSERT_EQ(heir.fd[0], fd);
    {
        stream other(w, fd);
        result r;
        reads({home}, other, some, r);
        w.step();
        reads({home}, s, some, read_again);
        EXPECT_TRUE(read_again.closed(EBADF)) << "it was told, and reads nothing of the other's";
        result stray;
        writes({home}, s, some, stray);
        EXPECT_TRUE(stray.closed(EBADF));
        s.close();
        w.step();
        EXPECT_TRUE(is_open(fd));
        heir.put("mine");
        w.step();
        EXPECT_TRUE(r.done(4));
    }
    w.step();
    EXPECT_FALSE(is_open(fd));
}

// It is told that its number came back while the message of its close is under way.
TEST_F(byte_streams, leave_a_number_alone_that_is_anothers_when_they_are_closed) {
    const int fd = e.fd[0];
    stream s(w, fd);
    reads({home}, s, some, read);
    w.step();
    ::close(fd);
    ends heir;
    ASSERT_EQ(heir.fd[0], fd);
    stream other(w, fd);
    result r;
    reads({home}, other, some, r);
    s.close();
    EXPECT_TRUE(read.closed(0));
    w.step();
    heir.put("mine");
    w.step();
    EXPECT_TRUE(r.done(4));
    // And if nobody watches the number.
    ends third;
    stream of_third(w, third.fd[0]);
    reads({home}, of_third, some, read_again);
    w.step();
    ::close(third.fd[0]);
    const int taken = ::fcntl(e.fd[1], F_DUPFD, third.fd[0]);
    ASSERT_EQ(taken, third.fd[0]);
    of_third.close();
    w.step();
    EXPECT_TRUE(is_open(taken));
    ::close(taken);
}

TEST_F(byte_streams, end_with_the_service) {
    const int fd = e.fd[0];
    {
        stream s(w, fd);
        reads({home}, s, some, read);
        w.step();
        w.stop();
        w.run();
        EXPECT_EQ(read.t.how, awaited::cancelled);
        reads({home}, s, some, read_again);
        EXPECT_EQ(read_again.t.how, awaited::cancelled);
        e.put("x");
        writes({home}, s, some, written);
        EXPECT_TRUE(written.done(64)) << "it need not wait";
    }
    EXPECT_FALSE(is_open(fd));
    ends other;
    const int second = other.fd[0];
    {
        stream s(w, second);
        result r;
        reads({home}, s, some, r);
        EXPECT_EQ(r.t.how, awaited::cancelled) << "refused";
    }
    EXPECT_FALSE(is_open(second));
}

TEST_F(byte_streams, without_memory_for_the_message_leave_nothing_behind) {
    const int fd = e.fd[0];
    {
        stream s(w, fd);
        w.no_memory = true;
        reads({home}, s, some, read);
        EXPECT_TRUE(read.no_memory);
        result beside;
        w.meanwhile = [&] { reads({home}, s, some, beside); };  // it relies on the message of the write
        writes({home}, s, more, written);
        EXPECT_TRUE(written.no_memory);
        EXPECT_TRUE(beside.closed(ENOMEM));
        w.no_memory = false;
        reads({home}, s, some, read_again);
        e.put("x");
        w.step();
        EXPECT_TRUE(read_again.done(1));
    }
    w.step();
    EXPECT_FALSE(is_open(fd));
    ends other;
    const int second = other.fd[0];
    {
        stream s(w, second);
        w.no_memory = w.drops = true;
        w.meanwhile = nullptr;
        result r;
        reads({home}, s, some, r);
        EXPECT_TRUE(r.no_memory);
    }
    EXPECT_FALSE(is_open(second)) << "the message was dropped before";
}

TEST_F(byte_streams, that_cannot_be_watched_say_why_and_close_their_descriptor) {
    struct {
        std::optional<watch_result> refuses;
        awaited how;
        int error;
    } const rows[] = {{watch_result::worker_ends, awaited::cancelled, 0},
                      {watch_result::watched_before, awaited::closed, EBUSY},
                      {watch_result::bad_descriptor, awaited::closed, EPERM},
                      {std::nullopt, awaited::closed, ENOMEM}};
    for (const auto& row : rows) {
        ends peer;
        w.refuses = row.refuses;
        w.refuses_without_memory = !row.refuses;
        result waits, writes_too, later;
        {
            stream s(w, peer.fd[0]);
            reads({home}, s, some, waits);
            writes({home}, s, more, writes_too);
            w.step();
            for (const result* r : {&waits, &writes_too}) {
                EXPECT_EQ(r->ended, 1);
                EXPECT_EQ(r->t.how, row.how);
                EXPECT_EQ(r->t.error, row.error);
            }
            reads({home}, s, some, later);
            EXPECT_EQ(later.t.how, row.how);
            EXPECT_EQ(later.t.error, row.error);
        }
        EXPECT_FALSE(is_open(peer.fd[0]));
    }
}

TEST(socket_calls, say_how_many_bytes_or_a_negative_errno_and_know_tcp) {
    apiary::socket_calls calls;
    const ends local, tcp(true);
    std::byte b{};
    errno = EPERM;
    EXPECT_EQ(calls.write(local.fd[0], &b, 0), 0) << "none is no error";
    EXPECT_EQ(calls.write(local.fd[0], &b, 1), 1);
    EXPECT_EQ(calls.read(local.fd[1], &b, 1), 1);
    EXPECT_EQ(calls.read(local.fd[1], &b, 1), -EAGAIN);
    EXPECT_EQ(calls.write(-1, &b, 1), -EBADF);
    EXPECT_TRUE(calls.short_read_is_last(tcp.fd[0]));
    EXPECT_FALSE(calls.short_read_is_last(local.fd[0]));
    EXPECT_FALSE(calls.short_read_is_last(-1));
    calls.close(local.fd[0]);
    calls.close(tcp.fd[0]);
}

TEST_F(byte_streams, with_a_frame_that_goes_while_it_waits_wait_for_nobody) {
    stream s(w, e.fd[0]);
    reads({home}, s, some, read).frame.destroy();
    w.step();
    e.put("x");
    w.step();
    reads({home}, s, some, read_again);
    EXPECT_TRUE(read_again.done(1));
    EXPECT_EQ(read.ended, 0);
    auto waiting = reads_until({home}, s, some, 1000, read);
    w.step();
    waiting.frame.destroy();
    w.clock().set(1000);
    w.step();
    EXPECT_EQ(read.ended, 0);
}

TEST_F(byte_streams, whose_number_is_anothers_do_not_close_it_when_their_service_has_ended) {
    const ends other;
    {
        stream s(w, e.fd[0]);
        reads({home}, s, some, read);
        w.step();
        ::close(e.fd[0]);
        ASSERT_EQ(::dup2(other.fd[0], e.fd[0]), e.fd[0]);
        w.stop();
        w.run();
        EXPECT_TRUE(read.closed(EBADF));
    }
    EXPECT_TRUE(is_open(e.fd[0]));
    ::close(e.fd[0]);
    ::close(other.fd[0]);
}

TEST_F(byte_streams, that_go_while_a_coroutine_waits_end_the_program) {
    EXPECT_DEATH(
        {
            stream s(w, e.fd[0]);
            reads({home}, s, some, read);
        },
        "a stream was destroyed while a coroutine waits for it");
}

// Bytes, deadlines, stops and closes on several threads: each await ends once, and the bytes are the peer's.
TEST(byte_stream_on_threads, ready_cancel_deadline_and_close_race) {
    using world = timer_thread<real_sync, epoll_driver>;
    struct one {
        static plain_coroutine<> reads(coroutine_place<>, byte_stream<world>& s, std::byte& into, std::int64_t when,
                                       result& r) {
            const transfer t = co_await s.read_some_until(std::span(&into, 1), when);
            r.is(t);
        }
    };
    resume_here<> home;
    world w;
    std::thread runs([&] { w.run(); });
    int served = 0;
    for (int i = 0; i != 200; ++i) {
        ends e(i % 2 == 0);
        byte_stream<world> s(w, e.fd[0]);
        apiary::stop_hooks<> stop;
        result r;
        std::byte got{};
        one::reads({home, &stop}, s, got, w.now_ns() + (i % 5 == 0 ? 20'000 : 1'000'000'000), r);
        std::thread stops([&] {
            if (i % 3 == 0) (void)stop.ask();
        });
        e.put("x");
        if (i % 7 == 0) s.close();
        stops.join();
        while (r.ended == 0) std::this_thread::yield();
        if (r.t.how == awaited::done) {
            EXPECT_EQ(got, std::byte{'x'});
            ++served;
        }
        EXPECT_EQ(r.ended, 1);
    }
    w.stop();
    runs.join();
    EXPECT_GT(served, 0);
}

}  // namespace
}  // namespace byte_stream_test
