// The first object of a program that is checked as it is: where its static variables begin (image.hpp), and
// whether it may have assembly, which nobody sees, and whether classes by value are seen (apiary_as_it_is.cmake).
extern "C" {
alignas(64) char apiary_data_begins[64] = {1};
alignas(64) char apiary_zeroes_begin[64];
extern bool apiary_globals_are_made;
#ifdef APIARY_ALLOWS_ASSEMBLY
extern const bool apiary_allows_assembly = true;
#else
extern const bool apiary_allows_assembly = false;
#endif
#ifdef APIARY_SEES_VALUES
extern const bool apiary_sees_values = true;
#else
extern const bool apiary_sees_values = false;
#endif
}

namespace {
// The first initialiser: what the program's globals take from the heap now is put back, too.
[[gnu::constructor]] void globals_begin() { apiary_globals_are_made = true; }
}  // namespace
