// See generated.hpp.
#include <apiary/model_check/as_it_is/generated.hpp>

#include <algorithm>
#include <numeric>
#include <set>

namespace apiary::model::as_it_is {

namespace {

constexpr std::size_t most_scenarios = 100'000, most_threads = 7, most_calls = 30;

// All programs with at most `most` of the calls for which `may` holds, shorter ones first.
template <class May>
std::vector<generated::program> programs(std::size_t calls, unsigned most, May may) {
    std::vector<generated::program> all{{}};
    for (std::size_t from = 0; most-- > 0;) {
        const std::size_t to = all.size();
        for (; from < to && all.size() <= most_scenarios; ++from)
            for (unsigned c = 0; c < calls; ++c)
                if (may(c)) all.push_back(all[from]), all.back().push_back(c);
    }
    return all;
}

std::vector<std::vector<unsigned>> orders(std::size_t n) {
    std::vector<unsigned> order(n);
    std::iota(order.begin(), order.end(), 0U);
    std::vector<std::vector<unsigned>> all;
    do all.push_back(order);
    while (std::next_permutation(order.begin(), order.end()));
    return all;
}

class generator {
public:
    generator(const scenarios& plan, const std::vector<generated_call>& calls) : plan_(plan), calls_(calls) {
        thread_orders_ = orders(plan.threads);
        rename_values();
    }

    bool all(std::vector<generated>& out) {
        const auto any = [](unsigned) { return true; };
        firsts_ = programs(calls_.size(), plan_.first, any);
        lasts_ = programs(calls_.size(), plan_.last, any);
        for (unsigned t = 0; t < plan_.threads; ++t)
            of_thread_.push_back(programs(calls_.size(), plan_.operations, [&](unsigned c) { return may(c, t); }));
        double number = static_cast<double>(firsts_.size()) * static_cast<double>(lasts_.size());
        bool whole = firsts_.size() <= most_scenarios && lasts_.size() <= most_scenarios;
        for (const auto& p : of_thread_) {
            number *= static_cast<double>(p.size());
            whole = whole && p.size() <= most_scenarios;
        }
        if (!whole || number > 20.0 * most_scenarios) return false;
        generated g;
        g.threads.resize(plan_.threads);
        fill(g, 0, out);
        std::ranges::stable_sort(out, {}, [](const generated& s) { return s.size() * 2 + (s.waits.is_one() ? 1 : 0); });
        return out.size() <= most_scenarios;
    }

private:
    [[nodiscard]] bool may(unsigned c, unsigned t) const {
        return calls_[c].only_thread < 0 || calls_[c].only_thread == static_cast<int>(t);
    }

    // The renamings of values that lead from calls to calls; the first leaves all as they are.
    void rename_values() {
        std::vector<long> values;
        for (const generated_call& c : calls_)
            if (c.has_value) values.push_back(c.value);
        std::ranges::sort(values);
        values.erase(std::unique(values.begin(), values.end()), values.end());
        if (!plan_.values_alike || values.size() > 5) values.clear();
        for (const std::vector<unsigned>& order : orders(values.size())) {
            std::vector<unsigned> to;
            for (const generated_call& c : calls_) {
                long value = c.value;
                for (std::size_t i = 0; i < values.size(); ++i)
                    if (c.has_value && values[i] == c.value) value = values[order[i]];
                for (unsigned k = 0; k < calls_.size(); ++k)
                    if (calls_[k].operation == c.operation && calls_[k].value == value) {
                        to.push_back(k);
                        break;
                    }
            }
            if (to.size() == calls_.size()) renamings_.push_back(std::move(to));
        }
    }

    void fill(generated& g, unsigned t, std::vector<generated>& out) {
        if (t < plan_.threads) {
            for (const generated::program& p : of_thread_[t]) {
                g.threads[t] = p;
                fill(g, t + 1, out);
            }
            return;
        }
        if (std::ranges::all_of(g.threads, [](const auto& p) { return p.empty(); })) return;
        for (const generated::program& f : firsts_)
            for (const generated::program& l : lasts_) {
                g.first = f;
                g.last = l;
                g.waits = {};
                keep(g, out);
                if (plan_.handovers) with_handovers(g, out);
            }
    }

    void with_handovers(generated& g, std::vector<generated>& out) {
        for (unsigned from = 0; from < plan_.threads; ++from)
            for (unsigned to = 0; to < plan_.threads; ++to)
                for (unsigned after = 0; after < g.threads[from].size(); ++after)
                    for (unsigned before = 0; from != to && before < g.threads[to].size(); ++before) {
                        g.waits = {static_cast<int>(from), after, static_cast<int>(to), before};
                        keep(g, out);
                    }
    }

    using key = std::vector<int>;
    [[nodiscard]] key key_of(const generated& g, const std::vector<unsigned>& order,
                             const std::vector<unsigned>& renamed) const {
        key k;
        const auto add = [&](const generated::program& p) {
            for (const unsigned c : p) k.push_back(static_cast<int>(renamed[c]));
            k.push_back(-1);
        };
        for (const unsigned t : order) add(g.threads[t]);
        add(g.first);
        add(g.last);
        if (g.waits.is_one()) {
            const auto now = [&](int t) {
                return static_cast<int>(std::ranges::find(order, static_cast<unsigned>(t)) - order.begin());
            };
            k.insert(k.end(), {now(g.waits.from), static_cast<int>(g.waits.after), now(g.waits.to),
                               static_cast<int>(g.waits.before)});
        }
        return k;
    }

    // Unless it, or one like it, was there before.
    void keep(const generated& g, std::vector<generated>& out) {
        key least;
        for (const std::vector<unsigned>& order : thread_orders_) {
            bool allowed = true;
            for (unsigned t = 0; t < order.size(); ++t)
                for (const unsigned c : g.threads[order[t]]) allowed = allowed && may(c, t);
            if (!allowed) continue;
            for (const std::vector<unsigned>& renamed : renamings_) {
                key k = key_of(g, order, renamed);
                if (least.empty() || k < least) least = std::move(k);
            }
        }
        if (out.size() <= most_scenarios && seen_.insert(std::move(least)).second) out.push_back(g);
    }

    const scenarios& plan_;
    const std::vector<generated_call>& calls_;
    std::vector<std::vector<unsigned>> thread_orders_, renamings_;
    std::vector<generated::program> firsts_, lasts_;
    std::vector<std::vector<generated::program>> of_thread_;
    std::set<key> seen_;
};

}  // namespace

std::size_t generated::size() const {
    std::size_t n = first.size() + last.size();
    for (const program& p : threads) n += p.size();
    return n;
}

const generated::program& generated::of(unsigned which) const {
    if (which == static_cast<unsigned>(::apiary::as_it_is::part::first)) return first;
    if (which == static_cast<unsigned>(::apiary::as_it_is::part::last)) return last;
    return threads[which];
}

std::vector<generated> generate(const scenarios& plan, const std::vector<generated_call>& calls,
                                std::string& why_none) {
    std::vector<generated> out;
    const auto nobodys = [&](const generated_call& c) { return c.only_thread >= static_cast<int>(plan.threads); };
    if (calls.empty())
        why_none = "no operation was given, and the specification names none";
    else if (plan.threads == 0 || plan.threads > most_threads || plan.operations == 0)
        why_none = "there must be one to seven threads, of at least one operation each";
    else if (plan.threads * plan.operations + plan.first + plan.last > most_calls)
        why_none = "a scenario has more than thirty calls";
    else if (std::ranges::any_of(calls, nobodys))
        why_none = "an operation is by() a thread that there is not";
    else if (!generator(plan, calls).all(out))
        why_none = "these are more than 100000 scenarios: fewer threads, operations or values";
    else
        return out;
    return {};
}

}  // namespace apiary::model::as_it_is
