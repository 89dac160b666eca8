// time_calls: clocks, sleeps and yields, in virtual time. Every clock shows the same, but those of processor time,
// which are real.
#include <sched.h>
#include <sys/time.h>
#include <unistd.h>

#include "machine.hpp"
#include "times.hpp"

using namespace apiary::hunt;

namespace {

constexpr std::uint64_t for_a_look = 500;  // so that a loop that waits for a clock ends

// What is left of it where a signal was handled; else 0.
std::uint64_t sleep_until(std::uint64_t deadline, std::uintptr_t place) {
    const call here("sleep", place);
    if (!here) return 0;
    if (the_scheduler.now >= deadline) the_scheduler.yields(here.me());
    while (the_scheduler.now < deadline) {
        the_scheduler.wait(here.me(), &here.me(), deadline);
        if (here.me().signalled >= handled::restarts)
            return deadline > the_scheduler.now ? deadline - the_scheduler.now : 1;
    }
    return 0;
}
int is_over(std::uint64_t left, timespec* rest) {
    if (left == 0) return 0;
    if (rest != nullptr) *rest = {static_cast<time_t>(left / second), static_cast<long>(left % second)};
    return EINTR;
}
int failed(int error) {
    if (error == 0) return 0;
    errno = error;
    return -1;
}

}  // namespace

extern "C" {

int nanosleep(const timespec* t, timespec* rest) { return failed(is_over(sleep_until(after(t), CALLER), rest)); }
int clock_nanosleep(clockid_t, int how, const timespec* t, timespec* rest) {
    const bool to_a_point = (how & TIMER_ABSTIME) != 0;
    return is_over(sleep_until(to_a_point ? until(t) : after(t), CALLER), to_a_point ? nullptr : rest);
}
int usleep(useconds_t n) {
    return failed(is_over(sleep_until(the_scheduler.now + std::uint64_t{n} * 1000, CALLER), nullptr));
}
unsigned sleep(unsigned n) {
    return static_cast<unsigned>((sleep_until(the_scheduler.now + n * second, CALLER) + second - 1) / second);
}
int sched_yield() noexcept {
    const call here("yield", CALLER);
    if (here) the_scheduler.yields(here.me());
    return 0;
}
int sched_getcpu() noexcept { return program_calls() != nullptr ? static_cast<int>(running->id() % 2) : 0; }

int clock_gettime(clockid_t which, timespec* t) noexcept {
    if (which == CLOCK_THREAD_CPUTIME_ID) program_asks_for_its_own();
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
