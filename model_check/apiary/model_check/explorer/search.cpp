// search: what could be added to a graph, and which earlier reads a new store could have served.
//
// TruSt (Kokologiannakis, Marmanis, Gladstein, Vafeiadis, POPL 2022). A read is added once for each store it
// may read; a store is added once for each place in co, and besides it may be read by an earlier read that is
// not in its sb ∪ rf past: that revisit removes what was added after the read outside that past, and is made
// only when everything removed had been added in the one way that adding it again would give (maximality).
#include <apiary/model_check/explorer/consistency.hpp>
#include <apiary/model_check/explorer/revisit.hpp>
#include <apiary/model_check/explorer/symmetry.hpp>

namespace apiary::model::explorer {

namespace {

std::uint64_t mix(std::uint64_t path, unsigned child) {
    std::uint64_t h = (path ^ child) + 0x9E37'79B9'7F4A'7C15U;
    h = (h ^ h >> 30) * 0xBF58'476D'1CE4'E5B9U;
    h = (h ^ h >> 27) * 0x94D0'49BB'1331'11EBU;
    return h ^ h >> 31;
}

}  // namespace

std::unique_ptr<graph> engine::copy(const graph& g) {
    std::unique_ptr<graph> c;
    if (spare_.empty()) {
        c = std::make_unique<graph>();
    } else {
        c = std::move(spare_.back());
        spare_.pop_back();
        if (c == nullptr) c = std::make_unique<graph>();
    }
    *c = g;
    return c;
}

std::uint32_t engine::slot_of(std::uint32_t object) {
    location_info& o = memory_.objects[object];
    if (o.slot == event::no_slot) {
        std::uint32_t i = 0;
        while (i < g_->slots.size() && g_->slots[i].loc != o.loc) ++i;
        if (i == g_->slots.size()) g_->slots.push_back({o.loc, 0, false, {}});
        g_->slots[i].initial = o.value;
        g_->slots[i].uninitialised = o.uninitialised;
        o.slot = i;
    }
    return o.slot;
}

event& engine::append(const operation& op) {
    auto& events = g_->threads[current_];
    event& e = events.emplace_back();
    e.kind = op.kind;
    e.mode = op.mode;
    e.thread = static_cast<std::uint16_t>(current_);
    e.index = static_cast<std::uint16_t>(events.size() - 1);
    e.stamp = g_->next_stamp++;
    e.site = op.site;
    e.loc = op.loc;
    e.value = op.value;
    e.expect = op.expect;
    e.mask = op.mask;
    e.order = e.success_order = op.order;
    e.failure_order = op.failure_order;
    if (op.kind == event_kind::read || op.kind == event_kind::write) e.slot = slot_of(op.object);
    ++position_[current_];
    if (g_->alike != 0) {
        link_twins(*g_, e);
        if (unlike_a_twin(*g_, e, op)) {
            failure_.reason =
                std::string(not_alike) + ": after the same events thread " + std::to_string(current_) +
                " does " + (op.site == 0 ? "something else" : describe(op.site)) +
                ", and one before it does something else, or stores another value; take it out of `alike`";
            stop(run_end::nondeterministic);
        }
    }
    return e;
}

void engine::settle_read(event& e) const {
    e.value = g_->value_of(e.slot, e.rf);
    e.settle_order();
    g_->link(e);
}

void engine::apply(event& e, const option& o) {
    e.rf = o.rf;
    e.flags = o.flags;
    settle_read(e);
}

// Where a read can see the latest store alone, and in one way: that one.
bool engine::only_the_latest(const event& e, std::vector<option>& options) const {
    if (e.mode > read_mode::unless || e.mode == read_mode::weak_cas) return false;
    if (attacks().no_read_coherence) return false;
    const auto top = static_cast<unsigned>(g_->slots[e.slot].co.size());
    if (earliest_store(*g_, e.slot, knowledge_before(*g_, e)) != top) return false;
    const event_id store = g_->store_at(e.slot, top);
    const ways w = ways_to_read(*g_, e, g_->value_of(e.slot, store), true, limits_.most.data());
    options.push_back({store, w.flags[0], 0});
    return true;
}

// Besides the options, leaves in children_ the graphs in which this read-modify-write takes a rival's place.
void engine::read_options(event_id id, const operation& op, std::vector<option>& options, bool strict) {
    options.clear();
    children_.clear();
    if (only_the_latest(g_->at(id), options)) return;
    const event e = g_->at(id);  // a copy: resolving a conflict moves events
    const graph& g = *g_;
    const auto top = static_cast<unsigned>(g.slots[e.slot].co.size());
    const unsigned least = attacks().no_read_coherence ? 0 : earliest_store(g, e.slot, knowledge_before(g, e));
    for (unsigned place = top + 1; place-- > least;) {
        const event_id store = g.store_at(e.slot, place);
        const std::uint64_t value = g.value_of(e.slot, store);
        g_->at(id).flags = 0;  // an option tried before does not count against the bounds
        ways w = ways_to_read(g, e, value, place == top, limits_.most.data());
        if (place > least && is_told_by(g, e, place - 1)) continue;
        if (e.mode == read_mode::spin_until) {
            const bool holds = op.done.holds(op.done.closure, value);
            w.count = holds || place == top ? 1 : 0;
            w.flags[0] = holds ? 0 : blocked;
        }
        for (unsigned i = 0; i < w.count; ++i) {
            const option o{store, w.flags[i], 0};
            if (strict && (o.flags & blocked) != 0) continue;
            const bool conflict = (o.flags & exclusive) != 0 && splits_rmw(g, e.slot, place);
            if (conflict && strict) continue;
            if (place != top) {  // reading the latest store is always consistent
                event& read = g_->at(id);
                apply(read, o);
                if (!first_of_its_mirrors(g, read) || !still_seq_cst_consistent(g, read)) continue;
                if (conflict) {
                    if (!conflict_can_resolve(read)) continue;
                    if (op.next != nullptr) {
                        resolve_conflict(op, o);
                        continue;
                    }
                }
            }
            options.push_back(o);
        }
    }
}

bool engine::takes(std::uint64_t path) const {
    if (claims_ == nullptr) return true;
    std::uint8_t owner = 0;
    return claims_[(path >> 32) % claims].compare_exchange_strong(owner, job_, std::memory_order_relaxed) ||
           owner == job_;
}

bool engine::descend(unsigned child, unsigned children) {
    path_ = mix(path_, child);
    if (children > 1) {
        if (keeps_ways_) way_.push_back(child);
        ++depth_;
        weight_ /= children;
        if (depth_ == shard_depth_ && (!owns(path_) || !takes(path_))) return false;
    }
    return true;
}

// Leaves children_ on the stack and goes on as child 0 (or nowhere, when there is no forward child).
void engine::push_children(std::vector<work_item>& children, bool forward) {
    if (probing_ != nullptr || guide_ != nullptr) return probe_children(children, forward);
    const auto first = forward ? 1U : 0U;
    const auto total = static_cast<unsigned>(children.size()) + first;
    for (unsigned i = 0; i < children.size(); ++i) {
        work_item& c = children[i];
        c.path = mix(path_, i + first);
        c.depth = depth_ + (total > 1 ? 1U : 0U);
        c.weight = weight_ / total;
        if (total > 1 && c.depth == shard_depth_ && !owns(c.path)) {
            spare_.push_back(std::move(c.g));
            continue;
        }
        if (keeps_ways_) {
            c.way = way_;
            if (total > 1 || !forward) c.way.push_back(i + first);  // an only child, too: its parent ends here
        }
        stack_.push_back(std::move(c));
    }
    children.clear();
    if (!forward) stop(run_end::blocked);
    if (!descend(0, total)) stop(run_end::not_mine);
}

// Of a way that ends here, none: the run is over.
unsigned engine::drawn_child(unsigned children, bool forward) {
    if (guide_ != nullptr) {
        if (children == 1 && forward) return 0;
        if (guided_ == guide_->size() || (*guide_)[guided_] >= children) stop(run_end::blocked);
        return (*guide_)[guided_++];
    }
    std::uint64_t& r = *probing_;
    r ^= r >> 12;
    r ^= r << 25;
    r ^= r >> 27;
    return static_cast<unsigned>((r * 0x2545'F491'4F6C'DD1DU >> 32) % children);
}

// Goes on as a child drawn at random, or the next of a known way, in this run or in one from that child's graph.
void engine::probe_children(std::vector<work_item>& children, bool forward) {
    const auto first = forward ? 1U : 0U;
    const auto total = static_cast<unsigned>(children.size()) + first;
    if (total == 0) stop(run_end::blocked);
    if (!forward) probe_.executions += 1 / weight_;  // the search makes a run of its own that ends here
    const unsigned drawn = drawn_child(total, forward);
    weight_ /= total;
    if (drawn >= first) {
        probe_next_ = std::move(children[drawn - first]);
        probe_next_.weight = weight_;
    }
    for (work_item& c : children)
        if (c.g != nullptr) spare_.push_back(std::move(c.g));
    children.clear();
    if (drawn >= first) stop(run_end::not_mine);
}

// Goes on with the first option; the others become work. `e` is the last event of the current thread.
void engine::branch(event& e, std::vector<option>& options) {
    if (options.empty()) push_children(children_, false);
    for (std::size_t i = 1; i < options.size(); ++i) {
        apply(e, options[i]);
        children_.push_back({copy(*g_), 0, 0, 1});
    }
    apply(e, options[0]);
    push_children(children_, true);
}

void engine::places(const graph& g, const event& write, unsigned least, std::vector<unsigned>& out) {
    out.clear();
    const auto top = static_cast<unsigned>(g.slots[write.slot].co.size());
    if (write.has(exclusive) && !attacks().no_atomicity) {
        const unsigned place = g.position(g.read_of(write).rf);
        if (!splits_rmw(g, write.slot, place)) out.push_back(place);
        return;
    }
    for (unsigned place = top + 1; place-- > least;)
        if (!splits_rmw(g, write.slot, place)) out.push_back(place);
}

void engine::add_write(event& e) {
    graph& g = *g_;
    g.link(e);
    children_.clear();
    const event_id id = e.id();
    places(g, e, least_place(g, e), places_);
    if (decider_ != nullptr) {
        options_.clear();
        for (const unsigned place : places_) {
            g.insert_in_co(e, place);
            const bool fine = still_seq_cst_consistent(g, e);
            g.remove_from_co(e);
            if (fine) options_.push_back({no_event, e.flags, place});
        }
        if (options_.empty()) stop(run_end::blocked);
        g.insert_in_co(e, options_[decider_->pick_option(g, e, options_)].place);
        return;
    }
    unsigned chosen = ~0U;
    for (const unsigned place : places_) {
        g.insert_in_co(e, place);
        if (first_of_its_mirrors(g, e) && still_seq_cst_consistent(g, e)) {
            if (chosen == ~0U)
                chosen = place;
            else
                children_.push_back({copy(g), 0, 0, 1});
        }
        g.remove_from_co(e);
    }
    const event_id waiter = chosen != ~0U ? waiter_to_wake(e) : no_event;
    const vector_clock past = e.porf;  // what is in it cannot read from it
    if (!attacks().no_revisit)
        for (unsigned t = 0; t < max_threads; ++t)
            for (unsigned i = past[t]; i < g.size(t); ++i)
                if (const event& r = g.threads[t][i];
                    r.kind == event_kind::read && r.slot == g.at(id).slot && r.id() != waiter)
                    revisit(g.at(id), r.id(), children_);
    if (chosen != ~0U) g.insert_in_co(g.at(id), chosen);
    if (is_event(waiter)) wake(g.at(waiter), id);
    push_children(children_, chosen != ~0U);
}

void engine::alloc_options(event& e, std::vector<option>& options) {
    options.clear();
    options.push_back({no_event, 0, 0});
    if (attacks().no_reuse || g_->used(reuses) >= limits_.most[reuses]) return;
    for (const auto& t : g_->threads)
        for (const event& f : t) {
            if (f.kind != event_kind::release || f.expect != e.expect || f.value % e.mask != 0) continue;
            if (f.loc != e.loc || (e.loc == memory_of_a_scope && f.thread != e.thread)) continue;
            bool taken = false;
            for (const auto& u : g_->threads)
                for (const event& a : u)
                    taken = taken || (a.kind == event_kind::alloc && a.rf == f.id() && a.id() != e.id());
            if (!taken) options.push_back({f.id(), 0, 0});
        }
}

bool engine::ends_wait(const operation& op) {
    if (op.kind != event_kind::read || !waits(op.mode)) return true;
    const std::uint32_t slot = slot_of(op.object);
    const std::uint64_t value =
        g_->value_of(slot, g_->store_at(slot, static_cast<unsigned>(g_->slots[slot].co.size())));
    return op.mode == read_mode::spin_until ? op.done.holds(op.done.closure, value) : (value & op.mask) == op.expect;
}

// In the modes without blocked reads a waiting thread simply does not go on yet.
bool engine::can_go_on(const operation& op) {
    if (ends_wait(op) || op.none.holds != nullptr) return true;  // an older store may do, or the execution is none
    const unsigned* most = limits_.most.data();
    return may_force(*g_, op.mode, timeouts, most) || may_force(*g_, op.mode, spurious_wakes, most);
}

}  // namespace apiary::model::explorer
