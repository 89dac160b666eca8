// graph: clocks, coherence order and fingerprints of execution graphs.
#include <apiary/model_check/explorer/graph.hpp>
#include <apiary/model_check/explorer/symmetry.hpp>

namespace apiary::model::explorer {

void graph::link(event& e) const {
    const attack& off = attacks();
    const auto self = static_cast<std::uint16_t>(e.index + 1);
    if (e.index > 0) {
        const event& before = threads[e.thread][e.index - 1U];
        e.hb = before.hb;
        e.porf = before.porf;
        e.pend = before.pend;
        e.relf = before.relf;
    } else {
        e.hb = e.porf = e.pend = e.relf = {};
    }
    link_twins(*this, e);
    e.rel = {};
    e.hb[e.thread] = e.porf[e.thread] = self;
    switch (e.kind) {
        case event_kind::read:
            if (is_event(e.rf)) {
                const event& store = at(e.rf);
                join(e.porf, store.porf);
                e.causes |= store.causes;
                if (off.no_synchronisation) break;
                join(e.pend, store.rel);
                if (e.acquires()) join(e.hb, store.rel);
            }
            break;
        case event_kind::write:
            e.rel = e.releases() ? e.hb : e.relf;
            if (e.has(exclusive) && !off.no_release_sequence) {
                // C++20: only read-modify-writes continue a release sequence.
                const event_id source = read_of(e).rf;
                if (is_event(source)) join(e.rel, at(source).rel);
            }
            if (off.old_release_sequence)
                for (unsigned i = e.index; i-- > 0;) {
                    const event& earlier = threads[e.thread][i];
                    if (earlier.kind == event_kind::write && earlier.slot == e.slot) {
                        join(e.rel, earlier.rel);
                        break;
                    }
                }
            break;
        case event_kind::fence:
            if (e.acquires() && !off.no_acquire_fence) join(e.hb, e.pend);
            if (e.releases() && !off.no_release_fence) e.relf = e.hb;
            break;
        case event_kind::alloc:
            // [new.delete.dataraces]: freeing memory happens before the allocation that gets it again.
            if (is_event(e.rf)) {
                join(e.porf, at(e.rf).porf);
                join(e.hb, at(e.rf).hb);
                e.causes |= at(e.rf).causes;
            }
            break;
        case event_kind::choice:
        case event_kind::release:
            break;
    }
}

void graph::insert_in_co(event& write, unsigned place) {
    auto& co = slots[write.slot].co;
    co.insert(co.begin() + place, write.id());
    for (unsigned i = place; i < co.size(); ++i) at(co[i]).position = static_cast<std::uint16_t>(i + 1);
}

void graph::remove_from_co(const event& write) {
    auto& co = slots[write.slot].co;
    const unsigned place = write.position - 1U;
    co.erase(co.begin() + place);
    for (unsigned i = place; i < co.size(); ++i) at(co[i]).position = static_cast<std::uint16_t>(i + 1);
}

unsigned graph::used(bounded_choice what) const {
    unsigned n = 0;
    for (const auto& t : threads)
        for (const event& e : t) {
            if (e.kind == event_kind::alloc) {
                n += what == reuses && is_event(e.rf) ? 1U : 0U;
            } else if (e.kind == event_kind::read && e.has(forced)) {
                const bounded_choice made = e.mode == read_mode::weak_cas                      ? weak_failures
                                            : e.mode == read_mode::timed_rmw || e.has(gave_up) ? timeouts
                                                                                               : spurious_wakes;
                n += made == what ? 1U : 0U;
            }
        }
    return n;
}

std::uint64_t graph::fingerprint() const {
    std::uint64_t h = 0x9E37'79B9'7F4A'7C15U;
    const auto mix = [&h](std::uint64_t x) {
        h ^= x + 0x9E37'79B9'7F4A'7C15U + (h << 6) + (h >> 2);
        h *= 0xBF58'476D'1CE4'E5B9U;
        h ^= h >> 29;
    };
    for (const auto& t : threads) {
        mix(t.size());
        for (const event& e : t) {
            mix(static_cast<std::uint64_t>(e.kind) << 40 | std::uint64_t{e.flags & ~unsigned{woken}} << 32 | e.loc);
            mix(e.value);
            mix(e.rf);
        }
    }
    // The order in which slots were first touched is not part of a graph: combine them by a sum.
    std::uint64_t sum = 0;
    const std::uint64_t base = h;
    for (const location& s : slots) {
        h = base;
        mix(s.loc);
        for (const event_id id : s.co) mix(id);
        if (!s.co.empty()) sum += h;
    }
    h = base;
    mix(sum);
    return h;
}

}  // namespace apiary::model::explorer
