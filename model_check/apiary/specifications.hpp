// specifications: what well-known types do when one operation follows another. For APIARY_LINEARIZABLE.
//
//     queue_spec<V>    push(v), pop()
//     stack_spec<V>    push(v), pop()
//     deque_spec<V>    push_front(v), push_back(v), pop_front(), pop_back(); of an owner and thieves: push(v), pop(), steal()
//     set_spec<V>      insert(v), erase(v), contains(v)
//     counter_spec     add(n), which returns what it was before; get()
//     lock_spec        section(), try_section(): for guarded_by<Lock>
//
// operations() are the calls that are made where none is named, with the values 1 and 2. A queue's or stack's pop() may be
// `optional<V> pop()` or `bool pop(V&)`; other names that they find are push, Push, enqueue, Enqueue, and pop, Pop, dequeue,
// Dequeue, try_pop, TryPop, try_dequeue. Where they find none the compiler says what to write. A specification of one's own is
// any type that can be made, copied and compared; where it has `static bool allows(const char* operation, returned_value seen)`,
// what that allows may be returned at any time.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>
#include <tuple>
#include <type_traits>
#include <vector>

#include <apiary/linearizable.hpp>

namespace apiary {

namespace as_it_is {
template <class Type>
constexpr bool has_one = false;
}

// The first of these calls that the container has.
#define APIARY_IF_IT_HAS(call) if constexpr (requires { call; }) return static_cast<void>(call)
#define APIARY_IF_IT_GIVES(name)                                                               \
    if constexpr (requires { requires !std::is_void_v<decltype(c.name())>; }) return c.name(); \
    else if constexpr (requires { static_cast<bool>(c.name(v)); } && !requires { c.name(V{}); })                 \
        return c.name(v) ? std::optional<V>(v) : std::nullopt

template <class V = int, class Container>
void pushed(Container& c, V v) {
    APIARY_IF_IT_HAS(c.push(v));
    else APIARY_IF_IT_HAS(c.Push(v));
    else APIARY_IF_IT_HAS(c.enqueue(v));
    else APIARY_IF_IT_HAS(c.Enqueue(v));
    else static_assert(as_it_is::has_one<Container>,
                       "the type has no push(v), Push(v), enqueue(v), Enqueue(v). Remedy: a class around it that has push(v) "
                       "and pop(); or, behind the specification, each call by name: apiary::call(\"put\", [](auto& q, int v) { "
                       "if constexpr (requires { q.put(v); }) q.put(v); else q.push(v); }, 1, 2), ...");
}

// `optional<V> NAME()`, or `bool NAME(V&)`. What takes a value in place of the reference (a time, say) is another call.
template <class V = int, class Container>
auto popped(Container& c) {
    [[maybe_unused]] V v{};
    APIARY_IF_IT_GIVES(pop);
    else APIARY_IF_IT_GIVES(Pop);
    else APIARY_IF_IT_GIVES(dequeue);
    else APIARY_IF_IT_GIVES(Dequeue);
    else APIARY_IF_IT_GIVES(try_pop);
    else APIARY_IF_IT_GIVES(TryPop);
    else APIARY_IF_IT_GIVES(try_dequeue);
    else static_assert(as_it_is::has_one<Container>,
                       "the type has no pop(), Pop(), dequeue(), Dequeue(), try_pop(), TryPop(), try_dequeue() that gives an "
                       "optional, or takes a reference and gives a bool. Remedy: a class around it that has push(v) and pop(); "
                       "or, behind the specification, each call by name: apiary::call(\"take\", [](auto& q) { if constexpr "
                       "(requires { q.take(); }) return q.take(); else return q.pop(); }), ...");
}
#undef APIARY_IF_IT_HAS
#undef APIARY_IF_IT_GIVES

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
    static constexpr auto operations() {
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
    static constexpr auto operations() {
        return std::tuple(
            call("push", [](auto& s, V v) { pushed<V>(s, v); }, V(1), V(2)),
            call("pop", [](auto& s) { return popped<V>(s); }));
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
    static constexpr auto operations() { return stack_spec<V>::operations(); }

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
    static constexpr auto operations() {
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
    static constexpr auto operations() {
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
    static constexpr auto operations() {
        return std::tuple(call("section", [](auto& l) { return l.section(); }));
    }
    static constexpr auto with_try() {
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
