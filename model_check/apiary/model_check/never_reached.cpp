// See never_reached.hpp.
#include <apiary/model_check/never_reached.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include <apiary/model_check/compiled_operations.hpp>
#include <apiary/model_check/orders.hpp>

namespace apiary::model {

namespace {

struct kind_words {
    std::string_view name, many, remedy;
};
constexpr std::array<kind_words, 9> kinds{{
    {"operation", "operations that no execution ran",
     "more operations of each thread, a thread with another part, or a smaller capacity (a block size by a template "
     "argument or macro), so that the structure is full, grows, or comes round"},
    {"retry", "compare-exchanges that found no other value than expected",
     "another thread that does the same operation at the same time, or more operations of each"},
    {"wait", "waits that never slept",
     "a waiter that may come before what it waits for: fewer permits, or a wake by another thread, which comes later"},
    {"wrap", "counters that only grew",
     "a counter that begins just below its largest value, a narrower type, or, where the index is masked, a smaller "
     "capacity or more operations; one that is masked only where it is used grows for ever, and the next list tells"},
    {"round", "lines that wrote to several atomics (slots, nodes), and to none of them twice",
     "more operations than there are slots: more of each thread, or a smaller capacity"},
    {"slot", "lines that wrote plainly to several places (slots of a block), and to none of them twice",
     "more operations than a block has slots, or a smaller block (a template argument or macro, such as BLOCK_SIZE): then "
     "a block that was emptied is used again"},
    {"contention", "mutexes that no thread had to wait for",
     "two threads that take the same lock, and that nothing else puts into an order"},
    {"freed", "no line of it freed a block of the heap while there were threads",
     "threads that take out what others put in until the code gives memory back; what it keeps in lists of its own, "
     "or in containers of the library, is not seen here: its operations above tell"},
    {"reuse", "its blocks of the heap were freed, and no line of it was given one again",
     "an allocation of the same size after the free, by more operations or another thread, or a smaller block "
     "size; and --bounds reuse=1 or more"},
}};
const kind_words& words_of(unreached_kind kind) { return kinds[static_cast<std::size_t>(kind)]; }

std::string file_of(const std::string& site) { return site.substr(0, site.find(':')); }
// As the runtime names it: clang's third form is a strong one.
std::string as_it_runs(const std::string& site) {
    constexpr std::string_view third = "compare_exchange_val";
    return site.ends_with(third) ? site.substr(0, site.size() - third.size()) + "compare_exchange_strong" : site;
}
std::pair<std::string, unsigned long> place(const std::string& site) {
    return {file_of(site), std::strtoul(site.c_str() + site.find(':') + 1, nullptr, 10)};
}

}  // namespace

std::string_view name_of(unreached_kind kind) { return words_of(kind).name; }
std::string_view remedy_of(unreached_kind kind) { return words_of(kind).remedy; }

bool reach_of_scenarios::is_in_question(const std::string& site) const {
    if (file_ == reach_of_all) return file_of(site).find("/c++/") == std::string::npos;
    return file_of(site).find(file_) != std::string::npos;
}

bool reach_of_scenarios::came_to(std::string_view what) const {
    return std::ranges::any_of(came_to_, [&](const std::string& told) {
        return told.starts_with(what) && is_in_question(told.substr(what.size() + 1));
    });
}

bool reach_of_scenarios::is_known() const {
    return std::ranges::any_of(compiled_here(), [&](const std::string& site) { return is_in_question(site); });
}

bool reach_of_scenarios::add(const check_entry& check, const verdict& v) {
    if (!check.as_it_is || (v.result != outcome::pass && v.result != outcome::budget_ended)) return false;
    ++scenarios_;
    for (const auto& [site, order] : v.sites)
        if (!site.starts_with(recheck_prefix) && is_in_question(site)) sites_.insert(without_column(site));
    for (const auto& [what, times] : v.came_to) came_to_.insert(what);
    return true;
}

std::vector<unreached_place> reach_of_scenarios::never() const {
    std::vector<unreached_place> all;
    if (scenarios_ == 0) return all;
    for (const std::string& compiled : compiled_here()) {
        const std::string site = as_it_runs(compiled);
        const std::string_view operation = operation_of(site);
        if (operation == "wait" && is_in_question(site) && !sites_.contains(site))
            all.push_back({unreached_kind::wait, site});
        // A signal fence is the compiler's affair, but for one half of a pair, which goes by another name.
        if (operation != "plain" && operation != "wait" && operation != "signal_fence" && is_in_question(site) &&
            !sites_.contains(site))
            all.push_back({unreached_kind::operation, site});
    }
    for (const std::string& site : sites_)
        if (operation_of(site).starts_with("compare_exchange") && !site.ends_with(failure_site) &&
            !came_to_.contains(std::string(came_to_fails) + " " + site.substr(0, site.rfind(':'))))
            all.push_back({unreached_kind::retry, site});
    // A call to the kernel by the program itself.
    for (const std::string& asked : came_to_) {
        if (!asked.starts_with(came_to_asks)) continue;
        const std::string where = asked.substr(came_to_asks.size() + 1);
        const std::string wait = where + ":wait";
        if (is_in_question(where) && !came_to_.contains(std::string(came_to_waits) + " " + where) &&
            std::ranges::count(compiled_here(), wait) == 0)
            all.push_back({unreached_kind::wait, wait});
    }
    // One thing that was done there, and never another.
    const auto did_only = [&](std::string_view what, std::string_view other, unreached_kind kind,
                              const char* operation) {
        for (const std::string& told : came_to_) {
            if (!told.starts_with(std::string(what) + " ")) continue;
            const std::string where = told.substr(what.size() + 1);
            if (is_in_question(where) && !came_to_.contains(std::string(other) + " " + where))
                all.push_back({kind, where + operation});
        }
    };
    did_only(came_to_counts, came_to_falls, unreached_kind::wrap, ":write");
    did_only(came_to_spreads, came_to_returns, unreached_kind::round, ":write");
    did_only(came_to_fills, came_to_refills, unreached_kind::slot, ":write");
    did_only(came_to_locks, came_to_meets, unreached_kind::contention, ":lock");
    std::ranges::stable_sort(all, {}, [](const unreached_place& p) { return std::pair(p.kind, place(p.where)); });
    if (!came_to(came_to_freed))
        all.push_back({unreached_kind::freed, ""});
    else if (!came_to(came_to_again))
        all.push_back({unreached_kind::reuse, ""});
    return all;
}

std::string reach_of_scenarios::text() const {
    if (scenarios_ == 0) return "never reached: not asked, since no scenario of code as it is came through\n";
    std::string out = "never reached by " +
                      (scenarios_ == 1 ? std::string("the scenario that came through")
                                       : "any of the " + std::to_string(scenarios_) + " scenarios that came through") +
                      (file_ == reach_of_all ? "" : ", of " + file_) + ":\n";
    const std::vector<unreached_place> all = never();
    for (auto p = all.begin(); p != all.end();) {
        const auto end = std::find_if(p, all.end(), [&](const unreached_place& q) { return q.kind != p->kind; });
        out += "  " + std::string(words_of(p->kind).many);
        if (!p->where.empty()) out += ": " + std::to_string(end - p);
        out.append("\n    what would: ").append(words_of(p->kind).remedy).append("\n");
        for (; p != end; ++p)
            if (!p->where.empty()) out += "    " + p->where + "\n";
    }
    if (all.empty()) out += "  nothing that is looked for\n";
    return out;
}

}  // namespace apiary::model
