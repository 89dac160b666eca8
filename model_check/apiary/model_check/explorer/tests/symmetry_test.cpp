// Symmetry against the search without it: on random programs with alike threads, the graphs found with symmetry have
// exactly the orbits (under permutations of those threads) of all graphs. The search without symmetry has in turn as many
// graphs as brute force, where the program has nothing but atomics.
//
// Usage: explorer_symmetry_test [--programs N] [--seed S]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>

#include <apiary/model_check/explorer/engine.hpp>
#include <apiary/model_check/explorer/run.hpp>
#include <apiary/model_check/explorer/tests/oracle.hpp>

namespace {

using namespace apiary::model;
using explorer::event, explorer::event_kind, explorer::graph;
using sync = explorer_sync;

enum class act { load, store, add, cas, weak, fence, critical, trial, spin_until, below, wait, notify };
constexpr const char* names[] = {"load",     "store", "add",        "cas",   "weak", "fence",
                                 "critical", "trial", "spin_until", "below", "wait", "notify"};

struct step {
    act what = act::load;
    unsigned location = 0;
    int order = 0, failure_order = 0;
    unsigned value = 0, expected = 0;
};

struct scenario {
    std::vector<std::vector<step>> code;
    std::vector<unsigned> runs;  // thread -> code
    unsigned alike = 0;          // bits of threads
    bool blocking = false;
};
scenario current;

struct interpreted {
    static constexpr unsigned threads = 4;
    sync::atomic<unsigned> x{0}, y{0};
    sync::mutex m;
    sync::condvar cv;
    sync::cell<unsigned> guarded{0};

    void thread(unsigned t) {
        if (t >= current.runs.size()) return;
        for (const step& s : current.code[current.runs[t]]) {
            auto& a = s.location == 0 ? x : y;
            const auto order = static_cast<std::memory_order>(s.order);
            const auto failure = static_cast<std::memory_order>(s.failure_order);
            unsigned expected = s.expected;
            switch (s.what) {
                case act::load:
                    (void)a.load(order);
                    break;
                case act::store:
                    a.store(s.value, order);
                    break;
                case act::add:
                    (void)a.fetch_add(s.value, order);
                    break;
                case act::cas:
                    (void)a.compare_exchange_strong(expected, s.value, order, failure);
                    break;
                case act::weak:
                    (void)a.compare_exchange_weak(expected, s.value, order, failure);
                    break;
                case act::fence:
                    sync::fence(order);
                    break;
                case act::critical: {
                    const sync::lock held(m);
                    guarded.write(guarded.read() + 1);
                    if (s.order == 2) (void)a.load(std::memory_order_acquire);
                    if (s.order == 3) a.store(s.value, std::memory_order_release);
                    break;
                }
                case act::trial:
                    if (m.try_lock()) m.unlock();
                    break;
                case act::spin_until:
                    (void)sync::spin_until(a, [](unsigned v) { return v != 0; });
                    break;
                case act::below:
                    // What was drawn decides: a choice without consequences would be no difference.
                    if (sync::random_source(1).below(2) == 1) a.store(s.value, std::memory_order_relaxed);
                    break;
                case act::wait: {
                    sync::lock held(m);
                    if (guarded.read() == 0) cv.wait(held);
                    break;
                }
                case act::notify: {
                    const sync::lock held(m);
                    guarded.write(guarded.read() + 1);
                    cv.notify_one();
                    break;
                }
            }
        }
    }
};

class generator {
public:
    explicit generator(std::uint64_t seed) : state_(seed * 0x9E37'79B9'7F4A'7C15U | 1U) {}

    unsigned below(unsigned n) {
        state_ ^= state_ >> 12;
        state_ ^= state_ << 25;
        state_ ^= state_ >> 27;
        return static_cast<unsigned>((state_ * 0x2545'F491'4F6C'DD1DU >> 40) % n);
    }

    scenario next(bool blocking) {
        scenario p;
        p.blocking = blocking;
        const unsigned same = 2 + below(3), others = same == 4 ? 0 : below(std::min(3U, 5 - same));
        const unsigned flavour = below(5), locations = 1 + below(2);
        unsigned budget = 8;
        p.code.emplace_back();
        const unsigned length = same == 2 ? 1 + below(3) : same == 3 ? 1 + below(2) : 1 + below(2);
        unsigned value = 1;
        for (unsigned i = 0; i < length; ++i) p.code[0].push_back(draw(flavour, locations, blocking, value));
        budget -= std::min(budget, length * same);
        std::vector<unsigned> other;
        for (unsigned i = 0; i < others; ++i) {
            p.code.emplace_back();
            const unsigned n = std::min(1 + below(2), std::max(1U, budget));
            for (unsigned k = 0; k < n; ++k) p.code.back().push_back(draw(flavour, locations, blocking, value));
            other.push_back(i + 1);
        }
        // The alike ones anywhere among the others.
        for (unsigned left = same; left > 0 || !other.empty();) {
            const bool mine = other.empty() || (left > 0 && below(2) == 0);
            if (mine) p.alike |= 1U << p.runs.size();
            p.runs.push_back(mine ? 0 : other.back());
            if (mine)
                --left;
            else
                other.pop_back();
        }
        return p;
    }

private:
    step draw(unsigned flavour, unsigned locations, bool blocking, unsigned& value) {
        static constexpr int loads[] = {0, 2, 5}, stores[] = {0, 3, 5}, both[] = {0, 2, 3, 4, 5},
                             fences[] = {2, 3, 4, 5};
        step s;
        s.location = below(locations);
        const unsigned pick = below(10);
        s.what = pick < 4 ? act::load : pick < 8 ? act::store : pick == 8 ? act::add : act::cas;
        if (below(flavour == 2 ? 3 : 10) == 0) s.what = act::fence;
        if (flavour == 3 && below(2) == 0) s.what = below(2) == 0 ? act::add : act::cas;
        if (blocking && below(3) != 0) s.what = static_cast<act>(static_cast<unsigned>(act::weak) + below(8));
        s.order = s.what == act::fence   ? fences[below(4)]
                  : s.what == act::load  ? loads[below(3)]
                  : s.what == act::store ? stores[below(3)]
                                         : both[below(5)];
        if (flavour == 1 && below(4) != 0 && s.what <= act::fence) s.order = 5;
        if (flavour == 4 && below(4) != 0 && s.what < act::fence) s.order = 0;
        s.failure_order = loads[below(3)];
        s.expected = below(2) == 0 ? 0 : below(3) + 1;
        s.value = s.what == act::add ? 10 : value++;
        return s;
    }
    std::uint64_t state_;
};

std::string print(const scenario& p) {
    std::string text;
    for (std::size_t t = 0; t < p.runs.size(); ++t) {
        text += (p.alike >> t & 1U) != 0 ? "  alike:" : "  other:";
        for (const step& s : p.code[p.runs[t]])
            text.append(" ")
                .append(names[static_cast<unsigned>(s.what)])
                .append(s.location == 0 ? " x" : " y")
                .append(" order ")
                .append(std::to_string(s.order))
                .append(" ")
                .append(std::to_string(s.expected))
                .append("->")
                .append(std::to_string(s.value))
                .append(";");
        text += '\n';
    }
    return text;
}

// The graph with its threads renamed: sb, rf and co and nothing else.
std::string text_of(const graph& g, const std::vector<unsigned>& name) {
    std::vector<unsigned> at(name.size());
    for (unsigned t = 0; t < name.size(); ++t) at[name[t]] = t;
    const auto id = [&](explorer::event_id e) {
        if (!explorer::is_event(e)) return std::string("i");
        std::string text = std::to_string(name[explorer::thread_of(e)]);
        text.append(".").append(std::to_string(explorer::index_of(e)));
        return text;
    };
    std::string text;
    for (const unsigned t : at) {
        for (const event& e : g.threads[t]) {
            text += static_cast<char>('a' + static_cast<int>(e.kind));
            text.append(std::to_string(e.loc)).append("/").append(std::to_string(e.flags & ~unsigned{explorer::woken}));
            if (e.kind == event_kind::read) text.append("<").append(id(e.rf));
            text += ' ';
        }
        text += "| ";
    }
    std::vector<std::string> orders;
    for (const explorer::location& l : g.slots) {
        if (l.co.empty()) continue;
        orders.push_back(std::to_string(l.loc));
        for (const auto w : l.co) orders.back().append(" ").append(id(w));
    }
    std::sort(orders.begin(), orders.end());
    for (const std::string& o : orders) text += o;
    return text;
}

// The smallest text of its orbit.
std::string orbit_of(const graph& g) {
    std::vector<unsigned> members, name(interpreted::threads);
    for (unsigned t = 0; t < interpreted::threads; ++t) {
        name[t] = t;
        if ((current.alike >> t & 1U) != 0) members.push_back(t);
    }
    std::vector<unsigned> image = members;
    std::string best;
    do {
        for (std::size_t i = 0; i < members.size(); ++i) name[members[i]] = image[i];
        std::string text = text_of(g, name);
        if (best.empty() || text < best) best = std::move(text);
    } while (std::next_permutation(image.begin(), image.end()));
    return best;
}

struct found {
    std::set<std::string> orbits;
    std::uint64_t graphs = 0, blocked = 0, failures = 0;
    bool finished = false, broken = false;
};

found search(bool symmetry) {
    explorer::program p = program_of<interpreted>();
    if (symmetry) p.alike = static_cast<std::uint8_t>(current.alike);
    explorer::engine e(p, {});
    e.push_root();
    found f;
    for (unsigned runs = 0; e.has_work(); ++runs) {
        if (runs == 4000) return f;
        switch (e.explore_next()) {
            case explorer::run_end::complete:
                ++f.graphs;
                f.orbits.insert(orbit_of(e.current()));
                break;
            case explorer::run_end::failed:  // a deadlock is a graph, too
                ++f.failures;
                f.orbits.insert(orbit_of(e.current()).append("!"));
                break;
            case explorer::run_end::nondeterministic:
                f.broken = true;
                return f;
            default:
                ++f.blocked;
        }
    }
    f.finished = true;
    return f;
}

// How many events brute force would have to place.
unsigned size() {
    unsigned events = 0;
    for (const unsigned r : current.runs)
        for (const step& s : current.code[r]) events += s.what == act::add || s.what == act::cas ? 2 : 1;
    return events;
}

std::uint64_t brute_force() {
    namespace oracle = explorer::oracle;
    oracle::program p;
    for (const unsigned r : current.runs) {
        p.threads.emplace_back();
        for (const step& s : current.code[r])
            p.threads.back().push_back({s.what == act::load    ? oracle::op::load
                                        : s.what == act::store ? oracle::op::store
                                        : s.what == act::add   ? oracle::op::fetch_add
                                        : s.what == act::cas   ? oracle::op::cas
                                                               : oracle::op::fence,
                                        s.location, s.order, s.failure_order, s.value, s.expected});
    }
    return oracle::enumerate(p).graphs;
}

// Empty when all is well.
std::string disagreement(bool ask_brute_force, found& all, found& some) {
    all = search(false);
    some = search(true);
    if (all.broken || some.broken) return "a run did not repeat";
    if (!all.finished) return {};
    if (!some.finished) return "more runs with symmetry than without";
    for (const std::string& o : all.orbits)
        if (some.orbits.count(o) == 0) return std::string("lost: ").append(o);
    for (const std::string& o : some.orbits)
        if (all.orbits.count(o) == 0) return std::string("invented: ").append(o);
    if (some.graphs > all.graphs) return "more graphs than without symmetry";
    if (ask_brute_force && !current.blocking && size() <= 7 && all.graphs != brute_force())
        return "brute force has other graphs";
    return {};
}

void shrink() {
    found a, b;
    for (bool smaller = true; smaller;) {
        smaller = false;
        for (std::size_t c = 0; c < current.code.size() && !smaller; ++c)
            for (std::size_t i = 0; i < current.code[c].size() && !smaller; ++i) {
                const scenario kept = current;
                current.code[c].erase(current.code[c].begin() + static_cast<std::ptrdiff_t>(i));
                smaller = !disagreement(false, a, b).empty();
                if (!smaller) current = kept;
            }
    }
}

// Program 0: the rule of where twins part, without its exception, loses the graph in which one twin's store reaches the other's
// load by way of the last thread, which stores in front of what the first twin loads. Program 1: a twin's read-modify-write must not be kept by half.
scenario program(std::uint64_t n, generator& random) {
    const step load_x{}, store_x{act::store, 0, 0, 0, 1, 0}, load_y{act::load, 1}, store_y{act::store, 1, 0, 0, 1, 0};
    if (n == 0) return {{{load_x, store_y}, {store_x}, {load_y, store_x}}, {0, 0, 1, 2}, 3, false};
    if (n == 1) return {{{{act::add, 0, 0, 0, 1, 0}}, {store_x}, {load_x}}, {1, 2, 0, 0}, 12, false};
    return random.next(n % 2 == 1);
}

// Without a rule, some program must lose a graph.
bool is_missed(const char* rule, bool explorer::attack::* off) {
    generator random(1);
    explorer::attacks().*off = true;
    bool missed = false;
    std::uint64_t n = 0;
    for (; n < 200 && !missed; ++n) {
        current = program(n, random);
        found all, some;
        missed = !disagreement(false, all, some).empty();
    }
    explorer::attacks().*off = false;
    std::printf("without %s: %s\n", rule, missed ? "graphs are lost" : "NOTHING IS LOST");
    return missed;
}

}  // namespace

int main(int argc, char** argv) {
    std::uint64_t programs = 1000, seed = 1;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (std::strcmp(argv[i], "--programs") == 0) programs = std::strtoull(argv[i + 1], nullptr, 10);
        if (std::strcmp(argv[i], "--seed") == 0) seed = std::strtoull(argv[i + 1], nullptr, 10);
    }
    generator random(seed);
    std::uint64_t graphs = 0, explored = 0, orbits = 0, blocked = 0, plain_blocked = 0, bad = 0, skipped = 0;
    for (std::uint64_t n = 0; n < programs; ++n) {
        current = program(n, random);
        found all, some;
        const std::string wrong = disagreement(n % 8 == 0, all, some);
        skipped += all.finished ? 0 : 1;
        if (all.finished) {
            graphs += all.graphs + all.failures;
            explored += some.graphs + some.failures;
            orbits += all.orbits.size();
            blocked += some.blocked;
            plain_blocked += all.blocked;
        }
        if (wrong.empty()) continue;
        shrink();
        const std::string small = disagreement(false, all, some);
        std::printf("program %llu: %s\n%s", static_cast<unsigned long long>(n), (small.empty() ? wrong : small).c_str(),
                    print(current).c_str());
        if (++bad == 5) break;
    }
    const auto number = [](std::uint64_t x) { return static_cast<unsigned long long>(x); };
    std::printf(
        "%llu programs: %llu graphs in %llu orbits; with symmetry %llu graphs and %llu blocked runs (without %llu); "
        "%llu "
        "too large; %llu disagreements (seed %llu)\n",
        number(programs), number(graphs), number(orbits), number(explored), number(blocked), number(plain_blocked),
        number(skipped), number(bad), number(seed));
    const bool order = is_missed("the order of twins", &explorer::attack::no_twin_order);
    const bool purity = is_missed("the exception for what other alike threads caused", &explorer::attack::no_purity);
    const bool halves = is_missed("a twin's read-modify-write as one step", &explorer::attack::torn_twins);
    return bad == 0 && order && purity && halves ? 0 : 1;
}
