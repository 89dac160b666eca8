// apiary_calibrate: what the operations of the virtual machine cost on this machine, as a profile.
//
//     apiary_calibrate --defaults FILE [--out FILE] [--processors A,B | A] [--batches N] [--most-spread PERCENT]
//
// Two threads are pinned to two processors. Each price is the median of many short batches, so that one that was
// interrupted does not count. Where the quartiles of a price lie farther apart than --most-spread of its median, or where it
// cannot be measured here, the price of --defaults stays. A comment after each price says which.
//
// Writes a profile. Exit status: 0 it is whole; 2 bad arguments; 3 a thread cannot be pinned, or the file not be written.
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <apiary/sync/real_sync.hpp>
#include <apiary/virtual/prices.hpp>

#include "calibrate/plain_code.hpp"

// Each basic block of the counted copy of plain_code calls it.
namespace {
std::uint64_t blocks_run = 0;
}
extern "C" void __sanitizer_cov_trace_pc() { ++blocks_run; }  // NOLINT

namespace {

using namespace apiary;
using S = real_sync;
constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;

struct bad_arguments : std::runtime_error {
    using std::runtime_error::runtime_error;
};
struct refused_here : std::runtime_error {
    using std::runtime_error::runtime_error;
};

double now() { return static_cast<double>(S::now_ns()); }

void pin(int processor) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<unsigned>(processor), &one);
    if (::sched_setaffinity(0, sizeof one, &one) == 0) return;
    throw refused_here("processor " + std::to_string(processor) + ": no thread can be pinned to it (" + std::strerror(errno) +
                       ")\n  cause:  this machine has no such processor, or a sandbox or a cpuset refuses it"
                       "\n  remedy: --processors with two that `taskset -p $$` shows, or a profile of bench/virtual/profiles");
}

// A thread on the other processor, which does one piece of work after another.
class other {
public:
    // `shares`: the processor of its maker, to which it gives way.
    explicit other(int processor, bool shares = false) : shares_(shares), thread_([this, processor] { run(processor); }) {
        while (phase_.load(acquire) == starting) ::sched_yield();
        if (phase_.load(acquire) == failed) {
            thread_.join();
            throw refused_here(why_);
        }
    }
    ~other() {
        if (!thread_.joinable()) return;
        phase_.store(ending, release);
        thread_.join();
    }
    other(const other&) = delete;
    other& operator=(const other&) = delete;

    void begin(std::function<void()> work) {
        work_ = std::move(work);
        phase_.store(working, release);
    }
    void wait() const {
        while (phase_.load(acquire) == working) S::relax();
    }
    bool works() const { return phase_.load(acquire) == working; }
    void does(std::function<void()> work) {
        begin(std::move(work));
        wait();
    }

private:
    enum : int { starting, idle, working, ending, failed };
    void run(int processor) {
        try {
            pin(processor);
        } catch (const refused_here& e) {
            why_ = e.what();
            phase_.store(failed, release);
            return;
        }
        phase_.store(idle, release);
        for (int p = idle; p != ending; p = phase_.load(acquire)) {
            if (p != working) {
                shares_ ? void(::sched_yield()) : S::relax();
                continue;
            }
            work_();
            phase_.store(idle, release);
        }
    }

    alignas(256) std::atomic<int> phase_{starting};
    std::function<void()> work_;
    std::string why_;
    const bool shares_;
    std::thread thread_;
};

using samples = std::vector<double>;
double quantile(samples s, double q) {
    const auto at = s.begin() + static_cast<std::ptrdiff_t>(q * static_cast<double>(s.size() - 1));
    std::nth_element(s.begin(), at, s.end());
    return *at;
}

// Lines that no prefetcher foresees: each names the next, far away.
struct alignas(256) node {
    std::atomic<node*> next{nullptr};
    std::atomic<std::uint64_t> word{0};
};
class chain {
public:
    static constexpr std::size_t length = 64;
    chain() : nodes_(std::make_unique<std::array<node, length>>()) {
        for (std::size_t i = 0; i != length; ++i)
            (*nodes_)[i * 37 % length].next.store(&(*nodes_)[(i + 1) * 37 % length], relaxed);
    }
    // Each after the one before it.
    template <class F>
    double timed(F touch) {
        const double began = now();
        node* n = &nodes_->front();
        for (std::size_t i = 0; i != length; ++i) {
            touch(*n);
            n = n->next.load(relaxed);
        }
        kept_.store(n, relaxed);
        return (now() - began) / length;
    }
    void load_all() { timed([](node&) {}); }
    void change_all() { timed([](node& n) { n.word.fetch_add(1, relaxed); }); }
    void flush_all() {
#if defined(__x86_64__)
        for (node& n : *nodes_) _mm_clflush(&n);
        _mm_mfence();
#endif
    }

private:
    std::unique_ptr<std::array<node, length>> nodes_;
    std::atomic<node*> kept_{nullptr};
};

struct outcome {
    samples found;
    std::string remark;
};

class calibration {
public:
    calibration(std::size_t batches, std::vector<int> processors) : batches_(batches), processors_(std::move(processors)) {}

    void run() {
        pin(processors_[0]);
        one_processor();
        of_one_sleep();
        if (processors_.size() < 2) return;
        other b(processors_[1]);
        of_lines(b);
        of_fences(b);
        of_sleeps(b);
    }
    std::map<std::string, outcome, std::less<>> found;

private:
    template <class F>
    void repeat(const char* price, std::size_t operations, F f, std::size_t batches = 0) {
        samples& all = found[price].found;
        for (std::size_t i = 0, n = batches == 0 ? batches_ : batches; i != n; ++i) {
            const double began = now();
            for (std::size_t k = 0; k != operations; ++k) f();
            all.push_back((now() - began) / static_cast<double>(operations));
        }
    }

    void one_processor() {
        alignas(256) std::atomic<std::uint64_t> mine[4] = {};
        repeat("clock_read", 64, [] { (void)S::now_ns(); });
        repeat("hit", 1024, [&] {  // a load and a store
            mine[0].store(mine[1].load(relaxed), relaxed);
            mine[2].store(mine[3].load(relaxed), relaxed);
        });
        for (double& x : found["hit"].found) x /= 4;
        found["hit"].remark = "loads and stores that do not wait for each other";
        repeat("change_hit", 256, [&] { mine[0].fetch_add(1, relaxed); });
        repeat("fence", 256, [] { std::atomic_thread_fence(std::memory_order_seq_cst); });
        repeat("relax", 64, [] { S::relax(); });
        repeat("yield", 8, [] { ::sched_yield(); });
        repeat("heap", 64, [] {
            void* const p = ::operator new(48);
            asm volatile("" : : "r"(p) : "memory");
            ::operator delete(p);
        });
        for (double& x : found["heap"].found) x /= 2;
        S::futex nobody{0};
        repeat("futex_wake_nobody", 16, [&] { nobody.wake_one(); });
        timespec before{}, after{};
        const timespec hundred_us{0, 100'000};
        samples& late = found["timer_slack"].found;
        for (std::size_t i = 0; i != std::min<std::size_t>(batches_, 200); ++i) {
            ::clock_gettime(CLOCK_MONOTONIC, &before);
            ::clock_nanosleep(CLOCK_MONOTONIC, 0, &hundred_us, nullptr);
            ::clock_gettime(CLOCK_MONOTONIC, &after);
            late.push_back(static_cast<double>(after.tv_sec - before.tv_sec) * 1e9 +
                           static_cast<double>(after.tv_nsec - before.tv_nsec) - 100'000);
        }
        blocks_run = 0;
        std::uint64_t sum = 0;
        for (std::uint64_t seed = 0; seed != 16; ++seed) sum ^= calibrate::counted::plain_code(seed);
        const double blocks = static_cast<double>(blocks_run) / 16;
        std::uint64_t seed = 0;
        repeat("basic_block", 16, [&] { sum ^= calibrate::timed::plain_code(seed++ % 16); });
        for (double& x : found["basic_block"].found) x /= blocks;
        kept_.store(sum, relaxed);
        found["basic_block"].remark = std::to_string(std::lround(blocks)) + " blocks of heaps, lists and calls";
    }

    void of_lines(other& b) {
        chain lines;
        const double change = quantile(found["change_hit"].found, 0.5);
        const auto changed = [&] {
            return std::max(0.0, lines.timed([](node& n) { n.word.fetch_add(1, relaxed); }) - change);
        };
        samples &transfer = found["transfer"].found, &upgrade = found["upgrade"].found, &clean = found["clean_copy"].found;
        samples by_change, again;
        double reload = 0;
        for (std::size_t i = 0; i != batches_; ++i) {
            b.does([&] { lines.change_all(); });
            transfer.push_back(lines.timed([](node&) {}));
            b.does([&] { reload = lines.timed([](node&) {}); });
            again.push_back(reload);
            upgrade.push_back(changed());
            b.does([&] { lines.change_all(); });
            by_change.push_back(changed());
        }
        const double moved = quantile(transfer, 0.5), kept = quantile(again, 0.5);
        char text[96];
        std::snprintf(text, sizeof text, "a load; a read-modify-write %.3g beside its own price", quantile(by_change, 0.5));
        found["transfer"].remark = text;
        found["upgrade"].remark = "a read-modify-write of what both have, beside its own price";
        std::snprintf(text, sizeof text, "its former owner loads it again in %.3g ns", kept);
        found["load_takes"] = {{kept > moved / 2 ? 1.0 : 0.0}, text};
#if defined(__x86_64__)
        for (std::size_t i = 0; i != batches_; ++i) {
            lines.flush_all();
            b.does([&] { lines.load_all(); });
            clean.push_back(lines.timed([](node&) {}));
        }
        found["clean_copy"].remark = "of one other processor's copy";
#else
        (void)clean;
        found.erase("clean_copy");
#endif
    }

    void of_fences(other& b) {
        std::atomic<bool> over{false};
        std::atomic<std::uint64_t> turns{0};
        b.begin([&] {
            while (!over.load(relaxed)) turns.store(turns.load(relaxed) + 1, relaxed);
        });
        // Only while the other runs: it has to be interrupted.
        samples& barrier = found["barrier"].found;
        const double give_up = now() + seconds;
        while (barrier.size() != batches_ && now() < give_up) {
            const auto before = turns.load(relaxed);
            const double began = now();
            S::fence_heavy();
            const double took = now() - began;
            const auto middle = turns.load(relaxed);
            for (int k = 0; k != 8; ++k) S::relax();
            if (middle != before && turns.load(relaxed) != middle) barrier.push_back(took);
        }
        over.store(true, relaxed);
        b.wait();
        if (barrier.size() < batches_ / 10) found.erase("barrier");
        if (!the_membarrier.available) {
            if (found.contains("barrier")) found["barrier"].remark = "the kernel refuses membarrier: a fence";
            return;
        }
        // The other counts on; each interrupt costs it time.
        std::atomic<std::uint64_t> barriers{0};
        samples alone, beside;
        over.store(false, relaxed);
        const auto piece = [] {
            std::uint64_t x = 1;
            const double began = now();
            for (int i = 0; i != 20'000; ++i) {
                x = x * 0x9E3779B97F4A7C15U + 1;
                asm volatile("" : "+r"(x));
            }
            return now() - began;
        };
        b.does([&] {
            for (std::size_t i = 0; i != batches_; ++i) alone.push_back(piece());
        });
        const double usual = quantile(alone, 0.5);
        b.begin([&] {
            for (const double end = now() + seconds; beside.size() != batches_ && now() < end;) {
                const auto before = barriers.load(relaxed);
                const double took = piece();
                const auto n = barriers.load(relaxed) - before;
                if (n > 2) beside.push_back(std::max(0.0, took - usual) / static_cast<double>(n));
            }
            over.store(true, relaxed);
        });
        while (!over.load(relaxed)) {
            S::fence_heavy();
            barriers.fetch_add(1, relaxed);
        }
        b.wait();
        if (beside.size() > batches_ / 10) found["barrier_interrupt"].found = beside;
    }

    // Two threads of one processor that wake each other in turn: a wake, and the call that puts its caller to sleep.
    void of_one_sleep() {
        other beside(processors_[0], true);
        S::futex turn{0};
        beside.begin([&] {
            for (;;) {
                std::uint32_t seen = turn.load(acquire);
                while (seen == 0) {
                    (void)turn.wait(0, S::forever);
                    seen = turn.load(acquire);
                }
                if (seen == 2) return;
                turn.store(0, release);
                turn.wake_one();
            }
        });
        samples& wait = found["futex_wait"].found;
        for (std::size_t i = 0; i != std::min<std::size_t>(batches_, 2'000); ++i) {
            const double began = now();
            turn.store(1, release);
            turn.wake_one();
            const double woke = now();
            while (turn.load(acquire) != 0) (void)turn.wait(1, S::forever);
            const double all = now() - began;
            if (i != 0) wait.push_back(std::max(0.0, all / 2 - (woke - began)));
        }
        turn.store(2, release);
        turn.wake_one();
        while (beside.works()) ::sched_yield();
        found["futex_wait"].remark = "half a turn of two threads on one processor, without the wake";
    }

    void of_sleeps(other& b) {
        S::futex word{0};
        std::atomic<bool> sleeps{false};
        const std::size_t times = std::min<std::size_t>(batches_, 400);
        samples &wake = found["futex_wake"].found, &latency = found["wake_latency"].found;
        for (std::size_t i = 0; i != times; ++i) {
            double woken = 0;
            word.store(0, relaxed);
            sleeps.store(false, relaxed);
            b.begin([&] {
                sleeps.store(true, release);
                while (word.load(relaxed) == 0) (void)word.wait(0, S::forever);
                woken = now();
            });
            while (!sleeps.load(acquire)) S::relax();
            for (const double until = now() + 60'000; now() < until;) S::relax();  // it is asleep by then
            word.store(1, relaxed);
            const double began = now();
            const bool was_asleep = ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0) == 1;
            const double done = now();
            b.wait();
            if (!was_asleep) continue;
            wake.push_back(done - began);
            latency.push_back(std::max(0.0, woken - done));
        }
        for (const char* price : {"futex_wake", "wake_latency"})
            if (found[price].found.size() < times / 10 + 1) found.erase(price);
    }

    std::atomic<std::uint64_t> kept_{0};  // what the compiler may not leave out
    static constexpr double seconds = 2e9;  // for what depends on both threads running at once, at most
    const std::size_t batches_;
    const std::vector<int> processors_;
};

// Processors that share the last cache with the first one, by the system.
std::optional<unsigned> cluster_of(int processor) {
    for (int level = 4; level != 0; --level) {
        std::ifstream in("/sys/devices/system/cpu/cpu" + std::to_string(processor) + "/cache/index" + std::to_string(level) +
                         "/shared_cpu_map");
        std::string map;
        if (!(in >> map)) continue;
        unsigned n = 0;
        for (const char c : map)
            if (std::isxdigit(static_cast<unsigned char>(c)) != 0)
                n += static_cast<unsigned>(__builtin_popcount(static_cast<unsigned>(std::stoul(std::string(1, c), nullptr, 16))));
        if (n != 0) return n;
    }
    return std::nullopt;
}

std::vector<int> usable_processors() {
    cpu_set_t all;
    std::vector<int> found;
    if (::sched_getaffinity(0, sizeof all, &all) == 0)
        for (int i = 0; i != CPU_SETSIZE; ++i)
            if (CPU_ISSET(static_cast<unsigned>(i), &all)) found.push_back(i);
    return found;
}

std::string model_of_processor() {
    std::ifstream in("/proc/cpuinfo");
    for (std::string line; std::getline(in, line);)
        if (line.starts_with("model name")) return line.substr(line.find(": ") + 2);
    return "a processor without a name";
}

std::string shown(double x) {
    char text[32];
    std::snprintf(text, sizeof text, "%.4g", x);
    if (std::strchr(text, 'e') != nullptr) std::snprintf(text, sizeof text, "%.0f", x);
    return text;
}

struct call {
    std::string defaults, out;
    std::vector<int> processors;
    std::size_t batches = 2'000;
    double most_spread = 50;
};

template <class T>
T number_of(std::string_view option, std::string_view word, T least, T most) {
    T n{};
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), n);
    if (error != std::errc{} || end != word.data() + word.size() || n < least || n > most)
        throw bad_arguments(std::string(option) + " is \"" + std::string(word) + "\"\n  cause:  it can be " +
                            std::to_string(least) + " to " + std::to_string(most) + "\n  remedy: a number within");
    return n;
}

call parse(const std::vector<std::string_view>& words) {
    call c;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string_view w = words[i];
        const std::array known{"--defaults", "--out", "--processors", "--batches", "--most-spread"};
        if (std::find(known.begin(), known.end(), w) == known.end())
            throw bad_arguments(std::string(w) + " is no option\n  cause:  these are: --defaults, --out, --processors, --batches, "
                                "--most-spread\n  remedy: one of them");
        if (++i == words.size()) throw bad_arguments(std::string(w) + " needs a value");
        const std::string_view value = words[i];
        if (w == "--defaults") c.defaults = value;
        if (w == "--out") c.out = value;
        if (w == "--batches") c.batches = number_of<std::size_t>(w, value, 10, 1'000'000);
        if (w == "--most-spread") c.most_spread = number_of<int>(w, value, 0, 10'000);
        if (w == "--processors") {
            const auto comma = value.find(',');
            c.processors = {number_of<int>(w, value.substr(0, comma), 0, CPU_SETSIZE - 1)};
            if (comma != std::string_view::npos)
                c.processors.push_back(number_of<int>(w, value.substr(comma + 1), 0, CPU_SETSIZE - 1));
            if (c.processors.size() == 2 && c.processors[0] == c.processors[1])
                throw bad_arguments("--processors " + std::string(value) +
                                    "\n  cause:  a line moves between two processors\n  remedy: two different ones, or one alone");
        }
    }
    if (c.defaults.empty())
        throw bad_arguments("no --defaults\n  cause:  what cannot be measured keeps a price\n  remedy: --defaults "
                            "bench/virtual/profiles/flat.profile");
    if (c.processors.empty()) {
        c.processors = usable_processors();
        if (c.processors.empty()) throw refused_here("the system does not tell which processors this process may use");
        if (c.processors.size() > 2) c.processors.resize(2);
    }
    return c;
}

std::string profile_of(const call& c, const calibration& done, unsigned& measured, unsigned& noisy) {
    const virt::prices defaults = virt::read_profile(c.defaults);
    const bool two = c.processors.size() == 2;
    std::string text = "# " + model_of_processor() + ", " + (two ? "processors " : "processor ") + std::to_string(c.processors[0]) +
                       (two ? " and " + std::to_string(c.processors[1]) : " alone") + ": scripts/apiary calibrate.\n# Measured: " +
                       "median, quartiles of " + std::to_string(c.batches) + " batches. Default: of " +
                       c.defaults.substr(c.defaults.rfind('/') + 1) + ".\n";
    if (!two) text += "# With one processor no line moves and nobody sleeps elsewhere: those prices are defaults.\n";
    const auto sharing = cluster_of(c.processors[0]);
    for (const virt::price_name& n : virt::price_names()) {
        double value = static_cast<double>(defaults.*n.member) / n.scale;
        std::string remark = "default: not measured here";
        const auto at = done.found.find(n.name);
        if (n.name == "cluster" && sharing) {
            value = *sharing;
            remark = "by the system: so many processors share the last cache";
        } else if (n.name == "far_transfer") {
            // Two processors of one cluster do not show it: the default's ratio to its own transfer.
            const auto near = done.found.find("transfer");
            if (near != done.found.end() && !near->second.found.empty() && defaults.transfer != 0) {
                const double ratio = static_cast<double>(defaults.far_transfer) / static_cast<double>(defaults.transfer);
                value = ratio * quantile(near->second.found, 0.5);
                remark = "not measured: " + shown(ratio) + " times transfer, as in the defaults";
            }
        } else if (at != done.found.end() && !at->second.found.empty()) {
            const samples& s = at->second.found;
            const double low = quantile(s, 0.25), middle = quantile(s, 0.5), high = quantile(s, 0.75);
            const std::string spread = shown(low) + " to " + shown(high);
            if ((high - low) * 100 >= c.most_spread * std::max(middle, 0.01) && high != low) {
                ++noisy;
                remark = "default: too noisy here, " + shown(middle) + ", quartiles " + spread;
            } else {
                ++measured;
                value = middle;
                remark = "measured, quartiles " + spread + (at->second.remark.empty() ? "" : "; " + at->second.remark);
            }
        }
        text += std::string(n.name) + " = " + shown(value) + "  # " + remark + "\n";
    }
    (void)virt::parse_profile(text, "what was measured");  // it can be read
    return text;
}

int refuse(int status, const std::exception& e) {
    std::fprintf(stderr, "apiary_calibrate: %s\n", e.what());
    return status;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const call c = parse({argv + 1, argv + argc});
        (void)virt::read_profile(c.defaults);
        calibration all(c.batches, c.processors);
        all.run();
        unsigned measured = 0, noisy = 0;
        const std::string text = profile_of(c, all, measured, noisy);
        if (c.out.empty()) {
            std::fputs(text.c_str(), stdout);
        } else {
            std::ofstream out(c.out);
            if (!(out << text << std::flush))
                throw refused_here(c.out + ": cannot be written\n  cause:  no such folder, no right, or no room"
                                   "\n  remedy: another --out");
        }
        std::fprintf(stderr, "apiary_calibrate: %u prices measured, %u too noisy, the others keep the default\n", measured, noisy);
        if (noisy != 0) std::fputs("  remedy: again, when nothing else runs; or a larger --most-spread\n", stderr);
        if (c.processors.size() < 2)
            std::fputs("  cause:  one processor alone: no line moves between two\n  remedy: --processors A,B\n", stderr);
        return std::fflush(stdout) == 0 ? 0 : 3;
    } catch (const bad_arguments& e) {
        return refuse(2, e);
    } catch (const virt::profile_error& e) {
        return refuse(2, e);
    } catch (const std::exception& e) {
        return refuse(3, e);
    }
}
