// Channels: what is sent is received once, by whichever receiver; a close and a cancel against
// both.
#include <array>
#include <atomic>
#include <cstddef>
#include <utility>

#include <apiary/contract/laws.hpp>
#include <apiary/coroutines/channel.hpp>

#include "coroutine_scenario.hpp"

namespace channel_check {
namespace {

using namespace apiary;
using namespace apiary::model;

// What is sent: the engines see whether it is moved by two threads at a time.
template <class Sync>
struct parcel {
    parcel() = default;
    explicit parcel(int v) { value.write(v); }
    parcel(parcel&& other) noexcept { value.write(other.value.take()); }
    parcel& operator=(parcel&& other) noexcept {
        value.write(other.value.take());
        return *this;
    }
    typename Sync::template cell<int> value{0};
};

// Coroutine number i sends value i, or receives; the ledger of thread i has what was received
// there.
template <class Sync, std::size_t Capacity, std::size_t Values>
struct channel_scenario : coroutine_scenario<Sync> {
    using base = coroutine_scenario<Sync>;
    channel<parcel<Sync>, Sync> c{Capacity};
    stop_hooks<Sync> stop;
    // std::atomic: the oracle is no part of what is checked.
    std::array<std::atomic<int>, Values> came{}, sent{}, kept{};
    std::atomic<int> closed = 0, cancelled = 0;

    coroutine<Sync> sends(typename base::place, unsigned id) {
        parcel<Sync> mine(static_cast<int>(id) + 1);
        const awaited how = co_await c.send(mine);
        if (how == awaited::done) {
            ++sent[id];
        } else {
            Sync::law(mine.value.read() == static_cast<int>(id) + 1, "what was not sent is no more the sender's");
            ++kept[id];
        }
    }
    coroutine<Sync> receives(typename base::place) {
        auto r = co_await c.receive();
        if (r)
            got(*r.value);
        else
            ++(r.how == awaited::closed ? closed : cancelled);
    }
    void got(parcel<Sync>& p) {
        const int v = p.value.read();
        Sync::law(v >= 1 && v <= static_cast<int>(Values), "what was received is what nobody sent");
        ++came[static_cast<std::size_t>(v) - 1];
    }
    // What is left inside counts as received.
    void after() {
        while (auto r = c.try_receive()) got(*r.value);
        for (std::size_t i = 0; i != Values; ++i) {
            Sync::law(sent[i] + kept[i] == 1, "a send did not end once");
            Sync::law(came[i] == sent[i], "a value was lost, or came twice");
        }
    }
};

template <class Sync, std::size_t Capacity>
struct send_meets_receive : channel_scenario<Sync, Capacity, 1> {
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"waiter.brought_back", "channel.need_not_wait", "brief_lock.waited"};
    void thread(unsigned i) {
        if (i == 0)
            this->sends(this->here(), 0);
        else
            this->receives(this->here());
    }
    void after() {
        Sync::law(this->came[0] == 1, "the receiver never got the value");
        channel_scenario<Sync, Capacity, 1>::after();
    }
};
template <class Sync>
struct send_meets_receive_in_a_ring : send_meets_receive<Sync, 1> {
    static constexpr const char* what = "a send while a receiver begins to wait: the value is laid down or handed over";
};
APIARY_CHECK(send_meets_receive_in_a_ring);
template <class Sync>
struct send_meets_receive_without_room : send_meets_receive<Sync, 0> {
    static constexpr const char* what =
        "the same without room: one of the two waits, and the other hands over or takes";
};
APIARY_CHECK(send_meets_receive_without_room);

template <class Sync>
struct two_send_two_receive : channel_scenario<Sync, 1, 2> {
    static constexpr const char* what =
        "two send and one receives twice through room for one: each value comes once, and all end";
    static constexpr unsigned threads = 3;
    static constexpr std::array must_reach{"waiter.brought_back"};
    void thread(unsigned i) {
        if (i != 0) return (void)this->sends(this->here(), i - 1);
        this->receives(this->here());
        this->receives(this->here());
    }
    void after() {
        Sync::law(this->came[0] == 1 && this->came[1] == 1, "a receiver never got a value");
        channel_scenario<Sync, 1, 2>::after();
    }
};
APIARY_CHECK(two_send_two_receive);

template <class Sync>
struct close_meets_both : channel_scenario<Sync, 0, 1> {
    static constexpr const char* what =
        "a close while one sends and one receives: the value is handed over, or both are told";
    static constexpr unsigned threads = 3;
    static constexpr std::array must_reach{"close.told_the_sender", "close.too_late", "waiter.brought_back"};
    void thread(unsigned i) {
        if (i == 0)
            this->sends(this->here(), 0);
        else if (i == 1)
            this->receives(this->here());
        else
            Sync::law(this->c.close(), "the first close said that it was not");
    }
    void after() {
        Sync::reach(this->kept[0] == 1 ? "close.told_the_sender" : "close.too_late");
        Sync::law(this->closed + this->came[0] == 1, "a receive did not end once");
        Sync::law(this->closed == this->kept[0], "one was told of the close, and the other was not");
        channel_scenario<Sync, 0, 1>::after();
    }
};
APIARY_CHECK(close_meets_both);

template <class Sync>
struct two_close : channel_scenario<Sync, 1, 1> {
    static constexpr const char* what =
        "two threads close while a coroutine waits: one of them did, and it is told once";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"waiter.brought_back"};
    std::atomic<int> first = 0;
    void before() {
        this->receives(this->here());
        this->kept[0] = 1;  // nobody sends
    }
    void thread(unsigned) {
        if (this->c.close()) ++first;
    }
    void after() {
        Sync::law(first == 1, "both closed, or neither");
        Sync::law(this->closed == 1, "a coroutine that waited was not told once");
        channel_scenario<Sync, 1, 1>::after();
    }
};
APIARY_CHECK(two_close);

template <class Sync>
struct receive_is_cancelled : channel_scenario<Sync, 1, 1> {
    static constexpr const char* what =
        "a receiver that waits is cancelled while a value is sent: it has the value, or the value lies in the channel";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"waiter.brought_back", "channel.cancelled_too_late"};
    void before() { this->receives(this->here(this->stop)); }
    void thread(unsigned i) {
        if (i == 0)
            this->sends(this->here(), 0);
        else
            this->stop.ask();
    }
    void after() {
        Sync::law(this->sent[0] == 1, "there was room, and nothing was sent");
        Sync::law(this->came[0] + this->cancelled == 1, "a receive did not end once");
        channel_scenario<Sync, 1, 1>::after();
    }
};
APIARY_CHECK(receive_is_cancelled);

template <class Sync>
struct send_is_cancelled : channel_scenario<Sync, 0, 1> {
    static constexpr const char* what =
        "a sender that waits is cancelled while a receiver comes: the value is received, or still the sender's";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"waiter.brought_back", "channel.cancelled_too_late"};
    void before() { this->sends(this->here(this->stop), 0); }
    void thread(unsigned i) {
        if (i == 1) return (void)this->stop.ask();
        auto r = this->c.try_receive();
        if (r) this->got(*r.value);
    }
};
APIARY_CHECK(send_is_cancelled);

template <class Sync>
struct close_meets_a_cancel : channel_scenario<Sync, 0, 1> {
    static constexpr const char* what = "a sender that waits is told of the close or of its cancel, and of one of them";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"waiter.brought_back", "channel.cancelled_too_late"};
    void before() { this->sends(this->here(this->stop), 0); }
    void thread(unsigned i) {
        if (i == 0)
            Sync::law(this->c.close(), "the first close said that it was not");
        else
            this->stop.ask();
    }
};
APIARY_CHECK(close_meets_a_cancel);

// The second value of a sender is sent behind the first by another thread's hand-over.
template <class Sync>
struct order_of_one_sender : channel_scenario<Sync, 1, 2> {
    static constexpr const char* what =
        "a coroutine sends twice while another receives twice: in the order of the sends";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"waiter.brought_back"};
    fifo_law<Sync, 1> order;
    coroutine<Sync> sends_both(typename coroutine_scenario<Sync>::place) {
        for (unsigned id = 0; id != 2; ++id) {
            const awaited how = co_await this->c.send(parcel<Sync>(static_cast<int>(id) + 1));
            if (how == awaited::done) ++this->sent[id];
        }
    }
    coroutine<Sync> receives_both(typename coroutine_scenario<Sync>::place) {
        for (int n = 0; n != 2; ++n) {
            auto r = co_await this->c.receive();
            order.got(0, static_cast<std::uint64_t>(r.value->value.read()));
            this->got(*r.value);
        }
    }
    void thread(unsigned i) {
        if (i == 0)
            sends_both(this->here());
        else
            receives_both(this->here());
    }
    void after() {
        Sync::law(this->came[0] == 1 && this->came[1] == 1, "the receiver never got a value");
        channel_scenario<Sync, 1, 2>::after();
    }
};
APIARY_CHECK(order_of_one_sender);

}  // namespace
}  // namespace channel_check
