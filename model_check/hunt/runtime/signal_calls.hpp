// signal_calls: what the other kinds of call need of signals.
#pragma once

#include <cstdint>

namespace apiary::hunt {

// tgkill, which programs also ask for by syscall. As the kernel answers.
long tgkill_of(long process, long id, long signal, const char* what, std::uintptr_t place);
// Whether the program has ever installed a handler. While one runs, the kernel blocks its signal, and a fault that is
// blocked ends the process: in the thread that handles it, not in one that is swapped in meanwhile.
bool handles_signals();

}  // namespace apiary::hunt
