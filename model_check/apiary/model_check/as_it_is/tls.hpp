// tls: a block of thread-local variables for each modelled thread, at an address of its own.
//
// Modelled threads are fibers of one thread. The compiler finds thread-local variables, and the C library its own,
// through the FS register; so FS moves with the fiber. That also gives pthread_self() and the exceptions under way
// to each thread. x86-64, Linux, glibc.
#pragma once

#include <cstdint>

namespace apiary::model::as_it_is {

// Makes the blocks of `threads` threads as they are when a thread starts.
void fresh_thread_blocks(unsigned threads);
// What pthread_self() is there.
[[nodiscard]] std::uintptr_t thread_pointer_of(unsigned thread);
[[nodiscard]] bool in_thread_block(std::uintptr_t address);
void each_thread_local_word(unsigned thread, void (*f)(void* closure, std::uintptr_t word), void* closure);
void use_block_of(unsigned thread);
void use_own_block();

}  // namespace apiary::model::as_it_is
