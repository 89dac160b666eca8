// strategy: see the header.
#include "strategy.hpp"

#include <algorithm>
#include <cstring>

namespace apiary::hunt {

namespace {

constexpr const char* names[][2] = {{"quiet", "quiet"},     {"random,sc", "random,weak"}, {"bursts,sc", "bursts,weak"},
                                    {"pct,sc", "pct,weak"}, {"pos,sc", "pos,weak"},       {"told", "told"}};

std::uint64_t mix(std::uint64_t x) {  // splitmix64
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

}  // namespace

const char* strategy::name() const { return names[static_cast<unsigned>(how)][weak ? 1 : 0]; }

bool read_words(const char* text, wanted& w) {
    while (*text != '\0') {
        const char* const end = std::strchr(text, ',');
        const std::size_t length = end != nullptr ? static_cast<std::size_t>(end - text) : std::strlen(text);
        const auto is = [&](const char* word) {
            return std::strlen(word) == length && std::strncmp(text, word, length) == 0;
        };
        if (is("quiet"))
            w.how = static_cast<int>(schedule::quiet);
        else if (is("random"))
            w.how = static_cast<int>(schedule::random);
        else if (is("bursts"))
            w.how = static_cast<int>(schedule::bursts);
        else if (is("pct"))
            w.how = static_cast<int>(schedule::pct);
        else if (is("pos"))
            w.how = static_cast<int>(schedule::pos);
        else if (is("sc") || is("weak"))
            w.weak = is("weak") ? 1 : 0;
        else if (is("patient"))
            w.patient = 1;
        else if (!is("portfolio"))
            return false;
        text += length + (end != nullptr ? 1 : 0);
    }
    return true;
}

void draws::seed(std::uint64_t s) {
    a_ = mix(s);
    b_ = mix(s ^ 0xabcdef);
}
std::uint64_t draws::next() {  // xorshift128+
    std::uint64_t a = a_;
    const std::uint64_t b = b_;
    a_ = b;
    a ^= a << 23;
    b_ = a ^ b ^ (a >> 17) ^ (b >> 26);
    return b_ + b;
}

strategy draw_strategy(draws& from, const wanted& w, std::uint64_t length) {
    static constexpr schedule hows[] = {schedule::pct, schedule::random, schedule::pos, schedule::bursts};
    static constexpr unsigned short_turns[] = {2, 2, 3, 4, 8}, long_turns[] = {16, 32, 128}, stale[] = {2, 2, 4, 16};
    strategy s;
    s.how = hows[from.below(4)];
    s.weak = from.below(5) != 0;
    s.stale_one_in = stale[from.below(4)];
    s.patient = from.below(4) == 0;
    s.uses_blocks_again = from.below(2) == 0;
    if (w.how >= 0) s.how = static_cast<schedule>(w.how);
    if (w.weak >= 0) s.weak = w.weak == 1;
    if (w.patient >= 0) s.patient = w.patient == 1;
    if (s.how == schedule::quiet) return {};
    if (!s.weak) s.stale_one_in = 0;
    s.switch_one_in = s.how == schedule::bursts ? long_turns[from.below(3)] : short_turns[from.below(5)];
    s.change_count = 1 + static_cast<unsigned>(from.below(5));
    for (unsigned i = 0; i < s.change_count; ++i) s.changes[i] = 1 + from.below(length != 0 ? length : 100);
    std::sort(s.changes.begin(), s.changes.begin() + s.change_count);
    return s;
}

}  // namespace apiary::hunt
