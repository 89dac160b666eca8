// places: where an instruction stands in the source, by the debug information that the compiler wrote.
#pragma once

#include <string>

#include <apiary/model_check/explorer/api.hpp>

namespace apiary::model::as_it_is {

// Of a call's return address: the innermost frame, inlined ones included, outside the headers of the standard library's
// atomics. The column tells two calls on one line apart.
const explorer::code_place& place_of_call(void* return_address);
// Whether a file is the standard library's.
[[nodiscard]] bool is_library(const char* file);
// "queue.hpp:12", for a person.
std::string place_text(void* return_address);

}  // namespace apiary::model::as_it_is
