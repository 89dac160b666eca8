// The frame of a stress program: see harness.hpp.
#include <apiary/stress/harness.hpp>

#include <sched.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <thread>

#include <apiary/stress/command_line.hpp>
#include <apiary/sync/chaos_sync.hpp>

namespace apiary::stress {
namespace {

using steady = std::chrono::steady_clock;

const char* program = "stress";

std::string repeat_line(const options& o, std::uint64_t seed) {
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "%g", o.seconds);
    return std::string(program) + " --seconds " + seconds + " --seed " + std::to_string(seed) + " --threads " +
           std::to_string(o.threads) + (o.one_cpu ? " --one-cpu" : "");
}

// Aborts the program when a run makes no progress. The limit is wall time, and generous: it separates
// "for ever" from "slow", nothing finer.
class watchdog {
public:
    explicit watchdog(const run& r) : run_(r), thread_([this] { watch(); }) {}
    ~watchdog() {
        {
            const std::lock_guard held(mutex_);
            over_ = true;
        }
        changed_.notify_one();
        thread_.join();
    }

private:
    void watch() {
        std::unique_lock held(mutex_);
        std::uint64_t seen = run_.steps();
        const std::chrono::duration<double> limit(run_.opts.watchdog_seconds);
        while (!changed_.wait_for(held, limit, [this] { return over_; })) {
            const std::uint64_t now = run_.steps();
            if (now == seen) {
                std::fprintf(stderr, "%s\n", run_.describe().c_str());
                run_.fail("no progress for " + std::to_string(limit.count()) + " s after " + std::to_string(now) +
                          " steps: a wake-up was lost, or a thread spins");
            }
            seen = now;
        }
    }

    const run& run_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool over_ = false;
    std::thread thread_;
};

// The current round, for laws that break in code that does not have it.
const run* current_run = nullptr;

void stay_on_one_cpu() {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(::sched_getcpu()), &set);
    if (::sched_setaffinity(0, sizeof set, &set) != 0) std::perror("--one-cpu: sched_setaffinity");
}

}  // namespace

void run::fail(const std::string& what) const {
    write_verdict(opts, program, "fail", seed, 0, steps(), 0);
    std::fprintf(stderr, "%s: FAILED: %s\n  repeat with: %s\n", program, what.c_str(), repeat_line(opts, seed).c_str());
    std::fflush(stderr);
    std::_Exit(1);
}

int main(int argc, char** argv, const char* what, const std::function<void(run&)>& body) {
    const std::string path = argv[0], name = path.substr(path.rfind('/') + 1);
    program = name.c_str();
    options o;
    if (const std::optional<int> over = read_command_line(argc, argv, what, program, o)) return *over;
    if (o.seed == 0) o.seed = static_cast<std::uint64_t>(steady::now().time_since_epoch().count()) % 1'000'000'007;
    if (o.one_cpu) stay_on_one_cpu();
    std::printf("%s: %s; seed %llu, %u threads\n", program, what, static_cast<unsigned long long>(o.seed), o.threads);
    std::fflush(stdout);

    real_sync::at_failure = [](const char* law) { current_run->fail(law); };

    const auto start = steady::now();
    const auto elapsed = [&start] { return std::chrono::duration<double>(steady::now() - start).count(); };
    std::uint64_t rounds = 0, steps = 0;
    do {
        run r(o, o.seed + rounds);
        chaos::set_seed(r.seed);
        chaos::enter(0);
        current_run = &r;
        const watchdog guard(r);
        body(r);
        steps += r.steps();
        ++rounds;
    } while (elapsed() < o.seconds);

    std::printf("%s: ok, %llu rounds, %llu steps, %.1f s\n", program, static_cast<unsigned long long>(rounds),
                static_cast<unsigned long long>(steps), elapsed());
    write_verdict(o, program, "pass", o.seed, rounds, steps, elapsed());
    return 0;
}

}  // namespace apiary::stress
