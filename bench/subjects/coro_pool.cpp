// Subject `coro_pool`: this project's coroutines, with N workers; the main thread, which waits, is none of them.
// Subject `coro_pool_heap`: the same with every frame from the heap (APIARY_CORO_HEAP).
//
// Its kernels are in coroutine form: a frame for every node, leaves too. A post is the spawn of a coroutine, as in seed
// 003. With urgent=1 posts from outside have high priority, which shows the effect of priorities in use.
//
// A process of a program is a detached coroutine, its mailbox a channel of 128 letters. A letter that finds no room is
// sent when the call of the program has returned, since only the coroutine itself can wait. Letters in a circle of full
// mailboxes would wait for ever, so `big` is unsupported.
#include <apiary/coroutines/channel.hpp>
#include <apiary/schedulers/coro_pool/coro_pool.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scenarios/list.hpp"

namespace {

using apiary::bench::letter;

#if defined(APIARY_CORO_HEAP)
using sync = apiary::heap_frames;
constexpr std::string_view subject_name = "coro_pool_heap";
#else
using sync = apiary::real_sync;
constexpr std::string_view subject_name = "coro_pool";
#endif

class coroutines {
public:
    static constexpr std::string_view name = subject_name;
    static std::string version() { return APIARY_VERSION; }
    template <class T>
    using task = apiary::co_task<T, sync>;
    using branches = apiary::co_scope<sync>;

    // apiary::co_config, by name: the seed's optimisations.
    static constexpr std::array tunables{
        apiary::bench::parameter{.name = "batch", .standard = apiary::co_config::usual_batch, .most = 64},
        apiary::bench::parameter{.name = "stealing", .standard = 1, .least = 0, .most = 1},
        apiary::bench::parameter{
            .name = "linger_ns", .standard = apiary::co_config::usual_linger_ns, .least = 0, .most = 10'000'000},
        apiary::bench::parameter{.name = "priorities", .standard = 1, .least = 0, .most = 1},
        apiary::bench::parameter{.name = "urgent", .standard = 0, .least = 0, .most = 1},
        apiary::bench::parameter{.name = "pinned", .standard = 0, .least = 0, .most = 1}};
    static void tune(std::string_view which, std::uint64_t value) {
        if (which == "batch") config_.batch = value;
        if (which == "stealing") config_.stealing = value != 0;
        if (which == "linger_ns") config_.linger_ns = static_cast<std::int64_t>(value);
        if (which == "priorities") config_.priorities = value != 0;
        if (which == "urgent") urgent_ = value != 0;
        if (which == "pinned") config_.pinned = value != 0;
    }

    explicit coroutines(unsigned workers) : pool_(with(workers)) { pool_.start(); }
    ~coroutines() { pool_.stop(); }
    coroutines(const coroutines&) = delete;
    coroutines& operator=(const coroutines&) = delete;

    void run(task<void> root) { apiary::sync_wait(pool_, std::move(root)); }
    template <class T>
    [[gnu::always_inline]] static auto both(task<T>&& one, task<T>&& other) {
        return apiary::when_all(std::move(one), std::move(other));
    }
    static auto this_task() { return apiary::this_frame(); }

    template <class F>
    void post(F&& callable) {
        apiary::bench::must_accept(pool_.spawn(calls(std::forward<F>(callable)), {.priority = priority_here()}));
    }

    using mailbox = apiary::channel<letter, sync>;
    using address = std::shared_ptr<mailbox>;
    static constexpr std::size_t letters = 128;
    static constexpr bool sends_wait = true;
    static constexpr std::uint64_t most_processes = 1 << 18;

    class self {
    public:
        self(coroutines& all, const address& me) : all_(all), me_(me) {}

        template <class P>
        address spawn(P process) {
            return all_.launch(std::move(process));
        }
        void send(const address& to, letter message) {
            if (!late_.empty() || to->try_send(message) != apiary::awaited::done) late_.push_back({to, message});
        }
        [[nodiscard]] bool offer(const address& to, letter message) {
            if (late_.empty())
                send(to, message);
            else
                refused_ = true;
            return !refused_;
        }
        [[nodiscard]] const address& me() const { return me_; }
        void stop() { stopped_ = true; }

    private:
        friend coroutines;
        struct late {
            address to;
            letter message;
        };

        coroutines& all_;
        const address& me_;
        std::vector<late> late_;
        bool refused_ = false, stopped_ = false;
    };

    template <class P>
    void begin(P process) {
        (void)launch(std::move(process));
    }

    apiary::bench::runtime_counters counters() const {
        const apiary::worker_counters c = pool_.counters();
        return {.wakes = c.woken, .parks = c.parked, .steals = c.stolen};
    }

private:
    template <class F>
    static task<void> calls(F callable) {
        callable();
        co_return;
    }
    template <class P>
    address launch(P process) {
        auto box = std::make_shared<mailbox>(letters);
        apiary::bench::must_accept(pool_.spawn(live(*this, box, std::move(process))));
        return box;
    }
    template <class P>
    static task<void> live(coroutines& all, address box, P process) {
        self me(all, box);
        apiary::bench::start_process(process, me);
        while (true) {
            while (!me.late_.empty()) {
                for (auto& [to, message] : me.late_) (void)co_await to->send(message);
                me.late_.clear();
                if constexpr (requires { process.go_on(me); })
                    if (std::exchange(me.refused_, false)) process.go_on(me);
            }
            if (me.stopped_) co_return;
            const auto got = co_await box->receive();
            apiary::bench::deliver(process, me, *got.value);
        }
    }
    static apiary::co_priority priority_here() {
        const bool high = urgent_ && apiary::co_context<sync>::here() == nullptr;
        return high ? apiary::co_priority::high : apiary::co_priority::normal;
    }
    static apiary::co_config with(unsigned workers) {
        apiary::co_config c = config_;
        c.workers = workers;
        return c;
    }

    static inline apiary::co_config config_{};
    static inline bool urgent_ = false;
    apiary::basic_coro_pool<sync> pool_;
};

}  // namespace

int main(int argc, char** argv) { return apiary::bench::subject_main<coroutines>(argc, argv); }
