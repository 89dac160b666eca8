// The stack under real threads: every index is with one thread or in the stack.
#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include <apiary/stress/harness.hpp>
#include <apiary/sync/chaos_sync.hpp>

#include "index_stack.hpp"

namespace {

using apiary::chaos_sync;
constexpr unsigned indices = 4, turns = 20'000;

struct small {
    static constexpr unsigned capacity = indices, tag_bits = 48;
};

void churn(apiary::stress::run& r) {
    index_stack<chaos_sync, small> stack;
    std::array<std::atomic<bool>, indices> held{};
    r.describe = [] { return std::string("index stack, pop and push"); };
    for (unsigned i = 0; i != indices; ++i) stack.push(i);
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t != r.opts.threads; ++t)
        threads.emplace_back([&, t] {
            apiary::chaos::enter(t + 1);
            for (unsigned turn = 0; turn != turns; ++turn) {
                const auto index = stack.pop();
                if (!index) continue;
                if (held[*index].exchange(true)) r.fail("an index was popped twice");
                held[*index].store(false);
                stack.push(*index);
                r.progress();
            }
        });
}

}  // namespace

int main(int argc, char** argv) { return apiary::stress::main(argc, argv, "index stack", churn); }
