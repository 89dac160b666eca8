// See mutate_all.hpp.
#include <apiary/model_check/mutate_all.hpp>

#include <algorithm>
#include <map>

#include <apiary/model_check/order_advice.hpp>
#include <apiary/model_check/orders.hpp>
#include <apiary/model_check/report.hpp>

namespace apiary::model {

namespace {

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

class table {
public:
    table(const search_options& options, double timeout_seconds, std::ostream& out)
        : options_(options), timeout_seconds_(timeout_seconds), out_(out) {
        options_.traceless = true;
    }

    // Runs the checks as they are. Red ones go into red().
    void survey(const std::vector<task>& tasks, const std::string& file) {
        std::vector<task> checks;
        for (const check_kind kind : {check_kind::check, check_kind::exhibit})
            for (const engine with : {engine::explorer, engine::relacy})
                for (const task& t : tasks)
                    if (t.with == with && t.check->kind == kind && (checks.empty() || checks[0].check->kind == kind))
                        checks.push_back(t);
        std::map<std::string, ordered_operation, by_place> found;
        (void)run_all(checks, options_, timeout_seconds_, [&](const judged& j) {
            if (!j.as_expected || j.found.result == outcome::fail) {
                red_.push_back(j.ran);
                why_red_ = j.ran.check->name + ": " + j.found.reason;
            }
            for (const auto& [name, written] : j.found.sites) {
                if (!is_in(name, file)) continue;
                const bool many = j.ran.check->as_it_is && !name.starts_with(recheck_prefix);
                const std::string site = many ? without_column(name) : name;
                ordered_operation& o = found[site + (many ? " " + written : "")];
                o.site = site;
                o.written = written;
                o.as_it_is = many;
                o.compiled.insert(name);
                if (o.tasks.empty() || o.tasks.back().check != j.ran.check || o.tasks.back().with != j.ran.with)
                    o.tasks.push_back(j.ran);
            }
        });
        for (auto& [key, o] : found) operations_.push_back(std::move(o));
    }

    [[nodiscard]] const std::vector<task>& red() const { return red_; }
    [[nodiscard]] const std::string& why_red() const { return why_red_; }
    [[nodiscard]] const std::vector<ordered_operation>& operations() const { return operations_; }

    // A row for each weaker order of each operation. How many, and how many of them a check killed.
    std::pair<std::size_t, std::size_t> rows() {
        std::size_t width = 0, mutants = 0, killed = 0;
        for (const ordered_operation& o : operations_)
            if (!weaker(operation_of(o.site), o.written).empty()) width = std::max(width, o.site.size());
        for (ordered_operation& o : operations_)
            for (const std::string& order : weaker(operation_of(o.site), o.written)) {
                const std::string row = row_of(o, order);
                ++mutants;
                killed += row.starts_with("killed") ? 1U : 0U;
                out_ << table_cell(o.site, width) << table_cell(o.written + " -> " + order, 18) << row << std::endl;
            }
        return {mutants, killed};
    }

    [[nodiscard]] changed_run run(const task& t, const std::vector<order_change>& changes) const {
        search_options o = options_;
        o.changes = changes;
        return run(t, o);
    }

private:
    [[nodiscard]] changed_run run(const task& t, const search_options& o) const {
        changed_run found;
        (void)run_all({t}, o, timeout_seconds_, [&](const judged& j) {
            found = {j.verdict_word, std::to_string(j.found.executions) + " executions: " + j.found.reason};
            if (j.found.result == outcome::budget_ended) found.word = "budget";
        });
        return found;
    }

    std::string row_of(ordered_operation& of, const std::string& order) {
        search_options o = options_;
        if (of.as_it_is) {
            o.changes = {{of.site, of.written, order}};
        } else {
            o.mutate_site = of.site;
            o.mutate_order = order;
        }
        bool exhausted = true;
        for (const task& t : of.tasks) {
            const changed_run found = run(t, o);
            const std::string by = t.check->name + ", " + engine_name(t.with) + ", " + found.reason;
            if (found.word == "fail") return "killed by " + by;
            if (found.word == "error") {
                of.exhausted = false;
                of.survived.push_back(order);
                return "ERROR " + t.check->name + ", " + engine_name(t.with) + ", " +
                       found.reason.substr(found.reason.find(": ") + 2);
            }
            exhausted = exhausted && (found.word == "pass" || t.with == engine::relacy);
        }
        of.exhausted = of.exhausted && exhausted;
        of.survived.push_back(order);
        return "SURVIVES";
    }

    search_options options_;
    double timeout_seconds_;
    std::ostream& out_;
    std::vector<task> red_;
    std::string why_red_;
    std::vector<ordered_operation> operations_;
};

}  // namespace

int mutate_all(const std::vector<task>& tasks, const search_options& options, double timeout_seconds,
               const mutation_request& asked, std::ostream& out) {
    table t(options, timeout_seconds, out);
    t.survey(tasks, asked.file);
    const run_changed run = [&](const task& of, const std::vector<order_change>& changes) { return t.run(of, changes); };
    std::vector<order_advice> advice;
    int code = 0;
    if (!t.red().empty()) {
        out << "nothing was weakened: a check is red as the code stands: " << t.why_red() << '\n';
        advice = missing_orders(t.operations(), t.red(), run);
        out << advice_text(advice);
        if (advice.empty()) out << "no stronger order of '" << asked.file << "' makes it pass\n";
        code = advice.empty() ? 2 : 1;
    } else {
        const auto [mutants, killed] = t.rows();
        if (mutants == 0) {
            out << "no operation that could be weakened ran in a file whose name contains '" << asked.file
                << "'; \"sites\" of a --json verdict lists those that ran\n";
            return 2;
        }
        out << killed << " of " << mutants << " mutants killed\n";
        advice = advise(t.operations(), run);
        for (order_advice& a : unreached(t.operations(), asked.file)) advice.push_back(std::move(a));
        out << "what each order is for:\n" << advice_text(advice);
        code = killed == mutants ? 0 : 1;
    }
    if (asked.json != nullptr) *asked.json << advice_json(advice);
    if (asked.patch != nullptr) *asked.patch << advice_patch(advice);
    return code;
}

}  // namespace apiary::model
