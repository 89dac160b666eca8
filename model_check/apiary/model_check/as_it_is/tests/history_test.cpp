// The comparison with a specification against all orders of the calls; quiescence against all sets of calls; the scenarios
// generated against all that there are; and each specification on rows of calls that it allows, and does not.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <apiary/model_check/as_it_is/generated.hpp>
#include <apiary/model_check/as_it_is/history.hpp>
#include <apiary/specifications.hpp>

namespace {

using namespace apiary::model::as_it_is;
using apiary::as_it_is::as_returned;
using apiary::as_it_is::returned_value;

int bad = 0;
void must(bool holds, const char* what) {
    if (holds) return;
    std::printf("WRONG: %s\n", what);
    ++bad;
}

struct queue : sequential {
    apiary::queue_spec<long> now;
    [[nodiscard]] std::unique_ptr<sequential> copy() const override {
        auto c = std::make_unique<queue>();
        c->now = now;
        return c;
    }
    [[nodiscard]] bool equals(const sequential& other) const override {
        return now == static_cast<const queue&>(other).now;
    }
    bool accepts(const history::call& c) override {
        if (c.operation == 1) return as_returned(now.pop()) == c.returned;
        now.push(c.argument);
        return c.returned == returned_value{};
    }
};

bool by_all_orders(const history& h) {
    std::vector<std::size_t> order(h.calls.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    do {
        queue q;
        std::uint32_t done = 0;
        bool good = true;
        for (const std::size_t i : order) {
            good = good && (h.before[i] & ~done) == 0 && q.accepts(h.calls[i]);
            done |= 1U << i;
        }
        if (good) return true;
    } while (std::next_permutation(order.begin(), order.end()));
    return false;
}

// Calls as intervals of time, as those of threads are.
history random_history(std::mt19937& random, std::size_t calls) {
    const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
    history h;
    std::vector<std::pair<unsigned, unsigned>> times;
    for (std::size_t i = 0; i < calls; ++i) {
        history::call c;
        c.operation = below(2);
        if (c.operation == 0)
            c.argument = 1L + below(2);
        else
            c.returned = as_returned(below(3) == 0 ? std::optional<long>{} : std::optional<long>(1L + below(2)));
        h.calls.push_back(c);
        const unsigned begins = below(20);
        times.emplace_back(begins, begins + 1 + below(10));
    }
    for (std::size_t b = 0; b < calls; ++b) {
        std::uint32_t before = 0;
        for (std::size_t a = 0; a < calls; ++a)
            if (times[a].second < times[b].first) before |= 1U << a;
        h.before.push_back(before);
    }
    return h;
}

std::vector<std::uint32_t> across_by_all_sets(const std::vector<std::uint32_t>& before) {
    const std::size_t n = before.size();
    std::vector<std::uint32_t> kept(n, 0);
    for (std::uint32_t set = 0; set < 1U << n; ++set) {
        bool cuts = true;
        for (std::size_t b = 0; b < n; ++b) cuts = cuts && ((set >> b & 1U) != 0 || (before[b] & set) == set);
        for (std::size_t b = 0; cuts && b < n; ++b)
            if ((set >> b & 1U) == 0) kept[b] |= set;
    }
    return kept;
}

void histories() {
    std::mt19937 random(7);
    unsigned explained = 0, not_explained = 0, kept_an_order = 0;
    for (int i = 0; i < 20'000; ++i) {
        history h = random_history(random, 1 + random() % 6);
        const std::vector<std::uint32_t> quiet = across_quiescence(h.before);
        must(quiet == across_by_all_sets(h.before), "the order across quiescence");
        kept_an_order += std::ranges::any_of(quiet, [](std::uint32_t b) { return b != 0; }) ? 1U : 0U;
        const bool found = linearizable(h, queue{});
        must(found == by_all_orders(h), "linearizable, or not");
        ++(found ? explained : not_explained);
        h.before = quiet;
        must(!found || linearizable(h, queue{}), "what is linearizable is quiescently consistent");
    }
    must(explained > 1000 && not_explained > 1000 && kept_an_order > 1000, "the histories are of all kinds");
    std::printf("20000 histories: %u linearizable, %u not; %u with an order across quiescence\n", explained,
                not_explained, kept_an_order);
}

using key = std::vector<unsigned>;

// The same for scenarios that differ by the threads' names alone.
key key_of(const generated& g) {
    const auto with_first = [&](unsigned first) {
        key k(g.threads[first]);
        k.push_back(99);
        k.insert(k.end(), g.threads[1 - first].begin(), g.threads[1 - first].end());
        if (g.waits.is_one())
            k.insert(k.end(), {99, static_cast<unsigned>(g.waits.from) ^ first, g.waits.after, g.waits.before});
        return k;
    };
    return std::min(with_first(0), with_first(1));
}

// All scenarios of two threads and at most two of the calls each; with all handovers between two calls, or without.
std::set<key> all_pairs(unsigned calls, bool handovers) {
    std::vector<generated::program> one{{}};
    for (unsigned a = 0; a < calls; ++a) {
        one.push_back({a});
        for (unsigned b = 0; b < calls; ++b) one.push_back({a, b});
    }
    std::set<key> pairs;
    for (const auto& p : one)
        for (const auto& q : one) {
            if (p.empty() && q.empty()) continue;
            generated g;
            g.threads = {p, q};
            pairs.insert(key_of(g));
            for (int from = 0; handovers && from < 2; ++from)
                for (unsigned after = 0; after < (from == 0 ? p : q).size(); ++after)
                    for (unsigned before = 0; before < (from == 0 ? q : p).size(); ++before) {
                        g.waits = {from, after, 1 - from, before};
                        pairs.insert(key_of(g));
                    }
        }
    return pairs;
}

void scenarios_generated() {
    const std::vector<generated_call> calls{{0, true, 1, -1}, {0, true, 2, -1}, {1, false, 0, -1}};
    std::string why;
    apiary::scenarios plan{.handovers = false};
    const auto some = generate(plan, calls, why);
    const auto are_all = [](const std::vector<generated>& scenarios, bool handovers) {
        std::set<key> keys;
        std::size_t size = 0;
        for (const generated& g : scenarios) {
            must(g.size() >= size, "fewer calls come first");
            size = g.size();
            must(!g.waits.is_one() || g.waits.from != g.waits.to, "a thread waits for itself");
            must(keys.insert(key_of(g)).second, "a scenario twice");
        }
        must(keys == all_pairs(3, handovers), "the scenarios of two threads");
    };
    are_all(some, false);

    plan.values_alike = true;
    const auto alike = generate(plan, calls, why);
    must(alike.size() < some.size() && alike.size() * 2 >= some.size(), "values alike: about half");
    plan.values_alike = false;
    plan.handovers = true;
    const auto waiting = generate(plan, calls, why);
    are_all(waiting, true);

    // An owner's operation is only in the owner's thread, and then the threads are not alike.
    plan.handovers = false;
    const auto owned = generate(plan, {{0, true, 1, 0}, {1, false, 0, -1}}, why);
    std::size_t owners = 0;
    for (const generated& g : owned) {
        must(std::ranges::count(g.threads[1], 0U) == 0, "the other thread does the owner's operation");
        owners += std::ranges::count(g.threads[0], 0U) != 0 ? 1U : 0U;
    }
    must(owners > 0, "the owner does its operation");
    plan.handovers = true;
    bool to_owner = false, from_owner = false;
    for (const generated& g : generate(plan, {{0, true, 1, 0}, {1, false, 0, -1}}, why)) {
        to_owner = to_owner || g.waits.to == 0;
        from_owner = from_owner || g.waits.from == 0;
    }
    must(to_owner && from_owner, "the owner hands over, and waits");
    plan.handovers = false;

    for (const apiary::scenarios& wrong :
         {apiary::scenarios{.threads = 1, .operations = 20, .values_alike = true}, apiary::scenarios{.threads = 0},
          apiary::scenarios{.threads = 8}, apiary::scenarios{.operations = 0},
          apiary::scenarios{.threads = 7, .operations = 7}, apiary::scenarios{.threads = 6, .operations = 4}}) {
        why.clear();
        must(generate(wrong, calls, why).empty() && !why.empty(), "refused with a reason");
    }
    why.clear();
    must(generate(plan, {}, why).empty() && !why.empty(), "no operation: refused with a reason");
    why.clear();
    must(generate(plan, {{0, true, 1, 2}}, why).empty() && !why.empty(), "by a third thread of two: refused");
    std::printf("%zu scenarios of two threads, %zu with values alike, %zu with handovers\n", some.size(), alike.size(),
                waiting.size());
}

template <class Specification, class Operations>
struct machine : sequential {
    Specification now;
    Operations operations;
    explicit machine(Operations o) : operations(o) {}
    [[nodiscard]] std::unique_ptr<sequential> copy() const override {
        auto c = std::make_unique<machine>(operations);
        c->now = now;
        return c;
    }
    [[nodiscard]] bool equals(const sequential& other) const override {
        return now == static_cast<const machine&>(other).now;
    }
    bool accepts(const history::call& c) override {
        bool good = false;
        unsigned k = 0;
        const auto one = [&]<class F, class V>(const apiary::as_it_is::operation<F, V>& o) {
            if (k++ != c.operation) return;
            if constexpr (requires { Specification::allows(o.name.at, c.returned); })
                if (Specification::allows(o.name.at, c.returned)) return void(good = true);
            good = apiary::as_it_is::operation<F, V>::template on<Specification>(&now, c.argument) == c.returned;
        };
        std::apply([&](const auto&... o) { (one(o), ...); }, operations);
        return good;
    }
};

// Whether the specification allows these calls in this order.
template <class Specification, class Operations>
bool allows(Operations operations, std::vector<history::call> calls) {
    history h;
    for (const history::call& c : calls) {
        h.before.push_back((1U << h.calls.size()) - 1);
        h.calls.push_back(c);
    }
    return linearizable(h, machine<Specification, Operations>(operations));
}
template <class Specification>
bool allows(std::vector<history::call> calls) {
    return allows<Specification>(Specification::operations(), std::move(calls));
}

void specifications() {
    const returned_value nothing, empty = as_returned(std::optional<long>{});
    const auto is = [](long v) { return as_returned(v); };
    constexpr unsigned push = 0, pop = 1;
    const history::call push_1{push, 1, nothing}, push_2{push, 2, nothing};
    const auto popped = [&](returned_value v) { return history::call{pop, 0, v}; };
    using queue_of = apiary::queue_spec<long>;
    using stack_of = apiary::stack_spec<long>;
    must(allows<queue_of>({popped(empty), push_1, push_2, popped(is(1)), popped(is(2)), popped(empty)}), "a queue");
    must(!allows<queue_of>({push_1, push_2, popped(is(2))}), "a queue is no stack");
    must(!allows<queue_of>({push_1, popped(empty)}), "a queue loses nothing");
    must(!allows<queue_of>({push_1, popped(is(1)), popped(is(1))}), "a queue gives nothing twice");
    must(allows<stack_of>({popped(empty), push_1, push_2, popped(is(2)), popped(is(1)), popped(empty)}), "a stack");
    must(!allows<stack_of>({push_1, push_2, popped(is(1))}), "a stack is no queue");
    must(!allows<stack_of>({push_1, popped(empty)}), "a stack loses nothing");

    using deque_of = apiary::deque_spec<long>;
    const history::call back_1{0, 1, nothing}, front_2{1, 2, nothing};
    const auto from_back = [](returned_value v) { return history::call{2, 0, v}; };
    const auto from_front = [](returned_value v) { return history::call{3, 0, v}; };
    must(allows<deque_of>({back_1, front_2, from_front(is(2)), from_back(is(1)), from_back(empty)}), "a deque");
    must(allows<deque_of>({back_1, front_2, from_back(is(1)), from_front(is(2)), from_front(empty)}),
         "a deque, turned");
    must(!allows<deque_of>({back_1, front_2, from_back(is(2))}), "what is in front is not at the back");
    must(!allows<deque_of>({back_1, front_2, from_front(is(1))}), "what is at the back is not in front");
    deque_of owned;
    owned.push(1);
    owned.push(2);
    must(owned.steal() == 1 && owned.pop() == 2 && !owned.pop() && !owned.steal(), "a thief steals the oldest");

    using set_of = apiary::set_spec<long>;
    const auto insert = [&](bool v) { return history::call{0, 1, as_returned(v)}; };
    const auto erase = [&](bool v) { return history::call{1, 1, as_returned(v)}; };
    const auto contains = [&](bool v) { return history::call{2, 1, as_returned(v)}; };
    must(allows<set_of>({contains(false), erase(false), insert(true), insert(false), contains(true), erase(true)}),
         "a set");
    must(!allows<set_of>({insert(true), insert(true)}), "a set holds a value once");
    must(!allows<set_of>({insert(true), contains(false)}), "a set holds what was inserted");
    must(!allows<set_of>({insert(true), erase(true), erase(true)}), "a set gives a value once");

    const auto add_2 = [&](long v) { return history::call{0, 2, is(v)}; };
    const auto get = [&](long v) { return history::call{1, 0, is(v)}; };
    must(allows<apiary::counter_spec>({get(0), add_2(0), add_2(2), get(4)}), "a counter");
    must(!allows<apiary::counter_spec>({add_2(0), add_2(0)}), "a counter gives a number once");
    must(!allows<apiary::counter_spec>({add_2(0), get(0)}), "a counter forgets nothing");

    const auto both = std::tuple_cat(apiary::lock_spec::operations(), std::tuple(apiary::lock_spec::with_try()));
    const auto section = [](returned_value v) { return history::call{0, 0, v}; };
    const auto attempt = [](returned_value v) { return history::call{1, 0, v}; };
    const auto lock_allows = [&](std::vector<history::call> c) {
        return allows<apiary::lock_spec>(both, std::move(c));
    };
    must(lock_allows({section(is(0)), attempt(empty), attempt(is(1)), attempt(empty), section(is(2))}), "a lock");
    must(!lock_allows({section(is(0)), section(is(0))}), "a lock lets two in at once");
    must(!lock_allows({section(is(0)), attempt(is(0))}), "a lock lets another in by try_lock");
    must(!lock_allows({attempt(empty), section(is(1))}), "what failed is no section");
    must(!lock_allows({section(empty)}), "lock() does not fail");
}

}  // namespace

int main() {
    histories();
    specifications();
    scenarios_generated();
    return bad == 0 ? 0 : 1;
}
