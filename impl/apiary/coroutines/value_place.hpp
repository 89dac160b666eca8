// value_place: storage for one value. Its user must know whether the value is there.
//
// When to use it. For a value that is taken once, if something else records whether it is there. When not: otherwise;
// use std::optional.
//
// Why not std::optional: g++ 12 makes one on the stack and copies it by whole words. Such a load must wait for the two
// stores, or the byte store, that wrote the word; that was half of the price of passing a value through a channel.
//
// Threads.   One at a time; the checking engines see two that meet.
// Lifetime.  It must be empty when it is destroyed: its user takes or drops the value before.
//
// Checked by model_check/coroutines/channel_check.cpp. Tested by channel_test.cpp.
#pragma once

#include <new>
#include <type_traits>
#include <utility>

#include <apiary/sync/real_sync.hpp>

namespace apiary {

template <class T, class Sync = real_sync>
class value_place {
public:
    value_place() {}
    ~value_place() {
        if constexpr (Sync::checked) Sync::law(!watch_.there.read(), "a place ended with its value");
    }
    value_place(const value_place&) = delete;
    value_place& operator=(const value_place&) = delete;

    [[gnu::always_inline]] void put(T&& value) {
        turns(true);
        new (&value_) T(std::move(value));
    }
    [[gnu::always_inline]] T take() {
        turns(false);
        T out(std::move(value_));
        value_.~T();
        return out;
    }
    [[gnu::always_inline]] void take_from(value_place& other) {
        other.turns(false);
        put(std::move(other.value_));
        other.value_.~T();
    }
    [[gnu::always_inline]] void drop() {
        turns(false);
        value_.~T();
    }

private:
    struct watched {
        typename Sync::template cell<bool> there{false};
    };
    struct unwatched {};

    [[gnu::always_inline]] void turns([[maybe_unused]] bool there) {
        if constexpr (Sync::checked) {
            Sync::law(watch_.there.read() != there, "a value was put where one was, or taken where none was");
            watch_.there.write(there);
        }
    }

    union {
        T value_;
    };
    [[no_unique_address]] std::conditional_t<Sync::checked, watched, unwatched> watch_;
};

}  // namespace apiary
