// interpreter: an oracle program, run under explorer_sync.
#pragma once

#include <cstdint>
#include <vector>

#include <apiary/model_check/explorer/run.hpp>
#include <apiary/model_check/explorer/tests/oracle.hpp>

namespace apiary::model::explorer::oracle {

inline program current;  // what the check below interprets; set between searches

struct interpreted {
    static constexpr unsigned threads = 4;
    explorer_sync::atomic<std::uint64_t> x{0}, y{0}, z{0};
    std::uint64_t seen[4][8] = {};
    unsigned count[4] = {};
    std::vector<std::uint64_t> final_values;

    explorer_sync::atomic<std::uint64_t>& at(unsigned l) { return l == 0 ? x : l == 1 ? y : z; }

    void thread(unsigned t) {
        if (t >= current.threads.size()) return;
        for (const instruction& i : current.threads[t]) {
            const auto order = static_cast<std::memory_order>(i.order);
            std::uint64_t expected = i.expected;
            switch (i.what) {
                case op::load:
                    seen[t][count[t]++] = at(i.location).load(order);
                    break;
                case op::store:
                    at(i.location).store(i.value, order);
                    break;
                case op::fetch_add:
                    seen[t][count[t]++] = at(i.location).fetch_add(i.value, order);
                    break;
                case op::cas:
                    at(i.location)
                        .compare_exchange_strong(expected, i.value, order,
                                                 static_cast<std::memory_order>(i.failure_order));
                    seen[t][count[t]++] = expected;
                    break;
                case op::fence:
                    if (i.order == light_order)
                        explorer_sync::fence_light();
                    else if (i.order == heavy_order)
                        explorer_sync::fence_heavy();
                    else
                        explorer_sync::fence(order);
                    break;
            }
        }
    }
    void after() {
        for (const unsigned l : current.finals) final_values.push_back(at(l).load(std::memory_order_relaxed));
    }
    std::vector<std::uint64_t> outcome() const {
        std::vector<std::uint64_t> all;
        for (unsigned t = 0; t < 4; ++t) all.insert(all.end(), seen[t], seen[t] + count[t]);
        all.insert(all.end(), final_values.begin(), final_values.end());
        return all;
    }
};

}  // namespace apiary::model::explorer::oracle
