// What was compiled into this program, where its own instructions tell: of code as it is. Elsewhere nothing is known.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace apiary::model {

// "file:line:operation" of each atomic operation, "file:line:plain" of each plain access, and "file:line:wait" of each call that
// may sleep, as far as they are the program's own. The runtime for code as it is
// registers the source; without one the list is empty.
using compiled_operations = std::vector<std::string> (*)();
void tell_compiled_operations(compiled_operations source);
[[nodiscard]] const std::vector<std::string>& compiled_here();

// Whether an access was compiled at that line ("queue.hpp:12").
[[nodiscard]] bool is_compiled_place(std::string_view place);

}  // namespace apiary::model
