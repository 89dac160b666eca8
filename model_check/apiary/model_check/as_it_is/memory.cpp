// runtime: what the program does to its memory.
#include <algorithm>
#include <cstring>

#include <apiary/model_check/as_it_is/image.hpp>
#include <apiary/model_check/as_it_is/places.hpp>
#include <apiary/model_check/as_it_is/runtime.hpp>
#include <apiary/model_check/as_it_is/tls.hpp>
#include <apiary/model_check/as_it_is/wide.hpp>

namespace apiary::model::as_it_is {

namespace ex = explorer;

namespace {

constexpr std::uintptr_t granule_mask = ~std::uintptr_t{granule::bytes - 1};
constexpr std::uintptr_t lowest_address = 65536;

const char* name_of(access_kind how) {
    switch (how) {
        case access_kind::read:
            return "a plain read";
        case access_kind::write:
            return "a plain write";
        case access_kind::allocation:
            return "the allocation of this memory";
        case access_kind::release:
            return "the freeing of this memory";
        case access_kind::atomic_read:
            return "an atomic read";
        case access_kind::atomic_write:
            break;
    }
    return "an atomic write";
}

std::string thread_name(unsigned t) {
    return t == ex::main_thread ? "before the threads" : "thread " + std::to_string(t);
}

// A race that can be gone on from: memory does not end in it, and no atomic begins anew.
bool may_be_relaxed(access_kind a) { return a != access_kind::allocation && a != access_kind::release; }

std::string access_text(access_kind what, void* at, unsigned thread) {
    return std::string(name_of(what)) + " at " + place_text(at) + " (" + thread_name(thread) + ")";
}

}  // namespace

// Whether a race is one that --plain-races=as-relaxed goes on from.
bool runtime::may_go_on(const touch& x, access_kind how) const {
    return races_are_relaxed_ && may_be_relaxed(x.how) && may_be_relaxed(how) &&
           !(is_atomic(x.how) && plain_write(how)) && !(is_atomic(how) && plain_write(x.how));
}

void runtime::race(const touch& x, access_kind how, void* pc) {
    const bool ends = x.how == access_kind::release || how == access_kind::release;
    engine().fail((ends ? "access to freed memory: " : "data race: ") +
                  access_text(how, pc, engine().current_thread()) + " and " + access_text(x.how, x.pc, x.thread) +
                  " are not ordered by happens-before" + engine().missing_edge(x.thread, x.when - 1U));
}

// Of memory on the heap; `life`: the last that gave it or took it.
void runtime::check_life(const touch* life, access_kind how, void* pc) {
    ex::engine& e = engine();
    const unsigned t = e.current_thread();
    if (life == nullptr)
        e.fail("bad access: " + access_text(how, pc, t) + " touches memory that was given to nobody (an overrun?)");
    if (life->how == access_kind::release)
        e.fail("access to freed memory: " + access_text(how, pc, t) + " after " +
               access_text(life->how, life->pc, life->thread));
}

// Before the threads begin nothing races, and a location that begins has no other writer than that thread: what gives and takes
// memory is all that has to be known later.
void runtime::check_touch_alone(granule& g, std::uintptr_t address, std::uint8_t mask, access_kind how, void* pc) {
    if (how != access_kind::allocation && !g.is_given(mask) &&
        engine().heap().owns(reinterpret_cast<const void*>(address))) {
        const auto life = std::find_if(g.touches.rbegin(), g.touches.rend(),
                                       [&](const touch& x) { return (x.mask & mask) != 0 && is_of_a_life(x.how); });
        check_life(life == g.touches.rend() ? nullptr : &*life, how, pc);
    }
    if (is_of_a_life(how)) g.touches.push_back({pc, 1, std::uint8_t{ex::main_thread}, mask, how, 0});
}

// In one walk over the latest accesses: looks for races, and drops what the new access makes superfluous, since anything that
// races with the old one races with the new one, too.
void runtime::check_touch(granule& g, std::uintptr_t address, std::uint8_t mask, access_kind how, void* pc) {
    ex::engine& e = engine();
    const unsigned t = e.current_thread();
    const auto when = static_cast<std::uint16_t>(e.next_index() + 1);
    const bool on_heap = e.heap().owns(reinterpret_cast<const void*>(address));
    const touch now{pc, when, static_cast<std::uint8_t>(t), mask, how, static_cast<std::uint8_t>(started_)};
    if (g.takes(now, on_heap)) return;
    const bool strongest = how == access_kind::write;
    const ex::vector_clock* known = nullptr;
    const touch* life = nullptr;  // the last that gave or took the memory; it stays
    auto kept = g.touches.begin();
    for (auto at = kept; at != g.touches.end(); ++at) {
        const touch& x = *at;
        const bool lives = is_of_a_life(x.how);
        if ((x.mask & mask) != 0) {
            if (lives) life = &*kept;
            if (x.thread != t && x.thread != ex::main_thread && conflict(x.how, how)) {
                if (known == nullptr) known = &e.knowledge();
                if ((*known)[x.thread] < x.when && !was_before_start(x, t) && !ex::attacks().no_race_detection &&
                    !may_go_on(x, how))
                    race(x, how, pc);
            }
        }
        if (x.thread == t && (x.mask & ~mask) == 0 && !lives && (x.how == how || strongest)) continue;
        if (kept != at) *kept = x;
        ++kept;
    }
    if (on_heap && how != access_kind::allocation) check_life(life, how, pc);
    g.touches.erase(kept, g.touches.end());
    g.touches.push_back(now);
}

// Of the thread's own stack, where nobody else has been: not worth a row of a trace.
bool runtime::is_private(std::uintptr_t address) {
    if (!on_a_stack(address)) return false;
    for (const touch& x : shadow_.at(address).touches)
        if (x.thread != engine().current_thread() && x.thread != ex::main_thread) return false;
    return true;
}

void runtime::touch_bytes(std::uintptr_t address, std::size_t size, access_kind how, void* pc) {
    if (size == 0) return;
    const shadow::range* const range = shadow_.range_of(address);
    if (range == nullptr) {
        if (plain_write(how) && address >= lowest_address)  // below it, the write itself crashes
            refuse(
                "a write to memory that is not put back between executions (a library's, or from before the scenario)",
                pc);
        return;
    }
    if (++quiet_ > most_quiet) fail("endless loop: 50 million plain accesses in a row and no other", pc);
    ex::engine& e = engine();
    note_access(address, how);
    if (e.tracing() && !is_private(address) && !is_library(place_of_call(pc).file_name()))
        e.show_plain(e.sites().intern(place_of_call(pc), writes(how) ? "write" : "read", ex::site_table::no_order),
                     address, writes(how));
    const std::uintptr_t end = address + size;
    const bool alone = e.current_thread() == ex::main_thread;
    const bool keeps_nothing = alone && !e.heap().owns(reinterpret_cast<const void*>(address));
    for (std::uintptr_t base = address & granule_mask;;) {
        granule* const g = keeps_nothing ? shadow_.found_in(*range, base) : &shadow_.in(*range, base);
        if (g != nullptr) {
            const std::uintptr_t from = address > base ? address - base : 0;
            const std::uintptr_t to = end - base < granule::bytes ? end - base : granule::bytes;
            const auto mask = static_cast<std::uint8_t>(((1U << (to - from)) - 1U) << from);
            if (alone)
                check_touch_alone(*g, base + from, mask, how, pc);
            else
                check_touch(*g, base + from, mask, how, pc);
            if (!g->atomics.empty()) end_atomics(*g, base, mask, how);
        }
        base += granule::bytes;
        if (base >= end) return;
        if (!range->has(base)) return touch_bytes(base, end - base, how, pc);
    }
}

// A plain read sees the graph's value; a plain write ends the location, and what it leaves alone keeps the graph's value.
void runtime::end_atomics(granule& g, std::uintptr_t base, std::uint8_t mask, access_kind how) {
    for (std::size_t i = 0; i < g.atomics.size();) {
        const located l = g.atomics[i];
        if ((l.mask() & mask) == 0) {
            ++i;
            continue;
        }
        if (l.what == role::atomic) write_back(l, base + static_cast<std::uintptr_t>(l.offset));
        if (!plain_write(how)) {
            ++i;
            continue;
        }
        g.atomics.erase(g.atomics.begin() + static_cast<std::ptrdiff_t>(i));
        if (l.size > granule::bytes)
            std::erase_if(shadow_.at(l.offset < 0 ? base - granule::bytes : base + granule::bytes).atomics,
                          [&](const located& other) { return other.at == l.at; });
    }
}

// Stores of others that happen before this access are all that there are (any other is a race), so that the latest of them in
// the modification order is what memory holds.
void runtime::write_back(const located& l, std::uintptr_t address) {
    ex::engine& e = engine();
    const ex::location_info& info = e.heap().objects[l.at->id];
    std::uint64_t value = info.value;
    if (!e.sequential() && info.slot != ex::event::no_slot) {
        const ex::graph& g = e.current();
        const ex::vector_clock& known = e.knowledge();
        const ex::location& slot = g.slots[info.slot];
        value = slot.initial;
        for (std::size_t i = slot.co.size(); i-- > 0;)
            if (known[ex::thread_of(slot.co[i])] > ex::index_of(slot.co[i])) {
                value = g.at(slot.co[i]).value;
                break;
            }
    }
    if (l.size > granule::bytes) {
        const wide both = value_of(value);
        std::memcpy(reinterpret_cast<void*>(address), &both, sizeof both);
        return;
    }
    std::memcpy(reinterpret_cast<void*>(address), &value, l.size);
}

namespace {
// The plain write that a location begins with, as its name has it.
struct plain_origin {
    unsigned name_thread = ex::main_thread, name_when = 0;
    ex::moment since{};
};
plain_origin origin_of(const granule& g, unsigned bytes) {
    plain_origin from;
    for (std::size_t i = g.touches.size(); i-- > 0;)
        if ((g.touches[i].mask & bytes) != 0 && plain_write(g.touches[i].how)) {
            from.name_thread = g.touches[i].thread;
            from.name_when = from.name_thread == ex::main_thread ? 0 : g.touches[i].when;
            break;
        }
    // What thread 0 wrote before its first event is known to all that it started since; of the others it is a race (check_touch).
    if (from.name_thread != 0 || from.name_when > 1)
        from.since = {static_cast<std::uint16_t>(from.name_thread),
                      static_cast<std::uint16_t>(from.name_when == 0 ? 0 : from.name_when - 1)};
    return from;
}
}  // namespace

// What stands at these bytes of a granule already; looks for races. Null: nothing.
ex::object* runtime::at_these_bytes(granule& g, std::uintptr_t address, const located& wanted, access_kind how,
                                    void* pc) {
    const auto mask = static_cast<std::uint8_t>(wanted.mask());
    concurrent() ? check_touch(g, address, mask, how, pc) : check_touch_alone(g, address, mask, how, pc);
    for (const located& l : g.atomics) {
        if (l.what != wanted.what && (l.what == role::queue || wanted.what == role::queue)) continue;
        if (l.what == wanted.what && l.offset == wanted.offset && l.size == wanted.size) return l.at;
        if ((l.mask() & wanted.mask()) != 0)
            refuse("atomic operations of different sizes, or a mutex and an atomic, on the same bytes", pc);
    }
    return nullptr;
}

ex::object& runtime::locate(std::uintptr_t address, std::size_t size, role what, access_kind how, void* pc) {
    const shadow::range* const range = shadow_.range_of(address);
    if (range == nullptr)
        refuse("an atomic in memory that is not put back between executions (a library's, or from before the scenario)",
               pc);
    const std::uintptr_t base = address & granule_mask;
    const std::size_t offset = address - base;
    const bool is_wide = size > granule::bytes;
    if (is_wide ? address % size != 0 : offset + size > granule::bytes) refuse("an atomic that is not aligned", pc);
    quiet_ = 0;
    if (is_wide) (void)shadow_.at(base + granule::bytes);  // both are there, so that neither moves
    granule& g = shadow_.in(*range, base);
    located wanted{nullptr, static_cast<std::int8_t>(offset), static_cast<std::uint8_t>(size), what};
    ex::object* found = at_these_bytes(g, address, wanted, how, pc);
    if (is_wide) {
        wanted.offset = -static_cast<std::int8_t>(granule::bytes);
        found = at_these_bytes(shadow_.at(base + granule::bytes), base + granule::bytes, wanted, how, pc);
    }
    if (found != nullptr) return *found;
    plain_origin from = origin_of(g, wanted.mask());
    if (is_wide) {  // of both halves: a name, and the later write
        const plain_origin also = origin_of(shadow_.at(base + granule::bytes), wanted.mask());
        if (also.name_when > from.name_when) from.since = also.since;
        from.name_thread |= also.name_thread << 4;
        from.name_when |= also.name_when << 16;
    }
    std::uint64_t value = 0;
    if (is_wide) {
        wide both = 0;
        std::memcpy(&both, reinterpret_cast<const void*>(address), sizeof both);
        value = number_of(both);
    } else if (what == role::atomic) {
        std::memcpy(&value, reinterpret_cast<const void*>(address), size);
    }
    ex::object& made = objects_.emplace_back();
    wanted.at = &made;
    engine().constructed_at(made, shadow_.name(address, what, from.name_thread, from.name_when), address, value,
                            from.since, is_wide ? wide_text : nullptr);
    if (is_wide) shadow_.at(base + granule::bytes).atomics.push_back(wanted);
    wanted.offset = static_cast<std::int8_t>(offset);
    g.atomics.push_back(wanted);
    atomics_.push_back(base);
    return made;
}

// ---- what nobody frees ----------------------------------------------------------------------------------------

namespace {
struct marking {
    ex::engine* e;
    std::vector<ex::block*> open;
};
void mark(void* closure, std::uintptr_t word) {
    auto& m = *static_cast<marking*>(closure);
    if (!m.e->heap().owns(reinterpret_cast<const void*>(word))) return;
    const std::uint32_t around = m.e->heap().find_block(reinterpret_cast<const void*>(word));
    if (around == 0) return;
    ex::block& b = m.e->heap().blocks[around - 1];
    if (b.freed) return;
    b.freed = true;  // of what this execution leaves behind, nothing is said
    m.open.push_back(&b);
}
}  // namespace

// As a leak checker does: memory is no leak that a static variable leads to, or a thread-local one of the scenario's thread, the
// only one that has not ended. What an atomic leads to, its latest store says.
void runtime::forgive_what_is_reachable() {
    for (const std::uintptr_t base : atomics_)
        for (const located& l : shadow_.at(base).atomics)
            if (l.what == role::atomic) write_back(l, base + static_cast<std::uintptr_t>(l.offset));
    marking m{&engine(), {}};
    each_image_word(mark, &m);
    each_thread_local_word(0, mark, &m);
    while (!m.open.empty()) {
        const ex::block& b = *m.open.back();
        m.open.pop_back();
        for (std::size_t i = 0; i + sizeof(std::uintptr_t) <= b.size; i += sizeof(std::uintptr_t)) {
            std::uintptr_t word = 0;
            std::memcpy(&word, b.begin + i, sizeof word);
            mark(&m, word);
        }
    }
}

}  // namespace apiary::model::as_it_is
