// growing_set: a set that is usually small: up to `few` elements in an array that find() walks, beyond that a hash
// table.
//
// When to use it. In process_place, for things of which most processes have a few, and some a hundred thousand. When
// not: where the order counts.
//
// It may hold equal elements several times. While an element is in the set, nothing that Hash or Equal reads may
// change.
// Threads. One at a time. Progress. add, find, erase, take_any: constant time, except while the table grows.
// Errors.  add: std::bad_alloc, and the set is unchanged. Tested by process_parts_test.cpp.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <unordered_set>
#include <utility>
#include <vector>

namespace apiary {

template <class T, class Hash = std::hash<T>, class Equal = std::equal_to<T>>
class growing_set {
    using table = std::unordered_multiset<T, Hash, Equal>;

public:
    static constexpr std::size_t few = 64;

    bool empty() const { return few_.empty() && many_ == nullptr; }
    void add(const T& t) {
        if (few_.size() == few_.capacity()) [[unlikely]]
            return add_slowly(t);
        few_.push_back(t);
    }
    // Null if the set has no such element. The pointer is valid until the next change.
    const T* find(const T& t) const {
        for (const T& one : few_)
            if (Equal()(one, t)) return &one;
        return many_ == nullptr ? nullptr : find_of_many(t);
    }
    // Erases all elements equal to t. False: there is none.
    bool erase(const T& t) {
        if (many_ != nullptr) [[unlikely]]
            return erase_of_many(t);
        return std::erase_if(few_, [&t](const T& one) { return Equal()(one, t); }) != 0;
    }
    // Precondition: not empty.
    T take_any() {
        T t = many_ != nullptr ? *many_->begin() : few_.back();
        if (many_ == nullptr) {
            few_.pop_back();
        } else {
            many_->erase(many_->begin());
            if (many_->empty()) many_.reset();
        }
        return t;
    }
    template <class Visit>
    void each(Visit visit) const {
        for (const T& t : few_) visit(t);
        if (many_ != nullptr)
            for (const T& t : *many_) visit(t);
    }

private:
    [[gnu::noinline]] void add_slowly(const T& t) {
        if (many_ == nullptr && few_.size() < few) return few_.push_back(t);
        if (many_ == nullptr) {
            auto table_of_all = std::make_unique<table>(few_.begin(), few_.end());
            table_of_all->insert(t);
            many_ = std::move(table_of_all);
            few_ = std::vector<T>();
        } else {
            many_->insert(t);
        }
    }
    [[gnu::noinline]] const T* find_of_many(const T& t) const {
        const auto at = many_->find(t);
        return at == many_->end() ? nullptr : &*at;
    }
    [[gnu::noinline]] bool erase_of_many(const T& t) {
        const bool any = many_->erase(t) != 0;
        if (many_->empty()) many_.reset();
        return any;
    }

    std::vector<T> few_;  // all elements while many_ is null; after that it has no memory
    std::unique_ptr<table> many_;
};

}  // namespace apiary
