// See cxx20.hpp.
#include <apiary/model_check/explorer/cxx20.hpp>

#include <algorithm>
#include <vector>

namespace apiary::model::explorer {

namespace {

bool of_seq_cst(const event& e) { return e.order == static_cast<std::uint8_t>(std::memory_order_seq_cst); }

bool before(const event& a, const event& b) {  // hb, strictly
    return b.hb[a.thread] > a.index && !(a.thread == b.thread && a.index == b.index);
}

// Where an access stands in the order of its location. A read-modify-write is its write: what its read would add stands there.
struct place {
    bool exists = false, writes = false;
    unsigned at = 0;
};
bool coherence_ordered(const place& a, const place& b) {
    if (!a.exists || !b.exists) return false;
    return a.writes && !b.writes ? a.at <= b.at : a.at < b.at;
}

class order_of_seq_cst {
public:
    explicit order_of_seq_cst(const graph& g) : g_(g) {
        for (const auto& t : g_.threads)
            for (const event& e : t)
                if (of_seq_cst(e) && (e.kind == event_kind::fence || place_of(e).exists)) nodes_.push_back(&e);
        for (const event* n : nodes_) {
            around_.emplace_back();
            if (n->kind == event_kind::fence) find_around(*n, around_.back());
        }
    }

    [[nodiscard]] bool exists() {
        colour_.assign(nodes_.size(), unvisited);
        for (std::size_t i = 0; i < nodes_.size(); ++i)
            if (colour_[i] == unvisited && on_a_cycle(i)) return false;
        return true;
    }

private:
    enum colours : char { unvisited, under_way, finished };
    // Of a fence and a location: the first accesses that it happens before, the last that happen before it.
    struct reach {
        place first_write, first_read, last_write, last_read;
    };

    [[nodiscard]] place place_of(const event& e) const {
        if (e.slot == event::no_slot) return {};
        if (e.kind == event_kind::write) return {true, true, e.position};
        if (e.kind == event_kind::read && !e.has(exclusive)) return {true, false, g_.position(e.rf)};
        return {};
    }

    void find_around(const event& fence, std::vector<reach>& to) const {
        to.resize(g_.slots.size());
        for (const auto& t : g_.threads)
            for (const event& e : t) {
                const place p = place_of(e);
                if (!p.exists) continue;
                reach& r = to[e.slot];
                place& first = p.writes ? r.first_write : r.first_read;
                place& last = p.writes ? r.last_write : r.last_read;
                if (before(fence, e) && (!first.exists || p.at < first.at)) first = p;
                if (before(e, fence) && (!last.exists || p.at > last.at)) last = p;
            }
    }

    // sb ; simply happens before ; sb, of different threads: by the first step and the last one. Where one synchronises with the
    // other itself they are coherence-ordered.
    [[nodiscard]] bool strongly_before(const event& a, const event& b) const {
        const unsigned first_of_b = b.has(exclusive) && b.kind == event_kind::write ? g_.read_of(b).index : b.index;
        return first_of_b > 0 && g_.threads[b.thread][first_of_b - 1U].hb[a.thread] > a.index + 1U;
    }

    [[nodiscard]] bool precedes(std::size_t i, std::size_t j) const {
        const event &a = *nodes_[i], &b = *nodes_[j];
        if (a.thread == b.thread) return a.index < b.index;
        if (strongly_before(a, b)) return true;
        const bool from_fence = a.kind == event_kind::fence, to_fence = b.kind == event_kind::fence;
        if (!from_fence && !to_fence) return a.slot == b.slot && coherence_ordered(place_of(a), place_of(b));  // 4.1
        const auto over = [&](std::size_t slot) {  // 4.2, 4.3, 4.4
            const place none, own_a = from_fence ? none : place_of(a), own_b = to_fence ? none : place_of(b);
            const place from[] = {own_a, from_fence ? around_[i][slot].first_write : none,
                                  from_fence ? around_[i][slot].first_read : none};
            const place to[] = {own_b, to_fence ? around_[j][slot].last_write : none,
                                to_fence ? around_[j][slot].last_read : none};
            return std::ranges::any_of(from, [&](const place& p) {
                return std::ranges::any_of(to, [&](const place& q) { return coherence_ordered(p, q); });
            });
        };
        if (!from_fence) return over(a.slot);
        if (!to_fence) return over(b.slot);
        for (std::size_t s = 0; s < g_.slots.size(); ++s)
            if (over(s)) return true;
        return false;
    }

    // Depth first; an edge back to an operation under way closes a cycle.
    bool on_a_cycle(std::size_t from) {
        colour_[from] = under_way;
        for (std::size_t to = 0; to < nodes_.size(); ++to) {
            if (colour_[to] == finished || to == from || !precedes(from, to)) continue;
            if (colour_[to] == under_way || on_a_cycle(to)) return true;
        }
        colour_[from] = finished;
        return false;
    }

    const graph& g_;
    std::vector<const event*> nodes_;
    std::vector<std::vector<reach>> around_;
    std::vector<colours> colour_;
};

}  // namespace

bool cxx20_forbids(const graph& g) { return !order_of_seq_cst(g).exists(); }

}  // namespace apiary::model::explorer
