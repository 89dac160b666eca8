// The list of all checks of one program, filled before main.
#include <apiary/model_check/check.hpp>

namespace apiary::model {

std::vector<check_entry>& registry() {
    static std::vector<check_entry> entries;
    return entries;
}

}  // namespace apiary::model
