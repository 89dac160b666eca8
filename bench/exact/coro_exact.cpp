// Exact driver of coro_pool: one worker on this thread. It counts the instructions of a fork of two coroutines and its
// join, of an awaited child, of a spawned one, of a number through a channel with room for 64, and of reads of a stream:
// one that finds bytes, and one that waits for them, without the system's part. It checks that none of them allocates
// in the steady state.
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <apiary/coroutines/byte_stream.hpp>
#include <apiary/coroutines/channel.hpp>
#include <apiary/coroutines/descriptor_service.hpp>
#include <apiary/schedulers/coro_pool/coro_pool.hpp>

#include "exact/exact.hpp"

namespace {

using apiary::co_task;
using apiary::real_sync;
using apiary::exact::must;
using core = apiary::co_core<real_sync>;

class one_worker {
public:
    one_worker() { core_.enter_thread(0); }
    ~one_worker() {
        core_.request_stop(apiary::co_stop::drain);
        real_sync::set_current<core::context>(nullptr);
    }
    core& pool() { return core_; }
    void run(co_task<> root) {
        must(core_.spawn(std::move(root)), "a spawn was refused");
        run();
    }
    void run() {
        while (core_.worker(0).turn_once()) {
        }
    }

private:
    // The counts may not depend on time.
    core core_{1, apiary::worker_parameters{.probe_ns = INT64_MAX, .looks_before_sleep = 0, .naps = 0}};
};

// Splits into `n` leaves, by halves: a fork for each leaf except the last, and two coroutines for a fork.
co_task<std::uint64_t> leaves(std::uint64_t n) {
    if (n < 2) co_return n;
    const auto [left, right] = co_await apiary::when_all(leaves(n / 2), leaves(n - n / 2));
    co_return left + right;
}
co_task<> counts_leaves(std::uint64_t n) {
    const std::uint64_t found = co_await leaves(n);
    must(found == n, "a leaf was lost");
}
void fork(std::uint64_t n) { one_worker().run(counts_leaves(n)); }

co_task<std::uint64_t> one() { co_return 1; }
co_task<> calls(std::uint64_t n) {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i != n; ++i) sum += co_await one();
    must(sum == n, "a child was lost");
}
void call(std::uint64_t n) { one_worker().run(calls(n)); }

co_task<> counts(std::uint64_t& sum) {
    ++sum;
    co_return;
}
void spawn(std::uint64_t n) {
    one_worker w;
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i != n; ++i) w.run(counts(sum));
    must(sum == n, "a root was lost");
}

using numbers = apiary::channel<int>;
co_task<> sends(numbers& to, std::uint64_t n) {
    for (std::uint64_t i = 0; i != n; ++i) (void)co_await to.send(1);
    to.close();
}
co_task<> receives(numbers& from, std::uint64_t n) {
    std::uint64_t sum = 0;
    while (auto r = co_await from.receive()) sum += static_cast<std::uint64_t>(*r.value);
    must(sum == n, "a number was lost");
}
co_task<> sends_and_receives(std::uint64_t n) {
    numbers through(64);
    co_await apiary::when_all(sends(through, n), receives(through, n));
}
void channel(std::uint64_t n) { one_worker().run(sends_and_receives(n)); }

// A socket, and the thread that watches it: a call hands it a byte, and reports that.
class one_socket {
public:
    using sync = real_sync;
    struct timed {};
    std::int64_t now_ns() { return 0; }
    void at(std::int64_t, timed&, apiary::job<real_sync>&) { must(false, "a timer was set"); }
    void cancel(timed&) {}
    void there(timed&, apiary::job<real_sync>& message) { (void)message.run(); }
    apiary::watch_result watch(apiary::event_source& s, apiary::interest) {
        source_ = &s;
        return apiary::watch_result::watched;
    }
    bool unwatch(apiary::event_source&) { return std::exchange(source_, nullptr) != nullptr; }

    void arrives() {
        has_ = true;
        must(source_ != nullptr, "nobody watches");
        source_->on_ready({.readable = true});
    }
    void always_has() { always_ = has_ = true; }
    std::ptrdiff_t take() { return std::exchange(has_, always_) ? 1 : -EAGAIN; }

private:
    apiary::event_source* source_ = nullptr;
    bool has_ = false, always_ = false;
};
static_assert(apiary::descriptor_service<one_socket>);

// As TCP: a short read has taken all.
struct calls_of {
    one_socket& of;
    std::ptrdiff_t read(int, std::byte*, std::size_t) { return of.take(); }
    std::ptrdiff_t write(int, const std::byte*, std::size_t n) { return static_cast<std::ptrdiff_t>(n); }
    bool short_read_is_last(int) { return true; }
    void close(int) {}
};
using stream = apiary::byte_stream<one_socket, calls_of>;

co_task<> reads(stream& from, std::uint64_t& got, std::uint64_t n) {
    std::array<std::byte, 64> into;
    for (std::uint64_t i = 0; i != n; ++i) {
        const apiary::transfer t = co_await from.read_some(into);
        must(t.how == apiary::awaited::done && t.bytes == 1, "a read failed");
        ++got;
    }
}
void stream_read(std::uint64_t n) {
    one_socket socket;
    socket.always_has();
    stream from(socket, 0, {socket});
    std::uint64_t got = 0;
    one_worker().run(reads(from, got, n));
    must(got == n, "a read was lost");
}
void stream_read_waits(std::uint64_t n) {
    one_socket socket;
    stream from(socket, 0, {socket});
    std::uint64_t got = 0;
    one_worker w;
    w.run(reads(from, got, n));
    for (std::uint64_t i = 0; i != n; ++i) {
        must(got == i, "a read did not wait");
        socket.arrives();
        w.run();
    }
    must(got == n, "a read was lost");
}

constexpr std::array operations{
    apiary::exact::operation{"fork", &fork},
    apiary::exact::operation{"call", &call},
    apiary::exact::operation{"spawn", &spawn},
    apiary::exact::operation{"channel", &channel},
    apiary::exact::operation{"stream_read", &stream_read},
    apiary::exact::operation{"stream_read_waits", &stream_read_waits},
};

}  // namespace

int main(int argc, char** argv) { return apiary::exact::main_of(operations, argc, argv); }
