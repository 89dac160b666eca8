// Subject `processes`: this project's own scheduler of message-driven processes, with N workers.
#include "subjects/processes.hpp"

#include "scenarios/list.hpp"

int main(int argc, char** argv) {
    return apiary::bench::subject_main<apiary::bench::process_adapter<apiary::bench::real_host>>(argc, argv);
}
