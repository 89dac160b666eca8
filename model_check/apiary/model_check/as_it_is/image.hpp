// image: the bytes of the program's own static variables, and of the heap blocks that they took before main, put back before
// every execution.
//
// The program's objects are linked between image_begin.cpp and image_end.cpp, and the linker lays .data and .bss out in
// that order: what lies between is the program's, what lies outside is ours or a library's, and is refused
// when the program writes to it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace apiary::model::as_it_is {

// The first call keeps the bytes, every later one puts them back.
void restore_image();
// The heap from before main, the statics that have values, and those that begin as zeroes: by how often they are met.
struct image_range {
    std::uintptr_t begin, bytes;
};
[[nodiscard]] std::array<image_range, 3> image();
// A block for a global that is made now, before main. Null: none is, or the room is used up.
[[nodiscard]] void* take_before_main(std::size_t size, std::size_t alignment);
[[nodiscard]] bool was_taken_before_main(const void* p);
[[nodiscard]] std::size_t size_before_main(const void* p);
// Between the first of the program's initialisers and the last.
[[nodiscard]] bool a_global_is_made();
// Of the image, or of the heap that globals take.
[[nodiscard]] bool is_put_back(std::uintptr_t address);
// While it lives, what is taken is not the program's: a scenario's own entry in the list of checks.
class not_for_a_global {
public:
    not_for_a_global();
    ~not_for_a_global();
    not_for_a_global(const not_for_a_global&) = delete;
    not_for_a_global& operator=(const not_for_a_global&) = delete;

private:
    bool was_;
};
// Calls f(word) for every aligned word of the image.
void each_image_word(void (*f)(void* closure, std::uintptr_t word), void* closure);

}  // namespace apiary::model::as_it_is
