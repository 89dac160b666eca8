// See report.hpp.
#include <apiary/model_check/report.hpp>

#include <algorithm>
#include <cstdio>

namespace apiary::model {

namespace {

std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (const char c : text) {
        switch (c) {
            case '"':
                out += "\\\"";
                break;
            case '\\':
                out += "\\\\";
                break;
            case '\n':
                out += "\\n";
                break;
            case '\t':
                out += "\\t";
                break;
            default:
                if (static_cast<unsigned char>(c) < 0x20) {
                    char code[8];
                    std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
                    out += code;
                } else {
                    out += c;
                }
        }
    }
    return out + '"';
}

std::string seconds_text(double seconds) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3f", seconds);
    return text;
}

std::string engines_json(unsigned engines) {
    std::string out = "[";
    if ((engines & relacy_only) != 0) out += "\"relacy\"";
    if ((engines & explorer_only) != 0) out += std::string(out.size() > 1 ? "," : "") + "\"explorer\"";
    return out + "]";
}

std::string list_json(const std::vector<std::string>& list) {
    std::string out = "[";
    for (const std::string& text : list) {
        if (out.size() > 1) out += ',';
        out += quoted(text);
    }
    return out + "]";
}

template <class Value>
std::string map_json(const std::map<std::string, Value>& map) {
    std::string out = "{";
    for (const auto& [key, value] : map) {
        if (out.size() > 1) out += ',';
        out += quoted(key) + ':';
        if constexpr (std::is_same_v<Value, std::string>)
            out += quoted(value);
        else
            out += std::to_string(value);
    }
    return out + "}";
}

// The threads of a set of bits.
std::string threads_json(std::uint64_t bits) {
    std::string out = "[";
    for (unsigned t = 0; t != 64; ++t)
        if ((bits >> t & 1U) != 0) out.append(out.size() > 1 ? "," : "").append(std::to_string(t));
    out += ']';
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
        out += "{\"name\":" + quoted(c.name) + ",\"kind\":" + quoted(kind_name(c.kind)) +
               ",\"engines\":" + engines_json(c.engines) + ",\"must_see\":" + engines_json(c.must_see & c.engines) +
               ",\"one_engine\":" + quoted(c.one_engine_because) + ",\"threads\":" + std::to_string(c.threads) +
               ",\"what\":" + quoted(c.what) + ",\"must_reach\":" + list_json(c.must_reach) +
               ",\"engine_laws\":" + list_json(c.engine_laws) + ",\"exhibit\":" + quoted(c.exhibit) +
               ",\"too_large\":" + (c.too_large_to_exhaust ? "true" : "false") + "}\n";
    return out;
}

std::string verdict_text(const judged& j, const std::string& program, bool always_trace) {
    const verdict& v = j.found;
    std::string out = padded(heading(j), 6) + padded(j.ran.check->name, 34) + padded(engine_name(j.ran.with), 8) +
                      padded(v.mode, 10) + std::to_string(v.executions) + " executions";
    if (v.graphs != 0) out += ", " + std::to_string(v.graphs) + " graphs";
    out += ", " + seconds_text(v.seconds) + " s";
    if (!v.reason.empty())
        out += ": " + v.reason;
    else if (v.result == outcome::budget_ended)
        out += v.bound.substr(std::min(v.bound.size(), v.bound.rfind("; ")));  // how far it came
    out += '\n';
    const char* const what = j.ran.check->kind == check_kind::litmus ? "not C++20's set: " : "does not see it: ";
    if (!j.differs.empty()) out += "       " + std::string(what) + j.differs + "\n";
    if (j.as_expected && !always_trace) return out;
    if (!v.trace.empty()) out += "\n" + v.trace + "\n";
    if (!j.replay_line.empty()) out += "  replay: " + program + " " + j.replay_line + "\n\n";
    return out;
}

std::string verdict_json(const judged& j) {
    const verdict& v = j.found;
    std::string out =
        "{\"name\":" + quoted(j.ran.check->name) + ",\"kind\":" + quoted(kind_name(j.ran.check->kind)) +
        ",\"engine\":" + quoted(engine_name(j.ran.with)) + ",\"mode\":" + quoted(v.mode) +
        ",\"bound\":" + quoted(v.bound) + ",\"verdict\":" + quoted(j.verdict_word) +
        ",\"as_expected\":" + (j.as_expected ? "true" : "false") + ",\"executions\":" + std::to_string(v.executions) +
        ",\"graphs\":" + std::to_string(v.graphs) + ",\"blocked\":" + std::to_string(v.blocked) +
        (v.estimated_executions == 0 ? "" : ",\"estimated_executions\":" + std::to_string(v.estimated_executions)) +
        ",\"differs\":" + quoted(j.differs) + ",\"seconds\":" + seconds_text(v.seconds) +
        ",\"reason\":" + quoted(v.reason) + ",\"replay\":" + quoted(j.replay_line) + ",\"laws\":" + map_json(v.laws) +
        ",\"acted\":" + threads_json(v.acted) + ",\"reach\":" + map_json(v.reached) +
        ",\"outcomes\":" + map_json(v.outcomes) + ",\"sites\":" + map_json(v.sites) + ",\"blind\":" + quoted(v.blind) +
        ",\"trace\":" + quoted(v.trace) + "}";
    return out;
}

}  // namespace apiary::model
