// small NAME: runs that program.
#include "small.hpp"

#include <cstdio>
#include <cstring>
#include <initializer_list>

int main(int argc, char** argv) {
    for (const small_program* all : {wrong_programs, right_programs})
        for (const small_program* p = all; p->name != nullptr; ++p)
            if (argc == 2 && std::strcmp(p->name, argv[1]) == 0) {
                p->run();
                return 0;
            }
    for (const small_program* p = right_programs; p->name != nullptr; ++p) std::printf("%s\n", p->name);
    return 2;
}
