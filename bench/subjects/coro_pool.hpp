// The adapter of coro_pool: its coroutines on a host (apiary/bench/real_host.hpp).
//
// Its kernels are in coroutine form: a frame for every node, leaves too. A post is the spawn of a coroutine, as in seed
// 003. With urgent=1 posts from outside have high priority, which shows the effect of priorities in use.
//
// A process of a program is a detached coroutine, its mailbox a channel of 128 letters. A letter that finds no room is
// sent when the call of the program has returned, since only the coroutine itself can wait. Letters in a circle of full
// mailboxes would wait for ever, so `big` is unsupported.
#pragma once

#include <apiary/coroutines/channel.hpp>
#include <apiary/schedulers/coro_pool/coro_pool.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <apiary/bench/messages.hpp>
#include <apiary/bench/scenario.hpp>

namespace apiary::bench {

template <class Host, class Sync = typename Host::sync>
class coro_pool_adapter {
    using pool = basic_coro_pool<Sync>;

public:
    using host = Host;
    static constexpr std::string_view name = std::is_same_v<Sync, heap_frames> ? "coro_pool_heap" : "coro_pool";
    static std::string version() { return APIARY_VERSION; }
    template <class T>
    using task = co_task<T, Sync>;
    using branches = co_scope<Sync>;

    // co_config, by name: the seed's optimisations.
    static constexpr std::array tunables{
        parameter{.name = "batch", .standard = co_config::usual_batch, .most = 64},
        parameter{.name = "stealing", .standard = 1, .least = 0, .most = 1},
        parameter{.name = "linger_ns", .standard = co_config::usual_linger_ns, .least = 0, .most = 10'000'000},
        parameter{.name = "priorities", .standard = 1, .least = 0, .most = 1},
        parameter{.name = "urgent", .standard = 0, .least = 0, .most = 1},
        parameter{.name = "pinned", .standard = 0, .least = 0, .most = 1}};
    static void tune(std::string_view which, std::uint64_t value) {
        if (which == "batch") config_.batch = value;
        if (which == "stealing") config_.stealing = value != 0;
        if (which == "linger_ns") config_.linger_ns = static_cast<std::int64_t>(value);
        if (which == "priorities") config_.priorities = value != 0;
        if (which == "urgent") urgent_ = value != 0;
        if (which == "pinned") config_.pinned = value != 0;
    }

    explicit coro_pool_adapter(unsigned workers) : pool_(with(workers)) { pool_.start(); }
    ~coro_pool_adapter() { pool_.stop(); }
    coro_pool_adapter(const coro_pool_adapter&) = delete;
    coro_pool_adapter& operator=(const coro_pool_adapter&) = delete;

    void run(task<void> root) { sync_wait(pool_, std::move(root)); }
    template <class T>
    [[gnu::always_inline]] static auto both(task<T>&& one, task<T>&& other) {
        return when_all(std::move(one), std::move(other));
    }
    static auto this_task() { return this_frame(); }

    template <class F>
    void post(F&& callable) {
        must_accept(pool_.spawn(calls(std::forward<F>(callable)), {.priority = priority_here()}));
    }

    using mailbox = channel<letter, Sync>;
    using address = std::shared_ptr<mailbox>;
    static constexpr std::size_t letters = 128;
    static constexpr bool sends_wait = true;
    static constexpr std::uint64_t most_processes = 1 << 18;

    class self {
    public:
        self(coro_pool_adapter& all, const address& me) : all_(all), me_(me) {}

        template <class P>
        address spawn(P process) {
            return all_.launch(std::move(process));
        }
        void send(const address& to, letter message) {
            if (!late_.empty() || to->try_send(message) != awaited::done) late_.push_back({to, message});
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
        friend coro_pool_adapter;
        struct late {
            address to;
            letter message;
        };

        coro_pool_adapter& all_;
        const address& me_;
        std::vector<late> late_;
        bool refused_ = false, stopped_ = false;
    };

    template <class P>
    void begin(P process) {
        (void)launch(std::move(process));
    }

    runtime_counters counters() const {
        const worker_counters c = pool_.counters();
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
        must_accept(pool_.spawn(live(*this, box, std::move(process))));
        return box;
    }
    template <class P>
    static task<void> live(coro_pool_adapter& all, address box, P process) {
        self me(all, box);
        start_process(process, me);
        while (true) {
            while (!me.late_.empty()) {
                for (auto& [to, message] : me.late_) (void)co_await to->send(message);
                me.late_.clear();
                if constexpr (requires { process.go_on(me); })
                    if (std::exchange(me.refused_, false)) process.go_on(me);
            }
            if (me.stopped_) co_return;
            const auto got = co_await box->receive();
            deliver(process, me, *got.value);
        }
    }
    static co_priority priority_here() {
        const bool high = urgent_ && co_context<Sync>::here() == nullptr;
        return high ? co_priority::high : co_priority::normal;
    }
    static co_config with(unsigned workers) {
        co_config c = config_;
        c.workers = workers;
        return c;
    }

    static inline co_config config_{};
    static inline bool urgent_ = false;
    pool pool_;
};

}  // namespace apiary::bench
