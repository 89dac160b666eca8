// See orders.hpp.
#include <apiary/model_check/orders.hpp>

#include <algorithm>
#include <array>

#include <apiary/model_check/check.hpp>

namespace apiary::model {

namespace {

using names = std::initializer_list<std::string_view>;

bool is_one_of(std::string_view text, names list) { return std::ranges::find(list, text) != list.end(); }

enum class kind { load, store, change, fence, asymmetric, recheck, other };

kind kind_of(std::string_view operation) {
    if (operation == "load" || operation == "spin_until" || operation.ends_with(failure_site)) return kind::load;
    if (operation == "store") return kind::store;
    if (operation == "fence") return kind::fence;
    if (operation == "recheck") return kind::recheck;
    if (is_one_of(operation, {"fence_light", "fence_heavy"})) return kind::asymmetric;
    if (operation == "exchange" || operation.starts_with("compare_exchange") || operation.starts_with("fetch_"))
        return kind::change;
    return kind::other;
}

std::string_view name_of(std::memory_order order) {
    constexpr std::array<std::string_view, 6> all{"relaxed", "consume", "acquire", "release", "acq_rel", "seq_cst"};
    const auto number = static_cast<std::size_t>(order);
    return number < all.size() ? all[number] : "of no name";
}

// One step weaker.
std::vector<std::string_view> step(kind k, std::string_view order) {
    switch (k) {
        case kind::load:
            if (order == "seq_cst") return {"acquire"};
            if (order == "acquire") return {"relaxed"};
            return {};
        case kind::store:
            if (order == "seq_cst") return {"release"};
            if (order == "release") return {"relaxed"};
            return {};
        case kind::change:
        case kind::fence:
            if (order == "seq_cst") return {"acq_rel"};
            if (order == "acq_rel") return {"acquire", "release"};
            if (is_one_of(order, {"acquire", "release"})) return {k == kind::fence ? "dropped" : "relaxed"};
            return {};
        case kind::asymmetric:
            return order == "dropped" ? std::vector<std::string_view>{} : std::vector<std::string_view>{"dropped"};
        case kind::recheck:
            return order == recheck_kept ? std::vector<std::string_view>{recheck_left_out}
                                         : std::vector<std::string_view>{};
        case kind::other:
            break;
    }
    return {};
}

}  // namespace

bool can_have(std::string_view operation, std::string_view order) {
    switch (kind_of(operation)) {
        case kind::load:
            return is_one_of(order, {"relaxed", "acquire", "seq_cst"});
        case kind::store:
            return is_one_of(order, {"relaxed", "release", "seq_cst"});
        case kind::change:
            return is_one_of(order, {"relaxed", "acquire", "release", "acq_rel", "seq_cst"});
        case kind::fence:
            return is_one_of(order, {"acquire", "release", "acq_rel", "seq_cst", "dropped"});
        case kind::asymmetric:
        case kind::recheck:
            return order == "dropped";
        case kind::other:
            break;
    }
    return false;
}

std::string no_such_order(std::string_view operation, bool failure, std::memory_order order, std::string_view place) {
    return std::string("undefined behaviour: ")
        .append(operation)
        .append(failure ? " with the failure order " : " with the order ")
        .append(name_of(order))
        .append(" at ")
        .append(place);
}

std::vector<std::string> weaker(std::string_view operation, std::string_view written) {
    const kind k = kind_of(operation);
    std::vector<std::string> found;
    std::vector<std::string> front{std::string(written)};
    while (!front.empty()) {
        std::vector<std::string> next;
        for (const std::string& order : front)
            for (const std::string_view w : step(k, order))
                if (std::ranges::find(found, w) == found.end()) {
                    found.emplace_back(w);
                    next.emplace_back(w);
                }
        front = std::move(next);
    }
    return found;
}

bool is_order(std::string_view order) {
    return is_one_of(order, {"relaxed", "acquire", "release", "acq_rel", "seq_cst", "dropped"});
}

std::string_view operation_of(std::string_view site) {
    if (site.starts_with(recheck_prefix)) return "recheck";
    return site.substr(site.rfind(':') + 1);
}

std::string without_column(const std::string& site) {
    const std::size_t operation = site.rfind(':');
    return site.substr(0, site.rfind(':', operation - 1)) + site.substr(operation);
}

bool same_place(std::string_view a, std::string_view b) {
    const std::string_view longer = a.size() < b.size() ? b : a, shorter = a.size() < b.size() ? a : b;
    return !shorter.empty() && longer.ends_with(shorter) &&
           (longer.size() == shorter.size() || longer[longer.size() - shorter.size() - 1] == '/' || shorter[0] == '/');
}

}  // namespace apiary::model
