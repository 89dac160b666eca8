// Atomics, fences and plain cells of the Relacy policy: Relacy's own, plus what a trace needs.
//
// Every store carries a number, so that a load knows which store it read, not only which value. A
// default-constructed atomic has no value: reading it before anybody stored is a failure.
#pragma once

#include <bit>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <ostream>
#include <source_location>
#include <type_traits>
#include <utility>

#include <apiary/model_check/relacy/world.hpp>
#include <apiary/model_check/trace_table.hpp>

namespace apiary::model::relacy_detail {

using site = std::source_location;

inline rl::debug_info place(const site& at) { return {at.function_name(), at.file_name(), at.line()}; }

inline rl::memory_order relacy_order(std::memory_order order) {
    switch (order) {
        case std::memory_order_relaxed:
            return rl::mo_relaxed;
        case std::memory_order_consume:
            return rl::mo_acquire;
        case std::memory_order_acquire:
            return rl::mo_acquire;
        case std::memory_order_release:
            return rl::mo_release;
        case std::memory_order_acq_rel:
            return rl::mo_acq_rel;
        case std::memory_order_seq_cst:
            break;
    }
    return rl::mo_seq_cst;
}

inline const char* order_name(std::memory_order order) { return rl::format(relacy_order(order)); }

// Never returns: the simulation goes on in another stack.
[[noreturn]] inline void end_execution(const char* why, rl::test_result_e result, const site& at) {
    the_world.law = why;
    rl::ctx().fail_test(why, result, place(at));
    std::abort();
}

// Relacy itself ends the process there.
[[gnu::cold, noreturn]] inline void undefined_order(const char* operation, bool failure, std::memory_order order,
                                                    const site& at) {
    static std::string why;
    why = no_such_order(operation, failure, order,
                        std::string(place_of(at.file_name())) + ":" + std::to_string(at.line()));
    end_execution(why.c_str(), rl::test_result_user_assert_failed, at);
}

class text_writer {
public:
    explicit text_writer(std::array<char, 64>& to) : at_(to.data()), end_(to.data() + to.size() - 1) {}

    text_writer& operator<<(const char* text) {
        while (*text != '\0' && at_ != end_) *at_++ = *text++;
        *at_ = '\0';
        return *this;
    }
    template <class T>
    text_writer& value(const T& v) {
        if constexpr (std::same_as<T, bool>)
            *this << (v ? "true" : "false");
        else if constexpr (std::is_pointer_v<T>)
            number(reinterpret_cast<std::uintptr_t>(v), true);
        else if constexpr (std::is_enum_v<T>)
            value(static_cast<std::underlying_type_t<T>>(v));
        else if constexpr (std::is_integral_v<T>)
            number(v, std::is_unsigned_v<T> && sizeof(T) == 8 && static_cast<std::uint64_t>(v) > 0xFFFFF);
        else
            *this << "(object)";
        return *this;
    }

private:
    template <class N>
    void number(N n, bool hex) {
        if (hex && n != 0) *this << "0x";
        at_ = std::to_chars(at_, end_, n, hex ? 16 : 10).ptr;
        *at_ = '\0';
    }
    char* at_;
    char* end_;
};

// One operation in the trace: opened before Relacy may switch threads, closed when it has happened.
class recorder {
public:
    enum kind { operation, remark };  // a remark is a row and no operation of the thread

    recorder(const site& at, const char* name, const void* object, kind what = operation)
        : on_(the_world.tracing && !rl::ctx().invariant_executing) {
        if (what == operation && !rl::ctx().invariant_executing) the_world.acts();
        if (!on_) return;
        column_ = the_world.column_of_running();
        the_world.open_step(column_, at, name, object);
    }
    explicit operator bool() const { return on_; }
    step& close() const { return the_world.close_step(column_); }

private:
    bool on_;
    std::size_t column_ = 0;
};

// A value with the number of the store that made it. Compares and computes by value alone.
template <class T>
struct stamped {
    T value{};
    std::uint32_t store = 0;

    friend bool operator==(const stamped& a, const stamped& b) { return a.value == b.value; }
    friend stamped operator+(stamped a, stamped b) { return {static_cast<T>(a.value + b.value), b.store}; }
    friend stamped operator-(stamped a, stamped b) { return {static_cast<T>(a.value - b.value), b.store}; }
    friend stamped operator&(stamped a, stamped b) { return {static_cast<T>(a.value & b.value), b.store}; }
    friend stamped operator|(stamped a, stamped b) { return {static_cast<T>(a.value | b.value), b.store}; }
    // Relacy's own history, which stays switched off, wants to be able to print it.
    friend std::ostream& operator<<(std::ostream& out, const stamped&) { return out; }
};

// The threads that block until a word changes. A bit for each thread; changed only between scheduling points.
class waiters {
public:
    // The caller has just looked at the word, and nothing can have run since.
    rl::unpark_reason block(bool timed, const site& at, bool spurious = false) {
        if (the_world.stage != phase::threads)
            end_execution("blocks before or after the threads, where nobody can wake it",
                          rl::test_result_user_assert_failed, at);
        const std::uint32_t bit = std::uint32_t{1} << rl::thread_index();
        bits_ |= bit;
        const rl::unpark_reason why = rl::ctx().park_current_thread(timed, spurious, false, place(at));
        bits_ &= ~bit;
        return why;
    }
    void wake_all(const site& at) {
        for (unsigned thread = 0; bits_ != 0; ++thread, bits_ >>= 1)
            if ((bits_ & 1U) != 0) rl::ctx().unpark_thread(static_cast<rl::thread_id_t>(thread), false, place(at));
    }

    // One of them; the engine decides which.
    void wake_one(const site& at) {
        const auto n = static_cast<unsigned>(std::popcount(bits_));
        if (n == 0) return;
        std::uint32_t rest = bits_;
        for (unsigned which = n == 1 ? 0 : rl::rand(n); which != 0; --which) rest &= rest - 1;
        bits_ &= ~(rest & ~(rest - 1));
        rl::ctx().unpark_thread(static_cast<rl::thread_id_t>(std::countr_zero(rest)), false, place(at));
    }

private:
    std::uint32_t bits_ = 0;
};

template <class T>
class atomic {
public:
    atomic() = default;
    explicit atomic(T value, site at = site::current()) {
        const recorder record(at, "initialise", this);
        impl_.store({value, 0}, rl::mo_relaxed, place(at));
        show_store(record, value, 0, "");
    }
    atomic(const atomic&) = delete;
    atomic& operator=(const atomic&) = delete;

    // `operation`: as the place is known by.
    T load(std::memory_order order, site at = site::current(), const char* operation = "load") const {
        if (!may_load(order)) undefined_order(operation, false, order, at);
        if (rl::ctx().invariant_executing) return impl_.load(rl::mo_relaxed, place(at)).value;
        const recorder record(at, operation, this);
        order = the_world.visit(at, operation, order, order, false);
        const stamped<T> got = impl_.load(relacy_order(order), place(at));
        if (record) {
            step& s = record.close();
            s.reads = true;
            s.read = got.store;
            text_writer(s.text).operator<<("-> ").value(got.value) << "  " << order_name(order);
        }
        return got.value;
    }

    void store(T value, std::memory_order order, site at = site::current()) {
        if (!may_store(order)) undefined_order("store", false, order, at);
        const recorder record(at, "store", this);
        order = the_world.visit(at, "store", order, order, false);
        const stamped<T> put{value, ++the_world.next_store};
        impl_.store(put, relacy_order(order), place(at));
        show_store(record, value, put.store, order_name(order));
        waiting_.wake_all(at);
    }

    T exchange(T value, std::memory_order order, site at = site::current()) {
        return modify<rl::rmw_type_swap>("exchange", value, order, at);
    }
    T fetch_add(T value, std::memory_order order, site at = site::current()) {
        return modify<rl::rmw_type_add>("fetch_add", value, order, at);
    }
    T fetch_sub(T value, std::memory_order order, site at = site::current()) {
        return modify<rl::rmw_type_sub>("fetch_sub", value, order, at);
    }
    T fetch_or(T value, std::memory_order order, site at = site::current()) {
        return modify<rl::rmw_type_or>("fetch_or", value, order, at);
    }
    T fetch_and(T value, std::memory_order order, site at = site::current()) {
        return modify<rl::rmw_type_and>("fetch_and", value, order, at);
    }

    bool compare_exchange_weak(T& expected, T desired, std::memory_order success, std::memory_order failure,
                               site at = site::current()) {
        return compare_exchange<true>("compare_exchange_weak", expected, desired, success, failure, at);
    }
    bool compare_exchange_strong(T& expected, T desired, std::memory_order success, std::memory_order failure,
                                 site at = site::current()) {
        return compare_exchange<false>("compare_exchange_strong", expected, desired, success, failure, at);
    }

    // Compares with the newest value; nothing can run between this and the next operation.
    bool is_now(T value, const site& at) const {
        (void)impl_.load(rl::mo_relaxed, place(at));  // where another thread may come first
        return impl_.debug_value().value == value;
    }

    // Blocks until the word changes, if `value` still is the newest; else gives way once, because a stale
    // value was read and nobody may ever store again.
    void wait_for_change(T value, const site& at) const {
        if (impl_.debug_value().value == value)
            waiting_.block(false, at);
        else
            rl::yield(1, place(at));
    }

private:
    static void show_store(const recorder& record, T value, std::uint32_t number, const char* order) {
        if (!record) return;
        step& s = record.close();
        s.writes = true;
        s.wrote = number;
        text_writer(s.text).operator<<("<- ").value(value) << "  " << order;
    }

    template <rl::rmw_type_e Operation>
    T modify(const char* name, T operand, std::memory_order order, const site& at) {
        const recorder record(at, name, this);
        order = the_world.visit(at, name, order, order, false);
        const stamped<T> argument{operand, ++the_world.next_store};
        const stamped<T> before = impl_.rmw(rl::rmw_type_t<Operation>(), argument, relacy_order(order), place(at));
        if (record) {
            step& s = record.close();
            s.reads = s.writes = true;
            s.read = before.store;
            s.wrote = argument.store;
            text_writer(s.text).value(before.value).operator<<(" -> ").value(impl_.debug_value().value)
                << "  " << order_name(order);
        }
        waiting_.wake_all(at);
        return before.value;
    }

    template <bool Weak>
    bool compare_exchange(const char* name, T& expected, T desired, std::memory_order success,
                          std::memory_order failure, const site& at) {
        if (!may_load(failure)) undefined_order(name, true, failure, at);
        const recorder record(at, name, this);
        const std::memory_order written = success;
        success = the_world.visit(at, name, written, failure, false);
        failure = the_world.visit(at, name, written, failure, true);
        stamped<T> seen{expected, 0};
        const stamped<T> put{desired, ++the_world.next_store};
        const bool done = impl_.compare_exchange(rl::bool_t<Weak>(), seen, put, accepted(success, failure),
                                                 relacy_order(failure), place(at));
        if (record) {
            step& s = record.close();
            s.reads = true;
            text_writer out(s.text);
            if (done) {
                s.writes = true;
                s.wrote = put.store;
                out.value(expected) << " -> ";
                out.value(desired) << "  " << order_name(success);
            } else {
                s.read = seen.store;
                out << (seen.value == expected ? "fails for no reason, " : "fails, ");
                out.value(seen.value) << " is not ";
                out.value(expected) << "  " << order_name(failure);
            }
        }
        expected = done ? expected : seen.value;
        if (done) waiting_.wake_all(at);
        return done;
    }

    // Relacy knows only pairs where failure is no stronger than success. C++17 allows the others, which
    // run here with the weakest success order that Relacy accepts with that failure order.
    static rl::memory_order accepted(std::memory_order success, std::memory_order failure) {
        if (failure == std::memory_order_seq_cst) return rl::mo_seq_cst;
        if (failure == std::memory_order_acquire) {
            if (success == std::memory_order_relaxed) return rl::mo_acquire;
            if (success == std::memory_order_release) return rl::mo_acq_rel;
        }
        return relacy_order(success);
    }

    mutable rl::generic_atomic<stamped<T>, false> impl_;
    mutable waiters waiting_;
};

inline void fence(std::memory_order order, const site& at, const char* name = "fence") {
    const recorder record(at, name, nullptr);
    order = the_world.visit(at, name, order, order, false);
    const bool dropped = order == std::memory_order_relaxed;
    if (!dropped) rl::atomic_thread_fence(relacy_order(order), place(at));
    if (record) text_writer(record.close().text) << (dropped ? "dropped" : order_name(order));
}

// Plain data. Relacy's detector watches a guard beside the value, so that the value may be of any type.
template <class T>
class cell {
public:
    cell() {
        if constexpr (!std::is_trivially_default_constructible_v<T>) guard_(place(site::current())).store(1);
    }
    explicit cell(T value, site at = site::current()) : value_(std::move(value)) { guard_(place(at)).store(1); }
    cell(const cell&) = delete;
    cell& operator=(const cell&) = delete;

    const T& read(site at = site::current()) const {
        const recorder record(at, "read", this);
        the_world.asked(law_kind::race);
        std::as_const(guard_)(place(at)).load();
        show(record, false, "-> ");
        return value_;
    }
    void write(T value, site at = site::current()) {
        const recorder record(at, "write", this);
        the_world.asked(law_kind::race);
        guard_(place(at)).store(1);
        value_ = std::move(value);
        show(record, true, "<- ");
    }
    T take(site at = site::current()) {
        const recorder record(at, "take", this);
        the_world.asked(law_kind::race);
        std::as_const(guard_)(place(at)).load();
        guard_(place(at)).store(1);
        show(record, true, "-> ");
        return std::move(value_);
    }

private:
    void show(const recorder& record, bool writes, const char* arrow) const {
        if (!record) return;
        step& s = record.close();
        s.plain = true;
        s.reads = !writes;
        s.writes = writes;
        text_writer(s.text).operator<<(arrow).value(value_);
    }

    rl::var<char> guard_;
    T value_{};
};

}  // namespace apiary::model::relacy_detail
