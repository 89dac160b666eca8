// call_tree: see the header.
#include "call_tree.hpp"

#include "machine.hpp"
#include "report.hpp"

namespace apiary::hunt {

call_tree the_calls;

void call_tree::begin() { all_ = static_cast<entry*>(machine::map(most * sizeof(entry), machine::of_calls)); }

void call_tree::tell(placed p) const {
    say("      at %#lx\n", p.place());
    node n = p.stack();
    for (int told = 0; n != 0 && told < 12; ++told, n = all_[n].from) say("      by %#lx\n", all_[n].caller - 1);
}

}  // namespace apiary::hunt
