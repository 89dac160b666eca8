// The frame of a stress program: options, rounds until the time is up, a watchdog, one verdict.
//
//     int main(int argc, char** argv) {
//         return apiary::stress::main(argc, argv, "deque under theft", [](apiary::stress::run& r) { … });
//     }
//
// The body is called once per round with a run that holds the round's seed. It reports progress by `r.progress()`;
// without progress for `--watchdog` seconds, the watchdog prints what `r.describe` says of every part, and aborts: a
// lost wake-up is a hang, and a hang is a finding.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <utility>

namespace apiary::stress {

struct options {
    double seconds = 1;
    std::uint64_t seed = 0;  // 0: drawn from the clock, and printed
    unsigned threads = 6;
    double watchdog_seconds = 60;
    bool one_cpu = false;  // every thread on one CPU: preemption in place of parallelism
    std::string json;
};

// What a run says of its parts. Its threads set it, and the watchdog asks, in any order.
class description {
public:
    void operator=(std::function<std::string()> tell) {
        const std::lock_guard held(mutex_);
        tell_ = std::move(tell);
    }
    std::string operator()() const {
        const std::lock_guard held(mutex_);
        return tell_ ? tell_() : "(no description)";
    }

private:
    mutable std::mutex mutex_;
    std::function<std::string()> tell_;
};

class run {
public:
    run(const options& o, std::uint64_t round_seed) : opts(o), seed(round_seed) {}

    // Any thread may call this at any time.
    void progress() noexcept { steps_.fetch_add(1, std::memory_order_relaxed); }
    std::uint64_t steps() const noexcept { return steps_.load(std::memory_order_relaxed); }

    // Reports a broken law: prints it with the line that repeats the run, and ends the program with status 1.
    [[noreturn]] void fail(const std::string& what) const;

    const options& opts;
    const std::uint64_t seed;
    description
        describe;  // the state, for the watchdog: what it refers to lives as long as the round, or until the next is set

private:
    std::atomic<std::uint64_t> steps_{0};
};

// Parses the options, repeats the body until the seconds are over, prints a verdict. Exit status: 0 ok,
// 1 a law was broken, 2 bad arguments.
int main(int argc, char** argv, const char* what, const std::function<void(run&)>& body);

}  // namespace apiary::stress
