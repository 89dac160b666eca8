// time_calls: clocks, sleeps and yields, in virtual time. Every clock shows the same, but those of processor time, which are real.
#include <sched.h>
#include <sys/time.h>
#include <unistd.h>

#include "machine.hpp"
#include "times.hpp"

using namespace apiary::hunt;

namespace {

constexpr std::uint64_t for_a_look = 500;  // so that a loop that waits for a clock ends

int sleep_until(std::uint64_t deadline, std::uintptr_t place) {
    const call here("sleep", place);
    if (!here) return 0;
    if (the_scheduler.now < deadline)
        the_scheduler.wait(here.me(), &here.me(), deadline);
    else
        the_scheduler.yields(here.me());
    return 0;
}

}  // namespace

extern "C" {

int nanosleep(const timespec* t, timespec*) { return sleep_until(after(t), CALLER); }
int clock_nanosleep(clockid_t, int how, const timespec* t, timespec*) {
    return sleep_until((how & TIMER_ABSTIME) != 0 ? until(t) : after(t), CALLER);
}
int usleep(useconds_t n) { return sleep_until(the_scheduler.now + std::uint64_t{n} * 1000, CALLER); }
unsigned sleep(unsigned n) {
    sleep_until(the_scheduler.now + n * second, CALLER);
    return 0;
}
int sched_yield() noexcept {
    const call here("yield", CALLER);
    if (here) the_scheduler.yields(here.me());
    return 0;
}
int sched_getcpu() noexcept { return program_calls() != nullptr ? static_cast<int>(running->id() % 2) : 0; }

int clock_gettime(clockid_t which, timespec* t) noexcept {
    if (program_calls() == nullptr || which == CLOCK_PROCESS_CPUTIME_ID || which == CLOCK_THREAD_CPUTIME_ID)
        return static_cast<int>(machine::answered(machine::call(SYS_clock_gettime, which, machine::word(t))));
    the_scheduler.looked_at_clock(for_a_look);
    t->tv_sec = static_cast<time_t>(first_second + the_scheduler.now / second);
    t->tv_nsec = static_cast<long>(the_scheduler.now % second);
    return 0;
}
int gettimeofday(timeval* to, void*) noexcept {
    timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    to->tv_sec = t.tv_sec;
    to->tv_usec = t.tv_nsec / 1000;
    return 0;
}
time_t time(time_t* to) noexcept {
    timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    if (to != nullptr) *to = t.tv_sec;
    return t.tv_sec;
}
}
