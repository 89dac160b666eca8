// trace: records what a worker did and when, for Perfetto or chrome://tracing. Switched off, it has no code and no
// memory.
//
// Threads. Every call: the worker's own thread; write() and left_out(): any one thread, after the scheduler has ended.
// Memory.  At most max_events for each worker; later events are counted and left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <ostream>
#include <vector>

namespace apiary {

struct no_trace {
    static constexpr bool on = false;
};

class event_trace {
public:
    static constexpr bool on = true;
    static constexpr std::size_t max_events = 1U << 20;

    enum class kind : std::uint8_t { task, park, steal, woken, batch };

    void span(kind what, std::int64_t from_ns, std::int64_t to_ns) { add({from_ns, to_ns - from_ns, 0, what}); }
    void instant(kind what, std::int64_t at_ns, std::uint64_t detail) { add({at_ns, 0, detail, what}); }

    std::size_t left_out() const { return left_out_; }

    // Writes this worker's events as elements of Chrome's traceEvents, on the track of this number; each ends with a
    // comma.
    void write(std::ostream& out, unsigned track, const char* kind_of_worker, unsigned worker) const {
        out << R"({"name":"thread_name","ph":"M","pid":1,"tid":)" << track << R"(,"args":{"name":")" << kind_of_worker
            << " worker " << worker << "\"}},\n";
        for (const event& e : events_) {
            out << R"({"name":")" << name(e.what) << R"(","cat":"hive","pid":1,"tid":)" << track << ",\"ts\":";
            microseconds(out, e.at_ns);
            if (e.what == kind::task || e.what == kind::park) {
                out << R"(,"ph":"X","dur":)";
                microseconds(out, e.duration_ns);
            } else {
                out << R"(,"ph":"i","s":"t","args":{")" << detail_name(e.what) << "\":" << e.detail << '}';
            }
            out << "},\n";
        }
    }

private:
    struct event {
        std::int64_t at_ns, duration_ns;
        std::uint64_t detail;
        kind what;
    };

    void add(const event& e) noexcept {
        if (events_.size() == max_events) {
            ++left_out_;
            return;
        }
        try {
            events_.push_back(e);
        } catch (const std::bad_alloc&) {
            ++left_out_;
        }
    }
    static const char* name(kind k) {
        constexpr const char* names[] = {"task", "park", "steal", "woken", "batch"};
        return names[static_cast<std::size_t>(k)];
    }
    static const char* detail_name(kind k) { return k == kind::steal ? "from" : k == kind::batch ? "tasks" : "worker"; }
    static void microseconds(std::ostream& out, std::int64_t ns) {
        const auto rest = ns % 1000;
        out << ns / 1000 << '.' << rest / 100 << rest / 10 % 10 << rest % 10;
    }

    std::vector<event> events_;
    std::size_t left_out_ = 0;
};

}  // namespace apiary
