// Exact driver of byte_stream on a coroutine pool of one worker: the instructions of a read that finds bytes, and of one
// that waits for them, without the system's part. It checks that neither allocates in the steady state.
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <apiary/coroutines/byte_stream.hpp>
#include <apiary/coroutines/descriptor_service.hpp>

#include "exact/exact.hpp"
#include "exact/one_worker.hpp"

namespace {

using apiary::co_task;
using apiary::real_sync;
using apiary::exact::must;
using apiary::exact::one_worker;

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
        w.go_on();
    }
    must(got == n, "a read was lost");
}

constexpr std::array operations{
    apiary::exact::operation{"read", &stream_read},
    apiary::exact::operation{"read_that_waits", &stream_read_waits},
};

}  // namespace

int main(int argc, char** argv) { return apiary::exact::main_of(operations, argc, argv); }
