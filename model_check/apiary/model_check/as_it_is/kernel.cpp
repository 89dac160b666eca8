// kernel: what a program asks of the kernel, as operations of the explorer: futexes, membarrier,
// clocks and sleeps.
//
// A futex's queue stands apart from its word. The kernel compares and enqueues in one step: a
// thread that enters the queue and still sees the old value may sleep. Here it looks first (another
// value: it does not sleep), enters, passes a fence, and must see the value again; an execution in
// which it does not is none, because the first look could have read the newer value. A waker passes
// a fence between its store and the queue. So not both miss each other. Both fences are seq_cst
// ones, as the kernel's barriers are: they make no other thread pass one.
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdint>
#include <ctime>

#include <apiary/model_check/as_it_is/before_main.hpp>
#include <apiary/model_check/as_it_is/calls.hpp>
#include <apiary/model_check/as_it_is/image.hpp>
#include <apiary/model_check/as_it_is/places.hpp>
#include <apiary/model_check/never_reached.hpp>

namespace apiary::model::as_it_is {

namespace {
// Every clock counts from here.
constexpr std::int64_t first_second = 1'000'000, second = 1'000'000'000;

bool is_before_main() { return !in_program && a_global_is_made(); }
std::int64_t& clock_of_this_thread() { return is_before_main() ? clock_from_before() : the_runtime().clock(); }

// Nanoseconds, or the last moment that they can name.
std::int64_t span(std::int64_t seconds, std::int64_t nanoseconds) {
    return seconds < never / second ? seconds * second + nanoseconds : never - 1;
}
}  // namespace

std::int64_t deadline_at(const timespec* t) {
    return t == nullptr ? never : span(t->tv_sec - first_second, t->tv_nsec);
}
std::int64_t deadline_after(const timespec* t) {
    if (t == nullptr) return never;
    const std::int64_t now = clock_of_this_thread(), most = never - 1 - now, wanted = span(t->tv_sec, t->tv_nsec);
    return now + (wanted < most ? wanted : most);
}
bool has_passed(std::int64_t deadline) { return deadline <= clock_of_this_thread(); }
void sleep_until(std::int64_t deadline) {
    if (!has_passed(deadline)) clock_of_this_thread() = deadline;
}

bool lock_until(explorer::object& lock, std::int64_t deadline, const explorer::code_place& at) {
    if (has_passed(deadline)) return explorer::try_lock(lock, at);
    if (explorer::lock_or_give_up(lock, at)) return true;
    sleep_until(deadline);
    return false;
}

void kernel_is_linked() {}

}  // namespace apiary::model::as_it_is

namespace {

using namespace apiary::model::as_it_is;
using apiary::model::came_to_asks;
using apiary::model::came_to_waits;
namespace ex = apiary::model::explorer;

#define CALLER __builtin_return_address(0)

int futex_wait(std::uint32_t* word, std::uint32_t expected, std::int64_t deadline, void* pc) {
    runtime& r = the_runtime();
    const ex::code_place& at = place_of_call(pc);
    const auto look = [&]() -> ex::object& {
        return r.locate(number(word), 4, role::atomic, access_kind::atomic_read, pc);
    };
    r.came_to(came_to_asks, pc);
    if (ex::load(look(), std::memory_order_relaxed, at) != expected) return EAGAIN;
    if (has_passed(deadline)) return ETIMEDOUT;
    r.came_to(came_to_waits, pc);
    ex::enter_queue(futex_at(word, pc), at);
    ex::fence(std::memory_order_seq_cst, at);
    const ex::predicate same{[](const void* e, std::uint64_t v) { return v == *static_cast<const std::uint32_t*>(e); },
                             &expected};
    ex::wait_until(look(), same, std::memory_order_relaxed, at, "futex compares", true);
    if (ex::block_in_queue(futex_at(word, pc), deadline != never, at)) return 0;
    sleep_until(deadline);
    return ETIMEDOUT;
}

long futex_wake(std::uint32_t* word, int most, void* pc) {
    const ex::code_place& at = place_of_call(pc);
    ex::fence(std::memory_order_seq_cst, at);
    ex::object& queue = futex_at(word, pc);
    if (most >= static_cast<int>(ex::max_threads)) return ex::notify_all(queue, at);
    long woken = 0;
    while (most-- > 0) woken += ex::notify_one(queue, at);
    return woken;
}

void show(std::int64_t& clock, timespec* out) {
    clock += 1000;
    out->tv_sec = first_second + clock / second;
    out->tv_nsec = clock % second;
}

// Only the commands that are a fence order anything.
long membarrier(long command, void* pc) {
    constexpr long fences = MEMBARRIER_CMD_PRIVATE_EXPEDITED | MEMBARRIER_CMD_GLOBAL_EXPEDITED;
    constexpr long announcements = MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED | MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED;
    if (command == MEMBARRIER_CMD_QUERY) return fences | announcements;
    if (command == MEMBARRIER_CMD_PRIVATE_EXPEDITED || command == MEMBARRIER_CMD_GLOBAL_EXPEDITED)
        ex::fence_heavy(place_of_call(pc));
    else if (command != MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED &&
             command != MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED)
        the_runtime().refuse("membarrier command " + std::to_string(command), pc);
    return 0;
}

}  // namespace

extern "C" {

int nanosleep(const timespec* t, timespec*) {
    if (!in_program && !is_before_main()) return 0;
    const outside_program now;
    sleep_until(deadline_after(t));
    return 0;
}
int clock_nanosleep(clockid_t, int flags, const timespec* t, timespec*) {
    if (!in_program && !is_before_main()) return 0;
    const outside_program now;
    sleep_until((flags & TIMER_ABSTIME) != 0 ? deadline_at(t) : deadline_after(t));
    return 0;
}
int usleep(useconds_t n) {
    const timespec t{n / 1'000'000, static_cast<long>(n % 1'000'000) * 1000};
    return nanosleep(&t, nullptr);
}
unsigned sleep(unsigned n) {
    const timespec t{n, 0};
    nanosleep(&t, nullptr);
    return 0;
}

long syscall(long which, ...) {
    std::va_list list;
    va_start(list, which);
    long a[6];
    for (long& x : a) x = va_arg(list, long);
    va_end(list);
    if (!in_program) {
        long result = 0;
        register long r10 __asm__("r10") = a[3];
        register long r8 __asm__("r8") = a[4];
        register long r9 __asm__("r9") = a[5];
        __asm__ volatile("syscall"
                         : "=a"(result)
                         : "a"(which), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
                         : "rcx", "r11", "memory");
        if (result >= 0 || result < -4095) return result;
        errno = static_cast<int>(-result);
        return -1;
    }
    int error = 0;
    long result = 0;
    {
        const outside_program now;
        runtime& r = the_runtime();
        r.effect();
        auto* const word = reinterpret_cast<std::uint32_t*>(a[0]);
        const long operation = a[1] & FUTEX_CMD_MASK;
        if (which == SYS_membarrier)
            result = membarrier(a[0], CALLER);
        else if (which != SYS_futex)
            r.refuse("system call " + std::to_string(which), CALLER);
        else if ((operation == FUTEX_WAIT_BITSET || operation == FUTEX_WAKE_BITSET) &&
                 static_cast<std::uint32_t>(a[5]) != FUTEX_BITSET_MATCH_ANY)
            r.refuse("a futex with a mask", CALLER);
        else if (operation == FUTEX_WAIT)
            error = futex_wait(word, static_cast<std::uint32_t>(a[2]),
                               deadline_after(reinterpret_cast<const timespec*>(a[3])), CALLER);
        else if (operation == FUTEX_WAIT_BITSET)
            error = futex_wait(word, static_cast<std::uint32_t>(a[2]),
                               deadline_at(reinterpret_cast<const timespec*>(a[3])), CALLER);
        else if (operation == FUTEX_WAKE || operation == FUTEX_WAKE_BITSET)
            result = futex_wake(word, static_cast<int>(a[2]), CALLER);
        else
            r.refuse("futex operation " + std::to_string(operation), CALLER);
    }
    if (error == 0) return result;
    errno = error;
    return -1;
}

// A clock of the thread's own, which moves by a microsecond whenever it is asked.
int clock_gettime(clockid_t which, timespec* out) {
    if (is_before_main()) {
        show(clock_from_before(), out);
        return 0;
    }
    if (!in_program) {
        long result = 0;
        __asm__ volatile("syscall"
                         : "=a"(result)
                         : "a"(SYS_clock_gettime), "D"(which), "S"(out)
                         : "rcx", "r11", "memory");
        return static_cast<int>(result);
    }
    const outside_program now;
    the_runtime().effect();
    show(clock_of_this_thread(), out);
    return 0;
}
}
