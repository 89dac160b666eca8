// real_host: what a scenario takes from the machine below its runtime: the Sync policy, threads that post, a block's
// counters. A scenario is written once. An adapter (adapter.hpp) that names another host, such as bench/virtual's, runs
// it there; every other adapter runs on this one.
//
//     using host = …;              // in an adapter; left out: real_host
//
// Threads. Each function: any. A signal: raise and wait, one thread each; lower, while neither does.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>

#include <apiary/bench/account.hpp>
#include <apiary/bench/allocation_count.hpp>
#include <apiary/bench/host.hpp>
#include <apiary/bench/huge_pages.hpp>
#include <apiary/sync/real_sync.hpp>
#include <apiary/workers/thread_team.hpp>

namespace apiary::bench {

struct real_host {
    using sync = real_sync;
    using threads = thread_team;
    using account = one_word<sync>;
    // The allocators of arrays.
    template <class T>
    using large = huge_pages<T>;
    template <class T>
    using plain = std::allocator<T>;

    static std::int64_t now_ns() noexcept { return bench::now_ns(); }
    static void yield() noexcept { std::this_thread::yield(); }

    // A small number of the calling thread's own.
    static unsigned thread_number() noexcept {
        if (number_ == 0) [[unlikely]]
            number_ = 1 + numbers_.fetch_add(1, std::memory_order_relaxed);
        return number_;
    }

    // A program's own computing is about to run: a node's hash, so many turns of a loop. A host that does not see how long
    // that takes charges for it.
    static constexpr void computes(std::uint64_t = 1) noexcept {}

    // One thread is told once that something has happened.
    class signal {
    public:
        void lower() noexcept { raised_.store(0, std::memory_order_relaxed); }
        void raise() noexcept {
            raised_.store(1, std::memory_order_release);
            raised_.notify_one();
        }
        void wait() const noexcept { raised_.wait(0, std::memory_order_acquire); }

    private:
        std::atomic<std::uint32_t> raised_{0};
    };

    // What a block used. Made when its first iteration begins; stopped when an iteration has ended.
    class counters {
    public:
        void start() {
            allocs_before_ = allocation_count();
            cpu_start_ = process_cpu_ns();
        }
        void stop() { cpu_end_ = process_cpu_ns(); }
        [[nodiscard]] std::int64_t cpu_ns() const { return cpu_end_ - cpu_start_; }
        [[nodiscard]] std::optional<std::uint64_t> allocs() const {
            if (!allocs_before_) return {};
            return *allocation_count() - *allocs_before_;
        }

    private:
        std::optional<std::uint64_t> allocs_before_;
        std::int64_t cpu_start_ = 0, cpu_end_ = 0;
    };

private:
    static inline constinit thread_local unsigned number_ = 0;  // 0: none yet
    static inline std::atomic<unsigned> numbers_{0};
};

// The host of an adapter.
template <class Runtime>
struct host_of {
    using type = real_host;
};
template <class Runtime>
    requires requires { typename Runtime::host; }
struct host_of<Runtime> {
    using type = typename Runtime::host;
};
template <class Runtime>
using host = typename host_of<Runtime>::type;

}  // namespace apiary::bench
