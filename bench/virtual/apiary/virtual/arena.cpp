// arena: the region, slabs of equal blocks, and large objects of whole pages.
#include <apiary/virtual/arena.hpp>

#include <sys/mman.h>

#include <cstdlib>
#include <new>
#include <utility>

namespace apiary::virt {

void* host_get(std::size_t bytes) {
    void* const p = std::malloc(bytes == 0 ? 1 : bytes);
    if (p == nullptr) throw std::bad_alloc();
    return p;
}
void host_put(void* p) { std::free(p); }

namespace {

// Pages are only taken when they are touched.
void* reserve(std::size_t bytes, void* where) {
    constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void* p = where == nullptr ? MAP_FAILED
                               : ::mmap(where, bytes, PROT_READ | PROT_WRITE, flags | MAP_FIXED_NOREPLACE, -1, 0);
    if (p == MAP_FAILED) p = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (p == MAP_FAILED) throw std::bad_alloc();
    return p;
}

void* const fixed_place = reinterpret_cast<void*>(std::uintptr_t{0x1000'0000'0000});

}  // namespace

arena::arena()
    : base_(static_cast<char*>(reserve(region_bytes, fixed_place))),
      pages_(static_cast<page_entry*>(reserve(region_bytes / page * sizeof(page_entry), nullptr))),
      labels_(static_cast<label*>(reserve(region_bytes / line * sizeof(label), nullptr))) {}

void arena::begin_anew() {
    living_ = used_pages_ = 0;
    given_up_ = false;
    free_.clear();
    for (auto& d : depot_) d.clear();
}

std::uint32_t arena::take_pages(std::size_t n) {
    for (std::size_t i = free_.size(); i-- > 0;) {
        if (free_[i].first != n) continue;
        const std::uint32_t first = free_[i].second;
        free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(i));
        return first;
    }
    if (used_pages_ + n > region_bytes / page) throw std::bad_alloc();
    return static_cast<std::uint32_t>(std::exchange(used_pages_, used_pages_ + n));
}

void* arena::allocate_large(std::size_t bytes, std::size_t alignment, label what) {
    if (alignment > page || bytes > region_bytes) throw std::bad_alloc();
    const std::size_t n = (bytes + page - 1) / page;
    const std::uint32_t first = take_pages(n);
    for (std::uint32_t i = first; i != first + n; ++i) pages_[i] = {first, static_cast<std::uint32_t>(n), 0, what, false};
    return base_ + first * page;
}

arena::given arena::allocate(std::size_t bytes, std::size_t alignment, label what, shelf& from) {
    const std::size_t rounded = (bytes + line - 1) / line * line, block = rounded == 0 ? line : rounded;
    ++living_;
    if (block > largest_block || alignment > line) return {allocate_large(block, alignment, what), nullptr, false};
    const std::size_t c = block / line - 1;
    auto& mine = from.of[c];
    bool exchanged = false;
    if (mine.loaded.empty()) std::swap(mine.loaded, mine.spare);
    if (mine.loaded.empty()) {
        exchanged = true;
        if (!depot_[c].empty()) {
            mine.loaded = std::move(depot_[c].back());
            depot_[c].pop_back();
        } else {
            const std::uint32_t first = take_pages(slab_pages);
            for (std::uint32_t i = first; i != first + slab_pages; ++i)
                pages_[i] = {first, slab_pages, static_cast<std::uint32_t>(block), 0, true};
            // In magazines: one for this processor, the others for the depot.
            for (std::size_t i = slab_pages * page / block; i-- > 0;) {
                if (mine.loaded.size() == magazine) depot_[c].push_back(std::exchange(mine.loaded, {}));
                mine.loaded.push_back(base_ + first * page + i * block);
            }
        }
    }
    void* const p = mine.loaded.back();
    mine.loaded.pop_back();
    labels_[position(p) / line] = what;
    return {p, mine.loaded.empty() ? nullptr : mine.loaded.back(), exchanged};
}

bool arena::release(void* p, shelf& to) {
    --living_;
    const std::size_t at = position(p);
    const page_entry& e = pages_[at / page];
    if (!e.slab) {
        free_.emplace_back(e.pages, e.begin);
        return false;
    }
    const std::size_t c = e.stride / line - 1;
    auto& mine = to.of[c];
    bool exchanged = false;
    if (mine.loaded.size() >= magazine) {
        std::swap(mine.loaded, mine.spare);
        if (mine.loaded.size() >= magazine) {
            exchanged = true;
            depot_[c].push_back(std::move(mine.loaded));
            mine.loaded.clear();
        }
    }
    mine.loaded.push_back(p);
    return exchanged;
}

void arena::empty(shelf& s) {
    for (std::size_t c = 0; c != classes; ++c)
        for (auto* blocks : {&s.of[c].loaded, &s.of[c].spare})
            if (!blocks->empty()) depot_[c].push_back(std::exchange(*blocks, {}));
}

arena::inside arena::find(const void* p) const {
    const std::size_t at = position(p);
    const page_entry& e = pages_[at / page];
    const std::size_t from = at - e.begin * page;
    if (e.slab) {
        const std::size_t in_block = from % e.stride;
        return {labels_[(at - in_block) / line], in_block};
    }
    return {e.what, e.stride == 0 ? from : from % e.stride};
}

void arena::set_stride(const void* object, std::size_t stride) {
    const page_entry& e = pages_[position(object) / page];
    if (e.slab) return;
    for (std::uint32_t i = e.begin; i != e.begin + e.pages; ++i) pages_[i].stride = static_cast<std::uint32_t>(stride);
}

}  // namespace apiary::virt
