// api_steps: what every operation of api.cpp and blocking.cpp is made of. In a header, since all of
// it is inlined.
#pragma once

#include <apiary/model_check/explorer/api.hpp>
#include <apiary/model_check/explorer/engine.hpp>

namespace apiary::model::explorer {

// The engine allocates for itself: modelled code's arena is off while it works.
class inside {
public:
    inside() : heap_(program_heap.heap), thread_(program_heap.thread) { program_heap.heap = nullptr; }
    ~inside() { program_heap = {heap_, thread_}; }
    inside(const inside&) = delete;
    inside& operator=(const inside&) = delete;

private:
    memory* heap_;  // by themselves: one load of both would wait for the two stores of the operation before
    unsigned thread_;
};

inline engine& self() { return *engine::active(); }

constexpr auto number(std::memory_order order) { return static_cast<std::uint8_t>(order); }

inline operation make(engine& e, const object& o, const code_place& at, const char* name, std::memory_order order) {
    e.acts();
    operation op;
    op.site = e.sites().intern(at, name, number(order));
    op.order = op.failure_order = e.sites().effective(op.site, number(order));
    const location_info& info = e.locate(o, op.site);
    op.loc = info.loc;
    op.object = o.id;
    return op;
}

// In before() and after() there is one thread: a location has one value.
inline std::uint64_t sequential_read(engine& e, const operation& op) {
    const location_info& info = e.heap().objects[op.object];
    if (info.uninitialised)
        e.fail("uninitialised read: " + e.describe(op.site) + " of an atomic that has no value yet");
    e.trace_sequential(op, info);
    return info.value;
}
inline void sequential_write(engine& e, const operation& op, std::uint64_t value, bool in_rmw) {
    e.trace_sequential_store(op, value, in_rmw);
    location_info& info = e.heap().objects[op.object];
    info.value = value;
    info.uninitialised = false;
}

inline std::uint64_t do_read(engine& e, operation& op, std::uint8_t* flags) {
    op.kind = event_kind::read;
    const bool waits_for_ever = waits(op.mode) && !has_deadline(op.mode);
    if (waits_for_ever) e.asked(law_kind::deadlock);
    if (!e.sequential()) return e.read(op, flags);
    const std::uint64_t value = sequential_read(e, op);
    const bool match = (value & op.mask) == op.expect;
    switch (op.mode) {
        case read_mode::plain:
            *flags = 0;
            break;
        case read_mode::rmw:
            *flags = std::uint8_t{exclusive};
            break;
        case read_mode::unless:
            *flags = static_cast<std::uint8_t>(match ? 0 : exclusive);
            break;
        case read_mode::cas:
        case read_mode::weak_cas:
            *flags = static_cast<std::uint8_t>(match ? exclusive : 0);
            break;
        case read_mode::timed_rmw:
            *flags = static_cast<std::uint8_t>(match ? exclusive : exclusive | forced);
            break;
        case read_mode::in_queue_until:
            *flags = static_cast<std::uint8_t>(match ? 0 : exclusive | forced | gave_up);
            break;
        case read_mode::wait_rmw:
        case read_mode::in_queue:
            if (!match) e.fail("deadlock: " + e.describe(op.site) + " waits outside the threads");
            *flags = op.mode == read_mode::wait_rmw ? std::uint8_t{exclusive} : std::uint8_t{0};
            break;
        case read_mode::spin_until:
            if (!op.done.holds(op.done.closure, value))
                e.fail("deadlock: " + e.describe(op.site) + " waits outside the threads");
            *flags = 0;
            break;
    }
    return value;
}

inline void do_write(engine& e, operation& op, std::uint64_t value, bool in_rmw) {
    op.kind = event_kind::write;
    op.mode = read_mode::plain;
    op.expect = 0;
    op.value = value;
    op.in_rmw = in_rmw;
    if (e.sequential())
        sequential_write(e, op, value, in_rmw);
    else
        e.write(op);
}

// What is written does not depend on what was read.
inline std::uint64_t constant(const void* closure, std::uint64_t) {
    return *static_cast<const std::uint64_t*>(closure);
}

inline constexpr std::uint64_t every_bit = ~std::uint64_t{0};
inline constexpr auto relaxed = std::memory_order_relaxed;
inline constexpr auto acquire = std::memory_order_acquire;

}  // namespace apiary::model::explorer
