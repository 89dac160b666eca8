// context: switching between the fibers of one thread. On x86-64 a dozen instructions; elsewhere ucontext,
// which is slower because it saves the signal mask by a system call.
#pragma once

#include <cstddef>

namespace apiary::model::explorer {

// A suspended fiber: where its stack stood. `switch_context` saves the caller there and resumes another.
using context = void*;

// A context that calls entry(argument) on the given stack when it is first resumed; entry never returns.
context make_context(char* stack, std::size_t bytes, void (*entry)(void*), void* argument);
void switch_context(context* save, context resume);

}  // namespace apiary::model::explorer
