// order_patch: the advice about orders as a unified diff of the sources.
#include <apiary/model_check/order_advice.hpp>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <map>
#include <optional>
#include <regex>

#include <apiary/model_check/number.hpp>
#include <apiary/model_check/orders.hpp>
#include <apiary/model_check/trace_table.hpp>

namespace apiary::model {

namespace {

struct edit {
    std::string operation, written, to;
};

const std::regex& an_order() {
    static const std::regex r("((?:std::)?memory_order(?:_|::))(relaxed|consume|acquire|release|acq_rel|seq_cst)");
    return r;
}

std::optional<std::vector<std::string>> lines_of(const std::string& file) {
    for (const std::string& root : {std::string(), source_root() + "/", std::string("/usr/include/")}) {
        std::ifstream in(root + file);
        if (!in) continue;
        std::vector<std::string> lines;
        for (std::string line; std::getline(in, line);) lines.push_back(line);
        return lines;
    }
    return std::nullopt;
}

// The place before the parenthesis that closes the call of `name`, if the line has one such call and it ends there.
std::optional<std::size_t> end_of_call(const std::string& line, const std::string& name) {
    const std::size_t at = line.find(name + "(");
    if (at == line.npos || line.find(name + "(", at + 1) != line.npos) return std::nullopt;
    int depth = 0;
    for (std::size_t i = at + name.size(); i != line.size(); ++i) {
        depth += line[i] == '(' ? 1 : line[i] == ')' ? -1 : 0;
        if (depth == 0) return i;
    }
    return std::nullopt;
}

bool insert_order(std::string& line, const std::string& name, const std::string& order) {
    const std::optional<std::size_t> end = end_of_call(line, name);
    if (!end.has_value()) return false;
    const bool first = line[*end - 1] == '(';
    line.insert(*end, (first ? "" : ", ") + ("std::memory_order_" + order));
    return true;
}

// One order of the line is changed, or nothing. A line with two operations, or two orders of one name, is left to a person.
bool rewrite(std::string& line, const edit& e) {
    if (e.operation == "fence" && e.to == "dropped") {
        static const std::regex alone("\\s*(std::)?atomic_thread_fence\\([^;]*\\);\\s*(//.*)?");
        if (!std::regex_match(line, alone)) return false;
        line.clear();
        return true;
    }
    const bool failure = e.operation.ends_with(failure_site);
    const std::string operation = e.operation.substr(0, e.operation.size() - (failure ? failure_site.size() : 0));
    std::vector<std::smatch> orders;
    for (std::sregex_iterator i(line.begin(), line.end(), an_order()), end; i != end; ++i) orders.push_back(*i);
    const bool exchange = operation.starts_with("compare_exchange");
    if (orders.empty()) return !failure && e.written == "seq_cst" && insert_order(line, operation, e.to);
    std::size_t which = 0;
    if (exchange && orders.size() == 1 && failure) return insert_order(line, operation, e.to);
    if (exchange && orders.size() == 2)
        which = failure ? 1 : 0;
    else if (orders.size() != 1)
        return false;
    if (orders[which][2] != e.written) return false;
    const auto at = static_cast<std::size_t>(orders[which].position(2));
    line.replace(at, e.written.size(), e.to);
    return true;
}

}  // namespace

std::string advice_patch(const std::vector<order_advice>& all) {
    std::map<std::string, std::map<std::size_t, std::vector<edit>>> wanted;
    for (const order_advice& a : all) {
        const std::string to = a.word == order_word::missing ? a.alone : a.word == order_word::free ? a.together : a.written;
        if (to == a.written) continue;
        const std::size_t colon = a.site.find(':');
        std::size_t line = 0;
        const std::string rest = a.site.substr(colon + 1);
        if (!read_number(std::string_view(rest).substr(0, rest.find(':')), line)) continue;
        wanted[a.site.substr(0, colon)][line].push_back({std::string(operation_of(a.site)), a.written, to});
    }
    std::string by_hand, diff;
    for (const auto& [file, edits] : wanted) {
        const std::optional<std::vector<std::string>> lines = lines_of(file);
        std::string hunks;
        long shift = 0;
        for (const auto& [number, list] : edits) {
            const bool there = lines.has_value() && number != 0 && number <= lines->size();
            const std::string before = there ? (*lines)[number - 1] : "";
            std::string after = before;
            for (const edit& e : list)
                if (!there || !rewrite(after, e))
                    by_hand += "# " + file + ":" + std::to_string(number) + ": " + e.operation + " " + e.written + " -> " +
                               e.to + (there ? "" : " (the source was not found; APIARY_SOURCE_ROOT says where it is)") + "\n";
            if (after == before) continue;
            const bool gone = after.empty();
            hunks += "@@ -" + std::to_string(number) + " +" +
                     std::to_string(static_cast<long>(number) + shift - (gone ? 1 : 0)) + (gone ? ",0" : "") + " @@\n-" +
                     before + "\n" + (gone ? "" : "+" + after + "\n");
            shift -= gone ? 1 : 0;
        }
        if (!hunks.empty()) diff += "--- a/" + file + "\n+++ b/" + file + "\n" + hunks;
    }
    if (!by_hand.empty()) by_hand = "# by hand: the line has several orders, an operator, or a macro\n" + by_hand;
    return by_hand + diff;
}

}  // namespace apiary::model
