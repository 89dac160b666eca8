// See arbitrate.hpp.
#include <apiary/model_check/arbitrate.hpp>

#include <algorithm>
#include <istream>
#include <map>
#include <ostream>
#include <regex>
#include <set>

#include <apiary/model_check/compiled_operations.hpp>
#include <apiary/model_check/orders.hpp>
#include <apiary/model_check/report.hpp>

namespace apiary::model {

namespace {

// What the scenarios together say with some orders changed.
struct answer {
    std::optional<judged> race;  // at the places that were asked for
    std::string unfinished;      // a search that a budget or an error ended, or that met another failure first
    std::map<std::string, std::string> sites;
};

using two_places = std::pair<std::string, std::string>;

// Whether a failure is a race at these places: "data race: a plain read at queue.hpp:12 (thread 1) and a plain write at …".
// `with_its_allocation`: or of one of them and the allocation of its memory. A search does not go on from that one, and what is
// not ordered after the allocation of a block is not ordered after a write to it either.
bool is_of(const std::string& reason, const two_places& at, bool with_its_allocation) {
    if (!reason.starts_with("data race") && !reason.starts_with("access to freed memory")) return false;
    static const std::regex place(R"( at (\S+:\d+) )");
    std::vector<std::string> seen;
    for (std::sregex_iterator i(reason.begin(), reason.end(), place), end; i != end && seen.size() != 2; ++i)
        seen.push_back((*i)[1]);
    if (seen.size() != 2) return false;
    if (with_its_allocation && reason.find("and the allocation of this memory at ") != reason.npos)
        return same_place(seen[0], at.first) || same_place(seen[0], at.second);
    return (same_place(seen[0], at.first) && same_place(seen[1], at.second)) ||
           (same_place(seen[0], at.second) && same_place(seen[1], at.first));
}

class court {
public:
    court(const std::vector<task>& tasks, const search_options& options, double timeout_seconds)
        : tasks_(tasks), options_(options), timeout_seconds_(timeout_seconds) {
        std::erase_if(tasks_, [](const task& t) { return !t.check->as_it_is; });
    }

    [[nodiscard]] bool has_scenarios() const { return !tasks_.empty(); }

    [[nodiscard]] answer ask(const two_places& at, const std::vector<order_change>& changes, bool with_trace) const {
        answer found;
        search_options o = options_;
        o.changes = changes;
        o.race_in_question = at;
        o.traceless = !with_trace;
        for (const task& t : tasks_) {
            (void)run_all({t}, o, timeout_seconds_, [&](const judged& j) {
                for (const auto& [site, written] : j.found.sites) found.sites[site] = written;
                if (j.found.result == outcome::fail && is_of(j.found.reason, at, !changes.empty()))
                    found.race = j;
                else if (j.found.result != outcome::pass)
                    found.unfinished = t.check->name + ": " + j.found.reason;
            });
            if (found.race.has_value()) break;
        }
        return found;
    }

private:
    std::vector<task> tasks_;
    search_options options_;
    double timeout_seconds_;
};

bool is_fence(const std::string& site) { return operation_of(site) == "fence"; }

std::string line_of(const std::string& site) {
    const std::size_t colon = site.find(':');
    return site.substr(0, site.find(':', colon + 1));
}

std::vector<order_change> weakest(const std::map<std::string, std::string>& sites, bool fences_alone) {
    std::vector<order_change> all;
    for (const auto& [site, written] : sites) {
        const std::vector<std::string> orders = weaker(operation_of(site), written);
        if (!orders.empty() && (is_fence(site) || !fences_alone)) all.push_back({site, written, orders.back()});
    }
    return all;
}

std::string listed(const std::set<std::string>& all) {
    std::string text;
    for (const std::string& one : all) text += (text.empty() ? "" : ", ") + one;
    return text;
}

// One report. 0, 1 or 3.
int judge_report(const court& scenarios, const two_places& at, const std::string& program, std::ostream& out) {
    const answer exact = scenarios.ask(at, {}, true);
    if (exact.race.has_value()) {
        out << "a race: here is an execution of it\n" << verdict_text(*exact.race, program, true);
        return 1;
    }
    const auto undecided = [&](const std::string& why) {
        out << "undecided: " << why << '\n';
        return 3;
    };
    if (!exact.unfinished.empty()) return undecided("not every search came to its end (" + exact.unfinished + ")");
    const std::vector<order_change> fences = weakest(exact.sites, true);
    if (!fences.empty() && scenarios.ask(at, fences, false).race.has_value()) {
        std::set<std::string> lines;
        for (const order_change& c : fences)
            if (scenarios.ask(at, {c}, false).race.has_value()) lines.insert(line_of(c.site));
        out << "none within this bound. ThreadSanitizer ignores fences, and ";
        if (lines.empty()) {
            for (const order_change& c : fences) lines.insert(line_of(c.site));
            out << "any one of these keeps both places apart: " << listed(lines) << '\n';
        } else {
            out << "what keeps both places apart is the fence at " << listed(lines) << '\n';
        }
        return 0;
    }
    const std::vector<order_change> orders = weakest(exact.sites, false);
    const answer relaxed = scenarios.ask(at, orders, false);
    std::set<std::string> alone;
    if (relaxed.race.has_value() || !relaxed.unfinished.empty())
        for (const order_change& c : orders)
            if (scenarios.ask(at, {c}, false).race.has_value()) alone.insert(line_of(c.site));
    if (relaxed.race.has_value() || !alone.empty()) {
        out << "none within this bound. Both places are reached, no fence has a part in it, and what keeps them apart is "
            << (alone.empty() ? "more than one order" : "the order at " + listed(alone))
            << ". So the report comes from something that these scenarios do not do, or from code that was not "
               "instrumented there\n";
        return 0;
    }
    if (!relaxed.unfinished.empty())
        return undecided("no race in any execution of the code as it stands; but which order keeps both places apart, and so "
                         "whether these scenarios bring them together, is not known: with every order relaxed they end "
                         "otherwise (" + relaxed.unfinished + ")");
    std::set<std::string> lines;
    for (const auto& [site, written] : exact.sites)
        if (!weaker(operation_of(site), written).empty()) lines.insert(line_of(site));
    return undecided(
        "also with every order relaxed no scenario brings both places together without locks or joins between them. "
        "Remedy: a scenario in which both run in threads at once. Atomic operations that were reached: " +
        (lines.empty() ? std::string("none") : listed(lines)));
}

}  // namespace

std::vector<reported_race> read_reports(std::istream& text) {
    // g++'s runtime writes FILE:LINE, clang's FILE:LINE:COLUMN.
    static const std::regex frame(R"(^\s+#\d+ .* ([^\s:]+:\d+)(:\d+)? \()");
    static const std::regex access(R"(^\s+(Previous )?(atomic )?(read|write) of size \d+ at )", std::regex::icase);
    std::vector<reported_race> all;
    std::vector<std::string>* stack = nullptr;
    for (std::string line; std::getline(text, line);) {
        std::smatch found;
        if (line.find("WARNING: ThreadSanitizer: data race") != line.npos) {
            all.emplace_back();
            stack = nullptr;
        } else if (std::regex_search(line, access) && !all.empty()) {
            stack = all.back().first.empty() ? &all.back().first : &all.back().second;
        } else if (std::regex_search(line, found, frame)) {
            if (stack != nullptr) stack->push_back(found[1]);
        } else {
            stack = nullptr;  // the stacks of a thread's creation and of an allocation follow
        }
    }
    std::erase_if(all, [](const reported_race& r) { return r.first.empty() || r.second.empty(); });
    return all;
}

int arbitrate(const std::vector<task>& tasks, const search_options& options, double timeout_seconds, std::istream& report,
              const std::string& program, std::ostream& out) {
    const std::vector<reported_race> all = read_reports(report);
    if (all.empty()) {
        out << "the text holds no report of a data race with the files and lines of both accesses. Remedy: the whole text "
               "from \"WARNING: ThreadSanitizer: data race\" on, of a program compiled with -g\n";
        return 2;
    }
    const court scenarios(tasks, options, timeout_seconds);
    if (!scenarios.has_scenarios()) {
        out << "this program has no scenario of code as it is. Remedy: APIARY_SCENARIO\n";
        return 2;
    }
    int worst = 0;
    for (const reported_race& r : all) {
        out << "reported: " << r.first.front() << " and " << r.second.front() << '\n';
        // The innermost frame that is an access here: the library's own frames stand before it.
        const auto own = [](const std::vector<std::string>& stack) {
            const auto found = std::ranges::find_if(stack, is_compiled_place);
            return found == stack.end() ? std::string() : *found;
        };
        const two_places at{own(r.first), own(r.second)};
        int code = 3;
        if (at.first.empty() || at.second.empty())
            out << "undecided: no access of this program was compiled at "
                << (at.first.empty() ? r.first : r.second).front()
                << ", nor at what called it: the report is of another build, or of other code. Remedy: build the scenario "
                   "from the sources that the report is of\n";
        else
            code = judge_report(scenarios, at, program, out);
        worst = worst == 1 || code == 1 ? 1 : std::max(worst, code);
    }
    return worst;
}

}  // namespace apiary::model
