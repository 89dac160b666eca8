// Numbers on the command lines of checks and stress programs, read strictly: decimal digits, nothing after them, within a
// range. By itself CLI11 reads 010 as 8 and 0x10 as 16, takes -1 and what overflows for the largest number, and any NaN.
#pragma once

#include <charconv>
#include <functional>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>

namespace apiary::model {

template <class N>
bool read_number(std::string_view text, N& out) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    return error == std::errc{} && end == text.data() + text.size();
}

// For CLI::Validator, as a transform: what is wrong with the text, or nothing. Zeros in front are taken away, since CLI11
// reads the text once more.
template <class N>
std::function<std::string(std::string&)> number_within(N least, N most) {
    return [least, most](std::string& text) -> std::string {
        N seen{};
        // A NaN is within no range: no comparison with it is true.
        if (!read_number(std::string_view(text), seen) || !(least <= seen && seen <= most)) {
            std::ostringstream what;
            what << "'" << text << "' is no " << (std::is_integral_v<N> ? "whole " : "") << "number from " << least
                 << " to " << most;
            return what.str();
        }
        if constexpr (std::is_integral_v<N>) text = std::to_string(seen);
        return {};
    };
}

}  // namespace apiary::model
