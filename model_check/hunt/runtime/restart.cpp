// restart: see the header.
#include "restart.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <ucontext.h>

#include <cstdlib>
#include <cstring>

#include "heap.hpp"
#include "machine.hpp"
#include "scheduler.hpp"
#include "shadow.hpp"
#include "thread_calls.hpp"

namespace apiary::hunt {

restart the_restart;

namespace {

constexpr std::size_t most_ranges = 128, most_bytes = 1 << 20, most_zeroed = 256 << 10, page = 4096;
constexpr int most_files = 256, most_signals = 32;

struct range {
    std::uintptr_t begin;
    std::size_t bytes;
};

// What the process has beside its memory.
struct kernel_state {
    struct {
        std::uintptr_t handler, flags, restorer, mask;
    } actions[most_signals];
    std::uint64_t blocked;
    stack_t handlers_stack;
    unsigned char is_open[most_files];
    long pages;  // mapped, but for what the runtime maps as the program goes
    bool operator==(const kernel_state& other) const { return std::memcmp(this, &other, sizeof other) == 0; }
};

// In memory that stays as it is.
struct kept_memory {
    ucontext_t start, restores;
    kernel_state before, now;
    pollfd files[most_files];
    range ranges[most_ranges];
    std::size_t count, bytes;
    std::uintptr_t lowest_of_stack, top_of_heap;
    char text[64 << 10];
    alignas(16) char stack[64 << 10];
    char copies[most_bytes];
};
kept_memory* memory() { return reinterpret_cast<kept_memory*>(machine::of_restart); }

long pages_mapped(char* text, std::size_t room) {
    const long file = machine::call(SYS_open, machine::word("/proc/self/statm"), O_RDONLY | O_CLOEXEC);
    const long got = file >= 0 ? machine::call(SYS_read, file, machine::word(text), static_cast<long>(room - 1)) : 0;
    machine::call(SYS_close, file);
    text[got > 0 ? got : 0] = '\0';
    return std::strtol(text, nullptr, 10) - static_cast<long>((the_shadow.bytes_mapped() + bytes_of_stacks()) / page);
}

void look(kernel_state& state, kept_memory& m) {
    machine::fill(&state, 0, sizeof state);
    for (int i = 1; i < most_signals; ++i)
        machine::call(SYS_rt_sigaction, i, 0, machine::word(&state.actions[i]), sizeof state.blocked);
    machine::call(SYS_rt_sigprocmask, SIG_BLOCK, 0, machine::word(&state.blocked), sizeof state.blocked);
    machine::call(SYS_sigaltstack, 0, machine::word(&state.handlers_stack));
    for (int i = 0; i < most_files; ++i) m.files[i] = {i, 0, 0};
    machine::call(SYS_poll, machine::word(m.files), most_files, 0);
    for (int i = 0; i < most_files; ++i) state.is_open[i] = (m.files[i].revents & POLLNVAL) == 0;
    state.pages = pages_mapped(m.text, sizeof m.text);
}

bool add(kept_memory& m, std::uintptr_t begin, std::uintptr_t end) {
    if (begin >= end) return true;
    if (m.count == most_ranges || m.bytes + (end - begin) > most_bytes) return false;
    m.ranges[m.count++] = {begin, end - begin};
    m.bytes += end - begin;
    return true;
}

// The private ranges that can be written, as the kernel lists them. False: they are too many, or too large.
bool find_ranges(kept_memory& m, std::uintptr_t stack) {
    const long file = machine::call(SYS_open, machine::word("/proc/self/maps"), O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    std::size_t length = 0;
    for (long got = 1; got > 0 && length + 1 < sizeof m.text; length += static_cast<std::size_t>(got > 0 ? got : 0))
        got = machine::call(SYS_read, file, machine::word(m.text + length), static_cast<long>(sizeof m.text - length - 1));
    machine::call(SYS_close, file);
    if (length + 1 >= sizeof m.text) return false;
    m.text[length] = '\0';
    for (const char* line = m.text; *line != '\0';) {
        char* rest = nullptr;
        std::uintptr_t begin = std::strtoull(line, &rest, 16);
        const std::uintptr_t end = std::strtoull(rest + 1, &rest, 16);
        const bool changes = rest[2] == 'w' && rest[4] == 'p';
        if (begin <= stack && stack < end) {
            m.lowest_of_stack = begin;
            begin = stack;
        }
        const bool ours = (begin >= machine::first_of_ours && begin < machine::last_of_ours) ||
                          program_heap.reserves(begin) || own_heap.reserves(begin);
        if (changes && !ours && !add(m, begin, end))
            return false;
        line = std::strchr(line, '\n');
        if (line++ == nullptr) break;
    }
    m.top_of_heap = program_heap.top();
    return add(m, program_heap.begin(), m.top_of_heap) && add(m, own_heap.begin(), own_heap.top());
}

void forget(std::uintptr_t begin, std::uintptr_t end) {
    if (begin >= end) return;
    const std::uintptr_t whole = (begin + page - 1) & ~(page - 1);
    if (end - begin <= most_zeroed) {
        machine::fill(reinterpret_cast<void*>(begin), 0, end - begin);
        return;
    }
    machine::fill(reinterpret_cast<void*>(begin), 0, whole - begin);
    machine::call(SYS_madvise, static_cast<long>(whole), static_cast<long>(end - whole), MADV_DONTNEED);
}

// On a stack of its own. Between the first copy and the last line nothing of the runtime's data may be asked for.
void restores() {
    kept_memory& m = *memory();
    forget(m.top_of_heap, program_heap.top());
    unmap_stacks();
    the_shadow.forget_everything();
    const std::uintptr_t stack = static_cast<std::uintptr_t>(m.start.uc_mcontext.gregs[REG_RSP]) - 128,
                         near = (stack - (16 << 10)) & ~(page - 1);
    const char* from = m.copies;
    for (std::size_t i = 0; i < m.count; ++i) {
        machine::copy(reinterpret_cast<void*>(m.ranges[i].begin), from, m.ranges[i].bytes);
        from += m.ranges[i].bytes;
    }
    // What earlier calls left below the stack's end is not the program's to find.
    machine::fill(reinterpret_cast<void*>(near), 0, stack - near);
    machine::call(SYS_madvise, static_cast<long>(m.lowest_of_stack), static_cast<long>(near - m.lowest_of_stack),
                  MADV_DONTNEED);
    setcontext(&m.start);
}

}  // namespace

void restart::goes_back() {
    kept_memory& m = *memory();
    getcontext(&m.restores);
    m.restores.uc_stack.ss_sp = m.stack;
    m.restores.uc_stack.ss_size = sizeof m.stack;
    m.restores.uc_link = nullptr;
    makecontext(&m.restores, restores, 0);
    setcontext(&m.restores);
}

bool restart::keep() {
    machine::map(sizeof(kept_memory), machine::of_restart);
    kept_memory& m = *memory();
    kept_ = true;
    getcontext(&m.start);
    if (m.count != 0) return true;
    if (!find_ranges(m, static_cast<std::uintptr_t>(m.start.uc_mcontext.gregs[REG_RSP]) - 128)) return kept_ = false;
    look(m.before, m);
    char* to = m.copies;
    for (std::size_t i = 0; i < m.count; ++i) {
        machine::copy(to, reinterpret_cast<void*>(m.ranges[i].begin), m.ranges[i].bytes);
        to += m.ranges[i].bytes;
    }
    goes_back();  // as each other run begins
    return false;
}

bool restart::can_go_back() {
    if (!kept_ || cannot_ || running->ended || !the_scheduler.active || the_scheduler.has_children || !the_scheduler.is_last(*running) || !the_scheduler.mappings.empty()) return false;
    kept_memory& m = *memory();
    look(m.now, m);
    int status = 0;
    return m.now == m.before && machine::call(SYS_wait4, -1, machine::word(&status), WNOHANG) == -ECHILD;
}

}  // namespace apiary::hunt
