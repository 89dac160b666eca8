// Two searches against each other on random programs with mutexes, locks that readers share,
// semaphores, condition variables, parkers, futexes, awaits, spurious failures, heap objects and
// scopes: whatever random runs show, revisits included nowhere, the exhaustive search must have found.
//
// Usage: explorer_primitives_test [--programs N] [--seed S] [--runs N] [--more STEPS]
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include <apiary/model_check/explorer/graph.hpp>
#include <apiary/model_check/explorer/run.hpp>
#include <apiary/model_check/explorer/tests/draws.hpp>

namespace {

using namespace apiary::model;
using sync = explorer_sync;

enum class act {
    load,
    store,
    add,
    weak,
    critical,
    trial,
    park,
    park_until,
    unpark,
    wait,
    notify_one,
    notify_all,
    spin_until,
    below,
    create,
    nested,
    futex_wait,
    futex_wait_until,
    futex_change,
    wake_one,
    wake_all,
    frame,
    reads,
    reads_until,
    tries_to_read,
    writes,
    writes_until,
    takes,
    takes_until,
    tries_to_take,
    posts
};
constexpr unsigned acts = 31;

struct step {
    act what = act::load;
    unsigned which = 0;
    int order = 0;
};
std::vector<std::vector<step>> code;

struct node {
    sync::atomic<int> value{7};
};

// What stands behind pthread_rwlock_* and sem_* of code as it is.
struct rwlock {
    explorer::object o;
    rwlock() { explorer::construct_blocker(o); }
    bool lock_shared(act how) {
        const auto at = explorer::code_place::current();
        if (how == act::reads_until) return explorer::lock_shared_or_give_up(o, at);
        if (how == act::tries_to_read) return explorer::try_lock_shared(o, at);
        explorer::lock_shared(o, at);
        return true;
    }
    bool lock(act how) {
        const auto at = explorer::code_place::current();
        if (how == act::writes_until) return explorer::lock_or_give_up(o, at);
        explorer::lock(o, at);
        return true;
    }
};
struct semaphore {
    explorer::object o;
    semaphore() { explorer::construct_atomic(o, true, explorer::semaphore_word(1)); }
    bool take(act how) {
        const auto at = explorer::code_place::current();
        return how == act::tries_to_take ? explorer::semaphore_try_wait(o, at)
                                         : explorer::semaphore_wait(o, how == act::takes_until, at);
    }
};

struct interpreted {
    static constexpr unsigned threads = 3;
    sync::atomic<int> x{0}, y{0};
    sync::atomic<node*> shared{nullptr}, on_a_stack{nullptr};
    const node* last_frame[3] = {};
    sync::mutex m, inner;
    sync::condvar cv;
    sync::parker parkers[3];
    sync::futex word{0};
    sync::cell<int> guarded{0}, shared_value{0};
    rwlock rw;
    semaphore places;
    bool posted = false;  // guarded by m
    std::vector<int> seen[3];

    void thread(unsigned t) {
        if (t >= code.size()) return;
        const auto put = [&](int v) { seen[t].push_back(v); };
        for (const step& s : code[t]) {
            auto& a = s.which == 0 ? x : y;
            const auto store_order = s.order == 0   ? std::memory_order_relaxed
                                     : s.order == 1 ? std::memory_order_release
                                                    : std::memory_order_seq_cst;
            const auto load_order = s.order == 0   ? std::memory_order_relaxed
                                    : s.order == 1 ? std::memory_order_acquire
                                                   : std::memory_order_seq_cst;
            switch (s.what) {
                case act::load:
                    put(a.load(load_order));
                    break;
                case act::store:
                    a.store(static_cast<int>(t) + 1, store_order);
                    break;
                case act::add:
                    put(a.fetch_add(1, std::memory_order_acq_rel));
                    break;
                case act::weak: {
                    int expected = 0;
                    put(a.compare_exchange_weak(expected, 5, std::memory_order_acq_rel, std::memory_order_relaxed)
                            ? 100
                            : expected);
                    break;
                }
                case act::critical: {
                    const sync::lock held(m);
                    guarded.write(guarded.read() * 3 + static_cast<int>(t) + 1);
                    put(guarded.read());
                    // What a thread does while it holds the mutex may be served, or serve others, before it unlocks.
                    if (s.order == 1) put(a.load(std::memory_order_acquire));
                    if (s.order == 2) a.store(static_cast<int>(t) + 1, std::memory_order_release);
                    break;
                }
                case act::nested: {  // in both orders: they may deadlock
                    const sync::lock held(s.which == 0 ? m : inner);
                    const sync::lock too(s.which == 0 ? inner : m);
                    guarded.write(guarded.read() * 3 + static_cast<int>(t) + 1);
                    put(guarded.read());
                    break;
                }
                case act::trial:
                    if (m.try_lock()) {
                        guarded.write(guarded.read() + 10);
                        m.unlock();
                        put(1);
                    } else {
                        put(0);
                    }
                    break;
                case act::park:
                    parkers[t].park();
                    break;
                case act::park_until:
                    put(parkers[t].park_until(5) ? 1 : 0);
                    break;
                case act::unpark:
                    parkers[(t + 1 + s.which) % 3].unpark();
                    break;
                case act::wait: {
                    sync::lock held(m);
                    if (s.which == 0) {
                        while (!posted) cv.wait(held);
                    } else {
                        cv.wait(held);  // without a predicate: spurious wakes are seen
                    }
                    put(posted ? 1 : 0);
                    break;
                }
                case act::notify_one:
                case act::notify_all: {
                    {
                        const sync::lock held(m);
                        posted = true;
                    }
                    if (s.what == act::notify_one)
                        cv.notify_one();
                    else
                        cv.notify_all();
                    break;
                }
                case act::spin_until:
                    put(sync::spin_until(a, [](int v) { return v != 0; }));
                    break;
                case act::below:
                    put(static_cast<int>(sync::random_source(1).below(2)));
                    break;
                case act::futex_wait:
                    put(word.wait(s.which, sync::forever) ? 1 : 0);
                    break;
                case act::futex_wait_until:
                    put(word.wait(s.which, 5) ? 1 : 0);
                    break;
                case act::futex_change: {
                    std::uint32_t expected = 0;
                    if (s.which == 0)
                        put(static_cast<int>(word.fetch_add(1, std::memory_order_acq_rel)));
                    else
                        put(word.compare_exchange_strong(expected, 2, store_order, std::memory_order_relaxed) ? 1 : 0);
                    break;
                }
                case act::wake_one:
                    word.wake_one();
                    break;
                case act::wake_all:
                    word.wake_all();
                    break;
                case act::create: {
                    node* mine = sync::create<node>();
                    node* old = shared.exchange(mine, std::memory_order_acq_rel);
                    put(old == nullptr ? 0 : old == mine ? 2 : 1);
                    if (old != nullptr) {
                        put(old->value.load(std::memory_order_relaxed));
                        sync::destroy(old);
                    }
                    break;
                }
                case act::reads:
                case act::reads_until:
                case act::tries_to_read: {
                    const bool mine = rw.lock_shared(s.what);
                    put(mine ? shared_value.read() : -2);
                    if (s.order == 1) put(a.load(std::memory_order_acquire));
                    if (s.order == 2) a.store(static_cast<int>(t) + 1, std::memory_order_release);
                    if (mine) explorer::unlock_shared(rw.o, explorer::code_place::current());
                    break;
                }
                case act::writes:
                case act::writes_until: {
                    const bool mine = rw.lock(s.what);
                    if (mine) shared_value.write(shared_value.read() * 3 + static_cast<int>(t) + 1);
                    put(mine ? shared_value.read() : -2);
                    if (s.order == 1) put(a.load(std::memory_order_acquire));
                    if (s.order == 2) a.store(static_cast<int>(t) + 1, std::memory_order_release);
                    if (mine) explorer::unlock(rw.o, explorer::code_place::current());
                    break;
                }
                case act::takes:
                case act::takes_until:
                case act::tries_to_take:
                    put(places.take(s.what) ? 1 : 0);
                    break;
                case act::posts:
                    explorer::semaphore_post(places.o, explorer::code_place::current());
                    break;
                case act::frame: {  // the other may look into it when it has ended
                    sync::scoped<node> mine;
                    put(&*mine == std::exchange(last_frame[t], &*mine) ? 1 : 0);
                    node* other = on_a_stack.exchange(&*mine, std::memory_order_acq_rel);
                    if (s.which == 0 && other != nullptr) put(other->value.load(load_order));
                    mine->value.store(static_cast<int>(t), store_order);
                    if (s.order == 0) on_a_stack.store(nullptr, std::memory_order_release);
                    break;
                }
            }
        }
    }
    void after() { sync::destroy(shared.load(std::memory_order_relaxed)); }
    std::vector<int> outcome() const {
        std::vector<int> all;
        for (const auto& s : seen) {
            all.insert(all.end(), s.begin(), s.end());
            all.push_back(-1);
        }
        return all;
    }
};

explorer::draws numbers(1);
unsigned below(unsigned n) { return numbers.below(n); }

void make(unsigned more) {
    code.assign(2 + below(2), {});
    const unsigned steps = (code.size() == 2 ? 6 : 5) + more;
    // A few kinds for each program, so that they meet.
    unsigned kinds[] = {below(acts), below(acts), below(acts), below(4)};
    if (below(3) == 0) kinds[0] = kinds[1] = static_cast<unsigned>(act::critical);
    constexpr auto reads = static_cast<unsigned>(act::reads), takes = static_cast<unsigned>(act::takes);
    if (below(4) == 0) kinds[0] = reads + below(3), kinds[1] = static_cast<unsigned>(act::writes) + below(2);
    if (below(6) == 0) kinds[0] = takes + below(3), kinds[1] = static_cast<unsigned>(act::posts);
    for (unsigned i = 0; i < steps; ++i)
        code[below(static_cast<unsigned>(code.size()))].push_back(
            {static_cast<act>(kinds[below(4)]), below(2), static_cast<int>(below(3))});
}

std::string print() {
    static constexpr const char* names[] = {
        "load",          "store",      "add",          "weak",   "critical",    "trial",
        "park",          "park_until", "unpark",       "wait",   "notify_one",  "notify_all",
        "spin_until",    "below",      "create",       "nested", "futex_wait",  "futex_wait_until",
        "futex_change",  "wake_one",   "wake_all",     "frame",  "reads",       "reads_until",
        "tries_to_read", "writes",     "writes_until", "takes",  "takes_until", "tries_to_take",
        "posts"};
    std::string text;
    for (const auto& t : code) {
        text += "  T:";
        for (const step& s : t) {
            text += ' ';
            text += names[static_cast<unsigned>(s.what)];
            text += std::to_string(s.which) + "." + std::to_string(s.order);
        }
        text += '\n';
    }
    return text;
}

}  // namespace

int main(int argc, char** argv) {
    std::uint64_t programs = 400, runs = 2000;
    unsigned more = 0;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (std::strcmp(argv[i], "--programs") == 0) programs = std::strtoull(argv[i + 1], nullptr, 10);
        if (std::strcmp(argv[i], "--runs") == 0) runs = std::strtoull(argv[i + 1], nullptr, 10);
        if (std::strcmp(argv[i], "--more") == 0) more = static_cast<unsigned>(std::strtoul(argv[i + 1], nullptr, 10));
        if (std::strcmp(argv[i], "--seed") == 0)
            numbers = explorer::draws(std::strtoull(argv[i + 1], nullptr, 10) * 0x9E37'79B9U | 1U);
    }
    explorer::attacks().go_on_after_failure = true;
    explorer::attacks().verify_increments = true;
    std::uint64_t graphs = 0, executions = 0, blocked = 0, plain_blocked = 0, bad = 0, outcomes = 0, unseen = 0,
                  all_graphs = 0, random_graphs = 0, late = 0;
    for (std::uint64_t n = 0; n < programs; ++n) {
        make(more);
        // Several stores that a spurious wake may read: once only the first of them was tried.
        if (n == 0) code = {{{act::wait, 0, 0}}, {{act::notify_all, 1, 2}}, {{act::wait}, {act::wait}, {act::add}}};
        // A woken lock is removed by a store that knows of the lock it waited for and not of the unlock.
        if (n == 1)
            code = {{{act::load, 1}, {act::critical}}, {{act::critical, 0, 2}}, {{act::load, 0, 1}, {act::store, 1}}};
        search_options all;
        all.max_seconds = 5;
        // The default first, then bounds from 0 to 2.
        if (n % 3 == 2) all.bounds = {below(3), below(3), below(3), below(3), 1000};
        const verdict exhaustive = run_explorer<interpreted>(all);
        explorer::attacks().no_waking = true;
        const verdict plain = run_explorer<interpreted>(all);
        explorer::attacks().no_waking = false;
        if (exhaustive.result == outcome::budget_ended || plain.result == outcome::budget_ended) continue;
        search_options some;
        some.mode = n % 2 == 0 ? search_mode::random : search_mode::pct;
        some.seed = n + 1;
        some.bounds = all.bounds;
        some.max_executions = runs;
        const verdict random = run_explorer<interpreted>(some);
        graphs += exhaustive.graphs;
        executions += exhaustive.executions;
        blocked += exhaustive.blocked;
        plain_blocked += plain.blocked;
        outcomes += exhaustive.outcomes.size();
        // A run ends where it uses a frame that has returned, and what it would have revisited is not promised.
        bool cut = false;
        for (const auto& [name, count] : exhaustive.outcomes) cut = cut || name.find("freed memory") != name.npos;
        std::string missing;
        if (!cut && (plain.graphs != exhaustive.graphs || plain.outcomes != exhaustive.outcomes))
            missing.append(" ")
                .append(std::to_string(plain.graphs))
                .append(" graphs without waking, with it ")
                .append(std::to_string(exhaustive.graphs));
        for (const auto& [name, count] : random.outcomes)
            if (!cut && exhaustive.outcomes.count(name) == 0) missing.append(" [").append(name).append("]");
        for (const auto& [name, count] : exhaustive.outcomes) unseen += random.outcomes.count(name) == 0 ? 1U : 0U;
        late += cut ? 1U : 0U;
        bool failures = false;
        for (const auto& [name, count] : exhaustive.outcomes) failures = failures || name[0] == '!';
        if (!failures && random.graphs > exhaustive.graphs)
            missing.append(" ")
                .append(std::to_string(random.graphs))
                .append(" graphs, not ")
                .append(std::to_string(exhaustive.graphs));
        if (!failures) all_graphs += exhaustive.graphs, random_graphs += random.graphs;
        if (exhaustive.result == outcome::error || !missing.empty()) {
            std::printf("random runs show what the exhaustive search has not:%s %s\n%s%s\n", missing.c_str(),
                        exhaustive.reason.c_str(), print().c_str(), exhaustive.bound.c_str());
            if (++bad == 5) break;
        }
    }
    const auto number = [](std::uint64_t x) { return static_cast<unsigned long long>(x); };
    std::printf(
        "%llu programs: %llu graphs, %llu executions, %llu blocked (%llu without waking), %llu twice; %llu outcomes, "
        "of "
        "which random runs missed %llu; %llu disagreements\n",
        number(programs), number(graphs), number(executions), number(blocked), number(plain_blocked),
        number(executions - blocked - graphs), number(outcomes), number(unseen), number(bad));
    std::printf(
        "%llu programs use a frame that has returned; of %llu graphs of programs without failures random runs met "
        "%llu\n",
        number(late), number(all_graphs), number(random_graphs));
    return bad == 0 && executions == blocked + graphs ? 0 : 1;
}
