// A ring of processes that pass a token: `processes_ring [PROCESSES [HOPS]]`. The last hop ends them all.
#include <apiary/schedulers/processes/processes.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

namespace {

// Its first message is the pid of its neighbour, the others are tokens.
class member : public apiary::process {
    apiary::init_answer init(context&, std::string_view method, apiary::payload) override {
        return method == "pass" ? apiary::init_answer::ready : apiary::init_answer::unknown_method;
    }
    void step(events& batch, output& out) override {
        while (apiary::event* e = batch.next()) {
            if (e->type == apiary::event_type::cancel) return out.finish();
            if (const auto* neighbour = e->data.get<apiary::pid>())
                next_ = *neighbour;
            else if (const long left = *e->data.get<long>(); left == 0)
                out.scheduler().request_stop();
            else
                (void)out.send(next_, left - 1);
        }
    }
    apiary::pid next_;
};

}  // namespace

int main(int argc, char** argv) {
    const long processes = argc > 1 ? std::atol(argv[1]) : 100, hops = argc > 2 ? std::atol(argv[2]) : 100'000;
    if (processes < 1 || hops < 1) return std::fputs("processes_ring [PROCESSES [HOPS]]\n", stderr), 2;
    apiary::processes all;
    std::vector<apiary::pid> ring;
    for (long i = 0; i != processes; ++i) ring.push_back(all.spawn(std::make_unique<member>(), "pass").id);
    for (std::size_t i = 0; i != ring.size(); ++i) (void)all.send(ring[i], ring[(i + 1) % ring.size()]);
    const auto from = std::chrono::steady_clock::now();
    (void)all.send(ring[0], hops);
    all.join();
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - from;
    const auto report = all.report();
    std::printf("%ld hops among %ld processes, %.0f ns each; %llu ended\n", hops, processes,
                took.count() / static_cast<double>(hops), static_cast<unsigned long long>(report.ended));
    return report.ended == ring.size() && report.forced.empty() ? 0 : 1;
}
