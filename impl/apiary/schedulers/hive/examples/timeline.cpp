// hive_timeline: some milliseconds of a hive at mixed work, as a trace for ui.perfetto.dev ("Open trace file") or
// chrome://tracing.
//
//     hive_timeline FILE.json [MILLISECONDS]     (default 20, at most 10000)
//
// Two IO workers and a compute worker: bursts of small tasks by one worker, which the other one steals; posts from
// outside; timers; long tasks. The source is also how to get a trace of one's own: apiary::traced_hive in place of
// apiary::hive, and write_trace.
//
// Prints what each worker did: a line of counters each, as a test compares them with the trace. Exit code: 0, 1 the
// file cannot be written, 2 the command line makes no sense.
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <thread>

#include <apiary/schedulers/hive/hive.hpp>

namespace {

using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;

void busy(std::chrono::microseconds how_long) {
    const auto until = clock_type::now() + how_long;
    while (clock_type::now() < until) {
    }
}

// A post is refused only after the stop; it needs no answer here.
class mixed_work {
public:
    explicit mixed_work(apiary::traced_hive& h) : hive_(h) {}

    void start() {
        burst();
        timer();
        compute();
    }

private:
    void burst() {
        (void)hive_.post_delayed(
            [this] {
                for (int i = 0; i < 16; ++i) (void)hive_.post_micro([] { busy(20us); });
                burst();
            },
            1ms);
    }
    void timer() {
        (void)hive_.post_delayed([this] { timer(); }, 300us);
    }
    void compute() {
        (void)hive_.post_compute([this] {
            busy(2ms);
            (void)hive_.post_delayed([this] { compute(); }, 500us);
        });
    }
    apiary::traced_hive& hive_;
};

}  // namespace

int main(int argc, char** argv) {
    unsigned ms = 20;
    const char* const number = argc == 3 ? argv[2] : "20";
    const auto [end, error] = std::from_chars(number, number + std::strlen(number), ms);
    if (argc < 2 || argc > 3 || error != std::errc() || *end != '\0' || ms == 0 || ms > 10'000) {
        std::fprintf(stderr, "usage: hive_timeline FILE.json [MILLISECONDS]     (1 to 10000, default 20)\n");
        return 2;
    }
    std::ofstream out(argv[1]);
    apiary::traced_hive h({.io_workers = 2, .compute_workers = 1});
    mixed_work work(h);
    work.start();
    std::thread outside([&h, ms] {
        for (const auto until = clock_type::now() + std::chrono::milliseconds(ms); clock_type::now() < until;) {
            (void)h.post_micro([] { busy(50us); });
            std::this_thread::sleep_for(700us);
        }
        h.request_stop();
    });
    h.run();
    outside.join();
    h.write_trace(out);
    out.close();
    if (!out) {
        std::fprintf(stderr, "hive_timeline: cannot write '%s'\n", argv[1]);
        return 1;
    }
    for (const apiary::worker_counters& c : h.snapshot())
        std::printf("%s worker %u: run=%llu parked=%llu woken=%llu stolen=%llu batches=%llu\n",
                    c.kind == apiary::worker_kind::io ? "IO" : "compute", c.slot,
                    static_cast<unsigned long long>(c.run), static_cast<unsigned long long>(c.parked),
                    static_cast<unsigned long long>(c.woken), static_cast<unsigned long long>(c.stolen),
                    static_cast<unsigned long long>(c.batches));
    return 0;
}
