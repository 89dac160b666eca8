// The version of this library. CMake refuses to configure when project(apiary VERSION …) says another.
#pragma once

#define APIARY_VERSION_MAJOR 0
#define APIARY_VERSION_MINOR 1
#define APIARY_VERSION_PATCH 0

namespace apiary {

inline constexpr char library_version[] = "0.1.0";

}  // namespace apiary
