// sites: interning of source locations, and mutation by name.
#include <apiary/model_check/explorer/sites.hpp>

#include <array>
#include <cstring>
#include <string_view>

#include <apiary/model_check/check.hpp>
#include <apiary/model_check/explorer/graph.hpp>
#include <apiary/model_check/orders.hpp>
#include <apiary/model_check/trace_table.hpp>

namespace apiary::model::explorer {

namespace {
constexpr std::array<const char*, 8> names{"relaxed", "consume", "acquire", "release",
                                           "acq_rel", "seq_cst", "light",   "heavy"};
}  // namespace

const char* order_name(unsigned order) { return order < names.size() ? names[order] : ""; }

// Over Sync it is the function's signature, which the reader of a trace does not need.
const char* inside_of(const std::source_location& at) {
    return std::string_view(at.function_name()).starts_with("in ") ? at.function_name() : "";
}

std::string place_text(const std::source_location& at) {
    std::string text = std::string(place_of(at.file_name())) + ":" + std::to_string(at.line());
    if (const char* const inside = inside_of(at); inside[0] != '\0') text.append(" ").append(inside);
    return text;
}

std::uint32_t site_table::intern(const std::source_location& at, const char* operation, std::uint8_t order,
                                 bool failure) {
    const std::uint64_t key = std::uint64_t{at.line()} << 32 | std::uint64_t{at.column()} << 1 | (failure ? 1U : 0U);
    const char* file = at.file_name();
    std::size_t i = bucket(key, file);
    for (; index_[i].file != nullptr; i = (i + 1) & (index_.size() - 1))
        if (index_[i].key == key && index_[i].file == file &&
            (index_[i].operation == operation || std::strcmp(index_[i].operation, operation) == 0))
            return index_[i].id;

    site_info info{at, operation, failure, order, order, false, false, {}};
    info.name = std::string(place_of(file)) + ":" + std::to_string(at.line()) + ":" + std::to_string(at.column()) +
                ":" + operation + (failure ? ".failure" : "");
    // A name may leave out the column, the operation, or both; a failure order has to name its operation.
    const std::string_view name = info.name;
    const std::string short_name = without_column(info.name);
    const auto is_named = [&](const std::string& site) {
        return site == name || site == short_name ||
               (!failure && !site.empty() && name.starts_with(site) && name[site.size()] == ':');
    };
    if (order != no_order && is_named(mutated_) && can_have(operation_of(name), mutated_to_)) {
        give_order(info, mutated_to_);
        mutation_seen_ = true;
    } else if (order != no_order) {
        for (const order_change& c : changes_)
            if (c.written.empty() ? is_named(c.site) && can_have(operation_of(name), c.to)
                                  : (c.site == name || c.site == short_name) && c.written == order_name(order))
                give_order(info, c.to);
    }
    // One file may come under two pointers, from two translation units; the name decides.
    std::uint32_t id = 0;
    for (std::uint32_t known = 1; known < sites_.size() && id == 0; ++known)
        if (sites_[known].name == info.name) id = known;
    if (id == 0) {
        id = static_cast<std::uint32_t>(sites_.size());
        sites_.push_back(std::move(info));
    }
    index_[i] = {file, operation, key, id};
    if (++used_ * 2 > index_.size()) {
        std::vector<entry> old(index_.size() * 2);
        old.swap(index_);
        for (const entry& e : old) {
            if (e.file == nullptr) continue;
            std::size_t j = bucket(e.key, e.file);
            while (index_[j].file != nullptr) j = (j + 1) & (index_.size() - 1);
            index_[j] = e;
        }
    }
    return id;
}

std::size_t site_table::bucket(std::uint64_t key, const char* file) const {
    const std::uint64_t h = (key ^ reinterpret_cast<std::uintptr_t>(file)) * 0x9E37'79B9'7F4A'7C15U;
    return (h >> 33) & (index_.size() - 1);
}

bool site_table::recheck(const char* name) {
    const std::string site = std::string(recheck_prefix) + name;
    const auto [at, first] = rechecks_.try_emplace(site, site != mutated_);
    if (first && !at->second) mutation_seen_ = true;
    return at->second;
}

void site_table::give_order(site_info& info, const std::string& order) const {
    info.mutated = true;
    info.dropped = order == "dropped";
    info.effective = 0;
    for (std::size_t i = 0; i < light_order; ++i)
        if (order == names[i]) info.effective = static_cast<std::uint8_t>(i);
}

bool site_table::mutate(const std::string& name, const std::string& order) {
    mutated_ = name;
    mutated_to_ = order;
    return is_order(order);
}

std::map<std::string, std::string> site_table::executed() const {
    std::map<std::string, std::string> all;
    for (std::size_t i = 1; i < sites_.size(); ++i)
        if (sites_[i].written != no_order) all[sites_[i].name] = order_name(sites_[i].written);
    for (const auto& [site, looked_at] : rechecks_) all[site] = recheck_kept;
    return all;
}

}  // namespace apiary::model::explorer
