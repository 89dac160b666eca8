// Event sources: the driver alone, from one thread, and then on the hive. hive_echo drives them with 1,000 connections.
#include <apiary/schedulers/hive/hive.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>

#include <atomic>
#include <functional>
#include <stdexcept>
#include <thread>
#include <vector>

namespace hive_events_test {
namespace {

using apiary::epoll_driver;
using apiary::gone;
using apiary::hive;
using apiary::readiness;
using apiary::watch_result;

struct pipe_ends {
    int read = -1, write = -1;
    pipe_ends() {
        int fds[2];
        if (::pipe2(fds, O_CLOEXEC | O_NONBLOCK) != 0) throw std::runtime_error("pipe2");
        read = fds[0], write = fds[1];
    }
    ~pipe_ends() {
        if (read >= 0) ::close(read);
        if (write >= 0) ::close(write);
    }
    void put() const { ASSERT_EQ(::write(write, "x", 1), 1); }
};

struct noted final : apiary::descriptor_source {
    explicit noted(int fd) : descriptor_source(fd) {}
    void on_ready(readiness r) noexcept override {
        readable += r.readable ? 1 : 0;
        hung_up += r.hung_up ? 1 : 0;
        if (then) then();
    }
    void on_gone(gone why) noexcept override {
        farewells.push_back(why);
        if (at_the_end) at_the_end();
    }
    int readable = 0, hung_up = 0;
    std::vector<gone> farewells;
    std::function<void()> then, at_the_end;
};

TEST(epoll_driver, tells_a_source_until_it_was_dealt_with) {
    epoll_driver driver;
    const pipe_ends p;
    noted source(p.read);
    ASSERT_EQ(driver.watch(source, {}), watch_result::watched);
    driver.poll();
    EXPECT_EQ(source.readable, 0);
    p.put();
    driver.wait(epoll_driver::forever);
    EXPECT_EQ(source.readable, 0) << "a wait only collects";
    driver.poll();
    driver.poll();
    EXPECT_EQ(source.readable, 2);
    EXPECT_TRUE(driver.rewatch(source, {.read = false, .write = false}));
    driver.poll();
    EXPECT_EQ(source.readable, 2);
    EXPECT_TRUE(driver.unwatch(source));
    EXPECT_FALSE(driver.unwatch(source)) << "it is not watched any more";
    EXPECT_FALSE(driver.rewatch(source, {}));
}

TEST(epoll_driver, a_hang_up_is_told_also_to_a_source_that_asked_for_nothing) {
    epoll_driver driver;
    pipe_ends p;
    noted source(p.read);
    ASSERT_EQ(driver.watch(source, {.read = false, .write = false}), watch_result::watched);
    p.put();
    driver.poll();
    EXPECT_EQ(source.hung_up + source.readable, 0);
    ::close(p.write);
    p.write = -1;
    driver.poll();
    EXPECT_EQ(source.hung_up, 1);
    EXPECT_EQ(source.readable, 0) << "there is something to read, for which it did not ask";
    EXPECT_TRUE(driver.unwatch(source));
    driver.poll();
    EXPECT_EQ(source.hung_up, 1);
}

TEST(epoll_driver, a_source_may_watch_others_and_delete_itself_while_it_is_told) {
    epoll_driver driver;
    const pipe_ends p, q;
    noted heir(q.read);
    auto* source = new noted(p.read);
    source->then = [&driver, &heir, source] {
        EXPECT_TRUE(driver.unwatch(*source));
        EXPECT_EQ(driver.watch(heir, {}), watch_result::watched);
        delete source;
    };
    ASSERT_EQ(driver.watch(*source, {}), watch_result::watched);
    p.put();
    q.put();
    driver.poll();
    driver.poll();
    EXPECT_EQ(heir.readable, 1);
    EXPECT_EQ(driver.watched(), 1U);
    driver.end_sources();
    EXPECT_EQ(heir.farewells, std::vector{gone::worker_ended});
}

TEST(epoll_driver, a_poll_does_not_swallow_a_wake) {
    epoll_driver driver;
    const pipe_ends p;
    noted source(p.read);
    ASSERT_EQ(driver.watch(source, {}), watch_result::watched);
    driver.wake();
    driver.poll();
    driver.wait(epoll_driver::forever);
}

TEST(epoll_driver, a_source_that_was_unwatched_in_the_same_batch_is_not_told) {
    epoll_driver driver;
    const pipe_ends p, q;
    noted one(p.read), other(q.read);
    one.then = [&] { (void)driver.unwatch(other); };
    other.then = [&] { (void)driver.unwatch(one); };
    ASSERT_EQ(driver.watch(one, {}), watch_result::watched);
    ASSERT_EQ(driver.watch(other, {}), watch_result::watched);
    p.put();
    q.put();
    driver.wait(epoll_driver::forever);
    driver.poll();
    EXPECT_EQ(one.readable + other.readable, 1);
    EXPECT_EQ(driver.watched(), 1U);
}

TEST(epoll_driver, says_why_it_watches_no_bad_descriptor) {
    epoll_driver driver;
    noted negative(-1);
    EXPECT_EQ(driver.watch(negative, {}), watch_result::bad_descriptor);
    int closed = -1;
    {
        const pipe_ends p;
        closed = p.read;
    }
    noted dead(closed);
    EXPECT_EQ(driver.watch(dead, {}), watch_result::bad_descriptor);
    const int file = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    noted regular(file);
    EXPECT_EQ(driver.watch(regular, {}), watch_result::bad_descriptor) << "a regular file has no readiness";
    ::close(file);
    const pipe_ends p;
    noted first(p.read), second(p.read);
    EXPECT_EQ(driver.watch(first, {}), watch_result::watched);
    EXPECT_EQ(driver.watch(second, {}), watch_result::watched_before);
    EXPECT_TRUE(first.farewells.empty());
}

TEST(epoll_driver, a_descriptor_closed_under_its_source_is_answered) {
    epoll_driver driver;
    pipe_ends p;
    noted source(p.read);
    ASSERT_EQ(driver.watch(source, {}), watch_result::watched);
    ::close(p.read);
    p.read = -1;
    driver.poll();
    EXPECT_EQ(source.readable, 0);
    EXPECT_FALSE(driver.unwatch(source)) << "the descriptor was closed before";
    EXPECT_EQ(driver.watched(), 0U);

    // And when its number comes back with another source, the first is told.
    const pipe_ends q;
    const int kept = ::fcntl(q.read, F_DUPFD_CLOEXEC, 0);
    noted first(q.read);
    ASSERT_EQ(driver.watch(first, {}), watch_result::watched);
    ASSERT_EQ(::dup3(p.write, q.read, O_CLOEXEC), q.read);  // closes it; the duplicate keeps the kernel's entry
    noted heir(q.read);
    ASSERT_EQ(driver.watch(heir, {.read = false, .write = true}), watch_result::watched);
    EXPECT_EQ(first.farewells, std::vector{gone::descriptor_closed});
    EXPECT_FALSE(driver.unwatch(first));
    q.put();
    driver.poll();
    EXPECT_EQ(first.readable, 0) << "the duplicate reports to nobody";
    EXPECT_TRUE(driver.unwatch(heir));
    ::close(kept);
}

TEST(epoll_driver, a_source_that_is_watched_again_behind_a_close_is_told_no_farewell) {
    epoll_driver driver;
    const pipe_ends p, q;
    noted source(p.read);
    ASSERT_EQ(driver.watch(source, {}), watch_result::watched);
    ASSERT_EQ(::dup3(q.read, p.read, O_CLOEXEC), p.read);  // closes it under the source, and the number comes back
    ASSERT_EQ(driver.watch(source, {}), watch_result::watched);
    EXPECT_TRUE(source.farewells.empty()) << "it would be told more after its farewell";
    EXPECT_EQ(driver.watched(), 1U);
    q.put();
    driver.poll();
    EXPECT_EQ(source.readable, 1);
    EXPECT_TRUE(driver.unwatch(source));
}

struct for_windows final : apiary::event_source {
    for_windows() : event_source(apiary::event_backend::completion_port, 0) {}
    void on_ready(readiness) noexcept override {}
};

TEST(epoll_driver, refuses_a_source_for_another_platform_with_a_warning) {
    for_windows source;
#ifdef NDEBUG
    epoll_driver driver;
    testing::internal::CaptureStderr();
    EXPECT_EQ(driver.watch(source, {}), watch_result::wrong_backend);
    EXPECT_NE(testing::internal::GetCapturedStderr().find("another kind of event loop"), std::string::npos);
#else
    EXPECT_DEATH({ (void)epoll_driver().watch(source, {}); }, "another kind of event loop");
#endif
}

TEST(hive_events, a_source_is_called_on_its_worker_and_may_post) {
    hive h({.io_workers = 2});
    const pipe_ends p;
    noted source(p.read);
    std::optional<unsigned> called_on;
    source.then = [&] {
        called_on = h.this_worker();
        EXPECT_TRUE(h.unwatch(source));
        ASSERT_TRUE(h.post_micro([&h] { h.request_stop(); }));
    };
    ASSERT_TRUE(h.post_to_worker(1, [&] {
        ASSERT_EQ(h.watch(source), watch_result::watched);
        p.put();
    }));
    h.run();
    EXPECT_EQ(called_on, 1U);
    EXPECT_EQ(source.readable, 1);
    EXPECT_TRUE(source.farewells.empty());
}

TEST(hive_events, a_worker_that_ends_says_so_to_its_sources) {
    hive h({.io_workers = 2});
    const pipe_ends p, q;
    noted detached(p.read), stopped(q.read);
    std::atomic<int> watching{0};
    std::thread t([&h] { h.run(); });
    const auto watch = [&](noted& source) {
        EXPECT_EQ(h.watch(source), watch_result::watched);
        ++watching;
    };
    ASSERT_TRUE(h.post_to_worker(1, [&] { watch(detached); }));
    ASSERT_TRUE(h.post_to_worker(0, [&] { watch(stopped); }));
    while (watching != 2) std::this_thread::yield();
    EXPECT_EQ(h.detach_io_worker(1), apiary::detach_result::detached);
    h.request_stop();
    t.join();
    EXPECT_EQ(detached.farewells, std::vector{gone::worker_ended});
    EXPECT_EQ(stopped.farewells, std::vector{gone::worker_ended});
}

// Else nobody would tell it that its worker has ended.
TEST(hive_events, a_worker_that_ends_watches_nothing_new) {
    hive h({.io_workers = 2});
    const pipe_ends p, q;
    noted late(p.read), early(q.read);
    early.at_the_end = [&] { EXPECT_EQ(h.watch(early), watch_result::worker_ends) << "by itself, when it is told"; };
    ASSERT_TRUE(h.post_to_worker(1, [&] {
        EXPECT_EQ(h.watch(early), watch_result::watched);
        EXPECT_EQ(h.detach_io_worker(1), apiary::detach_result::detached);
        EXPECT_EQ(h.watch(late), watch_result::worker_ends);
        ASSERT_TRUE(h.post_to_worker(0, [&] {
            EXPECT_EQ(h.watch(late), watch_result::watched);
            EXPECT_TRUE(h.unwatch(late));
            ASSERT_TRUE(h.post_to_worker(0, [&] { EXPECT_EQ(h.watch(late), watch_result::worker_ends) << "drained"; }));
            h.request_stop();
        }));
    }));
    h.run();
    EXPECT_EQ(early.farewells, std::vector{gone::worker_ended});
    EXPECT_TRUE(late.farewells.empty());
    EXPECT_EQ(h.report().run, 3U);
}

TEST(hive_events, two_workers_may_watch_one_descriptor) {
    hive h({.io_workers = 2});
    const pipe_ends p;
    noted first(p.read), second(p.read);
    std::atomic<int> told{0};
    const auto forget = [&](noted& source) {
        EXPECT_TRUE(h.unwatch(source));
        if (++told == 2) h.request_stop();
    };
    first.then = [&] { forget(first); };
    second.then = [&] { forget(second); };
    ASSERT_TRUE(h.post_to_worker(0, [&] { EXPECT_EQ(h.watch(first), watch_result::watched); }));
    ASSERT_TRUE(h.post_to_worker(1, [&] { EXPECT_EQ(h.watch(second), watch_result::watched); }));
    p.put();
    h.run();
    EXPECT_EQ(first.readable + second.readable, 2);
}

TEST(hive_events, only_a_worker_watches) {
    hive h({});
    const pipe_ends p;
    noted source(p.read);
    EXPECT_THROW((void)h.watch(source), std::logic_error);
    EXPECT_THROW((void)h.unwatch(source), std::logic_error);
    EXPECT_EQ(h.this_worker(), std::nullopt);
}

}  // namespace
}  // namespace hive_events_test
