// See report.hpp.
#include <apiary/model_check/report.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include <apiary/model_check/never_reached.hpp>

namespace apiary::model {

namespace {

using json = nlohmann::ordered_json;

// One line; what is no UTF-8 (a trace may quote any byte) is replaced.
std::string line(const json& j) { return j.dump(-1, ' ', false, json::error_handler_t::replace); }

std::string seconds_text(double seconds) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3f", seconds);
    return text;
}

json engines_json(unsigned set) {
    json out = json::array();
    if ((set & relacy_only) != 0) out.push_back("relacy");
    if ((set & explorer_only) != 0) out.push_back("explorer");
    return out;
}

// The threads of a set of bits.
json threads_json(std::uint64_t bits) {
    json out = json::array();
    for (unsigned t = 0; t != 64; ++t)
        if ((bits >> t & 1U) != 0) out.push_back(t);
    return out;
}

std::string padded(std::string text, std::size_t width) {
    text.resize(std::max(text.size(), width), ' ');
    return text + " ";
}

const char* heading(const judged& j) {
    if (!j.as_expected) return "FAIL";
    if (j.ran.check->kind == check_kind::exhibit && j.found.result == outcome::fail) return "caught";
    return j.found.result == outcome::budget_ended ? "budget" : "pass";
}

}  // namespace

std::string table_cell(std::string text, std::size_t width) {
    return padded(std::move(text), width) + " ";
}

std::string list_text(const std::vector<check_entry>& checks) {
    std::string out;
    for (const check_entry& c : checks) {
        const std::string engines = (c.engines & relacy_only) == 0     ? "explorer"
                                    : (c.engines & explorer_only) == 0 ? "relacy"
                                                                       : "relacy,explorer";
        out += padded(kind_name(c.kind), 7) + padded(c.name, 34) + padded(engines, 15) + std::to_string(c.threads) +
               " threads  " + c.what + "\n";
    }
    return out;
}

std::string list_json(const std::vector<check_entry>& checks) {
    std::string out;
    for (const check_entry& c : checks)
        out += line({{"name", c.name},
                     {"kind", kind_name(c.kind)},
                     {"engines", engines_json(c.engines)},
                     {"must_see", engines_json(c.must_see & c.engines)},
                     {"one_engine", c.one_engine_because},
                     {"threads", c.threads},
                     {"what", c.what},
                     {"must_reach", c.must_reach},
                     {"engine_laws", c.engine_laws},
                     {"exhibit", c.exhibit},
                     {"as_it_is", c.as_it_is},
                     {"too_large", c.too_large_to_exhaust}}) +
               "\n";
    return out;
}

namespace {
// Of a search that was cut.
std::string how_far_it_came(const std::string& bound) {
    const std::size_t at = std::min(bound.find("; budget ended"), bound.rfind("; "));
    return at == std::string::npos ? "" : bound.substr(at, bound.find("; ", at + 1) - at);
}
}  // namespace

std::string verdict_text(const judged& j, const std::string& program, bool always_trace) {
    const verdict& v = j.found;
    std::string out = padded(heading(j), 6) + padded(j.ran.check->name, 34) + padded(engine_name(j.ran.with), 8) +
                      padded(v.mode, 10) + std::to_string(v.executions) + " executions";
    if (v.graphs != 0) out += ", " + std::to_string(v.graphs) + " graphs";
    // Where they are generated, how many, and how many of them were exhausted and cut.
    if (const std::size_t at = v.bound.find("; scenarios: "); at != std::string::npos)
        out += ", " + v.bound.substr(at + 2);
    out += ", " + seconds_text(v.seconds) + " s";
    if (!v.reason.empty())
        out += ": " + v.reason;
    else if (v.result == outcome::budget_ended)
        out += how_far_it_came(v.bound);
    out += '\n';
    const char* const what = j.ran.check->kind == check_kind::litmus ? "not C++20's set: " : "does not see it: ";
    if (!j.differs.empty()) out += "       " + std::string(what) + j.differs + "\n";
    if (j.as_expected && !always_trace) return out;
    if (!v.trace.empty()) out += "\n" + v.trace + "\n";
    if (!j.replay_line.empty()) out += "  replay: " + program + " " + j.replay_line + "\n\n";
    return out;
}

std::string verdict_json(const judged& j, const std::string& reach) {
    const verdict& v = j.found;
    json out = {{"name", j.ran.check->name},
                {"kind", kind_name(j.ran.check->kind)},
                {"engine", engine_name(j.ran.with)},
                {"mode", v.mode},
                {"bound", v.bound},
                {"verdict", j.verdict_word},
                {"as_expected", j.as_expected},
                {"executions", v.executions},
                {"graphs", v.graphs},
                {"blocked", v.blocked},
                {"differs", j.differs},
                {"seconds", std::round(v.seconds * 1000) / 1000},
                {"reason", v.reason},
                {"replay", j.replay_line},
                {"laws", v.laws},
                {"acted", threads_json(v.acted)},
                {"reach", v.reached},
                {"outcomes", v.outcomes},
                {"sites", v.sites},
                {"blind", v.blind},
                {"trace", v.trace}};
    if (v.estimated_executions != 0) out["estimated_executions"] = v.estimated_executions;
    if (!v.left.empty()) out["left"] = v.left;
    if (reach_of_scenarios own(reach); !reach.empty() && own.add(*j.ran.check, v)) {
        json& never = out["never"] = json::array();
        for (const unreached_place& p : own.never()) {
            if (never.empty() || never.back()["what"] != name_of(p.kind))
                never.push_back({{"what", name_of(p.kind)}, {"places", json::array()}, {"would", remedy_of(p.kind)}});
            if (!p.where.empty()) never.back()["places"].push_back(p.where);
        }
    }
    return line(out);
}

}  // namespace apiary::model
