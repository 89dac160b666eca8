// The event loop's driver alone, from one thread: when a wait ends, which source is told what, and what it leaves.
// hive_events_test.cpp has what sources see of a hive.
#include <apiary/events/epoll_driver.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <vector>

namespace epoll_driver_test {
namespace {

using apiary::epoll_driver;
using apiary::gone;
using apiary::readiness;
using apiary::real_sync;
using apiary::watch_result;

struct pipe_ends {
    int read = -1, write = -1;
    pipe_ends() {
        int fds[2];
        if (::pipe2(fds, O_CLOEXEC | O_NONBLOCK) != 0) throw std::runtime_error("pipe2");
        read = fds[0], write = fds[1];
    }
    ~pipe_ends() { ::close(read), ::close(write); }
    void put() const { ASSERT_EQ(::write(write, "x", 1), 1); }
};

struct noted final : apiary::descriptor_source {
    explicit noted(int fd) : descriptor_source(fd) {}
    void on_ready(readiness r) noexcept override {
        told.push_back(r);
        if (then) then();
    }
    void on_gone(gone why) noexcept override {
        farewells.push_back(why);
        if (at_the_end) at_the_end();
    }
    std::vector<readiness> told;
    std::vector<gone> farewells;
    std::function<void()> then, at_the_end;
};

std::size_t descriptors() {
    std::size_t n = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++n;
    return n;
}

TEST(epoll_wait, with_a_source_that_stays_silent_ends_at_the_deadline_and_not_before) {
    epoll_driver driver;
    const pipe_ends p;
    noted source(p.read);
    ASSERT_EQ(driver.watch(source, {}), watch_result::watched);
    // Both parts of the timeout, the seconds and the rest, are needed for this one.
    for (const std::int64_t length : {std::int64_t{3'000'000}, std::int64_t{1'002'000'000}}) {
        const std::int64_t deadline = real_sync::now_ns() + length;
        driver.wait(deadline);
        EXPECT_GE(real_sync::now_ns(), deadline);
    }
    driver.wait(real_sync::now_ns());
    driver.wait(0);  // deadlines that have passed do not block
    driver.wait(-1);
    driver.poll();
    EXPECT_TRUE(source.told.empty());
}

TEST(epoll_wait, without_a_deadline_ends_with_an_event_or_a_wake_and_with_nothing_else) {
    epoll_driver driver;
    const pipe_ends p;
    noted source(p.read);
    ASSERT_EQ(driver.watch(source, {}), watch_result::watched);
    std::atomic<bool> put{false};
    std::thread writer([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        put = true;
        p.put();
    });
    driver.wait(epoll_driver::forever);
    EXPECT_TRUE(put) << "the wait ended before there was anything";
    driver.poll();
    EXPECT_EQ(source.told.size(), 1U);
    writer.join();
    char byte;
    ASSERT_EQ(::read(p.read, &byte, 1), 1);
    std::atomic<bool> woken{false};
    std::thread waker([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        woken = true;
        driver.wake();
    });
    driver.wait(epoll_driver::forever);
    EXPECT_TRUE(woken) << "the wait ended before the wake";
    waker.join();
}

TEST(epoll_wait, takes_the_wake_that_ended_it_along) {
    epoll_driver driver;
    const pipe_ends p;
    noted source(p.read);
    ASSERT_EQ(driver.watch(source, {}), watch_result::watched);
    std::thread waker([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        driver.wake();
    });
    driver.wait(epoll_driver::forever);
    waker.join();
    ASSERT_TRUE(driver.unwatch(source));
    const std::int64_t deadline = real_sync::now_ns() + 3'000'000;
    driver.wait(deadline);
    EXPECT_GE(real_sync::now_ns(), deadline) << "one wake has ended two waits";
}

TEST(epoll_wait, with_a_deadline_makes_the_threads_timers_exact_and_without_one_does_not) {
    std::thread([] {
        constexpr int usual = 50'000;
        (void)::prctl(PR_SET_TIMERSLACK, usual, 0, 0, 0);
        if (::prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0) != usual) GTEST_SKIP() << "this system has no timer slack";
        epoll_driver driver;
        driver.wake();
        driver.wait(epoll_driver::forever);
        EXPECT_EQ(::prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0), usual);
        driver.wait(real_sync::now_ns());
        EXPECT_EQ(::prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0), 1);
        // The setting is the thread's own: a later change by the thread stands.
        ASSERT_EQ(::prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0), 0);
        driver.wait(real_sync::now_ns());
        EXPECT_EQ(::prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0), 1000);
    }).join();
}

TEST(epoll_poll, tells_what_is_ready_and_nothing_else) {
    epoll_driver driver;
    const pipe_ends p;
    noted reader(p.read), writer(p.write);
    ASSERT_EQ(driver.watch(reader, {}), watch_result::watched);
    p.put();
    driver.poll();
    ASSERT_EQ(reader.told.size(), 1U);
    EXPECT_TRUE(reader.told[0].readable);
    EXPECT_FALSE(reader.told[0].writable);
    EXPECT_FALSE(reader.told[0].hung_up);
    ASSERT_TRUE(driver.unwatch(reader));
    ASSERT_EQ(driver.watch(writer, {.read = false, .write = true}), watch_result::watched);
    driver.poll();
    ASSERT_EQ(writer.told.size(), 1U);
    EXPECT_FALSE(writer.told[0].readable);
    EXPECT_TRUE(writer.told[0].writable);
    EXPECT_FALSE(writer.told[0].hung_up);
}

TEST(epoll_poll, forgets_what_was_collected_for_sources_that_are_gone) {
    epoll_driver driver;
    const pipe_ends p, q;
    noted before(p.read), after(q.read);
    ASSERT_EQ(driver.watch(before, {}), watch_result::watched);
    p.put();
    driver.wait(epoll_driver::forever);
    ASSERT_TRUE(driver.unwatch(before));
    driver.poll();
    ASSERT_EQ(driver.watch(after, {}), watch_result::watched);
    q.put();
    driver.poll();
    EXPECT_EQ(after.told.size(), 1U) << "told by the first poll after it";
    EXPECT_TRUE(before.told.empty());
}

TEST(epoll_poll, does_not_take_one_source_for_another_of_the_same_descriptor) {
    epoll_driver driver;
    const pipe_ends p, q;
    noted first(p.read), second(q.read), heir_of_first(p.read), heir_of_second(q.read);
    // Whichever is told first puts another source in the place of the other, whose event is on its way.
    first.then = [&] {
        ASSERT_TRUE(driver.unwatch(second));
        ASSERT_EQ(driver.watch(heir_of_second, {}), watch_result::watched);
    };
    second.then = [&] {
        ASSERT_TRUE(driver.unwatch(first));
        ASSERT_EQ(driver.watch(heir_of_first, {}), watch_result::watched);
    };
    ASSERT_EQ(driver.watch(first, {}), watch_result::watched);
    ASSERT_EQ(driver.watch(second, {}), watch_result::watched);
    p.put();
    q.put();
    driver.wait(epoll_driver::forever);
    driver.poll();
    EXPECT_EQ(first.told.size() + second.told.size(), 1U);
    EXPECT_EQ(heir_of_first.told.size() + heir_of_second.told.size(), 0U) << "told of an event from before its time";
    first.then = second.then = nullptr;
    driver.poll();
    EXPECT_EQ(heir_of_first.told.size() + heir_of_second.told.size(), 1U);
}

// Descriptors begin at 0, which programs that close their standard input get.
TEST(epoll_driver, watches_the_descriptor_0_like_any_other) {
    const int kept = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    {
        const pipe_ends p;
        ASSERT_EQ(::dup2(p.read, 0), 0);
        epoll_driver driver;
        noted source(0);
        ASSERT_EQ(driver.watch(source, {}), watch_result::watched);
        p.put();
        driver.wait(epoll_driver::forever);
        driver.poll();
        EXPECT_EQ(source.told.size(), 1U);
        EXPECT_TRUE(driver.rewatch(source, {}));
        EXPECT_TRUE(driver.unwatch(source));
        ASSERT_EQ(driver.watch(source, {}), watch_result::watched);
        driver.end_sources();
        EXPECT_EQ(source.farewells, std::vector{gone::worker_ended});
    }
    ::close(0);
    {
        epoll_driver driver;  // its own is 0 now
        driver.wake();
        driver.wait(epoll_driver::forever);
    }
    if (kept >= 0) {
        ::dup2(kept, 0);
        ::close(kept);
    }
}

TEST(epoll_driver, refuses_a_closed_descriptor_whose_number_it_has_watched_before) {
    epoll_driver driver;
    int number = -1;
    {
        const pipe_ends p;
        number = p.read;
        noted source(number);
        ASSERT_EQ(driver.watch(source, {}), watch_result::watched);
        ASSERT_TRUE(driver.unwatch(source));
    }
    noted closed(number);
    EXPECT_EQ(driver.watch(closed, {}), watch_result::bad_descriptor);
}

// Epoll keeps its entry for the duplicate, under the number that comes back.
TEST(epoll_driver, watches_a_descriptor_that_was_closed_before_it_was_unwatched_and_has_a_duplicate) {
    epoll_driver driver;
    pipe_ends p;
    const int duplicate = ::dup(p.read);
    noted before(p.read);
    ASSERT_EQ(driver.watch(before, {}), watch_result::watched);
    ::close(p.read);
    p.put();
    driver.poll();
    EXPECT_EQ(before.told.size(), 1U) << "it hears of the duplicate";
    EXPECT_FALSE(driver.unwatch(before));
    driver.poll();
    EXPECT_EQ(before.told.size(), 1U) << "and no longer than it is watched";
    ASSERT_EQ(::dup2(duplicate, p.read), p.read);
    noted after(p.read);
    EXPECT_EQ(driver.watch(after, {}), watch_result::watched);
    driver.poll();
    EXPECT_EQ(after.told.size(), 1U);
    EXPECT_TRUE(driver.unwatch(after));
    EXPECT_EQ(driver.watched(), 0U);
    ::close(duplicate);
}

TEST(epoll_driver, knows_no_source_that_it_does_not_watch) {
    epoll_driver driver;
    noted lowest(0), higher(5);
    for (noted* unknown : {&lowest, &higher}) {
        EXPECT_FALSE(driver.rewatch(*unknown, {}));
        EXPECT_FALSE(driver.unwatch(*unknown));
    }
    const pipe_ends p;
    noted source(p.read), other(p.read);
    ASSERT_EQ(driver.watch(source, {}), watch_result::watched);
    EXPECT_FALSE(driver.rewatch(other, {.read = false, .write = false})) << "the descriptor is another's";
    p.put();
    driver.poll();
    EXPECT_EQ(source.told.size(), 1U);
    EXPECT_TRUE(driver.unwatch(source));
}

struct both_ends {
    both_ends() {
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, of) != 0)
            throw std::runtime_error("socketpair");
    }
    ~both_ends() { ::close(of[0]), ::close(of[1]); }
    void put() const { ASSERT_EQ(::write(of[1], "x", 1), 1); }
    int of[2];
};
constexpr apiary::interest to_read{.read = true, .write = false}, to_write{.read = false, .write = true};

TEST(epoll_driver, tells_two_sources_of_one_descriptor_each_what_it_wants_and_watches_one_on_without_the_other) {
    epoll_driver driver;
    for (const bool reader_leaves : {true, false}) {
        const both_ends s;
        noted reader(s.of[0]), writer(s.of[0]);
        ASSERT_EQ(driver.watch(reader, to_read), watch_result::watched);
        ASSERT_EQ(driver.watch(writer, to_write), watch_result::watched);
        EXPECT_EQ(driver.watched(), 2U);
        driver.poll();
        EXPECT_TRUE(reader.told.empty()) << "there is nothing to read";
        ASSERT_EQ(writer.told.size(), 1U);
        EXPECT_FALSE(writer.told.back().readable);
        s.put();
        driver.poll();
        ASSERT_EQ(reader.told.size(), 1U);
        EXPECT_TRUE(reader.told.back().readable && !reader.told.back().writable);
        EXPECT_EQ(writer.told.size(), 2U);
        noted &leaves = reader_leaves ? reader : writer, &stays = reader_leaves ? writer : reader;
        EXPECT_TRUE(driver.unwatch(leaves));
        EXPECT_FALSE(driver.unwatch(leaves)) << "twice";
        const std::size_t until_then = leaves.told.size(), before = stays.told.size();
        driver.poll();
        EXPECT_EQ(leaves.told.size(), until_then);
        EXPECT_EQ(stays.told.size(), before + 1);
        ASSERT_EQ(driver.watch(leaves, reader_leaves ? to_read : to_write), watch_result::watched) << "again";
        driver.end_sources();
        EXPECT_EQ(leaves.farewells.size() + stays.farewells.size(), 2U);
        EXPECT_EQ(driver.watched(), 0U);
    }
}

TEST(epoll_driver, refuses_a_source_that_wants_what_the_other_one_has_and_any_third) {
    epoll_driver driver;
    const both_ends s;
    noted reader(s.of[0]), writer(s.of[0]), third(s.of[0]);
    ASSERT_EQ(driver.watch(reader, to_read), watch_result::watched);
    EXPECT_EQ(driver.watch(reader, to_write), watch_result::watched_before) << "one source, twice";
    for (const apiary::interest clash : {to_read, apiary::interest{true, true}, apiary::interest{false, false}})
        EXPECT_EQ(driver.watch(writer, clash), watch_result::watched_before);
    ASSERT_EQ(driver.watch(writer, to_write), watch_result::watched);
    EXPECT_EQ(driver.watch(third, to_read), watch_result::watched_before);
    EXPECT_FALSE(driver.rewatch(reader, to_write)) << "the other one has it";
    EXPECT_FALSE(driver.rewatch(third, to_read));
    EXPECT_FALSE(driver.unwatch(third));
    s.put();
    driver.poll();
    EXPECT_EQ(reader.told.size(), 1U) << "it wants what it wanted";
    EXPECT_TRUE(driver.rewatch(reader, to_read));
    EXPECT_TRUE(driver.unwatch(writer));
    EXPECT_TRUE(driver.rewatch(reader, {.read = true, .write = true}));
    driver.poll();
    EXPECT_TRUE(reader.told.back().readable && reader.told.back().writable);
    EXPECT_EQ(driver.watch(writer, to_write), watch_result::watched_before) << "the reader has both now";
    EXPECT_TRUE(driver.unwatch(reader));
}

TEST(epoll_driver, tells_both_sources_of_a_descriptor_of_a_hang_up_and_of_its_number_that_comes_back) {
    epoll_driver driver;
    const both_ends s;
    const int number = s.of[0];
    noted reader(number), writer(number), heir(number);
    ASSERT_EQ(driver.watch(writer, to_write), watch_result::watched);
    ASSERT_EQ(driver.watch(reader, to_read), watch_result::watched);
    // The one that is told first unwatches the other, which is then told nothing.
    writer.then = [&] { EXPECT_TRUE(driver.unwatch(reader)); };
    s.put();
    driver.poll();
    EXPECT_TRUE(reader.told.empty());
    writer.then = nullptr;
    ASSERT_EQ(driver.watch(reader, to_read), watch_result::watched);
    ASSERT_EQ(::shutdown(s.of[1], SHUT_RDWR), 0);
    driver.poll();
    ASSERT_EQ(reader.told.size(), 1U);
    EXPECT_TRUE(reader.told.back().hung_up && writer.told.back().hung_up);
    ::close(number);
    ASSERT_EQ(::dup2(s.of[1], number), number);  // the number comes back as another socket
    ASSERT_EQ(driver.watch(heir, to_read), watch_result::watched);
    EXPECT_EQ(reader.farewells, std::vector{gone::descriptor_closed});
    EXPECT_EQ(writer.farewells, std::vector{gone::descriptor_closed});
    EXPECT_EQ(driver.watched(), 1U);
    EXPECT_TRUE(driver.unwatch(heir));
}

// As a coroutine that reads a stream without an end does.
TEST(epoll_driver, tells_the_other_source_of_a_descriptor_though_one_leaves_and_comes_back_at_each_report) {
    epoll_driver driver;
    const both_ends s;
    noted reader(s.of[0]), writer(s.of[0]);
    reader.then = [&] { EXPECT_TRUE(driver.unwatch(reader)); };
    s.put();
    ASSERT_EQ(driver.watch(reader, to_read), watch_result::watched);
    ASSERT_EQ(driver.watch(writer, to_write), watch_result::watched);
    for (int i = 0; i < 3; ++i) {
        driver.poll();
        ASSERT_EQ(driver.watch(reader, to_read), watch_result::watched);
    }
    EXPECT_EQ(reader.told.size(), 3U);
    EXPECT_EQ(writer.told.size(), 3U);
    // One that is unwatched and watched again within the call waits for the next report.
    reader.then = [&] {
        EXPECT_TRUE(driver.unwatch(writer));
        ASSERT_EQ(driver.watch(writer, to_write), watch_result::watched);
    };
    driver.poll();
    EXPECT_EQ(writer.told.size(), 3U);
    reader.then = nullptr;
    driver.poll();
    EXPECT_EQ(writer.told.size(), 4U);
    driver.end_sources();
}

TEST(epoll_driver, calls_no_source_that_the_farewell_of_another_one_has_unwatched) {
    epoll_driver driver;
    const both_ends s, t;
    const int number = s.of[0];
    noted first(number), second(number), heir(number);
    first.at_the_end = [&] { EXPECT_FALSE(driver.unwatch(second)) << "so it may be destroyed"; };
    ASSERT_EQ(driver.watch(first, to_read), watch_result::watched);
    ASSERT_EQ(driver.watch(second, to_write), watch_result::watched);
    ::close(number);
    ASSERT_EQ(::dup2(s.of[1], number), number);
    ASSERT_EQ(driver.watch(heir, to_read), watch_result::watched);
    EXPECT_EQ(first.farewells.size(), 1U);
    EXPECT_TRUE(second.farewells.empty());
    EXPECT_EQ(driver.watched(), 1U);
    // Nor one whose number a call has given away.
    ASSERT_EQ(driver.watch(second, to_write), watch_result::watched);
    noted again(number);
    heir.then = [&] {
        ::close(number);
        ASSERT_EQ(::dup2(t.of[0], number), number);
        ASSERT_EQ(driver.watch(again, to_read), watch_result::watched);
    };
    ASSERT_EQ(::shutdown(s.of[1], SHUT_RDWR), 0);
    driver.poll();
    EXPECT_EQ(second.farewells.size(), 1U);
    EXPECT_TRUE(second.told.empty());
    EXPECT_TRUE(driver.unwatch(again));
}

struct counted_guest final : apiary::guest_core {
    void wait(std::int64_t) noexcept override { ++calls; }
    void poll() noexcept override { ++calls; }
    void wake() noexcept override { ++calls; }
    int calls = 0;
};

TEST(epoll_driver, calls_a_guest_until_its_worker_ends_and_leaves_the_users_thread_as_it_is) {
    std::thread([] {
        constexpr int usual = 50'000;
        (void)::prctl(PR_SET_TIMERSLACK, usual, 0, 0, 0);
        const int at_first = ::prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
        epoll_driver driver;
        counted_guest guest;
        driver.host(guest);
        driver.poll();
        driver.wait(real_sync::now_ns());
        EXPECT_EQ(guest.calls, 2);
        EXPECT_EQ(::prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0), at_first);
        driver.end_sources();
        EXPECT_EQ(driver.watched(), 0U);
        driver.wake();
        driver.poll();
        driver.wait(real_sync::now_ns());
        EXPECT_EQ(guest.calls, 2) << "neither waited in nor woken any more";
        EXPECT_EQ(::prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0), at_first == usual ? 1 : at_first) << "the next worker's own";
        const pipe_ends p;
        noted source(p.read);
        EXPECT_EQ(driver.watch(source, {}), watch_result::watched) << "which may have sources";
        EXPECT_TRUE(driver.unwatch(source));
    }).join();
}

TEST(epoll_driver, has_forgotten_a_source_before_it_says_farewell) {
    epoll_driver driver;
    const pipe_ends p, q;
    noted first(p.read), second(q.read);
    std::vector<std::size_t> left;
    first.at_the_end = second.at_the_end = [&] { left.push_back(driver.watched()); };
    ASSERT_EQ(driver.watch(first, {}), watch_result::watched);
    ASSERT_EQ(driver.watch(second, {}), watch_result::watched);
    driver.end_sources();
    EXPECT_EQ(left, (std::vector<std::size_t>{1, 0}));
    p.put();
    driver.poll();
    EXPECT_TRUE(first.told.empty());
    EXPECT_EQ(driver.watch(first, {}), watch_result::watched) << "the kernel has forgotten it, too";
    EXPECT_TRUE(driver.unwatch(first));
}

TEST(epoll_driver, says_no_farewell_to_a_source_that_the_farewell_of_another_one_has_watched_again) {
    for (const bool the_number_goes_once_more : {false, true}) {
        epoll_driver driver;
        const both_ends s, t;
        const int number = s.of[0];
        noted first(number), second(number), heir(number);
        first.at_the_end = [&] {
            if (the_number_goes_once_more) {
                ::close(number);
                ASSERT_EQ(::dup2(t.of[0], number), number);
            }
            EXPECT_EQ(driver.watch(second, to_write), watch_result::watched);
        };
        ASSERT_EQ(driver.watch(first, to_read), watch_result::watched);
        ASSERT_EQ(driver.watch(second, to_write), watch_result::watched);
        ::close(number);
        ASSERT_EQ(::dup2(s.of[1], number), number);
        ASSERT_EQ(driver.watch(heir, to_read), watch_result::watched);
        EXPECT_EQ(heir.farewells.size(), the_number_goes_once_more ? 1U : 0U);
        EXPECT_TRUE(second.farewells.empty());
        EXPECT_TRUE(driver.unwatch(second));
        driver.end_sources();
    }
}

TEST(epoll_driver, says_at_its_end_which_descriptor_was_closed_before) {
    epoll_driver driver;
    const both_ends s, t;
    noted kept(s.of[0]), reader(t.of[0]), writer(t.of[0]);
    ASSERT_EQ(driver.watch(kept, to_read), watch_result::watched);
    ASSERT_EQ(driver.watch(reader, to_read), watch_result::watched);
    ASSERT_EQ(driver.watch(writer, to_write), watch_result::watched);
    ::close(t.of[0]);
    ASSERT_EQ(::dup2(s.of[1], t.of[0]), t.of[0]);  // the number is another's now
    driver.end_sources();
    EXPECT_EQ(kept.farewells, std::vector{gone::worker_ended});
    EXPECT_EQ(reader.farewells, std::vector{gone::descriptor_closed}) << "it must not close what is another's";
    EXPECT_EQ(writer.farewells, std::vector{gone::descriptor_closed});
}

TEST(epoll_driver, leaves_no_descriptor_behind) {
    const std::size_t before = descriptors();
    {
        epoll_driver driver;
    }
    EXPECT_EQ(descriptors(), before);
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "UndefinedBehaviorSanitizer needs descriptors of its own to look at what is thrown";
#endif
    // The last that the process may have goes to epoll itself; the one for the wakes is then refused.
    rlimit usual{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &usual), 0);
    const int free = ::open("/dev/null", O_RDONLY | O_CLOEXEC);  // descriptor 0 may be closed
    ASSERT_GE(free, 0);
    ::close(free);
    rlimit one_more = usual;
    one_more.rlim_cur = static_cast<rlim_t>(free) + 1;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &one_more), 0);
    try {
        epoll_driver driver;
        ADD_FAILURE() << "made without a descriptor for the wakes";
    } catch (const std::system_error& e) {
        EXPECT_EQ(e.code().value(), EMFILE) << "the cause, and not what came of it";
    }
    one_more.rlim_cur = static_cast<rlim_t>(free);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &one_more), 0);
    EXPECT_THROW(epoll_driver(), std::system_error);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &usual), 0);
    EXPECT_EQ(descriptors(), before);
}

}  // namespace
}  // namespace epoll_driver_test
