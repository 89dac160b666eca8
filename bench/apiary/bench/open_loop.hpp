// The frame of every open-loop scenario: it posts tasks at the times of a plan, and each stamps the end of its service.
//
// Threads. The main thread; finish: each task, once per number.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <apiary/bench/injector.hpp>
#include <apiary/bench/scenario.hpp>

namespace apiary::bench {

class open_loop {
public:
    explicit open_loop(const run_options& options)
        : plan_(options.plan), account_(options.slowdown_ns), finished_(options.plan.size()) {}

    // The task of post i calls this when its service is over, as its last act.
    void finish(std::size_t i) noexcept {
        finished_[i] = now_ns();
        account_.complete(i);
    }

    // Calls release(i) at the times of the plan and then closing(), and sleeps until all tasks have run.
    template <class Release, class Closing>
    void run(Release release, Closing closing) {
        account_.open(plan_.size());
        const std::int64_t cpu_start = process_cpu_ns();
        injected_ = inject_from_new_thread(plan_, std::move(release));
        closing();
        account_.wait();
        cpu_ns_ = process_cpu_ns() - cpu_start;
    }

    template <class Release>
    void run(Release release) {
        run(std::move(release), [] {});
    }

    // The posts that ran later than that, in millionths.
    [[nodiscard]] std::uint64_t later_than_ppm(std::int64_t ns) const {
        const auto later = std::ranges::count_if(finished_, [ns](std::int64_t at) { return at > ns; });
        return static_cast<std::uint64_t>(later) * 1'000'000 / finished_.size();
    }

    struct all_posts {
        bool operator()(std::size_t) const { return true; }
    };

    // measures(i): post i is in the histograms. All posts are in the account.
    template <class Runtime, class Measures = all_posts>
    [[nodiscard]] report result(const Runtime& runtime, Measures measures = {}) const {
        report result = figures(plan_, finished_, injected_, measures);
        row& r = result.measured;
        r.cpu_ns = static_cast<std::uint64_t>(cpu_ns_ - injected_.cost_ns);
        r.check = account_.sum();
        r.add_flag("injector_us=" + std::to_string(injected_.cost_ns / 1000));
        result.audit("the run", account_.sum(), expected_sum(plan_.size()));
        if (account_.ran_on_a_poster()) result.wrong(std::string(ran_on_a_poster));
        fill_counters(r, runtime);
        return result;
    }

    // Rates, latencies and the flags of both, for posts that were over at these times (now_ns).
    template <class Measures = all_posts>
    [[nodiscard]] static report figures(std::span<const std::int64_t> plan, std::span<const std::int64_t> finished,
                                        const injection& injected, Measures measures = {}) {
        const std::size_t n = plan.size();
        report result;
        histogram punctual, lateness;
        std::int64_t last = 0;
        for (std::size_t i = 0; i < n; ++i) {
            const std::int64_t at = finished[i] - injected.zero_ns, late = injected.lateness[i];
            last = std::max(last, at);
            if (i < discarded(n) || !measures(i)) continue;
            result.latency.record(static_cast<std::uint64_t>(at - plan[i]));
            punctual.record(static_cast<std::uint64_t>(at - plan[i] - late));
            lateness.record(static_cast<std::uint64_t>(late));
        }
        row& r = result.measured;
        r.warmup_blocks = 0;
        r.blocks = 1;
        r.ops = n;
        r.offered_per_s = per_second(n, plan.back());
        r.achieved_per_s = per_second(n, last);
        r.set_latency(result.latency);
        r.lateness_p99_ns = lateness.printed_percentile({990});
        for (const auto& [name, q] : percentiles)
            if (injector_limited(result.latency, punctual, q)) r.add_flag("injector_limited_" + std::string(name));
        if (overloaded(*r.offered_per_s, *r.achieved_per_s)) r.add_flag("overloaded");
        if (!injected.undisplaced) r.add_flag("injector_plain");
        return result;
    }

    // True if the injector, not the subject, shaped a printed percentile: the percentile loses more than a fifth when
    // each post counts from the time at which an injector that is never late would have released it.
    [[nodiscard]] static bool injector_limited(const histogram& latency, const histogram& punctual, permille q) {
        if (!latency.printed_percentile(q)) return false;
        const auto at = [q](const histogram& h) { return static_cast<double>(h.percentile(q).value_or(0)); };
        return at(punctual) < 0.8 * at(latency);
    }

    // True if work was still left when the plan was over by more than a hundredth.
    [[nodiscard]] static bool overloaded(double offered, double achieved) { return achieved / offered < 0.99; }

    // Processor time of the injector itself, which is not in the subject's cpu_ns.
    [[nodiscard]] std::int64_t injector_ns() const noexcept { return injected_.cost_ns; }

private:
    // Infinite, printed as not measured, for an empty span.
    static double per_second(std::size_t n, std::int64_t span_ns) {
        if (span_ns == 0) return std::numeric_limits<double>::infinity();
        return static_cast<double>(n) * 1e9 / static_cast<double>(span_ns);
    }

    const std::vector<std::int64_t>& plan_;
    ledger account_;
    // One word per task, which that task writes once: recording costs the same for the first and the last.
    std::vector<std::int64_t> finished_;
    injection injected_;
    std::int64_t cpu_ns_ = 0;
};

// Informative: the plan rules.
inline constexpr parameter rate_parameter{.name = "rate", .standard = 1000, .most = 1'000'000'000};

}  // namespace apiary::bench
