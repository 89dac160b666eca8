// Exact driver of fork_join: one worker without a pool, so that no job is taken by another. It counts the instructions
// of a fork and its join against two calls, of a task_scope of ten jobs, and of loops, and checks that none allocates.
#include <array>
#include <cstdint>

#include <apiary/schedulers/fork_join/parallel.hpp>
#include <apiary/schedulers/fork_join/task_scope.hpp>

#include "exact/exact.hpp"

namespace {

using apiary::exact::must;
// The only worker is this thread: the work of a pool's threads beside the forks has no fixed count.
class lone_worker {
public:
    using context = apiary::fork_context<apiary::real_sync, lone_worker>;
    struct patience {
        explicit patience(const lone_worker&) {}
        bool over() const { return true; }
        void spend() {}
    };

    lone_worker() { context_.belongs_to(*this, 0); }
    unsigned lists() const { return 1; }
    context& context_of(unsigned) { return context_; }
    void wake(unsigned) {}
    void wake_one() {}
    void wait(unsigned) {}
    bool somebody_sleeps() const { return false; }

private:
    context context_;
};
using context = lone_worker::context;

// Splits into `n` leaves, by halves: a fork for each leaf except the last. Not inlined: the rest of the file decides
// how far g++ inlines a function into itself, and that alone made a fork 43.35 or 44.40 instructions.
[[gnu::noinline]] std::uint64_t leaves(context& w, std::uint64_t n) {
    if (n < 2) return n;
    const auto [left, right] = apiary::fork_join(
        w, [n](context& mine) { return leaves(mine, n / 2); }, [n](context& mine) { return leaves(mine, n - n / 2); });
    return left + right;
}

// The same by plain calls: the instructions that are not the fork's.
[[gnu::noinline]] std::uint64_t leaves_by_calls(std::uint64_t n) {
    if (n < 2) return n;
    return leaves_by_calls(n / 2) + leaves_by_calls(n - n / 2);
}

void fork(std::uint64_t n) {
    lone_worker alone;
    must(leaves(alone.context_of(0), n) == n, "a leaf was lost");
    must(alone.context_of(0).handed_out() <= 1,
         "a job was handed out, and nobody else is there");  // a list begins with a request
}

void scope_of_ten(std::uint64_t n) {
    lone_worker alone;
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < n; ++i) {
        apiary::task_scope s(alone.context_of(0));
        for (std::uint64_t k = 0; k < 10; ++k) s.run([&sum, k] { sum += k; });
        must(s.wait(), "a job had no turn");
    }
    must(sum == 45 * n, "a job was lost");
}

// N loops of so many indices. A body is one addition; the sum is kept in memory, or g++ would have no loop.
template <std::uint64_t Indices, bool Asked = false>
void loops(std::uint64_t n) {
    lone_worker alone;
    context& w = alone.context_of(0);
    std::uint64_t sum = 0;
    const auto body = [&sum](std::uint64_t i) {
        sum += i;
        asm volatile("" : "+m"(sum));
    };
    for (std::uint64_t i = 0; i < n; ++i) {
        if (Asked) w.jobs().ask();
        must(apiary::parallel_for(w, std::uint64_t{0}, Indices, body), "the loop ended early");
    }
    must(sum == n * (Indices * (Indices - 1) / 2), "an index was lost");
}
// The same loop by itself.
void plain_loop(std::uint64_t n) {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < n; ++i)
        for (std::uint64_t k = 0; k < 1000; ++k) {
            sum += k;
            asm volatile("" : "+m"(sum));
        }
    must(sum == n * 499'500, "an index was lost");
}

void two_calls(std::uint64_t n) { must(leaves_by_calls(n) == n, "a leaf was lost"); }

constexpr std::array operations{
    apiary::exact::operation{"fork", &fork},
    apiary::exact::operation{"loop_of_1000", &loops<1000>},
    apiary::exact::operation{"loop_of_two", &loops<2>},
    apiary::exact::operation{"loop_of_two_asked", &loops<2, true>},
    apiary::exact::operation{"plain_loop_of_1000", &plain_loop},
    apiary::exact::operation{"scope_of_ten", &scope_of_ten},
    apiary::exact::operation{"two_calls", &two_calls},
};

}  // namespace

int main(int argc, char** argv) { return apiary::exact::main_of(operations, argc, argv); }
