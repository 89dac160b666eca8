// revisit: maximality, and the graphs that a new store makes by serving an earlier read (TruSt, POPL 2022).
#include <apiary/model_check/explorer/revisit.hpp>

#include <apiary/model_check/explorer/consistency.hpp>
#include <apiary/model_check/explorer/symmetry.hpp>

namespace apiary::model::explorer {

namespace {

bool matches(const event& e, std::uint64_t value) { return (value & e.mask) == e.expect; }

// The lock that a woken read stood at before the unlock.
event_id waited_on(const graph& g, const event& woken_read) {
    return g.store_at(woken_read.slot, g.at(woken_read.rf).position - 1U);
}

// Whether `e` stands as it would if it had been added last to what was there (its predecessors in time and
// the past of the revisiting store).
bool maximal(const graph& g, const event& e, const vector_clock& past) {
    const auto previous = [&](const event& x) { return x.stamp <= e.stamp || x.index < past[x.thread]; };
    const auto latest_in_previous = [&](unsigned slot, unsigned place) {
        const auto& co = g.slots[slot].co;
        for (std::size_t i = place; i < co.size(); ++i)
            if (previous(g.at(co[i]))) return false;
        return true;
    };
    const auto read_by_previous = [&] {
        for (const auto& t : g.threads)
            for (const event& x : t)
                if ((x.kind == event_kind::read || x.kind == event_kind::alloc) && previous(x) &&
                    (x.has(woken) ? waited_on(g, x) : x.rf) == e.id())
                    return true;
        return false;
    };
    switch (e.kind) {
        case event_kind::fence:
            return true;
        case event_kind::choice:
            return e.value == 0;
        case event_kind::alloc:
            return !is_event(e.rf);
        case event_kind::release:
            return !read_by_previous();
        case event_kind::write:
            return !read_by_previous() && latest_in_previous(e.slot, e.position);
        case event_kind::read:
            if (e.has(forced)) return false;
            if (is_event(e.rf) && !previous(g.at(e.rf))) {
                if (!e.has(woken)) return false;
                const event& lock = g.at(waited_on(g, e));
                return previous(lock) && latest_in_previous(e.slot, lock.position);
            }
            if (waits_in_queue(e.mode) && !e.has(blocked)) return true;  // it has no other way
            return latest_in_previous(e.slot, g.position(e.rf));
    }
    return false;
}

}  // namespace

bool may_force(const graph& g, read_mode mode, bounded_choice how, const unsigned most[]) {
    const attack& off = attacks();
    const bool offered =
        how == weak_failures ? mode == read_mode::weak_cas && !off.no_weak_failure
        : how == timeouts    ? has_deadline(mode) && !off.no_timeout
                          : waits_in_queue(mode) && !off.no_spurious_wake;
    return offered && g.used(how) < most[how];
}

vector_clock knowledge_before(const graph& g, const event& e) {
    return e.index == 0 ? vector_clock{} : g.threads[e.thread][e.index - 1U].hb;
}

ways ways_to_read(const graph& g, const event& e, std::uint64_t value, bool latest, const unsigned most[]) {
    ways w;
    const bool match = matches(e, value);
    switch (e.mode) {
        case read_mode::plain:
            w.add(0);
            break;
        case read_mode::rmw:
            w.add(exclusive);
            break;
        case read_mode::cas:
            w.add(match ? exclusive : 0);
            break;
        case read_mode::unless:
            w.add(match ? 0 : exclusive);
            break;
        case read_mode::weak_cas:
            w.add(match ? exclusive : 0);
            if (match && may_force(g, e.mode, weak_failures, most)) w.add(forced);
            break;
        case read_mode::wait_rmw:
        case read_mode::timed_rmw:
        case read_mode::in_queue:
        case read_mode::in_queue_until:
            // Waiting on a store that is not the latest is never the end of an execution, nor can a later
            // store revisit it (it is not maximal), so that only the latest is waited on.
            if (match)
                w.add(waits_in_queue(e.mode) ? std::uint8_t{0} : std::uint8_t{exclusive});
            else if (latest)
                w.add(blocked);
            if (match) break;
            if (may_force(g, e.mode, timeouts, most)) w.add(timed_out(e.mode));
            if (may_force(g, e.mode, spurious_wakes, most)) w.add(forced | exclusive);
            break;
        case read_mode::spin_until:
            w.add(recheck);
            break;
    }
    return w;
}

bool is_told_by(const graph& g, const event& e, unsigned place) {
    return waits_in_queue(e.mode) && matches(e, g.value_of(e.slot, g.store_at(e.slot, place)));
}

bool revisit_allowed(const graph& g, const event& r, const vector_clock& past, kept_sizes& keep) {
    if (r.index < past[r.thread]) return false;
    for (unsigned t = 0; t < max_threads; ++t) {
        const auto& events = g.threads[t];
        unsigned n = past[t];
        while (n < events.size() && events[n].stamp <= r.stamp) ++n;
        keep[t] = n;
    }
    if (!maximal(g, r, past)) return false;
    for (unsigned t = 0; t < max_threads; ++t)
        for (std::size_t i = keep[t]; i < g.threads[t].size(); ++i)
            if (!maximal(g, g.threads[t][i], past)) return false;
    return true;
}

void restrict_to(graph& g, const kept_sizes& keep) {
    const auto kept = [&](event_id id) { return index_of(id) < keep[thread_of(id)]; };
    for (unsigned t = 0; t < max_threads; ++t)
        for (unsigned i = 0; i < keep[t]; ++i) {
            event& r = g.threads[t][i];
            if (!r.has(woken) || kept(r.rf)) continue;
            r.rf = waited_on(g, r);  // the unlock goes: it waits again
            r.flags = blocked;
            r.value = g.at(r.rf).value;
            g.link(r);
        }
    for (location& s : g.slots) {
        std::size_t n = 0;
        for (const event_id id : s.co)
            if (kept(id)) {
                g.at(id).position = static_cast<std::uint16_t>(n + 1);
                s.co[n++] = id;
            }
        s.co.resize(n);
    }
    for (unsigned t = 0; t < max_threads; ++t) g.threads[t].resize(keep[t]);
}

unsigned least_place(const graph& g, const event& write) {
    return attacks().no_write_coherence ? 0 : earliest_store(g, write.slot, knowledge_before(g, write));
}

void engine::revisit(const event& from, event_id target, std::vector<work_item>& out) {
    const graph& g = *g_;
    const event& old = g.at(target);
    kept_sizes keep{};
    if (!revisit_allowed(g, old, from.porf, keep)) return;
    std::unique_ptr<graph> base = copy(g);
    restrict_to(*base, keep);
    const event_id from_id = from.id();
    event& r = base->at(target);
    event& w = base->at(from_id);
    r.rf = from_id;
    r.flags = 0;
    unsigned least = least_place(*base, w);
    if (!attacks().no_read_coherence)
        least = std::max(least, earliest_store(*base, r.slot, knowledge_before(*base, r)));
    std::vector<unsigned> where;
    places(*base, w, least, where);
    if (w.has(exclusive) && !where.empty() && where[0] < least) where.clear();
    const auto top = static_cast<unsigned>(base->slots[w.slot].co.size());
    for (const unsigned place : where) {
        if (is_told_by(*base, r, place)) continue;
        const ways how = ways_to_read(*base, r, w.value, place == top, limits_.most.data());
        for (unsigned i = 0; i < how.count; ++i) {
            std::unique_ptr<graph> next = copy(*base);
            event& read = next->at(target);
            next->insert_in_co(next->at(from_id), place);
            read.flags = how.flags[i];
            read.value = w.value;
            read.settle_order();
            next->link(read);
            const event& write = next->at(from_id);
            if (first_of_its_mirrors(*next, read) && first_of_its_mirrors(*next, write) &&
                still_seq_cst_consistent(*next, read, &write))
                out.push_back({std::move(next), 0, 0, 1});
            else
                spare_.push_back(std::move(next));
        }
    }
    spare_.push_back(std::move(base));
}

// The lock that waits for this unlock, when revisiting it would remove nothing.
event_id engine::waiter_to_wake(const event& unlock) const {
    if (unlock.has(exclusive) || attacks().no_revisit || attacks().no_waking) return no_event;
    for (const auto& t : g_->threads) {
        if (t.empty()) continue;
        const event& r = t.back();
        if (r.slot != unlock.slot || !r.has(blocked) || r.mode != read_mode::wait_rmw) continue;
        if (!is_event(r.rf) || thread_of(r.rf) != unlock.thread) continue;  // not that thread's lock
        kept_sizes keep{};
        if (!revisit_allowed(*g_, r, unlock.porf, keep)) continue;
        bool removes = false;
        for (unsigned u = 0; u < max_threads; ++u) removes = removes || keep[u] < g_->size(u);
        if (!removes) return r.id();
    }
    return no_event;
}

// In place of a graph to start from: the fibers go on where they stand. See `woken` for what this does to revisits.
void engine::wake(event& read, event_id unlock) {
    read.rf = unlock;
    read.flags = exclusive | woken;
    settle_read(read);
    fibers_[read.thread]->status = state::woken;
}

// Two read-modify-writes read one store. That is only a way to a graph if the write that follows `read` can
// take another read's place, and the rival with it.
bool engine::conflict_can_resolve(const event& read) {
    const graph& g = *g_;
    const event_id rival = g.slots[read.slot].co[g.position(read.rf)];
    kept_sizes keep{};
    for (const auto& t : g.threads)
        for (const event& r : t)
            if (r.kind == event_kind::read && r.slot == read.slot && r.id() != read.id() &&
                revisit_allowed(g, r, read.porf, keep) && index_of(rival) >= keep[thread_of(rival)])
                return true;
    return false;
}

// The write that would follow cannot stay, since a rival's stands there: it is added, asked which reads it
// could serve, and taken away again.
void engine::resolve_conflict(const operation& op, const option& o) {
    graph& g = *g_;
    operation write = op;
    write.kind = event_kind::write;
    write.mode = read_mode::plain;
    write.expect = 0;
    write.value = op.next(op.closure, g.value_of(memory_.objects[op.object].slot, o.rf));
    const std::uint32_t stamp = g.next_stamp;
    const unsigned t = current_;
    event& w = append(write);
    w.flags = exclusive;
    g.link(w);
    const event_id id = w.id();
    for (const auto& events : g.threads)
        for (const event& r : events)
            if (r.kind == event_kind::read && r.slot == w.slot) revisit(g.at(id), r.id(), children_);
    g.threads[t].pop_back();
    --position_[t];
    g.next_stamp = stamp;
}

// Freed memory may be what an earlier allocation got.
void engine::add_release(event& e) {
    graph& g = *g_;
    g.link(e);
    // An earlier scope of the same thread cannot get what this one leaves.
    if (decider_ != nullptr || e.loc == memory_of_a_scope) return;
    children_.clear();
    const event_id id = e.id();
    if (!attacks().no_reuse && !attacks().no_revisit)
        for (unsigned t = 0; t < max_threads; ++t)
            for (unsigned i = g.at(id).porf[t]; i < g.size(t); ++i) {
                const event &a = g.threads[t][i], &f = g.at(id);
                kept_sizes keep{};
                if (a.kind != event_kind::alloc || a.loc != f.loc || a.expect != f.expect || f.value % a.mask != 0)
                    continue;
                if (!revisit_allowed(g, a, f.porf, keep)) continue;
                std::unique_ptr<graph> next = copy(g);
                restrict_to(*next, keep);
                if (next->used(reuses) >= limits_.most[reuses]) {
                    spare_.push_back(std::move(next));
                    continue;
                }
                event& again = next->at(a.id());
                again.rf = id;
                again.value = f.value;
                next->link(again);
                children_.push_back({std::move(next), 0, 0, 1});  // it only adds hb into an event without successors
            }
    push_children(children_, true);
}

}  // namespace apiary::model::explorer
