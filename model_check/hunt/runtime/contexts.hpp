// contexts: where threads stand, so that the kernel's thread that runs one goes on as another, without a call of the
// kernel's. Each thread is made by the library, with a kernel's thread of its own, which parks where it begins, and is
// woken for the thread's end, where the library frees what is its own. In between the main thread's runs it: stack,
// registers and the base of its thread-local data are swapped, so all that the library has of a thread is its own.
//
// What the kernel has of a thread (signals' mask, handlers and their stack, user, priority, processor time, namespaces,
// its folder in /proc) is not swapped. A run that asks for these where there are several threads is done again with the
// kernel's own switches (scheduler::needs_own_threads).
#pragma once

namespace apiary::hunt {

struct context {
    void* stack = nullptr;  // its registers are there
    void* base = nullptr;   // of its thread-local data
};

}  // namespace apiary::hunt

extern "C" {
// Returns where `from` is swapped in, or unparked, again.
void apiary_hunt_swaps(apiary::hunt::context* from, const apiary::hunt::context* to);
// Says that the thread is there, and waits until `*unparked`, without a use of the stack: another kernel's thread has
// swapped it in meanwhile. Then goes on where it stands.
void apiary_hunt_parks(apiary::hunt::context* from, int* is_there, const int* unparked);
// Whether the processor lets programs write the base.
extern char apiary_hunt_writes_base;
}
