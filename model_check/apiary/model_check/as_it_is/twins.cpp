// twins: threads of a program that are alike, so that of executions which differ by a permutation of them few are searched
// (explorer/symmetry.hpp).
//
// Only where it is asked for (--alike), by somebody that knows the program: it looks at no address and no clock.
//
// Threads are alike where thread 0 has started them before its first event, with the same function, clock and argument: one
// pointer, or two blocks of the heap with the same bytes (std::thread copies what it calls into one). Where nothing but the heap
// came in between (what std::thread and a vector of them take), that is no event either: it is new memory, is not given again,
// and the verdict's bound says so. Then each does what the
// other would do, given the same reads, as long as nothing tells which of them it is. What does is looked for in each execution;
// where it is met, the search begins again without symmetry:
//   T1  A thread asks for its own name (pthread_self, std::this_thread::get_id, a join of itself), or one that it started
//       asks for that one's.
//   T2  A thread reads or writes what thread 0 wrote after the first of them was started and before this one was, or the
//       argument of its own that another thread has changed since.
//   T3  They are not joined in a row by one thread, which does nothing in between that could show which of them has ended:
//       no event, no look at the clock, and no access to what another thread has touched. Or not all of them are, or a
//       result is asked for.
//   T4  Twins do something else after the same events, or write another value (explorer: unlike_a_twin).
// What is found out so is found out in an execution of the search, too. Let G be an execution in which a thread is told from
// its twin, and take the part of it before the first place where that happens. Nothing in that part depends on names, so that
// its mirror images are parts of executions, one of which is searched; and there the next step meets the same rule.
//
// Not seen: the order or a hash of addresses of the threads' own stacks, thread-local variables or blocks. Executions in which
// the other thread has the lower ones are then lost, and with them what goes wrong there.
// Tested by: pools_test.py (the outcomes with and without symmetry, and each rule's program).
#include <algorithm>
#include <cstring>
#include <map>
#include <string>

#include <apiary/model_check/as_it_is/runtime.hpp>

namespace apiary::model::as_it_is {

namespace ex = explorer;

namespace {

const ex::block* block_at(const void* p) {
    const auto& heap = runtime::engine().heap();
    const std::uint32_t around = heap.owns(p) ? heap.find_block(p) : 0;
    if (around == 0) return nullptr;
    const ex::block& b = heap.blocks[around - 1];
    return b.begin == p && !b.freed ? &b : nullptr;
}

bool is_same(const void* a, const void* b) {
    if (a == b) return true;
    const ex::block *const one = block_at(a), *const other = block_at(b);
    return one != nullptr && other != nullptr && one->size == other->size &&
           std::memcmp(a, b, one->size - heap_overrun) == 0;
}

}  // namespace

bool runtime::starts_alike(const modelled_thread& a, const modelled_thread& b) {
    return a.starts_at_once && a.start == b.start && a.start_in_c == b.start_in_c && a.clock == b.clock &&
           is_same(a.argument, b.argument);
}

void runtime::find_alike(unsigned t) {
    modelled_thread& m = threads_[t];
    if (const ex::block* const own = block_at(m.argument)) {
        m.own_begin = reinterpret_cast<std::uintptr_t>(own->begin);
        m.own_end = m.own_begin + own->size;
    }
    for (unsigned u = 1; u < count_; ++u) {
        if (u == t || !starts_alike(threads_[u], m)) continue;
        const auto all = static_cast<ex::thread_set>(threads_[u].alike | 1U << u | 1U << t);
        for (unsigned v = 1; v < count_; ++v)
            if ((all >> v & 1U) != 0) threads_[v].alike = all;
        engine().are_alike(all);
        return;
    }
}

// Alike but for what was taken from the heap in between.
void runtime::may_be_alike(unsigned t) {
    const modelled_thread& m = threads_[t];
    for (const ex::event& e : engine().current().threads[0])
        if ((e.kind != ex::event_kind::alloc || ex::is_event(e.rf)) && e.kind != ex::event_kind::release) return;
    for (unsigned u = 1; u < count_; ++u)
        if (u != t && starts_alike(threads_[u], m)) engine().fail(std::string(may_be_alike_quietly));
}

void* runtime::take_quietly(std::size_t size, std::size_t alignment) {
    ex::memory& heap = engine().heap();
    void* const p = heap.take(0, size, alignment);
    heap.blocks.push_back({static_cast<char*>(p), size, alignment, "block of memory", ex::storage::raw, false, {}, {}});
    return p;
}

void runtime::are_told_apart() { engine().fail(std::string(are_not_alike)); }

// Of a thread that one of them has started the name says which of them.
void runtime::asks_who_it_is() {
    for (unsigned t = self(); t != 0; t = (*starts_)[t - 1].by)
        if (threads_[t].alike != 0) are_told_apart();
}

// T2. `x` conflicts with what thread t is about to do at this address.
bool runtime::tells_apart(const touch& x, unsigned t, std::uintptr_t base) const {
    const modelled_thread& m = threads_[t];
    const bool is_early = x.thread() == 0 && x.when() == 1;
    if (base >= m.own_begin && base < m.own_end) return !is_early || x.started() >= m.nth;
    if (!is_early || x.started() >= m.nth) return false;
    unsigned first = m.nth;
    for (unsigned u = 1; u < count_; ++u)
        if ((m.alike >> u & 1U) != 0) first = std::min(first, threads_[u].nth);
    return x.started() >= first;
}

// T3.
void runtime::begins_to_join(unsigned t, bool asks_result) {
    const ex::thread_set all = threads_[t].alike;
    if (all == 0) {
        if (joining_ != 0 && self() == joiner_) are_told_apart();
        return;
    }
    const bool goes_on = joining_ == all && joiner_ == self() && joined_at_ == engine().next_index();
    if (asks_result || (joining_ != 0 && !goes_on)) are_told_apart();
    joining_ = all;
    joiner_ = self();
}

void runtime::has_joined(unsigned t) {
    const ex::thread_set all = threads_[t].alike;
    if (all == 0) return;
    joined_at_ = engine().next_index();
    bool is_over = true;
    for (unsigned u = 1; u < count_; ++u)
        if ((all >> u & 1U) != 0 && !threads_[u].is_joined) is_over = false;
    if (is_over) joining_ = 0;
}

// Of a third thread, too: that it may be looked at, one of them may have told.
void runtime::look_between_joins(const granule& g) {
    for (const touch& x : g.touches)
        if (x.thread() != ex::main_thread && x.thread() != joiner_) are_told_apart();
}

std::int64_t& runtime::clock() {
    if (joining_ != 0 && self() == joiner_) are_told_apart();
    return me().clock;
}

// At the end of an execution.
void runtime::tell_alike() {
    if (joining_ != 0) are_told_apart();
    static std::map<ex::thread_set, std::string> names;
    for (unsigned t = 1; t < count_; ++t) {
        const ex::thread_set all = threads_[t].alike;
        if (all == 0 || (all & ((1U << t) - 1U)) != 0) continue;
        const auto [at, is_new] = names.try_emplace(all, alike_mark);
        for (unsigned u = t; is_new && u < count_; ++u)
            if ((all >> u & 1U) != 0) at->second.append(u == t ? "" : ", ").append(std::to_string(u));
        ex::reach(at->second.c_str());
    }
}

}  // namespace apiary::model::as_it_is
