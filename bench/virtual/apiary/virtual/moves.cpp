// moves: sums by line and place, and the table of them.
#include <apiary/virtual/moves.hpp>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <tuple>

#include <apiary/virtual/machine.hpp>

namespace apiary::virt {

namespace {
struct names {
    std::vector<std::string> all{"static data"};
    std::map<std::string, label, std::less<>> numbers;
};
names& known() {
    static names n;
    return n;
}
}  // namespace

label intern(std::string_view name) {
    const host_section tables;
    names& n = known();
    if (const auto found = n.numbers.find(name); found != n.numbers.end()) return found->second;
    if (n.all.size() > UINT16_MAX) throw std::length_error("virtual machine: more than 65,535 names of objects");
    const auto number = static_cast<label>(n.all.size());
    n.all.emplace_back(name);
    n.numbers.emplace(name, number);
    return number;
}

const std::string& name_of(label l) { return known().all[l]; }

std::size_t moves::hash::operator()(const key& k) const noexcept {
    std::size_t h = reinterpret_cast<std::uintptr_t>(k.file);
    const auto kind = static_cast<std::size_t>(k.kind);
    for (const std::size_t x : {std::size_t{k.offset}, std::size_t{k.line}, std::size_t{k.what}, kind})
        h = (h ^ x) * 0x9E3779B97F4A7C15U;
    return h ^ h >> 29;
}

void moves::add(arena::inside where, access kind, const place& at, picoseconds queued, picoseconds cost) {
    sum& s = sums_[{at.file, static_cast<std::uint32_t>(where.offset / arena::line * arena::line), at.line, where.what, kind}];
    s.function = at.function;
    ++s.count;
    s.queued += queued;
    s.cost += cost;
}

std::vector<moves::row> moves::table() const {
    std::map<std::pair<label, std::uint32_t>, row> by_line;
    for (const auto& [k, s] : sums_) {
        row& r = by_line[{k.what, k.offset}];
        r.count += s.count;
        r.queued += s.queued;
        r.stalled += s.queued + s.cost;
        r.places.push_back({k.file, s.function, k.line, static_cast<char>(k.kind), s.count, s.queued + s.cost});
    }
    std::vector<row> all;
    for (auto& [id, r] : by_line) {
        r.object = name_of(id.first);
        r.offset = id.second;
        std::sort(r.places.begin(), r.places.end(), [](const place_row& a, const place_row& b) {
            return std::tie(b.count, a.file, a.line, a.kind) < std::tie(a.count, b.file, b.line, b.kind);
        });
        all.push_back(std::move(r));
    }
    std::sort(all.begin(), all.end(), [](const row& a, const row& b) {
        return std::tie(b.stalled, a.object, a.offset) < std::tie(a.stalled, b.object, b.offset);
    });
    return all;
}

}  // namespace apiary::virt
