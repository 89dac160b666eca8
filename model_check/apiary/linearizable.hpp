// linearizable: scenarios generated from the operations of a type, each compared with a sequential specification.
//
//     APIARY_LINEARIZABLE(my_queue, apiary::queue_spec<int>);
//     APIARY_LINEARIZABLE(my_deque, apiary::deque_spec<int>, apiary::scenarios{.threads = 2, .operations = 3},
//                         apiary::call("push", [](auto& d, int v) { d.push(v); }, 1, 2).by(0),
//                         apiary::call("steal", [](auto& d) { return d.steal(); }));
//     APIARY_LINEARIZABLE(my_ring<int, 4>, apiary::queue_spec<int>);   // a comma in a type is none of the macro's
//     APIARY_NOT_LINEARIZABLE(my_broken_queue, apiary::queue_spec<int>, "not linearizable");   // must fail for this reason
//
// A call is done on the type and on the specification alike, with each value given; both must return the same in some order
// that keeps what happens-before keeps (as_it_is/README.md says why that order). It returns nothing, a bool, an integer, an
// enum, or std::optional of those. A specification without calls of its own needs them named (specifications.hpp has some).
//
// All arguments are template arguments: calls and scenarios are written in place, or are objects at namespace scope.
//
// Scenarios with fewer calls come first, so that the first that fails has as few as any. All of them are exhausted by the
// explorer, as every scenario of code as it is; the verdict counts those that were generated, exhausted and cut.
//
// When not: where the law is another than "as if one after the other": APIARY_SCENARIO and apiary::check().
#pragma once

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <apiary/check.hpp>

namespace apiary {

namespace as_it_is {
// A name that may stand in a template argument.
template <std::size_t most>
struct short_text {
    char at[most] = {};
    constexpr short_text(const char* from) {
        for (std::size_t i = 0; from[i] != '\0'; ++i) {
            if (i + 1 == most) throw "this text is too long";
            at[i] = from[i];
        }
    }
};
}  // namespace as_it_is

// What is generated, and what is asked of it.
struct scenarios {
    unsigned threads = 2, operations = 2;  // at most; of each thread
    unsigned first = 0, last = 0;          // calls before the threads start, and after they have ended; at most
    bool handovers = true;                 // also those in which one thread waits until another has done a call
    bool values_alike = false;             // the type does not look at values: those that differ in their names are one
    bool quiescent = false;                // quiescent consistency: an order only where nothing was under way between
    as_it_is::short_text<96> exhibit = "";  // the name of what shows that this one can fail
};

namespace as_it_is {

struct returned_value {
    enum class kind : unsigned char { nothing, value, empty };
    long value = 0;
    kind what = kind::nothing;
    bool operator==(const returned_value&) const = default;
};

struct operation_text {
    std::string name;
    std::vector<long> values;
    bool has_value = false;
    int only_thread = -1;
    returned_value (*on_type)(void* object, long value) = nullptr;
    returned_value (*on_specification)(void* state, long value) = nullptr;
};
struct specification_text {
    void* (*make)() = nullptr;
    void* (*copy)(const void*) = nullptr;
    void (*drop)(void*) = nullptr;
    bool (*equal)(const void*, const void*) = nullptr;
    // What may be returned at any time, and changes nothing.
    bool (*allows)(const char* operation, returned_value seen) = nullptr;
};
struct linearizable_text {
    std::string name;
    std::string specification;
    const char* fails_with;
    scenarios plan;
    std::vector<operation_text> operations;
    specification_text states;
};

bool add_linearizable(linearizable_text text, void (*body)(), bool instrumented, std::source_location at);

// The scenario that is being run. Its first and last calls are the list after those of the threads.
unsigned threads_of_scenario();
enum class part : unsigned { first = 7, last = 8 };  // beside the threads, which are 0 to 6
unsigned calls_of(unsigned which);
bool waits_before(unsigned thread, unsigned call);
bool hands_over_after(unsigned thread, unsigned call);
struct step {
    returned_value (*does)(void* object, long value);
    long value;
};
step begin_call(unsigned which, unsigned call);
void end_call(unsigned which, unsigned call, returned_value returned);
void compare_with_specification();

template <class R>
returned_value as_returned(const R& r) {
    if constexpr (requires { r.has_value(); })
        return r.has_value() ? as_returned(*r) : returned_value{0, returned_value::kind::empty};
    else if constexpr (std::is_enum_v<R> || std::is_integral_v<R>)
        return {static_cast<long>(r), returned_value::kind::value};
    else
        static_assert(sizeof(R) == 0,
                      "an operation returns nothing, a bool, an integer, an enum, or optional of those");
}

#if defined(APIARY_INSTRUMENTED)
inline namespace instrumented {
#else
inline namespace blind {
#endif

template <class F, class V>
struct operation {
    static constexpr std::size_t most_values = 16;
    short_text<48> name;
    std::array<long, most_values> values{};
    unsigned number = 0;  // of values
    int only_thread = -1;

    // Only that thread does it: an owner's operation, a producer's.
    constexpr operation by(unsigned thread) && {
        only_thread = static_cast<int>(thread);
        return *this;
    }
    template <class Object, class Specification>
    operation_text text() const {
        return {name.at,     {values.begin(), values.begin() + number}, !std::is_void_v<V>,
                only_thread, &on<Object>,                               &on<Specification>};
    }
    template <class Object>
    static returned_value on(void* object, long value) {
        Object& o = *static_cast<Object*>(object);
        const auto run = [&]() -> decltype(auto) {
            if constexpr (std::is_void_v<V>)
                return F{}(o);
            else
                return F{}(o, static_cast<V>(value));
        };
        if constexpr (std::is_void_v<decltype(run())>) {
            run();
            return {};
        } else {
            return as_returned(run());
        }
    }
};

// The scenario under way, done on a new object by new threads.
template <class T>
struct performance {
    T* object;
    std::atomic<bool>* handed_over;
    unsigned which;

    void run() const {
        const unsigned n = calls_of(which);
        for (unsigned k = 0; k < n; ++k) {
            if (waits_before(which, k))
                while (!handed_over->load(std::memory_order_acquire)) {
                }
            const step s = begin_call(which, k);
            end_call(which, k, s.does(object, s.value));
            if (hands_over_after(which, k)) handed_over->store(true, std::memory_order_release);
        }
    }
};

template <class T>
void perform() {
    {
        const auto object = std::make_unique<T>();
        std::atomic<bool> handed_over{false};
        const auto part_of = [&](unsigned which) { return performance<T>{object.get(), &handed_over, which}; };
        part_of(static_cast<unsigned>(part::first)).run();
        std::array<performance<T>, 7> parts{};
        std::array<pthread_t, 7> threads{};
        unsigned started = 0;
        for (unsigned t = 0; t < threads_of_scenario(); ++t) {
            if (calls_of(t) == 0) continue;
            parts[started] = part_of(t);
            ::pthread_create(
                &threads[started], nullptr,
                [](void* p) -> void* {
                    static_cast<const performance<T>*>(p)->run();
                    return nullptr;
                },
                &parts[started]);
            ++started;
        }
        for (unsigned t = 0; t < started; ++t) ::pthread_join(threads[t], nullptr);
        part_of(static_cast<unsigned>(part::last)).run();
    }
    compare_with_specification();
}

template <class Specification>
specification_text states_of() {
    specification_text s;
    s.make = []() -> void* { return new Specification; };
    s.copy = [](const void* p) -> void* { return new Specification(*static_cast<const Specification*>(p)); };
    s.drop = [](void* p) { delete static_cast<Specification*>(p); };
    s.equal = [](const void* a, const void* b) {
        return *static_cast<const Specification*>(a) == *static_cast<const Specification*>(b);
    };
    if constexpr (requires(const char* n, returned_value r) { Specification::allows(n, r); })
        s.allows = [](const char* n, returned_value r) { return Specification::allows(n, r); };
    return s;
}

template <class T, class Specification>
struct registration {
    linearizable_text text;

    template <class F, class V>
    void add(const operation<F, V>& o) {
        text.operations.push_back(o.template text<T, Specification>());
    }
};

// What stands behind the specification: a plan or a call, by its value where it is written in place, else where it is kept.
template <class T, class Specification>
struct given {
    scenarios plan{};
    const scenarios* kept_plan = nullptr;
    short_text<48> name = "";
    long values[operation<void, int>::most_values] = {};
    unsigned number = 0;
    int only_thread = -1;
    using maker = operation_text (*)(const given&);
    const maker* text_of = nullptr;  // null: a plan. By its address: g++ 12 takes no function's in a template argument
    const void* kept = nullptr;

    constexpr given(scenarios&& p) : plan(p) {}
    constexpr given(const scenarios& p) : kept_plan(&p) {}
    template <class F, class V>
    constexpr given(operation<F, V>&& o)
        : name(o.name), number(o.number), only_thread(o.only_thread), text_of(&by_value<F, V>) {
        for (unsigned i = 0; i != number; ++i) values[i] = o.values[i];
    }
    template <class F, class V>
    constexpr given(const operation<F, V>& o) : text_of(&by_place<F, V>), kept(&o) {}

    template <class F, class V>
    static operation_text text_of_value(const given& g) {
        operation<F, V> same{g.name, {}, g.number, g.only_thread};
        for (unsigned i = 0; i != g.number; ++i) same.values[i] = g.values[i];
        return same.template text<T, Specification>();
    }
    template <class F, class V>
    static operation_text text_of_kept(const given& g) {
        return static_cast<const operation<F, V>*>(g.kept)->template text<T, Specification>();
    }
    template <class F, class V>
    static constexpr maker by_value = &text_of_value<F, V>;
    template <class F, class V>
    static constexpr maker by_place = &text_of_kept<F, V>;
};

// The first two of a macro's arguments, as they are written: a comma in brackets is no end.
inline std::array<std::string, 2> first_two(std::string_view arguments) {
    std::array<std::string, 2> texts;
    int depth = 0;
    for (std::size_t i = 0, k = 0; i != arguments.size() && k != 2; ++i) {
        const char c = arguments[i];
        depth += c == '<' || c == '(' || c == '{' || c == '[' ? 1 : 0;
        depth -= c == '>' || c == ')' || c == '}' || c == ']' ? 1 : 0;
        if (c == ',' && depth == 0)
            ++k;
        else if (c != ' ' || !texts[k].empty())
            texts[k] += c;
    }
    return texts;
}

template <class T, class Specification, given<T, Specification>... Given>
bool add(const char* arguments, const char* fails_with, std::source_location at) {
    const auto [type, specification] = first_two(arguments);
    registration<T, Specification> r{{type, specification, fails_with, {}, {}, states_of<Specification>()}};
    [[maybe_unused]] const auto take = [&r](const given<T, Specification>& g) {
        if (g.text_of != nullptr)
            r.text.operations.push_back((*g.text_of)(g));
        else
            r.text.plan = g.kept_plan != nullptr ? *g.kept_plan : g.plan;
    };
    (take(Given), ...);
    constexpr bool names_calls = ((Given.text_of != nullptr) || ...);
    if constexpr (!names_calls && requires { Specification::operations(); })
        std::apply([&](const auto&... o) { (r.add(o), ...); }, Specification::operations());
    return add_linearizable(std::move(r.text), perform<T>, is_instrumented, at);
}

template <class T, class Specification, given<T, Specification>... Given>
bool linearizable(const char* arguments, std::source_location at = std::source_location::current()) {
    return add<T, Specification, Given...>(arguments, "", at);
}
template <class T, class Specification, short_text<160> reason, given<T, Specification>... Given>
bool not_linearizable(const char* arguments, std::source_location at = std::source_location::current()) {
    static constexpr short_text<160> kept = reason;
    return add<T, Specification, Given...>(arguments, kept.at, at);
}

}  // inline namespace
}  // namespace as_it_is

// An operation of the type and of its specification: its name in what is printed, and a lambda without captures for both.
template <class F>
constexpr as_it_is::operation<F, void> call(const char* name, F) {
    return {name};
}
template <class F, class V, class... More>
constexpr as_it_is::operation<F, V> call(const char* name, F, V value, More... more) {
    static_assert(sizeof...(More) < as_it_is::operation<F, V>::most_values);
    return {name, {static_cast<long>(value), static_cast<long>(static_cast<V>(more))...}, 1 + sizeof...(More)};
}

}  // namespace apiary

#define APIARY_LINEARIZABLE_NAMED(number, function, ...)              \
    [[maybe_unused]] static const bool apiary_linearizable_##number = \
        ::apiary::as_it_is::function<__VA_ARGS__>(#__VA_ARGS__)
#define APIARY_LINEARIZABLE_AT(number, ...) APIARY_LINEARIZABLE_NAMED(number, __VA_ARGS__)

// (type, specification, …). Must pass. Its name in the list of checks is the type's. After the specification: calls, and
// apiary::scenarios{…}.
#define APIARY_LINEARIZABLE(...) APIARY_LINEARIZABLE_AT(__COUNTER__, linearizable, __VA_ARGS__)
// (type, specification, reason, …). Must fail, for a reason that has this text.
#define APIARY_NOT_LINEARIZABLE(...) APIARY_LINEARIZABLE_AT(__COUNTER__, not_linearizable, __VA_ARGS__)
