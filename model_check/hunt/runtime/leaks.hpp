// leaks: blocks of the program that nothing points to when it has ended, as LeakSanitizer has them.
//
// Roots are the writable data of the program and of its libraries, what the program mapped (mmap), and the calling
// thread's stack and thread-locals.
// Whatever looks like an address in a block counts as one, so a leak may be missed. Only blocks that the program's own
// code has allocated are told, and not what a library keeps for itself. Nothing is told if another thread has not
// ended: the only pointer to a block may be in a register of that thread.
#pragma once

namespace apiary::hunt {

// Call it where the program ends. Returns if there are none.
void tell_leaks();

}  // namespace apiary::hunt
