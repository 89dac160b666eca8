// What each memory order of a file is for: needed, free, missing, or never reached.
//
// A check that passes with a weaker order passes with every order between that and the one that is written, since a
// stronger order allows a part of the executions only. So an order is free if any weaker one passes, and a set of weaker
// orders that passes together is found greedily, from the first line to the last; it is one such set, and another one
// may be as good.
#pragma once

#include <set>
#include <string>
#include <vector>

#include <apiary/model_check/runner.hpp>

namespace apiary::model {

// An operation of the source, however often it was compiled.
struct ordered_operation {
    std::string site;     // "file:line:column:operation"; of code as it is without the column
    std::string written;  // the order in the source
    bool as_it_is = false;
    std::set<std::string> compiled{};   // of code as it is: those that were run, by name and column; weakened together
    std::vector<task> tasks;            // the checks that execute it, the explorer's first: its pass means all
    std::vector<std::string> survived;  // weaker orders under which no check fails, mildest first
    bool exhausted = true;              // all searches of those orders came to their end
};

enum class order_word { needed, free, undecided, missing, unreached };
const char* word_of(order_word w);

struct order_advice {
    order_word word = order_word::needed;
    std::string site{}, written{};
    std::string alone{};     // free: the weakest order that passes while all others stay; missing: the order that mends
    std::string together{};  // free: what it can have while all free ones of the list have theirs
    std::string because{};   // missing: which check it mends
    std::size_t compiled = 1;  // operations that were run of this one, and changed together
};

// Runs one check with `changes`; the word of its verdict ("pass", "fail", "budget", "error") and its reason.
struct changed_run {
    std::string word, reason;
};
using run_changed = std::function<changed_run(const task&, const std::vector<order_change>&)>;

// Of operations whose single mutants were run: which are free, and what all of them can have at once.
[[nodiscard]] std::vector<order_advice> advise(const std::vector<ordered_operation>& operations, const run_changed& run);

// Of checks that are red as the code stands: each single order that would mend them all; where no single one does, the
// fewest that were found from all of them at their strongest. Empty where no order mends them.
[[nodiscard]] std::vector<order_advice> missing_orders(const std::vector<ordered_operation>& operations,
                                                       const std::vector<task>& red, const run_changed& run);

// The operations of a file that this program holds and that no check executed, as "file:line:operation". They are known
// of code as it is alone, where the program's own instructions tell what was compiled.
[[nodiscard]] std::vector<order_advice> unreached(const std::vector<ordered_operation>& operations, const std::string& file);

[[nodiscard]] std::string advice_text(const std::vector<order_advice>& all);
[[nodiscard]] std::string advice_json(const std::vector<order_advice>& all);
// A unified diff that gives each free operation its weaker order, and each missing one its stronger one (order_patch.cpp).
// What a tool cannot rewrite safely stands in comments before it, to be done by hand.
[[nodiscard]] std::string advice_patch(const std::vector<order_advice>& all);

}  // namespace apiary::model
