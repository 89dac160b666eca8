// C30: a receiver finds the channel empty, and is put into the list of those that wait without another look: what was
// sent in between lies there, and nobody brings the receiver back.
//
// From: channel.hpp, whose awaits try before the coroutine is suspended, and again when they are put into the list.
// Seen by: both engines, plain interleaving.
// Fixed twin: the shipped channel.
#include <array>
#include <optional>

#include <apiary/coroutines/channel.hpp>

#include "../coroutines/coroutine_scenario.hpp"

namespace c30_channel_waits_without_a_look {
namespace {

using namespace apiary;
using namespace apiary::model;

// Room for one; the parts are the channel's own.
template <class Sync>
class looks_once {
public:
    class receiving : public awaiter<receiving, Sync> {
    public:
        explicit receiving(looks_once& from) : from_(from) {}
        bool await_ready() {
            const typename brief_lock<Sync>::held inside(from_.lock_);
            return from_.there_;
        }
        awaited await_resume() { return this->resumed(); }
        bool wait(stop_hooks<Sync>*) {
            const typename brief_lock<Sync>::held inside(from_.lock_);
            from_.receivers_.append(*this);
            return true;
        }
        void cancel() noexcept {}

    private:
        looks_once& from_;
    };
    receiving receive() { return receiving(*this); }
    void send() {
        receiving* to = nullptr;
        {
            const typename brief_lock<Sync>::held inside(lock_);
            to = receivers_.take_first();
            there_ = to == nullptr;
        }
        if (to != nullptr) to->finish();
    }

private:
    brief_lock<Sync> lock_;
    bool there_ = false;
    wait_list<receiving> receivers_;
};
template <class Sync>
class shipped {
public:
    auto receive() { return channel_.receive(); }
    void send() { Sync::law(channel_.try_send(1) == awaited::done, "there was room, and nothing was sent"); }

private:
    channel<int, Sync> channel_{1};
};

template <class Sync, template <class> class Channel>
struct send_beside_a_receive : coroutine_scenario<Sync> {
    static constexpr unsigned threads = 2;
    Channel<Sync> c;
    std::atomic<int> received = 0;
    coroutine<Sync> receives(typename coroutine_scenario<Sync>::place) {
        auto r = co_await c.receive();
        (void)r;
        ++received;
    }
    void thread(unsigned i) {
        if (i == 0)
            receives(this->here());
        else
            c.send();
    }
    void after() { Sync::law(received == 1, "a value was sent, and its receiver waits for ever"); }
};
template <class Sync>
struct c30_waits_without_a_look : send_beside_a_receive<Sync, looks_once> {
    static constexpr const char* what =
        "a receiver sees the channel empty, and then waits: what came in between does not bring it back";
};
APIARY_EXHIBIT(c30_waits_without_a_look, "its receiver waits for ever");
template <class Sync>
struct c30_fixed : send_beside_a_receive<Sync, shipped> {
    static constexpr const char* what = "twin of C30: it tries again under the lock under which it begins to wait";
    static constexpr const char* exhibit = "c30_waits_without_a_look";
    static constexpr std::array must_reach{"channel.need_not_wait"};
};
APIARY_CHECK(c30_fixed);

}  // namespace
}  // namespace c30_channel_waits_without_a_look
