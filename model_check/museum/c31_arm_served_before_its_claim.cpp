// C31: a sender hands its value to an arm of a select, and takes the claim then. Another arm has it, so the value is with one
// that nobody asks: what a when_any of a receive and a sleep does with the value of its loser.
//
// From: select.hpp and claim.hpp, whose structures take the claim first, and pass over an arm that lost.
// Seen by: both engines, plain interleaving.
// Fixed twin: the shipped channel.
#include <array>
#include <atomic>

#include <apiary/coroutines/brief_lock.hpp>
#include <apiary/coroutines/channel.hpp>
#include <apiary/coroutines/select.hpp>

#include "../coroutines/coroutine_scenario.hpp"

namespace c31_arm_served_before_its_claim {
namespace {

using namespace apiary;
using namespace apiary::model;

// Room for one; the parts are the channel's own.
template <class Sync>
class serves_first {
public:
    class receiving : public waiter<Sync> {
    public:
        using node = waiter<Sync>;
        explicit receiving(serves_first& from) : from_(from) {}
        bool await_resume() { return true; }
        bool look() { return from_.take(); }
        joined join(claim<Sync>& by) {
            const typename brief_lock<Sync>::held inside(from_.lock_);
            if (from_.there_ == 0) {
                from_.receivers_.append(*this, listing::with_claim);
                return joined::waits;
            }
            if (!by.take(*this)) return joined::lost;
            --from_.there_;
            return joined::served;
        }
        bool withdraw() noexcept {
            const typename brief_lock<Sync>::held inside(from_.lock_);
            return from_.receivers_.take(*this);
        }
        void give_back() noexcept {}

    private:
        serves_first& from_;
    };
    receiving receive() { return receiving(*this); }
    void send() {
        receiving* to = nullptr;
        bool won = false;
        {
            const typename brief_lock<Sync>::held inside(lock_);
            to = receivers_.take_first();
            if (to == nullptr)
                ++there_;
            else
                won = to->takes_its_claim();  // too late: it is out of the list, and has the value
        }
        if (won) to->finish();
    }
    bool take() {
        const typename brief_lock<Sync>::held inside(lock_);
        if (there_ == 0) return false;
        --there_;
        return true;
    }

private:
    brief_lock<Sync> lock_;
    int there_ = 0;
    wait_list<receiving> receivers_;
};
template <class Sync>
class shipped {
public:
    auto receive() { return channel_.receive(); }
    void send() { Sync::law(channel_.try_send(1) == awaited::done, "there was room, and nothing was sent"); }
    bool take() { return static_cast<bool>(channel_.try_receive()); }

private:
    channel<int, Sync> channel_{1};
};

template <class Sync, template <class> class Channel>
struct two_sends_to_a_select : coroutine_scenario<Sync> {
    static constexpr unsigned threads = 2;
    Channel<Sync> a, b;
    std::atomic<int> received = 0;
    coroutine<Sync> selects(typename coroutine_scenario<Sync>::place) {
        const auto r = co_await select(a.receive(), b.receive());
        (void)r;
        ++received;
    }
    void before() { selects(this->here()); }
    void thread(unsigned i) {
        if (i == 0)
            a.send();
        else
            b.send();
    }
    void after() {
        const int left = (a.take() ? 1 : 0) + (b.take() ? 1 : 0);
        Sync::law(received == 1 && left == 1, "two values were sent, and one is neither received nor there");
    }
};
template <class Sync>
struct c31_served_before_its_claim : two_sends_to_a_select<Sync, serves_first> {
    static constexpr const char* what = "a value is handed to an arm of a select, whose claim another arm has taken";
};
APIARY_EXHIBIT(c31_served_before_its_claim, "one is neither received nor there");
template <class Sync>
struct c31_fixed : two_sends_to_a_select<Sync, shipped> {
    static constexpr const char* what = "twin of C31: the claim comes before the value";
    static constexpr const char* exhibit = "c31_served_before_its_claim";
    static constexpr std::array must_reach{"waiter.passed_over"};
};
APIARY_CHECK(c31_fixed);

}  // namespace
}  // namespace c31_arm_served_before_its_claim
