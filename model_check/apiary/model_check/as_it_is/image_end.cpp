// The last object of a program that is checked as it is: where its static variables end (image.hpp).
extern "C" {
alignas(64) char apiary_data_ends[64] = {1};
alignas(64) char apiary_zeroes_end[64];
extern bool apiary_globals_are_made;
}

namespace {
[[gnu::constructor]] void globals_end() { apiary_globals_are_made = false; }
}  // namespace
