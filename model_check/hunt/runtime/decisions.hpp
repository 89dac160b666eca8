// decisions: where a run did otherwise than the quiet schedule without stale reads would, and a run that does only so
// much of it.
//
// A decision belongs to a thread's operation, by number, so it stays where it is when decisions of other threads go. A
// run by a list of decisions takes each where its operation comes, if that can be done there; everything else is as
// usual. Written as text a list is part of a seed: "pa,1.13s2,0.5r1", where p stands for patient, a for blocks that are
// used again, then for each decision its thread, the operation, the kind, and the value.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heap.hpp"

namespace apiary::hunt {

struct decision {
    enum : char {
        switches = 's',  // value: to that thread
        reads = 'r',     // or stores: so many stores before the newest
        fails = 'o',     // a wait ends, or a compare-exchange fails, for no reason
        wakes = 'w',     // value: that thread, of those that wait
    };
    std::uint32_t thread, operation, value;
    char kind;
    bool taken;
};

// Of one run; a child writes it, in memory that the process which started it reads.
struct decision_log {
    static constexpr std::size_t most = 200'000;
    std::size_t count;
    bool overflowed;
    decision all[most];
};

class decisions {
public:
    bool follows() const { return follows_; }
    void follow(const decision* all, std::size_t count);
    void note_in(decision_log* log) { log_ = log; }

    bool has(std::uint32_t thread, std::uint32_t operation, char kind) {
        return find(thread, operation, kind) != nullptr;
    }
    // `drawn`, or what the list has here; `usual` where it has nothing.
    std::uint32_t decided(std::uint32_t thread, std::uint32_t operation, char kind, std::uint32_t usual,
                          std::uint32_t drawn);

private:
    decision* find(std::uint32_t thread, std::uint32_t operation, char kind);

    struct of_thread {
        own_vector<decision> all;
        std::size_t next = 0;
    };
    own_vector<of_thread> threads_;
    decision_log* log_ = nullptr;
    bool follows_ = false;
};

// Of a list as text. False: it is none.
struct decision_list {
    bool patient = false, uses_blocks_again = false;
    own_vector<decision> all;
    bool read(const char* text);
    bool write(char* to, std::size_t room) const;  // false: there is no room
};

}  // namespace apiary::hunt
