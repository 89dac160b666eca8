// Classic litmus tests as ordinary C++. Each has the name of its line in litmus/explorer_table.inc, and must show exactly that
// line's outcomes: all that RC11 allows, and no other. An outcome lists the values read, by thread, then the final values.
#include <apiary/check.hpp>

#include <atomic>
#include <initializer_list>
#include <thread>

// litmus_sets.cpp
bool add_litmus(const char* name, void (*body)());
void saw(std::initializer_list<int> values);

namespace {

constexpr auto rlx = std::memory_order_relaxed, acq = std::memory_order_acquire, rel = std::memory_order_release,
               ar = std::memory_order_acq_rel, sc = std::memory_order_seq_cst;
using word = std::atomic<int>;
void fence(std::memory_order order) { std::atomic_thread_fence(order); }

template <class... Threads>
void beside(Threads... bodies) {
    std::thread threads[] = {std::thread(bodies)...};
    for (std::thread& t : threads) t.join();
}

}  // namespace

#define LITMUS(name)                                       \
    static void name();                                    \
    static const bool name##_added = add_litmus(#name, name); \
    static void name()

// ---- store buffering -------------------------------------------------------------------------------------------------------

namespace {
template <class Store, class Load>
void store_buffering(Store store, Load load) {
    word x{0}, y{0};
    int a = 0, b = 0;
    beside([&] { store(x), a = load(y); }, [&] { store(y), b = load(x); });
    saw({a, b});
}
}  // namespace
LITMUS(sb_rlx) {
    store_buffering([](word& w) { w.store(1, rlx); }, [](word& w) { return w.load(rlx); });
}
LITMUS(sb_ra) {
    store_buffering([](word& w) { w.store(1, rel); }, [](word& w) { return w.load(acq); });
}
LITMUS(sb_sc) {
    store_buffering([](word& w) { w = 1; }, [](word& w) { return w.load(); });
}
LITMUS(sb_sc_fences) {
    store_buffering([](word& w) { w.store(1, rlx), fence(sc); }, [](word& w) { return w.load(rlx); });
}
LITMUS(sb_sc_loads_only) {
    store_buffering([](word& w) { w.store(1, rel); }, [](word& w) { return w.load(); });
}
LITMUS(sb_rmw_sc) {
    word x{0}, y{0};
    int a = 0, b = 0, c = 0, d = 0;
    beside([&] { a = x++, b = y; }, [&] { c = y++, d = x; });
    saw({a, b, c, d});
}

// ---- message passing -------------------------------------------------------------------------------------------------------

namespace {
template <class Publish, class Ask>
void message_passing(Publish publish, Ask ask) {
    word x{0}, y{0};
    int a = 0, b = 0;
    beside([&] { x.store(1, rlx), publish(y); }, [&] { a = ask(y), b = x.load(rlx); });
    saw({a, b});
}
}  // namespace
LITMUS(mp_rlx) {
    message_passing([](word& w) { w.store(1, rlx); }, [](word& w) { return w.load(rlx); });
}
LITMUS(mp_ra) {
    message_passing([](word& w) { w.store(1, rel); }, [](word& w) { return w.load(acq); });
}
LITMUS(mp_fences) {
    message_passing([](word& w) { fence(rel), w.store(1, rlx); },
                    [](word& w) {
                        const int seen = w.load(rlx);
                        fence(acq);
                        return seen;
                    });
}
LITMUS(mp_fence_too_late) {
    message_passing([](word& w) { w.store(1, rlx), fence(rel); }, [](word& w) { return w.load(acq); });
}
LITMUS(isa2_ra) {
    word x{0}, y{0}, z{0};
    int a = 0, b = 0, c = 0;
    beside([&] { x.store(1, rlx), y.store(1, rel); }, [&] { a = y.load(acq), z.store(1, rel); },
           [&] { b = z.load(acq), c = x.load(rlx); });
    saw({a, b, c});
}
LITMUS(wrc_ra) {
    word x{0}, y{0};
    int a = 0, b = 0, c = 0;
    beside([&] { x.store(1, rel); }, [&] { a = x.load(acq), y.store(1, rel); },
           [&] { b = y.load(acq), c = x.load(rlx); });
    saw({a, b, c});
}
LITMUS(rs_rmw) {
    word x{0}, y{0};
    int a = 0, b = 0, c = 0;
    beside([&] { x.store(1, rlx), y.store(1, rel); }, [&] { a = y.fetch_add(1, rlx); },
           [&] { b = y.load(acq), c = x.load(rlx); });
    saw({a, b, c});
}
LITMUS(rs_own_store) {
    word x{0}, y{0};
    int a = 0, b = 0;
    beside([&] { x.store(1, rlx), y.store(1, rel), y.store(2, rlx); }, [&] { a = y.load(acq), b = x.load(rlx); });
    saw({a, b});
}
LITMUS(cas_fail_rlx) {
    word x{0}, y{0};
    int a = 7, b = 0;
    beside([&] { x.store(1, rlx), y.store(1, rel); },
           [&] { y.compare_exchange_strong(a, 8, ar, rlx), b = x.load(rlx); });
    saw({a, b});
}

// ---- load buffering, writes in both orders -----------------------------------------------------------------------------------

LITMUS(lb_rlx) {
    word x{0}, y{0};
    int a = 0, b = 0;
    beside([&] { a = x.load(rlx), y.store(1, rlx); }, [&] { b = y.load(rlx), x.store(1, rlx); });
    saw({a, b});
}
LITMUS(w22_rlx) {
    word x{0}, y{0};
    beside([&] { x.store(1, rlx), y.store(2, rlx); }, [&] { y.store(1, rlx), x.store(2, rlx); });
    saw({x, y});
}
LITMUS(w22_sc) {
    word x{0}, y{0};
    beside([&] { x = 1, y = 2; }, [&] { y = 1, x = 2; });
    saw({x, y});
}
LITMUS(s_ra) {
    word x{0}, y{0};
    int a = 0;
    beside([&] { x.store(2, rlx), y.store(1, rel); }, [&] { a = y.load(acq), x.store(1, rlx); });
    saw({a, x});
}
LITMUS(r_ra) {
    word x{0}, y{0};
    int a = 0;
    beside([&] { x.store(1, rel), y.store(1, rel); }, [&] { y.store(2, rel), a = x.load(acq); });
    saw({a, y});
}
LITMUS(r_sc) {
    word x{0}, y{0};
    int a = 0;
    beside([&] { x = 1, y = 1; }, [&] { y = 2, a = x; });
    saw({a, y});
}
LITMUS(z6u) {
    word x{0}, y{0};
    int a = 0, b = 0, c = 0;
    beside([&] { x = 1, y.store(1, rel); }, [&] { a = y++, b = y.load(rlx); }, [&] { y = 3, c = x; });
    saw({a, b, c});
}

// ---- what readers agree on -----------------------------------------------------------------------------------------------

namespace {
template <class Between>
void readers(std::memory_order stores, std::memory_order loads, Between between) {
    word x{0}, y{0};
    int a = 0, b = 0, c = 0, d = 0;
    beside([&] { x.store(1, stores); }, [&] { y.store(1, stores); },
           [&] { a = x.load(loads), between(), b = y.load(loads); },
           [&] { c = y.load(loads), between(), d = x.load(loads); });
    saw({a, b, c, d});
}
template <class Between>
void read_to_write(std::memory_order x_store, std::memory_order y_store, std::memory_order loads, Between between) {
    word x{0}, y{0};
    int a = 0, b = 0, c = 0;
    beside([&] { x.store(1, x_store); }, [&] { a = x.load(loads), between(), b = y.load(loads); },
           [&] { y.store(1, y_store), between(), c = x.load(loads); });
    saw({a, b, c});
}
}  // namespace
LITMUS(iriw_acq) {
    readers(rel, acq, [] {});
}
LITMUS(iriw_sc) {
    readers(sc, sc, [] {});
}
LITMUS(iriw_rel_sc) {
    readers(rel, sc, [] {});
}
LITMUS(iriw_fences) {
    readers(rlx, rlx, [] { fence(sc); });
}
LITMUS(rwc_sc) {
    read_to_write(sc, sc, sc, [] {});
}
LITMUS(rwc_rel_sc) {
    read_to_write(rel, sc, sc, [] {});
}
LITMUS(rwc_fences) {
    read_to_write(rlx, rlx, rlx, [] { fence(sc); });
}
LITMUS(psc_loc) {
    word x{0}, y{0};
    int a = 0, b = 0, c = 0;
    beside([&] { x = 1, x.store(2, rel); }, [&] { a = x.load(acq), b = y; }, [&] { y = 1, c = x; });
    saw({a, b, c});
}

// ---- coherence -----------------------------------------------------------------------------------------------------------

LITMUS(corr) {
    word x{0};
    int a = 0, b = 0;
    beside([&] { x.store(1, rlx); }, [&] { a = x.load(rlx), b = x.load(rlx); });
    saw({a, b});
}
LITMUS(coww) {
    word x{0};
    beside([&] { x.store(1, rlx), x.store(2, rlx); });
    saw({x});
}
LITMUS(corw) {
    word x{0};
    int a = 0;
    beside([&] { a = x.load(rlx), x.store(1, rlx); }, [&] { x.store(2, rlx); });
    saw({a, x});
}
LITMUS(cowr) {
    word x{0};
    int a = 0;
    beside([&] { x.store(1, rlx), a = x.load(rlx); }, [&] { x.store(2, rlx); });
    saw({a, x});
}

// ---- what RC11 allows and C++20 forbids: the verdict says so ----------------------------------------------------------------

APIARY_FAILING_SCENARIO(readers_of_release_stores_disagree, "RC11 allows this execution, and C++20's order") {
    word x{0}, y{0};
    int a = 0, b = 0, c = 0, d = 0;
    beside([&] { x.store(1, rel); }, [&] { y.store(1, rel); }, [&] { a = x, b = y; }, [&] { c = y, d = x; });
    apiary::check(!(a == 1 && b == 0 && c == 1 && d == 0), "the readers disagree");
}
// The search meets that one first, and then a failure that C++20 allows, which is the one to be shown.
APIARY_FAILING_SCENARIO(one_failure_is_none_of_cxx20s, "another thread did not see it") {
    word x{0}, y{0}, z{0}, u{0};
    int a = 0, b = 0, c = 0, e = 1, f = 1;
    beside([&] { x.store(1, rel), z.store(1, rlx), e = u.load(rlx); }, [&] { a = x, b = y; },
           [&] { y = 1, c = x, u.store(1, rlx), f = z.load(rlx); });
    apiary::check(!(a == 1 && b == 0 && c == 0), "the readers disagree");
    apiary::check(!(e == 0 && f == 0 && a == 0 && b == 0 && c == 0), "another thread did not see it");
}
