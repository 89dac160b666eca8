// See order_advice.hpp.
#include <apiary/model_check/order_advice.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

#include <apiary/model_check/compiled_operations.hpp>
#include <apiary/model_check/orders.hpp>
#include <apiary/model_check/report.hpp>

namespace apiary::model {

namespace {

// Every order that is stronger than `written` and that the operation can have, mildest first.
std::vector<std::string> stronger(std::string_view operation, const std::string& written) {
    std::vector<std::string> all;
    for (const char* const order : {"acquire", "release", "acq_rel", "seq_cst"})
        if (can_have(operation, order) && std::ranges::count(weaker(operation, order), written) != 0)
            all.emplace_back(order);
    return all;
}

order_change change_of(const ordered_operation& o, const std::string& to) { return {o.site, o.written, to}; }

bool all_pass(const std::vector<task>& tasks, const std::vector<order_change>& changes, const run_changed& run) {
    return std::ranges::all_of(tasks, [&](const task& t) { return run(t, changes).word == "pass"; });
}

std::vector<task> of_the_explorer(std::vector<task> tasks) {
    std::erase_if(tasks, [](const task& t) { return t.with != engine::explorer; });
    return tasks;
}

compiled_operations& source_of_compiled() {
    static compiled_operations source = nullptr;
    return source;
}

}  // namespace

const char* word_of(order_word w) {
    switch (w) {
        case order_word::needed: return "needed";
        case order_word::free: return "free";
        case order_word::undecided: return "undecided";
        case order_word::missing: return "missing";
        case order_word::unreached: return "unreached";
    }
    return "";
}

std::vector<order_advice> advise(const std::vector<ordered_operation>& operations, const run_changed& run) {
    std::vector<order_advice> all;
    std::vector<order_change> kept;
    for (const ordered_operation& o : operations) {
        const std::string_view operation = operation_of(o.site);
        if (weaker(operation, o.written).empty() || operation == "recheck") continue;
        order_advice a{.site = o.site, .written = o.written, .compiled = o.compiled.size()};
        const std::vector<task> tasks = of_the_explorer(o.tasks);
        if (!o.survived.empty()) {
            a.word = o.exhausted && !tasks.empty() ? order_word::free : order_word::undecided;
            a.alone = o.survived.back();
            a.together = o.written;
            for (auto to = o.survived.rbegin(); a.word == order_word::free && to != o.survived.rend(); ++to) {
                kept.push_back(change_of(o, *to));
                if (all_pass(tasks, kept, run)) {
                    a.together = *to;
                    break;
                }
                kept.pop_back();
            }
        }
        all.push_back(std::move(a));
    }
    return all;
}

std::vector<order_advice> missing_orders(const std::vector<ordered_operation>& operations, const std::vector<task>& red,
                                         const run_changed& run) {
    std::vector<order_advice> all;
    const auto found = [&](const ordered_operation& o, const std::string& to) {
        std::string checks;
        for (const task& t : red) checks += (checks.empty() ? "" : ", ") + t.check->name;
        all.push_back({order_word::missing, o.site, o.written, to, "", checks, o.compiled.size()});
    };
    std::vector<order_change> strongest;
    std::vector<const ordered_operation*> of;
    for (const ordered_operation& o : operations) {
        const std::vector<std::string> orders = stronger(operation_of(o.site), o.written);
        for (const std::string& to : orders)
            if (all_pass(red, {change_of(o, to)}, run)) {
                found(o, to);
                break;
            }
        if (orders.empty()) continue;
        strongest.push_back(change_of(o, orders.back()));
        of.push_back(&o);
    }
    if (!all.empty() || strongest.empty() || !all_pass(red, strongest, run)) return all;
    // None alone: each goes back as far as it may while the others stay strong.
    for (order_change& c : strongest) {
        std::vector<std::string> back = weaker(operation_of(c.site), c.to);
        std::erase_if(back, [&](const std::string& order) {
            return order != c.written && std::ranges::count(weaker(operation_of(c.site), order), c.written) == 0;
        });
        const std::string to = c.to;
        for (auto order = back.rbegin(); order != back.rend(); ++order) {
            c.to = *order;
            if (all_pass(red, strongest, run)) break;
            c.to = to;
        }
    }
    for (std::size_t i = 0; i != strongest.size(); ++i)
        if (strongest[i].to != strongest[i].written) {
            found(*of[i], strongest[i].to);
            all.back().because += " (with the others of this list)";
        }
    return all;
}

void tell_compiled_operations(compiled_operations source) { source_of_compiled() = source; }

const std::vector<std::string>& compiled_here() {
    static const std::vector<std::string> all = source_of_compiled() == nullptr ? std::vector<std::string>() : source_of_compiled()();
    return all;
}

bool is_compiled_place(std::string_view place) {
    return std::ranges::any_of(compiled_here(), [&](const std::string& site) {
        return same_place(std::string_view(site).substr(0, site.rfind(':')), place);
    });
}

std::vector<order_advice> unreached(const std::vector<ordered_operation>& operations, const std::string& file) {
    std::vector<order_advice> all;
    std::set<std::string> ran;
    for (const ordered_operation& o : operations) ran.insert(o.site);
    for (const std::string& site : compiled_here())
        if (operation_of(site) != "plain" && operation_of(site) != "wait" &&
            site.substr(0, site.find(':')).find(file) != std::string::npos && !ran.contains(site))
            all.push_back({.word = order_word::unreached, .site = site});
    return all;
}

std::string advice_text(const std::vector<order_advice>& all) {
    std::size_t width = 0;
    for (const order_advice& a : all) width = std::max(width, a.site.size());
    std::string out;
    for (const order_advice& a : all) {
        std::string words;
        if (a.word == order_word::free)
            words = a.alone == a.together ? "can be " + a.together
                    : a.together == a.written ? "can be " + a.alone + " while the others of this list stay; not with them"
                                              : "can be " + a.together + " (alone: " + a.alone + ")";
        if (a.word == order_word::undecided) words = "no check failed with " + a.alone + ", and not every search came to its end";
        if (a.word == order_word::missing) words = "with " + a.alone + " passes: " + a.because;
        if (a.word == order_word::unreached) words = "compiled, and run by none of these checks";
        if (a.compiled > 1)
            words += (words.empty() ? "" : "; ") + std::to_string(a.compiled) +
                     " operations of the program, changed together: instances of a template, a macro, or inlined";
        out += table_cell(word_of(a.word), 9) + table_cell(a.site, width) + table_cell(a.written, 7) + words;
        out.resize(out.find_last_not_of(' ') + 1);
        out += '\n';
    }
    if (std::ranges::any_of(all, [](const order_advice& a) { return a.word == order_word::free; }))
        out += "free: no execution of these checks needs it. The explorer has no load buffering (RC11); C++20, and some "
               "processors, let a\n      relaxed load pass a later store. So keep an acquire before a store, and a "
               "release after a load, unless that is harmless.\n";
    return out;
}

std::string advice_json(const std::vector<order_advice>& all) {
    nlohmann::ordered_json out = nlohmann::ordered_json::array();
    for (const order_advice& a : all) {
        nlohmann::ordered_json row = {{"advice", word_of(a.word)}, {"site", a.site}};
        if (!a.written.empty()) row["written"] = a.written;
        if (!a.alone.empty()) row["alone"] = a.alone;
        if (!a.together.empty()) row["together"] = a.together;
        if (!a.because.empty()) row["mends"] = a.because;
        if (a.compiled > 1) row["operations"] = a.compiled;
        out.push_back(std::move(row));
    }
    return out.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace apiary::model
