// See shadow.hpp.
#include <apiary/model_check/as_it_is/shadow.hpp>

namespace apiary::model::as_it_is {

namespace {
std::size_t mixed(std::uintptr_t n) { return static_cast<std::size_t>((n * 0x9E37'79B9'7F4A'7C15U) >> 20); }
// Names of the explorer's own objects are smaller.
constexpr std::uint32_t first_name = std::uint32_t{16} << 20;
}  // namespace

shadow::shadow() : table_(4096), names_(1024) {}

granule& shadow::at(std::uintptr_t address) {
    const std::uintptr_t key = address / granule::bytes + 1;
    std::size_t i = mixed(key) % table_.size();
    while (table_[i].key != 0 && table_[i].key != key) i = (i + 1) % table_.size();
    if (table_[i].key == 0) {
        if (granules_.size() * 2 > table_.size()) {
            std::vector<slot> old(table_.size() * 2);
            old.swap(table_);
            for (const slot& s : old) {
                if (s.key == 0) continue;
                std::size_t j = mixed(s.key) % table_.size();
                while (table_[j].key != 0) j = (j + 1) % table_.size();
                table_[j] = s;
            }
            i = mixed(key) % table_.size();
            while (table_[i].key != 0) i = (i + 1) % table_.size();
        }
        table_[i] = {key, static_cast<std::uint32_t>(granules_.size())};
        granules_.emplace_back();
    }
    granule& g = granules_[table_[i].index];
    if (g.run != run_) {
        g.run = run_;
        g.touches.clear();
        g.atomics.clear();
    }
    return g;
}

std::uint32_t shadow::name(std::uintptr_t address, role what, unsigned thread, unsigned when) {
    const known_name wanted{address,
                            std::uint64_t{static_cast<unsigned>(what)} << 48 | std::uint64_t{thread} << 32 | when};
    auto& bucket = names_[mixed(wanted.address ^ wanted.rest << 7) % names_.size()];
    for (const auto& [known, number] : bucket)
        if (known == wanted) return number;
    return bucket.emplace_back(wanted, first_name + next_name_++).second;
}

}  // namespace apiary::model::as_it_is
