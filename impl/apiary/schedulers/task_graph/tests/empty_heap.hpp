// A heap that one thread can declare empty for itself. For the test program that replaces operator new.
#pragma once

namespace apiary::testing {

inline thread_local bool heap_is_empty = false;

struct without_memory {
    without_memory() { heap_is_empty = true; }
    ~without_memory() { heap_is_empty = false; }
    without_memory(const without_memory&) = delete;
    without_memory& operator=(const without_memory&) = delete;
};

}  // namespace apiary::testing
