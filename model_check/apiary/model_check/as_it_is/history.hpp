// history: whether what some operations returned can be explained by one after another.
//
// Wing and Gong's search (JPDC 1993) with Lowe's memoization (CCPE 2017): the operations are put in a row, one at a time,
// so that none comes before an operation that must precede it, and the sequential specification returns what was seen. A set of
// operations that are in the row already, with the state that they led to, is tried once.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <apiary/linearizable.hpp>

namespace apiary::model::as_it_is {

struct history {
    struct call {
        unsigned operation = 0;
        long argument = 0;
        ::apiary::as_it_is::returned_value returned{};
        bool operator==(const call&) const = default;
    };
    std::vector<call> calls;
    std::vector<std::uint32_t> before;  // by calls: bits of those that must precede it

    bool operator==(const history&) const = default;
};

// A sequential specification in some state.
class sequential {
public:
    sequential() = default;
    sequential(const sequential&) = delete;
    sequential& operator=(const sequential&) = delete;
    virtual ~sequential() = default;
    [[nodiscard]] virtual std::unique_ptr<sequential> copy() const = 0;
    [[nodiscard]] virtual bool equals(const sequential& other) const = 0;
    // Whether it may return that now; if so, it is done.
    virtual bool accepts(const history::call& c) = 0;
};

[[nodiscard]] bool linearizable(const history& h, const sequential& initial);

// The order that quiescent consistency keeps of `before`: a precedes b where some set of calls has a and not b, and each call
// of it precedes each that it lacks. Between the two, nothing was under way.
[[nodiscard]] std::vector<std::uint32_t> across_quiescence(const std::vector<std::uint32_t>& before);

}  // namespace apiary::model::as_it_is
