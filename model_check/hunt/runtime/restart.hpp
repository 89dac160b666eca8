// restart: the process of a run that has ended begins the next run, with its memory as it was before the first, in
// place of a fork. Copies of a few hundred KiB cost less than the faults of a new process on each page that it touches.
//
// What may change is copied once: all private memory that can be written, but for the runtime's own, and the stack. A
// run that leaves something behind which is no memory (a descriptor, a mapping, a handler, a child, a thread) is its
// process's last: `can_go_back` answers false, and the process ends. So does a program that has too much memory.
//
// The thread that ran the program's main calls.
#pragma once

#include <cstdint>

namespace apiary::hunt {

class restart {
public:
    // True: each return from here, the first and one after each `goes_back`, begins a run. False: too much to copy.
    bool keep();
    // False: something is left behind.
    bool can_go_back();
    void goes_back();
    // Something was asked for or changed that a copy of memory does not take back.
    void cannot() { cannot_ = true; }

private:
    bool kept_ = false, cannot_ = false;
};
extern restart the_restart;

}  // namespace apiary::hunt
