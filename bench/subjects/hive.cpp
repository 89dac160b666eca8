// Subject `hive`: this project's own scheduler with N IO workers. Subject `hive_half`: the same on steal-half queues in
// place of deques (APIARY_HIVE_HALF).
#include "subjects/hive.hpp"

#include "scenarios/list.hpp"
#include "subjects/hive_server.hpp"

namespace {

#if defined(APIARY_HIVE_HALF)
using scheduler = apiary::half_stealing_hive;
#else
using scheduler = apiary::hive;
#endif

struct serving_hive : apiary::bench::hive_adapter<apiary::bench::real_host, scheduler> {
    using hive_adapter::hive_adapter;
    struct server : apiary::bench::hive_server<scheduler> {
        server(serving_hive& h, const apiary::bench::serving& what) : hive_server(h.under(), h.workers(), what) {}
    };
};

}  // namespace

int main(int argc, char** argv) { return apiary::bench::subject_main<serving_hive>(argc, argv); }
