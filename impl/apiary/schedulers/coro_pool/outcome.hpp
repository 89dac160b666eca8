// co_outcome: the result of a coroutine: none yet, a value, or an exception.
//
// When to use it. As the place for a coroutine's result, beside the awaiter that takes it: the coroutine's own frame is
// gone by then. When not: to wait for a result; it has no lock and no wait.
//
// Threads. One writes, and another reads after that; the end of the coroutine publishes it.
// Errors.  It takes one result. std::logic_error: a second fork into it, or take() while it has none.
#pragma once

#include <cstdint>
#include <exception>
#include <new>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <variant>

#include <apiary/sync/real_sync.hpp>

namespace apiary {

// For void it keeps a std::monostate, for a reference a pointer.
template <class T, class Sync = real_sync>
class co_outcome {
    using kept = std::conditional_t<std::is_void_v<T>, std::monostate,
                                    std::conditional_t<std::is_reference_v<T>, std::remove_reference_t<T>*, T>>;

public:
    [[gnu::always_inline]] co_outcome() {}
    co_outcome(const co_outcome&) = delete;
    co_outcome& operator=(const co_outcome&) = delete;
    [[gnu::always_inline]] ~co_outcome() {
        if (holds_.read() == what::error) [[unlikely]]
            drop_error();
        drop_value();
    }

    template <class... U>
    [[gnu::always_inline]] void set(U&&... value) {
        drop_value();
        if constexpr (std::is_reference_v<T>)
            ::new (static_cast<void*>(&value_)) kept(&value...);
        else
            ::new (static_cast<void*>(&value_)) kept(static_cast<kept>(std::forward<U>(value))...);
        holds_.write(what::value);
    }
    void fail(std::exception_ptr error) noexcept {
        drop_value();
        ::new (static_cast<void*>(&error_)) std::exception_ptr(std::move(error));
        holds_.write(what::error);
    }

    // Called before it is given to a coroutine. A second result would overwrite the first and leak it.
    void expect() {
        if (holds_.read() != what::nothing) throw std::logic_error("co_outcome: two coroutines for one outcome");
        holds_.write(what::expected);
    }

    bool failed() const { return holds_.read() == what::error; }
    bool has_value() const { return holds_.read() == what::value; }
    // Precondition: failed().
    const std::exception_ptr& error() const { return error_; }
    // May be called once. Throws the coroutine's exception, or std::logic_error if no coroutine has left a result.
    [[gnu::always_inline]] T take() {
        if (holds_.read() != what::value) [[unlikely]]
            rethrow();
        return value();
    }
    // Precondition: has_value(). May be called once.
    [[gnu::always_inline]] T value() {
        if constexpr (std::is_reference_v<T>)
            return static_cast<T>(*value_);
        else if constexpr (!std::is_void_v<T>)
            return std::move(value_);
    }
    // As T and take(), but with a std::monostate in place of void.
    using value_type = std::conditional_t<std::is_void_v<T>, std::monostate, T>;
    [[gnu::always_inline]] value_type take_value() {
        if (holds_.read() != what::value) [[unlikely]]
            rethrow();
        return known_value();
    }
    [[gnu::always_inline]] value_type known_value() {
        if constexpr (std::is_void_v<T>)
            return {};
        else
            return value();
    }

private:
    enum class what : std::uint8_t { nothing, expected, value, error };

    [[noreturn, gnu::noinline, gnu::cold]] void rethrow() const {
        if (!failed()) throw std::logic_error("co_outcome: taken before there is a result");
        std::rethrow_exception(error_);
    }
    // A coroutine that has left its value may still leave an exception: a destructor of its frame may throw.
    [[gnu::always_inline]] void drop_value() noexcept {
        if constexpr (!std::is_trivially_destructible_v<kept>)
            if (holds_.read() == what::value) {
                value_.~kept();
                holds_.write(what::expected);
            }
    }
    [[gnu::noinline, gnu::cold]] void drop_error() {
        error_.~exception_ptr();
        holds_.write(what::nothing);
    }

    // A cell: it is written after the result and read before it. So a checker sees a read that nothing orders after the
    // write.
    typename Sync::template cell<what> holds_{what::nothing};
    union {
        kept value_;
        std::exception_ptr error_;
    };
};

}  // namespace apiary
