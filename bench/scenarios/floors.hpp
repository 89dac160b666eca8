// floor_futex, floor_eventfd, floor_spin: two threads hand a number to and fro, with the least machinery that can do
// it.
//
// They show the cost of a wake, or of a cache line, on this machine at the time of the race: no runtime's latency can
// be below. A result far above the usual says that the machine was disturbed or its processors are far apart.
#pragma once

#include <linux/futex.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <system_error>
#include <thread>

#include <apiary/bench/closed_loop.hpp>
#include <apiary/sync/real_sync.hpp>

namespace apiary::bench {

// A channel carries one number at a time from one thread to another. send publishes the sender's earlier writes.

class futex_channel {
public:
    static constexpr std::string_view name = "floor_futex";
    static constexpr bool timed = true;

    void send(std::uint32_t number) noexcept {
        word_.store(number, std::memory_order_release);
        ::syscall(SYS_futex, &word_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    }
    std::uint32_t receive() noexcept {
        std::uint32_t seen;
        while ((seen = word_.load(std::memory_order_acquire)) == last_)
            ::syscall(SYS_futex, &word_, FUTEX_WAIT_PRIVATE, last_, nullptr, nullptr, 0);
        return last_ = seen;
    }

private:
    alignas(cache_line) std::atomic<std::uint32_t> word_{0};
    std::uint32_t last_ = 0;
};

class eventfd_channel {
public:
    static constexpr std::string_view name = "floor_eventfd";
    static constexpr bool timed = true;

    eventfd_channel() : fd_(::eventfd(0, EFD_CLOEXEC)) {
        if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
    }
    ~eventfd_channel() { ::close(fd_); }
    eventfd_channel(const eventfd_channel&) = delete;
    eventfd_channel& operator=(const eventfd_channel&) = delete;

    void send(std::uint32_t number) noexcept {
        const std::uint64_t value = number;
        while (::write(fd_, &value, sizeof value) != sizeof value) {
        }
    }
    std::uint32_t receive() noexcept {
        std::uint64_t value = 0;
        while (::read(fd_, &value, sizeof value) != sizeof value) {
        }
        return static_cast<std::uint32_t>(value);
    }

private:
    int fd_;
};

class spin_channel {
public:
    static constexpr std::string_view name = "floor_spin";
    static constexpr bool timed = false;  // shorter than a look at the clock

    void send(std::uint32_t number) noexcept { word_.store(number, std::memory_order_release); }
    std::uint32_t receive() noexcept {
        std::uint32_t seen;
        while ((seen = word_.load(std::memory_order_acquire)) == last_) real_sync::relax();
        return last_ = seen;
    }

private:
    alignas(cache_line) std::atomic<std::uint32_t> word_{0};
    std::uint32_t last_ = 0;
};

// Hand-over i goes to the other thread when i is even, back when it is odd; the number sent is i + 1.
template <class Channel>
class floor_of {
public:
    static constexpr std::array parameters{calibrated_ops};

    static report measure(const run_options& options) {
        histogram latency;
        const nothing none;
        report result = measure_blocks(settings_of(options, 1024), none, [&](std::uint64_t ops) {
            table t;
            side other{t.there, t.back, 1, {}, 0}, here{t.back, t.there, 0, {}, 0};
            std::atomic<bool> ready{false};
            std::jthread thread([&] {
                ready.store(true, std::memory_order_release);
                other.play(ops, t);
            });
            while (!ready.load(std::memory_order_acquire)) std::this_thread::yield();
            block_meter meter;
            meter.start();
            here.play(ops, t);
            const std::int64_t end = now_ns();
            thread.join();
            meter.stop(end, here.sum + other.sum);
            latency.merge(here.latency);
            latency.merge(other.latency);
            return meter.finished(ops);
        });
        result.measured.set_latency(latency);
        result.latency = latency;
        return result;
    }

private:
    struct nothing {};

    struct table {
        Channel there, back;
        alignas(cache_line) std::int64_t sent_ns = 0;  // by the thread that sends next
    };

    struct side {
        Channel& in;
        Channel& out;
        std::uint64_t parity;  // of the hand-overs that this side sends
        histogram latency;
        std::uint64_t sum;

        void play(std::uint64_t ops, table& t) {
            for (std::uint64_t i = 0; i < ops; ++i) {
                if (i % 2 == parity) {
                    if constexpr (Channel::timed) t.sent_ns = now_ns();
                    out.send(static_cast<std::uint32_t>(i + 1));
                } else {
                    const std::uint32_t seen = in.receive();
                    if constexpr (Channel::timed) latency.record(static_cast<std::uint64_t>(now_ns() - t.sent_ns));
                    sum += mark(i + static_cast<std::uint32_t>(seen - static_cast<std::uint32_t>(i + 1)));
                }
            }
        }
    };
};

template <class Channel>
[[nodiscard]] constexpr scenario_entry floor_entry() {
    return {Channel::name, false, floor_of<Channel>::parameters, &floor_of<Channel>::measure};
}

}  // namespace apiary::bench
