// consistency: coherence bounds and the psc axiom.
#include <apiary/model_check/explorer/consistency.hpp>

#include <cstdio>
#include <cstdlib>

namespace apiary::model::explorer {

unsigned earliest_store(const graph& g, unsigned slot, const vector_clock& hb) {
    const auto& co = g.slots[slot].co;
    if (co.empty()) return 0;
    if (hb[thread_of(co.back())] > index_of(co.back())) return static_cast<unsigned>(co.size());
    unsigned place = 0;
    for (unsigned t = 0; t < max_threads; ++t) {
        const auto& events = g.threads[t];
        // Along one thread places only grow, so the latest event decides.
        for (unsigned i = hb[t]; i-- > 0;) {
            const event& e = events[i];
            if (e.slot != slot) continue;
            place = std::max(place, e.kind == event_kind::write ? unsigned{e.position} : g.position(e.rf));
            break;
        }
    }
    return place;
}

bool splits_rmw(const graph& g, unsigned slot, unsigned place) {
    return g.has_rmw_successor(slot, place) && !attacks().no_atomicity;
}

namespace {

constexpr unsigned never = ~0U;
enum colours : char { unvisited, under_way, finished };

// For one seq_cst fence: how far its knowledge of each location reaches, by places in co.
struct fence_levels {
    bool known = false;
    std::vector<unsigned> min_write, min_read;  // over events that it happens before
    std::vector<unsigned> max_write, max_read;  // over events that happen before it; +1, 0 is none
};

struct node {
    const event* e;
    unsigned fence;  // index of its fence_levels, or never
};

struct psc_scratch {
    std::vector<node> nodes;
    std::vector<fence_levels> fences;
    std::vector<std::uint64_t> edges;
};

class psc {
public:
    explicit psc(const graph& g) : g_(g) {}

    bool acyclic() {
        collect();
        const std::size_t n = s_.nodes.size();
        if (n < 2) return true;
        const std::size_t words = (n + 63) / 64;
        auto& edges = s_.edges;
        edges.assign(n * words, 0);
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j < n; ++j)
                if (i != j && edge(s_.nodes[i], s_.nodes[j])) edges[i * words + j / 64] |= std::uint64_t{1} << (j % 64);
        // Remove nodes without successors until none is left, or a cycle is.
        auto& alive = s_.alive_;
        alive.assign(words, 0);
        for (std::size_t i = 0; i < n; ++i) alive[i / 64] |= std::uint64_t{1} << (i % 64);
        for (std::size_t left = n;;) {
            std::size_t removed = 0;
            for (std::size_t i = 0; i < n; ++i) {
                if ((alive[i / 64] >> (i % 64) & 1) == 0) continue;
                bool successor = false;
                for (std::size_t w = 0; w < words && !successor; ++w)
                    successor = (edges[i * words + w] & alive[w]) != 0;
                if (successor) continue;
                alive[i / 64] &= ~(std::uint64_t{1} << (i % 64));
                ++removed;
            }
            left -= removed;
            if (left == 0) return true;
            if (removed == 0) return false;
        }
    }

    bool acyclic_through(const event& added, const event* also) {
        if (!may_leave(added) && (also == nullptr || !may_leave(*also))) return true;
        collect();
        if (s_.nodes.size() < 2) return true;
        // Every cycle goes through one of these; of the fences of one thread the last of each order is enough: it has the edges that
        // the earlier ones have.
        s_.colour.assign(s_.nodes.size(), unvisited);
        for (std::size_t i = 0; i < s_.nodes.size(); ++i) {
            const node& n = s_.nodes[i];
            const bool starts =
                n.e == &added || n.e == also ||
                (n.fence != never && (last_before(*n.e, added) || (also != nullptr && last_before(*n.e, *also))));
            if (starts && s_.colour[i] == unvisited && on_a_cycle(i)) return false;
        }
        return true;
    }

private:
    struct scratch : psc_scratch {
        std::vector<std::uint64_t> alive_;
        std::vector<char> colour;
    };

    // Whether an edge of psc could start at `e`: it is seq_cst or after a fence that psc knows, and co goes on after it.
    [[nodiscard]] bool may_leave(const event& e) const {
        if (place(e) == g_.slots[e.slot].co.size()) return false;
        if (e.seq_cst()) return true;
        for (unsigned t = 0; t < max_threads; ++t)
            for (unsigned i = e.hb[t]; i-- > 0;)
                if (g_.threads[t][i].strong_fence()) return true;
        return false;
    }

    [[nodiscard]] bool last_before(const event& fence, const event& e) const {
        if (e.hb[fence.thread] <= fence.index) return false;
        for (unsigned i = e.hb[fence.thread]; --i > fence.index;)
            if (g_.threads[fence.thread][i].strong_fence() && g_.threads[fence.thread][i].order == fence.order)
                return false;
        return true;
    }

    // Depth first; an edge back to a node under way closes a cycle.
    bool on_a_cycle(std::size_t from) {
        s_.colour[from] = under_way;
        for (std::size_t to = 0; to < s_.nodes.size(); ++to) {
            if (s_.colour[to] == finished || to == from || !edge(s_.nodes[from], s_.nodes[to])) continue;
            if (s_.colour[to] == under_way || on_a_cycle(to)) return true;
        }
        s_.colour[from] = finished;
        return false;
    }

    void collect() {
        s_.nodes.clear();
        unsigned fences = 0;
        for (const auto& t : g_.threads)
            for (const event& e : t) {
                if (e.strong_fence())
                    s_.nodes.push_back({&e, fences++});
                else if (!e.seq_cst())
                    continue;
                else if (e.kind == event_kind::read || e.kind == event_kind::write)
                    s_.nodes.push_back({&e, never});
            }
        if (s_.fences.size() < fences) s_.fences.resize(fences);
        for (unsigned i = 0; i < fences; ++i) s_.fences[i].known = false;
    }

    static bool before(const event& a, const event& b) {  // hb, strictly
        return b.hb[a.thread] > a.index && !(a.thread == b.thread && a.index == b.index);
    }

    [[nodiscard]] const fence_levels& levels(const node& n) const {
        fence_levels& f = s_.fences[n.fence];
        if (f.known) return f;
        f.known = true;
        const std::size_t slots = g_.slots.size();
        f.min_write.assign(slots, never);
        f.min_read.assign(slots, never);
        f.max_write.assign(slots, 0);
        f.max_read.assign(slots, 0);
        const unsigned home = n.e->thread, index = n.e->index;
        for (unsigned t = 0; t < max_threads; ++t) {
            const auto& events = g_.threads[t];
            const unsigned known = n.e->hb[t];  // those before it
            for (unsigned i = 0; i < events.size(); ++i) {
                const event& e = events[i];
                if (e.slot == event::no_slot) continue;
                const bool down = i < known;
                if (!down && e.hb[home] <= index) continue;
                if (e.kind == event_kind::write) {
                    if (down)
                        f.max_write[e.slot] = std::max(f.max_write[e.slot], e.position + 1U);
                    else
                        f.min_write[e.slot] = std::min(f.min_write[e.slot], unsigned{e.position});
                } else {
                    const unsigned at = g_.position(e.rf);
                    if (down)
                        f.max_read[e.slot] = std::max(f.max_read[e.slot], at + 1);
                    else
                        f.min_read[e.slot] = std::min(f.min_read[e.slot], at);
                }
            }
        }
        return f;
    }

    [[nodiscard]] unsigned place(const event& e) const {
        return e.kind == event_kind::write ? e.position : g_.position(e.rf);
    }

    [[nodiscard]] bool edge(const node& a, const node& b) const {
        const bool fence_a = a.fence != never, fence_b = b.fence != never;
        if (attacks().no_light_fence && (a.e->light() || b.e->light())) return false;
        // A light fence is no fence but against a heavy one: only that makes its thread pass one, nobody says where.
        if (a.e->light() ? !b.e->heavy() : b.e->light() && !a.e->heavy()) return false;
        // Within a thread sb decides: the other direction would go against coherence.
        if (a.e->thread == b.e->thread && !attacks().no_psc_base && !attacks().no_psc_fence)
            return a.e->index < b.e->index;
        if (fence_a && fence_b) return fence_fence(a, b);
        if (attacks().no_psc_base) return false;
        if (fence_a) return fence_access(a, *b.e);
        if (fence_b) return access_fence(*a.e, b);
        return access_access(*a.e, *b.e);
    }

    // psc_F = [F_sc] ; (hb ∪ hb;eco;hb) ; [F_sc]; psc_base between two fences is contained in it.
    [[nodiscard]] bool fence_fence(const node& a, const node& b) const {
        if (attacks().no_psc_fence) return false;
        if (before(*a.e, *b.e)) return true;
        const fence_levels& from = levels(a);
        const fence_levels& to = levels(b);
        for (std::size_t s = 0; s < g_.slots.size(); ++s) {
            const unsigned mw = from.min_write[s], mr = from.min_read[s];
            if (to.max_write[s] != 0 && to.max_write[s] - 1 > std::min(mw, mr) && std::min(mw, mr) != never)
                return true;
            if (to.max_read[s] != 0) {
                const unsigned top = to.max_read[s] - 1;
                if (mw != never && top >= mw) return true;  // rf, or co then rf
                if (mr != never && top > mr) return true;   // rb then rf
            }
        }
        return false;
    }

    // scb between two seq_cst accesses.
    [[nodiscard]] bool access_access(const event& a, const event& b) const {
        if (a.thread == b.thread) return a.index < b.index;  // sb; the rest would go against coherence
        if (a.slot == b.slot) {
            if (before(a, b)) return true;                              // hb|loc
            return b.kind == event_kind::write && place(b) > place(a);  // co, rb
        }
        // sb|≠loc ; hb ; sb|≠loc, by the earliest first step and the latest last one.
        return by_other_locations(a, b);
    }

    [[nodiscard]] bool by_other_locations(const event& a, const event& b) const {
        const auto& from = g_.threads[a.thread];
        std::size_t first = a.index + 1U;
        while (first < from.size() && from[first].slot == a.slot) ++first;
        if (first == from.size()) return false;
        const auto& to = g_.threads[b.thread];
        for (std::size_t last = b.index; last-- > 0;)
            if (to[last].slot != b.slot) return before(from[first], to[last]);
        return false;
    }

    // [F_sc] ; hb? ; scb ; [E_sc]
    [[nodiscard]] bool fence_access(const node& a, const event& b) const {
        if (b.index > 0 && g_.threads[b.thread][b.index - 1U].hb[a.e->thread] > a.e->index) return true;  // … ; sb
        const fence_levels& from = levels(a);
        if (b.kind == event_kind::write) {
            const unsigned least = std::min(from.min_write[b.slot], from.min_read[b.slot]);
            if (least != never && b.position > least) return true;  // … ; (co ∪ rb)
        }
        return through_same_location(*a.e, b.slot, b);  // … ; hb|loc
    }

    // [E_sc] ; scb ; hb? ; [F_sc]
    [[nodiscard]] bool access_fence(const event& a, const node& b) const {
        if (b.e->hb[a.thread] > a.index + 1U) return true;  // sb ; …
        const fence_levels& to = levels(b);
        if (to.max_write[a.slot] != 0 && to.max_write[a.slot] - 1 > place(a)) return true;  // (co ∪ rb) ; …
        return through_same_location(a, a.slot, *b.e);                                      // hb|loc ; …
    }

    // from ; hb ; [an access of the slot] ; hb ; to. Of each thread the last such access before `to` decides.
    [[nodiscard]] bool through_same_location(const event& from, unsigned slot, const event& to) const {
        for (unsigned t = 0; t < max_threads; ++t)
            for (unsigned i = t == to.thread ? to.index : to.hb[t]; i-- > 0;) {
                const event& x = g_.threads[t][i];
                if (x.slot != slot) continue;
                if (before(from, x)) return true;
                break;
            }
        return false;
    }

    const graph& g_;
    static inline scratch s_;
};

}  // namespace

bool seq_cst_consistent(const graph& g) { return psc(g).acyclic(); }

bool still_seq_cst_consistent(const graph& g, const event& added, const event* also) {
    const bool fine = psc(g).acyclic_through(added, also);
    if (attacks().verify_increments && fine != psc(g).acyclic()) {
        std::fputs("explorer: the incremental psc check disagrees with the whole one\n", stderr);
        std::abort();
    }
    return fine;
}

}  // namespace apiary::model::explorer
