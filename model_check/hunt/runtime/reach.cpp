// reach: see the header.
#include "reach.hpp"

#include <sys/mman.h>

#include <cstring>

#include "machine.hpp"

namespace apiary::hunt {

reach the_reach;

namespace {

constexpr const char* waits[] = {
    "condition wait", "futex wait",        "sem_wait", "sem_timedwait", "lock", "timed lock", "shared lock",
    "exclusive lock", "timed shared lock", "barrier",  "epoll_wait",    "poll", "read"};

std::uint64_t mixed(std::uint64_t x) {
    x *= 0x9e3779b97f4a7c15;
    return x ^ x >> 29;
}

}  // namespace

std::uint64_t reached::pair_count() const {
    std::uint64_t n = 0;
    for (const std::uint64_t word : pairs) n += static_cast<std::uint64_t>(__builtin_popcountll(word));
    return n;
}

void reach::begin() {
    all_ =
        static_cast<reached*>(mmap(nullptr, sizeof *all_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    if (all_ == MAP_FAILED) machine::end(3);
}

site& reach::comes(std::uintptr_t place, const char* operation, std::uintptr_t object, moment now,
                   const vector_clock& knows) {
    const std::uint64_t hash = mixed(place ^ reinterpret_cast<std::uintptr_t>(operation) << 20);
    std::size_t at = 0;
    for (std::size_t tries = 0;; ++tries) {  // first in a few pages: each that a run touches is mapped for it
        at = (hash + tries) % (tries < 32 ? 512 : reached::most_sites - 1);
        site& s = all_->sites[at];
        if (s.place == place && s.operation == operation) break;
        if (s.operation != nullptr && tries < 96) continue;
        if (s.operation != nullptr) at = reached::most_sites - 1;
        site& fresh = all_->sites[at];
        fresh.place = place;
        fresh.operation = operation;
        for (const char* one : waits)
            if (std::strcmp(one, operation) == 0) fresh.flags |= site::may_wait;
        if (std::strcmp(operation, "load") == 0) fresh.flags |= site::looks;
        break;
    }
    site& s = all_->sites[at];
    ++s.times;
    if (s.run == all_->run && s.thread != now.thread) s.flags |= site::by_two;
    s.run = all_->run;
    s.thread = now.thread;
    if (object == 0) return s;
    use& before = last_[mixed(object) % last_.size()];
    if (before.object == object && before.when.thread != now.thread && !knows.knows(before.when) &&
        ((s.flags & before.where->flags & site::looks) == 0)) {
        s.flags |= site::met;
        before.where->flags |= site::met;
        const std::uint64_t pair = mixed(before.where->place * 31 + place) % (reached::pair_words * 64);
        all_->pairs[pair / 64] |= std::uint64_t{1} << pair % 64;
    }
    before = {object, &s, now};
    return s;
}

}  // namespace apiary::hunt
