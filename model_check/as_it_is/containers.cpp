// Containers whose algorithms lie compiled in libstdc++.so: what they do to their nodes is the program's.
#include <apiary/check.hpp>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

// ---- one looks, the other one changes it --------------------------------------------------------------------------

namespace {
template <class Container, class Look, class Change>
void looks_while_it_changes(Container c, bool locked, Look look, Change change) {
    std::mutex m;
    const auto hold = [&] { return locked ? std::unique_lock(m) : std::unique_lock<std::mutex>(); };
    std::thread a([&] {
        const auto held = hold();
        look(c);
    });
    std::thread b([&] {
        const auto held = hold();
        change(c);
    });
    a.join();
    b.join();
}
const auto counts = [](const auto& c) { (void)c.count(1); };
const auto adds_one = [](auto& c) { c.insert(typename std::decay_t<decltype(c)>::value_type{}); };
const auto walks = [](const auto& c) {
    for (const auto& x : c) (void)&x;
};
const auto walks_back = [](const auto& c) {
    for (auto i = c.end(); i != c.begin();) --i;
};
const auto erases_the_first = [](auto& c) { c.erase(c.begin()); };
using numbers = std::map<int, int>;
}  // namespace

APIARY_SCENARIO(map_is_locked, "map_counts_and_grows") { looks_while_it_changes(numbers{}, true, counts, adds_one); }
APIARY_FAILING_SCENARIO(map_counts_and_grows, "data race") {
    looks_while_it_changes(numbers{}, false, counts, adds_one);
}
APIARY_FAILING_SCENARIO(map_is_walked_and_grows, "data race") {
    looks_while_it_changes(numbers{{1, 1}, {2, 2}}, false, walks, adds_one);
}
APIARY_FAILING_SCENARIO(map_is_walked_back_and_shrinks, "data race") {
    looks_while_it_changes(numbers{{1, 1}, {2, 2}, {3, 3}}, false, walks_back, erases_the_first);
}
APIARY_FAILING_SCENARIO(set_counts_and_grows, "data race") {
    looks_while_it_changes(std::set<int>{}, false, counts, adds_one);
}
APIARY_SCENARIO(map_is_walked_by_two, "map_is_walked_and_grows") {
    looks_while_it_changes(numbers{{1, 1}, {2, 2}, {3, 3}}, false, walks, walks_back);
}

namespace {
using row = std::list<int>;
const auto asks_whether_empty = [](const row& l) { apiary::check(l.begin() == l.end() || l.front() > 0); };
}  // namespace

APIARY_SCENARIO(list_is_locked, "list_is_asked_and_grows") {
    looks_while_it_changes(row{}, true, asks_whether_empty, [](row& l) { l.push_back(1); });
}
APIARY_FAILING_SCENARIO(list_is_asked_and_grows, "data race") {
    looks_while_it_changes(row{}, false, asks_whether_empty, [](row& l) { l.push_back(1); });
}
APIARY_FAILING_SCENARIO(list_is_asked_and_shrinks, "data race") {
    looks_while_it_changes(row{1}, false, asks_whether_empty, [](row& l) { l.pop_front(); });
}
APIARY_FAILING_SCENARIO(list_is_walked_and_turned_round, "data race") {
    looks_while_it_changes(row{1, 2}, false, walks, [](row& l) { l.reverse(); });
}
APIARY_FAILING_SCENARIO(list_is_asked_and_exchanged, "data race") {
    looks_while_it_changes(row{}, false, asks_whether_empty, [](row& l) { row{1, 2}.swap(l); });
}
APIARY_FAILING_SCENARIO(list_is_asked_and_spliced, "data race") {
    looks_while_it_changes(row{}, false, asks_whether_empty, [](row& l) {
        row more{1, 2};
        l.splice(l.end(), more);
    });
}

// ---- from before the scenario -----------------------------------------------------------------------------------------

namespace {
std::map<int, int> old_map{{1, 1}, {2, 2}}, empty_map;
std::list<int> old_list{1, 2};
}  // namespace

APIARY_SCENARIO(old_map_grows, "old_map_grows_in_two_threads") {
    std::atomic<int> order{0};
    std::thread a([&] {
        old_map.emplace(3, 3);
        old_map.erase(1);
        order.store(1);
    });
    order.store(2);
    a.join();
    apiary::check(old_map == std::map<int, int>{{2, 2}, {3, 3}}, "not as it was at the start");
}
APIARY_FAILING_SCENARIO(old_map_grows_in_two_threads, "data race") {
    std::thread a([] { old_map.emplace(3, 3); });
    old_map.emplace(4, 4);
    a.join();
}
APIARY_SCENARIO(old_list_grows, "old_map_grows_in_two_threads") {
    std::atomic<int> order{0};
    std::thread a([&] {
        old_list.push_back(3);
        order.store(1);
    });
    order.store(2);
    a.join();
    apiary::check(old_list == std::list<int>{1, 2, 3}, "not as it was at the start");
}
APIARY_SCENARIO(empty_map_grows_each_time, "old_map_grows_in_two_threads") {
    std::atomic<int> order{0};
    apiary::check(empty_map.empty() && empty_map.begin() == empty_map.end(), "not as it was at the start");
    std::thread a([&] {
        empty_map.emplace(3, 3);
        order.store(1);
    });
    order.store(2);
    a.join();
    apiary::check(empty_map.size() == 1);
}

// ---- they are what they were ----------------------------------------------------------------------------------------------

namespace {
using tree_node = std::_Rb_tree_node_base;
// Black nodes on each way down; -1: not the same on all, or a red node below a red one, or a wrong way up.
int black_height(const tree_node* n) {
    if (n == nullptr) return 0;
    int height = -1;
    for (const tree_node* below : {n->_M_left, n->_M_right}) {
        const int of_it = black_height(below);
        if (of_it < 0 || (below != n->_M_left && of_it != height)) return -1;
        if (below != nullptr && below->_M_parent != n) return -1;
        if (below != nullptr && n->_M_color == std::_S_red && below->_M_color == std::_S_red) return -1;
        height = of_it;
    }
    return height + (n->_M_color == std::_S_black ? 1 : 0);
}
bool is_balanced(const std::set<unsigned>& s) {
    const tree_node* const header = s.end()._M_node;
    const tree_node* const root = header->_M_parent;
    return root == nullptr || (root->_M_color == std::_S_black && root->_M_parent == header && black_height(root) > 0);
}
template <class A, class B>
bool same_both_ways(const A& a, const B& b) {
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin()) &&
           std::equal(std::make_reverse_iterator(a.end()), std::make_reverse_iterator(a.begin()),
                      std::make_reverse_iterator(b.end()));
}
}  // namespace

namespace {
void insert_and_erase() {
    unsigned seed = 1;
    const auto random = [&](unsigned below) { return (seed = seed * 1103515245U + 12345U) / 65536U % below; };
    std::set<unsigned> s;
    std::vector<bool> has(48);
    for (int i = 0; i < 2000; ++i) {
        const unsigned x = random(48);
        const bool adds = random(100) < (i / 250 % 2 == 0 ? 75U : 25U);
        apiary::check(adds ? s.insert(x).second != has[x] : (s.erase(x) == 1) == has[x], "its answer is wrong");
        has[x] = adds;
        apiary::check(is_balanced(s), "the tree is no red-black tree");
        std::vector<unsigned> sorted;
        for (unsigned k = 0; k < has.size(); ++k)
            if (has[k]) sorted.push_back(k);
        apiary::check(same_both_ways(s, sorted), "other elements, or another order");
    }
}

void exchange_splice_and_reverse() {
    using numbers_in_order = std::vector<int>;
    for (const auto& [left, right] : {std::pair<row, row>{{}, {}}, {{1}, {}}, {{}, {1}}, {{1, 2, 3}, {4, 5}}}) {
        row l = left, m = right;
        l.swap(m);
        apiary::check(same_both_ways(l, right) && same_both_ways(m, left), "swap");
        l.swap(l);
        l.splice(l.begin(), m);
        numbers_in_order all(left.begin(), left.end());
        all.insert(all.end(), right.begin(), right.end());
        apiary::check(same_both_ways(l, all) && m.empty(), "splice");
        l.reverse();
        apiary::check(same_both_ways(l, numbers_in_order(all.rbegin(), all.rend())), "reverse");
        l.sort();
        apiary::check(std::is_sorted(l.begin(), l.end()) && l.size() == all.size(), "sort");
        if (!l.empty()) l.splice(l.begin(), l, std::prev(l.end()));
        while (!l.empty()) l.pop_back();
        apiary::check(l.begin() == l.end(), "erase");
    }
}
}  // namespace

// Before the first thread starts nothing is an event, and freed memory does not come back.
APIARY_SCENARIO(trees_stay_in_balance, "set_counts_and_grows") {
    insert_and_erase();
    std::thread([] {}).join();
}
APIARY_SCENARIO(lists_are_as_vectors, "list_is_asked_and_grows") {
    exchange_splice_and_reverse();
    std::thread([] {}).join();
}
