// Subject `bare_pool`: the smallest scheduler over the engine. Its call for work from outside and from tasks is post.
#include <apiary/schedulers/bare_pool/bare_pool.hpp>

#include <string>
#include <string_view>
#include <utility>

#include "scenarios/list.hpp"

namespace {

class bare_pool {
public:
    static constexpr std::string_view name = "bare_pool";
    static std::string version() { return APIARY_VERSION; }

    explicit bare_pool(unsigned workers) : pool_(workers) {}

    template <class F>
    void post(F&& task) {
        apiary::bench::must_accept(pool_.post(std::forward<F>(task)));
    }
    apiary::bench::runtime_counters counters() const {
        const apiary::worker_counters c = pool_.counters();
        return {.wakes = c.woken, .parks = c.parked, .steals = c.stolen};
    }

private:
    apiary::bare_pool pool_;
};

}  // namespace

int main(int argc, char** argv) { return apiary::bench::subject_main<bare_pool>(argc, argv); }
