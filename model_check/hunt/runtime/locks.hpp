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

[[noreturn]] void misuse(thread& t, std::uintptr_t place, const char* what, const volatile void* object);

}  // namespace apiary::hunt
