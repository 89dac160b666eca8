// Channels, step by step on one thread: room, order, closes, cancels, frames that go early.
#include <apiary/coroutines/channel.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include <apiary/testing/plain_coroutine.hpp>

namespace channel_test {
namespace {

using apiary::awaited;
using apiary::channel;
using apiary::coroutine_place;
using apiary::plain_coroutine;
using apiary::resume_later;

using ints = channel<int>;
using lines = std::vector<std::string>;

std::string told(awaited how) {
    switch (how) {
        case awaited::done:
            return "done";
        case awaited::cancelled:
            return "cancelled";
        case awaited::closed:
            return "closed";
        case awaited::would_wait:
            return "would wait";
        case awaited::timed_out:
            return "timed out";
    }
    return "nothing that is known";
}

plain_coroutine<> sends(coroutine_place<>, ints& c, lines& l, int value) {
    const awaited how = co_await c.send(value);
    l.push_back("sent " + std::to_string(value) + ": " + told(how));
}
plain_coroutine<> receives(coroutine_place<>, ints& c, lines& l) {
    const auto r = co_await c.receive();
    l.push_back(r ? "got " + std::to_string(*r.value) : told(r.how));
}

TEST(channel, keeps_values_in_order_as_far_as_there_is_room) {
    ints c(2);
    EXPECT_EQ(c.try_send(1), awaited::done);
    EXPECT_EQ(c.try_send(2), awaited::done);
    EXPECT_EQ(c.try_send(3), awaited::would_wait);
    EXPECT_EQ(c.size(), 2U);
    for (int i = 1; i != 6; ++i) {  // around the ring
        EXPECT_EQ(c.try_receive().value, i);
        EXPECT_EQ(c.try_send(i + 2), awaited::done);
    }
    EXPECT_EQ(c.try_receive().value, 6);
    EXPECT_EQ(c.try_receive().value, 7);
    EXPECT_EQ(c.try_receive().how, awaited::would_wait);
    EXPECT_FALSE(c.try_receive().value.has_value());
}

TEST(channel, a_full_one_makes_senders_wait_and_serves_them_in_order) {
    resume_later home;
    ints c(1);
    lines l;
    for (int i = 1; i != 4; ++i) sends({home}, c, l, i);
    EXPECT_EQ(l, (lines{"sent 1: done"}));
    EXPECT_EQ(c.try_receive().value, 1);
    EXPECT_EQ(c.size(), 1U) << "the sender that waited has laid its value down";
    EXPECT_EQ(c.try_send(9), awaited::would_wait) << "no newcomer overtakes 3";
    home.run_all();
    EXPECT_EQ(l, (lines{"sent 1: done", "sent 2: done"}));
    receives({home}, c, l);
    receives({home}, c, l);
    home.run_all();
    EXPECT_EQ(l, (lines{"sent 1: done", "sent 2: done", "got 2", "got 3", "sent 3: done"}));
    EXPECT_EQ(c.size(), 0U);
}

TEST(channel, an_empty_one_makes_receivers_wait_and_serves_them_in_order) {
    resume_later home;
    ints c(4);
    lines l;
    for (int i = 0; i != 2; ++i) receives({home}, c, l);
    EXPECT_TRUE(l.empty());
    EXPECT_EQ(c.try_send(1), awaited::done);
    sends({home}, c, l, 2);
    EXPECT_EQ(c.size(), 0U) << "handed over";
    home.run_all();
    EXPECT_EQ(l, (lines{"sent 2: done", "got 1", "got 2"}));
}

// What select calls when the channel looked empty a moment ago.
TEST(channel, an_arm_of_a_select_takes_what_came_after_its_look) {
    struct selects final : apiary::claim<> {
        void resume(apiary::job<>&) noexcept override {}
    } by_close, by_sender;
    ints closed(0);
    EXPECT_TRUE(closed.close());
    ints::receiving told_so(closed);
    EXPECT_EQ(told_so.join(by_close), apiary::joined::served);
    EXPECT_EQ(told_so.await_resume().how, awaited::closed);

    resume_later home;
    ints c(0);
    lines l;
    sends({home}, c, l, 7);
    ints::receiving has_it(c);
    EXPECT_EQ(has_it.join(by_sender), apiary::joined::served);
    EXPECT_EQ(has_it.await_resume().value, 7);
    home.run_all();
    EXPECT_EQ(l, lines{"sent 7: done"});
}

TEST(channel, without_room_a_send_meets_its_receive) {
    resume_later home;
    ints c(0);
    lines l;
    EXPECT_EQ(c.try_send(9), awaited::would_wait);
    sends({home}, c, l, 1);
    sends({home}, c, l, 2);
    EXPECT_TRUE(l.empty());
    receives({home}, c, l);
    EXPECT_EQ(c.try_receive().value, 2);
    receives({home}, c, l);
    EXPECT_EQ(c.try_send(3), awaited::done);
    home.run_all();
    EXPECT_EQ(l, (lines{"got 1", "sent 1: done", "sent 2: done", "got 3"}));
}

TEST(channel, a_close_ends_receivers_that_wait) {
    resume_later home;
    ints c(1);
    lines l;
    receives({home}, c, l);
    receives({home}, c, l);
    EXPECT_TRUE(c.close());
    EXPECT_TRUE(c.is_closed());
    home.run_all();
    EXPECT_EQ(l, (lines{"closed", "closed"}));
}

TEST(channel, a_close_ends_senders_that_wait_and_keeps_what_lies_inside) {
    resume_later home;
    ints c(1);
    lines l;
    sends({home}, c, l, 1);
    sends({home}, c, l, 2);
    EXPECT_TRUE(c.close());
    home.run_all();
    EXPECT_EQ(l, (lines{"sent 1: done", "sent 2: closed"}));
    EXPECT_EQ(c.try_send(3), awaited::closed);
    EXPECT_EQ(c.try_receive().value, 1);
    EXPECT_EQ(c.try_receive().how, awaited::closed);
    receives({home}, c, l);
    sends({home}, c, l, 4);
    EXPECT_EQ(l.back(), "sent 4: closed") << "at once";
    EXPECT_EQ(l[2], "closed");
}

TEST(channel, closed_twice_says_so) {
    ints c(1);
    EXPECT_TRUE(c.close());
    EXPECT_FALSE(c.close());
}

TEST(channel, a_cancelled_receive_takes_nothing) {
    resume_later home;
    ints c(1);
    lines l;
    apiary::stop_hooks<> stop;
    receives({home, &stop}, c, l);
    receives({home}, c, l);
    stop.ask();
    home.run_all();
    EXPECT_EQ(l, (lines{"cancelled"}));
    EXPECT_EQ(c.try_send(1), awaited::done);
    home.run_all();
    EXPECT_EQ(l, (lines{"cancelled", "got 1"}));
}

TEST(channel, a_cancelled_send_sends_nothing) {
    resume_later home;
    ints c(0);
    lines l;
    apiary::stop_hooks<> stop;
    sends({home, &stop}, c, l, 1);
    stop.ask();
    home.run_all();
    EXPECT_EQ(l, (lines{"sent 1: cancelled"}));
    EXPECT_EQ(c.try_receive().how, awaited::would_wait);
}

TEST(channel, a_cancel_behind_the_hand_over_is_too_late) {
    resume_later home;
    ints c(0);
    lines l;
    apiary::stop_hooks<> stop;
    receives({home, &stop}, c, l);
    EXPECT_EQ(c.try_send(1), awaited::done);
    stop.ask();
    EXPECT_EQ(home.run_all(), 1U);
    EXPECT_EQ(l, (lines{"got 1"}));
}

using boxes = channel<std::unique_ptr<int>>;
plain_coroutine<> sends_a_box(coroutine_place<>, boxes& c, std::unique_ptr<int>& box, awaited& how) {
    how = co_await c.send(box);
}

TEST(channel, what_was_not_sent_is_still_the_senders) {
    resume_later home;
    boxes c(1);
    auto first = std::make_unique<int>(1), second = std::make_unique<int>(2);
    awaited how{};
    EXPECT_EQ(c.try_send(first), awaited::done);
    EXPECT_EQ(first, nullptr);
    EXPECT_EQ(c.try_send(second), awaited::would_wait);
    sends_a_box({home}, c, second, how);
    c.close();
    home.run_all();
    EXPECT_EQ(how, awaited::closed);
    EXPECT_EQ(*second, 2);
    EXPECT_EQ(**c.try_receive().value, 1);
}

plain_coroutine<> receives_a_box(coroutine_place<>, boxes& c) { (void)co_await c.receive(); }

TEST(channel, frames_that_go_while_they_wait_leave_the_lists) {
    resume_later home;
    boxes c(0);
    auto box = std::make_unique<int>(1);
    awaited how{};
    receives_a_box({home}, c).frame.destroy();
    EXPECT_EQ(c.try_send(box), awaited::would_wait);
    sends_a_box({home}, c, box, how).frame.destroy();
    EXPECT_EQ(c.try_receive().how, awaited::would_wait);
    EXPECT_EQ(*box, 1);
}

// AddressSanitizer is the judge (preset asan-ubsan): a callback that stays is called in a frame that
// is gone, and nobody can ask a stop_source whether it has callbacks. The count alone may be luck.
TEST(channel, a_frame_that_goes_while_it_waits_takes_its_stop_hook_with_it) {
    resume_later home;
    boxes c(0);
    apiary::stop_hooks<> stop;
    receives_a_box({home, &stop}, c).frame.destroy();
    stop.ask();
    EXPECT_EQ(home.run_all(), 0U);
}

TEST(channel, what_is_not_awaited_does_nothing) {
    ints c(1);
    (void)c.send(1);
    EXPECT_EQ(c.size(), 0U);
    EXPECT_EQ(c.try_send(2), awaited::done);
    (void)c.receive();
    EXPECT_EQ(c.size(), 1U);
}

TEST(channel, frames_that_go_behind_the_hand_over_take_their_value_with_them) {
    resume_later home;
    boxes c(0);
    auto box = std::make_unique<int>(1);
    awaited how{};
    receives_a_box({home}, c);
    EXPECT_EQ(c.try_send(std::make_unique<int>(1)), awaited::done);
    (void)home.next()->drop();  // with its value
    sends_a_box({home}, c, box, how);
    EXPECT_EQ(**c.try_receive().value, 1);
    (void)home.next()->drop();
    EXPECT_EQ(c.try_receive().how, awaited::would_wait);
}

using shared = channel<std::shared_ptr<int>>;
plain_coroutine<> receives_a_share(coroutine_place<>, shared& c) { (void)co_await c.receive(); }

TEST(channel, what_lies_in_one_or_was_handed_over_ends_once) {
    resume_later home;
    const auto counted = std::make_shared<int>(1);
    {
        shared c(3);
        for (int i = 0; i != 2; ++i) EXPECT_EQ(c.try_send(std::shared_ptr(counted)), awaited::done);
        EXPECT_EQ(c.try_receive().value, counted);
        for (int i = 0; i != 2; ++i) EXPECT_EQ(c.try_send(std::shared_ptr(counted)), awaited::done);  // around the ring
        EXPECT_EQ(counted.use_count(), 4);
        receives_a_share({home}, c);
        EXPECT_EQ(counted.use_count(), 3);
    }
    EXPECT_EQ(counted.use_count(), 1) << "gone with the channel";
    shared c(0);
    receives_a_share({home}, c);
    EXPECT_EQ(c.try_send(std::shared_ptr(counted)), awaited::done);
    EXPECT_EQ(counted.use_count(), 2);
    (void)home.next()->drop();
    EXPECT_EQ(counted.use_count(), 1) << "gone with the frame";
    receives_a_share({home}, c);
    EXPECT_EQ(c.try_send(std::shared_ptr(counted)), awaited::done);
    home.run_all();
    EXPECT_EQ(counted.use_count(), 1) << "received, and let go of";
}

TEST(channel, that_goes_takes_each_of_its_values_with_it) {
    const auto first = std::make_shared<int>(1), another = first, second = std::make_shared<int>(2);
    {
        shared c(2);
        EXPECT_EQ(c.try_send(std::shared_ptr(first)), awaited::done);
        EXPECT_EQ(c.try_send(std::shared_ptr(second)), awaited::done);
    }
    EXPECT_EQ(first.use_count(), 2);
    EXPECT_EQ(second.use_count(), 1);
}

TEST(channel, what_was_received_can_be_kept_by_assignment) {
    channel<int> c(2);
    EXPECT_EQ(c.try_send(1), awaited::done);
    auto last = c.try_receive();
    EXPECT_EQ(c.try_send(2), awaited::done);
    last = c.try_receive();
    EXPECT_EQ(last.value, 2);
    last = c.try_receive();
    EXPECT_EQ(last.how, awaited::would_wait);
    EXPECT_FALSE(last.value);
}

TEST(channel, that_goes_while_a_coroutine_waits_ends_the_program) {
    resume_later home;
    lines l;
    EXPECT_DEATH(
        {
            ints c(1);
            receives({home}, c, l);
        },
        "destroyed while a coroutine waits");
    EXPECT_DEATH(
        {
            ints c(0);
            sends({home}, c, l, 1);
        },
        "destroyed while a coroutine waits");
}

}  // namespace
}  // namespace channel_test
