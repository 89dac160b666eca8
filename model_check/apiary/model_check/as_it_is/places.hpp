// places: where an instruction stands in the source, by the debug information that the compiler wrote.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include <apiary/model_check/explorer/api.hpp>

namespace apiary::model::as_it_is {

// Of a call's return address: the innermost frame, inlined ones included, outside the headers of the standard library's
// atomics. The column tells two calls on one line apart. Its function is empty, or names a header of the library's in which it
// stands: "in bits/atomic_wait.h:101".
inline const explorer::code_place& place_of_call(void* return_address);
// What is known of a return address.
struct known_place {
    explorer::code_place place;
    bool is_wrappers = false;        // no frame outside them
    bool decides = false;            // whatever called it
    bool is_by_the_library = false;  // its innermost frame is the standard library's
    const char* is_inside = "";      // without a frame outside: the header of the library's that it is an algorithm of
};
// By the lower bits of the address, the one that was asked for last.
struct latest_place {
    void* called = nullptr;
    const known_place* known = nullptr;
};
extern constinit std::array<latest_place, 4096> latest_places;
inline latest_place& latest_place_of(void* called) {
    return latest_places[reinterpret_cast<std::uintptr_t>(called) % latest_places.size()];
}
const explorer::code_place& look_up_place(void* return_address);
inline const explorer::code_place& place_of_call(void* return_address) {
    const latest_place& l = latest_place_of(return_address);
    return l.called == return_address && l.known != nullptr && l.known->decides ? l.known->place
                                                                                : look_up_place(return_address);
}
// Whether an instruction is the program's, and not a shared library's.
[[nodiscard]] bool is_of_the_program(std::uintptr_t pc);
// Whether the call itself stands in a header of the standard library (std::mutex::try_lock), and not in C's manner in the program.
[[nodiscard]] bool is_by_the_library(void* return_address);
// Whether the call tells of an access to a volatile.
[[nodiscard]] bool is_of_a_volatile(void* return_address);
// Whether a file is the standard library's.
[[nodiscard]] bool is_library(const char* file);
// "queue.hpp:12", for a person.
std::string place_text(void* return_address);

}  // namespace apiary::model::as_it_is
