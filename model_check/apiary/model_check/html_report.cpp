// See html_report.hpp.
#include <apiary/model_check/html_report.hpp>

#include <cstdio>

#include <apiary/model_check/trace_table.hpp>

namespace apiary::model {

namespace {

constexpr const char* style = R"(<style>
:root { color-scheme: light dark; --ink: #1b1f24; --dim: #5b6470; --paper: #fff; --line: #d9dee4; --bad: #b3261e;
  --bad-paper: #fdecea; --stale: #8a4b00; --stale-paper: #fff4e0; --t0: #0b57a4; --t1: #7a2e8e; --t2: #0a6b4b; --t3: #8a5300; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ed; --dim: #9aa4b0; --paper: #14171b; --line: #323841;
  --bad: #ff9d94; --bad-paper: #3a1c1a; --stale: #ffc46b; --stale-paper: #33270f; --t0: #8cc4ff; --t1: #dfa6f0;
  --t2: #7fdcb8; --t3: #f0c07a; } }
* { box-sizing: border-box; }
body { font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 0 auto; padding: 1rem;
  max-width: 90rem; }
h1 { font-size: 1.3rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .3rem; overflow-wrap: anywhere; }
p { margin: .3rem 0; max-width: 60rem; } .dim { color: var(--dim); } .bad { color: var(--bad); }
pre { overflow-x: auto; border: 1px solid var(--line); padding: .5rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; } th, td { text-align: left; vertical-align: top; padding: .2rem .5rem;
  border-bottom: 1px solid var(--line); }
.list td.n { text-align: right; font-variant-numeric: tabular-nums; }
.trace { width: 100%; table-layout: fixed; } .trace th:first-child { width: 3rem; } .trace td.where,
.trace th:last-child { width: 24%; overflow-wrap: anywhere; } a { color: var(--t0); } .trace th, .trace td.where { color: var(--dim); font-weight: normal; font-size: .85rem; }
.trace thead th { position: sticky; top: 0; background: var(--paper); font-weight: 600; }
.step { font-family: ui-monospace, monospace; font-size: .85rem; overflow-wrap: anywhere; border-left: 3px solid var(--line); }
.t0 { border-left-color: var(--t0); } .t1 { border-left-color: var(--t1); } .t2 { border-left-color: var(--t2); }
.t3 { border-left-color: var(--t3); }
.stale, .note, .choice { font: .85rem/1.35 system-ui, sans-serif; } .stale { color: var(--stale); font-weight: 600; }
.choice { color: var(--dim); }
.reads-stale .step { background: var(--stale-paper); } .failed .step { background: var(--bad-paper); color: var(--bad); font-weight: 600; }
@media (max-width: 50rem) {
  .trace, .trace tbody { display: block; } .trace thead { display: none; }
  .trace tr { display: grid; grid-template-columns: 2.2rem 1fr; border-bottom: 1px solid var(--line); padding: .2rem 0; }
  .trace th, .trace td { border-bottom: 0; } .trace td:empty { display: none; }
  .trace td.where { grid-column: 2; padding-top: 0; overflow-wrap: anywhere; }
  .step[data-thread]::before { content: attr(data-thread); display: block; font: 600 .75rem/1.2 system-ui, sans-serif; }
  .t0::before { color: var(--t0); } .t1::before { color: var(--t1); } .t2::before { color: var(--t2); }
  .t3::before { color: var(--t3); }
}
</style>
)";

std::string paragraph(const char* kind, const std::string& text) {
    return text.empty() ? "" : "<p class=\"" + std::string(kind) + "\">" + escaped(text) + "</p>\n";
}

std::string numbers(const verdict& v) {
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "%.3f", v.seconds);
    const auto cell = [](const std::string& text) { return "<td class=\"n\">" + text + "</td>"; };
    return cell(std::to_string(v.executions)) + cell(v.graphs == 0 ? "" : std::to_string(v.graphs)) + cell(seconds);
}

}  // namespace

std::string html_page(const std::vector<judged>& all, const std::string& program) {
    std::string out =
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Model checks</title>\n";
    out += style;
    out +=
        "</head><body>\n<h1>Model checks</h1>\n<div class=\"wide\"><table "
        "class=\"list\"><thead><tr><th>check</th><th>verdict</th><th>engine</th>"
        "<th>mode</th><th>executions</th><th>graphs</th><th>seconds</th></tr></thead><tbody>\n";
    std::string traces;
    for (const judged& j : all) {
        const verdict& v = j.found;
        const std::string name = escaped(j.ran.check->name), with = engine_name(j.ran.with), id = name + "-" + with;
        const bool shown = !v.trace_html.empty();
        const bool caught = j.as_expected && j.ran.check->kind == check_kind::exhibit;
        const auto cell = [](const std::string& text) { return "<td>" + text + "</td>"; };
        out += "<tr>" + cell(shown ? "<a href=\"#" + id + "\">" + name + "</a>" : name) +
               (j.as_expected ? cell(caught ? "caught" : j.verdict_word)
                              : "<td class=\"bad\">" + j.verdict_word + ", not expected</td>") +
               cell(with) + cell(escaped(v.mode)) + numbers(v) + "</tr>\n";
        if (!shown) continue;
        traces += "<h2 id=\"" + id + "\">" + name + ", " + with + "</h2>\n" + paragraph("bad", v.reason) +
                  paragraph("", j.ran.check->what) + paragraph("dim", "bound: " + v.bound) +
                  paragraph("dim", "not seen by this engine: " + v.blind);
        if (!j.replay_line.empty()) traces += "<pre>" + escaped(program + " " + j.replay_line) + "</pre>\n";
        traces += v.trace_html;
    }
    out += "</tbody></table></div>\n" + traces;
    if (!traces.empty())
        out +=
            "<p class=\"dim\">One column for each thread, one row for each step, in the order in which they took "
            "effect. "
            "A stale read takes a value that a newer store had already replaced. @1, @2 are addresses.</p>\n";
    return out + "</body></html>\n";
}

}  // namespace apiary::model
