// Subject `global_queue`: one mutex, one queue, with N workers.
#include "subjects/global_queue.hpp"

#include "scenarios/list.hpp"

int main(int argc, char** argv) {
    return apiary::bench::subject_main<apiary::bench::global_queue_adapter<apiary::bench::real_host>>(argc, argv);
}
