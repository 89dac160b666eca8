// run: a scenario of code as it is, given to the explorer.
#pragma once

#include <array>
#include <string_view>

#include <apiary/model_check/check.hpp>

namespace apiary::model::as_it_is {

struct scenario {
    const char* name;
    void (*body)();
    void (*begin)() = nullptr;  // before each execution, outside it
    std::string_view (*outcome)(std::array<char, 128>& buffer) = nullptr;
    unsigned threads = 1;  // as far as they are known, with the one that it begins in
};

// The number of threads is found by running: the search starts again whenever one more is started.
verdict run(const scenario& s, const search_options& options);

}  // namespace apiary::model::as_it_is
