// event_source: something outside that a worker's event loop watches and reports, as an interface.
//
// A source says to which kind of event loop it belongs. The driver of that kind accepts it; any other driver refuses it
// with a warning. `descriptor_source` reports readiness of a file descriptor; epoll_driver accepts it.
//
// Threads.   A source belongs to the worker that watches it: on_ready and on_gone are called on that worker only, never
//            at the same time, and not after unwatch or after on_gone has begun.
// Lifetime.  The user owns the source and keeps it alive while it is watched. It may unwatch and delete itself in a
//            call.
// Closing.   Unwatch, then close. Epoll silently forgets a descriptor that is closed while its source is watched: the
//            source is not called again, and unwatch answers false. If the number comes back with another source, or
//            the worker ends, the first one is told on_gone(descriptor_closed), since the number may be another's; if
//            it comes back with the same source, it is watched again. If the closed descriptor has a duplicate, epoll
//            forgets nothing: the source hears of the duplicate until it is unwatched.
#pragma once

#include <cstdint>

namespace apiary {

enum class event_backend : std::uint8_t { epoll, kqueue, completion_port };

struct readiness {
    bool readable = false;
    bool writable = false;
    bool hung_up = false;  // also set if an error is pending on the descriptor, which the next read or write returns
    bool ended = false;    // for a source that reads: the peer sends no more than what can be read now
};

enum class gone : std::uint8_t {
    worker_ended,       // by a stop or a detach: watch the source on another worker, or close it
    descriptor_closed,  // by other code; told when the worker ends, or when the number comes back with another source
};

// Which events to report. An event is reported again and again until it has been dealt with (level-triggered); with
// `once`, when the state changes and not again (edge-triggered): after a report, read or write until that would block.
struct interest {
    bool read = true;
    bool write = false;
    bool once = false;  // not allowed if two sources share the descriptor
};

enum class watch_result : std::uint8_t {
    watched,
    wrong_backend,   // the source belongs to another kind of loop, or this worker waits in a guest's loop
    bad_descriptor,  // it is closed, or of a kind without readiness (a regular file)
    watched_before,  // the descriptor has a source here that wants the same, or both directions; or it has two
    worker_ends,     // by a stop or a detach: this worker reports to no more sources
};

class event_source {
public:
    event_source(const event_source&) = delete;
    event_source& operator=(const event_source&) = delete;

    event_backend backend() const { return backend_; }
    int descriptor() const { return descriptor_; }

    virtual void on_ready(readiness what) noexcept = 0;
    virtual void on_gone(gone) noexcept {}

protected:
    event_source(event_backend backend, int descriptor) : backend_(backend), descriptor_(descriptor) {}
    ~event_source() = default;

private:
    const event_backend backend_;
    const int descriptor_;
};

class descriptor_source : public event_source {
protected:
    explicit descriptor_source(int descriptor) : event_source(event_backend::epoll, descriptor) {}
    ~descriptor_source() = default;
};

}  // namespace apiary
