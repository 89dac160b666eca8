// api: the policy's operations, turned into events.
#include <apiary/model_check/explorer/api_steps.hpp>
#include <apiary/model_check/orders.hpp>

namespace apiary::model::explorer {

namespace {
[[gnu::cold, noreturn]] void undefined_order(engine& e, const char* name, bool failure, std::memory_order order,
                                             const code_place& at) {
    const std::string place = std::string(place_of(at.file_name())) + ":" + std::to_string(at.line());
    e.fail(no_such_order(name, failure, order, place));
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

void object_ends(object& o) {
    if (engine::active() == nullptr || o.run != self().heap().run) return;
    const inside scope;
    self().object_ends(o);
}

void construct_blocker(object& o) { construct_atomic(o, true, 0); }

std::uint64_t load(const object& o, std::memory_order order, const code_place& at) {
    const inside scope;
    engine& e = self();
    if (!may_load(order)) undefined_order(e, "load", false, order, at);
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
    if (!may_store(order)) undefined_order(e, name, false, order, at);
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
    if (!may_load(failure)) undefined_order(e, name, true, failure, at);
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

void reach_in_any_run(const char* name) {
    const inside scope;
    self().reach_in_any_run(name);
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
