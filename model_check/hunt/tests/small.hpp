// Programs to hunt through, by name.
#pragma once

struct small_program {
    const char* name;
    void (*run)();
};
extern const small_program wrong_programs[], right_programs[];  // each ends with a null name
