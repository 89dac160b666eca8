// What libstdc++.so orders by means of its own: shared pointers by std::atomic_load() and its like, exceptions by counts; and the
// same with the mistake in it.
#include <apiary/check.hpp>

#include <atomic>
#include <exception>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>

// ---- shared pointers ------------------------------------------------------------------------------------------------

namespace {
using pointer = std::shared_ptr<int>;
template <class Load>
void one_stores_one_loads(Load load) {
    pointer p = std::make_shared<int>(1);
    std::thread a([&] { std::atomic_store(&p, std::make_shared<int>(2)); });
    std::thread b([&] {
        const pointer q = load(p);
        apiary::check(*q == 1 || *q == 2, "neither");
    });
    a.join();
    b.join();
}
}  // namespace

APIARY_SCENARIO(shared_pointer_is_loaded, "shared_pointer_is_copied") {
    one_stores_one_loads([](const pointer& p) { return std::atomic_load(&p); });
}
APIARY_FAILING_SCENARIO(shared_pointer_is_copied, "data race") {
    one_stores_one_loads([](const pointer& p) { return p; });
}

APIARY_SCENARIO(shared_pointer_is_exchanged_once, "shared_pointer_is_copied") {
    pointer p = std::make_shared<int>(0);
    const pointer first = p;
    std::atomic<int> done{0};
    const auto exchange = [&](int i) {
        pointer expected = first;
        if (std::atomic_compare_exchange_strong(&p, &expected, std::make_shared<int>(i))) done.fetch_add(1);
    };
    std::thread a(exchange, 1), b(exchange, 2);
    a.join();
    b.join();
    apiary::check(done.load() == 1 && *p != 0, "both, or none");
}

APIARY_SCENARIO(shared_pointer_is_waited_for, "shared_pointer_is_waited_for_in_vain") {
    pointer p;
    std::thread a([&] { std::atomic_store(&p, std::make_shared<int>(2)); });
    while (!std::atomic_load(&p)) {
    }
    apiary::check(*p == 2);
    a.join();
}
APIARY_FAILING_SCENARIO(shared_pointer_is_waited_for_in_vain, "in a loop around lock") {
    pointer p;
    std::thread a([&] { std::atomic_store(&p, pointer()); });
    while (!std::atomic_load(&p)) {
    }
    a.join();
}

// The library has sixteen locks for all pointers: that two share one is nothing to rely on.
APIARY_FAILING_SCENARIO(two_shared_pointers_order_nothing, "data race") {
    pointer pointers[18];
    int data = 0;
    std::thread a([&] {
        data = 1;
        std::atomic_store(&pointers[0], pointer());
    });
    for (int i = 1; i < 18; ++i) (void)std::atomic_load(&pointers[i]);
    apiary::check(data < 2);
    a.join();
}

// ---- exceptions ---------------------------------------------------------------------------------------------------------

namespace {
struct numbered {
    int number;
};
struct named {
    std::string name;
};
template <class Exception>
void one_throws_what_another_one_waits_for(Exception thrown, bool (*is_it)(const Exception&)) {
    std::promise<int> p;
    auto f = p.get_future();
    std::thread a([p = std::move(p), &thrown]() mutable {
        try {
            throw Exception(thrown);
        } catch (...) {
            p.set_exception(std::current_exception());
        }
    });
    try {
        (void)f.get();
        apiary::check(false, "no exception");
    } catch (const Exception& e) {
        apiary::check(is_it(e), "another exception");
    }
    a.join();
}
}  // namespace

APIARY_SCENARIO(exception_is_handed_over, "exception_is_changed_by_two") {
    one_throws_what_another_one_waits_for<numbered>({3}, [](const numbered& e) { return e.number == 3; });
}
APIARY_SCENARIO(exception_with_memory_is_handed_over, "exception_is_changed_by_two") {
    one_throws_what_another_one_waits_for<named>({"a name that is too long for the string itself"},
                                                 [](const named& e) { return e.name[0] == 'a'; });
}

APIARY_SCENARIO(promise_is_broken, "exception_is_changed_by_two") {
    std::promise<int> p;
    auto f = p.get_future();
    std::thread a([p = std::move(p)] {});
    try {
        (void)f.get();
        apiary::check(false, "no exception");
    } catch (const std::future_error& e) {
        apiary::check(e.code() == std::future_errc::broken_promise, "another exception");
    }
    a.join();
}

APIARY_FAILING_SCENARIO(exception_is_changed_by_two, "data race") {
    const auto change = [thrown = std::make_exception_ptr(numbered{1})] {
        try {
            std::rethrow_exception(thrown);
        } catch (numbered& e) {
            ++e.number;
        }
    };
    std::thread a(change), b(change);
    a.join();
    b.join();
}

// What is counted is the exception: memory of the program's is asked for as ever.
APIARY_FAILING_SCENARIO(memory_beside_an_exception_is_freed_too_early, "access to freed memory") {
    int* const p = new int(1);
    std::thread a([&] {
        try {
            throw numbered{*p};
        } catch (const numbered&) {
        }
    });
    delete p;
    a.join();
}
