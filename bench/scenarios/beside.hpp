// Tasks that compute beside what is measured (mixed_load, echo_beside): by what means, and what they lost.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <apiary/bench/scenario.hpp>

#include "scenarios/background.hpp"

namespace apiary::bench {

class beside {
    static constexpr std::array<std::string_view, 4> means{"own", "workers", "second", "rayon"};

public:
    static constexpr parameter compute_us_parameter{.name = "compute_us", .standard = 2000, .most = 1'000'000};
    static constexpr parameter compute_workers_parameter{.name = "compute_workers", .standard = {}, .most = 1024};
    static constexpr parameter means_parameter{.name = "beside", .standard = 0, .words = means};

    explicit beside(const run_options& options, std::uint64_t slice_us = 0)
        : options_(options),
          means_(means[options.param("beside")]),
          slice_us_(slice_us),
          workers_(static_cast<unsigned>(options.optional_param("compute_workers").value_or(options.workers))),
          compute_(2U * workers_, static_cast<std::int64_t>(options.param("compute_us")) * 1000,
                   static_cast<std::int64_t>(slice_us) * 1000) {
        if (slice_us != 0 && means_ != "workers")
            throw bad_arguments(
                "--param slice_us: compute tasks offer their slice to posts where beside=workers alone");
    }

    // Calls body(runtime, begin): begin() has the tasks compute.
    template <poster Runtime, class Body>
    report run(Body body) {
        const auto post = [](auto& runtime) { return [r = &runtime](auto task) { r->post(task); }; };
        const auto spawn = [](auto& runtime) { return [r = &runtime](auto task) { bench::spawn(*r, task); }; };
        const auto start = [&](auto... hand_in) {
            return [this, hand_in...] {
                for (unsigned k = 0; k < 2 * workers_; ++k) compute_.start(hand_in...);
            };
        };
        if (means_ == "own") {
            if constexpr (compute_runtime<Runtime>) {
                Runtime runtime(options_.workers, workers_);
                const auto again = [r = &runtime](auto task) { r->post_compute(task); };
                return body(runtime, start(again, again));
            }
            throw unsupported_here("it has no means of its own for long tasks; beside=workers does without");
        }
        if (means_ == "second") {
            if constexpr (several_at_once<Runtime>) {
                Runtime runtime(options_.workers), second(workers_);
                return body(runtime, start(post(second), spawn(second)));
            }
            throw unsupported_here("two of it do not compute beside each other");
        }
        if (means_ == "rayon") throw unsupported_here("rayon is a library for Rust");
        Runtime runtime(options_.workers);
        if (slice_us_ == 0) return body(runtime, start(post(runtime), spawn(runtime)));
        if constexpr (slicer<Runtime>) {
            return body(runtime, start(post(runtime), spawn(runtime), [r = &runtime](auto rest) {
                            const bool yes = bench::work_waits(*r);
                            if (yes) r->repost(rest);
                            return yes;
                        }));
        }
        throw unsupported_here("it has no call by which a task lets those go first that wait; slice_us=0 does without");
    }

    // The tasks compute in the workers: what is measured may wait for ever beside them.
    [[nodiscard]] bool in_the_workers() const { return means_ == "workers"; }
    [[nodiscard]] compute_load& compute() { return compute_; }

    struct moment {
        std::int64_t ns;
        std::uint64_t done;
    };
    [[nodiscard]] moment now() const { return {.ns = now_ns(), .done = compute_.done()}; }

    // Counts them alone, for a quarter of the plan's length, once they have all begun.
    void count_alone() {
        sleep_until_ns(now_ns() + settle_ns);
        first_ = now();
        sleep_until_ns(first_.ns + options_.plan.back() / 4);
        middle_ = now();
    }
    [[nodiscard]] moment middle() const { return middle_; }

    // After compute().wait(): adds what they did until `last`.
    void tell(report& result, moment last, std::int64_t injector_ns) const {
        if (!compute_.ran_each_once()) result.wrong(std::string(compute_load::complaint));
        row& r = result.measured;
        r.add_flag("compute_tasks=" + std::to_string(last.done - middle_.done));
        r.add_flag("compute_ns=" + std::to_string(last.ns - middle_.ns));
        const unsigned processors = std::min(in_the_workers() ? options_.workers : workers_, usable_processors());
        if (const auto lost = lost_ppm(first_, middle_, last, processors, injector_ns))
            r.add_flag("compute_lost_ppm=" + std::to_string(*lost));
    }

    // The loss against the throughput alone, in millionths; negative if there was more. The injector's own processor
    // time does not count as lost. Empty if one task is more than a hundredth of the work done alone.
    [[nodiscard]] static std::optional<std::int64_t> lost_ppm(moment first, moment middle, moment last,
                                                              unsigned processors, std::int64_t injector_ns) {
        const std::uint64_t alone = middle.done - first.done, beside = last.done - middle.done;
        const double alone_ns = static_cast<double>(middle.ns - first.ns) * processors;
        const double beside_ns =
            static_cast<double>(last.ns - middle.ns) * processors - static_cast<double>(injector_ns);
        if (alone < 100 || beside_ns <= 0) return std::nullopt;
        const double kept = static_cast<double>(beside) / beside_ns / (static_cast<double>(alone) / alone_ns);
        return std::llround((1 - kept) * 1e6);
    }

private:
    static constexpr std::int64_t settle_ns = 20'000'000;  // for threads that start when there is work for them

    const run_options& options_;
    const std::string_view means_;
    const std::uint64_t slice_us_;
    const unsigned workers_;
    compute_load compute_;
    moment first_{}, middle_{};
};

}  // namespace apiary::bench
