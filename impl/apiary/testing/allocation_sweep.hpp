// allocation_sweep: a short run, repeated, each time with another of its allocations failing: the first, the second,
// and so on, until no allocation of a run fails. Each number has two runs: in one that allocation fails alone, in the
// other all later ones fail, too.
//
// When to use it. In a program that replaces operator new (replaced_new.hpp) and whose before_allocation calls
// allocation_of_a_sweep. When not: for one path; a test that knows its allocation makes it fail itself.
//
//     struct a_run {
//         void run();                 // counts what it does; attempt(…) is an operation that may be refused
//         std::string wrong() const;  // afterwards, with memory: what does not add up; empty: nothing
//     };
//     fail_each_allocation<a_run>({"no memory to …"});
//
// Each run is a child process, so that none finds the blocks of an earlier one. A child reports that all adds up, or
// ends by abort with one of the stated messages. Any other end, a hang, or a ledger that does not add up fails the
// test.
//
// Threads. Allocations of all threads of the run are counted together, so the n-th may differ from run to run.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <limits>
#include <new>
#include <string>

#include <gtest/gtest.h>

namespace apiary {

namespace detail {
inline constexpr std::int64_t none_fails = std::numeric_limits<std::int64_t>::max();
inline std::atomic<std::int64_t> allocations_left = none_fails;  // before the one that fails
inline std::atomic<bool> later_ones_fail = false;
enum class failing : std::uint8_t { one, later_ones_too };
}  // namespace detail

// Called before every allocation of the program. Throws std::bad_alloc to make it fail.
inline void allocation_of_a_sweep() {
    using namespace detail;
    if (allocations_left.load(std::memory_order_relaxed) == none_fails) return;
    const std::int64_t left = allocations_left.fetch_sub(1, std::memory_order_relaxed) - 1;
    if (left == 0 || (left < 0 && later_ones_fail.load(std::memory_order_relaxed))) throw std::bad_alloc();
}

// False: the operation had no memory, and said so.
template <class Operation>
bool attempt(Operation operation) {
    try {
        operation();
        return true;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

namespace detail {

enum class run_answer : std::uint8_t { fine, none_failed, wrong };

template <class Run>
[[noreturn]] void run_with_a_failure(std::int64_t nth, failing which, int out) {
    (void)::dup2(out, STDERR_FILENO);
    (void)::alarm(60);  // a run takes some milliseconds; a hanging one would keep the test for ever
    auto answer = run_answer::fine;
    {
        Run r;
        later_ones_fail = which == failing::later_ones_too;
        allocations_left = nth;
        (void)attempt([&r] { r.run(); });
        if (allocations_left > 0) answer = run_answer::none_failed;
        allocations_left = none_fails;
        if (const std::string wrong = r.wrong(); !wrong.empty()) {
            (void)std::fputs(wrong.c_str(), stderr);
            answer = run_answer::wrong;
        }
    }
    ::_exit(static_cast<int>(answer));
}

struct run_result {
    int status = 0;
    std::string said;
};
template <class Run>
run_result run_in_a_child(std::int64_t nth, failing which) {
    int ends[2];
    if (::pipe(ends) != 0) return {-1, "no pipe"};
    (void)std::fflush(nullptr);  // otherwise the child would print it, too
    const pid_t child = ::fork();
    if (child == 0) run_with_a_failure<Run>(nth, which, ends[1]);
    (void)::close(ends[1]);
    run_result r;
    char some[512];
    for (ssize_t n = 0; (n = ::read(ends[0], some, sizeof some)) > 0;) r.said.append(some, static_cast<std::size_t>(n));
    (void)::close(ends[0]);
    if (child < 0 || ::waitpid(child, &r.status, 0) != child) return {-1, "no child"};
    return r;
}

}  // namespace detail

// `ends`: the messages with which the program may end.
template <class Run>
void fail_each_allocation(std::initializer_list<const char*> ends = {}) {
    using namespace detail;
    int wrong = 0;
    for (const failing which : {failing::one, failing::later_ones_too}) {
        int ended = 0;
        std::int64_t nth = 1;
        for (;; ++nth) {
            const run_result r = run_in_a_child<Run>(nth, which);
            if (WIFEXITED(r.status) && WEXITSTATUS(r.status) == static_cast<int>(run_answer::none_failed)) break;
            if (WIFEXITED(r.status) && WEXITSTATUS(r.status) == static_cast<int>(run_answer::fine)) continue;
            bool stated = false;
            if (WIFSIGNALED(r.status) && WTERMSIG(r.status) == SIGABRT)
                for (const char* const end : ends) stated |= r.said.find(end) != std::string::npos;
            ended += stated ? 1 : 0;
            if (stated) continue;
            const bool hangs = WIFSIGNALED(r.status) && WTERMSIG(r.status) == SIGALRM;
            ADD_FAILURE() << "allocation " << nth << (which == failing::one ? "" : " and all later ones") << ": "
                          << (hangs ? "it hangs" : r.said) << " (status " << r.status << ")";
            if (++wrong == 10) return;
        }
        EXPECT_GT(nth, 5) << "a run that allocates nothing shows nothing";
        std::printf("%lld allocations, of which %d end the program as stated\n", static_cast<long long>(nth - 1), ended);
    }
}

}  // namespace apiary
