// weak_memory: see the header.
#include "weak_memory.hpp"

#include <utility>

namespace apiary::hunt {

bool acquires(int order) {
    return order == __ATOMIC_ACQUIRE || order == __ATOMIC_CONSUME || order == __ATOMIC_ACQ_REL ||
           order == __ATOMIC_SEQ_CST;
}
bool releases(int order) { return order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST; }

// The newest seq_cst fence that happens before the thread's next operation. If that one is forgotten, this answers the
// oldest that is kept, which forbids more.
const weak_memory::fence_record* weak_memory::fence_before(const view& v) const {
    std::uint32_t number = v.happened.fence();
    if (number == 0) return nullptr;
    if (fence_count_ > most_fences && number <= fence_count_ - most_fences) number = fence_count_ - most_fences + 1;
    return &fences_[(number - 1) % most_fences];
}

bool weak_memory::must_precede(const view& v, const written& w, bool seq_cst, const fence_record* f) const {
    if (v.happened.knows(w.when)) return true;
    if (seq_cst && (w.seq_cst != 0 || fenced_.knows(w.when))) return true;
    if (f != nullptr && ((w.seq_cst != 0 && w.seq_cst < f->seq_cst) || f->earlier.knows(w.when))) return true;
    for (const moment& reader : w.readers)
        if (v.happened.knows(reader) || (f != nullptr && f->earlier.knows(reader))) return true;
    return false;
}

std::size_t weak_memory::oldest(const view& v, const location& l, int order) const {
    const fence_record* const f = fence_before(v);
    std::size_t i = l.order.size() - 1;
    while (i > 0 && !must_precede(v, l.order[i], order == __ATOMIC_SEQ_CST, f)) --i;
    return i;
}

wide_value weak_memory::read(view& v, location& l, std::size_t which, int order) {
    written& w = l.order[which];
    bool first = true;
    for (const moment& reader : w.readers) first = first && reader.thread != v.id;
    if (first) w.readers.push_back(v.now());
    if (order == __ATOMIC_SEQ_CST) ++seq_cst_;
    (acquires(order) ? v.happened : v.to_acquire).join(w.released);
    return w.value;
}

void weak_memory::put(view& v, location& l, std::size_t place, wide_value value, int order, bool follows) {
    v.happened.tick(v.id);
    written w;
    w.value = value;
    w.when = v.now();
    w.follows = follows;
    if (follows) w.released.join(l.order[place - 1].released);  // C++20: a release sequence goes on through these alone
    w.released.join(releases(order) ? v.happened : v.released_by_fence);
    if (order == __ATOMIC_SEQ_CST) w.seq_cst = ++seq_cst_;
    v.happened.tick(v.id);
    l.order.insert(l.order.begin() + static_cast<std::ptrdiff_t>(place), std::move(w));
    if (l.order.size() > most_stores) l.order.erase(l.order.begin());
}

void weak_memory::write(view& v, location& l, std::size_t place, wide_value value, int order) {
    put(v, l, place, value, order, false);
}

wide_value weak_memory::change(view& v, location& l, std::size_t which, wide_value value, int order) {
    const wide_value old = read(v, l, which, order);
    put(v, l, which + 1, value, order, true);
    return old;
}

void weak_memory::found(view& v, location& l, wide_value value, const vector_clock& by_all) {
    put(v, l, l.order.size(), value, __ATOMIC_RELAXED, true);
    l.order.back().released.join(by_all);
}

void weak_memory::fence(view& v, int order) {
    if (acquires(order)) v.happened.join(v.to_acquire);
    if (order == __ATOMIC_SEQ_CST) {
        fence_record now;
        now.seq_cst = ++seq_cst_;
        now.earlier = fenced_;
        const std::size_t at = fence_count_++ % most_fences;
        if (at < fences_.size())
            fences_[at] = std::move(now);
        else
            fences_.push_back(std::move(now));
        v.happened.saw_fence(fence_count_);
        fenced_.join(v.happened);
    }
    if (releases(order)) v.released_by_fence = v.happened;
    v.happened.tick(v.id);
}

void weak_memory::release(view& v, vector_clock& to) {
    to.join(v.happened);
    v.happened.tick(v.id);
}

}  // namespace apiary::hunt
