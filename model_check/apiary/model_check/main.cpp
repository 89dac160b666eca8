// The main function of every check program.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <apiary/model_check/arbitrate.hpp>
#include <apiary/model_check/html_report.hpp>
#include <apiary/model_check/mutate_all.hpp>
#include <apiary/model_check/never_reached.hpp>
#include <apiary/model_check/options.hpp>
#include <apiary/model_check/orders.hpp>
#include <apiary/model_check/report.hpp>
#include <apiary/model_check/runner.hpp>

namespace {

using namespace apiary::model;

int nonsense(const std::string& what) {
    std::cerr << what << '\n';
    return 2;
}

std::string_view name_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }  // npos + 1 is 0

// A program of several files of checks has a link by the name of each. Called by that, it holds the checks of that file alone;
// its user need not know what they are compiled together with.
void keep_file_called(std::string_view called) {
    char own[4096];
    const ssize_t length = ::readlink("/proc/self/exe", own, sizeof own);
    if (length <= 0 || name_of(std::string_view(own, static_cast<std::size_t>(length))) == called) return;
    const auto is_there = [&](const check_entry& e) {
        const std::string_view file = name_of(e.file);
        return file.substr(0, file.rfind('.')) == called;
    };
    if (std::ranges::any_of(registry(), is_there)) std::erase_if(registry(), std::not_fn(is_there));
}

// The checks that were named, or an error that says which name does not exist.
bool select(const command& c, std::vector<task>& tasks, std::string& error) {
    for (const std::string& name : c.names) {
        bool exists = false;
        for (const check_entry& e : registry()) exists = exists || e.name == name;
        if (exists) continue;
        error = "there is no check '" + name + "' in this program; there are:\n" + list_text(registry());
        return false;
    }
    for (const check_entry& e : registry()) {
        bool wanted = c.names.empty();
        for (const std::string& name : c.names) wanted = wanted || e.name == name;
        for (const engine with : {engine::relacy, engine::explorer})
            if (wanted && (e.engines & c.engines & static_cast<unsigned>(with)) != 0) tasks.push_back({&e, with});
    }
    for (const std::string& name : c.names) {
        bool runs = false;
        for (const task& t : tasks) runs = runs || t.check->name == name;
        if (runs) continue;
        error = "'" + name + "' would not run: it is no check for this engine; --list tells which engine runs what";
        return false;
    }
    if (tasks.empty()) {
        error = "nothing to run: no check for this engine; --list tells which engine runs what";
        return false;
    }
    if (!c.search.from.empty() && tasks.front().check->as_it_is) {
        error = "'" + c.names.front() +
                "' is of ordinary C++, whose scenarios are searches of their own: --from divides checks over Sync";
        return false;
    }
    if (!c.search.replay.empty() && tasks.size() != 1) {
        error = "two engines run this check; say whose token this is by --engine relacy or --engine explorer";
        return false;
    }
    return true;
}

// Whether a mutation changes an operation that ran (as sites name it, with the order as written) or leaves it as it is.
// "No check failed" would else be said of the code as it stands.
struct mutation {
    std::string site, order;
    bool met = false, changes = false;

    void look_at(const std::map<std::string, std::string>& sites) {
        if (site.starts_with(recheck_prefix)) changes = true;
        for (const auto& [name, written] : sites) {
            const std::size_t at = name.find(site);  // Relacy takes the end of a path, too
            const bool named = without_column(name) == site ||
                               (at != std::string::npos && (at == 0 || name[at - 1] == '/') &&
                                (name.size() == at + site.size() || name[at + site.size()] == ':'));
            if (!named || !can_have(operation_of(name), order)) continue;
            met = true;
            changes = changes || order != written;
        }
    }
};

}  // namespace

int main(int argc, char** argv) {
    if (argc > 0) keep_file_called(name_of(argv[0]));
    command c = parse(argc, argv);
    c.search.progress = c.search.progress || ::isatty(STDERR_FILENO) == 1;
    if (!c.help.empty()) {
        std::cout << c.help;
        return 0;
    }
    if (!c.error.empty()) return nonsense(c.error);
    if (c.list) {
        std::cout << (c.json_list ? list_json(registry()) : list_text(registry()));
        return 0;
    }
    std::vector<task> tasks;
    std::string error;
    if (!select(c, tasks, error)) return nonsense(error);

    std::ofstream file, patch;
    if (!c.json_file.empty() && c.json_file != "-") {
        file.open(c.json_file);
        if (!file) return nonsense("cannot write '" + c.json_file + "'");
    }
    if (!c.patch_file.empty()) {
        patch.open(c.patch_file);
        if (!patch) return nonsense("cannot write '" + c.patch_file + "'");
    }
    if (!c.arbitrate.empty()) {
        std::ifstream report;
        if (c.arbitrate != "-") report.open(c.arbitrate);
        if (c.arbitrate != "-" && !report) return nonsense("cannot read '" + c.arbitrate + "'");
        return arbitrate(tasks, c.search, c.timeout_seconds, c.arbitrate == "-" ? std::cin : report, argv[0], std::cout);
    }
    if (!c.mutate_all.empty()) {
        std::ostream no_table(nullptr);
        const bool json_alone = c.json_file == "-";
        const mutation_request asked{c.mutate_all, c.json_file.empty() ? nullptr : json_alone ? &std::cout : &file,
                                     c.patch_file.empty() ? nullptr : &patch};
        return mutate_all(tasks, c.search, c.timeout_seconds, asked, json_alone ? no_table : std::cout);
    }

    std::ofstream page;
    if (!c.html_file.empty()) {
        page.open(c.html_file);
        if (!page) return nonsense("cannot write '" + c.html_file + "'");
    }
    std::vector<judged> all;
    std::set<std::string> bounds;  // of what passed
    const bool show_traces = c.show_traces || !c.search.replay.empty();
    std::vector<mutation> mutations;
    if (!c.search.mutate_site.empty()) mutations.push_back({c.search.mutate_site, c.search.mutate_order});
    for (const order_change& more : c.search.changes) mutations.push_back({more.site, more.to});
    if (mutations.size() > 1)
        for (const task& t : tasks)
            if (t.with == engine::relacy)
                return nonsense("--mutate several times is the explorer's; beside it --engine explorer");
    reach_of_scenarios reach(c.reach);
    if (!c.reach.empty() && c.reach != reach_of_all && !reach.is_known())
        return nonsense("--reach: this program holds no operation of code as it is in a file whose name contains '" + c.reach +
                        "'; \"sites\" of a --json verdict lists those that ran");
    const bool good = run_all(tasks, c.search, c.timeout_seconds, [&](const judged& j) {
        if (!c.reach.empty()) (void)reach.add(*j.ran.check, j.found);
        for (mutation& m : mutations) m.look_at(j.found.sites);
        if (j.found.mutation_met != 0) mutations.front().met = true;
        if (c.json_file == "-")
            std::cout << verdict_json(j, c.reach) << std::endl;
        else
            std::cout << verdict_text(j, argv[0], show_traces) << std::flush;
        if (j.ran.check->as_it_is && j.found.result == outcome::pass && j.found.mode == "exhaustive")
            bounds.insert(j.found.bound.substr(0, j.found.bound.find("; scenarios: ")) +
                          "\n  and does not see: " + j.found.blind);
        if (file.is_open()) file << verdict_json(j, c.reach) << std::endl;
        if (page.is_open()) all.push_back(j);
    });
    if (c.json_file != "-")
        for (const std::string& bound : bounds) std::cout << "an exhaustive pass holds for " << bound << "\n" << std::flush;
    if (!c.reach.empty() && c.json_file != "-") std::cout << reach.text() << std::flush;
    if (page.is_open()) page << html_page(all, argv[0]) << std::flush;
    // A typo must not look like a kill, nor like a survivor.
    for (const mutation& m : mutations) {
        if (!m.met)
            return nonsense(
                "nothing was weakened: no operation at " + m.site + " ran that can be '" + m.order +
                "' (a load: relaxed, acquire, seq_cst; a store: relaxed, release, seq_cst; a fence: also dropped); "
                "\"sites\" of a --json verdict lists those that ran");
        if (!m.changes)
            return nonsense("nothing was weakened: '" + m.order + "' leaves the operation at " + m.site +
                            " as it is written; \"sites\" of a --json verdict has the orders");
    }
    return good ? 0 : 1;
}
