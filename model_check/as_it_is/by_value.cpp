// What the plug-in of g++ shows (gxx_plugin.cpp): classes that calls take and return by value, pointers to members, reads whose
// value nobody uses. Each kind once beside a write or a read, which is a race, and all of them under a lock.
#include <apiary/check.hpp>

#include <cstdarg>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <thread>

namespace {
struct point {
    int x = 1, y = 1;
};
struct line {  // too large for registers
    point at[3];
};
point shared_point;
line shared_line;
std::string_view shared_name;
point* const shared_pointer = &shared_point;

[[gnu::noipa]] int sum(point p) { return p.x + p.y; }
[[gnu::noipa]] int sum_of(line l) { return l.at[0].x + l.at[2].y; }
[[gnu::noipa]] bool is_long(std::string_view name) { return name.size() > 5; }
[[gnu::noipa]] int sum_of_many(int, ...) {
    std::va_list all;
    va_start(all, 0);
    const point p = va_arg(all, point);
    va_end(all);
    return p.x + p.y;
}
int (*volatile sum_by_pointer)(point) = sum;
[[gnu::noipa]] point make(int x) { return {x, 3}; }
[[gnu::noipa]] line make_line(int x) { return {{{x, x}, {x, x}, {x, x}}}; }
[[gnu::noipa]] line make_or_throw(int x) {
    if (x < 0) throw std::runtime_error("no line");
    return make_line(x);
}
struct summing {
    [[gnu::noipa]] int operator()(point p) const { return p.x + p.y; }
    [[gnu::noipa]] virtual int by_table(line l) const { return l.at[2].x; }
    virtual ~summing() = default;
};
struct kept {
    [[gnu::noipa]] explicit kept(point p) : x(p.x) {}
    int x;
};
struct guard {
    [[gnu::noipa]] ~guard() { ended = true; }
    bool& ended;
};

template <class Write, class Read>
void beside(Write write, Read read) {
    std::thread a(write), b(read);
    a.join();
    b.join();
}
template <class Read>
void writes_a_point_beside(Read read) {
    beside([] { shared_point.x = 5; }, [read] { apiary::check(read() < 9); });
}
template <class Read>
void writes_a_line_beside(Read read) {
    beside([] { shared_line.at[2].x = 5; }, [read] { apiary::check(read() < 9); });
}
}  // namespace

APIARY_FAILING_SCENARIO(taken_by_value, "data race") {
    writes_a_point_beside([] { return sum(shared_point); });
}
APIARY_FAILING_SCENARIO(taken_by_value_through_a_pointer, "data race") {
    writes_a_point_beside([] { return sum(*shared_pointer); });
}
APIARY_FAILING_SCENARIO(taken_by_value_by_a_pointer_to_a_function, "data race") {
    writes_a_point_beside([] { return sum_by_pointer(shared_point); });
}
APIARY_FAILING_SCENARIO(taken_by_value_among_many, "data race") {
    writes_a_point_beside([] { return sum_of_many(1, shared_point); });
}
APIARY_FAILING_SCENARIO(taken_by_value_by_an_operator, "data race") {
    writes_a_point_beside([] { return summing()(shared_point); });
}
APIARY_FAILING_SCENARIO(taken_by_value_by_a_constructor, "data race") {
    writes_a_point_beside([] { return kept(shared_point).x; });
}
APIARY_FAILING_SCENARIO(large_one_taken_by_value, "data race") {
    writes_a_line_beside([] { return sum_of(shared_line); });
}
APIARY_FAILING_SCENARIO(large_one_taken_by_value_by_a_virtual_function, "data race") {
    static const summing all;
    const summing* volatile any = &all;
    writes_a_line_beside([&any] { return any->by_table(shared_line); });
}
APIARY_FAILING_SCENARIO(part_taken_by_value, "data race") {
    writes_a_line_beside([] { return sum(shared_line.at[2]); });
}
// As a whole, so no race with what lies beside it.
APIARY_SCENARIO(other_part_taken_by_value, "part_taken_by_value") {
    writes_a_line_beside([] { return sum(shared_line.at[1]); });
}
APIARY_FAILING_SCENARIO(view_taken_by_value, "data race") {
    beside([] { shared_name = "changed"; }, [] { (void)is_long(shared_name); });
}

APIARY_FAILING_SCENARIO(returned_by_value, "data race") {
    beside([] { shared_point = make(2); }, [] { apiary::check(shared_point.x < 9); });
}
APIARY_FAILING_SCENARIO(large_one_returned_by_value, "data race") {
    beside([] { shared_line = make_line(2); }, [] { apiary::check(shared_line.at[2].y < 9); });
}
// The call may throw: the write is on the way on which it has not.
APIARY_FAILING_SCENARIO(returned_by_value_where_it_may_throw, "data race") {
    bool ended = false;
    beside(
        [&ended] {
            const guard g{ended};
            shared_line = make_or_throw(2);
        },
        [] { apiary::check(shared_line.at[2].y < 9); });
}
APIARY_SCENARIO(thrown_in_place_of_a_value, "returned_by_value_where_it_may_throw") {
    beside(
        [] {
            try {
                shared_line = make_or_throw(-1);
            } catch (const std::runtime_error&) {
            }
        },
        [] { apiary::check(shared_line.at[2].y == 1); });
}

// Its tail padding holds a member of the class that is derived from it: no read of the one is a read of the other.
namespace {
struct padded {
    int x = 1;
    char y = 2;
};
struct within_the_padding : padded {
    char z = 3;
};
static_assert(sizeof(within_the_padding) == sizeof(padded));
within_the_padding shared_padded;
[[gnu::noipa]] int sum_of_padded(padded p) { return p.x + p.y; }
[[gnu::noipa]] padded make_padded(int x) { return {x, 1}; }
}  // namespace
APIARY_SCENARIO(padding_is_another_member, "padded_taken_by_value") {
    beside([] { shared_padded.z = 5; },
           [] {
               apiary::check(sum_of_padded(shared_padded) == 3);
               static_cast<padded&>(shared_padded) = make_padded(4);
           });
    apiary::check(shared_padded.z == 5 && shared_padded.x == 4);
}
APIARY_FAILING_SCENARIO(padded_taken_by_value, "data race") {
    beside([] { shared_padded.y = 5; }, [] { apiary::check(sum_of_padded(shared_padded) < 9); });
}

APIARY_FAILING_SCENARIO(taken_by_value_under_Og, "data race") {
    beside([] { shared_point.x = 5; }, [] [[gnu::optimize("Og")]] { apiary::check(sum(shared_point) < 9); });
}

// Forty locals share the stack of one.
namespace {
struct long_text {
    char text[60'000];
};
long_text shared_text;
[[gnu::noipa]] int first_of(long_text t) { return t.text[0]; }
}  // namespace
APIARY_SCENARIO(many_calls_share_the_stack, "taken_by_value") {
    const auto calls = [] {
        int sum = 0;
        sum += first_of(shared_text), sum += first_of(shared_text), sum += first_of(shared_text);
        sum += first_of(shared_text), sum += first_of(shared_text), sum += first_of(shared_text);
        sum += first_of(shared_text), sum += first_of(shared_text), sum += first_of(shared_text);
        sum += first_of(shared_text), sum += first_of(shared_text), sum += first_of(shared_text);
        apiary::check(sum == 0);
    };
    beside(calls, calls);
}

// ---- pointers to members

namespace {
struct server {
    [[gnu::noipa]] int one() { return 1; }
    [[gnu::noipa]] int two() { return 2; }
} a_server;
int (server::*shared_handler)() = &server::one;
}  // namespace
APIARY_FAILING_SCENARIO(pointer_to_a_member_is_called, "data race") {
    beside([] { shared_handler = &server::two; }, [] { apiary::check((a_server.*shared_handler)() < 3); });
}
APIARY_FAILING_SCENARIO(pointer_to_a_member_is_compared, "data race") {
    beside([] { shared_handler = &server::two; }, [] { apiary::check(shared_handler != nullptr); });
}

// Nothing is a race here, and each value is the one that was written last.
APIARY_SCENARIO(values_under_a_lock, "taken_by_value") {
    std::mutex m;
    const auto turn = [&m](int mine) {
        const std::lock_guard held(m);
        const int before = sum(shared_point);
        apiary::check(before == 2 || before == 3 + (3 - mine));
        apiary::check(sum_of(shared_line) == 2 || sum_of(shared_line) == 2 * (3 - mine));
        shared_point = make(mine);
        shared_line = make_or_throw(mine);
        shared_name = mine == 1 ? std::string_view("one") : std::string_view("another");
        apiary::check(sum_by_pointer(*shared_pointer) == 3 + mine && sum_of_many(1, shared_line.at[1]) == 2 * mine);
        apiary::check(is_long(shared_name) == (mine == 2));
    };
    beside([&turn] { turn(1); }, [&turn] { turn(2); });
    apiary::check(sum(shared_point) == 4 || sum(shared_point) == 5);
}

// ---- reads whose value nobody uses ---------------------------------------------------------------------------------------

namespace {
// The value is taken outside of the lock, which is the mistake.
template <class T, bool taken_under_the_lock = false>
class slot {
public:
    void push(T v) {
        const std::lock_guard held(lock_);
        if (full_) return;
        value_ = v;
        full_ = true;
    }
    bool try_pop(T& v) {
        std::unique_lock held(lock_);
        if (!full_) return false;
        full_ = false;
        if (!taken_under_the_lock) held.unlock();
        v = value_;
        return true;
    }
    std::optional<T> pop() {
        T v;
        return try_pop(v) ? std::optional(v) : std::nullopt;
    }
    [[gnu::noinline]] T value() const { return value_; }

private:
    std::mutex lock_;
    bool full_ = false;
    T value_{};
};

template <class Slot, class F>
void beside_two_pushes(F f) {
    Slot s;
    beside([&] { s.push({}), s.push({}); }, [&] { f(s); });
}
template <class T, bool taken_under_the_lock = false>
void counts_pops() {
    int popped = 0;
    beside_two_pushes<slot<T, taken_under_the_lock>>([&](auto& s) {
        T v;
        if (s.try_pop(v)) ++popped;
    });
    apiary::check(popped < 2);
}
}  // namespace

APIARY_SCENARIO(counted_and_not_read, "int_counted_and_not_read") {
    counts_pops<int, true>();
    counts_pops<line, true>();
}
APIARY_FAILING_SCENARIO(int_counted_and_not_read, "data race") { counts_pops<int>(); }
APIARY_FAILING_SCENARIO(bool_counted_and_not_read, "data race") { counts_pops<bool>(); }
APIARY_FAILING_SCENARIO(double_counted_and_not_read, "data race") { counts_pops<double>(); }
APIARY_FAILING_SCENARIO(pointer_counted_and_not_read, "data race") { counts_pops<int*>(); }
APIARY_FAILING_SCENARIO(member_pointer_counted_and_not_read, "data race") { counts_pops<int point::*>(); }
APIARY_FAILING_SCENARIO(class_counted_and_not_read, "data race") { counts_pops<line>(); }
APIARY_FAILING_SCENARIO(optional_asked_and_not_read, "data race") {
    beside_two_pushes<slot<point>>([](auto& s) {
        if (s.pop()) shared_point = {};
    });
}
// g++ finds out by itself that the function only reads.
APIARY_FAILING_SCENARIO(result_left_alone, "data race") {
    beside_two_pushes<slot<int>>([](auto& s) { (void)s.value(); });
}
