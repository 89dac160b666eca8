// kernel_calls: futex and membarrier, which have no function in the library: programs ask for them by syscall.
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <signal.h>
#include <unistd.h>

#include <cstdarg>

#include "machine.hpp"
#include "restart.hpp"
#include "shadow.hpp"
#include "signal_calls.hpp"
#include "times.hpp"

using namespace apiary::hunt;

namespace {

// The kernel's look at the word and its lock are full fences. What it reads is the newest store.
long futex(const call& here, std::uint32_t* word, long operation, std::uint32_t value, const timespec* t) {
    const int what = static_cast<int>(operation & FUTEX_CMD_MASK);
    lock_state& queue = the_shadow.lock_at(word);
    switch (what) {
        case FUTEX_WAIT:
        case FUTEX_WAIT_BITSET: {
            the_scheduler.memory.fence(here.sees(), __ATOMIC_SEQ_CST);
            const std::uint64_t deadline = what == FUTEX_WAIT ? after(t) : until(t);
            if (*word != value) return -EAGAIN;
            if (the_scheduler.ends_for_no_reason(here.me())) return -EINTR;
            for (;;) {
                thread& me = here.me();
                if (the_scheduler.now >= deadline || !the_scheduler.wait(me, &queue, deadline)) return -ETIMEDOUT;
                if (!me.interrupted) return 0;
                if (me.signalled == handled::ends || (me.signalled == handled::restarts && deadline != forever))
                    return -EINTR;
                the_scheduler.memory.fence(here.sees(), __ATOMIC_SEQ_CST);
                if (*word != value) return -EAGAIN;  // the call begins anew
            }
        }
        case FUTEX_WAKE:
        case FUTEX_WAKE_BITSET: {
            the_scheduler.memory.fence(here.sees(), __ATOMIC_SEQ_CST);
            the_scheduler.changed(here.me());
            long woken = 0;
            for (auto left = static_cast<int>(value); left > 0 && the_scheduler.wake_one(&queue); --left) ++woken;
            return woken;
        }
        default:
            say("not supported: futex operation %d\n", what);
            tell_stack(here.me(), here.me().doing_at);
            found(ending::refused);
    }
}

long membarrier(const call& here, long command) {
    constexpr long supported = MEMBARRIER_CMD_GLOBAL | MEMBARRIER_CMD_GLOBAL_EXPEDITED |
                               MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED | MEMBARRIER_CMD_PRIVATE_EXPEDITED |
                               MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED;
    if (command == MEMBARRIER_CMD_QUERY) return supported;
    if ((command & supported) != command) return -EINVAL;
    the_scheduler.changed(here.me());
    if ((command & (MEMBARRIER_CMD_GLOBAL | MEMBARRIER_CMD_GLOBAL_EXPEDITED | MEMBARRIER_CMD_PRIVATE_EXPEDITED)) != 0)
        the_scheduler.heavy_fence();
    return 0;
}

}  // namespace

extern "C" pid_t gettid() noexcept {
    const thread* const t = program_calls();
    return static_cast<pid_t>(t != nullptr ? t->kernel_id : machine::call(SYS_gettid));
}
extern "C" long syscall(long number, ...) noexcept {
    va_list rest;
    va_start(rest, number);
    long a[6];
    for (long& one : a) one = va_arg(rest, long);
    va_end(rest);
    if (number == SYS_tgkill) return machine::answered(tgkill_of(a[0], a[1], a[2], "tgkill", CALLER));
    if (number == SYS_tkill)
        return machine::answered(tgkill_of(machine::call(SYS_getpid), a[0], a[1], "tkill", CALLER));
    if (number == SYS_kill) return kill(static_cast<pid_t>(a[0]), static_cast<int>(a[1]));
    if (number == SYS_rt_tgsigqueueinfo || number == SYS_rt_sigqueueinfo) {
        const call here("sigqueue", CALLER);
        if (here) refuse(here, "sigqueue, by syscall");
    }
    if (number != SYS_futex && number != SYS_membarrier && number != SYS_gettid) the_restart.cannot();
    if (number == SYS_gettid) return gettid();
    if (number != SYS_futex && number != SYS_membarrier) {
        program_asks_for_its_own();
        return machine::answered(machine::call(number, a[0], a[1], a[2], a[3], a[4], a[5]));
    }
    long result = 0;
    if (number == SYS_membarrier) {
        const call here("membarrier", CALLER);
        result = here ? membarrier(here, a[0]) : machine::call(number, a[0], a[1], a[2]);
    } else {
        const bool waits = (a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT || (a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
        const call here(waits ? "futex wait" : "futex wake", CALLER, reinterpret_cast<void*>(a[0]));
        if (here)
            result = futex(here, reinterpret_cast<std::uint32_t*>(a[0]), a[1], static_cast<std::uint32_t>(a[2]),
                           reinterpret_cast<const timespec*>(a[3]));
    }
    return machine::answered(result);
}
