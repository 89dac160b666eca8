// static_data: where the machine takes the program's static objects to lie, whatever the linker did.
//
// Which of them share a line, and where a line ends within one, is the linker's choice: a string that is three letters longer
// moves all that comes after it. So each object that the program may write begins on a line of its own, as objects of the
// arena do; the symbols in the program's file say where each begins. Constants are no memory of a run: every processor has
// them.
//
// Where that file has no symbols (strip), or cannot be read, objects keep their addresses.
//
// Threads. One thread of the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <apiary/virtual/arena.hpp>

namespace apiary::virt {

class static_data {
public:
    static_data();  // of this program

    // The address that stands for this one; 0: no byte that the program may write.
    std::uintptr_t canonical(std::uintptr_t address) const {
        return address - begin_ < bytes_ ? canonical_within(address) : 0;
    }
    // The object at a canonical address, and how far that lies in it. Label 0: none that is known.
    arena::inside find(std::uintptr_t canonical);

private:
    struct object {
        std::uintptr_t begin;
        std::size_t bytes;
        std::string symbol;            // mangled
        std::uintptr_t canonical = 0;  // of its beginning
        label what = 0;                // once it was asked for
    };

    std::uintptr_t canonical_within(std::uintptr_t address) const;
    void read_symbols(std::uintptr_t moved_by);

    std::uintptr_t begin_ = 0, fixed_begin_ = 0;
    std::size_t bytes_ = 0, fixed_bytes_ = 0;  // what may be written; and within it what may not, once it is relocated
    host_vector<object> objects_;              // by begin, and so by canonical; none overlaps another
};

// As people write it: without arguments of templates, and without the namespaces of this project.
std::string short_name(const std::string& symbol);

}  // namespace apiary::virt
