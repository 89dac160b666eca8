// two: runs two callables, each in a thread of its own, and waits for both.
#pragma once

#include <thread>

template <class A, class B>
void two(A first, B second) {
    std::thread a(first), b(second);
    a.join();
    b.join();
}
