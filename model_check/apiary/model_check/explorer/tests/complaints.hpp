// complaints: what a test of the explorer finds wrong. It goes on, and ends with how many there were.
#pragma once

#include <cstdio>
#include <string>

namespace apiary::model {

inline unsigned complaints = 0;

inline void expect(bool fine, const std::string& what) {
    if (fine) return;
    std::printf("NOT SO: %s\n", what.c_str());
    ++complaints;
}

// The exit status.
[[nodiscard]] inline int told() {
    std::printf("%u complaints\n", complaints);
    return complaints == 0 ? 0 : 1;
}

}  // namespace apiary::model
