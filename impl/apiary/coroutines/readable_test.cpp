// Coroutines that wait for descriptors on a thread with epoll: ready, cancelled, refused, ended
// with the service.
#include <apiary/coroutines/readable.hpp>
#include <apiary/coroutines/timer_thread.hpp>
#include <apiary/events/epoll_driver.hpp>

#include <gtest/gtest.h>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <thread>

#include <apiary/testing/plain_coroutine.hpp>

namespace readable_test {
namespace {

using apiary::awaited;
using apiary::coroutine_place;
using apiary::epoll_driver;
using apiary::plain_coroutine;
using apiary::readable;
using apiary::real_sync;
using apiary::resume_here;
using apiary::timer_thread;
using apiary::writable;

using world = timer_thread<real_sync, epoll_driver>;

class running_world {
public:
    running_world() : thread_([this] { w.run(); }) {}
    ~running_world() { stop(); }
    void stop() {
        w.stop();
        if (thread_.joinable()) thread_.join();
    }
    world w;

private:
    std::thread thread_;
};

struct two_ends {
    two_ends() { EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0); }
    ~two_ends() {
        for (const int fd : ends) ::close(fd);
    }
    std::array<int, 2> ends{};
};

struct told {
    std::atomic<int> done = 0, cancelled = 0, closed = 0;
    void add(awaited how) { ++(how == awaited::done ? done : how == awaited::closed ? closed : cancelled); }
};
void wait_for(const std::atomic<int>& n, int value) {
    while (n.load() < value) std::this_thread::yield();
}

void wait_for_any(const told& t, int value) {
    while (t.done + t.cancelled + t.closed < value) std::this_thread::yield();
}

plain_coroutine<> echoes(coroutine_place<>, world& w, int fd, int times, told& t) {
    for (int i = 0; i != times; ++i) {
        t.add(co_await readable(w, fd));
        char c = 0;
        EXPECT_EQ(::read(fd, &c, 1), 1);
        t.add(co_await writable(w, fd));
        EXPECT_EQ(::write(fd, &c, 1), 1);
    }
}
plain_coroutine<> waits(coroutine_place<>, world& w, int fd, told& t) {
    const awaited how = co_await readable(w, fd);
    t.add(how);
}
plain_coroutine<> waits_to_write(coroutine_place<>, world& w, int fd, told& t) {
    const awaited how = co_await writable(w, fd);
    t.add(how);
}

TEST(readable, goes_on_when_there_is_something_to_read) {
    resume_here<> home;
    two_ends s;
    told t;
    running_world r;
    echoes({home}, r.w, s.ends[0], 20, t);
    for (char c = 'a'; c != 'a' + 20; ++c) {
        EXPECT_EQ(::write(s.ends[1], &c, 1), 1);
        char back = 0;
        EXPECT_EQ(::read(s.ends[1], &back, 1), 1);
        EXPECT_EQ(back, c);
    }
    wait_for(t.done, 40);
    EXPECT_EQ(t.cancelled + t.closed, 0);
}

TEST(readable, a_hung_up_peer_is_ready) {
    resume_here<> home;
    two_ends s;
    told t;
    running_world r;
    waits({home}, r.w, s.ends[0], t);
    EXPECT_EQ(::shutdown(s.ends[1], SHUT_WR), 0);
    wait_for(t.done, 1);
}

TEST(readable, is_cancelled_and_can_be_awaited_again) {
    resume_here<> home;
    two_ends s;
    told t;
    running_world r;
    apiary::stop_hooks<> stop;
    waits({home, &stop}, r.w, s.ends[0], t);
    stop.ask();
    wait_for(t.cancelled, 1);
    waits({home}, r.w, s.ends[0], t);
    EXPECT_EQ(::write(s.ends[1], "x", 1), 1);
    wait_for(t.done, 1);
}

TEST(readable, says_what_cannot_be_watched) {
    resume_here<> home;
    two_ends s;
    told t;
    {
        running_world r;
        waits({home}, r.w, -1, t);
        waits({home}, r.w, 1'000'000, t);
        wait_for(t.closed, 2);
        std::FILE* const regular = std::tmpfile();
        ASSERT_NE(regular, nullptr);
        waits({home}, r.w, ::fileno(regular), t);
        wait_for(t.closed, 3);
        EXPECT_EQ(std::fclose(regular), 0);
        waits({home}, r.w, s.ends[0], t);
        waits({home}, r.w, s.ends[0], t);  // the second one that reads
        wait_for(t.closed, 4);
    }
    EXPECT_EQ(t.cancelled, 1) << "the first, by the end of the service";
}

// The system does not say that a descriptor was closed.
TEST(readable, whose_descriptor_others_close_waits_until_a_cancel_or_the_end_of_the_service) {
    resume_here<> home;
    apiary::stop_hooks<> stop;
    told left, stopped, after;
    {
        two_ends s, of_stopped;
        running_world r;
        waits({home}, r.w, s.ends[0], left);
        waits({home, &stop}, r.w, of_stopped.ends[0], stopped);
        waits_to_write({home}, r.w, s.ends[1], after);
        wait_for(after.done, 1);  // by now the service watches all three
        for (two_ends* one : {&s, &of_stopped}) {
            EXPECT_EQ(::close(one->ends[0]), 0);
            one->ends[0] = -1;
        }
        stop.ask();
        wait_for(stopped.cancelled, 1);
        EXPECT_EQ(left.done + left.cancelled + left.closed, 0);
    }
    EXPECT_EQ(left.closed, 1);
}

TEST(readable, a_peer_that_resets_is_ready_and_the_next_read_says_so) {
    resume_here<> home;
    told t;
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof a;
    auto* const name = reinterpret_cast<sockaddr*>(&a);
    const int listening = ::socket(AF_INET, SOCK_STREAM, 0), peer = ::socket(AF_INET, SOCK_STREAM, 0);
    ASSERT_EQ(::bind(listening, name, size), 0);
    ASSERT_EQ(::listen(listening, 1), 0);
    ASSERT_EQ(::getsockname(listening, name, &size), 0);
    ASSERT_EQ(::connect(peer, name, size), 0);
    const int fd = ::accept(listening, nullptr, nullptr);
    running_world r;
    waits({home}, r.w, fd, t);
    const linger at_once{1, 0};
    EXPECT_EQ(::setsockopt(peer, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once), 0);
    ::close(peer);
    wait_for(t.done, 1);
    char c;
    EXPECT_EQ(::recv(fd, &c, 1, 0), -1);
    EXPECT_EQ(errno, ECONNRESET);
    for (const int one : {fd, listening}) ::close(one);
}

// Full duplex: the reader waits while the writer's wait begins and ends, and the other way round.
TEST(readable, and_writable_of_two_coroutines_share_a_descriptor) {
    resume_here<> home;
    two_ends s;
    told reader, writer;
    running_world r;
    waits({home}, r.w, s.ends[0], reader);
    waits_to_write({home}, r.w, s.ends[0], writer);
    wait_for_any(writer, 1);
    EXPECT_EQ(writer.done, 1);
    EXPECT_EQ(reader.done, 0);
    while (::send(s.ends[0], "full", 4, MSG_DONTWAIT) > 0) {
    }
    waits_to_write({home}, r.w, s.ends[0], writer);
    EXPECT_EQ(::write(s.ends[1], "x", 1), 1);
    wait_for_any(reader, 1);
    EXPECT_EQ(reader.done, 1);
    EXPECT_EQ(writer.done, 1) << "the peer has not read";
    for (char some[4096]; ::recv(s.ends[1], some, sizeof some, MSG_DONTWAIT) > 0;) {
    }
    wait_for_any(writer, 2);
    EXPECT_EQ(writer.done, 2);
}

TEST(readable, ends_with_the_service) {
    resume_here<> home;
    two_ends s;
    told t;
    running_world r;
    waits({home}, r.w, s.ends[0], t);
    r.stop();
    EXPECT_EQ(t.cancelled, 1);
    waits({home}, r.w, s.ends[0], t);
    EXPECT_EQ(t.cancelled, 2) << "refused";
}

TEST(readable, a_frame_that_is_destroyed_while_it_waits_ends_the_program) {
    resume_here<> home;
    told t;
    EXPECT_DEATH(
        {
            world w;
            waits({home}, w, 0, t).frame.destroy();
        },
        "destroyed while it waits for a descriptor");
}

// Bytes, stops and the end of the service at the same time: each await ends once.
TEST(readable, ready_and_cancel_race) {
    resume_here<> home;
    told t;
    constexpr int rounds = 200;
    for (int i = 0; i != rounds; ++i) {
        two_ends s;
        running_world r;
        apiary::stop_hooks<> stop;
        waits({home, &stop}, r.w, s.ends[0], t);
        std::jthread canceller([&] { stop.ask(); });
        if (i % 2 == 0) {
            EXPECT_EQ(::write(s.ends[1], "x", 1), 1);
        }
        if (i % 3 == 0) r.stop();
        canceller.join();
        while (t.done + t.cancelled != i + 1) std::this_thread::yield();
    }
    EXPECT_EQ(t.closed, 0);
}

}  // namespace
}  // namespace readable_test
