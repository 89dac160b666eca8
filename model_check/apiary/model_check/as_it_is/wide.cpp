// See wide.hpp.
#include <apiary/model_check/as_it_is/wide.hpp>

#include <cstddef>
#include <sstream>
#include <unordered_map>
#include <vector>

namespace apiary::model::as_it_is {

namespace {
struct hash_of_both {
    std::size_t operator()(wide v) const {
        constexpr std::uint64_t factor = 0x9E37'79B9'7F4A'7C15U;
        const std::uint64_t low = static_cast<std::uint64_t>(v) * factor;
        return (low ^ low >> 32 ^ static_cast<std::uint64_t>(v >> 64)) * factor >> 8;
    }
};
struct known_values {
    std::vector<wide> by_number{0};
    std::unordered_map<wide, std::uint64_t, hash_of_both> numbers{{0, 0}};
};
known_values& values() {
    static known_values* const all = new known_values;
    return *all;
}
}  // namespace

std::uint64_t number_of(wide value) {
    known_values& k = values();
    const auto [at, is_new] = k.numbers.try_emplace(value, k.by_number.size());
    if (is_new) k.by_number.push_back(value);
    return at->second;
}

wide value_of(std::uint64_t number) { return values().by_number[number]; }

std::string wide_text(std::uint64_t number) {
    constexpr std::uint64_t most_digits = std::uint64_t{1} << 20;
    const wide v = value_of(number);
    std::ostringstream text;
    const auto half = [&](std::uint64_t h) -> std::ostream& {
        return h < most_digits ? text << std::dec << h : text << "0x" << std::hex << h;
    };
    text << '{';
    half(static_cast<std::uint64_t>(v)) << ", ";
    half(static_cast<std::uint64_t>(v >> 64)) << '}';
    return text.str();
}

}  // namespace apiary::model::as_it_is
