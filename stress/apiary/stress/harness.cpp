// The frame of a stress program: see harness.hpp.
#include <apiary/stress/harness.hpp>

#include <sched.h>

#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>

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

template <class Number>
bool parse(std::string_view text, Number& out) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    return error == std::errc{} && end == text.data() + text.size();
}

constexpr const char* usage =
    "  --seconds S    how long, at least one round (1)\n"
    "  --seed N       repeats the decisions of a run (drawn from the clock, and printed)\n"
    "  --threads T    how many threads work, 2 to 64 (6)\n"
    "  --watchdog S   seconds without progress that count as a hang (60)\n"
    "  --one-cpu      all threads on one CPU\n"
    "  --json FILE    appends the verdict as one JSON line\n"
    "  --list         what this program stresses\n";

// Nothing when the arguments are bad; the reason has been printed then.
std::optional<options> parse_arguments(int argc, char** argv) {
    options o;
    for (int i = 1; i < argc; ++i) {
        const std::string_view name = argv[i];
        if (name == "--one-cpu") {
            o.one_cpu = true;
            continue;
        }
        const bool known =
            name == "--seconds" || name == "--seed" || name == "--threads" || name == "--watchdog" || name == "--json";
        if (!known || i + 1 == argc) {
            std::fprintf(stderr, "%s: %s '%s'. The options are:\n%s", program,
                         known ? "no value after" : "unknown option", argv[i], usage);
            return std::nullopt;
        }
        const std::string_view value = argv[++i];
        bool good = true;
        if (name == "--seconds") good = parse(value, o.seconds) && o.seconds >= 0;
        if (name == "--seed") good = parse(value, o.seed);
        if (name == "--threads") good = parse(value, o.threads) && o.threads >= 2 && o.threads <= 64;
        if (name == "--watchdog") good = parse(value, o.watchdog_seconds) && o.watchdog_seconds > 0;
        if (name == "--json") o.json = value;
        if (!good) {
            std::fprintf(stderr, "%s: '%s' is no value for %s. The options are:\n%s", program, argv[i], argv[i - 1],
                         usage);
            return std::nullopt;
        }
    }
    if (o.seed == 0) o.seed = static_cast<std::uint64_t>(steady::now().time_since_epoch().count()) % 1'000'000'007;
    return o;
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
                std::fprintf(stderr, "%s\n", run_.describe ? run_.describe().c_str() : "(no description)");
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

// One JSON line, when the options ask for it.
void write_verdict(const options& o, const char* verdict, std::uint64_t seed, std::uint64_t rounds, std::uint64_t steps,
                   double seconds) {
    if (o.json.empty()) return;
    std::FILE* f = std::fopen(o.json.c_str(), "a");
    if (f == nullptr) {
        std::perror(o.json.c_str());
        std::_Exit(2);
    }
    std::fprintf(f,
                 "{\"program\":\"%s\",\"verdict\":\"%s\",\"seed\":%llu,\"rounds\":%llu,\"steps\":%llu,"
                 "\"seconds\":%.1f}\n",
                 program, verdict, static_cast<unsigned long long>(seed), static_cast<unsigned long long>(rounds),
                 static_cast<unsigned long long>(steps), seconds);
    std::fclose(f);
}

// The round at work, for laws that break far from it.
const run* current_run = nullptr;

void stay_on_one_cpu() {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(::sched_getcpu()), &set);
    if (::sched_setaffinity(0, sizeof set, &set) != 0) std::perror("--one-cpu: sched_setaffinity");
}

}  // namespace

void run::fail(const std::string& what) const {
    write_verdict(opts, "fail", seed, 0, steps(), 0);
    std::fprintf(stderr, "%s: FAILED: %s\n  repeat with: %s\n", program, what.c_str(), repeat_line(opts, seed).c_str());
    std::fflush(stderr);
    std::_Exit(1);
}

int main(int argc, char** argv, const char* what, const std::function<void(run&)>& body) {
    if (const char* slash = std::strrchr(argv[0], '/')) program = slash + 1;
    if (argc == 2 && std::strcmp(argv[1], "--list") == 0) {
        std::printf("%s: %s\n", program, what);
        return 0;
    }
    const auto parsed = parse_arguments(argc, argv);
    if (!parsed) return 2;
    const options& o = *parsed;
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
    write_verdict(o, "pass", o.seed, rounds, steps, elapsed());
    return 0;
}

}  // namespace apiary::stress
