// signal_calls: tgkill, which programs also ask for by syscall.
#pragma once

#include <cstdint>

namespace apiary::hunt {

// As the kernel answers.
long tgkill_of(long process, long id, long signal, const char* what, std::uintptr_t place);

}  // namespace apiary::hunt
