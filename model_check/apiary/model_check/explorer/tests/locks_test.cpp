// Locks that readers share, semaphores and queues of waiters with and without deadlines, against brute
// force. All operations of a program are on one location, and each of them sees the one before it: a
// graph is an order of the operations, with the ways out of the waits and the choices of notify_one. All
// that the lock allows are counted one by one, those in which somebody waits for ever apart. Of orders that differ by steps
// which are none of the queue's (blocking.cpp, Q1 and Q2) one counts: a waiter that was notified goes on at once, and of
// notifications to nobody, in a row, no thread's follows that of a later thread.
//
// Usage: explorer_locks_test [--programs N] [--seed S]
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <apiary/model_check/explorer/graph.hpp>
#include <apiary/model_check/explorer/run.hpp>
#include <apiary/model_check/explorer/tests/draws.hpp>
#include <apiary/model_check/explorer/tests/in_parts.hpp>

namespace {

using namespace apiary::model;

enum class act { begin_read, end_read, begin_write, end_write, take, post, enter, block, block_until, one, all };
enum class kind { lock, semaphore, queue };

constexpr unsigned most_threads = 3;
std::vector<act> code[most_threads];
unsigned first_count = 0;
kind what = kind::lock;
choice_bounds bounds;

struct interpreted {
    static constexpr unsigned threads = most_threads;
    explorer::object o;
    unsigned timed_out[most_threads] = {};
    interpreted() {
        explorer::construct_atomic(o, true, what == kind::semaphore ? explorer::semaphore_word(first_count) : 0);
    }

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
                case act::enter:
                    explorer::enter_queue(o, at);
                    break;
                case act::block:
                    explorer::block_in_queue(o, false, at);
                    break;
                case act::block_until:
                    timed_out[t] += explorer::block_in_queue(o, true, at) ? 0U : 1U;
                    break;
                case act::one:
                    explorer::notify_one(o, at);
                    break;
                case act::all:
                    explorer::notify_all(o, at);
                    break;
            }
    }
    std::vector<int> outcome() const {
        return {static_cast<int>(timed_out[0]), static_cast<int>(timed_out[1]), static_cast<int>(timed_out[2])};
    }
};

struct counted {
    std::uint64_t ended = 0, stuck = 0;
    std::map<std::string, std::uint64_t> outcomes;  // how often each thread timed out -> orders that end
};

struct lock_state {
    unsigned at[most_threads] = {}, timed_out[most_threads] = {};
    unsigned readers = 0, writers = 0, count = 0;
    unsigned waiting = 0, notified = 0;  // bits: threads
    unsigned timeouts = 0, spurious = 0;
    // By thread: those that notified nobody since it did anything, or anybody did anything else.
    unsigned to_nobody_since[most_threads] = {};

    [[nodiscard]] bool allows(unsigned t, act a) const {
        switch (a) {
            case act::begin_read:
                return writers == 0;
            case act::begin_write:
                return writers == 0 && readers == 0;
            case act::take:
                return count != 0;
            case act::block:
            case act::block_until:
                return (notified >> t & 1U) != 0;
            default:
                return true;
        }
    }
    [[nodiscard]] bool is_to_nobody(act a) const { return (a == act::one || a == act::all) && waiting == 0; }
    // One of a thread itself keeps its place.
    [[nodiscard]] bool is_out_of_row(unsigned t) const {
        const unsigned since = to_nobody_since[t];
        return (since >> (t + 1)) != 0;
    }
    void after(unsigned t, act a, bool nobody) {
        for (unsigned u = 0; u < most_threads; ++u) to_nobody_since[u] = nobody && u != t ? to_nobody_since[u] | 1U << t : 0;
        readers += a == act::begin_read ? 1U : 0U;
        readers -= a == act::end_read ? 1U : 0U;
        writers += a == act::begin_write ? 1U : 0U;
        writers -= a == act::end_write ? 1U : 0U;
        count += a == act::post ? 1U : 0U;
        count -= a == act::take ? 1U : 0U;
        if (a == act::enter) waiting |= 1U << t;
        if (a == act::block || a == act::block_until) waiting &= ~(1U << t), notified &= ~(1U << t);
        if (a == act::all) notified |= waiting, waiting = 0;
    }
};

void all_orders(const lock_state& s, counted& into);

void then(lock_state s, unsigned t, act a, counted& into, bool nobody = false) {
    ++s.at[t];
    s.after(t, a, nobody);
    all_orders(s, into);
}

void all_orders(const lock_state& s, counted& into) {
    for (unsigned t = 0; t < most_threads; ++t) {
        if (s.at[t] == code[t].size() || (s.notified >> t & 1U) == 0) continue;
        const act next = code[t][s.at[t]];
        if (next == act::block || next == act::block_until) {
            lock_state woken = s;
            ++woken.at[t];
            woken.notified &= ~(1U << t);
            woken.to_nobody_since[t] = 0;
            return all_orders(woken, into);
        }
    }
    bool ended = true, stuck = true, deadline = false;
    for (unsigned t = 0; t < most_threads; ++t) {
        if (s.at[t] == code[t].size()) continue;
        ended = false;
        const act next = code[t][s.at[t]];
        if (!s.allows(t, next)) {
            if (next == act::block_until && s.timeouts < bounds.timeouts) {
                lock_state gave_up = s;
                ++gave_up.timeouts, ++gave_up.timed_out[t];
                then(gave_up, t, next, into);
            }
            if ((next == act::block_until || next == act::block) && s.spurious < bounds.spurious_wakes) {
                lock_state woke = s;
                ++woke.spurious;
                then(woke, t, next, into);
            }
            deadline = deadline || next == act::block_until;
            continue;
        }
        stuck = false;
        if (s.is_to_nobody(next) && s.is_out_of_row(t)) continue;
        if (next != act::one || s.waiting == 0) {
            then(s, t, next, into, s.is_to_nobody(next));
            continue;
        }
        for (unsigned who = 0; who < most_threads; ++who)
            if ((s.waiting >> who & 1U) != 0) {
                lock_state woken = s;
                woken.waiting &= ~(1U << who), woken.notified |= 1U << who;
                then(woken, t, next, into);
            }
    }
    if (ended) {
        ++into.ended;
        ++into.outcomes[std::to_string(s.timed_out[0]) + " " + std::to_string(s.timed_out[1]) + " " +
                        std::to_string(s.timed_out[2])];
    } else if (stuck && !deadline) {  // one that waits with a deadline would give up in the end
        ++into.stuck;
    }
}

explorer::draws numbers(1);
unsigned below(unsigned n) { return numbers.below(n); }

void make() {
    for (auto& t : code) t.clear();
    what = static_cast<kind>(below(3));
    first_count = below(3);
    bounds = {};
    if (below(2) == 0) bounds.timeouts = below(3), bounds.spurious_wakes = below(3);
    const unsigned threads = 2 + below(most_threads - 1);
    for (unsigned i = what == kind::semaphore ? 7 : what == kind::lock ? 4 : 5; i != 0; --i) {
        auto& mine = code[below(threads)];
        const bool first = below(2) == 0;
        if (what == kind::queue)
            first ? mine.insert(mine.end(), {act::enter, below(3) == 0 ? act::block : act::block_until})
                  : mine.insert(mine.end(), {below(2) == 0 ? act::one : act::all});
        else if (what == kind::semaphore)
            mine.push_back(first ? act::take : act::post);
        else if (first)
            mine.insert(mine.end(), {act::begin_read, act::end_read});
        else
            mine.insert(mine.end(), {act::begin_write, act::end_write});
    }
}

std::string print() {
    std::string text = what == kind::semaphore ? "a semaphore of " + std::to_string(first_count)
                       : what == kind::queue   ? "a queue with " + std::to_string(bounds.timeouts) + " timeouts, " +
                                                   std::to_string(bounds.spurious_wakes) + " wakes for nothing"
                                             : "a lock";
    for (const auto& t : code) {
        text += " |";
        for (const act a : t) text += "RrWw-+ebt1*"[static_cast<unsigned>(a)];
    }
    return text;
}

}  // namespace

int main(int argc, char** argv) {
    std::uint64_t programs = 300;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (std::strcmp(argv[i], "--programs") == 0) programs = std::strtoull(argv[i + 1], nullptr, 10);
        if (std::strcmp(argv[i], "--seed") == 0)
            numbers = explorer::draws(std::strtoull(argv[i + 1], nullptr, 10) * 0x9E37'79B9U | 1U);
    }
    explorer::attacks().go_on_after_failure = true;
    constexpr std::uint64_t most_in_parts = 40;
    std::uint64_t graphs = 0, stuck = 0, divided = 0;
    unsigned bad = 0;
    for (std::uint64_t n = 0; n < programs && bad < 5; ++n) {
        make();
        counted orders;
        lock_state start;
        start.count = first_count;
        all_orders(start, orders);
        search_options options;
        options.bounds = bounds;
        verdict v = run_explorer<interpreted>(options);
        const std::uint64_t deadlocks = v.outcomes["! deadlock"];
        v.outcomes.erase("! deadlock");
        graphs += v.graphs;
        stuck += deadlocks;
        if (v.executions <= most_in_parts) {
            const explorer::parts_sum in = explorer::in_parts<interpreted>(options, 1);
            divided += in.parts;
            if (!in.wrong.empty() || in.sum.executions != v.executions || in.sum.graphs != v.graphs ||
                in.sum.blocked != v.blocked) {
                ++bad;
                std::printf("%s: one by one %llu executions, at once %llu %s\n", print().c_str(),
                            static_cast<unsigned long long>(in.sum.executions),
                            static_cast<unsigned long long>(v.executions), in.wrong.c_str());
            }
        }
        if (v.result == outcome::pass && v.graphs == orders.ended + orders.stuck && deadlocks == orders.stuck &&
            v.outcomes == orders.outcomes)
            continue;
        ++bad;
        const auto number = [](std::uint64_t x) { return static_cast<unsigned long long>(x); };
        std::printf("%s: %llu graphs, %llu deadlocks (%s); by brute force %llu orders that end, %llu that do not\n",
                    print().c_str(), number(v.graphs), number(deadlocks), v.reason.c_str(), number(orders.ended),
                    number(orders.stuck));
    }
    std::printf("%llu programs, %llu graphs, %llu of them deadlocks, %u disagreements\n",
                static_cast<unsigned long long>(programs), static_cast<unsigned long long>(graphs),
                static_cast<unsigned long long>(stuck), bad);
    return bad == 0 && graphs != 0 && stuck != 0 && divided != 0 ? 0 : 1;
}
