// See shadow.hpp.
#include <apiary/model_check/as_it_is/shadow.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace apiary::model::as_it_is {

namespace {
std::size_t mixed(std::uintptr_t n) { return static_cast<std::size_t>((n * 0x9E37'79B9'7F4A'7C15U) >> 20); }
// Names of the explorer's own objects are smaller.
constexpr std::uint32_t first_name = std::uint32_t{explorer::max_threads + 1} << 20;
}  // namespace

void shadow::watch(std::uintptr_t begin, std::uintptr_t bytes, bool is_heap) {
    bytes += begin % granule::bytes;
    begin -= begin % granule::bytes;
    const std::size_t table = (bytes / granule::bytes + 1) * sizeof(std::uint32_t);
    void* const p = ::mmap(nullptr, table, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED || used_ == ranges_.size()) std::abort();
    const range*& first = by_top_.at(begin >> top_shift);
    ranges_[used_] = {begin, bytes, static_cast<std::uint32_t*>(p), is_heap, first};
    first = &ranges_[used_++];
}

void touch_list::grow() {
    constexpr std::uint32_t first = 8;
    const std::uint32_t room = room_ == 0 ? first : room_ * 2;
    auto all = std::make_unique<touch[]>(room);
    std::copy(begin(), end(), all.get());
    all_ = std::move(all);
    room_ = room;
}

// All in front of the same thread's same access was asked of already, and a thread knows more and more.
bool granule::takes_again(touch now, bool on_heap) {
    const access_kind how = now.how();
    const thread_sets own = in_set_of(how, 1) << now.thread();
    const bool is_alone = is_alone_in(how, own, now.mask(), on_heap);
    bool others = false;
    for (touch* x = touches.end(); x-- != touches.begin();) {
        if (x->repeats(now)) {
            if (others) return false;
            *x = now;
            return true;
        }
        // A plain write stays behind other writes: the order of those counts.
        if (plain_write(how)) others = others || x->how() != access_kind::read;
        if (is_alone) continue;
        if (x->how() == access_kind::release) return false;
        if (x->thread() != now.thread() && x->thread() != explorer::main_thread && conflict(x->how(), how))
            return false;
    }
    // Other bytes.
    if (!is_alone || touches.is_full()) return false;
    touches.add_in_room(now);
    return true;
}

granule& shadow::new_granule(const range& r, std::uintptr_t address) {
    granule& g = granules_.emplace_back();
    g.touches.grow();
    g.begin_run(run_);
    index_in(r, address) = static_cast<std::uint32_t>(granules_.size());
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
