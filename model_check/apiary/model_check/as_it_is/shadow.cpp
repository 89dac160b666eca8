// See shadow.hpp.
#include <apiary/model_check/as_it_is/shadow.hpp>

#include <sys/mman.h>

#include <cstdlib>

namespace apiary::model::as_it_is {

namespace {
std::size_t mixed(std::uintptr_t n) { return static_cast<std::size_t>((n * 0x9E37'79B9'7F4A'7C15U) >> 20); }
// Names of the explorer's own objects are smaller.
constexpr std::uint32_t first_name = std::uint32_t{16} << 20;
}  // namespace

void shadow::watch(std::uintptr_t begin, std::uintptr_t bytes) {
    bytes += begin % granule::bytes;
    begin -= begin % granule::bytes;
    const std::size_t table = (bytes / granule::bytes + 1) * sizeof(std::uint32_t);
    void* const p = ::mmap(nullptr, table, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED || used_ == ranges_.size()) std::abort();
    ranges_[used_++] = {begin, bytes, static_cast<std::uint32_t*>(p)};
}

std::uint32_t shadow::new_granule() {
    granules_.emplace_back();
    return static_cast<std::uint32_t>(granules_.size());
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
