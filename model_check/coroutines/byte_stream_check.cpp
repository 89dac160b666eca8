// A stream's reads, writes and closes against the reports of its service, cancels and each other. The
// socket is a model, which gives single bytes, and so is the driver: it reports a change once, as epoll
// does with `once`.
#include <array>
#include <atomic>
#include <cerrno>
#include <functional>
#include <optional>
#include <utility>

#include <apiary/coroutines/byte_stream.hpp>
#include <apiary/coroutines/timer_thread.hpp>

#include "coroutine_scenario.hpp"

namespace byte_stream_check {
namespace {

using namespace apiary;
using namespace apiary::model;

template <class Sync>
class one_socket {
public:
    static constexpr std::int64_t forever = INT64_MAX;
    one_socket() {
        there_.store(0, std::memory_order_relaxed);
        changed_.store(0, std::memory_order_relaxed);
    }

    void wait(std::int64_t) {
        if (source_ == nullptr || changed_.load(std::memory_order_acquire) == 0) parker_.park();
    }
    void poll() {
        if (source_ != nullptr && changed_.exchange(0, std::memory_order_acquire) != 0)
            source_->on_ready({.readable = true});
    }
    void wake() { parker_.unpark(); }

    watch_result watch(event_source& s, interest) {
        source_ = &s;
        return watch_result::watched;
    }
    bool unwatch(event_source& s) { return std::exchange(source_, nullptr) == &s; }
    void end_sources() {
        if (event_source* const s = std::exchange(source_, nullptr)) s->on_gone(gone::worker_ended);
    }

    // Any thread.
    void arrives() {
        there_.store(1, std::memory_order_release);
        changed_.store(1, std::memory_order_release);
        wake();
    }
    bool take() { return there_.exchange(0, std::memory_order_acquire) == 1; }
    std::atomic<int> closed = 0;  // std::atomic: the oracle is no part of what is checked
    std::function<void()> when_closed;

private:
    typename Sync::parker parker_;
    typename Sync::template atomic<unsigned> there_, changed_;
    event_source* source_ = nullptr;  // the thread's
};

// A socket that takes nothing and has what has arrived.
template <class Sync>
struct calls {
    one_socket<Sync>* of;
    std::ptrdiff_t read(int, std::byte*, std::size_t) {
        Sync::law(of->closed == 0, "a read of a closed descriptor");
        return of->take() ? 1 : -EAGAIN;
    }
    std::ptrdiff_t write(int, const std::byte*, std::size_t) { return -EAGAIN; }
    bool short_read_is_last(int) { return false; }
    void close(int) {
        ++of->closed;
        if (of->when_closed) of->when_closed();
    }
};

template <class Sync>
struct stream_scenario : coroutine_scenario<Sync> {
    using base = coroutine_scenario<Sync>;
    using service_type = timer_thread<Sync, one_socket<Sync>>;
    service_type service;
    std::optional<byte_stream<service_type, calls<Sync>>> stream;
    stop_hooks<Sync> stop;
    std::byte into[2]{};
    std::atomic<int> done = 0, cancelled = 0, closed = 0;

    stream_scenario() { stream.emplace(service, 3, calls<Sync>{&service.driver()}); }

    void count(transfer t) { ++(t.how == awaited::done ? done : t.how == awaited::closed ? closed : cancelled); }
    coroutine<Sync> reads(typename base::place) {
        const transfer t = co_await stream->read_some(into);
        count(t);
        service.stop();
    }
    coroutine<Sync> writes(typename base::place) {
        const transfer t = co_await stream->write_all(into);
        count(t);
    }
    void after() {
        stream.reset();
        Sync::law(done + cancelled + closed == 1, "a read did not end once");
        Sync::law(service.driver().closed == 1, "the descriptor was not closed once");
    }
};

template <class Sync>
struct read_meets_the_byte : stream_scenario<Sync> {
    static constexpr const char* what = "a byte comes while a coroutine begins to wait for it: it goes on, and has it";
    static constexpr unsigned threads = 3;
    static constexpr std::array must_reach{"waiter.brought_back"};
    void thread(unsigned i) {
        if (i == 0) return this->service.run();
        if (i == 1) return this->service.driver().arrives();
        this->reads(this->here());
    }
    void after() {
        stream_scenario<Sync>::after();
        Sync::law(this->done == 1, "cancelled by nobody");
    }
};
APIARY_CHECK(read_meets_the_byte);

template <class Sync>
struct read_is_cancelled : stream_scenario<Sync> {
    static constexpr const char* what =
        "a read is cancelled while its byte comes: it ends once, and the byte is not lost";
    static constexpr unsigned threads = 3;
    static constexpr std::array must_reach{"byte_stream.cancelled_too_late", "ended.done", "ended.cancelled"};
    void before() { this->reads(this->here(this->stop)); }
    void thread(unsigned i) {
        if (i == 0) return this->service.run();
        if (i == 1) return this->service.driver().arrives();
        (void)this->stop.ask();
    }
    void after() {
        Sync::reach(this->done == 1 ? "ended.done" : "ended.cancelled");
        Sync::law(this->service.driver().take() == (this->done == 0), "the byte");
        stream_scenario<Sync>::after();
    }
};
APIARY_CHECK(read_is_cancelled);

template <class Sync>
struct close_meets_the_byte : stream_scenario<Sync> {
    static constexpr const char* what =
        "a stream is closed while it begins to be watched and its byte comes: the read ends once, the descriptor is "
        "closed once and not read afterwards";
    static constexpr unsigned threads = 3;
    static constexpr std::array must_reach{"ended.done", "ended.closed"};
    void before() { this->reads(this->here()); }
    void thread(unsigned i) {
        if (i == 0) return this->service.run();
        if (i == 1) return this->service.driver().arrives();
        this->stream->close();
    }
    void after() {
        Sync::reach(this->done == 1 ? "ended.done" : "ended.closed");
        stream_scenario<Sync>::after();
    }
};
APIARY_CHECK(close_meets_the_byte);

// The service runs until the descriptor is closed: if nothing closes it, the service never ends.
template <class Sync>
struct close_while_it_begins : stream_scenario<Sync> {
    static constexpr const char* what =
        "a stream is closed and goes while it begins to be watched: its descriptor is closed without the end of the "
        "service, and what the watch owns with it goes with the last of both";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"waiter.brought_back"};
    coroutine<Sync> only_reads(typename stream_scenario<Sync>::base::place) {
        const transfer t = co_await this->stream->read_some(this->into);
        this->count(t);
    }
    void before() {
        this->service.driver().when_closed = [this] { this->service.stop(); };
        only_reads(this->here());
    }
    void thread(unsigned i) {
        if (i == 0) return this->service.run();
        this->stream->close();
        this->stream.reset();
    }
    void after() {
        Sync::law(this->closed == 1, "the read was not closed");
        stream_scenario<Sync>::after();
    }
};
APIARY_CHECK(close_while_it_begins);

// The stream lies in the coroutine's frame, so to say: it goes while the close that let the coroutine go on has not returned.
template <class Sync>
struct closed_stream_goes : close_while_it_begins<Sync> {
    static constexpr const char* what =
        "a stream is closed while it begins to be watched, and goes with the coroutine that the close lets go on";
    static constexpr std::array engine_laws{"lifetime"};
    coroutine<Sync> reads_and_destroys(typename stream_scenario<Sync>::base::place) {
        const transfer t = co_await this->stream->read_some(this->into);
        this->count(t);
        this->stream.reset();
    }
    void before() {
        this->service.driver().when_closed = [this] { this->service.stop(); };
        reads_and_destroys(this->here());
    }
    void thread(unsigned i) {
        if (i == 0) return this->service.run();
        this->stream->close();
    }
};
APIARY_CHECK(closed_stream_goes);

// And the service goes after the stream.
template <class Sync>
struct closed_stream_goes_before_its_service : coroutine_scenario<Sync> {
    static constexpr const char* what =
        "a stream is closed while it begins to be watched; the coroutine that goes on destroys it and ends the service, "
        "which goes before the close returns";
    static constexpr unsigned threads = 2;
    static constexpr std::array engine_laws{"lifetime"};
    static constexpr std::array must_reach{"waiter.brought_back"};
    using base = coroutine_scenario<Sync>;
    using service_type = typename stream_scenario<Sync>::service_type;
    service_type* service = nullptr;
    std::optional<byte_stream<service_type, calls<Sync>>> stream;
    std::byte into[2]{};
    std::atomic<int> ended = 0, closed = 0;

    coroutine<Sync> reads_and_ends_all(typename base::place) {
        (void)co_await stream->read_some(into);
        ++ended;
        stream.reset();
        service->stop();
    }
    void before() {
        service = Sync::template create<service_type>();
        service->driver().when_closed = [this] { ++closed; };
        stream.emplace(*service, 3, calls<Sync>{&service->driver()});
        reads_and_ends_all(this->here());
    }
    void thread(unsigned i) {
        if (i == 1) return stream->close();
        service->run();
        Sync::destroy(service);
    }
    void after() { Sync::law(ended == 1 && closed == 1, "the read or the descriptor did not end once"); }
};
APIARY_CHECK(closed_stream_goes_before_its_service);

template <class Sync>
struct close_meets_the_end : stream_scenario<Sync> {
    static constexpr const char* what =
        "a stream is closed while its service ends: the message runs, is dropped or refused, and the descriptor is "
        "closed once";
    static constexpr unsigned threads = 3;
    static constexpr std::array must_reach{"waiter.brought_back"};
    void before() { this->reads(this->here()); }
    void thread(unsigned i) {
        if (i == 0) return this->service.run();
        if (i == 1) return this->service.stop();
        this->stream->close();
    }
};
APIARY_CHECK(close_meets_the_end);

template <class Sync>
struct reader_and_writer : stream_scenario<Sync> {
    static constexpr const char* what =
        "one coroutine begins to read and another one to write: the stream is watched once, and the byte reaches the "
        "reader";
    static constexpr unsigned threads = 3;
    static constexpr std::array must_reach{"waiter.brought_back"};
    void before() {  // a report for nothing comes first
        this->service.driver().arrives();
        (void)this->service.driver().take();
    }
    void thread(unsigned i) {
        if (i == 0) return this->service.run();
        if (i == 1) {
            this->service.driver().arrives();
            this->writes(this->here());
            return;
        }
        this->reads(this->here());
    }
    void after() {
        Sync::law(this->done == 1 && this->cancelled + this->closed <= 1, "the reader has its byte");
        this->stream->close();  // the writer waits, unless the end of the service came first
        Sync::law(this->cancelled + this->closed == 1, "the writer ended once");
        this->cancelled = this->closed = 0;
        stream_scenario<Sync>::after();
    }
};
APIARY_CHECK(reader_and_writer);

}  // namespace
}  // namespace byte_stream_check
