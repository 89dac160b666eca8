// See trace_table.hpp.
#include <apiary/model_check/trace_table.hpp>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

namespace apiary::model {

namespace {

const char* own_root = "";  // sources_are_at

// The lines of the files that a trace names.
class sources {
public:
    // What stands in front of ".operation(" or "->operation(" on that line: "a->at(b)", "bottom_".
    std::string object_at(const trace_row& row) {
        const std::vector<std::string>& lines = file(row.file);
        if (row.line == 0 || row.line > lines.size()) return "";
        // A call may be broken over lines; its location is its first or its last one.
        for (unsigned line = row.line; line != 0 && line + 3 > row.line; --line) {
            const std::string found = object_in(lines[line - 1], row.operation, line == row.line ? row.column : 0);
            if (!found.empty()) return found;
        }
        return "";
    }

private:
    const std::vector<std::string>& file(const std::string& name) {
        const auto [at, is_new] = lines_.try_emplace(name);
        if (is_new) {
            for (const std::string& root : {std::string(own_root), source_root()}) {
                std::ifstream in(name.starts_with("/") ? name : root + "/" + name);
                if (root.empty() || !in) continue;
                for (std::string line; std::getline(in, line);) at->second.push_back(line);
                break;
            }
        }
        return at->second;
    }

    // With several such calls on a line, the one nearest to the column.
    static std::string object_in(const std::string& line, const std::string& operation, unsigned column) {
        std::size_t best = std::string::npos;
        for (const char* joint : {".", "->"}) {
            const std::string call = joint + operation + "(";
            for (std::size_t at = line.find(call); at != std::string::npos; at = line.find(call, at + 1)) {
                const auto distance = [&](std::size_t p) { return p > column ? p - column : column - p; };
                if (best == std::string::npos || distance(at) < distance(best)) best = at;
            }
        }
        if (best == std::string::npos) return "";
        std::size_t begin = best;
        int depth = 0;
        while (begin != 0) {
            const char c = line[begin - 1];
            const bool arrow = c == '>' && begin >= 2 && line[begin - 2] == '-';
            if (c == ')' || c == ']')
                ++depth;
            else if (c == '(' || c == '[') {
                if (depth-- == 0) break;
            } else if (depth == 0 && !arrow && std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' &&
                       c != '.' && c != ':')
                break;
            begin -= arrow ? 2 : 1;
        }
        return line.substr(begin, best - begin);
    }

    std::map<std::string, std::vector<std::string>> lines_;
};

// Addresses differ from run to run; the first one met is called @1, and so on.
class addresses {
public:
    std::string shorten(const std::string& text) {
        std::string out;
        for (std::size_t at = 0; at != text.size();) {
            if (text.compare(at, 2, "0x") != 0) {
                out += text[at++];
                continue;
            }
            std::size_t end = at + 2;
            while (end != text.size() && std::isxdigit(static_cast<unsigned char>(text[end])) != 0) ++end;
            const std::string hex = text.substr(at, end - at);
            // Twelve digits: what user space addresses have on the machines of today.
            if (hex.size() == 14)
                out.append("@").append(std::to_string(names_.try_emplace(hex, names_.size() + 1).first->second));
            else
                out += hex;
            at = end;
        }
        return out;
    }

private:
    std::map<std::string, std::size_t> names_;
};

// "bool ns::deque<T>::pop(T&) [with T = int]" becomes "pop".
std::string short_function(const std::string& pretty) {
    std::size_t end = std::string::npos;
    int depth = 0;
    for (std::size_t i = 0; i != pretty.size(); ++i) {
        if (pretty[i] == '<') ++depth;
        if (pretty[i] == '>') --depth;
        if (pretty[i] == '(' && depth == 0) {
            end = i;
            break;
        }
    }
    if (end == std::string::npos) return pretty;
    std::size_t begin = end;
    while (begin != 0 && (std::isalnum(static_cast<unsigned char>(pretty[begin - 1])) != 0 ||
                          pretty[begin - 1] == '_' || pretty[begin - 1] == '~'))
        --begin;
    return pretty.substr(begin, end - begin);
}

std::string rows_text(const std::vector<std::size_t>& rows) {
    std::string text = rows.size() == 1 ? "row " : "rows ";
    for (std::size_t i = 0; i != rows.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(rows[i] + 1);
    return text;
}

// For each row: which store it read, and which newer ones it could have seen and did not.
std::vector<std::string> reads_from(const std::vector<trace_row>& rows) {
    std::vector<std::string> notes(rows.size());
    std::map<std::uint64_t, std::vector<std::size_t>> stores;  // by object, in modification order
    for (std::size_t i = 0; i != rows.size(); ++i) {
        const trace_row& row = rows[i];
        std::vector<std::size_t>& history = stores[row.object];
        if (row.reads && !row.writes && !history.empty()) {
            std::vector<std::size_t> skipped;
            std::size_t from = rows.size();
            for (std::size_t k = history.size(); k-- != 0;) {
                if (rows[history[k]].wrote == row.read) {
                    from = history[k];
                    break;
                }
                skipped.insert(skipped.begin(), history[k]);
            }
            if (!skipped.empty())
                notes[i] = std::string("stale: reads ") +
                           (from == rows.size() ? "the initial value" : "row " + std::to_string(from + 1)) + ", not " +
                           rows_text(skipped);
        }
        if (row.writes) history.push_back(i);
    }
    return notes;
}

std::vector<std::string> wrap(const std::string& text, std::size_t width) {
    std::vector<std::string> lines;
    std::string line;
    std::istringstream words(text);
    for (std::string word; words >> word;) {
        if (!line.empty() && line.size() + 1 + word.size() > width) {
            lines.push_back(line);
            line = "  ";
        } else if (!line.empty()) {
            line += ' ';
        }
        line += word;
    }
    lines.push_back(line);
    return lines;
}

}  // namespace

bool sources_are_at(const char* root) {
    own_root = root;
    return true;
}

std::string_view place_of(std::string_view file) {
    constexpr std::string_view installed = "/include/", ours = "/apiary/";
    while (file.starts_with("../")) file.remove_prefix(3);  // of the build's folder, as ccache writes names (base_dir)
    if (!file.starts_with('/')) return file;
    if (const auto at = file.rfind(installed); at != file.npos) return file.substr(at + installed.size());
    const auto at = file.rfind(ours);
    return at == file.npos ? file : file.substr(at + 1);
}

std::string source_root() {
    if (const char* set = std::getenv("APIARY_SOURCE_ROOT"); set != nullptr) return set;
#if defined(APIARY_SOURCE_ROOT)
    return APIARY_SOURCE_ROOT;
#else
    return ".";
#endif
}

namespace {

// "row {7}" becomes "row 51", the row in which step or store 7 took effect.
std::string with_row_numbers(const std::string& text, const std::map<std::uint64_t, std::size_t>& row_of) {
    std::string out;
    for (std::size_t at = 0; at != text.size();) {
        const std::size_t open = text.find('{', at), close = text.find('}', at);
        if (open == std::string::npos || close == std::string::npos || close < open) return out + text.substr(at);
        out += text.substr(at, open - at);
        const auto row = row_of.find(std::strtoull(text.c_str() + open + 1, nullptr, 10));
        out += row == row_of.end() ? "(not shown)" : std::to_string(row->second + 1);
        at = close + 1;
    }
    return out;
}

}  // namespace

trace_view lay_out(const std::vector<trace_row>& rows, unsigned threads) {
    sources source;
    addresses address;
    const std::vector<std::string> stale = reads_from(rows);

    // An object that is only initialised at one place takes its name from where it is used.
    std::map<std::uint64_t, std::string> names;
    for (const trace_row& row : rows)
        if (row.object != 0 && names[row.object].empty()) names[row.object] = source.object_at(row);
    std::map<std::uint64_t, std::size_t> row_of;
    for (std::size_t i = 0; i != rows.size(); ++i)
        for (const std::uint64_t id : {rows[i].event, rows[i].wrote})
            if (id != 0) row_of[id] = i;

    trace_view view{threads, {}};
    for (std::size_t i = 0; i != rows.size(); ++i) {
        const trace_row& row = rows[i];
        trace_view::line line;
        line.thread = row.thread;
        line.failed = row.failed;
        line.what = row.operation == "end" ? "" : row.operation;
        if (row.object != 0) {
            std::string name = source.object_at(row);
            if (name.empty()) name = names[row.object];
            if (!name.empty()) line.what.append(" ").append(name);
        }
        if (!row.text.empty()) line.what += (line.what.empty() ? "" : " ") + address.shorten(row.text);
        line.stale = stale[i];
        line.note = with_row_numbers(row.note, row_of);
        if (row.could_read.size() > 1) {
            std::vector<std::size_t> seen;
            for (const std::uint64_t id : row.could_read)
                if (const auto at = row_of.find(id); at != row_of.end()) seen.push_back(at->second);
            line.choice = std::string("could have read ") + (row.could_read.front() == 0 ? "the initial value, " : "");
            if (!seen.empty())
                line.choice += rows_text(seen);
            else
                line.choice.resize(line.choice.size() - 2);
        }
        line.where = row.line == 0 ? "" : std::string(place_of(row.file)) + ":" + std::to_string(row.line);
        if (const std::string function = short_function(row.function); !line.where.empty() && !function.empty())
            line.where += " " + function;
        view.lines.push_back(std::move(line));
    }
    return view;
}

namespace {

// A loop that spins shows the same few rows over and over: how many rows from `at` on only repeat the `period` before them.
struct repetition {
    std::size_t rows = 0, period = 0;
    [[nodiscard]] std::string words(std::size_t at) const {
        const std::string first = std::to_string(at - period + 1), times = std::to_string(rows / period);
        return period == 1 ? "row " + first + " again, " + times + " times"
                           : "rows " + first + " to " + std::to_string(at) + " again, " + times + " times";
    }
};
repetition repetition_at(const std::vector<trace_view::line>& rows, std::size_t at) {
    constexpr std::size_t longest = 4, least = 8;
    const auto same = [](const trace_view::line& a, const trace_view::line& b) {
        return a.thread == b.thread && a.what == b.what && a.stale == b.stale && a.note == b.note &&
               a.where == b.where && !a.failed && !b.failed;
    };
    for (std::size_t period = 1; period <= longest && period <= at; ++period) {
        std::size_t n = 0;
        while (at + n != rows.size() && same(rows[at + n], rows[at + n - period])) ++n;
        n -= n % period;
        if (n >= least) return {n, period};
    }
    return {};
}

}  // namespace

std::string as_text(const trace_view& view) {
    constexpr std::size_t widest = 44;
    const unsigned threads = view.threads;
    const std::vector<trace_view::line>& rows = view.lines;
    std::vector<std::string> cells;
    for (const trace_view::line& row : rows) {
        std::string cell = row.what;
        if (!row.stale.empty()) cell += " (" + row.stale + ")";
        if (!row.note.empty()) cell += " (" + row.note + ")";
        cells.push_back(row.failed ? "*** " + cell + " ***" : cell);
    }

    std::vector<std::size_t> width(threads, 8);
    for (std::size_t i = 0; i != rows.size(); ++i)
        if (rows[i].thread >= 0) {
            std::size_t& w = width[static_cast<std::size_t>(rows[i].thread)];
            w = std::max(w, std::min(widest, cells[i].size()));
        }
    std::size_t all = 0;
    for (const std::size_t w : width) all += w + 3;

    std::string out;
    const auto pad = [&](std::string text, std::size_t to) {
        text.resize(std::max(text.size(), to), ' ');
        return text;
    };
    out += pad(" row", 6);
    for (unsigned t = 0; t != threads; ++t) out += "| " + pad("thread " + std::to_string(t), width[t]) + " ";
    out += "| where\n" + std::string(6, '-');
    for (unsigned t = 0; t != threads; ++t) out += "+" + std::string(width[t] + 2, '-');
    out += "+------\n";
    for (std::size_t i = 0; i != rows.size(); ++i) {
        if (const repetition again = repetition_at(rows, i); again.rows != 0) {
            out += "   …  | " + again.words(i) + "\n";
            i += again.rows - 1;
            continue;
        }
        const bool shared = rows[i].thread < 0;
        const std::vector<std::string> lines =
            wrap(cells[i], shared ? all - 3 : width[static_cast<std::size_t>(rows[i].thread)]);
        for (std::size_t k = 0; k != lines.size(); ++k) {
            std::string number = k == 0 ? std::to_string(i + 1) : "";
            out += std::string(4 - std::min<std::size_t>(4, number.size()), ' ') + number + "  ";
            if (shared) {
                out += "| " + pad(lines[k], all - 3) + " ";
            } else {
                for (unsigned t = 0; t != threads; ++t)
                    out += "| " + pad(static_cast<int>(t) == rows[i].thread ? lines[k] : "", width[t]) + " ";
            }
            out += "| " + (k == 0 ? rows[i].where : "");
            while (out.back() == ' ') out.pop_back();
            out += '\n';
        }
    }
    return out;
}

std::string escaped(const std::string& text) {
    std::string out;
    for (const char c : text) {
        switch (c) {
            case '&':
                out += "&amp;";
                break;
            case '<':
                out += "&lt;";
                break;
            case '>':
                out += "&gt;";
                break;
            case '"':
                out += "&quot;";
                break;
            default:
                out += c;
        }
    }
    return out;
}

std::string as_html(const trace_view& view) {
    std::string out = "<table class=\"trace\"><thead><tr><th>row</th>";
    for (unsigned t = 0; t != view.threads; ++t) out += "<th>thread " + std::to_string(t) + "</th>";
    out += "<th>where</th></tr></thead><tbody>\n";
    for (std::size_t i = 0; i != view.lines.size(); ++i) {
        if (const repetition again = repetition_at(view.lines, i); again.rows != 0) {
            out += "<tr><th>…</th><td class=\"step\" colspan=\"" + std::to_string(view.threads + 1) + "\">" +
                   again.words(i) + "</td></tr>\n";
            i += again.rows - 1;
            continue;
        }
        const trace_view::line& line = view.lines[i];
        const auto remark = [](const char* kind, const std::string& text) {
            return text.empty() ? "" : "<div class=\"" + std::string(kind) + "\">" + escaped(text) + "</div>";
        };
        const std::string body = escaped(line.what) + remark("stale", line.stale) + remark("choice", line.choice) +
                                 remark("note", line.note);
        const std::string number = std::to_string(i + 1);
        out += "<tr id=\"r" + number + "\"" +
               (line.failed          ? " class=\"failed\""
                : line.stale.empty() ? ""
                                     : " class=\"reads-stale\"") +
               "><th>" + number + "</th>";
        if (line.thread < 0) {
            out +=
                "<td class=\"step\" colspan=\"" + std::to_string(std::max(1U, view.threads)) + "\">" + body + "</td>";
        } else {
            for (int t = 0; t != static_cast<int>(view.threads); ++t)
                out += t == line.thread ? "<td class=\"step t" + std::to_string(t % 4) + "\" data-thread=\"thread " +
                                              std::to_string(t) + "\">" + body + "</td>"
                                        : "<td></td>";
        }
        out += "<td class=\"where\">" + escaped(line.where) + "</td></tr>\n";
    }
    return out + "</tbody></table>\n";
}

}  // namespace apiary::model
