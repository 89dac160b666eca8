// Lists what no execution of the scenarios that passed came to in code as it is. A pass over a scenario that fails no
// compare-exchange and uses nothing twice says little; this says what the scenario left out, and how to reach it.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <apiary/model_check/check.hpp>

namespace apiary::model {

// Words of verdict::came_to; the runtime adds a space and a place "file:line" to each.
inline constexpr std::string_view came_to_fails = "fails", came_to_asks = "asks", came_to_waits = "waits",
                                  came_to_freed = "freed", came_to_again = "again",
                                  came_to_mark = "came to: ";  // their prefix while they travel among verdict::reached
// Of a line that writes to an atomic, in one execution.
inline constexpr std::string_view came_to_counts = "counts",    // it adds one, to two or more; a store: to several values
                                  came_to_falls = "falls",      // this line or another makes the value smaller
                                  came_to_spreads = "spreads",  // it has written to another atomic before
                                  came_to_returns = "returns";  // it has written to the same atomic before
// Of a line that writes plainly, and not to its thread's own stack, in one execution.
inline constexpr std::string_view came_to_fills = "fills",      // it has written to another place before
                                  came_to_refills = "refills";  // it has written to the same place before
// Of a line that locks a mutex or tries to.
inline constexpr std::string_view came_to_locks = "locks",  // it does so
                                  came_to_meets = "meets";  // another thread may hold the mutex at that moment

enum class unreached_kind : std::size_t {
    operation,   // compiled, and never run
    retry,       // a compare-exchange that ran, and never found another value than it expected
    wait,        // a wait of an atomic, a futex, C's semaphore or condition variable, in which no thread slept
    wrap,        // a write that counted up, and of whose atomic no value ever fell
    round,       // writes of one line to several atomics (slots, nodes), to none of them twice in an execution
    slot,        // the same of plain writes (what stands in slots, in the blocks of a list of free ones)
    contention,  // a mutex that no thread had to wait for
    freed,       // no line freed a block of the heap while there were threads
    reuse        // blocks were freed, and no line was given one again
};
struct unreached_place {
    unreached_kind kind;
    std::string where;  // "file:line:operation"; empty for the last two kinds
};

// Stands for all files but those of the C++ library.
inline constexpr std::string_view reach_of_all = "all";

// Puts all scenarios together that found nothing wrong, for the files whose name contains `file`.
class reach_of_scenarios {
public:
    explicit reach_of_scenarios(std::string file) : file_(std::move(file)) {}
    // Whether the program holds an operation or a plain access of such a file.
    [[nodiscard]] bool is_known() const;
    // Takes a verdict. False: it does not count, since the check is not of code as it is, or did not come through.
    bool add(const check_entry& check, const verdict& v);
    // By kind and place.
    [[nodiscard]] std::vector<unreached_place> never() const;
    // Each kind with its places, and what would reach them.
    [[nodiscard]] std::string text() const;

private:
    [[nodiscard]] bool is_in_question(const std::string& site) const;
    [[nodiscard]] bool came_to(std::string_view what) const;  // at some line in question

    std::string file_;
    std::size_t scenarios_ = 0;
    std::set<std::string> sites_, came_to_;
};
[[nodiscard]] std::string_view name_of(unreached_kind kind);
[[nodiscard]] std::string_view remedy_of(unreached_kind kind);

}  // namespace apiary::model
