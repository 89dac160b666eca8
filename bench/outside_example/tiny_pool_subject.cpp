// The subject: tiny_pool behind the treaty. Its call for work from outside is post, its only one.
#include <string>
#include <string_view>
#include <utility>

#include <apiary/bench/adapter.hpp>
#include "scenarios/list.hpp"

#include "tiny_pool.hpp"

namespace {

class adapter {
public:
    static constexpr std::string_view name = "tiny_pool";
    static std::string version() { return APIARY_VERSION; }  // the project's, in CMakeLists.txt

    explicit adapter(unsigned workers) : pool_(workers) {}

    template <class F>
    void post(F&& task) {
        pool_.post(std::forward<F>(task));
    }

private:
    tiny_pool pool_;
};

}  // namespace

int main(int argc, char** argv) { return apiary::bench::subject_main<adapter>(argc, argv); }
