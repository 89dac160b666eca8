// See image.hpp.
#include <apiary/model_check/as_it_is/image.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

extern "C" char apiary_data_begins[], apiary_data_ends[], apiary_zeroes_begin[], apiary_zeroes_end[];

namespace apiary::model::as_it_is {

namespace {
struct range {
    char *begin, *end;
    std::vector<char> kept;
};
std::array<range, 2>& ranges() {
    static std::array<range, 2> all{range{apiary_data_begins, apiary_data_ends, {}},
                                    range{apiary_zeroes_begin, apiary_zeroes_end, {}}};
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

std::array<image_range, 2> image() {
    const auto from = [](const char* begin, const char* end) {
        return image_range{reinterpret_cast<std::uintptr_t>(begin), static_cast<std::uintptr_t>(end - begin)};
    };
    return {from(apiary_data_begins, apiary_data_ends), from(apiary_zeroes_begin, apiary_zeroes_end)};
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
