// hive_parameters: the numbers of a hive are those of its workers.
#pragma once

#include <apiary/workers/parameters.hpp>

namespace apiary {

using hive_parameters = worker_parameters;

}  // namespace apiary
