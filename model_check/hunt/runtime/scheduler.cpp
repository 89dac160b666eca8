// scheduler: see the header.
#include "scheduler.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>

#include <cerrno>
#include <ranges>

#include "machine.hpp"
#include "thread_calls.hpp"

namespace apiary::hunt {

constinit thread_local thread* running = nullptr;
alignas(scheduler) char room_of_the_scheduler[sizeof(scheduler)] asm("apiary_hunt_scheduler");
void make_the_scheduler() { new (room_of_the_scheduler) scheduler; }

extern "C" char __executable_start;
// A debugger's breakpoint: the operation of the step that was asked for comes next.
extern "C" [[gnu::noinline]] void apiary_hunt_stops_here() { asm volatile(""); }

void tell_stack(const thread& t, std::uintptr_t place) {
    say("      at %#lx\n", place);
    const std::uint32_t known = t.depth < thread::most_calls ? t.depth : thread::most_calls;
    for (std::uint32_t i = known, told = 0; i-- > 0 && told < 12; ++told) say("      by %#lx\n", t.calls[i] - 1);
}

void scheduler::begin(std::uint64_t seed, const wanted& w, std::uint64_t length, const decision_list* list) {
    random.seed(seed);
    if (seed != 0) plan = draw_strategy(random, w, length);
    if (list != nullptr) {
        taken.follow(list->all.data(), list->all.size());
        plan.how = schedule::told;
        plan.patient = list->patient;
        plan.uses_blocks_again = list->uses_blocks_again;
    }
    program_heap.use_again(plan.uses_blocks_again);
    thread& t = add_thread(nullptr);
    t.kernel_id = machine::call(SYS_gettid);
    t.handle = pthread_self();
    t.here.base = reinterpret_cast<void*>(t.handle);
    on_ = &t;
    running = &t;
    tells_its_end(t);
    active = true;
}

thread& scheduler::add_thread(thread* parent) {
    thread& t = *make_own<thread>();
    t.sees.id = static_cast<std::uint32_t>(threads.size());
    if (parent != nullptr) {
        t.sees.happened.join(parent->sees.happened);
        t.processors = parent->processors;
    }
    t.sees.happened.set(t.id(), 1);
    t.priority = drawn_priority();
    threads.push_back(&t);
    ++report->threads;
    return t;
}

void scheduler::begins(thread& t) {
    t.kernel_id = machine::call(SYS_gettid);
    t.inside = true;
    running = &t;
    if (swaps) {
        t.here.base = reinterpret_cast<void*>(pthread_self());
        apiary_hunt_parks(&t.here, &t.is_there, &t.baton);
        came();
    } else {
        take_baton(t);
    }
    t.inside = false;
}

void scheduler::ends(thread& t) {
    if (!t.signals.empty()) take_signals(t);
    t.inside = true;
    report->steps++;
    changed(t);
    new_row(t.id(), "ends", 0, t.doing_at);
    t.ended = true;
    t.runnable = false;
    t.sees.happened.tick(t.id());
    wake_all(&t);
    exits_ = &t;
    bool others = false;
    for (const thread* one : threads) others |= !one->ended;
    if (!others) return;  // the library ends the process with its last thread
    thread& next = pick(t);
    if (swaps) wait_until_there(next);
    if (!swaps || on_ == &t) {
        on_ = &next;
        give_baton(next);
        return;
    }
    ++report->switches;
    leaves_ = true;
    apiary_hunt_swaps(&t.here, &next.here);  // returns in its own kernel's thread
}

void scheduler::take_baton(thread& t) {
    while (__atomic_load_n(&t.baton, __ATOMIC_ACQUIRE) == 0)
        machine::call(SYS_futex, machine::word(&t.baton), FUTEX_WAIT_PRIVATE, 0);
    t.baton = 0;
    wait_for_exit();
}
void scheduler::wait_until_there(thread& t) {
    while (t.id() != 0 && __atomic_load_n(&t.is_there, __ATOMIC_ACQUIRE) == 0)
        machine::call(SYS_futex, machine::word(&t.is_there), FUTEX_WAIT_PRIVATE, 0);
}
void scheduler::came() {
    if (leaves_) {
        leaves_ = false;
        __atomic_store_n(&exits_->baton, 1, __ATOMIC_RELEASE);
        machine::call(SYS_futex, machine::word(&exits_->baton), FUTEX_WAKE_PRIVATE, 1);
    }
    wait_for_exit();
}
// The process's first, which is there for as long as the process.
bool scheduler::is_zombie(const thread& t) {
    if (t.id() != 0) return false;
    char text[256];
    const long file = machine::call(SYS_open, machine::word("/proc/thread-self/../../stat"), O_RDONLY | O_CLOEXEC);
    const long got = machine::call(SYS_read, file, machine::word(text), sizeof text);
    machine::call(SYS_close, file);
    for (long i = 0; i + 2 < got; ++i)
        if (text[i] == ')') return text[i + 2] == 'Z';
    return false;
}
// What its exit still frees comes before whatever the next one allocates, each time.
void scheduler::wait_for_exit() {
    if (exits_ == nullptr) return;
    const long process = machine::call(SYS_getpid);
    while (machine::call(SYS_tgkill, process, exits_->kernel_id, 0) == 0 && !is_zombie(*exits_))
        machine::call(SYS_sched_yield);
    exits_ = nullptr;
}
void scheduler::give_baton(thread& t) {
    ++report->switches;
    __atomic_store_n(&t.baton, 1, __ATOMIC_RELEASE);
    machine::call(SYS_futex, machine::word(&t.baton), FUTEX_WAKE_PRIVATE, 1);
}
void scheduler::switch_to(thread& me, thread& next) {
    if (&next == &me) return;
    remember(next.id() + 1000);
    if (!swaps) {
        give_baton(next);
        return take_baton(me);
    }
    ++report->switches;
    wait_until_there(next);
    apiary_hunt_swaps(&me.here, &next.here);
    came();
}

void scheduler::make_runnable(thread& t) {
    t.runnable = true;
    t.waits_for = nullptr;
    t.held_by = 0;
    if (t.files == nullptr) return;
    t.files = nullptr;
    --on_files_;
}

// A deadline that comes while another thread could run is early, since no machine has to be so slow; not so if all that
// others do is to spin.
void scheduler::wake_due(bool only_spinning) {
    bool early = false;
    for (const thread* t : threads) early |= !only_spinning && t->runnable && !t->ended;
    next_deadline_ = forever;
    for (file_timer& timer : timers) {
        std::uint64_t expirations = 0;
        for (; timer.deadline <= now; ++expirations)
            timer.deadline = timer.interval != 0 ? timer.deadline + timer.interval : forever;
        if (expirations != 0) machine::call(SYS_write, timer.file, machine::word(&expirations), sizeof expirations);
        armed(timer.deadline);
    }
    if (!timers.empty() && on_files_ != 0) look_at_files(0);
    for (thread* t : threads) {
        if (t->ended || t->runnable || t->deadline == forever) continue;
        if (t->deadline > now) {
            if (t->deadline < next_deadline_) next_deadline_ = t->deadline;
            continue;
        }
        t->timed_out = true;
        if (early) ++report->early_ends;
        changed(*t);
        make_runnable(*t);
    }
}

bool scheduler::look_at_files(int milliseconds) {
    static constexpr std::uint32_t most = 256;
    pollfd all[most];
    std::uint32_t n = 0;
    const auto each = [&](auto&& use) {
        for (thread* t : threads)
            if (t->files != nullptr && !t->runnable && !t->ended) use(*t);
    };
    each([&](thread& t) {
        for (std::uint32_t i = 0; i < t.file_count && n < most; ++i) all[n++] = t.files[i];
    });
    if (n == 0 || machine::call(SYS_poll, machine::word(all), n, milliseconds) <= 0) return false;
    bool any = false;
    n = 0;
    each([&](thread& t) {
        bool ready = false;
        for (std::uint32_t i = 0; i < t.file_count && n < most; ++i) ready |= all[n++].revents != 0;
        if (!ready) return;
        make_runnable(t);
        any = true;
    });
    return any;
}

thread& scheduler::pick(thread& me, bool stays) {
    if (!stays) ++me.operations;  // a decision of its own, beside that before the operation
    for (int tries = 0;; ++tries) {
        if (now >= next_deadline_ && !plan.patient) wake_due();
        if (on_files_ != 0 && (tries != 0 || report->steps % 8 == 0)) look_at_files(0);
        thread *best = nullptr, *usual = nullptr;
        std::uint64_t count = 0;
        for (thread* t : threads) {
            if (t->ended || !t->runnable) continue;
            ++count;
            if (usual == nullptr || (usual->id() <= me.id() && t->id() > me.id())) usual = t;
            if (plan.how == schedule::pct || plan.how == schedule::pos ? best == nullptr || t->priority > best->priority
                                                                       : random.one_in(count))
                best = t;
        }
        if (usual != nullptr) {
            if (stays) usual = &me;
            if (plan.how == schedule::quiet) return *usual;
            thread& chosen =
                *threads[taken.decided(me.id(), me.operations, decision::switches, usual->id(), best->id()) %
                         threads.size()];
            return chosen.runnable && !chosen.ended ? chosen : *usual;
        }
        if (on_files_ != 0 && look_at_files(0)) continue;  // before time goes on
        wake_due();
        bool woken = false;
        for (thread* t : threads) woken |= t->runnable;
        if (woken) continue;
        if (next_deadline_ != forever) {  // and no further: a thread that was just woken may end what waits for longer
            if (next_deadline_ > now) now = next_deadline_;
            continue;
        }
        if (on_files_ != 0 && (has_children || tries < 20)) {  // another process may write
            look_at_files(100);
            continue;
        }
        me.inside = true;
        say("deadlock: every thread waits\n");
        tell_threads();
        found(ending::deadlock);
    }
}

// They wait for the thread that sleeps, and time goes on to its deadline. One that looks at the clock meanwhile may
// have a nearer one of its own, which the scheduler does not know: for these time goes on in steps, each twice the one
// before, and they run between. A poll that ends by a count waits for nobody: its turn comes late.
void scheduler::all_spin(thread& t, std::uintptr_t place) {
    if (looked_at_clock_) {
        if (quiet_ % between_steps != 0) return;
        const std::uint64_t doublings = (quiet_ - spinning) / between_steps,
                            step = least_step << (doublings < 40 ? doublings : 40);
        now = now + step < next_deadline_ ? now + step : next_deadline_;
    } else if (now < next_deadline_ && (all_repeat(t, place) || quiet_ > long_spinning)) {
        now = next_deadline_;
    }
    if (now >= next_deadline_) wake_due(true);
}

// Each thread that runs has come back to a state of its own since the quiet became long.
bool scheduler::all_repeat(thread& t, std::uintptr_t place) {
    if (repeat_since_ != changes_)
        for (thread* one : threads) one->again.forget();
    repeat_since_ = changes_;
    if (!t.again.at(place)) return false;
    for (const thread* one : threads)
        if (one->runnable && !one->ended && !one->again.found()) return false;
    return true;
}

void scheduler::draw_anew(std::uintptr_t object, thread& but) {
    for (thread* t : threads)
        if (t->next_object == object && t != &but) t->priority = drawn_priority();
}

void scheduler::yields(thread& t) {
    if (plan.how == schedule::pct || plan.how == schedule::pos) fall(t);
    switch_to(t, pick(t));
}

void scheduler::signals(thread& from, thread& to, int signal) {
    needs_own_threads();
    changed(from);
    sent* same = nullptr;  // two of one number that wait to be taken are one, but those of real time
    for (sent& one : to.signals)
        if (one.signal == signal && signal < SIGRTMIN) same = &one;
    if (same == nullptr) {
        to.signals.push_back({signal, {}});
        same = &to.signals.back();
    }
    weak_memory::release(from.sees, same->told);
    if (to.runnable || to.ended) return;
    make_runnable(to);
    to.interrupted = true;
}

// It sends them to itself: the kernel runs the handler, keeps what is blocked, or ends the process.
void scheduler::take_signals(thread& t) {
    struct {  // as the kernel has it
        void (*handler)(int);
        unsigned long flags;
        void (*restorer)();
        std::uint64_t mask;
    } how{};
    constexpr long set_bytes = 8;
    const char* const doing = t.doing;
    const std::uintptr_t doing_at = t.doing_at;
    const bool was_inside = t.inside;
    handled strictest = handled::ignored;
    const bool timed_out = t.timed_out, interrupted = t.interrupted;  // handlers wait, too
    while (!t.signals.empty()) {
        const int signal = t.signals.front().signal;
        std::uint64_t blocked = 0;
        machine::call(SYS_rt_sigaction, signal, 0, machine::word(&how), set_bytes);
        machine::call(SYS_rt_sigprocmask, SIG_BLOCK, 0, machine::word(&blocked), set_bytes);
        const bool is_blocked = (blocked >> (signal - 1) & 1) != 0;
        const bool is_handled = how.handler != SIG_DFL && how.handler != SIG_IGN;
        // Only a handler knows what the sender did. The end of one lets through what it blocked, unseen.
        if (is_blocked) t.told.join(t.signals.front().told);
        if (is_handled && (!is_blocked || t.handlers != 0)) weak_memory::acquire(t.sees, t.signals.front().told);
        t.signals.erase(t.signals.begin());
        t.inside = false;
        ++t.handlers;
        machine::call(SYS_tgkill, machine::call(SYS_getpid), t.kernel_id, signal);
        --t.handlers;
        t.inside = true;
        if (!is_handled || is_blocked) continue;
        const handled wish = (how.flags & SA_RESTART) != 0 ? handled::restarts : handled::ends;
        if (wish > strictest) strictest = wish;
    }
    t.inside = was_inside;
    t.signalled = strictest;
    t.timed_out = timed_out;
    t.interrupted = interrupted;
    t.doing = doing;
    t.doing_at = doing_at;
}

void scheduler::point(thread& t, const char* what, std::uintptr_t place, std::uintptr_t address) {
    if (!t.signals.empty()) take_signals(t);
    t.doing = what;
    t.doing_at = place;
    ++t.operations;
    const std::uint64_t step = ++report->steps;
    now += plan.patient ? 1 : 200;
    remember((place - reinterpret_cast<std::uintptr_t>(&__executable_start)) * 8 + t.id());
    if (step > most_steps) {
        say("cut after %lu operations\n", step);
        tell_threads();
        found(ending::cut);
    }
    if (++quiet_ > most_quiet && next_deadline_ == forever && on_files_ == 0 && all_repeat(t, place)) {
        say("livelock: for %lu operations no thread has changed anything, and each that runs is where it was before\n",
            most_quiet);
        tell_threads();
        found(ending::livelock);
    }
    if (threads.size() > 1) {
        bool spins = ++t.idle > 30;
        if (spins) t.idle = 0;
        if (last_ran_ != &t) {
            last_ran_ = &t;
            turn_began_ = step;
        } else if (step - turn_began_ > longest_turn) {  // every thread runs at last
            spins = true;
            turn_began_ = step;
        }
        if (quiet_ > spinning && next_deadline_ != forever) all_spin(t, place);
        if (spins && plan.patient && now >= next_deadline_) wake_due();  // a loop that polls the clock goes on, too
        switch (plan.how) {
            case schedule::quiet:
                if (spins) switch_to(t, pick(t));
                break;
            case schedule::pct:
                for (; next_change_ < plan.change_count && step >= plan.changes[next_change_]; ++next_change_) fall(t);
                if (spins) fall(t);
                switch_to(t, pick(t, !spins));
                break;
            case schedule::pos:
                t.next_object = address;
                t.priority = drawn_priority();
                if (spins) fall(t);
                switch_to(t, pick(t, !spins));
                t.next_object = 0;
                if (address != 0) draw_anew(address, t);
                break;
            case schedule::random:
            case schedule::bursts:
                if (spins || random.one_in(plan.switch_one_in))
                    switch_to(t, pick(t, !spins));
                else if (now >= next_deadline_ && !plan.patient)
                    wake_due();
                break;
            case schedule::told:
                if (spins || taken.has(t.id(), t.operations, decision::switches))
                    switch_to(t, pick(t, !spins));
                else if (now >= next_deadline_ && !plan.patient)
                    wake_due();
                break;
        }
    }
    t.at = &the_reach.comes(place, what, address, t.sees.now(), t.sees.happened);
    new_row(t.id(), what, address, place);
    if (step == stop) apiary_hunt_stops_here();
}

bool scheduler::wait(thread& t, const void* for_what, std::uint64_t deadline, std::uint32_t held_by) {
    t.waits_for = for_what;
    if (t.at != nullptr) t.at->flags |= site::waited;
    t.deadline = deadline;
    t.held_by = held_by;
    t.signalled = handled::none;
    t.interrupted = !t.signals.empty();
    if (t.signals.empty()) {
        t.runnable = t.timed_out = false;
        if (deadline < next_deadline_) next_deadline_ = deadline;
        switch_to(t, pick(t));
    } else {
        t.timed_out = false;
        make_runnable(t);
    }
    if (!t.signals.empty()) take_signals(t);
    t.deadline = forever;
    t.idle = 0;
    return !t.timed_out;
}

bool scheduler::ends_for_no_reason(thread& t) {
    const bool yes = !plan.patient && happens(t, 64);
    if (yes) ++report->early_ends;
    return yes;
}

bool scheduler::wait_for_files(thread& t, pollfd* files, std::uint32_t count, std::uint64_t deadline) {
    const auto ready = [&] { return machine::call(SYS_poll, machine::word(files), count, 0) > 0; };
    t.signalled = handled::none;
    if (ready()) return true;
    if (now >= deadline) return false;
    t.files = files;
    t.file_count = count;
    ++on_files_;
    wait(t, nullptr, deadline);
    return ready();
}

void scheduler::wake_all(const void* what) {
    for (thread* t : threads)
        if (!t->runnable && t->waits_for == what) make_runnable(*t);
}
bool scheduler::wake_one(const void* what) {
    thread *chosen = nullptr, *first = nullptr;
    std::uint64_t count = 0;
    for (thread* t : threads) {
        if (t->runnable || t->waits_for != what) continue;
        if (first == nullptr) first = t;
        if (random.one_in(++count)) chosen = t;
    }
    if (first == nullptr) return false;
    const std::uint32_t decided =
        taken.decided(running->id(), running->operations, decision::wakes, first->id(), chosen->id());
    thread* const told = threads[decided % threads.size()];
    make_runnable(!told->runnable && told->waits_for == what ? *told : *first);
    return true;
}
bool scheduler::waits(const void* for_what) const {
    for (const thread* t : threads)
        if (t->waits_for == for_what) return true;
    return false;
}

void scheduler::heavy_fence() {
    // Of those that have ended, too: the end of a thread is a full barrier.
    memory.heavy_fence(threads | std::views::transform([](thread* t) -> view& { return t->sees; }));
}

thread* scheduler::of(pthread_t handle) {
    for (std::size_t i = threads.size(); i-- > 0;)
        if (threads[i]->handle == handle && !threads[i]->joined) return threads[i];
    return nullptr;
}

bool scheduler::is_last(const thread& t) {
    for (const thread* one : threads)
        if (!one->ended && one != &t) return false;
    wait_for_exit();
    return true;
}

void scheduler::tell_threads() {
    for (const thread* t : threads) {
        if (t->ended) continue;
        if (t->runnable)
            say("  thread %u runs: %s\n", t->id(), t->doing);
        else if (t->held_by != 0)
            say("  thread %u waits: %s, held by thread %u\n", t->id(), t->doing, t->held_by - 1);
        else
            say("  thread %u waits: %s\n", t->id(), t->doing);
        tell_stack(*t, t->doing_at);
    }
}

call::call(const char* what, std::uintptr_t place, const volatile void* object)
    : thread_(program_calls()), error_(errno) {
    if (thread_ == nullptr) return;
    thread_->inside = true;
    the_scheduler.point(*thread_, what, place, reinterpret_cast<std::uintptr_t>(object));
}
long call::answered(long result) const {
    const long answer = machine::answered(result);
    if (answer != result) error_ = errno;
    return answer;
}
call::~call() {
    if (thread_ == nullptr) return;
    thread_->inside = false;
    errno = error_;
}

}  // namespace apiary::hunt
