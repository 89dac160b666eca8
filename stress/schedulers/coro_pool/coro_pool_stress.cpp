// coro_pool under stress: trees of coroutines of random shape that fork, wait, yield, throw, hop between two pools and
// spawn others, on pools of several sizes that come and go, and that are drained or cancelled. Every result equals that
// of plain recursion; every accepted root ends once; every coroutine that waits is resumed once.
#include <apiary/coroutines/async_event.hpp>
#include <apiary/schedulers/coro_pool/coro_pool.hpp>
#include <apiary/schedulers/coro_pool/when_any.hpp>

#include <atomic>
#include <coroutine>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <apiary/stress/harness.hpp>
#include <apiary/sync/chaos_sync.hpp>

namespace {

using apiary::chaos;
using apiary::chaos_sync;
using apiary::co_outcome;
using apiary::when_all;
using apiary::when_any;
using pool_type = apiary::basic_coro_pool<chaos_sync>;
template <class T = void>
using task = apiary::co_task<T, chaos_sync>;
using scope = apiary::co_scope<chaos_sync>;

struct branch_threw {
    std::uint64_t node;
};

// A thread outside resumes the coroutines that wait, in another order.
class ferryman {
public:
    ferryman() : thread_([this] { run(); }) {}
    ~ferryman() {
        over_ = true;
        thread_.join();
    }
    class waiting {
    public:
        using comes_home = void;
        explicit waiting(ferryman& f) : ferryman_(f) {}
        bool await_ready() const noexcept { return false; }
        template <class P>
        void await_suspend(std::coroutine_handle<P> h) {
            token_ = h.promise().stop_token();
            const auto me = h.promise().suspended_here();
            ferryman& f = ferryman_;
            const std::lock_guard held(f.mutex_);
            f.waiters_.push_back(me);
        }
        void await_resume() const {
            if (token_.stop_requested()) throw apiary::wait_cancelled();
        }

    private:
        ferryman& ferryman_;
        std::stop_token token_;
    };
    waiting crossing() { return waiting(*this); }

private:
    void run() {
        chaos::enter(99);
        std::vector<apiary::suspended<chaos_sync>> there;
        for (;;) {
            const bool last = over_;
            {
                const std::lock_guard held(mutex_);
                there.swap(waiters_);
            }
            for (; !there.empty(); there.pop_back()) there.back().resume();
            if (last) return;
            std::this_thread::yield();
        }
    }
    std::mutex mutex_;
    std::vector<apiary::suspended<chaos_sync>> waiters_;
    std::atomic<bool> over_ = false;
    std::thread thread_;
};

struct world {
    apiary::stress::run& r;
    pool_type& here;
    pool_type& there;
    ferryman& f;
    std::atomic<std::uint64_t> spawned = 0, counted = 0;
    std::atomic<std::uint64_t> raced = 0;    // of when_any, that run
    apiary::async_event<chaos_sync> dawn{};  // after the last tree; a stop that cancels comes before it
    std::atomic<std::uint64_t> asleep = 0;
};

// The seed alone determines the tree: each node draws its work from its number.
struct tree {
    std::uint64_t seed;
    world* w;

    std::uint64_t draw(std::uint64_t node) const {
        std::uint64_t x = (node + seed) * 0x9E3779B97F4A7C15U;
        x ^= x >> 29;
        return x * 0xBF58476D1CE4E5B9U >> 32;
    }
    bool forks(std::uint64_t node, unsigned depth) const { return depth != 0 && draw(node) % 8 != 0; }
    bool throws(std::uint64_t node) const { return draw(node) % 512 == 1; }

    task<std::uint64_t> grow(std::uint64_t node, unsigned depth) const {
        w->r.progress();
        const std::uint64_t what = draw(node);
        if (what % 32 == 3) co_await apiary::yield_turn();
        if (what % 32 == 4) co_await w->f.crossing();
        if (what % 64 == 5) co_await apiary::resume_on(w->there);
        const auto priority = static_cast<apiary::co_priority>(what / 64 % 3);
        if (what % 64 == 6 && w->here.spawn(counts(*w), {.priority = priority})) ++w->spawned;
        if (what % 64 == 7) co_await races(node);
        if (what % 64 == 8) sleep_one(what);
        if (!forks(node, depth)) {
            if (throws(node)) throw branch_threw{node};
            co_return node;
        }
        std::uint64_t copy = node;  // plain data in the frame, written by a branch: a race detector watches it
        const auto left = [](const tree& t, std::uint64_t n, unsigned d, std::uint64_t& c) -> task<std::uint64_t> {
            ++c;
            co_return co_await t.grow(2 * n, d - 1);
        };
        std::uint64_t sum = 0;
        if (what % 2 == 0) {
            const auto [x, y] = co_await when_all(left(*this, node, depth, copy), grow(2 * node + 1, depth - 1));
            sum = x + y;
        } else {
            co_outcome<std::uint64_t, chaos_sync> x, y;
            co_await apiary::with_scope<chaos_sync>([&](scope& branches) -> task<> {
                branches.fork(left(*this, node, depth, copy), x);
                branches.fork(grow(2 * node + 1, depth - 1), y);
                if (what % 4 == 1) co_await w->f.crossing();  // throws, where it is cancelled
            });
            sum = x.take() + y.take();
        }
        if (copy != node + 1) w->r.fail("what a branch wrote is not there after its join");
        co_return sum;
    }
    // The loser waits for the ferryman, which may resume it after the parent and its frame have gone.
    task<> races(std::uint64_t node) const {
        const auto first = co_await when_any(answers(*w, node, node % 2 == 0), answers(*w, node + 1, node % 2 != 0));
        if (first.value != node + first.index) w->r.fail("when_any gave the result of another");
    }
    static task<std::uint64_t> answers(world& w, std::uint64_t n, bool waits) {
        ++w.raced;
        const struct at_end {
            world& w;
            ~at_end() { --w.raced; }
        } counted{w};
        if (waits) co_await w.f.crossing();
        co_return n;
    }
    // Starts on either pool, with the pool's stop or one of its own.
    void sleep_one(std::uint64_t what) const {
        apiary::co_options o;
        if (what / 64 % 2 == 0) o.stop.emplace();
        (void)w->here.spawn(sleeps(*w, what / 128 % 2 == 0, sleeper(*w)),
                            std::move(o));  // refused: here is stopped, and the caller is on there
    }
    // An argument, so that it is destroyed with the frame even if the coroutine never begins.
    struct sleeper {
        world* w;
        explicit sleeper(world& of) : w(&of) { ++of.asleep; }
        sleeper(sleeper&& other) noexcept : w(std::exchange(other.w, nullptr)) {}
        sleeper& operator=(sleeper&&) = delete;
        ~sleeper() {
            if (w != nullptr) --w->asleep;
        }
    };
    static task<> sleeps(world& w, bool elsewhere, sleeper) {
        if (elsewhere) co_await apiary::resume_on(w.there);
        co_await w.dawn.wait();
    }
    // It may outlive the tree.
    static task<> counts(world& w) {
        co_await when_all(crosses(w), crosses(w));
        ++w.counted;
    }
    static task<> crosses(world& w) { co_await w.f.crossing(); }
    std::optional<std::uint64_t> plain(std::uint64_t node, unsigned depth) const {
        if (!forks(node, depth)) return throws(node) ? std::nullopt : std::optional(node);
        const auto x = plain(2 * node, depth - 1), y = plain(2 * node + 1, depth - 1);
        return x && y ? std::optional(*x + *y) : std::nullopt;
    }
};

void body(apiary::stress::run& r) {
    chaos_sync::random_source random(r.seed);
    ferryman f;
    const auto config = [&] {
        return apiary::co_config{.workers = 1 + random.below(r.opts.threads),
                                 .linger_ns = random.below(2) == 0 ? 0 : 20'000,
                                 .batch = random.below(2) == 0 ? 1U : 16U,
                                 .stealing = random.below(4) != 0,
                                 .priorities = random.below(4) != 0};
    };
    pool_type here(config()), there(config());
    here.start();
    there.start();
    world w{r, here, there, f};
    std::atomic<unsigned> callers_left = 1 + random.below(3);
    const bool cancels = random.below(3) == 0;
    r.describe = [&] {
        const auto c = here.report(), d = there.report();
        return "pools of " + std::to_string(here.workers()) + " and " + std::to_string(there.workers()) + ": " +
               std::to_string(callers_left) + " callers left, " + std::to_string(c.living) + " roots live, " +
               std::to_string(d.living) + " guests";
    };
    std::vector<std::thread> callers;
    for (unsigned c = callers_left; c != 0; --c)
        callers.emplace_back([&, c] {
            chaos::enter(c);
            for (std::uint64_t call = 0; call != 20; ++call) {
                const tree t{r.seed + 1000 * c + call, &w};
                const auto expected = t.plain(1, 8);
                std::optional<std::uint64_t> got;
                try {
                    got = sync_wait(here, t.grow(1, 8));
                } catch (const branch_threw&) {
                } catch (const apiary::wait_cancelled&) {
                    if (!cancels) r.fail("a wait was cancelled although nobody asked");
                    break;
                } catch (const std::logic_error&) {
                    if (!cancels) r.fail("a pool refused although nobody had stopped it");
                    break;
                }
                if (got != expected && !cancels) r.fail("a tree gave another result than plain recursion");
            }
            --callers_left;
        });
    if (cancels) here.request_stop(apiary::co_stop::cancel);
    for (std::thread& t : callers) t.join();
    if (!cancels) w.dawn.set();
    here.stop();
    there.stop();
    const auto c = here.report(), d = there.report();
    if (c.living != 0 || d.living != 0) r.fail("something lives after the stop");
    if (w.asleep != 0) r.fail("one that slept has not ended after the stop");
    if (w.raced != 0) r.fail("a contender of when_any has not ended after the stop");
    if (!cancels && w.counted != w.spawned) r.fail("not every spawned coroutine has run to its end");
    if (w.counted > w.spawned) r.fail("a coroutine ran that nobody spawned, or twice");
}

}  // namespace

int main(int argc, char** argv) { return apiary::stress::main(argc, argv, "trees of coroutines", body); }
