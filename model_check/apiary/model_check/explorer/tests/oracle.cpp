// oracle: enumeration of execution graphs and the RC11 axioms over matrices.
#include <apiary/model_check/explorer/tests/oracle.hpp>

#include <algorithm>
#include <bitset>

namespace apiary::model::explorer::oracle {

namespace {

constexpr std::size_t most = 40;
using row = std::bitset<most>;

struct relation {
    std::vector<row> m = std::vector<row>(most);
    bool operator()(std::size_t a, std::size_t b) const { return m[a][b]; }
    void set(std::size_t a, std::size_t b) { m[a][b] = true; }
    friend relation operator|(relation a, const relation& b) {
        for (std::size_t i = 0; i < most; ++i) a.m[i] |= b.m[i];
        return a;
    }
    // Composition.
    friend relation operator*(const relation& a, const relation& b) {
        relation c;
        for (std::size_t i = 0; i < most; ++i)
            for (std::size_t j = 0; j < most; ++j)
                if (a.m[i][j]) c.m[i] |= b.m[j];
        return c;
    }
    [[nodiscard]] relation closure() const {
        relation c = *this;
        for (std::size_t k = 0; k < most; ++k)
            for (std::size_t i = 0; i < most; ++i)
                if (c.m[i][k]) c.m[i] |= c.m[k];
        return c;
    }
    [[nodiscard]] relation maybe() const {  // reflexive
        relation c = *this;
        for (std::size_t i = 0; i < most; ++i) c.m[i][i] = true;
        return c;
    }
    template <class F>
    [[nodiscard]] relation filter(F keep) const {
        relation c;
        for (std::size_t i = 0; i < most; ++i)
            for (std::size_t j = 0; j < most; ++j)
                if (m[i][j] && keep(i, j)) c.set(i, j);
        return c;
    }
    [[nodiscard]] bool reflexive_somewhere() const {
        for (std::size_t i = 0; i < most; ++i)
            if (m[i][i]) return true;
        return false;
    }
};

enum class kind { init, read, write, fence };

struct node {
    kind what = kind::init;
    int location = -1;
    int order = 0;
    unsigned thread = 0;
    const instruction* from = nullptr;
    bool in_rmw = false;
};

constexpr int relaxed = 0, acquire = 2, release = 3, acq_rel = 4, seq_cst = 5;
bool is_seq_cst(int o) { return o == seq_cst || o == heavy_order; }
bool is_acquire(int o) { return o == acquire || o == acq_rel || is_seq_cst(o); }
bool is_release(int o) { return o == release || o == acq_rel || is_seq_cst(o); }

class enumeration {
public:
    explicit enumeration(const program& p) : p_(p) {}

    answer run() {
        std::vector<bool> success;
        choose_success(0, 0, success);
        return std::move(result_);
    }

private:
    // Each compare-exchange either succeeds or fails; that fixes the events.
    void choose_success(std::size_t t, std::size_t i, std::vector<bool>& success) {
        if (t == p_.threads.size()) return with_events(success);
        if (i == p_.threads[t].size()) return choose_success(t + 1, 0, success);
        const bool two = p_.threads[t][i].what == op::cas;
        success.push_back(true);
        choose_success(t, i + 1, success);
        success.pop_back();
        if (!two) return;
        success.push_back(false);
        choose_success(t, i + 1, success);
        success.pop_back();
    }

    void with_events(const std::vector<bool>& success) {
        nodes_.clear();
        rmw_ = sb_ = relation{};
        int locations = 0;
        for (const auto& t : p_.threads)
            for (const auto& i : t)
                if (i.what != op::fence) locations = std::max(locations, static_cast<int>(i.location) + 1);
        for (int l = 0; l < locations; ++l) nodes_.push_back({kind::init, l, relaxed, 0, nullptr, false});
        inits_ = nodes_.size();
        std::size_t k = 0;
        for (unsigned t = 0; t < p_.threads.size(); ++t) {
            const std::size_t first = nodes_.size();
            for (const instruction& i : p_.threads[t]) {
                const bool wins = success[k++];
                const int l = static_cast<int>(i.location);
                const bool rmw = i.what == op::fetch_add || (i.what == op::cas && wins);
                if (i.what == op::fence) nodes_.push_back({kind::fence, -1, i.order, t, &i, false});
                if (i.what == op::load || i.what == op::fetch_add || i.what == op::cas)
                    nodes_.push_back(
                        {kind::read, l, i.what == op::cas && !wins ? i.failure_order : i.order, t, &i, rmw});
                if (i.what == op::store || rmw) {
                    if (rmw) rmw_.set(nodes_.size() - 1, nodes_.size());
                    nodes_.push_back({kind::write, l, i.order, t, &i, rmw});
                }
            }
            for (std::size_t a = first; a < nodes_.size(); ++a)
                for (std::size_t b = a + 1; b < nodes_.size(); ++b) sb_.set(a, b);
        }
        for (std::size_t a = 0; a < inits_; ++a)
            for (std::size_t b = inits_; b < nodes_.size(); ++b) sb_.set(a, b);
        rf_of_.assign(nodes_.size(), 0);
        choose_rf(inits_);
    }

    [[nodiscard]] bool writes(std::size_t n) const {
        return nodes_[n].what == kind::write || nodes_[n].what == kind::init;
    }

    void choose_rf(std::size_t n) {
        if (n == nodes_.size()) return with_rf();
        if (nodes_[n].what != kind::read) return choose_rf(n + 1);
        for (std::size_t w = 0; w < nodes_.size(); ++w) {
            if (!writes(w) || nodes_[w].location != nodes_[n].location) continue;
            rf_of_[n] = w;
            choose_rf(n + 1);
        }
    }

    void with_rf() {
        rf_ = relation{};
        for (std::size_t n = inits_; n < nodes_.size(); ++n)
            if (nodes_[n].what == kind::read) rf_.set(rf_of_[n], n);
        if ((sb_ | rf_).closure().reflexive_somewhere()) return;  // no load buffering
        // Values: sb ∪ rf is acyclic, so a few rounds settle them.
        value_.assign(nodes_.size(), 0);
        for (std::size_t round = 0; round <= nodes_.size(); ++round)
            for (std::size_t n = inits_; n < nodes_.size(); ++n) {
                const instruction& i = *nodes_[n].from;
                if (nodes_[n].what == kind::read) value_[n] = value_[rf_of_[n]];
                if (nodes_[n].what == kind::write)
                    value_[n] = i.what == op::fetch_add ? value_[n - 1] + i.value : i.value;
            }
        for (std::size_t n = inits_; n < nodes_.size(); ++n)
            if (nodes_[n].what == kind::read && nodes_[n].from->what == op::cas &&
                (value_[n] == nodes_[n].from->expected) != nodes_[n].in_rmw)
                return;
        per_location_.assign(inits_, {});
        for (std::size_t n = inits_; n < nodes_.size(); ++n)
            if (nodes_[n].what == kind::write) per_location_[static_cast<std::size_t>(nodes_[n].location)].push_back(n);
        choose_co(0);
    }

    void choose_co(std::size_t l) {
        if (l == per_location_.size()) {
            if (consistent()) count();
            return;
        }
        auto& order = per_location_[l];
        std::sort(order.begin(), order.end());
        do choose_co(l + 1);
        while (std::next_permutation(order.begin(), order.end()));
    }

    // [atomics.order] 4: whether there is an order S. The two halves of a read-modify-write are one operation here.
    [[nodiscard]] bool has_an_order_of_cxx20() const {
        const auto partner = [&](std::size_t n) {
            for (std::size_t m = inits_; m < nodes_.size(); ++m)
                if (rmw_(n, m) || rmw_(m, n)) return m;
            return n;
        };
        const auto of_operations = [&](const relation& r) {
            relation all;
            for (std::size_t a = 0; a < nodes_.size(); ++a)
                for (std::size_t b = 0; b < nodes_.size(); ++b)
                    if (r(a, b) && a != b && partner(a) != b)
                        for (const std::size_t x : {a, partner(a)})
                            for (const std::size_t y : {b, partner(b)}) all.set(x, y);
            return all;
        };
        const auto sc = [&](std::size_t n) { return n >= inits_ && n < nodes_.size() && nodes_[n].order == seq_cst; };
        const auto fence = [&](std::size_t n) { return sc(n) && nodes_[n].what == kind::fence; };
        const relation sb = of_operations(sb_), hb = of_operations(hb_), eco = of_operations(eco_);
        const relation sw = of_operations(sw_).filter(
            [&](auto a, auto b) { return sc(a) && sc(b) && !fence(a) && !fence(b); });
        const relation strongly = (sb | sw | (sb * hb * sb)).closure();
        const relation s = strongly.filter([&](auto a, auto b) { return sc(a) && sc(b); }) |
                           eco.filter([&](auto a, auto b) { return sc(a) && sc(b); }) |
                           (eco * hb).filter([&](auto a, auto b) { return sc(a) && fence(b); }) |
                           (hb * eco).filter([&](auto a, auto b) { return fence(a) && sc(b); }) |
                           (hb * eco * hb).filter([&](auto a, auto b) { return fence(a) && fence(b); });
        relation one_operation = s;  // an edge to a half is one to the other
        for (std::size_t a = 0; a < nodes_.size(); ++a)
            for (std::size_t b = 0; b < nodes_.size(); ++b)
                if (s(a, b))
                    for (const std::size_t y : {b, partner(b)})
                        for (const std::size_t x : {a, partner(a)}) one_operation.set(x, y);
        return !one_operation.closure().reflexive_somewhere();
    }

    [[nodiscard]] bool consistent() {
        const auto same = [&](std::size_t a, std::size_t b) {
            return nodes_[a].location >= 0 && nodes_[a].location == nodes_[b].location;
        };
        relation co, rb;
        for (std::size_t l = 0; l < per_location_.size(); ++l) {
            std::vector<std::size_t> order{l};
            order.insert(order.end(), per_location_[l].begin(), per_location_[l].end());
            for (std::size_t i = 0; i < order.size(); ++i)
                for (std::size_t j = i + 1; j < order.size(); ++j) co.set(order[i], order[j]);
        }
        for (std::size_t r = inits_; r < nodes_.size(); ++r)
            if (nodes_[r].what == kind::read)
                for (std::size_t w = 0; w < nodes_.size(); ++w)
                    if (co(rf_of_[r], w)) rb.set(r, w);

        // sw = [rel] ; ([F];sb)? ; rs ; rf ; (sb;[F])? ; [acq], rs = [W] ; (rf;rmw)*
        const relation chain = (rf_ * rmw_).closure().maybe();
        relation sw;
        for (std::size_t a = inits_; a < nodes_.size(); ++a) {
            if (!is_release(nodes_[a].order) || nodes_[a].what == kind::read) continue;
            for (std::size_t w = inits_; w < nodes_.size(); ++w) {
                const bool head =
                    nodes_[w].what == kind::write && (w == a || (nodes_[a].what == kind::fence && sb_(a, w)));
                if (!head) continue;
                for (std::size_t u = inits_; u < nodes_.size(); ++u) {
                    if (!chain(w, u)) continue;
                    for (std::size_t r = inits_; r < nodes_.size(); ++r) {
                        if (!rf_(u, r)) continue;
                        if (is_acquire(nodes_[r].order)) sw.set(a, r);
                        for (std::size_t f = inits_; f < nodes_.size(); ++f)
                            if (nodes_[f].what == kind::fence && is_acquire(nodes_[f].order) && sb_(r, f)) sw.set(a, f);
                    }
                }
            }
        }
        hb_ = (sb_ | sw).closure();
        eco_ = (rf_ | co | rb).closure();
        sw_ = sw;
        const relation &hb = hb_, &eco = eco_;
        if (hb.reflexive_somewhere() || (hb * eco).reflexive_somewhere()) return false;
        const relation between = rb * co;
        for (std::size_t a = 0; a < nodes_.size(); ++a)
            for (std::size_t b = 0; b < nodes_.size(); ++b)
                if (rmw_(a, b) && between(a, b)) return false;

        const relation sb_other = sb_.filter([&](auto a, auto b) { return !same(a, b); });
        const relation scb = sb_ | (sb_other * hb * sb_other) | hb.filter(same) | co | rb;
        const auto real = [&](std::size_t n) { return n >= inits_ && n < nodes_.size(); };
        const auto sc = [&](std::size_t n) { return real(n) && is_seq_cst(nodes_[n].order); };
        const auto light = [&](std::size_t n) { return real(n) && nodes_[n].order == light_order; };
        const auto heavy = [&](std::size_t n) { return real(n) && nodes_[n].order == heavy_order; };
        const auto sc_fence = [&](std::size_t n) { return sc(n) && nodes_[n].what == kind::fence; };
        relation from, to;  // [E_sc] ∪ [F_sc];hb?  and  [E_sc] ∪ hb?;[F_sc]
        for (std::size_t a = 0; a < nodes_.size(); ++a) {
            if (sc(a)) from.set(a, a), to.set(a, a);
            for (std::size_t b = 0; b < nodes_.size(); ++b) {
                if (sc_fence(a) && hb(a, b)) from.set(a, b);
                if (sc_fence(b) && hb(a, b)) to.set(a, b);
            }
        }
        const relation psc_fence = (hb | (hb * eco * hb)).filter([&](auto a, auto b) {
            return (sc_fence(a) && sc_fence(b)) || (light(a) && heavy(b)) || (heavy(a) && light(b));
        });
        return !((from * scb * to) | psc_fence).closure().reflexive_somewhere();
    }

    void count() {
        ++result_.graphs;
        std::string text;
        for (std::size_t n = inits_; n < nodes_.size(); ++n)
            if (nodes_[n].what == kind::read) {
                if (!text.empty()) text += ' ';
                text += std::to_string(value_[n]);
            }
        for (const unsigned l : p_.finals) {
            if (!text.empty()) text += ' ';
            text += std::to_string(per_location_[l].empty() ? 0 : value_[per_location_[l].back()]);
        }
        ++result_.outcomes[text];
        if (has_an_order_of_cxx20()) {
            ++result_.graphs_of_cxx20;
            ++result_.outcomes_of_cxx20[text];
        }
    }

    const program& p_;
    std::vector<node> nodes_;
    std::size_t inits_ = 0;
    relation sb_, rmw_, rf_;
    relation hb_, eco_, sw_;  // of the graph that was asked last whether it is consistent
    std::vector<std::size_t> rf_of_;
    std::vector<std::uint64_t> value_;
    std::vector<std::vector<std::size_t>> per_location_;
    answer result_;
};

}  // namespace

answer enumerate(const program& p) { return enumeration(p).run(); }

std::string print(const program& p) {
    static constexpr const char* orders[] = {"rlx", "con", "acq", "rel", "ar", "sc", "light", "heavy"};
    std::string text;
    for (std::size_t t = 0; t < p.threads.size(); ++t) {
        text += "  T" + std::to_string(t) + ":";
        for (const instruction& i : p.threads[t]) {
            const std::string where(1, static_cast<char>('x' + i.location));
            const std::string order = orders[i.order];
            switch (i.what) {
                case op::load:
                    text += " R" + where + "." + order;
                    break;
                case op::store:
                    text += " W" + where + "=" + std::to_string(i.value) + "." + order;
                    break;
                case op::fetch_add:
                    text += " U" + where + "+" + std::to_string(i.value) + "." + order;
                    break;
                case op::cas:
                    text += " C" + where + ":" + std::to_string(i.expected) + "->" + std::to_string(i.value) + "." +
                            order + "/" + orders[i.failure_order];
                    break;
                case op::fence:
                    text += " F." + order;
                    break;
            }
            text += ";";
        }
        text += "\n";
    }
    return text;
}

program parse(std::string_view text) {
    const auto word = [&text] {
        text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
        const std::string_view w = text.substr(0, std::min(text.find_first_of(" ;"), text.size()));
        text.remove_prefix(w.size());
        return std::string(w);
    };
    const auto order = [](const std::string& w) {
        return w == "acq"     ? acquire
               : w == "rel"   ? release
               : w == "ar"    ? acq_rel
               : w == "sc"    ? seq_cst
               : w == "light" ? light_order
               : w == "heavy" ? heavy_order
                              : relaxed;
    };
    const auto location = [](char c) { return static_cast<unsigned>(c - 'x'); };
    program p;
    p.threads.emplace_back();
    for (bool finals = false; !text.empty();) {
        const std::string w = word();
        instruction i;
        if (w.empty()) {
            if (!text.empty()) text.remove_prefix(1);  // a semicolon
            continue;
        }
        if (finals) {
            p.finals.push_back(location(w[0]));
            continue;
        }
        if (w == "||") {
            p.threads.emplace_back();
            continue;
        }
        if (w == "!") {
            finals = true;
            continue;
        }
        if (w == "r") {
            i.what = op::load;
            i.location = location(word()[0]);
        } else if (w == "f") {
            i.what = op::fence;
        } else if (w == "cas") {
            i.what = op::cas;
            i.location = location(word()[0]);
            i.expected = std::stoull(word());
            i.value = std::stoull(word());
        } else {
            const bool adds = w.find("+=") != std::string::npos;
            i.what = adds ? op::fetch_add : op::store;
            i.location = location(w[0]);
            i.value = std::stoull(w.substr(adds ? 3 : 2));
        }
        i.order = order(word());
        if (i.what == op::cas) i.failure_order = order(word());
        p.threads.back().push_back(i);
    }
    return p;
}

}  // namespace apiary::model::explorer::oracle
