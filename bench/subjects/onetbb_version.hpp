// onetbb_version: the version of the library that the program found as it began. Of another version than the headers that it was
// compiled with, the two would be a runtime that nobody ships: it throws, and the program ends and says so.
#pragma once

#include <oneapi/tbb/version.h>

#include <stdexcept>
#include <string>
#include <string_view>

namespace apiary::bench {

inline std::string onetbb_version() {
    if (std::string_view(::TBB_runtime_version()) != TBB_VERSION_STRING)
        throw std::runtime_error(std::string("the library of oneTBB is ") + ::TBB_runtime_version() +
                                 ", its headers are " + TBB_VERSION_STRING);
    return ::TBB_runtime_version();
}

}  // namespace apiary::bench
