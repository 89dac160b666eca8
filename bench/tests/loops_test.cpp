// Loops whose answers are wrong in places, in one operation or in some: which of them the scenarios see.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "scenarios/loops.hpp"

namespace {

using namespace apiary::bench;

enum class kind { for_each, scan, sort };
struct {
    kind of = kind::for_each;
    bool (*wrong)(std::uint64_t operation, std::uint64_t word) = nullptr;
    bool (*idle)(std::uint64_t operation) = nullptr;
    std::uint64_t operation = 0;
} flaw;

bool idle(kind of) {
    return of == flaw.of && flaw.idle != nullptr && flaw.idle(flaw.operation);
}

bool wrong(kind of, std::uint64_t word) {
    return of == flaw.of && flaw.wrong != nullptr && flaw.wrong(flaw.operation, word);
}

// Its loops run on the calling thread. The words that the flaw names have another answer, or that of before; an idle
// operation does nothing.
struct flawed {
    static constexpr std::string_view name = "flawed";
    static std::string version() { return "1"; }
    explicit flawed(unsigned) {}

    struct loops {
        void for_each(std::uint64_t n, auto body) {
            for (std::uint64_t i = 0; i != n; ++i)
                if (!wrong(kind::for_each, i) && !idle(kind::for_each)) body(i);
            if (flaw.of == kind::for_each) ++flaw.operation;
        }
        void scan(const std::uint64_t* in, std::uint64_t* out, std::uint64_t n) {
            if (!idle(kind::scan)) std::inclusive_scan(in, in + n, out);
            spoil(kind::scan, out, n);
        }
        void sort(std::uint64_t* first, std::uint64_t n) {
            if (!idle(kind::sort)) std::sort(first, first + n);
            spoil(kind::sort, first, n);
        }
        static void spoil(kind of, std::uint64_t* words, std::uint64_t n) {
            for (std::uint64_t i = 0; i != n; ++i)
                if (wrong(of, i)) words[i] ^= 1;
            ++flaw.operation;
        }
    };
    void with_loops(auto root) { root(loops()); }
    runtime_counters counters() const { return {}; }
};

constexpr std::uint64_t operations = 40, words = 1000;

using words_that_are_wrong = bool (*)(std::uint64_t operation, std::uint64_t word);
using operations_that_idle = bool (*)(std::uint64_t operation);

template <class Scenario>
std::string status(kind of, words_that_are_wrong wrong, operations_that_idle idle = nullptr, std::uint64_t n = words) {
    flaw = {.of = of, .wrong = wrong, .idle = idle, .operation = 0};
    run_options options;
    options.workers = 1;
    options.blocks.blocks = 1;
    options.blocks.warmup_blocks = 0;
    options.params = {{"n", n}, {"ops", operations}, {"iterations", 3}, {"lengths", 1}};
    return Scenario::template measure<flawed>(options).measured.status;
}

void expect_status(const std::string& expected, words_that_are_wrong wrong, operations_that_idle idle = nullptr,
                   std::uint64_t n = words) {
    EXPECT_EQ(status<loop_for>(kind::for_each, wrong, idle, n), expected);
    EXPECT_EQ(status<loop_scan>(kind::scan, wrong, idle, n), expected);
    EXPECT_EQ(status<loop_sort>(kind::sort, wrong, idle, n), expected);
}

TEST(loops, right_answers_are_right_ones) {
    for (const std::uint64_t n : {std::uint64_t{1}, std::uint64_t{2}, words})
        expect_status("ok", nullptr, nullptr, n);
    expect_status("ok", nullptr, nullptr, 9'999);  // a sort's copy has parts of another length
}

TEST(loops, a_single_wrong_word_of_the_last_operation_is_seen) {
    expect_status("wrong", [](std::uint64_t operation, std::uint64_t word) {
        return operation == operations - 1 && word == words - 1;
    });
}

TEST(loops, words_that_are_wrong_in_the_operations_before_are_seen) {
    expect_status("wrong", [](std::uint64_t operation, std::uint64_t word) {
        return operation != operations - 1 && word % 16 == 3;
    });
}

TEST(loops, an_operation_that_did_nothing_is_seen) {
    expect_status("wrong", nullptr, [](std::uint64_t operation) { return operation == operations / 2; });
}

// The words of before are the right answer, and would stay so.
TEST(loops, a_copy_before_a_sort_that_was_lost_is_seen) {
    const auto status_of = [](operations_that_idle idle) { return status<loop_sort>(kind::for_each, nullptr, idle); };
    EXPECT_EQ(status_of([](std::uint64_t) { return false; }), "ok");
    EXPECT_EQ(status_of([](std::uint64_t operation) { return operation != 0; }), "wrong");
    EXPECT_EQ(status_of([](std::uint64_t operation) { return operation == operations / 2; }), "wrong");
    const auto second_of_three = [](std::uint64_t operation, std::uint64_t part) {
        return operation == operations / 2 && part == 1;
    };
    EXPECT_EQ(status<loop_sort>(kind::for_each, second_of_three, nullptr, 9'999), "wrong");
}

}  // namespace
