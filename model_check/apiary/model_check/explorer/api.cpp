// api: the policy's operations, turned into events.
#include <apiary/model_check/explorer/api.hpp>

#include <apiary/model_check/explorer/engine.hpp>

namespace apiary::model::explorer {

namespace {

// The engine allocates for itself: modelled code's arena is off while it works.
class inside {
public:
    inside() : outer_(program_heap) { program_heap = {}; }
    ~inside() { program_heap = outer_; }
    inside(const inside&) = delete;
    inside& operator=(const inside&) = delete;

private:
    allocation_scope outer_;
};

engine& self() { return *engine::active(); }

constexpr auto number(std::memory_order order) { return static_cast<std::uint8_t>(order); }

operation make(engine& e, const object& o, const code_place& at, const char* name, std::memory_order order) {
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
std::uint64_t sequential_read(engine& e, const operation& op) {
    const location_info& info = e.heap().objects[op.object];
    if (info.uninitialised)
        e.fail("uninitialised read: " + e.describe(op.site) + " of an atomic that has no value yet");
    e.trace_sequential(op, info);
    return info.value;
}
void sequential_write(engine& e, const operation& op, std::uint64_t value, bool in_rmw) {
    e.trace_sequential_store(op, value, in_rmw);
    location_info& info = e.heap().objects[op.object];
    info.value = value;
    info.uninitialised = false;
}

std::uint64_t do_read(engine& e, operation& op, std::uint8_t* flags) {
    op.kind = event_kind::read;
    const bool waits_for_ever = waits(op.mode) && op.mode != read_mode::timed_rmw;
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
        case read_mode::cas:
        case read_mode::weak_cas:
            *flags = static_cast<std::uint8_t>(match ? exclusive : 0);
            break;
        case read_mode::timed_rmw:
            *flags = static_cast<std::uint8_t>(match ? exclusive : exclusive | forced);
            break;
        case read_mode::wait_rmw:
        case read_mode::spurious_rmw:
            if (!match) e.fail("deadlock: " + e.describe(op.site) + " waits outside the threads");
            *flags = exclusive;
            break;
        case read_mode::spin_until:
            if (!op.done.holds(op.done.closure, value))
                e.fail("deadlock: " + e.describe(op.site) + " waits outside the threads");
            *flags = 0;
            break;
    }
    return value;
}

void do_write(engine& e, operation& op, std::uint64_t value, bool in_rmw) {
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
std::uint64_t constant(const void* closure, std::uint64_t) { return *static_cast<const std::uint64_t*>(closure); }

std::uint64_t set_bits(const void* bits, std::uint64_t old) { return old | *static_cast<const std::uint64_t*>(bits); }
std::uint64_t clear_bits(const void* bits, std::uint64_t old) {
    return old & ~*static_cast<const std::uint64_t*>(bits);
}
// The waiters lie in 16 bits, and in the next 16 those of them that have been woken: of a condition variable from bit 0, of a
// futex from bit 32, above the program's word.
std::uint64_t notify_bits(const void* from, std::uint64_t old) {
    const std::uint64_t waiting = old & std::uint64_t{0xFFFF} << *static_cast<const unsigned*>(from);
    return (old & ~waiting) | waiting << 16;
}

constexpr std::uint64_t every_bit = ~std::uint64_t{0};
constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto acquire = std::memory_order_acquire;

// One read-modify-write of a blocking primitive.
std::uint64_t primitive(engine& e, object& o, const code_place& at, const char* name, std::memory_order order,
                        read_mode mode, std::uint64_t expect, std::uint64_t mask,
                        std::uint64_t (*next)(const void*, std::uint64_t), const void* closure, std::uint8_t* flags,
                        operation& op) {
    op = make(e, o, at, name, relaxed);
    op.order = op.failure_order = number(order);
    op.mode = mode;
    op.expect = expect;
    op.mask = mask;
    op.next = next;
    op.closure = closure;
    return do_read(e, op, flags);
}

}  // namespace

void construct_atomic(object& o, bool has_value, std::uint64_t value) {
    if (engine::active() == nullptr) return;
    const inside scope;
    self().constructed(o, has_value, value, false);
}

void construct_cell(object& o, bool has_value) {
    if (engine::active() == nullptr) return;
    const inside scope;
    self().constructed(o, has_value, 0, true);
}

void construct_blocker(object& o) { construct_atomic(o, true, 0); }

std::uint64_t load(const object& o, std::memory_order order, const code_place& at) {
    const inside scope;
    engine& e = self();
    if (e.peeking()) return e.peek(o);
    operation op = make(e, o, at, "load", order);
    op.expect = 0;
    std::uint8_t flags = 0;
    return do_read(e, op, &flags);
}

void store(object& o, std::uint64_t value, std::memory_order order, const code_place& at, const char* name) {
    const inside scope;
    engine& e = self();
    if (e.peeking()) e.fail("the invariant stores to an atomic");
    operation op = make(e, o, at, name, order);
    do_write(e, op, value, false);
}

std::uint64_t read_modify_write(object& o, change to, std::memory_order order, const code_place& at, const char* name) {
    const inside scope;
    engine& e = self();
    if (e.peeking()) e.fail("the invariant changes an atomic");
    operation op = make(e, o, at, name, order);
    op.mode = read_mode::rmw;
    op.expect = 0;
    op.next = to.of;
    op.closure = to.closure;
    std::uint8_t flags = 0;
    const std::uint64_t old = do_read(e, op, &flags);
    do_write(e, op, to.of(to.closure, old), true);
    return old;
}

bool compare_exchange(object& o, std::uint64_t& expected, change to, std::uint64_t mask, std::memory_order success,
                      std::memory_order failure, bool weak, const code_place& at) {
    const inside scope;
    engine& e = self();
    if (e.peeking()) e.fail("the invariant changes an atomic");
    const char* name = weak ? "compare_exchange_weak" : "compare_exchange_strong";
    operation op = make(e, o, at, name, success);
    const std::uint32_t failure_site = e.sites().intern(at, name, number(failure), true);
    op.failure_order = e.sites().effective(failure_site, number(failure));
    op.mode = weak ? read_mode::weak_cas : read_mode::cas;
    op.expect = expected;
    op.mask = mask;
    op.next = to.of;
    op.closure = to.closure;
    std::uint8_t flags = 0;
    const std::uint64_t value = do_read(e, op, &flags);
    if ((flags & exclusive) == 0) {
        expected = value & mask;
        return false;
    }
    do_write(e, op, to.of(to.closure, value), true);
    return true;
}

bool compare_exchange(object& o, std::uint64_t& expected, std::uint64_t desired, std::memory_order success,
                      std::memory_order failure, bool weak, const code_place& at) {
    return compare_exchange(o, expected, {constant, &desired}, every_bit, success, failure, weak, at);
}

std::uint64_t spin_until(const object& o, predicate done, const code_place& at) {
    return wait_until(o, done, acquire, at, "spin_until", false);
}

std::uint64_t wait_until(const object& o, predicate done, std::memory_order order, const code_place& at,
                         const char* name, bool or_none) {
    const inside scope;
    engine& e = self();
    operation op = make(e, o, at, name, order);
    op.mode = read_mode::spin_until;
    op.expect = 0;
    op.done = done;
    if (or_none) op.none = {[](const void*, std::uint64_t) { return true; }, nullptr};
    std::uint8_t flags = 0;
    return do_read(e, op, &flags);
}

void stall(predicate none, const code_place& at, const char* name) {
    const inside scope;
    engine& e = self();
    e.asked(law_kind::deadlock);
    operation op;
    op.site = e.sites().intern(at, name, site_table::no_order);
    op.none = none;
    op.stalled = true;
    e.stall(op);
}

namespace {

// `meant`: the order in force unless the operation is mutated.
void fence_of(const char* name, std::memory_order written, std::uint8_t meant, const code_place& at) {
    const inside scope;
    engine& e = self();
    if (e.peeking()) return;
    e.acts();
    operation op;
    op.kind = event_kind::fence;
    op.site = e.sites().intern(at, name, number(written));
    op.order = e.sites()[op.site].mutated ? e.sites()[op.site].effective : meant;
    if (e.sites()[op.site].dropped || op.order == number(relaxed) || e.sequential()) return;
    e.fence(op);
}

}  // namespace

void fence(std::memory_order order, const code_place& at) { fence_of("fence", order, number(order), at); }
void fence_light(const code_place& at) { fence_of("fence_light", std::memory_order_seq_cst, light_order, at); }
void fence_heavy(const code_place& at) { fence_of("fence_heavy", std::memory_order_seq_cst, heavy_order, at); }

void read_cell(const object& o, const code_place& at, const std::uint64_t* shown) {
    const inside scope;
    engine& e = self();
    if (e.peeking()) return;
    e.touch_cell(o, false, e.sites().intern(at, "read", site_table::no_order), shown);
}

void write_cell(object& o, const code_place& at, const std::uint64_t* shown) {
    const inside scope;
    engine& e = self();
    if (e.peeking()) e.fail("the invariant writes a cell");
    e.touch_cell(o, true, e.sites().intern(at, "write", site_table::no_order), shown);
}

// ---- blocking primitives: each is one location, changed by read-modify-writes ------------------------

void lock(object& mutex, const code_place& at) {  // 0 is free, else 1 + the owner
    const inside scope;
    engine& e = self();
    operation op;
    std::uint8_t flags = 0;
    const std::uint64_t owner = 1 + e.current_thread();
    primitive(e, mutex, at, "lock", acquire, read_mode::wait_rmw, 0, every_bit, constant, &owner, &flags, op);
    do_write(e, op, owner, true);
    e.heap().objects[mutex.id].holder = static_cast<std::uint8_t>(owner);
}

bool try_lock(object& mutex, const code_place& at) {
    const inside scope;
    engine& e = self();
    operation op;
    std::uint8_t flags = 0;
    // The standard lets try_lock fail spuriously, and then it orders nothing.
    op = make(e, mutex, at, "try_lock", relaxed);
    op.order = number(acquire);
    op.mode = read_mode::weak_cas;
    op.expect = 0;
    const std::uint64_t owner = 1 + e.current_thread();
    op.next = constant;
    op.closure = &owner;
    do_read(e, op, &flags);
    if ((flags & exclusive) == 0) return false;
    do_write(e, op, owner, true);
    e.heap().objects[mutex.id].holder = static_cast<std::uint8_t>(owner);
    return true;
}

void unlock(object& mutex, const code_place& at) {
    const inside scope;
    engine& e = self();
    operation op = make(e, mutex, at, "unlock", relaxed);
    op.order = number(std::memory_order_release);
    std::uint8_t& holder = e.heap().objects[mutex.id].holder;
    if (holder != 1 + e.current_thread()) e.fail("unlock of a mutex that this thread does not hold");
    holder = 0;
    do_write(e, op, 0, false);
}

namespace {

constexpr unsigned condvar_bits = 0, futex_bits = 32;

std::uint64_t waiting_bit(const engine& e, unsigned from) { return std::uint64_t{1} << (from + e.current_thread()); }

// The rest of a wait whose waiting bit is set. False when it gave up.
bool block_until_notified(engine& e, object& o, unsigned from, const char* name, bool may_time_out,
                          const code_place& at) {
    const inside scope;
    const std::uint64_t waits = waiting_bit(e, from), notified = waits << 16, both = waits | notified;
    operation op;
    std::uint8_t flags = 0;
    const std::uint64_t before =
        primitive(e, o, at, name, relaxed, may_time_out ? read_mode::timed_rmw : read_mode::spurious_rmw, notified,
                  notified, clear_bits, &both, &flags, op);
    do_write(e, op, before & ~both, true);
    return !may_time_out || (flags & forced) == 0;
}

unsigned notify(object& o, unsigned from, const code_place& at, const char* name, bool all) {
    const inside scope;
    engine& e = self();
    operation op;
    std::uint8_t flags = 0;
    const std::uint64_t state = primitive(e, o, at, name, relaxed, read_mode::rmw, 0, every_bit,
                                          all ? notify_bits : nullptr, &from, &flags, op);
    const std::uint64_t waiting = state & std::uint64_t{0xFFFF} << from;
    std::uint64_t woken = waiting;
    if (!all && waiting != 0) {
        const auto n = static_cast<std::uint32_t>(__builtin_popcountll(waiting));
        std::uint32_t which = 0;
        if (n > 1) {
            operation pick;
            pick.kind = event_kind::choice;
            pick.site = op.site;
            pick.alternatives = n;
            pick.in_rmw = true;
            which = e.choose(pick);
        }
        for (woken = waiting; which > 0; --which) woken &= woken - 1;
        woken &= ~(woken - 1);
    }
    do_write(e, op, (state & ~woken) | woken << 16, true);
    return static_cast<unsigned>(__builtin_popcountll(woken));
}

}  // namespace

void wait(object& condvar, object& mutex, const code_place& at) {
    enter_queue(condvar, at);
    unlock(mutex, at);
    (void)block_in_queue(condvar, false, at);
    lock(mutex, at);
}

bool wait_or_give_up(object& condvar, object& mutex, const code_place& at) {
    enter_queue(condvar, at);
    unlock(mutex, at);
    const bool woken = block_in_queue(condvar, true, at);
    lock(mutex, at);
    return woken;
}

void enter_queue(object& queue, const code_place& at) {
    const inside scope;
    engine& e = self();
    operation op;
    std::uint8_t flags = 0;
    const std::uint64_t waits = waiting_bit(e, condvar_bits);
    const std::uint64_t before =
        primitive(e, queue, at, "wait", relaxed, read_mode::rmw, 0, every_bit, set_bits, &waits, &flags, op);
    do_write(e, op, before | waits, true);
}

bool block_in_queue(object& queue, bool may_time_out, const code_place& at) {
    return block_until_notified(self(), queue, condvar_bits, "wait (blocked)", may_time_out, at);
}

unsigned notify_one(object& condvar, const code_place& at) {
    return notify(condvar, condvar_bits, at, "notify_one", false);
}
unsigned notify_all(object& condvar, const code_place& at) {
    return notify(condvar, condvar_bits, at, "notify_all", true);
}

// Word and queue are one location: to compare and to stand in the queue is one step, as it is for the kernel, and the
// queue orders nothing.
bool futex_wait(object& futex, std::uint32_t expected, bool may_time_out, const code_place& at) {
    engine& e = self();
    {
        const inside scope;
        operation op;
        std::uint8_t flags = 0;
        const std::uint64_t waits = waiting_bit(e, futex_bits);
        const std::uint64_t before = primitive(e, futex, at, "futex wait", relaxed, read_mode::cas, expected,
                                               UINT32_MAX, set_bits, &waits, &flags, op);
        if ((flags & exclusive) == 0) return true;
        do_write(e, op, before | waits, true);
    }
    return block_until_notified(e, futex, futex_bits, "futex wait (blocked)", may_time_out, at);
}

void futex_wake(object& futex, bool all, const code_place& at) {
    (void)notify(futex, futex_bits, at, all ? "wake_all" : "wake_one", all);
}

bool park(object& parker, bool may_time_out, const code_place& at) {
    const inside scope;
    engine& e = self();
    operation op;
    std::uint8_t flags = 0;
    const std::uint64_t none = 0;
    primitive(e, parker, at, may_time_out ? "park_until" : "park", acquire,
              may_time_out ? read_mode::timed_rmw : read_mode::wait_rmw, 1, every_bit, constant, &none, &flags, op);
    do_write(e, op, 0, true);
    return (flags & forced) == 0;
}

void unpark(object& parker, const code_place& at) {
    const inside scope;
    engine& e = self();
    operation op;
    std::uint8_t flags = 0;
    const std::uint64_t token = 1;
    primitive(e, parker, at, "unpark", std::memory_order_release, read_mode::rmw, 0, every_bit, constant, &token,
              &flags, op);
    do_write(e, op, 1, true);
}

// ---- choices, time, memory, verdicts ------------------------------------------------------------------

std::uint32_t choose(std::uint32_t n, const code_place& at) {
    const inside scope;
    engine& e = self();
    if (n <= 1 || e.sequential() || e.peeking()) return 0;
    operation op;
    op.kind = event_kind::choice;
    op.site = e.sites().intern(at, "below", site_table::no_order);
    op.alternatives = n;
    return e.choose(op);
}

std::int64_t& thread_clock() { return self().clocks[self().current_thread()]; }

void* allocate(std::size_t size, std::size_t alignment, const char* type, storage what) {
    const inside scope;
    return self().allocate(size, alignment, type, what);
}
void before_destroy(void* p, storage what) {
    const inside scope;
    (void)self().before_destroy(p, what);
}
void before_deallocate(void* p, std::size_t size, std::size_t alignment) {
    const inside scope;
    self().before_deallocate(p, size, alignment);
}
void release(void* p) {
    const inside scope;
    self().release(p);
}

void*& thread_slot(const void* key) {
    const inside scope;
    return self().thread_slot(key);
}

void reach(const char* name) {
    const inside scope;
    self().reach(name);
}

bool look_again(const char* name) {
    const inside scope;
    return self().sites().recheck(name);
}

void law_asked() { self().asked(law_kind::check); }

void fail(const char* what, const code_place& at) {
    program_heap = {};
    engine& e = self();
    e.fail(what + std::string(" (").append(place_of(at.file_name())) + ":" + std::to_string(at.line()) + ")");
}

}  // namespace apiary::model::explorer
