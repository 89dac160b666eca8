// watch: lifetime of objects, races on plain data, and the heap, as the engine sees them.
#include <apiary/model_check/explorer/consistency.hpp>
#include <apiary/model_check/explorer/engine.hpp>

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <ranges>

namespace apiary::model::explorer {

std::string type_name(const char* mangled) {
    int status = 0;
    char* const name = abi::__cxa_demangle(mangled, nullptr, nullptr, &status);
    std::string text = status == 0 ? name : mangled;
    std::free(name);
    return text;
}

namespace {
// How a block ended, told of it.
std::string ending(const block& b) {
    return b.what == storage::scope ? "the scope of a " + type_name(b.type) + " ended"
                                    : "a " + type_name(b.type) + " was destroyed";
}
}  // namespace

// A new object where one was: nobody may still be at that one.
void engine::constructed_anew(const object& o, std::uint32_t block) {
    const auto at = reinterpret_cast<std::uintptr_t>(&o);
    for (std::size_t i = memory_.objects.size(); i-- != 0;) {
        const location_info& old = memory_.objects[i];
        if (old.address != at || old.block != block) continue;
        const vector_clock& hb = knowledge();
        for (unsigned t = 0; t < program_.threads; ++t)
            if (t != current_ && old.accesses[t] != 0 && hb[t] < old.accesses[t])
                fail("data race: thread " + std::to_string(current_) +
                     " constructs an object where there was one that thread " + std::to_string(t) +
                     " uses; the use does not happen before");
        return;
    }
}

// No event: a use that is not ordered before it is seen here, or by locate() when it comes.
void engine::object_ends(object& o) {
    if (attacks().no_lifetime) return;
    const location_info& gone = memory_.objects[o.id];
    const vector_clock& hb = knowledge();
    for (unsigned t = 0; t < program_.threads; ++t)
        if (t != current_ && gone.accesses[t] != 0 && hb[t] < gone.accesses[t])
            fail("access to freed memory: an object ends in thread " + std::to_string(current_) + " while thread " +
                 std::to_string(t) + " uses it; the use does not happen before");
    o.run = ~memory_.run;
}

void engine::constructed(object& o, bool has_value, std::uint64_t value, bool cell) {
    const std::uint32_t block = memory_.find_block(&o);
    if (block != 0 && memory_.blocks[block - 1].freed && current_ != main_thread && !attacks().no_lifetime)
        fail("access to freed memory: an object is constructed in it");
    if (current_ != main_thread && memory_.owns(&o) && !attacks().no_lifetime) constructed_anew(o, block);
    o = {memory_.run, static_cast<std::uint32_t>(memory_.objects.size())};
    location_info& info = memory_.objects.emplace_back();  // filled where it stays: a copy waits for each of its narrow stores
    info.cell = cell;
    info.loc = cell ? 0 : memory_.stable_name(current_);
    info.uninitialised = !has_value;
    info.value = value;
    info.address = reinterpret_cast<std::uintptr_t>(&o);
    info.block = block;
    info.constructed = {static_cast<std::uint16_t>(current_), next_index()};
    if (cell) {
        info.history = static_cast<std::uint32_t>(memory_.histories.size());
        memory_.histories.emplace_back();
        if (current_ != main_thread)
            memory_.histories.back().writes[current_] = static_cast<std::uint16_t>(next_index() + 1);
    }
}

void engine::constructed_at(object& o, std::uint32_t name, std::uint64_t address, std::uint64_t value, moment since,
                            std::string (*text_of)(std::uint64_t value)) {
    location_info info;
    info.loc = name;
    info.value = value;
    info.address = address;
    info.constructed = since;
    info.text_of = text_of;
    o = {memory_.run, static_cast<std::uint32_t>(memory_.objects.size())};
    memory_.objects.push_back(info);
}

void engine::is_none(const object& o, std::uint32_t site) {
    if (o.run == ~memory_.run && o.id < memory_.objects.size()) {
        const std::uint32_t in = memory_.objects[o.id].block;
        fail("access to freed memory: " + describe(site) +
             (in != 0 && memory_.blocks[in - 1].freed
                  ? " after " + ending(memory_.blocks[in - 1]) + " that it was part of"
                  : " uses an object that has ended"));
    }
    const std::uint32_t around = memory_.find_block(&o);
    if (around != 0 && memory_.blocks[around - 1].freed) fail("access to freed memory: " + describe(site));
    fail("uninitialised read: " + describe(site) + " uses an object that has not been constructed, or that has ended");
}

location_info& engine::locate(const object& o, std::uint32_t site) {
    if (o.run != memory_.run || o.id >= memory_.objects.size()) is_none(o, site);
    location_info& info = memory_.objects[o.id];
    if (attacks().no_lifetime) return info;
    if (info.block != 0) {
        block& b = memory_.blocks[info.block - 1];
        if (b.freed) fail("access to freed memory: " + describe(site) + " after " + ending(b) + " that it was part of");
        if (current_ != main_thread) b.accesses[current_] = static_cast<std::uint16_t>(next_index() + 1);
    }
    if (current_ != main_thread) info.accesses[current_] = static_cast<std::uint16_t>(next_index() + 1);
    if (!info.constructed.happens_before(knowledge(), current_)) {
        // The object that the accessor has in mind may be one that was destroyed before this one was put there.
        if (info.block != 0)
            for (std::size_t i = 0; i + 1 < info.block; ++i)
                if (memory_.blocks[i].freed && memory_.blocks[i].begin == memory_.blocks[info.block - 1].begin)
                    fail("access to freed memory: " + describe(site) + " uses memory that has been given to another " +
                         type_name(memory_.blocks[info.block - 1].type) + " since");
        if (info.cell)
            fail("data race: " + describe(site) +
                 " and the construction of this cell, which does not happen before it");
        fail("uninitialised read: " + describe(site) + " uses an atomic whose construction does not happen before it" +
             missing_edge(info.constructed.thread, info.constructed.index));
    }
    return info;
}

// ---- what must not be done to a lock, or to a condition variable ([thread.mutex.class], [thread.condition.condvar]) ----

void engine::gives_lock_back(std::uint32_t object) {
    auto& held = held_[current_];
    for (std::size_t i = held.size(); i-- > 0;)
        if (held[i].object == object) {
            held.erase(held.begin() + static_cast<std::ptrdiff_t>(i));
            return;
        }
}

void engine::asks_for_lock(std::uint32_t object, const char* operation, const code_place& at) {
    for (const held_lock& h : held_[current_])
        if (h.object == object)
            fail("undefined behaviour: " + std::string(operation) + " of a mutex that this thread holds already (" +
                 describe(sites_.intern(at, operation, site_table::no_order)) + ", " + describe(h.site) + ")");
}

// Nobody else could give it back.
void engine::ends_without_locks() {
    for (const held_lock& h : held_[current_] | std::views::reverse)
        if (!h.outlives)
            fail("undefined behaviour: thread " + std::to_string(current_) + " ends and holds a mutex (" + describe(h.site) +
                 ")");
}

// Of another thread only what is known here: a use that is not ordered is said to be that.
void engine::lock_ends(std::uint32_t object) {
    const auto& used = memory_.objects[object].accesses;
    for (unsigned t = 0; t <= max_threads; ++t)
        for (const held_lock& h : held_[t])
            if (h.object == object && (t == current_ || t == main_thread || knowledge()[t] >= used[t]))
                fail("undefined behaviour: a mutex ends that " +
                     (t == main_thread ? "is held" : "thread " + std::to_string(t) + " holds") + " (" +
                     describe(h.site) + ")");
}

// A thread that was told waits no longer.
void engine::condition_ends(std::uint32_t object) {
    const std::uint64_t word = known_value(memory_.objects[object]);
    for (std::size_t i = queued_.size(); i-- > 0;) {
        const queued& w = queued_[i];
        if (w.queue == object && (word >> w.thread & 1U) != 0)
            fail("undefined behaviour: a condition variable ends that thread " + std::to_string(w.thread) +
                 " waits for (" + describe(g_->threads[w.thread][w.index].site) + ")");
    }
}

// A read tells, too, how far the order has come: a notification that found nobody has read what says so.
std::uint64_t engine::known_value(const location_info& info) const {
    if (sequential() || info.slot == event::no_slot) return info.value;
    return g_->value_of(info.slot, g_->store_at(info.slot, earliest_store(*g_, info.slot, knowledge())));
}

void engine::becomes_thread_0() {
    for (location_info& o : memory_.objects)
        if (o.holder == main_thread + 1) {
            o.holder = 1;
            o.value = 1;
        }
    held_[0] = std::exchange(held_[main_thread], {});
}

// Of each of the others the latest time that it came into the queue before this thread.
void engine::waits_with(std::uint32_t queue, std::uint32_t mutex, std::uint32_t others, std::uint32_t site) {
    if (sequential()) return;
    const auto index = static_cast<std::uint16_t>(position_[current_] - 1);
    const unsigned mine = g_->threads[current_][index].position;
    for (unsigned t = 0; t < program_.threads; ++t) {
        if ((others >> t & 1U) == 0) continue;
        const queued* last = nullptr;
        for (const queued& w : queued_)
            if (w.queue == queue && w.thread == t && g_->threads[t][w.index].position < mine) last = &w;
        if (last != nullptr && last->mutex != mutex)
            fail("undefined behaviour: threads " + std::to_string(std::min(t, current_)) + " and " +
                 std::to_string(std::max(t, current_)) + " wait for one condition variable with different mutexes (" +
                 describe(site) + ")");
    }
    queued_.push_back({queue, mutex, static_cast<std::uint16_t>(current_), index});
}

// Why what `thread` did in front of its event `index` is not known here: the first read of a later store of that
// thread that could have carried it, and what was missing there.
std::string engine::missing_edge(unsigned thread, unsigned index) const {
    for (unsigned i = 0; i < position_[current_]; ++i) {
        const event& r = g_->threads[current_][i];
        if (r.kind != event_kind::read || !is_event(r.rf)) continue;
        const event& w = g_->at(r.rf);
        const bool carries = w.rel[thread] > index;
        if (!carries && !(w.thread == thread && w.index >= index)) continue;
        const auto order_at = [&](const event& e) { return describe(e.site) + " (" + order_name(e.order) + ")"; };
        if (!carries) return "; " + order_at(r) + " reads from " + order_at(w) + ", which does not release it";
        return "; " + order_at(r) + " reads from " + order_at(w) + ", which releases it, and does not acquire it";
    }
    return "; no read of this thread takes a store that comes after it";
}

void engine::touch_cell(const object& o, bool writes, std::uint32_t site, const std::uint64_t* shown) {
    location_info& info = locate(o, site);
    if (!writes && info.uninitialised)
        fail("uninitialised read: " + describe(site) + " of a cell that has no value yet");
    if (writes) info.uninitialised = false;
    acts();
    asked(law_kind::race);
    if (trace_ != nullptr) trace_cell(site, info.address, writes, shown);
    if (current_ == main_thread || attacks().no_race_detection) return;
    access_history& h = memory_.histories[info.history];
    const vector_clock& hb = knowledge();
    for (unsigned t = 0; t < program_.threads; ++t) {
        if (t == current_) continue;
        const auto unordered = [&](std::uint16_t access) { return access != 0 && hb[t] < access; };
        const auto race = [&](std::uint32_t other, const char* what, unsigned access) {
            fail("data race: " + describe(site) + " (thread " + std::to_string(current_) + ") and " +
                 (other == 0 ? std::string("the construction of the cell") : describe(other)) + " (thread " +
                 std::to_string(t) + "), a " + what + ", are not ordered by happens-before" +
                 missing_edge(t, access - 1U));
        };
        if (unordered(h.writes[t])) race(h.write_sites[t], "write", h.writes[t]);
        if (writes && unordered(h.reads[t])) race(h.read_sites[t], "read", h.reads[t]);
    }
    const auto now = static_cast<std::uint16_t>(next_index() + 1);
    if (writes) {
        h.writes[current_] = now;
        h.write_sites[current_] = site;
    } else {
        h.reads[current_] = now;
        h.read_sites[current_] = site;
    }
}

std::uint64_t engine::peek(const object& o) {
    if (o.run != memory_.run || o.id >= memory_.objects.size()) return 0;
    const location_info& info = memory_.objects[o.id];
    if (sequential() || info.slot == event::no_slot) {
        for (const location& s : g_->slots)
            if (!sequential() && s.loc == info.loc)
                return g_->value_of(static_cast<unsigned>(&s - g_->slots.data()),
                                    s.co.empty() ? initial_store : s.co.back());
        return info.value;
    }
    const location& s = g_->slots[info.slot];
    return g_->value_of(info.slot, s.co.empty() ? initial_store : s.co.back());
}

void* engine::allocate(std::size_t size, std::size_t alignment, const char* type, storage what) {
    asked(law_kind::lifetime);
    const std::size_t rounded = size == 0 ? 1 : size;
    void* p = nullptr;
    if (sequential()) {
        p = memory_.take(main_thread, rounded, alignment);
    } else {
        operation op;
        op.kind = event_kind::alloc;
        op.expect = rounded;
        op.mask = alignment;
        op.loc = what == storage::scope ? memory_of_a_scope : 0;
        event* e = replay(op);
        const bool added = e == nullptr;
        if (added) {
            at_frontier(op);
            e = &append(op);
            alloc_options(*e, options_);
            const auto take = [&](event& x, const option& o) {
                x.rf = o.rf;
                x.value = is_event(o.rf) ? g_->at(o.rf).value : 0;
                g_->link(x);
            };
            if (decider_ != nullptr) {
                take(*e, options_[decider_->pick_option(*g_, *e, options_)]);
            } else {
                children_.clear();
                for (std::size_t i = 1; i < options_.size(); ++i) {
                    take(*e, options_[i]);
                    children_.push_back({copy(*g_), 0, 0, 1});
                }
                take(*e, options_[0]);
                push_children(children_, true);
                e = &g_->threads[current_].back();
            }
        }
        if (is_event(e->rf)) {
            p = reinterpret_cast<void*>(e->value);
        } else {
            p = memory_.take(current_, rounded, alignment);
            if (!added && e->value != 0 && e->value != reinterpret_cast<std::uintptr_t>(p))
                stop(run_end::nondeterministic);
            e->value = reinterpret_cast<std::uintptr_t>(p);
        }
        if (trace_ != nullptr) trace_event(*e);
    }
    block b;
    b.begin = static_cast<char*>(p);
    b.size = rounded;
    b.alignment = alignment;
    b.type = type;
    b.what = what;
    // The event itself is the allocation, so that only what comes after it may use the memory.
    b.allocated = {static_cast<std::uint16_t>(current_), next_index()};
    memory_.blocks.push_back(b);
    return p;
}

const block& engine::before_destroy(void* p, storage what) {
    static constexpr const char *given_by[] = {"create", "allocate", "scoped"},
                                *gone_by[] = {"destroy", "deallocate", "the end of its scope"};
    const auto by = [](const auto& names, storage of) { return names[static_cast<std::size_t>(of)]; };
    const std::uint32_t around = memory_.find_block(p);
    if (around == 0 || memory_.blocks[around - 1].begin != p)
        fail(std::string("bad ") + by(gone_by, what) + ": the address was not given by " + by(given_by, what));
    const block& b = memory_.blocks[around - 1];
    if (attacks().no_lifetime) return b;
    if (b.freed) fail("double free: a " + type_name(b.type) + " is destroyed a second time");
    if (b.what != what)
        fail(std::string("bad ") + by(gone_by, what) + ": a " + type_name(b.type) + " of " + by(given_by, b.what) +
             " goes by " + by(gone_by, b.what));
    if (!b.allocated.happens_before(knowledge(), current_))
        fail("access to freed memory: a " + type_name(b.type) +
             " is destroyed by a thread that does not know of its creation");
    return b;
}

void engine::before_deallocate(void* p, std::size_t size, std::size_t alignment) {
    const block& b = before_destroy(p, storage::raw);
    if (b.size != (size == 0 ? 1 : size) || b.alignment != alignment)
        fail("bad deallocate: " + std::to_string(b.size) + " bytes aligned to " + std::to_string(b.alignment) +
             " were allocated, and " + std::to_string(size) + " aligned to " + std::to_string(alignment) +
             " are given back");
}

void*& engine::thread_slot(const void* key) {
    for (thread_pointer& known : thread_slots_)
        if (known.thread == current_ && known.key == key) return known.value;
    return thread_slots_.emplace_back(thread_pointer{current_, key, nullptr}).value;
}

void engine::release(void* p) {
    const std::uint32_t around = memory_.find_block(p);
    if (around == 0) return;
    const block& gone = memory_.blocks[around - 1];
    if (!sequential()) {
        const vector_clock hb = knowledge();
        for (unsigned t = 0; t < program_.threads && !attacks().no_lifetime; ++t) {
            const std::uint16_t access = gone.accesses[t];
            if (t != current_ && access != 0 && hb[t] < access)
                fail("access to freed memory: " + ending(gone) + " in thread " + std::to_string(current_) +
                     " while thread " + std::to_string(t) + " uses it; the use does not happen before");
        }
        operation op;
        op.kind = event_kind::release;
        op.value = reinterpret_cast<std::uintptr_t>(p);
        op.expect = gone.size;
        op.loc = gone.what == storage::scope ? memory_of_a_scope : 0;
        event* e = replay(op);
        if (e == nullptr) {
            at_frontier(op);
            e = &append(op);
            add_release(*e);
            e = &g_->threads[current_].back();
        }
        if (trace_ != nullptr) trace_event(*e);
    }
    memory_.blocks[around - 1].freed = true;
}

}  // namespace apiary::model::explorer
