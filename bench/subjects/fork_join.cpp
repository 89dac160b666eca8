// Subject `fork_join`: this project's fork-join in function form, with N workers; the main thread, which calls, is none
// of them.
#include "subjects/fork_join.hpp"

#include "scenarios/list.hpp"

int main(int argc, char** argv) {
    return apiary::bench::subject_main<apiary::bench::fork_join_adapter<apiary::bench::real_host>>(argc, argv);
}
