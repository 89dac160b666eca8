// shadow: see the header.
#include "shadow.hpp"

#include "machine.hpp"
#include "restart.hpp"

namespace apiary::hunt {

shadow the_shadow;

namespace {

constexpr std::size_t large = std::size_t{1} << 16;  // what is larger is only forgotten when it is freed

std::size_t in_cell(std::uintptr_t address, std::size_t bytes) {
    const std::size_t room = 8 - (address & 7);
    return bytes < room ? bytes : room;
}
const char* name_of_access(std::uint8_t how) {
    if (how & access_beyond) return "allocation";
    if (how & access_freed) return "free";
    if (how & access_atomic) return how & access_write ? "atomic write" : "atomic read";
    return how & access_write ? "write" : "read";
}

}  // namespace

void shadow::begin() {
    machine::map(most_regions * sizeof(cell*), machine::of_shadow_table);
    machine::map(sizeof(touched_pages), machine::of_touched);
}

cell* shadow::new_region() {
    constexpr std::size_t bytes = region_pages * page;
    return static_cast<cell*>(machine::map(bytes, machine::of_shadow + touched().regions++ * bytes));
}
void shadow::touch(cell& c) {
    touched_pages& all = touched();
    const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(&c) & ~(page - 1);
    all.is_touched[(address - machine::of_shadow) / page] = 1;
    if (all.count == touched_pages::most)
        the_restart.cannot();
    else
        all.pages[all.count++] = reinterpret_cast<cell*>(address);
}
cell& shadow::at(std::uintptr_t address) {
    cell*& region = region_of(address);
    if (region == nullptr) region = new_region();
    cell& c = region[(address & ((1u << region_bits) - 1)) >> 3];
    if (touched().is_touched[(reinterpret_cast<std::uintptr_t>(&c) - machine::of_shadow) / page] == 0) [[unlikely]]
        touch(c);
    return c;
}
void shadow::forget_everything() {
    touched_pages& all = touched();
    for (std::size_t i = 0; i < all.count; ++i) {
        machine::fill(all.pages[i], 0, page);
        all.is_touched[(reinterpret_cast<std::uintptr_t>(all.pages[i]) - machine::of_shadow) / page] = 0;
    }
    all.count = 0;
}
std::size_t shadow::bytes_mapped() const { return touched().regions * region_pages * page; }

void shadow::race(thread& t, const cell& c, int which, std::uintptr_t address, std::uint8_t how, std::uintptr_t place) {
    const std::uint64_t before = c.accesses[which];
    const bool freed = (before & access_freed) != 0;
    t.inside = true;
    const bool outside = (before & access_beyond) != 0;
    say("%s at %#lx: thread %u: %s\n",
        outside ? "outside of a block"
        : freed ? "use after free"
                : "data race",
        address, t.id(), name_of_access(how));
    tell_stack(t, place);
    say(outside ? "  beside what thread %u: %s\n" : "  not ordered after thread %u: %s\n",
        static_cast<unsigned>(before >> 16 & 0xffff), name_of_access(static_cast<std::uint8_t>(before)));
    the_calls.tell(c.places[which]);
    report->where[0] = place;
    report->where[1] = c.places[which].place();
    new_row(t.id(), name_of_access(how), address, place).note = outside ? "outside"
                                                                : freed ? "after its free"
                                                                        : "races";
    found(outside ? ending::outside : freed ? ending::use_after_free : ending::race);
}

void shadow::check(thread& t, cell& c, std::uintptr_t address, std::uint8_t mask, std::uint8_t how,
                   std::uintptr_t place) {
    const std::uint32_t me = t.id();
    const std::uint64_t mine = packed(t.sees.happened.of(me), me, mask, how);
    if (knows(c, mine)) return;
    int room = -1;
    for (int i = 0; i < 3; ++i) {
        const std::uint64_t before = c.accesses[i];
        if (before == 0) {
            room = i;
            continue;
        }
        const auto its_mask = static_cast<std::uint8_t>(before >> 8);
        const moment when{static_cast<std::uint32_t>(before >> 16 & 0xffff), static_cast<std::uint32_t>(before >> 32)};
        const bool ordered = when.thread == me || t.sees.happened.knows(when);
        const bool both_atomic = (before & how & access_atomic) != 0, writes = ((before | how) & access_write) != 0;
        if ((its_mask & mask) != 0 && ((before & access_freed) != 0 || (!ordered && writes && !both_atomic)))
            race(t, c, i, address, how, place);
        // The new one stands for one that is no stronger and comes before it.
        const bool no_stronger = ((how & access_write) != 0 || (before & access_write) == 0) &&
                                 ((how & access_atomic) == 0 || (before & access_atomic) != 0);
        if (ordered && (its_mask & ~mask) == 0 && no_stronger) {
            c.accesses[i] = 0;
            room = i;
        }
    }
    if (room < 0) {  // a read goes first
        room = static_cast<int>(report->steps % 3);
        if ((c.accesses[room] & access_freed) != 0) room = (room + 1) % 3;
        for (int i = 0; i < 3; ++i)
            if ((c.accesses[i] & access_write) == 0) room = i;
    }
    if (c.accesses[0] == 0) room = 0;
    c.accesses[room] = mine;
    c.places[room] = {place, t.node()};
}

void shadow::bound(thread& t, std::uintptr_t address, std::uint8_t mask, std::uintptr_t place) {
    cell& c = at(address);
    if (mask == 0xff) forget_all(c, address);
    c.accesses[1] = packed(t.sees.happened.of(t.id()), t.id(), mask, access_write | access_freed | access_beyond);
    c.places[1] = {place, t.node()};
}

bool shadow::tell_free(std::uintptr_t address) {
    const cell* const c = if_any(address);
    if (c == nullptr || (c->accesses[0] & access_freed) == 0) return false;
    say("  freed before by thread %u\n", static_cast<unsigned>(c->accesses[0] >> 16 & 0xffff));
    the_calls.tell(c->places[0]);
    return true;
}

void shadow::touches(thread& t, std::uintptr_t address, std::size_t bytes, std::uint8_t how, std::uintptr_t place) {
    while (bytes != 0) {
        const std::size_t here = in_cell(address, bytes);
        cell& c = at(address);
        if ((how & access_write) != 0 && (c.atomics != nullptr || c.lock != nullptr)) [[unlikely]] {
            const bool inside = t.inside;
            t.inside = true;
            forget_atomics(address, here);  // it is made anew
            forget_unused_locks(c, address, here);
            t.inside = inside;
        }
        check(t, c, address, mask_of(address, here), how, place);
        address += here;
        bytes -= here;
    }
}

void shadow::forget_atomics(std::uintptr_t address, std::size_t bytes) {
    cell& c = at(address);
    for (atomic_object** link = &c.atomics; *link != nullptr;) {
        atomic_object* const a = *link;
        if (address >= a->address + a->bytes || a->address >= address + bytes) {
            link = &a->next;
            continue;
        }
        *link = a->next;
        if (a->bytes > 8) {  // its other half
            const std::uintptr_t other = a->whole != nullptr ? a->address : a->address + 8;
            for (atomic_object** its = &at(other).atomics; *its != nullptr; its = &(*its)->next) {
                if ((*its)->address != a->address || (*its)->bytes != a->bytes) continue;
                atomic_object* const half = *its;
                *its = half->next;
                end_own(half);
                break;
            }
        }
        end_own(a);
    }
}

void shadow::forget_lock(const volatile void* p) {
    const auto address = reinterpret_cast<std::uintptr_t>(p);
    cell* const c = if_any(address);
    if (c == nullptr) return;
    for (lock_state** link = &c->lock; *link != nullptr; link = &(*link)->next) {
        if ((*link)->address != address) continue;
        lock_state* const gone = *link;
        *link = gone->next;
        end_own(gone);
        return;
    }
}
void shadow::forget_unused_locks(cell& c, std::uintptr_t address, std::size_t bytes) {
    for (lock_state** link = &c.lock; *link != nullptr;) {
        lock_state* const l = *link;
        if (l->address < address || l->address >= address + bytes || l->owner != 0 || l->readers != 0 || l->inside != 0 ||
            the_scheduler.waits(l)) {
            link = &l->next;
            continue;
        }
        *link = l->next;
        end_own(l);
    }
}
void shadow::forget_all(cell& c, std::uintptr_t address) {
    if (c.atomics != nullptr) forget_atomics(address & ~std::uintptr_t{7}, 8);
    while (lock_state* const l = c.lock) {
        c.lock = l->next;
        end_own(l);
    }
    c.accesses[0] = c.accesses[1] = c.accesses[2] = 0;
}

void shadow::allocated(thread& t, std::uintptr_t address, std::size_t bytes, std::uintptr_t place) {
    const bool inside = t.inside;
    t.inside = true;
    if (bytes > large) {
        for (std::size_t i = 0; i < bytes; i += 8)
            if (cell* const c = if_any(address + i)) forget_all(*c, address + i);
    } else {
        const std::uint64_t made = packed(t.sees.happened.of(t.id()), t.id(), 0xff, access_write | access_made);
        for (std::size_t i = 0; i < bytes; i += 8) {
            cell& c = at(address + i);
            forget_all(c, address + i);
            c.accesses[0] = made;
            c.places[0] = {place, t.node()};
        }
    }
    // The heap keeps a header there, and at least as much after the block.
    for (std::size_t i = 8; i <= sizeof(heap::header); i += 8) bound(t, address - i, 0xff, place);
    const std::uintptr_t end = address + bytes, after = (end + 7) & ~std::uintptr_t{7};
    if (after != end) bound(t, end & ~std::uintptr_t{7}, static_cast<std::uint8_t>(0xffu << (end & 7)), place);
    for (std::size_t i = 0; i < sizeof(heap::header); i += 8) bound(t, after + i, 0xff, place);
    t.inside = inside;
}

void shadow::mapped(std::uintptr_t address, std::size_t bytes) {
    constexpr std::uintptr_t region = std::uintptr_t{1} << region_bits;
    const std::uintptr_t end = address + bytes;
    while (address < end) {
        const std::uintptr_t next = (address & ~(region - 1)) + region;
        const std::uintptr_t here = next < end ? next : end;
        for (; if_any(address) != nullptr && address < here; address += 8) forget_all(at(address), address);
        address = here;
    }
}

void shadow::freed(thread& t, std::uintptr_t address, std::size_t bytes, std::uintptr_t place, bool checked) {
    const bool inside = t.inside;
    t.inside = true;
    const std::uint64_t gone = packed(t.sees.happened.of(t.id()), t.id(), 0xff, access_write | access_freed);
    for (std::size_t i = 0; i < bytes; i += 8) {
        cell* const c = bytes > large ? if_any(address + i) : &at(address + i);
        if (c == nullptr) continue;
        if (checked && c->accesses[0] != 0 && (c->accesses[0] & access_freed) == 0)
            check(t, *c, address + i, bytes - i < 8 ? mask_of(0, bytes - i) : 0xff, access_write, place);
        forget_all(*c, address + i);
        if (bytes > large) continue;
        c->accesses[0] = gone;
        c->places[0] = {place, t.node()};
    }
    t.inside = inside;
}

atomic_object& shadow::atomic_at(thread& t, std::uintptr_t address, std::size_t bytes, std::uint8_t how,
                                 std::uintptr_t place) {
    how |= access_atomic;
    for (std::size_t i = 0; i < bytes; i += 8)
        check(t, at(address + i), address + i, mask_of(address + i, in_cell(address + i, bytes - i)), how, place);
    cell& c = at(address);
    for (atomic_object* a = c.atomics; a != nullptr; a = a->next) {
        if (a->address == address && a->bytes == bytes && a->whole == nullptr) {
            wide_value there = 0;
            machine::copy(&there, reinterpret_cast<const void*>(address), bytes);
            if (there != a->stores.order.back().value) [[unlikely]] {
                vector_clock by_all;  // which thread called the library is not known
                for (thread* one : the_scheduler.threads) weak_memory::release(one->sees, by_all);
                the_scheduler.memory.found(t.sees, a->stores, there, by_all);
            }
            return *a;
        }
        if (address < a->address + a->bytes && a->address < address + bytes) {
            say("not supported: atomics of different sizes on the same bytes, %lu at %#lx and %lu at %#lx\n", a->bytes,
                a->address, bytes, address);
            tell_stack(t, place);
            found(ending::refused);
        }
    }
    if ((address & 7) + bytes > 8 && ((address & 15) != 0 || bytes != 16)) {
        say("not supported: an atomic of %lu bytes at %#lx, which is not aligned\n", bytes, address);
        tell_stack(t, place);
        found(ending::refused);
    }
    auto& made = *make_own<atomic_object>();
    made.address = address;
    made.bytes = bytes;
    written& first = made.stores.order.emplace_back();
    machine::copy(&first.value, reinterpret_cast<const void*>(address), bytes);
    made.next = c.atomics;
    c.atomics = &made;
    if (bytes == 16) {
        cell& upper = at(address + 8);
        auto& half = *make_own<atomic_object>();
        half.address = address;
        half.bytes = bytes;
        half.whole = &made;
        half.next = upper.atomics;
        upper.atomics = &half;
    }
    return made;
}

lock_state& shadow::lock_at(const volatile void* p) {
    cell& c = at(reinterpret_cast<std::uintptr_t>(p));
    const auto address = reinterpret_cast<std::uintptr_t>(p);
    for (lock_state* l = c.lock; l != nullptr; l = l->next)
        if (l->address == address) return *l;
    lock_state& made = *make_own<lock_state>();
    made.address = address;
    made.next = c.lock;
    return *(c.lock = &made);
}

}  // namespace apiary::hunt
