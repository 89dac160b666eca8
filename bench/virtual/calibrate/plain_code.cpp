// plain_code: a heap of deadlines, lists of jobs, bits of idle workers, and calls through a table. No shared access, and
// nothing of a library that is not inlined.
#include "calibrate/plain_code.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <utility>

namespace apiary::calibrate::PLAIN_CODE {

namespace {

struct job {
    job* next = nullptr;
    std::uint64_t (*run)(job&) = nullptr;
    std::uint64_t value = 0;
};
std::uint64_t add(job& j) { return j.value + 1; }
std::uint64_t fold(job& j) { return (j.value ^ j.value >> 7) * 0x9E3779B97F4A7C15U; }

struct list {
    job *first = nullptr, *last = nullptr;
    void push(job& j) {
        j.next = nullptr;
        (first == nullptr ? first : last->next) = &j;
        last = &j;
    }
    job* pop() {
        job* const j = first;
        if (j != nullptr && (first = j->next) == nullptr) last = nullptr;
        return j;
    }
};

class heap {
public:
    void push(std::uint64_t x) {
        std::size_t i = size_++;
        for (; i != 0 && x < at_[(i - 1) / 2]; i = (i - 1) / 2) at_[i] = at_[(i - 1) / 2];
        at_[i] = x;
    }
    std::uint64_t pop() {
        const std::uint64_t least = at_[0], x = at_[--size_];
        std::size_t i = 0;
        for (std::size_t k = 1; k < size_; k = 2 * i + 1) {
            if (k + 1 < size_ && at_[k + 1] < at_[k]) ++k;
            if (x <= at_[k]) break;
            at_[std::exchange(i, k)] = at_[k];
        }
        at_[i] = x;
        return least;
    }

private:
    std::array<std::uint64_t, 64> at_{};
    std::size_t size_ = 0;
};

}  // namespace

std::uint64_t plain_code(std::uint64_t seed) {
    std::array<job, 64> jobs;
    std::array<list, 8> of_worker;
    heap deadlines;
    std::uint64_t idle = 0xFF, sum = seed;
    for (std::size_t i = 0; i != jobs.size(); ++i) {
        jobs[i].run = i % 8 == 0 ? &fold : &add;
        jobs[i].value = seed + i;
        of_worker[i % of_worker.size()].push(jobs[i]);
        if (i % 4 == 0) deadlines.push((seed + i) * 0x9E3779B97F4A7C15U >> 40);
    }
    for (std::size_t done = 0, w = 0; done != 4 * jobs.size(); w = (w + 1) % of_worker.size()) {
        if ((idle >> w & 1U) == 0 && std::popcount(idle) > 4) continue;
        job* const j = of_worker[w].pop();
        if (j == nullptr) {
            idle |= std::uint64_t{1} << w;
            continue;
        }
        idle &= ~(std::uint64_t{1} << w);
        if (idle == 0) idle = 0xFF;
        sum += j->run(*j);
        j->value = sum;
        of_worker[(w + 1) % of_worker.size()].push(*j);
        if (++done % 8 == 0) deadlines.push(deadlines.pop() + (sum & 1023));
    }
    return sum;
}

}  // namespace apiary::calibrate::PLAIN_CODE
