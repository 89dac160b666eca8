// wide: atomics of sixteen bytes. The explorer's values are words, so that a value of sixteen bytes goes there as its
// number among all that this process has seen. Two values are equal exactly where their numbers are; nothing else is
// asked of a value. Zero is number 0.
#pragma once

#include <cstdint>
#include <string>

namespace apiary::model::as_it_is {

__extension__ using wide = unsigned __int128;

std::uint64_t number_of(wide value);
wide value_of(std::uint64_t number);
std::string wide_text(std::uint64_t number);  // of a trace: both halves

}  // namespace apiary::model::as_it_is
