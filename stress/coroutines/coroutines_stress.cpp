// Awaitables under many coroutines on a few threads, while another thread requests stops: a mutex excludes, a semaphore
// keeps its permits, a channel neither loses nor doubles a message, waits with limits and selects lose nothing, sleeps
// end once, and every coroutine ends.
#include <apiary/coroutines/async_mutex.hpp>
#include <apiary/coroutines/async_semaphore.hpp>
#include <apiary/coroutines/channel.hpp>
#include <apiary/coroutines/select.hpp>
#include <apiary/coroutines/sleeping.hpp>
#include <apiary/coroutines/timer_thread.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <apiary/contract/laws.hpp>
#include <apiary/stress/harness.hpp>
#include <apiary/sync/chaos_sync.hpp>
#include <apiary/testing/plain_coroutine.hpp>

namespace {

using apiary::awaited;
using apiary::chaos;
using apiary::chaos_sync;
using apiary::job;
using coroutine = apiary::plain_coroutine<chaos_sync>;
using place = coroutine::place;

// Threads that run the resumed coroutines.
class crew final : public apiary::home<chaos_sync> {
public:
    explicit crew(unsigned threads) {
        for (unsigned i = 0; i != threads; ++i)
            threads_.emplace_back([this, i] {
                chaos::enter(i + 1);
                work();
            });
    }
    ~crew() {
        {
            const std::lock_guard held(mutex_);
            over_ = true;
        }
        there_is_work_.notify_all();
        for (auto& t : threads_) t.join();
    }
    void resume(job<chaos_sync>& j) noexcept override {
        {
            const std::lock_guard held(mutex_);
            ready_.push_back(&j);
        }
        there_is_work_.notify_one();
    }

private:
    void work() {
        for (;;) {
            job<chaos_sync>* j = nullptr;
            {
                std::unique_lock held(mutex_);
                there_is_work_.wait(held, [this] { return over_ || !ready_.empty(); });
                if (ready_.empty()) return;
                j = ready_.front();
                ready_.pop_front();
            }
            (void)j->run();
        }
    }
    std::mutex mutex_;
    std::condition_variable there_is_work_;
    std::deque<job<chaos_sync>*> ready_;
    bool over_ = false;
    std::vector<std::thread> threads_;
};

// Moves to another thread of the crew, which may resume the frame before await_suspend has returned.
struct hop {
    bool await_ready() const { return false; }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> h) const {
        h.promise().suspended_here().resume();
    }
    void await_resume() const {}
};

// Coroutines of one round, each with a stop source; another thread requests a stop of some.
class round {
public:
    round(apiary::stress::run& r, unsigned threads) : run(r), home_(threads) {}

    place next(bool may_be_cancelled = true) {
        left_.fetch_add(1);
        if (!may_be_cancelled) return {home_};
        return {home_, &stops_.emplace_back()};
    }
    void ended() {
        run.progress();
        left_.fetch_sub(1);
    }
    int left() const { return left_.load(); }
    // While the coroutines run.
    void ask_for_stops(std::uint32_t of_a_hundred) {
        chaos_sync::random_source random(run.seed);
        for (auto& s : stops_) {
            if (random.below(100) >= of_a_hundred) continue;
            for (std::uint32_t pauses = random.below(200); pauses != 0; --pauses) chaos_sync::relax();
            if (random.below(8) == 0) std::this_thread::yield();
            s.ask();
        }
    }
    void wait_for_all_but(int some) const {
        while (left_.load() > some) std::this_thread::yield();
    }
    apiary::stress::run& run;

private:
    std::atomic<int> left_ = 0;
    std::deque<apiary::stop_hooks<chaos_sync>> stops_;  // a deque: it grows while coroutines run
    crew home_;                                         // the first to go
};

coroutine locks(place, round& all, apiary::async_mutex<chaos_sync>& m, long& guarded, std::atomic<long>& had) {
    co_await hop();
    for (int i = 0; i != 30; ++i) {
        auto held = co_await m.lock();
        if (!held) break;
        ++guarded;
        ++had;
        if (i % 8 == 0) co_await hop();
        all.run.progress();
    }
    all.ended();
}

void mutex_excludes(apiary::stress::run& r) {
    long guarded = 0;
    std::atomic<long> had = 0;
    apiary::async_mutex<chaos_sync> m;
    {
        round all(r, r.opts.threads - 1);
        r.describe = [&] { return "mutex: " + std::to_string(all.left()) + " coroutines are left"; };
        for (int i = 0; i != 60; ++i) locks(all.next(), all, m, guarded, had);
        all.ask_for_stops(50);
        all.wait_for_all_but(0);
    }
    if (guarded != had)
        r.fail("two held the mutex at a time: " + std::to_string(had - guarded) + " additions are lost");
    if (!m.try_lock()) r.fail("the mutex was left locked");
}

using timers = apiary::timer_thread<chaos_sync>;

coroutine naps(place, round& all, apiary::async_semaphore<chaos_sync>& s, timers& t, std::atomic<int>& inside,
               std::atomic<int>& most) {
    co_await hop();
    for (int i = 0; i != 4; ++i) {
        const awaited how = co_await s.acquire();
        if (how != awaited::done) break;
        const int now = ++inside;
        for (int seen = most.load(); seen < now && !most.compare_exchange_weak(seen, now);) {
        }
        (void)co_await sleep_for(t, std::chrono::microseconds(20 * (i + 1)));
        --inside;
        s.release();
        all.run.progress();
    }
    all.ended();
}

void semaphore_keeps_its_permits(apiary::stress::run& r) {
    constexpr int permits = 3;
    apiary::async_semaphore<chaos_sync> s(permits);
    std::atomic<int> inside = 0, most = 0;
    timers t;
    std::thread keeper([&] {
        chaos::enter(1000);
        t.run();
    });
    {
        round all(r, r.opts.threads - 1);
        r.describe = [&] { return "semaphore: " + std::to_string(all.left()) + " coroutines are left"; };
        for (int i = 0; i != 60; ++i) naps(all.next(), all, s, t, inside, most);
        all.ask_for_stops(60);
        if (r.seed % 3 == 0) t.stop();  // ends the sleeps, and refuses later ones
        all.wait_for_all_but(0);
        t.stop();
        keeper.join();  // it may still be inside a home's resume
    }
    if (most > permits) r.fail(std::to_string(most) + " held one of " + std::to_string(permits) + " permits");
    if (s.available() != permits) r.fail(std::to_string(s.available()) + " permits are left of 3");
}

constexpr std::size_t senders = 20, each = 30, receivers = 10;
using parcel = std::unique_ptr<std::size_t>;
using parcels = apiary::channel<parcel, chaos_sync>;

struct books {
    std::vector<std::atomic<bool>> sent = std::vector<std::atomic<bool>>(senders * each);
    std::vector<std::atomic<bool>> came = std::vector<std::atomic<bool>>(senders * each);
    std::atomic<bool> doubled = false, kept_wrong = false, disordered = false;
};

coroutine sends(place, round& all, parcels& c, books& b, std::size_t me) {
    co_await hop();
    for (std::size_t i = 0; i != each; ++i) {
        parcel p = std::make_unique<std::size_t>(me * each + i);
        const awaited how = co_await c.send(p);
        if (how == awaited::done) b.sent[me * each + i] = true;
        if ((p == nullptr) != (how == awaited::done)) b.kept_wrong = true;
        if (how != awaited::done) break;
        all.run.progress();
    }
    all.ended();
}
coroutine receives(place, round& all, parcels& c, books& b) {
    co_await hop();
    std::vector<std::size_t> last(senders, 0);
    while (auto r = co_await c.receive()) {
        const std::size_t id = **r.value;
        if (b.came[id].exchange(true)) b.doubled = true;
        if (last[id / each] > id) b.disordered = true;  // the parcels that one receiver gets from one sender
        last[id / each] = id;
        all.run.progress();
    }
    all.ended();
}

void channel_loses_nothing(apiary::stress::run& r, std::size_t capacity) {
    parcels c(capacity);
    books b;
    {
        round all(r, r.opts.threads - 1);
        r.describe = [&] {
            return "channel of " + std::to_string(capacity) + ": " + std::to_string(all.left()) +
                   " coroutines are left, " + std::to_string(c.size()) + " values lie in it";
        };
        for (std::size_t i = 0; i != receivers; ++i) receives(all.next(i % 2 == 0), all, c, b);
        for (std::size_t i = 0; i != senders; ++i) sends(all.next(), all, c, b, i);
        all.ask_for_stops(40);
        if (r.seed % 2 == 0) all.wait_for_all_but(static_cast<int>(receivers));  // else it closes under the senders
        if (!c.close() || c.close()) r.fail("the first close said that it was none, or the second that it was one");
        all.wait_for_all_but(0);
    }
    while (auto left = c.try_receive())
        if (b.came[**left.value].exchange(true)) b.doubled = true;
    if (b.doubled) r.fail("a value came twice");
    if (b.disordered) r.fail("a receiver got a sender's values in another order");
    if (b.kept_wrong) r.fail("a value was sent and kept, or neither");
    for (std::size_t id = 0; id != b.sent.size(); ++id)
        if (b.sent[id] != b.came[id])
            r.fail("value " + std::to_string(id) + (b.sent[id] ? " was lost" : " came though it was not sent"));
}

coroutine sends_in_time(place, round& all, parcels& c, books& b, std::size_t me, timers& t) {
    co_await hop();
    for (std::size_t i = 0; i != each; ++i) {
        const std::size_t id = me * each + i;
        parcel p = std::make_unique<std::size_t>(id);
        const awaited how = co_await c.send_for(t, p, std::chrono::microseconds(10 * (i % 4)));
        if (how == awaited::done) b.sent[id] = true;
        if ((p == nullptr) != (how == awaited::done)) b.kept_wrong = true;
        if (how == awaited::closed || how == awaited::cancelled) break;
        all.run.progress();
    }
    all.ended();
}
// Receives from either channel, with a permit that bounds the number of receivers at a time.
coroutine receives_in_time(place, round& all, parcels& c, parcels& d, apiary::async_semaphore<chaos_sync>& s, books& b,
                           timers& t) {
    co_await hop();
    for (unsigned i = 0;; ++i) {
        const auto soon = std::chrono::microseconds(10 * (i % 4));
        auto permit = co_await s.acquire_for(t, soon);
        if (permit.how == awaited::cancelled) break;
        if (!permit) continue;
        awaited how;
        parcel p;
        if (i % 3 == 0) {
            auto r = co_await c.receive_for(t, soon);
            how = r.how;
            if (r) p = std::move(*r.value);
        } else {
            auto r = co_await apiary::select(c.receive(), d.receive(), apiary::after(t, soon));
            if (auto* const time = std::get_if<2>(&r)) {
                if (*time == awaited::cancelled) break;
                continue;
            }
            if (r.index() == 3) break;
            auto& got = r.index() == 0 ? std::get<0>(r) : std::get<1>(r);
            how = got.how;
            if (got) p = std::move(*got.value);
        }
        if (how == awaited::closed || how == awaited::cancelled) break;
        if (p != nullptr && b.came[*p].exchange(true)) b.doubled = true;
        all.run.progress();
    }
    all.ended();
}
void limits_lose_nothing(apiary::stress::run& r) {
    parcels c(2), d(0);
    apiary::async_semaphore<chaos_sync> s(4);
    books b;
    timers t;
    std::thread keeper([&] {
        chaos::enter(1000);
        t.run();
    });
    {
        round all(r, r.opts.threads - 1);
        r.describe = [&] { return "limits: " + std::to_string(all.left()) + " coroutines are left"; };
        for (std::size_t i = 0; i != receivers; ++i) receives_in_time(all.next(i % 2 == 0), all, c, d, s, b, t);
        for (std::size_t i = 0; i != senders; ++i) sends_in_time(all.next(), all, i % 2 == 0 ? c : d, b, i, t);
        all.ask_for_stops(30);
        if (r.seed % 3 == 0) t.stop();
        if (r.seed % 2 == 0 && r.seed % 3 != 0) all.wait_for_all_but(static_cast<int>(receivers));
        c.close();
        d.close();
        all.wait_for_all_but(0);
        t.stop();
        keeper.join();
    }
    for (parcels* const left : {&c, &d})
        while (auto p = left->try_receive())
            if (b.came[**p.value].exchange(true)) b.doubled = true;
    if (b.doubled) r.fail("a value came twice, in waits with limits");
    if (b.kept_wrong) r.fail("a value was sent in time and kept, or neither");
    if (s.available() != 4) r.fail(std::to_string(s.available()) + " permits are left of 4");
    for (std::size_t id = 0; id != b.sent.size(); ++id)
        if (b.sent[id] != b.came[id])
            r.fail("value " + std::to_string(id) + (b.sent[id] ? " was lost by a limit" : " came though it was not sent"));
}

}  // namespace

int main(int argc, char** argv) {
    return apiary::stress::main(argc, argv, "awaitables of coroutines, and stops", [](apiary::stress::run& r) {
        mutex_excludes(r);
        semaphore_keeps_its_permits(r);
        for (const std::size_t capacity : {0U, 1U, 5U}) channel_loses_nothing(r, capacity);
        limits_lose_nothing(r);
    });
}
