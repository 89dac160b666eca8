// See mutate_all.hpp.
#include <apiary/model_check/mutate_all.hpp>

#include <algorithm>
#include <map>

#include <apiary/model_check/orders.hpp>

namespace apiary::model {

namespace {

struct site {
    std::string written;
    std::vector<task> tasks;  // that execute it, the explorer's first: its pass means all
};

bool is_in(const std::string& name, const std::string& file) {
    if (name.starts_with(recheck_prefix)) return true;
    return name.substr(0, name.find(':')).find(file) != std::string::npos;
}

// "file:12:5:load" sorts by its line, not by its text.
struct by_place {
    static std::pair<std::string, unsigned long> place(const std::string& name) {
        const std::size_t colon = name.find(':');
        return {name.substr(0, colon), std::strtoul(name.c_str() + colon + 1, nullptr, 10)};
    }
    bool operator()(const std::string& a, const std::string& b) const {
        const auto left = place(a), right = place(b);
        return left != right ? left < right : a < b;
    }
};

std::string cell(std::string text, std::size_t width) {
    text.resize(std::max(text.size(), width), ' ');
    return text + "  ";
}

}  // namespace

int mutate_all(const std::vector<task>& tasks, const search_options& options, double timeout_seconds,
               const std::string& file, std::ostream& out) {
    std::map<std::string, site, by_place> sites;
    std::vector<task> checks;
    for (const engine with : {engine::explorer, engine::relacy})
        for (const task& t : tasks)
            if (t.with == with && t.check->kind == check_kind::check) checks.push_back(t);
    search_options o = options;
    o.traceless = true;
    std::string red;
    const bool good = run_all(checks, o, timeout_seconds, [&](const judged& j) {
        if (!j.as_expected) red = j.ran.check->name + ": " + j.found.reason;
        for (const auto& [name, written] : j.found.sites) {
            if (!is_in(name, file)) continue;
            sites[name].written = written;
            sites[name].tasks.push_back(j.ran);
        }
    });
    if (!good) {
        out << "nothing was weakened: a check is red as the code stands: " << red << '\n';
        return 2;
    }
    std::size_t width = 0, mutants = 0, killed = 0;
    for (const auto& [name, s] : sites)
        if (!weaker(operation_of(name), s.written).empty()) width = std::max(width, name.size());
    for (const auto& [name, s] : sites)
        for (const std::string& order : weaker(operation_of(name), s.written)) {
            o.mutate_site = name;
            o.mutate_order = order;
            std::string row = "SURVIVES";
            for (const task& t : s.tasks) {
                bool dead = false;
                (void)run_all({t}, o, timeout_seconds, [&](const judged& j) {
                    dead = j.verdict_word == "fail";
                    const std::string by = j.ran.check->name + ", " + engine_name(j.ran.with) + ", ";
                    if (dead)
                        row = "killed by " + by + std::to_string(j.found.executions) + " executions: " + j.found.reason;
                    else if (j.verdict_word == "error")
                        row = "ERROR " + by + j.found.reason;
                });
                if (dead || row.starts_with("ERROR")) break;
            }
            ++mutants;
            killed += row.starts_with("killed") ? 1U : 0U;
            out << cell(name, width) << cell(s.written + " -> " + order, 18) << row << std::endl;
        }
    if (mutants == 0) {
        out << "no operation that could be weakened ran in a file whose name contains '" << file
            << "'; \"sites\" of a --json verdict lists those that ran\n";
        return 2;
    }
    out << killed << " of " << mutants << " mutants killed\n";
    return killed == mutants ? 0 : 1;
}

}  // namespace apiary::model
