// thread_calls: threads begin, end, and are joined. Each is a real one with a stack at the same address in each run.
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include "machine.hpp"
#include "scheduler.hpp"
#include "signal_calls.hpp"
#include "thread_calls.hpp"

namespace apiary::hunt {

namespace {

constexpr std::uint32_t most_threads = 65'000;  // the shadow has sixteen bits for a thread
constexpr std::size_t page = 4096;

real_calls real;
bool is_child = false;  // forked by the program
pthread_key_t at_exit;
constexpr std::uintptr_t first_stack = 0x300000000000;
std::uintptr_t next_stack = first_stack;

void* first_function(void* p) {
    thread& t = *static_cast<thread*>(p);
    tells_its_end(t);
    the_scheduler.begins(t);
    return t.function(t.argument);
}
// Runs again until the other destructors of thread-specific data are done: the library calls up to four rounds of them.
void last_function(void* p) {
    thread& t = *static_cast<thread*>(p);
    if (++t.rounds < 4)
        pthread_setspecific(at_exit, &t);
    else
        the_scheduler.ends(t);
}

}  // namespace

void find_real_calls() {
    const auto find = [](auto& f, const char* name) {
        f = reinterpret_cast<std::remove_reference_t<decltype(f)>>(::dlsym(RTLD_NEXT, name));
    };
    find(real.create, "pthread_create");
    find(real.join, "pthread_join");
    find(real.detach, "pthread_detach");
    find(real.fork, "fork");
    pthread_key_create(&at_exit, last_function);
}

void tells_its_end(thread& t) { pthread_setspecific(at_exit, &t); }

std::size_t bytes_of_stacks() { return next_stack - first_stack; }
void unmap_stacks() {
    if (next_stack != first_stack)
        machine::call(SYS_munmap, static_cast<long>(first_stack), static_cast<long>(bytes_of_stacks()));
}

}  // namespace apiary::hunt

using namespace apiary::hunt;

extern "C" {

// The child has one thread, the caller's, and is seen no more: it runs as by itself, and may start no other (below).
pid_t fork() noexcept {
    const call here("fork", CALLER);
    const pid_t child = real.fork();
    if (here) (child == 0 ? the_scheduler.active : the_scheduler.has_children) = child != 0;
    if (here && child == 0) {
        is_child = true;
        here.me().kernel_id = machine::call(SYS_gettid);
    }
    return child;
}
pid_t vfork() noexcept { return fork(); }

int pthread_create(pthread_t* handle, const pthread_attr_t* given, void* (*function)(void*), void* argument) {
    const call here("thread starts", CALLER);
    if (is_child) {
        report->how = ending::refused;  // the parent may only see that the child failed
        if (report->text[0] == '\0') say("not supported: a thread in a child that the program forked\n");
        constexpr char said[] = "apiary hunt: not supported: a thread in a child that the program forked\n";
        machine::call(SYS_write, 2, machine::word(said), sizeof said - 1);
        machine::end(3);
    }
    if (!here) return real.create(handle, given, function, argument);
    if (the_scheduler.threads.size() >= most_threads) {
        say("not supported: more than %u threads\n", most_threads);
        found(ending::refused);
    }
    the_scheduler.changed(here.me());
    thread& t = the_scheduler.add_thread(&here.me());
    if (handles_signals()) the_scheduler.needs_own_threads();
    here.sees().happened.tick(here.me().id());
    t.function = function;
    t.argument = argument;
    std::size_t bytes = 8 << 20;
    int detached = 0;
    if (given != nullptr) {
        pthread_attr_getstacksize(given, &bytes);
        pthread_attr_getdetachstate(given, &detached);
    }
    bytes = (bytes + page - 1) & ~(page - 1);
    auto* const stack = static_cast<char*>(machine::map(bytes + page, next_stack));
    next_stack += bytes + page;
    machine::call(SYS_mprotect, machine::word(stack), page, PROT_NONE);
    t.detached = detached == PTHREAD_CREATE_DETACHED;
    pthread_attr_t a;
    pthread_attr_init(&a);
    pthread_attr_setstack(&a, stack + page, bytes);
    if (t.detached) pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
    const int result = real.create(&t.handle, &a, first_function, &t);
    pthread_attr_destroy(&a);
    if (result != 0) {
        t.ended = t.joined = true;
        t.runnable = false;
        return result;
    }
    *handle = t.handle;
    report->last[(report->rows - 1) % shared_report::most_rows].value = t.id();
    the_scheduler.point(here.me(), "thread has started", CALLER);
    return 0;
}

int pthread_join(pthread_t handle, void** result) {
    const call here("join", CALLER);
    if (!here) return real.join(handle, result);
    thread* const t = the_scheduler.of(handle);
    if (t == nullptr || t->detached) return ESRCH;
    if (t == &here.me()) return EDEADLK;
    while (!t->ended) the_scheduler.wait(here.me(), t, forever, t->id() + 1);
    weak_memory::acquire(here.sees(), t->sees.happened);
    t->joined = true;
    the_scheduler.changed(here.me());
    return real.join(handle, result);
}

int pthread_detach(pthread_t handle) {
    const call here("detach", CALLER);
    if (here)
        if (thread* const t = the_scheduler.of(handle)) t->detached = true;
    return real.detach(handle);
}
}
