// event_source: something outside that a worker's event loop tells of, as a seam.
//
// What it is. A source says what kind of loop it speaks to; the driver of that kind takes it, any other refuses it
// with a warning. `descriptor_source` is readiness of a file descriptor, which epoll_driver takes.
//
// Threads.   A source belongs to the worker that watches it: on_ready and on_gone are called there and nowhere
//            else, never at once, and no more once it was unwatched or on_gone has begun.
// Lifetime.  The source is the user's; it must outlive its watching. It may unwatch and delete itself in a call.
// Closing.   Unwatch, then close. Epoll forgets a descriptor that is closed under its source and says nothing: the
//            source hears no more, unwatch answers false, and if the number comes back with another source, it is
//            told on_gone(descriptor_closed) then; with itself, it is watched again. A duplicate of such a
//            descriptor keeps reporting, to nobody.
// Source:    seed 002 sections 6.3 and 10.
#pragma once

#include <cstdint>

namespace apiary {

enum class event_backend : std::uint8_t { epoll, kqueue, completion_port };

struct readiness {
    bool readable = false;
    bool writable = false;
    bool hung_up = false;  // also: an error is pending on the descriptor; the next read or write tells
};

enum class gone : std::uint8_t {
    worker_ended,       // by a stop or a detach: watch it at another worker, or close it
    descriptor_closed,  // and its number has come back with another source
};

// What to be told of: level-triggered, that is, again and again until it was dealt with.
struct interest {
    bool read = true;
    bool write = false;
};

enum class watch_result : std::uint8_t {
    watched,
    wrong_backend,   // a source for another kind of loop; also: this worker waits in a guest's
    bad_descriptor,  // closed, or of a kind that has no readiness (a regular file)
    watched_before,  // this descriptor has a source here already
    worker_ends,     // by a stop or a detach: it tells no more sources
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
