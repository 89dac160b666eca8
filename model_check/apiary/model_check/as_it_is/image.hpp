// image: the bytes of the program's own static variables, put back before every execution.
//
// The program's objects are linked between image_begin.cpp and image_end.cpp, and the linker lays .data and .bss out in
// that order: what lies between is the program's, what lies outside is ours or a library's, and is refused
// when the program writes to it.
#pragma once

#include <array>
#include <cstdint>

namespace apiary::model::as_it_is {

// The first call keeps the bytes, every later one puts them back.
void restore_image();
// The statics that have values, and those that begin as zeroes.
struct image_range {
    std::uintptr_t begin, bytes;
};
[[nodiscard]] std::array<image_range, 2> image();
// Calls f(word) for every aligned word of the image.
void each_image_word(void (*f)(void* closure, std::uintptr_t word), void* closure);

}  // namespace apiary::model::as_it_is
