// mutant: other memory orders at some places of the program, so that one build is hunted with each mutant of an order
// in turn (scripts/apiary mutate --hunted). A place is the operation's in the machine code: where a header was inlined
// there are several. More than `most` are refused by name.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace apiary::hunt {

struct mutant {
    static constexpr int dropped = 6;  // after the last of std::memory_order: of a fence, that it is not there
    static constexpr unsigned most = 4096;

    struct change {
        std::uintptr_t place;
        int order;
        bool of_failure;  // a compare-exchange's second order

        bool operator<(const change& other) const {
            return place != other.place ? place < other.place : of_failure < other.of_failure;
        }
    };
    change all[most];  // in order of their places
    unsigned count = 0;

    int order_at(std::uintptr_t place, bool of_failure, int order) const {
        const change wanted{place, 0, of_failure};
        const change* const found = std::lower_bound(all, all + count, wanted);
        return found == all + count || wanted < *found ? order : found->order;
    }
    // "4012af.0,4012f3.2f": place, order, and f for the order of a failure. Null, or what is wrong with it.
    const char* read(const char* text) {
        static constexpr const char* none = "no such mutant";
        for (count = 0; *text != '\0'; ++count) {
            char* end = nullptr;
            if (count == most) return "a mutant of more than 4096 places";
            change& c = all[count];
            c.place = std::strtoull(text, &end, 16);
            if (end == text || *end != '.') return none;
            c.order = end[1] - '0';
            if (c.order < 0 || c.order > dropped) return none;
            c.of_failure = end[2] == 'f';
            text = end + (c.of_failure ? 3 : 2);
            if (*text == ',')
                ++text;
            else if (*text != '\0')
                return none;
        }
        std::sort(all, all + count);
        for (unsigned i = 1; i < count; ++i)
            if (!(all[i - 1] < all[i])) return "a mutant with a place that stands there twice";
        return count != 0 ? nullptr : none;
    }
};
inline constinit mutant the_mutant{};

}  // namespace apiary::hunt
