// theft_pay: whether what a worker has stolen was worth it, and how long it rests where it was not.
//
// When to use it. In process_sources, by the thief. When not: where tasks are no messages.
//
// A message that is handled on another processor than its sender's is fetched from there, and so are its receiver, its block,
// and soon these again by the sender. Where handlers do next to nothing, two workers that take from each other are slower
// than one: each waits for lines that the other has written. So a worker counts what it handles: runs of processes, and
// messages to and from mailboxes with a bound, of which a run may have many. When its loot has been run, and it took less than so long for each, nearly all of that
// time went into fetching; then it leaves the others alone for `rests` times as long, at most `longest_ns`.
//
// Threads.  One worker's.
// Progress. Constant time.
// Tested by process_parts_test.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

namespace apiary {

class theft_pay {
public:
    static constexpr std::int64_t least_ns = 20'000;  // of work before it is judged
    static constexpr std::int64_t rests = 4, longest_ns = 1'000'000;

    void handled(std::uint64_t n) { handled_ += n; }
    // Since the last call that was behind a theft, one more has come, and all that it brought has been run: `thefts` counts them.
    bool is_behind(std::uint64_t thefts) { return std::exchange(thefts_, thefts) != thefts; }
    // So long the worker rests; 0: it goes on. `pays_ns`: 0: every theft pays.
    std::int64_t rest(std::int64_t now_ns, std::int64_t pays_ns) {
        const std::int64_t took = now_ns - since_ns_;
        if (took < least_ns) return 0;
        const bool pays = pays_ns == 0 || took / pays_ns >= static_cast<std::int64_t>(handled_);
        begin(now_ns);
        return pays ? 0 : std::min(rests * took, longest_ns);
    }
    // Behind a rest, which is no work.
    void begin(std::int64_t now_ns) {
        since_ns_ = now_ns;
        handled_ = 0;
    }

private:
    std::int64_t since_ns_ = 0;
    std::uint64_t handled_ = 0, thefts_ = 0;
};

}  // namespace apiary
