// tls: a block of thread-local variables for each modelled thread, at an address of its own.
//
// Modelled threads are fibers of one thread. The compiler finds thread-local variables, and the C library its own,
// through the FS register; so FS moves with the fiber. That also gives pthread_self() and the exceptions under way
// to each thread. x86-64, Linux, glibc.
//
// The explorer works in the block of the thread that it works for: FS moves only when another thread goes on, and back when
// the run is over. What the C library keeps there for the explorer is a pointer to where malloc() keeps what was freed,
// and that is the same in all blocks.
#pragma once

#include <cstdint>

namespace apiary::model::as_it_is {

inline constexpr std::uintptr_t blocks_at = 0x1100'0000'0000, block_bytes = 0x4'0000;

// Whether all thread-local variables, those of libraries, too, have room in a block.
[[nodiscard]] bool thread_locals_fit();
// Makes the blocks of `threads` threads as they are when a thread starts; thread 0 goes on as main's, with what globals
// have stored in its variables.
void fresh_thread_blocks(unsigned threads);
// Whether it is a thread-local variable of the checker's own thread: main's, before the scenario.
[[nodiscard]] bool is_of_own_block(std::uintptr_t address);
// Before main: what pthread_self() says there, so that it is thread 0's name, and the block behind it.
[[nodiscard]] std::uintptr_t thread_pointer_before_main();
// What pthread_self() is there.
[[nodiscard]] std::uintptr_t thread_pointer_of(unsigned thread);
void each_thread_local_word(unsigned thread, void (*f)(void* closure, std::uintptr_t word), void* closure);

inline constexpr unsigned own_block = ~0U;
extern constinit unsigned block_in_use;
void move_to_block(unsigned thread);
inline void use_block_of(unsigned thread) {
    if (block_in_use != thread) move_to_block(thread);
}
inline void use_own_block() { use_block_of(own_block); }

}  // namespace apiary::model::as_it_is
