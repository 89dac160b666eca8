// lines: the protocol.
#include <apiary/virtual/lines.hpp>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <new>
#include <utility>

namespace apiary::virt {

// Pages of the table of pages are only taken when they are touched.
lines::lines(const prices& p, unsigned processors)
    : p_(p),
      words_((processors + 63) / 64),
      kept_(std::size_t{words_} * 64),
      ahead_(std::size_t{words_} * 64),
      pages_(static_cast<page**>(std::calloc(arena::pages_in_all + 1, sizeof(page*)))) {
    if (pages_ == nullptr) throw std::bad_alloc();
}

lines::~lines() {
    const auto forget = [](page* p) {
        for (line& l : p->lines) host_put(l.copies);
        host_put(p);
    };
    for (std::size_t i = 0; i != the_arena().pages_so_far(); ++i)
        if (pages_[i] != nullptr) forget(pages_[i]);
    for (auto& [number, p] : elsewhere_) forget(p);
    std::free(pages_);
}

lines::line& lines::at_first(std::uintptr_t address) {
    const auto fresh = [] {
        void* const p = std::aligned_alloc(alignof(page), sizeof(page));
        if (p == nullptr) throw std::bad_alloc();
        return ::new (p) page;
    };
    const std::uintptr_t number = address / arena::page;
    const std::size_t in_arena = the_arena().page_of(address);
    if (in_arena != arena::pages_in_all) return (pages_[in_arena] = fresh())->lines[address / arena::line % 64];
    auto& [known, found] = recent_[number % recent_.size()];
    if (found == nullptr || known != number) {
        page*& p = elsewhere_[number];
        if (p == nullptr) p = fresh();
        known = number;
        found = p;
    }
    return found->lines[address / arena::line % 64];
}

void lines::add_copy(line& l, unsigned c) {
    if (l.copies == nullptr) {
        l.copies = static_cast<std::uint64_t*>(host_get(words_ * sizeof(std::uint64_t)));
        std::fill_n(l.copies, words_, 0);
    }
    if (has_copy(l, c)) return;
    l.copies[c / 64] |= std::uint64_t{1} << (c % 64);
    ++l.copy_count;
}

void lines::drop_copies(line& l) {
    if (l.copy_count == 0) return;
    std::fill_n(l.copies, words_, 0);
    l.copy_count = 0;
}

bool lines::has_far_copy(const line& l, unsigned c) const {
    if (p_.cluster >= std::int64_t{64} * words_) return false;
    for (unsigned w = 0; w != words_; ++w)
        for (std::uint64_t bits = l.copies[w]; bits != 0; bits &= bits - 1)
            if (far(c, w * 64 + static_cast<unsigned>(std::countr_zero(bits)))) return true;
    return false;
}

picoseconds lines::price_of_move(const line& l, access kind, unsigned c, bool others) const {
    if (l.owner >= 0) return far(static_cast<unsigned>(l.owner), c) ? p_.far_transfer : p_.transfer;
    if (!others) return p_.cold;
    if (kind == access::load) return p_.clean_copy;
    return has_far_copy(l, c) ? p_.far_transfer : has_copy(l, c) ? p_.upgrade : p_.transfer;
}

void lines::give_to(line& l, unsigned c, picoseconds start, picoseconds cost) {
    if (l.owner >= 0) {  // several may queue: each has the line for a moment when it comes
        const picoseconds until = start + cost * p_.request_permille / 1000;
        auto& all = kept_[static_cast<std::size_t>(l.owner)];
        std::shift_right(all.begin(), all.end(), 1);
        all.front() = {&l, l.busy_until, until};
        l.former_has = until;
    }
    l.busy_until = start + cost;
    drop_copies(l);
    l.owner = static_cast<std::int16_t>(c);
}

void lines::leave_copies(line& l, unsigned c, picoseconds start, picoseconds cost) {
    l.busy_until = start + (l.owner >= 0 ? cost : p_.copy_occupies);
    if (l.owner >= 0) add_copy(l, static_cast<unsigned>(l.owner));
    l.owner = -1;
    add_copy(l, c);
}

picoseconds lines::take_arrival(const line& l, unsigned c) {
    copies_ahead& a = ahead_[c];
    for (std::size_t i = 0; i != a.count; ++i)
        if (a.of[i].which == &l) return std::exchange(a.of[i], a.of[--a.count]).comes;
    return 0;
}

const lines::kept* lines::still_has(const line& l, unsigned c, picoseconds now) const {
    if (now >= l.former_has) return nullptr;
    for (const kept& k : kept_[c])
        if (k.which == &l && std::max(now, k.from) < k.until) return &k;
    return nullptr;
}

lines::outcome lines::touch(std::uintptr_t address, access kind, unsigned c, processor_times& times, picoseconds hit) {
    line& l = at(address);
    outcome told;
    if (kind == access::change) times.clock = std::max(times.clock, times.stores_done);
    const bool mine = l.owner == static_cast<int>(c), copy = has_copy(l, c);
    const bool others = l.copy_count > (copy ? 1U : 0U);
    const picoseconds arrival = take_arrival(l, c);  // waited for also where the copy has been lost meanwhile
    const kept* const still = mine ? nullptr : still_has(l, c, times.clock);
    bool has = mine || (kind == access::load && copy) || still != nullptr;
    if (!has && copy && !others) {  // the only copy: nobody has to be asked
        drop_copies(l);
        l.owner = static_cast<std::int16_t>(c);
        has = true;
    }
    if (has) {
        if (kind != access::load && l.owner == static_cast<int>(c)) l.changed = true;
        const picoseconds owned = mine && l.on_its_way ? l.busy_until : still != nullptr ? still->from : 0;
        const picoseconds comes = std::max(owned, arrival);
        if (kind == access::store) {
            times.stores_done = std::max(times.stores_done, comes);
        } else if (comes > times.clock) {
            told.waited = owned > times.clock || kind == access::change;
            times.clock = comes;
        }
        times.clock += hit;
        return told;
    }

    const picoseconds cost = price_of_move(l, kind, c, others), start = std::max({times.clock, l.busy_until, arrival});
    told.moved = l.owner >= 0 || others;
    told.waited = kind == access::change;
    told.queued = start - times.clock;
    told.cost = cost;
    l.on_its_way = false;
    const picoseconds done = start + cost;
    if (kind == access::load && load_takes(l)) {
        give_to(l, c, start, cost);
        l.changed = false;
        told.waited = true;
        times.clock = done;
        return told;
    }
    if (kind == access::load) {
        leave_copies(l, c, start, cost);
        times.clock = done;
        return told;
    }
    give_to(l, c, start, cost);
    l.changed = true;
    if (kind == access::change) {
        times.clock = done + hit;
    } else {
        times.stores_done = std::max(times.stores_done, done);
        times.clock = std::max(times.clock + hit, times.stores_done - p_.store_buffer);
    }
    return told;
}

lines::outcome lines::ask_ahead(std::uintptr_t address, access kind, unsigned c, const processor_times& times) {
    line& l = at(address);
    const bool copy = has_copy(l, c), others = l.copy_count > (copy ? 1U : 0U), known = l.owner >= 0 || others;
    if (l.owner == static_cast<int>(c)) return {};
    if (kind == access::load ? copy || still_has(l, c, times.clock) != nullptr : !known) return {};
    const picoseconds cost = price_of_move(l, kind, c, others);
    const picoseconds start = std::max({times.clock, l.busy_until, take_arrival(l, c)});
    if (kind != access::load || load_takes(l)) {
        give_to(l, c, start, cost);
        if (kind == access::load) l.changed = false;
        l.on_its_way = true;
        return {.moved = true, .cost = cost};
    }
    copies_ahead& a = ahead_[c];
    if (a.count == a.of.size()) {  // those that are there need no entry
        const auto there = [&](const copies_ahead::entry& e) { return e.comes <= times.clock; };
        a.count = static_cast<std::size_t>(std::remove_if(a.of.begin(), a.of.end(), there) - a.of.begin());
        if (a.count == a.of.size()) return {};
    }
    a.of[a.count++] = {&l, start + cost};
    leave_copies(l, c, start, cost);
    l.on_its_way = false;
    return {.moved = known, .cost = cost};
}

}  // namespace apiary::virt
