// symmetry: twins, and which of two mirror images is explored.
#include <apiary/model_check/explorer/symmetry.hpp>

#include <apiary/model_check/explorer/engine.hpp>

namespace apiary::model::explorer {

namespace {

// Whether two events at one index of two threads leave them twins. A write tells its thread from all others.
bool same_event(const event& a, const event& b) {
    if (a.kind != b.kind || a.site != b.site || a.loc != b.loc) return false;
    switch (a.kind) {
        case event_kind::fence:
            return true;
        case event_kind::choice:
            return a.value == b.value;
        case event_kind::read:
            return a.rf == b.rf && ((a.flags ^ b.flags) & ~unsigned{woken}) == 0;
        case event_kind::write:
        case event_kind::alloc:
        case event_kind::release:
            return false;
    }
    return false;
}

const event* write_of(const graph& g, const event& read) {
    const auto& events = g.threads[read.thread];
    for (std::size_t i = read.index + 1U; i < events.size(); ++i)
        if (events[i].kind == event_kind::write) return &events[i];
    return nullptr;
}

template <class F>
bool any_twin(const graph& g, const event& e, F f) {
    for (unsigned t = 0, left = e.twins; left != 0; ++t, left >>= 1)
        if ((left & 1U) != 0 && e.index < g.size(t) && f(g.threads[t][e.index])) return true;
    return false;
}

}  // namespace

void link_twins(const graph& g, event& e) {
    if (g.alike == 0) return;
    const unsigned self = g.alike & 1U << e.thread;
    e.twins = e.causes = 0;
    if (e.index == 0) {
        e.twins = static_cast<thread_set>(g.alike_to[e.thread] & ((1U << e.thread) - 1U));
    } else {
        const event& before = g.threads[e.thread][e.index - 1U];
        e.causes = before.causes;
        any_twin(g, before, [&](const event& x) {
            if (same_event(x, before)) e.twins |= static_cast<thread_set>(1U << x.thread);
            return false;
        });
    }
    e.causes |= static_cast<thread_set>(self);
    if (attacks().no_twin_order) return;
    any_twin(g, e, [&](const event& x) {
        join(e.porf, x.porf);
        if (x.has(exclusive) && !attacks().torn_twins)  // a read-modify-write is one step: its write belongs to it
            if (const event* w = write_of(g, x)) join(e.porf, w->porf);
        return false;
    });
}

bool first_of_its_mirrors(const graph& g, const event& e) {
    if (e.twins == 0) return true;
    if ((e.causes & ~(1U << e.thread)) != 0 && !attacks().no_purity) return true;
    const auto place = [&](const event& x) { return x.kind == event_kind::read ? g.position(x.rf) : x.position; };
    return !any_twin(g, e, [&](const event& x) { return x.slot == e.slot && x.kind == e.kind && place(e) < place(x); });
}

bool unlike_a_twin(const graph& g, const event& e, const operation& op) {
    // Addresses differ: each thread has an arena of its own. So do the owners in a mutex.
    constexpr std::uint64_t least_address = std::uint64_t{1} << 32;
    const auto other = [&](std::uint64_t a, std::uint64_t b) {
        return a != b && (a < least_address || b < least_address);
    };
    // A read-modify-write: what this one would write where the twin has read.
    const auto computes_other = [&](const event& x) {
        if (op.next == nullptr || op.names_thread || !x.has(exclusive)) return false;
        const event* w = write_of(g, x);
        return w != nullptr && other(op.next(op.closure, g.value_of(x.slot, x.rf)), w->value);
    };
    return any_twin(g, e, [&](const event& x) {
        return x.kind != e.kind || x.site != e.site || x.mode != e.mode || x.success_order != e.success_order ||
               x.failure_order != e.failure_order || (e.kind == event_kind::read && computes_other(x)) ||
               (e.kind == event_kind::write && !x.has(exclusive) && other(x.value, e.value)) ||
               other(x.expect, e.expect);
    });
}

}  // namespace apiary::model::explorer
