// generated: the scenarios of APIARY_LINEARIZABLE, in the order in which they are run.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <apiary/linearizable.hpp>

namespace apiary::model::as_it_is {

// An operation with one of its values.
struct generated_call {
    unsigned operation = 0;
    bool has_value = false;
    long value = 0;
    int only_thread = -1;
};

struct generated {
    using program = std::vector<unsigned>;  // indices of calls
    std::vector<program> threads;           // none is empty but where a later one belongs to its number
    program first, last;
    // Thread `to` begins its call `before` when thread `from` has ended its call `after`.
    struct handover {
        int from = -1;
        unsigned after = 0;
        int to = -1;
        unsigned before = 0;
        [[nodiscard]] bool is_one() const { return from >= 0; }
    };
    handover waits;

    [[nodiscard]] std::size_t size() const;
    [[nodiscard]] const program& of(unsigned which) const;  // as as_it_is::part says
};

// Of each set of scenarios that differ by the names of threads alone (with values_alike: of values, too), one. Fewer calls come
// first, and without a handover before with one. Empty, with a reason, where there are too many.
[[nodiscard]] std::vector<generated> generate(const scenarios& plan, const std::vector<generated_call>& calls,
                                              std::string& why_none);

}  // namespace apiary::model::as_it_is
