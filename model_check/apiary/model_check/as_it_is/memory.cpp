// runtime: what the program does to its memory.
#include <algorithm>
#include <cstring>

#include <apiary/model_check/as_it_is/image.hpp>
#include <apiary/model_check/as_it_is/places.hpp>
#include <apiary/model_check/as_it_is/runtime.hpp>
#include <apiary/model_check/as_it_is/tls.hpp>
#include <apiary/model_check/as_it_is/wide.hpp>
#include <apiary/model_check/orders.hpp>

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
        case access_kind::end:
            return "the end of this object";
        case access_kind::queue:
            return "a futex's queue";
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
bool may_be_relaxed(access_kind a) { return !is_of_a_life(a) && a != access_kind::end; }

std::string access_text(access_kind what, void* at, unsigned thread) {
    return std::string(name_of(what)) + (is_of_a_volatile(at) ? " of a volatile at " : " at ") + place_text(at) +
           " (" + thread_name(thread) + ")";
}

}  // namespace

// The two places that --arbitrate asks about.
bool runtime::is_in_question(void* one, void* other) const {
    if (race_in_question_.first.empty()) return false;
    const std::string a = place_text(one), b = place_text(other);
    const auto& [first, second] = race_in_question_;
    return (same_place(a, first) && same_place(b, second)) || (same_place(a, second) && same_place(b, first));
}

// Whether a race is one that --plain-races=as-relaxed goes on from.
bool runtime::may_go_on(const touch& x, access_kind how, void* pc) const {
    return races_are_relaxed_ && !is_in_question(x.pc, pc) && may_be_relaxed(x.how()) && may_be_relaxed(how) &&
           !(is_atomic(x.how()) && plain_write(how)) && !(is_atomic(how) && plain_write(x.how()));
}

void runtime::race(const touch& x, access_kind how, void* pc) {
    const auto ends = [](access_kind a) { return a == access_kind::release || a == access_kind::end; };
    engine().fail((ends(x.how()) || ends(how) ? "access to freed memory: " : "data race: ") +
                  access_text(how, pc, engine().current_thread()) + " and " + access_text(x.how(), x.pc, x.thread()) +
                  " are not ordered by happens-before" + engine().missing_edge(x.thread(), x.when() - 1U) +
                  (is_of_a_volatile(pc) || is_of_a_volatile(x.pc)
                       ? "; volatile orders nothing. Remedy: std::atomic"
                       : ""));
}

// Of memory on the heap; `life`: the last that gave it or took it.
void runtime::check_life(const touch* life, access_kind how, void* pc) {
    ex::engine& e = engine();
    const unsigned t = e.current_thread();
    if (life == nullptr)
        e.fail("bad access: " + access_text(how, pc, t) + " touches memory that was given to nobody (an overrun?)");
    if (life->how() == access_kind::release)
        e.fail("access to freed memory: " + access_text(how, pc, t) + " after " +
               access_text(life->how(), life->pc, life->thread()));
}

void runtime::belongs_to_nobody(const granule& g, std::uint8_t mask, access_kind how, void* pc) {
    const touch* life = nullptr;
    for (const touch& x : g.touches)
        if ((x.mask() & mask) != 0 && is_of_a_life(x.how())) life = &x;
    check_life(life, how, pc);
}

// In one walk over the latest accesses: looks for races, and drops what the new access makes superfluous, since anything that
// races with the old one races with the new one, too.
void runtime::check_touch(granule& g, bool on_heap, touch now, std::uintptr_t base) {
    ex::engine& e = engine();
    const unsigned t = now.thread();
    const access_kind how = now.how();
    const bool strongest = how == access_kind::write || how == access_kind::end;
    const ex::vector_clock& known = e.knowledge();
    const touch* life = nullptr;  // the last that gave or took the memory; it stays
    touch* kept = g.touches.begin();
    for (const touch& x : g.touches) {
        const bool lives = is_of_a_life(x.how());
        if ((x.mask() & now.mask()) != 0) {
            if (lives) life = kept;
            if (x.thread() != t && x.thread() != ex::main_thread && conflict(x.how(), how)) {
                if (threads_[t].alike != 0 && tells_apart(x, t, base)) are_told_apart();
                if (known[x.thread()] < x.when() && !was_before_start(x, t, known) && !ex::attacks().no_race_detection &&
                    !may_go_on(x, how, now.pc))
                    race(x, how, now.pc);
            }
        }
        if (x.thread() == t && (x.mask() & ~now.mask()) == 0 && !lives && (x.how() == how || strongest)) continue;
        if (kept != &x) *kept = x;
        ++kept;
    }
    if (on_heap && how != access_kind::allocation) check_life(life, how, now.pc);
    g.touches.end_at(kept);
    g.add(now);
}

void runtime::touches_alone(const shadow::range& range, std::uintptr_t address, std::size_t size, unsigned mask,
                            access_kind how, void* pc) {
    const granule* const g = shadow_.found_in(range, address);
    if (g == nullptr ? range.is_heap : !g->atomics.empty() || (range.is_heap && (mask & ~unsigned{g->given}) != 0))
        return touch_bytes(address, size, how, pc);
    note_access(address, size, how);
}

// Of the thread's own stack, where nobody else has been: not worth a row of a trace.
bool runtime::is_private(std::uintptr_t address) {
    if (!on_a_stack(address)) return false;
    for (const touch& x : shadow_.at(address).touches)
        if (x.thread() != engine().current_thread() && x.thread() != ex::main_thread) return false;
    return true;
}

// Each modelled thread has its variables elsewhere, thread 0 as well: what stands here does not follow what it does.
void runtime::refuse_own_block(std::uintptr_t address, void* pc) {
    if (is_of_own_block(address))
        refuse("a thread-local variable by an address from before the scenario, where it stood elsewhere. Remedy: take the "
               "address in the scenario",
               pc);
}

void runtime::touch_bytes(std::uintptr_t address, std::size_t size, access_kind how, void* pc) {
    if (size == 0) return;
    const shadow::range* const range = shadow_.range_of(address);
    if (range == nullptr) {
        refuse_own_block(address, pc);
        if (plain_write(how) && address >= lowest_address)  // below it, the write itself crashes
            refuse(
                "a write to memory that is not put back between executions (a library's, or from before the scenario)",
                pc);
        return;
    }
    if (has_been_quiet()) fail("endless loop: 50 million plain accesses in a row and no other", pc);
    ex::engine& e = engine();
    note_access(address, size, how);
    if (tells_reach && how == access_kind::write && !on_stack_of(me(), address)) tell_plain_write(address, pc);
    if (e.tracing() && !is_private(address) && !is_library(place_of_call(pc).file_name()))
        e.show_plain(
            e.sites().intern(place_of_call(pc), how == access_kind::end ? "end" : (writes(how) ? "write" : "read"),
                             ex::site_table::no_order),
            address, writes(how));
    const std::uintptr_t end = address + size;
    const std::uint64_t moment = now(0, how, pc).moment();
    const bool alone = e.current_thread() == ex::main_thread;
    const bool keeps_nothing = alone && !range->is_heap;
    if (keeps_nothing && atomics_.empty()) return;
    for (std::uintptr_t base = address & granule_mask;;) {
        granule* const g = keeps_nothing ? shadow_.found_in(*range, base) : &shadow_.in(*range, base);
        if (g != nullptr) {
            if (joining_ != 0 && self() == joiner_) look_between_joins(*g);
            const std::uintptr_t from = address > base ? address - base : 0;
            const std::uintptr_t to = end - base < granule::bytes ? end - base : granule::bytes;
            const auto mask = static_cast<std::uint8_t>(((1U << (to - from)) - 1U) << from);
            if (alone)
                check_touch_alone(*g, range->is_heap, mask, how, pc);
            else if (how == access_kind::allocation && g->touches.is_empty())
                g->add({pc, moment, mask, how});
            else if (how == access_kind::release && knows_all_ && mask == 0xFF && g->given == mask)
                g->is_freed_alone({pc, moment, mask, how});
            else if (is_of_a_life(how))
                check_touch(*g, range->is_heap, {pc, moment, mask, how}, base);
            else
                take_in(*g, range->is_heap, {pc, moment, mask, how}, how, base);
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
        if (l.what == role::mutex) engine().lock_ends(l.at->id);
        if (!on_stack_of(me(), base)) effect();  // another object begins, whatever its first value is
        g.atomics.erase(g.atomics.begin() + static_cast<std::ptrdiff_t>(i));
        if (l.size > granule::bytes)
            std::erase_if(shadow_.at(l.offset < 0 ? base - granule::bytes : base + granule::bytes).atomics,
                          [&](const located& other) { return other.at == l.at; });
    }
}

void runtime::condition_ends(std::uintptr_t address) {
    granule* const g = shadow_.find(address);
    if (g == nullptr) return;
    for (const located& l : g->atomics)
        if (l.what == role::queue && l.offset == static_cast<int>(address % granule::bytes)) ex::condition_ends(*l.at);
}

// Stores of others that happen before this access are all that there are (any other is a race), so that the latest of them in
// the modification order is what memory holds.
void runtime::write_back(const located& l, std::uintptr_t address) {
    const std::uint64_t value = engine().known_value(engine().heap().objects[l.at->id]);
    if (l.size > granule::bytes) {
        const wide both = value_of(value);
        std::memcpy(reinterpret_cast<void*>(address), &both, sizeof both);
        return;
    }
    std::memcpy(reinterpret_cast<void*>(address), &value, l.size);
}

runtime::plain_origin runtime::origin_of(const granule& g, unsigned bytes) {
    plain_origin from;
    for (const touch* x = g.touches.end(); x-- != g.touches.begin();)
        if ((x->mask() & bytes) != 0 && plain_write(x->how())) {
            from.name_thread = x->thread();
            from.name_when = from.name_thread == ex::main_thread ? 0 : x->when();
            break;
        }
    // What thread 0 wrote before its first event is known to all that it started since; of the others it is a race (check_touch).
    if (from.name_thread != 0 || from.name_when > 1)
        from.since = {static_cast<std::uint16_t>(from.name_thread),
                      static_cast<std::uint16_t>(from.name_when == 0 ? 0 : from.name_when - 1)};
    return from;
}

namespace {
std::string location_text(const located& l) {
    const std::string bytes = std::to_string(l.size) + (l.size == 1 ? " byte" : " bytes");
    switch (l.what) {
        case role::atomic:
            return "an atomic operation on " + bytes;
        case role::mutex:
            return "a lock of " + bytes;
        case role::queue:
            return "a condition variable or a futex of " + bytes;
        case role::guard:
            break;
    }
    return "a lock of the library's";
}
}  // namespace

// C++ has no atomics that overlap; what each of them would see of the other is the processor's matter.
void runtime::refuse_overlap(const located& there, const located& wanted, void* pc) {
    const auto begun = std::ranges::find_if(objects_, [&](const ex::object& o) { return &o == there.at; });
    void* const first = begun_at_[static_cast<std::size_t>(begun - objects_.begin())];
    engine().fail("refused: " +
                  std::string(there.what == wanted.what ? "atomic operations of different sizes" : "a lock and an atomic") +
                  " on the same bytes: " + location_text(wanted) + " at " + place_text(pc) + ", where " + location_text(there) +
                  " at " + place_text(first) + " came first. Remedy: one size for all, and std::atomic<T> rather than a cast");
}

// What stands at these bytes of a granule already; looks for races. Null: nothing.
[[gnu::always_inline]] inline ex::object* runtime::at_these_bytes(granule& g, std::uintptr_t base, bool on_heap,
                                                                  const located& wanted, access_kind how, void* pc) {
    const auto mask = static_cast<std::uint8_t>(wanted.mask());
    if (concurrent())
        take_in(g, on_heap, now(mask, how, pc), how, base);
    else
        check_touch_alone(g, on_heap, mask, how, pc);
    for (const located& l : g.atomics) {
        if (l.what == wanted.what && l.offset == wanted.offset && l.size == wanted.size) return l.at;
        if (l.what != wanted.what && (l.what == role::queue || wanted.what == role::queue)) continue;
        if ((l.mask() & wanted.mask()) != 0) refuse_overlap(l, wanted, pc);
    }
    return nullptr;
}

ex::object& runtime::locate(std::uintptr_t address, std::size_t size, role what, access_kind how, void* pc) {
    asks_others(pc);
    const std::size_t offset = address % granule::bytes;
    const shadow::range* const range = shadow_.range_of(address);
    if (range == nullptr) refuse_own_block(address, pc);
    if (range == nullptr)
        refuse("an atomic in memory that is not put back between executions (a library's, or from before the scenario)",
               pc);
    if (offset + size > granule::bytes) return locate_wide(address, size, what, how, pc);
    granule& g = shadow_.in(*range, address);
    const located wanted{nullptr, static_cast<std::int8_t>(offset), static_cast<std::uint8_t>(size), what};
    if (ex::object* const found = at_these_bytes(g, address, range->is_heap, wanted, how, pc)) return *found;
    std::uint64_t value = 0;
    if (what == role::atomic) std::memcpy(&value, reinterpret_cast<const void*>(address), size);
    // A futex's queue is the kernel's, by the address alone: no object's beginning or end is its own.
    const plain_origin from = how == access_kind::queue ? plain_origin{} : origin_of(g, wanted.mask());
    ex::object& made = begin_location(address, what, from, value, nullptr, pc);
    g.atomics.push_back({&made, wanted.offset, wanted.size, what});
    return made;
}

ex::object& runtime::locate_wide(std::uintptr_t address, std::size_t size, role what, access_kind how, void* pc) {
    if (size <= granule::bytes || address % size != 0) refuse("an atomic that is not aligned", pc);
    const shadow::range& range = *shadow_.range_of(address);
    const std::uintptr_t behind = address + granule::bytes;
    (void)shadow_.in(range, behind);  // both are there, so that neither moves
    granule &first = shadow_.in(range, address), &second = shadow_.in(range, behind);
    located in_first{nullptr, 0, static_cast<std::uint8_t>(size), what}, in_second = in_first;
    in_second.offset = -static_cast<std::int8_t>(granule::bytes);
    (void)at_these_bytes(first, address, range.is_heap, in_first, how, pc);
    if (ex::object* const found = at_these_bytes(second, behind, range.is_heap, in_second, how, pc)) return *found;
    // Of both halves: a name, and the later write.
    plain_origin from = origin_of(first, in_first.mask());
    const plain_origin also = origin_of(second, in_second.mask());
    if (also.name_when > from.name_when) from.since = also.since;
    from.name_thread |= also.name_thread << 8;
    from.name_when |= also.name_when << 16;
    wide both = 0;
    std::memcpy(&both, reinterpret_cast<const void*>(address), sizeof both);
    in_first.at = in_second.at = &begin_location(address, what, from, number_of(both), wide_text, pc);
    second.atomics.push_back(in_second);
    first.atomics.push_back(in_first);
    return *in_first.at;
}

ex::object& runtime::begin_location(std::uintptr_t address, role what, const plain_origin& from, std::uint64_t value,
                                    std::string (*text_of)(std::uint64_t), void* pc) {
    ex::object& made = objects_.emplace_back();
    begun_at_.push_back(pc);
    engine().constructed_at(made, shadow_.name(address, what, from.name_thread, from.name_when), address, value,
                            from.since, text_of);
    atomics_.push_back(address & granule_mask);
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
    for (const auto& [key, value] : threads_[0].values) mark(&m, reinterpret_cast<std::uintptr_t>(value));
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
