// The Sync policy: the world a lock-free structure lives in, as one template parameter.
//
// What it is. Every structure and handshake of this project is written once, as a template over a policy `Sync`, and
// never names std::atomic, std::mutex or a clock itself. The same header then ships (real_sync), is stressed
// (chaos_sync) and is model-checked (relacy_sync, explorer_sync).
//
// When to use it. For code whose correctness rests on the order of memory operations of several threads. When not: for
// code that one thread owns, or that a plain mutex already makes obvious.
//
// A policy provides
//   site                  where an operation stands in the source; empty in real_sync. A helper that wraps an operation
//                         takes `site at = site::current()` and passes it on, so that reports blame the helper's
//                         caller.
//   atomic<T>             load, store, exchange, compare_exchange_{weak,strong}, fetch_{add,sub,or,and}; the order is
//                         never defaulted; both orders of a compare-exchange are named.
//   fence(order)          a thread fence.
//   fence_light(), fence_heavy()
//                         an asymmetric pair: light for a path that is taken often, heavy for one that is not. A heavy
//                         fence is a seq_cst fence, and orders like one against the light fences of other threads.
//                         Light fences order nothing among themselves, nor against anything else (as P1202 has it,
//                         except that there a light fence is a fence in its own thread, too).
//   cell<T>               data that is not atomic: read(), write(v), take(). A checker reports a race on it.
//   mutex, lock, condvar  blocking primitives; `lock` is the scoped guard, `condvar::wait(lock&)`.
//   futex                 a 32-bit word that a thread can block on: an atomic (without store), and
//                         wait(expected, deadline_ns)  compares and blocks in one step. False: the deadline passed. It
//                                                      may return for no reason.
//                         wake_one(), wake_all()       end waits on this word that have begun.
//                         Only the memory orders of accesses to the word order anything: a wake and the wait that it
//                         ends do not. Its users (parking/parker.hpp, parking/event_count.hpp) are checked as they
//                         ship; below the futex is the system call.
//   spin_until(a, done)   waits until done(a.load(acquire)). A checker does not spin here, and reports a livelock.
//   relax()               a spin hint.
//   yield()               lets another thread have the processor. A checker needs none.
//   sleep_ns(ns)          returns no earlier than ns from now; for 0 or less at once.
//   now_ns()              the monotonic clock, in nanoseconds.
//   processors()          optional: how many threads run at once, 0 if nobody knows. Under a checker any number may.
//   prefetch(p), prefetch_to_write(p)
//                         a hint that p's line is used soon. p may be anything.
//   stack()               the bounds of the calling thread's stack (stack_bounds.hpp); they limit nothing where nobody
//                         knows them.
//   random_source         a seeded generator; below(n) gives a number in [0, n).
//   create<T>, destroy    heap objects that a checker watches (leak, double free, use after free).
//   create_array<T>(n), destroy_array(p, n)
//                         arrays of default-constructed T.
//   scoped<T>             an automatic object that other threads reach (a job or a latch on a stack):
//                         `scoped<T> x(args)`, `*x`, `x->`. A checker reports an operation on an atomic or a cell in it
//                         after its scope has ended, and an operation that does not happen before that end. For a plain
//                         T on a stack not every checker sees the end, because the next frame reuses the place. Hand
//                         out `&*x`, not a reference to x. In real_sync it is a T.
//   current<T>(), set_current(p)
//                         a T* of the thread's own, null at first. In real_sync a `thread_local T*`; under a checker it
//                         belongs to the *modelled* thread, since all modelled threads share one thread's thread_local.
//   threads               optional: the team that gives a scheduler its threads (workers/thread_team.hpp), where they
//                         are not the system's.
//   allocate(bytes, alignment), deallocate(p, bytes, alignment)
//                         raw memory, such as for coroutine frames, watched as heap objects are. Give both calls the
//                         same bytes and alignment.
//   law(holds, what)      a law of the program: if it does not hold, fail(what). A checker counts how often laws were
//                         asked, and a check that never asks one is red.
//   fail(what)            reports and ends the run (under a checker, the execution). Checks use law instead.
//   reach(name)           under a checker, counts that an interesting branch was taken.
//   recheck(name)         true. A checker can be told to answer false, which leaves out one source of a sleeper's last
//                         look: `(Sync::recheck("io_sources.inbox") && !inbox.looks_empty()) || …`. Each source has a
//                         name of its own, and some check must fail without it.
//   checked               whether an engine watches the operations.
//
// A policy that is not checked also provides
//   local<T>()            a T& of the thread's own, which is T{} at first: a constant expression, with no destructor.
//   at_thread_exit<f>()   f() is called when the calling thread ends, once, however often this was said.
//
// A structure that has capacities or packed widths takes them as a second template parameter, `Limits`, so that one
// policy can check several widths.
#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>

#include <apiary/sync/stack_bounds.hpp>

namespace apiary {

// Whether each thread recycles what is allocated and freed all the time (tasks/task_storage.hpp, frame_storage.hpp).
// False: each block is an object of the policy's heap, so that a checker or a sanitizer sees its end. A policy says so
// of itself: one that derives from another does not inherit it.
template <class Sync>
inline constexpr bool recycles_memory = false;

template <class S>
concept sync_policy = requires(typename S::template atomic<std::uint64_t>& a, typename S::template cell<int>& c,
                               typename S::mutex& m, typename S::futex& f, std::uint64_t expected) {
    { S::checked } -> std::convertible_to<bool>;
    { S::site::current() };
    { a.load(std::memory_order_acquire) } -> std::same_as<std::uint64_t>;
    { a.store(1, std::memory_order_release) };
    { a.exchange(1, std::memory_order_acq_rel) } -> std::same_as<std::uint64_t>;
    {
        a.compare_exchange_strong(expected, 1, std::memory_order_acq_rel, std::memory_order_relaxed)
    } -> std::same_as<bool>;
    {
        a.compare_exchange_weak(expected, 1, std::memory_order_acq_rel, std::memory_order_relaxed)
    } -> std::same_as<bool>;
    { a.fetch_add(1, std::memory_order_relaxed) } -> std::same_as<std::uint64_t>;
    { S::fence(std::memory_order_seq_cst) };
    { S::fence_light() };
    { S::fence_heavy() };
    { c.read() } -> std::convertible_to<int>;
    { c.write(1) };
    { m.lock() };
    { m.unlock() };
    { f.load(std::memory_order_acquire) } -> std::same_as<std::uint32_t>;
    { f.exchange(1, std::memory_order_acq_rel) } -> std::same_as<std::uint32_t>;
    { f.wait(1U, S::forever) } -> std::same_as<bool>;
    { f.wake_one() };
    { f.wake_all() };
    { S::now_ns() } -> std::convertible_to<std::int64_t>;
    { S::relax() };
    { S::yield() };
    { S::sleep_ns(std::int64_t{1}) };
    { S::prefetch(&expected) };
    { S::prefetch_to_write(&expected) };
    { S::stack() } -> std::convertible_to<stack_bounds>;
    { S::recheck("structure.source") } -> std::same_as<bool>;
    { S::law(true, "what is wrong where it does not hold") };
} && requires(typename S::template scoped<std::uint64_t>& o, int* p) {
    { *o } -> std::same_as<std::uint64_t&>;
    { S::template current<int>() } -> std::same_as<int*>;
    { S::set_current(p) };
    { S::allocate(sizeof(int), alignof(int)) } -> std::same_as<void*>;
    { S::deallocate(p, sizeof(int), alignof(int)) };
};

}  // namespace apiary
