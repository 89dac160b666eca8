// locks: what every lock is made of: an owner or readers, and what they released.
#pragma once

#include <cstdint>

#include "scheduler.hpp"
#include "shadow.hpp"

namespace apiary::hunt {

enum class lock_result { taken, timed_out, is_mine };

// Takes it, waits until the deadline for that. is_mine: this thread has it already, and nothing was done.
lock_result take(thread& t, lock_state& l, std::uint64_t deadline);
lock_result take_shared(thread& t, lock_state& l, std::uint64_t deadline);
void give_back(thread& t, lock_state& l);
void give_back_shared(thread& t, lock_state& l);
inline bool is_free(const lock_state& l) { return l.owner == 0 && l.readers == 0; }

// The state of the lock, condition or semaphore that the program names in this call: an access of its memory, too.
inline lock_state& state_of(thread& t, const volatile void* p) {
    the_shadow.touches(t, reinterpret_cast<std::uintptr_t>(p), 1, access_read | access_atomic, t.doing_at);
    return the_shadow.lock_at(p);
}

[[noreturn]] void misuse(thread& t, std::uintptr_t place, const char* what, const volatile void* object);

}  // namespace apiary::hunt
