// blocking: what a thread may sleep in. Each is one location, changed by read-modify-writes.
#include <apiary/model_check/explorer/api_steps.hpp>

namespace apiary::model::explorer {

namespace {

// Among the threads' bits: what comes before and after the threads has those of thread 0.
unsigned place_of(const engine& e) {
    const unsigned t = e.current_thread();
    return t == main_thread ? 0 : t;
}

std::uint64_t add(const void* n, std::uint64_t old) { return old + *static_cast<const std::uint64_t*>(n); }
// A thread begins to wait: of an earlier notification nothing is left.
std::uint64_t enter_bits(const void* waits, std::uint64_t old) {
    const std::uint64_t bit = *static_cast<const std::uint64_t*>(waits);
    return (old & ~(bit << 16)) | bit;
}
std::uint64_t clear_bits(const void* bits, std::uint64_t old) {
    return old & ~*static_cast<const std::uint64_t*>(bits);
}
// The waiters lie in 16 bits, and in the next 16 those that have been notified since they began to wait: of a condition
// variable from bit 0, of a futex from bit 32, above the program's word. Two things are no step of the queue, and have no
// place in its order:
//   Q1  A waiter that was notified goes on. It reads the notification and writes nothing; its bit stays until it waits again.
//   Q2  A notification while nobody waits. It reads that nobody does.
// C++ has one order of notifications and of the parts of waits, consistent with happens-before ([thread.condition] 3). Put
// each such read directly after the store that it reads: coherence makes that an order which is consistent.
std::uint64_t notify_bits(const void* from, std::uint64_t old) {
    const std::uint64_t waiting = old & std::uint64_t{0xFFFF} << *static_cast<const unsigned*>(from);
    return (old & ~waiting) | waiting << 16;
}

// One read-modify-write of a blocking primitive.
std::uint64_t primitive(engine& e, object& o, const code_place& at, const char* name, std::memory_order order,
                        read_mode mode, std::uint64_t expect, std::uint64_t mask,
                        std::uint64_t (*next)(const void*, std::uint64_t), const void* closure, std::uint8_t* flags,
                        operation& op) {
    const bool for_holders = op.for_holders;
    op = make(e, o, at, name, relaxed);
    op.for_holders = for_holders;
    op.names_thread = true;
    op.order = number(order);  // one that fails or gives up orders nothing
    op.mode = mode;
    op.expect = expect;
    op.mask = mask;
    op.next = next;
    op.closure = closure;
    return do_read(e, op, flags);
}

}  // namespace

void lock(object& mutex, const code_place& at) {  // 0 is free, else 1 + the owner
    const inside scope;
    engine& e = self();
    operation op;
    op.for_holders = true;
    std::uint8_t flags = 0;
    const std::uint64_t owner = 1 + e.current_thread();
    primitive(e, mutex, at, "lock", acquire, read_mode::wait_rmw, 0, every_bit, constant, &owner, &flags, op);
    do_write(e, op, owner, true);
    e.heap().objects[mutex.id].holder = static_cast<std::uint8_t>(owner);
    e.takes_lock(mutex.id, op.site);
}

bool try_lock(object& mutex, const code_place& at, bool may_own) {
    const inside scope;
    engine& e = self();
    operation op;
    std::uint8_t flags = 0;
    // The standard lets try_lock fail spuriously, and then it orders nothing.
    op = make(e, mutex, at, "try_lock", relaxed);
    if (!may_own) e.asks_for_lock(mutex.id, "try_lock", at);
    op.names_thread = true;
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
    e.takes_lock(mutex.id, op.site);
    return true;
}

void unlock(object& mutex, const code_place& at) {
    const inside scope;
    engine& e = self();
    operation op = make(e, mutex, at, "unlock", relaxed);
    op.order = number(std::memory_order_release);
    std::uint8_t& holder = e.heap().objects[mutex.id].holder;
    if (holder != 1 + e.current_thread())
        e.fail("unlock of a mutex that this thread does not hold (" + e.describe(op.site) + ")");
    holder = 0;
    e.gives_lock_back(mutex.id);
    do_write(e, op, 0, false);
}

void lock_ends(const object& mutex) {
    if (engine::active() == nullptr || mutex.run != self().heap().run) return;
    const inside scope;
    self().lock_ends(mutex.id);
}
void condition_ends(const object& condvar) {
    const inside scope;
    self().condition_ends(condvar.id);
}

// A mutex in the lower 16 bits; above it, in three bits for each thread, how often it reads. So an unlock
// shows whether the thread holds the lock.
namespace {

constexpr unsigned reader_bits = 3, readers_from = 16;
constexpr std::uint64_t most_reads = 7, writer_bits = 0xFFFF;
static_assert(readers_from + reader_bits * max_threads <= 64);

unsigned first_reader_bit(const engine& e) { return readers_from + reader_bits * place_of(e); }

// A read-modify-write that gave up writes what it found.
std::uint64_t own_if_free(const void* owner, std::uint64_t old) {
    return old == 0 ? *static_cast<const std::uint64_t*>(owner) : old;
}
std::uint64_t read_if_no_writer(const void* one, std::uint64_t old) {
    return (old & writer_bits) == 0 ? old + *static_cast<const std::uint64_t*>(one) : old;
}

bool lock_shared_by(read_mode mode, const char* name, object& rwlock, const code_place& at, bool may_own) {
    const inside scope;
    engine& e = self();
    operation op;
    op.for_holders = mode == read_mode::wait_rmw;
    std::uint8_t flags = 0;
    const unsigned from = first_reader_bit(e);
    if (!may_own) e.asks_for_lock(rwlock.id, name, at);
    const std::uint64_t one = std::uint64_t{1} << from;
    const std::uint64_t before =
        primitive(e, rwlock, at, name, acquire, mode, 0, writer_bits, read_if_no_writer, &one, &flags, op);
    if ((flags & exclusive) == 0) return false;
    if ((before >> from & most_reads) == most_reads)
        e.fail("refused: a lock that one thread holds shared more than seven times (" + e.describe(op.site) + ")");
    do_write(e, op, read_if_no_writer(&one, before), true);
    if ((flags & forced) != 0) return false;
    e.takes_lock(rwlock.id, op.site);
    return true;
}

}  // namespace

std::uint32_t lock_holders(std::uint64_t word) {
    const auto writer = static_cast<std::uint32_t>(word & writer_bits);
    std::uint32_t all = writer == 0 ? 0 : 1U << (writer - 1);
    for (unsigned t = 0; t < max_threads; ++t)
        if ((word >> (readers_from + reader_bits * t) & most_reads) != 0) all |= 1U << t;
    return all;
}

bool lock_or_give_up(object& mutex, const code_place& at) {
    const inside scope;
    engine& e = self();
    operation op;
    std::uint8_t flags = 0;
    const std::uint64_t owner = 1 + e.current_thread();
    e.asks_for_lock(mutex.id, "lock_until", at);
    const std::uint64_t before = primitive(e, mutex, at, "lock_until", acquire, read_mode::timed_rmw, 0, every_bit,
                                           own_if_free, &owner, &flags, op);
    do_write(e, op, own_if_free(&owner, before), true);
    if ((flags & forced) != 0) return false;
    e.heap().objects[mutex.id].holder = static_cast<std::uint8_t>(owner);
    e.takes_lock(mutex.id, op.site);
    return true;
}

void lock_shared(object& rwlock, const code_place& at, bool may_own) {
    (void)lock_shared_by(read_mode::wait_rmw, "lock_shared", rwlock, at, may_own);
}
bool lock_shared_or_give_up(object& rwlock, const code_place& at, bool may_own) {
    return lock_shared_by(read_mode::timed_rmw, "lock_shared_until", rwlock, at, may_own);
}
bool try_lock_shared(object& rwlock, const code_place& at, bool may_own) {
    return lock_shared_by(read_mode::weak_cas, "try_lock_shared", rwlock, at, may_own);
}

void unlock_shared(object& rwlock, const code_place& at) {
    const inside scope;
    engine& e = self();
    operation op;
    std::uint8_t flags = 0;
    const unsigned from = first_reader_bit(e);
    const std::uint64_t minus_one = ~(std::uint64_t{1} << from) + 1;
    const std::uint64_t before = primitive(e, rwlock, at, "unlock_shared", std::memory_order_release, read_mode::rmw, 0,
                                           every_bit, add, &minus_one, &flags, op);
    if ((before >> from & most_reads) == 0)
        e.fail("unlock of a lock that this thread does not hold (" + e.describe(op.site) + ")");
    e.gives_lock_back(rwlock.id);
    do_write(e, op, before + minus_one, true);
}

// The count, and above it a bit that says that it is 0: a wait looks for bits.
namespace {
constexpr std::uint64_t used_up = std::uint64_t{1} << 63;
std::uint64_t one_more(const void*, std::uint64_t old) { return (old & ~used_up) + 1; }
std::uint64_t one_less(const void*, std::uint64_t old) { return old == used_up ? old : semaphore_word(old - 1); }

bool take_one(read_mode mode, const char* name, object& semaphore, const code_place& at) {
    const inside scope;
    engine& e = self();
    operation op;
    std::uint8_t flags = 0;
    const std::uint64_t before =
        primitive(e, semaphore, at, name, acquire, mode, 0, used_up, one_less, nullptr, &flags, op);
    if ((flags & exclusive) == 0) return false;
    do_write(e, op, one_less(nullptr, before), true);
    return (flags & forced) == 0;
}
}  // namespace

std::uint64_t semaphore_word(std::uint64_t count) { return count == 0 ? used_up : count; }

bool semaphore_wait(object& semaphore, bool may_time_out, const code_place& at) {
    return may_time_out ? take_one(read_mode::timed_rmw, "wait_until", semaphore, at)
                        : take_one(read_mode::wait_rmw, "wait", semaphore, at);
}
bool semaphore_try_wait(object& semaphore, const code_place& at) {
    return take_one(read_mode::cas, "try_wait", semaphore, at);
}

void semaphore_post(object& semaphore, const code_place& at) {
    const inside scope;
    engine& e = self();
    operation op;
    std::uint8_t flags = 0;
    const std::uint64_t before = primitive(e, semaphore, at, "post", std::memory_order_release, read_mode::rmw, 0,
                                           every_bit, one_more, nullptr, &flags, op);
    do_write(e, op, one_more(nullptr, before), true);
}

std::uint64_t semaphore_count(const object& semaphore, const code_place& at) {
    return load(semaphore, relaxed, at) & ~used_up;
}

namespace {

constexpr unsigned condvar_bits = 0, futex_bits = 32;

std::uint64_t waiting_bit(const engine& e, unsigned from) { return std::uint64_t{1} << (from + place_of(e)); }

// The rest of a wait whose waiting bit is set. False when it gave up.
bool block_until_notified(engine& e, object& o, unsigned from, const char* name, read_mode mode, const code_place& at) {
    const inside scope;
    const std::uint64_t waits = waiting_bit(e, from), notified = waits << 16;
    operation op;
    std::uint8_t flags = 0;
    const std::uint64_t before =
        primitive(e, o, at, name, relaxed, mode, notified, notified, clear_bits, &waits, &flags, op);
    if ((flags & exclusive) != 0) do_write(e, op, clear_bits(&waits, before), true);
    return (flags & gave_up) == 0;
}

unsigned notify(object& o, unsigned from, const code_place& at, const char* name, bool all) {
    const inside scope;
    engine& e = self();
    operation op;
    std::uint8_t flags = 0;
    const std::uint64_t waiters = std::uint64_t{0xFFFF} << from;
    const std::uint64_t state = primitive(e, o, at, name, relaxed, read_mode::unless, 0, waiters,
                                          all ? notify_bits : nullptr, &from, &flags, op);
    if ((flags & exclusive) == 0) return 0;
    const std::uint64_t waiting = state & waiters;
    std::uint64_t woken = waiting;
    if (!all) {
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

// What stood there.
std::uint64_t enter(engine& e, object& queue, const code_place& at, operation& op) {
    std::uint8_t flags = 0;
    const std::uint64_t waits = waiting_bit(e, condvar_bits);
    const std::uint64_t before =
        primitive(e, queue, at, "wait", relaxed, read_mode::rmw, 0, every_bit, enter_bits, &waits, &flags, op);
    do_write(e, op, enter_bits(&waits, before), true);
    return before;
}

bool wait_in(object& condvar, object& mutex, bool may_time_out, const code_place& at) {
    {
        const inside scope;
        engine& e = self();
        operation op;
        const std::uint64_t before = enter(e, condvar, at, op);
        e.waits_with(condvar.id, mutex.id, static_cast<std::uint32_t>(before & 0xFFFF), op.site);
    }
    unlock(mutex, at);
    const bool woken = block_in_queue(condvar, may_time_out, at);
    lock(mutex, at);
    return woken;
}

}  // namespace

void wait(object& condvar, object& mutex, const code_place& at) { (void)wait_in(condvar, mutex, false, at); }

bool wait_or_give_up(object& condvar, object& mutex, const code_place& at) { return wait_in(condvar, mutex, true, at); }

void enter_queue(object& queue, const code_place& at) {
    const inside scope;
    operation op;
    (void)enter(self(), queue, at, op);
}

bool block_in_queue(object& queue, bool may_time_out, const code_place& at) {
    return block_until_notified(self(), queue, condvar_bits, "wait (blocked)",
                                may_time_out ? read_mode::in_queue_until : read_mode::in_queue, at);
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
                                               UINT32_MAX, enter_bits, &waits, &flags, op);
        if ((flags & exclusive) == 0) return true;
        do_write(e, op, enter_bits(&waits, before), true);
    }
    return block_until_notified(e, futex, futex_bits, "futex wait (blocked)",
                                may_time_out ? read_mode::in_queue_until : read_mode::in_queue, at);
}

void futex_wake(object& futex, bool all, const code_place& at) {
    (void)notify(futex, futex_bits, at, all ? "wake_all" : "wake_one", all);
}

// The token, if it is there: of a wait whose deadline is over.
bool take_token(object& parker, const code_place& at) {
    const inside scope;
    engine& e = self();
    operation op;
    std::uint8_t flags = 0;
    const std::uint64_t none = 0;
    primitive(e, parker, at, "park_until", acquire, read_mode::cas, 1, every_bit, constant, &none, &flags, op);
    if ((flags & exclusive) == 0) return false;
    do_write(e, op, 0, true);
    return true;
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

}  // namespace apiary::model::explorer
