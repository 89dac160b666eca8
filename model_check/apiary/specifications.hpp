// specifications: what well-known types do when one operation follows another. For APIARY_LINEARIZABLE.
//
//     queue_spec<V>    push(v), pop()
//     stack_spec<V>    push(v), pop()
//     deque_spec<V>    push_front(v), push_back(v), pop_front(), pop_back(); of an owner and thieves: push(v), pop(), steal()
//     set_spec<V>      insert(v), erase(v), contains(v)
//     counter_spec     add(n), which returns what it was before; get()
//     lock_spec        section(), try_section(): for guarded_by<Lock>
//
// operations() are the calls that are made where none is named, with the values 1 and 2. Their pop() may be
// `optional<V> pop()` or `bool pop(V&)`. A specification of one's own is any type that can be made, copied and compared; where
// it has `static bool allows(const char* operation, returned_value seen)`, what that allows may be returned at any time.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>
#include <tuple>
#include <vector>

#include <apiary/linearizable.hpp>

namespace apiary {

// pop() of either form.
template <class Container>
auto popped(Container& c) {
    if constexpr (requires { c.pop(); })
        return c.pop();
    else {
        typename Container::value_type v{};
        return c.pop(v) ? std::optional(v) : std::nullopt;
    }
}

template <class V>
class deque_spec {
public:
    using value_type = V;
    void push_back(V v) { all_.push_back(v); }
    void push_front(V v) { all_.insert(all_.begin(), v); }
    std::optional<V> pop_back() {
        if (all_.empty()) return {};
        const V v = all_.back();
        all_.pop_back();
        return v;
    }
    std::optional<V> pop_front() {
        if (all_.empty()) return {};
        const V v = all_.front();
        all_.erase(all_.begin());
        return v;
    }
    void push(V v) { push_back(v); }
    std::optional<V> pop() { return pop_back(); }
    std::optional<V> steal() { return pop_front(); }
    bool operator==(const deque_spec&) const = default;
    static auto operations() {
        return std::tuple(call(
                              "push_back", [](auto& d, V v) { d.push_back(v); }, V(1), V(2)),
                          call(
                              "push_front", [](auto& d, V v) { d.push_front(v); }, V(1), V(2)),
                          call("pop_back", [](auto& d) { return d.pop_back(); }),
                          call("pop_front", [](auto& d) { return d.pop_front(); }));
    }

private:
    std::vector<V> all_;
};

template <class V>
class stack_spec {
public:
    using value_type = V;
    void push(V v) { all_.push_back(v); }
    std::optional<V> pop() { return all_.pop_back(); }
    bool operator==(const stack_spec&) const = default;
    static auto operations() {
        return std::tuple(
            call("push", [](auto& s, V v) { s.push(v); }, V(1), V(2)), call("pop", [](auto& s) { return popped(s); }));
    }

private:
    deque_spec<V> all_;
};

template <class V>
class queue_spec {
public:
    using value_type = V;
    void push(V v) { all_.push_back(v); }
    std::optional<V> pop() { return all_.pop_front(); }
    bool operator==(const queue_spec&) const = default;
    static auto operations() { return stack_spec<V>::operations(); }

private:
    deque_spec<V> all_;
};

template <class V>
class set_spec {
public:
    bool insert(V v) {
        const auto at = std::ranges::lower_bound(all_, v);
        if (at != all_.end() && *at == v) return false;
        all_.insert(at, v);
        return true;
    }
    bool erase(V v) {
        const auto at = std::ranges::lower_bound(all_, v);
        if (at == all_.end() || *at != v) return false;
        all_.erase(at);
        return true;
    }
    bool contains(V v) const { return std::ranges::binary_search(all_, v); }
    bool operator==(const set_spec&) const = default;
    static auto operations() {
        return std::tuple(call(
                              "insert", [](auto& s, V v) -> bool { return s.insert(v); }, V(1), V(2)),
                          call(
                              "erase", [](auto& s, V v) -> bool { return s.erase(v); }, V(1), V(2)),
                          call("contains", [](auto& s, V v) -> bool { return s.contains(v); }, V(1), V(2)));
    }

private:
    std::vector<V> all_;
};

class counter_spec {
public:
    long add(long n) {
        const long before = now_;
        now_ += n;
        return before;
    }
    long get() const { return now_; }
    bool operator==(const counter_spec&) const = default;
    static auto operations() {
        return std::tuple(call(
                              "add", [](auto& c, long n) { return c.add(n); }, 1L, 2L),
                          call("get", [](auto& c) { return c.get(); }));
    }

private:
    long now_ = 0;
};

// A section counts the sections before it: two at once would count alike, or race. try_lock may fail at any time.
class lock_spec {
public:
    long section() { return before_++; }
    std::optional<long> try_section() { return before_++; }
    static bool allows(const char* operation, as_it_is::returned_value seen) {
        return std::strcmp(operation, "try_section") == 0 && seen.what == as_it_is::returned_value::kind::empty;
    }
    bool operator==(const lock_spec&) const = default;
    static auto operations() {
        return std::tuple(call("section", [](auto& l) { return l.section(); }));
    }
    static auto with_try() {
        return call("try_section", [](auto& l) { return l.try_section(); });
    }

private:
    long before_ = 0;
};

// A lock, with what it guards: the type for lock_spec.
template <class Lock>
class guarded_by {
public:
    long section() {
        lock_.lock();
        const long n = before_++;
        lock_.unlock();
        return n;
    }
    std::optional<long> try_section() {
        if (!lock_.try_lock()) return {};
        const long n = before_++;
        lock_.unlock();
        return n;
    }

private:
    Lock lock_;
    long before_ = 0;
};

}  // namespace apiary
