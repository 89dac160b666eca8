// Locks that readers share and semaphores, against brute force. All operations of a program are on
// one location, and each of them sees the one before it: a graph is an order of the operations. All
// orders that the lock allows are counted one by one, those in which somebody waits for ever apart.
//
// Usage: explorer_locks_test [--programs N] [--seed S]
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <apiary/model_check/explorer/graph.hpp>
#include <apiary/model_check/explorer/run.hpp>
#include <apiary/model_check/explorer/tests/draws.hpp>

namespace {

using namespace apiary::model;

enum class act { begin_read, end_read, begin_write, end_write, take, post };

constexpr unsigned most_threads = 3;
std::vector<act> code[most_threads];
unsigned first_count = 0;
bool is_semaphore = false;

struct interpreted {
    static constexpr unsigned threads = most_threads;
    explorer::object o;
    interpreted() { explorer::construct_atomic(o, true, is_semaphore ? explorer::semaphore_word(first_count) : 0); }

    void thread(unsigned t) {
        const auto at = explorer::code_place::current();
        for (const act a : code[t]) switch (a) {
                case act::begin_read:
                    explorer::lock_shared(o, at);
                    break;
                case act::end_read:
                    explorer::unlock_shared(o, at);
                    break;
                case act::begin_write:
                    explorer::lock(o, at);
                    break;
                case act::end_write:
                    explorer::unlock(o, at);
                    break;
                case act::take:
                    explorer::semaphore_wait(o, false, at);
                    break;
                case act::post:
                    explorer::semaphore_post(o, at);
                    break;
            }
    }
};

struct counted {
    std::uint64_t ended = 0, stuck = 0;
};

struct lock_state {
    unsigned at[most_threads] = {};
    unsigned readers = 0, writers = 0, count = 0;

    [[nodiscard]] bool allows(act a) const {
        switch (a) {
            case act::begin_read:
                return writers == 0;
            case act::begin_write:
                return writers == 0 && readers == 0;
            case act::take:
                return count != 0;
            default:
                return true;
        }
    }
    void after(act a) {
        readers += a == act::begin_read ? 1U : 0U;
        readers -= a == act::end_read ? 1U : 0U;
        writers += a == act::begin_write ? 1U : 0U;
        writers -= a == act::end_write ? 1U : 0U;
        count += a == act::post ? 1U : 0U;
        count -= a == act::take ? 1U : 0U;
    }
};

void all_orders(const lock_state& s, counted& into) {
    bool ended = true, stuck = true;
    for (unsigned t = 0; t < most_threads; ++t) {
        if (s.at[t] == code[t].size()) continue;
        ended = false;
        const act next = code[t][s.at[t]];
        if (!s.allows(next)) continue;
        stuck = false;
        lock_state then = s;
        ++then.at[t];
        then.after(next);
        all_orders(then, into);
    }
    if (ended)
        ++into.ended;
    else if (stuck)
        ++into.stuck;
}

explorer::draws numbers(1);
unsigned below(unsigned n) { return numbers.below(n); }

void make() {
    for (auto& t : code) t.clear();
    is_semaphore = below(2) == 0;
    first_count = below(3);
    const unsigned threads = 2 + below(most_threads - 1);
    for (unsigned i = is_semaphore ? 7 : 4; i != 0; --i) {
        auto& mine = code[below(threads)];
        const bool first = below(2) == 0;
        if (is_semaphore)
            mine.push_back(first ? act::take : act::post);
        else if (first)
            mine.insert(mine.end(), {act::begin_read, act::end_read});
        else
            mine.insert(mine.end(), {act::begin_write, act::end_write});
    }
}

std::string print() {
    std::string text = is_semaphore ? "a semaphore of " + std::to_string(first_count) : "a lock";
    for (const auto& t : code) {
        text += " |";
        for (const act a : t) text += "RrWw-+"[static_cast<unsigned>(a)];
    }
    return text;
}

}  // namespace

int main(int argc, char** argv) {
    std::uint64_t programs = 300;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (std::strcmp(argv[i], "--programs") == 0) programs = std::strtoull(argv[i + 1], nullptr, 10);
        if (std::strcmp(argv[i], "--seed") == 0) numbers = explorer::draws(std::strtoull(argv[i + 1], nullptr, 10) * 0x9E37'79B9U | 1U);
    }
    explorer::attacks().go_on_after_failure = true;
    std::uint64_t graphs = 0, stuck = 0;
    unsigned bad = 0;
    for (std::uint64_t n = 0; n < programs && bad < 5; ++n) {
        make();
        counted orders;
        lock_state start;
        start.count = first_count;
        all_orders(start, orders);
        const verdict v = run_explorer<interpreted>({});
        std::uint64_t deadlocks = 0;
        for (const auto& [name, times] : v.outcomes) deadlocks += name == "! deadlock" ? times : 0;
        graphs += v.graphs;
        stuck += deadlocks;
        if (v.result == outcome::pass && v.graphs == orders.ended + orders.stuck && deadlocks == orders.stuck) continue;
        ++bad;
        const auto number = [](std::uint64_t x) { return static_cast<unsigned long long>(x); };
        std::printf("%s: %llu graphs, %llu deadlocks (%s); by brute force %llu orders that end, %llu that do not\n",
                    print().c_str(), number(v.graphs), number(deadlocks), v.reason.c_str(), number(orders.ended),
                    number(orders.stuck));
    }
    std::printf("%llu programs, %llu graphs, %llu of them deadlocks, %u disagreements\n",
                static_cast<unsigned long long>(programs), static_cast<unsigned long long>(graphs),
                static_cast<unsigned long long>(stuck), bad);
    return bad == 0 && graphs != 0 && stuck != 0 ? 0 : 1;
}
