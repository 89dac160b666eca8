// payload: one value of any type that can be moved: what a message or a result carries.
//
// When to use it. Where sender and receiver know the type, and the code between them does not. When not: to copy (it
// only moves), or to convert: get<T> finds a T and nothing else.
//
// A value of up to inline_bytes that moves without a throw lies inside, without an allocation; any other on the heap.
// Threads. One at a time. Progress. get: constant time.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace apiary {

class payload {
public:
    static constexpr std::size_t inline_bytes = 32;

    payload() = default;
    template <class T>
        requires(!std::is_same_v<std::remove_cvref_t<T>, payload>)
    payload(T&& value) : how_(&ways<std::decay_t<T>>) {  // implicit: send(to, 3)
        using held = std::decay_t<T>;
        if constexpr (fits<held>)
            ::new (static_cast<void*>(bytes_)) held(std::forward<T>(value));
        else
            ::new (static_cast<void*>(bytes_)) held*(new held(std::forward<T>(value)));
    }
    payload(payload&& other) noexcept { take(other); }
    payload& operator=(payload&& other) noexcept {
        if (this != &other) {
            reset();
            take(other);
        }
        return *this;
    }
    ~payload() { reset(); }

    explicit operator bool() const { return how_ != nullptr; }
    // Null if it holds nothing, or a value of another type.
    template <class T>
    T* get() {
        if (how_ != &ways<T>) return nullptr;
        if constexpr (fits<T>)
            return std::launder(reinterpret_cast<T*>(bytes_));
        else
            return *std::launder(reinterpret_cast<T**>(bytes_));
    }
    void reset() noexcept {
        if (how_ != nullptr && how_->destroy != nullptr) how_->destroy(bytes_);
        how_ = nullptr;
    }

private:
    struct way {
        void (*destroy)(std::byte*) noexcept;                   // null: nothing to do
        void (*move)(std::byte* to, std::byte* from) noexcept;  // moves, and destroys `from`; null: copy the bytes
    };
    template <class T>
    static constexpr bool fits =
        sizeof(T) <= inline_bytes && alignof(T) <= alignof(void*) && std::is_nothrow_move_constructible_v<T>;
    template <class T>
    static void destroy_it(std::byte* at) noexcept {
        if constexpr (fits<T>)
            std::destroy_at(std::launder(reinterpret_cast<T*>(at)));
        else
            delete *std::launder(reinterpret_cast<T**>(at));
    }
    template <class T>
    static void move_it(std::byte* to, std::byte* from) noexcept {
        T* const old = std::launder(reinterpret_cast<T*>(from));
        ::new (static_cast<void*>(to)) T(std::move(*old));
        std::destroy_at(old);
    }
    template <class T>
    static constexpr way way_of() {
        if constexpr (!fits<T>)
            return {&destroy_it<T>, nullptr};
        else if constexpr (std::is_trivially_copyable_v<T>)
            return {nullptr, nullptr};
        else
            return {&destroy_it<T>, &move_it<T>};
    }
    template <class T>
    static constexpr way ways = way_of<T>();

    void take(payload& other) noexcept {
        how_ = std::exchange(other.how_, nullptr);
        if (how_ == nullptr) return;
        if (how_->move == nullptr)
            std::memcpy(bytes_, other.bytes_, inline_bytes);
        else
            how_->move(bytes_, other.bytes_);
    }

    const way* how_ = nullptr;
    alignas(void*) std::byte bytes_[inline_bytes];
};

}  // namespace apiary
