// See image.hpp.
#include <apiary/model_check/as_it_is/image.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

extern "C" {
constinit bool apiary_globals_are_made = false;  // between the initialisers of image_begin.cpp and image_end.cpp
}
extern "C" char apiary_data_begins[], apiary_data_ends[], apiary_zeroes_begin[], apiary_zeroes_end[];

namespace apiary::model::as_it_is {

namespace {
struct range {
    char *begin, *end;
    std::vector<char> kept;
};
// The room for the heap from before main. In front of each block stands its size.
constexpr std::size_t early_bytes = std::size_t{2} << 20, early_front = 16;
alignas(64) constinit std::array<char, early_bytes> early{};
constinit std::size_t early_used = 0;

std::array<range, 3>& ranges() {
    static std::array<range, 3> all{range{apiary_data_begins, apiary_data_ends, {}},
                                    range{apiary_zeroes_begin, apiary_zeroes_end, {}},
                                    range{early.data(), early.data() + early_used, {}}};
    return all;
}
}  // namespace

void restore_image() {
    static bool kept = false;
    for (range& r : ranges()) {
        if (r.begin > r.end) {
            std::fputs("apiary: the linker did not keep the order of the objects; see image.hpp\n", stderr);
            std::abort();
        }
        if (!kept)
            r.kept.assign(r.begin, r.end);
        else
            std::memcpy(r.begin, r.kept.data(), r.kept.size());
    }
    kept = true;
}

void* take_before_main(std::size_t size, std::size_t alignment) {
    if (!apiary_globals_are_made) return nullptr;
    if (alignment < early_front) alignment = early_front;
    // The room itself lies at a multiple of 64 only: aligned is the address.
    const auto base = reinterpret_cast<std::uintptr_t>(early.data());
    const std::uintptr_t at = (base + early_used + early_front + alignment - 1) / alignment * alignment;
    if (size > early_bytes || at + size > base + early_bytes) return nullptr;
    early_used = at + size - base;
    char* const p = early.data() + (at - base);
    std::memcpy(p - early_front, &size, sizeof size);
    return p;
}

bool was_taken_before_main(const void* p) {
    const auto base = reinterpret_cast<std::uintptr_t>(early.data());
    return reinterpret_cast<std::uintptr_t>(p) - base < early_bytes;
}

std::size_t size_before_main(const void* p) {
    std::size_t size = 0;
    std::memcpy(&size, static_cast<const char*>(p) - early_front, sizeof size);
    return size;
}

bool a_global_is_made() { return apiary_globals_are_made; }

bool is_put_back(std::uintptr_t address) {
    const auto is_between = [address](const char* begin, const char* end) {
        return address >= reinterpret_cast<std::uintptr_t>(begin) && address < reinterpret_cast<std::uintptr_t>(end);
    };
    return is_between(apiary_data_begins, apiary_data_ends) || is_between(apiary_zeroes_begin, apiary_zeroes_end) ||
           is_between(early.data(), early.data() + early_used);
}

not_for_a_global::not_for_a_global() : was_(std::exchange(apiary_globals_are_made, false)) {}
not_for_a_global::~not_for_a_global() { apiary_globals_are_made = was_; }

std::array<image_range, 3> image() {
    const auto from = [](const char* begin, const char* end) {
        return image_range{reinterpret_cast<std::uintptr_t>(begin), static_cast<std::uintptr_t>(end - begin)};
    };
    return {from(early.data(), early.data() + early_used), from(apiary_data_begins, apiary_data_ends),
            from(apiary_zeroes_begin, apiary_zeroes_end)};
}

void each_image_word(void (*f)(void* closure, std::uintptr_t word), void* closure) {
    for (const range& r : ranges())
        for (const char* p = r.begin; p + sizeof(std::uintptr_t) <= r.end; p += sizeof(std::uintptr_t)) {
            std::uintptr_t word = 0;
            std::memcpy(&word, p, sizeof word);
            f(closure, word);
        }
}

}  // namespace apiary::model::as_it_is
