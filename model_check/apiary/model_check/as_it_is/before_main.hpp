// before_main: what globals do before main to locks, semaphores, barriers, keys of threads' values, clocks and their
// thread's own name. Each execution begins with it, as if main's thread went on as thread 0.
//
// Bytes come back by image.hpp and tls.hpp. What is kept here is what the explorer and the runtime keep beside the
// bytes: which locks are held, which keys there are, and what a clock showed last. All of it stands in arrays: a
// global's heap is put back.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace apiary::model::as_it_is {

enum class hold : std::uint8_t { alone, shared };
struct lock_from_before {
    std::uintptr_t at;
    std::uint8_t bytes;  // the location's
    hold how;
    std::uint8_t times;  // shared: how often
    void* pc;            // the call that took it
};

// Whether a global is made now, and this is memory of the program's that is put back.
[[nodiscard]] bool is_a_globals(const volatile void* p);

// A lock of a global's. False: it is held. Of what is not a global's nothing is kept, and the answer is true.
[[nodiscard]] bool take_before_main(const volatile void* lock, std::size_t bytes, hold how, void* pc);
// The same where it would wait for ever: refused.
int take_or_refuse(const volatile void* lock, std::size_t bytes, hold how, void* pc);
void give_before_main(const volatile void* lock);
[[nodiscard]] bool is_held_before_main(const volatile void* lock);
// What main's thread still held when the scenario began.
[[nodiscard]] std::span<const lock_from_before> locks_from_before();

// Keys that globals made: with numbers that no thread's own key has, and values of main's thread.
struct key_from_before {
    unsigned key;  // 0: it was deleted
    void (*destroy)(void*);
    const void* value;
};
[[nodiscard]] unsigned make_key_before_main(void (*destroy)(void*), void* pc);
// Null: it is none of them.
[[nodiscard]] key_from_before* key_made_before(unsigned key);
[[nodiscard]] std::span<const key_from_before> keys_from_before();

// Nanoseconds of thread 0's clock when the scenario begins; it moves whenever a global asks.
[[nodiscard]] std::int64_t& clock_from_before();

}  // namespace apiary::model::as_it_is
