// A whole hive, from its constructor to its destructor: run(), a compute worker that it starts, the stop, the report.
// Its threads are the check's (<apiary/model_check/modelled_threads.hpp>); its workers block in parkers, its tasks come
// from the heap.
#include <apiary/schedulers/hive/hive.hpp>

#include <array>

#include <apiary/model_check/modelled_threads.hpp>

#include "hive_scenario.hpp"

namespace hive_whole_check {
namespace {

using namespace apiary;
using namespace apiary::model;

template <class Sync>
struct parts : hive_parts<Sync> {
    using random = first_choice;
    using compute_driver = core_of<Sync, false>;
    using threads = team_of_hall<Sync, 1>;
};

template <class Sync>
struct hive_lives {
    static constexpr const char* what =
        "a compute task posts an IO task, which stops the hive: run() returns, both ran, and nothing is left";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"sleeper.slept"};
    static constexpr std::array engine_laws{"deadlock", "lifetime", "race"};
    using hive_type = basic_hive<Sync, core_of<Sync, false>, heap_storage<Sync>, parts<Sync>>;
    hall<Sync, 1> workers;
    typename Sync::template cell<int> written{0};

    void thread(unsigned i) {
        if (i != 0) return workers.serve(0);
        const in_hall<Sync, 1> here(workers);
        typename Sync::template scoped<hive_type> on_stack(
            hive_config{.io_workers = 1, .compute_workers = 1, .parameters = small_parameters});
        hive_type& h = *on_stack;
        Sync::law(h.post_compute([this, &h] {
            written.write(1);
            Sync::law(h.post_micro([this, &h] {
                Sync::law(h.this_worker() == 0, "an IO task does not run on the worker that run() is");
                written.write(written.read() + 1);
                h.request_stop();
            }),
                      "a post before the stop was refused");
        }),
                  "a post before the run was refused");
        h.run();
        Sync::law(written.read() == 2 && h.report().run == 2, "run() returned before what it was given");
    }
};
APIARY_CHECK(hive_lives);

}  // namespace
}  // namespace hive_whole_check
