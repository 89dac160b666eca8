// The stack by both engines: without a tag it hands an element out twice, with one it does not. The tag is as narrow as it
// may be, so that its wrap is a few steps away.
#include <array>

#include <apiary/contract/laws.hpp>
#include <apiary/model_check/register.hpp>

#include "index_stack.hpp"

namespace {

template <unsigned TagBits>
struct narrow {
    static constexpr unsigned capacity = 3, tag_bits = TagBits;
};

// Three elements. One thread pops; the other pops two and puts the first one back.
template <class Sync, unsigned TagBits>
struct pop_against_pop_pop_push {
    static constexpr unsigned threads = 2;

    index_stack<Sync, narrow<TagBits>> stack;
    std::array<typename Sync::template cell<unsigned>, 3> owner;  // a popped element is its popper's, to write and read
    apiary::identity_ledger<Sync, 3, 3> left;

    void before() {
        for (unsigned i = 0; i != 3; ++i) {
            left.put(i);
            owner[i].write(9);
            stack.push(i);
        }
    }
    bool pop(unsigned thread, unsigned& index) {
        const auto popped = stack.pop();
        if (!popped) return false;
        index = *popped;
        owner[index].write(thread);
        return true;
    }
    void thread(unsigned i) {
        unsigned first = 0, second = 0;
        if (i == 0) {
            if (pop(0, first)) left.took(0, first);
            return;
        }
        const bool has_first = pop(1, first);
        if (pop(1, second)) left.took(1, second);
        if (has_first) stack.push(first);
    }
    void after() {
        for (unsigned index = 0; pop(2, index);) left.took(2, index);
        left.settle();
    }
};

template <class Sync>
struct stack_without_tag : pop_against_pop_pop_push<Sync, 0> {
    static constexpr const char* what = "ABA: the head looks the same, and what lay below it is gone";
};
// A stranger finds it by APIARY_CHECK, and the program is red. Once understood, it is kept: an exhibit must fail.
APIARY_EXHIBIT(stack_without_tag, "left twice");

template <class Sync>
struct stack_with_tag : pop_against_pop_pop_push<Sync, 2> {
    static constexpr const char* what = "a tag of two bits outlives three changes of the head";
};
APIARY_CHECK(stack_with_tag);

// I2 says when even a tag is not enough: of one bit, it comes back after two changes.
template <class Sync>
struct stack_tag_wraps {
    static constexpr const char* what = "a tag of one bit has gone around after a pop and a push";
    static constexpr unsigned threads = 2;
    index_stack<Sync, narrow<1>> stack;
    apiary::identity_ledger<Sync, 3, 3> left;

    void before() {
        for (unsigned i = 0; i != 3; ++i) left.put(i), stack.push(i);
    }
    void thread(unsigned i) {
        if (i == 0) {
            if (const auto popped = stack.pop()) left.took(0, *popped);
            return;
        }
        // Four changes: the first element is back, and the second below it is not.
        const auto first = stack.pop(), second = stack.pop(), third = stack.pop();
        if (second) left.took(1, *second);
        if (third) left.took(1, *third);
        if (first) stack.push(*first);
    }
    void after() {
        while (const auto popped = stack.pop()) left.took(2, *popped);
        left.settle();
    }
};
APIARY_EXHIBIT(stack_tag_wraps, "left twice");

}  // namespace
