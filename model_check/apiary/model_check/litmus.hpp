// The form of a litmus test: a tiny program whose *set of outcomes* is the answer.
//
//     template <class Sync>
//     struct sb_relaxed {
//         static constexpr const char* what = "store buffering, relaxed";
//         static constexpr unsigned threads = 2;
//         typename Sync::template atomic<int> x{0}, y{0};    // initialised: the initial store is part of the test
//         int r0 = -1, r1 = -1;                              // one plain register per thread; no two threads share one
//
//         void thread(unsigned i) {
//             if (i == 0) { x.store(1, std::memory_order_relaxed); r0 = y.load(std::memory_order_relaxed); }
//             else        { y.store(1, std::memory_order_relaxed); r1 = x.load(std::memory_order_relaxed); }
//         }
//         auto outcome() const { return std::array{r0, r1}; }    // asked once, after after()
//
//         static constexpr model::outcomes rc11{"0 0", "0 1", "1 0", "1 1"};   // what C++20 (RC11) allows
//         static constexpr model::outcomes relacy{...};          // only where Relacy's own set differs, and then with
//         static constexpr const char* relacy_differs = "why";   // the reason in a sentence
//     };
//     APIARY_LITMUS(sb_relaxed);                                 // or APIARY_LITMUS(sb_relaxed, model::explorer_only);
//
// The outcome is the array's values joined by one space. A run passes when the engine saw exactly the
// expected set: one outcome more is a bug of the engine (or a wrong expectation), one outcome less is
// blindness. `before()` and `after()` are optional, as in every check. No heap in a litmus test.
//
// For an engine: after `after()`, ask `records_outcome<Check>` and count `outcome_text(check)` in
// verdict::outcomes. The comparison with the expected set is the runner's, not the engine's.
#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace apiary::model {

// A literal set of outcomes.
struct outcomes {
    static constexpr std::size_t most = 32;
    template <class... Text>
    constexpr outcomes(Text... text) : list{std::string_view(text)...}, count(sizeof...(Text)) {
        static_assert(sizeof...(Text) <= most);
    }
    std::vector<std::string> copy() const { return {list.begin(), list.begin() + static_cast<std::ptrdiff_t>(count)}; }

    std::array<std::string_view, most> list{};
    std::size_t count = 0;
};

template <class Check>
concept records_outcome = requires(const Check& check) { check.outcome()[0]; };

// Into a buffer, because an engine may watch the heap while this runs.
template <class Check>
std::string_view outcome_text(const Check& check, std::array<char, 128>& buffer) {
    char* at = buffer.data();
    char* const end = buffer.data() + buffer.size();
    bool first = true;
    for (const auto value : check.outcome()) {
        if (!first && at != end) *at++ = ' ';
        first = false;
        at = std::to_chars(at, end, value).ptr;
    }
    return {buffer.data(), static_cast<std::size_t>(at - buffer.data())};
}

}  // namespace apiary::model
