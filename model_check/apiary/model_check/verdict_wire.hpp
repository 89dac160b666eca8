// A verdict as bytes: how it travels from the child that found it to the parent that judges it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <apiary/model_check/check.hpp>

namespace apiary::model {

std::string to_wire(const verdict& v);

// Nothing when the bytes are not exactly one whole verdict with its end mark: the child died while it wrote, or before.
// job.hpp reads with it, and nothing else does.
std::optional<verdict> from_wire(std::string_view bytes);

}  // namespace apiary::model
