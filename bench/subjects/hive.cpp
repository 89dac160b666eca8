// Subject `hive`: this project's own scheduler with N IO workers. Subject `hive_half`: the same on steal-half queues in
// place of deques (APIARY_HIVE_HALF).
#include "subjects/hive.hpp"

#include "scenarios/list.hpp"

int main(int argc, char** argv) {
#if defined(APIARY_HIVE_HALF)
    using scheduler = apiary::half_stealing_hive;
#else
    using scheduler = apiary::hive;
#endif
    return apiary::bench::subject_main<apiary::bench::hive_adapter<apiary::bench::real_host, scheduler>>(argc, argv);
}
