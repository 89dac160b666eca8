// One run of a scheduler as it ships, in a variant, with a fault or without: rounds whose pieces of work are booked by their
// numbers. This process starts another, does to it what the fault says, and prints one line of JSON: what happened. See README.md.
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <optional>
#include <random>

#include <apiary/testing/replaced_new.hpp>

#include "desks.hpp"
#include "faults.hpp"
#include "planted.hpp"

extern "C" [[gnu::weak]] int __lsan_do_recoverable_leak_check();  // of AddressSanitizer, where the program has it

void apiary::before_allocation(std::size_t, std::size_t) {
    if (night::this_allocation_fails()) throw std::bad_alloc();
}

namespace {

using namespace apiary::night;
using apiary::stop_mode;
using steady = std::chrono::steady_clock;

double since(steady::time_point then) { return std::chrono::duration<double>(steady::now() - then).count(); }

struct options {
    std::string scheduler, variant = "as_is", fault = "none";
    double seconds = 0, watchdog = 20;  // at least one round
    std::uint64_t seed = 1;
    std::size_t ids = 6000;
    std::int64_t nth = 0;
    bool inner = false;
    int out = -1;  // where the inner one reports
};

// ---- the inner process

enum ends : int { fine = 0, lost = 10, hang = 11, refused = 12, cannot = 13 };

struct tally {
    std::uint64_t pieces = 0, refusals = 0, sleeps = 0, rounds = 0;
    // After the first rounds, when all pools of blocks are filled, and at the end.
    long memory_begin = 0, memory_end = 0;
    bool none_failed = false;
};

long resident_kb() {
    long pages = 0, resident = 0;
    if (FILE* const f = std::fopen("/proc/self/statm", "r")) {
        if (std::fscanf(f, "%ld %ld", &pages, &resident) != 2) resident = 0;
        (void)std::fclose(f);
    }
    return resident * (::sysconf(_SC_PAGESIZE) / 1024);
}

std::uint64_t voluntary_switches() {
    rusage u{};
    (void)::getrusage(RUSAGE_SELF, &u);
    return static_cast<std::uint64_t>(u.ru_nvcsw);
}

std::string first_line(const std::string& path) {
    std::array<char, 200> line{};
    FILE* const f = std::fopen(path.c_str(), "r");
    if (f == nullptr) return "";
    std::string s = std::fgets(line.data(), line.size(), f) != nullptr ? line.data() : "";
    (void)std::fclose(f);
    while (!s.empty() && s.back() == '\n') s.pop_back();
    return s;
}

// Ends the process when no piece moves. A lock guards what it needs in order to tell why, since rounds begin and end meanwhile.
class watchdog {
public:
    explicit watchdog(double limit) : limit_(limit), thread_([this] { watch(); }) { thread_.detach(); }

    void look_at(const books* b, std::function<std::string()> describe) {
        const std::lock_guard held(mutex_);
        books_ = b, describe_ = std::move(describe);
    }

private:
    void watch() {
        std::uint64_t seen = 0;
        auto since_when = steady::now();
        for (;;) {
            sleep_seconds(std::min(limit_ / 8, 0.25));
            const std::lock_guard held(mutex_);
            const std::uint64_t now = books_ != nullptr ? books_->steps() : seen + 1;
            if (now != seen) since_when = steady::now();
            seen = now;
            if (since(since_when) > limit_) dump(now);
        }
    }
    [[noreturn]] void dump(std::uint64_t steps) const {
        one_in = 0, allocations_left = none_fails;
        try {
            print(steps);
        } catch (const std::bad_alloc&) {
            std::fputs("(there is no memory to tell more)\n", stderr);
        }
        std::fflush(stderr);
        std::_Exit(hang);
    }
    void print(std::uint64_t steps) const {
        std::fprintf(stderr, "no progress for %g s after %llu steps: a wake-up was lost, a piece, or a thread spins\n",
                     limit_, static_cast<unsigned long long>(steps));
        std::fprintf(stderr, "%s\n", books_->pending().c_str());
        for (const pid_t t : threads_of(::getpid())) {
            const std::string at = "/proc/self/task/" + std::to_string(t) + "/";
            const std::string stat = first_line(at + "stat");
            const std::size_t name_ends = stat.rfind(')');
            std::fprintf(stderr, "thread %d: state %c, in %s, system call %s\n", t,
                         name_ends == std::string::npos || name_ends + 2 >= stat.size() ? '?' : stat[name_ends + 2],
                         first_line(at + "wchan").c_str(), first_line(at + "syscall").c_str());
        }
        if (describe_) std::fprintf(stderr, "%s\n", describe_().c_str());
    }

    const double limit_;
    std::mutex mutex_;
    const books* books_ = nullptr;
    std::function<std::string()> describe_;
    std::thread thread_;
};

unsigned processors() { return std::max(1U, std::thread::hardware_concurrency()); }

setting setting_of(const options& o) {
    setting s{.workers = std::max(2U, processors()), .ids = o.ids};
    if (o.variant == "no_spin") s.spins = false;
    if (o.variant == "over4") s.workers = 4 * processors();
    if (o.variant == "over16") s.workers = std::min(16 * processors(), 64U);
    if (o.variant == "attach_detach") s.churns = true;
    if (o.variant == "throwing") s.throws = true;
    if (o.variant == "full_queues") s.full = true;
    if (o.variant == "start_stop") s.ids = std::min<std::size_t>(o.ids, 60);
    return s;
}

std::vector<const refusal*> those_of(const std::string& fault, bool before_main) {
    std::vector<const refusal*> found;
    for (const refusal& r : refusals())
        if (r.before_main == before_main && (fault == r.name || fault == "all")) found.push_back(&r);
    return found;
}

// Whether a desk's constructor said that it cannot be made; and what it said.
template <class Desk>
std::optional<std::string> round(const options& o, const setting& s, std::uint64_t seed, watchdog& dog, tally& t,
                                 const std::string& mid) {
    books b(s.ids);
    dice random(seed);
    std::string wrong, failure;
    bool dropped = false;
    {  // at its end the desk is destroyed, and what it still holds is dropped
        if (o.fault == "allocation" || o.fault == "allocations")
            later_ones_fail = o.fault == "allocations", allocations_left = o.nth;
        if (o.variant == "no_memory") one_in = 7 + static_cast<std::int64_t>(seed % 200);
        std::optional<Desk> made;
        try {
            made.emplace(s, b);
        } catch (const std::exception& e) {
            return std::string(e.what());
        }
        Desk& d = *made;
        dog.look_at(&b, [&d] { return d.describe(); });
        struct at_its_end {
            watchdog& its;
            ~at_its_end() { its.look_at(nullptr, {}); }
        } looks_no_more{dog};
        const bool alone = o.fault == "clone" || o.fault == "all" || o.fault == "mmap" || o.fault == "allocation" ||
                           o.fault == "allocations";
        const bool by_chance = o.fault == "stop";
        const std::size_t stop_after = by_chance ? random.below(static_cast<std::uint32_t>(s.ids)) : s.ids + 1;
        const stop_mode how = by_chance && random.below(2) == 0 ? stop_mode::discard : stop_mode::drain;
        const auto poster = [&](std::uint64_t own_seed, bool first) {
            dice own(own_seed);
            for (std::size_t posts = 0; d.post(own); ++posts) {
                if (own.below(32) == 0) sleep_seconds(1e-6 * own.below(300));
                if (first && s.churns && posts % 16 == 0) d.churn();
                if (first && posts == 8)
                    for (const bool before_main : {true, false})
                        if (const auto which = those_of(mid, before_main); !which.empty() && !refuse(which))
                            std::_Exit(cannot);
            }
        };
        std::thread other, stopper;
        std::atomic<bool> posters_ended = false;
        spared = true;
        if (!alone) {
            other = std::thread([&] { poster(seed * 31 + 1, false); });
            if (by_chance)
                stopper = std::thread([&] {
                    while (b.steps() < stop_after && !posters_ended) std::this_thread::yield();
                    d.request_stop(how);
                });
        }
        spared = false;
        poster(seed * 31, true);
        if (other.joinable()) other.join();
        posters_ended = true;  // also for lack of memory, before as many steps
        if (stopper.joinable()) stopper.join();
        const bool waits = (seed % 2 == 0 || Desk::waits_first) && !d.may_drop() && !by_chance;
        while (waits && !b.all_ended() && !d.may_drop()) sleep_seconds(50e-6);
        d.end(how);
        b.close();
        dropped = d.may_drop(), failure = d.failure();
        t.sleeps += d.sleeps();
    }
    // The settling has memory.
    one_in = 0;
    if (allocations_left > 0 && o.nth != 0) t.none_failed = true;
    allocations_left = none_fails;
    if (wrong = b.settle(dropped); !wrong.empty()) {
        std::fprintf(stderr, "%s; %s\n", wrong.c_str(), b.pending().c_str());
        std::fflush(stderr);
        std::_Exit(lost);
    }
    t.pieces += b.run(), t.refusals += b.refusals(), ++t.rounds;
    if (!failure.empty()) return failure;
    return std::nullopt;
}

void report(const options& o, const tally& t) {
    std::array<char, 300> line{};
    const int n = std::snprintf(line.data(), line.size(), "%llu %llu %llu %llu %ld %ld %llu %d",
                                static_cast<unsigned long long>(t.pieces), static_cast<unsigned long long>(t.refusals),
                                static_cast<unsigned long long>(t.sleeps), static_cast<unsigned long long>(t.rounds),
                                t.memory_begin, t.memory_end, static_cast<unsigned long long>(voluntary_switches()),
                                t.none_failed ? 1 : 0);
    if (::write(o.out, line.data(), static_cast<std::size_t>(n)) != n) std::_Exit(cannot);
}

template <class Desk>
[[noreturn]] void run_inner(const options& o) {
    if (o.variant == "one_cpu") {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(static_cast<std::size_t>(::sched_getcpu()), &set);
        (void)::sched_setaffinity(0, sizeof set, &set);
    }
    // Its thread comes before any is refused, and before the signals, which it does not take.
    static watchdog dog(o.watchdog);
    take_signals();
    const setting s = setting_of(o);
    const std::string late = ".late";
    const bool is_late = o.fault.ends_with(late);
    const std::string mid = is_late ? o.fault.substr(0, o.fault.size() - late.size()) : "";
    if (const auto which = those_of(o.fault, false); !which.empty() && !refuse(which)) std::_Exit(cannot);
    tally t;
    const auto start = steady::now();
    std::uint64_t seed = o.seed;
    do {
        if (const auto said = round<Desk>(o, s, seed, dog, t, t.rounds == 0 ? mid : "")) {
            one_in = 0, allocations_left = none_fails;
            if (o.variant == "no_memory") {
                ++t.refusals, ++seed;
                continue;
            }
            std::fprintf(stderr, "%s\n", said->c_str());
            std::fflush(stderr);
            report(o, t);
            std::_Exit(refused);
        }
        if (t.rounds >= 4 && t.memory_begin == 0) t.memory_begin = resident_kb();
        ++seed;
    } while (since(start) < o.seconds);
    t.memory_end = resident_kb();
    report(o, t);
    if (__lsan_do_recoverable_leak_check != nullptr && __lsan_do_recoverable_leak_check() != 0) std::_Exit(lost);
    std::fflush(stderr);
    std::_Exit(fine);
}

// ---- the process beside it

// What it prints: a law that was broken, a message with which it ends, or nothing.
struct child {
    pid_t pid = -1;
    int words = -1, numbers = -1;
};

child start(const std::vector<std::string>& words, const std::vector<const refusal*>& which) {
    int said[2], told[2];
    if (::pipe2(said, O_CLOEXEC) != 0 || ::pipe2(told, O_CLOEXEC) != 0) return {};
    const pid_t pid = ::fork();
    if (pid == 0) {
        (void)::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        (void)::dup2(said[1], STDERR_FILENO);
        const int out = ::fcntl(told[1], F_DUPFD, 20);
        std::vector<std::string> all = words;
        all.push_back("--inner");
        all.push_back(std::to_string(out));
        std::vector<char*> argv;
        for (std::string& w : all) argv.push_back(w.data());
        argv.push_back(nullptr);
        if (!which.empty() && !refuse(which)) std::_Exit(cannot);
        ::execv("/proc/self/exe", argv.data());
        std::_Exit(cannot);
    }
    (void)::close(said[1]);
    (void)::close(told[1]);
    return {pid, said[0], told[0]};
}

// What the fault does to the running child, a little at a time. The seconds until the next time.
double torment(const options& o, pid_t pid, std::mt19937_64& random, double age) {
    const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
    if (o.fault == "eintr") {
        for (const pid_t thread : threads_of(pid)) signal_thread(pid, thread, interrupts);
        return 20e-6;
    }
    if (o.fault == "thread_stops") {  // one at a time
        const auto all = threads_of(pid);
        if (age > 0.02 && !all.empty()) signal_thread(pid, all[below(static_cast<unsigned>(all.size()))], stops);
        return age > 0.02 ? stop_seconds + 0.001 * below(500) : 0.02;
    }
    if (o.fault == "tenth") {  // of the time it may run
        (void)::kill(pid, SIGSTOP);
        sleep_seconds(0.009);
        (void)::kill(pid, SIGCONT);
        return 0.001;
    }
    if (o.variant == "clock_jumps") {  // all clocks go on, and no thread does
        sleep_seconds(0.001 * below(200));
        (void)::kill(pid, SIGSTOP);
        sleep_seconds(0.001 * (1U << below(9)));
        (void)::kill(pid, SIGCONT);
        return 0.001;
    }
    return 0.02;
}

std::string escaped(const std::string& s) {
    std::string out;
    for (const char c : s) {
        if (c == '"' || c == '\\') out += '\\';
        if (c == '\n')
            out += "\\n";
        else if (static_cast<unsigned char>(c) >= 32)
            out += c;
    }
    return out;
}

// Messages with which a process ends on purpose: of these headers (Sync::fail), which say which law its user or the system broke;
// and of glibc, where a thread's first pooled block needs an entry for its end.
bool is_stated(const std::string& said, const std::string& scheduler) {
    for (const std::string& begin :
         {std::string("membarrier is refused"), scheduler + ": no memory",
          std::string("Fatal glibc error: failed to register TLS destructor: out of memory")})
        if (said.find(begin) != std::string::npos) return true;
    return false;
}

struct outcome {
    std::string word, said;
    tally t;
    std::uint64_t switches = 0;
    double seconds = 0;
};

outcome run_once(const options& o, const std::vector<std::string>& words) {
    const auto began = steady::now();
    const child c = start(words, those_of(o.fault, true));
    if (c.pid < 0) return {.word = "CRASH", .said = "no process could be started", .t = {}};
    std::mt19937_64 random(o.seed);
    outcome r;
    std::string numbers;
    int status = 0;
    (void)::fcntl(c.words, F_SETFL, O_NONBLOCK);
    const double most = o.seconds + 3 * o.watchdog + 20;
    bool killed = false;
    const auto read_all = [](int fd, std::string& into) {
        std::array<char, 4096> some;
        for (ssize_t n = 0; (n = ::read(fd, some.data(), some.size())) > 0;)
            if (into.size() < (1U << 16)) into.append(some.data(), static_cast<std::size_t>(n));
    };
    for (double due = 0; ::waitpid(c.pid, &status, WNOHANG) == 0;) {
        if (const double age = since(began); age >= due) due = age + torment(o, c.pid, random, age);
        const double pause = std::clamp(due - since(began), 0.0, 0.02);
        pollfd p{c.words, POLLIN, 0};
        const timespec t{0, static_cast<long>(pause * 1e9)};
        (void)::ppoll(&p, 1, &t, nullptr);
        read_all(c.words, r.said);
        if (since(began) > most && !killed) killed = true, (void)::kill(c.pid, SIGKILL);
    }
    read_all(c.words, r.said);
    read_all(c.numbers, numbers);
    (void)::close(c.words);
    (void)::close(c.numbers);
    while (!r.said.empty() && r.said.back() == '\n') r.said.pop_back();
    r.seconds = since(began);
    unsigned long long pieces = 0, refusals = 0, sleeps = 0, rounds = 0, switches = 0;
    int none = 0;
    if (std::sscanf(numbers.c_str(), "%llu %llu %llu %llu %ld %ld %llu %d", &pieces, &refusals, &sleeps, &rounds,
                    &r.t.memory_begin, &r.t.memory_end, &switches, &none) == 8)
        r.t.pieces = pieces, r.t.refusals = refusals, r.t.sleeps = sleeps, r.t.rounds = rounds, r.switches = switches,
        r.t.none_failed = none == 1;
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (killed)
        r.word = "HANG", r.said += " (it did not end, and was killed)";
    else if (code == fine)
        r.word = "works";
    else if (code == refused)
        r.word = "refused";
    else if (code == lost)
        r.word = "LOST";
    else if (code == hang)
        r.word = "HANG";
    else if (code == cannot)
        r.word = "cannot", r.said += " the kernel has no such filter for this process";
    else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && is_stated(r.said, o.scheduler))
        r.word = "ends";
    else
        r.word = "CRASH", r.said += WIFSIGNALED(status) ? " (signal " + std::to_string(WTERMSIG(status)) + ")"
                                                        : " (status " + std::to_string(code) + ")";
    return r;
}

void print(const options& o, const outcome& r) {
    std::printf(
        "{\"scheduler\":\"%s\",\"variant\":\"%s\",\"fault\":\"%s\",\"seed\":%llu,\"nth\":%lld,\"word\":\"%s\",\"said\":"
        "\"%s\","
        "\"pieces\":%llu,\"refusals\":%llu,\"sleeps\":%llu,\"switches\":%llu,\"rounds\":%llu,\"kb_begin\":%ld,\"kb_"
        "end\":%ld,"
        "\"none_failed\":%s,\"seconds\":%.3f}\n",
        o.scheduler.c_str(), o.variant.c_str(), o.fault.c_str(), static_cast<unsigned long long>(o.seed),
        static_cast<long long>(o.nth), r.word.c_str(), escaped(r.said).c_str(),
        static_cast<unsigned long long>(r.t.pieces), static_cast<unsigned long long>(r.t.refusals),
        static_cast<unsigned long long>(r.t.sleeps), static_cast<unsigned long long>(r.switches),
        static_cast<unsigned long long>(r.t.rounds), r.t.memory_begin, r.t.memory_end,
        r.t.none_failed ? "true" : "false", r.seconds);
    std::fflush(stdout);
}

template <class... Desk>
struct all_of {
    static bool dispatch(const options& o) {
        return ((o.scheduler == Desk::name ? (run_inner<Desk>(o), true) : false) || ...);
    }
    static bool knows(const std::string& s) { return ((s == Desk::name) || ...); }
    static void list() { (std::printf("%s\n", std::string(Desk::name).c_str()), ...); }
};
using desks = all_of<bare_pool_desk, coro_pool_desk, fork_join_desk, global_queue_desk, hive_desk, processes_desk,
                     task_graph_desk, planted_loses, planted_doubles, planted_late, planted_hangs, planted_crashes,
                     planted_leaks, planted_races, planted_uses_freed, planted_keeps>;

template <class T>
bool read_number(const char* text, T& into) {
    const char* const end = text + std::strlen(text);
    const auto [at, error] = std::from_chars(text, end, into);
    return error == std::errc() && at == end;
}

int usage(const char* what) {
    std::fprintf(stderr,
                 "stress_night: %s\n"
                 "stress_night SCHEDULER [--variant V] [--fault F] [--nth N] [--seed N] [--seconds S] [--ids N] "
                 "[--watchdog S] | --list\n",
                 what);
    return 2;
}

}  // namespace

int main(int argc, char** argv) {
    options o;
    std::vector<std::string> words(argv, argv + argc);
    for (int i = 1; i < argc; ++i) {
        const std::string_view w = argv[i];
        if (w == "--list") return desks::list(), 0;
        if (!w.starts_with("--")) {
            o.scheduler = w;
            continue;
        }
        if (i + 1 == argc) return usage("an option lacks its value");
        const char* const value = argv[++i];
        bool good = true;
        if (w == "--variant")
            o.variant = value;
        else if (w == "--fault")
            o.fault = value;
        else if (w == "--nth")
            good = read_number(value, o.nth) && o.nth > 0;
        else if (w == "--seed")
            good = read_number(value, o.seed);
        else if (w == "--seconds")
            good = read_number(value, o.seconds) && o.seconds >= 0;
        else if (w == "--watchdog")
            good = read_number(value, o.watchdog) && o.watchdog > 0;
        else if (w == "--ids")
            good = read_number(value, o.ids) && o.ids >= 1 && o.ids <= 10'000'000;
        else if (w == "--inner")
            good = read_number(value, o.out), o.inner = true;
        else
            return usage("an option that it does not know");
        if (!good) return usage("a value that it cannot read");
    }
    if (!desks::knows(o.scheduler)) return usage("a scheduler that it does not know; --list names them");
    if (o.inner) return desks::dispatch(o) ? 0 : 2;
    hold_signals();
    // The n-th allocation, for each n until a run has fewer. A scheduler that is always red has no such run.
    constexpr int enough_red = 20;
    const bool sweep = (o.fault == "allocation" || o.fault == "allocations") && o.nth == 0;
    int red = 0;
    if (!sweep) {
        const outcome r = run_once(o, words);
        print(o, r);
        red += r.word == "LOST" || r.word == "HANG" || r.word == "CRASH";
    }
    for (o.nth = sweep ? 1 : 0; o.nth != 0 && red != enough_red; ++o.nth) {
        std::vector<std::string> one = words;
        one.insert(one.end(), {"--nth", std::to_string(o.nth)});
        const outcome r = run_once(o, one);
        if (r.word == "works" && r.t.none_failed) break;
        print(o, r);
        red += r.word == "LOST" || r.word == "HANG" || r.word == "CRASH";
    }
    return red != 0 ? 1 : 0;
}
