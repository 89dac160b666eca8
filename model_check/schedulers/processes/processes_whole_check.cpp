// A whole scheduler of processes, from its constructor to its destructor. Its worker's thread is the check's
// (<apiary/model_check/modelled_threads.hpp>).
#include <apiary/schedulers/processes/processes.hpp>

#include <array>

#include "processes_scenario.hpp"

namespace processes_whole_check {
namespace {

using namespace apiary;
using namespace apiary::model;

// The same policy, whose threads come from a hall.
template <class Sync>
struct of_a_hall : Sync {
    using threads = team_of_hall<of_a_hall, 1>;
};

template <class Engine>
struct processes_live {
    static constexpr const char* what =
        "processes are made, one is spawned, steps and ends, and they are joined: what its step did is seen, nothing is left";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"sleeper.slept"};
    static constexpr std::array engine_laws{"deadlock", "lifetime", "race"};
    using Sync = of_a_hall<Engine>;
    hall<Sync, 1> workers;
    seen of;
    typename Sync::template cell<int> written{0};

    void thread(unsigned i) {
        if (i != 0) return workers.serve(0);
        const in_hall<Sync, 1> here(workers);
        basic_process_config<Sync> config;
        config.workers = 1;
        config.parameters = handshake_parameters;
        {
            typename Sync::template scoped<basic_processes<Sync>> on_stack(config);
            const auto step = [this](event&, auto& out) {
                written.write(1);
                out.finish();
            };
            const auto made = on_stack->spawn(std::make_unique<watched<Sync>>(of, step, [](event&, auto&) {}));
            Sync::law(static_cast<bool>(made.id), "a spawn before the end was refused");
            on_stack->join();
            Sync::law(written.read() == 1 && of.closed == 1, "join returned before the process was closed");
        }
    }
};
APIARY_CHECK(processes_live);

}  // namespace
}  // namespace processes_whole_check
