// The control of `scripts/apiary exact`: an operation, the same with one instruction more, and with one allocation more. selftest
// builds it, and shows the two red against the first.
#include <array>
#include <cstdint>
#include <memory>

#include "exact/exact.hpp"

namespace {

enum class more { nothing, instruction, allocation };

template <more More>
[[gnu::noinline]] std::uint64_t step(std::uint64_t x) {
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    if constexpr (More == more::instruction) __asm__ __volatile__("nop");
    if constexpr (More == more::allocation) {
        char* volatile block = std::make_unique<char[]>(24).release();
        const std::unique_ptr<char[]> owner(block);
    }
    return x;
}

template <more More>
void steps(std::uint64_t n) {
    std::uint64_t x = 1;
    while (n-- != 0) x = step<More>(x);
    apiary::exact::must(x != 0, "planted: the numbers never reach 0");
}

constexpr std::array operations{apiary::exact::operation{"plain", &steps<more::nothing>},
                                apiary::exact::operation{"instruction", &steps<more::instruction>},
                                apiary::exact::operation{"allocation", &steps<more::allocation>}};

}  // namespace

int main(int argc, char** argv) { return apiary::exact::main_of(operations, argc, argv); }
