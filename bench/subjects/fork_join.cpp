// Subject `fork_join`: this project's fork-join in function form, with N workers; the main thread, which calls, is none
// of them.
//
// It has a call for two branches, which hands its worker in and gives their results. More than two are halved until one
// is left, as for rayon and chili. Nothing can be posted: its jobs never outlive the call that makes them.
#include <apiary/schedulers/fork_join/pool.hpp>

#include <string>
#include <string_view>
#include <utility>

#include "scenarios/list.hpp"

namespace {

class function_form {
    using pool = apiary::fork_join_pool;

public:
    using worker = pool::context;
    static constexpr std::string_view name = "fork_join";
    static std::string version() { return APIARY_VERSION; }

    explicit function_form(unsigned workers) : pool_({.workers = workers}) {}

    template <class F>
    void call(F&& root) {
        pool_.run(root);
    }

    static constexpr bool by_value = true, by_halves = true;
    template <class F, class G>
    static auto fork_join(worker& w, F&& f, G&& g) {
        return apiary::fork_join(w, std::forward<F>(f), std::forward<G>(g));
    }

    apiary::bench::runtime_counters counters() const {
        const apiary::fork_join_counters c = pool_.counters();
        return {.wakes = c.woken, .parks = c.parked, .steals = c.stolen};
    }

private:
    pool pool_;
};

}  // namespace

int main(int argc, char** argv) { return apiary::bench::subject_main<function_form>(argc, argv); }
