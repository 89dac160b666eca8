// See history.hpp.
#include <apiary/model_check/as_it_is/history.hpp>

#include <unordered_map>

namespace apiary::model::as_it_is {

namespace {

class search {
public:
    explicit search(const history& h) : h_(h), all_((std::uint64_t{1} << h.calls.size()) - 1) {}

    bool from(std::uint64_t done, const sequential& state) {
        if (done == all_) return true;
        for (const auto& s : tried_[done])
            if (s->equals(state)) return false;
        for (std::size_t i = 0; i < h_.calls.size(); ++i) {
            if ((done >> i & 1U) != 0 || (h_.before[i] & ~done) != 0) continue;
            const std::unique_ptr<sequential> next = state.copy();
            if (next->accepts(h_.calls[i]) && from(done | std::uint64_t{1} << i, *next)) return true;
        }
        tried_[done].push_back(state.copy());
        return false;
    }

private:
    const history& h_;
    std::uint64_t all_;
    std::unordered_map<std::uint64_t, std::vector<std::unique_ptr<sequential>>> tried_;
};

}  // namespace

bool linearizable(const history& h, const sequential& initial) { return search(h).from(0, initial); }

std::vector<std::uint32_t> across_quiescence(const std::vector<std::uint32_t>& before) {
    const std::size_t n = before.size();
    const std::uint32_t all = n >= 32 ? ~0U : (1U << n) - 1;
    std::vector<std::uint32_t> kept(n, 0);
    // Such a set holds, with a call, everything that does not follow all of it: it grows from each call.
    for (std::size_t a = 0; a < n; ++a) {
        std::uint32_t cut = 1U << a;
        for (bool grows = true; grows;) {
            grows = false;
            for (std::size_t b = 0; b < n; ++b)
                if ((cut >> b & 1U) == 0 && (before[b] & cut) != cut) cut |= 1U << b, grows = true;
        }
        for (std::size_t b = 0; b < n; ++b)
            if ((all & ~cut) >> b & 1U) kept[b] |= 1U << a;
    }
    return kept;
}

}  // namespace apiary::model::as_it_is
